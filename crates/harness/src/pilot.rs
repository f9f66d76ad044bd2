//! Pilots: a trial of each case before the first block, from whose course follows for how long the case is loaded before its
//! windows.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_analysis::{MOST_PILOT, PilotWatch, untold};
use stampede_core::{CaseId, Outcome, WarmUp};
use stampede_seam::Platform;

use crate::context::{Place, Timing, TrialContext};
use crate::early_stop::Watch;
use crate::event::{Event, Sink, SinkError};
use crate::prepare::Prepared;
use crate::trial;

/// Runs a pilot of each case. A pilot ends when it has come to rest, after half a minute at the latest. Of one that fails
/// nothing follows but the shortest warm-up.
///
/// # Errors
///
/// Only when a sink does not take an event.
pub async fn pilots(
    platform: &dyn Platform,
    prepared: &[Prepared],
    context: &TrialContext<'_>,
    seed: u64,
    sink: &mut dyn Sink,
) -> Result<BTreeMap<CaseId, WarmUp>, SinkError> {
    let context = TrialContext { sampled: false, ..*context };
    let timing = Timing { warm_up: Duration::ZERO, duration: MOST_PILOT, seed };
    let mut warm_ups = BTreeMap::new();
    for prepared in prepared {
        let case = &prepared.case.id;
        sink.take(&Event::PilotStarted(case)).await?;
        let mut watch = PilotWatch::new(&prepared.case.load);
        let place = Place { block: 0, position: 0 };
        let seen = Some(&mut Watch::Pilot(&mut watch));
        let trial = trial::run(platform, &context, prepared, place, &timing, seen, sink).await?;
        let warm_up = match trial.outcome {
            Outcome::Failed(reason) => untold(format!("failed: {}", reason.lines().next().unwrap_or_default())),
            Outcome::Measured | Outcome::Invalid(_) => watch.conclude(),
        };
        sink.take(&Event::PilotEnded(case, &warm_up)).await?;
        warm_ups.insert(case.clone(), warm_up);
    }
    Ok(warm_ups)
}
