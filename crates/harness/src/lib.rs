//! Ready, verify, trial, block, study.
//!
//! The harness decides what happens in which order and says so in events. It knows neither where results are kept nor
//! how they are drawn: those are [`Sink`]s, awaited before it goes on, so that a stored trial is stored before the next
//! one begins. Dropping the future of [`run`] ends everything that it started.
//!
//! It reads no clock, opens no connection and knows no place on a disk: all of that is done by the
//! [vantage](stampede_seam::Vantage) from which a deployment is seen.

mod agreement;
mod alignment;
mod audit;
mod capacity;
mod complaint;
mod content_encoding;
mod context;
mod crash_loop;
mod difference;
mod early_stop;
mod event;
mod head;
mod htaccess;
mod html;
mod known;
mod leak;
mod mask;
mod measure;
mod memory_peak;
mod order;
mod page;
mod parts;
mod php;
mod pilot;
mod prepare;
mod prepared_database;
mod ready;
mod record;
mod scale;
mod seconds;
mod sessions;
mod stop;
mod study;
mod time_limit;
mod trial;
mod turns;
mod usage;
mod verify;
mod visitor;
mod walk;
mod write_denied;
mod yard_stick;

pub use agreement::{agrees, reordered};
pub use audit::PreparedAudit;
pub use capacity::capacity;
pub use context::{TrialContext, YardStick};
pub use event::{Event, Phase, Sink, SinkError};
pub use mask::{UnderLoad, under_load};
pub use order::{order, schedule};
pub use pilot::{PilotFindings, pilots};
pub use prepare::{Conditions, Copies, Lack, Missing, Prepared, prepare};
pub use record::{RecordError, Recordable, Recorded, Recording, record};
pub use stop::Stop;
pub use study::run;
pub use turns::{too_few, turn_orders};
pub use walk::{Walk, walk};
