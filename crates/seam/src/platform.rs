//! The seam to where processes run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stampede_core::{
    AddressId, App, Autoloader, Availability, Deployment, Endpoint, EnforcedLimits, Finding, Fut, Limits, Machine,
    MakersImage, MeterSource, PartMeters, Places, Program, Requirement, Terms, UnitExit, UnitId, UnitRestart,
    UnitStatus, UnitStop, UnknownPlace,
};
use thiserror::Error;

use crate::autoscaled::{Autoscaled, AutoscalerOrder};
use crate::log_tail::LogTail;
use crate::moment::Moment;
use crate::stop_error::StopError;
use crate::vantage::Vantage;

/// How long a program that is asked something short may take beside a deployment.
pub const ASK_TIME: Duration = Duration::from_secs(10);

/// Where processes run.
pub trait Platform: Send + Sync {
    /// Its name: `local`.
    fn id(&self) -> &'static str;

    /// From where what it launches is seen.
    fn vantage(&self) -> &Arc<dyn Vantage>;

    /// The machine that deployments run on, for records, where it is not that of this program.
    fn machine(&self) -> Option<Machine> {
        None
    }

    /// The node of a cluster that deployments run on, for records, where they run in one.
    fn node(&self) -> Option<&str> {
        None
    }

    /// Why nothing can be launched any more, whatever it is: what deployments need here is gone.
    fn over(&self) -> Option<String> {
        None
    }

    /// The image in which a deployment of this makers' image runs, for records, where deployments run in containers.
    fn image_of(&self, _image: Option<&MakersImage>) -> Option<String> {
        None
    }

    /// Whether a requirement is met here, with the version found or what to install: in the image of its makers, where a platform
    /// of containers runs that.
    fn detect<'a>(&'a self, need: &'a Requirement, image: Option<&'a MakersImage>) -> Fut<'a, Availability>;

    /// What stands in the way of these limits here; findings of severity `Error` make trials invalid.
    fn preflight<'a>(&'a self, limits: &'a Limits) -> Fut<'a, Vec<Finding>>;

    /// Looks at an application before it is copied into runs. Where commands prepare it, or it is large, it is copied and they are
    /// run in the copy, as the user that units run as and with the application's environment, outside the limits. What it returns
    /// is there as long as the platform is.
    fn prepare<'a>(&'a self, app: &'a App) -> Fut<'a, Result<PreparedApp, PrepareError>>;

    /// Starts all units under their budgets; returns when every unit but the front's readiness request is ready.
    fn launch<'a>(
        &'a self,
        deployment: &'a Deployment,
        terms: &'a Terms,
    ) -> Fut<'a, Result<Box<dyn Running>, LaunchError>>;

    /// Whether it has an autoscaler of its own, which starts and stops the instances of a service.
    fn has_autoscaler(&self) -> bool {
        false
    }

    /// Starts a service whose instances, each a deployment under these terms, are started and stopped by the platform's own autoscaler;
    /// returns when the fewest are ready and the autoscaler is at work.
    fn autoscale<'a>(
        &'a self,
        _deployment: &'a Deployment,
        _terms: &'a Terms,
        _order: &'a AutoscalerOrder,
    ) -> Fut<'a, Result<Box<dyn Autoscaled>, LaunchError>> {
        Box::pin(async { Err(LaunchError::Prepare("this platform has no autoscaler of its own".to_owned())) })
    }
}

/// Where a deployment that runs is seen from and reached, and since when it runs.
pub struct Located {
    /// See [`Running::vantage`].
    pub vantage: Arc<dyn Vantage>,
    /// See [`Running::front`].
    pub front: Endpoint,
    /// Real addresses.
    pub endpoints: BTreeMap<AddressId, Endpoint>,
    /// What the deployment's places are.
    pub places: Places,
    /// See [`Running::started`].
    pub started: Moment,
}

/// A deployment that runs. Dropping it kills everything that it started before it returns.
pub trait Running: Send + Sync {
    /// Where it is.
    fn located(&self) -> &Located;

    /// From where it is seen: the addresses and meters of this are those that are reached from there.
    fn vantage(&self) -> &Arc<dyn Vantage> {
        &self.located().vantage
    }

    /// The address that takes the load.
    fn front(&self) -> &Endpoint {
        &self.located().front
    }

    /// The addresses that take the load, each as much as the others: replicas, in their order, where none stands before them.
    fn targets(&self) -> Vec<Endpoint> {
        vec![self.front().clone()]
    }

    /// A text with the deployment's places put in.
    ///
    /// # Errors
    ///
    /// When it names a place that the deployment does not have.
    fn resolve(&self, text: &str) -> Result<String, UnknownPlace> {
        self.located().places.resolve(text)
    }

    /// A real address.
    fn endpoint(&self, address: &AddressId) -> Option<&Endpoint> {
        self.located().endpoints.get(address)
    }

    /// When the first unit was started, by the vantage's clock.
    fn started(&self) -> Moment {
        self.located().started
    }

    /// Where the use of resources can be read.
    fn meters(&self) -> Vec<MeterSource>;

    /// Where each unit that can tells how it is doing; nothing where nothing is known of what it runs.
    fn statuses(&self) -> &[UnitStatus] {
        &[]
    }

    /// The addresses on which units take work: those of a status are not among them. None where their queues are not seen: the
    /// kernel tells of listening sockets in one's own network namespace only.
    fn listeners(&self) -> &[(AddressId, Endpoint)] {
        &[]
    }

    /// The limits that the kernel holds.
    ///
    /// # Errors
    ///
    /// When they cannot be read back.
    fn enforced(&self) -> Result<EnforcedLimits, ReadBackError>;

    /// Where the use of each part can be read, in the order of the terms; nothing of what has no parts.
    fn part_meters(&self) -> Vec<PartMeters> {
        Vec::new()
    }

    /// The limits that the kernel holds a part to: the tightest of its own and the total.
    ///
    /// # Errors
    ///
    /// When they cannot be read back.
    fn enforced_on(&self, part: &str) -> Result<EnforcedLimits, ReadBackError>;

    /// Units that were started again so far, oldest first; nothing where none is.
    fn restarts(&self) -> Vec<UnitRestart> {
        Vec::new()
    }

    /// Runs a program beside the deployment, outside its limits, for so long at most, and gives what it printed on standard output.
    ///
    /// # Errors
    ///
    /// What went wrong, when it did not end with status 0 in that time.
    fn ask<'a>(&'a self, program: &'a Program, limit: Duration) -> Fut<'a, Result<String, String>>;

    /// The text of a file of the deployment, named with its places; nothing where it is not there (yet).
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    fn read<'a>(&'a self, file: &'a str) -> Fut<'a, Result<Option<String>, String>>;

    /// Resolves when a unit has ended without being asked to, and is not started again.
    fn exited(&self) -> Fut<'_, UnitExit>;

    /// What has befallen it that is not its own doing, such as that its machine is gone: its trial counts for nothing then.
    fn disturbed(&self) -> Fut<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// The processes that are copies of their parent and run the same program: the workers of a server that forks, without those of
    /// services beside it.
    fn forks(&self) -> BTreeSet<u32>;

    /// The last lines that a unit wrote to its standard output, standard error and log files.
    fn logs(&self, unit: &UnitId) -> LogTail;

    /// The units in the order of their start.
    fn units(&self) -> Vec<UnitId>;

    /// Asks every unit to stop, last started first, and kills what does not within its grace.
    fn stop(self: Box<Self>) -> Fut<'static, Result<ExitReport, StopError>>;
}

/// How a deployment stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitReport {
    /// Each unit, in the order of their start.
    pub units: Vec<UnitStop>,
}

/// Why a deployment could not be started.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// A folder, file or control group could not be made.
    #[error("prepare the run: {0}")]
    Prepare(String),
    /// The program's own check refused its configuration.
    #[error("check the configuration of {unit}: {problem}")]
    Check {
        /// The unit.
        unit: UnitId,
        /// What the program said.
        problem: String,
    },
    /// The build failed.
    #[error("build {unit}: {problem}")]
    Build {
        /// The unit.
        unit: UnitId,
        /// What the builder said.
        problem: String,
    },
    /// The unit could not be started or ended at once.
    #[error("start {unit}: {problem}")]
    Start {
        /// The unit.
        unit: UnitId,
        /// What happened, with the end of its log.
        problem: String,
    },
    /// Where it was to run is not reached: that says nothing of what was launched.
    #[error("{0}")]
    Lost(String),
    /// The warden is gone.
    #[error("talk to the warden: {0}")]
    Warden(String),
}

/// An application as it is copied into runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedApp {
    /// Its folder.
    pub folder: PathBuf,
    /// What Composer's autoloader is in it, after its commands have run.
    pub autoloader: Option<Autoloader>,
    /// What a person should know of the copies, a sentence each without its full stop: what is left out, how long it took.
    pub remarks: Vec<String>,
}

/// Why an application could not be prepared.
#[derive(Debug, Error)]
pub enum PrepareError {
    /// A folder, file or control group could not be made.
    #[error("copy the application: {0}")]
    Copy(String),
    /// A command failed.
    #[error("run `{command}` to prepare the application: {problem}")]
    Command {
        /// The program and its arguments.
        command: String,
        /// What happened, with the end of its output.
        problem: String,
    },
}

/// Why limits could not be read back.
#[derive(Debug, Error)]
#[error("read the limits back: {0}")]
pub struct ReadBackError(pub String);
