//! What can be found in the records of a case: one rule a function, grouped by what it is about.
//!
//! A rule looks at one case, names no runtime, and returns at most one finding. Its figures are totals or extremes over
//! the case's trials, and are given as evidence.

mod builds;
mod connections;
mod cpu;
mod generator;
mod limits;
mod memory;
mod requests;
mod units;

use std::cmp::Reverse;

use stampede_core::Finding;

use crate::record::Record;

const RULES: &[fn(&Record<'_>) -> Option<Finding>] = &[
    limits::not_enforced,
    memory::oom_kills,
    requests::failed,
    requests::unfinished,
    connections::closed,
    generator::busy,
    cpu::shared_cores,
    memory::near_limit,
    builds::differ,
    builds::jit_is_off,
    units::killed,
    cpu::throttled,
];

/// Everything that is found, the gravest first.
pub(crate) fn findings(record: &Record<'_>) -> Vec<Finding> {
    let mut findings: Vec<_> = RULES.iter().filter_map(|rule| rule(record)).collect();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    findings
}

/// A share as a sentence has it: `97 %`, `0.4 %`.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent >= 10.0 {
        format!("{percent:.0} %")
    } else if percent < 0.1 {
        "under 0.1 %".to_owned()
    } else {
        format!("{percent:.1} %")
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::{Severity, Trial};

    use super::*;
    use crate::samples;

    /// What one rule finds in three trials of a case that were changed in this way.
    pub(super) fn found(rule: fn(&Record<'_>) -> Option<Finding>, change: impl Fn(&mut Trial)) -> Option<Finding> {
        let study = samples::study(&["a"]);
        let mut trials: Vec<_> = (1..=3).map(|block| samples::measured("a", block, 1_000.0)).collect();
        trials.iter_mut().for_each(change);
        rule(&Record::new(&study, &study.cases[0], &trials))
    }

    #[test]
    fn nothing_is_found_where_nothing_is_odd_or_measured() {
        for rule in RULES {
            assert_eq!(found(*rule, |_| ()), None);
            assert_eq!(found(*rule, |trial| *trial = samples::failed("a", trial.block)), None);
        }
    }

    #[test]
    fn the_gravest_finding_comes_first() {
        let study = samples::study(&["a"]);
        let mut trial = samples::measured("a", 1, 1_000.0);
        let measurement = trial.measurement.as_mut().unwrap();
        measurement.resources.as_mut().unwrap().throttled_periods = 50;
        measurement.resources.as_mut().unwrap().memory_peak = 250 << 20;
        trial.enforced = None;
        let trials = [trial];
        let findings = findings(&Record::new(&study, &study.cases[0], &trials));
        let found: Vec<_> = findings.iter().map(|finding| (finding.id.as_str(), finding.severity)).collect();
        assert_eq!(
            found,
            [
                ("limits-not-enforced", Severity::Error),
                ("memory-near-limit", Severity::Warning),
                ("cpu-throttled", Severity::Info),
            ]
        );
    }

    #[test]
    fn shares_are_printed_with_the_digits_that_matter() {
        for (share, text) in [(0.0, "0 %"), (0.0001, "under 0.1 %"), (0.004, "0.4 %"), (0.974, "97 %"), (1.0, "100 %")]
        {
            assert_eq!(percent(share), text);
        }
    }
}
