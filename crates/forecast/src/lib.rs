//! What an autoscaled service will do at any size: a discrete-event simulation that is calibrated by what was measured.
//!
//! The platform's control, its queue and its bill are those of `stampede-scale`, the very code, and not a model of it. An
//! instance is a model ([`InstanceModel`]): CPU work and time off the CPU as they were measured one request at a time, a CPU
//! on which requests take turns at the measured speed, a quota with its period, workers, and a start.

mod agenda;
mod calibration;
mod forecast;
mod host;
mod instance;
mod outlook;
mod parallel;
mod question;
mod quota;
mod simulation;
mod traffic;
mod wake;
mod work;

pub use calibration::{Calibration, CalibrationError, MeasuredStudy};
pub use forecast::{Forecast, forecast};
pub use instance::{InstanceModel, Start};
pub use outlook::{Outlook, ServiceObjective, ServiceOption, ServiceProposal, propose};
pub use question::{ForecastPoint, ForecastQuestion, ServicePoint};
pub use simulation::{InstanceCounts, Run, SimulationSetup, simulate};
pub use traffic::Traffic;
pub use wake::{Wake, Waking};
pub use work::{Quantiles, Shape, Work};
