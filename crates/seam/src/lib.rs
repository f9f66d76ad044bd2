//! Where deployments run, and where they are seen from.
//!
//! A [`Platform`] starts a deployment and gives a [`Running`] one. What is to be seen of it from outside (does it answer, what
//! does it answer, how does it bear load, what does it use) is seen from a [`Vantage`]: this process, or one that is where the
//! deployment is. Everything that crosses these traits is a plain value, and every time is a [`Moment`] of the vantage's own
//! clock: whoever conducts a trial reads no clock, opens no socket, and can be tested with fakes.
//!
//! Nothing here does I/O.

mod answer_facts;
mod author;
mod autoscaled;
mod backend;
mod container_look;
mod event_measures;
mod exchange;
mod generator_record;
mod load_handle;
mod load_result;
mod load_spec;
mod log_tail;
mod merged_result;
mod moment;
mod platform;
mod request_sample;
pub mod rough_latencies;
mod sampling;
mod saturation;
mod slice;
mod stop_error;
mod turn_span;
mod vantage;

pub use answer_facts::{AnswerFacts, Breach, BreakCount, BreakPoint};
pub use author::{Author, AuthoredThread, KeptAnswer};
pub use autoscaled::{Autoscaled, AutoscalerLog, AutoscalerOrder, SeenDecision, SeenInstance};
pub use backend::Backend;
pub use container_look::ContainerLook;
pub use event_measures::EventMeasures;
pub use exchange::{Call, NoAnswer};
pub use generator_record::{GeneratorRecord, HeldUp, StartSkew};
pub use load_handle::{LoadError, LoadHandle, LoadOrder, LoadOutcome, LoadProgress, LoadStatus};
pub use load_result::{FlowResult, LoadResult, Measures, RequestFailure, StepResult, WrongAnswer};
pub use load_spec::{LoadExchange, LoadSpec, Shard, TlsClient, TlsIdentity, TlsSpec, TlsVersion, Trust};
pub use log_tail::LogTail;
pub use merged_result::MergeError;
pub use moment::Moment;
pub use platform::{
    ASK_TIME, ExitReport, LaunchError, Located, Platform, PrepareError, PreparedApp, ReadBackError, Running,
};
pub use request_sample::{RequestSample, SampleEnd};
pub use rough_latencies::RoughLatencies;
pub use sampling::{InsideTargets, SampleTargets, SamplerHandle, SamplingError};
pub use saturation::{LittlesLaw, Saturation};
pub use slice::Slice;
pub use stampede_scenario::{
    BodyCheck, Check, FlowTally, HeaderCheck, HeaderRule, Pause, Scenario, Statuses, Template, Visit, visitors,
};
pub use stop_error::StopError;
pub use turn_span::TurnSpan;
pub use vantage::{Reading, Vantage};
