//! A service whose instances a platform's own autoscaler starts and stops.

use std::sync::Arc;

use stampede_core::{Endpoint, Fut};

use crate::moment::Moment;
use crate::stop_error::StopError;
use crate::vantage::Vantage;

/// What a platform's autoscaler is told.
#[derive(Clone, Debug, PartialEq)]
pub struct AutoscalerOrder {
    /// The fewest instances.
    pub least: u32,
    /// The most.
    pub most: u32,
    /// The share of their CPU that instances should use.
    pub cpu_target: f64,
    /// The path that an instance must answer to be ready; where nothing is given, it must only listen.
    pub ready_path: Option<String>,
}

/// What was seen of a service until now, by the clock of its vantage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AutoscalerLog {
    /// In the order in which they were asked for.
    pub instances: Vec<SeenInstance>,
    /// From when on the autoscaler wanted how many, in their order.
    pub decisions: Vec<SeenDecision>,
    /// Why the autoscaler cannot decide now.
    pub undecided: Option<String>,
}

/// What was seen of an instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenInstance {
    /// When it was made.
    pub ordered: Moment,
    /// When a machine was found for it.
    pub placed: Option<Moment>,
    /// When its first process was started.
    pub started: Option<Moment>,
    /// When it was ready for requests.
    pub ready: Option<Moment>,
    /// When it was told to end, or was gone.
    pub ended: Option<Moment>,
    /// Why it ended by itself, or its process was started again.
    pub lost: Option<String>,
    /// CPUs that it used over some seconds before each of these moments.
    pub uses: Vec<(Moment, f64)>,
}

/// What an autoscaler wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenDecision {
    /// From when on.
    pub at: Moment,
    /// How many instances.
    pub wanted: u32,
    /// The share of their CPU that instances used then, as the autoscaler has it, where it knew.
    pub used: Option<f64>,
}

/// A service that an autoscaler keeps. Dropping it removes it.
pub trait Autoscaled: Send + Sync {
    /// From where it is seen.
    fn vantage(&self) -> &Arc<dyn Vantage>;

    /// The address that takes the load.
    fn front(&self) -> &Endpoint;

    /// What has been seen of it until now.
    fn log(&self) -> AutoscalerLog;

    /// Removes it.
    fn stop(self: Box<Self>) -> Fut<'static, Result<(), StopError>>;
}
