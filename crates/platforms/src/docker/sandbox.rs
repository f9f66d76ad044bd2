//! One container of a run, and the processes that are started in it.
//!
//! Its first process reads from Stampede until nothing comes any more. So when Stampede is gone, however it went, the container
//! ends with all that runs in it, and the engine removes it; only its network stays until the next start or `stampede clean`.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use bollard::container::AttachContainerResults;
use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, ExecConfig, HostConfig, HostConfigLogConfig, NetworkCreateRequest,
    ResourcesUlimits,
};
use bollard::query_parameters::{AttachContainerOptions, CreateContainerOptions};
use futures_util::StreamExt as _;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Resource, Signal, getegid, geteuid, getrlimit, pidfd_open, pidfd_send_signal};
use stampede_cgroup::{Group, QUOTA_PERIOD};
use stampede_core::{Limits, with_causes};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, sleep, timeout};

use super::engine::{Containers, DockerError, Engine, api, block_on};
use crate::custody::Custody;
use crate::end::End;
use crate::folder::Folder;
use crate::message::Command;
use crate::user::User;

/// Its first process: it does nothing until its standard input is closed. All images have it.
const FIRST: &str = "cat";

/// Runs the program in its arguments after the first with nothing of the container's own environment, and with its output
/// appended to the file that is the first. It ends as that program, under the same number.
const WITH_LOG: &str = "exec env -i \"$@\" >>\"$0\" 2>&1";

/// How long the engine may take to notice what the kernel says already.
const NOTICE_TIME: Duration = Duration::from_secs(5);

const PAUSE: Duration = Duration::from_millis(10);

/// What a container is to be.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) image: String,
    /// Who runs in it.
    pub(crate) user: Option<User>,
    /// A file of this machine that is seen in it, and where.
    pub(crate) program: Option<(PathBuf, &'static str)>,
    /// What it may use, and on which processors; without it, no limits, no network and no folder of the run.
    pub(crate) served: Option<(Limits, Vec<u32>)>,
}

/// A container with its network, of a run of its own. All of it goes when this is dropped.
pub(crate) struct Sandbox {
    engine: Engine,
    container: String,
    /// The folder of the run, seen at the same place inside, where it was asked for.
    pub(crate) folder: Option<Folder>,
    /// Its address on the run's network.
    pub(crate) address: Option<IpAddr>,
    /// The control group that holds all of its processes.
    pub(crate) group: Group,
    // The line goes first: the container ends when it is closed, and the custody sees to the rest. It is kept and never used; the
    // lock is for the compiler.
    _line: Mutex<AttachContainerResults>,
    custody: Custody,
}

/// A container that was made and does not run yet.
struct Made {
    container: String,
    folder: Option<Folder>,
    custody: Custody,
}

impl Sandbox {
    /// Makes a container and starts its first process.
    pub(crate) async fn open(engine: &Engine, state_dir: &Path, order: Order) -> Result<Self, DockerError> {
        let (socket, state_dir) = (engine.socket.clone(), state_dir.to_owned());
        // On a thread that goes on when this future is dropped: what the engine is making then is removed afterwards.
        let made = tokio::task::spawn_blocking(move || make(socket, &state_dir, &order));
        let Made { container, folder, custody } =
            made.await.map_err(|error| DockerError::Prepare(with_causes(&error)))??;
        let docker = &engine.docker;
        let attached = AttachContainerOptions { stdin: true, stream: true, ..Default::default() };
        let line = docker.attach_container(&container, Some(attached)).await.map_err(api("attach to a container"))?;
        docker.start_container(&container, None).await.map_err(api("start a container"))?;
        let told = docker.inspect_container(&container, None).await.map_err(api("inspect a container"))?;
        let group = group(&told, &container)?;
        Ok(Self {
            engine: engine.clone(),
            container,
            folder,
            address: address(&told),
            group,
            _line: Mutex::new(line),
            custody,
        })
    }

    /// Starts a program. Its output goes to its log.
    pub(crate) async fn start(&self, command: &Command) -> Result<Process, DockerError> {
        let Command { path, args, env, dir, log } = command;
        let mut words = vec!["/bin/sh".to_owned(), "-c".to_owned(), WITH_LOG.to_owned(), log.display().to_string()];
        words.extend(env.iter().map(|(name, value)| format!("{name}={value}")));
        words.push(path.clone());
        words.extend(args.iter().cloned());
        let order = ExecConfig { cmd: Some(words), working_dir: Some(dir.display().to_string()), ..Default::default() };
        let docker = &self.engine.docker;
        let exec =
            docker.create_exec(&self.container, order).await.map_err(api("prepare a program in a container"))?.id;
        let detached = Some(StartExecOptions { detach: true, ..Default::default() });
        docker.start_exec(&exec, detached).await.map_err(api("start a program in a container"))?;
        let mut process = Process { engine: self.engine.clone(), exec, pid: None };
        let told = process.inspect().await?;
        let pid = told.pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        let watched = |problem: &dyn std::error::Error| DockerError::Prepare(format!("watch a process: {problem}"));
        let fd = match pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
            // It has ended and was reaped.
            None | Some(Err(Errno::SRCH)) => None,
            Some(fd) => Some(fd.map_err(|error| watched(&error))?),
        };
        // Asked again: it is its number as long as it runs, so the descriptor is of no other process.
        if let Some(fd) = fd.filter(|_| told.running == Some(true))
            && process.inspect().await?.running == Some(true)
        {
            // SAFETY: it owns the descriptor, which is always the same one and is closed with it.
            let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
            process.pid = Some(fd.map_err(|error| watched(&error))?);
        }
        Ok(process)
    }

    /// Runs a program to its end. The inner error says how it failed.
    pub(crate) async fn run(&self, command: &Command, limit: Duration) -> Result<Result<(), String>, DockerError> {
        let process = self.start(command).await?;
        match timeout(limit, process.ended()).await {
            Ok(End::Exited(0)) => Ok(Ok(())),
            Ok(end) => Ok(Err(format!("it ended with {end}"))),
            Err(_) => {
                process.signal(Signal::KILL);
                Ok(Err(format!("it took longer than {} s", limit.as_secs())))
            }
        }
    }

    /// What a program prints, when it ends with status 0. The inner error says how it failed.
    pub(crate) async fn ask(&self, words: Vec<String>, limit: Duration) -> Result<Result<String, String>, DockerError> {
        let docker = &self.engine.docker;
        let order =
            ExecConfig { cmd: Some(words), attach_stdout: Some(true), attach_stderr: Some(true), ..Default::default() };
        let exec =
            docker.create_exec(&self.container, order).await.map_err(api("prepare a program in a container"))?.id;
        let started = docker.start_exec(&exec, None).await.map_err(api("start a program in a container"))?;
        let mut said = Vec::new();
        if let StartExecResults::Attached { mut output, input: _input } = started {
            let listen = async {
                while let Some(part) = output.next().await {
                    said.extend_from_slice(part.map_err(api("read what a program in a container prints"))?.as_ref());
                }
                Ok::<_, DockerError>(())
            };
            match timeout(limit, listen).await {
                Ok(listened) => listened?,
                Err(_) => return Ok(Err(format!("it took longer than {} s", limit.as_secs()))),
            }
        }
        let said = String::from_utf8_lossy(&said).into_owned();
        match (Process { engine: self.engine.clone(), exec, pid: None }).ended().await {
            End::Exited(0) => Ok(Ok(said)),
            end => Ok(Err(format!("{end}: {}", said.trim()))),
        }
    }

    /// Ends and removes it all.
    pub(crate) async fn close(self) -> Result<(), String> {
        let Self { _line: line, mut custody, .. } = self;
        drop(line);
        let finished = tokio::task::spawn_blocking(move || custody.finish()).await;
        finished.unwrap_or_else(|error| Err(with_causes(&error)))
    }
}

/// A program that was started in a container.
pub(crate) struct Process {
    engine: Engine,
    exec: String,
    /// Of its process, as long as that ran when it was looked at.
    pid: Option<AsyncFd<OwnedFd>>,
}

impl Process {
    /// Waits until it has ended, without asking the engine meanwhile.
    pub(crate) async fn ended(&self) -> End {
        if let Some(fd) = &self.pid {
            // It fails when the runtime ends, and nobody listens any more.
            let _ = fd.readable().await;
        }
        let deadline = Instant::now() + NOTICE_TIME;
        while Instant::now() < deadline {
            match self.inspect().await {
                Ok(told) if told.running == Some(true) => sleep(PAUSE).await,
                Ok(told) => return End::told(told.exit_code),
                // The container is gone, and what was in it with it.
                Err(_) => break,
            }
        }
        End::Untold
    }

    /// Sends it a signal; one that has ended meanwhile is no failure.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(fd) = &self.pid {
            let _ = pidfd_send_signal(fd, signal);
        }
    }

    async fn inspect(&self) -> Result<bollard::models::ExecInspectResponse, DockerError> {
        self.engine.docker.inspect_exec(&self.exec).await.map_err(api("ask for a program in a container"))
    }
}

/// Writes the lease, makes the run's folder and network and the container. What was made before a failure is removed again.
fn make(socket: PathBuf, state_dir: &Path, order: &Order) -> Result<Made, DockerError> {
    let failed = |error: &dyn std::error::Error| DockerError::Prepare(with_causes(error));
    let mut custody = Custody::begin(state_dir, None).map_err(|error| failed(&error))?;
    let name = custody.run().name.clone();
    // Another user's Stampede may have given the same name to a run of its own: the standard library's seed differs.
    let label = format!("{name}-{:08x}", RandomState::new().build_hasher().finish() as u32);
    let containers = Containers { socket: socket.clone(), label };
    custody.hold(containers.clone()).map_err(|error| failed(&error))?;
    let folder = match &order.served {
        Some(_) => Some(Folder::create(&custody.run().folder, order.user).map_err(|error| failed(&error))?),
        None => None,
    };
    let container = block_on(async {
        let docker = Engine::connect(&socket).await?.docker;
        let name = format!("stampede-{}", containers.label);
        if order.served.is_some() {
            let network =
                NetworkCreateRequest { name: name.clone(), labels: Some(containers.labels()), ..Default::default() };
            docker.create_network(network).await.map_err(api("make a network"))?;
        }
        let body = body(order, &containers, &name, folder.as_ref().map(Folder::path));
        let named = CreateContainerOptions { name: Some(name), ..Default::default() };
        Ok(docker.create_container(Some(named), body).await.map_err(api("make a container"))?.id)
    })?;
    Ok(Made { container, folder, custody })
}

/// The container that is ordered, as the engine is told.
fn body(order: &Order, containers: &Containers, network: &str, folder: Option<&Path>) -> ContainerCreateBody {
    let Order { image, user, program, served } = order;
    let program = program.as_ref().map(|(path, place)| format!("{}:{place}:ro", path.display()));
    // At the same place, so that a path means the same inside and outside.
    let folder = folder.map(|folder| format!("{0}:{0}", folder.display()));
    let files = getrlimit(Resource::Nofile).maximum.and_then(|most| i64::try_from(most).ok());
    let common = HostConfig {
        binds: Some(program.into_iter().chain(folder).collect()),
        auto_remove: Some(true),
        // Reaps what its programs leave behind.
        init: Some(true),
        log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
        ulimits: files.map(|files| {
            vec![ResourcesUlimits { name: Some("nofile".to_owned()), soft: Some(files), hard: Some(files) }]
        }),
        ..Default::default()
    };
    let host = match served {
        Some((limits, cpus)) => HostConfig { network_mode: Some(network.to_owned()), ..limited(common, limits, cpus) },
        None => HostConfig { network_mode: Some("none".to_owned()), ..common },
    };
    let (uid, gid) = match user {
        Some(User { uid, gid }) => (*uid, *gid),
        None => (geteuid().as_raw(), getegid().as_raw()),
    };
    ContainerCreateBody {
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
    }
}

/// Limits as the engine is told: a quota in each of the kernel's periods, and memory without swap.
/// <https://docs.docker.com/engine/containers/resource_constraints/>
fn limited(host: HostConfig, limits: &Limits, cpus: &[u32]) -> HostConfig {
    let Limits { cpus: share, memory } = limits;
    let microseconds = |time: Duration| i64::try_from(time.as_micros()).ok();
    let memory = i64::try_from(memory.get()).ok();
    HostConfig {
        cpu_period: microseconds(QUOTA_PERIOD),
        cpu_quota: microseconds(share.quota(QUOTA_PERIOD)),
        cpuset_cpus: Some(cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
        memory,
        // Memory and swap together.
        memory_swap: memory,
        ..host
    }
}

/// The control group of a container's processes. Only one that names the container is taken for it: where the engine runs on
/// another machine, the number is that of a process of this one, if of any.
fn group(told: &ContainerInspectResponse, container: &str) -> Result<Group, DockerError> {
    let pid = told.state.as_ref().and_then(|state| u32::try_from(state.pid?).ok()).filter(|pid| *pid > 0);
    let pid = pid.ok_or(DockerError::Program {
        program: FIRST.to_owned(),
        problem: told.state.as_ref().and_then(|state| state.error.clone()).unwrap_or_default(),
    })?;
    let group = Group::of_process(Path::new("/"), pid).map_err(|_| DockerError::Elsewhere)?;
    let folder = match &group {
        Group::V1(folders) => &folders.memory,
        Group::V2 { dir } => dir,
    };
    // Its name is the container's, or `docker-ID.scope` under systemd.
    let names = folder.file_name().is_some_and(|name| name.to_string_lossy().contains(container));
    if names && folder.is_dir() { Ok(group) } else { Err(DockerError::Elsewhere) }
}

/// Its address on the one network that it is in.
fn address(told: &ContainerInspectResponse) -> Option<IpAddr> {
    let networks = told.network_settings.as_ref()?.networks.as_ref()?;
    networks.values().find_map(|network| network.ip_address.as_deref()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use stampede_core::{Bytes, Cpus};

    use super::*;

    #[test]
    fn limits_are_told_as_a_quota_of_a_period_and_memory_without_swap() {
        let limits = Limits { cpus: Cpus::from_millis(500), memory: Bytes::from_mib(256) };
        let host = limited(HostConfig::default(), &limits, &[1, 3]);
        assert_eq!((host.cpu_period, host.cpu_quota), (Some(100_000), Some(50_000)));
        assert_eq!((host.memory, host.memory_swap), (Some(256 << 20), Some(256 << 20)));
        assert_eq!(host.cpuset_cpus.as_deref(), Some("1,3"));
        assert_eq!(host.nano_cpus, None);
    }

    #[test]
    fn a_container_ends_with_the_line_to_it_and_sees_the_runs_folder_at_its_own_place() {
        let containers = Containers { socket: PathBuf::from("/s"), label: "1-0-ab".to_owned() };
        let limits = Limits { cpus: Cpus::from_millis(500), memory: Bytes::from_mib(256) };
        let order = Order {
            image: "i".to_owned(),
            user: Some(User { uid: 33, gid: 33 }),
            program: None,
            served: Some((limits, vec![0])),
        };
        let body = body(&order, &containers, "n", Some(Path::new("/var/tmp/stampede-0/r/1-0")));
        let host = body.host_config.unwrap();
        assert_eq!((body.open_stdin, body.stdin_once, host.auto_remove), (Some(true), Some(true), Some(true)));
        assert_eq!(host.binds.unwrap(), ["/var/tmp/stampede-0/r/1-0:/var/tmp/stampede-0/r/1-0"]);
        assert_eq!(host.network_mode.as_deref(), Some("n"));
        assert_eq!(body.user.as_deref(), Some("33:33"));
        assert_eq!(body.labels.unwrap()["io.stampede.run"], "1-0-ab");
    }

    #[test]
    fn an_order_to_look_around_has_no_network_and_sees_one_file() {
        let containers = Containers { socket: PathBuf::from("/s"), label: "l".to_owned() };
        let program = Some((PathBuf::from("/usr/bin/stampede"), "/stampede"));
        let order = Order { image: "i".to_owned(), user: None, program, served: None };
        let host = body(&order, &containers, "n", None).host_config.unwrap();
        assert_eq!(host.network_mode.as_deref(), Some("none"));
        assert_eq!(host.binds.unwrap(), ["/usr/bin/stampede:/stampede:ro"]);
        assert_eq!((host.memory, host.cpu_quota), (None, None));
    }
}
