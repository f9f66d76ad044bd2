//! Work beside the answers.

use std::collections::BTreeMap;

use stampede_core::{Finding, Gauge, Role, SeriesSource, Severity};

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
        advice: "Compare it with cases that log as well; buffer the log, or switch it off, where nobody reads it."
            .to_owned(),
    })
}

/// Workers were replaced while requests came in.
pub(super) fn restarts(record: &Record<'_>) -> Option<Finding> {
    let series = record.measurements().filter_map(|measured| measured.sampling.as_ref());
    let units = series.flat_map(|sampling| &sampling.series).filter_map(|series| match &series.source {
        SeriesSource::Unit(unit) => Some((series.growth(Gauge::Restarts)?, unit)),
        _ => None,
    });
    let (mut total, mut of) = (0, None);
    for (restarts, unit) in units.filter(|(restarts, _)| *restarts > 0) {
        total += restarts;
        of = Some(unit);
    }
    let unit = of?;
    let recycled =
        record.case.tuning.of_role(Role::Recycle).find(|(_, value)| value.parse().is_ok_and(|after: u64| after > 0));
    Some(Finding {
        id: "worker-restarts".to_owned(),
        severity: Severity::Warning,
        text: format!("{unit} replaced {total} workers while it was measured; each starts with empty caches."),
        evidence: BTreeMap::from([("restarts".to_owned(), total as f64)]),
        advice: match recycled {
            Some((name, value)) => format!("Raise {name} from {value}, or set it to 0 where workers do not leak."),
            None => "It was not asked to replace any: read its log for crashes.".to_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Sampling, Series, Tunable, TunableKind, UnitId};

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
            trial.measurement.as_mut().unwrap().sampling = Some(Sampling { series: vec![pool], cpu: Duration::ZERO });
            let trials = [trial];
            let finding = super::restarts(&Record::new(&study, &study.cases[0], &trials));
            assert_eq!(finding.is_some(), advice.is_some(), "{recycle}, {restarts}");
            assert!(finding.is_none_or(|finding| finding.advice.contains(advice.unwrap())), "{recycle}");
        }
    }
}
