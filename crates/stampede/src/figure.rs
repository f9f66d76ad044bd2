//! `--metric`: which figure decides, where it is not the one that follows from the load.

use stampede_analysis::{Better, METRICS, metric};

use crate::exit::Failure;

/// The key as it was typed, if it is that of a metric that can be better or worse.
pub(crate) fn read(typed: Option<String>) -> Result<Option<String>, Failure> {
    let decides = |key: &String| metric(key).is_some_and(|metric| metric.better != Better::Neither);
    match typed {
        Some(key) if !decides(&key) => {
            let known = METRICS.iter().filter(|metric| metric.better != Better::Neither).map(|metric| metric.key);
            let known = known.collect::<Vec<_>>().join(", ");
            Err(Failure::usage(format!("--metric {key} is none that can be better or worse\n  use {known}")))
        }
        typed => Ok(typed),
    }
}
