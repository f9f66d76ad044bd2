//! The platform `local`: processes on this machine.

pub(crate) mod message;
mod port;
mod preparation;
mod running;
mod spawn;
pub mod warden;

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stampede_cgroup::Hierarchy;
use stampede_core::{
    App, Availability, Deployment, Finding, Fut, Limits, MakersImage, Requirement, Terms, with_causes,
};
use stampede_seam::{LaunchError, Platform, PrepareError, PreparedApp, Running, Vantage};

use self::message::Order;
use self::preparation::Preparation;
use self::running::{LocalRunning, Prepared};
use crate::detect::detect;
use crate::layout::app_copy;
use crate::layout::folder::Folder;
use crate::layout::template_folder::Here;
use crate::layout::{self, Built};
use crate::machine::user::User;
use crate::machine::{self, preflight, user};
use crate::runs::clean::CleanReport;
use crate::runs::group::{divide, told};
use crate::runs::process_owner::ProcessOwner;
use crate::runs::state_dir::NewPlatformError;
use crate::runs::take_state;

/// What the platform is told by the program that uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalConfig {
    /// Program and arguments that call [`crate::warden::run`].
    pub warden: Vec<OsString>,
    /// Where runs and leases are kept: a short path on a disk, see [`crate::default_state_dir`].
    pub state_dir: PathBuf,
    /// Where builds are kept.
    pub cache_dir: PathBuf,
    /// Processors that deployments run on.
    pub server_cpus: Vec<u32>,
    /// The address on which deployments listen.
    pub listen: IpAddr,
    /// How long a unit may take until something listens on its address.
    pub ready_timeout: Duration,
    /// Whether programs beside a deployment wait until it has what its limit grants.
    pub goes_first: bool,
}

/// Processes on this machine, in one control group a run, each run kept by a warden.
#[derive(Debug)]
pub struct LocalPlatform {
    config: Arc<LocalConfig>,
    vantage: Arc<dyn Vantage>,
    cleaned: CleanReport,
    /// Kept for their folders.
    preparations: Mutex<Vec<Preparation>>,
}

impl LocalPlatform {
    /// Takes the state folder into use and finishes the runs of Stampedes that were killed. What is launched is seen from this
    /// vantage, of this machine.
    ///
    /// # Errors
    ///
    /// When the state folder cannot be made, or is not this user's alone.
    pub fn new(config: LocalConfig, vantage: Arc<dyn Vantage>) -> Result<Self, NewPlatformError> {
        let cleaned = take_state(&config.state_dir)?;
        Ok(Self { config: Arc::new(config), vantage, cleaned, preparations: Mutex::default() })
    }

    /// What was left of Stampedes that were killed.
    pub fn cleaned(&self) -> &CleanReport {
        &self.cleaned
    }
}

impl Platform for LocalPlatform {
    fn vantage(&self) -> &Arc<dyn Vantage> {
        &self.vantage
    }

    fn id(&self) -> &'static str {
        "local"
    }

    fn detect<'a>(&'a self, need: &'a Requirement, _image: Option<&'a MakersImage>) -> Fut<'a, Availability> {
        Box::pin(detect(need))
    }

    fn preflight<'a>(&'a self, limits: &'a Limits) -> Fut<'a, Vec<Finding>> {
        Box::pin(async move {
            let unusable = Hierarchy::detect(Path::new("/")).err();
            preflight::judge(limits, self.config.server_cpus.len(), machine::memory(), unusable.as_ref())
        })
    }

    fn prepare<'a>(&'a self, app: &'a App) -> Fut<'a, Result<PreparedApp, PrepareError>> {
        Box::pin(async move {
            let survey = app_copy::survey(app).await?;
            let mut remarks: Vec<String> =
                survey.left_out().map(|what| format!("not copied: {what}")).into_iter().collect();
            let user = user::for_units().map_err(|error| PrepareError::Copy(with_causes(&error)))?;
            let shared = survey.is_shared(user).then_some(&survey);
            if app.prepare.is_empty() && shared.is_none() {
                return Ok(app_copy::prepared(app.source.clone(), remarks));
            }
            let preparation = preparation::prepare(&self.config, app, shared, &self.vantage).await?;
            let folder = preparation.folder();
            remarks.extend(preparation.remark());
            self.preparations.lock().unwrap_or_else(PoisonError::into_inner).push(preparation);
            Ok(app_copy::prepared(folder, remarks))
        })
    }

    fn launch<'a>(
        &'a self,
        deployment: &'a Deployment,
        terms: &'a Terms,
    ) -> Fut<'a, Result<Box<dyn Running>, LaunchError>> {
        Box::pin(async move {
            let user = user::for_units().map_err(|error| LaunchError::Prepare(with_causes(&error)))?;
            let LocalConfig { cache_dir, state_dir, .. } = &*self.config;
            let built = layout::build(deployment, cache_dir, state_dir, user, &Here(user)).await?;
            let (config, wanted, agreed) = (self.config.clone(), deployment.clone(), terms.clone());
            let prepared = tokio::task::spawn_blocking(move || prepare(&config, user, &wanted, &agreed, &built))
                .await
                .map_err(|error| LaunchError::Prepare(with_causes(&error)))??;
            let running =
                LocalRunning::start(prepared, deployment, terms, self.config.ready_timeout, Arc::clone(&self.vantage))
                    .await?;
            Ok(Box::new(running) as Box<dyn Running>)
        })
    }
}

/// Makes the lease, the run's folder with all files, the control group with its limits, and the warden. What was made
/// before a failure is removed again.
fn prepare(
    config: &LocalConfig,
    user: Option<User>,
    deployment: &Deployment,
    terms: &Terms,
    built: &[Built],
) -> Result<Prepared, LaunchError> {
    let failed = |error: &dyn std::error::Error| LaunchError::Prepare(with_causes(error));
    let hierarchy = Hierarchy::detect(Path::new("/")).ok();
    let mut owner = ProcessOwner::begin(&config.state_dir, hierarchy.as_ref())
        .map_err(|error| LaunchError::Prepare(format!("write a lease: {error}")))?;

    let folder = Folder::create(&owner.run().folder, user).map_err(|error| failed(&error))?;
    let endpoints = layout::bind(deployment, &folder, |_| port::free(config.listen))?;
    let places = layout::places(&folder, &endpoints)?;
    layout::fill(&folder, deployment, &places, built)?;

    if let (Some(hierarchy), Some(group)) = (&hierarchy, &owner.run().group) {
        hierarchy.create(group).map_err(|error| failed(&error))?;
        if config.goes_first {
            group.weigh().map_err(|error| failed(&error))?;
        }
        group.set_limits(&told(&terms.total, &config.server_cpus)).map_err(|error| failed(&error))?;
        divide(group, &terms.parts, &config.server_cpus).map_err(|error| failed(&error))?;
    }
    let socket = owner.start_warden(&config.warden).map_err(|error| LaunchError::Warden(error.to_string()))?;
    let begin = Order::Begin { run: owner.run().clone(), user, cpus: config.server_cpus.clone() };
    Ok(Prepared { owner, socket, begin, folder, places, endpoints })
}
