//! What a comparison of two cases says.

use stampede_core::{Estimate, Verdict, VerdictWord};
use stampede_stats::{Confidence, Interval, equivalent_within, ratio_interval};

use crate::metric::{Better, Metric};
use crate::record::Record;

/// How far from 1 a ratio may be to count as the same: 3 %.
pub const PRECISION: f64 = 0.03;

/// Fewer blocks than this decide nothing.
pub const MIN_BLOCKS: usize = 3;

/// Case `a` against case `b`, paired by block; `None` when no block has both.
///
/// The word follows from the interval of the ratio at 95 %: faster or slower when it excludes 1, and only otherwise
/// equivalent when two one-sided tests say so. A ratio may pass both: then the word is faster or slower, and
/// [`is_slight`] says that it does not matter much.
pub(crate) fn judge(metric: &Metric, a: &Record<'_>, b: &Record<'_>) -> Option<Verdict> {
    let pairs = pairs(metric, a, b);
    let logs = pairs.iter().map(|(a, b)| (a / b).ln());
    let value = (logs.sum::<f64>() / pairs.len() as f64).exp();
    if pairs.is_empty() {
        return None;
    }
    let interval = ratio_interval(&pairs, Confidence::P95).ok();
    let verdict = match &interval {
        Some(interval) if pairs.len() >= MIN_BLOCKS => decide(metric.better, interval, &pairs),
        _ => VerdictWord::Undecided,
    };
    Some(Verdict {
        metric: metric.key.to_owned(),
        a: a.case.id.clone(),
        b: b.case.id.clone(),
        ratio: Estimate {
            value,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            n: pairs.len() as u32,
        },
        verdict,
    })
}

fn decide(better: Better, ratio: &Interval, pairs: &[(f64, f64)]) -> VerdictWord {
    let higher = ratio.low > 1.0;
    let lower = ratio.high < 1.0;
    match better {
        Better::Higher if higher => VerdictWord::Faster,
        Better::Higher if lower => VerdictWord::Slower,
        Better::Lower if lower => VerdictWord::Faster,
        Better::Lower if higher => VerdictWord::Slower,
        _ if equivalent_within(pairs, PRECISION) == Ok(true) => VerdictWord::Equivalent,
        _ => VerdictWord::Undecided,
    }
}

/// Whether a case is faster or slower, but its whole interval stays within 3 % of 1: "faster, by under 3 %".
pub fn is_slight(verdict: &Verdict) -> bool {
    let decided = matches!(verdict.verdict, VerdictWord::Faster | VerdictWord::Slower);
    let bound = 1.0 + PRECISION;
    let (Some(low), Some(high)) = (verdict.ratio.low, verdict.ratio.high) else {
        return false;
    };
    decided && low > 1.0 / bound && high < bound
}

/// The metric in every block in which both cases were measured. A value of zero has no ratio and is left out.
fn pairs(metric: &Metric, a: &Record<'_>, b: &Record<'_>) -> Vec<(f64, f64)> {
    let value = |trial| (metric.reader)(trial).filter(|value| *value > 0.0);
    a.measured()
        .filter_map(|of_a| {
            let of_b = b.measured().find(|of_b| of_b.block == of_a.block)?;
            Some((value(of_a)?, value(of_b)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{METRICS, metric};
    use crate::samples;

    fn verdict(key: &str, a: &[f64], b: &[f64]) -> Option<Verdict> {
        let study = samples::study(&["a", "b"]);
        let trials: Vec<_> = [("a", a), ("b", b)]
            .into_iter()
            .flat_map(|(case, values)| {
                (1..).zip(values).map(move |(block, value)| samples::measured(case, block, *value))
            })
            .collect();
        let [a, b] = [0, 1].map(|i| Record::new(&study, &study.cases[i], &trials));
        judge(metric(key).unwrap(), &a, &b)
    }

    #[test]
    fn the_interval_of_the_paired_ratio_decides() {
        for (name, a, b, word, slight) in [
            ("clearly more", [300.0, 310.0, 305.0], [100.0, 101.0, 102.0], VerdictWord::Faster, false),
            ("clearly less", [100.0, 101.0, 102.0], [300.0, 310.0, 305.0], VerdictWord::Slower, false),
            ("the same", [1000.0, 1001.0, 1002.0], [1001.0, 1000.0, 1002.0], VerdictWord::Equivalent, false),
            ("noise", [100.0, 140.0, 90.0], [120.0, 80.0, 110.0], VerdictWord::Undecided, false),
            ("1 % more, steady", [1010.0, 1011.0, 1012.0], [1000.0, 1001.0, 1002.0], VerdictWord::Faster, true),
            ("drift that both share", [300.0, 200.0, 100.0], [150.0, 100.0, 50.0], VerdictWord::Faster, false),
        ] {
            let verdict = verdict("throughput_rps", &a, &b).unwrap();
            assert_eq!((verdict.verdict, is_slight(&verdict)), (word, slight), "{name}: {verdict:?}");
            assert_eq!(verdict.ratio.n, 3, "{name}");
        }
    }

    #[test]
    fn fewer_than_three_common_blocks_decide_nothing() {
        let two = verdict("throughput_rps", &[300.0, 301.0], &[100.0, 100.5, 101.0]).unwrap();
        assert_eq!((two.verdict, two.ratio.n), (VerdictWord::Undecided, 2));
        assert!(two.ratio.low.is_some() && two.ratio.high.is_some());
        let one = verdict("throughput_rps", &[300.0], &[100.0]).unwrap();
        assert_eq!(
            (one.verdict, one.ratio),
            (VerdictWord::Undecided, Estimate { value: one.ratio.value, low: None, high: None, n: 1 })
        );
        assert!((one.ratio.value - 3.0).abs() < 1e-12);
        assert_eq!(verdict("throughput_rps", &[], &[100.0]), None);
    }

    #[test]
    fn less_is_better_where_the_metric_says_so() {
        let verdict = verdict("cpu_us_per_request", &[300.0, 310.0, 305.0], &[100.0, 101.0, 102.0]);
        assert_eq!(verdict.unwrap().verdict, VerdictWord::Faster);
        assert!(METRICS.iter().any(|metric| metric.better == Better::Neither));
    }
}
