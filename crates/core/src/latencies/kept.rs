//! A distribution as a record keeps it: the counts that are not zero. Of a trial these are some thousand of 34,000, so that a study
//! of a thousand trials fits into memory.

use std::iter;
use std::sync::LazyLock;

use hdrhistogram::Histogram;

use super::{histogram, made};

/// What tells which values are counted together, at 2 and at 3 digits. Nothing is counted in them.
static SCALES: [LazyLock<Histogram<u64>>; 2] = [LazyLock::new(|| made(2)), LazyLock::new(|| made(3))];

/// The scale of so many digits, 2 or 3.
pub(super) fn scale(digits: u8) -> &'static Histogram<u64> {
    let [two, three] = &SCALES;
    if digits == 2 { two } else { three }
}

/// Values that are not told apart.
#[derive(Clone, Copy, Debug)]
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
    /// Of each bucket by how much its lowest value is above that of the one before, then its count, both as [`pack`] writes them.
    packed: Box<[u8]>,
    count: u64,
}

impl Kept {
    pub(super) fn of(histogram: &Histogram<u64>) -> Self {
        let (mut packed, mut before) = (Vec::new(), 0);
        for step in histogram.iter_recorded() {
            let lowest = histogram.lowest_equivalent(step.value_iterated_to());
            pack(lowest - before, &mut packed);
            pack(step.count_at_value(), &mut packed);
            before = lowest;
        }
        Self { digits: histogram.sigfig(), packed: packed.into(), count: histogram.len() }
    }

    /// In rising order.
    fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        let (mut rest, mut lowest) = (&*self.packed, 0);
        iter::from_fn(move || {
            lowest += unpack(&mut rest)?;
            Some(Bucket { lowest, count: unpack(&mut rest)? })
        })
    }

    pub(super) const fn digits(&self) -> u8 {
        self.digits
    }

    /// A histogram to which more can be added.
    pub(super) fn open(&self) -> Histogram<u64> {
        let mut histogram = histogram(self.digits);
        self.add_to(&mut histogram);
        histogram
    }

    pub(super) fn add_to(&self, histogram: &mut Histogram<u64>) {
        // All of a histogram's values are within the bounds, which all have in common.
        self.buckets().for_each(|bucket| histogram.saturating_record_n(bucket.lowest, bucket.count));
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn min(&self) -> u64 {
        self.buckets().next().map_or(0, |bucket| bucket.lowest)
    }

    pub(super) fn max(&self) -> u64 {
        self.buckets().last().map_or(0, |bucket| self.scale().highest_equivalent(bucket.lowest))
    }

    pub(super) fn mean(&self) -> f64 {
        let share = |bucket: Bucket| self.middle(bucket) * bucket.count as f64 / self.count as f64;
        self.buckets().map(share).sum()
    }

    pub(super) fn stddev(&self) -> f64 {
        let mean = self.mean();
        let square = |bucket: Bucket| (self.middle(bucket) - mean).powi(2) * bucket.count as f64;
        let squares: f64 = self.buckets().map(square).sum();
        if self.count == 0 { 0.0 } else { (squares / self.count as f64).sqrt() }
    }

    pub(super) fn quantile(&self, q: f64) -> u64 {
        let wanted = ((q.min(1.0) * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.buckets().find(|bucket| {
            seen += bucket.count;
            seen >= wanted
        });
        found.map_or(0, |bucket| if q == 0.0 { bucket.lowest } else { self.scale().highest_equivalent(bucket.lowest) })
    }

    pub(super) fn up_to(&self, most: u64) -> u64 {
        let last = self.scale().lowest_equivalent(most);
        self.buckets().take_while(|bucket| bucket.lowest <= last).map(|bucket| bucket.count).sum()
    }

    fn middle(&self, bucket: Bucket) -> f64 {
        self.scale().median_equivalent(bucket.lowest) as f64
    }

    fn scale(&self) -> &'static Histogram<u64> {
        scale(self.digits)
    }
}

/// Appends a number in groups of seven bits, the lowest first; all but the last have their highest bit set (LEB128).
fn pack(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Takes a number from where [`pack`] wrote it; nothing at the end.
fn unpack(from: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(number);
        }
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
