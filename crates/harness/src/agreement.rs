//! Whether a case answers as another one did.

use std::time::Duration;

use stampede_core::{Exchange, Workload};
use stampede_seam::Platform;

use crate::known::Known;
use crate::prepare::Prepared;
use crate::ready::{self, Front};
use crate::trial::unlaunched;
use crate::verify::{Verification, Visit};

/// Whether a case answers all of these exchanges as they were recorded elsewhere: asked once each, in order.
///
/// # Errors
///
/// The first answer that is another one, or why there is none, in a few lines.
pub async fn agrees(
    platform: &dyn Platform,
    prepared: &Prepared,
    workload: &Workload,
    timeout: Duration,
) -> Result<(), String> {
    let first = workload.exchanges.iter().find(|exchange| !exchange.once).or(workload.exchanges.first());
    let Some(Exchange { request: first, .. }) = first else { return Ok(()) };
    let running = platform.launch(&prepared.deployment, &prepared.terms).await;
    let running = running.map_err(|error| unlaunched(&prepared.case, &error))?;
    let front = &Front::of(running.as_ref(), &prepared.case, prepared.trust.as_deref());
    let verification = Verification { platform, prepared, workload, timeout, seed: 0, lifetime: 0 };
    let asked = async {
        ready::wait(running.as_ref(), front, first, timeout).await?;
        let known = &Known::of(running.as_ref(), &prepared.case);
        verification.once(&Visit { running: running.as_ref(), front, known, timeout, seed: 0 }).await
    };
    let asked = asked.await;
    running.stop().await.map_err(|error| error.to_string())?;
    asked
}
