//! What there is to say about a study beside its figures, in the order in which it is said. Views only lay it out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use stampede_analysis::{Bottleneck, CaseSummary, left_out, planned};
use stampede_core::{
    Case, CaseId, CaseRole, Finding, LeftOut, Origin, Outcome, Revision, Role, ServedAnswer, Severity, Study, StudyKind,
};

use crate::conclusion::{Conclusion, conclusion, sentences};
use crate::places;
use crate::quantity::count;
use crate::steps::{Kinds, kinds};
use crate::{StudyView, activity, audits, columns, topology, trust};

/// The digest.
pub(crate) struct Digest {
    /// The kinds of request of each case that was loaded with several.
    pub(crate) kinds: Vec<Kinds>,
    /// What the load has produced in each case.
    pub(crate) audits: Vec<String>,
    /// A line for each part of each topology.
    pub(crate) parts: Vec<String>,
    /// Present when figures came out of trials whose limits were not in force: said before anything else.
    pub(crate) alarm: Option<String>,
    /// What was compared under what.
    pub(crate) question: String,
    /// How much was measured, and where.
    pub(crate) ground: String,
    /// How it was warmed up, and what the reference server shows of the machine.
    pub(crate) trust: Vec<String>,
    /// Trials that do not count, in the words of their reasons.
    pub(crate) uncounted: Vec<Uncounted>,
    /// Findings of all cases, most severe first.
    pub(crate) findings: Vec<FindingGroup>,
    /// A sentence for each pair of cases, or for each and the best one.
    pub(crate) verdicts: Vec<String>,
    /// What it comes to.
    pub(crate) conclusion: Option<Conclusion>,
    /// What the rates of cases probably hang on, and what to do about it: a paragraph for each such finding.
    pub(crate) bottlenecks: Vec<String>,
    /// A line for each exchange whose body has other sizes from other cases, and one for those that are of one size.
    pub(crate) answers: Vec<String>,
    /// What servers and kernel said while each case ran.
    pub(crate) activity: Vec<String>,
    /// Settings of each case.
    pub(crate) settings: Vec<CaseSettings>,
    /// The study's name, and when it ran.
    pub(crate) study: String,
    marks: BTreeMap<CaseId, Vec<usize>>,
    roles: BTreeMap<CaseId, CaseRole>,
}

/// Trials of one case that ended in the same way; figures in the reason are those of the first of them.
pub(crate) struct Uncounted {
    /// Which: `nginx-fpm, blocks 1, 3`.
    pub(crate) trials: String,
    /// `invalid`, `failed`, or nothing of a case that was left out, as it never served.
    pub(crate) outcome: Option<&'static str>,
    /// Why; may have several lines. The logs at its end are those of the first trial.
    pub(crate) reason: String,
}

impl Uncounted {
    /// All of it.
    pub(crate) fn text(&self) -> String {
        let Self { trials, outcome, reason } = self;
        match outcome {
            Some(outcome) => format!("{trials} {outcome}: {reason}"),
            None => format!("skipped: {trials}: {reason}"),
        }
    }
}

/// The same finding in one or more cases.
pub(crate) struct FindingGroup {
    /// The finding's name.
    pub(crate) id: String,
    /// `[1] warning`: its number, by which the table refers to it, and how much it matters. What is only worth knowing has
    /// no number: `note`.
    pub(crate) title: String,
    /// How much it matters.
    pub(crate) severity: Severity,
    /// What was found, each text once, after the names of the cases that it is true of.
    pub(crate) texts: Vec<String>,
    /// What to do.
    pub(crate) advice: String,
}

/// The settings of a case.
pub(crate) struct CaseSettings {
    /// The case.
    pub(crate) case: CaseId,
    /// Programs and versions.
    pub(crate) version: String,
    /// Each `name = value` with its reason.
    pub(crate) settings: Vec<(String, String)>,
}

impl Digest {
    pub(crate) fn of(view: &StudyView<'_>) -> Self {
        let (findings, marks) = findings(view);
        let suspected = bottlenecks(view, &findings);
        let mut digest = Self {
            kinds: kinds(view),
            audits: audits::lines(view),
            parts: topology::lines(view),
            alarm: alarm(view),
            question: question(view),
            ground: ground(view),
            trust: std::iter::once(trust::warm_up(view)).chain(trust::yard_stick(view)).collect(),
            uncounted: uncounted(view),
            findings,
            verdicts: Vec::new(),
            conclusion: conclusion(view),
            bottlenecks: suspected,
            answers: answers(view),
            activity: view.analysis.cases.iter().filter_map(activity::sentence).collect(),
            settings: settings(&view.study.cases),
            study: study(view),
            marks,
            roles: view.study.cases.iter().map(|case| (case.id.clone(), case.role)).collect(),
        };
        digest.verdicts = sentences(view, |case| digest.name(case));
        digest
    }

    /// The digest of a study of changes to its first case: what there is to say of that one, and how all were measured.
    pub(crate) fn of_first(view: &StudyView<'_>) -> Self {
        let mut study = view.study.clone();
        study.cases.truncate(1);
        let mut analysis = view.analysis.clone();
        analysis.cases.retain(|summary| study.cases.iter().any(|case| case.id == summary.case));
        analysis.verdicts.clear();
        let first = StudyView { study: &study, analysis: &analysis, ..*view };
        Self { ground: ground(view), ..Self::of(&first) }
    }

    /// A case's name with its role, where it is no candidate, and the numbers of what was found in it: `php-cli-server (dev) [1]`.
    pub(crate) fn name(&self, case: &CaseId) -> String {
        let role = self
            .roles
            .get(case)
            .and_then(|role| columns::mark(*role))
            .map_or_else(String::new, |mark| format!(" ({mark})"));
        match self.marks.get(case) {
            Some(marks) => {
                let marks: Vec<String> = marks.iter().map(usize::to_string).collect();
                format!("{case}{role} [{}]", marks.join(","))
            }
            None => format!("{case}{role}"),
        }
    }
}

fn alarm(view: &StudyView<'_>) -> Option<String> {
    let unlimited: Vec<&str> = view
        .analysis
        .cases
        .iter()
        .filter(|case| case.findings.iter().any(|finding| finding.id == "limits-not-enforced"))
        .map(|case| case.case.as_str())
        .collect();
    (!unlimited.is_empty())
        .then(|| format!("LIMITS WERE NOT ENFORCED for {}: do not compare these figures.", unlimited.join(", ")))
}

fn question(view: &StudyView<'_>) -> String {
    let study = view.study;
    let limits = of_cases(view, |case| format!("{} CPU and {}", case.limits.cpus, case.limits.memory));
    let load = of_cases(view, Case::whole_load);
    let platform = of_cases(view, |case| case.platform.clone());
    let around = of_cases(view, |case| match &case.topology {
        topology if topology.is_default() => String::new(),
        topology => format!(" for {topology}"),
    });
    format!("{}: {limits} each{around}, load {load}, platform {platform}", study.workload)
}

fn ground(view: &StudyView<'_>) -> String {
    let study = view.study;
    let measured = view.trials.iter().filter(|trial| trial.outcome == Outcome::Measured);
    let machine = &study.machine;
    let pinning = of_cases(view, |case| {
        if case.pinning.server.is_empty() {
            "CPUs as the cluster gives them".to_owned()
        } else if case.pinning.is_shared() {
            format!("server and generator share CPU {}", numbers(&case.pinning.server))
        } else {
            format!(
                "server on CPU {}, generator on CPU {}",
                numbers(&case.pinning.server),
                numbers(&case.pinning.generator)
            )
        }
    });
    let node = study.groundwork.node.as_ref().map_or_else(String::new, |node| format!(", node {node}"));
    let blocks = view.trials.iter().map(|trial| trial.block).max().unwrap_or(0);
    let of = planned(study, view.trials).unwrap_or(view.trials.len());
    format!(
        "{} of {of} trials of {} s measured, in {blocks} {}; {} CPUs ({}), Linux {}{node}; {pinning}",
        measured.count(),
        study.duration.as_secs_f64(),
        if blocks == 1 { "round" } else { "rounds" },
        machine.cpus,
        machine.cpu_model,
        machine.kernel,
    )
}

pub(crate) fn uncounted(view: &StudyView<'_>) -> Vec<Uncounted> {
    let mut groups: Vec<(&CaseId, &'static str, &str, Vec<u32>)> = Vec::new();
    for trial in view.trials {
        let (outcome, Some(reason)) = trial.outcome.words() else { continue };
        let same = |group: &&mut (&CaseId, &str, &str, Vec<u32>)| {
            let (then, now) = (before_logs(group.2), before_logs(reason));
            // How many answers were wrong differs by round; how a server ended matters.
            let is_same = if outcome == "invalid" { is_alike(then, now) } else { then == now };
            (group.0, group.1) == (&trial.case, outcome) && is_same
        };
        match groups.iter_mut().find(same) {
            Some((.., blocks)) => blocks.push(trial.block),
            None => groups.push((&trial.case, outcome, reason, vec![trial.block])),
        }
    }
    let left_out = left_out(view.study, view.trials);
    let texts = groups.into_iter().map(|(case, outcome, reason, blocks)| Uncounted {
        trials: match blocks.as_slice() {
            [block] => format!("{case}, round {block}"),
            blocks => format!("{case}, rounds {}", numbers(blocks)),
        },
        outcome: (!left_out.contains(case)).then_some(outcome),
        reason: places::without_runs(reason).into_owned(),
    });
    let not_run = view.study.groundwork.left_out.iter().map(|LeftOut { case, reason, fix }| Uncounted {
        trials: case.to_string(),
        outcome: None,
        reason: [Some(reason), fix.as_ref()]
            .into_iter()
            .flatten()
            .map(|text| places::without_runs(text).into_owned())
            .collect::<Vec<_>>()
            .join(": "),
    });
    not_run.chain(texts).collect()
}

/// Whether two reasons differ in their numbers alone.
fn is_alike(one: &str, other: &str) -> bool {
    fn words(text: &str) -> impl Iterator<Item = &str> {
        text.split(|character: char| character.is_ascii_digit()).filter(|part| !part.is_empty())
    }
    words(one).eq(words(other))
}

/// A reason without the logs at its end, which tell the time and so are never the same twice.
fn before_logs(reason: &str) -> &str {
    let ends = ["; its log ends:\n", "\nlog of "].into_iter().filter_map(|begin| reason.find(begin));
    ends.min().map_or(reason, |end| &reason[..end])
}

/// Findings of the same kind in groups, and the numbers of those that the table refers to by case.
fn findings(view: &StudyView<'_>) -> (Vec<FindingGroup>, BTreeMap<CaseId, Vec<usize>>) {
    let mut kinds: Vec<(&Finding, Vec<(&CaseId, &str)>)> = Vec::new();
    for case in &view.analysis.cases {
        for finding in &case.findings {
            let entry = (&case.case, finding.text.as_str());
            match kinds.iter_mut().find(|(first, _)| first.id == finding.id) {
                Some((_, entries)) => entries.push(entry),
                None => kinds.push((finding, vec![entry])),
            }
        }
    }
    kinds.sort_by_key(|(finding, _)| Reverse(finding.severity));

    let mut marks: BTreeMap<CaseId, Vec<usize>> = BTreeMap::new();
    let mut groups = Vec::new();
    for (number, (finding, entries)) in (1..).zip(kinds) {
        let title = match finding.severity {
            Severity::Info => "note".to_owned(),
            Severity::Warning => format!("[{number}] warning"),
            Severity::Error => format!("[{number}] error"),
        };
        if finding.severity > Severity::Info {
            for (case, _) in &entries {
                marks.entry((*case).clone()).or_default().push(number);
            }
        }
        groups.push(FindingGroup {
            id: finding.id.clone(),
            title,
            severity: finding.severity,
            texts: by_text(&entries),
            advice: finding.advice.clone(),
        });
    }
    (groups, marks)
}

/// A sentence for each bottleneck, after the names of all cases that have it, with the number of the finding that says more. What they
/// were asked to keep to needs none.
fn bottlenecks(view: &StudyView<'_>, groups: &[FindingGroup]) -> Vec<String> {
    let cases = &view.analysis.cases;
    let suspects: Vec<(&CaseSummary, &Bottleneck)> =
        cases.iter().filter_map(|case| Some((case, case.bottleneck.as_ref()?))).collect();
    let kinds = distinct(suspects.iter().map(|(_, bottleneck)| *bottleneck));
    let paragraphs = kinds.into_iter().map(|kind| {
        let held: Vec<&CaseSummary> =
            suspects.iter().filter(|(_, bottleneck)| *bottleneck == kind).map(|(case, _)| *case).collect();
        let names = match held.len() {
            all if all == cases.len() && all > 1 => "all".to_owned(),
            _ => held.iter().map(|case| case.case.as_str()).collect::<Vec<_>>().join(", "),
        };
        let numbers = groups.iter().filter(|group| group.id == kind.finding).filter_map(|group| {
            let (number, _) = group.title.split_once(' ')?;
            number.starts_with('[').then_some(number)
        });
        let numbers: Vec<&str> = distinct(numbers);
        let numbers = numbers.iter().map(|number| format!(" {number}")).collect::<String>();
        format!("Suspected bottleneck of {names}: {}{numbers}.", kind.what)
    });
    paragraphs.collect()
}

/// Each text once, after the names of all cases that have it.
fn by_text(entries: &[(&CaseId, &str)]) -> Vec<String> {
    let texts = distinct(entries.iter().map(|(_, text)| *text));
    let lines = texts.into_iter().map(|text| {
        let same = entries.iter().filter(|(_, other)| *other == text);
        let cases: Vec<&str> = same.map(|(case, _)| case.as_str()).collect();
        format!("{}: {text}", cases.join(", "))
    });
    lines.collect()
}

fn answers(view: &StudyView<'_>) -> Vec<String> {
    let answers: Vec<(&CaseId, &ServedAnswer)> =
        view.trials.iter().flat_map(|trial| trial.answers.iter().map(move |answer| (&trial.case, answer))).collect();
    let exchange_of = |answer: &ServedAnswer| format!("{} ({})", answer.exchange, answer.status);
    let exchanges = distinct(answers.iter().map(|(_, answer)| exchange_of(answer)));
    let (mut lines, mut same) = (Vec::new(), Vec::new());
    for exchange in exchanges {
        let mut sizes: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
        for (case, answer) in answers.iter().filter(|(_, answer)| exchange_of(answer) == exchange) {
            sizes.entry(answer.body_bytes).or_default().insert(case.as_str());
        }
        if let (1, Some(bytes)) = (sizes.len(), sizes.keys().next()) {
            same.push(format!("{exchange} {}", count(*bytes)));
            continue;
        }
        let sizes = sizes.into_iter().map(|(bytes, cases)| {
            let cases: Vec<&str> = cases.into_iter().collect();
            format!("{} {}", count(bytes), cases.join(", "))
        });
        lines.push(format!("{exchange}: {}", sizes.collect::<Vec<_>>().join("; ")));
    }
    if !same.is_empty() {
        lines.push(format!("equal for all: {}", same.join(", ")));
    }
    lines
}

/// The cases of a study whose settings are shown: all, or the one that the others are changes of.
pub(crate) fn told_apart(study: &Study) -> &[Case] {
    match (study.kind, study.cases.first()) {
        (StudyKind::Why | StudyKind::Tune, Some(first)) => std::slice::from_ref(first),
        _ => &study.cases,
    }
}

/// The settings of cases, each with its reason.
pub(crate) fn settings(cases: &[Case]) -> Vec<CaseSettings> {
    let cases = cases.iter().map(|case| CaseSettings {
        case: case.id.clone(),
        version: case.runtime_version.clone(),
        settings: case
            .tuning
            .iter()
            .map(|(name, setting)| {
                let reason = match &setting.origin {
                    Origin::Default { reason } => reason.clone(),
                    Origin::Given => "given".to_owned(),
                };
                (format!("{name} = {}", setting.value), reason)
            })
            .collect(),
    });
    cases.collect()
}

/// The settings that a reader must see before cases are measured: those that somebody gave, that differ between cases of one runtime, or
/// that decide how much is worked on at once; and how many others there are. Cases that are alike in all that is shown are one.
pub(crate) fn notable_settings(cases: &[Case]) -> (Vec<(Vec<CaseId>, CaseSettings)>, usize) {
    let differs = |case: &Case, name: &str| {
        let others = cases.iter().filter(|other| other.runtime == case.runtime);
        others.into_iter().any(|other| other.tuning.get(name) != case.tuning.get(name))
    };
    let (mut shown, mut others) = (Vec::<(Vec<CaseId>, CaseSettings)>::new(), 0);
    for (case, all) in cases.iter().zip(settings(cases)) {
        let notable = case.tuning.iter().map(|(name, setting)| {
            // Beside it other settings choose a mode: who supervises, for example.
            let decides = setting.role == Some(Role::PoolSize) || (setting.role == Some(Role::Mode) && name == "mode");
            decides || setting.origin == Origin::Given || differs(case, name)
        });
        let (kept, rest): (Vec<_>, Vec<_>) = all.settings.into_iter().zip(notable).partition(|(_, notable)| *notable);
        others += rest.len();
        let settings = kept.into_iter().map(|(setting, _)| setting).collect();
        let one = CaseSettings { settings, ..all };
        let alike =
            |(_, known): &&mut (_, CaseSettings)| (&known.version, &known.settings) == (&one.version, &one.settings);
        match shown.iter_mut().find(alike) {
            Some((names, _)) => names.push(case.id.clone()),
            None => shown.push((vec![case.id.clone()], one)),
        }
    }
    (shown, others)
}

fn study(view: &StudyView<'_>) -> String {
    let study = view.study;
    let end = match view.finished_at {
        Some(finished_at) => format!("finished {finished_at:.0}"),
        None => "not finished".to_owned(),
    };
    let revisions = distinct(study.cases.iter().filter_map(|case| case.revision.as_ref()).map(Revision::to_string));
    let of = match revisions.len() {
        0 => String::new(),
        1 => format!(", revision {}", revisions.concat()),
        _ => format!(", revisions {}", revisions.join(", ")),
    };
    format!(
        "study {}{of}, seed {}, started {:.0}, {end}, Stampede {}",
        study.id, study.seed, study.started_at, study.stampede_version
    )
}

/// Each item once, in the order of their first appearance.
fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

/// What the cases of a study have in common, or everything that they have.
fn of_cases(view: &StudyView<'_>, text: impl Fn(&Case) -> String) -> String {
    distinct(view.study.cases.iter().map(text)).join(" / ")
}

fn numbers(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    numbers.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_differ_in_their_numbers_are_alike() {
        let wrong = |count: u32, status: &str| {
            format!("{count} of 9309 answers under load were wrong; the first: status {status}")
        };
        let first = wrong(34, "500 Internal Server Error came");
        assert!(is_alike(&first, &wrong(7, "500 Internal Server Error came")));
        assert!(!is_alike(&first, &wrong(34, "502 Bad Gateway came")));
        assert!(!is_alike(&first, "the generator was at its limit"));
    }
}
