//! What one thread has seen.

use std::time::{Duration, Instant};

use stampede_core::{Censored, Counts, ErrorClass, GeneratorUse, Latencies};

use crate::body_check::Evidence;
use crate::fault::Fault;
use crate::result::{Failure, LoadResult};
use crate::saturation::{LittlesLaw, Saturation};
use crate::timeline::{Phase, Timeline};

/// Counts and latencies of one thread, or of several after [`Recorder::merge`]. Recording takes no memory.
#[derive(Debug)]
pub(crate) struct Recorder {
    warm_up: Counts,
    window: Counts,
    unsent: u64,
    reconnects: u64,
    service: Latencies,
    response: Latencies,
    censored: Censored,
    first_byte: Latencies,
    connect: Latencies,
    lateness: Latencies,
    /// Answers by status, which has three digits.
    status: Vec<u64>,
    errors: [(ErrorClass, u64); 9],
    bytes_sent: u64,
    bytes_received: u64,
    generator: GeneratorUse,
    spin: Duration,
    littles_law: LittlesLaw,
    pub(crate) evidence: Evidence,
    first_failure: Option<FirstFailure>,
    /// When the last request of the window ended.
    last_end: Option<Instant>,
    /// When the threads ended.
    over_at: Option<Instant>,
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
    /// When its first byte came.
    pub(crate) first_byte: Instant,
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
            unsent: 0,
            reconnects: 0,
            service: Latencies::new(),
            response: Latencies::new(),
            censored: Censored::default(),
            first_byte: Latencies::new(),
            connect: Latencies::new(),
            lateness: Latencies::new(),
            status: vec![0; 1000],
            errors: [
                ErrorClass::Refused,
                ErrorClass::Reset,
                ErrorClass::ClosedEarly,
                ErrorClass::Malformed,
                ErrorClass::WrongStatus,
                ErrorClass::WrongBody,
                ErrorClass::Exhausted,
                ErrorClass::TimedOut,
                ErrorClass::Io,
            ]
            .map(|class| (class, 0)),
            bytes_sent: 0,
            bytes_received: 0,
            generator: GeneratorUse::default(),
            spin: Duration::ZERO,
            littles_law: LittlesLaw::default(),
            evidence: Evidence::new(),
            first_failure: None,
            last_end: None,
            over_at: None,
        }
    }

    /// A request is begun this long after it could have been.
    pub(crate) fn begun(&mut self, phase: Phase, lateness: Duration) {
        self.counts(phase).sent += 1;
        if phase == Phase::Window {
            self.lateness.record_ns(nanoseconds(lateness));
        }
    }

    pub(crate) fn connected(&mut self, phase: Phase, took: Duration) {
        if phase == Phase::Window {
            self.connect.record_ns(nanoseconds(took));
        }
    }

    pub(crate) fn answered(&mut self, phase: Phase, answer: Answered) {
        if phase == Phase::Window {
            let since = |start| nanoseconds(answer.at.saturating_duration_since(start));
            self.response.record_ns(since(answer.due));
            self.service.record_ns(since(answer.sent));
            self.first_byte.record_ns(nanoseconds(answer.first_byte.saturating_duration_since(answer.sent)));
            self.last_end = Some(answer.at);
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
            self.last_end = Some(at);
            let class = fault.class();
            for (known, count) in &mut self.errors {
                *count += u64::from(*known == class);
            }
        }
    }

    /// A request of this age is given up when the load is over.
    pub(crate) fn unfinished(&mut self, phase: Phase, age: Duration) {
        self.counts(phase).unfinished += 1;
        self.censor(phase, age);
    }

    /// A request that was due this long ago was never begun.
    pub(crate) fn unsent(&mut self, phase: Phase, age: Duration) {
        self.unsent += u64::from(phase == Phase::Window);
        self.censor(phase, age);
    }

    /// Counts a request at its age, since it has no end.
    pub(crate) fn censor(&mut self, phase: Phase, age: Duration) {
        if phase == Phase::Window {
            self.response.record_ns(nanoseconds(age));
            self.censored.add(age);
        }
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

    /// Notes what the one thread that was recorded used, spinning apart.
    pub(crate) fn used(&mut self, cpu: Duration, spin: Duration) {
        self.generator = GeneratorUse { threads: 1, cpu: cpu.saturating_sub(spin) };
        self.spin = spin;
    }

    /// Notes how much time in flight was seen within the window.
    pub(crate) fn saw_in_flight(&mut self, time: Duration) {
        self.littles_law.seen += time;
    }

    /// Adds the time that one request was in flight within the window.
    pub(crate) fn was_in_flight(&mut self, time: Duration) {
        self.littles_law.summed += time;
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
            unsent,
            reconnects,
            service,
            response,
            censored,
            first_byte,
            connect,
            lateness,
            status,
            errors,
            bytes_sent,
            bytes_received,
            generator,
            spin,
            littles_law,
            evidence,
            first_failure,
            last_end,
            over_at,
        } = other;
        add_counts(&mut self.warm_up, warm_up);
        add_counts(&mut self.window, window);
        self.unsent += unsent;
        self.reconnects += reconnects;
        self.service.merge(&service);
        self.response.merge(&response);
        self.censored.merge(censored);
        self.first_byte.merge(&first_byte);
        self.connect.merge(&connect);
        self.lateness.merge(&lateness);
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
        self.spin += spin;
        self.littles_law.seen += littles_law.seen;
        self.littles_law.summed += littles_law.summed;
        self.evidence.merge(evidence);
        self.first_failure = self.first_failure.into_iter().chain(first_failure).min_by_key(|failure| failure.at);
        self.last_end = self.last_end.max(last_end);
        self.over_at = self.over_at.max(over_at);
    }

    /// Notes that the thread has ended.
    pub(crate) fn is_over(&mut self, at: Instant) {
        self.over_at = Some(at);
    }

    /// What was seen in the window; it ends early when the load was aborted, and with its last request where it is by count.
    pub(crate) fn into_result(self, timeline: &Timeline, by_count: bool) -> LoadResult {
        let ended_at = if by_count { self.last_end.or(self.over_at) } else { self.over_at };
        let Timeline { opens_at, closes_at, .. } = *timeline;
        let window = ended_at.unwrap_or(closes_at).min(closes_at).saturating_duration_since(opens_at);
        let Self {
            warm_up,
            window: requests,
            unsent,
            reconnects,
            service,
            response,
            censored,
            first_byte,
            connect,
            lateness,
            status,
            errors,
            bytes_sent,
            bytes_received,
            generator,
            spin,
            littles_law,
            evidence,
            first_failure,
            last_end: _,
            over_at: _,
        } = self;
        LoadResult {
            window,
            requests,
            warm_up,
            unsent,
            reconnects,
            saturation: Saturation::find(&lateness, &response, &littles_law),
            service,
            response,
            censored,
            first_byte,
            connect,
            lateness,
            status: (0..).zip(status).filter(|(_, count)| *count > 0).collect(),
            errors: errors.into_iter().filter(|(_, count)| *count > 0).collect(),
            bytes_sent,
            bytes_received,
            generator,
            spin,
            littles_law,
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
        let answer = Answered {
            at: start + 3 * ms,
            due: start,
            sent: start + ms,
            first_byte: start + 2 * ms,
            exchange: 0,
            status: 200,
            fault: None,
        };
        for _ in 0..4 {
            recorder.begun(phase, ms / 10);
        }
        recorder.answered(phase, answer);
        let fault = Fault::Status { came: 500, expected: Some(200) };
        recorder.answered(phase, Answered { status: 500, fault: Some(fault), ..answer });
        recorder.failed(phase, 1, Fault::Connect(Errno::CONNREFUSED), start + 9 * ms);
        recorder.unfinished(phase, 20 * ms);
        recorder.unsent(phase, 30 * ms);
        recorder.connected(phase, ms);
        recorder.was_in_flight(ms);
        recorder.saw_in_flight(2 * ms);
        recorder.reconnected(phase);
        recorder.sent_bytes(phase, 10);
        recorder.received_bytes(phase, 20);
        recorder.used(3 * ms, 2 * ms);
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

        let result = merged.into_result(&Timeline::new(start, Duration::ZERO, second, second), false);
        let counts = |n| Counts { sent: 4 * n, ok: n, failed: 2 * n, unfinished: n };
        assert_eq!((result.requests, result.warm_up), (counts(2), counts(1)));
        assert_eq!(result.status, [(200, 2), (500, 2)].into());
        let errors = [(ErrorClass::Refused, 2), (ErrorClass::WrongStatus, 2)];
        assert_eq!(result.errors, errors.into());
        assert_eq!((result.reconnects, result.bytes_sent, result.bytes_received), (2, 20, 40));
        // The unfinished and the unsent ones have a response time.
        assert_eq!((result.service.count(), result.response.count()), (4, 8));
        let ms = Duration::from_millis(1);
        assert_eq!((result.unsent, result.censored), (2, Censored { count: 4, least: Some(20 * ms) }));
        let near = |latencies: &Latencies, millis: f64| (latencies.mean_ns() / 1e6 - millis).abs() < 0.01;
        assert!(near(&result.service, 2.0) && near(&result.first_byte, 1.0));
        assert!(near(&result.response, (2.0 * 3.0 + 20.0 + 30.0) / 4.0), "{:?}", result.response);
        assert!(near(&result.connect, 1.0) && result.connect.count() == 2);
        assert!(near(&result.lateness, 0.1) && result.lateness.count() == 8);
        assert_eq!(result.generator, GeneratorUse { threads: 3, cpu: 3 * ms });
        assert_eq!(result.spin, 6 * ms);
        assert_eq!(result.littles_law, LittlesLaw { seen: 6 * ms, summed: 3 * ms });
        let failure = result.first_failure.unwrap();
        assert_eq!(failure.detail, "status 500 came instead of 200");
    }
}
