//! Two plans made one: the application before a change and after it as two cases that are asked the same.

use stampede_core::{Candidate, CaseId, Exchange};
use stampede_plan::{ComparePlan, RuntimeChoice};

use crate::exit::Failure;
use crate::ground;
use crate::host::Host;

/// The case without the change.
const BASE: &str = "base";
/// The case with it.
const HEAD: &str = "head";

/// Both sides as cases of one plan, under the conditions that their plans agree on.
pub(super) async fn merge(
    host: &dyn Host,
    base: &ComparePlan,
    head: ComparePlan,
    no_wait: bool,
    quiet: bool,
) -> Result<ComparePlan, Failure> {
    same_conditions(base, &head)?;
    let (exchanges, unrecorded) = common_exchanges(base, &head)?;
    let pairs = served_by_one(base, &head)?;
    let mut workload = head.workload.clone();
    workload.exchanges = exchanges;
    // The runtime is settled: that it is missing is an error.
    let common = ComparePlan { workload, unrecorded, look: None, choice: RuntimeChoice::Named, ..head };
    let on = |pair: &[Candidate; 2]| ComparePlan { candidates: pair.to_vec(), ..common.clone() };
    // The first that is installed; where none is, the first of all, so that what it needs is told.
    for pair in &pairs {
        let plan = on(pair);
        if ground::has_all(host, "gate", &plan, no_wait, quiet).await? {
            return Ok(plan);
        }
    }
    Ok(ComparePlan { candidates: pairs.into_iter().take(1).flatten().collect(), ..common })
}

/// Whatever is taken from one side counts for the other: it must be the same.
fn same_conditions(base: &ComparePlan, head: &ComparePlan) -> Result<(), Failure> {
    for (differs, what, fix) in [
        (base.platform != head.platform, "platform", "give both plans the same"),
        (base.limits != head.limits, "limits", "give --cpus and --memory, for both"),
        (base.load != head.load || base.beside != head.beside, "load", "give --load, for both, or mend one plan"),
        (base.scenario != head.scenario, "scenario", "give both the same, with the same feeders, or none"),
        (base.duration != head.duration, "duration", "give --duration, for both"),
        (base.warm_up != head.warm_up || base.pilots != head.pilots, "warm-up", "give --warm-up, for both"),
        (base.topology != head.topology, "topology", "give both plans the same"),
        (base.services != head.services, "content of their services", "give both the same SQL under services"),
        (base.workload.audits != head.workload.audits, "count under after", "give both the same"),
    ] {
        if differs {
            return Err(Failure::usage(format!("the two sides ask for another {what}\n  {fix}")));
        }
    }
    Ok(())
}

/// The requests that both sides know, with the answers that the later one writes down, and the names of those whose answers
/// nobody has written.
fn common_exchanges(base: &ComparePlan, head: &ComparePlan) -> Result<(Vec<Exchange>, Vec<String>), Failure> {
    let mut common = Vec::new();
    for exchange in &head.workload.exchanges {
        let same = |other: &&Exchange| other.request == exchange.request && other.in_load == exchange.in_load;
        let Some(before) = base.workload.exchanges.iter().find(same) else { continue };
        let written = !head.unrecorded.contains(&exchange.name) && !base.unrecorded.contains(&before.name);
        if written && before.expect != exchange.expect {
            return Err(Failure::usage(format!(
                "the two sides expect other answers to {}: how fast they give them says nothing\n  \
                 write the same answer into both plans, or mask what may differ",
                exchange.name
            )));
        }
        common.push(exchange.clone());
    }
    // Of a scenario, which is the load by itself, they show that a server is ready.
    let is_enough = |exchange: &Exchange| if head.scenario.is_some() { !exchange.once } else { exchange.in_load };
    if !common.iter().any(is_enough) {
        let what = if head.scenario.is_some() { "that may be sent again" } else { "for the load" };
        return Err(Failure::usage(format!("the two sides have no request {what} in common")));
    }
    let unrecorded = common.iter().map(|exchange| &exchange.name).filter(|name| head.unrecorded.contains(name));
    let unrecorded = unrecorded.cloned().collect();
    Ok((common, unrecorded))
}

/// Both sides on each runtime that serves both: one at least.
fn served_by_one(base: &ComparePlan, head: &ComparePlan) -> Result<Vec<[Candidate; 2]>, Failure> {
    let pairs = head.candidates.iter().filter_map(|after| {
        let before = base.candidates.iter().find(|before| before.runtime.id() == after.runtime.id())?;
        Some([(BASE, before), (HEAD, after)].map(|(id, side)| Candidate { id: CaseId::new(id), ..side.clone() }))
    });
    let pairs: Vec<_> = pairs.collect();
    if !pairs.is_empty() {
        return Ok(pairs);
    }
    let names = |plan: &ComparePlan| {
        let mut names: Vec<String> = plan.candidates.iter().map(|side| side.runtime.id().to_string()).collect();
        names.dedup();
        if names.is_empty() { "no runtime".to_owned() } else { names.join(", ") }
    };
    Err(Failure::usage(format!(
        "no runtime serves both sides: the first can be served by {}, the second by {}\n  \
         see stampede list runtimes, or name one that serves both with --runtime",
        names(base),
        names(head)
    )))
}
