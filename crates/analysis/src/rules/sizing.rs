//! Programs that believe to have more processors than their quota gives them.

use stampede_core::{Finding, Role, Severity};

use super::finding;
use crate::record::Record;

/// More threads or processes that use a processor each than the quota holds: they use a period's quota up at its beginning and
/// then all wait. <https://docs.kernel.org/scheduler/sched-bwc.html>
pub(super) fn beyond_quota(record: &Record<'_>) -> Option<Finding> {
    let throttled = record.measurements().filter_map(|measured| measured.resources.as_ref());
    if throttled.map(|resources| resources.throttled_periods).sum::<u64>() == 0 {
        return None;
    }
    let quota = record.case.limits.cpus;
    let enough = (quota.cores().ceil() as u64).max(1);
    let roles = [Role::Processors, Role::FrontWorkers];
    let settings = roles.into_iter().flat_map(|role| record.case.tuning.of_role(role));
    let (name, value) = settings
        .filter_map(|(name, value)| Some((name, value.parse::<u64>().ok()?)))
        .find(|(_, value)| *value > enough)?;
    Some(finding(
        "sized-beyond-quota",
        Severity::Info,
        format!("{name} is {value} under a quota of {quota} CPU, and the quota ran out in some periods."),
        [("setting", value as f64), ("quota_cpus", quota.cores())],
        format!("Size it by the quota, not by the machine: --set {}.{name}={enough}.", record.case.runtime),
    ))
}

#[cfg(test)]
mod tests {
    use stampede_core::{Tunable, TunableKind};

    use super::*;
    use crate::samples;

    #[test]
    fn a_runtime_that_is_sized_by_the_machine_is_found_where_its_quota_runs_out() {
        let processors = Tunable {
            name: "GOMAXPROCS",
            role: Role::Processors,
            kind: TunableKind::Count { min: 1, max: 100 },
            summary: "",
            manual: "",
        };
        for (value, throttled, found) in [("16", 5, true), ("1", 5, false), ("16", 0, false)] {
            let mut study = samples::study(&["a"]);
            study.cases[0].tuning.give("GOMAXPROCS", value);
            study.cases[0].tuning = study.cases[0].tuning.clone().with_roles(&[processors]);
            let mut trial = samples::measured("a", 1, 1_000.0);
            trial.measurement.as_mut().unwrap().resources.as_mut().unwrap().throttled_periods = throttled;
            let trials = [trial];
            let finding = beyond_quota(&Record::new(&study, &study.cases[0], &trials));
            assert_eq!(finding.is_some(), found, "GOMAXPROCS {value}, {throttled} periods");
            assert!(finding.is_none_or(|finding| finding.advice.contains("a.GOMAXPROCS=1")));
        }
    }
}
