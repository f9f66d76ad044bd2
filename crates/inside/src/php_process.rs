//! A process that runs PHP: where its engine is, and which of its threads run PHP.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::maps::{self, FileId, Mapping};
use crate::memory::ProcessMemory;
use crate::php_object::{Globals, Looked, PhpObject};
use crate::threads::{KernelThreads, PhpThread, ThreadTable};
use crate::{Offsets, PhpVersion};

/// A process that cannot be sampled.
#[derive(Debug, Error)]
#[error("cannot sample process {pid}: {problem}")]
pub struct AttachError {
    /// Which.
    pub pid: u32,
    /// Why.
    pub problem: AttachProblem,
}

/// All that cannot be sampled of what was asked for.
#[derive(Debug, Error)]
pub struct AttachErrors(pub Vec<AttachError>);

impl fmt::Display for AttachErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

/// Why a process cannot be sampled.
#[derive(Debug, Error)]
pub enum AttachProblem {
    /// It ended, or never was.
    #[error("there is no such process")]
    NoProcess,
    /// Neither it nor a process that it started runs PHP.
    #[error("no PHP in it, nor in a process that it started")]
    NoPhp,
    /// Its PHP was stripped of the names of its globals.
    #[error("{} has no symbols (executor_globals); use a build that is not stripped", path.display())]
    NoSymbols {
        /// The file that holds PHP.
        path: PathBuf,
    },
    /// Its layout in memory is not known.
    #[error("PHP {version} in {} is not known (known: {})", path.display(), Offsets::known_versions())]
    UnknownVersion {
        /// The file that holds PHP.
        path: PathBuf,
        /// What it says it is.
        version: String,
    },
    /// It is made for another kind of processor.
    #[error("{} is for another kind of processor", path.display())]
    Foreign {
        /// The file that holds PHP.
        path: PathBuf,
    },
    /// The kernel does not allow it.
    #[error("reading its memory is not allowed: {reason}")]
    NotAllowed {
        /// What forbids it, and what to do.
        reason: String,
    },
    /// It has threads, and their table was not found.
    #[error("{} has threads, and their table (tsrm_tls_table) was not found", path.display())]
    NoThreadTable {
        /// The file that holds PHP.
        path: PathBuf,
    },
    /// Its memory is not laid out as its version says.
    #[error("what is read of it makes no sense as PHP {version}: {torn} of {taken} stacks")]
    Nonsense {
        /// The version of its file.
        version: PhpVersion,
        /// How many reads made no sense.
        torn: u64,
        /// Of how many.
        taken: u64,
    },
}

/// Files that were looked into, by device and inode: workers of a server have one in common.
#[derive(Default)]
pub(crate) struct PhpObjects {
    looked: HashMap<FileId, Option<Looked>>,
}

/// PHP in a process.
#[derive(Clone, Debug)]
pub(crate) struct PhpProcess {
    pub(crate) pid: u32,
    pub(crate) version: PhpVersion,
    pub(crate) offsets: Offsets,
    pub(crate) path: PathBuf,
    pub(crate) memory: ProcessMemory,
    engine: Engine,
}

#[derive(Clone, Copy, Debug)]
enum Engine {
    Plain { executor: u64, sapi: Option<u64> },
    Threads(ThreadTable),
}

impl PhpProcess {
    /// Finds PHP in a process.
    pub(crate) fn find(pid: u32, objects: &mut PhpObjects) -> Result<Self, AttachProblem> {
        let text = fs::read(format!("/proc/{pid}/maps")).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => not_allowed(),
            _ => AttachProblem::NoProcess,
        })?;
        let mappings = maps::parse(&String::from_utf8_lossy(&text));
        let (object, mapping) = objects.php_of(pid, &mappings)?;
        let path = PathBuf::from(&mapping.path);
        let version = object.version.filter(|version| Offsets::of(*version).is_some());
        let Some((version, offsets)) = version.and_then(|version| Some((version, Offsets::of(version)?))) else {
            let version = object.version.map_or_else(|| "without a version".to_owned(), |version| version.to_string());
            return Err(AttachProblem::UnknownVersion { path, version });
        };
        let bias = object.bias(mappings.iter().filter(|other| other.file == mapping.file));
        let bias = bias.ok_or(AttachProblem::NoPhp)?;
        let memory = ProcessMemory::new(pid);
        memory.probe(mapping.start).map_err(|error| match error.raw_os_error() {
            Some(libc::EPERM) => not_allowed(),
            _ => AttachProblem::NoProcess,
        })?;
        let at = |address: u64| address.wrapping_add(bias);
        let engine = match object.globals {
            Globals::Plain { executor, sapi } => Engine::Plain { executor: at(executor), sapi: sapi.map(at) },
            Globals::Threads { executor_id, sapi_id, table: Some(table), table_size: Some(size) } => {
                let (executor_id, sapi_id) = (at(executor_id), sapi_id.map(at));
                Engine::Threads(ThreadTable { table: at(table), size: at(size), executor_id, sapi_id })
            }
            Globals::Threads { executor_id, sapi_id, .. } => {
                let zeroed: Vec<_> = object.zeroed.iter().map(|(start, end)| (at(*start), at(*end))).collect();
                let ids = (at(executor_id), sapi_id.map(at));
                let found = ThreadTable::search(&memory, &zeroed, &kernel_threads(pid), ids);
                Engine::Threads(found.ok_or(AttachProblem::NoThreadTable { path: path.clone() })?)
            }
        };
        Ok(Self { pid, version, offsets, path, memory, engine })
    }

    /// Its threads that run PHP now.
    pub(crate) fn threads(&self) -> Vec<PhpThread> {
        match self.engine {
            // PHP without threads runs in the one that the process began with.
            Engine::Plain { executor, sapi } => {
                vec![PhpThread { tid: self.pid, executor, sapi }]
            }
            Engine::Threads(table) => table.threads(&self.memory, &kernel_threads(self.pid)),
        }
    }
}

impl PhpObjects {
    /// The mapped file that holds PHP's engine, and the first mapping of it.
    fn php_of<'m>(
        &mut self,
        pid: u32,
        mappings: &'m [Mapping],
    ) -> Result<(Arc<PhpObject>, &'m Mapping), AttachProblem> {
        let mut candidates: Vec<&Mapping> = Vec::new();
        // An emulator maps another processor's code as data.
        for mapping in mappings.iter().filter(|mapping| mapping.is_code || is_called_php(mapping)) {
            if !candidates.iter().any(|other| other.file == mapping.file) {
                candidates.push(mapping);
            }
        }
        // The program's own file is the first of them; a library of PHP comes before it.
        let own = candidates.first().map(|mapping| mapping.file.clone());
        candidates.sort_by_key(|mapping| !is_called_php(mapping));
        let mut problem = AttachProblem::NoPhp;
        for mapping in candidates {
            let is_likely = is_called_php(mapping) || own.as_ref() == Some(&mapping.file);
            let looked = self.looked.entry(mapping.file.clone()).or_insert_with(|| look(pid, mapping, is_likely));
            let path = || PathBuf::from(&mapping.path);
            match looked {
                Some(Looked::Php(object)) => return Ok((Arc::clone(object), mapping)),
                Some(Looked::NoSymbols { says_php: true }) => problem = AttachProblem::NoSymbols { path: path() },
                Some(Looked::Foreign) if matches!(problem, AttachProblem::NoPhp) && is_called_php(mapping) => {
                    problem = AttachProblem::Foreign { path: path() };
                }
                Some(Looked::NoSymbols { .. } | Looked::Foreign) | None => {}
            }
        }
        Err(problem)
    }
}

fn is_called_php(mapping: &Mapping) -> bool {
    mapping.path.rsplit('/').next().unwrap_or_default().contains("php")
}

/// Looks into a mapped file by the path that the process sees, or, when another stands there now, by the mapping.
fn look(pid: u32, mapping: &Mapping, is_likely: bool) -> Option<Looked> {
    use std::os::unix::fs::MetadataExt as _;
    let path = PathBuf::from(format!("/proc/{pid}/root{}", mapping.path));
    let is_same = fs::metadata(&path).is_ok_and(|file| file.ino() == mapping.file.1);
    let by_mapping = || PathBuf::from(format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.start, mapping.end));
    PhpObject::look(&if is_same { path } else { by_mapping() }, is_likely)
}

fn not_allowed() -> AttachProblem {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    let yama = text("/proc/sys/kernel/yama/ptrace_scope");
    AttachProblem::NotAllowed { reason: refusal(&text("/proc/self/uid_map"), &text("/proc/self/status"), yama.trim()) }
}

/// `CAP_SYS_PTRACE` (linux/capability.h), which is needed for processes of others.
const TRACES: u64 = 1 << 19;

/// What forbids it, by this program's map of users, its status, and `kernel.yama.ptrace_scope`, which may be absent.
fn refusal(users: &str, status: &str, yama: &str) -> String {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let is_root = field("Uid:").is_some_and(|users| users.split_ascii_whitespace().nth(1) == Some("0"));
    let rights = field("CapEff:").and_then(|rights| u64::from_str_radix(rights, 16).ok());
    // The first namespace has all users as they are (user_namespaces(7)).
    if !users.is_empty() && !users.split_ascii_whitespace().eq(["0", "0", "4294967295"]) {
        return "this program runs in a user namespace of its own; run it outside, as root".to_owned();
    }
    if is_root && rights.is_some_and(|rights| rights & TRACES == 0) {
        return "root lacks CAP_SYS_PTRACE here; in a container give it with --cap-add SYS_PTRACE".to_owned();
    }
    match yama {
        "" | "0" => "run as root or as its parent".to_owned(),
        "3" => "kernel.yama.ptrace_scope is 3, which forbids it to all until the machine starts again".to_owned(),
        scope => format!("kernel.yama.ptrace_scope is {scope}; run as root or as its parent"),
    }
}

/// The threads of a process, by the number that the process knows them by.
fn kernel_threads(pid: u32) -> KernelThreads {
    let folder = PathBuf::from(format!("/proc/{pid}/task"));
    let is_elsewhere = in_own_namespace(&folder.join(pid.to_string())) != Some(pid);
    let tids = numbers_in(&folder);
    let pairs = tids.into_iter().filter_map(|tid| {
        let own = if is_elsewhere { in_own_namespace(&folder.join(tid.to_string()))? } else { tid };
        Some((own, tid))
    });
    pairs.collect()
}

/// The last of `NSpid:` in `status`: the number in the innermost namespace of pids.
fn in_own_namespace(task: &Path) -> Option<u32> {
    let status = fs::read_to_string(task.join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().next_back()?.parse().ok()
}

/// What in a folder is named by a number.
pub(crate) fn numbers_in(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn php_of_another_processor_is_told_also_under_an_emulator() {
        use std::os::unix::fs::MetadataExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("php");
        let mut header = [0; 64];
        header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        // EM_S390 (elf.h), for which there is no Stampede.
        header[18] = 22;
        fs::write(&path, header).expect("a file");
        let inode = fs::metadata(&path).expect("it is there").ino();
        for rights in ["r--p", "r-xp"] {
            let mappings = maps::parse(&format!("400000-480000 {rights} 00000000 fe:00 {inode} {}\n", path.display()));
            let problem =
                PhpObjects::default().php_of(std::process::id(), &mappings).map(drop).expect_err("it is foreign");
            assert_eq!(problem.to_string(), format!("{} is for another kind of processor", path.display()));
        }
    }

    #[test]
    fn a_refusal_names_what_forbids_it() {
        const ALL: &str = "         0          0 4294967295\n";
        let status =
            |user: u32, rights: &str| format!("Name:\tx\nUid:\t{user}\t{user}\t{user}\t{user}\nCapEff:\t{rights}\n");
        let (root, docker, user) =
            (status(0, "000001ffffffffff"), status(0, "00000000a80425fb"), status(1000, "0000000000000000"));
        for (users, status, yama, expected) in [
            (ALL, &user, "", "run as root or as its parent"),
            (ALL, &user, "1", "kernel.yama.ptrace_scope is 1; run as root"),
            (ALL, &root, "3", "kernel.yama.ptrace_scope is 3, which forbids"),
            (ALL, &docker, "1", "root lacks CAP_SYS_PTRACE here"),
            ("0 1000 1\n", &root, "0", "this program runs in a user namespace"),
            ("", &user, "", "run as root or as its parent"),
        ] {
            let told = refusal(users, status, yama);
            assert!(told.starts_with(expected), "{told}");
        }
    }
}
