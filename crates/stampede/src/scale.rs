//! `stampede scale`: how does a runtime behave when its instances start on demand?

pub(crate) mod args;

mod service;

use stampede_analysis::PER_VCPU_SECOND;
use stampede_core::{Case, CpuLayout, Failures, Groundwork, Load, Role, Study, StudyKind, Trial};
use stampede_harness::{Conditions, Copies, Prepared, Stop, TrialContext};
use stampede_plan::{CompareFlags, ComparePlan, SubjectFlag, TopologyFlags};
use stampede_scale::{CpuAllocation, Service};
use stampede_store::{Store, StoredStudy};

use crate::backend::BackendChoice;
use crate::compare::{DRAIN, Sinks, attend, conclude, name, random, tell_settings};
use crate::exit::Failure;
use crate::forecast::question::Flags;
use crate::ground::{self, Ground};
use crate::host::Host;
use crate::progress::Progress;
use crate::record::Record;
use crate::scale::args::ScaleArgs;
use crate::scale::service::{Common, PlannedService, TypedService};
use crate::show::Report;
use crate::{Outcome, recording, resumption, screen};

/// What a verdict takes at least.
const ROUNDS_OF_SEVERAL: &str = "3";

/// Instances that are allowed more CPU than whole processors by less than this share of it are given no further processor: that
/// would be the generator's.
const NEGLIGIBLE: f64 = 0.01;

pub(crate) fn run(args: Box<ScaleArgs>, host: &dyn Host) -> Outcome {
    let ScaleArgs {
        runtime,
        subject,
        app,
        exchanges,
        php,
        set,
        cpus,
        memory,
        concurrency,
        min_instances,
        max_instances,
        policy,
        against,
        total_cpus,
        ready,
        queue_limit,
        request_timeout,
        price,
        load,
        client_rtt,
        duration,
        warm_up,
        rounds,
        seed,
        ready_timeout,
        resume,
        backend,
        platform,
        base_image,
        no_wait,
        output,
        store,
        quiet,
    } = *args;
    let mut flags = Flags::default();
    let first = TypedService { name: None, runtime, cpus, memory, concurrency, min_instances, max_instances, policy };
    let mut typed = vec![first.clone()];
    for changes in &against {
        match first.changed(changes) {
            Ok(service) => typed.push(service),
            Err(problem) => flags.problems.push(problem),
        }
    }
    let of_several = (!against.is_empty()).then(|| ROUNDS_OF_SEVERAL.to_owned());
    let common = Common {
        flags: CompareFlags {
            subject: subject.map_or(SubjectFlag::Nothing, SubjectFlag::Named),
            app,
            exchanges,
            php,
            set,
            load,
            duration,
            warm_up,
            rounds: rounds.or(of_several),
            seed,
            ready_timeout,
            platform,
            base_image,
            topology: TopologyFlags { client_rtt, ready, ..TopologyFlags::default() },
            ..CompareFlags::default()
        },
        total_cpus: total_cpus.as_ref().map(|text| flags.count("--total-cpus", Some(text), 1)),
        queue_wait: queue_limit.as_ref().map(|text| flags.time("--queue-limit", Some(text), Service::REQUEST_TIMEOUT)),
        request_timeout: flags.time("--request-timeout", request_timeout.as_ref(), Service::REQUEST_TIMEOUT),
        price: flags.price(price.as_deref(), CpuAllocation::DuringRequests),
        machine: host.size(),
    };
    let told = |problems: Vec<String>| Failure::usage(problems.join("\n"));
    let typed_rightly = if flags.problems.is_empty() { Ok(()) } else { Err(told(flags.problems)) };
    let (services, ()) = Failure::both(common.read_all(&typed).map_err(told), typed_rightly)?;
    let (services, report) = Failure::both(Ok(services), Report::new(output))?;
    services.iter().filter_map(|service| service.warning.as_ref()).for_each(|warning| screen::warning(warning));
    let most = services.iter().map(PlannedService::cpus).fold(0.0, f64::max);
    let cores = common.total_cpus.map_or_else(|| cores(most), |total| total as usize);
    let earlier = |store: &Store| match &resume {
        Some(name) => resumption::find(store, name.as_deref(), StudyKind::Scale).map(drop),
        None => Ok(()),
    };
    let question = Question { services, resume: resume.clone(), backend, no_wait, quiet };
    let (ended, mut record, path) = attend(host, cores, &store, quiet, earlier, async |pinning, record, stop| {
        question.measure(host, pinning, record, stop).await
    })?;
    conclude(ended, &report, &mut record, &path, host)
}

/// How many processors serve instances that are allowed so much CPU together.
pub(crate) fn cores(cpus: f64) -> usize {
    ((cpus * (1.0 - NEGLIGIBLE)).ceil() as usize).max(1)
}

/// What is to be measured.
struct Question {
    /// One at the least.
    services: Vec<PlannedService>,
    /// A study to go on with: of this name, or the newest that was not finished.
    resume: Option<Option<String>>,
    backend: BackendChoice,
    no_wait: bool,
    quiet: bool,
}

impl Question {
    async fn measure(
        &self,
        host: &dyn Host,
        pinning: CpuLayout,
        record: &mut Record,
        stop: &Stop,
    ) -> Result<(), Failure> {
        let Self { services, resume, backend, no_wait, quiet } = self;
        let nothing = || Failure::missing("there is nothing to run");
        let plans: Vec<&ComparePlan> = services.iter().map(|service| &service.plan).collect();
        let (plan, beside) = plans.split_first().ok_or_else(nothing)?;
        let ground = Ground::take(host, "scale", plan, beside, &pinning, *no_wait, *quiet).await?;
        if pinning.is_shared() {
            screen::warning(
                "the instances may use every processor, so that they and the load disturb each other; lower --max-instances, \
                 --cpus or --total-cpus until a processor is left",
            );
        }
        if let Some(name) = resume {
            let earlier = resumption::find(record.store(), name.as_deref(), StudyKind::Scale)?;
            record.go_on_with(earlier);
        }
        let quiet = *quiet;
        let backend = host.backend(*backend, &pinning, quiet).await;
        let (mut instances, mut copies) = (Vec::new(), Copies::default());
        for PlannedService { plan, scaling, .. } in services {
            // An instance is made for what it is given at once; what the clients send is the service's.
            let connections = scaling.policy.concurrency(&scaling.service);
            let own = Conditions { load: Load::Closed { connections }, ..ground::conditions(plan, pinning.clone())? };
            let mut prepared = ground.prepare(plan, &own, &mut copies, quiet).await?;
            let mut instance = prepared.pop().ok_or_else(nothing)?;
            instance.case.load = plan.load.clone();
            instance.scaling = Some(*scaling);
            if let Some(warning) = too_few_workers(&instance.case, connections) {
                screen::warning(&warning);
            }
            instances.push(instance);
        }
        let workload = recording::complete(&*ground.platform, plan, &instances, quiet).await?;
        let started_at = ground.platform.vantage().timestamp();
        let mut study = Study {
            id: name(started_at),
            kind: StudyKind::Scale,
            workload: plan.workload.id.clone(),
            seed: plan.seed.unwrap_or_else(|| u64::from(random() as u32)),
            rounds: plan.rounds,
            precision: plan.precision,
            metric: Some(PER_VCPU_SECOND.to_owned()),
            slo: None,
            warm_up: plan.warm_up,
            duration: plan.duration,
            started_at,
            stampede_version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: host.machine(),
            cases: instances.iter().map(|instance| instance.case.clone()).collect(),
            groundwork: Groundwork::default(),
            resumed_at: Vec::new(),
        };
        if let Some(earlier) = record.earlier() {
            resumption::check(earlier, &study, plan.seed, false, backend)?;
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
            backend,
            sampled: false,
            yard_stick: None,
            stop,
        };
        if !quiet {
            tell_settings(&study);
        }
        let trials = record.trials().to_vec();
        let earlier = stampede_analysis::measured_for(&study, &trials);
        let mut sinks = Sinks { record, progress: Progress::new(quiet, stop, earlier) };
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
            "cannot go on with study {}: its service {} had other instances, limits of its queue, autoscaler or price\n  type what \
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
