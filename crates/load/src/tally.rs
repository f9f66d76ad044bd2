//! Counts and latencies of one step as one thread has seen them.

use std::time::Duration;

use stampede_core::{Censored, Counts, ErrorClass, Latencies};

use crate::fault::Fault;
use crate::recorder::{Answered, nanoseconds};
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

/// Takes no memory after it is made.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) warm_up: Counts,
    pub(crate) window: Counts,
    pub(crate) unsent: u64,
    pub(crate) service: Latencies,
    pub(crate) response: Latencies,
    pub(crate) censored: Censored,
    pub(crate) first_byte: Latencies,
    pub(crate) connect: Latencies,
    pub(crate) tls: Latencies,
    pub(crate) lateness: Latencies,
    /// Answers by status, which has three digits: in the warm-up, and in the window.
    warm_up_status: Vec<u64>,
    status: Vec<u64>,
    errors: [u64; ERRORS.len()],
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            warm_up: Counts::default(),
            window: Counts::default(),
            unsent: 0,
            service: Latencies::new(),
            response: Latencies::new(),
            censored: Censored::default(),
            first_byte: Latencies::new(),
            connect: Latencies::new(),
            tls: Latencies::new(),
            lateness: Latencies::new(),
            warm_up_status: vec![0; 1000],
            status: vec![0; 1000],
            errors: [0; ERRORS.len()],
        }
    }

    pub(crate) fn counts(&mut self, phase: Phase) -> &mut Counts {
        match phase {
            Phase::WarmUp => &mut self.warm_up,
            Phase::Window => &mut self.window,
        }
    }

    /// Notes the latencies of an answer in the window.
    pub(crate) fn answered(&mut self, answer: &Answered) {
        let since = |start| nanoseconds(answer.at.saturating_duration_since(start));
        self.response.record_ns(since(answer.due));
        self.service.record_ns(since(answer.sent));
        self.first_byte.record_ns(nanoseconds(answer.first_byte.saturating_duration_since(answer.sent)));
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
        self.response.record_ns(nanoseconds(age));
        self.censored.add(age);
    }

    /// Adds what another thread, or another step, has seen.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self {
            warm_up,
            window,
            unsent,
            service,
            response,
            censored,
            first_byte,
            connect,
            tls,
            lateness,
            warm_up_status,
            status,
            errors,
        } = other;
        self.warm_up += *warm_up;
        self.window += *window;
        self.unsent += unsent;
        self.service.merge(service);
        self.response.merge(response);
        self.censored.merge(*censored);
        self.first_byte.merge(first_byte);
        self.connect.merge(connect);
        self.tls.merge(tls);
        self.lateness.merge(lateness);
        for (sums, counts) in [(&mut self.warm_up_status, warm_up_status), (&mut self.status, status)] {
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        for (sum, count) in self.errors.iter_mut().zip(errors) {
            *sum += count;
        }
    }

    pub(crate) fn into_measures(self) -> Measures {
        let Self {
            warm_up,
            window,
            unsent,
            service,
            response,
            censored,
            first_byte,
            connect,
            tls,
            lateness,
            warm_up_status,
            status,
            errors,
        } = self;
        Measures {
            requests: window,
            warm_up,
            unsent,
            service,
            response,
            censored,
            first_byte,
            connect,
            tls,
            lateness,
            warm_up_status: (0..).zip(warm_up_status).filter(|(_, count)| *count > 0).collect(),
            status: (0..).zip(status).filter(|(_, count)| *count > 0).collect(),
            errors: ERRORS.into_iter().zip(errors).filter(|(_, count)| *count > 0).collect(),
        }
    }
}
