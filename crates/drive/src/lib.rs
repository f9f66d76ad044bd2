//! A load on an address, as `stampede load` and the commands of other tools drive it: where it goes, who drives it (this process, other
//! generators, pods of a cluster), what is kept of it while it runs, and how it ends.
//!
//! It prints nothing: whoever watches is told through a [`Bench`](stampede_conduct::Bench).

mod address;
mod end;
mod generators;
mod here;
mod live;
mod pods;
mod samples;
mod shared;
mod timeseries;

pub use address::{redirect_rules, resolved, targets};
pub use end::exit_of;
pub use generators::{Demand, boot, vantage};
pub use here::{drive, lay_out};
pub use live::Live;
pub use pods::PodGenerators;
pub use samples::{SampleSink, Sampled};
pub use shared::{Driven, SharedDrive, drive_shared};
pub use timeseries::Timeseries;
