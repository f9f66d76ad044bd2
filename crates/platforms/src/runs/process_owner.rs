//! Stampede's side of a run's life: the lease, the warden, and the run's end even when the warden is gone.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};
use stampede_cgroup::Hierarchy;

use stampede_core::with_causes;

use super::lease::Lease;
use super::process_table::{self, Process};
use super::run::{END_TIME, PAUSE, Run, Session};
use crate::docker::engine::Containers;
use crate::local::message::Order;

/// How long the warden may take to end a run before it is killed and Stampede does it: the warden's own bound and a
/// little more.
const WARDEN_TIME: Duration = END_TIME.saturating_add(Duration::from_secs(3));

/// A run that is brought to its end when this is dropped.
#[derive(Debug)]
pub(crate) struct ProcessOwner {
    run: Run,
    lease: Lease,
    warden: Option<Warden>,
}

#[derive(Debug)]
struct Warden {
    process: Child,
    socket: UnixStream,
}

impl ProcessOwner {
    /// Writes the lease of a new run. Nothing else is made yet, but from now on it is accounted for.
    pub(crate) fn begin(state_dir: &Path, hierarchy: Option<&Hierarchy>) -> io::Result<Self> {
        let taken = |name: &str| hierarchy.is_some_and(|hierarchy| hierarchy.group(name).exists());
        let (name, mut lease) = Lease::create(state_dir, taken)?;
        let run = Run {
            folder: state_dir.join("r").join(&name),
            lease: lease.path().to_owned(),
            group: hierarchy.map(|hierarchy| hierarchy.group(&name)),
            session: None,
            containers: None,
            name,
        };
        lease.write(&run)?;
        Ok(Self { run, lease, warden: None })
    }

    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    /// Writes down where the run's containers and networks will be, before they are made.
    pub(crate) fn hold(&mut self, containers: Containers) -> io::Result<()> {
        self.run.containers = Some(containers);
        self.lease.write(&self.run)
    }

    /// Starts the warden and returns the socket to it. This process becomes a subreaper, so that the run's processes
    /// come to it if the warden is killed.
    pub(crate) fn start_warden(&mut self, program: &[OsString]) -> io::Result<UnixStream> {
        set_child_subreaper(Some(getpid()))?;
        let (path, args) =
            program.split_first().ok_or_else(|| io::Error::other("no program is given for the warden"))?;
        let (ours, theirs) = UnixStream::pair()?;
        let process = Command::new(path)
            .args(args)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(self.lease.file().try_clone()?))
            .spawn()?;
        self.run.session = Some(Session::led_by(process.id()));
        let socket = ours.try_clone();
        self.warden = Some(Warden { process, socket: ours });
        self.lease.write(&self.run)?;
        socket
    }

    /// Starts a warden that has nothing to start: it ends the run when this process is gone.
    pub(crate) fn start_idle_warden(&mut self, program: &[OsString]) -> io::Result<()> {
        let mut socket = self.start_warden(program)?;
        let begin = Order::Begin { run: self.run.clone(), user: None, cpus: Vec::new() };
        let mut line = serde_json::to_vec(&begin)?;
        line.push(b'\n');
        socket.write_all(&line)
    }

    /// Tells the warden to end the run, waits until it has, and does it in its place when it is gone or takes too long.
    /// Can be called again.
    pub(crate) fn finish(&mut self) -> Result<(), String> {
        if let Some(mut warden) = self.warden.take() {
            let _ = warden.socket.shutdown(Shutdown::Write);
            await_end(&mut warden.process);
            // What the warden could not reap came to this process when it ended.
            reap_adopted(&self.run);
        }
        if !fs::exists(&self.run.lease).unwrap_or(true) {
            return Ok(());
        }
        self.run.end(|| reap_adopted(&self.run)).map_err(|error| with_causes(&error))
    }
}

impl Drop for ProcessOwner {
    fn drop(&mut self) {
        // Nobody can be told here; the lease stays, and the next start or `clean` tries again.
        let _ = self.finish();
    }
}

/// Waits until the warden has ended, and kills it when it takes too long.
fn await_end(warden: &mut Child) {
    let deadline = Instant::now() + WARDEN_TIME;
    while matches!(warden.try_wait(), Ok(None)) {
        if Instant::now() >= deadline {
            let _ = warden.kill();
            let _ = warden.wait();
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// Reaps the processes of a run that came to this process because their parent had ended. Other children of this process
/// are left to those who wait for them.
fn reap_adopted(run: &Run) {
    const LIMIT: Duration = Duration::from_secs(1);
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        let adopted = adopted(run);
        if adopted.is_empty() {
            return;
        }
        for pid in adopted {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a line of `/proc/PID/cgroup` names a run's group or one below it.
fn is_within(line: &str, group: &str) -> bool {
    line.ends_with(group) || line.contains(&format!("{group}/"))
}

fn adopted(run: &Run) -> Vec<Pid> {
    let own = getpid().as_raw_pid();
    let session = run.session.as_ref().map(|session| session.leader);
    let in_group = |process: &Process| {
        let path = format!("/proc/{}/cgroup", process.pid.as_raw_pid());
        let group = format!("/stampede/{}", run.name);
        // The kernel marks the name of a group that is removed already.
        fs::read_to_string(path)
            .is_ok_and(|groups| groups.lines().any(|line| is_within(line.trim_end_matches(" (deleted)"), &group)))
    };
    process_table::read()
        .unwrap_or_default()
        .into_iter()
        .filter(|process| process.parent == own)
        .filter(|process| Some(process.session) == session || in_group(process))
        .map(|process| process.pid)
        .collect()
}
