//! The order of cases in a block: random, so that no case always follows the same other one, and seeded, so that a
//! study can be run again.

use std::collections::BTreeSet;

use stampede_core::{CaseId, Random};

/// What a block is made of: places in `cases`, in the order in which they are measured. Cases that are not open have no part, and
/// the others come as they would without them.
pub fn schedule(seed: u64, block: u32, cases: &[&CaseId], open: &BTreeSet<CaseId>) -> Vec<usize> {
    order(seed, block, cases.len()).into_iter().filter(|index| open.contains(cases[*index])).collect()
}

/// A permutation of `0..cases` for one block, from 1. The same seed and block give the same order on every machine.
pub fn order(seed: u64, block: u32, cases: usize) -> Vec<usize> {
    let mut random = Random(seed ^ u64::from(block).wrapping_mul(0xd134_2543_de82_ef95));
    let mut order = (0..cases).collect::<Vec<_>>();
    // Fisher and Yates, as Durstenfeld wrote it (CACM 7(7), 1964). Taking the remainder favours some places by less
    // than cases / 2^64.
    for last in (1..cases).rev() {
        order.swap(last, (random.draw() % (last as u64 + 1)) as usize);
    }
    order
}

/// The groups that are up together, one after the other, where no more than `most` may be: as even as they can be. Cases come in the
/// block's order, which is chance, so that over many blocks every pair is in one group equally often.
pub(crate) fn groups<T>(block: &[T], most: Option<u32>) -> Vec<&[T]> {
    let most = most.map_or(block.len(), |most| most as usize).max(1);
    let count = block.len().div_ceil(most);
    let mut left = block;
    let group = |number: usize| {
        let (group, later) = left.split_at(left.len().div_ceil(count - number));
        left = later;
        group
    };
    (0..count).map(group).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_block_holds_every_case_once_and_all_orders_come_up_about_equally() {
        let mut seen: HashMap<Vec<usize>, u32> = HashMap::new();
        for block in 1..=6000 {
            *seen.entry(order(1, block, 3)).or_default() += 1;
        }
        assert_eq!(seen.len(), 6);
        // 1,000 expected each; the standard deviation is 29.
        assert!(seen.values().all(|count| (880..1120).contains(count)), "{seen:?}");
        assert_eq!(order(7, 2, 12), order(7, 2, 12));
        assert_ne!(order(7, 2, 12), order(8, 2, 12));
    }

    #[test]
    fn a_case_that_is_decided_leaves_the_order_of_the_others_as_it_is() {
        let ids: Vec<CaseId> = ["a", "b", "c", "d"].map(CaseId::new).into();
        let cases: Vec<&CaseId> = ids.iter().collect();
        let all: BTreeSet<CaseId> = ids.iter().cloned().collect();
        let without = all.iter().filter(|id| id.as_str() != "b").cloned().collect();
        for block in 1..=20 {
            let expected: Vec<_> = schedule(5, block, &cases, &all).into_iter().filter(|index| *index != 1).collect();
            assert_eq!(schedule(5, block, &cases, &without), expected);
        }
    }

    #[test]
    fn every_pair_is_in_one_group_equally_often_and_groups_are_even() {
        for (cases, most, sizes) in [
            (5, Some(2), &[2, 2, 1][..]),
            (5, Some(3), &[3, 2]),
            (7, Some(3), &[3, 2, 2]),
            (6, Some(4), &[3, 3]),
            (4, Some(9), &[4]),
            (4, None, &[4]),
            (3, Some(1), &[1, 1, 1]),
        ] {
            let mut met = vec![vec![0_u32; cases]; cases];
            let blocks = 6000;
            for block in 1..=blocks {
                let order = order(3, block, cases);
                let groups = groups(&order, most);
                assert_eq!(groups.iter().map(|group| group.len()).collect::<Vec<_>>(), sizes);
                assert_eq!(groups.concat(), order);
                for group in groups {
                    group.iter().for_each(|a| group.iter().for_each(|b| met[*a][*b] += 1));
                }
            }
            let pairs: usize = sizes.iter().map(|size| size * (size - 1)).sum();
            let share = pairs as f64 / (cases * (cases - 1)) as f64;
            let expected = f64::from(blocks) * share;
            // Five standard deviations of so many draws.
            let far = 5.0 * (expected * (1.0 - share)).sqrt();
            for (a, met) in met.iter().enumerate() {
                for (b, met) in met.iter().enumerate().filter(|(b, _)| *b != a) {
                    let off = (f64::from(*met) - expected).abs();
                    assert!(off <= far, "{cases} by {most:?}: {a} and {b} met {met} times, not {expected}");
                }
            }
        }
        assert!(groups::<u8>(&[], Some(2)).is_empty());
    }
}
