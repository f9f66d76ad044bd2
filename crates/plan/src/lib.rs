//! Flags and files to a validated plan.
//!
//! Everything that a user typed is checked here, at once: a command line with three mistakes gets three answers. What
//! exists is told by a [`Catalogue`]; nothing here looks at the machine beyond the files that were
//! named.

mod answer;
mod app;
mod application;
mod at;
mod audit;
mod autoloader;
mod block_order;
mod capacity;
mod case;
mod case_name;
mod catalogue;
mod choice;
mod cluster;
mod command;
mod compare;
mod document;
mod drivers;
mod dump;
mod exchange;
mod flags;
mod forecast;
mod gate;
mod generators;
mod header;
mod image;
mod kind;
mod ladder;
mod listed;
mod load;
mod look;
mod machine_size;
mod mistake;
mod need;
mod outline;
mod php;
mod php_base;
mod plan_file;
mod platform;
mod play;
mod published;
mod quantity;
mod retrial;
mod rounds;
mod runtime;
mod scale;
mod scenario;
mod service;
mod site;
mod size;
mod slo;
mod subject;
mod suggestion;
mod tariff;
mod template;
mod threshold;
mod topology;
mod tune;
mod url;
mod value_fix;
mod value_list;
mod values;
mod warm_up;
mod workload;

pub use block_order::OrderChoice;
pub use capacity::{CapacityFlags, read_capacity};
pub use catalogue::Catalogue;
pub use choice::RuntimeChoice;
pub use compare::{ChangeMetric, CompareFlags, ComparePlan};
pub use flags::{
    AppFlag, AtFlag, ClientRttFlag, ClusterFlags, DatabaseFlags, DeploymentFlags, DryRunFlag, DumpFlag, DurationFlag,
    ExchangesFlag, GeneratorsFlag, IndexFlag, LoadFlag, MaxTimeFlag, OrderFlag, PhpFlag, PlatformFlags, PodFlags,
    ReadyFlag, ReadyTimeoutFlag, RoundsFlag, RuntimesFlag, SeedFlag, ServerAddressFlag, SiteFlags, SubjectFlag,
    TopologyFlags, WarmUpFlag,
};
pub use forecast::{ForecastFlags, read_forecast};
pub use gate::{GateFlags, GateSide};
pub use image::ImageFlags;
pub use ladder::{LadderFlags, LadderPlan, Rung};
pub use load::{LoadFlags, LoadPlan};
pub use look::Look;
pub use machine_size::MachineSize;
pub use mistake::{Mistake, Mistakes};
pub use plan_file::{PLAN_FILE, schema};
pub use platform::{ClusterChoice, PlatformChoice, Software};
pub use published::{KnownPublication, PlannedRow, PlannedTable, ReproduceFlags, ReproducePlan, read_row};
pub use retrial::{ChangedCase, RetrialFlags, RetrialPlan};
pub use runtime::{RuntimeFlags, RuntimePlan};
pub use scale::{PlannedService, ScaleFlags, ScalePlan};
pub use scenario::parse as parse_scenario;
pub use size::{ServiceSizePlan, SizeCopies, SizeFlags, SizePlan, SizeTerm};
pub use suggestion::or_list;
pub use template::{WrittenAnswer, write_plan};
pub use threshold::read_threshold;
pub use tune::{SearchBudget, TuneFlags, TunePlan};
pub use url::{HttpUrl, UrlError};
pub use value_fix::value_fix;
pub use value_list::{OrList, listed};
pub use workload::{read as read_workload, schema as workload_schema};
