//! A block whose deployments are up together and measured in turns.
//!
//! All are up, verified and warm before the first turn. Between two turns a deployment rests: nothing is sent to it. Before each
//! turn comes the same change, also where the same deployment goes on: a rest of a part of a quota period, then load that counts
//! nothing.

mod join;
mod schedule;

use std::time::Duration;

use stampede_core::{BlockOrder, Case, Load, Study, Trial};
use stampede_seam::Platform;

pub(crate) use self::join::{entry, join, kept};

use crate::context::{Place, Timing, TrialContext};
use crate::event::{Event, Sink, SinkError};
use crate::prepare::Prepared;
use crate::trial::OpenTrial;

/// Turns are counted in periods of this length where no quota is held.
const PERIOD: Duration = Duration::from_millis(100);

/// Whether these cases are measured in turns: where that was asked for, and each load is the same whenever it begins.
pub(crate) fn are_for(study: &Study, context: &TrialContext<'_>, prepared: &[Prepared]) -> bool {
    let holds = |prepared: &Prepared| {
        let Case { load, beside, .. } = &prepared.case;
        matches!(load, Load::Closed { .. }) && beside.is_empty() && prepared.scaling.is_none()
    };
    study.order == BlockOrder::Turns && context.scenario.is_none() && prepared.iter().all(holds)
}

fn turn_of(Prepared { case, .. }: &Prepared, block: u32, turn: Option<(u32, u32)>) -> Event<'_> {
    Event::TurnStarted { case: &case.id, block, turn, allowed: Some(case.limits.cpus.cores()) }
}

/// Runs a block: these cases at their positions, whose first trial has this number. Its trials in the order of their positions.
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
) -> Result<Vec<Trial>, SinkError> {
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
        trial.warm_up(&timing(study.warm_up_of(&prepared.case.id), PERIOD * 5), sink).await?;
    }
    let period = open.iter().filter_map(|(_, trial)| trial.quota_period()).max().unwrap_or(PERIOD);
    let rounds = schedule::rounds(study.seed, block, open.len(), study.duration, period);
    let turns = rounds.len() as u32;
    let vantage = platform.vantage();
    let began = vantage.now();
    for (turn, round) in (1..).zip(&rounds) {
        for plan in round {
            let (prepared, trial) = &mut open[plan.deployment];
            sink.take(&turn_of(prepared, block, Some((turn, turns)))).await?;
            vantage.sleep_until(vantage.now() + plan.rest).await;
            trial.turn(&timing(Duration::ZERO, plan.length), (turn, turns), began, sink).await?;
        }
    }
    let mut ended = Vec::new();
    for (prepared, trial) in open {
        ended.push((prepared, trial.close(sink).await?));
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
    Ok(trials)
}
