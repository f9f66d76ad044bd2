//! A comparison: blocks of trials, each case once a block, in random order.

use std::collections::BTreeSet;

use stampede_analysis::{course, left_out};
use stampede_core::{Case, CaseId, Outcome, Rounds, Study, Trial, WindowsFrom};
use stampede_seam::Platform;

use crate::context::{Place, Timing, TrialContext};
use crate::event::{Event, Sink, SinkError};
use crate::order::{groups, schedule};
use crate::prepare::Prepared;
use crate::scale;
use crate::time_limit::TimeLimit;
use crate::trial;
use crate::turns;
use crate::yard_stick;

/// Runs the blocks of a study, as many as it was planned with or as its verdicts take. A case that is decided against all
/// others has no part in later blocks, nor one that never served. A trial that fails is an event like any other, and the study goes on.
/// One whose time is over ends at once, with the blocks that are complete.
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
    let started = if study.resumed_at.is_empty() { Event::StudyStarted(study) } else { Event::StudyResumed(study) };
    sink.take(&started).await?;
    let vantage = &**platform.vantage();
    let mut time = TimeLimit::of(study, &trials, vantage);
    let mut study = study.clone();
    let study = &mut study;
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
        if !lets_begin(platform, context, sink).await? {
            break;
        }
        let left = open.len() - done.len();
        let measured = if time.has_room_for(left) {
            let work = measure(platform, study, prepared, context, (block, &open, &done), &mut trials, sink);
            time.within(left, work).await.transpose()?
        } else {
            None
        };
        if measured.is_none() {
            sink.take(&Event::TimeOver(vantage.timestamp())).await?;
            sink.take(&Event::Warned(&time_is_over(study, block))).await?;
            break;
        }
        let known = left_out(study, &trials[..before]);
        for case in left_out(study, &trials).difference(&known) {
            sink.take(&Event::Warned(&leaving(case, &trials))).await?;
        }
    }
    context.stop.end_block();
    Ok(())
}

/// Whether a study that is not complete may begin another block: nobody asked it to stop, and the platform can launch something.
pub(crate) async fn lets_begin(
    platform: &dyn Platform,
    context: &TrialContext<'_>,
    sink: &mut dyn Sink,
) -> Result<bool, SinkError> {
    if let Some(why) = platform.over() {
        let why = why.lines().next().unwrap_or_default();
        sink.take(&Event::Warned(&format!("the study ends here: {why}"))).await?;
        context.stop.ask();
    }
    Ok(context.stop.lets_begin())
}

/// Measures what is not done of a block: those of the cases that are open, with their trials added to those of the study.
async fn measure(
    platform: &dyn Platform,
    study: &mut Study,
    prepared: &[Prepared],
    context: &TrialContext<'_>,
    (block, open, done): (u32, &BTreeSet<CaseId>, &BTreeSet<CaseId>),
    trials: &mut Vec<Trial>,
    sink: &mut dyn Sink,
) -> Result<(), SinkError> {
    if let Some(yard_stick) = context.yard_stick {
        yard_stick::read(platform, context, yard_stick, block, study.seed, sink).await?;
    }
    // Those that are decided leave for good, so there will be no more than this.
    let of = match study.rounds {
        Rounds::Fixed(rounds) => {
            let before = trials.len() - done.len();
            Some(before as u32 + (rounds + 1).saturating_sub(block) * open.len() as u32)
        }
        Rounds::Auto { .. } => None,
    };
    let cases: Vec<&CaseId> = prepared.iter().map(|prepared| &prepared.case.id).collect();
    let of_block = (1..).zip(schedule(study.seed, block, &cases, open));
    let of_block: Vec<_> = of_block.map(|(position, index)| (position, &prepared[index])).collect();
    let mut done = done.clone();
    if turns::are_for(study, block, context, prepared) {
        for group in groups(&of_block, study.groundwork.up_together) {
            let is_left = |(_, prepared): &&(u32, &Prepared)| !done.contains(&prepared.case.id);
            let group: Vec<_> = group.iter().filter(is_left).copied().collect();
            if group.is_empty() {
                continue;
            }
            let place = (trials.len() as u32 + 1, of);
            match Box::pin(turns::run(platform, study, context, block, &group, place, sink)).await? {
                Ok(measured) => {
                    done.extend(measured.iter().map(|trial| trial.case.clone()));
                    trials.extend(measured);
                }
                Err(windows_from) => {
                    sink.take(&Event::Warned(&giving_up_turns(&windows_from))).await?;
                    sink.take(&Event::TurnsEnded(&windows_from)).await?;
                    study.windows_from = Some(windows_from);
                    break;
                }
            }
        }
    }
    for (position, prepared) in of_block.into_iter().filter(|(_, prepared)| !done.contains(&prepared.case.id)) {
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
    Ok(())
}

/// What is said of a study that ends before this block is complete.
fn time_is_over(study: &Study, block: u32) -> String {
    let time = match study.rounds {
        Rounds::Auto { max_time } => format!(" of {} s", max_time.as_secs_f64()),
        Rounds::Fixed(_) => String::new(),
    };
    format!(
        "stopped after {}: another does not fit into the time{time}; give it more with --max-time",
        match block - 1 {
            1 => "1 round".to_owned(),
            rounds => format!("{rounds} rounds"),
        }
    )
}

/// What is said of a study whose turns do not hold.
fn giving_up_turns(WindowsFrom { block, why }: &WindowsFrom) -> String {
    let kept = match block - 1 {
        0 => String::new(),
        1 => "; the round before it is kept".to_owned(),
        rounds => format!("; the {rounds} rounds before it are kept"),
    };
    format!("turns do not hold for {why}; from round {block} on, cases are measured one after the other{kept}")
}

/// What is said of a case that is left out from now on: why, and what mends it.
fn leaving(case: &CaseId, trials: &[Trial]) -> String {
    let reason = trials.iter().rfind(|trial| trial.case == *case).and_then(|trial| match &trial.outcome {
        Outcome::Failed(reason) => Some(reason.as_str()),
        Outcome::Measured | Outcome::Invalid(_) => None,
    });
    let (problem, fixes) = Outcome::problem_and_fixes(reason.unwrap_or_default());
    let fixes: String = fixes.into_iter().map(|fix| format!("; {}{fix}", Outcome::FIX)).collect();
    format!("skipped: {case}: {problem}{fixes}")
}
