//! The signals that ask to stop: Ctrl-C, `kill`, a terminal that is closed.

use std::pin::pin;

use stampede_harness::Stop;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::compare::Ended;
use crate::exit::Failure;
use crate::{progress, screen};

/// Does work until it is done, a signal ends it, or it ends for the first Ctrl-C: that lets the block that is measured be
/// completed, the second one does not. Whoever drops the work cleans up.
pub(crate) async fn heed(
    stop: &Stop,
    quiet: bool,
    work: impl Future<Output = Result<(), Failure>>,
) -> Result<Ended, Failure> {
    let mut signals = Signals::new()?;
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            is_interrupt = signals.interrupted() => {
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

    /// Waits for one of them; whether it is Ctrl-C.
    async fn interrupted(&mut self) -> bool {
        tokio::select! {
            _ = self.interrupt.recv() => true,
            _ = self.terminate.recv() => false,
            _ = self.hang_up.recv() => false,
        }
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
