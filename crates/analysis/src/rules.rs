//! What can be found in the records of a case: one rule a function, grouped by what it is about.
//!
//! A rule looks at one case, names no runtime, and returns at most one finding. Its figures are totals or extremes over
//! the case's trials, and are given as evidence.

mod backlog;
mod builds;
mod connections;
mod cpu;
mod database;
mod fleet;
mod generator;
mod inside;
mod limits;
mod memory;
mod neighbours;
mod parts;
mod php;
mod pool;
mod queries;
mod queue;
mod requests;
mod rivals;
mod sessions;
mod setup;
mod sizing;
mod surroundings;
mod tail;
mod tracking;
mod units;
mod waits;
mod warm_up;

pub use neighbours::taken_by_others;
pub use sessions::SESSION_LOCK;

use std::cmp::Reverse;

use stampede_core::{Finding, Series, Severity};

pub(crate) use self::builds::PHP_BUILDS_DIFFER;
pub use self::inside::SEEN_INSIDE;
use crate::metric::{cpu_seconds_per_request, ratio};
use crate::record::Record;

/// What looks for one thing.
type Rule = fn(&Record<'_>) -> Option<Finding>;

/// Of which cases a rule is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Any,
    /// Of those that one deployment serves.
    Lasting,
    /// Of autoscaled services: their measurements are sums over instances that come and go, and what clients are told because no
    /// instance was free is no failure of a server.
    Instances,
}

const RULES: &[(Of, Rule)] = &[
    (Of::Any, limits::not_enforced),
    (Of::Any, memory::oom_kills),
    (Of::Lasting, memory::pressure),
    (Of::Any, memory::machine_swaps),
    (Of::Lasting, database::sqlite_locked),
    (Of::Lasting, database::connections),
    (Of::Instances, fleet::never_ready),
    (Of::Instances, fleet::lost),
    (Of::Instances, fleet::turned_away),
    (Of::Instances, fleet::unevenly_loaded),
    (Of::Any, requests::failed),
    (Of::Any, requests::unfinished),
    (Of::Lasting, connections::exhausted),
    (Of::Any, tracking::full),
    (Of::Lasting, sessions::lock),
    (Of::Lasting, inside::waits_on_itself),
    (Of::Lasting, inside::n_plus_one),
    (Of::Lasting, inside::slow_query),
    (Of::Lasting, inside::searches_classes),
    (Of::Lasting, inside::loads_files),
    (Of::Lasting, inside::boots),
    (Of::Lasting, inside::matches_patterns),
    (Of::Lasting, inside::collects_garbage),
    (Of::Lasting, inside::logs),
    (Of::Lasting, queries::locks),
    (Of::Any, php::no_opcode_cache),
    (Of::Any, php::cache_full),
    (Of::Any, php::slow_extension),
    (Of::Any, php::debug_build),
    (Of::Any, php::dev_mode),
    (Of::Any, php::autoloader),
    (Of::Lasting, pool::full),
    (Of::Lasting, connections::held),
    (Of::Lasting, queries::bound),
    (Of::Lasting, waits::elsewhere),
    (Of::Lasting, backlog::full),
    (Of::Lasting, surroundings::restarts),
    (Of::Lasting, tail::starving),
    (Of::Lasting, queue::grows),
    (Of::Lasting, connections::closed),
    (Of::Instances, fleet::too_few_workers),
    (Of::Instances, fleet::cold_starts),
    (Of::Any, generator::busy),
    (Of::Any, cpu::shared_cores),
    (Of::Lasting, neighbours::noisy),
    (Of::Lasting, memory::near_limit),
    (Of::Any, builds::differ),
    (Of::Any, builds::jit_is_off),
    (Of::Lasting, units::killed),
    (Of::Lasting, warm_up::no_steady_state),
    (Of::Any, cpu::throttled),
    (Of::Any, sizing::beyond_quota),
    (Of::Lasting, connections::upstream_closed),
    (Of::Any, php::timestamps),
    (Of::Any, setup::extensions_differ),
    (Of::Any, setup::left_out),
    (Of::Any, setup::other_speed),
    (Of::Any, surroundings::access_log),
    (Of::Lasting, warm_up::memory_grows),
    (Of::Lasting, warm_up::responses_grow),
    (Of::Lasting, parts::throttled),
    (Of::Lasting, queries::crowded),
    (Of::Lasting, sessions::begun),
];

/// A finding that can be what limits a case's rate.
struct Suspect {
    /// Its id.
    finding: &'static str,
    /// What it is that holds the case back.
    what: &'static str,
    /// Whether its figures are such that it weighs.
    weighs: fn(&Finding) -> bool,
}

const fn suspect(finding: &'static str, what: &'static str, weighs: fn(&Finding) -> bool) -> Suspect {
    Suspect { finding, what, weighs }
}

/// Suspects; the first that is found is reported: what is broken, for then the other figures mislead; what each request does in
/// vain; what is too small beside CPU that was really left; what others took; and the limit that was requested.
const SUSPECTS: &[Suspect] = &[
    suspect("oom-kills", "memory", always),
    suspect("machine-swaps", "memory of the machine, which swaps", memory::swaps_much),
    suspect("memory-pressure", "memory that is taken back and read again", memory::weighs),
    suspect("ports-exhausted", "the generator's local ports", always),
    suspect("connection-table-full", "the kernel's table of tracked connections", always),
    suspect("database-connections", "connections to the database", always),
    suspect("sqlite-locked", "the lock of SQLite's file", always),
    suspect("backlog-full", "a queue of connections that is too short", backlog::refuses),
    suspect("connections-hold-workers", "workers that stay with their connections", always),
    suspect("failed-requests", "requests that fail", requests::many),
    suspect(GENERATOR_BUSY, "the load generator", always),
    suspect("opcache-off", "the opcode cache, which is off", always),
    suspect("opcache-full", "the opcode cache, which is full", always),
    suspect("slow-extension", "a development extension", php::is_switched_on),
    suspect("php-debug-build", "a debug build of PHP", always),
    suspect("dev-mode", "development mode", always),
    suspect("jit-is-off", "JIT, which is off", always),
    suspect("worker-restarts", "workers that are replaced", surroundings::often),
    suspect("session-lock", "the lock of a session", always),
    suspect("waits-on-itself", "requests to its own server", always),
    suspect("n-plus-one-queries", "many queries a request from one line", always),
    suspect("query-dominates", "a query", always),
    suspect("autoload-without-class-map", "the search for files of classes", always),
    suspect("boots-each-request", "booting the application for each request", always),
    suspect("compiles-each-request", "loading and compiling files", always),
    suspect("regular-expression", "a regular expression", always),
    suspect("garbage-collection", "garbage collection", always),
    suspect("logs-to-disk", "writing a log", always),
    suspect("database-locks", "locks in the database", always),
    suspect("part-throttled", "the CPU share of a part", always),
    suspect("pool-full", "the number of workers", always),
    suspect("database-bound", "the database", always),
    suspect("slow-upstream", "something that requests wait for", always),
    suspect("noisy-neighbour", "other work on this machine or its host", neighbours::deprives),
    suspect("upstream-keepalive-off", "connections to replicas that are not kept alive", connections::weighs),
    suspect("closes-connections", "connections that are not kept alive", connections::dominates),
    suspect("opcache-validates", "checking time stamps of scripts for each request", php::validation_weighs),
    suspect("closes-connections", "connections that are not kept alive", connections::weighs),
    suspect(cpu::THROTTLED, "the CPU limit", cpu::is_limit),
    suspect("queue-grows", "a load above what it can take", always),
];

fn always(_: &Finding) -> bool {
    true
}

/// What probably limits a case's rate: suspected from the records, not shown by an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bottleneck {
    /// The id of the finding that says so.
    pub finding: String,
    /// What it is: `the number of workers`.
    pub what: &'static str,
}

impl Bottleneck {
    /// Whether it was seen in PHP's stacks, which shows what a request's time goes to without a change of any limit.
    pub fn is_seen_inside(&self) -> bool {
        inside::SEEN_INSIDE.contains(&self.finding.as_str())
    }
}

/// All findings, most severe first.
pub(crate) fn findings(record: &Record<'_>) -> Vec<Finding> {
    let is_scaled = record.trials.iter().any(|trial| trial.scale.is_some());
    let own = if is_scaled { Of::Instances } else { Of::Lasting };
    let rules = RULES.iter().filter(|(of, _)| [Of::Any, own].contains(of));
    let mut findings: Vec<_> = rules.filter_map(|(_, rule)| rule(record)).collect();
    sort(&mut findings);
    findings
}

/// Most severe first; those of equal severity in the order in which they were found.
pub(crate) fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| Reverse(finding.severity));
}

pub(crate) use generator::GENERATOR_BUSY;
/// What is found in a case beside the others of its study, which come in the same order as their records.
pub(crate) use rivals::beside_others;

/// The first suspect among the findings. Without the limits that were requested, nothing follows from their use.
pub(crate) fn bottleneck(findings: &[Finding]) -> Option<Bottleneck> {
    if findings.iter().any(|finding| finding.id == limits::NOT_ENFORCED) {
        return None;
    }
    SUSPECTS.iter().find_map(|Suspect { finding: id, what, weighs }| {
        let finding = findings.iter().find(|finding| finding.id == *id).filter(|finding| weighs(finding))?;
        Some(Bottleneck { finding: finding.id.clone(), what })
    })
}

/// A finding with its figures as evidence.
fn finding<K: Into<String>>(
    id: &str,
    severity: Severity,
    text: impl Into<String>,
    evidence: impl IntoIterator<Item = (K, f64)>,
    advice: impl Into<String>,
) -> Finding {
    let evidence = evidence.into_iter().map(|(name, value)| (name.into(), value)).collect();
    Finding { id: id.to_owned(), severity, text: text.into(), evidence, advice: advice.into() }
}

/// What was sampled, of every source.
fn sampled<'a>(record: &Record<'a>) -> impl Iterator<Item = &'a Series> {
    record.measurements().filter_map(|measured| measured.sampling.as_ref()).flat_map(|sampling| &sampling.series)
}

/// The share of the CPU limit that was used in all windows together; of an autoscaled service, of what its instances had.
pub(crate) fn cpu_used(record: &Record<'_>) -> Option<f64> {
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

/// The name of the evidence that [`cpu_each`] gives.
const CPU_EACH: &str = "cpu_us_per_request";

/// The CPU time of a right answer in microseconds, the mean of all trials, as evidence.
fn cpu_each(record: &Record<'_>) -> Option<(&'static str, f64)> {
    let each: Vec<f64> = record.measurements().filter_map(cpu_seconds_per_request).collect();
    Some((CPU_EACH, ratio(each.iter().sum::<f64>() * 1e6, each.len() as f64)?))
}

/// A share as a sentence has it: `97 %`, `0.4 %`.
pub(crate) fn percent(share: f64) -> String {
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
        for (_, rule) in RULES {
            assert_eq!(found(*rule, |_| ()), None);
            assert_eq!(found(*rule, |trial| *trial = samples::failed("a", trial.block)), None);
        }
    }

    #[test]
    fn the_most_severe_finding_comes_first() {
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
    fn the_first_suspect_whose_figures_weigh_is_told() {
        let finding = |id: &str, evidence: &[(&str, f64)]| Finding {
            id: id.to_owned(),
            severity: Severity::Warning,
            text: String::new(),
            evidence: evidence.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            advice: String::new(),
        };
        let quota = || finding("cpu-throttled", &[("limits", 1.0)]);
        for (name, findings, told) in [
            ("nothing", vec![], None),
            ("the quota", vec![quota()], Some("cpu-throttled")),
            ("a quota that ran out now and then", vec![finding("cpu-throttled", &[("limits", 0.0)])], None),
            (
                "few failures",
                vec![finding("failed-requests", &[("failed_share", 0.002)]), quota()],
                Some("cpu-throttled"),
            ),
            (
                "many failures",
                vec![quota(), finding("failed-requests", &[("failed_share", 0.2)])],
                Some("failed-requests"),
            ),
            (
                "connections that were refused",
                vec![
                    finding("pool-full", &[]),
                    finding("failed-requests", &[("failed_share", 0.2)]),
                    finding("backlog-full", &[("status_502", 9.0)]),
                ],
                Some("backlog-full"),
            ),
            ("connections that wait", vec![finding("backlog-full", &[("status_502", 0.0)])], None),
            (
                "time stamps beside connections that are a small part",
                vec![
                    finding("closes-connections", &[(CPU_EACH, 900.0)]),
                    finding("opcache-validates", &[("each_request", 1.0)]),
                ],
                Some("opcache-validates"),
            ),
            (
                "time stamps beside connections that are most of it",
                vec![
                    finding("closes-connections", &[(CPU_EACH, 300.0)]),
                    finding("opcache-validates", &[("each_request", 1.0)]),
                ],
                Some("closes-connections"),
            ),
            (
                "time stamps now and then, and connections",
                vec![
                    finding("closes-connections", &[(CPU_EACH, 900.0)]),
                    finding("opcache-validates", &[("each_request", 0.0)]),
                ],
                Some("closes-connections"),
            ),
            (
                "neighbours that took nothing of its own",
                vec![finding("noisy-neighbour", &[("unused_quota_cpus", 0.01), ("idle_cpus", 0.3)]), quota()],
                Some("cpu-throttled"),
            ),
            (
                "neighbours",
                vec![finding("noisy-neighbour", &[("unused_quota_cpus", 0.4), ("idle_cpus", 0.1)]), quota()],
                Some("noisy-neighbour"),
            ),
            (
                "without limits nothing follows",
                vec![finding(limits::NOT_ENFORCED, &[]), finding("pool-full", &[])],
                None,
            ),
        ] {
            let told = told.map(str::to_owned);
            assert_eq!(bottleneck(&findings).map(|bottleneck| bottleneck.finding), told, "{name}");
        }
    }

    #[test]
    fn shares_are_printed_with_the_digits_that_matter() {
        for (share, text) in [(0.0, "0 %"), (0.0001, "under 0.1 %"), (0.004, "0.4 %"), (0.974, "97 %"), (1.0, "100 %")]
        {
            assert_eq!(percent(share), text);
        }
    }
}
