//! What asks to stop: Ctrl-C, `kill`, a terminal that is closed.

use std::pin::{Pin, pin};

use stampede_harness::Stop;

use crate::exit::Failure;
use crate::host::{Bench, Ended};

/// What asks to stop.
pub trait Interrupts {
    /// Waits for the next; whether it is Ctrl-C, which may let the block that is measured be completed.
    fn next(&mut self) -> LocalFut<'_, bool>;
}

/// A future of one thread.
pub type LocalFut<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Does work until it is done, a signal ends it, or it ends for the first Ctrl-C: that lets the block that is measured be
/// completed, the second one does not. Whoever drops the work cleans up.
pub(crate) async fn heed(
    mut interrupts: Box<dyn Interrupts>,
    stop: &Stop,
    bench: Bench<'_>,
    work: impl Future<Output = Result<(), Failure>>,
) -> Result<Ended, Failure> {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            is_interrupt = interrupts.next() => {
                if !is_interrupt || !stop.ask() {
                    return Ok(Ended::Interrupted);
                }
                bench.host.notices().stopping(bench.quiet);
            }
            ended = &mut work => {
                let ended_as = if stop.is_obeyed() { Ended::Interrupted } else { Ended::Complete };
                return ended.map(|()| ended_as);
            }
        }
    }
}
