//! Samples a running deployment. Nothing is launched, changed or judged here.

mod accept_queue;
mod figures;
mod kernel_text;
mod meter;
mod sampler;
mod status;
mod tick;

pub use meter::{Meter, ObserveError};
pub use sampler::Sampler;
pub use status::{DecodeStatusError, decode};
