//! Counts and latencies of one step as one thread has seen them.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{Counts, ErrorClass};

use crate::answered::{Answered, nanoseconds};
use crate::fault::Fault;
use crate::timeline::Phase;
use stampede_seam::Measures;

const ERRORS: [ErrorClass; 12] = [
    ErrorClass::Refused,
    ErrorClass::Tls,
    ErrorClass::Reset,
    ErrorClass::ClosedEarly,
    ErrorClass::Malformed,
    ErrorClass::WrongStatus,
    ErrorClass::WrongHeader,
    ErrorClass::WrongBody,
    ErrorClass::Unwritable,
    ErrorClass::Exhausted,
    ErrorClass::TimedOut,
    ErrorClass::Io,
];

/// Takes no memory after it is made: what has no fixed size is counted apart from `measures`, and put into it at the end.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) measures: Measures,
    /// Answers by status, which has three digits: in the warm-up, and in the window.
    warm_up_status: Vec<u64>,
    status: Vec<u64>,
    errors: [u64; ERRORS.len()],
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            measures: Measures::default(),
            warm_up_status: vec![0; 1000],
            status: vec![0; 1000],
            errors: [0; ERRORS.len()],
        }
    }

    pub(crate) fn counts(&mut self, phase: Phase) -> &mut Counts {
        match phase {
            Phase::WarmUp => &mut self.measures.warm_up,
            Phase::Window => &mut self.measures.requests,
        }
    }

    /// Notes the latencies of an answer in the window.
    pub(crate) fn answered(&mut self, answer: &Answered) {
        let since = |start| nanoseconds(answer.at.saturating_duration_since(start));
        self.measures.response.record_ns(since(answer.due));
        self.measures.service.record_ns(since(answer.sent));
        self.measures.first_byte.record_ns(nanoseconds(answer.first_byte.saturating_duration_since(answer.sent)));
    }

    /// Counts an answer's status.
    pub(crate) fn count_status(&mut self, phase: Phase, status: u16) {
        let counts = match phase {
            Phase::WarmUp => &mut self.warm_up_status,
            Phase::Window => &mut self.status,
        };
        if let Some(count) = counts.get_mut(usize::from(status)) {
            *count += 1;
        }
    }

    /// Notes a failure in the window.
    pub(crate) fn failed(&mut self, fault: Fault) {
        let class = fault.class();
        for (known, count) in ERRORS.iter().zip(&mut self.errors) {
            *count += u64::from(*known == class);
        }
    }

    /// Counts a request of the window at its age, since it has no end.
    pub(crate) fn censor(&mut self, age: Duration) {
        self.measures.response.record_ns(nanoseconds(age));
        self.measures.censored.add(age);
    }

    /// Adds what another thread, or another step, has seen.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { measures, warm_up_status, status, errors } = other;
        self.measures.add(measures);
        for (sums, counts) in [
            (&mut self.warm_up_status[..], &warm_up_status[..]),
            (&mut self.status, status),
            (&mut self.errors, errors),
        ] {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }

    pub(crate) fn into_measures(self) -> Measures {
        let Self { measures, warm_up_status, status, errors } = self;
        Measures {
            warm_up_status: counted((0..).zip(warm_up_status)),
            status: counted((0..).zip(status)),
            errors: counted(ERRORS.into_iter().zip(errors)),
            ..measures
        }
    }
}

/// What occurred.
fn counted<K: Ord>(counts: impl Iterator<Item = (K, u64)>) -> BTreeMap<K, u64> {
    counts.filter(|(_, count)| *count > 0).collect()
}
