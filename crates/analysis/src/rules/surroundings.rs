//! Work beside the answers.

use std::collections::BTreeMap;

use stampede_core::{Finding, Gauge, Role, SeriesSource, Severity, UnitId};

use super::{finding, sampled};
use crate::metric::ratio;
use crate::record::Record;

/// Every request is logged.
pub(super) fn access_log(record: &Record<'_>) -> Option<Finding> {
    record.measurements().next()?;
    let (name, value) = record.case.tuning.of_role(Role::AccessLog).find(|(_, value)| *value != "off")?;
    Some(Finding {
        id: "access-log".to_owned(),
        severity: Severity::Info,
        text: format!("It writes a line for each request ({name} is {value})."),
        evidence: BTreeMap::new(),
        advice: "Compare it with cases that log as well; buffer the log, or turn it off if nobody reads it.".to_owned(),
    })
}

/// A process started for so few requests is one that stands for a worker.
const FORKS_PER_REQUEST: f64 = 0.02;

/// The name of the evidence that `often` reads.
const PER_REQUEST: &str = "restarts_per_request";

/// Whether workers were replaced so often that their starts are a good part of the work.
pub(super) fn often(finding: &Finding) -> bool {
    finding.evidence.get(PER_REQUEST).is_some_and(|share| *share >= FORKS_PER_REQUEST)
}

/// Workers were replaced while requests came in.
pub(super) fn restarts(record: &Record<'_>) -> Option<Finding> {
    let recycled =
        record.case.tuning.of_role(Role::Recycle).find(|(_, value)| value.parse().is_ok_and(|after: u64| after > 0));
    let answered: u64 = record.measurements().map(|measured| measured.requests.ok + measured.requests.failed).sum();
    let each = |count: u64| ratio(count as f64, answered as f64).unwrap_or_default();
    let (text, count) = match told(record) {
        Some((unit, count)) => (format!("{unit} replaced {count} workers"), count),
        // Those that do not count their workers: the kernel counts the processes.
        None => {
            let count = grown(record, |source| *source == SeriesSource::Machine, Gauge::Forks)?;
            (recycled.is_some() && each(count) >= FORKS_PER_REQUEST)
                .then(|| (format!("{count} processes were started for {answered} requests"), count))?
        }
    };
    Some(finding(
        "worker-restarts",
        Severity::Warning,
        format!("{text} while it was measured; each worker starts with empty caches."),
        [("restarts", count as f64), (PER_REQUEST, each(count))],
        match recycled {
            Some((name, value)) => format!("Raise {name} from {value}, or set it to 0 if workers do not leak."),
            None => "It is not configured to replace any: read its log for crashes.".to_owned(),
        },
    ))
}

/// Workers that units said they replaced, and one that did.
fn told<'a>(record: &Record<'a>) -> Option<(&'a UnitId, u64)> {
    let total =
        grown(record, |source| matches!(source, SeriesSource::Unit(_)), Gauge::Restarts).filter(|total| *total > 0)?;
    let unit = sampled(record).find_map(|series| match &series.source {
        SeriesSource::Unit(unit) if series.growth(Gauge::Restarts).is_some_and(|grown| grown > 0) => Some(unit),
        _ => None,
    })?;
    Some((unit, total))
}

/// The growth of a counter in all windows together.
fn grown(record: &Record<'_>, of: impl Fn(&SeriesSource) -> bool, counter: Gauge) -> Option<u64> {
    sampled(record)
        .filter(|series| of(&series.source))
        .filter_map(|series| series.growth(counter))
        .reduce(|sum, grown| sum + grown)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Sampling, Series, Tunable, TunableKind};

    use super::*;
    use crate::samples;

    fn tunable(name: &'static str, role: Role) -> Tunable {
        Tunable { name, role, kind: TunableKind::Count { min: 0, max: 100 }, summary: "", manual: "" }
    }

    #[test]
    fn a_log_of_requests_is_told() {
        for (value, found) in [("on", true), ("off", false)] {
            let mut study = samples::study(&["a"]);
            study.cases[0].tuning.give("access_log", value);
            study.cases[0].tuning = study.cases[0].tuning.clone().with_roles(&[tunable("access_log", Role::AccessLog)]);
            let trials = [samples::measured("a", 1, 1_000.0)];
            assert_eq!(access_log(&Record::new(&study, &study.cases[0], &trials)).is_some(), found, "{value}");
        }
    }

    #[test]
    fn replaced_workers_are_told_with_the_setting_that_does_it() {
        for (recycle, restarts, advice) in
            [("500", 3, Some("Raise max_requests from 500")), ("0", 3, Some("crashes")), ("500", 0, None)]
        {
            let mut study = samples::study(&["a"]);
            study.cases[0].tuning.give("max_requests", recycle);
            study.cases[0].tuning = study.cases[0].tuning.clone().with_roles(&[tunable("max_requests", Role::Recycle)]);
            let mut trial = samples::measured("a", 1, 1_000.0);
            let mut pool = Series::new(SeriesSource::Unit(UnitId::new("php-fpm")));
            pool.push(Duration::ZERO, &[(Gauge::Restarts, 1)]);
            pool.push(Duration::from_secs(1), &[(Gauge::Restarts, 1 + restarts)]);
            trial.measurement.as_mut().unwrap().sampling = Some(Sampling { series: vec![pool], ..Sampling::default() });
            let trials = [trial];
            let finding = super::restarts(&Record::new(&study, &study.cases[0], &trials));
            assert_eq!(finding.is_some(), advice.is_some(), "{recycle}, {restarts}");
            assert!(finding.is_none_or(|finding| finding.advice.contains(advice.unwrap())), "{recycle}");
        }
    }

    #[test]
    fn processes_that_are_started_stand_for_workers_where_nobody_counts_these() {
        for (recycle, forks, found) in [("4", 250, true), ("4", 50, false), ("0", 250, false)] {
            let mut study = samples::study(&["a"]);
            study.cases[0].tuning.give("max_requests", recycle);
            study.cases[0].tuning = study.cases[0].tuning.clone().with_roles(&[tunable("max_requests", Role::Recycle)]);
            let mut trial = samples::measured("a", 1, 1_000.0);
            let mut machine = Series::new(SeriesSource::Machine);
            machine.push(Duration::ZERO, &[(Gauge::Forks, 70_000)]);
            machine.push(Duration::from_secs(5), &[(Gauge::Forks, 70_000 + forks)]);
            trial.measurement.as_mut().unwrap().sampling =
                Some(Sampling { series: vec![machine], ..Sampling::default() });
            let trials = [trial];
            let finding = super::restarts(&Record::new(&study, &study.cases[0], &trials));
            assert_eq!(finding.as_ref().is_some_and(often), found, "{recycle}, {forks}: {finding:?}");
        }
    }
}
