//! Whether this machine can measure. Each check is read from the kernel by one function and judged by another, which is pure.

mod activity;
mod clock;
mod cores;
mod frequency;
mod limits;
mod network;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use stampede_core::{Finding, Severity};

use crate::machine::lock::{LockError, MeasuringLock};

/// Examines this machine, for about two seconds. Of severity `Error` is what stands in the way of measuring, of severity
/// `Warning` what disturbs it, and of severity `Info` what is fine or only worth knowing. Advice may be empty where all is fine.
///
/// Makes a control group and removes it again, and changes nothing else.
pub fn examine() -> Vec<Finding> {
    let mut findings = vec![limits::judge(limits::read())];
    findings.extend(cores::judge(&cores::read()));
    findings.extend(activity::judge(&activity::read()));
    findings.push(another_stampede());
    findings.extend(network::judge(&network::read()));
    findings.extend(clock::judge(&clock::read()));
    findings.push(frequency::judge(&frequency::read(Path::new("/sys/devices/system/cpu"))));
    findings
}

fn another_stampede() -> Finding {
    match MeasuringLock::try_acquire("doctor") {
        Ok(_) => fine("lock", "no other Stampede measures now"),
        Err(LockError::Held { holder }) => {
            warning("lock", format!("another Stampede measures now: {holder}"), "look again when it is done")
        }
        Err(error) => found(
            "lock",
            Severity::Error,
            stampede_core::with_causes(&error),
            "see to it that this user may open that file",
        ),
    }
}

pub(crate) fn fine(id: &str, text: impl Into<String>) -> Finding {
    found(id, Severity::Info, text, "")
}

pub(crate) fn warning(id: &str, text: impl Into<String>, advice: &str) -> Finding {
    found(id, Severity::Warning, text, advice)
}

fn found(id: &str, severity: Severity, text: impl Into<String>, advice: &str) -> Finding {
    Finding { id: id.to_owned(), severity, text: text.into(), evidence: BTreeMap::new(), advice: advice.to_owned() }
}

/// Adds a figure to a finding.
fn with(mut finding: Finding, name: &str, value: f64) -> Finding {
    finding.evidence.insert(name.to_owned(), value);
    finding
}

/// The text of a small file of the kernel, where it is there.
fn text(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_check_has_a_name_of_its_own_and_says_what_to_do_about_what_is_not_fine() {
        let findings = examine();
        let ids: BTreeSet<&str> = findings.iter().map(|finding| finding.id.as_str()).collect();
        assert_eq!(ids.len(), findings.len(), "{findings:?}");
        for finding in &findings {
            assert!(finding.severity == Severity::Info || !finding.advice.is_empty(), "{finding:?}");
        }
    }
}
