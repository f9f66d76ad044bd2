//! The signals that ask to stop: Ctrl-C, `kill`, a terminal that is closed.

use stampede_conduct::{Failure, Interrupts, LocalFut};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask to stop. From the making of this on they no longer end the process by themselves.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Listens for them. To be called on an asynchronous runtime.
    ///
    /// # Errors
    ///
    /// When the system refuses it.
    pub fn new() -> Result<Self, Failure> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(Failure::missing)?,
            terminate: signal(SignalKind::terminate()).map_err(Failure::missing)?,
            hang_up: signal(SignalKind::hangup()).map_err(Failure::missing)?,
        })
    }

    /// Waits for the first of them.
    pub async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

impl Interrupts for Signals {
    fn next(&mut self) -> LocalFut<'_, bool> {
        Box::pin(async {
            tokio::select! {
                _ = self.interrupt.recv() => true,
                _ = self.terminate.recv() => false,
                _ = self.hang_up.recv() => false,
            }
        })
    }
}
