//! Finishes the job of Stampedes that were killed together with their wardens.

use std::fs;
use std::io;
use std::path::Path;

use stampede_core::with_causes;

use super::lease::{Lease, LeaseText};
use super::state_dir::is_ours;

/// What was cleaned up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanReport {
    /// What was done, a sentence each.
    pub done: Vec<String>,
    /// What could not be done, a sentence each.
    pub problems: Vec<String>,
    /// How many runs were left alone because they are alive.
    pub alive: usize,
}

/// Ends every run of this state folder whose Stampede and warden are both gone: kills its processes, removes its control
/// group, its containers and networks, its folder and its lease. Runs that are alive are not touched: their leases are locked.
///
/// Of a lease that another version wrote, what this one understands is ended. The lease stays, and is told, where that may not
/// have been all that a run needs to end.
pub fn clean(state_dir: &Path) -> CleanReport {
    let mut report = CleanReport::default();
    match is_ours(state_dir) {
        Ok(true) => {}
        Ok(false) => {
            let problem = "it is not a folder that this user owns and only this user may change";
            report.problems.push(format!("read {}: {problem}", state_dir.display()));
            return report;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return report,
        Err(error) => {
            report.problems.push(format!("read {}: {error}", state_dir.display()));
            return report;
        }
    }
    let leases = match Lease::list(state_dir) {
        Err(error) => {
            report.problems.push(format!("list {}: {error}", state_dir.display()));
            return report;
        }
        Ok(leases) => leases,
    };
    for path in leases {
        match Lease::take(&path) {
            Ok(Some(lease)) => match end(lease) {
                Ok(done) => report.done.push(done),
                Err(problem) => report.problems.push(problem),
            },
            Ok(None) => report.alive += 1,
            Err(error) => report.problems.push(format!("take the lease {}: {error}", path.display())),
        }
    }
    report
}

fn end(mut lease: Lease) -> Result<String, String> {
    let path = lease.path().to_owned();
    let failed = |error: &dyn std::error::Error| format!("end the run of {}: {}", path.display(), with_causes(error));
    let Some(text) = lease.read().map_err(|error| kept(&failed(&error)))? else {
        fs::remove_file(&path).map_err(|error| failed(&error))?;
        return Ok(format!("removed the lease {} of a run that had not begun", path.display()));
    };
    let LeaseText { run, unknown, unreadable } = text;
    // The parent of its processes is the machine's first process, which reaps them.
    if !unreadable.is_empty() {
        let problem = format!("end the run of {}: {}", path.display(), unreadable.join("; "));
        run.end_processes(|| {}).map_err(|error| kept(&format!("{problem}; {}", with_causes(&error))))?;
        return Err(kept(&problem));
    }
    run.end(|| {}).map_err(|error| failed(&error))?;
    let ended = format!("ended run {} of a Stampede that was killed", run.name);
    if unknown.is_empty() {
        return Ok(ended);
    }
    Ok(format!(
        "{ended}; its lease was written by another version, and its unknown fields were ignored: {}",
        unknown.join(", ")
    ))
}

/// A problem with a lease that this version cannot read in full, and what to do.
fn kept(problem: &str) -> String {
    format!(
        "{problem}; the lease is kept: run `stampede clean` of the version that wrote it, or end what is left of the run and \
         remove the file"
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    use rustix::process::Pid;

    use super::*;
    use crate::runs::process_table::session_members;

    /// A state folder with a run's folder in it.
    fn state() -> (tempfile::TempDir, PathBuf) {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("r/1f-0");
        fs::create_dir_all(&folder).unwrap();
        (state, folder)
    }

    /// A session whose leader has ended and left a process behind.
    fn session() -> Pid {
        let mut leader = Command::new("setsid")
            .args(["sh", "-c", "sleep 600 <&- >&- 2>&- &"])
            .stdin(Stdio::null())
            .spawn()
            .expect("setsid, of util-linux, is on every Debian");
        let pid = Pid::from_child(&leader);
        leader.wait().unwrap();
        assert_eq!(session_members(pid).unwrap().len(), 1);
        pid
    }

    fn boot() -> String {
        fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().to_owned()
    }

    #[test]
    fn a_run_of_a_newer_version_is_ended_by_what_is_known_of_it() {
        let (state, folder) = state();
        let lease = state.path().join("1f-0.lease");
        let leader = session();
        let text = format!(
            r#"{{"version":2,"folder":{folder:?},"session":{{"leader":{},"boot":"{}","namespace":7}},"guests":[1]}}"#,
            leader.as_raw_pid(),
            boot()
        );
        fs::write(&lease, text).unwrap();
        let report = clean(state.path());
        assert_eq!(
            report.done,
            [
                "ended run 1f-0 of a Stampede that was killed; its lease was written by another version, and its unknown \
              fields were ignored: guests, session.namespace, version"
            ]
        );
        assert!(report.problems.is_empty(), "{report:?}");
        assert_eq!(session_members(leader).unwrap(), []);
        assert!(!folder.exists() && !lease.exists());
    }

    #[test]
    fn a_lease_that_cannot_be_read_in_full_is_kept_and_told() {
        let (state, folder) = state();
        let lease = state.path().join("1f-0.lease");
        for text in ["garbage", r#"{"name":"1f-0","fol"#, r#"{"name":"1f-0"}"#] {
            fs::write(&lease, text).unwrap();
            let report = clean(state.path());
            assert!(report.done.is_empty() && report.problems.len() == 1, "{text}: {report:?}");
            let problem = &report.problems[0];
            assert!(problem.contains("1f-0.lease") && problem.contains("the lease is kept"), "{problem}");
            assert_eq!(fs::read_to_string(&lease).unwrap(), text);
        }
        let leader = session();
        let text = format!(
            r#"{{"name":"1f-0","folder":{folder:?},"group":{{"v3":1}},"session":{{"leader":{},"boot":"{}"}}}}"#,
            leader.as_raw_pid(),
            boot()
        );
        fs::write(&lease, text).unwrap();
        let report = clean(state.path());
        assert!(report.done.is_empty() && report.problems[0].contains("`group`"), "{report:?}");
        assert_eq!(session_members(leader).unwrap(), [], "what is known is ended all the same");
        assert!(folder.exists() && lease.exists());
    }

    #[test]
    fn an_empty_lease_is_removed_and_a_locked_one_is_not_touched() {
        let (state, _) = state();
        fs::write(state.path().join("1f-0.lease"), "").unwrap();
        let (name, held) = Lease::create(state.path(), |_| false).unwrap();
        fs::write(held.path(), "garbage").unwrap();
        let report = clean(state.path());
        assert!(report.done[0].contains("1f-0.lease of a run that had not begun"), "{report:?}");
        assert_eq!((report.done.len(), report.problems.len(), report.alive), (1, 0, 1));
        assert_eq!(fs::read_to_string(state.path().join(name).with_extension("lease")).unwrap(), "garbage");
    }
}
