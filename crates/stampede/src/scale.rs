//! `stampede scale`: how does a runtime behave when its instances start on demand?

pub(crate) mod args;

use std::panic::resume_unwind;

use jiff::Timestamp;
use stampede_core::{Case, CpuLayout, Failures, Groundwork, Limits, Load, Machine, Role, Rounds, Study, StudyKind};
use stampede_harness::{Conditions, Copies, Scaling, Stop, Surroundings};
use stampede_plan::{CompareFlags, ComparePlan, SubjectFlag, TopologyFlags, read_scale};
use stampede_scale::{CpuAllocation, Service};

use crate::backend::BackendChoice;
use crate::catalogue::BuiltIn;
use crate::compare::{DRAIN, Sinks, attend, conclude, name, random, tell_settings};
use crate::exit::Failure;
use crate::forecast::question::{CONCURRENCY, Flags};
use crate::ground::{self, Ground};
use crate::progress::Progress;
use crate::record::Record;
use crate::scale::args::ScaleArgs;
use crate::show::Report;
use crate::{Outcome, recording, screen};

pub(crate) fn run(args: Box<ScaleArgs>) -> Outcome {
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
        backend,
        no_wait,
        output,
        store,
        quiet,
    } = *args;
    let compared = CompareFlags {
        subject: subject.map_or(SubjectFlag::Nothing, SubjectFlag::Named),
        app,
        exchanges,
        php,
        set,
        cpus,
        memory,
        load,
        duration,
        warm_up,
        rounds,
        seed,
        ready_timeout,
        topology: TopologyFlags { client_rtt, ..TopologyFlags::default() },
        ..CompareFlags::default()
    };
    let mut flags = Flags::default();
    let asked = flags.count("--concurrency", concurrency.as_ref(), CONCURRENCY);
    let least = flags.count("--min-instances", min_instances.as_ref(), 0);
    let most = max_instances.as_ref().map(|text| flags.count("--max-instances", Some(text), 1));
    let (policy, policy_name) = flags.policy(policy.as_deref());
    let queue_wait = queue_limit.as_ref().map(|text| flags.time("--queue-limit", Some(text), Service::REQUEST_TIMEOUT));
    let request_timeout = flags.time("--request-timeout", request_timeout.as_ref(), Service::REQUEST_TIMEOUT);
    let price = flags.price(price.as_deref(), CpuAllocation::DuringRequests);
    let service = |limits: &Limits, most: u32| Service {
        cpus: limits.cpus,
        memory: limits.memory,
        concurrency: asked,
        min_instances: least,
        max_instances: most,
        cpu_allocation: CpuAllocation::DuringRequests,
        start_up_boost: false,
        request_timeout,
    };
    let given = |limits: &Limits| policy.concurrency(&service(limits, 1));
    let machine = stampede_platforms::machine();
    let typed = match flags.problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::usage(flags.problems.join("\n"))),
    };
    let plan = read_scale(&runtime, &compared, &given, (least, most), ground::size(&machine), &BuiltIn);
    let (plan, ()) = Failure::both(plan.map_err(Failure::usage), typed)?;
    let (plan, report) = Failure::both(Ok(plan), Report::new(output))?;
    let (plan, most) = plan;
    let service = service(&plan.limits, most);
    let problems: Vec<String> = policy.problems(&service).iter().map(ToString::to_string).collect();
    if !problems.is_empty() {
        return Err(Failure::usage(problems.join("\n")));
    }
    let given = policy.concurrency(&service);
    if concurrency.is_some() && given != asked {
        screen::warning(&format!(
            "--concurrency {asked} is {given} on {} CPU: {policy_name} gives an instance below 1 CPU one request at a time",
            plan.limits.cpus
        ));
    }
    let question = Question {
        plan,
        scaling: Scaling { service, policy, policy_name, queue_wait, price },
        backend,
        no_wait,
        quiet,
    };
    let cores = (f64::from(most) * question.plan.limits.cpus.cores()).ceil().max(1.0) as usize;
    let (ended, mut record, path) = attend(
        cores,
        &store,
        quiet,
        |_| Ok(()),
        async |pinning, record, stop| question.measure(machine, pinning, record, stop).await,
    )?;
    conclude(ended, &report, &mut record, &path)
}

/// What is to be measured.
struct Question {
    plan: ComparePlan,
    scaling: Scaling<'static>,
    backend: BackendChoice,
    no_wait: bool,
    quiet: bool,
}

impl Question {
    async fn measure(
        &self,
        machine: Machine,
        pinning: CpuLayout,
        record: &mut Record,
        stop: &Stop,
    ) -> Result<(), Failure> {
        let Self { plan, scaling, backend, no_wait, quiet } = self;
        let ground = Ground::take(plan, &pinning, *no_wait).await?;
        if pinning.is_shared() {
            screen::warning(
                "the instances may use every processor, so that they and the load disturb each other; lower --max-instances \
                 or --cpus until a processor is left",
            );
        }
        let (choice, cpus, quiet) = (*backend, pinning.clone(), *quiet);
        let backend = match tokio::task::spawn_blocking(move || choice.find(&cpus, quiet)).await {
            Ok(backend) => backend,
            Err(panic) => resume_unwind(panic.into_panic()),
        };
        // An instance is made for what it is given at once; what the clients send is the service's.
        let connections = scaling.policy.concurrency(&scaling.service);
        let own = Conditions { load: Load::Closed { connections }, ..ground::conditions(plan, pinning)? };
        let mut prepared = ground.prepare(plan, &own, &mut Copies::default(), quiet).await?;
        let workload = recording::complete(&*ground.platform, plan, &prepared, quiet).await?;
        let mut instance = prepared.pop().ok_or_else(|| Failure::missing("there is nothing to run"))?;
        instance.case.load = plan.load.clone();
        if let Some(warning) = too_few_workers(&instance.case, connections) {
            screen::warning(&warning);
        }
        let started_at = Timestamp::now();
        let study = Study {
            id: name(started_at),
            kind: StudyKind::Scale,
            workload: plan.workload.id.clone(),
            seed: plan.seed.unwrap_or_else(|| u64::from(random() as u32)),
            rounds: plan.rounds,
            precision: plan.precision,
            metric: None,
            slo: None,
            warm_up: plan.warm_up,
            duration: plan.duration,
            started_at,
            stampede_version: env!("CARGO_PKG_VERSION").to_owned(),
            machine,
            cases: vec![instance.case.clone()],
            groundwork: Groundwork::default(),
            resumed_at: Vec::new(),
        };
        let surroundings = Surroundings {
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
        let rounds = match study.rounds {
            Rounds::Fixed(rounds) => rounds,
            Rounds::Auto { .. } => 1,
        };
        let mut sinks = Sinks { record, progress: Progress::new(quiet, stop, Default::default()) };
        let ended =
            stampede_harness::scale(&*ground.platform, &study, rounds, &instance, scaling, &surroundings, &mut sinks);
        ended.await.map_err(Failure::missing)
    }
}

/// What an instance is given at once, and cannot work on.
fn too_few_workers(case: &Case, given: u32) -> Option<String> {
    let mut pools = case.tuning.of_role(Role::PoolSize).filter_map(|(name, value)| Some((name, value.parse().ok()?)));
    let (name, workers) = pools.find(|(_, workers): &(_, u32)| *workers < given)?;
    Some(format!(
        "{name} is {workers}, and an instance is given {given} requests at once: the others wait in it, and those on \
         connections that no worker serves may never be answered; raise it with more --memory, or lower --concurrency"
    ))
}
