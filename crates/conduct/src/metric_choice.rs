//! `--metric`: which figure decides, where it is not the one that follows from the load.

use std::time::Duration;

use stampede_analysis::{Better, METRICS, Metric, MetricUnit, metric};
use stampede_core::{Arrivals, Load};
use stampede_plan::or_list;

use crate::exit::Failure;

/// The key as it was typed, if it is that of a metric that can be better or worse and has ratios.
///
/// # Errors
///
/// When it is none, with those that are like it and how to see all.
pub fn read(typed: Option<String>) -> Result<Option<String>, Failure> {
    let Some(key) = typed else { return Ok(None) };
    let problem = match metric(&key) {
        Some(metric) if decides(metric) => return Ok(Some(key)),
        Some(metric) if metric.better != Better::Neither => {
            "cannot decide: cases are compared by ratios, and a share that is 0 when all is well has none; what fails has a \
             column of its own, and bounds `capacity --slo 'errors<0.1%'`"
        }
        Some(_) => "cannot decide: neither more nor less of it is better",
        None => "is not the name of a metric",
    };
    let known = METRICS.iter().filter(|metric| decides(metric)).map(|metric| metric.key);
    Err(Failure::usage(format!("--metric {key} {problem}\n  {}", or_list("--metric", &key, known))))
}

/// What `--metric` takes: a line for each key.
#[must_use]
pub fn metric_list() -> String {
    let known = METRICS.iter().filter(|metric| decides(metric));
    let line = |metric: &Metric| {
        let better = if metric.better == Better::Higher { "more" } else { "less" };
        format!("{:<24}  {}; {better} is better\n", metric.key, metric.title)
    };
    known.map(line).collect()
}

/// Blocks in which a value is zero have no ratio: what is left of them would be chosen by what is measured.
fn decides(metric: &Metric) -> bool {
    metric.better != Better::Neither && metric.unit != MetricUnit::Share
}

/// How many requests must exceed a percentile for it to say something of a trial, as `stampede_analysis::percentile` has it.
const EXCEEDANCES: f64 = 50.0;

/// By how many standard deviations a random count may fall short of what is expected in none of a study's trials.
const SHORTFALL: f64 = 4.0;

/// The figure that decides a study under an open load, before it is measured: the one that was named, or p99, or where a window has
/// too few requests for that the highest percentile that it has, with a note that says so. Of loads that change their rate it
/// is not known before.
///
/// # Errors
///
/// When a percentile was named that no trial will have.
pub(crate) fn for_window(
    named: Option<&str>,
    load: &Load,
    window: Duration,
) -> Result<(Option<String>, Option<String>), Failure> {
    let kept = Ok((named.map(str::to_owned), None));
    let Load::Open { schedule, arrivals, .. } = load else { return kept };
    if !schedule.stages().is_empty() {
        return kept;
    }
    let rate = schedule.held_rate().per_second();
    let due = rate * window.as_secs_f64();
    let has = |share: f64| due + 1e-6 >= requests_for(share, *arrivals);
    let longer = |share: f64| (requests_for(share, *arrivals) / rate).ceil();
    match named.map(|key| (key, share_above(key))) {
        None if has(0.01) => kept,
        None => {
            let highest = [("response_p95_us", 0.05), ("response_p90_us", 0.10), ("response_p50_us", 0.50)];
            let key = highest.into_iter().find(|(_, share)| has(*share)).map_or("response_mean_us", |(key, _)| key);
            let title = metric(key).map_or(key, |metric| metric.title);
            let note = format!(
                "{title} decides: {due:.0} requests in a window are too few for a p99 (--duration {}s would be enough)",
                longer(0.01)
            );
            Ok((Some(key.to_owned()), Some(note)))
        }
        Some((key, Some(share))) if !has(share) => Err(Failure::usage(format!(
            "--metric {key} takes {:.0} requests in a window, and {load} has {due:.0} in {} s\n  use --duration {}s, or leave \
             --metric out",
            requests_for(share, *arrivals).ceil(),
            window.as_secs_f64(),
            longer(share)
        ))),
        Some(_) => kept,
    }
}

/// How many requests must be due for this share of them to be enough.
pub(crate) fn requests_for(share: f64, arrivals: Arrivals) -> f64 {
    let least = EXCEEDANCES / share;
    match arrivals {
        Arrivals::Uniform => least,
        Arrivals::Poisson => least + SHORTFALL * least.sqrt(),
    }
}

/// The share of requests beyond a percentile, by its key.
fn share_above(key: &str) -> Option<f64> {
    let digits = key.split_once("_p")?.1.strip_suffix("_us")?;
    // p999 is 99.9 %.
    let whole: f64 = digits.parse().ok()?;
    Some(1.0 - whole / 10_f64.powi(digits.len() as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_that_no_trial_will_have_is_told_before_it_is_measured() {
        for (named, load, seconds, expected) in [
            (None, "closed:16", 1, Ok(None)),
            (None, "open:1000", 5, Ok(None)),
            (None, "open:100", 8, Ok(Some("response_p90_us"))),
            (None, "open:200", 8, Ok(Some("response_p95_us"))),
            (None, "open:20", 8, Ok(Some("response_p50_us"))),
            (None, "open:2", 8, Ok(Some("response_mean_us"))),
            (Some("response_p99_us"), "open:100", 50, Ok(Some("response_p99_us"))),
            (Some("response_p99_us"), "open:100", 8, Err("--duration 50s")),
            (Some("service_p90_us"), "open:100", 8, Ok(Some("service_p90_us"))),
            (Some("response_p999_us"), "open:1000", 8, Err("--duration 50s")),
            (Some("cpu_us_per_request"), "open:1", 8, Ok(Some("cpu_us_per_request"))),
        ] {
            let chosen = for_window(named, &load.parse().unwrap(), Duration::from_secs(seconds));
            match (chosen, expected) {
                (Ok((key, note)), Ok(expected)) => {
                    assert_eq!(key.as_deref(), expected, "{named:?} {load}");
                    assert_eq!(note.is_some(), named.is_none() && expected.is_some(), "{note:?}");
                }
                (Err(Failure { message, .. }), Err(part)) => assert!(message.contains(part), "{message}"),
                (chosen, _) => panic!("{named:?} {load}: {chosen:?}"),
            }
        }
    }

    #[test]
    fn what_has_no_ratio_decides_nothing() {
        for (key, problem) in [
            ("throughput_rps", None),
            ("response_p99_us", None),
            ("memory_peak_bytes", None),
            ("failed_share", Some("a share that is 0 when all is well")),
            ("unanswered_share", Some("a share that is 0 when all is well")),
            ("cpu_share", Some("neither more nor less of it is better")),
            ("speed", Some("not the name of a metric")),
        ] {
            match (read(Some(key.to_owned())), problem) {
                (Ok(read), None) => assert_eq!(read.as_deref(), Some(key)),
                (Err(Failure { message, .. }), Some(problem)) => assert!(
                    message.contains(problem)
                        && message.contains("--metric help lists all")
                        && !message.contains(", failed_share"),
                    "{key}: {message}"
                ),
                (read, _) => panic!("{key}: {read:?}"),
            }
        }
        let Err(Failure { message, .. }) = read(Some("p95".to_owned())) else { panic!("p95 is no key") };
        assert!(
            message.ends_with("did you mean response_p95_us or service_p95_us? --metric help lists all"),
            "{message}"
        );
    }
}
