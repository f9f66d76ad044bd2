//! Samples added up, weighted by the scheduler's counters.
//!
//! The scheduler's counters tell exactly how long threads ran, were ready and waited; samples tell how that divides between
//! functions. So a sample of a thread that ran stands for its share of the time run, and so on: a sampler that comes late
//! where processors are short does not change what each state has.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::function::PhpFunction;
use crate::sampler::StackSample;
use crate::scheduler::TimeSpent;
use crate::stack::PhpStack;
use crate::wait::{PhpWait, ThreadState};

/// Samples by stack.
#[derive(Clone, Debug, Default)]
pub struct StackProfile {
    stacks: HashMap<Key, u64>,
    /// Samples by state.
    seen: [u64; 3],
    spent: TimeSpent,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    stack: Arc<PhpStack>,
    state: ThreadState,
    request: Option<Arc<str>>,
}

const RUNNING: usize = 0;
const READY: usize = 1;
const WAITING: usize = 2;

impl Key {
    const fn kind(&self) -> usize {
        match self.state {
            ThreadState::Running => RUNNING,
            ThreadState::Ready => READY,
            ThreadState::Waiting(_) => WAITING,
        }
    }
}

/// A share of time, and how far it may be off by chance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeShare {
    /// From 0 to 1.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
}

impl TimeShare {
    /// Of so many samples of so many: the standard error of a binomial share, with one sample more of each kind so that none
    /// of few is not certain (Agresti and Coull, "Approximate is better than exact", The American Statistician 52(2), 1998).
    fn of(count: u64, all: u64) -> Self {
        let (count, all) = (count as f64, all as f64);
        let value = if all > 0.0 { count / all } else { 0.0 };
        let steadied = (count + 1.0) / (all + 2.0);
        Self { value, standard_error: (steadied * (1.0 - steadied) / (all + 2.0)).sqrt() }
    }
}

/// What a function takes.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionRow {
    /// Which.
    pub function: Arc<PhpFunction>,
    /// Its share of the time that threads ran, without what it calls.
    pub running_self: TimeShare,
    /// With what it calls.
    pub running_total: TimeShare,
    /// Its share of the time that threads waited, without what it calls.
    pub waiting_self: TimeShare,
    /// With what it calls.
    pub waiting_total: TimeShare,
}

/// What is waited for, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitRow {
    /// For what.
    pub wait: Arc<PhpWait>,
    /// In which function; none outside PHP.
    pub function: Option<Arc<PhpFunction>>,
    /// Of the time that threads waited.
    pub share: TimeShare,
}

impl StackProfile {
    /// Adds a sample.
    pub fn add(&mut self, sample: &StackSample) {
        let StackSample { stack, state, request, .. } = sample;
        let key = Key { stack: Arc::clone(stack), state: state.clone(), request: request.clone() };
        self.seen[key.kind()] += 1;
        *self.stacks.entry(key).or_default() += 1;
    }

    /// Gives it the time that its samples stand for.
    pub fn weigh(&mut self, spent: TimeSpent) {
        self.spent = spent;
    }

    /// The time that its samples stand for.
    pub const fn spent(&self) -> TimeSpent {
        self.spent
    }

    /// How many samples there are of threads that ran, that were ready and that waited.
    pub const fn seen(&self) -> [u64; 3] {
        self.seen
    }

    /// The same of requests of one path alone; `None` for what serves none.
    pub fn of_request(&self, path: Option<&str>) -> Self {
        let stacks = self.stacks.iter().filter(|(key, _)| key.request.as_deref() == path);
        let stacks: HashMap<_, _> = stacks.map(|(key, count)| (key.clone(), *count)).collect();
        let mut seen = [0; 3];
        for (key, count) in &stacks {
            seen[key.kind()] += count;
        }
        let part = |time: Duration, kind: usize| time.mul_f64(seen[kind] as f64 / self.seen[kind].max(1) as f64);
        let spent = TimeSpent {
            running: part(self.spent.running, RUNNING),
            ready: part(self.spent.ready, READY),
            waiting: part(self.spent.waiting, WAITING),
        };
        Self { stacks, seen, spent }
    }

    /// The paths of requests that were seen, with the share of the time run that each took, the largest first.
    pub fn requests(&self) -> Vec<(Option<Arc<str>>, TimeShare)> {
        let mut counts: BTreeMap<Option<Arc<str>>, u64> = BTreeMap::new();
        for (key, count) in &self.stacks {
            let seen = counts.entry(key.request.clone()).or_default();
            *seen += if key.kind() == RUNNING { *count } else { 0 };
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts.into_iter().map(|(path, count)| (path, TimeShare::of(count, self.seen[RUNNING]))).collect()
    }

    /// Functions by the time that they ran with what they call, then waited; the largest first.
    pub fn functions(&self) -> Vec<FunctionRow> {
        #[derive(Default)]
        struct Row {
            self_of: [u64; 3],
            total_of: [u64; 3],
        }
        let mut rows: BTreeMap<Arc<PhpFunction>, Row> = BTreeMap::new();
        for (key, count) in &self.stacks {
            let kind = key.kind();
            if let Some(leaf) = key.stack.frames.first() {
                rows.entry(Arc::clone(&leaf.function)).or_default().self_of[kind] += count;
            }
            // A function that calls itself is counted once.
            let functions: BTreeSet<_> = key.stack.frames.iter().map(|frame| &frame.function).collect();
            for function in functions {
                rows.entry(Arc::clone(function)).or_default().total_of[kind] += count;
            }
        }
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_by_key(|(_, row)| {
            std::cmp::Reverse((row.total_of[RUNNING], row.self_of[RUNNING], row.total_of[WAITING]))
        });
        let row = |(function, Row { self_of, total_of })| {
            let share = |counts: [u64; 3], kind: usize| TimeShare::of(counts[kind], self.seen[kind]);
            let [running_self, waiting_self] = [RUNNING, WAITING].map(|kind| share(self_of, kind));
            let [running_total, waiting_total] = [RUNNING, WAITING].map(|kind| share(total_of, kind));
            FunctionRow { function, running_self, running_total, waiting_self, waiting_total }
        };
        rows.into_iter().map(row).collect()
    }

    /// What is waited for and in which function, the longest first.
    pub fn waits(&self) -> Vec<WaitRow> {
        let mut counts: BTreeMap<(Arc<PhpWait>, Option<Arc<PhpFunction>>), u64> = BTreeMap::new();
        for (key, count) in &self.stacks {
            if let ThreadState::Waiting(wait) = &key.state {
                let function = key.stack.frames.first().map(|frame| Arc::clone(&frame.function));
                *counts.entry((Arc::clone(wait), function)).or_default() += count;
            }
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let row =
            |((wait, function), count)| WaitRow { wait, function, share: TimeShare::of(count, self.seen[WAITING]) };
        counts.into_iter().map(row).collect()
    }

    /// The share of the time run and of the time waited in which threads ran no PHP.
    pub fn outside(&self) -> (TimeShare, TimeShare) {
        let share = |kind| {
            let outside = self.stacks.iter().filter(|(key, _)| key.stack.frames.is_empty() && key.kind() == kind);
            TimeShare::of(outside.map(|(_, count)| count).sum(), self.seen[kind])
        };
        (share(RUNNING), share(WAITING))
    }

    /// Each stack in each state and request with its samples.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (&PhpStack, &ThreadState, Option<&str>, u64)> {
        self.stacks
            .iter()
            .map(|(Key { stack, state, request }, samples)| (&**stack, state, request.as_deref(), *samples))
    }
}
