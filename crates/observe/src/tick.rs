//! When samples are due.

use std::time::{Duration, Instant};

/// How often: fast enough to see a queue that lasts for a quota period (100 ms), and cheap (see docs/runtimes.md).
pub(crate) const PERIOD: Duration = Duration::from_millis(100);

/// Instants from the opening of a window to its close, one [`PERIOD`] apart. One that was missed by more than half of that
/// is skipped, so that samples never come in bunches.
pub(crate) struct Ticks {
    opens: Instant,
    closes: Instant,
    next: u32,
}

impl Ticks {
    pub(crate) fn new(opens: Instant, closes: Instant) -> Self {
        Self { opens, closes, next: 0 }
    }

    /// The next instant, which may have just passed; none after the close.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Instant> {
        let nearest = now.saturating_duration_since(self.opens).as_secs_f64() / PERIOD.as_secs_f64();
        let number = self.next.max(nearest.round() as u32);
        let due = self.opens + PERIOD * number;
        self.next = number + 1;
        (due <= self.closes).then_some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_that_was_missed_is_skipped() {
        let opens = Instant::now() + Duration::from_secs(1);
        let ms = Duration::from_millis;
        let mut ticks = Ticks::new(opens, opens + ms(700));
        for (now, due) in [(-900, 0), (1, 100), (101, 200), (230, 300), (495, 500), (502, 600), (601, 700)] {
            let now = if now < 0 { opens - ms(900) } else { opens + ms(now as u64) };
            assert_eq!(ticks.next(now), Some(opens + ms(due)), "{due}");
        }
        assert_eq!(ticks.next(opens + ms(701)), None);
    }

    #[test]
    fn an_instant_comes_once() {
        let opens = Instant::now();
        let mut ticks = Ticks::new(opens, opens + PERIOD * 3);
        let due: Vec<_> = std::iter::from_fn(|| ticks.next(opens)).collect();
        assert_eq!(due, [opens, opens + PERIOD, opens + PERIOD * 2, opens + PERIOD * 3]);
    }
}
