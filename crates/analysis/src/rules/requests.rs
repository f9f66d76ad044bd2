//! Requests that were not answered rightly.

use std::collections::BTreeMap;

use stampede_core::{ErrorClass, Finding, Severity, named_status};

use super::{finding, percent};
use crate::record::Record;

/// From this share on, failures are no exception.
const MANY: f64 = 0.01;

/// How a rate limit answers. RFC 6585, section 4
const TOO_MANY: u16 = 429;

/// Whether so many failed that the figures are about them.
pub(super) fn many(finding: &Finding) -> bool {
    finding.evidence.get("failed_share").is_some_and(|share| *share >= MANY)
}

/// Requests failed within the window.
pub(super) fn failed(record: &Record<'_>) -> Option<Finding> {
    let (mut failed, mut ok, mut unwritable) = (0, 0, 0);
    let mut errors: BTreeMap<ErrorClass, u64> = BTreeMap::new();
    let mut statuses: BTreeMap<u16, u64> = BTreeMap::new();
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
        for (status, count) in measured.status.iter().filter(|(status, _)| **status >= 400) {
            *statuses.entry(*status).or_default() += count;
        }
    }
    if failed == 0 {
        return None;
    }
    errors.retain(|class, count| *count > 0 && *class != ErrorClass::Unwritable);
    let share = failed as f64 / (failed + ok) as f64;
    // Where a request is rightly answered with an error, or an instance was missing, it is not known which of them were wrong.
    let are_wrong = errors.get(&ErrorClass::WrongStatus) == Some(&statuses.values().sum());
    let cause = |(class, count): (&ErrorClass, &u64)| match class {
        ErrorClass::WrongStatus if are_wrong => {
            let named = statuses.iter().map(|(status, count)| format!("{count} with status {}", named_status(*status)));
            named.collect::<Vec<_>>().join(", ")
        }
        class => format!("{count} {}", words(*class)),
    };
    let causes = errors.iter().map(cause).collect::<Vec<_>>().join(", ");
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
        match are_wrong && statuses.contains_key(&TOO_MANY) {
            true => "Turn off the application's rate limit: all requests come from one address.",
            false => "Fix these first: errors are often answered faster than successes, so the other figures mislead.",
        },
    ))
}

/// Requests had no answer seconds after the load's end: connections that no worker serves, or answers slower than the drain.
pub(super) fn unfinished(record: &Record<'_>) -> Option<Finding> {
    let unfinished: u64 =
        record.measurements().map(|measured| measured.warm_up.unfinished + measured.requests.unfinished).sum();
    (unfinished > 0).then(|| {
        finding(
            "unfinished-requests",
            Severity::Error,
            format!(
                "{unfinished} requests were still unanswered seconds after the load had ended: it was smaller than {}.",
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
        for (statuses, causes, advice) in [
            (&[][..], "12000 with another status", "Fix these first"),
            (
                &[(200, 5_000), (429, 4_000)],
                "12000 with status 429 Too Many Requests",
                "Turn off the application's rate limit",
            ),
            (
                &[(500, 1_000), (503, 3_000)],
                "3000 with status 500 Internal Server Error, 9000 with status 503 Service Unavailable",
                "Fix these first",
            ),
            // Some of these were right.
            (&[(404, 9_000)], "12000 with another status", "Fix these first"),
        ] {
            let finding = found(failed, |trial| {
                let measurement = trial.measurement.as_mut().unwrap();
                measurement.requests.failed = 5_000;
                measurement.errors = BTreeMap::from([(ErrorClass::Reset, 1_000), (ErrorClass::WrongStatus, 4_000)]);
                measurement.status = statuses.iter().copied().collect();
            });
            let finding = finding.unwrap();
            assert_eq!(finding.text, format!("15000 requests failed (50 %): 3000 connections reset, {causes}."));
            assert!(finding.advice.starts_with(advice), "{}", finding.advice);
        }
    }
}
