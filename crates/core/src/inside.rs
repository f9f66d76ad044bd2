//! What was seen of PHP's stacks in a window, from outside.

mod native;

use std::collections::HashMap;
use std::fmt;
use std::ops::{AddAssign, Range};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ServiceKind;

pub use self::native::{InsideCode, InsideNative};

/// Stacks of PHP's threads that were sampled in a window, and the time that they stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsideRecord {
    /// Functions that stacks name by their place in this list.
    pub functions: Vec<InsideFunction>,
    /// Each stack in each state once, those seen most often first.
    pub stacks: Vec<InsideStack>,
    /// How long PHP's threads ran, were ready and waited, by the scheduler's counters: those of all threads added up.
    pub spent: InsideTimes,
    /// How the sampler fared.
    pub effort: InsideEffort,
    /// Parts of the window in which samples were taken; in the others it rested, which shows what it costs.
    pub sampled: Vec<Range<Duration>>,
    /// Why some of it could not be looked into, a sentence each.
    pub problems: Vec<String>,
    /// Where in machine code the threads ran; records of before 0.2 have none.
    #[serde(default)]
    pub native: InsideNative,
}

/// How the threads of PHP spent a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsideTimes {
    /// On a processor.
    pub running: Duration,
    /// Ready and not run: the quota was used up, or others ran.
    pub ready: Duration,
    /// Waiting for something.
    pub waiting: Duration,
    /// How often threads left their processor to wait.
    pub waits: u64,
}

/// What the sampler did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsideEffort {
    /// Samples that were taken.
    pub taken: u64,
    /// Left out: memory changed while it was read.
    pub torn: u64,
    /// Left out: threads that began or ceased to wait meanwhile.
    pub moved: u64,
    /// Threads that were not looked at, as others had their turn.
    pub skipped: u64,
    /// Instants that were over before anything could be looked at, as on a busy machine; older records have none.
    #[serde(default)]
    pub missed: u64,
    /// CPU time that it took.
    pub cpu: Duration,
}

/// A function, a method, or the code of a file outside any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct InsideFunction {
    /// The class of a method.
    pub class: Option<String>,
    /// Its name; none of a file's own code.
    pub name: Option<String>,
    /// Where it is written; none of a function of PHP or of an extension.
    pub file: Option<String>,
    /// The line on which it begins; 0 without a file.
    pub first_line: u32,
}

/// A stack in a state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InsideStack {
    /// The functions that are called, outermost first; none while no PHP ran.
    pub frames: Vec<u32>,
    /// The line that the innermost function with a file is at.
    pub line: Option<u32>,
    /// What the thread did.
    pub state: InsideState,
    /// The path of the request that it served, where PHP knows one.
    pub request: Option<String>,
    /// In how many samples it was seen.
    pub samples: u64,
}

/// What a thread does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsideState {
    /// It runs.
    Running,
    /// It could run and does not.
    Ready,
    /// It waits.
    Waiting(InsideWait),
}

/// What a thread waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct InsideWait {
    /// The system call; none where the kernel waits in its own affairs.
    pub call: Option<String>,
    /// The kernel's function that it waits in, where it may be read.
    pub kernel: Option<String>,
    /// What stands behind the descriptor that it waits on.
    pub target: Option<InsideTarget>,
}

/// What a descriptor stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsideTarget {
    /// A file or a device.
    File(String),
    /// The other end of a connection: an address, or the path of a local socket; of a service of the deployment its name and `at` before
    /// that.
    Peer(String),
    /// An address of the deployment's own servers, as the other end of a connection.
    Itself(String),
    /// A socket that takes connections, by its own address.
    Listener(String),
    /// Another process, through a pipe or a pair of sockets.
    Pipe,
}

impl InsideRecord {
    /// Most stacks of one window that are kept as they are.
    pub const MOST_STACKS: usize = 1_500;
    /// Most paths of requests that are told apart.
    pub const MOST_PATHS: usize = 20;
    /// What all other paths are put together as.
    pub const OTHER_PATHS: &str = "(other paths)";
    /// Of the stacks beyond the most, so many outermost functions are kept.
    const OUTERMOST: usize = 4;
    /// Name of the function that stands for loading a file: it is looked up, and compiled where no cache holds it.
    pub const LOAD: &str = "(load a file)";

    /// Continues with what was seen in a window that began when this one had lasted `after`.
    pub fn go_on(&mut self, later: &Self, after: Duration) {
        let Self { functions, stacks, spent, effort, sampled, problems, native } = later;
        let mut places: HashMap<InsideFunction, u32> =
            (0..).zip(&self.functions).map(|(at, it)| (it.clone(), at)).collect();
        let moved: Vec<u32> = functions
            .iter()
            .map(|function| {
                *places.entry(function.clone()).or_insert_with(|| {
                    self.functions.push(function.clone());
                    self.functions.len() as u32 - 1
                })
            })
            .collect();
        self.stacks.extend(stacks.iter().map(|stack| {
            let frames = stack.frames.iter().filter_map(|frame| moved.get(*frame as usize).copied()).collect();
            InsideStack { frames, ..stack.clone() }
        }));
        self.spent += *spent;
        self.effort += *effort;
        self.native.go_on(native);
        self.sampled.extend(sampled.iter().map(|part| part.start + after..part.end + after));
        for problem in problems {
            if !self.problems.contains(problem) {
                self.problems.push(problem.clone());
            }
        }
        self.settle();
    }

    /// Names a folder otherwise, in which each deployment has files of its own: what is the same in several gets the same names.
    pub fn rename_folder(&mut self, folder: &str, name: &str) {
        let rename = |path: &mut String| {
            if let Some(rest) = path.strip_prefix(folder) {
                *path = format!("{name}{rest}");
            }
        };
        self.functions.iter_mut().filter_map(|function| function.file.as_mut()).for_each(rename);
        let waits = self.stacks.iter_mut().filter_map(|stack| match &mut stack.state {
            InsideState::Waiting(wait) => wait.target.as_mut(),
            InsideState::Running | InsideState::Ready => None,
        });
        for target in waits {
            match target {
                InsideTarget::File(path)
                | InsideTarget::Peer(path)
                | InsideTarget::Itself(path)
                | InsideTarget::Listener(path) => {
                    rename(path);
                }
                InsideTarget::Pipe => {}
            }
        }
    }

    /// Says of connections to an address that they lead to a service: `postgres at 127.0.0.1:5432`.
    pub fn name_peer(&mut self, address: &str, service: ServiceKind) {
        for stack in &mut self.stacks {
            if let InsideState::Waiting(InsideWait { target: Some(InsideTarget::Peer(peer)), .. }) = &mut stack.state
                && peer == address
            {
                *peer = format!("{} at {address}", service.id());
            }
        }
    }

    /// Puts what is the same together, the most frequent first, and keeps no more than is worth keeping: of stacks beyond the most
    /// the outermost functions, and of rare paths of requests that there were some.
    pub fn settle(&mut self) {
        let mut paths: HashMap<&str, u64> = HashMap::new();
        for stack in &self.stacks {
            *stack.request.as_deref().map_or(&mut 0, |path| paths.entry(path).or_default()) += stack.samples;
        }
        paths.remove(Self::OTHER_PATHS);
        let mut paths: Vec<_> = paths.into_iter().map(|(path, samples)| (samples, path.to_owned())).collect();
        paths.sort_by(|a, b| b.cmp(a));
        let rare: std::collections::HashSet<_> =
            paths.into_iter().skip(Self::MOST_PATHS).map(|(_, path)| path).collect();
        for request in self.stacks.iter_mut().filter_map(|stack| stack.request.as_mut()) {
            if rare.contains(request) {
                Self::OTHER_PATHS.clone_into(request);
            }
        }
        self.unite();
        for stack in self.stacks.iter_mut().skip(Self::MOST_STACKS) {
            stack.frames.truncate(Self::OUTERMOST);
            stack.line = None;
        }
        self.unite();
        self.renumber();
    }

    fn unite(&mut self) {
        let mut samples: HashMap<InsideStack, u64> = HashMap::new();
        for stack in self.stacks.drain(..) {
            let count = stack.samples;
            *samples.entry(InsideStack { samples: 0, ..stack }).or_default() += count;
        }
        self.stacks = samples.into_iter().map(|(stack, samples)| InsideStack { samples, ..stack }).collect();
        let rank = |stack: &InsideStack| (stack.frames.clone(), stack.line, stack.state.clone(), stack.request.clone());
        self.stacks.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| rank(a).cmp(&rank(b))));
    }

    /// Functions in the order in which stacks name them, without those that none does.
    fn renumber(&mut self) {
        let mut places: HashMap<u32, u32> = HashMap::new();
        let mut named = Vec::new();
        for frame in self.stacks.iter_mut().flat_map(|stack| &mut stack.frames) {
            let functions = &self.functions;
            *frame = *places.entry(*frame).or_insert_with(|| {
                named.extend(functions.get(*frame as usize).cloned());
                named.len() as u32 - 1
            });
        }
        self.functions = named;
    }

    /// The functions of a stack, outermost first.
    pub fn frames<'a>(&'a self, stack: &'a InsideStack) -> impl DoubleEndedIterator<Item = &'a InsideFunction> {
        stack.frames.iter().filter_map(|frame| self.functions.get(*frame as usize))
    }
}

impl AddAssign for InsideTimes {
    fn add_assign(&mut self, other: Self) {
        let Self { running, ready, waiting, waits } = other;
        self.running += running;
        self.ready += ready;
        self.waiting += waiting;
        self.waits += waits;
    }
}

impl AddAssign for InsideEffort {
    fn add_assign(&mut self, other: Self) {
        let Self { taken, torn, moved, skipped, missed, cpu } = other;
        self.taken += taken;
        self.torn += torn;
        self.moved += moved;
        self.skipped += skipped;
        self.missed += missed;
        self.cpu += cpu;
    }
}

impl fmt::Display for InsideFunction {
    /// `Class::name`, `name`, or the file; a closure with where it is written, since all have one name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.as_deref().unwrap_or("(no file)");
        let Some(name) = &self.name else { return f.write_str(file) };
        if let Some(class) = &self.class {
            write!(f, "{class}::")?;
        }
        f.write_str(name)?;
        // From 8.4 on PHP names closures with their place.
        if name.ends_with("{closure}") {
            let file = file.rsplit('/').next().unwrap_or(file);
            write!(f, " {file}:{}", self.first_line)?;
        }
        Ok(())
    }
}

impl fmt::Display for InsideWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.call, &self.kernel) {
            (Some(call), _) => f.write_str(call)?,
            (None, Some(kernel)) => write!(f, "kernel: {kernel}")?,
            (None, None) => f.write_str("kernel")?,
        }
        match &self.target {
            Some(InsideTarget::File(path)) => write!(f, " {path}"),
            Some(InsideTarget::Peer(address)) => write!(f, " from {address}"),
            Some(InsideTarget::Itself(address)) => write!(f, " from its own server {address}"),
            Some(InsideTarget::Listener(address)) => write!(f, " on {address}"),
            Some(InsideTarget::Pipe) => f.write_str(" a pipe"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str) -> InsideFunction {
        InsideFunction { name: Some(name.to_owned()), ..InsideFunction::default() }
    }

    fn record(names: &[&str], stacks: &[(&[u32], Option<&str>, u64)]) -> InsideRecord {
        let stack = |(frames, request, samples): &(&[u32], Option<&str>, u64)| InsideStack {
            frames: frames.to_vec(),
            line: None,
            state: InsideState::Running,
            request: request.map(str::to_owned),
            samples: *samples,
        };
        InsideRecord {
            functions: names.iter().map(|name| function(name)).collect(),
            stacks: stacks.iter().map(stack).collect(),
            sampled: vec![Duration::ZERO..Duration::from_secs(1)],
            ..InsideRecord::default()
        }
    }

    fn shown(record: &InsideRecord) -> Vec<(String, u64)> {
        let names = |stack| record.frames(stack).map(ToString::to_string).collect::<Vec<_>>().join(";");
        record.stacks.iter().map(|stack| (names(stack), stack.samples)).collect()
    }

    #[test]
    fn windows_are_put_together_by_names_and_not_by_numbers() {
        let mut first = record(&["main", "a"], &[(&[0, 1], None, 3)]);
        let later = record(&["b", "main"], &[(&[1, 0], None, 2), (&[1], None, 9)]);
        first.go_on(&later, Duration::from_secs(5));
        let expected = [("main", 9), ("main;a", 3), ("main;b", 2)];
        assert_eq!(shown(&first), expected.map(|(names, samples)| (names.to_owned(), samples)));
        assert_eq!(first.sampled.last(), Some(&(Duration::from_secs(5)..Duration::from_secs(6))));
        first.go_on(&record(&["main", "a"], &[(&[0, 1], None, 7)]), Duration::from_secs(6));
        assert_eq!(shown(&first)[0], ("main;a".to_owned(), 10));
    }

    #[test]
    fn a_connection_to_a_service_says_so() {
        let mut record = record(&["main"], &[(&[0], None, 1), (&[0], None, 1), (&[0], None, 1)]);
        let peer = |address: &str| InsideTarget::Peer(address.to_owned());
        let targets = [peer("127.0.0.1:5432"), peer("127.0.0.1:80"), InsideTarget::File("127.0.0.1:5432".to_owned())];
        for (stack, target) in record.stacks.iter_mut().zip(targets) {
            stack.state = InsideState::Waiting(InsideWait { target: Some(target), ..InsideWait::default() });
        }
        record.name_peer("127.0.0.1:5432", ServiceKind::Postgres);
        let shown = record.stacks.iter().map(|stack| match &stack.state {
            InsideState::Waiting(wait) => wait.to_string(),
            other => format!("{other:?}"),
        });
        let expected = ["kernel from postgres at 127.0.0.1:5432", "kernel from 127.0.0.1:80", "kernel 127.0.0.1:5432"];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn no_more_is_kept_than_is_worth_it() {
        let names: Vec<String> = (0..5_000).map(|number| format!("f{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut stacks: Vec<(Vec<u32>, Option<String>, u64)> =
            (5..5_000).map(|number| (vec![0, 1, 2, 3, 4, number], None, 1)).collect();
        stacks.push((vec![0], None, 100));
        stacks.extend((0..30).map(|user| (vec![0], Some(format!("/users/{user}")), 100 + user)));
        let borrowed: Vec<_> =
            stacks.iter().map(|(frames, path, samples)| (&frames[..], path.as_deref(), *samples)).collect();
        let mut kept = record(&names, &borrowed);
        let samples = |record: &InsideRecord| record.stacks.iter().map(|stack| stack.samples).sum::<u64>();
        let before = samples(&kept);
        kept.settle();
        assert_eq!(samples(&kept), before);
        assert!(kept.stacks.len() <= InsideRecord::MOST_STACKS + 1, "{}", kept.stacks.len());
        assert!(kept.functions.len() <= InsideRecord::MOST_STACKS + 5);
        let paths: std::collections::BTreeSet<_> =
            kept.stacks.iter().filter_map(|stack| stack.request.clone()).collect();
        assert_eq!(paths.len(), InsideRecord::MOST_PATHS + 1);
        kept.functions[0].file = Some("/run/1/app/a.php".to_owned());
        kept.rename_folder("/run/1", "@{run}");
        assert_eq!(kept.functions[0].file.as_deref(), Some("@{run}/app/a.php"));
        kept.settle();
        assert_eq!(samples(&kept), before, "nothing is lost by doing it again");
        assert!(kept.stacks.len() <= InsideRecord::MOST_STACKS + 1, "{}", kept.stacks.len());
    }
}
