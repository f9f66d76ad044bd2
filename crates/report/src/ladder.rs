//! A deployment that was made better step by step: what was changed, why, and what it gave.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::{Analysis, FIRST, LAST, LadderStep, Metric};
use stampede_core::{CaseId, Limits, Verdict};

use crate::StudyView;
use crate::json::{WireLimits, WireVerdict, rendered};
use crate::page::{Block, Column, Page, Table};
use crate::quantity::{in_tables, number, ratio, with_unit};
use crate::versus::Versus;

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
    /// The name of the deployment that the last is compared with beside the first, if one was given.
    pub beside: Option<&'a str>,
    /// The last deployment against these, in blocks of all, where it differs from the first and that was measured.
    pub held: Option<StudyView<'a>>,
    /// The same judged by the p99 of response times.
    pub held_by_p99: Option<&'a Analysis>,
}

/// As JSON. It ends with a line break.
pub fn json(view: &LadderView<'_>) -> String {
    rendered(&WireLadder::of(view))
}

/// The steps, and what the last deployment has.
#[must_use]
pub fn page(view: &LadderView<'_>) -> Page {
    let of_steps = |cell: &dyn Fn(&LadderStep) -> String| view.steps.iter().map(cell).collect::<Vec<_>>();
    let kept = view.steps.iter().enumerate().map(|(place, step)| match (step.kept, step.figure) {
        (true, _) if place == 0 => "",
        (true, _) => "kept",
        (false, Some(_)) => "undone",
        (false, None) => "failed",
    });
    let figure = of_steps(&|step| or_dash(step.figure.map(|figure| in_tables(view.metric.unit, figure))));
    let heading = view.metric.heading.join(" ");
    let columns = vec![
        Column::names("step", (1..=view.steps.len()).map(|number| number.to_string()).collect()),
        Column::figures(view.metric.title, figure).headed(["", heading.trim()]),
        Column::figures("p99, ms", of_steps(&|step| or_dash(step.p99_us.map(|p99| number(p99 / 1e3)))))
            .headed(["", "p99 ms"]),
        Column::figures("result", kept.map(str::to_owned).collect()).headed(["", "result"]),
        Column::prose("change", of_steps(&|step| step.change.as_deref().unwrap_or("as given").to_owned())),
        Column::below("why", of_steps(&|step| step.reason.clone())),
    ];
    let question = [Block::Paragraph(question(view)), Block::Table(Table { columns })];
    let end = Block::list("It ends with", view.state.iter().cloned().map(Block::Item));
    Page { answer: conclusion(view), blocks: question.into_iter().chain(end).collect() }
}

fn or_dash(figure: Option<String>) -> String {
    figure.unwrap_or_else(|| "-".to_owned())
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Steps")]
pub(crate) struct WireLadder<'a> {
    schema: &'static str,
    id: &'a str,
    workload: &'a str,
    load: &'a str,
    limits: WireLimits,
    /// The metric that decides.
    metric: &'static str,
    steps: Vec<WireStep<'a>>,
    /// What the last deployment has.
    state: &'a [String],
    held: Option<WireHeld<'a>>,
    conclusion: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TuneStep")]
struct WireStep<'a> {
    study: &'a str,
    change: Option<&'a str>,
    reason: &'a str,
    figure: Option<f64>,
    p99_us: Option<f64>,
    kept: bool,
}

/// The last deployment beside the first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LastStep")]
struct WireHeld<'a> {
    study: &'a str,
    #[schemars(with = "Vec<WireVerdict<'_>>")]
    verdicts: &'a [Verdict],
    #[schemars(with = "Option<Vec<WireVerdict<'_>>>")]
    verdicts_by_p99: Option<&'a [Verdict]>,
}

impl<'a> WireLadder<'a> {
    fn of(view: &LadderView<'a>) -> Self {
        let LadderView { id, workload, load, limits, metric, steps, state, beside: _, held, held_by_p99 } = *view;
        Self {
            schema: "stampede/ladder/v1",
            id,
            workload,
            load,
            limits: WireLimits::of(limits),
            metric: metric.key,
            steps: steps.iter().map(WireStep::of).collect(),
            state,
            held: held.map(|held| WireHeld {
                study: held.study.id.as_str(),
                verdicts: &held.analysis.verdicts,
                verdicts_by_p99: held_by_p99.map(|analysis| &*analysis.verdicts),
            }),
            conclusion: conclusion(view).join(" "),
        }
    }
}

impl<'a> WireStep<'a> {
    fn of(step: &'a LadderStep) -> Self {
        let LadderStep { study, change, reason, figure, p99_us, kept } = step;
        Self { study, change: change.as_deref(), reason, figure: *figure, p99_us: *p99_us, kept: *kept }
    }
}

fn question(view: &LadderView<'_>) -> String {
    format!(
        "{}: {} under {} CPU and {} in all, load {}, one change at a time",
        view.id, view.workload, view.limits.cpus, view.limits.memory, view.load
    )
}

/// What it comes to, one sentence a line.
fn conclusion(view: &LadderView<'_>) -> Vec<String> {
    let kept = view.steps.iter().skip(1).filter(|step| step.kept).count();
    let tried = view.steps.len().saturating_sub(1);
    let figure =
        |figure: Option<f64>| figure.map_or_else(|| "nothing".to_owned(), |figure| with_unit(view.metric.unit, figure));
    let first = view.steps.first().and_then(|step| step.figure);
    let last = view.steps.iter().rfind(|step| step.kept).and_then(|step| step.figure);
    let title = view.metric.title;
    let mut lines = vec![if kept == 0 {
        format!("No change that was tried is better than the given deployment: {title} {}.", figure(first))
    } else {
        format!(
            "{kept} of {tried} changes improved it: {title} {} before, {} after, each measured once.",
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
    Some(format!(
        "Measured again beside {other}, the last has {figure}{times}. Its p99 is {ours}, that of {other} {theirs}."
    ))
}

/// How the last deployment compares by what an analysis judges.
fn compared(analysis: &Analysis, other: &str) -> Option<String> {
    let versus = Versus::of(analysis, &CaseId::new(LAST), &CaseId::new(other))?;
    let Versus { times, outcome, .. } = versus;
    Some(format!("{} times its {}{}: {outcome}", ratio(times), analysis.primary.title, versus.interval()))
}
