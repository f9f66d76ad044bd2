//! The search for the highest rate that meets an objective: trials of one deployment, each under a load of its own.
//!
//! Each probe has a deployment that is started anew: what one that was overloaded has left behind (a queue, swapped memory,
//! workers in mid-request) would be measured in the next.

use stampede_analysis::{CapacityStep, ProbeWatch, capacity_step};
use stampede_core::{Case, CaseId, Study, Trial};
use stampede_seam::Platform;

use crate::context::{Place, Timing, TrialContext};
use crate::early_stop::Watch;
use crate::event::{Event, Sink, SinkError};
use crate::prepare::Prepared;
use crate::study::lets_begin;
use crate::trial;

/// Runs the probes of a study that asks for a capacity, or those that are still to come where it was interrupted. Its cases join
/// it as their loads are chosen; each is `prepared` under another load.
///
/// # Errors
///
/// Only when a sink does not take an event.
pub async fn capacity(
    platform: &dyn Platform,
    study: &Study,
    prepared: &Prepared,
    context: &TrialContext<'_>,
    mut trials: Vec<Trial>,
    sink: &mut dyn Sink,
) -> Result<(), SinkError> {
    let mut study = study.clone();
    let started = if study.resumed_at.is_empty() { Event::StudyStarted(&study) } else { Event::StudyResumed(&study) };
    sink.take(&started).await?;
    while let Some(CapacityStep { case: id, load, window }) = capacity_step(&study, &trials) {
        if !lets_begin(platform, context, sink).await? {
            break;
        }
        let case = Case { id: CaseId::new(id), load, ..prepared.case.clone() };
        if !study.cases.iter().any(|known| known.id == case.id) {
            sink.take(&Event::CaseAdded(&case)).await?;
            study.cases.push(case.clone());
        }
        let block = trials.len() as u32 + 1;
        let allowed = Some(case.limits.cpus.cores());
        sink.take(&Event::TrialStarted { case: &case.id, block, number: block, of: None, allowed }).await?;
        let timing = Timing { warm_up: study.warm_up, duration: window, seed: study.seed };
        let mut watch = study.slo.as_ref().and_then(|slo| ProbeWatch::new(slo, &case.load, window));
        let mut watch = watch.as_mut().map(Watch::Probe);
        let place = Place { block, position: 1 };
        let probe = Prepared { case, ..prepared.clone() };
        let trial = trial::run(platform, context, &probe, place, &timing, watch.as_mut(), sink).await?;
        sink.take(&Event::TrialEnded(&trial)).await?;
        trials.push(trial);
    }
    context.stop.end_block();
    Ok(())
}
