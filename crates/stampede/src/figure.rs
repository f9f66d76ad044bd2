//! `--metric`: which figure decides, where it is not the one that follows from the load.

use stampede_analysis::{Better, METRICS, Metric, Unit, metric};

use crate::exit::Failure;

/// The key as it was typed, if it is that of a metric that can be better or worse and has ratios.
pub(crate) fn read(typed: Option<String>) -> Result<Option<String>, Failure> {
    let Some(key) = typed else { return Ok(None) };
    let problem = match metric(&key) {
        Some(metric) if decides(metric) => return Ok(Some(key)),
        Some(metric) if metric.better != Better::Neither => {
            "cannot decide: cases are compared by ratios, and a share that is 0 when all is well has none; what fails has a \
             column of its own, and bounds `capacity --slo 'errors<0.1%'`"
        }
        Some(_) | None => "is none that can be better or worse",
    };
    let known: Vec<&str> = METRICS.iter().filter(|metric| decides(metric)).map(|metric| metric.key).collect();
    Err(Failure::usage(format!("--metric {key} {problem}\n  use {}", known.join(", "))))
}

/// Blocks in which a value is zero have no ratio: what is left of them would be chosen by what is measured.
fn decides(metric: &Metric) -> bool {
    metric.better != Better::Neither && metric.unit != Unit::Share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_ratio_decides_nothing() {
        for (key, problem) in [
            ("throughput_rps", None),
            ("response_p99_us", None),
            ("memory_peak_bytes", None),
            ("failed_share", Some("a share that is 0 when all is well")),
            ("unanswered_share", Some("a share that is 0 when all is well")),
            ("cpu_share", Some("none that can be better or worse")),
            ("speed", Some("none that can be better or worse")),
        ] {
            match (read(Some(key.to_owned())), problem) {
                (Ok(read), None) => assert_eq!(read.as_deref(), Some(key)),
                (Err(Failure { message, .. }), Some(problem)) => assert!(
                    message.contains(problem)
                        && message.contains("throughput_rps, ")
                        && !message.contains(", failed_share"),
                    "{key}: {message}"
                ),
                (read, _) => panic!("{key}: {read:?}"),
            }
        }
    }
}
