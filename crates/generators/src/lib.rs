//! Several generators as one: agents that each drive a part of a load, begun at one moment, their results added up.
//!
//! [`Generators`] is a [`Vantage`](stampede_seam::Vantage): it sees as this process does, and has loads driven by the agents. What
//! is wrong with one of them is said with its name in the [`GeneratorRecord`](stampede_seam::GeneratorRecord) of each load.

mod agent_process;
mod carried;
mod faults;
mod generators;
mod generators_error;
mod member;
mod most;
mod shared_load;
mod ssh;

pub use carried::{CarriedStream, Carrying};
pub use generators::Generators;
pub use generators_error::GeneratorsError;
pub use member::Member;
