//! The file that says what a run leaves behind if nobody ends it. It is locked as long as Stampede or the warden lives.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

use super::run::Run;

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

    /// Reads what must be ended and removed; `None` only when the lease is empty: its Stampede was killed before it had
    /// written anything, and so before it had made anything.
    ///
    /// A lease may be of another version of Stampede. Each field is read on its own, so that what cannot be read takes nothing
    /// else with it.
    pub(crate) fn read(&mut self) -> Result<Option<LeaseText>, ReadLeaseError> {
        let mut text = Vec::new();
        self.file.rewind().map_err(ReadLeaseError::File)?;
        self.file.read_to_end(&mut text).map_err(ReadLeaseError::File)?;
        if text.is_empty() {
            return Ok(None);
        }
        // A longer text that stood there before may show behind the one that was written last.
        match serde_json::Deserializer::from_slice(&text).into_iter().next() {
            Some(fields) => Ok(Some(LeaseText::of(&fields.map_err(ReadLeaseError::Text)?, &self.path))),
            None => Err(ReadLeaseError::Blank),
        }
    }
}

/// What a lease says, as far as this version understands it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeaseText {
    /// The run; a field that is missing or cannot be read is empty.
    pub(crate) run: Run,
    /// Fields that this version does not know.
    pub(crate) unknown: Vec<String>,
    /// Fields that this version needs and cannot read, each with the reason.
    pub(crate) unreadable: Vec<String>,
}

impl LeaseText {
    /// The lease's own place and name are those of its file, where it has one.
    fn of(fields: &Map<String, Value>, path: &Path) -> Self {
        let mut unreadable = Vec::new();
        let stem = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        let written = optional(fields, "lease", &mut unreadable);
        let run = Run {
            name: optional(fields, "name", &mut unreadable).or(stem).unwrap_or_default(),
            folder: optional(fields, "folder", &mut unreadable).unwrap_or_default(),
            lease: if path.as_os_str().is_empty() { written.unwrap_or_default() } else { path.to_owned() },
            group: optional(fields, "group", &mut unreadable),
            session: optional(fields, "session", &mut unreadable),
            containers: optional(fields, "containers", &mut unreadable),
        };
        if !fields.contains_key("folder") {
            unreadable.push("`folder` is missing".to_owned());
        }
        // What was understood is what is written again.
        let known = serde_json::to_value(&run).unwrap_or_default();
        let unknown = fields.iter().flat_map(|(name, value)| unknown_in(name, value, known.get(name))).collect();
        Self { run, unknown, unreadable }
    }
}

/// A field that may be missing.
fn optional<T: DeserializeOwned>(fields: &Map<String, Value>, name: &str, unreadable: &mut Vec<String>) -> Option<T> {
    serde_json::from_value(fields.get(name)?.clone()).unwrap_or_else(|error| {
        unreadable.push(format!("`{name}`: {error}"));
        None
    })
}

/// The paths of the fields in a value that have no counterpart in what was understood of it. Nothing is in one of which nothing
/// was understood: it is told as a whole.
fn unknown_in(path: &str, value: &Value, known: Option<&Value>) -> Vec<String> {
    match (value, known) {
        (_, None) => vec![path.to_owned()],
        (Value::Object(fields), Some(Value::Object(known))) => fields
            .iter()
            .flat_map(|(name, value)| unknown_in(&format!("{path}.{name}"), value, known.get(name)))
            .collect(),
        (_, Some(_)) => Vec::new(),
    }
}

/// Why it is not known what a lease says. Such a lease is kept.
#[derive(Debug, Error)]
pub(crate) enum ReadLeaseError {
    #[error("read the lease")]
    File(#[source] io::Error),
    #[error("read the lease: its text is not a JSON object")]
    Text(#[source] serde_json::Error),
    #[error("read the lease: its text is blank")]
    Blank,
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use stampede_cgroup::Group;

    use super::*;
    use crate::docker::engine::Containers;
    use crate::runs::run::Session;

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

    fn reading(text: &str) -> Result<Option<LeaseText>, ReadLeaseError> {
        let state = tempfile::tempdir().unwrap();
        let path = state.path().join("1f-0.lease");
        fs::write(&path, text).unwrap();
        let read = Lease::take(&path).unwrap().unwrap().read();
        read.map(|found| found.map(|found| LeaseText { run: Run { lease: "its-file".into(), ..found.run }, ..found }))
    }

    /// A run without processes.
    fn bare() -> Run {
        Run {
            name: "1f-0".to_owned(),
            folder: "/s/r/1f-0".into(),
            lease: "its-file".into(),
            group: None,
            session: None,
            containers: None,
        }
    }

    #[test]
    fn leases_of_this_version_and_of_others_are_read() {
        let session = Session { leader: 31, boot: "b".to_owned() };
        let containers = Containers { socket: "/d.sock".into(), label: "1f-0-ab".to_owned(), beside: None };
        let group = Group::V2 { dir: "/c/stampede/1f-0".into() };
        for (text, run, unknown) in [
            // Of today.
            (
                r#"{"name":"1f-0","folder":"/s/r/1f-0","lease":"/s/1f-0.lease","group":{"v2":{"dir":"/c/stampede/1f-0"}},
                    "session":{"leader":31,"boot":"b"},"containers":{"socket":"/d.sock","label":"1f-0-ab"}}"#,
                Run {
                    group: Some(group.clone()),
                    session: Some(session.clone()),
                    containers: Some(containers),
                    ..bare()
                },
                vec![],
            ),
            // Older than containers.
            (
                r#"{"name":"1f-0","folder":"/s/r/1f-0","lease":"/s/1f-0.lease","group":null,
                    "session":{"leader":31,"boot":"b"}}"#,
                Run { session: Some(session.clone()), ..bare() },
                vec![],
            ),
            // Newer: more fields, at the top and below, and without some of today's.
            (
                r#"{"version":2,"folder":"/s/r/1f-0","group":{"v2":{"dir":"/c/stampede/1f-0","freezer":true}},
                    "session":{"leader":31,"boot":"b","namespace":7},"guests":[{"id":1}]}"#,
                Run { group: Some(group), session: Some(session), ..bare() },
                vec!["group.v2.freezer", "guests", "session.namespace", "version"],
            ),
            // Written over a longer one.
            (r#"{"folder":"/s/r/1f-0"}"/s/1f-0.lease"}"#, bare(), vec![]),
        ] {
            let mut found = reading(text).unwrap().unwrap();
            found.unknown.sort();
            assert_eq!((found.run, found.unreadable), (run, Vec::new()), "{text}");
            assert_eq!(found.unknown, unknown, "{text}");
        }
    }

    #[test]
    fn a_field_that_cannot_be_read_takes_no_other_with_it() {
        let text = r#"{"name":"1f-0","folder":"/s/r/1f-0","group":{"v3":{"id":4}},"session":{"leader":31,"boot":"b"}}"#;
        let found = reading(text).unwrap().unwrap();
        let session = Some(Session { leader: 31, boot: "b".to_owned() });
        assert_eq!(found.run, Run { session, ..bare() });
        assert!(found.unreadable.len() == 1 && found.unreadable[0].starts_with("`group`: "), "{:?}", found.unreadable);
        assert_eq!(reading("{}").unwrap().unwrap().unreadable, ["`folder` is missing"]);
    }

    #[test]
    fn only_an_empty_lease_has_not_begun() {
        assert!(matches!(reading(""), Ok(None)));
        for text in ["garbage", "7", "[]", "null", r#"{"name":"1f-0","fol"#] {
            assert!(matches!(reading(text), Err(ReadLeaseError::Text(_))), "{text}");
        }
        assert!(matches!(reading("\n"), Err(ReadLeaseError::Blank)));
    }
}
