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
    visiting(platform, prepared, workload, timeout, async |verification, visit| verification.once(visit).await).await
}

/// The names of those of these exchanges that a case answers with what was recorded elsewhere, but in another order, as rows come that
/// are equal for a query's ORDER BY. Asked once each, in order; one that is answered otherwise is not among them.
///
/// # Errors
///
/// Why there is no answer, in a few lines.
pub async fn reordered(
    platform: &dyn Platform,
    prepared: &Prepared,
    workload: &Workload,
    timeout: Duration,
) -> Result<Vec<String>, String> {
    visiting(platform, prepared, workload, timeout, async |_, visit| {
        let mut names = Vec::new();
        for exchange in &workload.exchanges {
            if visit.is_reordered(exchange).await? {
                names.push(exchange.name.clone());
            }
        }
        Ok(names)
    })
    .await
}

/// What comes of asking a fresh deployment of a case; nothing where there is nothing to ask.
async fn visiting<T: Default>(
    platform: &dyn Platform,
    prepared: &Prepared,
    workload: &Workload,
    timeout: Duration,
    ask: impl AsyncFnOnce(&Verification<'_>, &Visit<'_>) -> Result<T, String>,
) -> Result<T, String> {
    let first = workload.exchanges.iter().find(|exchange| !exchange.once).or(workload.exchanges.first());
    let Some(Exchange { request: first, .. }) = first else { return Ok(T::default()) };
    let running = platform.launch(&prepared.deployment, &prepared.terms).await;
    let running = running.map_err(|error| unlaunched(&prepared.case, &error))?;
    let front = &Front::of(running.as_ref(), &prepared.case, prepared.trust.as_deref());
    let verification = Verification { platform, prepared, workload, timeout, seed: 0, lifetime: 0 };
    let asked = async {
        ready::wait(running.as_ref(), front, first, timeout).await?;
        let known = &Known::of(running.as_ref(), &prepared.case);
        ask(&verification, &Visit { running: running.as_ref(), front, known, timeout, seed: 0 }).await
    };
    let asked = asked.await;
    running.stop().await.map_err(|error| error.to_string())?;
    asked
}
