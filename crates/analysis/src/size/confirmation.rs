//! Whether fresh blocks show that a size holds its objective.

use stampede_core::CONFIRMING_BLOCKS;
use stampede_stats::{Confidence, Interval, mean_interval, share_of_none, t_quantile_above};

use super::grid::{SizeFigures, SizeOutcome, SizeReading, SizeRole};

/// Blocks before the first look.
pub const FIRST_BLOCKS: u32 = CONFIRMING_BLOCKS[0];

/// Blocks after which a size that is not shown to hold does not count as one that does.
pub const MOST_BLOCKS: u32 = CONFIRMING_BLOCKS[CONFIRMING_BLOCKS.len() - 1];

/// Blocks after which one that was near a limit at its last look is looked at again, where another one was confirmed meanwhile that is
/// dearer.
const LATER_BLOCKS: [u32; 2] = [2 * MOST_BLOCKS, 4 * MOST_BLOCKS];

/// How often each look shows that a size holds what it misses by a hair, if blocks were normal, and all together as often as their sum
/// (Bonferroni): 0.61 %. The first have least: shares of slow requests are skewed, and few blocks without a burst look better than they
/// are. Measured in ADR 47.
const ERRORS: [f64; CONFIRMING_BLOCKS.len() + LATER_BLOCKS.len()] =
    [0.000_1, 0.000_5, 0.001, 0.001_5, 0.001_5, 0.001_5];

/// A size is given up before its last look where its mean is beyond a limit unless chance had it so, which it has so often. One half
/// would give up whatever has a mean beyond it. Measured in ADR 47.
const CHANCE: f64 = 0.2;

/// What a confirmation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeVerdict {
    /// It holds: the upper ends of its intervals are below the limits.
    Confirmed,
    /// It does not, or that cannot be shown.
    Refuted,
    /// More blocks decide.
    Open,
}

/// What blocks of a size say together.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirmation {
    /// Blocks that count, of the side that has the most.
    pub blocks: u32,
    /// The same of the side that has the fewest.
    pub fewest: u32,
    /// How many times its limit the worst response time was at the load: the geometric mean of the blocks, with its interval.
    pub load: Option<Interval>,
    /// The same at the load with its headroom.
    pub headroom: Option<Interval>,
    /// The same at the load on the replicas that are left.
    pub gone: Option<Interval>,
    /// How many times as many requests were beyond the limit as may be, the mean of the blocks of the side that is worse: percentiles of
    /// short windows are too small where requests are slow together, and their share is not.
    pub over: Option<Interval>,
    /// Requests without a right answer, of how many, of all sides.
    pub errors: (u64, u64),
    /// What they come to.
    pub verdict: SizeVerdict,
    /// Why it was refuted before its blocks could tell.
    pub reason: Option<String>,
    /// What the next blocks are to be of: a side that was shown to hold is not measured again.
    pub(super) sides: SizeSides,
    /// How many more blocks may still show that it holds, where it was refuted and is near its limits.
    pub(super) later: Option<u32>,
    /// How many more blocks there are to be for the next look.
    pub(super) missing: u32,
}

/// The loads that a size must hold, or some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeSides {
    /// The load.
    pub load: bool,
    /// The load with its headroom.
    pub headroom: bool,
    /// The load when replicas are gone.
    pub gone: bool,
}

impl SizeSides {
    /// What trials of them are for, in the order of a block.
    pub fn roles(self) -> impl Iterator<Item = SizeRole> {
        let all = [(self.load, SizeRole::Load), (self.headroom, SizeRole::Headroom), (self.gone, SizeRole::Gone)];
        all.into_iter().filter(|(is_in, _)| *is_in).map(|(_, role)| role)
    }

    /// How many trials so many blocks are.
    pub(super) fn trials(self, blocks: u32) -> u32 {
        blocks.saturating_mul(self.roles().count() as u32)
    }
}

/// What blocks say of one side.
#[derive(Clone, Copy, Debug)]
struct Side {
    role: SizeRole,
    /// How many of them count.
    blocks: u32,
    /// How many there were.
    rounds: u32,
    times: Option<Interval>,
    over: Option<Interval>,
    /// Whether a look showed that it holds.
    holds: bool,
    /// Whether more blocks are not expected to show it.
    is_hopeless: bool,
}

impl Side {
    fn of(role: SizeRole, readings: &[&SizeReading]) -> Self {
        let ours = || readings.iter().filter(|reading| reading.role == role);
        let all: Vec<&SizeFigures> = ours().filter_map(|reading| reading.outcome.figures()).collect();
        let rounds = ours().count() as u32;
        let with = |error: f64, values: &[f64]| mean_interval(values, Confidence::with_error(2.0 * error)?).ok();
        let at = |blocks: &[&SizeFigures]| {
            let error = error_after(blocks.len() as u32);
            (with(error, &logs(blocks)).map(Interval::exp), with(error, &shares(blocks)))
        };
        // What is seen between two looks decides nothing. The last ones are at what there is: not every trial counts.
        let is_last = rounds >= MOST_BLOCKS && looks().any(|look| look == rounds);
        let looks = looks().filter_map(|look| all.get(..look as usize)).chain(is_last.then_some(&all[..]));
        let below = |side: &Option<Interval>| side.is_some_and(|side| side.high < 1.0);
        let shown =
            looks.map(|blocks| (blocks.len(), at(blocks))).find(|(_, (times, over))| below(times) && below(over));
        let is_hopeless = [(logs(&all), 0.0), (shares(&all), 1.0)]
            .iter()
            .any(|(values, limit)| with(CHANCE, values).is_some_and(|side| side.low >= *limit));
        let (blocks, (times, over)) = shown.unwrap_or_else(|| (all.len(), at(&all)));
        Self {
            role,
            blocks: blocks as u32,
            rounds,
            times,
            over,
            holds: shown.is_some(),
            is_hopeless: shown.is_none() && is_hopeless,
        }
    }
}

impl Confirmation {
    /// Of these readings of a size, of which those of a search do not count.
    pub(super) fn of(readings: &[&SizeReading], allowed: Option<f64>, wanted: SizeSides) -> Self {
        let sides: Vec<Side> = wanted.roles().map(|role| Side::of(role, readings)).collect();
        let side = |role: SizeRole| sides.iter().find(|side| side.role == role);
        let ours = || readings.iter().filter(|reading| reading.role.is_block());
        let errors = ours().filter_map(|reading| reading.outcome.figures());
        let errors = errors.fold((0, 0), |sum, figures| (sum.0 + figures.failed, sum.1 + figures.requests));
        let failed = ours().find_map(|reading| match &reading.outcome {
            SizeOutcome::Failed(reason) => Some(reason.clone()),
            SizeOutcome::Served(_) | SizeOutcome::Unusable(_) => None,
        });
        let all_hold = sides.iter().all(|side| side.holds);
        // Errors are counted on all of them.
        let is_open = |side: &&Side| all_hold || !side.holds;
        let open = || sides.iter().filter(is_open);
        let is_measured = |role: SizeRole| open().any(|side| side.role == role);
        let blocks = open().map(|side| side.blocks).min().unwrap_or(0);
        // Trials that say nothing are not repeated without end.
        let rounds = open().map(|side| side.rounds).max().unwrap_or(0);
        let hopeless = sides.iter().any(|side| side.is_hopeless)
            || allowed.is_some_and(|allowed| errors.1 > 0 && errors.0 as f64 / errors.1 as f64 >= allowed);
        let verdict = match () {
            () if failed.is_some() => SizeVerdict::Refuted,
            () if blocks < FIRST_BLOCKS && rounds < MOST_BLOCKS => SizeVerdict::Open,
            () if all_hold && errors_hold(errors, allowed) => SizeVerdict::Confirmed,
            () if hopeless || rounds >= MOST_BLOCKS => SizeVerdict::Refuted,
            () => SizeVerdict::Open,
        };
        let is_near = verdict == SizeVerdict::Refuted && failed.is_none() && !hopeless && blocks > 0;
        let later = LATER_BLOCKS.into_iter().find(|later| is_near && *later > rounds).map(|later| later - rounds);
        let next = CONFIRMING_BLOCKS.into_iter().find(|look| *look > blocks).unwrap_or(MOST_BLOCKS);
        let missing = next.saturating_sub(blocks).max(1);
        let overs = sides.iter().filter_map(|side| side.over);
        let over = overs.reduce(|worst, next| if next.high > worst.high { next } else { worst });
        let times = |role: SizeRole| side(role).and_then(|side| side.times);
        let [load, headroom, gone] = [SizeRole::Load, SizeRole::Headroom, SizeRole::Gone].map(times);
        let [next_load, next_headroom, next_gone] =
            [SizeRole::Load, SizeRole::Headroom, SizeRole::Gone].map(is_measured);
        Self {
            blocks: sides.iter().map(|side| side.blocks).max().unwrap_or(0),
            fewest: sides.iter().map(|side| side.blocks).min().unwrap_or(0),
            load,
            headroom,
            gone,
            over,
            errors,
            verdict,
            reason: failed,
            sides: SizeSides { load: next_load, headroom: next_headroom, gone: next_gone },
            missing,
            later,
        }
    }

    /// Whether its requests are too many with errors, or too few, to show that there are fewer errors than this share.
    #[must_use]
    pub fn lacks_requests(&self, allowed: Option<f64>) -> bool {
        !errors_hold(self.errors, allowed)
    }

    /// `4 rounds`, or `4 to 16 rounds` where some loads were measured more often than others.
    #[must_use]
    pub fn rounds(&self) -> String {
        let Self { blocks, fewest, .. } = self;
        match (fewest, blocks) {
            (1, 1) => "1 round".to_owned(),
            (fewest, blocks) if fewest == blocks => format!("{blocks} rounds"),
            _ => format!("{fewest} to {blocks} rounds"),
        }
    }

    /// The side with the longest response times beside the load, or the load.
    #[must_use]
    pub fn worst(&self) -> Option<Interval> {
        let beside = self.headroom.into_iter().chain(self.gone);
        beside.reduce(|worst, next| if next.value > worst.value { next } else { worst }).or(self.load)
    }
}

/// Logarithms of response times as multiples of their limit: blocks scatter by multiples.
fn logs(figures: &[&SizeFigures]) -> Vec<f64> {
    figures.iter().map(|figures| figures.times.max(1e-6).ln()).collect()
}

/// Shares of requests beyond the limit, as multiples of what may be.
fn shares(figures: &[&SizeFigures]) -> Vec<f64> {
    figures.iter().map(|figures| figures.over).collect()
}

/// Blocks after which a side is looked at.
fn looks() -> impl Iterator<Item = u32> {
    CONFIRMING_BLOCKS.into_iter().chain(LATER_BLOCKS)
}

/// How far from its limit the mean of a side is to be, in standard deviations of its blocks, so that the first look shows that it holds.
pub(super) fn first_reach() -> f64 {
    let blocks = f64::from(FIRST_BLOCKS);
    t_quantile_above(ERRORS[0], blocks - 1.0).map_or(f64::INFINITY, |quantile| quantile / blocks.sqrt())
}

/// The error of the look after so many blocks.
fn error_after(blocks: u32) -> f64 {
    let look = looks().position(|look| look >= blocks).unwrap_or(ERRORS.len() - 1);
    ERRORS.get(look).copied().unwrap_or(0.0)
}

/// Whether the share of errors is below its limit with the upper end of its interval: that of Clopper and Pearson of none, that of
/// Wilson of some ("Probable inference, the law of succession, and statistical inference", JASA 22, 1927).
fn errors_hold((failed, of): (u64, u64), allowed: Option<f64>) -> bool {
    let Some(allowed) = allowed else { return true };
    if failed == 0 {
        return share_of_none(of, Confidence::P95) < allowed;
    }
    const Z: f64 = 1.959_964;
    let (n, share) = (of as f64, failed as f64 / of as f64);
    let centre = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    (centre + half) / (1.0 + Z * Z / n) < allowed
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn reading(role: SizeRole, times: f64, failed: u64) -> SizeReading {
        let figures = SizeFigures {
            times,
            over: times,
            failed,
            requests: 2_000,
            work: None,
            median: Duration::from_millis(5),
            mean: None,
            memory_peak: None,
            throttled: 0.0,
            growth: None,
            workers: None,
        };
        SizeReading { cell: 0, role, outcome: SizeOutcome::Served(figures) }
    }

    const LOAD: SizeSides = SizeSides { load: true, headroom: false, gone: false };
    const LOADS: SizeSides = SizeSides { headroom: true, ..LOAD };
    const ALL: SizeSides = SizeSides { gone: true, ..LOADS };

    fn verdict(loads: &[f64], headrooms: &[f64], failed: u64) -> SizeVerdict {
        let loads = loads.iter().map(|times| reading(SizeRole::Load, *times, failed));
        let readings: Vec<_> =
            loads.chain(headrooms.iter().map(|times| reading(SizeRole::Headroom, *times, 0))).collect();
        Confirmation::of(&readings.iter().collect::<Vec<_>>(), Some(0.001), LOADS).verdict
    }

    #[test]
    fn a_size_holds_where_the_upper_ends_do() {
        use SizeVerdict as V;
        let near = [0.93, 0.96, 0.94, 0.97];
        let wide: Vec<f64> = near.iter().cycle().take(8).copied().collect();
        for (name, loads, headrooms, failed, expected) in [
            ("well below", &[0.4, 0.42, 0.41, 0.4][..], &[0.6, 0.62, 0.61, 0.6][..], 0, V::Confirmed),
            ("few blocks", &[0.4; 3], &[0.6; 3], 0, V::Open),
            ("the headroom is missed", &[0.4, 0.42, 0.41, 0.4], &[1.1, 1.3, 1.2, 1.1], 0, V::Refuted),
            ("near it, of four", &[0.4, 0.42, 0.41, 0.4], &near, 0, V::Open),
            ("near it, of eight", &[0.4, 0.42, 0.41, 0.4, 0.4, 0.42, 0.41, 0.4], &wide, 0, V::Confirmed),
            ("errors", &[0.4, 0.42, 0.41, 0.4], &[0.6, 0.62, 0.61, 0.6], 20, V::Refuted),
            ("errors near it", &[0.4, 0.42, 0.41, 0.4], &[0.6, 0.62, 0.61, 0.6], 3, V::Open),
        ] {
            assert_eq!(verdict(loads, headrooms, failed), expected, "{name}");
        }
        // What is not shown in the most blocks is not so.
        let noisy: Vec<f64> = (0..32).map(|block| if block % 2 == 0 { 0.6 } else { 1.5 }).collect();
        assert_eq!(verdict(&noisy, &noisy, 0), V::Refuted);
    }

    #[test]
    fn one_that_is_near_after_its_last_look_may_be_looked_at_again() {
        let of = |times: [f64; 2], blocks: usize| {
            let readings: Vec<_> = (0..blocks).map(|block| reading(SizeRole::Load, times[block % 2], 0)).collect();
            Confirmation::of(&readings.iter().collect::<Vec<_>>(), None, LOAD)
        };
        // A mean of 0.75 and a deviation of 0.56: 0.75 + 3.2 x 0.56 / 32^0.5 is beyond the limit, and of 64 it is not.
        let near = of([0.2, 1.3], 32);
        assert_eq!((near.verdict, near.later), (SizeVerdict::Refuted, Some(32)));
        assert_eq!(of([0.2, 1.3], 64).verdict, SizeVerdict::Confirmed);
        // What is seen between two looks decides nothing.
        assert_eq!(of([0.2, 1.3], 60).verdict, SizeVerdict::Refuted);
        let beyond = of([0.9, 1.5], 32);
        assert_eq!((beyond.verdict, beyond.later), (SizeVerdict::Refuted, None));
        assert_eq!((of([0.2, 1.7], 64).later, of([0.2, 1.7], 128).later), (Some(64), None));
    }

    #[test]
    fn chance_gives_no_size_up_and_what_is_beyond_its_limit_is_given_up_at_once() {
        // Three blocks at a fifth of the limit, and one with a burst: a mean of 1.05 of four, and 0.6 of eight without another.
        let with_a_burst = [0.2, 0.2, 0.2, 3.6];
        assert_eq!(verdict(&[0.1; 4], &with_a_burst, 0), SizeVerdict::Open);
        assert_eq!(verdict(&[0.1; 4], &[1.2, 1.3, 1.2, 1.4], 0), SizeVerdict::Refuted);
    }

    #[test]
    fn a_side_that_is_shown_to_hold_is_not_measured_again() {
        let of = |loads: &[f64], headrooms: &[f64]| {
            let loads = loads.iter().map(|times| reading(SizeRole::Load, *times, 0));
            let all: Vec<_> =
                loads.chain(headrooms.iter().map(|times| reading(SizeRole::Headroom, *times, 0))).collect();
            Confirmation::of(&all.iter().collect::<Vec<_>>(), None, LOADS)
        };
        let (quick, near) = ([0.2, 0.21, 0.2, 0.22], [0.8, 0.99, 0.85, 0.9]);
        let first = of(&quick, &near);
        let headroom = SizeSides { load: false, headroom: true, gone: false };
        assert_eq!((first.verdict, first.sides, first.missing), (SizeVerdict::Open, headroom, 4));
        assert_eq!(headroom.roles().collect::<Vec<_>>(), [SizeRole::Headroom]);
        let near: Vec<f64> = near.iter().cycle().take(16).copied().collect();
        let last = of(&quick, &near);
        assert_eq!((last.verdict, &last.rounds()[..]), (SizeVerdict::Confirmed, "4 to 16 rounds"));
        assert_eq!(first.rounds(), "4 rounds");
        assert_eq!(Confirmation { blocks: 1, fewest: 1, ..first }.rounds(), "1 round");
        assert!(last.load.is_some_and(|load| load.high < 0.5), "{last:?}");
    }

    #[test]
    fn replicas_that_are_left_must_hold_the_load() {
        let verdict = |gone: &[f64]| {
            let both = [SizeRole::Load, SizeRole::Headroom]
                .into_iter()
                .flat_map(|role| [0.4, 0.42, 0.41, 0.4].map(|times| (role, times)));
            let gone = gone.iter().map(|times| (SizeRole::Gone, *times));
            let readings: Vec<_> = both.chain(gone).map(|(role, times)| reading(role, times, 0)).collect();
            Confirmation::of(&readings.iter().collect::<Vec<_>>(), None, ALL)
        };
        assert_eq!(verdict(&[]).verdict, SizeVerdict::Open);
        assert_eq!(verdict(&[0.7, 0.72, 0.7, 0.69]).verdict, SizeVerdict::Confirmed);
        assert_eq!(verdict(&[1.7, 1.72, 1.7, 1.69]).verdict, SizeVerdict::Refuted);
        assert!(verdict(&[0.7, 0.72, 0.7, 0.69]).gone.unwrap().high < 1.0);
    }

    #[test]
    fn one_that_does_not_live_is_refuted_at_once() {
        let failed = SizeReading {
            cell: 0,
            role: SizeRole::Load,
            outcome: SizeOutcome::Failed("killed for its memory".to_owned()),
        };
        let confirmation = Confirmation::of(&[&failed], None, LOAD);
        assert_eq!(confirmation.verdict, SizeVerdict::Refuted);
        assert_eq!(confirmation.reason.as_deref(), Some("killed for its memory"));
    }
}
