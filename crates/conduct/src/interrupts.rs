//! What asks to stop: Ctrl-C, `kill`, a terminal that is closed.

use std::pin::Pin;

/// What asks to stop.
pub trait Interrupts {
    /// Waits for the next; whether it is Ctrl-C, which may let the block that is measured be completed.
    fn next(&mut self) -> LocalFut<'_, bool>;
}

/// A future of one thread.
pub type LocalFut<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;
