//! A cause with its evidence and what to do about it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing when reading the figures.
    Info,
    /// Distorts or limits the result.
    Warning,
    /// The figures do not mean what they seem to.
    Error,
}

/// A cause, the figures that prove it, and advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable name, `kebab-case`.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence.
    pub text: String,
    /// Named figures, units in the names.
    pub evidence: BTreeMap<String, f64>,
    /// What to do next.
    pub advice: String,
}
