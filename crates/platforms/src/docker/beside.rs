//! Stampede beside an engine that runs elsewhere: outside of the container that this process is in, in a virtual machine, or on another
//! machine ([ADR 53](../../../../docs/adr/0053-beside-the-engine.md)).
//!
//! The same command is carried out by the same program in a container of that engine that sees what the engine's machine sees: its
//! processes, control groups and networks. Files come there as this container's own mounts or, where they are no mounts, as archives,
//! and what is written comes back. Signals, output and the exit code are those of this process.
//!
//! The engine removes that container with its volume when it ends, and it ends with the line to this process (`keeper.rs`). All that it
//! makes has its label, by which this process, or a later one, removes what is left.

mod archive;
mod keeper;
mod paths;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::slice;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bollard::container::{AttachContainerResults, LogOutput};
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, ContainerSummaryStateEnum, HealthConfig, HostConfig,
    HostConfigCgroupnsModeEnum, HostConfigLogConfig, Mount, MountType, SystemInfo,
};
use bollard::query_parameters::{
    AttachContainerOptions, CreateContainerOptions, ListContainersOptions, ListNetworksOptions,
};
use futures_util::StreamExt as _;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Interval, interval, timeout};

pub use self::keeper::keep;
use self::keeper::{BEAT, LastWord, SILENCE, Word};
use super::engine::{self, Engine, api, block_on};
use super::error::{BESIDE, DockerError, RUN};
use super::image;
use super::sandbox::files_limit;
use super::view::{Beside, Mounted, VARIABLE, View};

/// The volume of a Stampede beside the engine: its own program, runs and caches, all that it shows to other containers.
const PLACE: &str = "/var/tmp/stampede";

/// The file with what the engine sees, in that volume.
const VIEW: &str = "view.json";

/// The socket of the engine, for a Stampede that is brought to it. Also where engines listen usually.
const SOCKET: &str = "/var/run/docker.sock";

/// Beside which the lock on the machine is, so that all Stampedes of that machine find it.
const LOCKS: &str = "/run/lock";

/// What it may do beside what root of a container may: look into other processes, and go before them.
const RIGHTS: [&str; 2] = ["SYS_PTRACE", "SYS_NICE"];

/// Profiles that would keep it from that, and from io_uring.
const UNCONFINED: [&str; 3] = ["seccomp=unconfined", "apparmor=unconfined", "label=disable"];

/// How long all that is left may take to be removed.
const REMOVAL_TIME: Duration = Duration::from_secs(30);

/// For how long a container that does not run yet is not taken for abandoned.
const PREPARATION_TIME: Duration = Duration::from_secs(60);

/// How a process ends that was asked to by Ctrl-C, as a shell has it.
const INTERRUPTED: u8 = 130;

/// A command that is carried out beside the engine.
#[derive(Clone, Debug)]
pub struct Errand {
    /// The words by which this program calls [`keep`].
    pub keeper: Vec<String>,
    /// The command: all words after the program's name.
    pub args: Vec<String>,
    /// A file that it reads and writes, whether it is named or not: the store.
    pub store: PathBuf,
    /// How wide its tables may be.
    pub columns: usize,
    /// Takes what it prints on stdout.
    pub out: fn(&[u8]),
    /// Takes what it prints on stderr.
    pub err: fn(&[u8]),
}

/// Whether this process is one that was started beside the engine.
pub fn is_beside() -> bool {
    View::of_this_process().is_beside()
}

/// Carries a command out beside the engine, and returns its exit code. What it left is removed, whatever happens.
///
/// # Errors
///
/// When the engine cannot start this program, its end is not known, or a file that it wrote cannot be brought here.
pub fn carry_out(errand: &Errand) -> Result<u8, DockerError> {
    carry_out_at(&engine::socket()?, errand, Surroundings::of_this_process())
}

/// The same at an engine's socket.
fn carry_out_at(socket: &Path, errand: &Errand, surroundings: io::Result<Surroundings>) -> Result<u8, DockerError> {
    let surroundings = surroundings.map_err(|error| DockerError::Errand(error.to_string()))?;
    block_on(async {
        let engine = Engine::connect(socket).await?;
        sweep(&engine).await?;
        // Another user's Stampede may have the same process number: the standard library's seed differs.
        let seed = RandomState::new().build_hasher().finish() as u32;
        let label = format!("{:x}-{seed:08x}", std::process::id());
        let mut requests = Requests::new()?;
        let carried = carry(&engine, errand, &surroundings, &label, &mut requests).await;
        let removed = engine.remove_labelled(&format!("{BESIDE}={label}"), Instant::now() + REMOVAL_TIME).await;
        carried.and_then(|code| removed.map(|()| code))
    })
}

/// The signals that ask this process to stop.
struct Requests {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Requests {
    fn new() -> Result<Self, DockerError> {
        let listen = |kind| signal(kind).map_err(|error| DockerError::Errand(format!("listen for signals: {error}")));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Word {
        tokio::select! {
            _ = self.interrupt.recv() => Word::Interrupt,
            _ = self.terminate.recv() => Word::Terminate,
            _ = self.hang_up.recv() => Word::HangUp,
        }
    }
}

async fn carry(
    engine: &Engine,
    errand: &Errand,
    surroundings: &Surroundings,
    label: &str,
    requests: &mut Requests,
) -> Result<u8, DockerError> {
    // Nothing is measured yet: any signal ends it.
    let Prepared { container, named, own } = tokio::select! {
        prepared = prepare(engine, errand, surroundings, label) => prepared?,
        _ = requests.next() => return Ok(INTERRUPTED),
    };
    let docker = &engine.docker;
    let attached =
        AttachContainerOptions { stdin: true, stdout: true, stderr: true, stream: true, ..Default::default() };
    let attached = docker.attach_container(&container, Some(attached)).await.map_err(api("attach to a container"))?;
    let AttachContainerResults { mut output, input } = attached;
    docker.start_container(&container, None).await.map_err(api("start Stampede beside the engine"))?;
    let mut line = Line { input, beats: interval(BEAT) };
    // From here on it ends with this process, however long files take.
    let brought = paths::to_bring(&named, &own);
    if !brought.is_empty() {
        let mut work = pin!(archive::upload(docker, &container, "/", &brought));
        loop {
            tokio::select! {
                uploaded = &mut work => break uploaded?,
                () = line.beat() => {}
                _ = requests.next() => return Ok(INTERRUPTED),
            }
        }
    }
    line.say(Word::Begin).await;
    let (mut last, mut ended) = (LastWord::default(), None);
    while ended.is_none() {
        tokio::select! {
            word = requests.next() => line.say(word).await,
            () = line.beat() => {}
            printed = output.next() => match printed {
                Some(printed) => ended = pass_on(printed.map_err(api("read what Stampede prints"))?, errand, &mut last),
                None => break,
            },
        }
    }
    let code = ended.ok_or_else(|| DockerError::Errand("its container was ended by somebody else".to_owned()))?;
    let fetched = {
        let mut work = pin!(fetch(engine, &container, &named, &own));
        loop {
            tokio::select! {
                fetched = &mut work => break fetched,
                () = line.beat() => {}
            }
        }
    };
    line.say(Word::End).await;
    // What was printed on stdout may come after the last word on stderr.
    let rest = async {
        while let Some(Ok(printed)) = output.next().await {
            pass_on(printed, errand, &mut last);
        }
    };
    let _ = timeout(SILENCE, rest).await;
    fetched.map(|()| code)
}

/// The line to the container's first process.
struct Line {
    input: Pin<Box<dyn AsyncWrite + Send>>,
    beats: Interval,
}

impl Line {
    /// Waits for the time of the next beat, and says that somebody is here.
    async fn beat(&mut self) {
        self.beats.tick().await;
        self.say(Word::Beat).await;
    }

    /// That the container is gone is seen by the end of its output.
    async fn say(&mut self, word: Word) {
        let _ = self.input.write_all(&[word as u8]).await;
        let _ = self.input.flush().await;
    }
}

/// Prints what was printed there. Returns the exit code when it has come.
fn pass_on(printed: LogOutput, errand: &Errand, last: &mut LastWord) -> Option<u8> {
    match printed {
        LogOutput::StdOut { message } | LogOutput::Console { message } => {
            (errand.out)(&message);
            None
        }
        LogOutput::StdErr { message } => {
            let (text, code) = last.take(&message);
            if !text.is_empty() {
                (errand.err)(text);
            }
            code
        }
        LogOutput::StdIn { .. } => None,
    }
}

/// A container that is ready to be started.
struct Prepared {
    container: String,
    /// The paths that the command may write.
    named: Vec<PathBuf>,
    /// Where nothing has to come back: what is mounted.
    own: Vec<PathBuf>,
}

/// What this process is, and where.
struct Surroundings {
    /// Its file.
    program: PathBuf,
    /// Its current folder.
    dir: PathBuf,
    variables: Vec<(String, String)>,
    /// What the container may be called that it is in.
    containers: Vec<String>,
}

impl Surroundings {
    fn of_this_process() -> io::Result<Self> {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let variable =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Ok(Self {
            program: env::current_exe()?,
            dir: env::current_dir()?,
            variables: env::vars_os().filter_map(variable).collect(),
            containers: container_ids(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup")),
        })
    }
}

/// Makes the container, and brings to it what its first process needs.
async fn prepare(
    engine: &Engine,
    errand: &Errand,
    surroundings: &Surroundings,
    label: &str,
) -> Result<Prepared, DockerError> {
    let Surroundings { program, dir, variables, containers } = surroundings;
    let docker = &engine.docker;
    let info = docker.info().await.map_err(api("ask the engine what it is"))?;
    for_the_same_processors(env::consts::ARCH, &info)?;
    let own_container = own_container(engine, containers).await?;
    let is_alone = || fs::read(program).map(|program| is_static(&program));
    let image = match own_container.as_ref().and_then(|own| own.image.clone()) {
        Some(image) => image,
        None if is_alone().map_err(|error| DockerError::Errand(error.to_string()))? => image::empty(engine).await?,
        None => return Err(DockerError::Libraries { program: program.clone() }),
    };
    let order = Order {
        image,
        own_container: own_container.as_ref().and_then(|own| own.id.clone()),
        program,
        dir,
        errand,
        label,
        env: environment(variables.iter().cloned(), own_container.is_some(), errand.columns),
    };
    let container = create(engine, &order).await?;
    let made = docker.inspect_container(&container, None).await.map_err(api("inspect a container"))?;
    let mounted = mounts(&made);
    let view = Beside { label: label.to_owned(), mounted };
    let text = serde_json::to_string(&view).map_err(|error| DockerError::Errand(error.to_string()))?;
    archive::write(docker, &container, PLACE, VIEW, &text).await?;
    archive::upload(docker, &container, PLACE, slice::from_ref(program)).await?;
    if own_container.is_none() {
        archive::write(docker, &container, "/", "etc/passwd", USERS).await?;
    }
    let mut named = paths::named(&errand.args, dir);
    named.push(errand.store.clone());
    let own: Vec<PathBuf> = view.mounted.into_iter().map(|mounted| mounted.at).collect();
    let folders = paths::to_be_there(&named, dir, &own);
    if !folders.is_empty() {
        archive::upload_empty(docker, &container, "/", &folders).await?;
    }
    Ok(Prepared { container, named, own })
}

/// The users of an empty container: root, and the one that servers run as.
const USERS: &str = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n";

/// Brings here what was written there.
async fn fetch(engine: &Engine, container: &str, named: &[PathBuf], own: &[PathBuf]) -> Result<(), DockerError> {
    let docker = &engine.docker;
    let changes = docker.container_changes(container).await.map_err(api("list what Stampede wrote"))?;
    for path in paths::to_fetch(&changes.unwrap_or_default(), named, own) {
        archive::fetch(docker, container, &path).await?;
    }
    Ok(())
}

/// What the container is made of.
struct Order<'a> {
    image: String,
    /// The container that this process is in, whose mounts it gets.
    own_container: Option<String>,
    program: &'a Path,
    dir: &'a Path,
    errand: &'a Errand,
    label: &'a str,
    env: Vec<String>,
}

/// Makes the container. An engine elsewhere has its own socket where this process found it, or at the usual place.
async fn create(engine: &Engine, order: &Order<'_>) -> Result<String, DockerError> {
    let sockets: Vec<Option<PathBuf>> = match order.own_container {
        // It comes with the mounts.
        Some(_) => vec![None],
        None => vec![Some(engine.socket.clone()), Some(PathBuf::from(SOCKET))],
    };
    let mut refused = None;
    for socket in sockets {
        let name = Some(format!("stampede-beside-{}", order.label));
        let named = CreateContainerOptions { name, ..Default::default() };
        match engine.docker.create_container(Some(named), body(order, socket)).await {
            Ok(made) => return Ok(made.id),
            Err(error) => refused = Some(error),
        }
    }
    let nothing = || DockerError::Errand("no socket of the engine is known".to_owned());
    Err(refused.map_or_else(nothing, api("make a container beside the engine")))
}

/// The container as the engine is told of it: it sees the machine's processes, control groups and networks. Its volume has no name, so that the engine removes it with the container.
fn body(order: &Order<'_>, socket: Option<PathBuf>) -> ContainerCreateBody {
    let Order { image, own_container, program, dir, errand, label, env } = order;
    let program = Path::new(PLACE).join(program.strip_prefix("/").unwrap_or(program));
    let entry = [program.display().to_string()].into_iter().chain(errand.keeper.iter().cloned());
    let socket = socket.map(|socket| Mount {
        typ: Some(MountType::BIND),
        source: Some(socket.display().to_string()),
        target: Some(SOCKET.to_owned()),
        ..Default::default()
    });
    let host = HostConfig {
        pid_mode: Some("host".to_owned()),
        network_mode: Some("host".to_owned()),
        cgroupns_mode: Some(HostConfigCgroupnsModeEnum::HOST),
        // What is privileged would take every right of root, and machines take some from it.
        cap_add: Some(RIGHTS.map(str::to_owned).to_vec()),
        security_opt: Some(UNCONFINED.map(str::to_owned).to_vec()),
        auto_remove: Some(true),
        volumes_from: own_container.clone().map(|own| vec![own]),
        mounts: socket.map(|socket| vec![socket]),
        binds: Some(["/sys/fs/cgroup", LOCKS].map(|path| format!("{path}:{path}")).to_vec()),
        ulimits: files_limit(),
        log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
        ..Default::default()
    };
    ContainerCreateBody {
        image: Some(image.clone()),
        user: Some("0:0".to_owned()),
        entrypoint: Some(entry.collect()),
        cmd: Some(errand.args.clone()),
        working_dir: Some(dir.display().to_string()),
        env: Some(env.clone()),
        labels: Some(HashMap::from([(BESIDE.to_owned(), (*label).to_owned())])),
        volumes: Some(vec![PLACE.to_owned()]),
        healthcheck: Some(HealthConfig { test: Some(vec!["NONE".to_owned()]), ..Default::default() }),
        open_stdin: Some(true),
        stdin_once: Some(true),
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        host_config: Some(host),
        ..Default::default()
    }
}

/// The variables that a Stampede beside the engine has: all of this process where that is in a container of the engine, but those of its
/// place; otherwise those alone that say how Stampede works, since others can read them there.
fn environment(variables: impl Iterator<Item = (String, String)>, is_own_image: bool, columns: usize) -> Vec<String> {
    const OF_THE_PLACE: [&str; 6] = ["HOSTNAME", "PATH", "PWD", "STAMPEDE_STATE", "XDG_CACHE_HOME", "COLUMNS"];
    const ALWAYS: [&str; 5] = ["HOME", "LANG", "NO_COLOR", "TZ", "XDG_DATA_HOME"];
    let is_passed = |name: &str| {
        let is_needed =
            ALWAYS.contains(&name) || name.starts_with("STAMPEDE_") || name.to_ascii_lowercase().ends_with("_proxy");
        !OF_THE_PLACE.contains(&name) && (is_own_image || is_needed)
    };
    let mut all: BTreeMap<String, String> = variables.filter(|(name, _)| is_passed(name)).collect();
    let mut set = |name: &str, value: String| drop(all.insert(name.to_owned(), value));
    set(VARIABLE, format!("{PLACE}/{VIEW}"));
    // Short, since sockets lie in it.
    set("STAMPEDE_STATE", format!("{PLACE}/s"));
    set("XDG_CACHE_HOME", format!("{PLACE}/cache"));
    set("COLUMNS", columns.to_string());
    if !is_own_image {
        set("DOCKER_HOST", format!("unix://{SOCKET}"));
        set("TMPDIR", PLACE.to_owned());
    }
    all.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// What a container sees of its engine's machine.
fn mounts(made: &ContainerInspectResponse) -> Vec<Mounted> {
    let all = made.mounts.iter().flatten();
    all.filter_map(|one| {
        Some(Mounted {
            at: PathBuf::from(one.destination.as_ref()?),
            source: PathBuf::from(one.source.as_ref().filter(|source| !source.is_empty())?),
        })
    })
    .collect()
}

/// The container that this process is in, where it is one of this engine.
async fn own_container(engine: &Engine, ids: &[String]) -> Result<Option<ContainerInspectResponse>, DockerError> {
    for id in ids {
        match engine.docker.inspect_container(id, None).await {
            Ok(found) => return Ok(Some(found)),
            Err(bollard::errors::Error::DockerResponseServerError { status_code: 404, .. }) => {}
            Err(error) => return Err(api("inspect this container")(error)),
        }
    }
    Ok(None)
}

/// What may be the name of the container that a process is in: engines mount files of it (`/etc/hostname`), and name its control groups
/// by it where they show them.
/// <https://docs.kernel.org/filesystems/proc.html#proc-pid-mountinfo-information-about-mounts>
fn container_ids(mountinfo: &str, cgroup: &str) -> Vec<String> {
    const FILES: [&str; 3] = ["/etc/hostname", "/etc/hosts", "/etc/resolv.conf"];
    let sources = mountinfo.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(3);
        let (source, at) = (fields.next()?, fields.next()?);
        FILES.contains(&at).then_some(source)
    });
    let groups = cgroup.lines().filter_map(|line| line.rsplit_once(':')).map(|(_, group)| group);
    let mut found: Vec<String> = Vec::new();
    for path in sources.chain(groups) {
        for id in path.split(|letter: char| !letter.is_ascii_hexdigit()).filter(|part| part.len() == 64) {
            if !found.iter().any(|known| known == id) {
                found.push(id.to_owned());
            }
        }
    }
    found
}

/// Refuses an engine whose machine would emulate this program.
fn for_the_same_processors(program: &'static str, info: &SystemInfo) -> Result<(), DockerError> {
    let usual = |name: &str| match name {
        "amd64" => "x86_64".to_owned(),
        "arm64" => "aarch64".to_owned(),
        other => other.to_owned(),
    };
    match info.architecture.as_deref().map(usual) {
        Some(machine) if machine != program => Err(DockerError::Emulated { program, machine }),
        _ => Ok(()),
    }
}

/// Whether a program needs no other file to run: it names no interpreter.
/// <https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.pheader.html>
fn is_static(program: &[u8]) -> bool {
    const INTERPRETER: usize = 3;
    let number = |at: usize, length: usize| {
        let bytes = program.get(at..at.checked_add(length)?)?;
        bytes.iter().rev().try_fold(0_usize, |number, byte| Some(number.checked_mul(256)? + usize::from(*byte)))
    };
    let segments = || {
        let (first, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        (0..count).map(|segment| number(first.checked_add(segment * size)?, 4)).collect::<Option<Vec<usize>>>()
    };
    // Of 64 bits and with the lowest byte first, as are all that Stampede is built for.
    let is_known = program.starts_with(b"\x7fELF\x02\x01");
    is_known && segments().is_some_and(|kinds| !kinds.contains(&INTERPRETER))
}

/// Removes what is left of Stampedes beside the engine whose container is gone.
async fn sweep(engine: &Engine) -> Result<(), DockerError> {
    let docker = &engine.docker;
    let filters = Some(HashMap::from([("label".to_owned(), vec![BESIDE.to_owned()])]));
    let all = ListContainersOptions { all: true, filters: filters.clone(), ..Default::default() };
    let containers = docker.list_containers(Some(all)).await.map_err(api("list containers"))?;
    let networks = docker.list_networks(Some(ListNetworksOptions { filters })).await;
    let networks = networks.map_err(api("list networks"))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let all = containers.into_iter().map(|container| {
        let labels = container.labels.unwrap_or_default();
        let made = Duration::from_secs(u64::try_from(container.created.unwrap_or_default()).unwrap_or_default());
        let is_new = now.saturating_sub(made) < PREPARATION_TIME;
        let keeps = match container.state {
            Some(ContainerSummaryStateEnum::RUNNING | ContainerSummaryStateEnum::PAUSED) => true,
            Some(ContainerSummaryStateEnum::CREATED) => is_new,
            _ => false,
        };
        (keeps && !labels.contains_key(RUN), labels)
    });
    let all = all.chain(networks.into_iter().map(|network| (false, network.labels.unwrap_or_default())));
    for label in abandoned(all) {
        engine.remove_labelled(&format!("{BESIDE}={label}"), Instant::now() + REMOVAL_TIME).await?;
    }
    Ok(())
}

/// The labels of which nothing keeps what has them.
fn abandoned(all: impl Iterator<Item = (bool, HashMap<String, String>)>) -> BTreeSet<String> {
    let (mut kept, mut known) = (BTreeSet::new(), BTreeSet::new());
    for (keeps, labels) in all {
        let label = labels.get(BESIDE).cloned();
        if keeps {
            kept.extend(label);
        } else {
            known.extend(label);
        }
    }
    known.difference(&kept).cloned().collect()
}

#[cfg(test)]
mod tests;
