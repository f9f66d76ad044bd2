//! What can be found in the records of a case: one rule a function, grouped by what it is about.
//!
//! A rule looks at one case, names no runtime, and returns at most one finding. Its figures are totals or extremes over
//! the case's trials, and are given as evidence.

mod backlog;
mod builds;
mod connections;
mod cpu;
mod fleet;
mod generator;
mod limits;
mod memory;
mod neighbours;
mod parts;
mod php;
mod pool;
mod requests;
mod rivals;
mod sizing;
mod surroundings;
mod tail;
mod units;
mod warm_up;

use std::cmp::Reverse;

use stampede_core::Finding;

use crate::metric::ratio;
use crate::record::Record;

/// What looks for one thing.
type Rule = fn(&Record<'_>) -> Option<Finding>;

const RULES: &[Rule] = &[
    limits::not_enforced,
    memory::oom_kills,
    requests::failed,
    requests::unfinished,
    php::no_opcode_cache,
    php::slow_extension,
    php::debug_build,
    pool::full,
    backlog::full,
    surroundings::restarts,
    tail::starving,
    connections::closed,
    generator::busy,
    cpu::shared_cores,
    neighbours::noisy,
    memory::near_limit,
    builds::differ,
    builds::jit_is_off,
    units::killed,
    warm_up::no_steady_state,
    cpu::throttled,
    sizing::beyond_quota,
    php::timestamps,
    surroundings::access_log,
    warm_up::memory_grows,
    parts::throttled,
];

/// Those of an autoscaled service: its measurements are sums over instances that come and go, and what clients are told because
/// no instance was free is no failure of a server.
const RULES_OF_INSTANCES: &[Rule] = &[
    limits::not_enforced,
    memory::oom_kills,
    fleet::never_ready,
    fleet::lost,
    fleet::turned_away,
    requests::failed,
    requests::unfinished,
    php::no_opcode_cache,
    php::slow_extension,
    php::debug_build,
    fleet::too_few_workers,
    fleet::cold_starts,
    generator::busy,
    cpu::shared_cores,
    builds::differ,
    builds::jit_is_off,
    cpu::throttled,
    sizing::beyond_quota,
    php::timestamps,
    surroundings::access_log,
];

/// Findings that can be what a case's rate hangs on, the likeliest first: what is broken, then what is too small, then the
/// limit that was asked for. Each with what it is that holds the case back.
const SUSPECTS: [(&str, &str); 6] = [
    ("oom-kills", "memory"),
    ("opcache-off", "the opcode cache, which is off"),
    ("slow-extension", "an extension for development"),
    ("php-debug-build", "a build of PHP for debugging"),
    ("pool-full", "the number of workers"),
    (cpu::THROTTLED, "the CPU limit"),
];

/// What a case's rate probably hangs on: suspected from the records, not shown by an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bottleneck {
    /// The id of the finding that says so.
    pub finding: String,
    /// What it is: `the number of workers`.
    pub what: &'static str,
}

/// Everything that is found, the gravest first.
pub(crate) fn findings(record: &Record<'_>) -> Vec<Finding> {
    let is_scaled = record.trials.iter().any(|trial| trial.scale.is_some());
    let rules = if is_scaled { RULES_OF_INSTANCES } else { RULES };
    let mut findings: Vec<_> = rules.iter().filter_map(|rule| rule(record)).collect();
    sort(&mut findings);
    findings
}

/// The gravest first, those of one kind in the order in which they were found.
pub(crate) fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| Reverse(finding.severity));
}

/// What is found in a case beside the others of its study, which come in the same order as their records.
pub(crate) use rivals::beside_others;

/// The first suspect among the findings. Without the limits that were asked for, nothing follows from their use.
pub(crate) fn bottleneck(findings: &[Finding]) -> Option<Bottleneck> {
    if findings.iter().any(|finding| finding.id == limits::NOT_ENFORCED) {
        return None;
    }
    let found = |(id, what): (&str, &'static str)| Some((findings.iter().find(|finding| finding.id == id)?, what));
    let (finding, what) = SUSPECTS
        .into_iter()
        .filter_map(found)
        .find(|(finding, _)| finding.id != cpu::THROTTLED || cpu::is_limit(finding))?;
    Some(Bottleneck { finding: finding.id.clone(), what })
}

/// The share of the CPU limit that was used in all windows together; of an autoscaled service, of what its instances had.
fn cpu_used(record: &Record<'_>) -> Option<f64> {
    let cores = record.case.limits.cpus.cores();
    let (mut used, mut had) = (0.0, 0.0);
    for trial in &record.trials {
        let Some(resources) = trial.measurement.as_ref().and_then(|measured| measured.resources) else { continue };
        let instances = trial.scale.as_ref().map_or(1.0, |scaled| scaled.instance_count().mean);
        used += resources.cpu.as_secs_f64();
        had += resources.between.as_secs_f64() * cores * instances;
    }
    ratio(used, had)
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
