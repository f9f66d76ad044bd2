//! The time before a case is at rest, and what goes on changing after it.

use stampede_core::{Finding, Load, Measurement, Pilot, Severity};
use stampede_stats::{Confidence, mann_kendall, mean_interval, median};

use super::{finding, percent};
use crate::memory_growth::MemoryGrowth;
use crate::record::Record;

/// A trend is reported when chance would make one this strong in fewer windows than this.
const CHANCE: f64 = 0.001;

/// In this share of a case's windows memory must have grown.
const MOST_TRIALS: f64 = 2.0 / 3.0;

/// Response times that grow by less within a window are not worth a word: machines drift.
const LENGTHENED: f64 = 0.1;

/// So many seconds of a window tell whether response times grew.
const LEAST_SECONDS: usize = 15;

/// The pilot did not come to rest.
pub(super) fn no_steady_state(record: &Record<'_>) -> Option<Finding> {
    record.measurements().next()?;
    let warm_up = record.study.groundwork.warm_ups.get(&record.case.id)?;
    let Pilot::Unsteady { watched } = warm_up.pilot else { return None };
    Some(finding(
        "no-steady-state",
        Severity::Warning,
        format!(
            "It reached no steady state in {} s of load, so its warm-up of {} s is a guess.",
            watched.as_secs(),
            warm_up.length.as_secs_f64()
        ),
        [("watched_s", watched.as_secs_f64()), ("warm_up_s", warm_up.length.as_secs_f64())],
        "Measure on a quieter machine, or with a longer --duration; --warm-up 30s waits longer before each window.",
    ))
}

/// The memory that it needs grew within most windows.
pub(super) fn memory_grows(record: &Record<'_>) -> Option<Finding> {
    let sampled: Vec<MemoryGrowth> =
        record.measured().filter_map(|trial| MemoryGrowth::of(trial.measurement.as_ref()?)).collect();
    let mut grown: Vec<MemoryGrowth> = sampled.iter().copied().filter(|growth| growth.is_notable).collect();
    if grown.len() < 2 || (grown.len() as f64) < MOST_TRIALS * sampled.len() as f64 {
        return None;
    }
    grown.sort_by(|a, b| a.share.total_cmp(&b.share));
    let middle = grown[grown.len() / 2];
    if !middle.is_long() {
        return None;
    }
    let each: Vec<f64> = sampled.iter().map(|growth| growth.each.value * 1_000.0).collect();
    let each = mean_interval(&each, Confidence::P95).ok()?;
    let level = grown.iter().filter(|growth| !growth.goes_on).count();
    let what = match level {
        0 => "it went on to their ends: a leak, or it was still warming up",
        level if 2 * level > grown.len() => "in most of them it levelled off: it was still warming up",
        _ => "a leak, or it was still warming up",
    };
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    Some(finding(
        "memory-grows",
        Severity::Info,
        format!(
            "Its memory grew in {} of {} windows, by {:.1} MiB ({}) in {} s, {:.2} MiB ({:.2} to {:.2}) per 1,000 requests; {what}.",
            grown.len(),
            sampled.len(),
            mib(middle.bytes),
            percent(middle.share),
            middle.window.as_secs_f64(),
            mib(each.value),
            mib(each.low),
            mib(each.high),
        ),
        [
            ("growth_bytes", middle.bytes),
            ("growth_share", middle.share),
            ("windows", grown.len() as f64),
            ("levelled_off", level as f64),
            ("growth_bytes_per_1000_requests", each.value),
            ("growth_bytes_per_1000_requests_low", each.low),
            ("growth_bytes_per_1000_requests_high", each.high),
        ],
        "Measure it with a longer --duration; to limit a leak, replace workers after a number of requests.",
    ))
}

/// Under a load that stayed what it was, requests took longer and longer within most windows.
pub(super) fn responses_grow(record: &Record<'_>) -> Option<Finding> {
    if !is_level(&record.case.load) {
        return None;
    }
    let told: Vec<Option<f64>> =
        record.measured().filter_map(|trial| lengthening(trial.measurement.as_ref()?)).collect();
    let mut grown: Vec<f64> = told.iter().copied().flatten().collect();
    if grown.len() < 2 || (grown.len() as f64) < MOST_TRIALS * told.len() as f64 {
        return None;
    }
    grown.sort_by(f64::total_cmp);
    let share = grown[grown.len() / 2];
    Some(finding(
        "responses-lengthen",
        Severity::Info,
        format!(
            "Its median response time grew within {} of {} windows, by {}, under a load that stayed the same.",
            grown.len(),
            told.len(),
            percent(share)
        ),
        [("growth_share", share), ("windows", grown.len() as f64)],
        "Measure it with a longer --duration: something fills up (a table, a session folder, a queue), or each request makes the worker slower.",
    ))
}

/// Whether as much is asked at the end of a window as at its beginning.
fn is_level(load: &Load) -> bool {
    match load {
        Load::Closed { .. } => true,
        Load::Ramped { .. } => false,
        Load::Open { schedule, .. } => schedule.length().is_zero(),
    }
}

/// By which share the median of the last third's seconds is above that of the first third's: `None` where the window has too few
/// seconds, `Some(None)` where there is no trend to speak of.
fn lengthening(measured: &Measurement) -> Option<Option<f64>> {
    let medians: Vec<f64> =
        measured.load_seconds.iter().map(|second| second.response_p50_us.map(|us| us as f64)).collect::<Option<_>>()?;
    if medians.len() < LEAST_SECONDS {
        return None;
    }
    let trend = mann_kendall(&medians, Confidence::P95).ok()?;
    let third = medians.len() / 3;
    let first = median(&medians[..third]).filter(|first| *first > 0.0)?;
    let share = median(&medians[medians.len() - third..])? / first - 1.0;
    Some((trend.tau > 0.0 && trend.p_value < CHANCE && share >= LENGTHENED).then_some(share))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use stampede_core::{Gauge, LoadSecond, Sampling, Series, SeriesSource, WarmUp};

    use super::*;
    use crate::rules::tests::found;
    use crate::samples;

    #[test]
    fn a_case_that_never_came_to_rest_says_so() {
        let mut study = samples::study(&["a", "b"]);
        let [a, b] = [0, 1].map(|place: usize| study.cases[place].id.clone());
        let (watched, length) = (Duration::from_secs(30), Duration::from_millis(3_500));
        study.groundwork.warm_ups = BTreeMap::from([
            (a, WarmUp { length, pilot: Pilot::Unsteady { watched } }),
            (b, WarmUp { length, pilot: Pilot::Steady { after: length, watched } }),
        ]);
        let trials = [samples::measured("a", 1, 1_000.0), samples::measured("b", 1, 1_000.0)];
        let [of_a, of_b] =
            [0, 1].map(|place: usize| no_steady_state(&Record::new(&study, &study.cases[place], &trials)));
        assert_eq!(
            of_a.unwrap().text,
            "It reached no steady state in 30 s of load, so its warm-up of 3.5 s is a guess."
        );
        assert_eq!(of_b, None);
    }

    #[test]
    fn response_times_that_grow_under_a_level_load_are_told() {
        let seconds = |p50: fn(u64) -> u64, many: u64| {
            found(responses_grow, move |trial| {
                let second = |second| LoadSecond {
                    second,
                    sent: 9,
                    ok: 9,
                    failed: 0,
                    response_p50_us: Some(p50(second)),
                    response_p99_us: None,
                };
                trial.measurement.as_mut().unwrap().load_seconds = (0..many).map(second).collect();
            })
        };
        let told = seconds(|at| 1_000 + 20 * at + at % 3, 20).unwrap();
        assert!((told.evidence["growth_share"] - 0.26).abs() < 0.02 && told.evidence["windows"] == 3.0, "{told:?}");
        assert_eq!(seconds(|at| 1_000 + 20 * at, 10), None, "too few seconds");
        assert_eq!(seconds(|at| 1_000 + at, 20), None, "by 2 %");
        assert_eq!(seconds(|at| 1_000 + at * 7 % 400, 20), None, "up and down");
        assert_eq!(seconds(|at| 2_000 - 20 * at, 20), None, "they shorten");
        let is_level = |load: &str| is_level(&load.parse().unwrap());
        assert!(is_level("closed:8") && is_level("open:100") && !is_level("open:50..200/30s"));
    }

    #[test]
    fn memory_that_grows_in_most_windows_is_told() {
        let sampled = |level: fn(u64) -> u64| {
            found(memory_grows, move |trial| {
                let mut group = Series::new(SeriesSource::Group);
                for tick in 0..50 {
                    let figures =
                        [(Gauge::AnonymousBytes, level(tick)), (Gauge::SharedBytes, 1 << 20), (Gauge::KernelBytes, 0)];
                    group.push(Duration::from_millis(100 * tick), &figures);
                }
                trial.measurement.as_mut().unwrap().sampling =
                    Some(Sampling { series: vec![group], ..Sampling::default() });
            })
        };
        let mib = 1 << 20;
        assert_eq!(sampled(|tick| (20 << 20) + tick % 3 * 4096), None);
        assert_eq!(sampled(|tick| (20 << 20) + tick * 4096), None, "by under 2 %");
        let finding = sampled(|tick| (20 << 20) + tick * 65_536).unwrap();
        assert!((finding.evidence["growth_bytes"] / (49.0 * f64::from(mib) / 16.0) - 1.0).abs() < 1e-9, "{finding:?}");
        assert!(finding.text.starts_with("Its memory grew in 3 of 3 windows, by 3.1 MiB"), "{}", finding.text);
        // 5,000 requests in each window.
        assert!(finding.text.contains(" 0.61 MiB (0.61 to 0.61) per 1,000 requests; it went on"), "{}", finding.text);
    }
}
