//! All that a deployment needs at once.

use std::path::PathBuf;

use stampede_core::{Availability, Programs, Requirement};

use super::detect;

/// What was found, and what was not.
#[derive(Debug, Default)]
pub struct DetectedNeeds {
    /// The programs.
    pub programs: Programs,
    /// Everything that was found, also what nobody asks for by a key.
    pub paths: Vec<PathBuf>,
    /// What is missing and how to get it, a sentence each.
    pub missing: Vec<String>,
}

impl DetectedNeeds {
    /// Looks for everything on this machine.
    pub async fn here(needs: &[Requirement]) -> Self {
        Self::by(needs, async |need: &Requirement| detect(need).await).await
    }

    /// Looks for everything by `detect`.
    pub async fn by(needs: &[Requirement], detect: impl AsyncFn(&Requirement) -> Availability) -> Self {
        let mut all = Self::default();
        for need in needs {
            match detect(need).await {
                Availability::Found(found) => {
                    all.paths.push(found.path.clone());
                    if let Some(key) = need.key() {
                        all.programs.insert(key.to_owned(), found);
                    }
                }
                Availability::Missing { what, install } => all.missing.push(format!("needs {what}: {install}")),
            }
        }
        all
    }
}
