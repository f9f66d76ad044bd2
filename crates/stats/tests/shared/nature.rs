//! Random numbers of the simulations.

use std::f64::consts::TAU;

use stampede_stats::SplitMix64;

pub(crate) struct Nature(pub(crate) SplitMix64);

impl Nature {
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Box and Muller 1958.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }
}
