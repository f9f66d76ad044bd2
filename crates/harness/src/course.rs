//! What a load's seconds were like, for its record.

use std::time::Duration;

use stampede_core::LoadCourse;
use stampede_load::Slice;

/// Fewer answers than this have no p99 of a second.
const ENOUGH: u64 = 100;

/// Takes a load's slices in, in their order.
#[derive(Debug, Default)]
pub(crate) struct CourseBook {
    course: LoadCourse,
}

impl CourseBook {
    pub(crate) fn take(&mut self, slice: &Slice) {
        let Slice { second, ok, failed, response, .. } = slice;
        // A load thread that stood still for longer than a second has nothing to tell of the one that it missed.
        self.fit(usize::try_from(*second).unwrap_or(usize::MAX));
        let quantile = |share: f64, least: u64| {
            (response.count() >= least).then(|| u64::try_from(response.quantile(share).as_micros()).unwrap_or(u64::MAX))
        };
        self.course.ok.push(*ok);
        self.course.failed.push(*failed);
        self.course.response_p50_us.push(quantile(0.5, 1));
        self.course.response_p99_us.push(quantile(0.99, ENOUGH));
    }

    /// What there was, for a window of this length.
    pub(crate) fn finish(mut self, window: Duration) -> LoadCourse {
        self.fit(window.as_millis().div_ceil(1_000).try_into().unwrap_or(usize::MAX));
        self.course
    }

    /// As many seconds as there are to be, without what came after them.
    fn fit(&mut self, seconds: usize) {
        let LoadCourse { ok, failed, response_p50_us, response_p99_us } = &mut self.course;
        ok.resize(seconds, 0);
        failed.resize(seconds, 0);
        response_p50_us.resize(seconds, None);
        response_p99_us.resize(seconds, None);
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::Latencies;

    use super::*;

    fn slice(second: u64, answers: u64) -> Slice {
        let mut response = Latencies::coarse();
        (0..answers).for_each(|_| response.record_ns(2_000_000));
        let service = response.clone();
        Slice { second, sent: answers, ok: answers, failed: 1, service, response, bytes_sent: 0, bytes_received: 0 }
    }

    #[test]
    fn a_window_has_all_its_seconds_and_the_drain_is_none() {
        let mut book = CourseBook::default();
        [slice(0, 150), slice(2, 7), slice(3, 1)].iter().for_each(|slice| book.take(slice));
        let course = book.finish(Duration::from_millis(2_500));
        assert_eq!((course.ok, course.failed), (vec![150, 0, 7], vec![1, 0, 1]));
        let rough = |us: Option<u64>| us.map(|us| (us as f64 / 100.0).round() as u64);
        assert_eq!(course.response_p50_us.into_iter().map(rough).collect::<Vec<_>>(), [Some(20), None, Some(20)]);
        assert_eq!(course.response_p99_us.into_iter().map(rough).collect::<Vec<_>>(), [Some(20), None, None]);
    }
}
