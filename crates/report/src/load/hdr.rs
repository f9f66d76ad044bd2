//! Response times as HdrHistogram's percentile file, which its plotter draws
//! (<https://hdrhistogram.github.io/HdrHistogram/plotFiles.html>).

use std::fmt::Write;
use std::time::Duration;

use stampede_core::Latencies;

/// Lines for each halving of what lies above, as the plotter's own examples have.
const TICKS: u32 = 5;

/// The distribution in milliseconds. It ends with a line break.
pub fn hdr(latencies: &Latencies) -> String {
    let millis = |duration: Duration| duration.as_secs_f64() * 1e3;
    let mut text = format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    for (value, quantile, count) in latencies.percentiles(TICKS) {
        let value = millis(value);
        // Writing to a string cannot fail.
        let _ = if quantile < 1.0 {
            writeln!(text, "{value:>12.3} {quantile:>14.12} {count:>10} {:>14.2}", 1.0 / (1.0 - quantile))
        } else {
            writeln!(text, "{value:>12.3} {quantile:>14.12} {count:>10}")
        };
    }
    let (mean, deviation) = (latencies.mean_ns() / 1e6, latencies.stddev_ns() / 1e6);
    let _ = writeln!(text, "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]");
    let _ =
        writeln!(text, "#[Max     = {:>12.3}, Total count    = {:>12}]", millis(latencies.max()), latencies.count());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_reads_as_the_plotter_wants_it() {
        let mut latencies = Latencies::new();
        (1..=1000_u64).for_each(|ms| latencies.record_ns(ms * 1_000_000));
        let text = hdr(&latencies);
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(2)
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
            .collect();
        let at = |quantile: f64| rows.iter().find(|row| row[1] >= quantile).unwrap();
        assert!((at(0.5)[0] - 500.0).abs() < 1.0 && (at(0.5)[2] - 500.0).abs() < 2.0, "{text}");
        assert!((at(0.9)[0] - 900.0).abs() < 2.0, "{text}");
        let last = rows.last().unwrap();
        assert_eq!((last.len(), last[2]), (3, 1000.0), "{text}");
        assert!(rows.is_sorted_by(|a, b| a[1] <= b[1] && a[2] <= b[2]), "{text}");
        assert!(text.contains("#[Mean") && text.ends_with("]\n"));
    }
}
