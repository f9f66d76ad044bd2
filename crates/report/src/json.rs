//! A study as JSON, for other programs.
//!
//! Names are only ever added (`schema` says which set). Units are in the names, what is absent is `null`, and figures are
//! rounded no further than they are sure: latencies to nanoseconds, derived figures to six digits.

mod trial;

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::{CaseSummary, TurnScatter, percentile};
use stampede_core::{
    Arrivals, Autoloader, BlockOrder, Case, CgroupSupport, ChosenByFlags, Counts, CpuLayout, EnforcedLimits, Estimate,
    Finding, Latencies, Limit, Limits, Load, Machine, Origin, PhpBuild, Revision, Rounds, Severity, Slo, Study,
    StudyKind, Trial, Verdict, VerdictWord, WarmUp,
};

use self::trial::WireTrial;
use crate::StudyView;
use crate::format::Format;
use crate::inside::WireInside;
use crate::open_part::WireOpenPart;
use crate::places;
use crate::recommendation::json::{WireLeftOut, WireRecommendation};
use crate::sampling_json::WireActivity;
use crate::topology::WireTopology;
use crate::trust_json::{WireNoiseFloor, WireWarmUp, WireYardStick};
use crate::turns_json::{WireTurnScatter, WireWindowsFrom};
use crate::why;
use crate::why_json::WireExplanation;

/// `--json`.
pub(crate) const FORMAT: Format = Format {
    flag: "--json",
    help: "Write the study as JSON (`-` is stdout, in place of the table)",
    write: |answer| answer.json(),
};

/// The value of `schema` in what `--json` writes of a study.
pub const SCHEMA: &str = "stampede/study/v1";

/// Renders a study as JSON. It ends with a line break.
pub fn render(view: &StudyView<'_>) -> String {
    rendered(&WireStudy::of(view))
}

/// A wire struct as JSON. It ends with a line break.
pub(crate) fn rendered<T: Serialize>(wire: &T) -> String {
    #[expect(clippy::expect_used, reason = "numbers, texts and maps with text keys are all that the wire structs hold")]
    let mut text = serde_json::to_string_pretty(wire).expect("wire structs are plain JSON");
    text.push('\n');
    text
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireStudy<'a> {
    schema: &'static str,
    id: &'a str,
    #[schemars(with = "String")]
    kind: StudyKind,
    workload: &'a str,
    seed: u64,
    rounds: Option<u32>,
    max_time_s: Option<f64>,
    precision: f64,
    metric: &'a str,
    slo: Option<String>,
    warm_up_s: f64,
    duration_s: f64,
    #[schemars(with = "String")]
    order: BlockOrder,
    started_at: String,
    resumed_at: Vec<String>,
    finished_at: Option<String>,
    stampede_version: &'a str,
    machine: WireMachine<'a>,
    noise_floor: Option<WireNoiseFloor<'a>>,
    yard_stick: WireYardStick<'a>,
    cases: Vec<WireCase<'a>>,
    /// What was to be compared and was not.
    left_out: Vec<WireLeftOut>,
    /// Which case to take; of comparisons alone.
    recommendation: Option<WireRecommendation<'a>>,
    verdicts: Vec<WireVerdict<'a>>,
    detectable_share: Option<f64>,
    /// What followed at a share of its throughput.
    #[serde(skip_serializing_if = "Option::is_none")]
    open_part: Option<Box<WireOpenPart<'a>>>,
    /// From where on a study that was to be measured in turns was measured in windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    windows_from: Option<WireWindowsFrom<'a>>,
    /// What flags chose beside the workload, where they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<WireChosen<'a>>,
    /// How each generator was reached, where others than this process drove the load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    generators: Vec<String>,
    /// The node of a cluster that all cases ran on, where they ran in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a str>,
    /// Where scatter comes from, in a study that was measured in turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_scatter: Option<WireTurnScatter>,
    /// What holds the first case back, where the others are changes of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<WireExplanation>,
}

impl<'a> WireStudy<'a> {
    pub(crate) fn of(view: &StudyView<'a>) -> Self {
        let Study {
            id,
            kind,
            workload,
            seed,
            rounds,
            precision,
            errors: _,
            metric: _,
            slo,
            warm_up,
            duration,
            order,
            started_at,
            stampede_version,
            machine,
            cases,
            groundwork,
            resumed_at,
            time_over_at: _,
            windows_from,
            chosen,
        } = view.study;
        let (rounds, max_time) = match rounds {
            Rounds::Fixed(rounds) => (Some(*rounds), None),
            Rounds::Auto { max_time } => (None, Some(*max_time)),
        };
        let cases = cases.iter().map(|case| {
            let trials = view.trials.iter().filter(|trial| trial.case == case.id);
            let warm_up = groundwork.warm_ups.get(&case.id);
            WireCase::of(case, warm_up, trials.collect(), view.analysis.case(&case.id))
        });
        Self {
            schema: SCHEMA,
            id: id.as_str(),
            kind: *kind,
            workload: workload.as_str(),
            seed: *seed,
            rounds,
            max_time_s: max_time.map(|time| time.as_secs_f64()),
            precision: *precision,
            metric: view.analysis.primary.key,
            slo: slo.as_ref().map(Slo::to_string),
            warm_up_s: warm_up.as_secs_f64(),
            duration_s: duration.as_secs_f64(),
            order: *order,
            started_at: started_at.to_string(),
            resumed_at: resumed_at.iter().map(ToString::to_string).collect(),
            finished_at: view.finished_at.map(|finished_at| finished_at.to_string()),
            stampede_version,
            machine: WireMachine::of(machine),
            noise_floor: groundwork.floor.as_ref().map(WireNoiseFloor::of),
            yard_stick: WireYardStick::of(view.yard_stick),
            cases: cases.collect(),
            left_out: WireLeftOut::all(view),
            recommendation: WireRecommendation::of(view),
            verdicts: view.analysis.verdicts.iter().map(WireVerdict::of).collect(),
            detectable_share: view.analysis.detectable.map(rounded),
            open_part: WireOpenPart::of(view).map(Box::new),
            windows_from: windows_from.as_ref().map(WireWindowsFrom::of),
            chosen: WireChosen::of(chosen),
            generators: groundwork.generators.iter().map(ToString::to_string).collect(),
            node: groundwork.node.as_deref(),
            turn_scatter: TurnScatter::of(view.study, view.trials).map(|scatter| WireTurnScatter::of(&scatter)),
            why: why::explanation(view).map(|explanation| WireExplanation::of(view, &explanation)),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireChosen<'a> {
    /// Names of the requests that are the load (`--exchanges`); none where the workload says which.
    exchanges: &'a [String],
    /// Whether visitors keep their cookies by a flag (`--cookies`).
    cookies: bool,
    /// The dump that the database began each trial with (`--database`), as it was named.
    database: Option<String>,
}

impl<'a> WireChosen<'a> {
    fn of(chosen: &'a ChosenByFlags) -> Option<Self> {
        let ChosenByFlags { exchanges, cookies, database } = chosen;
        let database = database.as_ref().map(|dump| dump.display().to_string());
        (*chosen != ChosenByFlags::default()).then_some(Self { exchanges, cookies: *cookies, database })
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireMachine<'a> {
    cpus: u32,
    cpu_model: &'a str,
    kernel: &'a str,
    #[schemars(with = "String")]
    cgroup: CgroupSupport,
}

impl<'a> WireMachine<'a> {
    pub(crate) fn of(machine: &'a Machine) -> Self {
        let Machine { cpus, cpu_model, kernel, cgroup } = machine;
        Self { cpus: *cpus, cpu_model, kernel, cgroup: *cgroup }
    }
}

#[derive(Serialize, JsonSchema)]
struct WireCase<'a> {
    id: &'a str,
    runtime: &'a str,
    /// What it is compared for: candidate, reference or not-for-production.
    role: &'static str,
    runtime_version: &'a str,
    app: &'a str,
    /// The public folder, and who answers the paths that are no files of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    public_folder: Option<String>,
    /// The commit that the application's folder was checked out from, where it is kept in git.
    revision: Option<WireRevision<'a>>,
    /// What Composer's autoloader was in the copies that were served.
    #[serde(skip_serializing_if = "Option::is_none")]
    autoloader: Option<WireAutoloader>,
    #[schemars(with = "Option<BTreeMap<String, serde_json::Value>>")]
    php: Option<PhpBuild>,
    tuning: BTreeMap<&'a str, &'a str>,
    tuning_reasons: BTreeMap<&'a str, &'a str>,
    limits: WireLimits,
    enforced: WireEnforced,
    topology: WireTopology<'a>,
    platform: &'a str,
    /// The image in which its software was installed, where it ran in containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_image: Option<&'a str>,
    pinning: WirePinning<'a>,
    load: WireLoad,
    warm_up: Option<WireWarmUp<'a>>,
    /// The loads of a scenario's other user classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    loads_beside: Vec<WireLoad>,
    trials: Vec<WireTrial<'a>>,
    summary: BTreeMap<&'static str, WireEstimate>,
    ranks: Option<[usize; 2]>,
    findings: Vec<WireFinding<'a>>,
    bottleneck: Option<&'a str>,
    activity: Option<WireActivity<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inside: Option<Box<WireInside>>,
}

impl<'a> WireCase<'a> {
    fn of(
        case: &'a Case,
        warm_up: Option<&'a WarmUp>,
        trials: Vec<&'a Trial>,
        summary: Option<&'a CaseSummary>,
    ) -> Self {
        let Case {
            id,
            runtime,
            role,
            runtime_version,
            app,
            site,
            revision,
            autoloader,
            php,
            tuning,
            limits,
            topology,
            platform,
            base_image,
            pinning,
            load,
            beside,
        } = case;
        let estimates = summary.iter().flat_map(|summary| &summary.summary);
        let findings = summary.iter().flat_map(|summary| &summary.findings);
        let ranks = summary.and_then(|summary| summary.ranks.as_ref());
        Self {
            id: id.as_str(),
            runtime: runtime.as_str(),
            role: role.name(),
            runtime_version,
            app,
            public_folder: site.as_ref().map(ToString::to_string),
            revision: revision.as_ref().map(WireRevision::of),
            autoloader: autoloader.as_ref().map(WireAutoloader::of),
            php: php.as_ref().map(places::build),
            tuning: tuning.iter().map(|(name, setting)| (name, setting.value.as_str())).collect(),
            tuning_reasons: tuning
                .iter()
                .map(|(name, setting)| match &setting.origin {
                    Origin::Default { reason } => (name, reason.as_str()),
                    Origin::Given => (name, "given"),
                })
                .collect(),
            limits: WireLimits::of(limits),
            enforced: WireEnforced::of_all(&trials),
            topology: WireTopology::of(topology),
            platform,
            base_image: base_image.as_deref(),
            pinning: WirePinning::of(pinning),
            load: WireLoad::of(load),
            warm_up: warm_up.map(WireWarmUp::of),
            loads_beside: beside.iter().map(WireLoad::of).collect(),
            trials: trials.into_iter().map(|trial| WireTrial::of(trial, case)).collect(),
            summary: estimates.map(|(key, estimate)| (*key, WireEstimate::of(estimate))).collect(),
            ranks: ranks.map(|ranks| [*ranks.start(), *ranks.end()]),
            findings: findings.map(WireFinding::of).collect(),
            bottleneck: summary.and_then(|summary| Some(&*summary.bottleneck.as_ref()?.finding)),
            activity: summary.and_then(|summary| summary.activity.as_ref()).map(WireActivity::of),
            inside: summary.and_then(|summary| summary.inside.as_deref()).map(WireInside::of).map(Box::new),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct WireRevision<'a> {
    commit: &'a str,
    /// Whether files that git tracks were other than in that commit.
    dirty: bool,
}

impl<'a> WireRevision<'a> {
    fn of(revision: &'a Revision) -> Self {
        let Revision { commit, is_dirty } = revision;
        Self { commit, dirty: *is_dirty }
    }
}

#[derive(Serialize, JsonSchema)]
struct WireAutoloader {
    /// Packages for development whose classes or files it knows.
    developers: u64,
    /// Whether classes are looked up in a map, and not on the disk.
    class_map: bool,
}

impl WireAutoloader {
    fn of(autoloader: &Autoloader) -> Self {
        let Autoloader { developers, class_map } = autoloader;
        Self { developers: *developers, class_map: *class_map }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireLimits {
    cpus: f64,
    memory_bytes: u64,
}

impl WireLimits {
    pub(crate) fn of(limits: &Limits) -> Self {
        let Limits { cpus, memory } = limits;
        Self { cpus: cpus.cores(), memory_bytes: memory.get() }
    }
}

/// `null` where the kernel has no limit, or could not be asked.
#[derive(Default, Serialize, JsonSchema)]
struct WireEnforced {
    cpus: Option<f64>,
    memory_bytes: Option<u64>,
    period_us: Option<f64>,
}

impl WireEnforced {
    fn of(enforced: &EnforcedLimits) -> Self {
        let EnforcedLimits { cpus, period, memory } = enforced;
        Self {
            cpus: match cpus {
                Limit::AtMost(cpus) => Some(cpus.cores()),
                Limit::Unlimited => None,
            },
            memory_bytes: match memory {
                Limit::AtMost(bytes) => Some(bytes.get()),
                Limit::Unlimited => None,
            },
            period_us: Some(micros(*period)),
        }
    }

    /// What all trials that read it back agree on; nothing when they do not.
    fn of_all(trials: &[&Trial]) -> Self {
        let mut enforced = trials.iter().filter_map(|trial| trial.enforced.as_ref());
        match enforced.next() {
            Some(first) if enforced.all(|other| other == first) => Self::of(first),
            _ => Self::default(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct WirePinning<'a> {
    server: &'a [u32],
    generator: &'a [u32],
    shared: bool,
}

impl<'a> WirePinning<'a> {
    fn of(pinning: &'a CpuLayout) -> Self {
        let CpuLayout { server, generator } = pinning;
        Self { server, generator, shared: pinning.is_shared() }
    }
}

#[derive(Serialize, JsonSchema)]
struct WireLoad {
    model: &'static str,
    connections: u32,
    /// Where their number changes: how many, and when.
    #[serde(skip_serializing_if = "Option::is_none")]
    stages: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    arrivals: Option<Arrivals>,
}

impl WireLoad {
    fn of(load: &Load) -> Self {
        match load {
            Load::Closed { connections } => {
                Self { model: "closed", connections: *connections, stages: None, rate: None, arrivals: None }
            }
            Load::Ramped { connections } => Self {
                model: "closed",
                connections: connections.most(),
                stages: Some(connections.to_string()),
                rate: None,
                arrivals: None,
            },
            Load::Open { schedule, arrivals, connections } => Self {
                model: "open",
                connections: *connections,
                stages: None,
                rate: Some(schedule.to_string()),
                arrivals: Some(*arrivals),
            },
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireCounts {
    sent: u64,
    ok: u64,
    failed: u64,
    unfinished: u64,
}

impl WireCounts {
    pub(crate) fn of(counts: &Counts) -> Self {
        let Counts { sent, ok, failed, unfinished } = *counts;
        Self { sent, ok, failed, unfinished }
    }
}

/// In microseconds. A percentile that fewer than 50 latencies exceed is `null`; without latencies everything is.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WireLatencies {
    count: u64,
    min: Option<f64>,
    mean: Option<f64>,
    stddev: Option<f64>,
    p50: Option<f64>,
    p75: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
    max: Option<f64>,
}

impl WireLatencies {
    pub(crate) fn of(latencies: &Latencies) -> Self {
        let any = latencies.count() > 0;
        let quantile = |q| percentile(latencies, q).map(micros);
        Self {
            count: latencies.count(),
            min: any.then(|| micros(latencies.min())),
            mean: any.then(|| rounded(latencies.mean_ns() / 1e3)),
            stddev: any.then(|| rounded(latencies.stddev_ns() / 1e3)),
            p50: quantile(0.50),
            p75: quantile(0.75),
            p90: quantile(0.90),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: any.then(|| micros(latencies.max())),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireEstimate {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    n: u32,
}

impl WireEstimate {
    pub(crate) fn of(estimate: &Estimate) -> Self {
        let Estimate { value, low, high, n } = *estimate;
        Self { value: rounded(value), low: low.map(rounded), high: high.map(rounded), n }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireFinding<'a> {
    id: &'a str,
    #[schemars(with = "String")]
    severity: Severity,
    text: &'a str,
    evidence: BTreeMap<&'a str, f64>,
    advice: &'a str,
}

impl<'a> WireFinding<'a> {
    pub(crate) fn of(finding: &'a Finding) -> Self {
        let Finding { id, severity, text, evidence, advice } = finding;
        Self {
            id,
            severity: *severity,
            text,
            evidence: evidence.iter().map(|(name, value)| (name.as_str(), rounded(*value))).collect(),
            advice,
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireVerdict<'a> {
    metric: &'a str,
    a: &'a str,
    b: &'a str,
    ratio: WireEstimate,
    #[schemars(with = "String")]
    verdict: VerdictWord,
    slight: bool,
    blocks_to_decide: Option<u32>,
}

impl<'a> WireVerdict<'a> {
    fn of(verdict: &'a Verdict) -> Self {
        let Verdict { metric, a, b, ratio, verdict, slight, blocks_to_decide } = verdict;
        Self {
            metric,
            a: a.as_str(),
            b: b.as_str(),
            ratio: WireEstimate::of(ratio),
            verdict: *verdict,
            slight: *slight,
            blocks_to_decide: *blocks_to_decide,
        }
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

/// Rounds a derived figure to a whole number or six significant digits, whichever is finer: more than any of them is sure
/// of.
pub(crate) fn rounded(value: f64) -> f64 {
    if value.abs() >= 1e5 { value.round() } else { format!("{value:.5e}").parse().unwrap_or(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_figures_keep_six_digits_and_bytes_all() {
        for (value, expected) in [
            (0.0, 0.0),
            (1.234_567_8, 1.234_57),
            (99_999.96, 100_000.0),
            (44_040_192.333, 44_040_192.0),
            (-0.000_123_456_789, -0.000_123_457),
        ] {
            assert_eq!(rounded(value), expected);
        }
    }
}
