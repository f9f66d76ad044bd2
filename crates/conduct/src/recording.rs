//! Expected answers of an application that nobody has written down: they are recorded before it is compared.

use std::collections::BTreeMap;

use stampede_core::{Body, Exchange, MaskClass, Workload, named_status};
use stampede_harness::{Prepared, Recorded, UnderLoad, under_load};
use stampede_plan::ComparePlan;
use stampede_seam::Platform;

use crate::exit::{Exit, Failure};
use crate::host::Bench;

/// The runtimes whose answers are taken where they can serve the application, the first that is there: PHP-FPM is what applications
/// are made for, and PHP's own server needs nothing else.
const PREFERRED: [&str; 4] = ["nginx-fpm", "apache-fpm", "caddy-fpm", "php-cli-server"];

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
        masked(&expect.body, None).iter().for_each(|masked| bench.paragraph(&format!("{name}: {masked}"), 2));
    }
    for recorded in record(bench, platform, plan, prepared).await? {
        recorded.complete(&mut workload);
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
    let is = |prepared: &&Prepared, name: &str| prepared.case.runtime.as_str() == name;
    let preferred = PREFERRED.iter().find_map(|name| prepared.iter().find(|prepared| is(prepared, name)));
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
    for Recorded { exchange, request, expect, bytes, masked: varying, .. } in &recorded {
        let asked = workload.exchanges.iter().find(|known| known.name == *exchange);
        let followed = asked.filter(|asked| asked.request.path != request.path);
        let followed =
            followed.map(|_| format!(" (redirected to {}, which is used)", request.path)).unwrap_or_default();
        let share = (*varying > 0).then(|| 100.0 * *varying as f64 / *bytes as f64);
        let masked = masked(&expect.body, share).map(|masked| format!("; {masked}")).unwrap_or_default();
        let status = named_status(expect.status);
        bench.paragraph(&format!("  {exchange}{followed}: status {status}, {bytes} bytes{masked}"), 4);
    }
    Ok(recorded)
}

/// What of an answer is masked, with the percentage of its bytes that varies where it was recorded, and what is checked of it under
/// load; nothing of one without masks.
fn masked(body: &Body, share: Option<f64>) -> Option<String> {
    let Body::Masked(masked) = body else { return None };
    let mut counts: BTreeMap<MaskClass, usize> = BTreeMap::new();
    masked.classes().for_each(|class| *counts.entry(class).or_default() += 1);
    let load = match under_load(body) {
        UnderLoad::Whole => "all of it is checked".to_owned(),
        UnderLoad::Part(part) => format!("{} bytes between them are looked for", part.len()),
        UnderLoad::StatusOnly => "only its status is checked".to_owned(),
    };
    let list = |is_known: bool| {
        let named = counts.iter().filter(|(class, _)| class.is_known() == is_known);
        let named = named.map(|(class, count)| match (class, count) {
            (MaskClass::Anything, count) => format!("{count} of any content"),
            (class, 1) => class.name().to_owned(),
            (class, count) => format!("{count} x {}", class.name()),
        });
        named.collect::<Vec<_>>().join(", ")
    };
    let share = share.map(|share| format!(" ({share:.1} % of its bytes)")).unwrap_or_default();
    let varies = Some(list(false)).filter(|list| !list.is_empty()).map(|list| list + &share).unwrap_or_default();
    let parts = [("varies", varies), ("the runtime's own", list(true)), ("under load", load)];
    let parts = parts.into_iter().filter(|(_, list)| !list.is_empty());
    Some(parts.map(|(what, list)| format!("{what}: {list}")).collect::<Vec<_>>().join("; "))
}
