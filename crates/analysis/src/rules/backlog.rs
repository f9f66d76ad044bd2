//! Connections that were not accepted in time.

use stampede_core::{Finding, Gauge, Role, SeriesSource, Severity};

use super::finding;
use crate::record::Record;

/// Whether connections were turned away, and did not just wait.
pub(super) fn refuses(finding: &Finding) -> bool {
    ["listen_overflows", "status_502"].iter().any(|name| finding.evidence.get(*name).is_some_and(|count| *count > 0.0))
}

/// A queue of connections was as long as it may be: the kernel turns the next one away.
pub(super) fn full(record: &Record<'_>) -> Option<Finding> {
    let (name, value) = record.case.tuning.of_role(Role::Backlog).next()?;
    let limit: u64 = value.parse().ok().filter(|limit| *limit > 0)?;
    let sampled = || record.measurements().filter_map(|measured| measured.sampling.as_ref());
    let queues = sampled().flat_map(|sampling| &sampling.series).filter_map(|series| match &series.source {
        SeriesSource::Listener(address) => Some((series.values(Gauge::AcceptQueue).max()?, address)),
        _ => None,
    });
    let (most, address) = queues.max_by_key(|(most, _)| *most)?;
    let machine =
        sampled().flat_map(|sampling| &sampling.series).filter(|series| series.source == SeriesSource::Machine);
    let overflows: u64 = machine.filter_map(|series| series.growth(Gauge::ListenOverflows)).sum();
    // A queue may be full for moments between two samples: the kernel counts what it turned away, of all programs.
    if most < limit && (overflows == 0 || 2 * most < limit) {
        return None;
    }
    let bad_gateway: u64 = record.measurements().filter_map(|measured| measured.status.get(&502)).sum();
    let mut came_of_it = String::new();
    if overflows > 0 {
        came_of_it.push_str(&format!(" The kernel rejected {overflows}; clients retry those after a second."));
    }
    if bad_gateway > 0 {
        came_of_it.push_str(&format!(" {bad_gateway} answers were 502: the web server could not reach its workers."));
    }
    Some(finding(
        "backlog-full",
        Severity::Warning,
        format!("Up to {most} connections waited at {address}, whose queue holds {limit}.{came_of_it}"),
        [
            ("queue_max", most as f64),
            ("backlog", limit as f64),
            ("listen_overflows", overflows as f64),
            ("status_502", bad_gateway as f64),
        ],
        format!(
            "A longer queue ({name}, now {value}; net.core.somaxconn bounds it) only lets more of them wait: first find out what keeps the workers busy, or lower the load."
        ),
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{AddressId, Sampling, Series, Tunable, TunableKind};

    use super::*;
    use crate::samples;

    #[test]
    fn a_queue_that_reached_its_length_is_found_with_what_came_of_it() {
        let backlog = Tunable {
            name: "listen.backlog",
            role: Role::Backlog,
            kind: TunableKind::Count { min: 1, max: 100 },
            summary: "",
            manual: "",
        };
        let mut study = samples::study(&["a"]);
        study.cases[0].tuning.give("listen.backlog", "8");
        study.cases[0].tuning = study.cases[0].tuning.clone().with_roles(&[backlog]);
        for (waiting, refused, turned_away, found) in [
            (7, 0, 0, None),
            (8, 0, 0, Some("whose queue holds 8.")),
            (9, 5, 0, Some("5 answers")),
            (7, 0, 3, Some("rejected 3;")),
            (3, 0, 3, None),
        ] {
            let mut trial = samples::measured("a", 1, 1_000.0);
            let measurement = trial.measurement.as_mut().unwrap();
            let mut series = Series::new(SeriesSource::Listener(AddressId::new("fpm")));
            series.push(Duration::ZERO, &[(Gauge::AcceptQueue, waiting)]);
            let mut machine = Series::new(SeriesSource::Machine);
            for (tick, count) in [(0, 7), (1, 7 + turned_away)] {
                machine.push(Duration::from_millis(100 * tick), &[(Gauge::ListenOverflows, count)]);
            }
            measurement.sampling = Some(Sampling { series: vec![series, machine], ..Sampling::default() });
            measurement.status.insert(502, refused);
            let trials = [trial];
            let finding = full(&Record::new(&study, &study.cases[0], &trials));
            assert_eq!(finding.is_some(), found.is_some(), "{waiting} waiting: {finding:?}");
            assert!(finding.is_none_or(|finding| finding.text.contains(found.unwrap())), "{waiting} waiting");
        }
    }
}
