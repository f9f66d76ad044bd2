//! The engine: whether it is there and can be used, and how all that a run has in it is removed.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::future::Future;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bollard::models::{SystemInfo, SystemInfoCgroupDriverEnum};
use bollard::query_parameters::{
    ListContainersOptions, ListNetworksOptions, ListVolumesOptions, RemoveContainerOptions, RemoveVolumeOptions,
};
use bollard::{API_DEFAULT_VERSION, Docker};
use serde::{Deserialize, Serialize};

use super::context;
use super::error::{BESIDE, DockerError, OLDEST, RUN};
use super::rootless::{self, Holding};
use super::view::View;
use super::whereabouts::Signs;

/// How long the engine may take until it begins to answer, in seconds.
const PATIENCE: u64 = 60;

/// How long to wait before what is being removed is looked at again.
const PAUSE: Duration = Duration::from_millis(5);

/// An engine on this machine that takes orders from this user.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub(crate) docker: Docker,
    pub(crate) socket: PathBuf,
    /// Whether it tells how a program ended that nobody is attached to. Podman does not.
    pub(crate) tells_ends: bool,
    /// Whether it holds containers to limits.
    pub(crate) holding: Holding,
}

/// What tells an engine from others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// Whether it is Podman's service.
    pub(crate) is_podman: bool,
    /// Whether its control groups are units of systemd.
    pub(crate) is_of_systemd: bool,
}

/// The socket of the engine that is meant.
///
/// # Errors
///
/// When it is not reached over a unix socket.
pub(crate) fn socket() -> Result<PathBuf, DockerError> {
    context::socket(|name| env::var(name).ok())
}

impl Engine {
    /// Connects to an engine and agrees with it on a version of its interface.
    pub(crate) async fn connect(socket: &Path) -> Result<Self, DockerError> {
        // Asked first, since the client tells reasons apart by their words alone.
        UnixStream::connect(socket).map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied => DockerError::NotAllowed { socket: socket.to_owned(), source },
            _ => DockerError::NotThere { socket: socket.to_owned(), source },
        })?;
        let docker = Docker::connect_with_unix(&socket.to_string_lossy(), PATIENCE, API_DEFAULT_VERSION)
            .map_err(api("connect to the engine"))?;
        let docker = docker.negotiate_version().await.map_err(api("agree with the engine on a version"))?;
        if docker.client_version() < OLDEST {
            return Err(DockerError::TooOld(docker.client_version().to_string()));
        }
        Ok(Self { docker, socket: socket.to_owned(), tells_ends: true, holding: Holding::Limits })
    }

    /// Connects to the same engine once more.
    pub(crate) async fn again(&self) -> Result<Self, DockerError> {
        let Self { docker: _, socket, tells_ends, holding } = self;
        Ok(Self { tells_ends: *tells_ends, holding: *holding, ..Self::connect(socket).await? })
    }

    /// What tells it from other engines.
    pub(crate) async fn manner(&self) -> Result<Manner, DockerError> {
        let info = self.docker.info().await.map_err(api("ask the engine what it is"))?;
        // <https://docs.podman.io/en/latest/_static/api.html#tag/system-(compat)/operation/SystemVersion>
        let version = self.docker.version().await.map_err(api("ask the engine for its version"))?;
        let is_podman = version.components.iter().flatten().any(|part| part.name.contains("Podman"));
        Ok(Manner { is_podman, is_of_systemd: info.cgroup_driver == Some(SystemInfoCgroupDriverEnum::SYSTEMD) })
    }

    /// What the engine says of itself, where it is one whose containers this process can measure, and whether it holds them to limits.
    pub(crate) async fn examine(&self) -> Result<(SystemInfo, Holding), DockerError> {
        let info = self.docker.info().await.map_err(api("ask the engine what it is"))?;
        let is_beside = View::of_this_process().is_beside();
        let signs = Signs::of(&self.socket, &info).await;
        if !is_beside && signs.listener.is_none() {
            return Err(DockerError::Elsewhere);
        }
        let is_within = rootless::is_root_of_a_namespace();
        let is_rootless = is_rootless(&info);
        if is_within || is_rootless {
            let is_podman = self.manner().await?.is_podman;
            if is_rootless || is_podman {
                let holding = rootless::judge(&info, is_podman, is_within)?;
                return Ok((info, holding));
            }
        }
        if !is_beside && !signs.are_of_here() {
            return Err(DockerError::Elsewhere);
        }
        judge(&info)?;
        Ok((info, Holding::Limits))
    }
}

fn has_option(info: &SystemInfo, name: &str) -> bool {
    let options = info.security_options.as_deref().unwrap_or_default();
    options.iter().any(|option| option.split(',').any(|part| part == name))
}

/// Whether an engine runs without root. Podman does not say so: its files are that user's then, as others see them.
fn is_rootless(info: &SystemInfo) -> bool {
    let folder = info.docker_root_dir.as_ref().and_then(|folder| fs::metadata(folder).ok());
    has_option(info, "name=rootless") || folder.is_some_and(|folder| folder.uid() != 0)
}

/// Refuses engines whose containers cannot be held to limits or not be read from here.
fn judge(info: &SystemInfo) -> Result<(), DockerError> {
    let reason = if has_option(info, "name=userns") {
        "it gives containers other users' numbers (userns-remap), which cannot read what is prepared for them"
    } else if info.cpu_cfs_quota == Some(false) || info.cpu_cfs_period == Some(false) {
        "its kernel cannot limit CPU time"
    } else if info.memory_limit == Some(false) {
        "its kernel cannot limit memory"
    } else {
        return Ok(());
    };
    Err(DockerError::Unsuitable(reason))
}

/// Where a run's containers and networks are: all that has its label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Containers {
    pub(crate) socket: PathBuf,
    pub(crate) label: String,
    /// The label of the Stampede beside the engine whose run it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) beside: Option<String>,
}

impl Containers {
    /// The labels of what belongs to the run.
    pub(crate) fn labels(&self) -> HashMap<String, String> {
        let beside = self.beside.iter().map(|label| (BESIDE.to_owned(), label.clone()));
        beside.chain([(RUN.to_owned(), self.label.clone())]).collect()
    }

    /// What the run's network and its first container are called.
    pub(crate) fn name(&self) -> String {
        format!("stampede-{}", self.label)
    }

    /// What the group is called that holds several containers: without the dashes by which systemd takes it for one within others.
    pub(crate) fn group_name(&self) -> String {
        format!("stampede_{}", self.label.replace('-', "_"))
    }

    /// That group as an engine is told of it. <https://docs.docker.com/reference/cli/dockerd/#default-cgroup-parent>
    pub(crate) fn parent(&self, is_of_systemd: bool) -> String {
        let name = self.group_name();
        if is_of_systemd { format!("{name}.slice") } else { format!("/{name}") }
    }

    /// Removes the group that held several containers, where there was one: it is empty, or stays.
    fn remove_group(&self) {
        const ROOT: &str = "/sys/fs/cgroup";
        let below = fs::read_dir(ROOT).into_iter().flatten().flatten().map(|entry| entry.path());
        for folder in below.chain([PathBuf::from(ROOT)]) {
            let _ = fs::remove_dir(folder.join(self.group_name()));
        }
    }

    /// Removes all that belongs to the run, whatever it does. What is gone already is no failure.
    pub(crate) fn remove(&self, deadline: Instant) -> Result<(), DockerError> {
        block_on(async {
            let engine = Engine::connect(&self.socket).await?;
            engine.remove_labelled(&format!("{RUN}={}", self.label), deadline).await?;
            self.remove_group();
            Ok(())
        })
    }
}

impl Engine {
    /// Removes all that has this label (`name=value`), whatever it does.
    pub(crate) async fn remove_labelled(&self, label: &str, deadline: Instant) -> Result<(), DockerError> {
        while !self.remove_once(label).await? {
            if Instant::now() >= deadline {
                return Err(DockerError::Left(label.to_owned()));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Whether nothing is left; otherwise asks for its removal, which may be under way already.
    async fn remove_once(&self, label: &str) -> Result<bool, DockerError> {
        let docker = &self.docker;
        let filters = Some(HashMap::from([("label".to_owned(), vec![label.to_owned()])]));
        let containers = ListContainersOptions { all: true, filters: filters.clone(), ..Default::default() };
        let containers = docker.list_containers(Some(containers)).await.map_err(api("list the run's containers"))?;
        for id in containers.iter().filter_map(|container| container.id.as_deref()) {
            let options = RemoveContainerOptions { force: true, v: true, ..Default::default() };
            unless_gone(docker.remove_container(id, Some(options)).await).map_err(api("remove a container"))?;
        }
        let volumes = ListVolumesOptions { filters: filters.clone() };
        let volumes = docker.list_volumes(Some(volumes)).await.map_err(api("list the run's volumes"))?;
        let volumes = volumes.volumes.unwrap_or_default();
        for volume in volumes.iter().filter(|_| containers.is_empty()) {
            let removed = docker.remove_volume(&volume.name, None::<RemoveVolumeOptions>).await;
            unless_gone(removed).map_err(api("remove a volume"))?;
        }
        let networks = ListNetworksOptions { filters };
        let networks = docker.list_networks(Some(networks)).await.map_err(api("list the run's networks"))?;
        // A network goes when nothing is in it any more.
        for id in networks.iter().filter(|_| containers.is_empty()).filter_map(|network| network.id.as_deref()) {
            unless_gone(docker.remove_network(id).await).map_err(api("remove a network"))?;
        }
        Ok(containers.is_empty() && volumes.is_empty() && networks.is_empty())
    }
}

/// Not found; a removal that is under way already; and a network that is still in use, as the engine answers.
const GOING: [u16; 3] = [404, 409, 403];

fn unless_gone(removed: Result<(), bollard::errors::Error>) -> Result<(), bollard::errors::Error> {
    match removed {
        Err(bollard::errors::Error::DockerResponseServerError { status_code, .. }) if GOING.contains(&status_code) => {
            Ok(())
        }
        removed => removed,
    }
}

/// Waits for work of its own on a thread of its own: also where a runtime runs already, and from where nothing can be awaited.
pub(crate) fn block_on<T: Send>(work: impl Future<Output = Result<T, DockerError>> + Send) -> Result<T, DockerError> {
    let run = || {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(DockerError::Thread)?;
        runtime.block_on(work)
    };
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Says what the engine was asked for when it refused.
pub(crate) fn api(action: &'static str) -> impl FnOnce(bollard::errors::Error) -> DockerError {
    move |source| DockerError::Api { action, source: Box::new(source) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixListener;

    use super::*;

    /// What comes of an engine that gives these answers, one after the other, each on a connection of its own.
    fn with_answers(answers: &[&str]) -> Result<(), DockerError> {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("docker.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| block_on(async { Engine::connect(&socket).await?.examine().await.map(drop) }));
            // The first connection only sees whether somebody is there.
            drop(listener.accept().unwrap());
            for answer in answers {
                let mut request = [0; 4096];
                // Some connections only see who is there.
                let mut connection = loop {
                    let (mut connection, _) = listener.accept().unwrap();
                    if connection.read(&mut request).unwrap() > 0 {
                        break connection;
                    }
                };
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
                write!(connection, "{head}Content-Length: {}\r\n\r\n{answer}", answer.len()).unwrap();
            }
            asked.join().unwrap()
        })
    }

    #[test]
    fn an_engine_is_asked_for_its_version_and_for_what_it_is() {
        assert!(with_answers(&[r#"{"ApiVersion": "1.41"}"#, "{}"]).is_ok());
        let old = with_answers(&[r#"{"ApiVersion": "1.40"}"#]).unwrap_err();
        assert!(old.to_string().contains("version 1.40 of its interface, and 1.41 is needed"), "{old}");
        let rootless =
            with_answers(&[r#"{"ApiVersion": "1.54"}"#, r#"{"SecurityOptions": ["name=rootless"]}"#, "{}", "{}"]);
        assert!(matches!(rootless, Err(DockerError::Rootless(_))), "{rootless:?}");
        let nobody = block_on(async { Engine::connect(Path::new("/nonexistent")).await.map(drop) }).unwrap_err();
        assert!(matches!(nobody, DockerError::NotThere { .. }), "{nobody}");
    }

    #[test]
    fn engines_whose_containers_cannot_be_measured_are_refused() {
        let with = |option: &str| SystemInfo { security_options: Some(vec![option.to_owned()]), ..Default::default() };
        for (info, refused) in [
            (SystemInfo::default(), None),
            (with("name=seccomp,profile=default"), None),
            (with("name=userns"), Some("userns-remap")),
            (SystemInfo { memory_limit: Some(false), ..Default::default() }, Some("limit memory")),
            (SystemInfo { cpu_cfs_quota: Some(false), ..Default::default() }, Some("limit CPU")),
        ] {
            match (judge(&info), refused) {
                (Ok(()), None) => {}
                (Err(error), Some(word)) => assert!(error.to_string().contains(word), "{error}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
