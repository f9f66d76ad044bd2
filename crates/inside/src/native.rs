//! Where in machine code PHP's threads run: in the engine, in its libraries or in the kernel.
//!
//! The kernel takes these samples itself, by the time that a processor or a thread has run, and leaves them where they are read a few
//! times a second. It needs the right to it (`kernel.perf_event_paranoid`, or root outside of containers).

mod sample_clock;
mod symbols;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::time::Duration;

use stampede_core::{InsideCode, InsideNative};

use crate::maps::{self, FileId, Mapping};

use self::sample_clock::{Place, SampleClock, Strike, Subject};

/// Most threads that have a clock, where processors have none: their shares stand for those of the others.
const MOST_THREADS: usize = 64;

/// Samples of where in machine code threads run.
pub struct NativeSampler {
    period: Duration,
    /// One of each processor, or none where the kernel does not let this program see all that they run.
    processors: Vec<SampleClock>,
    /// One of each thread, where processors have none.
    clocks: BTreeMap<u32, SampleClock>,
    /// The threads that are looked at.
    followed: HashSet<u32>,
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
        let sampler = Self::of_threads(per_second);
        // A processor that is off is none.
        let is_off = |error: &io::Error| error.raw_os_error() == Some(libc::ENODEV);
        let clocks = (0..processors()).map(|number| SampleClock::of(Subject::Processor(number), sampler.period, true));
        let processors: io::Result<_> = clocks.filter(|clock| !clock.as_ref().is_err_and(is_off)).collect();
        Self { processors: processors.unwrap_or_default(), ..sampler }
    }

    /// As [`new`](Self::new), by clocks of the threads.
    fn of_threads(per_second: u32) -> Self {
        Self {
            period: Duration::from_secs(1) / per_second.max(1),
            processors: Vec::new(),
            clocks: BTreeMap::new(),
            followed: HashSet::new(),
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
            self.processors.iter().chain(self.clocks.values()).for_each(|clock| clock.set(goes));
        }
    }

    /// Takes what the kernel noted, and continues with these threads, each with its process.
    pub fn follow(&mut self, threads: impl IntoIterator<Item = (u32, u32)>) {
        self.take();
        let (processes, threads): (HashSet<u32>, HashSet<u32>) = threads.into_iter().unzip();
        self.mappings.retain(|process, _| processes.contains(process));
        self.clocks.retain(|thread, _| threads.contains(thread));
        self.followed = threads;
        if !self.processors.is_empty() {
            return;
        }
        for thread in self.followed.clone() {
            if self.clocks.len() >= MOST_THREADS || self.rights == Rights::Nothing {
                break;
            }
            if !self.clocks.contains_key(&thread)
                && let Some(clock) = self.clock_of(thread)
            {
                clock.set(self.goes);
                self.clocks.insert(thread, clock);
            }
        }
    }

    fn clock_of(&mut self, thread: u32) -> Option<SampleClock> {
        loop {
            let with_kernel = match self.rights {
                Rights::All => true,
                Rights::WithoutKernel => false,
                Rights::Nothing => return None,
            };
            let error = match SampleClock::of(Subject::Thread(thread), self.period, with_kernel) {
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
        let clocks = self.processors.iter_mut().chain(self.clocks.values_mut());
        let mut noted: Vec<Strike> = clocks.flat_map(SampleClock::take).collect();
        noted.retain(|strike| self.followed.contains(&strike.thread));
        let mut renewed = HashSet::new();
        for Strike { process, place, .. } in noted {
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

/// Processors that this machine may have, those that are off included.
fn processors() -> u32 {
    // SAFETY: a call without memory.
    u32::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) }).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::process;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Instant;

    use rustix::thread::gettid;
    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    /// Computes for so many milliseconds of its own time.
    fn compute(ms: i64) {
        let ran = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            time.tv_sec * 1000 + time.tv_nsec / 1_000_000
        };
        let from = ran();
        while ran() - from < ms {
            black_box((0..1000_u64).sum::<u64>());
        }
    }

    /// Samples of a thread that computes for 0.6 s, beside one that nobody looks at; and how long it had a processor.
    fn of_a_thread(mut sampler: NativeSampler) -> (InsideNative, Duration) {
        let had_processor = thread::scope(|scope| {
            scope.spawn(|| compute(300));
            let (told, heard) = mpsc::channel();
            let (go, gone) = mpsc::channel();
            let looked_at = scope.spawn(move || {
                told.send(gettid().as_raw_nonzero().get().cast_unsigned()).unwrap();
                gone.recv().unwrap();
                let (from, waited_before) = (Instant::now(), waited());
                compute(600);
                from.elapsed() - (waited() - waited_before)
            });
            let thread = heard.recv().unwrap();
            sampler.follow([(process::id(), thread)]);
            sampler.set(true);
            go.send(()).unwrap();
            let had_processor = looked_at.join().unwrap();
            sampler.set(false);
            had_processor
        });
        (sampler.finish(), had_processor)
    }

    /// Time that this thread was ready and had no processor, as far as the kernel tells it.
    fn waited() -> Duration {
        let told = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let waited = told.split_ascii_whitespace().nth(1).and_then(|nanos| nanos.parse().ok());
        Duration::from_nanos(waited.unwrap_or(0))
    }

    #[test]
    fn a_thread_is_seen_by_its_own_clock_and_by_those_of_processors() {
        let by_processors = NativeSampler::new(99);
        let by_thread = NativeSampler::of_threads(99);
        if by_processors.processors.is_empty() {
            eprintln!("SKIPPED: the kernel shows no processors' clocks (kernel.perf_event_paranoid)");
        } else {
            holds(&of_a_thread(by_processors));
        }
        let seen = of_a_thread(by_thread);
        if seen.0.code.is_empty() {
            eprintln!("SKIPPED: the kernel shows no threads' clocks (kernel.perf_event_paranoid)");
        } else {
            holds(&seen);
        }
    }

    /// 0.6 s of a thread's time at 99 Hz: a quarter less, since a timer may be late; and a quarter more than for the time that it had
    /// a processor, of which interrupts and a host that lends its processors elsewhere take what is not the thread's own.
    fn holds((seen, had_processor): &(InsideNative, Duration)) {
        let samples: u64 = seen.code.iter().map(|code| code.samples).sum();
        assert!(samples >= 45, "{seen:?}");
        assert!(samples as f64 <= had_processor.as_secs_f64() * 99.0 * 1.25, "in {had_processor:?}: {seen:?}");
        let own = env!("CARGO_PKG_NAME").replace('-', "_");
        let in_own: u64 = seen.code.iter().filter(|code| code.file.starts_with(&own)).map(|code| code.samples).sum();
        assert!(in_own * 2 > samples, "{seen:?}");
    }
}
