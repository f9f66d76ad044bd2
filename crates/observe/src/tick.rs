//! When samples are due.

use std::time::{Duration, Instant};

use stampede_core::{Cpus, Limit};

/// How often the kernel is asked, and a unit at the most: fast enough to see a queue that lasts for a quota period (100 ms).
pub(crate) const PERIOD: Duration = Duration::from_millis(100);

/// How many answers a second two units and more give for each CPU that their deployment may use: they take some 0.3 ms of
/// CPU time each (docs/runtimes.md), and so less than 1 % whatever the limit is.
const ANSWERS_A_CPU: u64 = 20;

/// An answer of one that is alone takes twice as much, as Apache's does: it counts as two.
const FEWEST: u64 = 2;

/// How often each of so many units is asked.
pub(crate) fn asking_period(units: usize, cpus: Limit<Cpus>) -> Duration {
    let Limit::AtMost(cpus) = cpus else { return PERIOD };
    let answers = FEWEST.max(units as u64);
    let millis = 1_000_000 * answers / (ANSWERS_A_CPU * u64::from(cpus.millis().max(1)));
    PERIOD.max(Duration::from_millis(millis))
}

/// Instants from the opening of a window to its close, one period apart. One that was missed by more than half of that is
/// skipped, so that samples never come in bunches.
pub(crate) struct Ticks {
    opens: Instant,
    closes: Instant,
    period: Duration,
    next: u32,
}

impl Ticks {
    pub(crate) fn new(opens: Instant, closes: Instant, period: Duration) -> Self {
        Self { opens, closes, period, next: 0 }
    }

    /// The next instant, which may have just passed; none after the close.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Instant> {
        let nearest = now.saturating_duration_since(self.opens).as_secs_f64() / self.period.as_secs_f64();
        self.next = self.next.max(nearest.round() as u32);
        let due = self.due()?;
        self.next += 1;
        Some(due)
    }

    /// The time until the next instant; none is left after the last one.
    pub(crate) fn left(&self, now: Instant) -> Duration {
        self.due().unwrap_or(now).saturating_duration_since(now)
    }

    fn due(&self) -> Option<Instant> {
        let due = self.opens + self.period * self.next;
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
        let mut ticks = Ticks::new(opens, opens + ms(700), PERIOD);
        for (now, due) in [(-900, 0), (1, 100), (101, 200), (230, 300), (495, 500), (502, 600), (601, 700)] {
            let now = if now < 0 { opens - ms(900) } else { opens + ms(now as u64) };
            assert_eq!(ticks.next(now), Some(opens + ms(due)), "{due}");
        }
        assert_eq!(ticks.next(opens + ms(701)), None);
        assert_eq!(ticks.left(opens + ms(701)), ms(0));
    }

    #[test]
    fn the_time_to_the_next_instant_is_told() {
        let opens = Instant::now();
        let ms = Duration::from_millis;
        let mut ticks = Ticks::new(opens, opens + ms(1000), ms(600));
        assert_eq!(ticks.next(opens), Some(opens));
        for (now, left) in [(0, 600), (90, 510), (600, 0), (700, 0)] {
            assert_eq!(ticks.left(opens + ms(now)), ms(left), "{now}");
        }
        assert_eq!(ticks.next(opens + ms(600)), Some(opens + ms(600)));
        assert_eq!(ticks.left(opens + ms(600)), ms(0));
    }

    #[test]
    fn small_deployments_and_many_units_are_asked_less_often() {
        for (units, cpus, millis) in [
            (0, Some(1000), 100),
            (1, Some(1000), 100),
            (2, Some(1000), 100),
            (2, Some(4000), 100),
            (2, Some(500), 200),
            (1, Some(500), 200),
            (2, Some(167), 598),
            (1, Some(167), 598),
            (7, Some(1000), 350),
            (9, None, 100),
        ] {
            let cpus = cpus.map_or(Limit::Unlimited, |millis| Limit::AtMost(Cpus::from_millis(millis)));
            assert_eq!(asking_period(units, cpus), Duration::from_millis(millis), "{units} {cpus:?}");
        }
    }

    #[test]
    fn an_instant_comes_once() {
        let opens = Instant::now();
        let mut ticks = Ticks::new(opens, opens + PERIOD * 3, PERIOD);
        let due: Vec<_> = std::iter::from_fn(|| ticks.next(opens)).collect();
        assert_eq!(due, [opens, opens + PERIOD, opens + PERIOD * 2, opens + PERIOD * 3]);
    }
}
