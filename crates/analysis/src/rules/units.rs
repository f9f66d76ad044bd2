//! How units stopped.

use std::collections::BTreeSet;

use stampede_core::{Finding, Severity, UnitStop};

use super::finding;
use crate::record::Record;

/// A unit did not stop within its grace.
pub(super) fn killed(record: &Record<'_>) -> Option<Finding> {
    let killed: Vec<&UnitStop> =
        record.trials.iter().flat_map(|trial| &trial.stops).filter(|stop| stop.killed).collect();
    let longest = killed.iter().map(|stop| stop.took).max()?;
    let units: BTreeSet<&str> = killed.iter().map(|stop| stop.unit.as_str()).collect();
    let units = units.into_iter().collect::<Vec<_>>().join(", ");
    Some(finding(
        "stop-killed",
        Severity::Warning,
        format!("{units} did not stop when asked to and had to be killed."),
        [("killed", killed.len() as f64), ("longest_s", longest.as_secs_f64())],
        "In production a restart loses the requests in flight; look for requests that do not end, or raise its stop timeout.",
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::UnitId;

    use super::*;
    use crate::rules::tests::found;

    #[test]
    fn units_that_had_to_be_killed_are_named_once() {
        let finding = found(killed, |trial| {
            trial.stops = vec![
                UnitStop {
                    unit: UnitId::new("php-fpm"),
                    took: Duration::from_secs(5),
                    killed: true,
                    how: "signal 9 (SIGKILL)".to_owned(),
                },
                UnitStop {
                    unit: UnitId::new("nginx"),
                    took: Duration::from_millis(5),
                    killed: false,
                    how: "status 0".to_owned(),
                },
            ];
        })
        .unwrap();
        assert_eq!(finding.text, "php-fpm did not stop when asked to and had to be killed.");
        assert_eq!((finding.evidence["killed"], finding.evidence["longest_s"]), (3.0, 5.0));
    }
}
