//! The command line of `stampede scale`.

use clap::Arg;
use stampede_plan::{
    AppFlag, ClientRttFlag, DeploymentFlags, DurationFlag, ExchangesFlag, LoadFlag, PhpFlag, PlatformFlags, ReadyFlag,
    ReadyTimeoutFlag, RoundsFlag, SeedFlag, SubjectFlag, WarmUpFlag,
};

use crate::args::{BackendArgs, BenchArgs, OutputArgs, ResumeArgs, StoreArgs};

/// Which runtime, behind which autoscaler, under what load.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_scale))]
#[command(after_help = "Examples:\n  \
        stampede scale apache-mod-php markdown --cpus 1 --concurrency 80 --max-instances 1 --load closed:100\n  \
        stampede scale apache-mod-php markdown --max-instances 1 --load closed:100 --total-cpus 1 \\\n    \
        --against cpus=0.167,memory=256Mi,concurrency=1,max-instances=6\n  \
        stampede scale nginx-fpm markdown --cpus 0.167 --memory 256Mi --concurrency 1 --max-instances 6\n  \
        stampede scale php-cli-server hello --policy knative --min-instances 1 --load open:5..50/60s\n  \
        stampede scale frankenphp ./my-app --client-rtt 35ms --json -")]
pub(crate) struct ScaleArgs {
    /// The runtime (see `stampede list runtimes`)
    #[arg(value_name = "RUNTIME")]
    pub(crate) runtime: String,
    #[command(flatten)]
    pub(crate) subject: SubjectFlag,
    #[command(flatten)]
    pub(crate) app: AppFlag,
    #[command(flatten)]
    pub(crate) exchanges: ExchangesFlag,
    #[command(flatten)]
    pub(crate) php: PhpFlag,
    #[command(flatten)]
    pub(crate) deployment: DeploymentFlags,
    #[command(flatten)]
    pub(crate) service: ServiceArgs,
    /// Another service in the same blocks, by what differs: cpus=0.167,memory=256Mi,concurrency=1,max-instances=6; also
    /// runtime, min-instances, policy, name (may be repeated)
    #[arg(long, value_name = "KEY=VALUE,...", help_heading = "Service")]
    pub(crate) against: Vec<String>,
    /// So many processors for all instances together, however much each is allowed [default: as many as they are allowed]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) total_cpus: Option<String>,
    #[command(flatten)]
    pub(crate) ready: ReadyFlag,
    #[command(flatten)]
    pub(crate) waiting: WaitingArgs,
    #[command(flatten)]
    pub(crate) price: PriceArgs,
    #[command(flatten)]
    pub(crate) load: LoadFlag,
    #[command(flatten)]
    pub(crate) client_rtt: ClientRttFlag,
    #[command(flatten)]
    pub(crate) duration: DurationFlag,
    #[command(flatten)]
    pub(crate) warm_up: WarmUpFlag,
    #[command(flatten)]
    pub(crate) rounds: RoundsFlag,
    #[command(flatten)]
    pub(crate) seed: SeedFlag,
    #[command(flatten)]
    pub(crate) ready_timeout: ReadyTimeoutFlag,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    #[command(flatten)]
    pub(crate) platform: PlatformFlags,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) bench: BenchArgs,
}

/// How instances are started and what each is given, unread. `None` takes the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct ServiceArgs {
    /// The most requests that an instance is given at once [default: 80]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) concurrency: Option<String>,
    /// The fewest instances [default: 0]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) min_instances: Option<String>,
    /// The most instances [default: as many as this machine's processors, beside the load, and memory hold]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) max_instances: Option<String>,
    /// Which autoscaler: cloud-run or knative [default: cloud-run]
    #[arg(long, value_name = "NAME", help_heading = "Service")]
    pub(crate) policy: Option<String>,
}

/// How long requests may wait.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WaitingArgs {
    /// For how long a request waits for an instance [default: the policy's]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) queue_limit: Option<String>,
    /// How long a request may take until its answer begins [default: 5m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) request_timeout: Option<String>,
}

/// What it costs.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PriceArgs {
    /// Whose price [default: cloud-run-requests]
    #[arg(long, value_name = "NAME", help_heading = "Service")]
    pub(crate) price: Option<String>,
}

fn in_scale(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "cpus" => arg.help("CPUs of an instance [default: 1]").help_heading("Service"),
        "memory" => arg.help("Memory of an instance [default: 512Mi]").help_heading("Service"),
        "ready" => arg
            .value_name("HOW")
            .help("When an instance is given requests: port (something listens) or request (it has answered) [default: request]")
            .help_heading("Service"),
        "load" => arg.help("Load: closed:N, open:RATE or open:FROM..TO/TIME [default: closed:16]"),
        "client_rtt" => arg
            .help("Round-trip time between client and platform, added to this machine's own: 35ms")
            .help_heading("Load"),
        "duration" => arg.help("Length of the measuring window of each trial [default: 30s]"),
        "warm_up" => {
            arg.value_name("TIME").help("Load before the window; the first cold starts are in it [default: 0s]")
        }
        "rounds" => arg
            .value_name("N")
            .help("How often it is measured, each time from nothing [default: 1, or 3 with --against]"),
        "seed" => arg.help("Seed of random arrivals"),
        "ready_timeout" => arg.help(
            "How long an instance may take to its first answer, and to each one that is checked before the load [default: 30s]",
        ),
        "platform" => arg.help(
            "Where instances run: local, as processes of this machine; or docker, each in a container of this machine's engine \
             [default: local]",
        ),
        _ => arg,
    }
}
