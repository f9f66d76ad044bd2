//! Where cases stand when some were measured in fewer blocks than others.

use std::collections::BTreeMap;

use stampede_core::CaseId;

use crate::metric::Metric;
use crate::record::Record;

/// How often effects are fitted in turn at most. Studies whose cases leave at different times settle long before.
const MOST_STEPS: usize = 500;

/// Below this change of an effect, as a share of the largest, they have settled.
const SETTLED: f64 = 1e-9;

/// Each case's mean of a metric as a logarithm, cleared of what its blocks did to all cases: the least squares fit of the
/// logarithms by case and block, so that a case which left early is compared with the others in the blocks that it had. Where all
/// have the same blocks these are the plain means of logarithms. A value of zero has no logarithm: where there is one, the values
/// themselves are fitted.
pub(crate) fn of(metric: &Metric, records: &[&Record<'_>]) -> BTreeMap<CaseId, f64> {
    let values = |record: &Record<'_>| -> Vec<(u32, f64)> {
        record.measured().filter_map(|trial| Some((trial.block, (metric.reader)(trial)?))).collect()
    };
    let cases: Vec<(&CaseId, Vec<(u32, f64)>)> = records
        .iter()
        .map(|record| (&record.case.id, values(record)))
        .filter(|(_, values)| !values.is_empty())
        .collect();
    let has_logs = cases.iter().flat_map(|(_, values)| values).all(|(_, value)| *value > 0.0);
    let logs: Vec<(&CaseId, Vec<(u32, f64)>)> = cases
        .into_iter()
        .map(|(case, values)| {
            (
                case,
                values.into_iter().map(|(block, value)| (block, if has_logs { value.ln() } else { value })).collect(),
            )
        })
        .collect();
    let mut blocks: BTreeMap<u32, f64> = BTreeMap::new();
    let mut standing = effects(&logs, &blocks);
    let largest = logs.iter().flat_map(|(_, logs)| logs).map(|(_, log)| log.abs()).fold(0.0, f64::max);
    for _ in 0..MOST_STEPS {
        blocks = of_blocks(&logs, &standing);
        let next = effects(&logs, &blocks);
        let moved = next.iter().zip(&standing).map(|(next, before)| (next - before).abs()).fold(0.0, f64::max);
        standing = next;
        if moved <= SETTLED * largest {
            break;
        }
    }
    logs.into_iter().map(|(case, _)| case.clone()).zip(standing).collect()
}

/// The mean of each case without what its blocks did.
fn effects(logs: &[(&CaseId, Vec<(u32, f64)>)], blocks: &BTreeMap<u32, f64>) -> Vec<f64> {
    let without = |(block, log): &(u32, f64)| log - blocks.get(block).copied().unwrap_or_default();
    logs.iter().map(|(_, logs)| logs.iter().map(without).sum::<f64>() / logs.len() as f64).collect()
}

/// What each block did to the cases that it measured.
fn of_blocks(logs: &[(&CaseId, Vec<(u32, f64)>)], standing: &[f64]) -> BTreeMap<u32, f64> {
    let mut sums: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
    for ((_, logs), effect) in logs.iter().zip(standing) {
        for (block, log) in logs {
            let (sum, n) = sums.entry(*block).or_default();
            *sum += log - effect;
            *n += 1;
        }
    }
    sums.into_iter().map(|(block, (sum, n))| (block, sum / f64::from(n))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::metric;
    use crate::samples;

    /// By R 4.2: `lm(log(y) ~ case + factor(block))`, differences of the coefficients of `case`.
    #[test]
    fn cases_are_cleared_of_their_blocks() {
        let study = samples::study(&["a", "b", "c"]);
        let mut trials = Vec::new();
        for (case, values) in [
            ("a", &[(1, 1_000.0), (2, 1_020.0), (3, 500.0), (4, 510.0)][..]),
            ("b", &[(1, 1_100.0), (2, 1_080.0), (3, 560.0), (4, 540.0)]),
            ("c", &[(1, 900.0), (2, 930.0)]),
        ] {
            trials.extend(values.iter().map(|(block, value)| samples::measured(case, *block, *value)));
        }
        let records: Vec<_> = study.cases.iter().map(|case| Record::new(&study, case, &trials)).collect();
        let standing = of(metric("throughput_rps").unwrap(), &records.iter().collect::<Vec<_>>());
        let [a, b, c] = ["a", "b", "c"].map(|case| standing[&CaseId::new(case)]);
        assert!((b - a - 0.080_738_923_2).abs() < 1e-6, "{}", b - a);
        assert!((c - a + 0.096_614_604_7).abs() < 1e-6, "{}", c - a);
    }

    /// `lm(y ~ case + factor(block))`: the last two blocks were better for both that had them, and "c" left before.
    #[test]
    fn values_of_zero_are_cleared_of_their_blocks_too() {
        let study = samples::study(&["a", "b", "c"]);
        let mut trials = Vec::new();
        for (case, values) in [
            ("a", &[(1, 10.0), (2, 10.0), (3, 0.0), (4, 0.0)][..]),
            ("b", &[(1, 14.0), (2, 14.0), (3, 4.0), (4, 4.0)]),
            ("c", &[(1, 8.0), (2, 8.0)]),
        ] {
            trials.extend(values.iter().map(|(block, value)| samples::measured(case, *block, *value)));
        }
        let records: Vec<_> = study.cases.iter().map(|case| Record::new(&study, case, &trials)).collect();
        let standing = of(metric("throughput_rps").unwrap(), &records.iter().collect::<Vec<_>>());
        let [a, b, c] = ["a", "b", "c"].map(|case| standing[&CaseId::new(case)]);
        assert!((b - a - 4.0).abs() < 1e-6 && (c - a + 2.0).abs() < 1e-6, "{a} {b} {c}");
    }
}
