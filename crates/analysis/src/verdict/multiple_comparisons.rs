//! All comparisons of a study, judged together.

use std::collections::BTreeMap;
use std::rc::Rc;

use stampede_core::{ErrorModel, StudyKind, Trial};
use stampede_stats::{
    BlockRatios, Confidence, Decision, InterimLook, Interval, IntervalError, MANY_BLOCKS, Margins, PairSpread,
    Spending, blocks_to_decide, decide, nominal_error, pair_spread, repeated_interval, step_down,
};

use crate::metric::{Metric, MetricUnit};
use crate::record::Record;

/// The probability that any pair of a study is given a direction that it does not have.
pub const ERROR: f64 = 0.05;

/// The error of two one-sided tests at 5 %, as that of the interval that decides them (Schuirmann 1987).
pub(crate) const EQUIVALENCE_ERROR: f64 = 0.10;

/// Resampling starts from the same place always, so that a report can be made again.
pub(crate) const SEED: u64 = 1;

/// From so many pairs on, directions have their error at each look in step with the budget: a share of it is too small to be kept for the
/// last look (ADR 33 has the figures). Equivalence, which each pair is shown by itself, keeps most of its own.
const MANY_PAIRS: usize = 2;

/// Comparisons of a study that are judged together.
pub(crate) struct Family<'a> {
    margins: Margins,
    pub(crate) pairs: Vec<Pair<'a>>,
    /// Each of several looks: the block up to which it saw, and the share of the budget that was spent then.
    pub(crate) looks: Vec<(u32, f64)>,
    nominal: NominalErrors,
}

/// Nominal errors that were computed before: they take a while, and most pairs of a study have the same looks.
#[derive(Default)]
struct NominalErrors(Vec<(Spending, f64, Vec<InterimLook>, Option<f64>)>);

impl NominalErrors {
    fn of(&mut self, spending: Spending, error: f64, looks: &[InterimLook]) -> Option<f64> {
        let is_known = |(how, known, of, _): &&(Spending, f64, Vec<InterimLook>, Option<f64>)| {
            *how == spending && *known == error && of == looks
        };
        if let Some((.., nominal)) = self.0.iter().find(is_known) {
            return *nominal;
        }
        let nominal = nominal_error(spending, error, looks).ok();
        self.0.push((spending, error, looks.to_vec(), nominal));
        nominal
    }
}

/// The logarithms of a metric by block, of each case of a study by its place among the records.
type Logs = Rc<[BTreeMap<u32, f64>]>;

fn logs_of_all(metric: &Metric, records: &[&Record<'_>]) -> Logs {
    records.iter().map(|record| logs(metric, record)).collect()
}

/// Two cases, with a metric of both in every block that measured both.
pub(crate) struct Pair<'a> {
    /// Places among the records.
    pub(crate) places: (usize, usize),
    pub(crate) a: &'a Record<'a>,
    pub(crate) b: &'a Record<'a>,
    /// Block, `a`'s value, `b`'s value.
    values: Vec<(u32, f64, f64)>,
    /// Whether the values are counts, which are known exactly.
    is_count: bool,
    /// All cases, this pair's too; none where the pair's own ratios are all that its error is found from.
    beside: Logs,
    /// What the mean of its logarithms may be off by however many blocks there are, since the values are rounded.
    least_error: f64,
    spending: Spending,
    /// The looks at this pair; empty where all is looked at once, at the end.
    looks: Vec<InterimLook>,
    /// The block of the last of them.
    looked_at: u32,
    /// What was found, at the last look or the one that decided.
    pub(crate) decision: Decision,
    /// The error that a direction was last looked for with.
    pub(crate) error: f64,
}

impl<'a> Family<'a> {
    /// The pairs of these cases that the study asks about, before any look: all, or those with the first case where each other
    /// one is a change to it.
    pub(crate) fn new(metric: &Metric, records: &'a [Record<'a>], margins: Margins) -> Self {
        let mut pairs = Vec::new();
        for (place, a) in records.iter().enumerate() {
            for (other, b) in records.iter().enumerate().skip(place + 1) {
                if is_asked(a, b) {
                    pairs.push(Pair::new(metric, (place, other), a, b));
                }
            }
        }
        let records: Vec<&Record<'_>> = records.iter().collect();
        let beside = logs_of_all(metric, &records);
        Self::of(pairs, margins).known_from(&records, |_| Rc::clone(&beside))
    }

    /// Pairs of places among these cases, each by a metric of its own, before any look; with the metrics. Those that share no block
    /// are left out. How well a ratio is known is found from these cases together.
    pub(crate) fn asked<'m>(
        asked: impl IntoIterator<Item = (&'m Metric, (usize, usize))>,
        records: &[&'a Record<'a>],
        margins: Margins,
    ) -> (Vec<&'m Metric>, Self) {
        let pairs =
            asked.into_iter().map(|(metric, (a, b))| (metric, Pair::new(metric, (a, b), records[a], records[b])));
        let (metrics, pairs): (Vec<&Metric>, Vec<Pair<'_>>) = pairs.filter(|(_, pair)| pair.blocks() > 0).unzip();
        let mut known: BTreeMap<&str, Logs> = BTreeMap::new();
        let family = Self::of(pairs, margins).known_from(records, |place| {
            let metric = metrics[place];
            Rc::clone(known.entry(metric.key).or_insert_with(|| logs_of_all(metric, records)))
        });
        (metrics, family)
    }

    /// Has errors found from all cases, where the study is judged so; a metric's logarithms by the place of a pair.
    fn known_from(mut self, records: &[&Record<'_>], mut beside: impl FnMut(usize) -> Logs) -> Self {
        if records.first().is_some_and(|record| record.study.errors == ErrorModel::AllCases) {
            let spending = if self.pairs.len() < MANY_PAIRS { Spending::Late } else { Spending::Even };
            for (place, pair) in self.pairs.iter_mut().enumerate() {
                pair.beside = beside(place);
                pair.spending = spending;
            }
        }
        self
    }

    /// These pairs, before any look.
    pub(crate) fn of(pairs: Vec<Pair<'a>>, margins: Margins) -> Self {
        Self { margins, pairs, looks: Vec::new(), nominal: NominalErrors::default() }
    }

    /// The only look, at everything.
    pub(crate) fn look_once(&mut self) {
        let all: Vec<usize> = (0..self.pairs.len()).collect();
        self.judge(&all, |pair, _, error, _| {
            let confidence = Confidence::with_error(error)?;
            Some(pair.ratios()?.interval(confidence, SEED))
        });
    }

    /// One of several looks: at what was measured up to this block, when this share of the budget is spent. What was decided
    /// before stays decided.
    pub(crate) fn look(&mut self, block: u32, spent: f64) {
        self.looks.push((block, spent));
        let mut open = Vec::new();
        for (place, pair) in self.pairs.iter_mut().enumerate() {
            let information = pair.blocks_until(block) as f64;
            let before = pair.looks.last().map_or(0.0, |look| look.information);
            // Without new blocks there is nothing to look at, as after trials that failed.
            if pair.decision == Decision::Undecided && information > before {
                pair.looks.push(InterimLook { spent, information });
                pair.looked_at = block;
                open.push(place);
            }
        }
        self.judge(&open, |pair, spending, error, nominal| {
            Some(repeated_interval(&pair.ratios_until(block)?, nominal.of(spending, error, &pair.looks)?))
        });
    }

    /// Whether one of several looks was due.
    pub(crate) fn is_looked_at(&self) -> bool {
        self.pairs.iter().any(|pair| !pair.looks.is_empty())
    }

    /// Looks for directions by Holm's procedure on intervals (`stampede_stats::step_down`): of k pairs without one, each is
    /// given the interval of 1 - 0.05 / k, and each direction that is found leaves more for the others. A pair that cannot be
    /// looked at, or was found equivalent, keeps its share.
    fn judge(
        &mut self,
        looked_at: &[usize],
        interval: impl Fn(&Pair<'_>, Spending, f64, &mut NominalErrors) -> Option<Interval>,
    ) {
        let Self { margins, pairs, looks: _, nominal } = self;
        let before: Vec<bool> = pairs.iter().map(Pair::has_direction).collect();
        step_down(ERROR, &before, |place, error| {
            let pair = &mut pairs[place];
            let mut of = |spending, error| {
                let interval = || pair.point().or_else(|| interval(pair, spending, error, nominal));
                looked_at.contains(&place).then(interval).flatten()
            };
            let Some((difference, equivalence)) = of(pair.spending, error).zip(of(Spending::Late, EQUIVALENCE_ERROR))
            else {
                return false;
            };
            pair.error = error;
            pair.decision = decide(&difference, &equivalence, *margins);
            pair.has_direction()
        });
    }

    /// After how many blocks, those up to this one included, a pair is decided with this probability.
    pub(crate) fn blocks_to_decide(&self, pair: &Pair<'_>, block: u32, probability: f64) -> Option<u32> {
        let confidence = Confidence::with_error(pair.error)?;
        let blocks = blocks_to_decide(&pair.ratios_until(block)?, self.margins, confidence, probability)?;
        u32::try_from(blocks).ok()
    }
}

/// The logarithms of a case's values, without those that have none.
fn logs(metric: &Metric, record: &Record<'_>) -> BTreeMap<u32, f64> {
    let log = |trial: &Trial| Some((trial.block, value(metric, trial)?.ln()));
    record.measured().filter_map(log).collect()
}

/// A value of zero has no ratio.
fn value(metric: &Metric, trial: &Trial) -> Option<f64> {
    (metric.reader)(trial).filter(|value| *value > 0.0)
}

/// Whether a study asks how these two of its cases compare.
fn is_asked(a: &Record<'_>, b: &Record<'_>) -> bool {
    match a.study.kind {
        StudyKind::Compare | StudyKind::Calibrate | StudyKind::Gate | StudyKind::Tune | StudyKind::Scale => true,
        StudyKind::Capacity | StudyKind::OwnRates => false,
        StudyKind::Why => {
            a.study.cases.first().is_some_and(|base| [a, b].into_iter().any(|record| record.case.id == base.id))
        }
    }
}

impl<'a> Pair<'a> {
    /// Two cases by a metric, before any look. A value of zero has no ratio and is left out.
    pub(crate) fn new(metric: &Metric, places: (usize, usize), a: &'a Record<'a>, b: &'a Record<'a>) -> Self {
        let values = a.measured().filter_map(|of_a| {
            let of_b = b.measured().find(|of_b| of_b.block == of_a.block)?;
            Some((of_a.block, value(metric, of_a)?, value(metric, of_b)?))
        });
        let values = values.collect();
        let is_count = metric.unit == MetricUnit::Count;
        let least_error = match a.study.errors {
            ErrorModel::OwnPair => 0.0,
            ErrorModel::AllCases => half_step(metric, a).max(half_step(metric, b)),
        };
        Self {
            places,
            a,
            b,
            values,
            is_count,
            beside: Rc::new([]),
            least_error,
            spending: Spending::Late,
            looks: Vec::new(),
            looked_at: 0,
            decision: Decision::Undecided,
            error: ERROR,
        }
    }

    /// The ratio of counts that have the same in each block, which then is what it is, and not one of many that it might have
    /// been. Fewer than three blocks tell nothing of that.
    pub(crate) fn exact(&self) -> Option<f64> {
        let pairs: Vec<(f64, f64)> = self.values_until(self.until()).collect();
        let is_same = BlockRatios::of_pairs(&pairs) == Err(IntervalError::NoVariance);
        let (a, b) = pairs.first().filter(|_| self.is_count && is_same)?;
        Some(a / b)
    }

    /// The same as an interval of its logarithm.
    fn point(&self) -> Option<Interval> {
        let value = self.exact()?.ln();
        Some(Interval { value, low: value, high: value })
    }

    /// The block up to which its figures count: that of the look which decided it, since what is said of it was said of those.
    fn until(&self) -> u32 {
        if self.looks.is_empty() || self.decision == Decision::Undecided { u32::MAX } else { self.looked_at }
    }

    /// How many blocks that count measured both.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks_until(self.until())
    }

    /// The logarithms of its ratios, in the order of the blocks.
    pub(crate) fn logs(&self) -> Vec<f64> {
        self.logs_by_block().map(|(_, log)| log).collect()
    }

    /// The same, each with its block.
    pub(crate) fn logs_by_block(&self) -> impl Iterator<Item = (u32, f64)> {
        let until = self.until();
        self.values.iter().filter(move |(block, ..)| *block <= until).map(|(block, a, b)| (*block, (a / b).ln()))
    }

    /// `None` with fewer than three blocks, and where all ratios are the same.
    pub(crate) fn ratios(&self) -> Option<BlockRatios> {
        self.ratios_until(self.until())
    }

    /// The pair's own 95 % interval of the logarithm of the ratio; where it was looked at several times, one that holds
    /// whatever ended the looking.
    pub(crate) fn interval(&self) -> Option<Interval> {
        self.interval_until(self.until())
    }

    /// The same, from the blocks up to this one.
    pub(crate) fn interval_until(&self, block: u32) -> Option<Interval> {
        self.interval_with(block, ERROR)
    }

    /// The same with this error in place of 5 %.
    pub(crate) fn interval_at(&self, error: f64) -> Option<Interval> {
        self.interval_with(self.until(), error)
    }

    fn interval_with(&self, block: u32, error: f64) -> Option<Interval> {
        let ratios = self.ratios_until(block)?;
        let Some(last) = self.looks.last() else {
            return Some(ratios.interval(Confidence::with_error(error)?, SEED));
        };
        // Blocks that were measured after the last look at an open pair narrow the interval, under the boundary of that look.
        let mut looks = self.looks.clone();
        let place = looks.len() - 1;
        looks[place].information = last.information.max(ratios.n() as f64);
        Some(repeated_interval(&ratios, nominal_error(self.spending, error, &looks).ok()?))
    }

    pub(crate) fn has_direction(&self) -> bool {
        matches!(self.decision, Decision::Above(_) | Decision::Below(_))
    }

    /// How many blocks up to this one measured both.
    pub(crate) fn blocks_until(&self, block: u32) -> usize {
        self.values_until(block).count()
    }

    fn values_until(&self, block: u32) -> impl Iterator<Item = (f64, f64)> {
        self.values.iter().filter(move |(at, ..)| *at <= block).map(|(_, a, b)| (*a, *b))
    }

    pub(crate) fn ratios_until(&self, block: u32) -> Option<BlockRatios> {
        let logs = self.values_until(block).map(|(a, b)| a.ln() - b.ln()).collect();
        BlockRatios::of_known(logs, self.spread_until(block), self.least_error).ok()
    }

    /// How its ratios scatter by what all cases show that were measured in each of its blocks; nothing without a third one, or from
    /// so many blocks on that they tell it themselves.
    fn spread_until(&self, block: u32) -> Option<PairSpread> {
        let blocks: Vec<u32> = self.values.iter().map(|(at, ..)| *at).filter(|at| *at <= block).collect();
        if blocks.len() >= MANY_BLOCKS {
            return None;
        }
        let logs =
            |case: &BTreeMap<u32, f64>| blocks.iter().map(|at| case.get(at).copied()).collect::<Option<Vec<f64>>>();
        let (a, b) = (self.beside.get(self.places.0)?, self.beside.get(self.places.1)?);
        let is_other = |place: usize| place != self.places.0 && place != self.places.1;
        let others: Vec<Vec<f64>> = self
            .beside
            .iter()
            .enumerate()
            .filter(|(place, _)| is_other(*place))
            .filter_map(|(_, case)| logs(case))
            .collect();
        pair_spread(&logs(a)?, &logs(b)?, &others.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }
}

/// Half of what neighbouring values of a case differ by, as a logarithm. Rounding moves either value of a ratio by half a step at the
/// most, and equal values in all blocks may be so many times the same rounding: no number of blocks averages it out. Twice this,
/// which an interval of 95 % spans to either side, is the most that it makes of a ratio.
fn half_step(metric: &Metric, record: &Record<'_>) -> f64 {
    record.measured().map(|trial| metric.step(trial).ln_1p() / 2.0).fold(0.0, f64::max)
}
