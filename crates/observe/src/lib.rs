//! Samples a running deployment. Nothing is launched, changed or judged here.

mod accept_queue;
mod figures;
mod kernel_text;
mod meter;
mod peak;
mod sampler;
mod status;
mod tick;

pub use meter::{Meter, ObserveError};
pub use peak::MemoryPeak;
pub use sampler::{Sampler, Targets};
pub use status::{DecodeStatusError, decode};
