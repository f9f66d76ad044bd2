//! Scenarios: what the users of a load do, as state machines without I/O.
//!
//! A [`Scenario`] is what was asked for. A [`Script`] is one crowd of it made ready for one thread, and a [`Journey`] one
//! user, who goes through one flow after the other. Time and randomness are arguments: the same seed gives user `n` the
//! same flow, rows and pauses on any number of threads.
//!
//! Nothing here is shared between threads while load runs. A request whose text is fixed is a copy of bytes; what templates,
//! captures and cookies need is kept in buffers that a journey uses again. JSON that is nested takes an allocation an answer, a
//! JSON check some more.

mod capture;
mod check;
mod cookie;
mod cookie_date;
mod event_stream;
mod events;
mod feeder;
mod in_turn;
mod journey;
mod json;
mod needle;
mod request_target;
mod scenario;
mod script;
mod share;
mod statuses;
mod template;
mod visitors;

pub use capture::{Capture, CaptureSource};
pub use check::{BODY_LIMIT, BodyCheck, Check, HeaderCheck, HeaderRule, Judgement, PreparedCheck, Wrong};
pub use event_stream::EVENT_LIMIT;
pub use events::{Events, EventsEnd, Heard};
pub use feeder::{Feeder, FeederError, FeederFormat, FeederProblem, RowOrder, Table};
pub use in_turn::in_turn;
pub use journey::{Journey, NextStep, Parts};
pub use json::{ParsePointerError, Pointer};
pub use scenario::{CaptureTest, Choice, Condition, Crowd, Flow, Pause, Scenario, Step};
pub use script::Script;
pub use share::{FlowTally, StepTally, Tally};
pub use statuses::Statuses;
pub use template::{Names, RenderFault, Slot, Template, TemplateError, TemplateProblem};
pub use visitors::{Visit, visitors};
