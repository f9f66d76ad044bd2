//! What a database was seen to work on.

use std::collections::BTreeMap;

use stampede_core::{Finding, Gauge, QuerySeen, Series, SeriesSource, Severity, UnitId};

use super::pool::{IDLE, left};
use super::{finding, percent, sampled};
use crate::metric::ratio;
use crate::record::Record;

/// From this share of the requests under way on, most of a request's time is the database's.
const MOST: f64 = 0.5;

/// From this share of the time of queries on, waits for locks are worth a word.
const LOCKED: f64 = 0.2;

/// Below this many queries at once, on average, a database has hardly anything to do.
const NOTABLE: f64 = 0.2;

/// From this share of throttled periods, or of the CPU limit, on a database has no CPU left for more queries at once.
const USED_UP: f64 = 0.8;

/// Connections that work at once on each processor, and for each disk beside that: PostgreSQL's "formula which has held up pretty well
/// across a lot of benchmarks" (<https://wiki.postgresql.org/wiki/Number_Of_Database_Connections>).
const EACH_CORE: f64 = 2.0;
const EACH_DISK: f64 = 1.0;

/// How much of a query's text a sentence has.
const TEXT: usize = 100;

/// Means over all samples of one database.
struct Activity<'a> {
    unit: &'a UnitId,
    /// Queries at work or waiting.
    queries: f64,
    /// Of these, those that waited for a lock.
    locked: f64,
}

/// The database that most queries are in.
fn activity<'a>(record: &Record<'a>) -> Option<Activity<'a>> {
    let mut units = BTreeMap::<&UnitId, Vec<&Series>>::new();
    for series in sampled(record) {
        if let SeriesSource::Unit(unit) = &series.source
            && series.columns.contains_key(&Gauge::Queries)
        {
            units.entry(unit).or_default().push(series);
        }
    }
    let all = units.into_iter().filter_map(|(unit, series)| {
        Some(Activity { unit, queries: mean(&series, Gauge::Queries)?, locked: mean(&series, Gauge::LockWaits)? })
    });
    all.max_by(|a, b| a.queries.total_cmp(&b.queries)).filter(|activity| activity.queries >= NOTABLE)
}

fn mean(series: &[&Series], gauge: Gauge) -> Option<f64> {
    let (mut sum, mut count) = (0, 0);
    for value in series.iter().flat_map(|series| series.values(gauge)) {
        sum += value;
        count += 1;
    }
    ratio(sum as f64, f64::from(count))
}

/// Requests that are worked on at once, on average: busy workers, or by Little's law those that were sent and not yet answered.
fn under_way(record: &Record<'_>) -> Option<f64> {
    let mut workers = BTreeMap::<&UnitId, Vec<&Series>>::new();
    for series in sampled(record) {
        if let SeriesSource::Unit(unit) = &series.source {
            workers.entry(unit).or_default().push(series);
        }
    }
    let busy: Vec<f64> = workers.into_values().filter_map(|series| mean(&series, Gauge::BusyWorkers)).collect();
    if !busy.is_empty() {
        // Each replica has a pool of its own.
        return Some(busy.iter().sum());
    }
    let (mut time, mut window) = (0.0, 0.0);
    for measured in record.measurements() {
        time += measured.service.mean_ns() / 1e9 * measured.service.count() as f64;
        window += measured.window.as_secs_f64();
    }
    ratio(time, window)
}

/// The query that was seen most by this count, with its share of all.
fn leading(record: &Record<'_>, unit: &UnitId, of: fn(&QuerySeen) -> u64) -> Option<(String, f64)> {
    let mut all = BTreeMap::<&str, u64>::new();
    let sampling = record.measurements().filter_map(|measured| measured.sampling.as_ref());
    for query in sampling.flat_map(|sampling| &sampling.queries).filter(|query| query.unit == *unit) {
        *all.entry(&query.text).or_default() += of(query);
    }
    let sum: u64 = all.values().sum();
    let (text, count) = all.into_iter().max_by_key(|(_, count)| *count)?;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut =
        if words.chars().count() > TEXT { words.chars().take(TEXT).chain(['.', '.', '.']).collect() } else { words };
    Some((cut, ratio(count as f64, sum as f64)?))
}

/// Queries wait for locks that other transactions hold.
pub(super) fn locks(record: &Record<'_>) -> Option<Finding> {
    let Activity { unit, queries, locked } = activity(record)?;
    let share = ratio(locked, queries).filter(|share| *share >= LOCKED)?;
    let most = leading(record, unit, |query| query.locked);
    let named = most.as_ref().map_or_else(String::new, |(text, of)| format!(" {} of that: {text}", percent(*of)));
    Some(finding(
        "database-locks",
        Severity::Warning,
        format!(
            "{unit}: queries wait for locks that other transactions hold in {} of their time.{named}",
            percent(share)
        ),
        [("lock_wait_share", share), ("queries_mean", queries)],
        "Keep transactions short and do nothing else in them, change rows in the same order everywhere, and avoid a row that every request changes.",
    ))
}

/// Requests spend most of their time in the database, while CPU is left.
pub(super) fn bound(record: &Record<'_>) -> Option<Finding> {
    let Activity { unit, queries, .. } = activity(record)?;
    let idle = left(record).filter(|left| *left > 1.0 - IDLE)?;
    let requests = under_way(record)?;
    let share = ratio(queries, requests).filter(|share| *share >= MOST)?.min(1.0);
    let most = leading(record, unit, |query| query.seen);
    let named = most.as_ref().map_or_else(String::new, |(text, of)| format!(" {} of that: {text}", percent(*of)));
    Some(finding(
        "database-bound",
        Severity::Warning,
        format!(
            "{unit}: of {requests:.1} concurrent requests {queries:.1} are in the database, while {} of the CPU was idle.{named}",
            percent(idle)
        ),
        [
            ("queries_mean", queries),
            ("requests_mean", requests),
            ("in_database_share", share),
            ("cpu_idle_share", idle),
        ],
        "Look at that query with EXPLAIN (ANALYZE, BUFFERS): an index, a smaller result, or one query for several. \
         More workers help only if the database can take more queries at once.",
    ))
}

/// More queries at once than the database's CPU works on well, and none of that left.
pub(super) fn crowded(record: &Record<'_>) -> Option<Finding> {
    let Activity { unit, queries, locked } = activity(record)?;
    let at_work = queries - locked;
    let service = record.case.topology.services.iter().find(|service| service.kind.id() == unit.as_str())?;
    let share = service.share?.cpus;
    let parts = record.trials.iter().flat_map(|trial| &trial.parts).filter(|part| part.part == unit.as_str());
    let (mut throttled, mut periods) = (0, 0);
    for used in parts.filter_map(|part| part.resources.as_ref()) {
        throttled += used.throttled_periods;
        periods += used.periods;
    }
    let ran_out = ratio(throttled as f64, periods as f64).filter(|ran_out| *ran_out >= USED_UP)?;
    let best = (EACH_CORE * share.cores() + EACH_DISK).ceil();
    (at_work > 2.0 * best).then(|| {
        finding(
            "database-crowded",
            Severity::Info,
            format!(
                "{unit}: {at_work:.1} queries run at the same time on {share} CPU, which ran out in {} of its periods: they share it, and each holds its connection and locks longer.",
                percent(ran_out)
            ),
            [("queries_at_work_mean", at_work), ("advised_connections", best), ("throttled_share", ran_out)],
            format!(
                "Let about {best:.0} run at once: fewer workers, or a connection pool in front (--services \
                 postgres,pgbouncer --set pgbouncer.default_pool_size={best:.0})."
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Bytes, Cpus, Limits, PartRecord, ResourceUse, Sampling, Service, ServiceKind, Study, Trial};

    use super::*;
    use crate::samples;

    fn sampling(queries: u64, locked: u64) -> Sampling {
        let unit = UnitId::new("postgres");
        let mut series = Series::new(SeriesSource::Unit(unit.clone()));
        for tick in 0..10 {
            series.push(Duration::from_millis(100 * tick), &[(Gauge::Queries, queries), (Gauge::LockWaits, locked)]);
        }
        let query = |text: &str, seen, locked| QuerySeen { unit: unit.clone(), text: text.to_owned(), seen, locked };
        let queries =
            vec![query("SELECT  *\n FROM people", 7 * queries, 0), query("UPDATE counter", 3 * queries, 10 * locked)];
        Sampling { series: vec![series], queries, ..Sampling::default() }
    }

    fn found(
        rule: fn(&Record<'_>) -> Option<Finding>,
        sampling: &Sampling,
        change: impl Fn(&mut Study, &mut Trial),
    ) -> Option<Finding> {
        let mut study = samples::study(&["a"]);
        // 1,000 answers a second of 1 ms each: one at a time.
        let mut trial = samples::measured("a", 1, 1_000.0);
        trial.measurement.as_mut().unwrap().sampling = Some(sampling.clone());
        change(&mut study, &mut trial);
        rule(&Record::new(&study, &study.cases[0], &[trial]))
    }

    fn idle(_: &mut Study, trial: &mut Trial) {
        trial.measurement.as_mut().unwrap().resources.as_mut().unwrap().cpu = Duration::from_millis(500);
    }

    #[test]
    fn requests_that_are_mostly_in_the_database_are_told_with_its_query() {
        let finding = found(bound, &sampling(1, 0), idle).unwrap();
        assert_eq!(
            finding.text,
            "postgres: of 1.0 concurrent requests 1.0 are in the database, while 80 % of the CPU was idle. \
             70 % of that: SELECT * FROM people"
        );
        assert_eq!(found(bound, &sampling(0, 0), idle), None);
        // Of busy workers few are there.
        let mut busy = sampling(1, 0);
        let mut pool = Series::new(SeriesSource::Unit(UnitId::new("php-fpm")));
        pool.push(Duration::ZERO, &[(Gauge::BusyWorkers, 8)]);
        busy.series.push(pool);
        assert_eq!(found(bound, &busy, idle), None);
        // What uses all of its CPU is not held back by waiting.
        let used_up = |_: &mut Study, trial: &mut Trial| {
            trial.measurement.as_mut().unwrap().resources.as_mut().unwrap().cpu = Duration::from_millis(2_450);
        };
        assert_eq!(found(bound, &sampling(1, 0), used_up), None);
    }

    #[test]
    fn waits_for_locks_are_told_with_the_query_that_waits() {
        let finding = found(locks, &sampling(4, 3), idle).unwrap();
        assert_eq!(
            finding.text,
            "postgres: queries wait for locks that other transactions hold in 75 % of their time. 100 % of that: UPDATE counter"
        );
        assert_eq!(found(locks, &sampling(10, 1), idle), None);
    }

    #[test]
    fn more_queries_than_its_cpu_works_on_well_are_told_where_that_ran_out() {
        let crowded_with = |queries, throttled_periods| {
            let share = Limits { cpus: Cpus::from_millis(500), memory: Bytes::from_mib(256) };
            found(crowded, &sampling(queries, 0), move |study, trial| {
                study.cases[0].topology.services = vec![Service {
                    kind: ServiceKind::Postgres,
                    settings: BTreeMap::new(),
                    share: Some(share),
                    image: None,
                }];
                trial.parts = vec![PartRecord {
                    part: "postgres".to_owned(),
                    units: Vec::new(),
                    share: Some(share),
                    enforced: None,
                    resources: Some(ResourceUse { periods: 100, throttled_periods, ..ResourceUse::default() }),
                    requests: None,
                    restarts: Vec::new(),
                    settings: BTreeMap::new(),
                }];
            })
        };
        let finding = crowded_with(12, 90).unwrap();
        assert_eq!(finding.evidence["advised_connections"], 2.0);
        assert!(
            finding.text.starts_with("postgres: 12.0 queries run at the same time on 0.5 CPU, which ran out in 90 %")
        );
        assert!(finding.advice.contains("pgbouncer.default_pool_size=2)"), "{}", finding.advice);
        assert_eq!((crowded_with(4, 90), crowded_with(12, 50)), (None, None));
    }
}
