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
    #[error("reading its memory is not allowed: run as root or as its parent{setting}")]
    NotAllowed {
        /// The setting that forbids it, where there is one.
        setting: String,
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
        for mapping in mappings.iter().filter(|mapping| mapping.is_code) {
            if !candidates.iter().any(|other| other.file == mapping.file) {
                candidates.push(mapping);
            }
        }
        // The program's own file is the first of them; a library of PHP comes before it.
        candidates.sort_by_key(|mapping| !mapping.path.rsplit('/').next().unwrap_or_default().contains("php"));
        let mut problem = AttachProblem::NoPhp;
        for mapping in candidates {
            let looked = self.looked.entry(mapping.file.clone()).or_insert_with(|| look(pid, mapping));
            let path = || PathBuf::from(&mapping.path);
            match looked {
                Some(Looked::Php(object)) => return Ok((Arc::clone(object), mapping)),
                Some(Looked::NoSymbols { says_php: true }) => problem = AttachProblem::NoSymbols { path: path() },
                Some(Looked::Foreign) if matches!(problem, AttachProblem::NoPhp) && mapping.path.contains("php") => {
                    problem = AttachProblem::Foreign { path: path() };
                }
                Some(Looked::NoSymbols { .. } | Looked::Foreign) | None => {}
            }
        }
        Err(problem)
    }
}

/// Looks into a mapped file by the path that the process sees, or, when another stands there now, by the mapping.
fn look(pid: u32, mapping: &Mapping) -> Option<Looked> {
    use std::os::unix::fs::MetadataExt as _;
    let path = PathBuf::from(format!("/proc/{pid}/root{}", mapping.path));
    let is_same = fs::metadata(&path).is_ok_and(|file| file.ino() == mapping.file.1);
    let by_mapping = || PathBuf::from(format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.start, mapping.end));
    PhpObject::look(&if is_same { path } else { by_mapping() })
}

fn not_allowed() -> AttachProblem {
    let yama = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    let scope = yama.map(|scope| scope.trim().to_owned()).filter(|scope| scope != "0");
    let setting = scope.map(|scope| format!(" (kernel.yama.ptrace_scope is {scope})")).unwrap_or_default();
    AttachProblem::NotAllowed { setting }
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
