//! How much the ratio of two cases scatters from block to block, where a block measured others beside them.

use crate::interval::mean;

/// A standard deviation, and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairSpread {
    /// Of one block: 0.04 is about 4 %.
    pub deviation: f64,
    /// Degrees of freedom: what the quantile of Student's t is taken with. They need not be whole.
    pub degrees: f64,
}

/// With so many others or fewer, a pair's spread is never less than what its own ratios show.
const FEW_OTHERS: usize = 2;

/// A variance and its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Variance {
    value: f64,
    degrees: f64,
}

/// The spread of `a` - `b` from block to block. All slices have one logarithm a block, of the same blocks. `None` without others, which
/// leaves the pair's own ratios, and with fewer than two blocks. It is for few blocks: [`crate::MANY_BLOCKS`] tell enough of the pair
/// themselves, and there a case that scatters much need not widen the intervals of others.
///
/// The logarithm of case i in a block is what the case is, plus what the block does to all cases, plus a residual of variance
/// s_i², which no other case shares. A pair's variance in a block is then s_a² + s_b². Each of the two is the larger of
///
/// - what the case shows itself. Its distance from the mean of the n others of its block has the variance s_i² + m / n, where m is
///   the mean of the others' own variances; m is estimated without the case (below), and its n-th part taken off, so that the
///   scatter of the others is counted once and not in both cases of the pair. What is left is s_i² without bias, however unlike the
///   cases are (it is the estimator of Grubbs 1948), with the B - 1 degrees of freedom of B blocks;
/// - what the others show: m, from what is left of them when their own means and those of blocks are taken off, with
///   (n - 1) (B - 1) degrees of freedom. A case that scatters little by chance has that of its neighbours, one that scatters much has
///   its own, and hides in no mean.
///
/// The sum of the two has the degrees of freedom of Satterthwaite 1946, never more than all residuals have together,
/// n (B - 1) with n + 1 cases: two variances that both come from the others come from nearly the same ones.
///
/// With one other or two, those may be the ones that scatter little: the pair's own variance counts where it is larger.
pub fn pair_spread(a: &[f64], b: &[f64], others: &[&[f64]]) -> Option<PairSpread> {
    let blocks = a.len();
    if others.is_empty() || blocks < 2 {
        return None;
    }
    let beside = |case| others.iter().copied().chain([case]).collect::<Vec<_>>();
    let [of_a, of_b] = [(a, b), (b, a)].map(|(case, other)| of_case(case, &beside(other)));
    let all = (others.len() + 1) as f64 * (blocks - 1) as f64;
    let shared = sum(of_a, of_b, all);
    let own = own(a, b);
    let widest = if others.len() <= FEW_OTHERS && own.value > shared.value { own } else { shared };
    Some(PairSpread { deviation: widest.value.sqrt(), degrees: widest.degrees })
}

/// The variance of a case's residual, from at least two others.
fn of_case(case: &[f64], others: &[&[f64]]) -> Variance {
    let centre = means(others);
    let others_own = residual(others, &centre);
    let apart: Vec<f64> = case.iter().zip(&centre).map(|(log, mean)| log - mean).collect();
    let itself = variance(&apart);
    let itself = Variance { value: itself.value - others_own.value / others.len() as f64, ..itself };
    if itself.value > others_own.value { itself } else { others_own }
}

fn own(a: &[f64], b: &[f64]) -> Variance {
    variance(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

/// The mean of these cases in each block.
fn means(cases: &[&[f64]]) -> Vec<f64> {
    let blocks = cases.first().map_or(0, |case| case.len());
    (0..blocks).map(|block| cases.iter().map(|case| case[block]).sum::<f64>() / cases.len() as f64).collect()
}

/// What is left of cases when their means and those of their blocks are taken off.
fn residual(cases: &[&[f64]], centre: &[f64]) -> Variance {
    let apart = |case: &&[f64]| variance(&case.iter().zip(centre).map(|(log, mean)| log - mean).collect::<Vec<_>>());
    let each: Vec<Variance> = cases.iter().map(apart).collect();
    let squares: f64 = each.iter().map(|variance| variance.value * variance.degrees).sum();
    let degrees = (cases.len() - 1) as f64 * each.first().map_or(0.0, |variance| variance.degrees);
    Variance { value: squares / degrees, degrees }
}

fn variance(samples: &[f64]) -> Variance {
    let centre = mean(samples).unwrap_or_default();
    let degrees = samples.len() as f64 - 1.0;
    Variance { value: samples.iter().map(|sample| (sample - centre).powi(2)).sum::<f64>() / degrees, degrees }
}

/// The variance of a difference: Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics
/// Bulletin 2 (1946).
fn sum(a: Variance, b: Variance, most_degrees: f64) -> Variance {
    let value = a.value + b.value;
    let parts = a.value * a.value / a.degrees + b.value * b.value / b.degrees;
    // Cases that do not scatter at all.
    let degrees = if parts > 0.0 { value * value / parts } else { most_degrees };
    Variance { value, degrees: degrees.min(most_degrees) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGS: [[f64; 4]; 5] = [
        [0.10, 0.13, 0.08, 0.12],
        [0.02, 0.01, 0.05, 0.00],
        [0.30, 0.29, 0.33, 0.31],
        [0.21, 0.20, 0.20, 0.24],
        [0.50, 0.62, 0.41, 0.55],
    ];

    /// Reference: NumPy, residuals of the others' table around its rows and columns, `var(y - others.mean(0), ddof=1)`.
    #[test]
    fn a_pair_has_what_it_shows_and_at_least_what_the_others_show() {
        for (name, [a, b], cases, deviation, degrees) in [
            ("both have that of the others", [0, 1], 5, 0.069_086_298_689_875_31, 12.0),
            ("one scatters more than the others", [0, 4], 5, 0.103_528_042_363_195_31, 5.128_788_564_072_542),
            ("one other", [0, 1], 3, 0.046_904_157_598_234_304, 5.299_270_072_992_701),
            ("two others, and one has theirs", [0, 2], 4, 0.038_980_051_878_421_68, 6.958_537_634_742_025),
            ("two others, and the pair's own is larger", [0, 1], 4, 0.042_720_018_726_587_66, 3.0),
        ] {
            let others: Vec<&[f64]> =
                (0..cases).filter(|case| *case != a && *case != b).map(|case| &LOGS[case][..]).collect();
            for (a, b) in [(a, b), (b, a)] {
                let spread = pair_spread(&LOGS[a], &LOGS[b], &others).unwrap();
                assert!((spread.deviation / deviation - 1.0).abs() < 1e-9, "{name}: {spread:?}");
                assert!((spread.degrees / degrees - 1.0).abs() < 1e-9, "{name}: {spread:?}");
            }
        }
    }

    #[test]
    fn what_a_block_does_to_all_its_cases_is_in_no_spread() {
        let others = [&LOGS[2][..], &LOGS[3], &LOGS[4]];
        let plain = pair_spread(&LOGS[0], &LOGS[1], &others).unwrap();
        let shifted: Vec<Vec<f64>> = LOGS
            .iter()
            .map(|logs| logs.iter().zip([3.0, -1.0, 0.5, 9.0]).map(|(log, by)| log + by).collect())
            .collect();
        let others = [&shifted[2][..], &shifted[3], &shifted[4]];
        let of_shifted = pair_spread(&shifted[0], &shifted[1], &others).unwrap();
        assert!((plain.deviation / of_shifted.deviation - 1.0).abs() < 1e-9, "{plain:?} {of_shifted:?}");
    }

    #[test]
    fn without_others_the_pair_speaks_for_itself() {
        let [a, b, c] = [&LOGS[0][..], &LOGS[1], &LOGS[2]];
        assert_eq!(pair_spread(a, b, &[]), None);
        assert!(pair_spread(a, b, &[c]).is_some());
        assert_eq!(pair_spread(&a[..1], &b[..1], &[&c[..1]]), None);
        let still = pair_spread(&[1.0; 3], &[2.0; 3], &[&[3.0; 3]]).unwrap();
        assert_eq!((still.deviation, still.degrees), (0.0, 4.0));
    }
}
