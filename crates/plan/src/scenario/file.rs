//! `scenario.yaml` as it is written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;
use stampede_scenario::{FeederFormat, HeaderRule, RowOrder};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioFile {
    #[serde(default)]
    pub(crate) feeders: BTreeMap<String, FeederEntry>,
    pub(crate) crowds: Spanned<Vec<CrowdEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeederEntry {
    pub(crate) file: Option<Spanned<PathBuf>>,
    /// Columns, each with the environment variables that hold its values.
    pub(crate) env: Option<Spanned<BTreeMap<String, Vec<String>>>>,
    pub(crate) format: Option<FeederFormat>,
    #[serde(default)]
    pub(crate) order: RowOrder,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CrowdEntry {
    pub(crate) load: Spanned<String>,
    pub(crate) think: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) flows: Vec<FlowEntry>,
    #[serde(default)]
    pub(crate) requests: Vec<RequestEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowEntry {
    pub(crate) name: Spanned<String>,
    pub(crate) weight: Option<Spanned<u32>>,
    pub(crate) cookies: Option<bool>,
    pub(crate) identities: Option<Spanned<u32>>,
    pub(crate) steps: Vec<StepEntry>,
}

/// A flow of one step.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestEntry {
    pub(crate) name: Option<Spanned<String>>,
    pub(crate) weight: Option<Spanned<u32>>,
    pub(crate) method: Option<Spanned<String>>,
    pub(crate) path: Spanned<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<String>>,
    pub(crate) body: Option<Spanned<String>>,
    pub(crate) check: Option<CheckEntry>,
    pub(crate) events: Option<Spanned<EventsEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepEntry {
    pub(crate) name: Spanned<String>,
    pub(crate) when: Option<Spanned<String>>,
    pub(crate) pause: Option<Spanned<String>>,
    pub(crate) method: Option<Spanned<String>>,
    pub(crate) path: Spanned<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<String>>,
    pub(crate) body: Option<Spanned<String>>,
    /// Fields of a form, which are its body.
    pub(crate) form: Option<Spanned<BTreeMap<String, String>>>,
    pub(crate) check: Option<CheckEntry>,
    #[serde(default)]
    pub(crate) capture: BTreeMap<String, Spanned<SourceEntry>>,
    pub(crate) events: Option<Spanned<EventsEntry>>,
}

/// What a step hears of a stream of events.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsEntry {
    pub(crate) count: Option<Spanned<u64>>,
    pub(crate) until: Option<Spanned<String>>,
    pub(crate) r#for: Option<Spanned<String>>,
    pub(crate) r#type: Option<Spanned<String>>,
    pub(crate) least: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SourceEntry {
    Header(String),
    Json(String),
    Regex(String),
    Event(EventPart),
}

/// What is taken of a stream of events.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EventPart {
    Id,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckEntry {
    pub(crate) status: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<HeaderRule>>,
    pub(crate) body: Option<String>,
    pub(crate) contains: Option<Spanned<String>>,
    pub(crate) sha256: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) json: BTreeMap<String, Spanned<Value>>,
}
