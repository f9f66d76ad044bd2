//! What a search for settings found: the winner, what it is worth, and how each setting bends the curve near it.

mod json;

use std::path::Path;

use stampede_analysis::{Metric, Shortfall, Space, Tried, is_miss, missed as missed_in_most};
use stampede_core::{CaseId, Limits, Load, Objective, Outcome as TrialOutcome, RuntimeId, Slo, Study, Trial};

use crate::StudyView;
use crate::page::{Block, Column, Medium, Page, Table};
use crate::quantity::{percent, ratio, with_unit};
use crate::versus::{Outcome, Versus};

pub(crate) use self::json::WireTune;
pub use self::json::json;

/// The name of the winner's case in the comparisons that it is held in.
const WINNER: &str = "tuned";

/// The winner, or the default where that won.
const DEFAULT: &str = "default";

/// What the runtime's own documentation has.
const DOCUMENTED: &str = "documented";

/// What a report is made from.
#[derive(Clone, Debug)]
pub struct TuneView<'a> {
    /// The search.
    pub id: &'a str,
    /// What the deployment may use.
    pub limits: &'a Limits,
    /// What was tuned.
    pub runtime: Option<RuntimeId>,
    /// What it served.
    pub workload: &'a str,
    /// Under which load.
    pub load: &'a Load,
    /// What for.
    pub objective: Objective,
    /// What had to hold.
    pub slo: Option<&'a Slo>,
    /// The objective's figure.
    pub metric: &'static Metric,
    /// What was searched.
    pub space: &'a Space,
    /// What came of each setting that was tried.
    pub tried: &'a [Tried],
    /// The best of them.
    pub winner: &'a Tried,
    /// Where the documented settings stand.
    pub documented: Option<&'a str>,
    /// The winner against the others, at each load.
    pub held: &'a [Held<'a>],
    /// Where its files are.
    pub out: Option<&'a Path>,
}

/// A comparison of the winner with the default, and with what is documented.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    /// The load, as a share of the one that it was searched at.
    pub share: f64,
    /// The comparison.
    pub view: StudyView<'a>,
}

/// What the winner missed of an SLO in most trials at the load that it was searched at, the worst first.
pub fn missed(held: &[Held<'_>], slo: Option<&Slo>) -> Vec<Shortfall> {
    let held = held.iter().find(|held| held.share == 1.0);
    held.map_or_else(Vec::new, |held| missed_by(held, slo, &winner_of(held.view.study)))
}

/// What a case missed of an SLO in most of its trials, the worst first.
fn missed_by(held: &Held<'_>, slo: Option<&Slo>, case: &CaseId) -> Vec<Shortfall> {
    slo.map_or_else(Vec::new, |slo| missed_in_most(slo, &measured(held, case)))
}

/// The trials of a case that say something.
fn measured<'a>(held: &Held<'a>, case: &CaseId) -> Vec<&'a Trial> {
    held.view.trials.iter().filter(|trial| trial.case == *case && trial.outcome == TrialOutcome::Measured).collect()
}

/// The winner's case in a comparison; where the default won, that one's.
fn winner_of(study: &Study) -> CaseId {
    let tuned = study.cases.iter().find(|case| case.id.as_str() == WINNER);
    CaseId::new(if tuned.is_some() { WINNER } else { DEFAULT })
}

/// What was searched, what is near the winner and what the winner is worth; a terminal has that last.
#[must_use]
pub fn page(view: &TuneView<'_>, medium: Medium) -> Page {
    let question = [question(view), searched(view)].map(Block::Paragraph).to_vec();
    let (near, held) = (near(view), held(view));
    let shown = if medium == Medium::Terminal { [near, held] } else { [held, near] };
    Page { answer: conclusion(view), blocks: [question, shown.concat()].concat() }
}

fn near(view: &TuneView<'_>) -> Vec<Block> {
    let caption = "Values near the winner, one setting at a time: ratio to the winner".to_owned();
    vec![Block::Caption(caption), Block::Table(curves(view))]
}

fn held(view: &TuneView<'_>) -> Vec<Block> {
    Block::list("The winner in new rounds", verdicts(view).into_iter().map(Block::Item))
}

pub(crate) fn question(view: &TuneView<'_>) -> String {
    let runtime = view.runtime.as_ref().map(RuntimeId::as_str).unwrap_or_default();
    let slo = view.slo.map_or_else(String::new, |slo| format!(" under {slo}"));
    format!(
        "{runtime} for {}: {} CPU and {} in all, load {}, best {}{slo}",
        view.workload,
        view.limits.cpus,
        view.limits.memory,
        view.load,
        view.objective.name()
    )
}

pub(crate) fn searched(view: &TuneView<'_>) -> String {
    let failed = view.tried.iter().filter(|tried| tried.score.is_none()).count();
    let failed = if failed == 0 { String::new() } else { format!(", of which {failed} could not be measured") };
    format!("search {}: {} of {} settings tried{failed}", view.id, view.tried.len(), view.space.size())
}

/// The score of a setting as a ratio to the winner's; below 1 is worse.
fn to_winner(view: &TuneView<'_>, tried: &Tried) -> Option<f64> {
    Some((tried.score? - view.winner.score?).exp())
}

/// What became of a value of a knob, the other knobs as in the winner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Near {
    /// It is the winner's own.
    Best,
    /// Its figure is so many times the winner's, by which below 1 is worse.
    Times(f64),
    /// It missed the SLO.
    Misses,
    /// It could not be measured.
    Fails,
}

/// A knob with what its values did that were tried near the winner, in their order.
#[derive(Debug)]
pub(crate) struct KnobCurve<'a> {
    pub(crate) name: &'a str,
    /// Whether a value has neighbours.
    pub(crate) ordered: bool,
    pub(crate) values: Vec<(&'a str, Near)>,
}

pub(crate) fn knob_curves<'a>(view: &TuneView<'a>) -> Vec<KnobCurve<'a>> {
    let knobs = view.space.knobs.iter().enumerate().map(|(place, knob)| {
        let like_winner = |tried: &&Tried| {
            tried.point.iter().zip(&view.winner.point).enumerate().all(|(other, (a, b))| other == place || a == b)
        };
        let mut near: Vec<&Tried> = view.tried.iter().filter(like_winner).collect();
        near.sort_by_key(|tried| tried.point.get(place).copied());
        let values = near.into_iter().filter_map(|tried| {
            let level = knob.levels.get(*tried.point.get(place)?)?;
            let became = match to_winner(view, tried) {
                _ if tried.point == view.winner.point => Near::Best,
                Some(share) if is_miss(-share.ln()) => Near::Misses,
                Some(share) => Near::Times(share),
                None => Near::Fails,
            };
            Some((level.as_str(), became))
        });
        KnobCurve { name: &knob.name, ordered: knob.ordered, values: values.collect() }
    });
    knobs.collect()
}

/// Each knob with what its values did beside the winner's: `1: 0.512, 2: 0.931, 4: best`.
pub(crate) fn curves(view: &TuneView<'_>) -> Table {
    let told = |(level, became): &(&str, Near)| {
        let became = match became {
            Near::Best => "best".to_owned(),
            Near::Times(share) => ratio(*share),
            Near::Misses => "misses the SLO".to_owned(),
            Near::Fails => "fails".to_owned(),
        };
        format!("{level}: {became}")
    };
    let curves = knob_curves(view);
    let values = curves.iter().map(|curve| curve.values.iter().map(told).collect::<Vec<_>>().join(", "));
    let names = curves.iter().map(|curve| curve.name.to_owned());
    Table { columns: vec![Column::names("setting", names.collect()), Column::prose("values", values.collect())] }
}

pub(crate) fn verdicts(view: &TuneView<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for held in view.held {
        let load = held.view.study.cases.first().map(|case| case.load.to_string()).unwrap_or_default();
        let winner = winner_of(held.view.study);
        let others = held.view.study.cases.iter().map(|case| &case.id).filter(|case| **case != winner);
        for other in others {
            let figure = |case: &CaseId| {
                let mean = held.view.analysis.case(case).and_then(|summary| summary.summary.get(view.metric.key));
                mean.map_or_else(|| "n/a".to_owned(), |mean| with_unit(view.metric.unit, mean.value))
            };
            let versus = Versus::of(held.view.analysis, &winner, other).map_or_else(String::new, |versus| {
                format!(", {} times{}: {}", ratio(versus.times), versus.interval(), versus.outcome)
            });
            lines.push(format!(
                "{load}: {winner} against {other}: {} {} against {}{versus}",
                view.metric.title,
                figure(&winner),
                figure(other)
            ));
        }
    }
    lines
}

/// What it comes to, one sentence a line, what to type last.
pub(crate) fn conclusion(view: &TuneView<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let runtime = view.runtime.as_ref().map(RuntimeId::as_str).unwrap_or_default();
    let tuning = view.space.settings(&view.winner.point);
    let flags: Vec<String> =
        tuning.iter().map(|(name, setting)| format!("--set {runtime}.{name}={}", setting.value)).collect();
    let held = view.held.iter().find(|held| held.share == 1.0);
    if let Some(held) = held {
        lines.extend(shortcomings(view, held));
    }
    let (verdict, is_better) = against_defaults(view, held, flags.is_empty());
    lines.push(verdict);
    let documented = held.filter(|_| is_better).and_then(|held| better_documented(view, held));
    let is_best = is_better && documented.is_none();
    lines.extend(documented);
    if is_best {
        lines.extend(view.held.iter().filter(|held| held.share != 1.0).filter_map(|held| elsewhere(view, held)));
        lines.push(format!("Use them with: {}", flags.join(" ")));
        lines.extend(held.map(|held| {
            let study = &held.view.study.id;
            format!("Files to deploy them: stampede export dockerfile --study {study} --case {WINNER} --output DIR")
        }));
    }
    if let Some(out) = view.out {
        let whose = if is_best { "as it was measured" } else { "as the best one found had it" };
        let out = out.display();
        lines.push(format!(
            "The complete configuration, {whose}, is in {out}; {out}/prepare and {out}/start serve with it."
        ));
    }
    lines
}

/// What the winner is not good enough for, or not known to be.
fn shortcomings(view: &TuneView<'_>, held: &Held<'_>) -> Vec<String> {
    let winner = winner_of(held.view.study);
    if measured(held, &winner).is_empty() {
        return vec!["The winner has no valid trial in new rounds, so there is no result.".to_owned()];
    }
    let bottleneck = held.view.analysis.case(&winner).and_then(|summary| summary.bottleneck.as_ref());
    let limit = bottleneck.map_or_else(
        || "stampede why looks for what limits it".to_owned(),
        |bottleneck| format!("the probable bottleneck is {}", bottleneck.what),
    );
    let told = |missed: Shortfall| {
        let times = ratio(missed.times);
        format!(
            "No settings that were tried meet {}: in new rounds the best are {times} times beyond it; {limit}.",
            missed.term
        )
    };
    missed_by(held, view.slo, &winner).into_iter().map(told).collect()
}

/// What the winner is worth beside the defaults, and whether it is to be taken.
fn against_defaults(view: &TuneView<'_>, held: Option<&Held<'_>>, is_default: bool) -> (String, bool) {
    let keep = |text: String| (text, false);
    if is_default {
        let objective = view.objective.name();
        return keep(format!(
            "Keep the defaults: no settings that were tried are better for {objective} under these limits."
        ));
    }
    let (winner, default) = (CaseId::new(WINNER), CaseId::new(DEFAULT));
    let nothing = || keep("The settings found could not be compared with the defaults.".to_owned());
    let Some(held) = held else { return nothing() };
    let missed = |case: &CaseId| missed_by(held, view.slo, case).into_iter().next();
    match (missed(&winner), missed(&default)) {
        (None, Some(missed)) if !measured(held, &winner).is_empty() => {
            let times = ratio(missed.times);
            return (format!("The settings found meet {}; the defaults do not, by {times} times.", missed.term), true);
        }
        (Some(missed), None) if !measured(held, &default).is_empty() => {
            return keep(format!("The defaults meet {} in the same rounds: keep the defaults.", missed.term));
        }
        _ => {}
    }
    let Some(Versus { times, outcome, .. }) = Versus::of(held.view.analysis, &winner, &default) else {
        return nothing();
    };
    let title = view.metric.title;
    match outcome {
        Outcome::Better => {
            (format!("The settings found have {} times the {title} of the defaults.", ratio(times)), true)
        }
        Outcome::Equivalent => keep(format!(
            "The settings found and the defaults are equal within {}: keep the defaults.",
            percent(held.view.study.precision)
        )),
        Outcome::Worse => keep("Keep the defaults: the settings found were worse in new rounds.".to_owned()),
        Outcome::Undecided => keep(format!(
            "Undecided whether the settings found are better than the defaults ({} times): use a larger --budget.",
            ratio(times)
        )),
    }
}

/// That what the runtime documents is better than what was found.
fn better_documented(view: &TuneView<'_>, held: &Held<'_>) -> Option<String> {
    let documented = CaseId::new(DOCUMENTED);
    let Versus { times, outcome, .. } = Versus::of(held.view.analysis, &CaseId::new(WINNER), &documented)?;
    let meets = missed_by(held, view.slo, &documented).is_empty();
    (meets && outcome == Outcome::Worse).then(|| {
        let source = view.documented.unwrap_or("its documentation");
        format!(
            "But the settings of {source} are better: those found have {} times their {}. Use those of {source}.",
            ratio(times),
            view.metric.title
        )
    })
}

/// What the winner is not good for at another load.
fn elsewhere(view: &TuneView<'_>, held: &Held<'_>) -> Option<String> {
    let winner = CaseId::new(WINNER);
    let load = held.view.study.cases.first().map(|case| case.load.to_string()).unwrap_or_default();
    if let Some(missed) = missed_by(held, view.slo, &winner).into_iter().next() {
        return Some(format!("But at {load} they miss {}, by {} times.", missed.term, ratio(missed.times)));
    }
    let versus = Versus::of(held.view.analysis, &winner, &CaseId::new(DEFAULT))?;
    (versus.outcome == Outcome::Worse)
        .then(|| format!("But at {load} the defaults are better: check which load you have."))
}
