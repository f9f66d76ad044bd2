//! Memory that is made up: regions of bytes at addresses.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::memory::{MemoryPart, RemoteMemory};

#[derive(Default)]
pub(super) struct FakeMemory {
    regions: BTreeMap<u64, Vec<u8>>,
    reads: Cell<usize>,
}

impl FakeMemory {
    pub(super) fn map(&mut self, start: u64, length: usize) {
        self.regions.insert(start, vec![0; length]);
    }

    pub(super) fn put(&mut self, address: u64, bytes: &[u8]) {
        let (start, region) = self.regions.range_mut(..=address).next_back().expect("it is mapped");
        let at = (address - start) as usize;
        region[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn put_word(&mut self, address: u64, word: u64) {
        self.put(address, &word.to_le_bytes());
    }

    pub(super) fn get(&self, address: u64) -> u64 {
        self.word(address).expect("it is mapped")
    }

    pub(super) fn bytes(&self, address: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        assert!(self.read(address, &mut bytes));
        bytes
    }

    /// How often it was read, as calls of the kernel.
    pub(super) fn reads(&self) -> usize {
        self.reads.get()
    }
}

impl RemoteMemory for FakeMemory {
    fn read_parts(&self, parts: &mut [MemoryPart<'_>]) -> usize {
        self.reads.set(self.reads.get() + 1);
        let read = |part: &mut MemoryPart<'_>| {
            let (start, region) = self.regions.range(..=part.address).next_back()?;
            let at = usize::try_from(part.address - start).ok()?;
            part.bytes.copy_from_slice(region.get(at..at.checked_add(part.bytes.len())?)?);
            Some(())
        };
        parts.iter_mut().map_while(read).count()
    }
}
