//! A deployment that was made better step by step: what was changed, why, and what it gave.

use std::fmt::Write;

use serde_json::{Value, json};
use stampede_analysis::{Analysis, FIRST, LAST, LadderStep, Metric};
use stampede_core::{CaseId, Limits, Verdict, VerdictWord};

use crate::StudyView;
use crate::layout::{table, wrap};
use crate::markdown_text::{escaped, row};
use crate::quantity::{in_tables, number, ratio, unit_in_tables};

/// What a report is made from.
#[derive(Clone, Debug)]
pub struct LadderView<'a> {
    /// The name of it all.
    pub id: &'a str,
    /// What is served.
    pub workload: &'a str,
    /// Under which load, as it is written.
    pub load: &'a str,
    /// What the deployment may use.
    pub limits: &'a Limits,
    /// The figure that decides.
    pub metric: &'static Metric,
    /// What was tried, in its order.
    pub steps: &'a [LadderStep],
    /// What the last deployment has, a line each.
    pub state: &'a [String],
    /// The name of the deployment that the end is held against beside the first, where one was given.
    pub beside: Option<&'a str>,
    /// The last deployment against these, in blocks of all, where it differs from the first and that was measured.
    pub held: Option<StudyView<'a>>,
    /// The same judged by the p99 of response times.
    pub held_by_p99: Option<&'a Analysis>,
}

const HEADING: [&str; 4] = ["step", "", "p99 ms", ""];

/// For a terminal of this many characters a line; what it comes to is last.
pub fn terminal(view: &LadderView<'_>, width: usize, color: bool) -> String {
    let mut text = String::new();
    for line in wrap("", &question(view), 2, width) {
        let _ = writeln!(text, "{line}");
    }
    let rows: Vec<[String; 4]> = view.steps.iter().enumerate().map(|(place, step)| cells(view, place, step)).collect();
    let columns: Vec<Vec<String>> = (0..HEADING.len())
        .map(|column| {
            let heading =
                if column == 1 { view.metric.heading.join(" ").trim().to_owned() } else { HEADING[column].to_owned() };
            std::iter::once(heading).chain(rows.iter().map(|row| row[column].clone())).collect()
        })
        .collect();
    let lines = table(&columns);
    let hang = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0) + 2;
    let _ = writeln!(text, "\n{}", lines.first().map_or("", |line| line.trim_end()));
    for (step, line) in view.steps.iter().zip(lines.iter().skip(1)) {
        let first = format!("{line:<0$}", hang);
        for line in wrap(&first, step.change.as_deref().unwrap_or("as it was given"), hang, width) {
            let _ = writeln!(text, "{line}");
        }
        if !step.reason.is_empty() {
            for line in wrap("      ", &step.reason, 6, width) {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    let _ = writeln!(text, "\nIt ends with");
    for line in view.state {
        for line in wrap("  ", line, 4, width) {
            let _ = writeln!(text, "{line}");
        }
    }
    let _ = writeln!(text);
    for line in conclusion(view) {
        for line in wrap("", &line, 2, width) {
            let _ = if color { writeln!(text, "\x1b[1m{line}\x1b[0m") } else { writeln!(text, "{line}") };
        }
    }
    text
}

/// As GitHub-flavoured Markdown.
pub fn markdown(view: &LadderView<'_>) -> String {
    let mut text = String::new();
    for line in conclusion(view) {
        let _ = writeln!(text, "**{}**\n", escaped(&line));
    }
    let figure = view.metric.title;
    let _ = writeln!(
        text,
        "{}\n\n| step | {figure} | p99, ms | | change | why |\n|---:|---:|---:|---|---|---|",
        escaped(&question(view))
    );
    for (place, step) in view.steps.iter().enumerate() {
        let [number, figure, p99, kept] = cells(view, place, step);
        let change = step.change.as_deref().unwrap_or("as it was given");
        text.push_str(&row([&number, &figure, &p99, &kept, change, &step.reason]));
    }
    let _ = writeln!(text, "\nIt ends with:\n");
    for line in view.state {
        let _ = writeln!(text, "- {}", escaped(line));
    }
    text
}

/// As JSON.
pub fn json(view: &LadderView<'_>) -> String {
    let steps: Vec<Value> = view
        .steps
        .iter()
        .map(|step| {
            json!({
                "study": step.study,
                "change": step.change,
                "reason": step.reason,
                "figure": step.figure,
                "p99_us": step.p99_us,
                "kept": step.kept,
            })
        })
        .collect();
    let held = view.held.map(|held| {
        let by_p99 = view.held_by_p99.map(|analysis| &analysis.verdicts);
        json!({"study": held.study.id.as_str(), "verdicts": held.analysis.verdicts, "verdicts_by_p99": by_p99})
    });
    let value = json!({
        "schema": "stampede/ladder/v1",
        "id": view.id,
        "workload": view.workload,
        "load": view.load,
        "limits": {"cpus": view.limits.cpus.cores(), "memory_bytes": view.limits.memory.get()},
        "metric": view.metric.key,
        "steps": steps,
        "state": view.state,
        "held": held,
        "conclusion": conclusion(view).join(" "),
    });
    format!("{value:#}\n")
}

fn question(view: &LadderView<'_>) -> String {
    format!(
        "{}: {} under {} CPU and {} in all, load {}, one change at a time",
        view.id, view.workload, view.limits.cpus, view.limits.memory, view.load
    )
}

fn cells(view: &LadderView<'_>, place: usize, step: &LadderStep) -> [String; 4] {
    let kept = match (step.kept, step.figure) {
        (true, _) if place == 0 => "",
        (true, _) => "kept",
        (false, Some(_)) => "undone",
        (false, None) => "failed",
    };
    [
        (place + 1).to_string(),
        step.figure.map_or_else(|| "-".to_owned(), |figure| in_tables(view.metric.unit, figure)),
        step.p99_us.map_or_else(|| "-".to_owned(), |p99| number(p99 / 1e3)),
        kept.to_owned(),
    ]
}

/// What it comes to, one sentence a line.
fn conclusion(view: &LadderView<'_>) -> Vec<String> {
    let kept = view.steps.iter().skip(1).filter(|step| step.kept).count();
    let tried = view.steps.len().saturating_sub(1);
    let figure = |figure: Option<f64>| {
        let unit = unit_in_tables(view.metric.unit).map_or_else(String::new, |unit| format!(" {unit}"));
        figure.map_or_else(|| "nothing".to_owned(), |figure| in_tables(view.metric.unit, figure) + &unit)
    };
    let first = view.steps.first().and_then(|step| step.figure);
    let last = view.steps.iter().rfind(|step| step.kept).and_then(|step| step.figure);
    let title = view.metric.title;
    let mut lines = vec![if kept == 0 {
        format!("Nothing that was tried is better than what was given: {title} {}.", figure(first))
    } else {
        format!(
            "{kept} of {tried} changes are worth keeping: {title} {} became {}, each measured once.",
            figure(first),
            figure(last)
        )
    }];
    let others = [FIRST].into_iter().chain(view.beside);
    lines.extend(others.filter_map(|other| beside(view, other)));
    lines
}

/// How the last deployment compares with another one that was measured in the same blocks.
fn beside(view: &LadderView<'_>, other: &str) -> Option<String> {
    let held = view.held?;
    let figure = compared(held.analysis, other)?;
    let times = view.held_by_p99.and_then(|analysis| compared(analysis, other));
    let times = times.map_or_else(String::new, |times| format!(", and {times}"));
    let p99 = |case: &str| {
        let p99 = held.analysis.case(&CaseId::new(case)).and_then(|case| case.summary.get("response_p99_us"));
        p99.map_or_else(|| "not known".to_owned(), |p99| number(p99.value / 1e3) + " ms")
    };
    let (ours, theirs) = (p99(LAST), p99(other));
    Some(format!("Measured again beside {other} the last has {figure}{times}. Its p99 is {ours}, of {other} {theirs}."))
}

/// How the last deployment compares by what an analysis judges.
fn compared(analysis: &Analysis, other: &str) -> Option<String> {
    let (last, other) = (CaseId::new(LAST), CaseId::new(other));
    let verdict: &Verdict = analysis
        .verdicts
        .iter()
        .find(|verdict| [(&verdict.a, &verdict.b), (&verdict.b, &verdict.a)].contains(&(&last, &other)))?;
    let is_straight = verdict.a == last;
    let turned = |value: f64| if is_straight { value } else { value.recip() };
    let (low, high) = if is_straight {
        (verdict.ratio.low, verdict.ratio.high)
    } else {
        (verdict.ratio.high.map(f64::recip), verdict.ratio.low.map(f64::recip))
    };
    let interval = low.zip(high).map_or_else(String::new, |(low, high)| {
        format!(" ({} to {}, {} blocks)", ratio(low), ratio(high), verdict.ratio.n)
    });
    let word = match (verdict.verdict, is_straight) {
        (VerdictWord::Faster, true) | (VerdictWord::Slower, false) => "better",
        (VerdictWord::Slower, true) | (VerdictWord::Faster, false) => "worse",
        (VerdictWord::Equivalent, _) => "equivalent",
        (VerdictWord::Undecided, _) => "undecided",
    };
    let times = ratio(turned(verdict.ratio.value));
    Some(format!("{times} times its {}{interval}: {word}", analysis.primary.title))
}
