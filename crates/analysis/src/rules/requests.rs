//! Requests that were not answered rightly.

use std::collections::BTreeMap;

use stampede_core::{ErrorClass, Finding, Severity};

use super::{finding, percent};
use crate::record::Record;

/// From this share on, failures are no exception.
const MANY: f64 = 0.01;

/// Whether so many failed that the figures are about them.
pub(super) fn many(finding: &Finding) -> bool {
    finding.evidence.get("failed_share").is_some_and(|share| *share >= MANY)
}

/// Requests failed within the window.
pub(super) fn failed(record: &Record<'_>) -> Option<Finding> {
    let (mut failed, mut ok, mut unwritable) = (0, 0, 0);
    let mut errors: BTreeMap<ErrorClass, u64> = BTreeMap::new();
    for trial in &record.trials {
        let Some(measured) = &trial.measurement else { continue };
        // What no instance was free for was answered by the platform, and rightly so.
        let rejected = trial.scale.as_ref().map_or(0, |scaled| scaled.rejected);
        // What was never sent is no failure of the server.
        let unsent = measured.errors.get(&ErrorClass::Unwritable).copied().unwrap_or(0);
        unwritable += unsent;
        failed += measured.requests.failed.saturating_sub(rejected + unsent);
        ok += measured.requests.ok;
        for (class, count) in &measured.errors {
            let count = if *class == ErrorClass::WrongStatus { count.saturating_sub(rejected) } else { *count };
            *errors.entry(*class).or_default() += count;
        }
    }
    if failed == 0 {
        return None;
    }
    errors.retain(|class, count| *count > 0 && *class != ErrorClass::Unwritable);
    let share = failed as f64 / (failed + ok) as f64;
    let causes =
        errors.iter().map(|(class, count)| format!("{count} {}", words(*class))).collect::<Vec<_>>().join(", ");
    let mut text = match causes.as_str() {
        "" => format!("{failed} requests failed ({}).", percent(share)),
        _ => format!("{failed} requests failed ({}): {causes}.", percent(share)),
    };
    if unwritable > 0 {
        text.push_str(&format!(
            " {unwritable} more could not be written by the load generator, and are not counted here."
        ));
    }
    Some(finding(
        "failed-requests",
        Severity::Warning,
        text,
        [("failed", failed as f64), ("failed_share", share)],
        "Read the server's log before its other figures: what fails is often answered faster than what works.",
    ))
}

/// Requests had no answer when the drain was over: connections that no worker serves, or answers slower than the drain.
pub(super) fn unfinished(record: &Record<'_>) -> Option<Finding> {
    let unfinished: u64 =
        record.measurements().map(|measured| measured.warm_up.unfinished + measured.requests.unfinished).sum();
    (unfinished > 0).then(|| {
        finding(
            "unfinished-requests",
            Severity::Error,
            format!(
                "{unfinished} requests had no answer when the drain was over: the load was smaller than {}.",
                record.case.load
            ),
            [("unfinished", unfinished as f64)],
            "A server that keeps a worker for each connection needs as many workers as connections: raise its pool \
             (and --memory), or lower the connections of --load.",
        )
    })
}

fn words(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Tls => "connections that could not be encrypted",
        ErrorClass::Refused => "connections refused",
        ErrorClass::Reset => "connections reset",
        ErrorClass::ClosedEarly => "closed in mid-answer",
        ErrorClass::Malformed => "not HTTP",
        ErrorClass::WrongStatus => "with another status",
        ErrorClass::WrongHeader => "with another header",
        ErrorClass::WrongBody => "with another body",
        ErrorClass::Unwritable => "that could not be written",
        ErrorClass::Exhausted => "without a free port or file descriptor",
        ErrorClass::TimedOut => "timed out",
        ErrorClass::Io => "with other network errors",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::found;

    #[test]
    fn connections_that_are_never_served_are_told() {
        let finding = found(unfinished, |trial| trial.measurement.as_mut().unwrap().warm_up.unfinished = 4);
        assert_eq!(finding.unwrap().evidence["unfinished"], 12.0);
    }

    #[test]
    fn requests_that_could_not_be_written_are_no_failures_of_the_server() {
        let of = |failed: u64, errors: &[(ErrorClass, u64)]| {
            found(super::failed, |trial| {
                let measurement = trial.measurement.as_mut().unwrap();
                measurement.requests.failed = failed;
                measurement.errors = errors.iter().copied().collect();
            })
        };
        assert_eq!(of(40, &[(ErrorClass::Unwritable, 40)]), None);
        let finding = of(50, &[(ErrorClass::Unwritable, 40), (ErrorClass::WrongHeader, 10)]).unwrap();
        assert_eq!(finding.evidence["failed"], 30.0);
        let (before, after) = finding.text.split_once(": ").unwrap();
        assert!(before.starts_with("30 requests failed"), "{before}");
        assert_eq!(
            after,
            "30 with another header. 120 more could not be written by the load generator, and are not counted here."
        );
    }

    #[test]
    fn failed_requests_are_told_by_cause() {
        let finding = found(failed, |trial| {
            let measurement = trial.measurement.as_mut().unwrap();
            measurement.requests.failed = 5_000;
            measurement.errors = BTreeMap::from([(ErrorClass::Reset, 1_000), (ErrorClass::WrongStatus, 4_000)]);
        });
        assert_eq!(
            finding.unwrap().text,
            "15000 requests failed (50 %): 3000 connections reset, 12000 with another status."
        );
    }
}
