//! CPU time against its quota.

use std::collections::BTreeMap;

use stampede_core::{Finding, Load, Severity};

use super::{cpu_used, finding, percent};
use crate::metric::ratio;
use crate::record::Record;

/// The finding that the quota ran out.
pub(super) const THROTTLED: &str = "cpu-throttled";

/// Evidence that the quota that ran out is what sets the rate, or the slowest answers of a given rate.
const LIMITS: &str = "limits";

/// Whether it is.
pub(super) fn is_limit(finding: &Finding) -> bool {
    finding.evidence.get(LIMITS).is_some_and(|limits| *limits > 0.0)
}

/// Below this share of throttled periods the quota is not worth a word.
const NOTABLE: f64 = 0.05;

/// From this share of throttled periods on, the quota is what sets the rate.
const LIMITING: f64 = 0.9;

/// The quota ran out in many of its periods.
pub(super) fn throttled(record: &Record<'_>) -> Option<Finding> {
    let quota = record.case.limits.cpus;
    let (mut throttled, mut periods) = (0, 0);
    for resources in record.measurements().filter_map(|measured| measured.resources.as_ref()) {
        throttled += resources.throttled_periods;
        periods += resources.periods;
    }
    let share = ratio(throttled as f64, periods as f64)?;
    if share < NOTABLE {
        return None;
    }
    let used = cpu_used(record)?;
    let meaning = if share >= LIMITING {
        "CPU is what limits its rate"
    } else {
        "its slowest answers include the wait for the next period"
    };
    // An open load gives the rate: what is left to limit are its slowest answers, which hold the stalls.
    let limits = share >= LIMITING || matches!(record.case.load, Load::Open { .. });
    let mut evidence = BTreeMap::from([
        ("throttled_share".to_owned(), share),
        ("quota_used_share".to_owned(), used),
        (LIMITS.to_owned(), f64::from(u8::from(limits))),
    ]);
    let period = record.trials.iter().find_map(|trial| Some(trial.enforced?.period));
    if let Some(period) = period {
        evidence.insert("period_ms".to_owned(), period.as_secs_f64() * 1e3);
    }
    Some(Finding {
        id: THROTTLED.to_owned(),
        severity: Severity::Info,
        text: format!(
            "Its quota of {quota} CPU ran out in {} of the periods, and it used {} of it: {meaning}.",
            percent(share),
            percent(used)
        ),
        evidence,
        advice: "Compare requests per CPU-second; raise --cpus to see its response times without the wait.".to_owned(),
    })
}

/// Server and generator run on the same cores.
pub(super) fn shared_cores(record: &Record<'_>) -> Option<Finding> {
    record.measurements().next()?;
    let pinning = &record.case.pinning;
    pinning.is_shared().then(|| {
        finding(
            "shared-cores",
            Severity::Warning,
            "Server and load generator share cores, so each slows the other down.",
            [("server_cores", pinning.server.len() as f64), ("machine_cores", f64::from(record.study.machine.cpus))],
            format!(
                "Use --cpus below the machine's {}, so that a core is left for the generator; until then compare requests per CPU-second.",
                record.study.machine.cpus
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::rules::tests::found;
    use crate::samples;

    #[test]
    fn throttling_is_told_with_how_much_of_the_quota_was_used() {
        let throttled = |periods, cpu| {
            found(throttled, move |trial| {
                let resources = trial.measurement.as_mut().unwrap().resources.as_mut().unwrap();
                resources.throttled_periods = periods;
                resources.cpu = Duration::from_millis(cpu);
            })
        };
        assert_eq!(throttled(2, 2_400), None);
        assert_eq!(
            throttled(49, 2_490).unwrap().text,
            "Its quota of 0.5 CPU ran out in 98 % of the periods, and it used 100 % of it: CPU is what limits its rate."
        );
        let some = throttled(10, 2_000).unwrap();
        assert!(
            some.text.contains("20 % of the periods, and it used 80 % of it: its slowest answers"),
            "{}",
            some.text
        );
        assert_eq!(some.evidence["period_ms"], 100.0);
    }

    #[test]
    fn shared_cores_are_a_warning() {
        let mut study = samples::study(&["a"]);
        study.cases[0].pinning.generator = vec![0, 1];
        let trials = [samples::measured("a", 1, 1_000.0)];
        let finding = shared_cores(&Record::new(&study, &study.cases[0], &trials)).unwrap();
        assert_eq!((finding.severity, finding.evidence["machine_cores"]), (Severity::Warning, 2.0));
    }
}
