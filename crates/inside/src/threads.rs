//! PHP with threads: which thread of the kernel has which globals (`TSRM/TSRM.c`).
//!
//! Every thread that runs PHP has an entry `{storage, count, thread id, next}` in `tsrm_tls_table`, a hash table with
//! `thread id % size` as the hash; `storage[id - 1]` is the resource of an id, in all versions of 7.0 to 8.6. The thread id is
//! what `pthread_self(3)` gives: the address of the thread's control block, in which the C library keeps the number that
//! the kernel knows the thread by.

use std::collections::BTreeMap;

use crate::memory::{MemoryPart, RemoteMemory, half_at, is_address, word_at};

/// A thread that runs PHP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PhpThread {
    /// As the kernel knows it.
    pub(crate) tid: u32,
    /// Its `zend_executor_globals`.
    pub(crate) executor: u64,
    /// Its `sapi_globals_struct`.
    pub(crate) sapi: Option<u64>,
}

/// Addresses in a process of what leads to its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadTable {
    /// Of the pointer to the table.
    pub(crate) table: u64,
    /// Of its size, an `int`.
    pub(crate) size: u64,
    pub(crate) executor_id: u64,
    pub(crate) sapi_id: Option<u64>,
}

/// The threads of a process by the number that its own C library knows them by, which in a container is another.
pub(crate) type KernelThreads = BTreeMap<u32, u32>;

/// `sizeof(tsrm_tls_entry)`
const ENTRY_SIZE: usize = 32;
/// Where a thread's control block keeps its number: `struct pthread.tid` of glibc and `struct pthread.tid` of musl.
/// Both point to themselves at 0, and glibc's also at 16.
#[cfg(target_arch = "x86_64")]
const NUMBERS: [(usize, bool); 2] = [(720, true), (48, false)];
/// On 64-bit ARM the thread's id is the address of `struct pthread`, which in musl alone points to itself.
#[cfg(not(target_arch = "x86_64"))]
const NUMBERS: [(usize, bool); 2] = [(208, false), (32, false)];
const CONTROL_BLOCK_SIZE: usize = 724;
/// More slots than any server gives threads; a larger size is no size.
const MOST_SLOTS: u32 = 1 << 16;
/// More resources than any build of PHP has extensions.
const MOST_RESOURCES: u64 = 1 << 12;

struct Entry {
    storage: u64,
    count: u64,
    thread: u64,
    next: u64,
}

impl Entry {
    fn read(memory: &dyn RemoteMemory, address: u64) -> Option<Self> {
        let mut bytes = [0; ENTRY_SIZE];
        if !is_address(address) || !memory.read(address, &mut bytes) {
            return None;
        }
        let [storage, count, thread, next] = [0, 8, 16, 24].map(|offset| word_at(&bytes, offset));
        let count = count & u64::from(u32::MAX);
        let is_one = is_address(storage) && is_address(thread) && (1..MOST_RESOURCES).contains(&count);
        is_one.then_some(Self { storage, count, thread, next })
    }

    /// The kernel's number of its thread, when its control block proves itself.
    fn tid(&self, memory: &dyn RemoteMemory, threads: &KernelThreads) -> Option<u32> {
        let mut block = [0; CONTROL_BLOCK_SIZE];
        if !memory.read(self.thread, &mut block) {
            return None;
        }
        let points_to_itself = |offset| word_at(&block, offset) == self.thread;
        if cfg!(target_arch = "x86_64") && !points_to_itself(0) {
            return None;
        }
        let places = NUMBERS.iter().filter(|(_, also_at_16)| !also_at_16 || points_to_itself(16));
        places.filter_map(|(offset, _)| threads.get(&half_at(&block, *offset))).copied().next()
    }
}

impl ThreadTable {
    /// The threads that run PHP now; those that end meanwhile are left out.
    pub(crate) fn threads(&self, memory: &dyn RemoteMemory, threads: &KernelThreads) -> Vec<PhpThread> {
        let mut found = Vec::new();
        let (Some(executor_id), Some(slots)) = (id(memory, self.executor_id), self.slots(memory)) else {
            return found;
        };
        let sapi_id = self.sapi_id.and_then(|at| id(memory, at));
        for slot in slots {
            let mut next = slot;
            // A chain that is longer than the process has threads runs in a circle.
            for _ in 0..threads.len() {
                let Some(entry) = Entry::read(memory, next) else { break };
                let resource = |id: u64| {
                    let address = memory.word(entry.storage + (id - 1) * 8).filter(|_| id <= entry.count)?;
                    is_address(address).then_some(address)
                };
                if let (Some(tid), Some(executor)) = (entry.tid(memory, threads), resource(executor_id)) {
                    found.push(PhpThread { tid, executor, sapi: sapi_id.and_then(resource) });
                }
                next = entry.next;
            }
        }
        found
    }

    fn slots(&self, memory: &dyn RemoteMemory) -> Option<Vec<u64>> {
        let mut size = [0; 4];
        let table = memory.word(self.table).filter(|table| is_address(*table))?;
        let size = memory.read(self.size, &mut size).then(|| u32::from_le_bytes(size))?;
        words(memory, table, usize::try_from(size).ok().filter(|_| (1..=MOST_SLOTS).contains(&size))?)
    }

    /// Looks for the table where its symbols are stripped: the pointer in zeroed memory whose slots are entries of threads of
    /// this process, with the number near it that is its size, as the slots of those threads prove.
    pub(crate) fn search(
        memory: &dyn RemoteMemory,
        zeroed: &[(u64, u64)],
        threads: &KernelThreads,
        (executor_id, sapi_id): (u64, Option<u64>),
    ) -> Option<Self> {
        zeroed.iter().find_map(|(start, end)| {
            let words = words(memory, *start, usize::try_from((end - start) / 8).ok()?)?;
            let addresses = (*start..).step_by(8).zip(words).filter(|(_, word)| is_address(*word));
            let mut candidates = addresses.filter(|(_, table)| begins_table(memory, *table, threads));
            candidates.find_map(|(at, _)| {
                let sizes = (at.saturating_sub(NEAR)..at + NEAR).step_by(4);
                let mut tables = sizes.map(|size| Self { table: at, size, executor_id, sapi_id });
                tables.find(|table| table.is_proved(memory, threads))
            })
        })
    }

    /// Whether every slot is empty or holds an entry whose thread belongs into it, and one is there.
    fn is_proved(&self, memory: &dyn RemoteMemory, threads: &KernelThreads) -> bool {
        let Some(slots) = self.slots(memory) else { return false };
        let mut filled = (0_u64..).zip(&slots).filter(|(_, slot)| **slot != 0).peekable();
        let size = slots.len() as u64;
        filled.peek().is_some()
            && filled.all(|(index, slot)| {
                let entry = Entry::read(memory, *slot);
                entry.is_some_and(|entry| entry.thread % size == index && entry.tid(memory, threads).is_some())
            })
            && !self.threads(memory, threads).is_empty()
    }
}

/// Whether the first slot that is filled holds an entry of a thread of this process. PHP makes tables of one slot, and of few
/// where it is told how many threads there will be.
fn begins_table(memory: &dyn RemoteMemory, table: u64, threads: &KernelThreads) -> bool {
    const FIRST_SLOTS: usize = 64;
    let slots = words(memory, table, FIRST_SLOTS).or_else(|| words(memory, table, 1)).unwrap_or_default();
    let first = slots.into_iter().find(|slot| *slot != 0);
    first.and_then(|slot| Entry::read(memory, slot)).is_some_and(|entry| entry.tid(memory, threads).is_some())
}

/// How far from the pointer its size may be: both are declared side by side.
const NEAR: u64 = 64;

fn id(memory: &dyn RemoteMemory, at: u64) -> Option<u64> {
    let mut bytes = [0; 4];
    let id = memory.read(at, &mut bytes).then(|| u64::from(u32::from_le_bytes(bytes)))?;
    (1..MOST_RESOURCES).contains(&id).then_some(id)
}

fn words(memory: &dyn RemoteMemory, address: u64, count: usize) -> Option<Vec<u64>> {
    let mut bytes = vec![0; count * 8];
    let whole = memory.read_parts(&mut [MemoryPart { address, bytes: &mut bytes }]) == 1;
    whole.then(|| (0..count).map(|index| word_at(&bytes, index * 8)).collect())
}
