//! What is seen of a deployment from inside its container, where its platform has no other way to read the kernel's files.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use stampede_core::{EnforcedLimits, ImageTraits, MeterSource};

/// A container as it is from inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerLook {
    /// What the kernel holds it to.
    pub enforced: EnforcedLimits,
    /// Processors that its processes may run on.
    pub processors: u32,
    /// Where its use of resources can be read, from inside.
    pub meter: MeterSource,
    /// How long ago its first process began.
    pub age: Duration,
    /// What it shows of whose image it is: no labels.
    pub traits: ImageTraits,
    /// The port that takes the load, or why there is none.
    pub port: Result<u16, String>,
}
