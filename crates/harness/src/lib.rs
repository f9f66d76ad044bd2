//! Ready, verify, trial, block, study.
//!
//! The harness decides what happens in which order and says so in events. It knows neither where results are kept nor
//! how they are drawn: those are [`Sink`]s, awaited before it goes on, so that a stored trial is stored before the next
//! one begins. Dropping the future of [`run`] ends everything that it started.

mod audit;
mod capacity;
mod coding;
mod event;
mod fleet;
mod html;
mod link;
mod mask;
mod measure;
mod order;
mod parts;
mod php;
mod pilot;
mod prepare;
mod ready;
mod record;
mod refusal;
mod restarts;
mod sampling;
mod scale;
mod seconds;
mod stop;
mod study;
mod trial;
mod verify;
mod watch;
mod yard_stick;

pub use audit::PreparedAudit;
pub use capacity::capacity;
pub use event::{Event, Phase, Sink, SinkError};
pub use mask::{UnderLoad, under_load};
pub use order::order;
pub use pilot::pilots;
pub use prepare::{Conditions, Copies, Missing, PrepareCasesError, Prepared, prepare};
pub use record::{RecordError, Recorded, record};
pub use scale::Scaling;
pub use stop::Stop;
pub use study::{Surroundings, run};
pub use yard_stick::YardStick;
