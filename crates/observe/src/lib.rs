//! Samples a running deployment. Nothing is launched, changed or judged here.

mod meter;
mod peak;

pub use meter::{Meter, ObserveError};
pub use peak::MemoryPeak;
