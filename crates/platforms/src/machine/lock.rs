//! One lock for the whole machine while something is measured: two measurements at once would spoil each other.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use thiserror::Error;

/// Where the lock is: on a memory file system, open to all users.
const FOLDERS: [&str; 2] = ["/run/lock", "/tmp"];

/// The lock, held until it is dropped or this process ends.
#[derive(Debug)]
pub struct MeasuringLock {
    file: File,
}

impl MeasuringLock {
    /// Takes the lock, if nobody has it. `doing` tells others what for: `compare markdown`.
    ///
    /// # Errors
    ///
    /// When another process has it, with what that one says about itself; or when the file cannot be used.
    pub fn try_acquire(doing: &str) -> Result<Self, LockError> {
        Self::try_acquire_at(&path(), doing)
    }

    /// As [`MeasuringLock::try_acquire`], with a file of one's own.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn try_acquire_at(path: &Path, doing: &str) -> Result<Self, LockError> {
        let failed = |source: io::Error| LockError::File { path: path.to_owned(), source };
        let mut file = open_for_all(path).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {
                return Err(LockError::Held { holder: read_holder(&mut file) });
            }
            locked => locked.map_err(|error| failed(error.into()))?,
        }
        let holder = format!("process {}: {doing}\n", std::process::id());
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(holder.as_bytes()))
            .map_err(failed)?;
        Ok(Self { file })
    }
}

impl Drop for MeasuringLock {
    fn drop(&mut self) {
        // Only words for people; the lock itself goes with the open file.
        let _ = self.file.set_len(0);
    }
}

fn path() -> PathBuf {
    // Where only root may write, root takes the other one too: all users must come to the same file.
    let open_to_all = |folder: &&&str| fs::metadata(folder).is_ok_and(|found| found.permissions().mode() & 0o002 != 0);
    let folder = FOLDERS.iter().find(open_to_all);
    Path::new(folder.unwrap_or(&FOLDERS[1])).join("stampede.lock")
}

/// Opens the file, or makes it so that every user can open it. It is never made with an open that would also take an
/// existing one: the kernel refuses that for another user's file in a sticky folder
/// ([protected_regular](https://docs.kernel.org/admin-guide/sysctl/fs.html#protected-regular)).
fn open_for_all(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    // The umask takes permissions from what is made. Under its name, the file must have them from its first moment on.
    let folder = path.parent().unwrap_or(Path::new("/"));
    let unnamed = tempfile::Builder::new().prefix(".stampede-lock-").tempfile_in(folder)?;
    unnamed.as_file().set_permissions(Permissions::from_mode(0o666))?;
    match unnamed.persist_noclobber(path) {
        Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => options.open(path),
        made => made.map_err(|refused| refused.error),
    }
}

fn read_holder(file: &mut File) -> String {
    let mut holder = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut holder));
    match read {
        Ok(_) if !holder.trim().is_empty() => holder.trim().to_owned(),
        _ => "a process that does not say who it is".to_owned(),
    }
}

/// Why the lock could not be taken.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another process has it.
    #[error("take the measuring lock: {holder} has it")]
    Held {
        /// What that process says: `process 12: compare markdown`.
        holder: String,
    },
    /// The file cannot be used.
    #[error("take the measuring lock {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use rustix::fs::inotify;

    use super::*;

    #[test]
    fn the_lock_is_for_one_and_says_who_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = MeasuringLock::try_acquire_at(&path, "a test").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
        match MeasuringLock::try_acquire_at(&path, "another") {
            Err(LockError::Held { holder }) => {
                assert_eq!(holder, format!("process {}: a test", std::process::id()));
            }
            other => panic!("{other:?}"),
        }
        drop(lock);
        MeasuringLock::try_acquire_at(&path, "another").unwrap();
    }

    #[test]
    fn other_users_never_see_a_lock_that_they_may_not_open() {
        let folder = tempfile::tempdir().unwrap();
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        let changes = inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVED_TO | inotify::WatchFlags::ATTRIB;
        inotify::add_watch(&watch, folder.path(), changes).unwrap();
        let lock = MeasuringLock::try_acquire_at(&folder.path().join("lock"), "a test").unwrap();
        let mut buffer = [const { std::mem::MaybeUninit::uninit() }; 4096];
        let mut events = inotify::Reader::new(&watch, &mut buffer);
        let mut seen = Vec::new();
        while let Ok(event) = events.next() {
            if event.file_name() == Some(c"lock") {
                seen.push(event.events());
            }
        }
        assert!(
            seen.len() == 1 && !seen[0].contains(inotify::ReadFlags::ATTRIB),
            "it came with its permissions: {seen:?}"
        );
        drop(lock);
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["lock"]);
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        assert!(matches!(MeasuringLock::try_acquire_at(&path, "a test"), Err(LockError::File { .. })));
    }
}
