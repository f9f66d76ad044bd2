//! One line on a terminal that says how far a load is.

use std::time::{Duration, Instant};

use stampede_conduct::Bench;
use stampede_seam::LoadProgress;

/// How often it changes.
const PAUSE: Duration = Duration::from_millis(500);

/// The line, where it is wanted.
pub(crate) struct Live<'a> {
    bench: Bench<'a>,
    is_wanted: bool,
    started: Instant,
    /// When it changed last, and how many right answers there were.
    shown: (Instant, u64),
}

impl<'a> Live<'a> {
    /// Wanted where somebody sees it.
    pub(crate) fn new(bench: Bench<'a>) -> Self {
        let started = Instant::now();
        let is_wanted = bench.host.notices().has_line(bench.quiet);
        Self { bench, is_wanted, started, shown: (started, 0) }
    }

    /// How often it is to be told the progress, where it is wanted.
    pub(crate) fn pause(&self) -> Option<Duration> {
        self.is_wanted.then_some(PAUSE)
    }

    /// Shows the progress, unless it did so a moment ago.
    pub(crate) fn show(&mut self, progress: impl FnOnce() -> LoadProgress) {
        let now = Instant::now();
        let (since, before) = self.shown;
        if self.is_wanted && now - since >= PAUSE {
            let LoadProgress { ok, failed } = progress();
            let rate = ok.saturating_sub(before) as f64 / (now - since).as_secs_f64();
            let elapsed = (now - self.started).as_secs_f64();
            let line = format!("{elapsed:>6.1} s {rate:>9.0} ok/s {failed:>9} failed");
            self.bench.host.notices().line(&line);
            self.shown = (now, ok);
        }
    }

    /// Takes it away.
    pub(crate) fn end(&self) {
        if self.is_wanted {
            self.bench.host.notices().line("");
        }
    }
}
