//! PHP with threads, in memory that is made up: the table of threads, found by its symbols and without.

use crate::threads::{KernelThreads, PhpThread, ThreadTable};

use super::fake_memory::FakeMemory;

const ZEROED: u64 = 0x10_0000;
const ZEROED_SIZE: u64 = 0x4000;
const TABLE_AT: u64 = ZEROED + 0x1000;
const SIZE_AT: u64 = TABLE_AT - 4;
const IDS: u64 = 0x20_0000;
const HEAP: u64 = 0x400_0000;
const BLOCKS: u64 = 0x7f00_0000_0000;
const RESOURCES: u64 = 12;

/// Threads whose numbers the process sees as these, in a table of so many slots.
fn process(slots: u64, tids: &[u32]) -> FakeMemory {
    let mut memory = FakeMemory::default();
    memory.map(ZEROED, ZEROED_SIZE as usize);
    memory.map(IDS, 64);
    memory.map(HEAP, 0x10_0000);
    memory.map(BLOCKS, 0x10_0000);
    // executor_globals_id is 8 and sapi_globals_id 3.
    memory.put(IDS, &8_u32.to_le_bytes());
    memory.put(IDS + 4, &3_u32.to_le_bytes());
    memory.put_word(TABLE_AT, HEAP);
    memory.put(SIZE_AT, &(slots as u32).to_le_bytes());
    for (index, tid) in (0_u64..).zip(tids) {
        let (block, entry) = (BLOCKS + index * 0x1000, HEAP + 0x1000 + index * 0x1000);
        let storage = entry + 0x100;
        memory.put_word(block, block);
        memory.put_word(block + 16, block);
        memory.put(block + 720, &tid.to_le_bytes());
        memory.put_word(entry, storage);
        memory.put(entry + 8, &(RESOURCES as u32).to_le_bytes());
        memory.put_word(entry + 16, block);
        memory.put_word(storage + 7 * 8, executor(index));
        memory.put_word(storage + 2 * 8, executor(index) + 0x800);
        // Appended to the chain of its slot.
        let mut link = HEAP + block % slots * 8;
        while memory.get(link) != 0 {
            link = memory.get(link) + 24;
        }
        memory.put_word(link, entry);
    }
    memory
}

const fn executor(index: u64) -> u64 {
    HEAP + 0x8_0000 + index * 0x1000
}

const fn table() -> ThreadTable {
    ThreadTable { table: TABLE_AT, size: SIZE_AT, executor_id: IDS, sapi_id: Some(IDS + 4) }
}

fn kernel(pairs: &[(u32, u32)]) -> KernelThreads {
    pairs.iter().copied().collect()
}

fn thread(tid: u32, index: u64) -> PhpThread {
    PhpThread { tid, executor: executor(index), sapi: Some(executor(index) + 0x800) }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn threads_are_found_in_tables_of_any_size() {
    for slots in [1, 3, 16] {
        let memory = process(slots, &[70, 71, 72]);
        // In a container a process knows its threads by other numbers than the kernel's own; 9 runs no PHP.
        let mut found = table().threads(&memory, &kernel(&[(9, 5009), (70, 5070), (71, 5071), (72, 5072)]));
        found.sort_by_key(|thread| thread.tid);
        assert_eq!(found, [thread(5070, 0), thread(5071, 1), thread(5072, 2)], "{slots} slots");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_thread_that_is_not_of_the_process_is_left_out() {
    let memory = process(2, &[70, 71]);
    assert_eq!(table().threads(&memory, &kernel(&[(71, 71), (1, 1)])), [thread(71, 1)]);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn entries_in_a_circle_end() {
    let mut memory = process(1, &[70, 71]);
    memory.put_word(HEAP + 0x2000 + 24, HEAP + 0x1000);
    assert_eq!(table().threads(&memory, &kernel(&[(70, 70), (71, 71)])).len(), 2);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_table_without_symbols_is_found() {
    for slots in [1, 16] {
        let mut memory = process(slots, &[70, 71]);
        // What else is there: a pointer to a table of nothing, and one to an entry.
        memory.put_word(ZEROED + 0x40, HEAP + 0x9000);
        memory.put_word(ZEROED + 0x48, HEAP + 0x1000);
        memory.put(ZEROED + 0x50, &4_u32.to_le_bytes());
        let threads = kernel(&[(70, 70), (71, 71)]);
        let zeroed = [(ZEROED, ZEROED + ZEROED_SIZE)];
        let found = ThreadTable::search(&memory, &zeroed, &threads, (IDS, Some(IDS + 4))).expect("it is there");
        assert_eq!(found.threads(&memory, &threads).len(), 2, "{slots} slots");
        assert_eq!(found.table, TABLE_AT);
        // Of a process that has no such threads it is none.
        assert_eq!(ThreadTable::search(&memory, &zeroed, &kernel(&[(1, 1)]), (IDS, None)), None);
    }
}
