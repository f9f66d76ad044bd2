//! What a stored study tells of a request and of an instance.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{
    Arrivals, Bytes, Case, CaseId, Cpus, Latencies, Load, Origin, Outcome, Role, Setting, Study, StudyKind, Trial,
    are_autoscaled,
};
use stampede_stats::median;
use thiserror::Error;

use crate::{InstanceModel, Quantiles, Shape, Start, Wake, Waking, Work};

/// A quota that stalled more than this share of its periods is in the times of requests, and would be counted twice.
const MOST_STALLED: f64 = 0.01;
/// Where more requests than this find somebody there, a trial says too little of instances that were idle.
const MOST_BUSY: f64 = 0.5;
/// Euler's constant, Σ 1/k − ln n (NIST Digital Library of Mathematical Functions, 5.2.3).
const EULER: f64 = 0.577_215_664_901_532_9;

/// A study with its trials.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredStudy<'a> {
    /// The study.
    pub study: &'a Study,
    /// Its trials.
    pub trials: &'a [Trial],
}

/// What was measured of one case, one request at a time, and of the same under more load where that was measured too.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The case that had one request at a time.
    pub case: CaseId,
    /// Its runtime, with versions.
    pub runtime: String,
    /// Its limits on CPU.
    pub cpus: Cpus,
    /// Requests behind it.
    pub requests: u64,
    /// Trials behind it.
    pub trials: u32,
    /// The median request.
    pub work: Work,
    /// How requests differ.
    pub shape: Quantiles,
    /// How many requests were worked on at once, and by how much each second of CPU then did less or more. Begins with `(1, 1.0)`.
    pub efficiencies: Vec<(u32, f64)>,
    /// What a request takes beside its work after an instance had nothing to do, as low open loads tell; the shortest time first.
    /// Begins with nothing, after the time between two requests one at a time.
    pub waking: Vec<Waking>,
    /// Whether a process of another unit stands in front of those that work, as nginx before PHP-FPM.
    pub has_front: bool,
    /// How many requests it can work on at once, where that was set by hand. A default follows from the load, and is another one
    /// where more is asked for.
    pub workers: Option<u32>,
    /// The most memory that a trial used, for each number of workers that was measured; in their order.
    pub memory: Vec<(u32, Bytes)>,
    /// How an instance starts.
    pub start: Start,
}

impl Calibration {
    /// From the first study's case that had one request at a time, the one that is named where there are several, and from the
    /// closed loads of the same runtime and application in all studies.
    ///
    /// # Errors
    ///
    /// When no case, or more than one, is meant, or it does not tell what is needed.
    pub fn of(records: &[MeasuredStudy<'_>], name: Option<&str>) -> Result<Self, CalibrationError> {
        let Some(first) = records.first() else { return Err(CalibrationError::NoStudy) };
        if first.study.kind == StudyKind::Scale || are_autoscaled(first.trials) {
            return Err(CalibrationError::Autoscaled {
                study: first.study.id.to_string(),
                command: calibrate(first.study),
            });
        }
        // Applications of two workloads may have one name.
        let same = records.iter().filter(|record| record.study.workload == first.study.workload);
        let records: &[MeasuredStudy<'_>] = &same.copied().collect::<Vec<_>>();
        let case = one_at_a_time(first.study, name)?;
        let trials: Vec<_> = measured(first, case).collect();
        let missing = |what| CalibrationError::Missing { case: case.id.clone(), what };
        if trials.is_empty() {
            return Err(missing("trial that counts"));
        }
        let per_request = cpu_per_request(&trials).ok_or_else(|| missing("CPU time"))?;
        let stalled = stalled_share(&trials);
        if stalled > MOST_STALLED {
            return Err(CalibrationError::Stalled {
                case: case.id.clone(),
                percent: stalled * 100.0,
                cpus: case.limits.cpus,
            });
        }
        let mut service = Latencies::new();
        let measurements = || trials.iter().filter_map(|trial| trial.measurement.as_ref());
        measurements().for_each(|measurement| service.merge(&measurement.service));
        let shape = Quantiles::of(&service).ok_or_else(|| missing("latencies"))?;
        let median_service = median_service(&trials);
        // What is not CPU time of the mean request is time off the CPU. Processes that overlap can use more CPU than time.
        let mean_service = median_service * shape.mean();
        let cpu_share = (per_request / mean_service).min(1.0);
        let work = Work {
            cpu: Duration::from_secs_f64(per_request / shape.mean()),
            wait: Duration::from_secs_f64(median_service * (1.0 - cpu_share)),
        };
        Ok(Self {
            case: case.id.clone(),
            runtime: case.runtime_version.clone(),
            cpus: cpus(case),
            requests: service.count(),
            trials: trials.len() as u32,
            work,
            shape,
            efficiencies: efficiencies(records, case, per_request),
            waking: waking(records, case, &trials, per_request),
            has_front: trials.iter().any(|trial| trial.stops.len() > 1),
            workers: pool(case).filter(|(_, given)| *given).map(|(workers, _)| workers),
            memory: memory(records, case),
            start: start(records, case).ok_or_else(|| missing("time to its first answer"))?,
        })
    }

    /// How much work a second of CPU does while so many requests are worked on, as a share of what it does for one: on a
    /// straight line over the logarithm of their number between what was measured, and level beyond.
    pub fn efficiency(&self, requests: u32) -> f64 {
        let after = self.efficiencies.partition_point(|(n, _)| *n <= requests);
        let (Some(&(low, from)), next) = (self.efficiencies.get(after.saturating_sub(1)), self.efficiencies.get(after))
        else {
            return 1.0;
        };
        let Some(&(high, to)) = next else { return from };
        let place = (f64::from(requests) / f64::from(low)).ln() / (f64::from(high) / f64::from(low)).ln();
        from + (to - from) * place
    }

    /// Memory that so many workers take: on a least-squares line through what was measured, with fewer numbers of workers than two
    /// what was measured.
    pub fn memory_of(&self, workers: u32) -> Bytes {
        let points: Vec<_> = self.memory.iter().map(|(n, bytes)| (f64::from(*n), bytes.get() as f64)).collect();
        let (base, each) = line(&points).map_or((0.0, 0.0), |(base, each)| (base, each.max(0.0)));
        Bytes::new((base + each * f64::from(workers)).max(0.0) as u64)
    }

    /// The most requests at once that were measured.
    pub fn most_measured(&self) -> u32 {
        self.efficiencies.last().map_or(1, |(n, _)| *n)
    }

    /// An instance with so much CPU that works on so many requests at once, at most.
    pub fn instance(&self, cpus: Cpus, workers: u32) -> InstanceModel {
        let model = InstanceModel::new(cpus, workers, self.start, |n| self.efficiency(n));
        let model = model.with_wake(Wake::new(&self.waking));
        if self.has_front { model.with_front() } else { model }
    }
}

fn one_at_a_time<'a>(study: &'a Study, name: Option<&str>) -> Result<&'a Case, CalibrationError> {
    let single = |case: &&Case| case.load == Load::Closed { connections: 1 } && case.beside.is_empty();
    let candidates: Vec<_> = study.cases.iter().filter(single).collect();
    let study_id = study.id.to_string();
    match (name, candidates.as_slice()) {
        (_, []) => Err(CalibrationError::NotOneAtATime { study: study_id, command: calibrate(study) }),
        (None, [case]) => Ok(case),
        (Some(name), _) => candidates.iter().find(|case| case.id.as_str() == name).copied().ok_or_else(|| {
            CalibrationError::UnknownCase { name: name.to_owned(), study: study_id, known: names(&candidates) }
        }),
        (None, _) => Err(CalibrationError::Several { study: study_id, known: names(&candidates) }),
    }
}

/// What to run for a study that tells what is needed.
fn calibrate(study: &Study) -> String {
    let runtime = study.cases.first().map_or("RUNTIME", |case| case.runtime.as_str());
    format!("stampede compare {} --runtimes {runtime} --load closed:1 --cpus 1", study.workload)
}

fn names(cases: &[&Case]) -> String {
    cases.iter().map(|case| case.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// Trials of one deployment that count: those of a fleet of instances hold its queue and its cold starts.
fn measured<'a>(record: &MeasuredStudy<'a>, case: &Case) -> impl Iterator<Item = &'a Trial> {
    let counts = move |trial: &&Trial| trial.case == case.id && trial.outcome == Outcome::Measured;
    record.trials.iter().filter(counts).filter(|trial| trial.scale.is_none())
}

fn cpus(case: &Case) -> Cpus {
    case.limits.cpus
}

/// How many workers a case has, and whether somebody said so.
fn pool(case: &Case) -> Option<(u32, bool)> {
    let settings = case.tuning.iter().filter(|(_, setting)| setting.role == Some(Role::PoolSize));
    settings
        .filter_map(|(_, Setting { value, origin, .. })| Some((value.parse().ok()?, *origin == Origin::Given)))
        .max()
}

/// The most memory of each number of workers that the runtime was measured with, for this application.
fn memory(records: &[MeasuredStudy<'_>], base: &Case) -> Vec<(u32, Bytes)> {
    let mut most: BTreeMap<u32, Bytes> = BTreeMap::new();
    for record in records {
        for case in record.study.cases.iter().filter(|case| case.runtime == base.runtime && case.app == base.app) {
            let workers = pool(case).map_or(1, |(workers, _)| workers);
            let used = measured(record, case).filter_map(|trial| trial.measurement.as_ref()?.resources);
            if let Some(peak) = used.map(|used| Bytes::new(used.memory_peak)).max() {
                most.entry(workers).and_modify(|most| *most = peak.max(*most)).or_insert(peak);
            }
        }
    }
    most.into_iter().collect()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    stampede_stats::mean(&values.collect::<Vec<_>>())
}

/// The least-squares line through points: where it begins and how steep it is; level where all have one place.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
    let squares: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let products: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let slope = if squares > 1e-9 { products / squares } else { 0.0 };
    (!points.is_empty()).then_some((y - slope * x, slope))
}

/// CPU-seconds a request, over all trials.
fn cpu_per_request(trials: &[&Trial]) -> Option<f64> {
    let mut sums = (0.0, 0.0);
    for measurement in trials.iter().filter_map(|trial| trial.measurement.as_ref()) {
        let used = measurement.resources?;
        // Counters are read a little beside the window.
        let rate = used.cpu.as_secs_f64() / used.between.as_secs_f64().max(f64::MIN_POSITIVE);
        sums.0 += rate * measurement.window.as_secs_f64();
        sums.1 += (measurement.requests.ok + measurement.requests.failed) as f64;
    }
    (sums.0 > 0.0 && sums.1 > 0.0).then(|| sums.0 / sums.1)
}

/// Seconds of the median request, by the median trial.
fn median_service(trials: &[&Trial]) -> f64 {
    let measurements = trials.iter().filter_map(|trial| trial.measurement.as_ref());
    let medians: Vec<f64> = measurements.map(|measurement| measurement.service.quantile(0.5).as_secs_f64()).collect();
    median(&medians).unwrap_or_default()
}

/// Requests a second, and seconds of the mean one.
fn rate_and_mean(trials: &[&Trial]) -> Option<(f64, f64)> {
    let measurements = || trials.iter().filter_map(|trial| trial.measurement.as_ref());
    let seconds: f64 = measurements().map(|measurement| measurement.window.as_secs_f64()).sum();
    let answered: u64 = measurements().map(|measurement| measurement.service.count()).sum();
    let all: f64 = measurements()
        .map(|measurement| measurement.service.mean_ns() / 1e9 * measurement.service.count() as f64)
        .sum();
    (seconds > 0.0 && answered > 0).then(|| (answered as f64 / seconds, all / answered as f64))
}

/// How much longer Poisson arrivals at this rate stay at so many processors for that others are there than for their own work, in the mean:
/// of one processor the M/G/1 queue's with processor sharing, ρ/(1 − ρ), of several what H. Sakasegawa (An approximation formula
/// L_q ≃ αρ^β/(1 − ρ), Ann. Inst. Statist. Math. 29, 1977) gives for M/M/c.
fn queued(rate: f64, cost: f64, processors: f64) -> f64 {
    let used = (rate * cost / processors).min(0.99);
    let power = (2.0 * (processors + 1.0)).sqrt() - 1.0;
    cost * used.powf(power) / (processors * (1.0 - used))
}

/// What a request takes beside its work after its instance was idle: the surplus of open loads that leave it idle most of the
/// time over one request at a time, by the share of requests that find nobody there.
///
/// Poisson arrivals find nobody with the share of time in which nobody is there (Wolff 1982). Each is there for its CPU time and its time
/// off the CPU, which is what is left of the mean time without queueing; the share of time in which somebody is there is the
/// rate times that, where few are there at once. The time until the next is exponential, whose logarithm is that of its
/// mean less Euler's constant, on average.
fn waking(records: &[MeasuredStudy<'_>], base: &Case, alone: &[&Trial], per_request: f64) -> Vec<Waking> {
    let Some((rate, mean)) = rate_and_mean(alone) else { return Vec::new() };
    let between = |rate: f64, busy: f64| Duration::from_secs_f64(((1.0 - busy) / rate).max(1e-6));
    let mut all = vec![Waking { idle: between(rate, rate * mean), cpu: Duration::ZERO, wait: Duration::ZERO }];
    let shortest = all[0].idle;
    let wait_alone = (mean - per_request).max(0.0);
    let processors = cpus(base).whole_cores() as f64;
    for record in records {
        for case in record.study.cases.iter().filter(|case| is_same(case, base)) {
            let Load::Open { schedule, arrivals, .. } = &case.load else { continue };
            let trials: Vec<_> = measured(record, case).collect();
            let (Some((rate, mean)), Some(cost)) = (rate_and_mean(&trials), cpu_per_request(&trials)) else {
                continue;
            };
            let queued = match arrivals {
                Arrivals::Uniform => 0.0,
                Arrivals::Poisson => queued(rate, cost, processors),
            };
            let wait = (mean - cost - queued).max(0.0);
            let busy = rate * (cost + wait);
            if !schedule.stages().is_empty() || busy > MOST_BUSY || stalled_share(&trials) > MOST_STALLED {
                continue;
            }
            let (idle, found_idle) = match arrivals {
                Arrivals::Uniform => (between(rate, busy), 1.0),
                Arrivals::Poisson => (Duration::from_secs_f64((-EULER).exp() / rate), 1.0 - busy),
            };
            if idle > shortest {
                let beside = |time: f64, alone: f64| Duration::from_secs_f64(((time - alone) / found_idle).max(0.0));
                all.push(Waking { idle, cpu: beside(cost, per_request), wait: beside(wait, wait_alone) });
            }
        }
    }
    all.sort_by_key(|waking| waking.idle);
    all
}

/// The same runtime and application under the same kind of limits, with no load beside.
fn is_same(case: &Case, base: &Case) -> bool {
    case.runtime == base.runtime
        && case.runtime_version == base.runtime_version
        && case.app == base.app
        && case.beside.is_empty()
        && cpus(case).whole_cores() == cpus(base).whole_cores()
}

fn stalled_share(trials: &[&Trial]) -> f64 {
    let used = trials.iter().filter_map(|trial| trial.measurement.as_ref()?.resources);
    let (stalled, periods) =
        used.fold((0, 0), |(stalled, periods), used| (stalled + used.throttled_periods, periods + used.periods));
    stalled as f64 / (periods as f64).max(1.0)
}

/// What a second of CPU does under each closed load of the same runtime, application and kind of limits.
fn efficiencies(records: &[MeasuredStudy<'_>], base: &Case, per_request: f64) -> Vec<(u32, f64)> {
    let mut all = vec![(1, 1.0)];
    for record in records {
        for case in &record.study.cases {
            let Load::Closed { connections } = case.load else { continue };
            // More connections than workers wait and are not worked on.
            let at_once = connections.min(pool(case).map_or(connections, |(workers, _)| workers));
            if !is_same(case, base) || at_once < 2 {
                continue;
            }
            let trials: Vec<_> = measured(record, case).collect();
            if let Some(cost) = cpu_per_request(&trials) {
                all.push((at_once, per_request / cost));
            }
        }
    }
    all.sort_by_key(|(n, _)| *n);
    // Several measurements of one number count alike.
    let groups = all.chunk_by(|a, b| a.0 == b.0);
    groups.map(|group| (group[0].0, group.iter().map(|(_, value)| value).sum::<f64>() / group.len() as f64)).collect()
}

/// CPU time and other time of a start: a least-squares line through the times to the first answer over what a second of one
/// processor costs under each limit, where the same runtime was started under several. Otherwise all of it is taken for CPU
/// time, which makes starts on less CPU rather too long than too short.
fn start(records: &[MeasuredStudy<'_>], base: &Case) -> Option<Start> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for record in records {
        for case in record.study.cases.iter().filter(|case| case.runtime == base.runtime && case.app == base.app) {
            let stretch = 1.0 / cpus(case).cores().min(1.0);
            let ready = measured(record, case).filter_map(|trial| trial.ready);
            points.extend(ready.map(|ready| (stretch, ready.took.as_secs_f64())));
        }
    }
    let several = points.iter().any(|(stretch, _)| (stretch - points[0].0).abs() > 1e-9);
    let (stretch, took) = (mean(points.iter().map(|point| point.0))?, mean(points.iter().map(|point| point.1))?);
    let cpu = if several { line(&points)?.1.clamp(0.0, took / stretch) } else { took / stretch };
    let wait = took - cpu * stretch;
    Some(Start { cpu: Duration::from_secs_f64(cpu), wait: Duration::from_secs_f64(wait.max(0.0)) })
}

/// Why a study does not tell what a forecast needs.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CalibrationError {
    /// There is none.
    #[error("calibrate a forecast: no study was given")]
    NoStudy,
    /// Latencies under more load hold waiting already.
    #[error(
        "no case of study {study} was measured with one request at a time, from which a forecast is made (response times under more load include waiting)\n  measure one first: {command}"
    )]
    NotOneAtATime {
        /// The study.
        study: String,
        /// What to run.
        command: String,
    },
    /// Its instances came and went.
    #[error(
        "study {study} is of an autoscaled service, whose times hold queue and cold starts already\n  measure one instance: {command}"
    )]
    Autoscaled {
        /// The study.
        study: String,
        /// What to run.
        command: String,
    },
    /// It has more than one.
    #[error("study {study} has several cases with one request at a time; choose with --case: {known}")]
    Several {
        /// The study.
        study: String,
        /// Their names.
        known: String,
    },
    /// It has none of that name.
    #[error("--case {name} is no case of study {study} with one request at a time; there is {known}")]
    UnknownCase {
        /// What was asked for.
        name: String,
        /// The study.
        study: String,
        /// Which there are.
        known: String,
    },
    /// Something was not measured.
    #[error("case {case} has no {what}; measure it again where limits are enforced")]
    Missing {
        /// The case.
        case: CaseId,
        /// What.
        what: &'static str,
    },
    /// The quota is in the latencies.
    #[error(
        "case {case} was stalled by its quota of {cpus} CPU in {percent:.0} % of the periods, which a forecast would count twice\n  measure it with more: --cpus 1"
    )]
    Stalled {
        /// The case.
        case: CaseId,
        /// How often.
        percent: f64,
        /// The quota.
        cpus: Cpus,
    },
}
