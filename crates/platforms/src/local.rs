//! The platform `local`: processes on this machine.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::geteuid;
use stampede_cgroup::{Hierarchy, QUOTA_PERIOD};
use stampede_core::{
    AddressId, AddressKind, App, Availability, Deployment, Endpoint, Finding, Fut, LaunchError, Limits, Makes, Places,
    Platform, PrepareError, Requirement, Running, Terms, UnknownPlace, with_causes,
};
use thiserror::Error;

use crate::clean::{CleanReport, clean};
use crate::custody::Custody;
use crate::folder::{Folder, SOCKETS};
use crate::message::Order;
use crate::preparation::Preparation;
use crate::running::{LocalRunning, Prepared};
use crate::user::User;
use crate::{builder, machine, port, preflight, preparation, program, template_folder, user};

/// The longest path of a unix socket, in bytes without the final zero
/// ([unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html)).
const LONGEST_SOCKET_PATH: usize = 107;

/// Where folders that are copied into runs are kept, in the state folder: units' users must get there.
const TEMPLATES: &str = "t";

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
    /// Takes the state folder into use and finishes the runs of Stampedes that were killed.
    ///
    /// # Errors
    ///
    /// When the state folder cannot be made, or is not this user's alone.
    pub fn new(config: LocalConfig) -> Result<Self, NewPlatformError> {
        own_folder(&config.state_dir)?;
        own_folder(&config.state_dir.join("r"))?;
        own_folder(&config.state_dir.join(TEMPLATES))?;
        let cleaned = clean(&config.state_dir);
        Ok(Self { config: Arc::new(config), cleaned, preparations: Mutex::default() })
    }

    /// What was left of Stampedes that were killed.
    pub fn cleaned(&self) -> &CleanReport {
        &self.cleaned
    }
}

impl Platform for LocalPlatform {
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
            let preparation = preparation::prepare(&self.config, app).await?;
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
            let built = self.build(deployment, user).await?;
            let (config, wanted, agreed) = (self.config.clone(), deployment.clone(), terms.clone());
            let prepared = tokio::task::spawn_blocking(move || prepare(&config, user, &wanted, &agreed, &built))
                .await
                .map_err(|error| LaunchError::Prepare(with_causes(&error)))??;
            let running = LocalRunning::start(prepared, deployment, terms, self.config.ready_timeout).await?;
            Ok(Box::new(running) as Box<dyn Running>)
        })
    }
}

/// Something that was built and where it belongs in the run's folder.
struct Built {
    result: PathBuf,
    makes: Makes,
    place: PathBuf,
}

impl LocalPlatform {
    async fn build(&self, deployment: &Deployment, user: Option<User>) -> Result<Vec<Built>, LaunchError> {
        let mut built = Vec::new();
        for unit in &deployment.units {
            let Some(step) = &unit.build else { continue };
            let result = match step.makes {
                Makes::Program => builder::build(step, &deployment.app, &self.config.cache_dir).await,
                Makes::Folder => template_folder::make(step, &self.config.state_dir.join(TEMPLATES), user).await,
            };
            let result = result.map_err(|problem| LaunchError::Build { unit: unit.id.clone(), problem })?;
            built.push(Built { result, makes: step.makes, place: step.output.clone() });
        }
        Ok(built)
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
    let endpoints = bind(deployment, &folder)?;
    let places = places(&folder, &endpoints)?;
    folder.copy_app(&deployment.app).map_err(|error| failed(&error))?;
    for (number, Built { result, makes, place }) in built.iter().enumerate() {
        let before = built[..number].iter().find(|other| other.result == *result);
        match (makes, before) {
            (Makes::Program, None) => folder.install(result, place),
            (Makes::Program, Some(other)) => folder.share(&other.place, place),
            (Makes::Folder, _) => folder.install_folder(result, place),
        }
        .map_err(|error| failed(&error))?;
    }
    let preparation = deployment.preparation.iter().flat_map(|preparation| &preparation.files);
    let probe = deployment.probe.iter().flat_map(|probe| &probe.files);
    for file in deployment.units.iter().flat_map(|unit| &unit.files).chain(preparation).chain(probe) {
        let path = file.path.display().to_string();
        let unknown = |error: UnknownPlace| LaunchError::Prepare(format!("{path}: {error}"));
        let text = places.resolve(&file.text).map_err(unknown)?;
        let path = places.resolve(&path).map_err(unknown)?;
        folder.write(Path::new(&path), &text).map_err(|error| failed(&error))?;
    }
    let sockets = Path::new(SOCKETS);
    for writable in deployment.units.iter().flat_map(|unit| &unit.folders).map(PathBuf::as_path).chain([sockets]) {
        folder.make_writable(writable).map_err(|error| failed(&error))?;
    }

    for written in deployment.preparation.iter().flat_map(|preparation| &preparation.folders) {
        folder.hand_over(written).map_err(|error| failed(&error))?;
    }

    if let (Some(hierarchy), Some(group)) = (&hierarchy, &custody.run().group) {
        hierarchy.create(group).map_err(|error| failed(&error))?;
        let held = |limits: &Limits| {
            let Limits { cpus, memory } = limits;
            let runtime = cpus.quota(QUOTA_PERIOD);
            stampede_cgroup::Limits { runtime, memory: memory.get(), cpus: config.server_cpus.clone() }
        };
        group.set_limits(&held(&terms.total)).map_err(|error| failed(&error))?;
        for part in &terms.parts {
            let below = group.create_child(&part.name).map_err(|error| failed(&error))?;
            if let Some(share) = &part.share {
                below.set_limits(&held(share)).map_err(|error| failed(&error))?;
            }
        }
    }
    let socket = custody.start_warden(&config.warden).map_err(|error| LaunchError::Warden(error.to_string()))?;
    let begin = Order::Begin { run: custody.run().clone(), user, cpus: config.server_cpus.clone() };
    Ok(Prepared { custody, socket, begin, folder, places, endpoints })
}

/// Gives each symbolic address a real one.
fn bind(deployment: &Deployment, folder: &Folder) -> Result<BTreeMap<AddressId, Endpoint>, LaunchError> {
    let mut endpoints = BTreeMap::new();
    for address in &deployment.addresses {
        let endpoint = match address.kind {
            AddressKind::Tcp => {
                Endpoint::Tcp(port::free().map_err(|error| LaunchError::Prepare(format!("find a free port: {error}")))?)
            }
            AddressKind::UnixSocket => {
                let path = folder.socket(address.id.as_str());
                if path.as_os_str().len() > LONGEST_SOCKET_PATH {
                    return Err(LaunchError::Prepare(format!(
                        "place the socket {}: its path is longer than {LONGEST_SOCKET_PATH} bytes; use a shorter \
                         state folder",
                        path.display()
                    )));
                }
                Endpoint::Unix(path)
            }
        };
        endpoints.insert(address.id.clone(), endpoint);
    }
    Ok(endpoints)
}

fn places(folder: &Folder, endpoints: &BTreeMap<AddressId, Endpoint>) -> Result<Places, LaunchError> {
    let text = |path: &Path| {
        path.to_str()
            .map(str::to_owned)
            .ok_or_else(|| LaunchError::Prepare(format!("name {}: it is not UTF-8", path.display())))
    };
    let mut places = Places::new();
    places.insert("run", text(folder.path())?);
    places.insert("app", text(&folder.app())?);
    // The standard library seeds its hash maps from the kernel.
    places.insert("secret", format!("{:016x}", RandomState::new().build_hasher().finish()));
    for (id, endpoint) in endpoints {
        match endpoint {
            Endpoint::Tcp(address) => {
                places.insert(id.as_str(), address.to_string());
                places.insert(format!("{id}.host"), address.ip().to_string());
                places.insert(format!("{id}.port"), address.port().to_string());
            }
            Endpoint::Unix(path) => places.insert(id.as_str(), text(path)?),
        }
    }
    Ok(places)
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
