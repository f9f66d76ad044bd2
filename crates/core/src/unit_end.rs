//! How a unit came to its end.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::UnitId;

/// A unit ended by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitExit {
    /// The unit.
    pub unit: UnitId,
    /// `status 1`, `signal 9 (SIGKILL)`.
    pub how: String,
}

/// How a unit stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitStop {
    /// The unit.
    pub unit: UnitId,
    /// From the stop signal to the end of its main process.
    pub took: Duration,
    /// Whether it had to be killed because its grace was over.
    pub killed: bool,
    /// `status 0`, `signal 15 (SIGTERM)`.
    pub how: String,
}
