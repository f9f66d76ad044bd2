//! A distribution of latencies.

mod kept;

use std::fmt;
use std::io::Read;
use std::time::Duration;

use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use self::kept::Kept;

/// Latencies from 1 ns to 1 h at 3 significant digits (2 where [`coarse`](Self::coarse)), in a high dynamic range histogram.
///
/// All memory is taken when it is made: recording allocates nothing. Values outside the range are counted at its ends. One that was
/// read from storage takes no more memory than it has to say, until something is added to it.
#[derive(Clone)]
pub struct Latencies(Counts);

#[derive(Clone)]
enum Counts {
    Open(Histogram<u64>),
    Kept(Kept),
}

const HIGHEST_NS: u64 = 3_600_000_000_000;

/// A count takes at most so many bytes in HdrHistogram's V2 encoding (ZigZag LEB128-64b9B).
const BYTES_A_COUNT: usize = 9;

/// How HdrHistogram's V2 compressed encoding begins.
const COMPRESSED: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();

impl Latencies {
    /// An empty distribution.
    pub fn new() -> Self {
        Self(Counts::Open(histogram(3)))
    }

    /// An empty distribution at 2 significant digits, which takes an eighth of the memory. What is merged into it, and it
    /// into others, keeps to the coarser of both.
    pub fn coarse() -> Self {
        Self(Counts::Open(histogram(2)))
    }

    /// The same in no more memory than it has to say.
    #[must_use]
    pub fn into_kept(self) -> Self {
        match self.0 {
            Counts::Open(histogram) => Self(Counts::Kept(Kept::of(&histogram))),
            Counts::Kept(_) => self,
        }
    }

    /// Forgets all latencies. Does not allocate, unless it was read from storage.
    pub fn clear(&mut self) {
        self.open().reset();
    }

    /// Values at rising quantiles, `ticks` of them for each halving of what lies above: value, quantile and the count of
    /// latencies up to there. This is how HdrHistogram's percentile files are spaced.
    pub fn percentiles(&self, ticks: u32) -> Vec<(Duration, f64, u64)> {
        let mut seen = 0;
        let steps = |histogram: &Histogram<u64>| {
            let step = histogram.iter_quantiles(ticks).map(|step| {
                seen += step.count_since_last_iteration();
                (Duration::from_nanos(step.value_iterated_to()), step.quantile_iterated_to(), seen)
            });
            step.collect()
        };
        self.with(steps)
    }

    /// Counts one latency, given in nanoseconds. Does not allocate, unless it was read from storage.
    pub fn record_ns(&mut self, ns: u64) {
        self.open().saturating_record(ns.max(1));
    }

    /// Counts one latency, given in nanoseconds, so many times. Does not allocate, unless it was read from storage.
    pub fn record_ns_times(&mut self, ns: u64, times: u64) {
        self.open().saturating_record_n(ns.max(1), times);
    }

    /// Adds all of another distribution's latencies. Does not allocate, unless it was read from storage.
    pub fn merge(&mut self, other: &Self) {
        let histogram = self.open();
        match &other.0 {
            // Both have the same bounds, so the addition cannot fail.
            Counts::Open(other) => drop(histogram.add(other)),
            Counts::Kept(kept) => kept.add_to(histogram),
        }
    }

    /// How many latencies were counted.
    pub fn count(&self) -> u64 {
        match &self.0 {
            Counts::Open(histogram) => histogram.len(),
            Counts::Kept(kept) => kept.count(),
        }
    }

    /// By which share a latency is at most rounded up: to the end of a bucket, of which HdrHistogram has at least 1,024 from one power
    /// of 2 to the next for 3 significant digits, and 128 for 2.
    pub fn step(&self) -> f64 {
        let digits = match &self.0 {
            Counts::Open(histogram) => histogram.sigfig(),
            Counts::Kept(kept) => kept.digits(),
        };
        if digits < 3 { 1.0 / 128.0 } else { 1.0 / 1024.0 }
    }

    /// The smallest latency, zero when there is none.
    pub fn min(&self) -> Duration {
        Duration::from_nanos(match &self.0 {
            Counts::Open(histogram) => histogram.min(),
            Counts::Kept(kept) => kept.min(),
        })
    }

    /// The largest latency, zero when there is none.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(match &self.0 {
            Counts::Open(histogram) => histogram.max(),
            Counts::Kept(kept) => kept.max(),
        })
    }

    /// The arithmetic mean in nanoseconds, zero when there is none.
    pub fn mean_ns(&self) -> f64 {
        match &self.0 {
            Counts::Open(histogram) => histogram.mean(),
            Counts::Kept(kept) => kept.mean(),
        }
    }

    /// The standard deviation in nanoseconds, zero when there is none.
    pub fn stddev_ns(&self) -> f64 {
        match &self.0 {
            Counts::Open(histogram) => histogram.stdev(),
            Counts::Kept(kept) => kept.stddev(),
        }
    }

    /// The latency that a share `q` (0 to 1) of all do not exceed.
    pub fn quantile(&self, q: f64) -> Duration {
        Duration::from_nanos(match &self.0 {
            Counts::Open(histogram) => histogram.value_at_quantile(q),
            Counts::Kept(kept) => kept.quantile(q),
        })
    }

    /// How many latencies are no longer than this, to the histogram's digits.
    pub fn up_to(&self, most: Duration) -> u64 {
        let ns = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX).min(HIGHEST_NS);
        match &self.0 {
            Counts::Open(histogram) => histogram.count_between(0, ns),
            Counts::Kept(kept) => kept.up_to(ns),
        }
    }

    /// The distribution in HdrHistogram's V2 compressed encoding, for storage.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        #[expect(clippy::expect_used, reason = "writing to a vector does not fail")]
        self.with(|histogram| V2DeflateSerializer::new().serialize(histogram, &mut bytes))
            .expect("a vector takes all bytes");
        bytes
    }

    /// Reads what [`Latencies::to_bytes`] wrote.
    ///
    /// # Errors
    ///
    /// When the bytes are not a histogram in HdrHistogram's V2 compressed encoding, or its bounds are others than ours.
    /// Whatever the bytes say, no more memory is taken than ours have use for.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, DecodeLatenciesError> {
        Header::read(bytes)?.check()?;
        let histogram: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes)
            .map_err(|error| DecodeLatenciesError::Malformed(error.to_string()))?;
        Ok(Self(Counts::Kept(Kept::of(&histogram))))
    }

    /// A histogram that can be added to.
    fn open(&mut self) -> &mut Histogram<u64> {
        if let Counts::Kept(kept) = &self.0 {
            self.0 = Counts::Open(kept.open());
        }
        match &mut self.0 {
            Counts::Open(histogram) => histogram,
            Counts::Kept(_) => unreachable!("it was opened"),
        }
    }

    fn with<T>(&self, act: impl FnOnce(&Histogram<u64>) -> T) -> T {
        match &self.0 {
            Counts::Open(histogram) => act(histogram),
            Counts::Kept(kept) => act(&kept.open()),
        }
    }
}

/// A histogram of latencies, at 2 or 3 significant digits: a copy of one, which takes a tenth of the time that making one takes.
fn histogram(digits: u8) -> Histogram<u64> {
    kept::scale(digits).clone()
}

/// The first of its kind.
fn made(digits: u8) -> Histogram<u64> {
    #[expect(clippy::expect_used, reason = "the bounds are constants that hdrhistogram accepts")]
    Histogram::new_with_bounds(1, HIGHEST_NS, digits).expect("1..1h at 2 or 3 digits are valid bounds")
}

/// Two are equal that count the same.
impl PartialEq for Latencies {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Counts::Open(ours), Counts::Open(theirs)) => ours == theirs,
            (Counts::Kept(ours), Counts::Kept(theirs)) => ours == theirs,
            (Counts::Open(histogram), Counts::Kept(kept)) | (Counts::Kept(kept), Counts::Open(histogram)) => {
                Kept::of(histogram) == *kept
            }
        }
    }
}

/// As [`Latencies::to_bytes`].
impl Serialize for Latencies {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_bytes().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Latencies {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Vec::<u8>::deserialize(deserializer)?;
        Self::from_bytes(&bytes).map_err(serde::de::Error::custom)
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latencies")
            .field("count", &self.count())
            .field("p50", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .field("max", &self.max())
            .finish()
    }
}

/// What the decoder takes memory by before it has read any count.
struct Header {
    /// Bytes of the counts.
    payload: u64,
    digits: u64,
    lowest: u64,
    highest: u64,
}

impl Header {
    /// Reads it from HdrHistogram's V2 compressed encoding: a cookie and a length, then by zlib another cookie, the length of
    /// the counts, an offset, the significant digits, the lowest and the highest value, all big-endian.
    fn read(bytes: &[u8]) -> Result<Self, DecodeLatenciesError> {
        let malformed = |text: String| DecodeLatenciesError::Malformed(text);
        let (head, deflated) = bytes.split_at_checked(8).ok_or_else(|| malformed("it is too short".to_owned()))?;
        if head[..4] != COMPRESSED {
            return Err(malformed("it does not begin as one".to_owned()));
        }
        let mut header = [0; 32];
        ZlibDecoder::new(deflated).read_exact(&mut header).map_err(|error| malformed(error.to_string()))?;
        let word = |place: usize| header[4 * place..][..4].iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        let (lowest, highest) = (word(4) << 32 | word(5), word(6) << 32 | word(7));
        Ok(Self { payload: word(1), digits: word(3), lowest, highest })
    }

    /// Whether it can be that of a histogram of ours, at 2 significant digits or at 3.
    fn check(&self) -> Result<(), DecodeLatenciesError> {
        let Self { payload, digits, lowest, highest } = *self;
        let most = kept::distinct_values() * BYTES_A_COUNT;
        if payload > most as u64 || !(2..=3).contains(&digits) || lowest != 1 || highest != HIGHEST_NS {
            return Err(DecodeLatenciesError::Bounds);
        }
        Ok(())
    }
}

/// Why stored latencies could not be read.
#[derive(Debug, Error)]
pub enum DecodeLatenciesError {
    /// The bytes are no histogram.
    #[error("decode the latency histogram: {0}")]
    Malformed(String),
    /// The histogram covers another range.
    #[error("decode the latency histogram: its range is not 1 ns to 1 h")]
    Bounds,
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn stored_latencies_read_back_equal() {
        let mut latencies = Latencies::new();
        for ns in [0, 1, 999, 1_000_000, 5_000_000_000, u64::MAX] {
            latencies.record_ns(ns);
        }
        let read = Latencies::from_bytes(&latencies.to_bytes()).unwrap();
        assert_eq!((read.count(), read.min(), read.max()), (6, latencies.min(), latencies.max()));
        assert_eq!(read, latencies);
        let mut coarse = Latencies::coarse();
        coarse.record_ns(1_000_000);
        assert_eq!(Latencies::from_bytes(&coarse.to_bytes()).unwrap().count(), 1);
        for malformed in [&b""[..], b"no histogram", &latencies.to_bytes()[..20]] {
            assert!(matches!(Latencies::from_bytes(malformed), Err(DecodeLatenciesError::Malformed(_))));
        }
    }

    #[test]
    fn a_header_that_asks_for_much_memory_is_refused_before_any_is_taken() {
        let encoded = |payload: u32, digits: u32, lowest: u64, highest: u64| {
            let mut inner = Vec::new();
            for word in [0x1c84_9313_u32, payload, 0, digits] {
                inner.extend(word.to_be_bytes());
            }
            inner.extend(lowest.to_be_bytes().into_iter().chain(highest.to_be_bytes()).chain(1.0_f64.to_be_bytes()));
            // No counts, or the one of the lowest value.
            inner.extend(if payload == 1 { &[2][..] } else { &[] });
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(&inner).unwrap();
            let deflated = encoder.finish().unwrap();
            [&COMPRESSED[..], &(deflated.len() as u32).to_be_bytes(), &deflated].concat()
        };
        assert_eq!(Latencies::from_bytes(&encoded(1, 3, 1, HIGHEST_NS)).map(|read| read.count()).ok(), Some(1));
        for (name, payload, digits, lowest, highest) in [
            ("4 GiB of counts", u32::MAX, 3, 1, HIGHEST_NS),
            ("more counts than there are values", 400_000, 3, 1, HIGHEST_NS),
            ("an endless range", 0, 3, 1, u64::MAX),
            ("another range", 0, 3, 1, 60_000_000_000),
            ("another lowest value", 0, 3, 1_000, HIGHEST_NS),
            ("5 digits", 0, 5, 1, HIGHEST_NS),
            ("1 digit", 0, 1, 1, HIGHEST_NS),
        ] {
            let read = Latencies::from_bytes(&encoded(payload, digits, lowest, highest));
            assert!(matches!(read, Err(DecodeLatenciesError::Bounds)), "{name}: {read:?}");
        }
    }

    #[test]
    fn latencies_are_counted_up_to_a_length() {
        let mut latencies = Latencies::new();
        for ms in [1, 799, 800, 900, 1_300] {
            latencies.record_ns(ms * 1_000_000);
        }
        for (ms, count) in [(0, 0), (1, 1), (800, 3), (1_200, 4), (10_000_000, 5)] {
            assert_eq!(latencies.up_to(Duration::from_millis(ms)), count, "{ms} ms");
        }
    }

    proptest::proptest! {
        /// Whatever is recorded by several threads and merged is what one of them would have recorded.
        #[test]
        fn merging_is_recording_together(
            values in proptest::collection::vec((0..4_usize, 0..2 * HIGHEST_NS), 0..200),
        ) {
            let mut parts = [(); 4].map(|()| Latencies::new());
            let mut whole = Latencies::new();
            for (part, ns) in values {
                parts[part].record_ns(ns);
                whole.record_ns(ns);
            }
            let mut merged = Latencies::new();
            parts.iter().for_each(|part| merged.merge(part));
            proptest::prop_assert_eq!(&merged, &whole);
            proptest::prop_assert_eq!(merged.count(), whole.count());
            proptest::prop_assert_eq!((merged.min(), merged.max()), (whole.min(), whole.max()));
        }
    }
}
