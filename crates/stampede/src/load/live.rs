//! One line on a terminal that says how far a load is.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use stampede_load::Progress;

/// How often it changes.
pub(crate) const PAUSE: Duration = Duration::from_millis(500);

/// The line, where it is wanted.
pub(crate) struct Live {
    is_wanted: bool,
    started: Instant,
    /// When it changed last, and how many right answers there were.
    shown: (Instant, u64),
}

impl Live {
    pub(crate) fn new(is_wanted: bool) -> Self {
        let started = Instant::now();
        Self { is_wanted, started, shown: (started, 0) }
    }

    /// How often it is to be told the progress, where it is wanted.
    pub(crate) fn pause(&self) -> Option<Duration> {
        self.is_wanted.then_some(PAUSE)
    }

    /// Shows the progress, unless it did so a moment ago.
    pub(crate) fn show(&mut self, progress: impl FnOnce() -> Progress) {
        let now = Instant::now();
        let (since, before) = self.shown;
        if self.is_wanted && now - since >= PAUSE {
            let Progress { ok, failed } = progress();
            let rate = ok.saturating_sub(before) as f64 / (now - since).as_secs_f64();
            let elapsed = (now - self.started).as_secs_f64();
            let line = format!("\r\x1b[K{elapsed:>6.1} s {rate:>9.0} ok/s {failed:>9} failed");
            // Whoever closed our stderr does not want to read it.
            let _ = io::stderr().write_all(line.as_bytes());
            self.shown = (now, ok);
        }
    }

    /// Takes it away.
    pub(crate) fn end(&self) {
        if self.is_wanted {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }
}
