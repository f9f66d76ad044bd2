//! Why generators could not be started.

use thiserror::Error;

/// Why generators could not be started: of each that was not.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .0.join("\n"))]
pub struct GeneratorsError(pub Vec<String>);
