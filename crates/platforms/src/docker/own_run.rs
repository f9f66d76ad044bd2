//! The run of an image that serves by itself, or of several that serve together: each container has a first process of its own, which
//! may insist on being the first and need not have any other program. They are ended by the run's warden, which notices that Stampede
//! is gone as the containers of [`super::sandbox`] do.
//!
//! Several containers under test are in one control group, which is held to the limits of them all.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bollard::Docker;
use bollard::models::{
    ContainerCreateBody, EndpointSettings, HealthConfig, HostConfig, HostConfigLogConfig, NetworkingConfig,
    VolumeCreateRequest,
};
use bollard::query_parameters::{CreateContainerOptions, DownloadFromContainerOptions, UploadToContainerOptions};
use stampede_cgroup::{Group, V1Folders};
use stampede_core::{Limits, Volume, with_causes};

use super::container_end;
use super::engine::{Containers, Engine, Manner, api, block_on};
use super::error::DockerError;
use super::image::tar_of;
use super::inside::Inside;
use super::rootless::Holding;
use super::sandbox::{address, files_limit, group, lease, limited, make_network};
use super::sockets::listening;
use super::view::View;
use crate::layout::folder::Folder;
use crate::runs::group::told;
use crate::runs::process_owner::ProcessOwner;

/// How often is looked whether a container listens, or has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// How long after its first process's end an engine may take to notice that a container has ended.
const NOTICE_TIME: Duration = Duration::from_secs(2);

/// What is to run.
#[derive(Clone, Debug)]
pub(crate) struct OwnOrder {
    /// In the order of their start; the first that is measured is the one whose name the case has.
    pub(crate) processes: Vec<OwnProcess>,
    /// What those under test may use together, and on which processors; nothing bounds them where they are only looked at.
    pub(crate) limits: Option<(Limits, Vec<u32>)>,
    /// The web server before one that speaks FastCGI.
    pub(crate) front: Option<Front>,
    /// How long those beside the ones under test may take until they listen.
    pub(crate) patience: Duration,
    /// The program that ends it all when Stampede is gone, with its arguments.
    pub(crate) warden: Vec<OsString>,
}

/// The first process of an image that serves by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnProcess {
    /// By what the engine knows its image.
    pub(crate) image: String,
    /// By what the others of its run know it; empty where it is alone.
    pub(crate) name: String,
    /// What takes the place of the image's entry point; nothing does where it is none.
    pub(crate) entry_point: Option<Vec<String>>,
    /// What takes the place of the image's command; empty where nothing does.
    pub(crate) command: Vec<String>,
    /// Variables beside the image's own: `NAME=VALUE`.
    pub(crate) env: Vec<String>,
    /// Who runs it, in place of the image's user.
    pub(crate) user: Option<String>,
    /// Where it is run, in place of the image's folder.
    pub(crate) dir: Option<String>,
    /// What it sees beside its image.
    pub(crate) volumes: Vec<Volume>,
    /// The ports that its image exposes.
    pub(crate) ports: Vec<u16>,
    /// Whether it is one of those under test.
    pub(crate) is_measured: bool,
}

/// A web server before a container that speaks FastCGI, in the network of that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    /// The number of the container before which it is, among those under test.
    pub(crate) of: usize,
    /// Its image, as the engine knows it.
    pub(crate) image: String,
    /// Its configuration.
    pub(crate) config: String,
    /// Where its image has that.
    pub(crate) place: &'static str,
    /// The folder whose files it sends, which is copied to the same place.
    pub(crate) root: String,
}

/// One container of a run.
pub(crate) struct Member {
    pub(crate) inside: Inside,
    pub(crate) name: String,
    /// Its address on the run's network.
    pub(crate) address: Option<IpAddr>,
    /// The control group of its processes, where the engine holds them to limits.
    group: Option<Group>,
    /// Its first process, as this machine numbers it.
    pub(crate) first: u32,
    pub(crate) ports: Vec<u16>,
}

/// Containers on a network of their own. All of it goes when this is dropped.
pub(crate) struct OwnRun {
    /// Those under test, in the order of their start.
    pub(crate) members: Vec<Member>,
    pub(crate) folder: Folder,
    /// The control group of all of those, where there is one.
    pub(crate) group: Option<Group>,
    /// When the first of them was started.
    pub(crate) started: Instant,
    owner: ProcessOwner,
}

impl fmt::Debug for OwnRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.members.iter().map(|member| member.name.as_str()).collect();
        f.debug_struct("OwnRun").field("members", &names).field("group", &self.group).finish_non_exhaustive()
    }
}

impl OwnRun {
    /// Makes and starts it all.
    pub(crate) async fn open(engine: &Engine, state_dir: &Path, order: OwnOrder) -> Result<Self, DockerError> {
        let (engine, state_dir) = (engine.clone(), state_dir.to_owned());
        // On a thread that goes on when this future is dropped: what the engine is making then is removed afterwards.
        let made = tokio::task::spawn_blocking(move || make(&engine, &state_dir, &order));
        made.await.map_err(|error| DockerError::Prepare(with_causes(&error)))?
    }

    /// Ends and removes it all.
    pub(crate) async fn close(self) -> Result<(), String> {
        let Self { mut owner, .. } = self;
        let finished = tokio::task::spawn_blocking(move || owner.finish()).await;
        finished.unwrap_or_else(|error| Err(with_causes(&error)))
    }
}

/// Writes the lease, makes the run's folder, network and volumes, and starts the containers. What was made before a failure is removed
/// again.
fn make(engine: &Engine, state_dir: &Path, order: &OwnOrder) -> Result<OwnRun, DockerError> {
    let failed = |error: &dyn std::error::Error| DockerError::Prepare(with_causes(error));
    let (mut owner, containers) = lease(&engine.socket, state_dir)?;
    let folder = Folder::create(&owner.run().folder, None).map_err(|error| failed(&error))?;
    owner.start_idle_warden(&order.warden).map_err(|error| failed(&error))?;
    let begun = block_on(async {
        // Its connections belong to the thread that they were made on.
        let engine = engine.again().await?;
        let network = make_network(&engine.docker, &containers).await?;
        for volume in shared(&order.processes) {
            let name = Some(format!("{network}-{volume}"));
            let volume = VolumeCreateRequest { name, labels: Some(containers.labels()), ..Default::default() };
            engine.docker.create_volume(volume).await.map_err(api("make a volume"))?;
        }
        let manner = engine.manner().await?;
        let mut maker =
            Maker { engine: &engine, containers: &containers, network: &network, order, manner, hosts: Vec::new() };
        maker.start_all(containers.parent(manner.is_of_systemd)).await
    });
    let (members, group, started) = begun?;
    Ok(OwnRun { members, folder, group, started, owner })
}

/// The volumes that containers of a run share, each once.
fn shared(processes: &[OwnProcess]) -> Vec<&str> {
    let mut names: Vec<&str> = processes
        .iter()
        .flat_map(|process| &process.volumes)
        .filter_map(|volume| match volume {
            Volume::Shared { name, .. } => Some(name.as_str()),
            Volume::Empty { .. } | Volume::Shown { .. } => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What starts the containers of a run, one after the other.
struct Maker<'a> {
    engine: &'a Engine,
    containers: &'a Containers,
    network: &'a str,
    order: &'a OwnOrder,
    manner: Manner,
    /// The addresses of those that run, by name, since an engine need not have names for them: `name:address`.
    hosts: Vec<String>,
}

impl Maker<'_> {
    async fn start_all(&mut self, parent: String) -> Result<(Vec<Member>, Option<Group>, Instant), DockerError> {
        let measured = self.order.processes.iter().filter(|process| process.is_measured).count();
        let are_several = measured + usize::from(self.order.front.is_some()) > 1;
        let is_held = self.order.limits.is_some() && self.engine.holding == Holding::Limits;
        let parent = (are_several && is_held).then_some(parent);
        let (mut members, mut started, mut whole) = (Vec::new(), Instant::now(), None);
        for (number, process) in self.order.processes.iter().enumerate() {
            if !process.is_measured {
                let body = body(process, self, None)?;
                let member = self.start(process, &self.name(number), body).await?;
                self.await_socket(&member).await?;
                continue;
            }
            if members.is_empty() {
                started = Instant::now();
            }
            let body = body(process, self, parent.as_deref())?;
            let member = self.start(process, &self.name(number), body).await?;
            if parent.is_some() && whole.is_none() {
                whole = member.group.as_ref().map(|group| self.hold(group)).transpose()?;
            }
            members.push(member);
        }
        if let Some(front) = &self.order.front
            && let Some(of) = members.get(front.of)
        {
            let member = self.start_front(front, of, parent.as_deref()).await?;
            members.push(member);
        }
        let first = members.first();
        let first = first.ok_or_else(|| DockerError::Prepare("none of the containers is under test".to_owned()))?;
        let group = whole.or_else(|| first.group.clone());
        Ok((members, group, started))
    }

    fn name(&self, number: usize) -> String {
        match number {
            0 => self.network.to_owned(),
            number => format!("{}-{number}", self.network),
        }
    }

    /// Starts a container whose image's own process serves.
    async fn start(
        &mut self,
        process: &OwnProcess,
        name: &str,
        body: ContainerCreateBody,
    ) -> Result<Member, DockerError> {
        let docker = &self.engine.docker;
        let container = create(docker, name, body).await?;
        let member =
            self.begin(container, &process.name, &process.ports).await.map_err(|error| named(process, error))?;
        if let Some(address) = member.address.filter(|_| !process.name.is_empty()) {
            self.hosts.push(format!("{}:{address}", process.name));
        }
        Ok(member)
    }

    async fn begin(&self, container: String, name: &str, ports: &[u16]) -> Result<Member, DockerError> {
        let docker = &self.engine.docker;
        docker.start_container(&container, None).await.map_err(api("start a container"))?;
        let seen = docker.inspect_container(&container, None).await.map_err(api("inspect a container"))?;
        let (first, group) = match group(&seen, &container, self.engine.holding) {
            Ok(found) => found,
            Err(error) => return Err(self.ended_early(&container).await.unwrap_or(error)),
        };
        let inside = Inside { engine: self.engine.clone(), container };
        let (name, ports, address) = (name.to_owned(), ports.to_vec(), address(&seen));
        Ok(Member { inside, name, address, group, first, ports })
    }

    /// That a container ended before its first process was looked at, which the engine notices a moment after the kernel.
    async fn ended_early(&self, container: &str) -> Option<DockerError> {
        let begun = Instant::now();
        loop {
            let ended = container_end::ended(&self.engine.docker, container).await;
            if ended.is_some() || begun.elapsed() >= NOTICE_TIME {
                return ended;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The web server, with its configuration and the files that it sends, in the network of the container behind it.
    async fn start_front(&self, front: &Front, of: &Member, parent: Option<&str>) -> Result<Member, DockerError> {
        let Front { of: _, image, config, place, root } = front;
        let docker = &self.engine.docker;
        let process = OwnProcess { image: image.clone(), name: "nginx".to_owned(), ..OwnProcess::default() };
        let mut body = body(&process, self, parent)?;
        (body.networking_config, body.hostname) = (None, None);
        if let Some(host) = &mut body.host_config {
            host.network_mode = Some(format!("container:{}", of.inside.container));
            host.extra_hosts = None;
        }
        let container = create(docker, &format!("{}-front", self.network), body).await?;
        let at = |path: &Path| path.display().to_string();
        let (folder, file) = parts(Path::new(place));
        let to = |path: String| Some(UploadToContainerOptions { path, ..Default::default() });
        let written =
            docker.upload_to_container(&container, to(at(folder)), bollard::body_full(tar_of(file, config).into()));
        written.await.map_err(api("write the web server's configuration"))?;
        let (above, _) = parts(Path::new(root));
        // The folders above it are made with it, as those of an archive are.
        let begin = tar_of_folders(above);
        if !begin.is_empty() {
            let made = docker.upload_to_container(&container, to("/".to_owned()), bollard::body_full(begin.into()));
            made.await.map_err(api("make the web server's folder"))?;
        }
        let files = read_archive(docker, &of.inside.container, root).await?;
        let sent = docker.upload_to_container(&container, to(at(above)), bollard::body_full(files.into()));
        sent.await.map_err(api("copy public files to the web server"))?;
        self.begin(container, &process.name, &[]).await.map_err(|error| named(&process, error))
    }

    /// Waits until a container listens that says it does: a database takes a while.
    async fn await_socket(&self, member: &Member) -> Result<(), DockerError> {
        let docker = &self.engine.docker;
        let begun = Instant::now();
        while !member.ports.is_empty() && !listening(member.first).iter().any(|one| member.ports.contains(&one.port)) {
            let beside = |problem: String| DockerError::Beside { name: member.name.clone(), problem };
            if let Some(DockerError::Ended(how)) = container_end::ended(docker, &member.inside.container).await {
                return Err(beside(format!("it ended with {how}")));
            }
            if begun.elapsed() >= self.order.patience {
                let log = container_end::log(docker, &member.inside.container).await;
                let problem = format!("it does not listen on its port after {:?}", self.order.patience);
                return Err(beside(crate::log_tail::with_log(&problem, &log.lines)));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// The group that holds all containers under test, which the engine made above that of the first, held to their limits. Each
    /// container has the same ones, so that the first is within them before this.
    fn hold(&self, of_first: &Group) -> Result<Group, DockerError> {
        let failed = |error: &dyn std::error::Error| {
            DockerError::Prepare(format!("hold containers to limits together: {}", with_causes(error)))
        };
        let up = |folder: &PathBuf| folder.parent().map_or_else(|| folder.clone(), Path::to_owned);
        let whole = match of_first {
            Group::V1(V1Folders { cpu, cpuacct, memory, cpuset, freezer, tracking }) => Group::V1(V1Folders {
                cpu: up(cpu),
                cpuacct: up(cpuacct),
                memory: up(memory),
                cpuset: cpuset.as_ref().map(up),
                freezer: freezer.as_ref().map(up),
                tracking: tracking.as_ref().map(up),
            }),
            Group::V2 { dir } => Group::V2 { dir: up(dir) },
        };
        let (weight, largest) = match &whole {
            Group::V1(folders) => (folders.cpu.join("cpu.shares"), "262144"),
            Group::V2 { dir } => (dir.join("cpu.weight"), "10000"),
        };
        let is_ours = weight.to_string_lossy().contains(&self.containers.group_name());
        if !is_ours {
            return Err(DockerError::Elsewhere);
        }
        fs::write(weight, largest).map_err(|error| failed(&error))?;
        if let Some((limits, cpus)) = &self.order.limits {
            whole.set_limits(&told(limits, cpus)).map_err(|error| failed(&error))?;
        }
        Ok(whole)
    }
}

/// A problem with the container that it is of, where there are several.
fn named(process: &OwnProcess, error: DockerError) -> DockerError {
    match error {
        DockerError::Ended(problem) if !process.name.is_empty() => {
            DockerError::Beside { name: process.name.clone(), problem: format!("it ended with {problem}") }
        }
        error => error,
    }
}

async fn create(docker: &Docker, name: &str, body: ContainerCreateBody) -> Result<String, DockerError> {
    let named = CreateContainerOptions { name: Some(name.to_owned()), ..Default::default() };
    Ok(docker.create_container(Some(named), body).await.map_err(api("make a container"))?.id)
}

/// A folder of a container, as an archive.
async fn read_archive(docker: &Docker, container: &str, folder: &str) -> Result<Vec<u8>, DockerError> {
    use futures_util::StreamExt as _;
    let from = DownloadFromContainerOptions { path: folder.to_owned() };
    let mut parts = Box::pin(docker.download_from_container(container, Some(from)));
    let mut archive = Vec::new();
    while let Some(part) = parts.next().await {
        archive.extend_from_slice(&part.map_err(api("read public files of a container"))?);
    }
    Ok(archive)
}

/// The folder of a path and its last part.
fn parts(path: &Path) -> (&Path, &str) {
    let last = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    (path.parent().unwrap_or(Path::new("/")), last)
}

/// An archive with this folder and those above it.
fn tar_of_folders(folder: &Path) -> Vec<u8> {
    let mut all: Vec<&Path> = folder.ancestors().filter(|path| path.parent().is_some()).collect();
    all.reverse();
    let names = all.iter().map(|path| format!("{}/", path.display().to_string().trim_start_matches('/')));
    super::image::tar_of_all(names.map(|name| (name, String::new())))
}

/// The container of an image that serves by itself: its user, entry point and signals are its own unless it is told others. It stays
/// when it has ended, so that what it printed can be read, and its own checks of its health, which would run within its limits, are off.
fn body(process: &OwnProcess, maker: &Maker<'_>, parent: Option<&str>) -> Result<ContainerCreateBody, DockerError> {
    let Maker { engine: _, containers, network, order, manner, hosts } = maker;
    let OwnProcess { image, name, entry_point, command, env, user, dir, volumes, ports: _, is_measured: _ } = process;
    let common = HostConfig { ulimits: files_limit(), ..Default::default() };
    let is_held = process.is_measured || parent.is_some();
    let host = match order.limits.as_ref().filter(|_| is_held) {
        Some((limits, cpus)) => limited(common, limits, cpus),
        None => common,
    };
    let view = View::of_this_process();
    let binds = volumes.iter().filter_map(|volume| match volume {
        Volume::Shown { from, at } => Some(view.source(from).map(|from| format!("{}:{at}:ro", from.display()))),
        Volume::Shared { name, at } => Some(Ok(format!("{network}-{name}:{at}"))),
        Volume::Empty { .. } => None,
    });
    let binds: Vec<String> = binds.collect::<Result<_, _>>()?;
    let empty = volumes.iter().filter_map(|volume| match volume {
        Volume::Empty { at } => Some(at.clone()),
        Volume::Shown { .. } | Volume::Shared { .. } => None,
    });
    let log = OWN_LOG.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let (log_driver, log) = if manner.is_podman { ("k8s-file", None) } else { ("local", Some(log.into())) };
    let aliases =
        (!name.is_empty()).then(|| EndpointSettings { aliases: Some(vec![name.clone()]), ..Default::default() });
    Ok(ContainerCreateBody {
        image: Some(image.clone()),
        hostname: (!name.is_empty() && !name.contains('_')).then(|| name.clone()),
        entrypoint: entry_point.clone(),
        cmd: (!command.is_empty()).then(|| command.clone()),
        env: Some(env.clone()),
        user: user.clone(),
        working_dir: dir.clone(),
        labels: Some(containers.labels()),
        volumes: Some(empty.collect()),
        healthcheck: Some(HealthConfig { test: Some(vec!["NONE".to_owned()]), ..Default::default() }),
        networking_config: aliases
            .map(|settings| NetworkingConfig { endpoints_config: Some([((*network).to_owned(), settings)].into()) }),
        host_config: Some(HostConfig {
            network_mode: Some((*network).to_owned()),
            binds: Some(binds),
            extra_hosts: Some(hosts.clone()),
            cgroup_parent: parent.map(str::to_owned),
            log_config: Some(HostConfigLogConfig { typ: Some(log_driver.to_owned()), config: log }),
            ..host
        }),
        ..Default::default()
    })
}

/// What an image that serves by itself prints is kept by the engine, no more than this of it.
/// <https://docs.docker.com/engine/logging/drivers/local/>
const OWN_LOG: [(&str, &str); 3] = [("max-size", "1m"), ("max-file", "1"), ("compress", "false")];

/// Where the public files of a container's application are, as far as can be seen in its files: the folder with its front controller,
/// from the folder that its first process is in.
pub(crate) fn public_root(first: u32) -> Option<String> {
    const USUAL: [&str; 3] = ["/app", "/var/www/html", "/srv/app"];
    const PUBLIC: [&str; 4] = ["public", "web", "webroot", ""];
    let files = PathBuf::from(format!("/proc/{first}/root"));
    let own = fs::read_link(format!("/proc/{first}/cwd")).ok();
    let folders = own.into_iter().chain(USUAL.map(PathBuf::from));
    folders
        .flat_map(|folder| PUBLIC.map(|public| folder.join(public)))
        .find(|folder| files.join(folder.strip_prefix("/").unwrap_or(folder)).join("index.php").is_file())
        .map(|folder| folder.display().to_string().trim_end_matches('/').to_owned())
}
