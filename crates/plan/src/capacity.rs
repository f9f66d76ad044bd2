//! The plan of a capacity: how many requests a second can a runtime take before an objective breaks?

use std::time::Duration;

use clap::Args;
use stampede_core::{Rounds, short_time};

use crate::catalogue::Catalogue;
use crate::compare::{CompareFlags, ComparePlan, Given, GivenLoad};
use crate::flags::{
    AppFlag, DeploymentFlags, DurationFlag, ExchangesFlag, GeneratorsFlag, MaxTimeFlag, OfflineFlag, PhpFlag,
    PlatformFlags, PodFlags, ReadyTimeoutFlag, SamplingFlag, SeedFlag, SloFlag, SubjectFlag, TopologyFlags, WarmUpFlag,
};
use crate::image::{self, ImageFlags};
use crate::machine_size::MachineSize;
use crate::mistake::{Gathered, Mistakes};
use crate::rounds::read_max_time;

/// What a probe takes where nothing was said: shorter ones hold too few bursts of slow requests to tell a rate to 3 %
/// (docs/bench-capacity.md).
const DEFAULT_DURATION: &str = "45s";
/// The load before a probe's window: the queue of an open load comes to its length in it.
const DEFAULT_WARM_UP: &str = "2s";
const DEFAULT_MAX_TIME: Duration = Duration::from_secs(900);
/// Settings that follow from the load are those for as many connections as a probe may open.
const LOAD: &str = "open:poisson:1";

/// The flags of `stampede capacity` that say what is measured, unread.
#[derive(Args, Clone, Debug, Default)]
#[expect(missing_docs, reason = "each group says what it is")]
pub struct CapacityFlags {
    /// The runtime (see `stampede list runtimes`); with --image, --dockerfile or --compose it is `image` and may be left out
    #[arg(value_name = "RUNTIME", required_unless_present_any = ["images", "dockerfiles", "composes"])]
    pub runtime: Option<String>,
    #[command(flatten)]
    pub subject: SubjectFlag,
    #[command(flatten)]
    pub images: ImageFlags,
    #[command(flatten)]
    pub slo: SloFlag,
    #[command(flatten)]
    pub app: AppFlag,
    #[command(flatten)]
    pub exchanges: ExchangesFlag,
    #[command(flatten)]
    pub php: PhpFlag,
    #[command(flatten)]
    pub deployment: DeploymentFlags,
    #[command(flatten)]
    pub duration: DurationFlag,
    #[command(flatten)]
    pub warm_up: WarmUpFlag,
    #[command(flatten)]
    pub max_time: MaxTimeFlag,
    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub ready_timeout: ReadyTimeoutFlag,
    #[command(flatten)]
    pub platform: PlatformFlags,
    #[command(flatten)]
    pub generators: GeneratorsFlag,
    #[command(flatten)]
    pub pods: PodFlags,
    #[command(flatten)]
    pub offline: OfflineFlag,
    #[command(flatten)]
    pub sampling: SamplingFlag,
    #[command(flatten)]
    pub topology: TopologyFlags,
}

/// Reads flags and the plan file that they name: the comparison of one case with itself under several loads. Its own load means
/// nothing, its rounds are the time that the probes have, and it has an objective. `least` is how long the probes take at least
/// when a window and the warm-up before it are this long.
///
/// # Errors
///
/// All mistakes of the command line and of the files that it names.
pub fn read_capacity(
    flags: CapacityFlags,
    least: fn(Duration, Duration) -> Duration,
    machine: MachineSize,
    catalogue: &dyn Catalogue,
) -> Result<ComparePlan, Mistakes> {
    let CapacityFlags { max_time, mut duration, mut warm_up, .. } = flags;
    let (runtime, subject) = image::runtime_and_subject(flags.runtime, flags.subject, &flags.images);
    let mut mistakes = Gathered::default();
    let max_time = read_max_time(max_time.max_time.as_deref(), &mut mistakes);
    duration.duration.get_or_insert_with(|| DEFAULT_DURATION.to_owned());
    warm_up.warm_up.get_or_insert_with(|| DEFAULT_WARM_UP.to_owned());
    let compare = CompareFlags {
        subject,
        images: flags.images,
        platform: flags.platform,
        generators: flags.generators,
        pods: flags.pods,
        offline: flags.offline,
        app: flags.app,
        exchanges: flags.exchanges,
        php: flags.php,
        deployment: flags.deployment,
        duration,
        warm_up,
        seed: flags.seed,
        ready_timeout: flags.ready_timeout,
        sampling: flags.sampling,
        topology: flags.topology,
        slo: flags.slo,
        no_yard_stick: true,
        ..CompareFlags::default()
    };
    let given = Given {
        runtime: Some(&runtime),
        rounds: Some(1),
        load: GivenLoad::Only(LOAD),
        in_cluster: true,
        ..Given::default()
    };
    let mut plan = ComparePlan::read_given(&compare, given, machine, catalogue);
    let place = format!("runtime {runtime}");
    if let Ok(plan) = &mut plan {
        if plan.slo.is_none() {
            mistakes.add(&place, "has no SLO to meet", "add --slo 'p99<100ms,errors<0.1%'");
        }
        check(plan, &place, &mut mistakes);
        let needed = least(plan.duration, plan.warm_up);
        if let Some(asked) = max_time.filter(|asked| *asked < needed) {
            let [asked, window, needed] =
                [asked, plan.duration, Duration::from_secs(needed.as_secs() + 1)].map(short_time);
            mistakes.add(
                format!("--max-time {asked}"),
                format!("is too short: a curve, two probes of {window} and a confirmation take {needed}"),
                format!("use at least --max-time {needed}, or a shorter --duration"),
            );
        }
        plan.rounds = Rounds::Auto { max_time: max_time.unwrap_or(DEFAULT_MAX_TIME.max(needed * 2)) };
    }
    mistakes.finish(plan)
}

/// What is wrong with a comparison as a case of its own.
pub(crate) fn check(plan: &ComparePlan, place: &str, mistakes: &mut Gathered) {
    match (plan.candidates.as_slice(), plan.unable.first()) {
        ([], Some((_, kinds))) => {
            let serves = format!("cannot serve {}: it serves apps of kind {}", plan.workload.id, kinds.join(" or "));
            mistakes.add(place, serves, "name another runtime; see stampede list runtimes");
        }
        ([_], _) | ([], None) => {}
        (many, _) => {
            let names: Vec<String> = many.iter().map(|candidate| candidate.id.to_string()).collect();
            mistakes.add(place, format!("is several cases: {}", names.join(", ")), "name one runtime, app and PHP");
        }
    }
    if plan.scenario.is_some() {
        let problem = format!("plays the scenario of {}, whose crowds have rates of their own", plan.workload.id);
        mistakes.add(place, problem, "name a workload without one, or its exchanges with --exchanges");
    }
}
