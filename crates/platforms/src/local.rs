//! The platform `local`: processes on this machine.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::geteuid;
use stampede_cgroup::Hierarchy;
use stampede_core::{App, Availability, Deployment, Finding, Fut, Limits, Requirement, Terms, with_causes};
use stampede_seam::{LaunchError, Platform, PrepareError, Running, Vantage};
use thiserror::Error;

use crate::clean::{CleanReport, clean};
use crate::custody::Custody;
use crate::folder::Folder;
use crate::group::{divide, told};
use crate::layout::{self, Built};
use crate::message::Order;
use crate::preparation::Preparation;
use crate::running::{LocalRunning, Prepared};
use crate::template_folder::Here;
use crate::user::User;
use crate::{machine, port, preflight, preparation, program, user};

/// What the platform is told by the program that uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalConfig {
    /// Program and arguments that call [`crate::warden::run`].
    pub warden: Vec<OsString>,
    /// Where runs and leases are kept: a short path on a disk, see [`default_state_dir`].
    pub state_dir: PathBuf,
    /// Where builds are kept.
    pub cache_dir: PathBuf,
    /// Processors that deployments run on.
    pub server_cpus: Vec<u32>,
    /// How long a unit may take until something listens on its address.
    pub ready_timeout: Duration,
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

/// The folder for runs and leases of this user: on a disk, since page cache and memory would be the same thing elsewhere;
/// with a short path, since sockets lie in it; and not in a home folder, since other users' servers must read it.
pub fn default_state_dir() -> PathBuf {
    PathBuf::from(format!("/var/tmp/stampede-{}", geteuid().as_raw()))
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

    fn detect<'a>(&'a self, need: &'a Requirement) -> Fut<'a, Availability> {
        Box::pin(program::detect(need))
    }

    fn preflight<'a>(&'a self, limits: &'a Limits) -> Fut<'a, Vec<Finding>> {
        Box::pin(async move {
            let unusable = Hierarchy::detect(Path::new("/")).err();
            preflight::judge(limits, self.config.server_cpus.len(), machine::memory(), unusable.as_ref())
        })
    }

    fn prepare<'a>(&'a self, app: &'a App) -> Fut<'a, Result<PathBuf, PrepareError>> {
        Box::pin(async move {
            let preparation = preparation::prepare(&self.config, app, &self.vantage).await?;
            let folder = preparation.folder();
            self.preparations.lock().unwrap_or_else(PoisonError::into_inner).push(preparation);
            Ok(folder)
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
    let mut custody = Custody::begin(&config.state_dir, hierarchy.as_ref())
        .map_err(|error| LaunchError::Prepare(format!("write a lease: {error}")))?;

    let folder = Folder::create(&custody.run().folder, user).map_err(|error| failed(&error))?;
    let endpoints = layout::bind(deployment, &folder, |_| port::free())?;
    let places = layout::places(&folder, &endpoints)?;
    layout::fill(&folder, deployment, &places, built)?;

    if let (Some(hierarchy), Some(group)) = (&hierarchy, &custody.run().group) {
        hierarchy.create(group).map_err(|error| failed(&error))?;
        group.set_limits(&told(&terms.total, &config.server_cpus)).map_err(|error| failed(&error))?;
        divide(group, &terms.parts, &config.server_cpus).map_err(|error| failed(&error))?;
    }
    let socket = custody.start_warden(&config.warden).map_err(|error| LaunchError::Warden(error.to_string()))?;
    let begin = Order::Begin { run: custody.run().clone(), user, cpus: config.server_cpus.clone() };
    Ok(Prepared { custody, socket, begin, folder, places, endpoints })
}

/// Takes a state folder into use and finishes the runs of Stampedes that were killed.
pub(crate) fn take_state(state_dir: &Path) -> Result<CleanReport, NewPlatformError> {
    own_folder(state_dir)?;
    own_folder(&state_dir.join("r"))?;
    own_folder(&state_dir.join(layout::TEMPLATES))?;
    Ok(clean(state_dir))
}

/// Makes a folder that only this user may change, or sees that an existing one is such: it lies where every user may make
/// folders.
fn own_folder(path: &Path) -> Result<(), NewPlatformError> {
    let failed = |source: io::Error| NewPlatformError::Folder { path: path.to_owned(), source };
    match fs::DirBuilder::new().mode(0o755).create(path) {
        Ok(()) => {
            // Servers run as another user and must get in whatever the umask is.
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(path, mode).map_err(failed)?;
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    if is_ours(path).map_err(failed)? { Ok(()) } else { Err(NewPlatformError::NotOurs(path.to_owned())) }
}

/// Whether a path is a folder that this user owns and only this user may change.
pub(crate) fn is_ours(path: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    Ok(found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0)
}

/// Why the platform cannot be used.
#[derive(Debug, Error)]
pub enum NewPlatformError {
    /// The state folder cannot be made.
    #[error("make the folder {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Someone else could put files there.
    #[error("use {}: it is not a folder that this user owns and only this user may change", .0.display())]
    NotOurs(PathBuf),
}
