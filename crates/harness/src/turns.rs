//! A block whose deployments are up together and measured in turns.
//!
//! All are up, verified and warm before the first turn. When each has its turns is fixed before they begin, and each load knows its
//! own: between two turns it rests, with its connections kept. Before each turn comes the same change, also where the same deployment
//! goes on: a rest, then load that counts nothing.

mod alternating;
mod guard;
mod schedule;

use std::time::Duration;

use stampede_core::{BlockOrder, Case, Load, Study, Trial, WindowsFrom};
use stampede_seam::Platform;

pub(crate) use self::alternating::{Alternating, TurnEnd};
pub(crate) use self::schedule::Pace;
pub use self::schedule::{too_few, turn_orders};

use crate::context::{Place, Timing, TrialContext};
use crate::event::{Event, Sink, SinkError};
use crate::prepare::Prepared;
use crate::trial::OpenTrial;

/// How long a warm-up is looked at, for how long a client waits for an answer.
const LOOK: Duration = Duration::from_millis(500);

/// How long after their loads have begun to start the first turn wakes, and how much later for each of them: no thread of theirs is
/// to be late for it.
const START: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(10));

/// Whether these cases are measured in turns in a block: where that was asked for, and each load is the same whenever it begins.
pub(crate) fn are_for(study: &Study, block: u32, context: &TrialContext<'_>, prepared: &[Prepared]) -> bool {
    let holds = |prepared: &Prepared| {
        let Case { load, beside, .. } = &prepared.case;
        matches!(load, Load::Closed { .. }) && beside.is_empty() && prepared.scaling.is_none()
    };
    study.order_of(block) == BlockOrder::Turns
        && context.scenario.is_none()
        && !context.workload.cookies
        && prepared.iter().all(holds)
}

fn turn_of(Prepared { case, .. }: &Prepared, block: u32, turn: Option<(u32, u32)>) -> Event<'_> {
    Event::TurnStarted { case: &case.id, block, turn, allowed: Some(case.limits.cpus.cores()) }
}

/// Runs a block: these cases at their positions, whose first trial has this number. Its trials in the order of their positions; or why
/// turns do not hold for one of them: it changes at rest, or answers too slowly for them where nobody asked for turns. Then all are
/// stopped at once, and nothing of the block counts.
///
/// # Errors
///
/// Only when a sink does not take an event.
pub(crate) async fn run(
    platform: &dyn Platform,
    study: &Study,
    context: &TrialContext<'_>,
    block: u32,
    cases: &[(u32, &Prepared)],
    (first, of): (u32, Option<u32>),
    sink: &mut dyn Sink,
) -> Result<Result<Vec<Trial>, WindowsFrom>, SinkError> {
    let timing = |warm_up, duration| Timing { warm_up, duration, seed: study.seed };
    let (mut open, mut failed) = (Vec::new(), Vec::new());
    for &(position, prepared) in cases {
        sink.take(&turn_of(prepared, block, None)).await?;
        let place = Place { block, position };
        match OpenTrial::open(platform, context, prepared, place, study.seed, sink).await? {
            Ok(trial) => open.push((prepared, trial)),
            Err(trial) => failed.push((prepared, *trial)),
        }
    }
    for (prepared, trial) in &mut open {
        sink.take(&turn_of(prepared, block, None)).await?;
        trial.warm_up(&timing(study.warm_up_of(&prepared.case.id), LOOK), sink).await?;
    }
    let paces: Vec<Pace> = open.iter().map(|(_, trial)| trial.pace()).collect();
    let is_asked = study.groundwork.order_why.is_none();
    let slowest = open.iter().zip(&paces).max_by_key(|(_, pace)| pace.cycle);
    if let Some(((prepared, _), pace)) = slowest.filter(|_| !is_asked)
        && let Some(problem) = schedule::too_few(study.duration, pace.cycle)
    {
        let why = format!("{}: {problem}", prepared.case.id);
        return give_up(open, WindowsFrom { block, why }, sink).await;
    }
    let rounds = schedule::rounds(study.seed, block, &paces, study.duration);
    let vantage = platform.vantage();
    let begins = vantage.now() + START.0 + START.1 * open.len() as u32;
    for (number, (_, trial)) in open.iter_mut().enumerate() {
        let own = rounds.iter().flatten().filter(|plan| plan.deployment == number);
        trial.begin_turns(study.seed, begins, own.map(|plan| plan.span).collect());
    }
    let turns = rounds.len() as u32;
    for (turn, round) in (1..).zip(&rounds) {
        for plan in round {
            let (prepared, trial) = &mut open[plan.deployment];
            sink.take(&turn_of(prepared, block, Some((turn, turns)))).await?;
            if let TurnEnd::Changed(change) = trial.turn((turn, turns), sink).await? {
                let why = format!("{}: {change}, before turn {turn} of {turns} was over", prepared.case.id);
                return give_up(open, WindowsFrom { block, why }, sink).await;
            }
        }
    }
    let mut ended = Vec::new();
    for (prepared, trial) in open {
        ended.push((prepared, trial.end_turns(sink).await?));
    }
    ended.append(&mut failed);
    ended.sort_by_key(|(_, trial)| trial.position);
    let mut trials = Vec::new();
    for (number, (prepared, trial)) in (first..).zip(ended) {
        let allowed = Some(prepared.case.limits.cpus.cores());
        sink.take(&Event::TrialStarted { case: &prepared.case.id, block, number, of, allowed }).await?;
        sink.take(&Event::TrialEnded(&trial)).await?;
        trials.push(trial);
    }
    Ok(Ok(trials))
}

/// Stops all deployments of a block for which turns do not hold.
async fn give_up(
    open: Vec<(&Prepared, OpenTrial<'_>)>,
    windows_from: WindowsFrom,
    sink: &mut dyn Sink,
) -> Result<Result<Vec<Trial>, WindowsFrom>, SinkError> {
    for (_, trial) in open {
        trial.abandon(sink).await?;
    }
    Ok(Err(windows_from))
}
