//! Sees deployments from this process.
//!
//! [`Here`] is the [`Vantage`](stampede_seam::Vantage) of everything that runs on this machine: its clock is this process's, load
//! runs on threads of this process, and counters are read from the kernel that both share.

mod here;
mod inside_watch;
mod latency_relay;
mod process_samples;

pub use here::Here;
pub use process_samples::{ProcessSamples, sample_processes};
