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
    let asked =
        |(name, value): (&'_ str, &'_ str)| Some((name.to_owned(), value.parse().ok().filter(|length| *length > 0)?));
    let settings: Vec<(String, u64)> = record.case.tuning.of_role(Role::Backlog).filter_map(asked).collect();
    let series = || {
        let sampled = record.measurements().filter_map(|measured| measured.sampling.as_ref());
        sampled.flat_map(|sampling| &sampling.series)
    };
    // What the kernel holds to, or else what was asked for.
    let queues = series().filter_map(|series| match &series.source {
        SeriesSource::Listener(address) => {
            let held = series.values(Gauge::AcceptQueueLimit).max().or(settings.first().map(|(_, length)| *length))?;
            Some((series.values(Gauge::AcceptQueue).max()?, held.max(1), address))
        }
        _ => None,
    });
    let fullest = |(most, limit, _): &(u64, u64, _)| *most as f64 / *limit as f64;
    let (most, limit, address) = queues.max_by(|a, b| fullest(a).total_cmp(&fullest(b)))?;
    let of_machine = || series().filter(|series| series.source == SeriesSource::Machine);
    let overflows: u64 = of_machine().filter_map(|series| series.growth(Gauge::ListenOverflows)).sum();
    let bad_gateway: u64 = record.measurements().filter_map(|measured| measured.status.get(&502)).sum();
    // A queue may be full for moments between two samples: the kernel counts what it turned away, of all programs.
    if most < limit && (overflows == 0 || 2 * most < limit) {
        return None;
    }
    let longest = of_machine().filter_map(|series| series.values(Gauge::LongestAcceptQueue).max()).max();
    let capped = settings.iter().find(|(_, length)| Some(limit) == longest && *length > limit);
    let mut came_of_it = String::new();
    if overflows > 0 {
        came_of_it.push_str(&format!(" The kernel rejected {overflows}; clients retry those after a second."));
    }
    if bad_gateway > 0 {
        came_of_it.push_str(&format!(" {bad_gateway} answers were 502: the web server could not reach its workers."));
    }
    let (why, advice) = match (capped, settings.first()) {
        (Some((name, length)), _) => (
            format!(", as the kernel caps {name} = {length} at net.core.somaxconn = {limit}"),
            format!(
                "Let it be as long as asked for: sysctl -w net.core.somaxconn={length} (as root; servers read it when they start). That turns refused requests into waiting ones: for short response times use fewer connections, or find out what keeps the workers busy."
            ),
        ),
        (None, Some((name, length))) => (
            String::new(),
            format!(
                "A longer queue ({name}, now {length}; net.core.somaxconn bounds it) only lets more of them wait: first find out what keeps the workers busy, or lower the load."
            ),
        ),
        (None, None) => (
            String::new(),
            "Find out what keeps the workers busy, or lower the load: a longer queue (net.core.somaxconn bounds it) only lets more connections wait.".to_owned(),
        ),
    };
    Some(finding(
        "backlog-full",
        Severity::Warning,
        format!("Up to {most} connections waited at {address}, whose queue holds {limit}{why}.{came_of_it}"),
        [
            ("queue_max", most as f64),
            ("backlog", limit as f64),
            ("listen_overflows", overflows as f64),
            ("status_502", bad_gateway as f64),
        ],
        advice,
    ))
}

#[cfg(test)]
mod tests {
    use std::slice;
    use std::time::Duration;

    use stampede_core::{AddressId, Sampling, Series, Tunable, TunableKind};

    use super::*;
    use crate::samples;

    #[test]
    fn a_queue_that_reached_its_length_is_found_with_what_came_of_it() {
        let mut study = samples::study(&["a"]);
        study.cases[0].tuning.give("listen.backlog", "8");
        study.cases[0].tuning = study.cases[0].tuning.clone().with_roles(&[backlog("listen.backlog")]);
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

    fn backlog(name: &'static str) -> Tunable {
        let kind = TunableKind::Count { min: 1, max: 65_535 };
        Tunable { name, role: Role::Backlog, kind, summary: "", manual: "" }
    }

    /// 9,000 connections on nginx with PHP-FPM, as they were recorded on Linux 6.18: `listen.backlog` is their number, and the
    /// kernel holds to 4,096.
    #[test]
    fn a_queue_that_the_kernel_cuts_short_is_named_with_what_to_set() {
        for (name, length, longest, front, waiting, found) in [
            (
                "cut short",
                9_000,
                Some(4_096),
                511,
                4_097,
                Some(
                    "whose queue holds 4096, as the kernel caps listen.backlog = 9000 at net.core.somaxconn = 4096. 31 answers",
                ),
            ),
            ("as long as asked for", 4_096, Some(4_096), 511, 4_097, Some("whose queue holds 4096. 31 answers")),
            ("not full", 9_000, Some(4_096), 511, 4_000, None),
            ("another queue is full", 9_000, Some(4_096), 12, 100, Some("at front, whose queue holds 12. 31 answers")),
            ("of a kernel that does not tell", 9_000, None, 511, 4_097, Some("whose queue holds 4096. 31 answers")),
        ] {
            let mut study = samples::study(&["a"]);
            let case = &mut study.cases[0];
            case.tuning.give("listen.backlog", &length.to_string());
            case.tuning = case.tuning.clone().with_roles(&[backlog("listen.backlog")]);
            let mut trial = samples::measured("a", 1, 1_000.0);
            let measurement = trial.measurement.as_mut().unwrap();
            let listener = |name: &str, waiting, most| {
                let mut series = Series::new(SeriesSource::Listener(AddressId::new(name)));
                series.push(Duration::ZERO, &[(Gauge::AcceptQueue, 0), (Gauge::AcceptQueueLimit, most)]);
                series.push(Duration::from_millis(100), &[(Gauge::AcceptQueue, waiting)]);
                series
            };
            let mut machine = Series::new(SeriesSource::Machine);
            machine.push(Duration::ZERO, longest.map(|longest| (Gauge::LongestAcceptQueue, longest)).as_slice());
            let series = vec![listener("front", 12, front), listener("fpm", waiting, 4_096), machine];
            measurement.sampling = Some(Sampling { series, ..Sampling::default() });
            measurement.status.insert(502, 31);
            let finding = full(&Record::new(&study, &study.cases[0], slice::from_ref(&trial)));
            let Some(finding) = finding else {
                assert!(found.is_none(), "{name}");
                continue;
            };
            assert!(found.is_some_and(|found| finding.text.contains(found)), "{name}: {}", finding.text);
            assert_eq!(finding.advice.contains("sysctl -w net.core.somaxconn=9000"), name == "cut short", "{name}");
        }
    }
}
