//! When the deployments of a block have their turns: a pure function of the seed, the block and how many they are.

use std::time::Duration;

use stampede_core::Random;
use stampede_seam::TurnSpan;

use crate::order::order;

/// What a turn aims at: short enough that what a neighbour does for a second meets every deployment, and long enough that the load
/// around it, which counts nothing, is not most of the time.
const AIM: Duration = Duration::from_millis(400);

/// A turn is at least so many times as long as a client waits for an answer: else it counts too few.
const CYCLES: u32 = 4;

/// Fewer turns would not alternate; more than this tell little more of a lifetime.
const TURNS: (u32, u32) = (2, 60);

/// With fewer, whatever a neighbour does for some seconds meets one deployment and not the next.
const ENOUGH: u32 = 4;

/// Turns are counted in periods of this length where no quota is held.
const PERIOD: Duration = Duration::from_millis(100);

/// What is known of a deployment that has turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// How long a client waits for an answer, on average.
    pub(crate) cycle: Duration,
    /// The period of the quota that it is held to; none without one.
    pub(crate) quota_period: Option<Duration>,
}

impl Pace {
    /// For how long it is loaded before a turn counts: two quota periods where it is held to a quota, so that what was saved up at
    /// rest is spent, and three requests of each client, so that they are at work and out of step as in the middle of a load.
    fn entry(&self) -> Duration {
        (self.quota_period.unwrap_or_default() * 2).max(self.cycle * 3)
    }
}

/// One deployment's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TurnPlan {
    /// Which of the deployments.
    pub(crate) deployment: usize,
    /// When it has it, counted from the block's first turn.
    pub(crate) span: TurnSpan,
}

/// Into how many turns a window is cut where a client waits so long for an answer.
fn cut(window: Duration, cycle: Duration) -> u32 {
    (window.as_secs_f64() / AIM.max(cycle * CYCLES).as_secs_f64()).round() as u32
}

/// Why deployments do not alternate often enough in windows of this length, where a client waits so long for an answer, or waits no
/// time as far as is known; nothing where each has four turns or more.
#[must_use]
pub fn too_few(window: Duration, cycle: Duration) -> Option<String> {
    let few = |cycle| cut(window, cycle) < ENOUGH;
    let window = window.as_secs_f64();
    if few(Duration::ZERO) {
        return Some(format!("a window of {window} s has too few turns"));
    }
    few(cycle).then(|| {
        let waits = cycle.as_secs_f64();
        let decimals = if waits < 10.0 { 2 } else { 0 };
        format!("a client waits {waits:.decimals$} s for an answer, so that a window of {window} s has too few turns")
    })
}

/// The turns of a block: rounds, in each of which every deployment has one, in an order that is drawn again. A window's length is cut
/// into turns of whole quota periods, each round's a period longer or shorter by chance.
///
/// Before each turn nothing is sent for as long as the one before takes to answer, and for a part of a period, so that turns do not
/// begin at one place of a quota's period. Around the window comes load that counts nothing: before it as [`Pace::entry`] says, and
/// after it for as long as an answer takes.
pub(crate) fn rounds(seed: u64, block: u32, paces: &[Pace], window: Duration) -> Vec<Vec<TurnPlan>> {
    let period = paces.iter().filter_map(|pace| pace.quota_period).max().unwrap_or(PERIOD);
    let period = period.max(Duration::from_millis(1));
    let longest = paces.iter().map(|pace| pace.cycle).max().unwrap_or_default();
    let turns = cut(window, longest).clamp(TURNS.0, TURNS.1);
    let periods = ((window / turns).as_secs_f64() / period.as_secs_f64()).round().max(1.0) as u32;
    let mut random = Random(seed ^ u64::from(block).wrapping_mul(0x9fb2_1c65_1e98_df25));
    let mut now = Duration::ZERO;
    let round = |_| {
        let jitter = (random.draw() % 3) as u32;
        let length = period * (periods + jitter).saturating_sub(1).max(1);
        let places = order(random.draw(), block, paces.len());
        let turn = |deployment: usize| {
            let Pace { cycle, .. } = paces[deployment];
            let wakes = now + period.mul_f64(1.0 - random.uniform());
            let opens = wakes + paces[deployment].entry();
            let closes = opens + length;
            let rests = closes + cycle;
            now = rests + cycle;
            TurnPlan { deployment, span: TurnSpan { wakes, opens, closes, rests } }
        };
        places.into_iter().map(turn).collect()
    };
    (0..turns).map(round).collect()
}

/// Which deployment has its turn when, in each of the first rounds of a block: places among those that are up together, in the block's
/// order. How fast they answer changes the length of turns, not their order.
#[must_use]
pub fn turn_orders(seed: u64, block: u32, deployments: usize, rounds: u32) -> Vec<Vec<usize>> {
    let pace = Pace { cycle: Duration::ZERO, quota_period: None };
    let planned = self::rounds(seed, block, &vec![pace; deployments], AIM * rounds);
    planned.into_iter().map(|round| round.into_iter().map(|turn| turn.deployment).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const FAST: Pace = Pace { cycle: Duration::from_millis(5), quota_period: Some(Duration::from_millis(100)) };

    #[test]
    fn a_window_is_cut_into_turns_of_whole_periods() {
        let slow = Pace { cycle: 500 * MS, quota_period: None };
        for (pace, window_ms, turns, nominal_ms) in [
            (FAST, 8000, 20, 400),
            (FAST, 2000, 5, 400),
            (FAST, 300, 2, 200),
            (FAST, 60_000, 60, 1000),
            (slow, 8000, 4, 2000),
        ] {
            let rounds = rounds(1, 1, &[FAST, pace, FAST], window_ms * MS);
            assert_eq!(rounds.len(), turns, "{window_ms}");
            for round in &rounds {
                let length = |turn: &TurnPlan| turn.span.closes - turn.span.opens;
                assert!(round.iter().all(|turn| length(turn) == length(&round[0])));
                let off = length(&round[0]).as_millis().abs_diff(nominal_ms);
                assert!(off <= 100 && length(&round[0]).as_millis().is_multiple_of(100), "{window_ms}: {round:?}");
            }
        }
    }

    #[test]
    fn the_order_of_turns_is_that_of_their_plan() {
        let slow = Pace { cycle: 90 * MS, quota_period: None };
        let planned = rounds(3, 2, &[FAST, slow, FAST], 8000 * MS);
        let of_plan: Vec<Vec<usize>> =
            planned.iter().map(|round| round.iter().map(|turn| turn.deployment).collect()).collect();
        assert_eq!(turn_orders(3, 2, 3, of_plan.len() as u32), of_plan);
    }

    #[test]
    fn slow_answers_and_short_windows_leave_too_few_turns() {
        let slow = Some("a client waits 0.24 s for an answer, so that a window of 3 s has too few turns");
        for (window, cycle, problem) in [
            (8000, 0, None),
            (8000, 500, None),
            (3000, 90, None),
            (3000, 240, slow),
            (
                15_000,
                4_500_000,
                Some("a client waits 4500 s for an answer, so that a window of 15 s has too few turns"),
            ),
            (2000, 5, None),
            (1000, 5, Some("a window of 1 s has too few turns")),
            (1000, 300, Some("a window of 1 s has too few turns")),
        ] {
            assert_eq!(too_few(window * MS, cycle * MS).as_deref(), problem, "{window} {cycle}");
        }
    }

    #[test]
    fn no_two_deployments_are_loaded_at_once_and_each_is_at_work_before_its_turn_counts() {
        let paces = [FAST, Pace { cycle: 90 * MS, ..FAST }, Pace { cycle: 20 * MS, quota_period: None }];
        let entries = [200 * MS, 270 * MS, 60 * MS];
        let rounds = rounds(9, 2, &paces, 4000 * MS);
        let mut free = Duration::ZERO;
        for TurnPlan { deployment, span } in rounds.into_iter().flatten() {
            assert!(free <= span.wakes && span.wakes - free < 101 * MS, "{span:?}");
            assert_eq!(span.opens - span.wakes, entries[deployment]);
            assert_eq!(span.rests - span.closes, paces[deployment].cycle);
            free = span.rests + paces[deployment].cycle;
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_turns_and_every_deployment_has_one_a_round() {
        let of = |seed, block| rounds(seed, block, &[FAST; 5], Duration::from_secs(8));
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
        let all: Vec<_> =
            (1..=1000).flat_map(|block| rounds(3, block, &[FAST; 2], Duration::from_millis(3200))).collect();
        let first = all.iter().filter(|round| round[0].deployment == 0).count();
        // 8,000 rounds; the standard deviation is 45.
        assert!((3820..4180).contains(&first), "{first}");
        let place = |turn: &&TurnPlan| (turn.span.wakes.as_micros() % 100_000) < 25_000;
        let early = all.iter().flatten().filter(place).count();
        assert!((3780..4220).contains(&early), "{early}");
    }
}
