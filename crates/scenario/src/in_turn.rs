//! The order in which requests of different frequency are sent.

use std::num::NonZeroU32;

/// The numbers of requests with these weights in the order in which they are sent, over and over: each as often as its weight, divided
/// by what all have in common, and as evenly as that goes (smooth weighted round robin, as nginx balances).
#[must_use]
pub fn in_turn(weights: &[NonZeroU32]) -> Vec<u32> {
    let common = weights.iter().map(|weight| weight.get()).fold(0, gcd).max(1);
    let weights: Vec<i64> = weights.iter().map(|weight| i64::from(weight.get() / common)).collect();
    let total: i64 = weights.iter().sum();
    let mut credit = vec![0; weights.len()];
    (0..total)
        .map_while(|_| {
            credit.iter_mut().zip(&weights).for_each(|(credit, weight)| *credit += weight);
            // Of equal ones the first.
            let (next, most) = credit.iter_mut().enumerate().rev().max_by_key(|(_, credit)| **credit)?;
            *most -= total;
            u32::try_from(next).ok()
        })
        .collect()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comes_as_often_as_its_weight_and_spread_out() {
        for (weights, expected) in [
            (vec![], vec![]),
            (vec![7], vec![0]),
            (vec![1, 1, 1], vec![0, 1, 2]),
            (vec![5, 1, 1], vec![0, 0, 1, 0, 2, 0, 0]),
            (vec![20, 10], vec![0, 1, 0]),
            (vec![1, 2], vec![1, 0, 1]),
        ] {
            let weights: Vec<NonZeroU32> = weights.into_iter().map(|weight| NonZeroU32::new(weight).unwrap()).collect();
            assert_eq!(in_turn(&weights), expected, "{weights:?}");
        }
    }
}
