//! The seconds of a load as a trial keeps them.

use std::time::Duration;

use stampede_core::LoadSecond;
use stampede_seam::Slice;

/// A percentile is told where at least one request in so many took longer.
const MEDIAN: (f64, u64) = (0.5, 1);
const P99: (f64, u64) = (0.99, 100);

/// Seconds of a window, in their order.
#[derive(Debug, Default)]
pub(crate) struct Seconds(Vec<LoadSecond>);

impl Seconds {
    pub(crate) fn add(&mut self, slices: &[Slice]) {
        self.0.extend(slices.iter().map(second));
    }

    /// Those of a window of this length that are whole: what comes after its end is the drain's.
    pub(crate) fn within(mut self, window: Duration) -> Vec<LoadSecond> {
        // A window that was asked for in seconds is measured to a hair.
        let whole = (window + Duration::from_millis(1)).as_secs();
        self.0.retain(|second| second.second < whole);
        self.0
    }
}

fn second(slice: &Slice) -> LoadSecond {
    let Slice { second, sent, ok, failed, service: _, response, bytes_sent: _, bytes_received: _ } = slice;
    let micros = |(share, least): (f64, u64)| {
        (response.count() >= least).then(|| u64::try_from(response.quantile(share).as_micros()).unwrap_or(u64::MAX))
    };
    LoadSecond {
        second: *second,
        sent: *sent,
        ok: *ok,
        failed: *failed,
        response_p50_us: micros(MEDIAN),
        response_p99_us: micros(P99),
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::Latencies;

    use super::*;

    fn slice(second: u64, answers: u64) -> Slice {
        let mut response = Latencies::coarse();
        (1..=answers).for_each(|number| response.record_ns(number * 1_000_000));
        Slice {
            second,
            sent: answers + 2,
            ok: answers,
            failed: 1,
            service: Latencies::coarse(),
            response,
            bytes_sent: 0,
            bytes_received: 0,
        }
    }

    #[test]
    fn whole_seconds_are_kept_with_the_percentiles_that_their_requests_bear() {
        let mut seconds = Seconds::default();
        seconds.add(&[slice(0, 100), slice(1, 99)]);
        seconds.add(&[slice(2, 0), slice(3, 5), slice(4, 5)]);
        let kept = seconds.within(Duration::from_nanos(3_999_999_000));
        assert_eq!(kept.iter().map(|kept| kept.second).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!((kept[0].sent, kept[0].ok, kept[0].failed), (102, 100, 1));
        let near = |told: Option<u64>, ms: f64| told.is_some_and(|us| (us as f64 / 1e3 / ms - 1.0).abs() < 0.02);
        assert!(near(kept[0].response_p50_us, 50.0) && near(kept[0].response_p99_us, 99.0), "{kept:?}");
        assert!(near(kept[1].response_p50_us, 50.0) && kept[1].response_p99_us.is_none(), "{kept:?}");
        assert_eq!((kept[2].response_p50_us, kept[2].response_p99_us), (None, None));
        assert!(Seconds::default().within(Duration::from_millis(300)).is_empty());
    }
}
