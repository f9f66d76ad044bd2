//! What a scenario is made of.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use stampede_core::{Load, Random, Request};

use crate::capture::Capture;
use crate::check::Check;
use crate::events::Events;
use crate::feeder::Feeder;
use crate::template::Template;

/// Crowds that put load on one server side by side, and the tables that feed them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Tables of values.
    pub feeders: Vec<Feeder>,
    /// Who puts load on the server.
    pub crowds: Vec<Crowd>,
}

/// A population of users with a load model of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crowd {
    /// How many users begin a flow, and when; or how many go on at once.
    pub load: Load,
    /// In a closed load, the time from a user's last answer to when its next flow is due.
    pub think: Pause,
    /// What its users do.
    pub flows: Vec<Flow>,
    /// Which of it a user does next.
    pub choice: Choice,
}

/// Which flow begins next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Choice {
    /// Each in its turn.
    InTurn,
    /// Any, as often as its weight says.
    Weighted,
    /// Each in its turn, as often as its weight says and as evenly as that goes ([`in_turn`](crate::in_turn)).
    Spread,
}

/// Steps that a user takes one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Its name in results.
    pub name: String,
    /// How often it is chosen, relative to the others of the crowd; nothing to [`Choice::InTurn`].
    pub weight: u32,
    /// Whether cookies are kept and sent.
    pub cookies: bool,
    /// How many sets of cookies each user has, at least one: its runs through the flow take them in turn, so that requests of
    /// several sessions follow each other on one connection.
    pub identities: u32,
    /// The names of its captures.
    pub captures: Vec<String>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// A request of a flow, and what is done with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its name in results.
    pub name: String,
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: Template,
    /// Headers beside `Host`, `Content-Length` and `Cookie`.
    pub headers: Vec<(String, Template)>,
    /// The body.
    pub body: Template,
    /// The time between the previous answer and this request; before the first step it delays the beginning of the flow.
    pub pause: Pause,
    /// When it is taken; otherwise it is skipped.
    pub when: Option<Condition>,
    /// What is taken from the answer.
    pub captures: Vec<Capture>,
    /// What the answer must be. Where it is not, the rest of the flow is left out.
    pub check: Check,
    /// What its body must contain beside that, with values: each is one more of the check's body checks.
    pub shows: Vec<Template>,
    /// The events that its answer brings while the connection is held open, where it is a stream of them.
    pub events: Option<Events>,
}

/// A time between two steps: any between two ends, each as likely, or one where both are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pause {
    /// The shortest.
    pub least: Duration,
    /// The longest.
    pub most: Duration,
}

impl Flow {
    /// The name of one of its steps in results: its own, where it is the only one, or that after the flow's.
    pub fn step_name(&self, step: &Step) -> String {
        if self.steps.len() == 1 && self.name == step.name {
            self.name.clone()
        } else {
            format!("{}/{}", self.name, step.name)
        }
    }
}

impl Step {
    /// The request, where it is always the same but for cookies.
    pub fn fixed_request(&self) -> Option<Request> {
        let text = |template: &Template| template.as_fixed().and_then(|text| String::from_utf8(text.to_vec()).ok());
        let headers = self.headers.iter().map(|(name, value)| Some((name.clone(), text(value)?)));
        Some(Request {
            method: self.method.clone(),
            path: text(&self.path)?,
            headers: headers.collect::<Option<_>>()?,
            body: self.body.as_fixed()?.to_vec(),
        })
    }
}

impl Pause {
    /// A time of it.
    pub fn draw(self, random: &mut Random) -> Duration {
        let Self { least, most } = self;
        if least == most { least } else { least + most.saturating_sub(least).mul_f64(1.0 - random.uniform()) }
    }
}

/// A condition on a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// The number of the capture in the flow.
    pub capture: usize,
    /// What it must be.
    pub test: CaptureTest,
}

/// What a capture must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CaptureTest {
    /// It has a value.
    Present,
    /// It has none.
    Missing,
    /// It has this value.
    Equals(String),
    /// It has another value, or none.
    Differs(String),
}

impl CaptureTest {
    pub(crate) fn holds(&self, value: Option<&[u8]>) -> bool {
        match self {
            Self::Present => value.is_some(),
            Self::Missing => value.is_none(),
            Self::Equals(text) => value == Some(text.as_bytes()),
            Self::Differs(text) => value != Some(text.as_bytes()),
        }
    }
}
