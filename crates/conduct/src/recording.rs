//! Expected answers of an application that nobody has written down: they are recorded before it is compared.

use std::collections::BTreeSet;

use stampede_core::{Body, CaseId, Exchange, Workload};
use stampede_harness::{Prepared, RecordError, Recorded, UnderLoad, under_load};
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

/// How many runtimes are tried: an application that answers rightly on none of them is at fault itself.
const MOST_TRIED: usize = 3;

/// Records the answers that are missing on the first runtime that serves the application, and tells what they are. One that does not
/// serve it stays among those that are compared, where its trials fail.
///
/// # Errors
///
/// When the application does not answer as one that can be compared, on the first runtime that was tried.
pub async fn record(
    bench: Bench<'_>,
    platform: &dyn Platform,
    plan: &ComparePlan,
    prepared: &[Prepared],
) -> Result<Vec<Recorded>, Failure> {
    if plan.unrecorded.is_empty() {
        return Ok(Vec::new());
    }
    let (workload, names) = (&plan.workload, &plan.unrecorded);
    let mut failures: Vec<(&CaseId, RecordError)> = Vec::new();
    for prepared in recorders(prepared) {
        let id = &prepared.case.id;
        match stampede_harness::record(platform, prepared, workload, names, plan.ready_timeout).await {
            Ok(recorded) => {
                for (failed, error) in failures {
                    let error = error.to_string();
                    let problem = error.lines().next().unwrap_or_default();
                    bench.warning(&format!("on {failed} {problem}; answers are recorded on {id} instead"));
                }
                tell(bench, id, &recorded);
                return Ok(recorded);
            }
            Err(error) => failures.push((id, error)),
        }
    }
    let mut failures = failures.into_iter();
    let Some((id, error)) = failures.next() else { return Ok(Vec::new()) };
    let others: String = failures.map(|(id, _)| format!("\nnor does {id} answer rightly")).collect();
    let message = format!("the application cannot be compared: on {id} {error}{others}").replace('\n', "\n  ");
    Err(Failure { exit: Exit::TrialFailed, message })
}

/// The cases that answers are recorded on, one of each runtime, the preferred one first.
fn recorders(prepared: &[Prepared]) -> Vec<&Prepared> {
    let is_preferred = |prepared: &&Prepared| prepared.case.runtime.as_str() == PREFERRED;
    let mut runtimes = BTreeSet::new();
    let preferred = prepared.iter().filter(is_preferred);
    let all = preferred.chain(prepared.iter().filter(|prepared| !is_preferred(prepared)));
    all.filter(|prepared| runtimes.insert(&prepared.case.runtime)).take(MOST_TRIED).collect()
}

fn tell(bench: Bench<'_>, id: &CaseId, recorded: &[Recorded]) {
    bench.paragraph(&format!("recorded on {id}, which every runtime must answer too:"), 0);
    for Recorded { exchange, expect, bytes, .. } in recorded {
        let masked = masked(&expect.body).map(|masked| format!("; {masked}")).unwrap_or_default();
        bench.paragraph(&format!("  {exchange}: status {}, {bytes} bytes{masked}", expect.status), 4);
    }
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
