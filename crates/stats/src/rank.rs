//! Which ranks a case may have.

use std::ops::RangeInclusive;

/// Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979): which
/// hypotheses are rejected when the probability to reject any true one is at most `error`, however they depend on each other.
/// A p-value that is not a number rejects nothing.
pub fn holm(p_values: &[f64], error: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut rejected = vec![false; p_values.len()];
    for (before, index) in order.into_iter().enumerate() {
        rejected[index] = p_values[index] <= error / (p_values.len() - before) as f64;
        if !rejected[index] {
            break;
        }
    }
    rejected
}

/// The ranks from 1 that each of `cases` may have, when each of `shown` is a pair (better, worse) of places that has been
/// shown: from 1 + the number shown to be better, to `cases` - the number shown to be worse.
///
/// When the error of all pairs together is controlled ([`holm`] over all pairs), the ranges hold the true ranks of all cases
/// at once with that confidence (Al Mohamad, Goeman and van Zwet 2022). Cases whose ranges overlap are not shown to differ.
pub fn rank_sets(cases: usize, shown: &[(usize, usize)]) -> Vec<RangeInclusive<usize>> {
    (0..cases)
        .map(|case| {
            let better = shown.iter().filter(|(_, worse)| *worse == case).count();
            let worse = shown.iter().filter(|(better, _)| *better == case).count();
            1 + better..=cases - worse
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_bounded_by_what_is_shown() {
        assert_eq!(rank_sets(3, &[]), [1..=3, 1..=3, 1..=3]);
        assert_eq!(rank_sets(3, &[(0, 1), (0, 2), (1, 2)]), [1..=1, 2..=2, 3..=3]);
        assert_eq!(rank_sets(4, &[(0, 3), (1, 3)]), [1..=3, 1..=3, 1..=4, 3..=4]);
    }
}
