//! What a search for a size would do, before anything is started.

use std::fmt::Display;
use std::time::Duration;

use stampede_analysis::{FIRST_BLOCKS, MOST_BLOCKS};
use stampede_core::{CaseId, short_time};
use stampede_plan::{ServiceSizePlan, SizePlan};

use super::{grid, question};

/// What would be searched, and for how long; with a line break at its end. Lines may be long.
#[must_use]
pub fn size_outline(plan: &SizePlan) -> String {
    let grid = grid(plan);
    let prices = |runtime: usize| -> Vec<f64> {
        grid.cells().iter().filter(|cell| cell.runtime == runtime).map(|cell| cell.price).collect()
    };
    let line = |(runtime, id): (usize, &CaseId)| {
        let prices = prices(runtime);
        match (prices.first(), prices.last()) {
            (Some(least), Some(most)) => {
                format!("{id}: {} sizes, {least:.2} to {most:.2} {} a month\n", prices.len(), plan.tariff.currency)
            }
            _ => format!("{id}: no size\n"),
        }
    };
    let runtimes: String = plan.plan.candidates.iter().map(|candidate| &candidate.id).enumerate().map(line).collect();
    format!(
        "{}: at most {} of {} sizes are tried, by {}\n{runtimes}{} CPU, {}, {} workers{}\n{}",
        plan.plan.workload.id,
        question(plan, &grid).most_cells.min(grid.cells().len()),
        grid.cells().len(),
        plan.tariff.id,
        between(&plan.cpus),
        between(&plan.memory),
        between(&plan.pools),
        if plan.replicas == [1] { String::new() } else { format!(", {} replicas", between(&plan.replicas)) },
        trials(
            ", or more where there is time",
            (&plan.load, plan.headroom),
            [plan.plan.warm_up, plan.budget],
            &[plan.plan.duration]
        )
    )
}

/// The same of an autoscaled service.
#[must_use]
pub fn service_size_outline(plan: &ServiceSizePlan) -> String {
    let runtimes: Vec<&str> = plan.plan.candidates.iter().map(|candidate| candidate.id.as_str()).collect();
    format!(
        "{}: autoscaled services of {}, by {}\n{} CPU, {}, {} workers, {} requests at once, at least {} and at most {} instances\n{}",
        plan.plan.workload.id,
        runtimes.join(", "),
        plan.price.id,
        between(&plan.cpus),
        between(&plan.memory),
        between(&plan.pools),
        between(&plan.concurrency),
        between(&plan.min_instances),
        plan.max_instances,
        trials("", (&plan.load, plan.headroom), [plan.plan.warm_up, plan.budget], &plan.windows)
    )
}

/// `0.1 to 1`, of what is searched, the least first.
fn between<T: Display + PartialEq>(levels: &[T]) -> String {
    match levels {
        [first, .., last] => format!("{first} to {last}"),
        [only] => only.to_string(),
        [] => String::new(),
    }
}

/// `later` is what is measured beyond the most rounds.
fn trials(
    later: &str,
    (load, headroom): (&dyn Display, f64),
    [warm_up, budget]: [Duration; 2],
    windows: &[Duration],
) -> String {
    let more = if headroom > 0.0 { format!(" and {:.0} % more", headroom * 100.0) } else { String::new() };
    let windows: Vec<String> = windows.iter().copied().map(short_time).collect();
    format!(
        "load {load}{more}; each trial has {} of warm-up and is measured for {}\n\
         {FIRST_BLOCKS} to {MOST_BLOCKS} rounds confirm a size{later}, {} in all\n",
        short_time(warm_up),
        between(&windows),
        short_time(budget)
    )
}
