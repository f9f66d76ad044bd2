//! What is looked for where nothing is measured.

use std::path::PathBuf;

use stampede_core::{Availability, Programs, Requirement};

/// What was found, and what was not.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) programs: Programs,
    /// Everything that was found, also what nobody asks for by a key.
    pub(crate) paths: Vec<PathBuf>,
    /// What is missing and how to get it, a sentence each.
    pub(crate) missing: Vec<String>,
}

/// Looks for everything on this machine.
pub(crate) async fn look_for(needs: &[Requirement]) -> Found {
    look_by(needs, async |need: &Requirement| stampede_platforms::detect(need).await).await
}

/// Looks for everything by `detect`.
pub(crate) async fn look_by(needs: &[Requirement], detect: impl AsyncFn(&Requirement) -> Availability) -> Found {
    let mut all = Found::default();
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
