//! A comparison: blocks of trials, each case once a block, in random order.

use std::collections::BTreeSet;

use stampede_analysis::{course, left_out};
use stampede_core::{Case, CaseId, Outcome, Rounds, Study, Trial};
use stampede_seam::Platform;

use crate::context::{Place, Timing, TrialContext};
use crate::event::{Event, Sink, SinkError};
use crate::order::schedule;
use crate::prepare::Prepared;
use crate::scale;
use crate::trial;
use crate::turns;
use crate::yard_stick;

/// Runs the blocks of a study, as many as it was planned with or as its verdicts take. A case that is decided against all
/// others has no part in later blocks, nor one that never served. A trial that fails is an event like any other, and the study goes on.
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
    context: &TrialContext<'_>,
    mut trials: Vec<Trial>,
    sink: &mut dyn Sink,
) -> Result<(), SinkError> {
    let cases: Vec<&CaseId> = prepared.iter().map(|prepared| &prepared.case.id).collect();
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
        if !context.stop.lets_begin() {
            break;
        }
        if let Some(yard_stick) = context.yard_stick {
            yard_stick::read(platform, context, yard_stick, block, study.seed, sink).await?;
        }
        // Those that are decided leave for good, so there will be no more than this.
        let of = match study.rounds {
            Rounds::Fixed(rounds) => Some(before as u32 + (rounds + 1).saturating_sub(block) * open.len() as u32),
            Rounds::Auto { .. } => None,
        };
        let of_block = (1..).zip(schedule(study.seed, block, &cases, &open));
        let of_block = of_block.map(|(position, index)| (position, &prepared[index]));
        let of_block = of_block.filter(|(_, prepared)| !done.contains(&prepared.case.id));
        if turns::are_for(study, context, prepared) {
            let cases: Vec<_> = of_block.collect();
            let place = (trials.len() as u32 + 1, of);
            trials.extend(turns::run(platform, study, context, block, &cases, place, sink).await?);
        } else {
            for (position, prepared) in of_block {
                let number = trials.len() as u32 + 1;
                let Case { id: case, limits, .. } = &prepared.case;
                let allowed = prepared.scaling.is_none().then(|| limits.cpus.cores());
                sink.take(&Event::TrialStarted { case, block, number, of, allowed }).await?;
                let place = Place { block, position };
                let warm_up = study.warm_up_of(&prepared.case.id);
                let timing = Timing { warm_up, duration: study.duration, seed: study.seed };
                let trial = match &prepared.scaling {
                    Some(scaling) => scale::run(platform, context, prepared, scaling, place, &timing, sink).await?,
                    None => trial::run(platform, context, prepared, place, &timing, None, sink).await?,
                };
                sink.take(&Event::TrialEnded(&trial)).await?;
                trials.push(trial);
            }
        }
        let known = left_out(study, &trials[..before]);
        for case in left_out(study, &trials).difference(&known) {
            sink.take(&Event::Warned(&leaving(case, &trials))).await?;
        }
    }
    context.stop.end_block();
    Ok(())
}

/// What is said of a case that is left out from now on: why, and what mends it.
fn leaving(case: &CaseId, trials: &[Trial]) -> String {
    let reason = trials.iter().rfind(|trial| trial.case == *case).and_then(|trial| match &trial.outcome {
        Outcome::Failed(reason) => Some(reason.as_str()),
        Outcome::Measured | Outcome::Invalid(_) => None,
    });
    let (problem, fixes) = Outcome::problem_and_fixes(reason.unwrap_or_default());
    let fixes: String = fixes.into_iter().map(|fix| format!("; {}{fix}", Outcome::FIX)).collect();
    format!("left out: {case}: {problem}{fixes}")
}
