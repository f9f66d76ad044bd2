//! Finishes the job of Stampedes that were killed together with their wardens.

use std::fs;
use std::io;
use std::path::Path;

use stampede_core::with_causes;

use crate::lease::Lease;
use crate::local::is_ours;

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
    match lease.read().map_err(|error| failed(&error))? {
        Some(run) => {
            // Their parent is the machine's first process, which reaps them.
            run.end(|| {}).map_err(|error| failed(&error))?;
            Ok(format!("ended run {} of a Stampede that was killed", run.name))
        }
        None => {
            fs::remove_file(&path).map_err(|error| failed(&error))?;
            Ok(format!("removed the lease {} of a run that had not begun", path.display()))
        }
    }
}
