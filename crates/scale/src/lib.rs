//! What an autoscaled platform does with requests and instances, as pure state machines: time is passed in, nothing is started.
//!
//! - [`Controller`]: admission with a hard limit of concurrent requests an instance, the queue, balancing, scaling.
//! - [`Knative`], [`CloudRun`] and [`Hpa`]: how many instances are wanted. Their constants are in [`KnativeParameters`],
//!   [`CloudRunParameters`] and [`HpaParameters`], each with its source.
//! - [`Price`], [`Usage`] and [`Bill`]: what it costs. The [table of prices](PRICES) is in `prices.rs`.
//! - [`Tariff`]: what a month of a size costs that runs all the time. The [table of tariffs](tariffs()) is in `tariff_table.rs`.

mod average;
mod billing;
mod cloud_run;
mod controller;
mod fleet;
mod hpa;
mod index_set;
mod knative;
mod prices;
mod queue;
mod scaling;
mod service;
mod tariff;
mod tariff_table;
mod time;

pub use billing::{Basis, Bill, FreeTier, Price, Usage};
pub use cloud_run::{CloudRun, CloudRunParameters};
pub use controller::{Action, Controller, Policy};
pub use fleet::InstanceId;
pub use hpa::{Hpa, HpaParameters};
pub use knative::{BurstCapacity, Knative, KnativeDecision, KnativeParameters, Observed};
pub use prices::{PRICES, price};
pub use queue::{QueueLimits, Rejection};
pub use scaling::Scaling;
pub use service::{CpuAllocation, ServiceProblem, ServiceSettings};
pub use tariff::{MachineOffer, MonthPrice, PriceBound, SteadySize, Tariff, TariffRates};
pub use tariff_table::{tariff, tariffs};
pub use time::Time;
