//! A load on an address, as `stampede load` and the commands of other tools drive it: where it goes, who drives it (this process, other
//! generators, pods of a cluster), what is kept of it while it runs, and how it ends.
//!
//! It prints nothing: whoever watches is told through a [`Bench`](stampede_conduct::Bench).

mod address;
mod address_load;
mod end;
mod generators;
mod here;
mod live;
mod pods;
mod samples;
mod shared;
mod timeseries;
mod tool;
mod tool_output;
mod wrk;

pub use address_load::{AddressLoad, Kept, Reach, TlsFiles, drive_address, read_body};
pub use generators::{Demand, again, boot, vantage};
pub use pods::{PodRequest, carried};
pub use samples::{SampleSink, Sampled};
pub use timeseries::Timeseries;
pub use tool::{ToolFailure, drive_tool};
pub use tool_output::ToolOutput;
