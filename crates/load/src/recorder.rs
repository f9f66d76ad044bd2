//! What one thread has seen.

use std::time::{Duration, Instant};

use stampede_core::{Counts, ErrorClass, GeneratorUse};
use stampede_scenario::Scenario;

use crate::answered::{Answered, nanoseconds};
use crate::body_check::Evidence;
use crate::fact_counts::FactCounts;
use crate::fault::Fault;
use crate::hearing::HeardEvents;
use crate::sampler::Sampler;
use crate::slicer::Slicer;
use crate::tally::Tally;
use crate::timeline::{Phase, Timeline};
use stampede_seam::Backend;
use stampede_seam::{AnswerFacts, BreakPoint, FlowResult, LoadResult, Measures, RequestFailure, StepResult};
use stampede_seam::{LittlesLaw, Saturation};

/// What one thread has seen, or several after [`Recorder::merge`]. Recording takes no memory.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    steps: Vec<Tally>,
    /// What happened in each crowd of a scenario.
    pub(crate) crowds: Vec<stampede_scenario::Tally>,
    /// Requests of both phases and all steps.
    ok: u64,
    failed: u64,
    reconnects: u64,
    bytes_sent: u64,
    bytes_received: u64,
    generator: GeneratorUse,
    spin: Duration,
    /// How much later than the load was to begin the thread could.
    missed: Duration,
    begun_late: Option<Duration>,
    littles_law: LittlesLaw,
    pub(crate) evidence: Evidence,
    facts: FactCounts,
    first_failure: Option<FirstFailure>,
    /// When the last request of the window ended.
    last_end: Option<Instant>,
    /// When the threads ended.
    over_at: Option<Instant>,
    /// What became of the window's requests of each turn that is over, in a load that rests between turns.
    turns: Vec<Counts>,
    /// The window's requests by the target that they were begun for.
    by_target: Vec<u64>,
    /// Whether targets changed meanwhile, so that those of before are others.
    targets_changed: bool,
    /// Where seconds are told one by one.
    pub(crate) slicer: Option<Slicer>,
    /// Where each request is kept.
    pub(crate) sampler: Option<Box<Sampler>>,
}

#[derive(Clone, Copy, Debug)]
struct FirstFailure {
    at: Instant,
    step: usize,
    fault: Fault,
}

impl Recorder {
    /// For a load of so many turns, where it rests between them.
    pub(crate) fn new(steps: usize, turns: usize, scenario: Option<&Scenario>, slicer: Option<Slicer>) -> Self {
        let crowds = scenario.into_iter().flat_map(|scenario| {
            scenario.crowds.iter().map(|crowd| stampede_scenario::Tally::new(crowd, scenario.feeders.len()))
        });
        let mut evidence = Evidence::default();
        evidence.events = scenario.map(HeardEvents::new).unwrap_or_default();
        Self {
            steps: (0..steps).map(|_| Tally::new()).collect(),
            crowds: crowds.collect(),
            evidence,
            turns: Vec::with_capacity(turns),
            by_target: Vec::new(),
            targets_changed: false,
            slicer,
            ..Self::default()
        }
    }

    /// The tally of a step, where the phase is the window.
    fn window(&mut self, step: usize, phase: Phase) -> Option<&mut Tally> {
        self.steps.get_mut(step).filter(|_| phase == Phase::Window)
    }

    /// There are so many targets. Makes room to count by them.
    pub(crate) fn begin_targets(&mut self, targets: usize) {
        self.by_target = vec![0; targets];
    }

    /// There are other targets from now on.
    pub(crate) fn targets_change(&mut self) {
        self.targets_changed = true;
    }

    pub(crate) fn begun(&mut self, step: usize, phase: Phase, target: usize) {
        if let Some(tally) = self.steps.get_mut(step) {
            tally.counts(phase).sent += 1;
            if phase == Phase::Window {
                if let Some(count) = self.by_target.get_mut(target) {
                    *count += 1;
                }
                if let Some(slicer) = &mut self.slicer {
                    slicer.current.sent += 1;
                }
            }
        }
    }

    /// Whether a request went out, or its connection was asked for.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun_late.is_some()
    }

    /// A request that was begun went out, or its connection was asked for, this long after it could have been.
    pub(crate) fn late(&mut self, step: usize, phase: Phase, lateness: Duration) {
        self.begun_late.get_or_insert(self.missed + lateness);
        if let Some(tally) = self.window(step, phase) {
            tally.measures.lateness.record_ns(nanoseconds(lateness));
        }
    }

    pub(crate) fn connected(&mut self, step: usize, phase: Phase, took: Duration) {
        if let Some(tally) = self.window(step, phase) {
            tally.measures.connect.record_ns(nanoseconds(took));
        }
    }

    pub(crate) fn answered(&mut self, phase: Phase, answer: Answered) {
        if let Some(tally) = self.steps.get_mut(answer.step) {
            tally.count_status(phase, answer.status);
            if phase == Phase::Window {
                tally.answered(&answer);
                self.facts.answered(answer.length);
                self.last_end = Some(answer.at);
                if let Some(slicer) = &mut self.slicer {
                    let since = |start| nanoseconds(answer.at.saturating_duration_since(start));
                    slicer.current.ok += u64::from(answer.fault.is_none());
                    slicer.current.service.record_ns(since(answer.sent));
                    slicer.current.response.record_ns(since(answer.due));
                }
            }
            match answer.fault {
                None => {
                    tally.counts(phase).ok += 1;
                    self.ok += 1;
                }
                Some(fault) => self.failed(phase, answer.step, fault, answer.at),
            }
        }
    }

    /// An answer of several is there, and others follow: it was sent together with one that is counted already.
    pub(crate) fn answered_one(&mut self, phase: Phase, step: usize, status: u16, fault: Option<Fault>, at: Instant) {
        let Some(tally) = self.steps.get_mut(step) else { return };
        tally.count_status(phase, status);
        tally.counts(phase).sent += 1;
        match fault {
            None => {
                tally.counts(phase).ok += 1;
                self.ok += 1;
            }
            Some(fault) => self.failed(phase, step, fault, at),
        }
    }

    /// So many requests that were sent together with one that has failed, and is counted already, have failed too.
    pub(crate) fn failed_with(&mut self, phase: Phase, step: usize, fault: Fault, at: Instant, others: u32) {
        for _ in 0..others {
            if let Some(tally) = self.steps.get_mut(step) {
                tally.counts(phase).sent += 1;
            }
            self.failed(phase, step, fault, at);
        }
    }

    /// So many requests that were sent together with one that has no end, and is counted already, have none either.
    pub(crate) fn unfinished_with(&mut self, step: usize, phase: Phase, others: u32) {
        if let Some(tally) = self.steps.get_mut(step) {
            tally.counts(phase).sent += u64::from(others);
            tally.counts(phase).unfinished += u64::from(others);
        }
    }

    pub(crate) fn failed(&mut self, phase: Phase, step: usize, fault: Fault, at: Instant) {
        self.failed += 1;
        self.first_failure.get_or_insert(FirstFailure { at, step, fault });
        if let Some(tally) = self.steps.get_mut(step) {
            tally.counts(phase).failed += 1;
            if phase == Phase::Window {
                tally.failed(fault);
                self.last_end = Some(at);
                if let Some(slicer) = &mut self.slicer {
                    slicer.current.failed += 1;
                }
            }
        }
    }

    /// A request that failed was so far.
    pub(crate) fn broke(&mut self, phase: Phase, class: ErrorClass, point: BreakPoint) {
        if phase == Phase::Window {
            self.facts.broke(class, point);
        }
    }

    /// A connection is not used again after an answer.
    pub(crate) fn not_kept(&mut self, phase: Phase) {
        self.facts.not_kept += u64::from(phase == Phase::Window);
    }

    /// A request of this age is given up when the load is over.
    pub(crate) fn unfinished(&mut self, step: usize, phase: Phase, age: Duration) {
        if let Some(tally) = self.steps.get_mut(step) {
            tally.counts(phase).unfinished += 1;
        }
        self.censor(step, phase, age);
    }

    /// A request that was due this long ago was never begun.
    pub(crate) fn unsent(&mut self, step: usize, phase: Phase, age: Duration) {
        if let Some(tally) = self.window(step, phase) {
            tally.measures.unsent += 1;
            tally.censor(age);
        }
    }

    /// Counts a request at its age, since it has no end.
    pub(crate) fn censor(&mut self, step: usize, phase: Phase, age: Duration) {
        if let Some(tally) = self.window(step, phase) {
            tally.censor(age);
            if let Some(slicer) = &mut self.slicer {
                slicer.current.response.record_ns(nanoseconds(age));
            }
        }
    }

    pub(crate) fn reconnected(&mut self, phase: Phase) {
        self.reconnects += u64::from(phase == Phase::Window);
    }

    /// Bytes on the wire, of whatever step.
    pub(crate) fn sent_bytes(&mut self, phase: Phase, bytes: usize) {
        if phase == Phase::Window {
            self.bytes_sent += bytes as u64;
            if let Some(slicer) = &mut self.slicer {
                slicer.current.bytes_sent += bytes as u64;
            }
        }
    }

    pub(crate) fn received_bytes(&mut self, phase: Phase, bytes: usize) {
        if phase == Phase::Window {
            self.bytes_received += bytes as u64;
            if let Some(slicer) = &mut self.slicer {
                slicer.current.bytes_received += bytes as u64;
            }
        }
    }

    pub(crate) fn secured(&mut self, step: usize, phase: Phase, took: Duration) {
        if let Some(tally) = self.window(step, phase) {
            tally.measures.tls.record_ns(nanoseconds(took));
        }
    }

    /// Notes how much later than the load was to begin its thread could.
    pub(crate) fn missed(&mut self, missed: Duration) {
        self.missed = missed;
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
        (self.ok, self.failed)
    }

    /// Adds what another thread has seen.
    pub(crate) fn merge(&mut self, other: Self) {
        let Self {
            steps,
            crowds,
            ok,
            failed,
            reconnects,
            bytes_sent,
            bytes_received,
            generator,
            spin,
            missed: _,
            begun_late,
            littles_law,
            evidence,
            facts,
            first_failure,
            last_end,
            over_at,
            turns,
            by_target,
            targets_changed,
            slicer: _,
            sampler: _,
        } = other;
        for (sum, tally) in self.steps.iter_mut().zip(&steps) {
            sum.merge(tally);
        }
        for (sum, tally) in self.crowds.iter_mut().zip(&crowds) {
            sum.merge(tally);
        }
        self.ok += ok;
        self.failed += failed;
        self.reconnects += reconnects;
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
        self.generator.threads += generator.threads;
        self.generator.cpu += generator.cpu;
        self.spin += spin;
        self.begun_late = self.begun_late.max(begun_late);
        self.littles_law.seen += littles_law.seen;
        self.littles_law.summed += littles_law.summed;
        self.evidence.merge(evidence);
        self.facts.merge(&facts);
        self.first_failure = self.first_failure.into_iter().chain(first_failure).min_by_key(|failure| failure.at);
        self.last_end = self.last_end.max(last_end);
        self.over_at = self.over_at.max(over_at);
        self.turns.resize(self.turns.len().max(turns.len()), Counts::default());
        self.turns.iter_mut().zip(turns).for_each(|(sum, counts)| *sum += counts);
        self.by_target.resize(self.by_target.len().max(by_target.len()), 0);
        self.by_target.iter_mut().zip(by_target).for_each(|(sum, count)| *sum += count);
        self.targets_changed |= targets_changed;
    }

    /// Notes that a turn is over: what has become of the window's requests since the last one is its.
    pub(crate) fn turn_is_over(&mut self) {
        let (mut before, mut now) = (Counts::default(), Counts::default());
        self.turns.iter().for_each(|turn| before += *turn);
        self.steps.iter().for_each(|tally| now += tally.measures.requests);
        self.turns.push(Counts {
            sent: now.sent - before.sent,
            ok: now.ok - before.ok,
            failed: now.failed - before.failed,
            unfinished: now.unfinished - before.unfinished,
        });
    }

    /// Notes that the thread has ended.
    pub(crate) fn is_over(&mut self, at: Instant) {
        self.over_at = Some(at);
    }

    /// What was seen in the window; it ends early when the load was aborted, and with its last request where it is by count.
    /// `names` are those of the steps, and there is a timeline for each turn.
    pub(crate) fn into_result(
        self,
        timelines: &[Timeline],
        by_count: bool,
        backend: Backend,
        names: Vec<String>,
        scenario: Option<&Scenario>,
    ) -> LoadResult {
        let ended_at = if by_count { self.last_end.or(self.over_at) } else { self.over_at };
        let window = timelines.iter().map(|timeline| timeline.window(ended_at)).sum();
        let Self {
            steps,
            crowds: tallies,
            ok: _,
            failed: _,
            reconnects,
            bytes_sent,
            bytes_received,
            generator,
            spin,
            missed: _,
            begun_late,
            littles_law,
            evidence,
            facts,
            first_failure,
            last_end: _,
            over_at: _,
            turns,
            by_target,
            targets_changed,
            slicer: _,
            sampler: _,
        } = self;
        let (wrong_answers, notes, events) = evidence.into_parts();
        let (server, interim, breach) = notes.into_parts();
        let breaks = facts.breaks();
        let FactCounts { first_length, other_lengths, body_bytes, not_kept, .. } = facts;
        let mut total = Tally::new();
        steps.iter().for_each(|tally| total.merge(tally));
        let (crowds, feeders) = scenario.map_or((&[][..], &[][..]), |Scenario { crowds, feeders }| (crowds, feeders));
        let flows = crowds.iter().zip(&tallies).flat_map(|(crowd, tally)| crowd.flows.iter().zip(&tally.flows));
        let unmatched = crowds.iter().zip(&tallies).flat_map(|(crowd, tally)| tally.never_matched(crowd));
        let exhausted = |number: usize| tallies.iter().any(|tally| tally.exhausted.get(number) == Some(&true));
        let exhausted = feeders.iter().enumerate().filter(|(number, _)| exhausted(*number));
        LoadResult {
            window,
            turns,
            by_target: if targets_changed { Vec::new() } else { by_target },
            backend,
            reconnects,
            bytes_sent,
            bytes_received,
            saturation: Saturation::find(&total.measures.lateness, &total.measures.response, &littles_law),
            total: total.into_measures(),
            steps: names
                .into_iter()
                .zip(steps)
                .zip(events.into_steps())
                .map(|((name, tally), events)| StepResult {
                    name,
                    measures: Measures { events, ..tally.into_measures() },
                })
                .collect(),
            flows: flows.map(|(flow, count)| FlowResult { name: flow.name.clone(), count: count.clone() }).collect(),
            unmatched_captures: unmatched.map(|(flow, step, name)| format!("{flow}/{step}: {name}")).collect(),
            exhausted_feeders: exhausted.map(|(_, feeder)| feeder.name.clone()).collect(),
            slices: Vec::new(),
            generator,
            spin,
            begun_late,
            littles_law,
            facts: AnswerFacts { server, first_length, other_lengths, body_bytes, not_kept, interim, breaks, breach },
            wrong_answers,
            first_failure: first_failure.map(|failure| RequestFailure {
                class: failure.fault.class(),
                step: failure.step,
                detail: failure.fault.to_string(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;
    use stampede_core::{Censored, Latencies};
    use stampede_scenario::Wrong;

    use super::*;

    /// One right answer after 3 ms (1 ms of it before it was sent), one wrong status, one refused, one unfinished.
    fn recorder(phase: Phase, start: Instant) -> Recorder {
        let ms = Duration::from_millis(1);
        let mut recorder = Recorder::new(2, 2, None, None);
        let answer = Answered {
            at: start + 3 * ms,
            due: start,
            sent: start + ms,
            first_byte: start + 2 * ms,
            step: 0,
            status: 200,
            length: 5,
            fault: None,
        };
        for _ in 0..4 {
            recorder.begun(0, phase, 0);
            recorder.late(0, phase, ms / 10);
        }
        recorder.answered(phase, answer);
        let fault = Fault::Wrong(Wrong::Status { came: 500, expected: Some(200) });
        recorder.answered(phase, Answered { status: 500, fault: Some(fault), ..answer });
        recorder.failed(phase, 1, Fault::Connect(Errno::CONNREFUSED), start + 9 * ms);
        recorder.unfinished(0, phase, 20 * ms);
        recorder.unsent(0, phase, 30 * ms);
        recorder.connected(0, phase, ms);
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
        merged.turn_is_over();
        merged.turn_is_over();
        merged.merge(recorder(Phase::Window, start + second));
        merged.merge(recorder(Phase::WarmUp, start - second));
        assert_eq!(merged.progress(), (3, 6));

        let whole = merged.into_result(
            &[Timeline::new(start, Duration::ZERO, second, second)],
            false,
            Backend::Epoll,
            vec!["a".to_owned(), "b".to_owned()],
            None,
        );
        let [first, other] = [0, 1].map(|step| &whole.steps[step].measures);
        assert_eq!((first.requests.sent, first.requests.failed, other.requests.failed), (8, 2, 2));
        let result = whole.total;
        let counts = |n| Counts { sent: 4 * n, ok: n, failed: 2 * n, unfinished: n };
        assert_eq!((result.requests, result.warm_up), (counts(2), counts(1)));
        assert_eq!(whole.turns, [counts(1), Counts::default()]);
        assert_eq!(result.status, [(200, 2), (500, 2)].into());
        let errors = [(ErrorClass::Refused, 2), (ErrorClass::WrongStatus, 2)];
        assert_eq!(result.errors, errors.into());
        assert_eq!((whole.reconnects, whole.bytes_sent, whole.bytes_received), (2, 20, 40));
        // The unfinished and the unsent ones have a response time.
        assert_eq!((result.service.count(), result.response.count()), (4, 8));
        let ms = Duration::from_millis(1);
        assert_eq!((result.unsent, result.censored), (2, Censored { count: 4, least: Some(20 * ms) }));
        let near = |latencies: &Latencies, millis: f64| (latencies.mean_ns() / 1e6 - millis).abs() < 0.01;
        assert!(near(&result.service, 2.0) && near(&result.first_byte, 1.0));
        assert!(near(&result.response, (2.0 * 3.0 + 20.0 + 30.0) / 4.0), "{:?}", result.response);
        assert!(near(&result.connect, 1.0) && result.connect.count() == 2);
        assert!(near(&result.lateness, 0.1) && result.lateness.count() == 8);
        assert_eq!(whole.generator, GeneratorUse { threads: 3, cpu: 3 * ms });
        assert_eq!(whole.spin, 6 * ms);
        assert_eq!(whole.littles_law, LittlesLaw { seen: 6 * ms, summed: 3 * ms });
        let failure = whole.first_failure.unwrap();
        assert_eq!(failure.detail, "status 500 Internal Server Error came instead of 200 OK");
    }
}
