//! A comparison: blocks of trials, each case once a block, in random order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use stampede_analysis::course;
use stampede_core::{Case, CaseId, Failures, Platform, Rounds, Study, Trial, Workload};
use stampede_load::{Backend, Scenario};

use crate::event::{Event, Sink, SinkError};
use crate::order::order;
use crate::prepare::Prepared;
use crate::scale;
use crate::stop::Stop;
use crate::trial::{self, Place, Timing};
use crate::yard_stick::{self, YardStick};

/// What a study needs beside its plan.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// What is served.
    pub workload: &'a Workload,
    /// What is sent as load in place of its exchanges.
    pub scenario: Option<&'a Arc<Scenario>>,
    /// How long a deployment may take to its first answer.
    pub ready_timeout: Duration,
    /// How long answers are waited for after the window.
    pub drain: Duration,
    /// How long a client waits for an answer before it gives the request up; without it, until the drain is over.
    pub timeout: Option<Duration>,
    /// What requests without the right answer say of a trial.
    pub failures: Failures,
    /// How the load engine reaches the kernel; the same in all trials, which could not be compared otherwise.
    pub backend: Backend,
    /// Whether deployments are sampled while they are measured.
    pub sampled: bool,
    /// What is measured first in each block.
    pub yard_stick: Option<&'a YardStick>,
    /// What may ask the study to end with the block that it is in.
    pub stop: &'a Stop,
}

/// Runs the blocks of a study, as many as it was planned with or as its verdicts take. A case that is decided against all
/// others has no part in later blocks. A trial that fails is an event like any other, and the study goes on.
///
/// `trials` are those of a study that was interrupted, in the order in which they were run; its last block is completed first.
///
/// # Errors
///
/// Only when a sink does not take an event.
pub async fn run(
    platform: &dyn Platform,
    study: &Study,
    prepared: &[Prepared],
    surroundings: &Surroundings<'_>,
    mut trials: Vec<Trial>,
    sink: &mut dyn Sink,
) -> Result<(), SinkError> {
    let of = match study.rounds {
        Rounds::Fixed(rounds) => Some(rounds * prepared.len() as u32),
        Rounds::Auto { .. } => None,
    };
    let started = if study.resumed_at.is_empty() { Event::StudyStarted(study) } else { Event::StudyResumed(study) };
    sink.take(&started).await?;
    for block in trials.last().map_or(1, |trial| trial.block).. {
        let before = trials.partition_point(|trial| trial.block < block);
        let open = course(study, &trials[..before]).open;
        if open.is_empty() {
            break;
        }
        let done: BTreeSet<CaseId> = trials[before..].iter().map(|trial| trial.case.clone()).collect();
        if done.len() == open.len() {
            continue;
        }
        if !surroundings.stop.lets_begin() {
            break;
        }
        if let Some(yard_stick) = surroundings.yard_stick {
            yard_stick::read(platform, surroundings, yard_stick, block, study.seed, sink).await?;
        }
        let order = order(study.seed, block, prepared.len()).into_iter().map(|index| &prepared[index]);
        let of_block = (1..).zip(order.filter(|prepared| open.contains(&prepared.case.id)));
        for (position, prepared) in of_block.filter(|(_, prepared)| !done.contains(&prepared.case.id)) {
            let number = trials.len() as u32 + 1;
            let Case { id: case, limits, .. } = &prepared.case;
            let allowed = prepared.scaling.is_none().then(|| limits.cpus.cores());
            sink.take(&Event::TrialStarted { case, block, number, of, allowed }).await?;
            let place = Place { block, position };
            let warm_up = study.warm_up_of(&prepared.case.id);
            let timing = Timing { warm_up, duration: study.duration, seed: study.seed };
            let trial = match &prepared.scaling {
                Some(scaling) => scale::run(platform, surroundings, prepared, scaling, place, &timing, sink).await?,
                None => trial::run(platform, surroundings, prepared, place, &timing, None, sink).await?,
            };
            sink.take(&Event::TrialEnded(&trial)).await?;
            trials.push(trial);
        }
    }
    surroundings.stop.end_block();
    Ok(())
}
