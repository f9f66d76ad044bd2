//! The yard-stick: a short trial of a fixed server at the beginning of each block.

use std::time::Duration;

use stampede_core::{Outcome, Pace, Trial, YardStickReading};
use stampede_seam::Platform;

use crate::context::{Place, Timing, TrialContext, YardStick};
use crate::event::{Event, Sink, SinkError};
use crate::trial;

/// Its load before its window: it has nothing to warm up but its connections.
const WARM_UP: Duration = Duration::from_millis(200);

/// Measures it once.
///
/// # Errors
///
/// Only when a sink does not take an event.
pub(crate) async fn read(
    platform: &dyn Platform,
    context: &TrialContext<'_>,
    yard_stick: &YardStick,
    block: u32,
    seed: u64,
    sink: &mut dyn Sink,
) -> Result<(), SinkError> {
    sink.take(&Event::YardStickStarted { block }).await?;
    let YardStick { prepared, workload, window } = yard_stick;
    let context = TrialContext { workload, scenario: None, sampled: false, inside: None, ..*context };
    let timing = Timing { warm_up: WARM_UP, duration: *window, seed };
    let place = Place { block, position: 0 };
    let trial = trial::run(platform, &context, prepared, place, &timing, None, sink).await?;
    sink.take(&Event::YardStickEnded(&reading(trial))).await
}

/// What a trial of the yard-stick says. One that is invalid has its figures all the same: what disturbed it is what it is there
/// to show.
fn reading(trial: Trial) -> YardStickReading {
    let Trial { block, started_at, outcome, measurement, .. } = trial;
    let counted = measurement.filter(|_| !matches!(outcome, Outcome::Failed(_)));
    let pace = counted.map(|measured| Pace {
        window: measured.window,
        ok: measured.requests.ok,
        cpu: measured.resources.map(|resources| (resources.cpu, resources.between)),
    });
    YardStickReading { block, started_at, outcome, pace }
}
