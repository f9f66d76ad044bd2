//! The file that says what a run leaves behind if nobody ends it. It is locked as long as Stampede or the warden lives.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::run::Run;

/// How the names of leases end.
const EXTENSION: &str = "lease";

/// Counts this process's runs.
static RUNS: AtomicU32 = AtomicU32::new(0);

/// A lease whose lock this process has. The lock lasts until the last copy of the open file is closed.
#[derive(Debug)]
pub(crate) struct Lease {
    file: File,
    path: PathBuf,
}

impl Lease {
    /// Makes a lease and takes its lock. Its name, which is also the run's, is new in this state folder: it holds the
    /// process's number, so that two Stampedes that live at the same time never choose the same. A name that is `taken`, as by
    /// the group of a killed Stampede that had the same number and another state folder, is passed over.
    pub(crate) fn create(state_dir: &Path, taken: impl Fn(&str) -> bool) -> io::Result<(String, Self)> {
        loop {
            let count = RUNS.fetch_add(1, Ordering::Relaxed);
            let name = format!("{:x}-{count:x}", std::process::id());
            if taken(&name) {
                continue;
            }
            let path = state_dir.join(&name).with_extension(EXTENSION);
            let file = match File::options().read(true).write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            flock(&file, FlockOperation::LockExclusive)?;
            // A `clean` that came between these two calls has taken the lease for one of a dead Stampede.
            if file.metadata()?.nlink() > 0 {
                return Ok((name, Self { file, path }));
            }
        }
    }

    /// The leases in a state folder.
    pub(crate) fn list(state_dir: &Path) -> io::Result<Vec<PathBuf>> {
        let mut leases = Vec::new();
        for entry in fs::read_dir(state_dir)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == EXTENSION) {
                leases.push(path);
            }
        }
        leases.sort();
        Ok(leases)
    }

    /// Takes the lock of a lease whose Stampede and warden are both gone; `None` while one of them lives.
    pub(crate) fn take(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::options().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            locked => locked?,
        }
        Ok(Some(Self { file, path: path.to_owned() }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The open file; whoever has a copy of it shares the lock.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Writes what must be ended and removed.
    pub(crate) fn write(&mut self, run: &Run) -> io::Result<()> {
        let text = serde_json::to_vec(run)?;
        // One call, over what was there: whoever is killed in between leaves the one text or the other.
        self.file.rewind()?;
        self.file.write_all(&text)?;
        self.file.set_len(text.len() as u64)
    }

    /// The lease that this process was given as an open file.
    pub(crate) fn inherited(file: File) -> Self {
        Self { file, path: PathBuf::new() }
    }

    /// Reads what must be ended and removed; `None` when its Stampede was killed before it had written it, and so before
    /// it had made anything.
    pub(crate) fn read(&mut self) -> io::Result<Option<Run>> {
        let mut text = String::new();
        self.file.rewind()?;
        self.file.read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text).ok())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_name_that_is_taken_is_passed_over() {
        let state = tempfile::tempdir().unwrap();
        let (first, _held) = Lease::create(state.path(), |_| false).unwrap();
        let asked = RefCell::new(Vec::new());
        let (second, _held) = Lease::create(state.path(), |name| {
            asked.borrow_mut().push(name.to_owned());
            asked.borrow().len() == 1
        })
        .unwrap();
        assert!(first != second && asked.borrow()[0] != second && asked.borrow()[1] == second);
        assert_eq!(Lease::list(state.path()).unwrap().len(), 2, "nothing is written under a name that is passed over");
    }
}
