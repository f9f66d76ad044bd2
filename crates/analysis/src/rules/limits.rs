//! Whether the kernel enforced the limits that were requested.

use stampede_core::{CgroupSupport, Finding, Limit, Severity};

use super::finding;
use crate::record::Record;

/// The finding that limits were not in force.
pub(super) const NOT_ENFORCED: &str = "limits-not-enforced";

/// Figures came out of a trial whose limits the kernel did not enforce, or could not be read back; or the machine cannot enforce
/// any.
pub(super) fn not_enforced(record: &Record<'_>) -> Option<Finding> {
    let asked = &record.case.limits;
    let impossible = record.study.machine.cgroup == CgroupSupport::None;
    let relevant = record.trials.iter().filter(|trial| impossible || trial.measurement.is_some());
    let unlimited: Vec<_> =
        relevant.filter(|trial| !trial.enforced.is_some_and(|enforced| enforced.fulfil(asked))).collect();
    let first = unlimited.first()?;
    let held = match first.enforced {
        Some(enforced) => {
            let cpus = match enforced.cpus {
                Limit::Unlimited => "all CPUs".to_owned(),
                Limit::AtMost(cpus) => format!("{cpus} CPU"),
            };
            let memory = match enforced.memory {
                Limit::Unlimited => "all memory".to_owned(),
                Limit::AtMost(bytes) => bytes.to_string(),
            };
            format!("the kernel granted {cpus} and {memory}")
        }
        None if impossible => "this machine has no control groups to enforce them".to_owned(),
        None => "the kernel's limits could not be read back".to_owned(),
    };
    Some(finding(
        NOT_ENFORCED,
        Severity::Error,
        format!("The limits of {} CPU and {} were not enforced: {held}.", asked.cpus, asked.memory),
        [("trials", unlimited.len() as f64)],
        "Run as root, or as a user whose systemd delegates control groups; the reason was printed before the first trial, and docs/control-groups.md lists what works where.",
    ))
}

#[cfg(test)]
mod tests {
    use stampede_core::{Bytes, Cpus};

    use super::*;
    use crate::rules::tests::found;

    #[test]
    fn the_finding_tells_what_the_kernel_granted() {
        let unread = found(not_enforced, |trial| trial.enforced = None).unwrap();
        assert_eq!(unread.evidence["trials"], 3.0);
        assert!(unread.text.ends_with("could not be read back."), "{}", unread.text);
        let other = found(not_enforced, |trial| {
            let enforced = trial.enforced.as_mut().unwrap();
            enforced.cpus = Limit::AtMost(Cpus::from_millis(1_000));
            enforced.memory = Limit::Unlimited;
        });
        assert_eq!(
            other.unwrap().text,
            "The limits of 0.5 CPU and 256Mi were not enforced: the kernel granted 1 CPU and all memory."
        );
    }

    #[test]
    fn memory_rounded_to_pages_is_enforced() {
        let rounded = found(not_enforced, |trial| {
            trial.enforced.as_mut().unwrap().memory = Limit::AtMost(Bytes::new((256 << 20) - 4096));
        });
        assert_eq!(rounded, None);
    }
}
