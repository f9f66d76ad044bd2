//! Requests that wait for the lock of a session: PHP keeps the file of a session locked from `session_start()` on
//! (<https://www.php.net/manual/en/function.session-start.php>), and the kernel knows who waits for that.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use stampede_core::MeterSource;

/// How PHP's files of sessions are called (`ps_files_path_create` in `ext/session/mod_files.c`).
const FILE: &str = "sess_";

/// Who of a deployment waits for the file of a session. What was found of a process and a file is kept.
#[derive(Debug)]
pub(crate) struct SessionLocks {
    root: PathBuf,
    /// The names of the deployment's control groups.
    groups: Vec<String>,
    /// Whether a process is in one of them.
    members: HashMap<u32, bool>,
    /// Whether a file, by its number, is one of a session.
    files: HashMap<u64, bool>,
}

/// A process that waits for a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiter {
    pid: u32,
    inode: u64,
}

impl SessionLocks {
    /// Those of processes in these groups.
    pub(crate) fn new(meters: &[MeterSource]) -> Self {
        Self::below(Path::new("/"), meters)
    }

    fn below(root: &Path, meters: &[MeterSource]) -> Self {
        let name = |dir: &Path| Some(dir.file_name()?.to_string_lossy().into_owned());
        let groups = meters.iter().filter_map(|meter| match meter {
            MeterSource::CgroupV2 { dir } => name(dir),
            MeterSource::CgroupV1 { cpuacct, .. } => name(cpuacct),
        });
        Self { root: root.to_owned(), groups: groups.collect(), members: HashMap::new(), files: HashMap::new() }
    }

    /// How many requests wait now; nothing where the kernel does not tell.
    pub(crate) fn waiting(&mut self) -> Option<u64> {
        let text = fs::read_to_string(self.root.join("proc/locks")).ok()?;
        let waiters: Vec<Waiter> = text.lines().filter_map(waiter).collect();
        Some(waiters.into_iter().filter(|waiter| self.is_of_session(*waiter)).count() as u64)
    }

    fn is_of_session(&mut self, Waiter { pid, inode }: Waiter) -> bool {
        let process = self.root.join("proc").join(pid.to_string());
        let groups = &self.groups;
        let is_member = *self.members.entry(pid).or_insert_with(|| {
            let text = fs::read_to_string(process.join("cgroup")).unwrap_or_default();
            text.lines().any(|line| line.split('/').any(|part| groups.iter().any(|group| group == part)))
        });
        is_member
            && *self.files.entry(inode).or_insert_with(|| {
                let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
                let is_session = |link: &Path| {
                    let name = fs::read_link(link).ok();
                    name.and_then(|target| Some(target.file_name()?.to_string_lossy().starts_with(FILE)))
                };
                open.map(|entry| entry.path()).any(|link| {
                    is_session(&link) == Some(true) && fs::metadata(&link).is_ok_and(|file| file.ino() == inode)
                })
            })
    }
}

/// Who waits, by a line of `/proc/locks` ([proc_locks(5)](https://man7.org/linux/man-pages/man5/proc_locks.5.html)):
/// `1: -> FLOCK  ADVISORY  WRITE 816 fe:00:5349381 0 EOF`.
fn waiter(line: &str) -> Option<Waiter> {
    let mut words = line.split_whitespace().skip(1);
    if words.next()? != "->" || words.next()? != "FLOCK" {
        return None;
    }
    let pid = words.nth(2)?.parse().ok()?;
    let inode = words.next()?.rsplit(':').next()?.parse().ok()?;
    Some(Waiter { pid, inode })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn those_of_the_deployment_are_counted_who_wait_for_files_of_sessions() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let file = |name: &str| {
            let path = root.join(name);
            fs::write(&path, "").unwrap();
            (fs::metadata(&path).unwrap().ino(), path)
        };
        let (session, other) = (file("sess_abc"), file("cache.lock"));
        for (pid, group) in [(11, "run-1/part"), (12, "run-1"), (13, "run-2")] {
            let process = root.join(format!("proc/{pid}"));
            fs::create_dir_all(process.join("fd")).unwrap();
            fs::write(process.join("cgroup"), format!("0::/stampede/{group}\n")).unwrap();
            symlink(&session.1, process.join("fd/5")).unwrap();
            symlink(&other.1, process.join("fd/6")).unwrap();
        }
        let line = |mark: &str, kind: &str, pid: u32, inode: u64| {
            format!("1: {mark}{kind}  ADVISORY  WRITE {pid} fe:00:{inode} 0 EOF\n")
        };
        let locks = [
            line("", "FLOCK", 12, session.0),
            line("-> ", "FLOCK", 11, session.0),
            line("-> ", "FLOCK", 12, session.0),
            line("-> ", "FLOCK", 12, other.0),
            line("-> ", "POSIX", 12, session.0),
            line("-> ", "FLOCK", 13, session.0),
        ];
        fs::write(root.join("proc/locks"), locks.concat()).unwrap();
        let meters = [MeterSource::CgroupV2 { dir: "/sys/fs/cgroup/stampede/run-1".into() }];
        let mut waiting = SessionLocks::below(root, &meters);
        assert_eq!(waiting.waiting(), Some(2));
        fs::write(root.join("proc/locks"), "").unwrap();
        assert_eq!(waiting.waiting(), Some(0));
        fs::remove_file(root.join("proc/locks")).unwrap();
        assert_eq!(waiting.waiting(), None);
    }
}
