//! Where commands of a soak run, and what is left of them: control groups, processes, files.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::process::ProcessError;

/// How often a command is looked at.
const TICK: Duration = Duration::from_millis(100);

/// How many points of memory are kept.
const POINTS: usize = 60;

/// How long what a killed command started has to be gone. A deployment is stopped with the patience of its server (10 s) and more than one
/// may run.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command that runs for so long hangs.
const TOO_LONG: Duration = Duration::from_secs(600);

/// A folder with a store, and one for runs.
#[derive(Debug)]
pub(super) struct Place {
    program: PathBuf,
    engine: Option<String>,
    home: TempDir,
    /// Servers run as another user and must be able to reach it.
    state: TempDir,
}

/// What was seen of a command.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) pid: u32,
    pub(super) seconds: f64,
    /// Nothing of one that a signal ended.
    pub(super) code: Option<i32>,
    pub(super) memory: Vec<(f64, u64)>,
    pub(super) descriptors: usize,
    /// Trials whose end it told of.
    pub(super) told: usize,
}

impl Place {
    pub(super) fn new(program: PathBuf, engine: Option<String>) -> Result<Self, Failure> {
        let home = tempfile::Builder::new().prefix("stampede-soak-").tempdir().map_err(Failure::Prepare)?;
        let state = tempfile::Builder::new().prefix("soak").tempdir_in("/var/tmp").map_err(Failure::Prepare)?;
        fs::set_permissions(state.path(), fs::Permissions::from_mode(0o755)).map_err(Failure::Prepare)?;
        Ok(Self { program, engine, home, state })
    }

    pub(super) fn version(&self) -> Result<String, Failure> {
        let output = Command::new(&self.program).arg("--version").output().map_err(Failure::Prepare)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn store(&self) -> PathBuf {
        self.home.path().join("studies.db")
    }

    /// Begins a new store: what is in it afterwards is of one command.
    pub(super) fn clear(&self) -> Result<(), Failure> {
        for entry in fs::read_dir(self.home.path()).map_err(Failure::Prepare)? {
            fs::remove_file(entry.map_err(Failure::Prepare)?.path()).map_err(Failure::Prepare)?;
        }
        Ok(())
    }

    /// Runs a command to its end, or kills it at this time.
    pub(super) fn run(
        &self,
        line: &str,
        kill: Option<Duration>,
        interruption: &Interruption,
    ) -> Result<Watched, Failure> {
        let told = self.home.path().join("told");
        let mut command = Command::new(&self.program);
        command
            .args(line.split_whitespace())
            .env("STAMPEDE_STORE", self.store())
            .env("STAMPEDE_STATE", self.state.path())
            .envs(self.engine.iter().map(|engine| ("DOCKER_HOST", engine)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&told).map_err(Failure::Prepare)?);
        let started = Instant::now();
        let mut child = command.spawn().map_err(Failure::Prepare)?;
        let (pid, mut memory, mut descriptors) = (child.id(), Vec::new(), 0);
        let status = loop {
            if let Some(status) = child.try_wait().map_err(Failure::Prepare)? {
                break status;
            }
            let elapsed = started.elapsed();
            if interruption.asked() || elapsed > TOO_LONG || kill.is_some_and(|kill| elapsed >= kill) {
                child.kill().map_err(Failure::Prepare)?;
                let status = child.wait().map_err(Failure::Prepare)?;
                if interruption.asked() {
                    return Err(ProcessError::Interrupted.into());
                }
                if elapsed > TOO_LONG {
                    return Err(ProcessError::Hung { name: "stampede", patience: TOO_LONG }.into());
                }
                break status;
            }
            if let Some(kib) = resident_kib(pid) {
                memory.push((elapsed.as_secs_f64(), kib));
            }
            descriptors = descriptors.max(entries(Path::new(&format!("/proc/{pid}/fd"))));
            thread::sleep(kill.map_or(TICK, |kill| kill.saturating_sub(elapsed).min(TICK)));
        };
        let seconds = started.elapsed().as_secs_f64();
        let lines = BufReader::new(File::open(&told).map_err(Failure::Prepare)?).lines();
        let told = lines.map_while(Result::ok).filter(|line| tells_of_trial(line)).count();
        Ok(Watched { pid, seconds, code: status.code(), memory: thinned(&memory), descriptors, told })
    }

    /// How many trials the store has of its newest study; none where there is none. A store that cannot be read is a failure.
    pub(super) fn trials(&self) -> Result<usize, Failure> {
        if !self.store().exists() {
            return Ok(0);
        }
        let mut command = Command::new(&self.program);
        command.args(["show", "latest", "--json", "-", "--store"]).arg(self.store());
        let output = command.output().map_err(Failure::Prepare)?;
        // It has no study, or one without a trial.
        if output.status.code() == Some(2) {
            return Ok(0);
        }
        let study: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
            let told = String::from_utf8_lossy(&output.stderr);
            Failure::Unusable(format!("the store of a killed command cannot be read: {told}"))
        })?;
        // With what was measured of it under an open load.
        let part = &study["open_part"];
        let parts = [&study, &part["shared"], &part["own"]];
        let cases = parts.into_iter().flat_map(|part| part["cases"].as_array().into_iter().flatten());
        Ok(cases.map(|case| case["trials"].as_array().map_or(0, Vec::len)).sum())
    }

    /// Waits until nothing is left of the runs of these processes: in how many seconds from then on, and if something stays, what.
    pub(super) fn wait_until_gone(&self, pids: &[u32], from: Instant) -> (Option<f64>, Vec<String>) {
        loop {
            let left = self.left(pids);
            let waited = from.elapsed();
            if left.is_empty() {
                return (Some(waited.as_secs_f64()), left);
            }
            if waited > PATIENCE {
                return (None, left);
            }
            thread::sleep(TICK);
        }
    }

    /// Control groups of runs, the processes in them, and files of runs.
    fn left(&self, pids: &[u32]) -> Vec<String> {
        let is_of_run = |name: &str| pids.iter().any(|pid| name.starts_with(&format!("{pid:x}-")));
        let mut left = Vec::new();
        walk(Path::new("/sys/fs/cgroup"), &mut |path| {
            let mut names = path.iter().rev().map(|name| name.to_string_lossy());
            if names.next().is_some_and(|run| is_of_run(&run)) && names.next().is_some_and(|name| name == "stampede") {
                left.push(format!("control group {}", path.display()));
            }
        });
        for (pid, groups) in processes_with("cgroup") {
            let of_run = |line: &str| line.split_once("/stampede/").is_some_and(|(_, run)| is_of_run(run));
            if groups.lines().any(of_run) {
                left.push(format!("process {pid}"));
            }
        }
        // Empty databases are kept there for the next run, and the folder of all runs.
        let [kept, runs] = ["t", "r"].map(|name| self.state.path().join(name));
        walk(self.state.path(), &mut |path| {
            if path != self.state.path() && path != runs && !path.starts_with(&kept) {
                left.push(path.display().to_string());
            }
        });
        left
    }

    pub(super) fn store_kib(&self) -> u64 {
        let files = ["studies.db", "studies.db-wal"].map(|name| self.home.path().join(name));
        files.iter().filter_map(|path| fs::metadata(path).ok()).map(|file| file.len().div_ceil(1024)).sum()
    }
}

/// `[ 3/16] round 1/4  nginx-fpm  1586 req/s`
fn tells_of_trial(line: &str) -> bool {
    let number = line.strip_prefix('[').and_then(|rest| rest.split_once("] round "));
    number.is_some_and(|(number, _)| number.trim().chars().all(|c| c.is_ascii_digit() || c == '/'))
}

/// `VmRSS` of a process (proc_pid_status(5)).
fn resident_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.split_whitespace().next()?.parse().ok()
}

/// As many points, evenly.
fn thinned(points: &[(f64, u64)]) -> Vec<(f64, u64)> {
    let rounded = |point: &(f64, u64)| ((point.0 * 10.0).round() / 10.0, point.1);
    points.iter().step_by(points.len().div_ceil(POINTS).max(1)).map(rounded).collect()
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Each process with what this file of its folder says.
fn processes_with(file: &str) -> Vec<(u32, String)> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    let of = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        let pid = entry.file_name().to_string_lossy().parse().ok()?;
        Some((pid, fs::read_to_string(entry.path().join(file)).ok()?))
    };
    all.filter_map(of).collect()
}

/// Calls with each folder and file, of control groups with folders alone.
fn walk(folder: &Path, seen: &mut impl FnMut(&Path)) {
    seen(folder);
    let Ok(entries) = fs::read_dir(folder) else { return };
    let is_group = folder.starts_with("/sys/fs/cgroup");
    for entry in entries.filter_map(Result::ok) {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), seen),
            Ok(_) if !is_group => seen(&entry.path()),
            _ => {}
        }
    }
}

/// All control groups of this machine.
pub(super) fn groups() -> usize {
    let mut groups = 0;
    walk(Path::new("/sys/fs/cgroup"), &mut |_| groups += 1);
    groups
}

/// All processes of this machine.
pub(super) fn processes() -> usize {
    processes_with("comm").len()
}

/// All open files of this machine (`/proc/sys/fs/file-nr`, proc_sys_fs(5)).
pub(super) fn open_files() -> u64 {
    let counts = fs::read_to_string("/proc/sys/fs/file-nr").unwrap_or_default();
    counts.split_whitespace().next().and_then(|count| count.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_told_from_other_lines() {
        for (line, is_trial) in [
            ("[ 3/16] round 1/4  nginx-fpm             1586 req/s", true),
            ("[12] round 4  head  failed: gave a wrong answer", true),
            ("round 1  reference server  failed: answered none", false),
            ("[warning] something", false),
            ("", false),
        ] {
            assert_eq!(tells_of_trial(line), is_trial, "{line}");
        }
    }

    #[test]
    fn points_are_thinned_evenly() {
        let points: Vec<(f64, u64)> = (0..1000).map(|second| (f64::from(second), 7)).collect();
        let few = thinned(&points);
        assert!((40..=POINTS).contains(&few.len()), "{}", few.len());
        assert_eq!(thinned(&points[..3]).len(), 3);
        assert!(thinned(&[]).is_empty());
    }

    #[test]
    fn this_process_is_seen() {
        assert!(resident_kib(std::process::id()).is_some_and(|kib| kib > 100));
        assert!(processes() > 1 && open_files() > 0);
    }
}
