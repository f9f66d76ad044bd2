//! Ready, verify, trial, block, study.
//!
//! The harness decides what happens in which order and says so in events. It knows neither where results are kept nor
//! how they are drawn: those are [`Sink`]s, awaited before it goes on, so that a stored trial is stored before the next
//! one begins. Dropping the future of [`run`] ends everything that it started.

mod event;
mod html;
mod link;
mod measure;
mod order;
mod parts;
mod prepare;
mod ready;
mod study;
mod trial;
mod verify;

pub use event::{Event, Phase, Sink, SinkError};
pub use order::order;
pub use prepare::{Conditions, Missing, Prepared, prepare};
pub use study::{Surroundings, run};
