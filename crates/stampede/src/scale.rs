//! `stampede scale`: how does a runtime behave when its instances start on demand?

pub(crate) mod args;

mod service;

use stampede_conduct::{Failure, Host, Services};
use stampede_plan::{CompareFlags, TopologyFlags};
use stampede_scale::{CpuAllocation, Service};

use crate::compare::conclude;
use crate::forecast::question::Flags;
use crate::scale::args::{PriceArgs, ScaleArgs, WaitingArgs};
use crate::scale::service::{Common, TypedService};
use crate::show::Report;
use crate::{Outcome, folders, screen};

/// What a verdict takes at least.
const ROUNDS_OF_SEVERAL: &str = "3";

pub(crate) fn run(args: Box<ScaleArgs>, host: &dyn Host) -> Outcome {
    let ScaleArgs {
        runtime,
        subject,
        app,
        exchanges,
        php,
        deployment,
        service,
        against,
        total_cpus,
        ready,
        waiting: WaitingArgs { queue_limit, request_timeout },
        price: PriceArgs { price },
        load,
        client_rtt,
        duration,
        warm_up,
        mut rounds,
        seed,
        ready_timeout,
        resume,
        backend,
        platform,
        output,
        store,
        bench,
    } = *args;
    let mut flags = Flags::default();
    let first = TypedService { name: None, runtime, deployment, service };
    let mut typed = vec![first.clone()];
    for changes in &against {
        match first.changed(changes) {
            Ok(service) => typed.push(service),
            Err(problem) => flags.problems.push(problem),
        }
    }
    if !against.is_empty() {
        rounds.rounds.get_or_insert_with(|| ROUNDS_OF_SEVERAL.to_owned());
    }
    let common = Common {
        flags: CompareFlags {
            subject,
            app,
            exchanges,
            php,
            load,
            duration,
            warm_up,
            rounds,
            seed,
            ready_timeout,
            platform,
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
    let ((services, warnings), ()) = Failure::both(common.read_all(&typed).map_err(told), typed_rightly)?;
    let (services, report) = Failure::both(Ok(services), Report::new(output))?;
    warnings.iter().for_each(|warning| screen::warning(warning));
    let services =
        Services { services, total_cpus: common.total_cpus, resume: resume.resume, backend: backend.backend.chosen() };
    let path = folders::store(&store)?;
    let (ended, mut record) = services.carry_out(bench.on(host), &path)?;
    conclude(ended, &report, &mut record, &path, host)
}
