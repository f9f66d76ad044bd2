//! The standard normal distribution, exact in its far tails.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2, TAU};

use statrs::function::erf::{erfc, erfc_inv};

/// The probability of a standard normal value above `z`.
pub fn above(z: f64) -> f64 {
    0.5 * erfc(z * FRAC_1_SQRT_2)
}

/// The value that is exceeded with this probability.
pub(crate) fn quantile_above(probability: f64) -> f64 {
    SQRT_2 * erfc_inv(2.0 * probability)
}

pub(crate) fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / TAU.sqrt()
}

/// The integral of a smooth function by Simpson's rule over an even number of steps.
pub(crate) fn integrate(from: f64, to: f64, steps: usize, function: impl Fn(f64) -> f64) -> f64 {
    nodes(from, to, steps).map(|(x, weight)| weight * function(x)).sum()
}

/// The places and weights of Simpson's rule.
pub(crate) fn nodes(from: f64, to: f64, steps: usize) -> impl Iterator<Item = (f64, f64)> {
    let width = (to - from) / steps as f64;
    (0..=steps).map(move |step| {
        let share = if step == 0 || step == steps { 1.0 } else { 2.0 + 2.0 * (step % 2) as f64 };
        (from + width * step as f64, share * width / 3.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: SciPy 1.17.1, `scipy.stats.norm.sf(z)`.
    #[test]
    fn tails_are_those_of_scipy() {
        for (z, tail) in [(0.0, 0.5), (1.96, 0.024_997_895_148_220_435), (8.0, 6.220_960_574_271_784e-16)] {
            assert!((above(z) / tail - 1.0).abs() < 1e-9, "{z}: {}", above(z));
            assert!((quantile_above(tail) - z).abs() < 1e-8, "{tail}: {}", quantile_above(tail));
        }
        assert!((integrate(-9.0, 9.0, 200, density) - 1.0).abs() < 1e-12);
    }
}
