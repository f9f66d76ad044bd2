//! The peak of memory over samples. The kernel's own high-water mark counts page cache too, which it can take back.

use stampede_core::Memory;

/// The largest amounts seen so far, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryPeak {
    /// Anonymous, shared and kernel memory together.
    pub(crate) needed: u64,
    /// Page cache.
    pub(crate) cache: u64,
}

impl MemoryPeak {
    /// Takes one sample in.
    pub(crate) fn add(&mut self, memory: &Memory) {
        self.needed = self.needed.max(memory.needed());
        self.cache = self.cache.max(memory.cache);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_of_what_was_needed_at_one_time() {
        let mut peak = MemoryPeak::default();
        for (anonymous, shared, cache) in [(10, 0, 5), (4, 9, 50), (6, 6, 0)] {
            peak.add(&Memory { anonymous, shared, kernel: 1, cache });
        }
        assert_eq!(peak, MemoryPeak { needed: 14, cache: 50 });
    }
}
