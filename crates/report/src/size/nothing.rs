//! Why no size is chosen, and what to change: named after what stopped the best one, not after what could be bought.

use stampede_analysis::{SizeCell, SizeFate, SizeOutcome, SizeStop};

use super::{SizeView, blocks_of, name, objective, times};
use crate::quantity::{percent, ratio};

/// One sentence a line.
pub(super) fn nothing(view: &SizeView<'_>) -> Vec<String> {
    let objective = objective(view);
    let Some((place, cell)) = view.found.nearest.and_then(|place| Some((place, view.grid.cells().get(place)?))) else {
        return vec![unserved(view)];
    };
    let times = times(view, place).unwrap_or(f64::NAN);
    let best = name(view, cell);
    let mut lines = vec![match times < 1.0 {
        true => format!(
            "No size is confirmed for {objective}: the best that was tried, {best}, was at {} of the limit.",
            percent(times)
        ),
        false => format!(
            "No size of this search meets {objective}: the best, {best}, was at {} times the limit.",
            ratio(times)
        ),
    }];
    lines.push(stopped(view, place, cell));
    lines.extend(uncounted(view));
    lines
}

/// Where no trial served.
fn unserved(view: &SizeView<'_>) -> String {
    let first = |wanted: fn(&SizeFate) -> Option<&String>| view.found.fates.iter().find_map(wanted);
    let failed = first(|fate| if let SizeFate::Failed(reason) = fate { Some(reason) } else { None });
    let unusable = first(|fate| if let SizeFate::Unusable(reason) = fate { Some(reason) } else { None });
    match (failed, unusable) {
        (Some(reason), _) => format!(
            "No size that was tried could serve: {reason}. Add larger sizes with --memory and --cpus, or read its log."
        ),
        (None, Some(reason)) => format!("No size has a valid trial: {reason}"),
        (None, None) => "Nothing was tried.".to_owned(),
    }
}

/// What stopped the best size, and what to do.
fn stopped(view: &SizeView<'_>, place: usize, cell: &SizeCell) -> String {
    match view.found.stop {
        Some(SizeStop::Cpu { used, throttled }) => format!(
            "Its CPU limit stopped it: requests took {} of it, and the quota ran out in {} of its periods. Search with more CPU (--cpus, or --replicas 1,2), or lower --load or --headroom.",
            percent(used.min(1.0)),
            percent(throttled)
        ),
        Some(SizeStop::Pool { at_once }) => format!(
            "Its workers stopped it: there were about {} requests at once, and it has {}. Search with larger --pools, and with the --memory that they need.",
            ratio(at_once),
            workers(cell)
        ),
        Some(SizeStop::Memory { peak }) => format!(
            "Its memory stopped it: it needed {:.0} of {} MiB, and a tenth of that must be left. Search with more --memory.",
            peak.mib(),
            cell.memory.mib()
        ),
        Some(SizeStop::Errors { failed, requests }) => format!(
            "Its errors stopped it: {failed} of {requests} requests had no right answer. Read the log and the errors of its trials (--html), or allow more errors in --slo."
        ),
        Some(SizeStop::Application { median, cpu }) => {
            let cpu = cpu.map_or_else(String::new, |cpu| format!(", {} ms of it on the CPU", ms(cpu)));
            format!(
                "It had CPU and workers left, and the application takes as long: half of its requests took {} ms{cpu}. No larger size makes it faster: find out what slow requests wait for (--inside of stampede compare), or raise the limit.",
                ms(median)
            )
        }
        Some(SizeStop::Ended) => {
            let reason = blocks_of(view, place).and_then(|blocks| blocks.reason.clone()).unwrap_or_default();
            format!("One of its rounds failed: {reason}. Read its log before you search for larger sizes.")
        }
        Some(SizeStop::Scatter { interval }) => format!(
            "Its rounds differ too much to show that it holds: the interval is {} to {} times the limit. Measure on a quieter machine, or with a longer --duration.",
            ratio(interval.low),
            ratio(interval.high)
        ),
        // What to do then is said where the time is told.
        Some(SizeStop::TooFewRounds) if view.is_out_of_time => "There were too few rounds to confirm it.".to_owned(),
        Some(SizeStop::TooFewRounds) => {
            "There were too few rounds to confirm it: search fewer sizes (--cpus, --memory, --pools), so that it has its turn."
                .to_owned()
        }
        None => "Its trials do not show what stopped it.".to_owned(),
    }
}

fn workers(cell: &SizeCell) -> String {
    if cell.workers == 1 { "1 worker".to_owned() } else { format!("{} workers", cell.workers) }
}

fn ms(time: std::time::Duration) -> String {
    ratio(time.as_secs_f64() * 1e3)
}

/// Trials that say nothing, as the generator or the machine was what they showed.
fn uncounted(view: &SizeView<'_>) -> Option<String> {
    let reasons = || {
        view.readings.iter().filter_map(|reading| match &reading.outcome {
            SizeOutcome::Unusable(reason) => Some(reason),
            SizeOutcome::Served(_) | SizeOutcome::Failed(_) => None,
        })
    };
    let first = reasons().next()?;
    Some(format!("{} of {} trials did not count: {first}.", reasons().count(), view.readings.len()))
}
