//! A set of small numbers that finds its next member at once, among many.

/// Numbers below a capacity, as bits in words, with words above that say which words hold any: looking for the next member
/// reads one word a level, three for 262,144 numbers.
#[derive(Clone, Debug)]
pub(crate) struct IndexSet {
    levels: Vec<Vec<u64>>,
}

impl IndexSet {
    /// An empty set of numbers below `capacity`.
    pub(crate) fn new(capacity: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = capacity.max(1);
        while levels.is_empty() || words > 1 {
            words = words.div_ceil(64);
            levels.push(vec![0; words]);
        }
        Self { levels }
    }

    pub(crate) fn insert(&mut self, index: usize) {
        let mut at = index;
        for level in &mut self.levels {
            level[at / 64] |= 1 << (at % 64);
            at /= 64;
        }
    }

    pub(crate) fn remove(&mut self, index: usize) {
        let mut at = index;
        for level in &mut self.levels {
            level[at / 64] &= !(1 << (at % 64));
            if level[at / 64] != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The smallest member from `from` on.
    pub(crate) fn next(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for (height, level) in self.levels.iter().enumerate() {
            let word = at / 64;
            let members = level.get(word).copied().unwrap_or(0) & (u64::MAX << (at % 64));
            if members != 0 {
                let first = word * 64 + members.trailing_zeros() as usize;
                let below = self.levels.iter().take(height).rev();
                return Some(below.fold(first, |found, level| found * 64 + level[found].trailing_zeros() as usize));
            }
            at = word + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    proptest::proptest! {
        /// Whatever is put in and taken out, it finds what a sorted set finds.
        #[test]
        fn it_finds_what_a_sorted_set_finds(
            capacity in proptest::sample::select(vec![1_usize, 64, 65, 4096, 4097, 20_000]),
            steps in proptest::collection::vec((0..20_000_usize, proptest::bool::weighted(0.6)), 0..200),
        ) {
            let (mut set, mut sorted) = (IndexSet::new(capacity), BTreeSet::new());
            for (index, put) in steps {
                let index = index % capacity;
                if put { set.insert(index); sorted.insert(index); } else { set.remove(index); sorted.remove(&index); }
                for from in [0, index, index + 1, capacity] {
                    proptest::prop_assert_eq!(set.next(from), sorted.range(from..).next().copied());
                }
            }
        }
    }
}
