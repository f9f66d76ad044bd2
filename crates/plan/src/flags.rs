//! Flags that several commands have, each declared once. A command flattens those that it has.
//!
//! Values stay text, so that a plan tells all mistakes at once; `None` takes the default. The help is that of most commands:
//! one in which a flag means something of its own rewords it where its command line is declared.

use std::path::PathBuf;

use clap::Args;
use stampede_core::ChosenByFlags;

/// What is served.
#[derive(Args, Clone, Debug, Default)]
pub struct SubjectFlag {
    /// Your application's folder, a plan file, or a built-in workload (see `stampede list workloads`) [default: the
    /// stampede.yaml in this folder]
    #[arg(value_name = "DIR|PLAN|WORKLOAD")]
    pub subject: Option<String>,
    /// Its front controller, and the name that requests use.
    #[command(flatten)]
    pub site: SiteFlags,
}

/// Which of several front controllers.
#[derive(Args, Clone, Debug, Default)]
pub struct IndexFlag {
    /// The application's front controller, relative to its folder: web/index.php [default: detected]
    #[arg(long, value_name = "PATH", help_heading = "What")]
    pub index: Option<PathBuf>,
}

/// An application's front controller, and the name that requests use.
#[derive(Args, Clone, Debug, Default)]
pub struct SiteFlags {
    /// Which of its front controllers.
    #[command(flatten)]
    pub index: IndexFlag,
    /// Host header that requests send, with a port if needed: shop.example [default: the plan's, or the server's address]
    #[arg(long, value_name = "NAME", help_heading = "What")]
    pub host: Option<String>,
}

/// Which of its applications.
#[derive(Args, Clone, Debug, Default)]
pub struct AppFlag {
    /// Which of the workload's apps to serve, by name [default: the first that the runtime can serve]
    #[arg(long, value_name = "APP", help_heading = "What")]
    pub app: Option<String>,
}

/// What serves it.
#[derive(Args, Clone, Debug, Default)]
pub struct RuntimesFlag {
    /// Runtimes, separated by commas, or `all` installed ones; `stampede list runtimes` lists them [default: the plan's, or all]
    #[arg(long, value_name = "A,B", help_heading = "What")]
    pub runtimes: Option<String>,
}

/// Which of its exchanges, and who sends them.
#[derive(Args, Clone, Debug, Default)]
pub struct ExchangesFlag {
    /// Which of the workload's requests to send, by name [default: the workload's own choice]
    #[arg(long, value_name = "A,B", help_heading = "What")]
    pub exchanges: Option<String>,
    /// Keep cookies: each connection is one visitor [default: each request is a new visitor]
    #[arg(long, help_heading = "What")]
    pub cookies: bool,
}

impl ExchangesFlag {
    /// What they choose of requests, by names that are not yet looked up.
    pub(crate) fn chosen(&self) -> ChosenByFlags {
        let Self { exchanges, cookies } = self;
        let names = exchanges.iter().flat_map(|typed| typed.split(',')).map(|name| name.trim().to_owned());
        ChosenByFlags { exchanges: names.collect(), cookies: *cookies, database: None }
    }

    /// The same, and where they choose nothing what was chosen before.
    pub(crate) fn or(self, before: &ChosenByFlags) -> Self {
        let ChosenByFlags { exchanges, cookies, database: _ } = before;
        let named = || (!exchanges.is_empty()).then(|| exchanges.join(","));
        Self { exchanges: self.exchanges.or_else(named), cookies: self.cookies || *cookies }
    }
}

/// Other rows for its scenario.
#[derive(Args, Clone, Debug, Default)]
pub struct FeederFlag {
    /// Data file that a scenario takes its values from, in place of its own: payloads=people.tsv (may be repeated)
    #[arg(long = "feeder", value_name = "NAME=FILE", help_heading = "What")]
    pub feeders: Vec<String>,
}

/// Which PHP.
#[derive(Args, Clone, Debug, Default)]
pub struct PhpFlag {
    /// PHP version, such as 8.4, or the path of its command line program [default: that of `php` on the search path]
    #[arg(long, value_name = "PHP", help_heading = "What")]
    pub php: Option<String>,
}

/// How a deployment is set, and what it may use.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentFlags {
    /// Change a setting: nginx-fpm.pm.max_children=8 (may be repeated)
    #[arg(long, value_name = "RUNTIME.SETTING=VALUE", help_heading = "What")]
    pub set: Vec<String>,
    /// CPUs that all processes of a case together may use: 0.5, 2 [default: 1]
    #[arg(long, value_name = "CPUS", allow_hyphen_values = true, help_heading = "Limits")]
    pub cpus: Option<String>,
    /// Memory that all processes of a case together may use: 256Mi, 1Gi [default: 512Mi]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, help_heading = "Limits")]
    pub memory: Option<String>,
}

/// What load is driven.
#[derive(Args, Clone, Debug, Default)]
pub struct LoadFlag {
    /// Load: closed:N or open:RATE [default: closed:16]
    #[arg(long, value_name = "MODEL", allow_hyphen_values = true, help_heading = "Load")]
    pub load: Option<String>,
}

/// How long each trial is measured.
#[derive(Args, Clone, Debug, Default)]
pub struct DurationFlag {
    /// How long each trial is measured, after the warm-up: 5s, 1m [default: up to 8s, chosen by short pilot runs]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub duration: Option<String>,
}

/// How long it is loaded before that.
#[derive(Args, Clone, Debug, Default)]
pub struct WarmUpFlag {
    /// Load before the measurement, not counted; auto finds out in a short trial of each case how long it must be [default: auto
    /// if --duration is 5s or longer, otherwise 1s]
    #[arg(long, value_name = "auto|TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub warm_up: Option<String>,
}

/// How often all is measured.
#[derive(Args, Clone, Debug, Default)]
pub struct RoundsFlag {
    /// Rounds, each of which measures every case once. auto: until the result is clear, and no longer than --max-time (a
    /// case whose result is clear earlier is then left out). A number: exactly that many; a verdict needs 3 [default: auto]
    #[arg(long, value_name = "auto|N", allow_hyphen_values = true, help_heading = "Study")]
    pub rounds: Option<String>,
}

/// How long that may take.
#[derive(Args, Clone, Debug, Default)]
pub struct MaxTimeFlag {
    /// Time limit, starts of servers included [default: 10m, or longer if three rounds need it]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Study")]
    pub max_time: Option<String>,
}

/// How long a search may take.
#[derive(Args, Clone, Debug, Default)]
pub struct BudgetFlag {
    /// About how long the search may take, final comparisons included [default: 10m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Search")]
    pub budget: Option<String>,
}

/// Which differences matter.
#[derive(Args, Clone, Debug, Default)]
pub struct PrecisionFlag {
    /// Smallest difference worth reporting [default: 3%]
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, help_heading = "Study")]
    pub precision: Option<String>,
}

/// Which random numbers.
#[derive(Args, Clone, Debug, Default)]
pub struct SeedFlag {
    /// Seed of the random order of cases; the same seed gives the same order [default: a random one, which the report names]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Study")]
    pub seed: Option<String>,
}

/// Who drives the load.
#[derive(Args, Clone, Debug, Default)]
pub struct GeneratorsFlag {
    /// Send the load from several load generators that start at the same moment: local[:N] processes of this machine,
    /// ssh:DESTINATION[:N], kubernetes[:N] pods of a cluster, or exec:'COMMAND'[:N], a command of yours that starts them
    /// elsewhere [default: one, in this process] [example: local:2,ssh:me@host]
    #[arg(long, value_name = "A,B", help_heading = "Load")]
    pub generators: Option<String>,
}

/// Where servers are reached.
#[derive(Args, Clone, Debug, Default)]
pub struct ServerAddressFlag {
    /// The address of this machine on which servers listen; load generators on other machines must reach it [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", help_heading = "Load")]
    pub server_address: Option<String>,
}

/// At which share of the throughput latency is measured.
#[derive(Args, Clone, Debug, Default)]
pub struct AtFlag {
    /// Then also measure response times below saturation: every case at this share of the slowest one's throughput, and each at
    /// this share of its own [default: not measured] [example: 70%]
    #[arg(
        long,
        value_name = "SHARE",
        allow_hyphen_values = true,
        conflicts_with = "calibrate",
        help_heading = "Study"
    )]
    pub at: Option<String>,
}

/// How the cases of a round are measured.
#[derive(Args, Clone, Debug, Default)]
pub struct OrderFlag {
    /// How the cases of a round are measured. windows: one after another; turns: all servers are started and get the load
    /// alternately, about 0.4 s each, so that a busy moment of the machine meets them all; auto: turns if they are reliable
    /// for this load [default: auto]
    #[arg(long, value_name = "ORDER", help_heading = "Study")]
    pub order: Option<String>,
}

/// How long first answers may take.
#[derive(Args, Clone, Debug, Default)]
pub struct ReadyTimeoutFlag {
    /// Time limit for a server's first response, and for each response that is checked before the load [default: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Study")]
    pub ready_timeout: Option<String>,
}

/// Where deployments run.
#[derive(Args, Clone, Debug, Default)]
pub struct PlatformFlags {
    /// Where servers run: local, as processes of this machine; docker, in containers of this machine under the same limits;
    /// kubernetes, as pods of a cluster (only with --image) [default: local]
    #[arg(long, value_name = "PLATFORM", help_heading = "Study")]
    pub platform: Option<String>,
    /// What containers are made of.
    #[command(flatten)]
    pub image: BaseImageFlag,
}

/// What containers are made of.
#[derive(Args, Clone, Debug, Default)]
pub struct BaseImageFlag {
    /// With --platform docker: install the runtimes' packages, once, in this image of Debian or Ubuntu, such as debian:bookworm
    /// [default: makers, each runtime's official image]
    #[arg(long, value_name = "IMAGE", help_heading = "Study")]
    pub base_image: Option<String>,
}

/// Which cluster, and which namespace of it.
#[derive(Args, Clone, Debug, Default)]
pub struct ClusterFlags {
    /// Context of your kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME", help_heading = "Kubernetes")]
    pub kube_context: Option<String>,
    /// Namespace; nothing outside it is touched [default: the context's]
    #[arg(long, value_name = "NAME", help_heading = "Kubernetes")]
    pub namespace: Option<String>,
}

/// Which pods drive a load, and where.
#[derive(Args, Clone, Debug, Default)]
pub struct PodFlags {
    /// Where they are.
    #[command(flatten)]
    pub cluster: ClusterFlags,
    /// With load generators in a cluster: the image of their pods, which must have this version of Stampede
    #[arg(long, value_name = "IMAGE", help_heading = "Kubernetes")]
    pub generator_image: Option<String>,
    /// With load generators in a cluster: CPUs of each, such as 0.5 or 2 [default: as many as --threads; 1 with --platform
    /// kubernetes]
    #[arg(long, value_name = "CPUS", help_heading = "Kubernetes")]
    pub generator_cpus: Option<f64>,
}

/// Whether anything is fetched for it.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct OfflineFlag {
    /// With containers: download and install nothing. If an image or package is missing, list it and stop
    #[arg(long, help_heading = "Study")]
    pub offline: bool,
}

/// Whether anything is measured.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct DryRunFlag {
    /// Print what would be measured and how long it takes, and measure nothing
    #[arg(long, help_heading = "Study")]
    pub dry_run: bool,
}

/// What is read while it is measured.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct SamplingFlag {
    /// Do not read the counters of servers and kernel while measuring (by default ten times a second)
    #[arg(long, help_heading = "Study")]
    pub no_sampling: bool,
}

/// Whether the stacks of PHP are sampled.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct InsideFlag {
    /// Profile PHP in half of each measurement; the other half shows what profiling costs
    #[arg(long, help_heading = "Study")]
    pub inside: bool,
}

/// Samples a second of each thread of PHP: not a divisor of what programs do 100 times a second.
pub(crate) const INSIDE_RATE: u32 = 99;

/// What answers must be.
#[derive(Args, Clone, Debug, Default)]
pub struct SloFlag {
    /// Limits that must hold: 'p99<100ms,errors<0.1%' [default: the plan's, or none]
    #[arg(long, value_name = "TERMS", help_heading = "What")]
    pub slo: Option<String>,
}

/// What stands around each runtime.
#[derive(Args, Clone, Debug, Default)]
pub struct TopologyFlags {
    /// Copies of each runtime behind a balancer (in a cluster without one), all under the one total limit [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Topology")]
    pub replicas: Option<String>,
    /// Balancer in front of the replicas: nginx or haproxy
    #[arg(long, value_name = "PROGRAM", help_heading = "Topology")]
    pub balancer: Option<String>,
    /// How the balancer chooses a replica: round-robin or least-connections [default: round-robin]
    #[arg(long, value_name = "HOW", help_heading = "Topology")]
    pub balance: Option<String>,
    /// Idle connections that the balancer keeps open to the replicas, or off [default: 32]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Topology")]
    pub upstream_keepalive: Option<String>,
    /// Clients speak TLS to the balancer
    #[arg(long, help_heading = "Topology")]
    pub tls: bool,
    /// Which databases there are.
    #[command(flatten)]
    pub databases: DatabaseFlags,
    /// Limit one part to a share of the total: replica=0.4,128Mi (each), balancer=..., postgres=... (may be repeated)
    #[arg(long, value_name = "PART=CPUS,MEMORY", help_heading = "Topology")]
    pub share: Vec<String>,
    /// When load may begin.
    #[command(flatten)]
    pub ready: ReadyFlag,
    /// What happens when a process exits by itself: never (the trial fails) or on-failure (it is started again, and
    /// counted) [default: never]
    #[arg(long, value_name = "WHEN", help_heading = "Topology")]
    pub restart: Option<String>,
    /// How far clients are away.
    #[command(flatten)]
    pub client_rtt: ClientRttFlag,
    /// Bandwidth between client and server, each way: 100mbit [default: unlimited]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = "Topology")]
    pub client_bandwidth: Option<String>,
    /// Open a new connection for each request (Connection: close)
    #[arg(long, help_heading = "Topology")]
    pub no_keepalive: bool,
}

/// Databases beside each runtime, and what they hold.
#[derive(Args, Clone, Debug, Default)]
pub struct DatabaseFlags {
    /// Services beside each runtime: postgres, mariadb, pgbouncer, redis; set with --set postgres.max_connections=50
    #[arg(long, value_name = "A,B", help_heading = "Topology")]
    pub services: Option<String>,
    /// What they hold.
    #[command(flatten)]
    pub dump: DumpFlag,
}

/// What a database holds.
#[derive(Args, Clone, Debug, Default)]
pub struct DumpFlag {
    /// SQL dump (.gz too) loaded before each trial; the database server is recognised from it
    #[arg(long, value_name = "FILE", help_heading = "Topology")]
    pub database: Option<PathBuf>,
}

/// When load may begin.
#[derive(Args, Clone, Debug, Default)]
pub struct ReadyFlag {
    /// When a server is ready for load: port (it accepts connections) or request (it answers one) [default: request]
    #[arg(long, value_name = "WHEN", help_heading = "Topology")]
    pub ready: Option<String>,
}

/// How far clients are away.
#[derive(Args, Clone, Debug, Default)]
pub struct ClientRttFlag {
    /// Round-trip time between client and server, added to this machine's own: 20ms [default: none]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Topology")]
    pub client_rtt: Option<String>,
}
