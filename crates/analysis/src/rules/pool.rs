//! Workers that are all taken while there is CPU time left.

use std::collections::BTreeMap;

use stampede_core::{Finding, Gauge, Load, Role, Series, SeriesSource, Severity, Topology, UnitId};

use super::neighbours::Occupancy;
use super::{cpu_used, parts, percent, sampled};
use crate::metric::ratio;
use crate::record::Record;

/// From this share of samples on in which every worker is taken, the pool is full and not only now and then.
const FULL: f64 = 0.8;

/// Below this share of the CPU limit there is something left that more workers could use.
pub(super) const IDLE: f64 = 0.8;

/// The share of the CPU limit and of the memory limit that an advised pool is meant for.
const AIM: f64 = 0.9;

/// A pool that was full.
struct Full<'a> {
    /// The source, and the samples in which all were taken, of those that were answered; absent where it follows from the settings.
    told: Option<(&'a UnitId, f64)>,
    /// The most workers that it had; each replica has a pool.
    workers: u64,
}

/// All workers were taken and requests waited, while the CPU was not used up.
pub(super) fn full(record: &Record<'_>) -> Option<Finding> {
    let used = 1.0 - left(record).filter(|left| *left > 1.0 - IDLE)?;
    let Full { told, workers } = fullest(record).or_else(|| too_few(record))?;
    let queue = queued(record);
    let replicas = u64::from(record.case.topology.replicas.max(1));
    let connections = match record.case.load {
        Load::Closed { connections } => Some(u64::from(connections)),
        _ => None,
    };
    let demand = connections.map(|connections| connections.div_ceil(replicas));
    let waits = queue > 0 || demand.is_some_and(|connections| connections > workers);
    if !waits {
        return None;
    }
    let mut evidence = BTreeMap::from([
        ("workers".to_owned(), workers as f64),
        ("cpu_used_share".to_owned(), used),
        ("queue_max".to_owned(), queue as f64),
    ]);
    if let Some((_, share)) = told {
        evidence.insert("full_share".to_owned(), share);
    }
    let more = advisable(record, workers, used, demand, replicas);
    if let Some(more) = more {
        evidence.insert("advised_workers".to_owned(), more as f64);
    }
    let idle = percent(1.0 - used);
    let text = match told {
        None => format!(
            "It can serve {} of the load's {} connections at once, while {idle} of the CPU was idle: requests wait for a \
             worker, not for CPU.",
            workers * replicas,
            connections.unwrap_or(queue)
        ),
        Some((unit, share)) => format!(
            "{unit}: {} busy in {} of the samples, while {idle} of the CPU was idle: requests wait for a worker, not for CPU.",
            if workers == 1 { "its only worker was".to_owned() } else { format!("all its {workers} workers were") },
            percent(share)
        ),
    };
    let runtime = &record.case.runtime;
    let setting = record.case.tuning.of_role(Role::PoolSize).next();
    let advice = match (setting, more) {
        (Some((name, value)), Some(more)) => {
            format!("Raise {name} from {value}: try --set {runtime}.{name}={more}.")
        }
        (Some((name, value)), None) => {
            format!("Raise {name} from {value}, and --memory with it: more workers would not fit now.")
        }
        (None, _) => "Give it more workers.".to_owned(),
    };
    Some(Finding { id: "pool-full".to_owned(), severity: Severity::Warning, text, evidence, advice })
}

/// The share of the CPU limit that more workers could have used: what the servers left of it, as far as the machine had it. Nothing
/// where the share of the part that has the workers ran out.
pub(super) fn left(record: &Record<'_>) -> Option<f64> {
    if parts::limiting(record).keys().any(|part| Topology::is_replica(part)) {
        return Some(0.0);
    }
    let unused = 1.0 - cpu_used(record)?;
    let had = Occupancy::of(record).map(|occupancy| occupancy.idle / record.case.limits.cpus.cores());
    Some(had.map_or(unused, |had| unused.min(had)))
}

/// The pool that was full in the largest share of its samples.
fn fullest<'a>(record: &Record<'a>) -> Option<Full<'a>> {
    let mut units = BTreeMap::<&UnitId, Vec<&Series>>::new();
    for series in sampled(record) {
        if let SeriesSource::Unit(unit) = &series.source {
            units.entry(unit).or_default().push(series);
        }
    }
    let pools = units.into_iter().filter_map(|(unit, series)| {
        let workers = series.iter().flat_map(|series| series.values(Gauge::TotalWorkers)).max()?;
        let taken: Vec<u64> = series.iter().flat_map(|series| taken(series)).collect();
        let full = taken.iter().filter(|taken| **taken >= workers).count();
        Some((unit, ratio(full as f64, taken.len() as f64)?, workers))
    });
    let full = pools.filter(|(_, share, workers)| *workers > 0 && *share >= FULL);
    let (unit, share, workers) = full.max_by(|(_, a, _), (_, b, _)| a.total_cmp(b))?;
    Some(Full { told: Some((unit, share)), workers })
}

/// Fewer workers than connections, by their setting, where no server reported its workers: some report nothing, others cannot
/// answer once all of theirs are taken.
fn too_few<'a>(record: &Record<'a>) -> Option<Full<'a>> {
    let Load::Closed { connections } = record.case.load else { return None };
    let told = sampled(record).any(|series| series.values(Gauge::TotalWorkers).next().is_some());
    let overlaps = record.case.tuning.of_role(Role::Concurrency).next().is_some();
    if told || overlaps {
        return None;
    }
    let workers: u64 = record.case.tuning.of_role(Role::PoolSize).find_map(|(_, value)| value.parse().ok())?;
    let all = workers * u64::from(record.case.topology.replicas.max(1));
    (0 < all && all < u64::from(connections)).then_some(Full { told: None, workers })
}

/// Workers that could take no other request, by sample: those that work, and those that are bound to a connection.
fn taken(series: &Series) -> impl Iterator<Item = u64> {
    let kept = series.columns.get(&Gauge::KeptWorkers);
    let busy = series.columns.get(&Gauge::BusyWorkers).into_iter().flatten().enumerate();
    busy.filter_map(move |(row, busy)| {
        let kept = kept.and_then(|kept| *kept.get(row)?).unwrap_or(0);
        Some((*busy)? + kept)
    })
}

/// The most requests or connections that were seen waiting at once.
fn queued(record: &Record<'_>) -> u64 {
    let waiting = |series: &'_ Series| {
        [Gauge::AcceptQueue, Gauge::Queue].into_iter().flat_map(|gauge| series.values(gauge).max()).max()
    };
    sampled(record).filter_map(waiting).max().unwrap_or(0)
}

/// So many workers of each replica would use the CPU up, as far as its requests and the memory of all go round. Nothing where that is
/// not more.
fn advisable(record: &Record<'_>, workers: u64, used: f64, demand: Option<u64>, replicas: u64) -> Option<u64> {
    let by_cpu = (workers as f64 * AIM / used.max(0.01)).ceil() as u64;
    let peak = record.measurements().filter_map(|measured| Some(measured.resources?.memory_peak)).max();
    let by_memory = peak.map(|peak| {
        let each = peak as f64 / (workers * replicas) as f64;
        (AIM * record.case.limits.memory.get() as f64 / each) as u64 / replicas
    });
    let most = [demand, by_memory].into_iter().flatten().min();
    Some(most.map_or(by_cpu, |most| by_cpu.min(most))).filter(|advised| *advised > workers)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Origin, PartRecord, ResourceUse, Sampling, Setting, Trial};

    use super::*;
    use crate::samples;

    /// Ten samples in which so many of four workers worked and so many were kept, and so many connections waited.
    fn sampling(busy: u64, kept: u64, waiting: u64) -> Sampling {
        let mut pool = Series::new(SeriesSource::Unit(UnitId::new("php-fpm")));
        let mut front = Series::new(SeriesSource::Listener(stampede_core::AddressId::new("fpm")));
        for tick in 0..10 {
            let at = Duration::from_millis(100 * tick);
            let workers = [(Gauge::BusyWorkers, busy), (Gauge::KeptWorkers, kept), (Gauge::TotalWorkers, 4)];
            pool.push(at, &workers);
            front.push(at, &[(Gauge::AcceptQueue, waiting)]);
        }
        Sampling { series: vec![pool, front], ..Sampling::default() }
    }

    fn found(connections: u32, cpu_ms: u64, memory: u64, sampling: &Sampling) -> Option<Finding> {
        found_of(1, connections, cpu_ms, memory, sampling)
    }

    fn found_of(replicas: u32, connections: u32, cpu_ms: u64, memory: u64, sampling: &Sampling) -> Option<Finding> {
        let mut study = samples::study(&["a"]);
        study.cases[0].topology.replicas = replicas;
        study.cases[0].load = Load::Closed { connections };
        study.cases[0].tuning.give("pm.max_children", "4");
        let tunable = stampede_core::Tunable {
            name: "pm.max_children",
            role: Role::PoolSize,
            kind: stampede_core::TunableKind::Count { min: 1, max: 10 },
            summary: "",
            manual: "",
        };
        study.cases[0].tuning = study.cases[0].tuning.clone().with_roles(&[tunable]);
        let settings: Vec<_> = study.cases[0].tuning.iter().collect();
        assert!(matches!(settings[..], [(_, Setting { role: Some(Role::PoolSize), origin: Origin::Given, .. })]));
        let change = |trial: &mut Trial| {
            let measurement = trial.measurement.as_mut().unwrap();
            let resources = measurement.resources.as_mut().unwrap();
            (resources.cpu, resources.memory_peak) = (Duration::from_millis(cpu_ms), memory);
            measurement.sampling = Some(sampling.clone());
        };
        let mut trials: Vec<_> = (1..=3).map(|block| samples::measured("a", block, 1_000.0)).collect();
        trials.iter_mut().for_each(change);
        full(&Record::new(&study, &study.cases[0], &trials))
    }

    #[test]
    fn workers_whose_own_share_of_the_cpu_ran_out_wait_for_that() {
        let mut study = samples::study(&["a"]);
        study.cases[0].load = Load::Closed { connections: 16 };
        let mut trials = vec![samples::measured("a", 1, 1_000.0)];
        let measurement = trials[0].measurement.as_mut().unwrap();
        measurement.resources.as_mut().unwrap().cpu = Duration::from_millis(625);
        measurement.sampling = Some(sampling(4, 0, 12));
        for (throttled_periods, is_found) in [(10, true), (90, false)] {
            trials[0].parts = vec![PartRecord {
                part: "replica-1".to_owned(),
                units: Vec::new(),
                share: Some(study.cases[0].limits),
                enforced: None,
                resources: Some(ResourceUse { periods: 100, throttled_periods, ..ResourceUse::default() }),
                requests: None,
                restarts: Vec::new(),
                settings: BTreeMap::new(),
            }];
            assert_eq!(full(&Record::new(&study, &study.cases[0], &trials)).is_some(), is_found);
        }
    }

    #[test]
    fn a_full_pool_beside_idle_cpu_is_found_and_the_advice_uses_what_is_left() {
        // 0.5 CPU for 5 s is 2.5 CPU-seconds; 625 ms are a quarter of it.
        let silent = Sampling::default();
        for (name, connections, cpu_ms, memory, sampling, advised) in [
            ("nobody tells, and the setting does", 16, 625, 40 << 20, silent.clone(), Some("pm.max_children=15")),
            ("nobody tells, and there are enough", 4, 625, 40 << 20, silent, None),
            ("a quarter of the CPU is used", 16, 625, 40 << 20, sampling(4, 0, 12), Some("pm.max_children=15")),
            ("no more than connections", 6, 625, 40 << 20, sampling(4, 0, 2), Some("pm.max_children=6")),
            ("no more than memory holds", 16, 625, 100 << 20, sampling(4, 0, 12), Some("pm.max_children=9")),
            ("memory is full", 16, 625, 240 << 20, sampling(4, 0, 12), Some("would not fit")),
            ("all are kept by idle connections", 16, 625, 40 << 20, sampling(1, 3, 0), Some("pm.max_children=15")),
            ("the CPU is used up", 16, 2_400, 40 << 20, sampling(4, 0, 12), None),
            ("a worker is free", 16, 625, 40 << 20, sampling(3, 0, 0), None),
            ("nobody waits", 4, 625, 40 << 20, sampling(4, 0, 0), None),
        ] {
            let finding = found(connections, cpu_ms, memory, &sampling);
            match (finding, advised) {
                (Some(finding), Some(advised)) => assert!(finding.advice.contains(advised), "{name}: {finding:?}"),
                (finding, advised) => {
                    assert_eq!(finding.map(|finding| finding.text), advised.map(str::to_owned), "{name}")
                }
            }
        }
        let silent = Sampling::default();
        let of_two = |connections, memory, sampling: &Sampling| {
            found_of(2, connections, 625, memory, sampling).map(|found| found.advice)
        };
        let advised =
            |workers: u64| Some(format!("Raise pm.max_children from 4: try --set a.pm.max_children={workers}."));
        assert_eq!(of_two(16, 40 << 20, &sampling(4, 0, 12)), advised(8), "half of the connections are another's");
        assert_eq!(of_two(32, 100 << 20, &sampling(4, 0, 12)), advised(9), "half of the memory is another's");
        assert_eq!(
            (of_two(8, 40 << 20, &silent), of_two(9, 40 << 20, &silent)),
            (None, advised(5)),
            "there are eight workers"
        );
        let text = found(16, 625, 40 << 20, &sampling(4, 0, 12)).unwrap().text;
        assert_eq!(
            text,
            "php-fpm: all its 4 workers were busy in 100 % of the samples, while 75 % of the CPU was idle: requests wait \
             for a worker, not for CPU."
        );
    }
}
