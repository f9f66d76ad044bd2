//! Memory against its limit.

use stampede_core::{Finding, Outcome, Severity};

use super::{finding, percent};
use crate::record::Record;

/// More of the limit than this, and the kernel spends time on finding memory to take back.
const NEAR: f64 = 0.9;

/// The kernel killed processes because the memory limit was reached.
pub(super) fn oom_kills(record: &Record<'_>) -> Option<Finding> {
    let kills: u64 = record.measurements().filter_map(|measured| Some(measured.resources?.oom_kills)).sum();
    // A server that was killed itself leaves no measurement.
    let ended =
        record.trials.iter().filter(|trial| trial.measurement.is_none()).filter(
            |trial| matches!(&trial.outcome, Outcome::Failed(reason) if reason.contains(Outcome::MEMORY_LIMIT)),
        );
    let ended = ended.count();
    let what = match kills {
        0 => "processes of it, which ended the trial,".to_owned(),
        _ => format!("{kills} of its processes"),
    };
    (kills > 0 || ended > 0).then(|| {
        finding(
            "oom-kills",
            Severity::Error,
            format!("The kernel killed {what} because the memory limit of {} was reached.", record.case.limits.memory),
            [
                ("oom_kills", kills as f64),
                ("trials_ended", ended as f64),
                ("limit_bytes", record.case.limits.memory.get() as f64),
            ],
            "Raise --memory, or lower the number of workers.",
        )
    })
}

/// The peak of needed memory left little of the limit.
pub(super) fn near_limit(record: &Record<'_>) -> Option<Finding> {
    let limit = record.case.limits.memory.get();
    let peak = record.measurements().filter_map(|measured| Some(measured.resources?.memory_peak)).max()?;
    let share = peak as f64 / limit as f64;
    (share > NEAR).then(|| {
        finding(
            "memory-near-limit",
            Severity::Warning,
            format!("Its memory reached {} of the limit of {}.", percent(share), record.case.limits.memory),
            [("memory_peak_bytes", peak as f64), ("limit_bytes", limit as f64)],
            "Raise --memory, or lower the number of workers, before it gets more load than was measured.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::found;

    #[test]
    fn a_peak_near_the_limit_is_found() {
        let near = |bytes: u64| {
            found(near_limit, move |trial| {
                trial.measurement.as_mut().unwrap().resources.as_mut().unwrap().memory_peak = bytes;
            })
        };
        assert_eq!(near(230 << 20), None);
        let finding = near(250 << 20).unwrap();
        assert_eq!(finding.text, "Its memory reached 98 % of the limit of 256Mi.");
        assert_eq!(finding.evidence["limit_bytes"], 268_435_456.0);
    }

    #[test]
    fn kills_are_summed_over_trials() {
        let finding = found(oom_kills, |trial| {
            trial.measurement.as_mut().unwrap().resources.as_mut().unwrap().oom_kills = 2;
        });
        assert_eq!(finding.unwrap().evidence["oom_kills"], 6.0);
        let finding = found(oom_kills, |trial| {
            *trial = crate::samples::failed("a", trial.block);
            trial.outcome = Outcome::Failed(
                "php-fpm ended with signal 9 (SIGKILL) while it was measured\nthe kernel killed 2 processes because the \
                 control group reached its memory limit of 256Mi"
                    .to_owned(),
            );
        });
        assert!(finding.unwrap().text.starts_with("The kernel killed processes of it, which ended the trial"));
    }
}
