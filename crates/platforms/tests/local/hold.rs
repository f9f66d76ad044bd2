//! A Stampede that starts a run and keeps it until it is killed or told to stop.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};

use stampede_core::{Terms, UnitId};
use stampede_platforms::{LocalConfig, LocalPlatform, available_cpus};
use stampede_seam::Platform;
use stampede_vantage::Here;

use crate::bench::{LIMITS, block_on, deployment, shell};

/// The body of `__hold`: everything lies in `folder`.
pub(crate) fn run(folder: &str) -> ExitCode {
    let folder = Path::new(folder);
    let platform = LocalPlatform::new(
        LocalConfig {
            warden: vec![std::env::current_exe().unwrap().into(), "__warden".into()],
            state_dir: folder.join("state"),
            cache_dir: folder.join("builds"),
            server_cpus: available_cpus().into_iter().take(1).collect(),
            listen: std::net::Ipv4Addr::LOCALHOST.into(),
            ready_timeout: std::time::Duration::from_secs(30),
            goes_first: false,
        },
        Here::new(),
    )
    .unwrap();
    // It ignores what it can and has a child and an orphan, all with the run's folder in their command line.
    let script = "trap '' TERM INT HUP; (sleep 1000; : @{run}) & (sh -c 'sleep 1000; : @{run}' &) ; echo up; \
        while :; do sleep 1000; : @{run}; done";
    let deployment = deployment(folder.join("app"), vec![shell("stubborn", script)]);
    block_on(async {
        let running = platform.launch(&deployment, &Terms::of(LIMITS)).await.unwrap();
        while running.logs(&UnitId::new("stubborn")).lines.is_empty() {
            tokio::task::yield_now().await;
        }
        println!("up");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        println!("{:?}", running.enforced().unwrap());
    });
    ExitCode::SUCCESS
}

/// A started `__hold`.
pub(crate) struct Holder {
    pub(crate) process: Child,
    output: BufReader<ChildStdout>,
}

impl Holder {
    /// Starts it, as another user if one is given, and waits until its unit runs.
    pub(crate) fn start(program: &Path, folder: &Path, user: Option<u32>) -> Self {
        let mut command = Command::new(program);
        command.arg("__hold").arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let mut process = command.spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut holder = Self { process, output };
        assert_eq!(holder.line(), "up\n");
        holder
    }

    /// Lets it drop its run and end, and returns the limits that it read back.
    pub(crate) fn end(mut self) -> String {
        self.process.stdin.take().unwrap().flush().unwrap();
        let limits = self.line();
        assert!(self.process.wait().unwrap().success());
        limits
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }
}
