//! Two sides of a change as cases of one study.

use std::path::Path;

use stampede_analysis::{
    Change, ChangeError, ChangeOutcome, Loss, MetricUnit, between_studies, losses, metric, of_gate,
};
use stampede_core::{Candidate, Case, CaseId, Exchange, Study, StudyKind};
use stampede_plan::{ChangeMetric, ComparePlan, RuntimeChoice};
use stampede_store::StoredStudy;

use crate::exit::{Exit, Failure, exit_of};
use crate::host::{Bench, Ended};
use crate::site;
use crate::study::{Deciding, StudyRequest, carry_out};

/// The case without the change.
const BASE: &str = "base";
/// The case with it.
const HEAD: &str = "head";

/// What came of a gate.
#[derive(Debug)]
pub enum Gated {
    /// What the change does, and the study that shows it.
    Done(Box<(Change, StoredStudy)>),
    /// A signal ended it; so many trials are kept.
    Interrupted(usize),
}

/// Measures the two sides of a change in one study, judged by a metric, and keeps it in the store at this path. A change may be
/// worse by the threshold. One that was interrupted is taken up again: of this name, or the newest.
///
/// # Errors
///
/// When the sides cannot be compared, or what was measured says nothing.
pub fn gate(
    bench: Bench<'_>,
    store: &Path,
    [base, head]: [ComparePlan; 2],
    metric: Option<String>,
    threshold: f64,
    resume: Option<Option<String>>,
) -> Result<Gated, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let plan = runtime.block_on(merge(bench, &base, head))?;
    let plan = ComparePlan { precision: threshold, ..plan };
    drop(runtime);
    let deciding = Deciding::InWindow(metric);
    let request = StudyRequest { deciding, resume, ..StudyRequest::of(&plan, StudyKind::Gate) };
    let (ended, mut record) = carry_out(bench, store, &request)?;
    let Some(study) = record.study().cloned() else {
        return ended.map(|_| Gated::Interrupted(0));
    };
    if ended? == Ended::Interrupted {
        return Ok(Gated::Interrupted(record.trials().len()));
    }
    let finished_at = bench.host.now();
    record.store().finish_study(&study.id, finished_at).map_err(Failure::missing)?;
    let change = of_gate(&study, record.trials()).map_err(|error| {
        let exit = match exit_of(Some(&study), record.trials()) {
            Exit::TrialFailed => Exit::TrialFailed,
            _ => Exit::Invalid,
        };
        Failure { exit, ..Failure::missing(error) }
    })?;
    let (trials, yard_stick) = (record.trials().to_vec(), record.yard_stick().to_vec());
    let stored = StoredStudy { study, finished_at: Some(finished_at), trials, yard_stick };
    Ok(Gated::Done(Box::new((change, stored))))
}

/// What two stored studies say of the change between them, by a metric or by that of the first.
///
/// # Errors
///
/// When they cannot be compared, or what was measured says nothing.
pub fn gate_stored(studies: [&StoredStudy; 2], key: Option<&str>, threshold: f64) -> Result<Vec<Change>, Failure> {
    let is_scaled = |stored: &StoredStudy| {
        stored.study.kind == StudyKind::Scale || stored.trials.iter().any(|trial| trial.scale.is_some())
    };
    if let Some(scaled) = studies.into_iter().find(|stored| is_scaled(stored)) {
        return Err(Failure::usage(format!(
            "study:{} is of an autoscaled service, whose cold starts a gate does not judge\n  give studies of stampede compare",
            scaled.study.id
        )));
    }
    let [base, head] = studies.map(|stored| (&stored.study, &stored.trials[..]));
    between_studies(key.and_then(metric), base, head, threshold).map_err(|error| match error {
        ChangeError::NothingInCommon | ChangeError::Conditions { .. } => Failure::usage(error),
        _ => Failure { exit: Exit::Invalid, ..Failure::missing(error) },
    })
}

/// Trials that do not count, of cases that are compared: others say nothing of the change.
#[must_use]
pub fn gate_losses(studies: &[StoredStudy], changes: &[Change]) -> Vec<Loss> {
    let all = studies.iter().flat_map(|stored| losses(&stored.study, &stored.trials));
    all.filter(|loss| studies.len() == 1 || changes.iter().any(|change| change.case == loss.case)).collect()
}

/// What decides about a change that is judged by a metric, or by what follows from the load.
#[must_use]
pub fn decided_by(key: Option<&str>) -> ChangeMetric {
    match key.and_then(metric) {
        Some(metric) if metric.unit == MetricUnit::Microseconds => ChangeMetric::Latency,
        _ => ChangeMetric::Mean,
    }
}

/// What both sides were asked, and under which limits: `shop on nginx-fpm: 1 CPU and 512 MiB, load closed:16`.
#[must_use]
pub fn gate_question(study: &Study) -> String {
    let of = |Case { runtime, limits, .. }: &Case| format!(" on {runtime}: {} CPU and {}", limits.cpus, limits.memory);
    let case = study.cases.first().map(|case| format!("{}, load {}", of(case), case.whole_load()));
    format!("{}{}", study.workload, case.unwrap_or_default())
}

/// How a gate ends. A change that is shown to be worse fails, whatever else is the matter; otherwise all trials must count.
#[must_use]
pub fn gate_exit(outcome: ChangeOutcome, passes: bool, losses: &[Loss]) -> Exit {
    match outcome {
        ChangeOutcome::Failed => Exit::GateFailed,
        _ if losses.iter().any(|loss| loss.failed > 0) => Exit::TrialFailed,
        _ if losses.iter().any(|loss| loss.invalid > 0) => Exit::Invalid,
        _ if passes => Exit::Done,
        _ => Exit::GateFailed,
    }
}

/// Both sides as cases of one plan, under the conditions that their plans agree on.
async fn merge(bench: Bench<'_>, base: &ComparePlan, head: ComparePlan) -> Result<ComparePlan, Failure> {
    same_conditions(base, &head)?;
    let (exchanges, unrecorded) = common_exchanges(base, &head)?;
    let pairs = served_by_one(base, &head)?;
    let mut workload = head.workload.clone();
    workload.exchanges = exchanges;
    // The runtime is settled: that it is missing is an error.
    let common = ComparePlan { workload, unrecorded, look: None, choice: RuntimeChoice::Settled, ..head };
    let on = |pair: &[Candidate; 2]| ComparePlan { candidates: pair.to_vec(), ..common.clone() };
    if let [only] = &pairs[..] {
        return Ok(on(only));
    }
    // The first that is installed; where none is, the first of all, so that what it needs is told.
    for pair in &pairs {
        let plan = on(pair);
        if site::has_all(bench, "gate", &plan).await? {
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
        (base.load != head.load || base.beside != head.beside, "load", "give --load, for both, or change one plan"),
        (base.scenario != head.scenario, "scenario", "give both the same, with the same feeders, or none"),
        (base.duration != head.duration, "duration", "give --duration, for both"),
        (base.warm_up != head.warm_up || base.pilots != head.pilots, "warm-up", "give --warm-up, for both"),
        (base.topology != head.topology, "topology", "give both plans the same"),
        (base.services != head.services, "content of services", "give both the same SQL under services"),
        (base.workload.audits != head.workload.audits, "audits (after)", "give both the same"),
    ] {
        if differs {
            return Err(Failure::usage(format!("the plans of the two versions differ in their {what}\n  {fix}")));
        }
    }
    Ok(())
}

/// The requests that both sides know, with the answers that the later one writes down, and the names of those whose answers
/// nobody has written.
fn common_exchanges(base: &ComparePlan, head: &ComparePlan) -> Result<(Vec<Exchange>, Vec<String>), Failure> {
    let mut common = Vec::new();
    for exchange in &head.workload.exchanges {
        let same = |other: &&Exchange| other.request == exchange.request && other.weight == exchange.weight;
        let Some(before) = base.workload.exchanges.iter().find(same) else { continue };
        let written = !head.unrecorded.contains(&exchange.name) && !base.unrecorded.contains(&before.name);
        if written && before.expect != exchange.expect {
            return Err(Failure::usage(format!(
                "the two versions must give different responses to {}, so their speed cannot be compared\n  \
                 write the same answer into both plans, or mask what may differ",
                exchange.name
            )));
        }
        common.push(exchange.clone());
    }
    // Of a scenario, which is the load by itself, they show that a server is ready.
    let is_enough = |exchange: &Exchange| if head.scenario.is_some() { !exchange.once } else { exchange.in_load() };
    if !common.iter().any(is_enough) {
        let what = if head.scenario.is_some() { "that may be sent again" } else { "for the load" };
        return Err(Failure::usage(format!("the two versions have no request {what} in common")));
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
        "no runtime can serve both versions: the first can be served by {}, the second by {}\n  \
         see stampede list runtimes, or name one that serves both with --runtime",
        names(base),
        names(head)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_time_is_decided_by_what_needs_long_windows() {
        for (key, expected) in [
            (None, ChangeMetric::Mean),
            (Some("response_p99_us"), ChangeMetric::Latency),
            (Some("cpu_us_per_request"), ChangeMetric::Mean),
            (Some("throughput_rps"), ChangeMetric::Mean),
        ] {
            assert_eq!(decided_by(key), expected, "{key:?}");
        }
    }

    #[test]
    fn trials_that_do_not_count_are_no_pass() {
        let loss = |failed: u32, invalid: u32| Loss {
            case: CaseId::new("head"),
            failed,
            invalid,
            trials: 12,
            reason: "no answer".to_owned(),
        };
        for (outcome, lost, passes, expected) in [
            (ChangeOutcome::Passed, None, true, Exit::Done),
            (ChangeOutcome::Passed, Some(loss(9, 0)), true, Exit::TrialFailed),
            (ChangeOutcome::Passed, Some(loss(0, 1)), true, Exit::Invalid),
            (ChangeOutcome::Undecided, Some(loss(1, 1)), false, Exit::TrialFailed),
            (ChangeOutcome::Undecided, None, false, Exit::GateFailed),
            (ChangeOutcome::Undecided, None, true, Exit::Done),
            (ChangeOutcome::Failed, Some(loss(9, 0)), false, Exit::GateFailed),
        ] {
            let losses: Vec<Loss> = lost.into_iter().collect();
            assert_eq!(gate_exit(outcome, passes, &losses), expected, "{outcome:?} {losses:?}");
        }
    }
}
