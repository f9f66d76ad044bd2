//! A search for settings as JSON.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::{Shortfall, Tried};
use stampede_core::{RuntimeId, Verdict};

use super::{Held, TuneView, conclusion, missed, to_winner};
use crate::json::{WireLimits, WireVerdict, rendered};

/// As JSON. It ends with a line break.
pub fn json(view: &TuneView<'_>) -> String {
    rendered(&WireTune::of(view))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Tune")]
pub(crate) struct WireTune<'a> {
    schema: &'static str,
    id: &'a str,
    runtime: Option<&'a str>,
    workload: &'a str,
    load: String,
    limits: WireLimits,
    objective: &'static str,
    /// The metric that the objective is about.
    metric: &'static str,
    slo: Option<String>,
    slo_missed: Vec<WireMissed>,
    /// How many settings there are in all.
    space: usize,
    winner: BTreeMap<String, String>,
    /// Where the documented settings stand.
    documented: Option<&'a str>,
    tried: Vec<WireTried>,
    held: Vec<WireHeld<'a>>,
    conclusion: String,
}

/// A term that the winner missed in most trials of new blocks.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MissedTerm")]
struct WireMissed {
    term: String,
    times: f64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TriedSettings")]
struct WireTried {
    settings: BTreeMap<String, String>,
    score: Option<f64>,
    /// Its figure over the winner's; below 1 is worse.
    to_winner: Option<f64>,
}

/// The winner beside the others in new blocks.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WinnerBeside")]
struct WireHeld<'a> {
    load_share: f64,
    study: &'a str,
    #[schemars(with = "Vec<WireVerdict<'_>>")]
    verdicts: &'a [Verdict],
}

impl<'a> WireTune<'a> {
    fn of(view: &'a TuneView<'a>) -> Self {
        let TuneView { id, limits, runtime, workload, load, objective, slo, metric, space, tried, winner, .. } = view;
        let held = |held: &Held<'a>| WireHeld {
            load_share: held.share,
            study: held.view.study.id.as_str(),
            verdicts: &held.view.analysis.verdicts,
        };
        let missed = missed(view.held, *slo).into_iter();
        Self {
            schema: "stampede/tune/v1",
            id,
            runtime: runtime.as_ref().map(RuntimeId::as_str),
            workload,
            load: load.to_string(),
            limits: WireLimits::of(limits),
            objective: objective.name(),
            metric: metric.key,
            slo: slo.map(ToString::to_string),
            slo_missed: missed.map(|Shortfall { term, times }| WireMissed { term: term.to_string(), times }).collect(),
            space: space.size(),
            winner: settings(view, winner),
            documented: view.documented,
            tried: tried.iter().map(|tried| WireTried::of(view, tried)).collect(),
            held: view.held.iter().map(held).collect(),
            conclusion: conclusion(view).join(" "),
        }
    }
}

impl WireTried {
    fn of(view: &TuneView<'_>, tried: &Tried) -> Self {
        Self { settings: settings(view, tried), score: tried.score, to_winner: to_winner(view, tried) }
    }
}

fn settings(view: &TuneView<'_>, tried: &Tried) -> BTreeMap<String, String> {
    let tuning = view.space.settings(&tried.point);
    tuning.iter().map(|(name, setting)| (name.to_owned(), setting.value.clone())).collect()
}
