//! Where in machine code PHP's threads run: in the engine, in its libraries or in the kernel.
//!
//! The kernel takes these samples itself, by the time that a thread has run, and leaves them where they are read a few times a second.
//! It needs the right to it (`kernel.perf_event_paranoid`, or root outside of containers).

mod symbols;
mod thread_clock;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::time::Duration;

use stampede_core::{InsideCode, InsideNative};

use crate::maps::{self, FileId, Mapping};

use self::thread_clock::{Place, ThreadClock};

/// Most threads that have a clock: their shares stand for those of the others.
const MOST_THREADS: usize = 64;

/// Samples of where in machine code threads run.
pub struct NativeSampler {
    period: Duration,
    clocks: BTreeMap<u32, Clock>,
    goes: bool,
    rights: Rights,
    mappings: HashMap<u32, ProcessCode>,
    files: Vec<(String, File)>,
    known: HashMap<FileId, usize>,
    seen: HashMap<Code, u64>,
}

/// The code that a process has mapped.
#[derive(Default)]
struct ProcessCode {
    files: Vec<Mapping>,
    /// What the kernel gives to each process to run by itself, such as how to read the clock (vdso(7)).
    of_kernel: Option<Range<u64>>,
}

struct Clock {
    process: u32,
    clock: ThreadClock,
}

/// What the kernel lets this program see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rights {
    All,
    WithoutKernel,
    Nothing,
}

/// Where a thread ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Code {
    Kernel,
    /// A file, and the offset in it.
    File(usize, u64),
    /// Memory that is no file's: what a JIT compiled.
    Generated,
}

impl NativeSampler {
    /// Samples each thread once in each `1/per_second` s that it runs, as soon as it is told to [go](Self::set).
    pub fn new(per_second: u32) -> Self {
        Self {
            period: Duration::from_secs(1) / per_second.max(1),
            clocks: BTreeMap::new(),
            goes: false,
            rights: Rights::All,
            mappings: HashMap::new(),
            files: Vec::new(),
            known: HashMap::new(),
            seen: HashMap::new(),
        }
    }

    /// Lets all clocks go, or stand still.
    pub fn set(&mut self, goes: bool) {
        if self.goes != goes {
            self.goes = goes;
            self.clocks.values().for_each(|Clock { clock, .. }| clock.set(goes));
        }
    }

    /// Takes what the kernel noted, and continues with these threads, each with its process.
    pub fn follow(&mut self, threads: impl IntoIterator<Item = (u32, u32)>) {
        self.take();
        let threads: BTreeMap<u32, u32> = threads.into_iter().map(|(process, thread)| (thread, process)).collect();
        self.clocks.retain(|thread, _| threads.contains_key(thread));
        for (thread, process) in threads {
            if self.clocks.len() >= MOST_THREADS || self.rights == Rights::Nothing {
                break;
            }
            if !self.clocks.contains_key(&thread)
                && let Some(clock) = self.clock_of(thread)
            {
                clock.set(self.goes);
                self.clocks.insert(thread, Clock { process, clock });
            }
        }
        self.mappings.retain(|process, _| self.clocks.values().any(|clock| clock.process == *process));
    }

    fn clock_of(&mut self, thread: u32) -> Option<ThreadClock> {
        loop {
            let with_kernel = match self.rights {
                Rights::All => true,
                Rights::WithoutKernel => false,
                Rights::Nothing => return None,
            };
            let error = match ThreadClock::of(thread, self.period, with_kernel) {
                Ok(clock) => return Some(clock),
                Err(error) => error,
            };
            match error.kind() {
                io::ErrorKind::PermissionDenied if with_kernel => self.rights = Rights::WithoutKernel,
                // A thread that has just ended.
                _ if error.raw_os_error() == Some(libc::ESRCH) => return None,
                _ => self.rights = Rights::Nothing,
            }
        }
    }

    /// Takes what the kernel noted.
    fn take(&mut self) {
        let mut noted = Vec::new();
        for Clock { process, clock } in self.clocks.values_mut() {
            noted.extend(clock.take().into_iter().map(|place| (*process, place)));
        }
        let mut renewed = HashSet::new();
        for (process, place) in noted {
            let code = match place {
                Place::Kernel => Code::Kernel,
                Place::Process(address) => self.code_at(process, address, &mut renewed),
            };
            *self.seen.entry(code).or_default() += 1;
        }
    }

    fn code_at(&mut self, process: u32, address: u64, renewed: &mut HashSet<u32>) -> Code {
        loop {
            let holds = |mapping: &&Mapping| (mapping.start..mapping.end).contains(&address);
            let code = self.mappings.entry(process).or_default();
            if code.of_kernel.as_ref().is_some_and(|range| range.contains(&address)) {
                return Code::Kernel;
            }
            if let Some(mapping) = code.files.iter().find(holds).cloned() {
                let offset = address - mapping.start + mapping.offset;
                return self.file(process, mapping).map_or(Code::Generated, |file| Code::File(file, offset));
            }
            // It may have mapped more since.
            if !renewed.insert(process) {
                return Code::Generated;
            }
            let text = fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let files = maps::parse(&text).into_iter().filter(|mapping| mapping.is_code).collect();
            self.mappings.insert(process, ProcessCode { files, of_kernel: maps::vdso(&text) });
        }
    }

    /// The place of a file among those that are open.
    fn file(&mut self, process: u32, mapping: Mapping) -> Option<usize> {
        let Mapping { start, end, file, path, .. } = mapping;
        if let Some(known) = self.known.get(&file) {
            return Some(*known);
        }
        // As the process sees it, or what it has mapped, where the file was replaced. Devices hold no names: they are memory.
        let paths = [format!("/proc/{process}/root{path}"), format!("/proc/{process}/map_files/{start:x}-{end:x}")];
        let is_file = |file: &File| file.metadata().is_ok_and(|data| data.is_file());
        let opened = paths.iter().find_map(|path| File::open(path).ok().filter(is_file))?;
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        self.files.push((name, opened));
        self.known.insert(file, self.files.len() - 1);
        Some(self.files.len() - 1)
    }

    /// What was seen, by function, those seen most often first. It reads the names of functions out of programs: to be called where
    /// nothing is measured any more.
    pub fn finish(mut self) -> InsideNative {
        self.take();
        let Self { rights, files, seen, .. } = self;
        let mut samples: BTreeMap<(String, Option<String>), u64> = BTreeMap::new();
        let mut places: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
        for (code, count) in seen {
            match code {
                Code::Kernel => *samples.entry((InsideCode::KERNEL.to_owned(), None)).or_default() += count,
                Code::Generated => *samples.entry((InsideCode::GENERATED.to_owned(), None)).or_default() += count,
                Code::File(file, offset) => places.entry(file).or_default().push((offset, count)),
            }
        }
        for (index, (name, file)) in files.into_iter().enumerate() {
            let places = places.remove(&index).unwrap_or_default();
            let offsets: Vec<u64> = places.iter().map(|(offset, _)| *offset).collect();
            let names = symbols::names(file, &offsets).unwrap_or_else(|| vec![None; offsets.len()]);
            for (symbol, (_, count)) in names.into_iter().zip(places) {
                *samples.entry((name.clone(), symbol)).or_default() += count;
            }
        }
        let code = samples.into_iter().map(|((file, symbol), samples)| InsideCode { file, symbol, samples });
        let mut native = InsideNative { code: code.collect(), without_kernel: rights == Rights::WithoutKernel };
        native.settle();
        native
    }
}
