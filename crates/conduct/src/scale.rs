//! How a runtime behaves when its instances start on demand.

use std::path::Path;

use stampede_analysis::PER_VCPU_SECOND;
use stampede_core::{Case, Failures, Load, Role, Study, StudyId, StudyKind, Trial};
use stampede_harness::{Conditions, Copies, Prepared, TrialContext};
use stampede_plan::{ComparePlan, PlannedService, ScalePlan};
use stampede_seam::Backend;
use stampede_store::StoredStudy;

use crate::exit::Failure;
use crate::host::{Bench, Ended};
use crate::record::{Sinks, StudyRecord};
use crate::site::{Purpose, Site, conditions};
use crate::study::{DRAIN, attend_recorded, begun};
use crate::{recording, resumption, study};

/// Instances that are allowed more CPU than whole processors by less than this share of it are given no further processor: that
/// would be the generator's.
const NEGLIGIBLE: f64 = 0.01;

/// How many processors serve instances that are allowed so much CPU together.
#[must_use]
pub(crate) fn whole_cores(cpus: f64) -> usize {
    ((cpus * (1.0 - NEGLIGIBLE)).ceil() as usize).max(1)
}

/// Measures the services of a plan and keeps it in the store at this path: how that ended, and what was kept of it. `resume` is a study
/// to continue: of this name, or the newest that was not finished.
///
/// # Errors
///
/// When it could not begin.
pub fn scale(
    bench: Bench<'_>,
    plan: &ScalePlan,
    resume: &Option<Option<String>>,
    backend: Option<Backend>,
    store: &Path,
) -> Result<(Result<Ended, Failure>, StudyRecord), Failure> {
    let most = plan.services.iter().map(|service| service.scaling.cpus()).fold(0.0, f64::max);
    let cores = plan.total_cpus.map_or_else(|| whole_cores(most), |total| total as usize);
    attend_recorded(bench, cores, store, resume, StudyKind::Scale, async |pinning, record, stop| {
        let plans: Vec<&ComparePlan> = plan.services.iter().map(|service| &service.plan).collect();
        let (first, beside) = plans.split_first().ok_or_else(nothing)?;
        let purpose = Purpose { command: "scale", measures: true };
        let site = Site::take(bench, purpose, first, beside, backend, pinning, stop).await?;
        if site.ground.platform.machine().is_none() && site.pinning.is_shared() {
            bench.warning(
                "the instances may use every processor, so that they and the load disturb each other; lower --max-instances, \
                 --cpus or --total-cpus until a processor is left",
            );
        }
        if let Some(name) = resume {
            let earlier = resumption::find(record.store(), name.as_deref(), StudyKind::Scale)?;
            record.go_on_with(earlier);
        }
        measure(&site, &plan.services, None, &mut Copies::default(), record).await
    })
}

fn nothing() -> Failure {
    Failure::missing("there is nothing to run")
}

/// Measures services in the same blocks. A study of this name is a part of something else, which tells its settings; one that was
/// finished already is only compared with what would be measured now.
pub(crate) async fn measure(
    site: &Site<'_>,
    services: &[PlannedService],
    id: Option<StudyId>,
    copies: &mut Copies,
    record: &mut StudyRecord,
) -> Result<(), Failure> {
    let bench = site.bench();
    let PlannedService { plan, .. } = services.first().ok_or_else(nothing)?;
    let (ground, pinning) = (&site.ground, &site.pinning);
    // What is told of a part's cases was told of them before.
    let told = Bench { quiet: bench.quiet || id.is_some(), ..bench };
    let mut instances = Vec::new();
    for PlannedService { plan, scaling } in services {
        // An instance is made for what it is given at once; what the clients send is the service's.
        let connections = scaling.policy.concurrency(&scaling.service);
        let own = Conditions { load: Load::Closed { connections }, ..conditions(bench.host, plan, pinning.clone())? };
        let mut cases = ground.prepare_as(told, plan, &own, copies).await?;
        let mut instance = cases.prepared.pop().ok_or_else(nothing)?;
        instance.case.load = plan.load.clone();
        instance.scaling = Some(*scaling);
        if let Some(warning) = too_few_workers(&instance.case, connections).filter(|_| id.is_none()) {
            bench.warning(&warning);
        }
        instances.push(instance);
    }
    let workload = recording::complete(told, &*ground.platform, plan, &instances).await?;
    let started_at = site.now();
    let mut study = Study {
        metric: Some(PER_VCPU_SECOND.to_owned()),
        cases: instances.iter().map(|instance| instance.case.clone()).collect(),
        id: id.clone().unwrap_or_else(|| study::name(started_at)),
        ..begun(plan, StudyKind::Scale, site, started_at)
    };
    if let Some(earlier) = record.earlier() {
        resumption::check(
            earlier,
            &study,
            &ComparePlan { pilots: false, ..ComparePlan::clone(plan) },
            false,
            site.backend,
        )?;
        check_services(earlier, &instances)?;
        if earlier.finished_at.is_some() {
            return Ok(());
        }
        study = Study { resumed_at: [&earlier.study.resumed_at[..], &[started_at]].concat(), ..earlier.study.clone() };
    }
    let context = TrialContext {
        workload: &workload,
        scenario: None,
        ready_timeout: plan.ready_timeout,
        drain: DRAIN,
        timeout: None,
        failures: Failures::Faults,
        backend: site.backend,
        sampled: false,
        inside: None,
        yard_stick: None,
        stop: site.stop,
    };
    if id.is_none() {
        bench.settings(&study);
    }
    let trials = record.trials().to_vec();
    let earlier = stampede_analysis::measured_for(&study, &trials);
    let mut sinks = Sinks::new(record, site, earlier);
    let ended = stampede_harness::run(&*ground.platform, &study, &instances, &context, trials, &mut sinks);
    ended.await.map_err(Failure::missing)
}

/// Sees that the services are those whose trials are kept already.
fn check_services(earlier: &StoredStudy, instances: &[Prepared]) -> Result<(), Failure> {
    let changed = |trial: &&Trial| {
        let of_case = instances.iter().find(|instance| instance.case.id == trial.case);
        let scaling = of_case.and_then(|instance| instance.scaling);
        let then = trial.scale.as_ref().map(|scaled| &scaled.service);
        scaling.zip(then).is_some_and(|(scaling, then)| scaling.given(then.start) != *then)
    };
    match earlier.trials.iter().find(changed) {
        None => Ok(()),
        Some(trial) => Err(Failure::usage(format!(
            "cannot resume study {}: its service {} had other instances, limits of its queue, autoscaler or price\n  type what \
             was typed then, or leave out --resume",
            earlier.study.id, trial.case
        ))),
    }
}

/// What an instance is given at once, and cannot work on.
fn too_few_workers(case: &Case, given: u32) -> Option<String> {
    let mut pools = case.tuning.of_role(Role::PoolSize).filter_map(|(name, value)| Some((name, value.parse().ok()?)));
    // The process that keeps them may serve too, as that of PHP's own server does.
    let (name, workers) = pools.find(|(_, workers): &(_, u32)| *workers + 1 < given)?;
    Some(format!(
        "{name} is {workers}, and an instance is given {given} requests at once: the others wait in it, and those on \
         connections that no worker serves may never be answered; raise it with more --memory, or lower --concurrency"
    ))
}
