//! What an agent runs on.

use serde::{Deserialize, Serialize};

/// What an agent runs on, as far as it matters for the load that it can drive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentHost {
    /// Processors that it may use.
    pub cpus: Vec<u32>,
    /// What its kernel's start is known by: agents with the same one share their processors.
    pub boot: String,
    /// Why io_uring cannot be used there, where it cannot.
    pub io_uring_refused: Option<String>,
}
