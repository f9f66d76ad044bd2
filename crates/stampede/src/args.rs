//! The command line. What is measured is said by the flags of plans, which are flattened into each command that has them; one
//! in which such a flag means something of its own rewords it here. Values stay text: a plan reads them all and tells all
//! mistakes at once.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, FromArgMatches, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;
use stampede_conduct::{Bench, Host};
use stampede_plan::{
    AtFlag, CapacityFlags, CompareFlags, LadderFlags, ReproduceFlags, RetrialFlags, RuntimeFlags, SizeFlags, TuneFlags,
};
use stampede_report::{FORMATS, Format};

use crate::backend::BackendChoice;
use crate::doctor::args::DoctorArgs;
use crate::export::args::ExportArgs;
use crate::forecast::args::ForecastArgs;
use crate::gate::args::GateArgs;
use crate::help::args::HelpArgs;
use crate::init::args::InitArgs;
use crate::inside::args::InsideArgs;
use crate::kubernetes::args::{CleanClusterArgs, RoleArgs};
use crate::load::args::LoadArgs;
use crate::report::args::ReportArgs;
use crate::scale::args::ScaleArgs;
use crate::serve::args::ServeArgs;
use crate::study_file::args::{ExportStudyArgs, ImportStudyArgs};

/// Which PHP runtime is fastest for your application, under equal limits, and how sure is that?
#[derive(Debug, Parser)]
#[command(
    version,
    disable_version_flag = true,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    max_term_width = 100,
    after_help = "Examples:\n  \
        stampede compare markdown\n  \
        stampede compare markdown --cpus 0.5 --memory 256Mi\n  \
        stampede compare markdown --runtimes nginx-fpm,apache-mod-php\n  \
        stampede show latest --markdown -\n  \
        stampede list runtimes\n\n\
        Exit codes: 0 done; 1 a gate failed, or an SLO is not met; 2 usage error;\n\
        3 something needed is missing here; 4 the measurement is not valid;\n\
        5 a trial failed; 130 interrupted."
)]
pub(crate) struct Args {
    /// Print version
    #[arg(long, short = 'V')]
    pub(crate) version: bool,
    /// With --version: print also what it was built from, and the versions of its files
    #[arg(long, requires = "version")]
    pub(crate) verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Option<Asked>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Asked {
    /// Compare runtimes on your application, or a workload, under the same total limits
    ///
    /// Serves it on each runtime under the same CPU and memory limits, checks that all give the expected
    /// answers, drives load, and reports which is faster, by how much, and how sure that is.
    ///
    /// The limits are for the whole deployment: nginx and PHP-FPM share one budget. Each round measures every case once, in
    /// random order, on a fresh start of its servers.
    Compare(Box<CompareArgs>),
    /// Find how many requests per second a runtime can take before your SLO breaks
    ///
    /// Measures throughput for more and more connections, then tries rates of random arrivals until the highest that meets
    /// the SLO is known, and confirms it in a longer trial. Each trial starts the servers again.
    Capacity(Box<CapacityArgs>),
    /// Check whether a change made your application slower: exit code 1 if it did
    ///
    /// Measures the versions before and after the change alternately, each trial on fresh servers, and compares the
    /// difference with the threshold. The verdict is passed, failed, or undecided if the data do not show either; undecided
    /// passes unless --strict is given.
    Gate(Box<GateArgs>),
    /// Find the bottleneck of a measured case, by changing one limit at a time
    ///
    /// Takes a case of a stored study and tests each limit that may be its bottleneck: CPU, memory, workers. Each is raised by
    /// half, alone (or lowered by a fifth, if it cannot be raised), and measured beside the unchanged case in the same rounds.
    /// The bottleneck is the limit whose change moves the case most.
    Why(Box<WhyArgs>),
    /// Show where the time of running PHP processes goes, without an extension
    ///
    /// Reads the stacks of PHP's virtual machine from outside, by process id: workers of PHP-FPM, Apache, FrankenPHP, RoadRunner,
    /// Swoole and others. Nothing is loaded into PHP and nothing is stopped. Needs root, or to be their parent.
    Inside(InsideArgs),
    /// Find the settings of a runtime that are best under these limits
    ///
    /// Tries settings within a budget of time, each against the best so far in the same rounds, and drops the worse. The winner
    /// is then compared with the defaults and with what the runtime's documentation recommends, also under half and 1.2 times
    /// the load.
    Tune(Box<TuneArgs>),
    /// Find the cheapest deployment that holds an objective under a load
    ///
    /// Tries runtimes under limits of CPU and memory with pools of several sizes, guided by a model of queues, and gives up what
    /// cannot hold. What seems cheapest is then confirmed in fresh rounds, from dear to cheap, at the load and with headroom.
    Size(Box<SizeArgs>),
    /// Write a stampede.yaml for your application, with the answers that it gives now
    ///
    /// Looks at the folder, prints what it found and which runtimes can serve it, starts it on one of them, records its
    /// answers with the parts that vary masked, and writes a commented plan. `stampede compare` runs that plan.
    Init(InitArgs),
    /// Run a published experiment again, and print its tables beside yours
    ///
    /// Each of its tables is measured as a study, each row as a case; what cannot run here is listed with how to get it. Each
    /// published difference of more than 20 %, and each of its author's claims, is then confirmed, refuted or undecided.
    /// Without a name, lists the experiments.
    Reproduce(Box<ReproduceArgs>),
    /// Measure a runtime whose instances start and stop on demand, on this machine
    ///
    /// Puts a gateway in front of real instances, each a deployment under limits of its own, and starts and stops them as the
    /// autoscaler of Cloud Run or Knative would while load is driven: instances, queue, cold starts with their parts, requests by
    /// outcome, answers for each second of a vCPU, and the bill. `stampede forecast` simulates what this machine cannot hold.
    Scale(Box<ScaleArgs>),
    /// Simulate an autoscaled service of any size, with its bill, from what was measured
    ///
    /// Takes from a stored study how much work a request is, how well requests share a CPU and how an instance starts, and lets
    /// the platform's rules start and stop as many instances as the load asks for: response times, instances, rejected
    /// requests and cost for each combination of concurrency, CPU and memory.
    Forecast(Box<ForecastArgs>),
    /// Write files that deploy a runtime with the settings that were measured
    ///
    /// A Dockerfile, manifests, services of systemd, or the configuration alone. The servers' files are those that are
    /// measured, with the places of the target put in.
    Export(Box<ExportArgs>),
    /// Drive load at an address and measure its answers
    ///
    /// Just the load engine: closed or open load over HTTP, every answer checked, response times counted from when a
    /// request was due. Tells when it was itself the limit.
    Load(Box<LoadArgs>),
    /// Drive the load that `hey` would, with its own options and layout
    #[command(disable_help_flag = true)]
    Hey(OtherArgs),
    /// Drive the load that `ab` would, with its own options and layout
    #[command(disable_help_flag = true)]
    Ab(OtherArgs),
    /// Drive the load that `wrk` would, with its own options and layout
    #[command(disable_help_flag = true)]
    Wrk(OtherArgs),
    /// List runtimes, workloads, services or stored studies
    List(ListArgs),
    /// Show a stored study again, a runtime's settings, or the schema of plans
    ///
    /// Verdicts and findings of a study are made anew from its records.
    Show(Box<ShowArgs>),
    /// Write a report on a stored study that opens in a browser: one file, without a network
    ///
    /// Verdicts and findings are made anew from the study's records. The file holds all of them, and writes them out as JSON
    /// and CSV.
    Report(ReportArgs),
    /// Look at all stored studies in a browser: a dashboard on this machine
    ///
    /// A list to search, the report of each study, any two beside each other, and a metric over time. It changes nothing, and
    /// ends with Ctrl-C. Other machines reach it only at an address that is given, and only with a token.
    Serve(ServeArgs),
    /// Write a stored study into one file, to keep it or give it to others
    ///
    /// The file holds everything that is stored of it. `stampede import-study` puts it into another store, where `show`,
    /// `report`, `gate` and `forecast` work on it.
    ExportStudy(ExportStudyArgs),
    /// Put a study from a file of `stampede export-study` into the store
    ///
    /// A file that was cut short, altered, or written by a newer Stampede is refused, and nothing that is stored is changed.
    ImportStudy(ImportStudyArgs),
    /// Check whether this machine can measure, and print what to do if it cannot
    ///
    /// Looks at limits, processors, what else runs, open files, ports, clock and timers, and at which runtimes are here. Takes
    /// about two seconds and changes nothing.
    Doctor(DoctorArgs),
    /// End and remove what a killed Stampede left behind
    ///
    /// Processes, control groups and folders of runs whose Stampede is gone. What a living Stampede uses is not touched.
    /// The next `stampede compare` does the same. With --platform kubernetes: jobs and pods of loads in a namespace.
    Clean(CleanArgs),
    /// Print the help of a command, or its manual page
    Help(HelpArgs),
    /// Print a script that completes command lines of Stampede in a shell
    ///
    /// Packages install it. By hand: `stampede completions bash > ~/.local/share/bash-completion/completions/stampede`, `stampede
    /// completions fish > ~/.config/fish/completions/stampede.fish`, and for zsh a file `_stampede` in a folder of $fpath.
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Supervise one deployment (started by Stampede itself)
    #[command(name = "__warden", hide = true)]
    Warden,
    /// See deployments for another Stampede, over standard input and output (started by Stampede itself)
    #[command(name = "__agent", hide = true)]
    Agent {
        /// Take the machine's measuring lock, for this
        #[arg(long, value_name = "PURPOSE")]
        lock: Option<String>,
        /// Go before other programs, where so many agents of this machine have a processor each
        #[arg(long, value_name = "AGENTS")]
        first: Option<usize>,
    },
    /// Hold the lease of a load's pods, or wait in one (started by Stampede itself, in a cluster)
    #[command(name = "__guardian", hide = true)]
    Guardian {
        #[command(subcommand)]
        task: GuardianTask,
    },
    /// Serve the yard-stick (started by Stampede itself)
    #[command(name = "__yard-stick", hide = true)]
    YardStick {
        /// Where it listens
        address: String,
    },
    /// Say what is installed where this runs (started by Stampede itself, in a container)
    #[command(name = "__look", hide = true)]
    Look {
        /// The questions
        questions: String,
    },
}

/// What to compare, under what, for how long.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_compare))]
#[command(after_help = "Examples:\n  \
        stampede compare markdown\n  \
        stampede compare markdown --runtimes nginx-fpm,go --load closed:64\n  \
        stampede compare markdown --cpus 0.5 --memory 256Mi --json result.json\n  \
        stampede compare markdown --set nginx-fpm.pm=dynamic --rounds 5\n  \
        stampede compare markdown --at 70%  (then latency at 70 % of the slowest)\n  \
        stampede compare markdown --replicas 2 --balancer nginx --tls\n  \
        stampede compare markdown --platform docker --base-image debian:bookworm\n  \
        stampede compare --image my/app:fpm --image my/app:frankenphp\n  \
        stampede compare ./my-app           (what it is, is found by looking at it)\n  \
        stampede compare                    (the stampede.yaml in this folder, see stampede init)")]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) flags: CompareFlags,
    #[command(flatten)]
    pub(crate) at: AtFlag,
    #[command(flatten)]
    pub(crate) metric: MetricArgs,
    /// Print what would be measured, and for how long, and measure nothing
    #[arg(long, help_heading = "Study")]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) bench: BenchArgs,
}

fn in_compare(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "app" => arg.value_name("A,B").help(
            "Which of the workload's apps to serve, by name: symfony, or several: plain,symfony [default: the first that a \
             runtime can serve]",
        ),
        "php" => arg.value_name("A,B").help(
            "Builds of PHP, each a case for each runtime: 8.2,8.4 or paths of command line programs [default: that of `php` \
             on the search path]",
        ),
        "cpus" => arg.help("CPUs for each whole deployment [default: 1]"),
        "memory" => arg.help("Memory for each whole deployment [default: 512Mi]"),
        "load" => arg.help(
            "Load: closed:N keeps N connections busy, one request in flight on each; open:RATE has requests due at RATE a \
             second, open:FROM..TO/TIME is a ramp [default: closed:16]",
        ),
        _ => arg,
    }
}

/// Of what, under which objective, for how long.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_capacity))]
#[command(after_help = "Examples:\n  \
        stampede capacity nginx-fpm markdown --cpus 0.5 --memory 256Mi --slo 'p99<100ms,errors<0.1%'\n  \
        stampede capacity frankenphp ./my-app --slo 'p95<250ms' --duration 60s\n  \
        stampede capacity go hello --slo 'p99<10ms' --duration 5s --json -\n\n\
        Exit codes: 0 a rate was found; 1 no rate meets the objective; 4 the generator cannot offer as much as the\n\
        runtime takes; the others as for compare.")]
pub(crate) struct CapacityArgs {
    #[command(flatten)]
    pub(crate) flags: CapacityFlags,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) bench: BenchArgs,
}

fn in_capacity(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "slo" => arg.help(
            "What answers must be: response times from when a request was due (p50, p90, p95, p99, p99.9) and the share of \
             requests without a right answer, each with what it must be below: p99<100ms,errors<0.1% [default: the plan's]",
        ),
        "duration" => arg
            .help("Length of a probe's window; the last has four times as much [default: 45s]")
            .help_heading("Study"),
        "warm_up" => {
            arg.value_name("TIME").help("Load before each window [default: 2s]").help_heading("Study")
        }
        "max_time" => arg.help("Time limit for all probes [default: 15m, or what long probes need]"),
        "seed" => arg.help("Seed of the random arrivals"),
        "ready_timeout" => arg.help(
            "How long the runtime may take to its first answer, and to each one that is checked before the load [default: 30s]",
        ),
        "resume" => {
            arg.help("Resume an interrupted search, by the same command line [default: the newest]")
        }
        _ => arg,
    }
}

/// Which published experiment, how much of it.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_reproduce))]
#[command(after_help = "Examples:\n  \
        stampede reproduce\n  \
        stampede reproduce symfony-blog\n  \
        stampede reproduce gcp-markdown --scale 0.1 --client-rtt 40ms\n  \
        stampede reproduce webman --tables keep-alive,data-layer --markdown webman.md\n  \
        stampede reproduce apache-to-nginx --full\n  \
        stampede reproduce symfony-blog --studies latest --html symfony-blog.html")]
pub(crate) struct ReproduceArgs {
    /// The experiment, or the file of one of your own that ends in .yaml
    #[arg(value_name = "NAME|FILE")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) flags: ReproduceFlags,
    /// Measure nothing: show these stored studies of its tables again
    #[arg(
        long,
        value_name = "STUDY,STUDY",
        conflicts_with_all = ["rounds", "seed", "backend", "no_wait"],
        help_heading = "How much"
    )]
    pub(crate) studies: Option<String>,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) bench: BenchArgs,
}

fn in_reproduce(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "rounds" => arg
            .value_name("N")
            .help("Rounds: in each, every row is measured once [default: the experiment's own, 5 mostly]"),
        "seed" => arg.help("Seed of the order of rows; the same seed gives the same order"),
        "client_rtt" => arg
            .help("Round-trip time between client and front of each row that says nothing of it, as published clients had: 40ms")
            .help_heading("Study"),
        "feeders" => arg
            .help("Another file for a feeder of the experiment's scenario: payloads=people.tsv (may be repeated)")
            .help_heading("Study"),
        _ => arg,
    }
}

/// Which case, and how long its changes are measured.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_why))]
#[command(after_help = "Examples:\n  \
        stampede compare mix --runtimes nginx-fpm --set nginx-fpm.pm.max_children=1\n  \
        stampede why                       (the slowest case of the study before)\n  \
        stampede why nginx-fpm --study 20260301 --max-time 5m\n  \
        stampede why --from ../my-app      (where what the study was of lies elsewhere)")]
pub(crate) struct WhyArgs {
    /// The case, by its name in the study [default: its slowest]
    pub(crate) case: Option<String>,
    #[command(flatten)]
    pub(crate) study: StudyFlag,
    #[command(flatten)]
    pub(crate) flags: RetrialFlags,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) bench: BenchArgs,
}

/// Which study a case is of.
#[derive(Debug, clap::Args)]
pub(crate) struct StudyFlag {
    /// The study: its name, the start of one, or `latest`
    #[arg(long, value_name = "STUDY", default_value = "latest")]
    pub(crate) study: String,
}

fn in_why(arg: Arg) -> Arg {
    const MEASURING: &str = "Measuring";
    match arg.get_id().as_str() {
        "exchanges" => arg
            .help(
                "Which of the workload's exchanges make up the load, where the study named some: it does not hold them",
            )
            .help_heading(None::<&str>),
        "base_image" => arg.help("Another image for containers [default: the study's]").help_heading(None::<&str>),
        "duration" => {
            arg.help("Length of the measuring window of each trial [default: the study's]").help_heading(MEASURING)
        }
        "rounds" => arg
            .help("Rounds, in each of which every change is measured once: auto, or a number [default: auto]")
            .help_heading(MEASURING),
        "precision" => arg.help("Smallest difference worth reporting [default: the study's]").help_heading(MEASURING),
        "seed" => arg.help("Seed of the order in which changes are measured").help_heading(MEASURING),
        "resume" => arg
            .help("Resume an interrupted one [default: the newest]")
            .conflicts_with_all(["case", "study"])
            .help_heading(MEASURING),
        "inside" => arg
            .help("Sample where PHP's time goes, from outside, in half of each window [default: on]")
            .help_heading(MEASURING),
        "ready_timeout" | "max_time" | "no_wait" | "no_inside" => arg.help_heading(MEASURING),
        _ => arg,
    }
}

/// Which runtime, for what, and how long.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_tune))]
#[command(after_help = "Examples:\n  \
        stampede tune nginx-fpm mix --cpus 0.5 --memory 256Mi\n  \
        stampede tune nginx-fpm mix --slo 'p99<100ms,errors<0.1%' --budget 30m --out ./tuned\n  \
        stampede tune nginx-fpm ./my-app --objective memory --slo 'p95<50ms'\n  \
        stampede tune nginx-fpm mix --resume     (go on with a search that was interrupted)\n  \
        stampede tune php-cli-server rinha --app laravel --steps 10 --cpus 1.5 --memory 3Gi --replicas 2\n    \
        --balancer nginx --share replica=0.33,700Mi --share balancer=0.2,256Mi --metric created_count\n\n\
        Exit code 1: the best settings found miss the SLO.")]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    pub(crate) flags: TuneFlags,
    #[command(flatten)]
    pub(crate) steps: LadderFlags,
    #[command(flatten)]
    pub(crate) metric: MetricArgs,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    /// Write the winner's files into this folder, ready to start, as `stampede export config` does
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) bench: BenchArgs,
}

fn in_tune(arg: Arg) -> Arg {
    const SEARCH: &str = "Search";
    match arg.get_id().as_str() {
        "subject" => arg.help(
            "Your application's folder, a plan file, or a built-in workload [default: the stampede.yaml in this folder]",
        ),
        "set" => {
            arg.help("Keep a tunable as it is given, and do not search it: nginx-fpm.pm=static (may be repeated)")
        }
        "duration" => arg.help("Length of the measuring window of each trial [default: 4s]"),
        "metric" => arg
            .help("What each step is to better, by the key that `--json` has: created_count [default: throughput_rps]")
            .requires("steps")
            .help_heading("Steps"),
        "seed" => arg.help("Seed of the search").help_heading(SEARCH),
        "resume" => arg
            .value_name("SEARCH")
            .help("Resume an interrupted search, by the same command line [default: the newest]")
            .help_heading(SEARCH),
        "no_wait" => arg.help_heading(SEARCH),
        _ => arg,
    }
}

/// Of what, under which load and objective, at which prices.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_size))]
#[command(after_help = "Examples:\n  \
        stampede size markdown --load open:poisson:300 --slo 'p99<200ms,errors<0.1%'\n  \
        stampede size ./my-app --load open:poisson:100 --slo 'p99<300ms' --runtimes nginx-fpm,frankenphp --budget 40m\n  \
        stampede size markdown --load open:poisson:50 --slo 'p95<100ms' --prices fly-performance --headroom 30%\n  \
        stampede size markdown --load open:poisson:50 --slo 'p95<100ms' --prices my-prices.yaml\n\n\
        Exit codes: 0 a size was found; 1 none is shown to hold the objective; 4 the generator was the limit;\n\
        5 no size served; the others as for compare.")]
pub(crate) struct SizeArgs {
    #[command(flatten)]
    pub(crate) flags: SizeFlags,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) bench: BenchArgs,
}

fn in_size(arg: Arg) -> Arg {
    const SEARCH: &str = "Search";
    match arg.get_id().as_str() {
        "load" => arg.help("Load that it must hold, at one rate: open:poisson:300, random arrivals at 300 a second"),
        "slo" => arg.help(
            "What answers must be: a response time from when a request was due (p50, p90, p95, p99, p99.9) and the share of \
             requests without a right answer, each with what it must be below: p99<200ms,errors<0.1% [default: the plan's]",
        ),
        "cpus" => arg.value_name("A,B").help(
            "Limits of CPU that are searched: 0.25,0.5,1 [default: 0.1 to all but one of this machine's, in steps of about 1.4]",
        ),
        "memory" => arg.value_name("A,B").help(
            "Limits of memory that are searched: 128Mi,256Mi [default: 48Mi to half of this machine's, 2Gi at most]",
        ),
        "set" => arg.help("Set a tunable, and do not search it: nginx-fpm.pm.max_children=8 (may be repeated)"),
        "budget" => arg.help("About how long all may take, confirmations included [default: 40m]"),
        "duration" => arg.help(
            "Length of the measuring window of each trial [default: 10s to 60s, so that 20 requests are beyond the percentile]",
        ),
        "warm_up" => arg.value_name("TIME").help("Load before each window [default: 2s]"),
        "seed" => arg.help("Seed of the random arrivals").help_heading(SEARCH),
        "resume" => arg
            .value_name("SEARCH")
            .help("Continue a search that was interrupted, by the same command line [default: the newest]")
            .help_heading(SEARCH),
        "no_wait" | "ready_timeout" => arg.help_heading(SEARCH),
        _ => arg,
    }
}

/// How the load engine works.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct BackendArgs {
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
}

/// What decides.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MetricArgs {
    /// Which figure ranks and decides, by its key in JSON: cpu_us_per_request [default: throughput under closed
    /// load, the p99 response time under open load]
    #[arg(long, value_name = "KEY", help_heading = "Study")]
    pub(crate) metric: Option<String>,
}

/// What is resumed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ResumeArgs {
    /// Resume an interrupted study, by the same command line [default: the newest]
    #[arg(long, value_name = "STUDY", help_heading = "Study")]
    pub(crate) resume: Option<Option<String>>,
}

/// How this machine is taken, and what is shown meanwhile.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) wait: WaitArgs,
    #[command(flatten)]
    pub(crate) quiet: QuietArgs,
}

impl BenchArgs {
    pub(crate) fn on(self, host: &dyn Host) -> Bench<'_> {
        Bench { host, no_wait: self.wait.no_wait, quiet: self.quiet.quiet }
    }
}

/// Whether another Stampede is waited for.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct WaitArgs {
    /// End with exit code 3, instead of waiting, when another Stampede is measuring
    #[arg(long, help_heading = "Study")]
    pub(crate) no_wait: bool,
}

/// Whether progress is shown.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct QuietArgs {
    /// No progress on stderr
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// Where reports go: a flag for each format that was given, with its file.
#[derive(Clone, Debug)]
pub(crate) struct OutputArgs(pub(crate) Vec<(&'static Format, PathBuf)>);

impl clap::Args for OutputArgs {
    fn augment_args(command: Command) -> Command {
        FORMATS.iter().fold(command, |command, Format { flag, help, .. }| {
            let flag = flag.trim_start_matches("--");
            let file = Arg::new(flag).long(flag).value_name("FILE").value_parser(value_parser!(PathBuf));
            command.arg(file.help(help).help_heading("Output"))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OutputArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let file = |format: &Format| matches.get_one::<PathBuf>(format.flag.trim_start_matches("--"));
        Ok(Self(FORMATS.iter().filter_map(|format| Some((format, file(format)?.clone()))).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|output| *self = output)
    }
}

/// Where studies are kept.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// The store of studies [default: $STAMPEDE_STORE, or ~/.local/share/stampede/studies.db]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) store: Option<PathBuf>,
}

/// Another tool's command line, read as that tool would.
#[derive(Debug, clap::Args)]
pub(crate) struct OtherArgs {
    /// Its options and the URL; --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}

/// What to list.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// What to list
    #[arg(value_enum)]
    pub(crate) what: Listed,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Runtimes with the version found, or how to get them
    Runtimes,
    /// Built-in workloads
    Workloads,
    /// Balancers and services that can stand around a runtime, with the version found
    Services,
    /// Stored studies, newest first
    Studies,
}

/// Which study to show, and where.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_precedence_over_arg = true)]
pub(crate) struct ShowArgs {
    #[command(subcommand)]
    pub(crate) other: Option<Shown>,
    /// A study's name, the start of one, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) study: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// What can be shown beside a study.
#[derive(Debug, Subcommand)]
pub(crate) enum Shown {
    /// Show a runtime: each setting with its value, the reason for it and the manual's address
    Runtime(Box<ShowRuntimeArgs>),
    /// Show the JSON Schema of a plan (stampede.yaml) or a workload (workload.yaml), for editors
    Schema {
        /// Of which file
        #[arg(value_enum, default_value = "plan")]
        of: SchemaOf,
    },
    /// Show the Role that generators in a cluster need, and its binding, as YAML: for `kubectl apply -f -`
    KubernetesRole(RoleArgs),
}

/// What a process in a pod of a load does.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum GuardianTask {
    /// Hold the lease of a load until nobody renews it
    Hold {
        /// The load
        run: String,
        /// Its length in seconds
        #[arg(long, value_name = "SECONDS")]
        lease: u64,
    },
    /// Renew the lease of a load for each byte of standard input
    Renew {
        /// The load
        run: String,
    },
    /// Wait until agents are no longer needed here
    Wait,
}

/// A file with a schema.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum SchemaOf {
    Plan,
    Workload,
}

/// Which runtime, for what.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_args(in_show_runtime))]
#[command(after_help = "Examples:\n  \
        stampede show runtime nginx-fpm\n  \
        stampede show runtime nginx-fpm --cpus 2 --load closed:64 --set nginx-fpm.pm=dynamic\n  \
        stampede show runtime caddy-fpm --render\n  \
        stampede show runtime nginx-fpm --replicas 2 --balancer haproxy --services postgres --render")]
pub(crate) struct ShowRuntimeArgs {
    #[command(flatten)]
    pub(crate) flags: RuntimeFlags,
    /// Show also the files, arguments and environment that it is run with
    #[arg(long)]
    pub(crate) render: bool,
}

fn in_show_runtime(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "app" => arg
            .help("Which of the workload's apps, by name [default: the first that the runtime can serve]")
            .help_heading(None::<&str>),
        "load" => arg.help("Load that it is set for [default: closed:16]").help_heading(None::<&str>),
        "cpus" | "memory" | "set" => arg.help_heading(None::<&str>),
        _ => arg,
    }
}

/// What to clean up beside runs.
#[derive(Debug, clap::Args)]
pub(crate) struct CleanArgs {
    /// Remove also the images that --platform docker has built; the next study builds what it needs
    #[arg(long, conflicts_with = "platform")]
    pub(crate) images: bool,
    #[command(flatten)]
    pub(crate) cluster: CleanClusterArgs,
}
