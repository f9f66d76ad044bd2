//! Answers that are far slower than the others.

use stampede_core::{Finding, Severity};

use super::finding;
use crate::metric::percentile;
use crate::record::Record;

/// A slow answer takes at least so many times the median.
const TIMES: f64 = 30.0;

/// Below this, in microseconds, nobody waits noticeably.
const NOTICEABLE: f64 = 200_000.0;

/// The median is good and one answer of a hundred takes many times as long.
pub(super) fn starving(record: &Record<'_>) -> Option<Finding> {
    let slow: Vec<(f64, f64)> = record
        .measurements()
        .filter_map(|measured| {
            let micros = |q| Some(percentile(&measured.response, q)?.as_secs_f64() * 1e6);
            Some((micros(0.50)?, micros(0.99)?))
        })
        .filter(|(p50, p99)| *p99 >= NOTICEABLE && *p99 >= TIMES * p50)
        .collect();
    // In one trial alone it may be the machine's.
    if slow.len() * 2 <= record.measurements().count() {
        return None;
    }
    let (p50, p99) = slow.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    Some(finding(
        "starving-tail",
        Severity::Warning,
        format!(
            "Half of its answers take {:.1} ms at most, and one of a hundred {:.0} ms or more: some requests wait very long while others are served at once.",
            p50 / 1e3,
            p99 / 1e3
        ),
        [("response_p50_us", p50), ("response_p99_us", p99)],
        "Look for connections that wait while others are kept open, for a quota that runs out, and for workers that are replaced; judge it by p99, not by throughput.",
    ))
}

#[cfg(test)]
mod tests {
    use stampede_core::Latencies;

    use super::*;
    use crate::rules::tests::found;

    #[test]
    fn a_tail_that_starves_is_found_and_a_slow_server_is_not() {
        for (name, most_ms, tail_ms, expected) in
            [("starving", 2, 900, true), ("slow throughout", 300, 900, false), ("fast", 2, 20, false)]
        {
            let finding = found(starving, |trial| {
                let mut latencies = Latencies::new();
                (0..10_000).for_each(|i| latencies.record_ns(if i % 50 == 0 { tail_ms } else { most_ms } * 1_000_000));
                trial.measurement.as_mut().unwrap().response = latencies;
            });
            assert_eq!(finding.is_some(), expected, "{name}: {finding:?}");
        }
    }
}
