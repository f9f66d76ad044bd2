//! A comparison: blocks of trials, each case once a block, in random order.

use std::time::Duration;

use stampede_analysis::course;
use stampede_core::{Platform, Rounds, Study, Trial, Workload};
use stampede_load::Backend;

use crate::event::{Event, Sink, SinkError};
use crate::order::order;
use crate::prepare::Prepared;
use crate::trial::{self, Place, Timing};

/// What a study needs beside its plan.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// What is served.
    pub workload: &'a Workload,
    /// How long a deployment may take to its first answer.
    pub ready_timeout: Duration,
    /// How long answers are waited for after the window.
    pub drain: Duration,
    /// How the load engine reaches the kernel; the same in all trials, which could not be compared otherwise.
    pub backend: Backend,
    /// Whether deployments are sampled while they are measured.
    pub sampled: bool,
}

/// Runs the blocks of a study, as many as it was planned with or as its verdicts take. A case that is decided against all
/// others has no part in later blocks. A trial that fails is an event like any other, and the study goes on.
///
/// # Errors
///
/// Only when a sink does not take an event.
pub async fn run(
    platform: &dyn Platform,
    study: &Study,
    prepared: &[Prepared],
    surroundings: &Surroundings<'_>,
    sink: &mut dyn Sink,
) -> Result<(), SinkError> {
    let timing = Timing { warm_up: study.warm_up, duration: study.duration, seed: study.seed };
    let of = match study.rounds {
        Rounds::Fixed(rounds) => Some(rounds * prepared.len() as u32),
        Rounds::Auto { .. } => None,
    };
    let mut trials: Vec<Trial> = Vec::new();
    sink.take(&Event::StudyStarted(study)).await?;
    for block in 1.. {
        let open = course(study, &trials).open;
        if open.is_empty() {
            break;
        }
        let order = order(study.seed, block, prepared.len()).into_iter().map(|index| &prepared[index]);
        for (position, prepared) in (1..).zip(order.filter(|prepared| open.contains(&prepared.case.id))) {
            let number = trials.len() as u32 + 1;
            sink.take(&Event::TrialStarted { case: &prepared.case.id, block, number, of }).await?;
            let place = Place { block, position };
            let trial = trial::run(platform, surroundings, prepared, place, &timing, sink).await?;
            sink.take(&Event::TrialEnded(&trial)).await?;
            trials.push(trial);
        }
    }
    Ok(())
}
