//! What the tests build on: a state folder, small units, and the assertion that nothing is left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use stampede_core::{
    Address, AddressId, AddressKind, Bytes, Cpus, Deployment, GracefulStop, Limits, Program, Ready, StopSignal, Unit,
    UnitId,
};
use stampede_platforms::{LocalConfig, LocalPlatform, available_cpus};
use stampede_vantage::Here;
use tempfile::TempDir;

pub(crate) const LIMITS: Limits = Limits { cpus: Cpus::from_millis(500), memory: Bytes::from_mib(64) };

/// A folder for everything that a test makes, with an application in it.
pub(crate) struct Bench {
    folder: TempDir,
    /// Control groups that were there before: left by what was killed earlier, and not this bench's.
    groups: Vec<PathBuf>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(folder.path().join("app")).unwrap();
        fs::write(folder.path().join("app/index.php"), "<?php echo getmypid();").unwrap();
        let mut groups = Vec::new();
        find_groups(Path::new("/sys/fs/cgroup"), &mut groups);
        Self { folder, groups }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn state_dir(&self) -> PathBuf {
        self.path("state")
    }

    pub(crate) fn platform(&self) -> LocalPlatform {
        LocalPlatform::new(
            LocalConfig {
                warden: vec![std::env::current_exe().unwrap().into(), "__warden".into()],
                state_dir: self.state_dir(),
                cache_dir: self.path("builds"),
                server_cpus: available_cpus().into_iter().take(1).collect(),
                listen: std::net::Ipv4Addr::LOCALHOST.into(),
                ready_timeout: Duration::from_secs(30),
                goes_first: false,
            },
            Here::new(),
        )
        .unwrap()
    }

    pub(crate) fn deployment(&self, units: Vec<Unit>) -> Deployment {
        deployment(self.path("app"), units)
    }

    /// The folder of the only run.
    pub(crate) fn run(&self) -> PathBuf {
        let runs: Vec<PathBuf> =
            fs::read_dir(self.state_dir().join("r")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    /// Waits until no process, control group, run folder or lease of this bench is left, and no child of this process.
    pub(crate) fn assert_nothing_left(&self) {
        wait_until("something is left", || {
            // What was started by a helper that was killed comes to this process, which is a subreaper.
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
            let left = self.left();
            if left.is_empty() { Ok(()) } else { Err(left) }
        });
    }

    fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        let own = std::process::id();
        for process in processes() {
            let text = format!("process {} {:?}", process.pid, process.command);
            let ours = process.command.contains(self.folder.path().to_str().unwrap());
            if process.parent == own || ours {
                left.push(text);
            }
        }
        let state = self.state_dir();
        for folder in [state.join("r"), state] {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if !path.ends_with("r") && !path.ends_with("t") {
                    left.push(path.display().to_string());
                }
            }
        }
        let mut groups = Vec::new();
        find_groups(Path::new("/sys/fs/cgroup"), &mut groups);
        left.extend(
            groups
                .into_iter()
                .filter(|group| !self.groups.contains(group) && !is_anothers(group))
                .map(|group| group.display().to_string()),
        );
        left
    }
}

/// Units behind one TCP address.
pub(crate) fn deployment(app: PathBuf, units: Vec<Unit>) -> Deployment {
    let front = AddressId::new("front");
    let addresses = vec![Address { id: front.clone(), kind: AddressKind::Tcp }];
    Deployment { addresses, front, app, container: None, image: None, preparation: None, probe: None, units }
}

/// Whether a group belongs to another process that is alive: its name begins with that one's number.
fn is_anothers(group: &Path) -> bool {
    let name = group.file_name().and_then(|name| name.to_str());
    let owner = name.and_then(|name| name.split('-').next()).and_then(|owner| u32::from_str_radix(owner, 16).ok());
    owner.is_some_and(|owner| owner != std::process::id() && Path::new(&format!("/proc/{owner}")).exists())
}

/// Control groups of runs, of this bench and of others.
fn find_groups(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        if dir.ends_with("stampede") {
            found.push(path.clone());
        }
        find_groups(&path, found);
    }
}

pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) name: String,
    pub(crate) command: String,
}

pub(crate) fn processes() -> Vec<Process> {
    let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let dir = entry.unwrap().path();
            let pid = dir.file_name()?.to_str()?.parse().ok()?;
            let stat = read(dir.join("stat"));
            let (before, after) = stat.rsplit_once(") ")?;
            Some(Process {
                pid,
                parent: after.split(' ').nth(1)?.parse().ok()?,
                name: before.split_once('(')?.1.to_owned(),
                command: read(dir.join("cmdline")).replace('\0', " "),
            })
        })
        .collect()
}

/// The warden among a process's children.
pub(crate) fn warden_of(parent: u32) -> u32 {
    wait_until("there is no warden", || {
        processes()
            .into_iter()
            .find(|process| process.parent == parent && process.name == "stampede-warden")
            .map(|process| process.pid)
            .ok_or(parent)
    })
}

pub(crate) fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
}

/// Looks again and again until it is so, and says what it was last when time is over.
pub(crate) fn wait_until<T, S: std::fmt::Debug>(what: &str, mut look: impl FnMut() -> Result<T, S>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match look() {
            Ok(found) => return found,
            Err(state) => assert!(Instant::now() < deadline, "{what}: {state:?}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A unit that runs a shell script.
pub(crate) fn shell(id: &str, script: &str) -> Unit {
    Unit {
        id: UnitId::new(id),
        build: None,
        files: Vec::new(),
        folders: Vec::new(),
        check: None,
        program: program("/bin/sh", &["-c", script]),
        logs: Vec::new(),
        statuses: Vec::new(),
        ready: Ready::Request,
        stop: GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(5) },
    }
}

/// PHP's own server with three workers.
pub(crate) fn php_server() -> Unit {
    let mut unit = shell("php", "");
    unit.program = program("php", &["-n", "-S", "@{front}", "-t", "@{app}"]);
    unit.program.env.insert("PHP_CLI_SERVER_WORKERS".to_owned(), "3".to_owned());
    unit.ready = Ready::Port(AddressId::new("front"));
    unit
}

pub(crate) fn program(path: &str, args: &[&str]) -> Program {
    Program { path: path.to_owned(), args: args.iter().map(|arg| (*arg).to_owned()).collect(), env: [].into() }
}

/// Whether something is there that a test needs; said loudly if not.
pub(crate) fn has(test: &str, what: &str, there: bool) -> bool {
    if !there {
        eprintln!("SKIP {test}: needs {what}");
    }
    there
}

pub(crate) fn has_php(test: &str) -> bool {
    let there = std::process::Command::new("php").arg("-v").output().is_ok();
    has(test, "the program php", there)
}

/// Whether limits can be enforced here.
pub(crate) fn has_cgroups(test: &str) -> bool {
    let there = stampede_cgroup::Hierarchy::detect(Path::new("/")).is_ok();
    has(test, "control groups that this user may use", there)
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
