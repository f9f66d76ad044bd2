//! The order of cases in a block: random, so that no case always follows the same other one, and seeded, so that a
//! study can be run again.

use stampede_core::Random;

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
}
