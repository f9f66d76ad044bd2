//! Flags and files to a validated plan.
//!
//! Everything that a user typed is checked here, at once: a command line with three mistakes gets three answers. What
//! exists is told by a [`Catalogue`]; nothing here looks at the machine beyond the files that were
//! named.

mod answer;
mod catalogue;
mod choice;
mod command;
mod compare;
mod load;
mod mistake;
mod quantity;
mod runtime;
mod scenario;
mod topology;
mod url;
mod workload;

pub use answer::CheckFlags;
pub use catalogue::Catalogue;
pub use compare::{CompareFlags, ComparePlan, MachineSize, RuntimeChoice};
pub use load::{LoadFlags, LoadPlan};
pub use mistake::{Mistake, Mistakes};
pub use runtime::{RuntimeFlags, RuntimePlan};
pub use scenario::parse as parse_scenario;
pub use topology::TopologyFlags;
pub use url::{HttpUrl, UrlError};
pub use workload::read as read_workload;
