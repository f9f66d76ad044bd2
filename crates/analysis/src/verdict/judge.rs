//! What the comparisons of a study's cases say, all together.

use stampede_core::{CaseId, Estimate, Rounds, Study, Trial, Verdict, VerdictWord};
use stampede_stats::{BlockRatios, Confidence, Decision, Extent, Margins, decide, detectable_effect, mean, median};

use super::margins::margins;
use super::multiple_comparisons::{EQUIVALENCE_ERROR, Family, Pair, SEED};
use super::stopping_rule::{follow, is_complete};
use crate::metric::{Better, Metric};
use crate::record::Record;

/// How likely a verdict must be after the blocks that [`Verdict::blocks_to_decide`] names.
const LIKELY: f64 = 0.8;

/// What all pairs of a study say.
pub(crate) struct Verdicts {
    /// Every pair of cases that shares a block.
    pub(crate) verdicts: Vec<Verdict>,
    /// The pairs that were shown to differ, as places: (better, worse).
    pub(crate) shown: Vec<(usize, usize)>,
    /// Whether the data were looked at.
    pub(crate) looked_at: bool,
    /// The looks, where there were several: see [`Family::looks`].
    pub(crate) looks: Vec<(u32, f64)>,
    /// The smallest difference, as a share, that the pairs with the best case would have shown 9 times of 10: the median over
    /// them.
    pub(crate) detectable: Option<f64>,
}

/// Compares every two of a study's cases, which come in the order of their rank.
///
/// A direction is claimed when an interval of the ratio excludes 1 that is wide enough for all claims of a study together,
/// at all looks, to be right in 95 % of studies. Equivalence is shown by two one-sided tests at 5 % for each pair by itself.
pub(crate) fn judge(metric: &Metric, study: &Study, trials: &[Trial], ranked: &[Record<'_>]) -> Verdicts {
    let (family, looked_at) = looked_at(metric, study, trials, ranked);
    verdicts(metric, study, &family, looked_at)
}

/// The comparisons of a study's cases after all looks that were due, and whether one was.
fn looked_at<'a>(metric: &Metric, study: &Study, trials: &[Trial], ranked: &'a [Record<'a>]) -> (Family<'a>, bool) {
    let mut family = Family::new(metric, ranked, margins(study));
    let looked_at = match study.rounds {
        Rounds::Fixed(_) => {
            let complete = is_complete(study, trials);
            if complete {
                family.look_once();
            }
            complete
        }
        Rounds::Auto { max_time } => {
            follow(study, trials, max_time, &mut family);
            family.is_looked_at()
        }
    };
    (family, looked_at)
}

fn verdicts(metric: &Metric, study: &Study, family: &Family<'_>, looked_at: bool) -> Verdicts {
    let measured = || family.pairs.iter().filter(|pair| pair.blocks() > 0);
    let best = measured().map(|pair| pair.places.0).min();
    let beside_best = measured().filter(|pair| Some(pair.places.0) == best);
    let mut detectable: Vec<f64> = beside_best.filter_map(|pair| detectable(pair, margins(study))).collect();
    detectable.sort_by(f64::total_cmp);
    Verdicts {
        verdicts: measured().map(|pair| verdict(metric, family, pair)).collect(),
        shown: measured().filter_map(|pair| shown(metric.better, pair)).collect(),
        looked_at,
        looks: family.looks.clone(),
        detectable: median(&detectable),
    }
}

/// Looks at other pairs of a study as its own were looked at.
pub(super) fn look_as(study: &Study, trials: &[Trial], looks: &[(u32, f64)], family: &mut Family<'_>) {
    match study.rounds {
        Rounds::Fixed(_) if is_complete(study, trials) => family.look_once(),
        Rounds::Fixed(_) => {}
        Rounds::Auto { .. } => looks.iter().for_each(|(block, spent)| family.look(*block, *spent)),
    }
}

/// Compares cases of a study two by two, each two by a metric of their own, all of them together. Those that share no block
/// have no verdict.
pub(crate) fn judge_together(study: &Study, trials: &[Trial], asked: &[(&Metric, [Record<'_>; 2])]) -> Vec<Verdict> {
    let pairs = asked.iter().map(|(metric, [a, b])| (*metric, Pair::new(metric, (0, 1), a, b)));
    let (metrics, pairs): (Vec<&Metric>, Vec<Pair<'_>>) = pairs.filter(|(_, pair)| pair.blocks() > 0).unzip();
    let mut family = Family::of(pairs, margins(study));
    if is_complete(study, trials) {
        family.look_once();
    }
    metrics.into_iter().zip(&family.pairs).map(|(metric, pair)| verdict(metric, &family, pair)).collect()
}

/// The ratio of two ratios, in blocks that measured all four cases: of `a / b` over `c / d`, and whether the two are shown to be
/// equivalent.
pub(crate) fn contrast(metric: &Metric, study: &Study, [a, b, c, d]: &[Record<'_>; 4]) -> Option<(Estimate, bool)> {
    let [above, below] = [Pair::new(metric, (0, 1), a, b), Pair::new(metric, (2, 3), c, d)];
    let logs = above.logs_by_block();
    let logs = logs.filter_map(|(block, log)| Some(log - below.logs_by_block().find(|(of, _)| *of == block)?.1));
    let logs: Vec<f64> = logs.collect();
    let value = mean(&logs)?.exp();
    let n = logs.len() as u32;
    let Ok(ratios) = BlockRatios::of_logs(logs) else {
        return Some((Estimate { value, low: None, high: None, n }, false));
    };
    let difference = ratios.interval(Confidence::P95, SEED);
    let equivalence = ratios.interval(Confidence::with_error(EQUIVALENCE_ERROR)?, SEED);
    let same = decide(&difference, &equivalence, margins(study)) == Decision::Equivalent;
    let interval = difference.exp();
    Some((Estimate { value, low: Some(interval.low), high: Some(interval.high), n }, same))
}

/// What is said of `a` against `b` by this metric, whichever of the two was judged against the other.
pub(crate) fn against(verdicts: &[Verdict], key: &str, a: &CaseId, b: &CaseId) -> Option<Verdict> {
    let mut by_metric = verdicts.iter().filter(|verdict| verdict.metric == key);
    by_metric.find_map(|verdict| match (&verdict.a, &verdict.b) {
        (of, to) if (of, to) == (a, b) => Some(verdict.clone()),
        (of, to) if (of, to) == (b, a) => Some(turned(verdict)),
        _ => None,
    })
}

pub(super) fn turned(verdict: &Verdict) -> Verdict {
    let Verdict { metric, a, b, ratio, verdict, slight, blocks_to_decide } = verdict.clone();
    let Estimate { value, low, high, n } = ratio;
    let inverse = |value: f64| 1.0 / value;
    Verdict {
        metric,
        a: b,
        b: a,
        ratio: Estimate { value: inverse(value), low: high.map(inverse), high: low.map(inverse), n },
        verdict: match verdict {
            VerdictWord::Faster => VerdictWord::Slower,
            VerdictWord::Slower => VerdictWord::Faster,
            same => same,
        },
        slight,
        blocks_to_decide,
    }
}

/// The better and the worse one of a pair that was shown to differ.
fn shown(better: Better, pair: &Pair<'_>) -> Option<(usize, usize)> {
    let (a, b) = pair.places;
    match word(better, pair.decision) {
        VerdictWord::Faster => Some((a, b)),
        VerdictWord::Slower => Some((b, a)),
        VerdictWord::Equivalent | VerdictWord::Undecided => None,
    }
}

fn word(better: Better, decision: Decision) -> VerdictWord {
    match (decision, better) {
        (Decision::Above(_), Better::Higher) | (Decision::Below(_), Better::Lower) => VerdictWord::Faster,
        (Decision::Above(_), Better::Lower) | (Decision::Below(_), Better::Higher) => VerdictWord::Slower,
        (Decision::Equivalent, _) => VerdictWord::Equivalent,
        (Decision::Undecided, _) | (_, Better::Neither) => VerdictWord::Undecided,
    }
}

pub(super) fn verdict(metric: &Metric, family: &Family<'_>, pair: &Pair<'_>) -> Verdict {
    let exact = pair.exact();
    let interval = pair.interval().map(stampede_stats::Interval::exp);
    let undecided = pair.decision == Decision::Undecided;
    Verdict {
        metric: metric.key.to_owned(),
        a: pair.a.case.id.clone(),
        b: pair.b.case.id.clone(),
        ratio: Estimate {
            value: exact.unwrap_or_else(|| mean(&pair.logs()).unwrap_or_default().exp()),
            low: exact.or(interval.map(|interval| interval.low)),
            high: exact.or(interval.map(|interval| interval.high)),
            n: pair.blocks() as u32,
        },
        verdict: word(metric.better, pair.decision),
        slight: matches!(
            pair.decision,
            Decision::Above(Extent::UnderPrecision) | Decision::Below(Extent::UnderPrecision)
        ),
        blocks_to_decide: if undecided { family.blocks_to_decide(pair, u32::MAX, LIKELY) } else { None },
    }
}

/// What an interval that must clear the floor finds 9 times of 10.
fn detectable(pair: &Pair<'_>, margins: Margins) -> Option<f64> {
    let effect = detectable_effect(&pair.ratios()?)?;
    Some((margins.floor.ln_1p() + effect).exp_m1())
}

#[cfg(test)]
mod tests {
    use stampede_core::{ErrorModel, Trial};
    use stampede_stats::SplitMix64;

    use super::*;
    use crate::metric::{METRICS, metric};
    use crate::samples;

    /// What is said of cases with these values, one a block.
    fn judged(key: &str, cases: &[(&str, &[f64])]) -> Verdicts {
        judged_by(ErrorModel::AllCases, key, cases)
    }

    fn trials(cases: &[(&str, &[f64])]) -> Vec<Trial> {
        cases
            .iter()
            .flat_map(|(case, values)| {
                (1..).zip(*values).map(move |(block, value)| samples::measured(case, block, *value))
            })
            .collect()
    }

    fn judged_by(errors: ErrorModel, key: &str, cases: &[(&str, &[f64])]) -> Verdicts {
        let names: Vec<&str> = cases.iter().map(|(case, _)| *case).collect();
        let study = Study { errors, ..samples::study(&names) };
        let trials = trials(cases);
        let records: Vec<_> = study.cases.iter().map(|case| Record::new(&study, case, &trials)).collect();
        judge(metric(key).unwrap(), &study, &trials, &records)
    }

    fn verdict(key: &str, a: &[f64], b: &[f64]) -> Option<Verdict> {
        judged(key, &[("a", a), ("b", b)]).verdicts.pop()
    }

    #[test]
    fn the_interval_of_the_paired_ratio_decides() {
        for (name, a, b, word, slight) in [
            ("clearly more", [300.0, 310.0, 305.0], [100.0, 101.0, 102.0], VerdictWord::Faster, false),
            ("clearly less", [100.0, 101.0, 102.0], [300.0, 310.0, 305.0], VerdictWord::Slower, false),
            ("the same", [1000.0, 1001.0, 1002.0], [1001.0, 1000.0, 1002.0], VerdictWord::Equivalent, false),
            ("noise", [100.0, 140.0, 90.0], [120.0, 80.0, 110.0], VerdictWord::Undecided, false),
            ("1 % more, steady", [1010.0, 1011.0, 1012.0], [1000.0, 1001.0, 1003.0], VerdictWord::Faster, true),
            ("drift that both share", [303.0, 200.0, 99.0], [150.0, 100.0, 50.0], VerdictWord::Faster, false),
            ("no variance: figures of no real machine", [2e3; 3], [1e3; 3], VerdictWord::Undecided, false),
        ] {
            let verdict = verdict("throughput_rps", &a, &b).unwrap();
            assert_eq!((verdict.verdict, verdict.slight), (word, slight), "{name}: {verdict:?}");
            assert_eq!(verdict.ratio.n, 3, "{name}");
        }
    }

    #[test]
    fn fewer_than_three_common_blocks_decide_nothing() {
        for (name, a, b, n) in
            [("two", &[300.0, 301.0][..], &[100.0, 100.5, 101.0][..], 2), ("one", &[300.0], &[100.0], 1)]
        {
            let verdict = verdict("throughput_rps", a, b).unwrap();
            let Estimate { value, low, high, n: blocks } = verdict.ratio;
            assert_eq!((verdict.verdict, low, high, blocks), (VerdictWord::Undecided, None, None, n), "{name}");
            assert!((value - 3.0).abs() < 0.01, "{name}: {value}");
        }
        assert_eq!(verdict("throughput_rps", &[], &[100.0]), None);
    }

    #[test]
    fn less_is_better_where_the_metric_says_so() {
        let verdict = verdict("cpu_us_per_request", &[300.0, 310.0, 305.0], &[100.0, 101.0, 102.0]);
        assert_eq!(verdict.unwrap().verdict, VerdictWord::Faster);
        assert!(METRICS.iter().any(|metric| metric.better == Better::Neither));
    }

    #[test]
    fn many_pairs_ask_for_more_and_each_that_is_decided_for_less() {
        let one = [1040.0, 1060.0, 1030.0, 1055.0];
        let base = [1000.0, 1010.0, 1005.0, 995.0];
        let alone = verdict("throughput_rps", &one, &base).unwrap();
        assert_eq!(alone.verdict, VerdictWord::Faster, "{alone:?}");

        // Beside two cases that nothing tells from the others, the same figures are not enough.
        let many = judged(
            "throughput_rps",
            &[
                ("a", &one),
                ("b", &base),
                ("c", &[900.0, 1300.0, 1000.0, 1100.0]),
                ("d", &[1200.0, 800.0, 1000.0, 950.0]),
            ],
        );
        let among = &many.verdicts[0];
        assert_eq!((among.a.as_str(), among.b.as_str(), among.verdict), ("a", "b", VerdictWord::Undecided));
        assert!(among.blocks_to_decide.is_some_and(|blocks| (5..12).contains(&blocks)), "{among:?}");
        assert_eq!(many.shown, []);

        // Where the others are far away, their share is left over for this pair.
        let far = judged("throughput_rps", &[("a", &one), ("b", &base), ("c", &[100.0, 101.0, 102.0, 101.0])]);
        assert_eq!(far.verdicts[0].verdict, VerdictWord::Faster, "{:?}", far.verdicts);
        assert_eq!(far.shown, [(0, 1), (0, 2), (1, 2)]);
    }

    /// Thirteen cases of which each is `step` times as fast as the next, with residuals of some per cent.
    fn many(step: f64, blocks: u32) -> Vec<(&'static str, Vec<f64>)> {
        const NAMES: [&str; 13] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"];
        let mut random = SplitMix64::new(1);
        let mut residual = || 0.1 * (random.index(1_000) as f64 / 1_000.0 - 0.5);
        let of = |(place, name): (i32, &'static str)| {
            let values = (1..=blocks)
                .map(|block| 2e3 * f64::powi(step, -place) * (1.0 + 0.2 * f64::from(block)) * (1.0 + residual()));
            (name, values.collect())
        };
        (0..).zip(NAMES).map(of).collect()
    }

    fn borrowed<'a>(cases: &'a [(&'static str, Vec<f64>)]) -> Vec<(&'static str, &'a [f64])> {
        cases.iter().map(|(name, values)| (*name, &values[..])).collect()
    }

    #[test]
    fn thirteen_cases_tell_in_three_blocks_how_they_scatter() {
        let cases = many(1.2, 3);
        let told = |errors| judged_by(errors, "throughput_rps", &borrowed(&cases));
        let (before, now) = (told(ErrorModel::OwnPair), told(ErrorModel::AllCases));
        assert_eq!(now.verdicts.len(), 78);
        assert!(now.shown.len() > before.shown.len() + 20, "{} {}", now.shown.len(), before.shown.len());
        // One pair alone would show less than its own three ratios let it.
        assert!(now.detectable < before.detectable, "{:?} {:?}", now.detectable, before.detectable);
    }

    #[test]
    fn a_wild_case_widens_others_until_ten_blocks_speak_for_themselves() {
        let quiet = |level: f64, blocks: usize| -> Vec<f64> {
            (0..blocks).map(|block| level * (1.0 + 0.01 * [0.1, -0.6, 0.9, -0.4][block % 4])).collect()
        };
        let wild = |blocks: usize| -> Vec<f64> { (0..blocks).map(|block| 1e3 * [1.0, 1.5, 0.7][block % 3]).collect() };
        for (blocks, word) in [(9, VerdictWord::Undecided), (10, VerdictWord::Faster)] {
            let (mut a, b, c) = (quiet(1_060.0, blocks), quiet(1_000.0, blocks), wild(blocks));
            a[0] *= 1.002;
            let verdicts = judged("throughput_rps", &[("a", &a), ("b", &b), ("c", &c)]).verdicts;
            assert_eq!(verdicts[0].verdict, word, "{blocks} blocks: {:?}", verdicts[0]);
        }
    }

    #[test]
    fn equal_percentiles_are_known_to_a_step_of_the_histogram() {
        // Latencies of the samples begin at 1 ms and rise by 1 ns a request: each p50 is the same bucket.
        let (a, b) = ([1_000.0, 1_010.0, 990.0], [1_003.0, 1_012.0, 985.0]);
        let verdict = |errors| judged_by(errors, "response_p50_us", &[("a", &a), ("b", &b)]).verdicts.pop().unwrap();
        let before = verdict(ErrorModel::OwnPair);
        assert_eq!((before.verdict, before.ratio.low), (VerdictWord::Undecided, None), "{before:?}");
        let now = verdict(ErrorModel::AllCases);
        assert_eq!((now.verdict, now.ratio.value), (VerdictWord::Equivalent, 1.0), "{now:?}");
        // qt(0.975, 2) is 4.303: so many halves of a step of 1 / 1,024.
        let half = now.ratio.high.unwrap().ln() / (f64::ln_1p(1.0 / 1_024.0) / 2.0);
        assert!((half / 4.302_653 - 1.0).abs() < 1e-6, "{half}");
    }
}
