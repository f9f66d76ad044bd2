//! Where PHP's time went in the trials of a case, by samples of its stacks.
//!
//! Samples divide the time that the scheduler counted; the trials are the replicates: shares and times are found in each trial,
//! and their intervals follow from how trials differ. Processes that were sampled once have intervals by the number of their samples.

mod flame;
mod native;
mod time_part;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use stampede_core::{Estimate, InsideFunction, InsideRecord, InsideStack, InsideState, InsideTarget, Measurement};
use stampede_stats::{Confidence, mean, mean_interval, median};

pub use self::flame::{FlameNode, FlameTree};
pub use self::native::NativeTime;
pub(crate) use self::native::{GARBAGE_COLLECTION, part_share};
pub use self::time_part::TimePart;
pub(crate) use self::time_part::is_applications;
use crate::metric::ratio;
use crate::record::Record;

/// Functions and waits that are shown of each kind.
const MOST_ROWS: usize = 12;

/// The standard normal quantile of 95 % intervals.
const NORMAL_95: f64 = 1.96;

/// What was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsideSubject {
    /// Trials under a load. Times are those of a request, in the mean over trials.
    Requests,
    /// Processes, for once. Times are all that was spent.
    Processes,
}

/// Where PHP's time went.
#[derive(Clone, Debug, PartialEq)]
pub struct InsideProfile {
    /// What was sampled.
    pub subject: InsideSubject,
    /// The time of a request by parts, those without any left out.
    pub parts: Vec<PartTime>,
    /// Functions that ran the longest, with what they call.
    pub functions: Vec<FunctionTime>,
    /// What requests waited for, the longest first.
    pub waits: Vec<WaitTime>,
    /// Paths of requests by their share of the time that PHP ran, the largest first.
    pub requests: Vec<(String, Estimate)>,
    /// Where in machine code PHP's threads ran, the largest first; nothing where the kernel does not show it.
    pub native: Vec<NativeTime>,
    /// Whether the kernel's own code could not be seen: shares of `native` are of the time outside it.
    pub native_without_kernel: bool,
    /// Time of a request in which its thread could run and did not, in microseconds.
    pub ready_us: Estimate,
    /// CPU time of the deployment that was not PHP's threads', as a share of all of it: its web server, and threads of their own.
    pub beside_php: Option<Estimate>,
    /// The share of answers a second that sampling cost, from the seconds or turns with it and those without.
    pub price: Option<Estimate>,
    /// CPU time of the sampler, as a share of a processor while it sampled.
    pub sampler_cpu: f64,
    /// Samples of all trials.
    pub samples: u64,
    /// The share of samples that were left out, since memory changed while it was read.
    pub torn_share: f64,
    /// Instants that were over before anything could be looked at, of all trials.
    pub missed: u64,
    /// All stacks as a tree.
    pub flame: FlameTree,
    /// What could not be looked into.
    pub problems: Vec<String>,
}

/// What a part of a request takes.
#[derive(Clone, Debug, PartialEq)]
pub struct PartTime {
    /// Which.
    pub part: TimePart,
    /// Of the time that PHP's threads ran.
    pub share: Estimate,
    /// CPU time of a request, in microseconds.
    pub running_us: Estimate,
    /// Time that a request waited in it, in microseconds.
    pub waiting_us: Estimate,
}

/// What a function takes of the time that PHP's threads ran.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionTime {
    /// Its name.
    pub function: String,
    /// Without what it calls.
    pub own: Estimate,
    /// With what it calls.
    pub total: Estimate,
}

/// What requests waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitTime {
    /// For what, and in which function.
    pub wait: String,
    /// How long, in microseconds of a request.
    pub us: Estimate,
}

/// The stacks of a trial, and what a sample of each state stands for.
pub(crate) struct Weighed<'a> {
    pub(crate) record: &'a InsideRecord,
    /// Samples of threads that ran, were ready and waited.
    seen: [u64; 3],
    /// Seconds that a sample of a thread that ran, was ready and waited stands for.
    weights: [f64; 3],
    /// Right answers of the window.
    pub(crate) requests: f64,
}

impl<'a> Weighed<'a> {
    fn of(measured: &'a Measurement) -> Option<Self> {
        let record = measured.sampling.as_ref()?.inside.as_deref()?;
        Self::new(record, measured.requests.ok as f64)
    }

    /// None without a sample.
    fn new(record: &'a InsideRecord, requests: f64) -> Option<Self> {
        let mut seen = [0_u64; 3];
        for stack in &record.stacks {
            seen[kind(stack)] += stack.samples;
        }
        let times = [record.spent.running, record.spent.ready, record.spent.waiting];
        let weights = [0, 1, 2].map(|kind| times[kind].as_secs_f64() / (seen[kind].max(1) as f64));
        (seen.iter().sum::<u64>() > 0).then_some(Self { record, seen, weights, requests })
    }

    /// All of a case's measured trials that were sampled, and answered something.
    fn all(record: &Record<'a>) -> Vec<Self> {
        let trials = record.measured().filter_map(|trial| Self::of(trial.measurement.as_ref()?));
        trials.filter(|trial| trial.requests > 0.0).collect()
    }

    /// All of a case's windows that were sampled, also of trials that failed: what failed them may be seen in them.
    pub(crate) fn windows(record: &Record<'a>) -> Vec<Self> {
        record.measurements().filter_map(Self::of).collect()
    }

    /// The seconds that a stack stands for.
    pub(crate) fn seconds(&self, stack: &InsideStack) -> f64 {
        stack.samples as f64 * self.weights[kind(stack)]
    }

    /// The seconds of all stacks for which this holds.
    pub(crate) fn sum(&self, mut holds: impl FnMut(&InsideStack) -> bool) -> f64 {
        self.record.stacks.iter().filter(|stack| holds(stack)).map(|stack| self.seconds(stack)).sum()
    }

    /// The seconds that threads ran.
    fn ran(&self) -> f64 {
        self.record.spent.running.as_secs_f64()
    }
}

/// 0 for a stack of a thread that ran, 1 of one that was ready, 2 of one that waited.
fn kind(stack: &InsideStack) -> usize {
    match stack.state {
        InsideState::Running => 0,
        InsideState::Ready => 1,
        InsideState::Waiting(_) => 2,
    }
}

impl InsideProfile {
    /// Of a case whose trials were sampled.
    pub(crate) fn of(case: &Record<'_>) -> Option<Self> {
        let trials = Weighed::all(case);
        let records: Vec<&InsideRecord> = inside_records(case).map(|(_, record)| record).collect();
        let profile = Self::new(InsideSubject::Requests, &trials, &records);
        let is_there = !trials.is_empty() || !profile.problems.is_empty();
        is_there.then(|| Self { beside_php: beside_php(case), price: price(case), ..profile })
    }

    /// Of processes that were sampled once.
    pub fn of_processes(record: &InsideRecord) -> Self {
        // Times are those of a request: here all of them together are one.
        let trial = Weighed::new(record, 1.0);
        let mut profile = Self::new(InsideSubject::Processes, trial.as_slice(), &[record]);
        if let Some(trial) = &trial {
            profile.bound_by_samples(trial);
        }
        profile
    }

    fn new(subject: InsideSubject, trials: &[Weighed<'_>], records: &[&InsideRecord]) -> Self {
        let problems: BTreeSet<&String> = records.iter().flat_map(|record| &record.problems).collect();
        let effort = |of: fn(&InsideRecord) -> f64| records.iter().map(|record| of(record)).sum::<f64>();
        let sampled = effort(|record| record.sampled.iter().map(|part| (part.end - part.start).as_secs_f64()).sum());
        let taken = effort(|record| record.effort.taken as f64);
        let torn = effort(|record| record.effort.torn as f64);
        let ready = |trial: &Weighed<'_>| trial.sum(|stack| kind(stack) == 1 && !stack.frames.is_empty());
        Self {
            subject,
            parts: parts(trials),
            functions: functions(trials),
            waits: waits(trials),
            requests: requests(trials),
            native: native::native(trials),
            native_without_kernel: records.iter().any(|record| record.native.without_kernel),
            ready_us: estimate(trials.iter().map(|trial| each_us(trial, ready(trial)))),
            beside_php: None,
            price: None,
            sampler_cpu: ratio(effort(|record| record.effort.cpu.as_secs_f64()), sampled).unwrap_or_default(),
            samples: taken as u64,
            torn_share: ratio(torn, taken + torn).unwrap_or_default(),
            missed: records.iter().map(|record| record.effort.missed).sum(),
            flame: FlameTree::of(trials),
            problems: problems.into_iter().cloned().collect(),
        }
    }

    /// Gives each figure the interval that follows from the number of samples.
    fn bound_by_samples(&mut self, trial: &Weighed<'_>) {
        let [running, ready, waiting] =
            [0, 1, 2].map(|kind| (each_us(trial, trial.weights[kind]) * trial.seen[kind] as f64, trial.seen[kind]));
        let share = (1.0, running.1);
        for PartTime { part: _, share: of, running_us, waiting_us } in &mut self.parts {
            bound(of, share);
            bound(running_us, running);
            bound(waiting_us, waiting);
        }
        for FunctionTime { function: _, own, total } in &mut self.functions {
            bound(own, share);
            bound(total, share);
        }
        self.waits.iter_mut().for_each(|wait| bound(&mut wait.us, waiting));
        self.requests.iter_mut().for_each(|(_, of)| bound(of, share));
        let sampled = (1.0, trial.record.native.samples());
        self.native.iter_mut().for_each(|row| bound(&mut row.share, sampled));
        bound(&mut self.ready_us, ready);
    }
}

/// The interval of a part of a whole by so many samples: binomial, with one sample more of each kind so that none of few is not certain
/// (Agresti and Coull, "Approximate is better than exact", The American Statistician 52(2), 1998).
fn bound(part: &mut Estimate, (whole, samples): (f64, u64)) {
    let samples = samples as f64;
    let steadied = (ratio(part.value, whole).unwrap_or_default() * samples + 1.0) / (samples + 2.0);
    let half = NORMAL_95 * (steadied * (1.0 - steadied) / (samples + 2.0)).max(0.0).sqrt() * whole;
    *part = Estimate { low: Some(part.value - half), high: Some(part.value + half), ..*part };
}

/// The measured windows of a case that were sampled inside.
fn inside_records<'a>(case: &Record<'a>) -> impl Iterator<Item = (&'a Measurement, &'a InsideRecord)> {
    let windows = case.measured().filter_map(|trial| trial.measurement.as_ref());
    windows.filter_map(|measured| Some((measured, measured.sampling.as_ref()?.inside.as_deref()?)))
}

/// Microseconds of a request.
fn each_us(trial: &Weighed<'_>, seconds: f64) -> f64 {
    seconds * 1e6 / trial.requests
}

/// The mean over trials, with its interval.
fn estimate(values: impl Iterator<Item = f64>) -> Estimate {
    let values: Vec<f64> = values.collect();
    let interval = mean_interval(&values, Confidence::P95).ok();
    Estimate {
        value: mean(&values).unwrap_or_default(),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        n: values.len() as u32,
    }
}

fn parts(trials: &[Weighed<'_>]) -> Vec<PartTime> {
    let of_trial = |trial: &Weighed<'_>| {
        let mut times: BTreeMap<TimePart, [f64; 3]> = BTreeMap::new();
        for stack in &trial.record.stacks {
            times.entry(TimePart::of(trial.record, stack)).or_default()[kind(stack)] += trial.seconds(stack);
        }
        times
    };
    let times: Vec<_> = trials.iter().map(of_trial).collect();
    let of = |part: TimePart, kind: usize| {
        times.iter().map(move |times| times.get(&part).map_or(0.0, |times| times[kind])).zip(trials)
    };
    let time = |part: TimePart| {
        // Workers without a request wait, and no request waits with them.
        let waited = |(seconds, trial): (f64, &Weighed<'_>)| {
            if part == TimePart::Outside { 0.0 } else { each_us(trial, seconds) }
        };
        PartTime {
            part,
            share: estimate(of(part, 0).map(|(seconds, trial)| ratio(seconds, trial.ran()).unwrap_or_default())),
            running_us: estimate(of(part, 0).map(|(seconds, trial)| each_us(trial, seconds))),
            waiting_us: estimate(of(part, 2).map(waited)),
        }
    };
    let parts = TimePart::ALL.into_iter().map(time);
    parts.filter(|part| part.running_us.value > 0.0 || part.waiting_us.value > 0.0).collect()
}

fn functions(trials: &[Weighed<'_>]) -> Vec<FunctionTime> {
    let of_trial = |trial: &Weighed<'_>| {
        let mut times: BTreeMap<String, [f64; 2]> = BTreeMap::new();
        let names: Vec<String> = trial.record.functions.iter().map(ToString::to_string).collect();
        let named = |frame: &u32| names.get(*frame as usize).cloned();
        for stack in trial.record.stacks.iter().filter(|stack| kind(stack) == 0) {
            let share = ratio(trial.seconds(stack), trial.ran()).unwrap_or_default();
            if let Some(leaf) = stack.frames.last().and_then(named) {
                times.entry(leaf).or_default()[0] += share;
            }
            // A function that calls itself is counted once.
            for name in stack.frames.iter().filter_map(named).collect::<BTreeSet<_>>() {
                times.entry(name).or_default()[1] += share;
            }
        }
        times
    };
    let times: Vec<_> = trials.iter().map(of_trial).collect();
    let names: BTreeSet<&String> = times.iter().flat_map(BTreeMap::keys).collect();
    let of = |name: &String, place: usize| {
        estimate(times.iter().map(|times| times.get(name).map_or(0.0, |shares| shares[place])))
    };
    let mut rows: Vec<FunctionTime> = names
        .into_iter()
        .map(|name| FunctionTime { function: name.clone(), own: of(name, 0), total: of(name, 1) })
        .collect();
    rows.sort_by(|a, b| b.own.value.total_cmp(&a.own.value));
    let mut shown = rows.split_off(MOST_ROWS.min(rows.len()));
    shown.sort_by(|a, b| b.total.value.total_cmp(&a.total.value));
    rows.extend(shown.into_iter().take(MOST_ROWS));
    rows.sort_by(|a, b| b.total.value.total_cmp(&a.total.value).then(b.own.value.total_cmp(&a.own.value)));
    rows
}

fn waits(trials: &[Weighed<'_>]) -> Vec<WaitTime> {
    let of_trial = |trial: &Weighed<'_>| {
        let mut times: BTreeMap<String, f64> = BTreeMap::new();
        for stack in &trial.record.stacks {
            let InsideState::Waiting(wait) = &stack.state else { continue };
            let part = TimePart::of(trial.record, stack);
            if part == TimePart::Outside {
                continue;
            }
            let mut wait = wait.clone();
            // Studies before 2026-11-28 have a database of the deployment among its own servers.
            if let (TimePart::Database, Some(InsideTarget::Itself(address))) = (part, &wait.target) {
                wait.target = Some(InsideTarget::Peer(address.clone()));
            }
            let function = trial.record.frames(stack).next_back().map(ToString::to_string).unwrap_or_default();
            *times.entry(format!("{wait} in {function}")).or_default() += each_us(trial, trial.seconds(stack));
        }
        times
    };
    let mut rows = merged(trials.iter().map(of_trial).collect());
    rows.truncate(MOST_ROWS);
    rows.into_iter().map(|(wait, us)| WaitTime { wait, us }).collect()
}

fn requests(trials: &[Weighed<'_>]) -> Vec<(String, Estimate)> {
    let of_trial = |trial: &Weighed<'_>| {
        let mut shares: BTreeMap<String, f64> = BTreeMap::new();
        for stack in trial.record.stacks.iter().filter(|stack| kind(stack) == 0) {
            if let Some(path) = &stack.request {
                *shares.entry(path.clone()).or_default() +=
                    ratio(trial.seconds(stack), trial.ran()).unwrap_or_default();
            }
        }
        shares
    };
    let mut rows = merged(trials.iter().map(of_trial).collect());
    rows.truncate(MOST_ROWS);
    rows
}

/// The estimate of each name over all trials, the largest first.
fn merged(trials: Vec<BTreeMap<String, f64>>) -> Vec<(String, Estimate)> {
    let names: BTreeSet<&String> = trials.iter().flat_map(BTreeMap::keys).collect();
    let of = |name: &String| estimate(trials.iter().map(|times| times.get(name).copied().unwrap_or_default()));
    let mut rows: Vec<(String, Estimate)> = names.into_iter().map(|name| (name.clone(), of(name))).collect();
    rows.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    rows
}

/// What the deployment's control group used beside PHP's threads. The two are read at nearly the same instants.
fn beside_php(case: &Record<'_>) -> Option<Estimate> {
    let shares: Vec<f64> = inside_records(case)
        .filter(|(_, record)| record.effort.taken > 0)
        .filter_map(|(measured, record)| {
            let all = measured.resources?.cpu.as_secs_f64();
            ratio(all - record.spent.running.as_secs_f64(), all).map(|share| share.clamp(0.0, 1.0))
        })
        .collect();
    (!shares.is_empty()).then(|| estimate(shares.into_iter()))
}

/// By how much fewer answers came while samples were taken than while none were: under a closed load, whose rate follows from it.
fn price(case: &Record<'_>) -> Option<Estimate> {
    matches!(case.case.load, stampede_core::Load::Closed { .. }).then_some(())?;
    let prices: Vec<f64> =
        inside_records(case).filter_map(|(measured, record)| price_of_window(measured, record)).collect();
    (!prices.is_empty()).then(|| estimate(prices.into_iter()))
}

fn price_of_window(measured: &Measurement, record: &InsideRecord) -> Option<f64> {
    let is_within =
        |from: Duration, to: Duration| record.sampled.iter().any(|part| part.start <= from && to <= part.end);
    let is_beside =
        |from: Duration, to: Duration| record.sampled.iter().all(|part| to <= part.start || part.end <= from);
    let mut stretches: Vec<(Duration, Duration, f64)> = Vec::new();
    if measured.turns.is_empty() {
        let seconds = measured.load_seconds.iter();
        stretches.extend(
            seconds.map(|it| (Duration::from_secs(it.second), Duration::from_secs(it.second + 1), it.ok as f64)),
        );
    } else {
        let mut at = Duration::ZERO;
        for turn in &measured.turns {
            stretches.push((at, at + turn.window, turn.rate()));
            at += turn.window;
        }
    }
    let rate = |chosen: &dyn Fn(Duration, Duration) -> bool| {
        let rates: Vec<f64> =
            stretches.iter().filter(|(from, to, _)| chosen(*from, *to)).map(|(.., rate)| *rate).collect();
        // A second in which the machine did something else is no second of the sampler's.
        median(&rates)
    };
    let (with, without) = (rate(&is_within)?, rate(&is_beside)?);
    Some(1.0 - ratio(with, without)?)
}

/// Whether a function is one of PHP or of an extension whose name begins so.
pub(crate) fn is_internal(function: &InsideFunction, begins: &[&str]) -> bool {
    function.file.is_none()
        && function.name.is_some()
        && begins.iter().any(|begin| function.to_string().starts_with(begin))
}
