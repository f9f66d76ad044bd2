//! One container of a run.
//!
//! Its first process reads from Stampede until nothing comes any more. So when Stampede is gone, however it went, the container
//! ends with all that runs in it, and the engine removes it; only its network stays until the next start or `stampede clean`.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use bollard::Docker;
use bollard::container::AttachContainerResults;
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, HostConfig, HostConfigLogConfig, NetworkCreateRequest,
    ResourcesUlimits,
};
use bollard::query_parameters::{AttachContainerOptions, CreateContainerOptions};
use rustix::process::{Resource, getegid, geteuid, getrlimit};
use stampede_cgroup::{FileError, Group, QUOTA_PERIOD, V1Folders};
use stampede_core::{Limits, Part, with_causes};

use super::engine::{Containers, Engine, api, block_on};
use super::error::DockerError;
use super::inside::Inside;
use super::rootless::Holding;
use super::view::View;
use crate::layout::folder::Folder;
use crate::machine::user::User;
use crate::runs::group::divide;
use crate::runs::process_owner::ProcessOwner;

/// Its first process: it does nothing until its standard input is closed. All images have it.
const FIRST: &str = "cat";

/// What a container is to be.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) image: String,
    /// Who runs in it.
    pub(crate) user: Option<User>,
    /// What of this machine is seen in it beside the folder of the run.
    pub(crate) shown: Option<Shown>,
    pub(crate) purpose: Purpose,
}

/// What a container is for.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// A look around, or a folder that is shown to it: no limits, no network and no folder of the run.
    Aside,
    /// The preparation of an application in the folder of the run, without limits and on the machine's own network.
    Preparation,
    /// A deployment: what it may use, and on which processors; on a network of the run's own.
    Service(Limits, Vec<u32>),
}

/// Something of this machine that is seen in a container.
#[derive(Clone, Debug)]
pub(crate) enum Shown {
    /// A program, at this place.
    Program(PathBuf, &'static str),
    /// A folder to write to, at its own place.
    Folder(PathBuf),
}

/// The group of the container's first process, where parts have groups of their own beside it.
const FIRST_GROUP: &str = "stampede-first";

/// A container with its network, of a run of its own. All of it goes when this is dropped.
pub(crate) struct Sandbox {
    pub(crate) inside: Inside,
    /// The folder of the run, seen at the same place inside, where it was asked for.
    pub(crate) folder: Option<Folder>,
    /// Its address on the run's network.
    pub(crate) address: Option<IpAddr>,
    /// The control group that holds all of its processes, where the engine holds it to limits.
    pub(crate) group: Option<Group>,
    // The line goes first: the container ends when it is closed, and the owner sees to the rest. It is kept and never used; the
    // lock is for the compiler.
    _line: Mutex<AttachContainerResults>,
    owner: ProcessOwner,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inside, folder, address, group, _line: _, owner } = self;
        f.debug_struct("Sandbox")
            .field("inside", inside)
            .field("folder", folder)
            .field("address", address)
            .field("group", group)
            .field("owner", owner)
            .finish_non_exhaustive()
    }
}

/// A container that was made and does not run yet.
struct Made {
    container: String,
    folder: Option<Folder>,
    owner: ProcessOwner,
}

impl Sandbox {
    /// Makes a container and starts its first process.
    pub(crate) async fn open(engine: &Engine, state_dir: &Path, order: Order) -> Result<Self, DockerError> {
        let (socket, state_dir) = (engine.socket.clone(), state_dir.to_owned());
        // On a thread that goes on when this future is dropped: what the engine is making then is removed afterwards.
        let made = tokio::task::spawn_blocking(move || make(socket, &state_dir, &order));
        let Made { container, folder, owner } =
            made.await.map_err(|error| DockerError::Prepare(with_causes(&error)))??;
        let docker = &engine.docker;
        let attached = AttachContainerOptions { stdin: true, stream: true, ..Default::default() };
        let line = docker.attach_container(&container, Some(attached)).await;
        let line = Mutex::new(line.map_err(api("attach to a container"))?);
        docker.start_container(&container, None).await.map_err(api("start a container"))?;
        let told = docker.inspect_container(&container, None).await.map_err(api("inspect a container"))?;
        let (_, group) = group(&told, &container, engine.holding)?;
        Ok(Self {
            inside: Inside { engine: engine.clone(), container },
            folder,
            address: address(&told),
            group,
            _line: line,
            owner,
        })
    }

    /// Makes the control groups of parts, if there are any, below the container's. Only root can.
    pub(crate) fn divide(&self, parts: &[Part], cpus: &[u32]) -> Result<(), FileError> {
        if parts.is_empty() {
            return Ok(());
        }
        let Some(group) = &self.group else { return Ok(()) };
        group.vacate(FIRST_GROUP)?;
        divide(group, parts, cpus)
    }

    /// Ends and removes it all.
    pub(crate) async fn close(self) -> Result<(), String> {
        let Self { _line: line, mut owner, .. } = self;
        drop(line);
        let finished = tokio::task::spawn_blocking(move || owner.finish()).await;
        finished.unwrap_or_else(|error| Err(with_causes(&error)))
    }
}

/// Writes the lease of a new run that has containers. Nothing else is made yet.
pub(super) fn lease(socket: &Path, state_dir: &Path) -> Result<(ProcessOwner, Containers), DockerError> {
    let failed = |error: &dyn std::error::Error| DockerError::Prepare(with_causes(error));
    let mut owner = ProcessOwner::begin(state_dir, None).map_err(|error| failed(&error))?;
    // Another user's Stampede may have given the same name to a run of its own: the standard library's seed differs.
    let label = format!("{}-{:08x}", owner.run().name, RandomState::new().build_hasher().finish() as u32);
    let containers = Containers { socket: socket.to_owned(), label, beside: View::of_this_process().label() };
    owner.hold(containers.clone()).map_err(|error| failed(&error))?;
    Ok((owner, containers))
}

/// Makes a network for a run and gives its name, which is also that of the run's container.
pub(super) async fn make_network(docker: &Docker, containers: &Containers) -> Result<String, DockerError> {
    let name = containers.name();
    let network = NetworkCreateRequest { name: name.clone(), labels: Some(containers.labels()), ..Default::default() };
    docker.create_network(network).await.map_err(api("make a network"))?;
    Ok(name)
}

/// Writes the lease, makes the run's folder and network and the container. What was made before a failure is removed again.
fn make(socket: PathBuf, state_dir: &Path, order: &Order) -> Result<Made, DockerError> {
    let failed = |error: &dyn std::error::Error| DockerError::Prepare(with_causes(error));
    let (owner, containers) = lease(&socket, state_dir)?;
    let folder = match &order.purpose {
        Purpose::Aside => None,
        Purpose::Preparation | Purpose::Service(..) => {
            Some(Folder::create(&owner.run().folder, order.user).map_err(|error| failed(&error))?)
        }
    };
    let container = block_on(async {
        let docker = Engine::connect(&socket).await?.docker;
        let name = match order.purpose {
            Purpose::Service(..) => make_network(&docker, &containers).await?,
            Purpose::Aside | Purpose::Preparation => containers.name(),
        };
        let body = body(order, &containers, &name, folder.as_ref().map(Folder::path), &View::of_this_process())?;
        let named = CreateContainerOptions { name: Some(name), ..Default::default() };
        Ok(docker.create_container(Some(named), body).await.map_err(api("make a container"))?.id)
    })?;
    Ok(Made { container, folder, owner })
}

/// As many open files as this process may have.
pub(super) fn files_limit() -> Option<Vec<ResourcesUlimits>> {
    let files = getrlimit(Resource::Nofile).maximum.and_then(|most| i64::try_from(most).ok());
    files.map(|files| vec![ResourcesUlimits { name: Some("nofile".to_owned()), soft: Some(files), hard: Some(files) }])
}

/// The container that is ordered, as the engine is told.
fn body(
    order: &Order,
    containers: &Containers,
    network: &str,
    folder: Option<&Path>,
    view: &View,
) -> Result<ContainerCreateBody, DockerError> {
    let Order { image, user, shown, purpose } = order;
    // At the same place, so that a path means the same inside and outside.
    let at_its_place = |folder: &Path| Ok(format!("{}:{}", view.source(folder)?.display(), folder.display()));
    let shown = shown.as_ref().map(|shown| match shown {
        Shown::Program(path, place) => Ok(format!("{}:{place}:ro", view.source(path)?.display())),
        Shown::Folder(path) => at_its_place(path),
    });
    let binds: Result<Vec<String>, DockerError> = shown.into_iter().chain(folder.map(at_its_place)).collect();
    let common = HostConfig {
        binds: Some(binds?),
        auto_remove: Some(true),
        // Reaps what its programs leave behind.
        init: Some(true),
        log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
        ulimits: files_limit(),
        ..Default::default()
    };
    let (network, host) = match purpose {
        Purpose::Aside => ("none", common),
        Purpose::Preparation => ("host", common),
        Purpose::Service(limits, cpus) => (network, limited(common, limits, cpus)),
    };
    let host = HostConfig { network_mode: Some(network.to_owned()), ..host };
    let (uid, gid) = match user {
        Some(User { uid, gid }) => (*uid, *gid),
        None => (geteuid().as_raw(), getegid().as_raw()),
    };
    Ok(ContainerCreateBody {
        image: Some(image.clone()),
        user: Some(format!("{uid}:{gid}")),
        entrypoint: Some(Vec::new()),
        cmd: Some(vec![FIRST.to_owned()]),
        labels: Some(containers.labels()),
        open_stdin: Some(true),
        stdin_once: Some(true),
        attach_stdin: Some(true),
        host_config: Some(host),
        ..Default::default()
    })
}

/// The largest weight against other containers
/// ([`--cpu-shares`](https://docs.docker.com/engine/containers/resource_constraints/#configure-the-default-cfs-scheduler)).
const LARGEST_SHARES: i64 = 262_144;

/// Limits as the engine is told: a quota in each of the kernel's periods, and memory without swap.
/// <https://docs.docker.com/engine/containers/resource_constraints/>
pub(super) fn limited(host: HostConfig, limits: &Limits, cpus: &[u32]) -> HostConfig {
    let Limits { cpus: share, memory } = limits;
    let microseconds = |time: Duration| i64::try_from(time.as_micros()).ok();
    let memory = i64::try_from(memory.get()).ok();
    HostConfig {
        cpu_period: microseconds(QUOTA_PERIOD),
        cpu_quota: microseconds(share.quota(QUOTA_PERIOD)),
        // As the local platform weighs its groups: neighbours wait for the deployment.
        cpu_shares: Some(LARGEST_SHARES),
        cpuset_cpus: Some(cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
        memory,
        // Memory and swap together.
        memory_swap: memory,
        // Shared memory is within the limit, as it is on the machine; the engine's own 64 MiB are less than databases may need.
        shm_size: memory,
        ..host
    }
}

/// The first process of a container, and the control group of all of them. Only one that names the container is taken for it: where the engine runs on
/// another machine, the number is that of a process of this one, if of any. An engine that holds nothing to limits has no group for it.
pub(super) fn group(
    told: &ContainerInspectResponse,
    container: &str,
    holding: Holding,
) -> Result<(u32, Option<Group>), DockerError> {
    let pid = told.state.as_ref().and_then(|state| u32::try_from(state.pid?).ok()).filter(|pid| *pid > 0);
    let pid = pid.ok_or(DockerError::Program {
        program: FIRST.to_owned(),
        problem: told.state.as_ref().and_then(|state| state.error.clone()).unwrap_or_default(),
    })?;
    if holding == Holding::Nothing {
        return Ok((pid, None));
    }
    let group = Group::of_process(Path::new("/"), pid).map_err(|_| DockerError::Elsewhere)?;
    // Its name is the container's, or `docker-ID.scope` under systemd.
    let names = |folder: &Path| folder.file_name().is_some_and(|name| name.to_string_lossy().contains(container));
    let group = match group {
        // Where the engine does not use a hierarchy, its containers are in somebody else's group of it.
        Group::V1(V1Folders { cpu, cpuacct, memory, cpuset, freezer, tracking }) => Group::V1(V1Folders {
            cpu,
            cpuacct,
            memory,
            cpuset: cpuset.filter(|folder| names(folder)),
            freezer: freezer.filter(|folder| names(folder)),
            tracking: tracking.filter(|folder| names(folder)),
        }),
        group => group,
    };
    let own = match &group {
        Group::V1(folders) => vec![&folders.cpu, &folders.cpuacct, &folders.memory],
        Group::V2 { dir } => vec![dir],
    };
    let is_its = own.into_iter().all(|folder| names(folder) && folder.is_dir());
    if is_its { Ok((pid, Some(group))) } else { Err(DockerError::Elsewhere) }
}

/// Its address on the one network that it is in.
pub(super) fn address(told: &ContainerInspectResponse) -> Option<IpAddr> {
    let networks = told.network_settings.as_ref()?.networks.as_ref()?;
    networks.values().find_map(|network| network.ip_address.as_deref()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use stampede_core::{Bytes, Cpus};

    use super::super::view::{Beside, Mounted};
    use super::*;

    #[test]
    fn limits_are_told_as_a_quota_of_a_period_and_memory_without_swap() {
        let limits = Limits { cpus: Cpus::from_millis(500), memory: Bytes::from_mib(256) };
        let host = limited(HostConfig::default(), &limits, &[1, 3]);
        assert_eq!((host.cpu_period, host.cpu_quota), (Some(100_000), Some(50_000)));
        assert_eq!((host.memory, host.memory_swap), (Some(256 << 20), Some(256 << 20)));
        assert_eq!(host.shm_size, Some(256 << 20));
        assert_eq!(host.cpuset_cpus.as_deref(), Some("1,3"));
        assert_eq!(host.cpu_shares, Some(262_144));
        assert_eq!(host.nano_cpus, None);
    }

    #[test]
    fn a_container_ends_with_the_line_to_it_and_sees_the_runs_folder_at_its_own_place() {
        let containers = Containers { socket: PathBuf::from("/s"), label: "1-0-ab".to_owned(), beside: None };
        let limits = Limits { cpus: Cpus::from_millis(500), memory: Bytes::from_mib(256) };
        let order = Order {
            image: "i".to_owned(),
            user: Some(User { uid: 33, gid: 33 }),
            shown: None,
            purpose: Purpose::Service(limits, vec![0]),
        };
        let run = Path::new("/var/tmp/stampede-0/r/1-0");
        let body = body(&order, &containers, "n", Some(run), &View::default()).unwrap();
        let host = body.host_config.unwrap();
        assert_eq!((body.open_stdin, body.stdin_once, host.auto_remove), (Some(true), Some(true), Some(true)));
        assert_eq!(host.binds.unwrap(), ["/var/tmp/stampede-0/r/1-0:/var/tmp/stampede-0/r/1-0"]);
        assert_eq!(host.network_mode.as_deref(), Some("n"));
        assert_eq!(body.user.as_deref(), Some("33:33"));
        assert_eq!(body.labels.unwrap()["io.stampede.run"], "1-0-ab");
    }

    #[test]
    fn beside_the_engine_a_folder_is_named_as_the_engine_sees_it() {
        let (socket, label) = (PathBuf::from("/s"), "1-0-ab".to_owned());
        let containers = Containers { socket, label, beside: Some("b".to_owned()) };
        let mounted = vec![Mounted { at: "/var/tmp/stampede".into(), source: "/volumes/v/_data".into() }];
        let view = View(Some(Beside { label: "b".to_owned(), mounted }));
        let order = Order { image: "i".to_owned(), user: None, shown: None, purpose: Purpose::Preparation };
        let made = body(&order, &containers, "n", Some(Path::new("/var/tmp/stampede/s/r/1-0")), &view).unwrap();
        let binds = made.host_config.unwrap().binds.unwrap();
        assert_eq!(binds, ["/volumes/v/_data/s/r/1-0:/var/tmp/stampede/s/r/1-0"]);
        assert_eq!(made.labels.unwrap()["io.stampede.beside"], "b");
        let unseen = body(&order, &containers, "n", Some(Path::new("/home/me")), &view);
        assert!(matches!(unseen, Err(DockerError::Unseen { .. })), "{unseen:?}");
    }

    #[test]
    fn an_order_to_look_around_has_no_network_and_sees_one_file() {
        let containers = Containers { socket: PathBuf::from("/s"), label: "l".to_owned(), beside: None };
        let shown = Some(Shown::Program(PathBuf::from("/usr/bin/stampede"), "/stampede"));
        let order = Order { image: "i".to_owned(), user: None, shown, purpose: Purpose::Aside };
        let host = |order: &Order| body(order, &containers, "n", None, &View::default()).unwrap().host_config.unwrap();
        let aside = host(&order);
        assert_eq!(aside.network_mode.as_deref(), Some("none"));
        assert_eq!(aside.binds.unwrap(), ["/usr/bin/stampede:/stampede:ro"]);
        assert_eq!((aside.memory, aside.cpu_quota), (None, None));
        let order = Order { purpose: Purpose::Preparation, ..order };
        assert_eq!(host(&order).network_mode.as_deref(), Some("host"));
        let order = Order { shown: Some(Shown::Folder(PathBuf::from("/var/tmp/t"))), ..order };
        assert_eq!(host(&order).binds.unwrap(), ["/var/tmp/t:/var/tmp/t"]);
    }
}
