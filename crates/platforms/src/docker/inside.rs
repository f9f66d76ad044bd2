//! Programs that are run in a container.

use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::time::Duration;

use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::ExecConfig;
use futures_util::StreamExt as _;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use stampede_cgroup::Group;
use stampede_core::with_causes;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, sleep, timeout};

use super::engine::{Engine, api};
use super::error::DockerError;
use crate::runs::process_table;
use crate::units::Command;
use crate::units::end::End;

/// Runs the program in its arguments after the first with nothing of the container's own environment, and with its output
/// appended to the file that is the first. It ends as that program, under the same number.
const WITH_LOG: &str = "exec env -i \"$@\" >>\"$0\" 2>&1";

/// The same, once somebody lets it go on.
const HELD: &str = "kill -STOP $$; exec env -i \"$@\" >>\"$0\" 2>&1";

/// How long the engine may take to notice what the kernel says already, and a shell to stop.
const NOTICE_TIME: Duration = Duration::from_secs(5);

const PAUSE: Duration = Duration::from_millis(10);

/// The inside of a container, as long as that is there.
#[derive(Clone, Debug)]
pub(crate) struct Inside {
    pub(crate) engine: Engine,
    pub(crate) container: String,
}

impl Inside {
    /// Starts a program, in a group below the container's where one is given. Its output goes to its log.
    pub(crate) async fn start(&self, command: &Command, part: Option<&Group>) -> Result<Process, DockerError> {
        let Command { path, args, env, dir, log } = command;
        // The engine puts it into the container's own group: it does nothing before it is in the right one.
        let script = if part.is_some() { HELD } else { WITH_LOG };
        let mut words = vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned(), log.display().to_string()];
        words.extend(env.iter().map(|(name, value)| format!("{name}={value}")));
        words.push(path.clone());
        words.extend(args.iter().cloned());
        let is_detached = self.engine.tells_ends;
        let order = ExecConfig {
            cmd: Some(words),
            working_dir: Some(dir.display().to_string()),
            attach_stdout: (!is_detached).then_some(true),
            ..Default::default()
        };
        let docker = &self.engine.docker;
        let exec =
            docker.create_exec(&self.container, order).await.map_err(api("prepare a program in a container"))?.id;
        let options = Some(StartExecOptions { detach: is_detached, ..Default::default() });
        let line = docker.start_exec(&exec, options).await.map_err(api("start a program in a container"))?;
        let mut process = Process { engine: self.engine.clone(), exec, pid: None, _line: Mutex::new(Some(line)) };
        let told = process.inspect().await?;
        let pid = told.pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        let opened = pid.map(|pid| Ok::<_, DockerError>((pid, watch(pid)?))).transpose()?;
        // Asked again: it is its number as long as it runs, so the descriptor is of no other process.
        if let Some((pid, Some(fd))) = opened.filter(|_| told.running == Some(true))
            && process.inspect().await?.running == Some(true)
        {
            process.pid = Some((pid, fd));
            if let Some(part) = part {
                process.let_go(pid, part).await?;
            }
        }
        Ok(process)
    }

    /// Runs a program to its end, in a group below the container's where one is given. The inner error says how it failed.
    pub(crate) async fn run(
        &self,
        command: &Command,
        part: Option<&Group>,
        limit: Duration,
    ) -> Result<Result<(), String>, DockerError> {
        let process = self.start(command, part).await?;
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
        self.ask_in(None, words, limit).await
    }

    /// The same, of a program that is run in this folder.
    pub(crate) async fn ask_in(
        &self,
        dir: Option<String>,
        words: Vec<String>,
        limit: Duration,
    ) -> Result<Result<String, String>, DockerError> {
        let docker = &self.engine.docker;
        let order = ExecConfig {
            cmd: Some(words),
            working_dir: dir,
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..Default::default()
        };
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
        match (Process { engine: self.engine.clone(), exec, pid: None, _line: Mutex::new(None) }).ended().await {
            End::Exited(0) => Ok(Ok(said)),
            end => Ok(Err(format!("{end}: {}", said.trim()))),
        }
    }
}

/// What becomes readable when a process ends; nothing where it has ended and was reaped.
pub(crate) fn watch(pid: Pid) -> Result<Option<AsyncFd<OwnedFd>>, DockerError> {
    let failed = |problem: &dyn std::error::Error| DockerError::Prepare(format!("watch a process: {problem}"));
    let fd = match pidfd_open(pid, PidfdFlags::empty()) {
        Err(Errno::SRCH) => return Ok(None),
        fd => fd.map_err(|error| failed(&error))?,
    };
    // SAFETY: it owns the descriptor, which is always the same one and is closed with it.
    let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
    fd.map(Some).map_err(|error| failed(&error))
}

/// A program that was started in a container.
pub(crate) struct Process {
    engine: Engine,
    exec: String,
    /// Its number and what tells its end, where it ran when it was looked at.
    pid: Option<(Pid, AsyncFd<OwnedFd>)>,
    /// What it prints comes here, which is nothing: it is kept for engines that see an end only so. The lock is for the compiler.
    _line: Mutex<Option<StartExecResults>>,
}

impl Process {
    /// Puts it into a group once it has stopped, and lets it go on there.
    async fn let_go(&self, pid: Pid, part: &Group) -> Result<(), DockerError> {
        let cannot = |problem: &dyn std::error::Error| {
            DockerError::Prepare(format!("put a process into its part's control group: {}", with_causes(problem)))
        };
        let deadline = Instant::now() + NOTICE_TIME;
        while !process_table::of(pid).is_some_and(|process| process.stopped) {
            if Instant::now() >= deadline {
                return Err(DockerError::Prepare(
                    "a shell in the container does not stop when it is told to".to_owned(),
                ));
            }
            sleep(PAUSE).await;
        }
        part.add_process(pid).map_err(|error| cannot(&error))?;
        self.signal(Signal::CONT);
        Ok(())
    }

    /// Waits until it has ended, without asking the engine meanwhile.
    pub(crate) async fn ended(&self) -> End {
        if let Some((_, fd)) = &self.pid {
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
        if let Some((_, fd)) = &self.pid {
            let _ = pidfd_send_signal(fd, signal);
        }
    }

    /// Kills those of a group that are of its session, of which it was the first: they would keep its address.
    pub(crate) fn kill_left_behind(&self, group: &Group) {
        let Some((leader, _)) = &self.pid else { return };
        for pid in group.processes().unwrap_or_default() {
            if process_table::of(pid).is_some_and(|process| process.session == leader.as_raw_pid()) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    async fn inspect(&self) -> Result<bollard::models::ExecInspectResponse, DockerError> {
        self.engine.docker.inspect_exec(&self.exec).await.map_err(api("ask for a program in a container"))
    }
}
