//! What holds a case back, as JSON.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::{Effect, Explained, Explanation, Intervention, Test};

use crate::StudyView;
use crate::json::{WireEstimate, rounded};
use crate::why::told;

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireExplanation {
    case: String,
    outcome: &'static str,
    /// The finding that its records suggest.
    suspected: Option<String>,
    /// The changed case that shows it.
    confirmed_by: Option<String>,
    /// Other changes that may have moved it as much.
    or_by: Vec<String>,
    text: String,
    remedy: Option<String>,
    changes: Vec<WireChange>,
}

#[derive(Serialize, JsonSchema)]
struct WireChange {
    case: String,
    changed: String,
    from: String,
    to: String,
    factor: Option<f64>,
    ratio: Option<WireEstimate>,
    effect: &'static str,
    arrived_share: Option<f64>,
}

impl WireExplanation {
    pub(crate) fn of(view: &StudyView<'_>, explanation: &Explanation) -> Self {
        let told = told(view, explanation);
        Self {
            case: explanation.base.to_string(),
            outcome: match explanation.outcome {
                Explained::Confirmed => "confirmed",
                Explained::SuspectedOnly => "suspected_only",
                Explained::Unexplained => "unexplained",
            },
            suspected: explanation.suspected.as_ref().map(|suspected| suspected.finding.clone()),
            confirmed_by: explanation.confirmed().map(|test| test.case.to_string()),
            or_by: explanation.rivals().map(|test| test.case.to_string()).collect(),
            text: told.outcome.join(" "),
            remedy: told.remedy,
            changes: explanation.tests.iter().map(WireChange::of).collect(),
        }
    }
}

impl WireChange {
    fn of(test: &Test) -> Self {
        let Test { case, intervention, ratio, effect, arrived, most: _ } = test;
        let Intervention { lever: _, name, from, to, factor } = intervention;
        Self {
            case: case.to_string(),
            changed: name.clone(),
            from: from.clone(),
            to: to.clone(),
            factor: factor.map(rounded),
            ratio: ratio.as_ref().map(WireEstimate::of),
            effect: match effect {
                Effect::Limits => "limits",
                Effect::TooMuch => "too_much",
                Effect::Harms => "harms",
                Effect::Nothing => "nothing",
                Effect::Unknown => "undecided",
            },
            arrived_share: arrived.map(rounded),
        }
    }
}
