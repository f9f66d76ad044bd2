//! The signals that ask to stop: Ctrl-C, `kill`, a terminal that is closed.

use std::pin::{Pin, pin};

use stampede_harness::Stop;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Failure;
use crate::host::Ended;
use crate::{progress, screen};

/// What asks to stop.
pub(crate) trait Interrupts {
    /// Waits for the next; whether it is Ctrl-C, which may let the block that is measured be completed.
    fn next(&mut self) -> LocalFut<'_, bool>;
}

/// A future of one thread.
pub(crate) type LocalFut<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Does work until it is done, a signal ends it, or it ends for the first Ctrl-C: that lets the block that is measured be
/// completed, the second one does not. Whoever drops the work cleans up.
pub(crate) async fn heed(
    mut interrupts: Box<dyn Interrupts>,
    stop: &Stop,
    quiet: bool,
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
                // A panel says so itself.
                if !progress::is_live(quiet) {
                    screen::note("interrupted: this round is completed first; Ctrl-C again ends at once");
                }
            }
            ended = &mut work => {
                let ended_as = if stop.is_obeyed() { Ended::Interrupted } else { Ended::Complete };
                return ended.map(|()| ended_as);
            }
        }
    }
}

/// The signals that ask to stop. From the making of this on they no longer end the process by themselves.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(Failure::missing)?,
            terminate: signal(SignalKind::terminate()).map_err(Failure::missing)?,
            hang_up: signal(SignalKind::hangup()).map_err(Failure::missing)?,
        })
    }

    /// Waits for the first of them.
    pub(crate) async fn any(&mut self) {
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
