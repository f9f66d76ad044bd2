//! Pilots: a trial of each case before the first block, from whose course follows for how long the case is loaded before its
//! windows.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_analysis::{LifetimeCost, MOST_PILOT, PilotWatch, untold};
use stampede_core::{Bytes, CaseId, Load, Outcome, Study, WarmUp};
use stampede_seam::Platform;

use crate::context::{Place, Timing, TrialContext};
use crate::early_stop::Watch;
use crate::event::{Event, Sink, SinkError};
use crate::prepare::Prepared;
use crate::time_limit::TimeLimit;
use crate::trial;

/// What the pilots of a study found.
#[derive(Debug, Default)]
pub struct PilotFindings {
    /// For how long each case is loaded before its windows.
    pub warm_ups: BTreeMap<CaseId, WarmUp>,
    /// The most memory that each needed, where that was counted.
    pub peaks: BTreeMap<CaseId, Bytes>,
    /// What a lifetime of each costs, and how it scatters.
    pub costs: Vec<LifetimeCost>,
    /// How long a client waits for an answer of the slowest, on average, where clients wait for their answers.
    pub cycle: Option<Duration>,
}

/// Runs a pilot of each case of a study. A pilot ends when it has come to rest, after half a minute at the latest, or its part of the
/// study's time. Of one that fails, or that the time is over for, nothing follows but the shortest warm-up.
///
/// # Errors
///
/// Only when a sink does not take an event.
pub async fn pilots(
    platform: &dyn Platform,
    study: &Study,
    prepared: &[Prepared],
    context: &TrialContext<'_>,
    sink: &mut dyn Sink,
) -> Result<PilotFindings, SinkError> {
    let context = TrialContext { sampled: false, inside: None, ..*context };
    let most = study.rounds.time_of_pilot(prepared.len()).map_or(MOST_PILOT, |most| most.min(MOST_PILOT));
    let timing = Timing { warm_up: Duration::ZERO, duration: most, seed: study.seed };
    let mut time = TimeLimit::of(study, &[], &**platform.vantage());
    let mut found = PilotFindings::default();
    for prepared in prepared {
        let case = &prepared.case.id;
        sink.take(&Event::PilotStarted(case)).await?;
        let mut watch = PilotWatch::new(&prepared.case.load);
        let place = Place { block: 0, position: 0 };
        let seen = Some(&mut Watch::Pilot(&mut watch));
        let work = trial::run(platform, &context, prepared, place, &timing, seen, sink);
        let vantage = platform.vantage();
        let began = vantage.now();
        let trial = time.within(1, work).await.transpose()?;
        let took = vantage.now().since(began);
        let used = trial.as_ref().and_then(|trial| trial.measurement.as_ref()?.resources);
        let measured = trial.as_ref().and_then(|trial| trial.measurement.as_ref());
        let loaded = measured.map(|measured| measured.window);
        // Of the whole pilot: one of slow answers does not come to rest.
        let waited = measured.and_then(|measured| cycle(&prepared.case.load, measured.requests.ok, measured.window));
        found.cycle = found.cycle.max(waited);
        if let Some(used) = used {
            found.peaks.insert(case.clone(), Bytes::new(used.memory_peak));
        }
        let warm_up = match trial.map(|trial| trial.outcome) {
            None => untold("was cut off: the time of the study was over".to_owned()),
            Some(Outcome::Failed(reason)) => untold(format!("failed: {}", reason.lines().next().unwrap_or_default())),
            Some(Outcome::Measured | Outcome::Invalid(_)) => watch.conclude(),
        };
        sink.take(&Event::PilotEnded(case, &warm_up)).await?;
        if let Some(loaded) = loaded {
            let (piece, rates) = watch.at_rest();
            found.costs.push(LifetimeCost { beside: took.saturating_sub(loaded) + warm_up.length, rates, piece });
        }
        found.warm_ups.insert(case.clone(), warm_up);
    }
    Ok(found)
}

/// How long a client waits for an answer where each has one request in flight and so many were answered in that time, by Little's law
/// (https://doi.org/10.1287/opre.9.3.383).
fn cycle(load: &Load, answers: u64, time: Duration) -> Option<Duration> {
    let Load::Closed { connections } = load else { return None };
    (answers > 0).then(|| time.mul_f64(f64::from(*connections) / answers as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_waits_for_its_part_of_the_answers() {
        let of = |load: &str, answers| cycle(&load.parse().unwrap(), answers, Duration::from_secs(30));
        // Four workers, each with an answer in 0.3 s, and sixteen clients.
        assert_eq!(of("closed:16", 400), Some(Duration::from_millis(1200)));
        assert_eq!([of("closed:16", 0), of("open:13", 400)], [None, None]);
    }
}
