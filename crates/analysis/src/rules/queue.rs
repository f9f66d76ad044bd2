//! Requests that come faster than they are answered.

use stampede_core::{Finding, Gauge, Load, Measurement, Severity};
use stampede_stats::{Confidence, mann_kendall, median};

use super::finding;
use crate::record::Record;

/// Growth is reported when chance would make a trend this strong in fewer windows than this.
const CHANCE: f64 = 0.001;

/// Fewer requests more from the first quarter of a window to its last are not worth a word.
const NOTABLE: f64 = 10.0;

/// The queue before some server grew throughout most windows.
pub(super) fn grows(record: &Record<'_>) -> Option<Finding> {
    let Load::Open { .. } = record.case.load else { return None };
    let grown: Vec<f64> = record.measurements().filter_map(growth).collect();
    if grown.is_empty() || 2 * grown.len() <= record.measurements().count() {
        return None;
    }
    let most = grown.into_iter().fold(0.0, f64::max);
    Some(finding(
        "queue-grows",
        Severity::Warning,
        format!(
            "Requests came faster than they were answered: {most:.0} more waited at the end of a window than at its \
             beginning, so its response times show how long the load lasted, not how fast the server is."
        ),
        [("queue_growth", most)],
        "Find the rate that it can take (stampede capacity); in production limit the queue, so that late requests are rejected and not served in vain.",
    ))
}

/// By how many requests the queue that grew most did so.
fn growth(measured: &Measurement) -> Option<f64> {
    let series = &measured.sampling.as_ref()?.series;
    let queues = series.iter().flat_map(|series| {
        [Gauge::AcceptQueue, Gauge::Queue].map(|gauge| series.values(gauge).map(|waiting| waiting as f64).collect())
    });
    let grown = queues.filter_map(|queue: Vec<f64>| {
        let trend = mann_kendall(&queue, Confidence::P95).ok()?;
        let quarter = queue.len() / 4;
        let grown = median(&queue[queue.len() - quarter..])? - median(&queue[..quarter])?;
        (trend.tau > 0.0 && trend.p_value < CHANCE && grown >= NOTABLE).then_some(grown)
    });
    grown.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{AddressId, Arrivals, Sampling, Schedule, Series, SeriesSource};

    use super::*;
    use crate::samples;

    #[test]
    fn a_queue_that_grows_throughout_is_told_and_one_that_stands_is_not() {
        let mut study = samples::study(&["a"]);
        for (name, open, waiting, told) in [
            ("grows", true, (|tick| 3 * tick) as fn(u64) -> u64, true),
            ("is long and stands", true, |tick| 50 + tick % 3, false),
            ("grows by a few", true, |tick| tick / 5, false),
            ("of a closed load", false, |tick| 3 * tick, false),
        ] {
            if open {
                let schedule: Schedule = "100".parse().unwrap();
                study.cases[0].load = Load::Open { schedule, arrivals: Arrivals::Uniform, connections: 256 };
            } else {
                study.cases[0].load = Load::Closed { connections: 16 };
            }
            let mut trial = samples::measured("a", 1, 1_000.0);
            let mut series = Series::new(SeriesSource::Listener(AddressId::new("fpm")));
            for tick in 0..20 {
                series.push(Duration::from_millis(100 * tick), &[(Gauge::AcceptQueue, waiting(tick))]);
            }
            trial.measurement.as_mut().unwrap().sampling =
                Some(Sampling { series: vec![series], ..Sampling::default() });
            let trials = [trial];
            let finding = grows(&Record::new(&study, &study.cases[0], &trials));
            assert_eq!(finding.is_some(), told, "{name}: {finding:?}");
        }
    }
}
