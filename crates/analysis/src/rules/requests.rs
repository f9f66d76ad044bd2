//! Requests that were not answered rightly.

use std::collections::BTreeMap;

use stampede_core::{ErrorClass, Finding, Severity};

use super::percent;
use crate::record::Record;

/// From this share on, failures are no exception.
const MANY: f64 = 0.01;

/// Whether so many failed that the figures are about them.
pub(super) fn many(finding: &Finding) -> bool {
    finding.evidence.get("failed_share").is_some_and(|share| *share >= MANY)
}

/// Requests failed within the window.
pub(super) fn failed(record: &Record<'_>) -> Option<Finding> {
    let (failed, ok) = record
        .measurements()
        .fold((0, 0), |(failed, ok), measured| (failed + measured.requests.failed, ok + measured.requests.ok));
    if failed == 0 {
        return None;
    }
    let mut errors: BTreeMap<ErrorClass, u64> = BTreeMap::new();
    for (class, count) in record.measurements().flat_map(|measured| &measured.errors) {
        *errors.entry(*class).or_default() += count;
    }
    let share = failed as f64 / (failed + ok) as f64;
    let causes =
        errors.iter().map(|(class, count)| format!("{count} {}", words(*class))).collect::<Vec<_>>().join(", ");
    Some(Finding {
        id: "failed-requests".to_owned(),
        severity: Severity::Warning,
        text: match causes.as_str() {
            "" => format!("{failed} requests failed ({}).", percent(share)),
            _ => format!("{failed} requests failed ({}): {causes}.", percent(share)),
        },
        evidence: BTreeMap::from([("failed".to_owned(), failed as f64), ("failed_share".to_owned(), share)]),
        advice: "Read the server's log before its other figures: what fails is often answered faster than what works."
            .to_owned(),
    })
}

/// Requests had no answer when the drain was over: connections that no worker serves, or answers slower than the drain.
pub(super) fn unfinished(record: &Record<'_>) -> Option<Finding> {
    let unfinished: u64 =
        record.measurements().map(|measured| measured.warm_up.unfinished + measured.requests.unfinished).sum();
    (unfinished > 0).then(|| Finding {
        id: "unfinished-requests".to_owned(),
        severity: Severity::Error,
        text: format!(
            "{unfinished} requests had no answer when the drain was over: the load was smaller than {}.",
            record.case.load
        ),
        evidence: BTreeMap::from([("unfinished".to_owned(), unfinished as f64)]),
        advice: "A server that keeps a worker for each connection needs as many workers as connections: raise its \
                 pool (and --memory), or lower the connections of --load."
            .to_owned(),
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
