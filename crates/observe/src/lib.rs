//! Samples a running deployment. Nothing is launched, changed or judged here.

mod accept_queue;
mod figures;
mod hold_ups;
mod kernel_text;
mod meter;
mod process_memory;
mod sampler;
mod session_locks;
mod status;
mod tick;

pub use hold_ups::HoldUps;
pub use meter::{Meter, ObserveError};
pub use sampler::Sampler;
pub use status::{DecodeStatusError, decode};
