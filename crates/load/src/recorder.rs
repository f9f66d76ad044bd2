//! What one thread has seen.

use std::time::{Duration, Instant};

use stampede_core::{Counts, ErrorClass, GeneratorUse, Latencies};

use crate::body_check::Evidence;
use crate::fault::Fault;
use crate::result::{Failure, LoadResult};
use crate::timeline::Phase;

/// Counts and latencies of one thread, or of several after [`Recorder::merge`]. Recording takes no memory.
#[derive(Debug)]
pub(crate) struct Recorder {
    warm_up: Counts,
    window: Counts,
    reconnects: u64,
    service: Latencies,
    response: Latencies,
    /// Answers by status, which has three digits.
    status: Vec<u64>,
    errors: [(ErrorClass, u64); 8],
    bytes_sent: u64,
    bytes_received: u64,
    generator: GeneratorUse,
    pub(crate) evidence: Evidence,
    first_failure: Option<FirstFailure>,
}

#[derive(Clone, Copy, Debug)]
struct FirstFailure {
    at: Instant,
    exchange: usize,
    fault: Fault,
}

/// A complete answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    pub(crate) at: Instant,
    pub(crate) due: Instant,
    pub(crate) sent: Instant,
    pub(crate) exchange: usize,
    pub(crate) status: u16,
    /// What is wrong with it.
    pub(crate) fault: Option<Fault>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            warm_up: Counts::default(),
            window: Counts::default(),
            reconnects: 0,
            service: Latencies::new(),
            response: Latencies::new(),
            status: vec![0; 1000],
            errors: [
                ErrorClass::Refused,
                ErrorClass::Reset,
                ErrorClass::ClosedEarly,
                ErrorClass::Malformed,
                ErrorClass::WrongStatus,
                ErrorClass::WrongBody,
                ErrorClass::Exhausted,
                ErrorClass::Io,
            ]
            .map(|class| (class, 0)),
            bytes_sent: 0,
            bytes_received: 0,
            generator: GeneratorUse::default(),
            evidence: Evidence::new(),
            first_failure: None,
        }
    }

    pub(crate) fn begun(&mut self, phase: Phase) {
        self.counts(phase).sent += 1;
    }

    pub(crate) fn answered(&mut self, phase: Phase, answer: Answered) {
        if phase == Phase::Window {
            let since = |start| nanoseconds(answer.at.saturating_duration_since(start));
            self.response.record_ns(since(answer.due));
            self.service.record_ns(since(answer.sent));
            if let Some(count) = self.status.get_mut(usize::from(answer.status)) {
                *count += 1;
            }
        }
        match answer.fault {
            None => self.counts(phase).ok += 1,
            Some(fault) => self.failed(phase, answer.exchange, fault, answer.at),
        }
    }

    pub(crate) fn failed(&mut self, phase: Phase, exchange: usize, fault: Fault, at: Instant) {
        self.counts(phase).failed += 1;
        self.first_failure.get_or_insert(FirstFailure { at, exchange, fault });
        if phase == Phase::Window {
            let class = fault.class();
            for (known, count) in &mut self.errors {
                *count += u64::from(*known == class);
            }
        }
    }

    pub(crate) fn unfinished(&mut self, phase: Phase) {
        self.counts(phase).unfinished += 1;
    }

    pub(crate) fn reconnected(&mut self, phase: Phase) {
        self.reconnects += u64::from(phase == Phase::Window);
    }

    pub(crate) fn sent_bytes(&mut self, phase: Phase, bytes: usize) {
        if phase == Phase::Window {
            self.bytes_sent += bytes as u64;
        }
    }

    pub(crate) fn received_bytes(&mut self, phase: Phase, bytes: usize) {
        if phase == Phase::Window {
            self.bytes_received += bytes as u64;
        }
    }

    /// Notes the CPU time of the one thread that was recorded.
    pub(crate) fn used_cpu(&mut self, cpu: Duration) {
        self.generator = GeneratorUse { threads: 1, cpu };
    }

    /// Requests of both phases that were answered rightly, and that failed.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.warm_up.ok + self.window.ok, self.warm_up.failed + self.window.failed)
    }

    /// Adds what another thread has seen.
    pub(crate) fn merge(&mut self, other: Self) {
        let Self {
            warm_up,
            window,
            reconnects,
            service,
            response,
            status,
            errors,
            bytes_sent,
            bytes_received,
            generator,
            evidence,
            first_failure,
        } = other;
        add_counts(&mut self.warm_up, warm_up);
        add_counts(&mut self.window, window);
        self.reconnects += reconnects;
        self.service.merge(&service);
        self.response.merge(&response);
        for (sum, count) in self.status.iter_mut().zip(status) {
            *sum += count;
        }
        for ((_, sum), (_, count)) in self.errors.iter_mut().zip(errors) {
            *sum += count;
        }
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
        self.generator.threads += generator.threads;
        self.generator.cpu += generator.cpu;
        self.evidence.merge(evidence);
        self.first_failure = self.first_failure.into_iter().chain(first_failure).min_by_key(|failure| failure.at);
    }

    pub(crate) fn into_result(self, window: Duration) -> LoadResult {
        let Self {
            warm_up,
            window: requests,
            reconnects,
            service,
            response,
            status,
            errors,
            bytes_sent,
            bytes_received,
            generator,
            evidence,
            first_failure,
        } = self;
        LoadResult {
            window,
            requests,
            warm_up,
            reconnects,
            service,
            response,
            status: (0..).zip(status).filter(|(_, count)| *count > 0).collect(),
            errors: errors.into_iter().filter(|(_, count)| *count > 0).collect(),
            bytes_sent,
            bytes_received,
            generator,
            wrong_answers: evidence.into_wrong_answers(),
            first_failure: first_failure.map(|failure| Failure {
                class: failure.fault.class(),
                exchange: failure.exchange,
                detail: failure.fault.to_string(),
            }),
        }
    }

    fn counts(&mut self, phase: Phase) -> &mut Counts {
        match phase {
            Phase::WarmUp => &mut self.warm_up,
            Phase::Window => &mut self.window,
        }
    }
}

fn add_counts(sum: &mut Counts, counts: Counts) {
    let Counts { sent, ok, failed, unfinished } = counts;
    sum.sent += sent;
    sum.ok += ok;
    sum.failed += failed;
    sum.unfinished += unfinished;
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    /// One right answer after 3 ms (1 ms of it before it was sent), one wrong status, one refused, one unfinished.
    fn recorder(phase: Phase, start: Instant) -> Recorder {
        let ms = Duration::from_millis(1);
        let mut recorder = Recorder::new();
        let answer =
            Answered { at: start + 3 * ms, due: start, sent: start + ms, exchange: 0, status: 200, fault: None };
        for _ in 0..4 {
            recorder.begun(phase);
        }
        recorder.answered(phase, answer);
        let fault = Fault::Status { came: 500, expected: 200 };
        recorder.answered(phase, Answered { status: 500, fault: Some(fault), ..answer });
        recorder.failed(phase, 1, Fault::Connect(Errno::CONNREFUSED), start + 9 * ms);
        recorder.unfinished(phase);
        recorder.reconnected(phase);
        recorder.sent_bytes(phase, 10);
        recorder.received_bytes(phase, 20);
        recorder.used_cpu(ms);
        recorder
    }

    #[test]
    fn threads_are_added_up_and_the_warm_up_is_kept_apart() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let mut merged = recorder(Phase::Window, start);
        merged.merge(recorder(Phase::Window, start + second));
        merged.merge(recorder(Phase::WarmUp, start - second));
        assert_eq!(merged.progress(), (3, 6));

        let result = merged.into_result(second);
        let counts = |n| Counts { sent: 4 * n, ok: n, failed: 2 * n, unfinished: n };
        assert_eq!((result.requests, result.warm_up), (counts(2), counts(1)));
        assert_eq!(result.status, [(200, 2), (500, 2)].into());
        let errors = [(ErrorClass::Refused, 2), (ErrorClass::WrongStatus, 2)];
        assert_eq!(result.errors, errors.into());
        assert_eq!((result.reconnects, result.bytes_sent, result.bytes_received), (2, 20, 40));
        assert_eq!((result.service.count(), result.response.count()), (4, 4));
        let ms = |latencies: &Latencies| latencies.mean_ns() / 1e6;
        assert!((ms(&result.service) - 2.0).abs() < 0.01);
        assert!((ms(&result.response) - 3.0).abs() < 0.01);
        assert_eq!(result.generator, GeneratorUse { threads: 3, cpu: Duration::from_millis(3) });
        let failure = result.first_failure.unwrap();
        assert_eq!(failure.detail, "status 500 came instead of 200");
    }
}
