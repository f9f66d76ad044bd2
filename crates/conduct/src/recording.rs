//! Expected answers of an application that nobody has written down: they are recorded before it is compared.

use stampede_core::{Body, Exchange, Workload};
use stampede_harness::{Prepared, Recorded, UnderLoad, under_load};
use stampede_plan::ComparePlan;
use stampede_seam::Platform;

use crate::exit::{Exit, Failure};
use crate::host::Bench;

/// The runtime whose answers are taken where it can serve the application: it is the simplest.
const PREFERRED: &str = "php-cli-server";

/// The workload with all its answers, those that were missing recorded.
pub(crate) async fn complete(
    bench: Bench<'_>,
    platform: &dyn Platform,
    plan: &ComparePlan,
    prepared: &[Prepared],
) -> Result<Workload, Failure> {
    let mut workload = plan.workload.clone();
    let written = workload.exchanges.iter().filter(|exchange| !plan.unrecorded.contains(&exchange.name));
    for Exchange { name, expect, .. } in written {
        masked(&expect.body).iter().for_each(|masked| bench.paragraph(&format!("{name}: {masked}"), 2));
    }
    for recorded in record(bench, platform, plan, prepared).await? {
        let Recorded { exchange, expect, .. } = recorded;
        workload.exchanges.iter_mut().filter(|known| known.name == exchange).for_each(|known| {
            known.expect.clone_from(&expect);
        });
    }
    Ok(workload)
}

/// Records the answers that are missing, and tells what they are.
///
/// # Errors
///
/// When the application does not answer as one that can be compared.
pub async fn record(
    bench: Bench<'_>,
    platform: &dyn Platform,
    plan: &ComparePlan,
    prepared: &[Prepared],
) -> Result<Vec<Recorded>, Failure> {
    let preferred = prepared.iter().find(|prepared| prepared.case.runtime.as_str() == PREFERRED);
    let Some(prepared) = preferred.or(prepared.first()).filter(|_| !plan.unrecorded.is_empty()) else {
        return Ok(Vec::new());
    };
    let id = &prepared.case.id;
    let (workload, names) = (&plan.workload, &plan.unrecorded);
    let recorded = stampede_harness::record(platform, prepared, workload, names, plan.ready_timeout).await;
    let recorded = recorded.map_err(|error| Failure {
        exit: Exit::TrialFailed,
        message: format!("the application cannot be compared: on {id} {error}").replace('\n', "\n  "),
    })?;
    bench.paragraph(&format!("recorded on {id}, which every runtime must answer too:"), 0);
    for Recorded { exchange, expect, bytes, .. } in &recorded {
        let masked = masked(&expect.body).map(|masked| format!("; {masked}")).unwrap_or_default();
        bench.paragraph(&format!("  {exchange}: status {}, {bytes} bytes{masked}", expect.status), 4);
    }
    Ok(recorded)
}

/// How much of an answer is masked, and what is checked of it under load; nothing of one without masks.
fn masked(body: &Body) -> Option<String> {
    let Body::Masked(parts) = body else { return None };
    let load = match under_load(body) {
        UnderLoad::Whole => "all of it is checked".to_owned(),
        UnderLoad::Part(part) => format!("{} bytes between them are looked for", part.len()),
        UnderLoad::StatusOnly => "only its status is checked".to_owned(),
    };
    let (count, verb) = match parts.len() - 1 {
        1 => ("1 part".to_owned(), "varies and is"),
        count => (format!("{count} parts"), "vary and are"),
    };
    Some(format!("{count} of it {verb} masked; under load {load}"))
}
