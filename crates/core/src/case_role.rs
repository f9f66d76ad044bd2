//! What a case is compared for.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a case is compared for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseRole {
    /// It can be shipped: a comparison recommends one of these.
    #[default]
    Candidate,
    /// It shows what is possible, as the same application written in Go does.
    Reference,
    /// Its makers do not mean it for production, as the development server of PHP.
    NotForProduction,
}

impl CaseRole {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Candidate, Self::Reference, Self::NotForProduction];

    /// The role of this name, as [`fmt::Display`] writes it.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// `candidate`, `reference`, `not-for-production`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Candidate => "candidate",
            Self::Reference => "reference",
            Self::NotForProduction => "not-for-production",
        }
    }
}

impl fmt::Display for CaseRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
