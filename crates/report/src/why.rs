//! What holds a case back, in words: the changes that were tried, and what follows.

use stampede_analysis::{
    Bottleneck, Effect, Explained, Explanation, Intervention, Lever, Metric, Test, explain, metric,
};
use stampede_core::{CaseId, Estimate, Role, StudyKind};

use crate::StudyView;
use crate::page::{Column, Table};
use crate::quantity::{in_tables, percent, ratio};

/// The heading over the table of changes.
pub(crate) const CHANGES: &str = "Each change alone, compared with the unchanged case in the same rounds";

/// What there is to say.
pub(crate) struct Told {
    /// `Confirmed: ...`, and what else there is to know.
    pub(crate) outcome: Vec<String>,
    /// What to do about it.
    pub(crate) remedy: Option<String>,
    /// One line for someone who wants to know how that follows.
    pub(crate) method: String,
}

/// What a study of kind why says; nothing of another one.
pub(crate) fn explanation(view: &StudyView<'_>) -> Option<Explanation> {
    if view.study.kind == StudyKind::Why { explain(view.study, view.analysis) } else { None }
}

/// What there is to say of an explanation.
pub(crate) fn told(view: &StudyView<'_>, explanation: &Explanation) -> Told {
    let outcome = seen_inside(view, explanation).into_iter().chain(outcome(view, explanation)).collect();
    Told { outcome, remedy: remedy(view, explanation), method: method(view, explanation) }
}

/// What a request's time goes to, where that was seen in PHP's stacks.
fn seen_inside(view: &StudyView<'_>, explanation: &Explanation) -> Option<String> {
    let suspect = explanation.suspected.as_ref().filter(|suspect| suspect.is_seen_inside())?;
    let findings = &view.analysis.case(&explanation.base)?.findings;
    let finding = findings.iter().find(|finding| finding.id == suspect.finding)?;
    Some(format!("Seen inside {}: {} {}", explanation.base, finding.text, finding.advice))
}

/// A row for each change, after one for the case as it was.
pub(crate) fn changes(view: &StudyView<'_>, explanation: &Explanation) -> Table {
    let primary = view.analysis.primary;
    let Explanation { base, tests, .. } = explanation;
    let figure = |case: &CaseId| {
        let value = view.analysis.case(case).and_then(|summary| summary.summary.get(primary.key));
        value.map_or_else(|| "n/a".to_owned(), |value| in_tables(primary.unit, value.value))
    };
    let cells = |of_base: String, of_test: &dyn Fn(&Test) -> String| {
        [of_base].into_iter().chain(tests.iter().map(of_test)).collect::<Vec<_>>()
    };
    let none = String::new;
    let times = |test: &Test| test.ratio.map_or_else(|| "n/a".to_owned(), |estimate| ratio(estimate.value));
    let between = |test: &Test| test.ratio.as_ref().and_then(interval).unwrap_or_default();
    let effect = |test: &Test| if test.ratio.is_none() { "not measured" } else { word(test.effect) }.to_owned();
    Table {
        columns: vec![
            Column::names("change", cells(base.to_string(), &|test| change(&test.intervention))),
            Column::figures(primary.heading.join(" ").trim(), cells(figure(base), &|test| figure(&test.case)))
                .headed(primary.heading),
            Column::figures("ratio", cells(none(), &times)),
            Column::figures("95 % interval", cells(none(), &between)).headed(["95 %", "interval"]),
            Column::figures("effect", cells(none(), &effect)),
        ],
    }
}

/// `pm.max_children 1 -> 2`.
fn change(intervention: &Intervention) -> String {
    let Intervention { name, from, to, .. } = intervention;
    format!("{name} {from} -> {to}")
}

fn interval(estimate: &Estimate) -> Option<String> {
    Some(format!("{} to {}", ratio(estimate.low?), ratio(estimate.high?)))
}

fn word(effect: Effect) -> &'static str {
    match effect {
        Effect::Limits => "more helps",
        Effect::TooMuch => "less helps",
        Effect::Harms => "worse",
        Effect::Nothing => "none",
        Effect::Unknown => "undecided",
    }
}

fn outcome(view: &StudyView<'_>, explanation: &Explanation) -> Vec<String> {
    let Explanation { base, suspected, tests, outcome } = explanation;
    let primary = view.analysis.primary;
    let undecided: Vec<String> =
        tests.iter().filter(|test| test.effect == Effect::Unknown).map(|test| change(&test.intervention)).collect();
    let open = match undecided.len() {
        0 => String::new(),
        _ => format!(" Undecided: {}; use a longer --max-time.", undecided.join(", ")),
    };
    let precision = percent(view.study.precision);
    match (outcome, explanation.confirmed(), suspected) {
        (Explained::Confirmed, Some(test), _) => {
            let rivals: Vec<String> = explanation.rivals().map(|test| change(&test.intervention)).collect();
            let alone = if rivals.is_empty() {
                ", and no other change has as large an effect".to_owned()
            } else {
                format!("; {} may have as large an effect", rivals.join(" and "))
            };
            let what = what(&test.intervention);
            let holds = if test.effect == Effect::TooMuch {
                format!("{base} has too much of {what}")
            } else {
                format!("{what} holds {base} back")
            };
            let mut lines = vec![format!("Confirmed: {holds}. {}{alone}.{open}", came_of(test, primary))];
            let others = tests.iter().skip(1).filter(|test| matches!(test.effect, Effect::Limits | Effect::TooMuch));
            let others: Vec<String> = others.map(|test| came_of(test, primary)).collect();
            if !others.is_empty() {
                lines.push(format!("Other limits matter too: {}.", others.join("; ")));
            }
            match suspected {
                Some(suspect) if !suspect.is_tested_by(test.intervention.lever) => {
                    lines.push(format!("The study's findings had suggested something else: {}.", suspect.what));
                }
                Some(_) => {}
                None => lines.push("The study's findings alone did not show it.".to_owned()),
            }
            lines
        }
        (_, _, Some(suspect)) => {
            vec![format!(
                "Suspected only: {} ({}). {}{open}",
                suspect.what,
                suspect.finding,
                why_not(tests, suspect, &precision)
            )]
        }
        _ => vec![format!(
            "Unexplained: none of these changes was shown to make the {} of {base} better by more than {precision}, and the study's findings suggest nothing. The limit may be the application itself, or something that it waits for.{open}",
            primary.title
        )],
    }
}

/// Why a suspicion was not confirmed.
fn why_not(tests: &[Test], suspect: &Bottleneck, precision: &str) -> String {
    match tests.iter().find(|test| suspect.is_tested_by(test.intervention.lever)) {
        Some(test) if test.ratio.is_none() => {
            format!("The change of it could not be measured: {}.", change(&test.intervention))
        }
        Some(Test { intervention, effect: Effect::Nothing, .. }) => {
            format!("{} changed nothing by more than {precision}.", change(intervention))
        }
        Some(Test { effect: Effect::Unknown, .. }) => "The change that would show it is undecided.".to_owned(),
        Some(Test { intervention, .. }) => format!("{} did not show it.", change(intervention)),
        None => "No change of a single limit can test it.".to_owned(),
    }
}

/// `pm.max_children 1 -> 2 gave 1.92 times the requests per second (1.88 to 1.96, 4 blocks)`.
fn came_of(test: &Test, primary: &Metric) -> String {
    let Some(estimate) = test.ratio else { return change(&test.intervention) };
    let interval = interval(&estimate).map_or_else(String::new, |interval| format!("{interval}, "));
    format!(
        "{} gave {} times the {} ({interval}{} rounds)",
        change(&test.intervention),
        ratio(estimate.value),
        primary.title,
        estimate.n
    )
}

fn what(intervention: &Intervention) -> String {
    let name = &intervention.name;
    match intervention.lever {
        Lever::Cpus => "the CPU quota".to_owned(),
        Lever::Memory => "the memory limit".to_owned(),
        Lever::Setting(Role::PoolSize) => format!("the number of workers ({name})"),
        Lever::Setting(_) | Lever::Service(_) => name.clone(),
        Lever::UpstreamKeepalive => "opening connections from the balancer".to_owned(),
        Lever::Share => format!("the {name}"),
        Lever::Opcache => "the opcode cache, which is off,".to_owned(),
    }
}

/// What to do; nothing where nothing was shown.
fn remedy(view: &StudyView<'_>, explanation: &Explanation) -> Option<String> {
    let test = explanation.confirmed()?;
    let Intervention { lever, name, from, to, .. } = &test.intervention;
    let summary = view.analysis.case(&explanation.base)?;
    let runtime = view.study.cases.first().map(|case| case.runtime.as_str()).unwrap_or_default();
    let lowers = test.effect == Effect::Limits && test.intervention.lowers();
    // The finding's advice is worked out from all of the records; a change is one step of a known size.
    let advised = explanation.suspected.as_ref().filter(|suspect| suspect.is_tested_by(*lever));
    let advised = advised.and_then(|suspect| summary.findings.iter().find(|finding| finding.id == suspect.finding));
    let advice = match (lever, advised) {
        (Lever::Cpus, _) => {
            let cost = summary.summary.get("cpu_us_per_request").zip(metric("cpu_us_per_request"));
            let cost = cost.map_or_else(String::new, |(cost, metric)| {
                format!(" (now {} us each)", in_tables(metric.unit, cost.value))
            });
            format!("Give it more than {from} CPU, or make requests cost less CPU{cost}.")
        }
        (_, Some(finding)) => finding.advice.clone(),
        (Lever::Memory, None) => format!("Give it more memory than {from}, or fewer workers."),
        (Lever::Setting(_), None) if lowers => {
            format!("Do not lower {name} below {from}; more of it needs more memory.")
        }
        (Lever::Setting(_), None) => format!("Try --set {runtime}.{name}={to}, and continue from there."),
        (Lever::UpstreamKeepalive, None) => format!("Try --upstream-keepalive {to}."),
        (Lever::Share, None) => {
            format!("Raise the {name} from {from}, and lower those of parts that do not need theirs.")
        }
        (Lever::Service(_), None) => format!("Try --set {name}={to}, and continue from there."),
        (Lever::Opcache, None) => {
            "Set opcache.enable=1 (opcache.enable_cli=1 where PHP's command line program serves).".to_owned()
        }
    };
    Some(format!("What to do: {advice}"))
}

fn method(view: &StudyView<'_>, explanation: &Explanation) -> String {
    let n = explanation.tests.iter().filter_map(|test| Some(test.ratio?.n)).max().unwrap_or(0);
    let floor = crate::trust::floor(view).map(|floor| format!("; {floor}")).unwrap_or_default();
    format!(
        "Method: {}, ratios within {n} {}; faster and slower are tested at 5 % over all {} changes (Holm); an effect below {} counts as none; changes are ranked by effect (logarithm of the ratio over that of the change){floor}.",
        view.analysis.primary.title,
        if n == 1 { "round" } else { "rounds" },
        explanation.tests.len(),
        percent(view.study.precision),
    )
}
