//! How a runtime behaves when its instances start on demand.

use std::path::Path;

use stampede_analysis::PER_VCPU_SECOND;
use stampede_core::{Case, CpuLayout, Failures, Load, Role, Study, StudyKind, Trial};
use stampede_harness::{Conditions, Copies, Prepared, Stop, TrialContext};
use stampede_plan::{ComparePlan, PlannedService, ScalePlan};
use stampede_seam::Backend;
use stampede_store::StoredStudy;

use crate::exit::Failure;
use crate::host::{Bench, Ended};
use crate::record::{Sinks, StudyRecord};
use crate::site::{Purpose, Site, conditions};
use crate::study::{DRAIN, attend_recorded, begun};
use crate::{recording, resumption};

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
        let measuring = Measuring { bench, services: &plan.services, resume, backend };
        measuring.carry_out(pinning, record, stop).await
    })
}

struct Measuring<'a> {
    bench: Bench<'a>,
    services: &'a [PlannedService],
    resume: &'a Option<Option<String>>,
    backend: Option<Backend>,
}

impl Measuring<'_> {
    async fn carry_out(&self, pinning: CpuLayout, record: &mut StudyRecord, stop: &Stop) -> Result<(), Failure> {
        let Self { bench, services, resume, backend } = *self;
        let nothing = || Failure::missing("there is nothing to run");
        let plans: Vec<&ComparePlan> = services.iter().map(|service| &service.plan).collect();
        let (plan, beside) = plans.split_first().ok_or_else(nothing)?;
        let site =
            Site::take(bench, Purpose { command: "scale", measures: true }, plan, beside, backend, pinning, stop)
                .await?;
        let (ground, pinning) = (&site.ground, &site.pinning);
        if pinning.is_shared() {
            bench.warning(
                "the instances may use every processor, so that they and the load disturb each other; lower --max-instances, \
                 --cpus or --total-cpus until a processor is left",
            );
        }
        if let Some(name) = resume {
            let earlier = resumption::find(record.store(), name.as_deref(), StudyKind::Scale)?;
            record.go_on_with(earlier);
        }
        let (mut instances, mut copies) = (Vec::new(), Copies::default());
        for PlannedService { plan, scaling } in services {
            // An instance is made for what it is given at once; what the clients send is the service's.
            let connections = scaling.policy.concurrency(&scaling.service);
            let own =
                Conditions { load: Load::Closed { connections }, ..conditions(bench.host, plan, pinning.clone())? };
            let mut cases = ground.prepare(plan, &own, &mut copies).await?;
            let mut instance = cases.prepared.pop().ok_or_else(nothing)?;
            instance.case.load = plan.load.clone();
            instance.scaling = Some(*scaling);
            if let Some(warning) = too_few_workers(&instance.case, connections) {
                bench.warning(&warning);
            }
            instances.push(instance);
        }
        let workload = recording::complete(bench, &*ground.platform, plan, &instances).await?;
        let started_at = site.now();
        let mut study = Study {
            metric: Some(PER_VCPU_SECOND.to_owned()),
            cases: instances.iter().map(|instance| instance.case.clone()).collect(),
            ..begun(plan, StudyKind::Scale, &site, started_at)
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
            study =
                Study { resumed_at: [&earlier.study.resumed_at[..], &[started_at]].concat(), ..earlier.study.clone() };
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
            stop,
        };
        bench.settings(&study);
        let trials = record.trials().to_vec();
        let earlier = stampede_analysis::measured_for(&study, &trials);
        let mut sinks = Sinks::new(record, &site, earlier);
        let ended = stampede_harness::run(&*ground.platform, &study, &instances, &context, trials, &mut sinks);
        ended.await.map_err(Failure::missing)
    }
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
