//! The plan of autoscaled services: one runtime each, instance by instance, measured in the same blocks.

mod typed;

use std::time::Duration;

use clap::Args;
use stampede_core::{Limits, Rounds};
use stampede_scale::{Policy, Price, Scaling, ServiceSettings};

use self::typed::{Common, TypedService};
use crate::capacity::check;
use crate::catalogue::Catalogue;
use crate::cluster;
use crate::compare::{CompareFlags, ComparePlan, Given, GivenLoad};
use crate::flags::{
    AppFlag, ClientRttFlag, DeploymentFlags, DurationFlag, ExchangesFlag, GeneratorsFlag, LoadFlag, OfflineFlag,
    PhpFlag, PlatformFlags, PodFlags, ReadyFlag, ReadyTimeoutFlag, RoundsFlag, SeedFlag, SubjectFlag, TopologyFlags,
    WarmUpFlag,
};
use crate::image::{self, ImageFlags};
use crate::machine_size::MachineSize;
use crate::mistake::{Gathered, Mistakes};
use crate::platform::{KUBERNETES, PlatformChoice};
use crate::service::{PriceFlag, ServiceFlags, WaitingFlags, read_count, read_waiting};

/// What a trial takes where nothing was said: long enough for some decisions of an autoscaler, which averages over a minute.
const DEFAULT_DURATION: &str = "30s";
/// In a cluster, whose autoscaler decides every 15 s from what it was told up to 15 s ago.
const DURATION_IN_CLUSTER: &str = "3m";
/// Cold starts are part of what is asked.
const DEFAULT_WARM_UP: &str = "0s";
const DEFAULT_ROUNDS: &str = "1";
/// The most pods, by default.
const MOST_PODS: u32 = 4;
/// What a verdict takes at least.
const ROUNDS_OF_SEVERAL: &str = "3";

/// The flags of `stampede scale` that say what is measured, unread.
#[derive(Args, Clone, Debug, Default)]
#[expect(missing_docs, reason = "each group says what it is")]
pub struct ScaleFlags {
    /// The runtime (see `stampede list runtimes`); with --image, --dockerfile or --compose it is `image` and may be left out
    #[arg(value_name = "RUNTIME", required_unless_present_any = ["images", "dockerfiles", "composes"])]
    pub runtime: Option<String>,
    #[command(flatten)]
    pub subject: SubjectFlag,
    #[command(flatten)]
    pub images: ImageFlags,
    #[command(flatten)]
    pub app: AppFlag,
    #[command(flatten)]
    pub exchanges: ExchangesFlag,
    #[command(flatten)]
    pub php: PhpFlag,
    #[command(flatten)]
    pub deployment: DeploymentFlags,
    #[command(flatten)]
    pub service: ServiceFlags,
    /// Also measure a second configuration, of which you give what differs: cpus=0.167,memory=256Mi,concurrency=1,max-instances=6;
    /// also runtime, min-instances, policy, name (may be repeated)
    #[arg(long, value_name = "KEY=VALUE,...", help_heading = "Service")]
    pub against: Vec<String>,
    /// CPUs of this machine that all instances share [default: as many as their limits add up to]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Service")]
    pub total_cpus: Option<String>,
    #[command(flatten)]
    pub ready: ReadyFlag,
    #[command(flatten)]
    pub waiting: WaitingFlags,
    #[command(flatten)]
    pub price: PriceFlag,
    #[command(flatten)]
    pub load: LoadFlag,
    #[command(flatten)]
    pub client_rtt: ClientRttFlag,
    #[command(flatten)]
    pub duration: DurationFlag,
    #[command(flatten)]
    pub warm_up: WarmUpFlag,
    #[command(flatten)]
    pub rounds: RoundsFlag,
    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub ready_timeout: ReadyTimeoutFlag,
    #[command(flatten)]
    pub platform: PlatformFlags,
    #[command(flatten)]
    pub offline: OfflineFlag,
    #[command(flatten)]
    pub generators: GeneratorsFlag,
    #[command(flatten)]
    pub pods: PodFlags,
}

/// Services that are measured in the same blocks.
#[derive(Clone, Debug)]
pub struct ScalePlan {
    /// One at the least.
    pub services: Vec<PlannedService>,
    /// How many processors they may use together; as many as the largest may, where that is not given.
    pub total_cpus: Option<u32>,
    /// What is told before they are measured.
    pub warnings: Vec<String>,
}

/// A service without mistakes.
#[derive(Clone, Debug)]
pub struct PlannedService {
    /// Its only case, as one deployment. Its load is that of the whole service.
    pub plan: ComparePlan,
    /// How its instances are started and stopped.
    pub scaling: Scaling,
}

impl ScalePlan {
    /// Reads flags and the plan file that they name.
    ///
    /// # Errors
    ///
    /// All mistakes of the command line and of the files that it names.
    pub fn read(flags: ScaleFlags, machine: MachineSize, catalogue: &dyn Catalogue) -> Result<Self, Mistakes> {
        let ScaleFlags { deployment, service, against, total_cpus, waiting, price, mut rounds, .. } = flags;
        let (runtime, subject) = image::runtime_and_subject(flags.runtime, flags.subject, &flags.images);
        let mut mistakes = Gathered::default();
        let first = TypedService { name: None, runtime, deployment, service };
        let mut typed = vec![first.clone()];
        for changes in &against {
            match first.changed(changes) {
                Ok(service) => typed.push(service),
                Err(mistake) => mistakes.extend(mistake),
            }
        }
        if !against.is_empty() {
            rounds.rounds.get_or_insert_with(|| ROUNDS_OF_SEVERAL.to_owned());
        }
        let (queue_wait, request_timeout) = read_waiting(&waiting, &mut mistakes);
        let total_cpus = total_cpus.map(|typed| read_count("--total-cpus", Some(&typed), 1, &mut mistakes));
        let common = Common {
            flags: CompareFlags {
                subject,
                images: flags.images,
                app: flags.app,
                exchanges: flags.exchanges,
                php: flags.php,
                load: flags.load,
                duration: flags.duration,
                warm_up: flags.warm_up,
                rounds,
                seed: flags.seed,
                ready_timeout: flags.ready_timeout,
                platform: flags.platform,
                offline: flags.offline,
                generators: flags.generators,
                pods: flags.pods,
                topology: TopologyFlags {
                    client_rtt: flags.client_rtt,
                    ready: flags.ready,
                    ..TopologyFlags::default()
                },
                ..CompareFlags::default()
            },
            total_cpus,
            queue_wait,
            request_timeout,
            price: price.price,
            machine,
            catalogue,
        };
        let services = common.read_all(&typed);
        mistakes.finish(services).map(|(services, warnings)| Self { services, total_cpus, warnings })
    }
}

/// What a service is to be, apart from its case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceAsked {
    /// The most requests that an instance is given at once.
    pub(crate) concurrency: u32,
    pub(crate) instances: InstancesAsked,
    pub(crate) policy: Policy,
    /// How long a request may wait for an instance, where it is not the policy that says so.
    pub(crate) queue_wait: Option<Duration>,
    pub(crate) request_timeout: Duration,
    pub(crate) price: &'static Price,
}

/// How many instances were asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InstancesAsked {
    /// The fewest.
    pub(crate) least: u32,
    /// The most; where nothing was said, as many as memory and the processors hold that the load leaves, and the fewest at least.
    pub(crate) most: Option<u32>,
    /// How many processors all of them share, where that was said: then they may be allowed more CPU together than that.
    pub(crate) total_cpus: Option<u32>,
}

/// Reads flags and the plan file that they name: one case with the settings of an instance, which is given as many requests at
/// once as its autoscaler allows under its limits.
///
/// # Errors
///
/// All mistakes of the command line and of the files that it names.
pub(crate) fn read_service(
    runtime: &str,
    mut flags: CompareFlags,
    asked: ServiceAsked,
    machine: MachineSize,
    catalogue: &dyn Catalogue,
) -> Result<PlannedService, Mistakes> {
    let ServiceAsked { concurrency, instances, policy, queue_wait, request_timeout, price } = asked;
    let service = |limits: &Limits, most: u32| ServiceSettings {
        request_timeout,
        cpu_allocation: policy.allocation(),
        ..ServiceSettings::on_demand(limits.cpus, limits.memory, concurrency, instances.least, most)
    };
    let given = |limits: &Limits| policy.concurrency(&service(limits, 1));
    let mut mistakes = Gathered::default();
    let is_asked_for = flags.platform.platform.as_deref() == Some(KUBERNETES);
    let duration = if is_asked_for { DURATION_IN_CLUSTER } else { DEFAULT_DURATION };
    flags.duration.duration.get_or_insert_with(|| duration.to_owned());
    flags.warm_up.warm_up.get_or_insert_with(|| DEFAULT_WARM_UP.to_owned());
    flags.rounds.rounds.get_or_insert_with(|| DEFAULT_ROUNDS.to_owned());
    flags.no_yard_stick = true;
    flags.sampling.no_sampling = true;
    let given =
        Given { runtime: Some(runtime), load: GivenLoad::OfInstances(&given), in_cluster: true, ..Given::default() };
    let mut plan = ComparePlan::read_given(&flags, given, machine, catalogue)?;
    let is_cluster = match &mut plan.platform {
        PlatformChoice::Kubernetes(choice) => {
            choice.scales = true;
            true
        }
        PlatformChoice::Local | PlatformChoice::Docker { .. } => false,
    };
    let asked_platform = is_cluster.then_some(KUBERNETES);
    let machine = cluster::size(asked_platform, machine);
    check(&plan, &format!("runtime {runtime}"), &mut mistakes);
    if let Rounds::Auto { .. } = plan.rounds {
        mistakes.add("--rounds auto", "does not go with cold starts, which take as long as they take", "give a number");
    }
    if is_cluster {
        check_cluster(&policy, instances, queue_wait, &mut mistakes);
    }
    let most = match (is_cluster, instances.most) {
        (true, None) => MOST_PODS.max(instances.least),
        _ => most_instances(&plan.limits, instances, machine, &mut mistakes),
    };
    let service = service(&plan.limits, most);
    let scaling = Scaling { service, policy, queue_wait, price, total_cpus: instances.total_cpus };
    mistakes.finish(Ok(PlannedService { plan, scaling }))
}

/// What a cluster's own autoscaler does not do.
fn check_cluster(policy: &Policy, instances: InstancesAsked, queue_wait: Option<Duration>, mistakes: &mut Gathered) {
    if !matches!(policy, Policy::Hpa(_)) {
        let problem = "is acted out on this machine, and a cluster scales by its own: hpa";
        mistakes.add(format!("--policy {}", policy.name()), problem, "use --policy hpa, or --platform local");
    }
    if let Some(total) = instances.total_cpus {
        let problem = "is for this machine, and a cluster has nodes";
        mistakes.add(format!("--total-cpus {total}"), problem, "leave it out");
    }
    if queue_wait.is_some() {
        let problem = "is a gateway's, and before a cluster's service there is none";
        mistakes.add("--queue-limit", problem, "leave it out");
    }
}

/// How many instances there may be, and what of it this machine does not have.
fn most_instances(
    Limits { cpus, memory }: &Limits,
    InstancesAsked { least, most, total_cpus }: InstancesAsked,
    machine: MachineSize,
    mistakes: &mut Gathered,
) -> u32 {
    let left = f64::from(total_cpus.unwrap_or(machine.cpus.saturating_sub(1).max(1)));
    let held = u32::try_from(machine.memory.get() / memory.get().max(1)).unwrap_or(u32::MAX);
    let most = most.unwrap_or(((left / cpus.cores()) as u32).min(held).max(least).max(1));
    let asked = format!("--max-instances {most}");
    let fix = "or ask stampede forecast, which simulates as many as there may be";
    match total_cpus {
        Some(total) if total == 0 || total > machine.cpus => {
            let problem = format!("is no number of this machine's {} processors", machine.cpus);
            mistakes.add(format!("--total-cpus {total}"), problem, "lower it to what is there");
        }
        Some(total) if cpus.cores() > f64::from(total) => {
            let problem = format!("is more for an instance than the {total} that all of them share");
            mistakes.add(format!("--cpus {cpus}"), problem, "lower it, or raise --total-cpus");
        }
        Some(_) => {}
        None if cpus.cores() * f64::from(most) > f64::from(machine.cpus) => {
            let problem = format!("of {cpus} CPU each is more than this machine's {} processors", machine.cpus);
            mistakes.add(&asked, problem, format!("lower it or --cpus, let them share by --total-cpus, {fix}"));
        }
        None => {}
    }
    if memory.get().saturating_mul(u64::from(most)) > machine.memory.get() {
        let problem = format!("of {memory} each is more than this machine's memory");
        mistakes.add(&asked, problem, format!("lower it or --memory, {fix}"));
    }
    most
}

#[cfg(test)]
mod tests {
    use stampede_core::{Bytes, Cpus};

    use super::*;

    #[test]
    fn instances_are_as_many_as_the_machine_holds_unless_something_else_is_said() {
        let machine = MachineSize { cpus: 4, memory: Bytes::from_mib(2048), connections: 1000 };
        let asked = |least, most, total_cpus| InstancesAsked { least, most, total_cpus };
        for (name, cpus, memory, asked, expected, told) in [
            ("three processors are left", 500, 64, asked(0, None, None), 6, ""),
            ("memory holds fewer", 500, 512, asked(0, None, None), 4, ""),
            ("the fewest are more", 1000, 64, asked(4, None, None), 4, ""),
            ("as asked", 1000, 64, asked(0, Some(2), None), 2, ""),
            ("more than there are", 1000, 64, asked(0, Some(5), None), 5, "--max-instances 5 of 1 CPU each is more"),
            ("more that share what there is", 1000, 64, asked(0, Some(5), Some(4)), 5, ""),
            ("as many as share it", 250, 64, asked(0, None, Some(2)), 8, ""),
            ("a cap above the machine's", 1000, 64, asked(0, None, Some(5)), 5, "--total-cpus 5 is no number"),
            ("a cap of nothing", 1000, 64, asked(0, None, Some(0)), 1, "--total-cpus 0 is no number"),
            ("an instance above the cap", 2000, 64, asked(0, None, Some(1)), 1, "--cpus 2 is more for an instance"),
            ("too much memory", 250, 1024, asked(0, Some(3), None), 3, "--max-instances 3 of 1Gi each is more"),
        ] {
            let mut mistakes = Gathered::default();
            let limits = Limits { cpus: Cpus::from_millis(cpus), memory: Bytes::from_mib(memory) };
            assert_eq!(most_instances(&limits, asked, machine, &mut mistakes), expected, "{name}");
            let problems = mistakes.finish(Ok(())).err().map_or_else(String::new, |mistakes| mistakes.to_string());
            assert!(problems.is_empty() == told.is_empty() && problems.contains(told), "{name}: {problems}");
        }
    }
}
