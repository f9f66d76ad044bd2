//! The average of a number that changes, over the seconds just past.

use crate::Time;

const SECOND: u64 = 1_000_000_000;

/// A number weighted with the time that it held, kept for each whole second.
///
/// Knative's autoscaler does the same with what instances report each second (knative/serving,
/// `pkg/autoscaler/aggregation`): a window that is not yet full is averaged over the seconds that there are.
#[derive(Clone, Debug)]
pub(crate) struct Average {
    value: u32,
    changed: u64,
    /// Of the second that is not yet over.
    area: f64,
    second: u64,
    /// Averages of the seconds before it; that of second `n` stands at `n % len`.
    seconds: Vec<f64>,
}

impl Average {
    /// Of a number that is zero at [`Time::START`], for windows of up to so many seconds.
    pub(crate) fn new(longest: usize) -> Self {
        Self { value: 0, changed: 0, area: 0.0, second: 0, seconds: vec![0.0; longest.max(1)] }
    }

    /// The number now.
    pub(crate) fn value(&self) -> u32 {
        self.value
    }

    /// The number becomes another one.
    pub(crate) fn set(&mut self, now: Time, value: u32) {
        self.advance(now);
        self.value = value;
    }

    /// The average over the last `seconds` whole seconds before now, or as many as there are; `None` before the first is over.
    pub(crate) fn over(&mut self, now: Time, seconds: usize) -> Option<f64> {
        self.advance(now);
        let count = seconds.min(self.seconds.len()).min(usize::try_from(self.second).unwrap_or(usize::MAX));
        let places = self.seconds.len();
        let last = self.second as usize;
        let sum: f64 = (1..=count).map(|back| self.seconds[(last - back) % places]).sum();
        (count > 0).then(|| sum / count as f64)
    }

    fn advance(&mut self, now: Time) {
        let now = now.nanos();
        let mut end = (self.second + 1) * SECOND;
        while now >= end {
            self.area += f64::from(self.value) * (end - self.changed) as f64;
            let place = self.second as usize % self.seconds.len();
            self.seconds[place] = self.area / SECOND as f64;
            self.area = 0.0;
            self.changed = end;
            self.second += 1;
            end += SECOND;
        }
        self.area += f64::from(self.value) * now.saturating_sub(self.changed) as f64;
        self.changed = self.changed.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_for_as_long_as_it_holds() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut average = Average::new(60);
        assert_eq!(average.over(at(500), 6), None);
        average.set(at(500), 10); // 5 over the first second
        average.set(at(2_250), 0); // 10 over the second, 2.5 over the third
        for (now, window, expected) in [(3_000, 1, 2.5), (3_000, 2, 6.25), (3_999, 60, 17.5 / 3.0), (9_000, 6, 0.0)] {
            assert_eq!(average.over(at(now), window), Some(expected), "{now} ms, {window} s");
        }
        // What is older than the longest window is forgotten.
        assert_eq!(average.over(at(62_000), 100), Some(2.5 / 60.0));
        assert_eq!(average.value(), 0);
    }
}
