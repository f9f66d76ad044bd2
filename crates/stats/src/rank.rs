//! Which ranks a case may have.

use std::ops::RangeInclusive;

/// The ranks from 1 that each of `cases` may have, when each of `shown` is a pair (better, worse) of places that has been
/// shown: from 1 + the number shown to be better, to `cases` - the number shown to be worse.
///
/// When the error of all pairs together is controlled ([`crate::step_down`] over all pairs), the ranges hold the true ranks of all cases
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
