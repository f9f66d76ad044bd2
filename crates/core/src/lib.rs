//! The words of Stampede as types, and the traits at which its crates meet.
//!
//! Nothing here does I/O or reads a clock: a value of these types can be made in a test, stored, and read back years
//! later. GLOSSARY.md explains each word; ARCHITECTURE.md says which crate may use which.

mod app;
mod as_text;
mod audit;
mod autoloader;
mod baseline;
mod budgets;
mod carrier;
mod case;
mod case_role;
mod causes;
mod censored;
mod command;
mod database_connections;
mod deployment;
mod endpoint;
mod estimate;
mod failures;
mod finding;
mod future;
mod gauge;
mod gzip;
mod http_status;
mod id;
mod image;
mod inside;
mod latencies;
mod limits;
mod load;
mod machine;
mod masked;
mod meter;
mod objective;
mod open_part;
mod php;
pub mod php_extension;
mod php_setup;
mod population;
mod printable;
mod protocol;
mod publication;
mod random;
mod read_back;
mod recipe;
mod requirement;
mod revision;
mod runtime;
mod scaling;
mod schedule;
mod second;
mod series;
mod service_need;
mod shell_word;
mod short_time;
mod shortened;
mod site;
mod slo;
mod status;
mod step;
mod stored_study;
mod study;
mod topology;
mod topology_builder;
mod trial;
mod tuning;
mod turn;
mod unit_end;
mod verdict;
mod workload;
mod yard_stick;

pub use app::{App, AppKind};
pub use audit::{Audit, AuditQuery, AuditRecord, AuditTold};
pub use autoloader::Autoloader;
pub use baseline::{Floor, Groundwork, LeftOut, NoiseFloor, Pilot, WarmUp};
pub use budgets::{Part, PartMeters, PartRecord, ReadBack, Terms, UnitRestart};
pub use carrier::{Carrier, ParseCarrierError};
pub use case::{Candidate, Case};
pub use case_role::CaseRole;
pub use causes::with_causes;
pub use censored::Censored;
pub use command::{Command, CommandReady, CommandTunable, CommandValues};
pub use database_connections::{ConnectionShortage, DatabaseConnections, SQLITE_LOCKED, TOO_MANY_CONNECTIONS};
pub use deployment::{
    Address, AddressKind, BuildStep, Deployment, GracefulStop, Makes, PhpProbe, PhpProbeSource, Places, Preparation,
    Program, Ready, Replacement, RunFile, StopSignal, Unit, UnknownPlace,
};
pub use endpoint::Endpoint;
pub use estimate::Estimate;
pub use failures::Failures;
pub use finding::{Finding, Severity};
pub use future::Fut;
pub use gauge::Gauge;
pub use gzip::unpacked;
pub use http_status::named_status;
pub use id::{AddressId, CaseId, RuntimeId, StudyId, UnitId, WorkloadId};
pub use image::{
    ComposeFile, Container, FastCgiFront, ImageApp, ImageSign, ImageSource, ImageTraits, KnownImage, Volume, WebServer,
};
pub use inside::{
    InsideCode, InsideEffort, InsideFunction, InsideNative, InsideRecord, InsideStack, InsideState, InsideTarget,
    InsideTimes, InsideWait,
};
pub use latencies::{DecodeLatenciesError, Latencies};
pub use limits::{Bytes, Cpus, EnforcedLimits, Limit, Limits, ParseQuantityError};
pub use load::{Arrivals, Load, ParseLoadError};
pub use machine::{CgroupSupport, CpuLayout, Machine};
pub use masked::{MaskClass, Masked, Piece};
pub use meter::{Counters, Memory, MeterSource};
pub use objective::Objective;
pub use open_part::{LoadShare, OpenPart, OpenStudy};
pub use php::{OpcodeCache, PhpAsked, PhpBuild, PhpChoice, PhpReadBack};
pub use php_setup::{PhpBase, PhpModule, PhpOrigin, PhpSetup, PhpWants};
pub use population::{ParsePopulationError, Population};
pub use printable::printable;
pub use protocol::Protocol;
pub use publication::{
    Bounds, Claim, ClaimTest, Publication, PublishedColumn, PublishedFigure, PublishedRow, PublishedTable,
    PublishedUnit,
};
pub use random::Random;
pub use read_back::same_setting;
pub use recipe::{CopiedProgram, ExtensionMeans, MakersImage, Recipe};
pub use requirement::{Availability, Found, Install, PhpSapi, Programs, Requirement, VersionProbe};
pub use revision::Revision;
pub use runtime::{About, DefaultsContext, Documented, PlanError, ProcessModel, RenderContext, Runtime};
pub use scaling::{
    GatewayUse, InstanceCount, InstanceLife, InstanceUsage, Passage, ScaleDecision, ScaleRecord, ScaledService,
};
pub use schedule::{ParseScheduleError, Position, Rate, Schedule, Stage};
pub use second::LoadSecond;
pub use series::{ProcessId, QuerySeen, Sampling, Series, SeriesSource};
pub use service_need::{InitScript, ServiceNeed};
pub use shell_word::{shell_line, shell_word};
pub use short_time::short_time;
pub use shortened::shortened;
pub use site::{Denied, Fallback, Site};
pub use slo::{ParseSloError, Percentile, Slo, SloSecond, SloTerm};
pub use status::{DatabaseLogin, PrometheusMetric, StatusFormat, StatusSource, StatusTransport, UnitStatus};
pub use step::StepRecord;
pub use stored_study::StoredStudy;
pub use study::{CONFIRMING_BLOCKS, ChosenByFlags, ErrorModel, Rounds, Study, StudyKind};
pub use topology::{
    Balance, Balancer, BalancerKind, ClientLink, PartShare, ReadyBy, Restart, Service, ServiceKind, Topology,
};
pub use topology_builder::{Certificate, ComposeContext, Composed, Composer};
pub use trial::{
    Counts, ErrorClass, GeneratorUse, LinkUse, Measurement, NewSession, Outcome, ReadinessRecord, ResourceUse,
    SESSION_FOLDERS, Sending, ServedAnswer, Trial, are_autoscaled,
};
pub use tuning::{Origin, Role, Setting, Tunable, TunableKind, Tuning, TuningProblem};
pub use turn::{BlockOrder, Turn, WindowsFrom};
pub use unit_end::{UnitExit, UnitStop};
pub use verdict::{Verdict, VerdictWord};
pub use workload::{Answer, Body, Exchange, Expectation, ExpectedHead, MOST_WEIGHT, Play, Request, Workload};
pub use yard_stick::{Pace, YardStickReading};
