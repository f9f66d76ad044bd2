//! What the reference server shows of the machine over a study. It explains, and enters no verdict.

use stampede_core::YardStickReading;
use stampede_stats::{Confidence, mann_kendall, median, median_absolute_deviation};

/// A block whose reading is this far from the median stands out, unless all readings scatter as much.
const NOTABLE: f64 = 0.05;

/// How many standard deviations (as the median absolute deviation tells them) a reading must be off as well.
const DEVIATIONS: f64 = 4.0;

/// Fewer readings than this do not tell which of them is odd.
const LEAST_READINGS: usize = 4;

/// A trend is reported when chance would make one this strong in fewer studies than this.
const CHANCE: f64 = 0.01;

/// How the speed of the machine moved over a study, by the readings of the reference server.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// Right answers per second of the reference server, the median over readings.
    pub median_rps: f64,
    /// Right answers for a second of CPU time, the median over readings; absent where nothing counts it.
    pub median_per_cpu_second: Option<f64>,
    /// How many readings count.
    pub readings: usize,
    /// The lowest and the highest reading, as shares of the median.
    pub range: (f64, f64),
    /// Blocks whose readings stand out, as shares of the median.
    pub standing_out: Vec<(u32, f64)>,
    /// By how much the pace rose or fell from the first reading to the last, as a share of the median; absent where chance
    /// explains it.
    pub trend: Option<f64>,
    /// Blocks in which it could not be measured.
    pub without: Vec<u32>,
}

/// Judges the readings of a study; nothing where none counts.
pub fn drift(readings: &[YardStickReading]) -> Option<Drift> {
    let pace = |reading: &YardStickReading| Some((reading.block, reading.pace?.throughput()?));
    let known: Vec<(u32, f64)> = readings.iter().filter_map(pace).collect();
    let rates: Vec<f64> = known.iter().map(|(_, rate)| *rate).collect();
    let median_rps = median(&rates)?;
    let shares: Vec<f64> = rates.iter().map(|rate| rate / median_rps).collect();
    let notable = (DEVIATIONS * median_absolute_deviation(&shares)?).max(NOTABLE);
    let blocks = known.iter().map(|(block, _)| *block);
    let standing_out = blocks.zip(shares.iter().copied()).filter(|(_, share)| (share - 1.0).abs() > notable);
    let trend = mann_kendall(&shares, Confidence::P95).ok().filter(|trend| trend.p_value < CHANCE);
    let per_cpu: Vec<f64> = readings.iter().filter_map(|reading| reading.pace?.requests_per_cpu_second()).collect();
    Some(Drift {
        median_rps,
        median_per_cpu_second: median(&per_cpu),
        readings: shares.len(),
        range: (
            shares.iter().copied().fold(f64::INFINITY, f64::min),
            shares.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ),
        standing_out: if shares.len() < LEAST_READINGS { Vec::new() } else { standing_out.collect() },
        trend: trend.map(|trend| trend.slope.value * (shares.len() - 1) as f64),
        without: readings.iter().filter(|reading| pace(reading).is_none()).map(|reading| reading.block).collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use stampede_core::{Outcome, Pace};

    use super::*;

    fn reading(block: u32, ok: u64) -> YardStickReading {
        let second = Duration::from_secs(1);
        let pace = Pace { window: second, ok, cpu: Some((second / 2, second)) };
        YardStickReading {
            block,
            started_at: Timestamp::UNIX_EPOCH,
            outcome: if ok > 0 { Outcome::Measured } else { Outcome::Failed("no answer".to_owned()) },
            pace: (ok > 0).then_some(pace),
        }
    }

    fn of(rates: &[u64]) -> Option<Drift> {
        drift(&(1..).zip(rates).map(|(block, ok)| reading(block, *ok)).collect::<Vec<_>>())
    }

    #[test]
    fn blocks_that_stand_out_are_named_and_a_machine_that_always_scatters_has_none() {
        for (name, rates, blocks) in [
            ("steady", &[1000, 1010, 990, 1005, 995][..], &[][..]),
            ("one that was disturbed", &[1000, 1010, 800, 1005, 995], &[3]),
            ("off by less than matters", &[1000, 1000, 1000, 1000, 960], &[]),
            ("all scatter", &[700, 1300, 1000, 800, 1200, 1150, 850], &[]),
            ("too few to know which is odd", &[1000, 1000, 500], &[]),
        ] {
            let found: Vec<u32> = of(rates).unwrap().standing_out.iter().map(|(block, _)| *block).collect();
            assert_eq!(found, blocks, "{name}");
        }
    }

    #[test]
    fn a_machine_that_slows_down_is_told_by_how_much() {
        let falling: Vec<u64> = (0..12).map(|block| 1000 - 10 * block + 3 * (block % 2)).collect();
        let trend = of(&falling).unwrap().trend.unwrap();
        assert!((-0.13..-0.10).contains(&trend), "{trend}");
        assert_eq!(of(&[1000, 1010, 990, 1005, 995, 1000, 1010, 990, 1005, 995, 1003, 1001]).unwrap().trend, None);
    }

    #[test]
    fn what_failed_is_named_and_nothing_is_told_of_nothing() {
        let drift = of(&[1000, 0, 500]).unwrap();
        assert_eq!((drift.readings, drift.without.as_slice()), (2, &[2][..]));
        assert_eq!((drift.median_rps, drift.median_per_cpu_second), (750.0, Some(1500.0)));
        assert_eq!(of(&[0, 0]), None);
        assert_eq!(of(&[]), None);
    }
}
