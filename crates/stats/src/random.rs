//! Numbers that only look random: the same seed gives the same ones on every machine.

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator for any seed; neighbouring seeds give unrelated numbers.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An index below `n`, which is not 0. Taking the upper bits of the product favours some indices by less than
    /// n / 2^64 (Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019).
    pub const fn index(&mut self, n: usize) -> usize {
        ((self.next_u64() as u128 * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_sequence() {
        // The first values for seed 1234567, as the reference implementation prints them
        // (https://prng.di.unimi.it/splitmix64.c).
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!([random.next_u64(), random.next_u64()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn every_index_comes_up_about_equally() {
        let mut random = SplitMix64::new(3);
        let mut seen = [0_u32; 7];
        for _ in 0..7000 {
            seen[random.index(7)] += 1;
        }
        // 1,000 expected each; the standard deviation is 29.
        assert!(seen.iter().all(|count| (880..1120).contains(count)), "{seen:?}");
    }
}
