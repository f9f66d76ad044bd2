//! A distribution as a record keeps it: the counts that are not zero. Of a trial these are some thousand of 34,000, so that a study
//! of a thousand trials fits into memory.

use std::sync::LazyLock;

use hdrhistogram::Histogram;

use super::histogram;

/// What tells which values are counted together, at 2 and at 3 digits. Nothing is counted in them.
static SCALES: [LazyLock<Histogram<u64>>; 2] = [LazyLock::new(|| histogram(2)), LazyLock::new(|| histogram(3))];

/// Values that are not told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bucket {
    lowest: u64,
    count: u64,
}

/// How many values are told apart at the most.
pub(super) fn distinct_values() -> usize {
    SCALES[1].distinct_values()
}

/// What a histogram holds. All figures are those that the histogram gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    digits: u8,
    buckets: Box<[Bucket]>,
    count: u64,
}

impl Kept {
    pub(super) fn of(histogram: &Histogram<u64>) -> Self {
        let bucket = |lowest: u64, count: u64| Bucket { lowest: histogram.lowest_equivalent(lowest), count };
        let recorded = histogram.iter_recorded();
        Self {
            digits: histogram.sigfig(),
            buckets: recorded.map(|step| bucket(step.value_iterated_to(), step.count_at_value())).collect(),
            count: histogram.len(),
        }
    }

    /// A histogram to which more can be added.
    pub(super) fn open(&self) -> Histogram<u64> {
        let mut histogram = histogram(self.digits);
        self.add_to(&mut histogram);
        histogram
    }

    pub(super) fn add_to(&self, histogram: &mut Histogram<u64>) {
        // All of a histogram's values are within the bounds, which all have in common.
        self.buckets.iter().for_each(|bucket| histogram.saturating_record_n(bucket.lowest, bucket.count));
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn min(&self) -> u64 {
        self.buckets.first().map_or(0, |bucket| bucket.lowest)
    }

    pub(super) fn max(&self) -> u64 {
        self.buckets.last().map_or(0, |bucket| self.scale().highest_equivalent(bucket.lowest))
    }

    pub(super) fn mean(&self) -> f64 {
        let share = |bucket: &Bucket| self.middle(bucket) * bucket.count as f64 / self.count as f64;
        self.buckets.iter().map(share).sum()
    }

    pub(super) fn stddev(&self) -> f64 {
        let mean = self.mean();
        let square = |bucket: &Bucket| (self.middle(bucket) - mean).powi(2) * bucket.count as f64;
        let squares: f64 = self.buckets.iter().map(square).sum();
        if self.count == 0 { 0.0 } else { (squares / self.count as f64).sqrt() }
    }

    pub(super) fn quantile(&self, q: f64) -> u64 {
        let wanted = ((q.min(1.0) * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.buckets.iter().find(|bucket| {
            seen += bucket.count;
            seen >= wanted
        });
        found.map_or(0, |bucket| if q == 0.0 { bucket.lowest } else { self.scale().highest_equivalent(bucket.lowest) })
    }

    pub(super) fn up_to(&self, most: u64) -> u64 {
        let last = self.scale().lowest_equivalent(most);
        self.buckets.iter().take_while(|bucket| bucket.lowest <= last).map(|bucket| bucket.count).sum()
    }

    fn middle(&self, bucket: &Bucket) -> f64 {
        self.scale().median_equivalent(bucket.lowest) as f64
    }

    fn scale(&self) -> &'static Histogram<u64> {
        let [two, three] = &SCALES;
        if self.digits == 2 { two } else { three }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        /// Every figure is the one that the histogram gives.
        #[test]
        fn what_is_kept_says_what_the_histogram_said(
            values in proptest::collection::vec(1..3_600_000_000_000_u64, 0..200),
            small in proptest::collection::vec(1..5_000_u64, 0..50),
            digits in 2..4_u8,
        ) {
            let mut of = histogram(digits);
            values.iter().chain(&small).for_each(|value| of.saturating_record(*value));
            let kept = Kept::of(&of);
            proptest::prop_assert_eq!((kept.count(), kept.min(), kept.max()), (of.len(), of.min(), of.max()));
            for q in [0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0] {
                proptest::prop_assert_eq!(kept.quantile(q), of.value_at_quantile(q), "{}", q);
            }
            for most in [0, 1, 4_000, 2_000_000, 1_800_000_000_000, 3_600_000_000_000] {
                proptest::prop_assert_eq!(kept.up_to(most), of.count_between(0, most), "{}", most);
            }
            for (ours, theirs) in [(kept.mean(), of.mean()), (kept.stddev(), of.stdev())] {
                proptest::prop_assert!((ours - theirs).abs() <= 1e-9 * theirs, "{} {}", ours, theirs);
            }
            proptest::prop_assert_eq!(kept.open(), of);
        }
    }
}
