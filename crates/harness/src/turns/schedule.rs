//! When the deployments of a block have their turns: a pure function of the seed, the block and how many they are.

use std::time::Duration;

use stampede_core::Random;

use crate::order::order;

/// What a turn aims at: long enough that the load before it, which counts nothing, is a small part of the time, and short enough
/// that what a neighbour does for seconds meets every deployment.
const AIM: Duration = Duration::from_secs(1);

/// Fewer turns would not alternate; more than this tell little more of a lifetime.
const TURNS: (u32, u32) = (2, 12);

/// One deployment's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TurnPlan {
    /// Which of the deployments.
    pub(crate) deployment: usize,
    /// How long nothing is sent before it: less than a period, so that turns do not begin at one place of a quota's period.
    pub(crate) rest: Duration,
    /// Its length, in whole periods. The same for all deployments of a round.
    pub(crate) length: Duration,
}

/// The rounds of turns of a block: each deployment once a round, in an order that is drawn again. A window's length is cut into
/// turns of whole quota periods, each round's a period longer or shorter by chance.
pub(crate) fn rounds(
    seed: u64,
    block: u32,
    deployments: usize,
    window: Duration,
    period: Duration,
) -> Vec<Vec<TurnPlan>> {
    let period = period.max(Duration::from_millis(1));
    let turns = (window.as_secs_f64() / AIM.as_secs_f64()).round() as u32;
    let turns = turns.clamp(TURNS.0, TURNS.1);
    let periods = ((window / turns).as_secs_f64() / period.as_secs_f64()).round().max(1.0) as u32;
    let mut random = Random(seed ^ u64::from(block).wrapping_mul(0x9fb2_1c65_1e98_df25));
    let round = |_| {
        let jitter = (random.draw() % 3) as u32;
        let length = period * (periods + jitter).saturating_sub(1).max(1);
        let places = order(random.draw(), block, deployments);
        let turn = |deployment| TurnPlan { deployment, rest: period.mul_f64(1.0 - random.uniform()), length };
        places.into_iter().map(turn).collect()
    };
    (0..turns).map(round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(100);

    #[test]
    fn a_window_is_cut_into_turns_of_whole_periods() {
        for (window_ms, turns, nominal_ms) in [(8000, 8, 1000), (2000, 2, 1000), (300, 2, 200), (60_000, 12, 5000)] {
            let rounds = rounds(1, 1, 3, Duration::from_millis(window_ms), PERIOD);
            assert_eq!(rounds.len(), turns, "{window_ms}");
            for round in &rounds {
                assert!(round.iter().all(|turn| turn.length == round[0].length && turn.rest < PERIOD));
                let off = round[0].length.as_millis().abs_diff(nominal_ms);
                assert!(off <= 100 && round[0].length.as_millis().is_multiple_of(100), "{window_ms}: {round:?}");
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_turns_and_every_deployment_has_one_a_round() {
        let of = |seed, block| rounds(seed, block, 5, Duration::from_secs(8), PERIOD);
        assert_eq!(of(1, 1), of(1, 1));
        assert!(of(1, 1) != of(1, 2) && of(1, 1) != of(2, 1));
        for round in of(7, 3) {
            let mut places: Vec<_> = round.iter().map(|turn| turn.deployment).collect();
            places.sort_unstable();
            assert_eq!(places, [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn who_comes_first_and_at_which_place_of_a_period_is_chance() {
        let all: Vec<_> = (1..=2000).flat_map(|block| rounds(3, block, 2, Duration::from_secs(4), PERIOD)).collect();
        let first = all.iter().filter(|round| round[0].deployment == 0).count();
        // 8,000 rounds; the standard deviation is 45.
        assert!((3820..4180).contains(&first), "{first}");
        let early = all.iter().flatten().filter(|turn| turn.rest < PERIOD / 4).count();
        assert!((3780..4220).contains(&early), "{early}");
    }
}
