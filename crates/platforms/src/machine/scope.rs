//! A control group of this program's own, from systemd.
//!
//! Where systemd keeps version 2 control groups, a login session's group holds the shell too, and a user's session may not
//! even write to it: no limited groups can be made there. systemd hands a group over with a scope that has
//! [`Delegate=`](https://www.freedesktop.org/software/systemd/man/latest/systemd.resource-control.html#Delegate=); root asks
//! the system's systemd for one, a user the user's own. `systemd-run --scope` moves itself there and then becomes the
//! program that it is given, so that process number, terminal, signals and exit status stay those of this process.

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::geteuid;
use stampede_cgroup::{DetectError, Hierarchy};
use thiserror::Error;

use stampede_core::with_causes;

use crate::detect::program::{find, search_folders};
use crate::output::collect;
use crate::{available_cpus, pin_to};

/// Set for the program that was started again, so that it does not try a second time.
const TRIED: &str = "STAMPEDE_SCOPE";

/// Where the user's systemd listens
/// ([pam_systemd(8)](https://www.freedesktop.org/software/systemd/man/latest/pam_systemd.html)).
const RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";

/// What systemd is asked to hand over. Not `cpuset`, which it would switch on for the whole machine: the kernel may then
/// forget (Linux 6.1 does) to which processors every other program is pinned. The run's processes are pinned one by one.
const DELEGATE: &str = "Delegate=cpu memory";

/// The largest weight against what else runs beside the scope
/// ([`CPUWeight=`](https://www.freedesktop.org/software/systemd/man/latest/systemd.resource-control.html#CPUWeight=weight)): the groups
/// of runs lie in it, and weigh as much against their neighbours as it does.
const WEIGHT: &str = "CPUWeight=10000";

/// How long systemd may take to make a scope.
const PROBE_TIME: Duration = Duration::from_secs(5);

/// Brings this process to where it can make limited groups. When that takes a scope of systemd, this program is started
/// again in one, as the same process and with the same arguments, and this function does not return. The processors that
/// this thread may run on stay the same.
///
/// Call it before anything is opened, locked or started. `root` is the root of the file system, `/` outside tests.
///
/// # Errors
///
/// When systemd gives no scope, or the process cannot move within its own. The program can go on: what stands in the way
/// of limits is found again by [`stampede_core::Platform::preflight`].
pub fn enter(root: &Path) -> Result<(), ScopeError> {
    let unusable = match Hierarchy::detect(root) {
        Ok(hierarchy) => {
            let cpus = available_cpus();
            hierarchy.settle().map_err(|error| ScopeError::Settle(with_causes(&error)))?;
            return pin_to(&cpus).map_err(|error| ScopeError::Settle(error.to_string()));
        }
        Err(unusable) => unusable,
    };
    let folders = search_folders();
    let uid = geteuid();
    let asked = ask(&Circumstances {
        unusable,
        tried: env::var_os(TRIED).is_some(),
        // https://www.freedesktop.org/software/systemd/man/latest/sd_booted.html
        systemd: root.join("run/systemd/system").is_dir(),
        systemd_run: find(&folders, "systemd-run"),
        root: uid.is_root(),
    });
    let Some((path, args)) = asked else {
        return Ok(());
    };
    let cpus: Vec<String> = available_cpus().iter().map(u32::to_string).collect();
    let systemd_run = || {
        let mut command = Command::new(&path);
        command.args(&args);
        if !uid.is_root() {
            // Where it is for every user; after su or sudo the variable is not set, or another user's.
            command.env(RUNTIME_DIR, format!("/run/user/{}", uid.as_raw()));
        }
        // Where others have switched cpusets on, this process's own pinning is forgotten when it comes to its scope.
        if let Some(taskset) = find(&folders, "taskset") {
            command.arg(taskset).arg("-c").arg(cpus.join(","));
        }
        command
    };
    // Once this process has become systemd-run there is nobody left to go on without it.
    let mut probe = systemd_run();
    probe.arg("true");
    try_out(probe)?;
    let program = env::current_exe().map_err(ScopeError::Again)?;
    Err(ScopeError::Again(systemd_run().arg(program).args(env::args_os().skip(1)).env(TRIED, "1").exec()))
}

/// Whether this process can make no limited groups where it is, and root could. `root` is as for [`enter`].
pub fn root_can_limit(root: &Path) -> bool {
    Hierarchy::detect(root).is_err_and(|error| error.ends_with_root())
}

/// What decides whether systemd is asked.
struct Circumstances {
    unusable: DetectError,
    tried: bool,
    /// Whether systemd runs this machine.
    systemd: bool,
    systemd_run: Option<PathBuf>,
    root: bool,
}

/// The program, with its first arguments, that runs what follows in a scope; none where that would not help.
fn ask(circumstances: &Circumstances) -> Option<(PathBuf, Vec<&'static str>)> {
    let Circumstances { unusable, tried, systemd, systemd_run, root } = circumstances;
    if *tried || !*systemd || !unusable.ends_with_delegation() {
        return None;
    }
    let whose = if *root { "--system" } else { "--user" };
    let args = vec![whose, "--scope", "--quiet", "--collect", "-p", DELEGATE, "-p", WEIGHT, "--"];
    Some((systemd_run.clone()?, args))
}

/// Runs a program that shall end at once with success.
fn try_out(command: Command) -> Result<(), ScopeError> {
    let refused = |error: &dyn std::error::Error| ScopeError::Refused(with_causes(error));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| refused(&error))?;
    let output = runtime.block_on(collect(command.into(), PROBE_TIME)).map_err(|error| refused(&error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = output.all();
    let said = String::from_utf8_lossy(&said);
    let said = said.lines().next().map_or_else(|| output.status.to_string(), str::to_owned);
    Err(ScopeError::Refused(said))
}

/// Why limits need a scope and there is none.
#[derive(Debug, Error)]
pub enum ScopeError {
    /// `systemd-run` does not run, does not answer, or says no.
    #[error("ask systemd for a control group: {0}")]
    Refused(String),
    /// This program could not be started again.
    #[error("start again in a control group from systemd")]
    Again(#[source] io::Error),
    /// The kernel did not let the process move within its control group.
    #[error("move to a leaf of the control group: {0}")]
    Settle(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circumstances() -> Circumstances {
        Circumstances {
            unusable: DetectError::NotAlone("/session".into()),
            tried: false,
            systemd: true,
            systemd_run: Some("/bin/systemd-run".into()),
            root: false,
        }
    }

    #[test]
    fn systemd_is_asked_once_and_only_where_it_helps() {
        let no_controller = DetectError::NoController { controller: "cpu", folder: "/session".into() };
        let v1 = DetectError::NotWritableV1 { path: "/cpu".into(), source: io::ErrorKind::PermissionDenied.into() };
        for (name, case, asks) in [
            ("not alone", circumstances(), true),
            ("no controller", Circumstances { unusable: no_controller, ..circumstances() }, true),
            ("version 1", Circumstances { unusable: v1, ..circumstances() }, false),
            ("no groups", Circumstances { unusable: DetectError::NotMounted, ..circumstances() }, false),
            ("second start", Circumstances { tried: true, ..circumstances() }, false),
            ("another init", Circumstances { systemd: false, ..circumstances() }, false),
            ("no systemd-run", Circumstances { systemd_run: None, ..circumstances() }, false),
        ] {
            assert_eq!(ask(&case).is_some(), asks, "{name}");
        }
    }

    #[test]
    fn root_asks_the_systems_systemd_and_a_user_the_own_one() {
        for (root, whose) in [(true, "--system"), (false, "--user")] {
            let (path, args) = ask(&Circumstances { root, ..circumstances() }).unwrap();
            assert_eq!(path, Path::new("/bin/systemd-run"));
            assert_eq!(
                args,
                [whose, "--scope", "--quiet", "--collect", "-p", "Delegate=cpu memory", "-p", "CPUWeight=10000", "--"]
            );
        }
    }
}
