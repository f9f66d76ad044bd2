//! Takes samples of all PHP threads of processes and of what these started.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::PhpVersion;
use crate::function::{Functions, Torn};
use crate::php_process::{AttachError, AttachErrors, AttachProblem, PhpObjects, PhpProcess, numbers_in};
use crate::scheduler::{SchedulerTimes, Switches, TimeSpent};
use crate::stack::{PhpStack, StackReader, ThreadView};
use crate::text::shown;
use crate::threads::PhpThread;
use crate::wait::{Activity, PhpWait, ThreadState, explain};

/// What a thread of PHP did at an instant.
#[derive(Clone, Debug)]
pub struct StackSample {
    /// Its process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// When, as the caller counts.
    pub instant: Duration,
    /// Whether it ran, was ready or waited.
    pub state: ThreadState,
    /// What of PHP it ran; no frames while it ran none.
    pub stack: Arc<PhpStack>,
    /// The path of the request that it served, where PHP knows one.
    pub request: Option<Arc<str>>,
}

/// How reading went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleCounts {
    /// Samples that were taken.
    pub taken: u64,
    /// Left out: memory that changed while it was read.
    pub torn: u64,
    /// Left out: threads that began or ceased to wait while they were looked at.
    pub moved: u64,
    /// Threads that ended.
    pub ended: u64,
    /// Threads that were not looked at, since there are more than are looked at in one instant: others were in their place.
    pub skipped: u64,
    /// Instants that were [missed](StackSampler::miss).
    pub missed: u64,
}

/// A process that is sampled.
#[derive(Clone, Debug)]
pub struct SampledProcess {
    /// Which.
    pub pid: u32,
    /// Of which PHP.
    pub version: PhpVersion,
    /// The file that holds PHP.
    pub path: PathBuf,
    /// How many of its threads run PHP.
    pub threads: usize,
}

/// Samples PHP threads of some processes and of all that these started.
pub struct StackSampler {
    roots: Roots,
    objects: PhpObjects,
    processes: BTreeMap<u32, Watched>,
    /// Processes without PHP, or whose PHP cannot be read, by what they were when they were looked at.
    passed_over: BTreeMap<u32, Identity>,
    problems: Vec<AttachError>,
    counts: SampleCounts,
    spent: TimeSpent,
    /// How often threads that ended began to wait.
    waits: u64,
    most_at_once: usize,
    turn: usize,
    /// When processes were looked for, and how many threads had ended then.
    renewed: (Duration, u64),
}

/// Whose processes are sampled.
enum Roots {
    /// These, and all that they started.
    Processes(Vec<u32>),
    /// Those in the control groups with these folders, and below.
    Groups(Vec<PathBuf>),
}

/// A pid may become another's, and a process another program.
type Identity = (String, Option<PathBuf>);

struct Watched {
    identity: Identity,
    process: PhpProcess,
    functions: Functions,
    threads: BTreeMap<u32, WatchedThread>,
    stacks_read: u64,
    stacks_torn: u64,
}

struct WatchedThread {
    reader: StackReader,
    files: ThreadFiles,
    first: Option<(Duration, SchedulerTimes)>,
    last: (Duration, SchedulerTimes),
    /// How often it had begun to wait at its first sample, and at the last count.
    waits: Option<(u64, u64)>,
    /// What was seen of it while it waited, for as long as it has not run since.
    waiting: Option<(SchedulerTimes, ThreadView, Arc<PhpWait>)>,
}

struct ThreadFiles {
    scheduler: File,
    /// `sched`, or `status` of a kernel without it.
    switches: File,
    call: File,
    folder: PathBuf,
}

impl StackSampler {
    /// Most threads that are looked at in one instant; where there are more, they take turns.
    pub const MOST_AT_ONCE: usize = 512;

    /// Begins to sample processes, and all that they started.
    ///
    /// # Errors
    ///
    /// All of them in which, with what they started, there is no PHP that can be read.
    pub fn attach(pids: &[u32]) -> Result<Self, AttachErrors> {
        let mut sampler = Self::new(Roots::Processes(pids.to_vec()));
        sampler.renew(Duration::ZERO);
        let mut errors = Vec::new();
        for pid in pids {
            let family = family(&[*pid]);
            if family.iter().any(|pid| sampler.processes.contains_key(pid)) {
                continue;
            }
            let of_family = sampler.problems.iter().position(|error| family.contains(&error.pid));
            errors.push(match of_family {
                Some(index) => sampler.problems.swap_remove(index),
                None if identity(*pid).is_none() => AttachError { pid: *pid, problem: AttachProblem::NoProcess },
                None => AttachError { pid: *pid, problem: AttachProblem::NoPhp },
            });
        }
        if errors.is_empty() { Ok(sampler) } else { Err(AttachErrors(errors)) }
    }

    /// Begins to sample the processes of control groups, by their folders; there may be none yet, or none with PHP.
    pub fn of_groups(folders: Vec<PathBuf>) -> Self {
        let mut sampler = Self::new(Roots::Groups(folders));
        sampler.renew(Duration::ZERO);
        sampler
    }

    fn new(roots: Roots) -> Self {
        Self {
            roots,
            objects: PhpObjects::default(),
            processes: BTreeMap::new(),
            passed_over: BTreeMap::new(),
            problems: Vec::new(),
            counts: SampleCounts::default(),
            spent: TimeSpent::default(),
            waits: 0,
            most_at_once: Self::MOST_AT_ONCE,
            turn: 0,
            renewed: (Duration::ZERO, 0),
        }
    }

    /// Looks again which processes there are, and which threads of them run PHP: to be called where it is [due](Self::is_due).
    pub fn renew(&mut self, now: Duration) {
        let family = match &self.roots {
            Roots::Processes(pids) => family(pids),
            Roots::Groups(folders) => folders.iter().flat_map(|folder| members(folder)).collect(),
        };
        let gone: Vec<_> = self.processes.keys().copied().filter(|pid| !family.contains(pid)).collect();
        for pid in gone {
            self.forget(pid);
        }
        self.passed_over.retain(|pid, _| family.contains(pid));
        for pid in family {
            let Some(identity) = identity(pid) else {
                self.forget(pid);
                continue;
            };
            if self.processes.get(&pid).is_some_and(|watched| watched.identity != identity) {
                self.forget(pid);
            }
            if self.passed_over.get(&pid) == Some(&identity) {
                continue;
            }
            if !self.processes.contains_key(&pid) {
                match PhpProcess::find(pid, &mut self.objects) {
                    Ok(process) => {
                        let functions = Functions::new(process.offsets);
                        let watched = Watched {
                            identity,
                            process,
                            functions,
                            threads: BTreeMap::new(),
                            stacks_read: 0,
                            stacks_torn: 0,
                        };
                        self.processes.insert(pid, watched);
                    }
                    Err(problem) => {
                        self.passed_over.insert(pid, identity);
                        if !matches!(problem, AttachProblem::NoPhp | AttachProblem::NoProcess) {
                            self.problems.push(AttachError { pid, problem });
                        }
                        continue;
                    }
                }
            }
            if let Some(watched) = self.processes.get_mut(&pid) {
                let threads = watched.process.threads();
                let is_there = |thread: &WatchedThread| threads.contains(&thread.reader.thread());
                let ended = watched.threads.iter().filter(|(_, thread)| !is_there(thread)).map(|(tid, _)| *tid);
                let ended: Vec<_> = ended.collect();
                for thread in ended.into_iter().filter_map(|tid| watched.threads.remove(&tid)) {
                    self.counts.ended += 1;
                    self.spent += thread.spent();
                    self.waits += thread.waited();
                }
                for thread in threads {
                    if !watched.threads.contains_key(&thread.tid) {
                        watched
                            .threads
                            .extend(WatchedThread::open(&watched.process, thread).map(|it| (thread.tid, it)));
                    }
                }
            }
        }
        self.renewed = (now, self.counts.ended);
    }

    /// Whether it is time to look again: once a second, and soon after a thread ended, in whose place there may be another one.
    pub fn is_due(&self, now: Duration) -> bool {
        const RENEWAL: Duration = Duration::from_secs(1);
        const SOON: Duration = Duration::from_millis(100);
        let (renewed, ended) = self.renewed;
        now.saturating_sub(renewed) > if self.counts.ended > ended { SOON } else { RENEWAL }
    }

    fn forget(&mut self, pid: u32) {
        for (_, thread) in self.processes.remove(&pid).into_iter().flat_map(|watched| watched.threads) {
            self.counts.ended += 1;
            self.spent += thread.spent();
            self.waits += thread.waited();
        }
    }

    /// From now on at most so many threads are looked at in one instant, in turns where there are more; never none, and never more
    /// than [`MOST_AT_ONCE`](Self::MOST_AT_ONCE).
    pub fn take_turns(&mut self, most_at_once: usize) {
        self.most_at_once = most_at_once.clamp(1, Self::MOST_AT_ONCE);
    }

    /// Takes a sample of every thread, or of those whose turn it is.
    pub fn sample(&mut self, instant: Duration) -> Vec<StackSample> {
        let total: usize = self.processes.values().map(|watched| watched.threads.len()).sum();
        let most = self.most_at_once;
        let mut samples = Vec::with_capacity(total.min(most));
        let first = if total > most { self.turn % total } else { 0 };
        self.turn = (first + most) % total.max(1);
        self.counts.skipped += total.saturating_sub(most) as u64;
        let mut index = 0;
        // What the sampler took a processor from is told by the sampler's own times, which are read when one may have been.
        let sampler: LazyCell<Option<Switches>> = LazyCell::new(Switches::own);
        for (pid, watched) in &mut self.processes {
            let mut ended = Vec::new();
            for (tid, thread) in &mut watched.threads {
                let place = (index + total - first) % total;
                index += 1;
                if place >= most {
                    continue;
                }
                match thread.look(instant, &sampler, &watched.process, &mut watched.functions) {
                    Seen::Sample(state, ThreadView { stack, request }) => {
                        watched.stacks_read += u64::from(!stack.frames.is_empty());
                        samples.push(StackSample { pid: *pid, tid: *tid, instant, state, stack, request });
                    }
                    Seen::Torn => {
                        watched.stacks_read += 1;
                        watched.stacks_torn += 1;
                        self.counts.torn += 1;
                    }
                    Seen::Moved => self.counts.moved += 1,
                    Seen::Ended => ended.push(*tid),
                }
            }
            for thread in ended.into_iter().filter_map(|tid| watched.threads.remove(&tid)) {
                self.counts.ended += 1;
                self.spent += thread.spent();
                self.waits += thread.waited();
            }
        }
        self.counts.taken += samples.len() as u64;
        self.refuse_nonsense();
        samples
    }

    /// Counts an instant that is over, and has no sample.
    pub fn miss(&mut self) {
        self.counts.missed += 1;
    }

    /// Leaves processes alone that are laid out otherwise than their version says: half of what is read makes no sense.
    fn refuse_nonsense(&mut self) {
        const ENOUGH: u64 = 50;
        let is_nonsense =
            |watched: &Watched| watched.stacks_read >= ENOUGH && watched.stacks_torn * 2 > watched.stacks_read;
        let refused: Vec<_> = self.processes.iter().filter(|(_, it)| is_nonsense(it)).map(|(pid, _)| *pid).collect();
        for pid in refused {
            let Some(watched) = self.processes.get(&pid) else { continue };
            let (version, torn, taken) = (watched.process.version, watched.stacks_torn, watched.stacks_read);
            self.passed_over.insert(pid, watched.identity.clone());
            self.problems.push(AttachError { pid, problem: AttachProblem::Nonsense { version, torn, taken } });
            self.forget(pid);
        }
    }

    /// Reads the counters of all threads that were sampled before, without a sample.
    pub fn count(&mut self, instant: Duration) {
        for thread in self.processes.values_mut().flat_map(|watched| watched.threads.values_mut()) {
            thread.count(instant);
        }
    }

    /// The processes that are sampled now.
    pub fn processes(&self) -> Vec<SampledProcess> {
        let described = self.processes.iter().map(|(pid, watched)| SampledProcess {
            pid: *pid,
            version: watched.process.version,
            path: watched.process.path.clone(),
            threads: watched.threads.len(),
        });
        described.collect()
    }

    /// The threads that are sampled now, each with its process before it.
    pub fn threads(&self) -> impl Iterator<Item = (u32, u32)> {
        self.processes.iter().flat_map(|(pid, watched)| watched.threads.keys().map(|tid| (*pid, *tid)))
    }

    /// Processes with PHP that cannot be read, and why.
    pub fn problems(&self) -> &[AttachError] {
        &self.problems
    }

    /// How reading went so far.
    pub fn counts(&self) -> SampleCounts {
        self.counts
    }

    /// Where the time of the threads went between the first sample of each and the last one or [`count`](Self::count), by the scheduler's counters.
    pub fn time_spent(&self) -> TimeSpent {
        let mut spent = self.spent;
        for thread in self.processes.values().flat_map(|watched| watched.threads.values()) {
            spent += thread.spent();
        }
        spent
    }

    /// How often the threads began to wait between the first sample of each and the last [`count`](Self::count).
    pub fn waits(&self) -> u64 {
        let threads = self.processes.values().flat_map(|watched| watched.threads.values());
        self.waits + threads.map(WatchedThread::waited).sum::<u64>()
    }
}

/// How often a stack is read until it fits together.
const ATTEMPTS: u32 = 3;

enum Seen {
    Sample(ThreadState, ThreadView),
    Torn,
    Moved,
    Ended,
}

impl WatchedThread {
    fn open(process: &PhpProcess, thread: PhpThread) -> Option<Self> {
        let folder = PathBuf::from(format!("/proc/{}/task/{}", process.pid, thread.tid));
        let open = |name| File::open(folder.join(name)).ok();
        let (scheduler, call) = (open("schedstat")?, open("syscall")?);
        let switches = open("sched").or_else(|| open("status"))?;
        Some(Self {
            reader: StackReader::new(thread, process.offsets),
            files: ThreadFiles { scheduler, switches, call, folder },
            first: None,
            last: Default::default(),
            waits: None,
            waiting: None,
        })
    }

    fn spent(&self) -> TimeSpent {
        let (last, last_times) = self.last;
        self.first.map_or_else(TimeSpent::default, |(first, first_times)| {
            TimeSpent::between(first_times, last_times, last.saturating_sub(first))
        })
    }

    fn count(&mut self, instant: Duration) {
        if self.first.is_none() {
            return;
        }
        if let Some(times) = self.files.times() {
            self.last = (instant, times);
        }
        if let (Some((_, last)), Some(now)) = (&mut self.waits, self.files.switches()) {
            *last = now.waits;
        }
    }

    fn waited(&self) -> u64 {
        self.waits.map_or(0, |(first, last)| last.saturating_sub(first))
    }

    fn look(
        &mut self,
        instant: Duration,
        sampler: &LazyCell<Option<Switches>>,
        process: &PhpProcess,
        functions: &mut Functions,
    ) -> Seen {
        let Some(times) = self.files.times() else { return Seen::Ended };
        if self.first.is_none() {
            self.first = Some((instant, times));
            self.waits = self.files.switches().map(|switches| (switches.waits, switches.waits));
        }
        self.last = (instant, times);
        // What waited and was not given a processor since still waits for the same, or was woken and has not run.
        if let Some((_, view, wait)) = self.waiting.as_ref().filter(|(then, ..)| *then == times) {
            let state = match self.files.activity() {
                None => return Seen::Ended,
                Some(Activity::Runnable) => ThreadState::Ready,
                Some(Activity::Call(..) | Activity::Kernel) => ThreadState::Waiting(Arc::clone(wait)),
            };
            return Seen::Sample(state, view.clone());
        }
        self.waiting = None;
        // Whether it runs is looked at just before the stack is read, and what its processor's count says later does not matter: looked at
        // long before or after, what ran first or last of a turn would be met less often than it ran.
        let Some(switches) = self.files.switches() else { return Seen::Ended };
        let Some(times) = self.files.times() else { return Seen::Ended };
        let mut attempts = 0;
        let view = loop {
            attempts += 1;
            match self.reader.read(&process.memory, functions) {
                None => return Seen::Ended,
                Some(Ok(view)) => break view,
                // What calls much is torn more often: left out at once, it would count less than it ran.
                Some(Err(Torn)) if attempts < ATTEMPTS => {}
                Some(Err(Torn)) => return Seen::Torn,
            }
        };
        if switches.is_running(times, **sampler) {
            return Seen::Sample(ThreadState::Running, view);
        }
        let Some(activity) = self.files.activity() else { return Seen::Ended };
        let kernel = || self.files.kernel_function();
        let wait = match activity {
            Activity::Runnable => return Seen::Sample(ThreadState::Ready, view),
            Activity::Kernel => PhpWait { call: None, kernel: kernel(), target: None },
            Activity::Call(number, arguments) => explain(process.pid, &process.memory, number, arguments, kernel()),
        };
        if self.files.times() != Some(times) {
            return Seen::Moved;
        }
        let wait = Arc::new(wait);
        self.waiting = Some((times, view.clone(), Arc::clone(&wait)));
        Seen::Sample(ThreadState::Waiting(wait), view)
    }
}

impl ThreadFiles {
    fn times(&self) -> Option<SchedulerTimes> {
        SchedulerTimes::parse(&read(&self.scheduler)?)
    }

    fn switches(&self) -> Option<Switches> {
        Switches::parse(&read(&self.switches)?)
    }

    fn activity(&self) -> Option<Activity> {
        Activity::parse(&read(&self.call)?)
    }

    /// Where in the kernel it waits; none where the kernel keeps that to itself.
    fn kernel_function(&self) -> Option<Arc<str>> {
        let name = fs::read(self.folder.join("wchan")).ok()?;
        (!name.is_empty() && name != b"0").then(|| shown(&name).into())
    }
}

fn read(file: &File) -> Option<String> {
    let mut bytes = [0; 4096];
    let length = file.read_at(&mut bytes, 0).ok()?;
    std::str::from_utf8(bytes.get(..length)?).ok().map(str::to_owned)
}

/// The processes of a control group and of those below it.
fn members(folder: &Path) -> BTreeSet<u32> {
    let mut members = BTreeSet::new();
    let mut next = vec![folder.to_path_buf()];
    while let Some(folder) = next.pop() {
        let processes = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        // A process of another namespace of pids is 0 here.
        members.extend(processes.lines().filter_map(|pid| pid.parse::<u32>().ok()).filter(|pid| *pid != 0));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        next.extend(
            entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()),
        );
    }
    members
}

/// Processes and all that they started and what these started.
fn family(roots: &[u32]) -> BTreeSet<u32> {
    let mut family = BTreeSet::new();
    let mut next = roots.to_vec();
    while let Some(pid) = next.pop() {
        if family.insert(pid) {
            let tasks = PathBuf::from(format!("/proc/{pid}/task"));
            for tid in numbers_in(&tasks) {
                let children = fs::read_to_string(tasks.join(tid.to_string()).join("children")).unwrap_or_default();
                next.extend(children.split_ascii_whitespace().filter_map(|child| child.parse::<u32>().ok()));
            }
        }
    }
    family
}

/// When a process began (the 22nd field of `stat`, proc_pid_stat(5)) and which program it is; none of one that ended.
fn identity(pid: u32) -> Option<Identity> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The second field, a name in brackets, may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    (state != "Z").then_some(())?;
    Some((fields.nth(18)?.to_owned(), fs::read_link(format!("/proc/{pid}/exe")).ok()))
}
