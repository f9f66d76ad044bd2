//! What wrk2 prints beyond wrk (<https://github.com/giltene/wrk2>): latencies from when a request was due, and HdrHistogram's
//! table of them.

use std::fmt::Write as _;

use stampede_core::Latencies;

use crate::figures::at_rank;

/// What the short table prints, in thousandths of a percent.
const PERCENTILES: &[(&str, u64)] = &[
    (" 50.000", 50_000),
    (" 75.000", 75_000),
    (" 90.000", 90_000),
    (" 99.000", 99_000),
    (" 99.900", 99_900),
    (" 99.990", 99_990),
    (" 99.999", 99_999),
    ("100.000", 100_000),
];

/// Lines of the long table for each halving of what lies above.
const TICKS: u32 = 5;

/// A table of latencies with its title; `time` writes a latency in nanoseconds with its unit, set in to ten columns.
pub(crate) fn table(title: &str, latencies: &Latencies, time: impl Fn(f64) -> String) -> String {
    let mut text = format!("  Latency Distribution (HdrHistogram - {title})\n");
    for (percent, thousandths) in PERCENTILES {
        let rank = (u128::from(latencies.count()) * u128::from(*thousandths)).div_ceil(100_000);
        let latency = at_rank(latencies, u64::try_from(rank).unwrap_or(u64::MAX).max(1));
        let _ = writeln!(text, "{percent}%{}", time(latency.as_nanos() as f64));
    }
    let _ = writeln!(text, "\n  Detailed Percentile spectrum:");
    let _ = writeln!(text, "{:>12} {:>12} {:>12} {:>12}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let ms = |ns: f64| ns / 1e6;
    for (value, quantile, count) in latencies.percentiles(TICKS) {
        let value = ms(value.as_nanos() as f64);
        let _ = if quantile < 1.0 {
            writeln!(text, "{value:>12.3} {quantile:>12.6} {count:>12} {:>12.2}", 1.0 / (1.0 - quantile))
        } else {
            writeln!(text, "{value:>12.3} {quantile:>12.6} {count:>12} {:>12}", "inf")
        };
    }
    let (mean, stddev) = (ms(latencies.mean_ns()), ms(latencies.stddev_ns()));
    let (max, count) = (ms(latencies.max().as_nanos() as f64), latencies.count());
    let _ = writeln!(text, "#[Mean    = {mean:>12.3}, StdDeviation   = {stddev:>12.3}]");
    let _ = writeln!(text, "#[Max     = {max:>12.3}, Total count    = {count:>12}]");
    text.push_str("----------------------------------------------------------\n");
    text
}
