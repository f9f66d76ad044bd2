//! Random numbers that are the same again for the same seed.

/// Steele, Lea and Flood's SplitMix64 ("Fast splittable pseudorandom number generators", OOPSLA 2014): one addition and two
/// multiplications a number, and a seed of any quality.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A pause of a Poisson process of rate one.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// A number above 0 and up to 1, of 53 bits.
    pub fn uniform(&mut self) -> f64 {
        ((self.draw() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_sequence() {
        // The first values for seed 1234567, as the reference implementation prints them
        // (https://prng.di.unimi.it/splitmix64.c).
        let mut random = Random(1_234_567);
        assert_eq!([random.draw(), random.draw()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
