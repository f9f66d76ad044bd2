//! The command line of `stampede scale`.

use crate::args::{OutputArgs, StoreArgs};
use crate::backend::BackendChoice;

/// Which runtime, behind which autoscaler, under what load.
#[derive(Debug, clap::Args)]
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
    /// Your application's folder, a plan file, or a built-in workload (see `stampede list workloads`) [default: the
    /// stampede.yaml in this folder]
    #[arg(value_name = "DIR|PLAN|WORKLOAD")]
    pub(crate) subject: Option<String>,
    /// Which of the workload's apps to serve, by name [default: the first that the runtime can serve]
    #[arg(long, value_name = "APP", help_heading = "What")]
    pub(crate) app: Option<String>,
    /// Which of the workload's exchanges make up the load, by name [default: those that it says itself]
    #[arg(long, value_name = "A,B", help_heading = "What")]
    pub(crate) exchanges: Option<String>,
    /// The build of PHP: 8.4, or the path of a command line program [default: that of `php` on the search path]
    #[arg(long, value_name = "PHP", help_heading = "What")]
    pub(crate) php: Option<String>,
    /// Set a tunable: nginx-fpm.pm.max_children=8 (may be repeated)
    #[arg(long, value_name = "RUNTIME.TUNABLE=VALUE", help_heading = "What")]
    pub(crate) set: Vec<String>,
    /// CPUs of an instance [default: 1]
    #[arg(long, value_name = "CPUS", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) cpus: Option<String>,
    /// Memory of an instance [default: 512Mi]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) memory: Option<String>,
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
    /// Another service in the same blocks, by what differs: cpus=0.167,memory=256Mi,concurrency=1,max-instances=6; also
    /// runtime, min-instances, policy, name (may be repeated)
    #[arg(long, value_name = "KEY=VALUE,...", help_heading = "Service")]
    pub(crate) against: Vec<String>,
    /// So many processors for all instances together, however much each is allowed [default: as many as they are allowed]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) total_cpus: Option<String>,
    /// When an instance is given requests: port (something listens) or request (it has answered) [default: request]
    #[arg(long, value_name = "HOW", help_heading = "Service")]
    pub(crate) ready: Option<String>,
    /// For how long a request waits for an instance [default: the policy's]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) queue_limit: Option<String>,
    /// How long a request may take until its answer begins [default: 5m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) request_timeout: Option<String>,
    /// Whose price [default: cloud-run-requests]
    #[arg(long, value_name = "NAME", help_heading = "Service")]
    pub(crate) price: Option<String>,
    /// Load: closed:N, open:RATE or open:FROM..TO/TIME [default: closed:16]
    #[arg(long, value_name = "MODEL", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) load: Option<String>,
    /// Round-trip time between client and platform, added to this machine's own: 35ms
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) client_rtt: Option<String>,
    /// Length of the measuring window of each trial [default: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) duration: Option<String>,
    /// Load before the window; the first cold starts are in it [default: 0s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) warm_up: Option<String>,
    /// How often it is measured, each time from nothing [default: 1, or 3 with --against]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Study")]
    pub(crate) rounds: Option<String>,
    /// Seed of random arrivals
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Study")]
    pub(crate) seed: Option<String>,
    /// How long an instance may take to its first answer, and to each one that is checked before the load [default: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Study")]
    pub(crate) ready_timeout: Option<String>,
    /// Go on with a study that was interrupted, by the same command line [default: the newest]
    #[arg(long, value_name = "STUDY", help_heading = "Study")]
    pub(crate) resume: Option<Option<String>>,
    /// How the load engine reaches the kernel: epoll, io-uring, or auto [default: auto, which is what costs less here]
    #[arg(
        long,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        hide_default_value = true,
        help_heading = "Study"
    )]
    pub(crate) backend: BackendChoice,
    /// Where instances run: local, as processes of this machine; or docker, each in a container of this machine's engine
    /// [default: local]
    #[arg(long, value_name = "PLATFORM", help_heading = "Study")]
    pub(crate) platform: Option<String>,
    /// With --platform docker: the image of Debian or Ubuntu in which the runtimes' packages are installed, once
    /// [default: debian:bookworm]
    #[arg(long, value_name = "IMAGE", help_heading = "Study")]
    pub(crate) base_image: Option<String>,
    /// End with exit code 3, instead of waiting, when another Stampede is measuring
    #[arg(long, help_heading = "Study")]
    pub(crate) no_wait: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// No progress on stderr
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}
