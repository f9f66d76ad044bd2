//! A place of its own for each test: home, store and run folders, and a look at what was left in them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Longest wait for any condition.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What a trial says that this machine held up, which is right and proves nothing: nothing of the server was seen.
const HELD_UP: [&str; 2] = ["this program was held up", "the generator began requests late"];

/// Most runs of one command line for want of one that was not held up.
pub(crate) const MOST_RUNS: usize = 8;

/// Where Stampede's lock on measuring is (see `stampede_platforms::lock`).
const LOCKS: &str = "/run/lock";

/// Tests of one process take turns. Those of others, as cargo-nextest runs them, need not.
static MEASURING: Mutex<()> = Mutex::new(());

/// Done once in a test process.
static LOCKED_APART: Once = Once::new();

/// Looks at each, some at once: for programs that wait for the end of their windows more than they compute.
#[allow(dead_code, reason = "for `it`, which shares this file with `drain`")]
pub(crate) fn at_once<T: Sync>(what: &[T], look: impl Fn(&T) + Sync) {
    const AT_ONCE: usize = 4;
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(one) = what.get(next.fetch_add(1, Ordering::Relaxed)) {
                    look(one);
                }
            });
        }
    });
}

/// What a finished program said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// What earlier runs of the same command line said on stderr, which were held up.
    pub(crate) before: String,
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            before: String::new(),
        }
    }

    /// What it printed, with one blank where there is white space: where lines break depends on the figures in them.
    #[allow(dead_code, reason = "for `drain`, which shares this file")]
    pub(crate) fn words(&self) -> String {
        self.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Whether trials are invalid, each for the machine's sake alone.
    pub(crate) fn was_held_up(&self) -> bool {
        let mut invalid = self.stderr.lines().filter_map(|line| line.split_once("invalid: ")).peekable();
        // Of several cases some can fail as well.
        matches!(self.code, Some(4 | 5))
            && invalid.peek().is_some()
            && invalid.all(|(_, why)| why.split("; ").all(|why| HELD_UP.iter().any(|held_up| why.contains(held_up))))
    }
}

/// Folders of a test.
pub(crate) struct Stage {
    home: tempfile::TempDir,
    /// Servers run as another user and must be able to reach their run's folder.
    state: tempfile::TempDir,
    /// Processes whose runs are this test's: a run has the number of the process that made it in its name.
    started: Mutex<Vec<u32>>,
    /// Whether other tests measure beside this one: then none of them goes first.
    is_shared: bool,
    _measuring: MutexGuard<'static, ()>,
}

impl Stage {
    /// Of a test that runs alone on the machine, as users measure.
    #[allow(dead_code, reason = "for `it`, which shares this file with `drain`")]
    pub(crate) fn alone() -> Self {
        Self { is_shared: false, ..Self::new() }
    }

    pub(crate) fn new() -> Self {
        let measuring = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
        LOCKED_APART.call_once(|| {
            if let Err(error) = lock_apart() {
                let _ = writeln!(std::io::stderr(), "takes turns with other tests that measure: {error}");
            }
        });
        let home = tempfile::tempdir().unwrap();
        let state = tempfile::Builder::new().prefix("st").tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(state.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let started = Mutex::new(vec![std::process::id()]);
        Self { home, state, started, is_shared: true, _measuring: measuring }
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    #[allow(dead_code, reason = "for `drain`, which shares this file")]
    pub(crate) fn state(&self) -> &Path {
        self.state.path()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.home().join("studies.db")
    }

    /// Stampede with these arguments.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stampede"));
        command
            .args(args)
            .env("XDG_CACHE_HOME", kept_builds())
            .envs(go_cache())
            .env("STAMPEDE_STORE", self.store())
            .env("STAMPEDE_STATE", self.state.path())
            .env("COLUMNS", "80")
            .env_remove("TERM")
            .stdin(Stdio::null());
        if self.is_shared {
            command.env("STAMPEDE_POLITE", "1");
        }
        command
    }

    /// Runs Stampede to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        self.run_in(Path::new("."), args)
    }

    /// The same in a folder.
    pub(crate) fn run_in(&self, folder: &Path, args: &[&str]) -> Said {
        self.run_in_with(folder, &[], args)
    }

    /// The same with variables in its environment.
    #[allow(dead_code, reason = "for `drain`, which shares this file")]
    pub(crate) fn run_with(&self, env: &[(&str, &str)], args: &[&str]) -> Said {
        self.run_in_with(Path::new("."), env, args)
    }

    /// Runs it to its end once, for who takes what was held up as well.
    #[allow(dead_code, reason = "for `drain`, which shares this file")]
    pub(crate) fn run_once(&self, args: &[&str]) -> Said {
        Said::of(self.output(&mut self.command(args)))
    }

    /// The same in a folder with variables. What was held up is run again: windows of half a second are, now and then, on a busy
    /// machine.
    pub(crate) fn run_in_with(&self, folder: &Path, env: &[(&str, &str)], args: &[&str]) -> Said {
        let (mut run, mut before) = (1, String::new());
        loop {
            let mut command = self.command(args);
            let said = Said::of(self.output(command.current_dir(folder).envs(env.iter().copied())));
            if run == MOST_RUNS || !said.was_held_up() {
                return Said { before, ..said };
            }
            let _ = writeln!(std::io::stderr(), "AGAIN after run {run}, which was held up: {args:?}\n{}", said.stderr);
            before.push_str(&said.stderr);
            run += 1;
        }
    }

    /// Starts Stampede and leaves it running.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        self.spawn(self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// Runs a command of this stage to its end.
    pub(crate) fn output(&self, command: &mut Command) -> Output {
        self.spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped())).wait_with_output().unwrap()
    }

    /// Starts a command of this stage.
    pub(crate) fn spawn(&self, command: &mut Command) -> Child {
        let child = command.spawn().unwrap();
        self.started.lock().unwrap().push(child.id());
        child
    }

    /// Whether a run of this name is one of this test's.
    fn has_run(&self, name: &str) -> bool {
        self.started.lock().unwrap().iter().any(|pid| name.starts_with(&format!("{pid:x}-")))
    }

    /// Processes that are in the control group of some run, and the group.
    pub(crate) fn processes(&self) -> Vec<(u32, String)> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let groups = fs::read_to_string(entry.path().join("cgroup")).unwrap_or_default();
            let of_run = |line: &&str| line.split_once("/stampede/").is_some_and(|(_, run)| self.has_run(run));
            if let Some(group) = groups.lines().find(of_run) {
                found.push((pid, group.to_owned()));
            }
        }
        found
    }

    /// Control groups of runs.
    fn groups(&self) -> Vec<PathBuf> {
        let of_run = |path: &PathBuf| {
            let mut names = path.iter().rev().map(|name| name.to_string_lossy());
            names.next().is_some_and(|run| self.has_run(&run)) && names.next().is_some_and(|name| name == "stampede")
        };
        walk(Path::new("/sys/fs/cgroup")).into_iter().filter(of_run).filter(|path| path.is_dir()).collect()
    }

    /// Waits until nothing of any run is left: no process in a run's control group, no group, no lease, no folder.
    pub(crate) fn assert_nothing_left(&self) {
        wait_until("nothing is left of the run", || {
            let mut left = Vec::new();
            for (pid, group) in self.processes() {
                left.push(format!("process {pid} in {group}"));
            }
            for group in self.groups() {
                left.push(format!("control group {}", group.display()));
            }
            // Empty databases are kept there for the next run.
            let kept = self.state.path().join("t");
            for entry in walk(self.state.path()).into_iter().filter(|path| !path.starts_with(&kept)) {
                left.push(format!("{}", entry.display()));
            }
            if left.is_empty() { Ok(()) } else { Err(left.join("\n")) }
        });
    }
}

/// Gives this test, and what it starts, a folder of locks of its own, in a mount namespace: tests that check no figure may
/// measure beside each other, which users never may.
fn lock_apart() -> io::Result<()> {
    // SAFETY: Only mounts are unshared: file descriptors stay as they are.
    #[expect(unsafe_code, reason = "the standard library has nothing for it")]
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    mount("tmpfs", LOCKS, "tmpfs", MountFlags::NODEV | MountFlags::NOSUID, None)
}

/// A workload of these tests.
pub(crate) fn workload(name: &str) -> String {
    format!("{}/tests/workloads/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Builds are kept between tests, as between runs of a user.
fn kept_builds() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// What Go has compiled is shared with other tests: a library of one workload alone takes a minute.
fn go_cache() -> Option<(&'static str, PathBuf)> {
    let own = std::env::var_os("GOCACHE").map(PathBuf::from);
    Some(("GOCACHE", own.or_else(|| Some(std::env::home_dir()?.join(".cache/go-build")))?))
}

/// Whether limits can be enforced and these programs are there; says loudly what a test skips for.
pub(crate) fn have(test: &str, programs: &[&str]) -> bool {
    if !geteuid().is_root() {
        let _ = writeln!(std::io::stderr(), "SKIP {test}: needs root");
        return false;
    }
    for program in programs {
        let folders = ["/usr/local/go/bin", "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"];
        let on_path = std::env::var_os("PATH").unwrap_or_default();
        // Debian keeps servers of each version in a folder of their own.
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
        let found = std::env::split_paths(&on_path)
            .chain(folders.iter().map(PathBuf::from))
            .chain(versions.map(|version| version.path().join("bin")))
            .filter_map(|folder| fs::read_dir(folder).ok())
            .flatten()
            .filter_map(Result::ok)
            .any(|entry| is_program(&entry.file_name().to_string_lossy(), program));
        if !found {
            let _ = writeln!(std::io::stderr(), "SKIP {test}: needs {program}");
            return false;
        }
    }
    true
}

/// Whether the command line's PHP can load an extension; skipped loudly otherwise.
#[allow(dead_code, reason = "for `drain`, which shares this file")]
pub(crate) fn have_extension(test: &str, extension: &str) -> bool {
    let load = format!("extension={extension}");
    let has = |args: &[&str]| {
        let told = Command::new("php").args(args).args(["--ri", extension]).output();
        told.is_ok_and(|told| told.status.success())
    };
    let found = has(&[]) || has(&["-n", "-d", &load]);
    if !found {
        let _ = writeln!(std::io::stderr(), "SKIP {test}: needs the PHP extension {extension}");
    }
    found && have(test, &["php"])
}

/// `php8.2` is `php`; `gold` is not `go`.
fn is_program(file: &str, program: &str) -> bool {
    file.strip_prefix(program)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(|next: char| next.is_ascii_digit() || next == '.'))
}

/// Polls a condition to its deadline and shows the last state.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> Result<(), String>) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match condition() {
            Ok(()) => return,
            Err(state) => assert!(Instant::now() < deadline, "waited in vain until {what}; last state:\n{state}"),
        }
        std::thread::yield_now();
        let _ = rustix::thread::nanosleep(&rustix::time::Timespec { tv_sec: 0, tv_nsec: 10_000_000 });
    }
}

/// The command line of a process.
pub(crate) fn command_line(pid: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The warden among a process's children.
pub(crate) fn warden_of(pid: u32) -> Option<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    tasks
        .filter_map(Result::ok)
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|children| children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>())
        .find(|child| command_line(*child).iter().any(|word| word == "__warden"))
}

/// Ends one process that this test started.
pub(crate) fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Everything below a folder but the folder `r` that holds runs; links are not followed.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder {
                folders.push(path.clone());
            }
            if entry.file_name() != "r" {
                found.push(path);
            }
        }
    }
    found
}
