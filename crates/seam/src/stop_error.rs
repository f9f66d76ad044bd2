//! Why something that runs could not be ended.

use thiserror::Error;

/// Why a deployment could not be stopped.
#[derive(Debug, Error)]
#[error("stop the deployment: {0}")]
pub struct StopError(pub String);
