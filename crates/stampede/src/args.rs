//! The commands. Each has its flags in a file `args.rs` of its own, where it flattens the groups of plans, which say what is measured, and
//! those of [`flags`](crate::flags); one in which such a flag means something of its own rewords it there. Values stay text: a plan reads
//! them all and tells all mistakes at once.

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::capacity::args::CapacityArgs;
use crate::clean::args::CleanArgs;
use crate::compare::args::CompareArgs;
use crate::doctor::args::DoctorArgs;
use crate::export::args::ExportArgs;
use crate::forecast::args::ForecastArgs;
use crate::gate::args::GateArgs;
use crate::guardian::args::GuardianTask;
use crate::help::args::HelpArgs;
use crate::init::args::InitArgs;
use crate::inside::args::InsideArgs;
use crate::list::args::ListArgs;
use crate::load::args::LoadArgs;
use crate::report::args::ReportArgs;
use crate::reproduce::args::ReproduceArgs;
use crate::scale::args::ScaleArgs;
use crate::serve::args::ServeArgs;
use crate::show::args::ShowArgs;
use crate::size::args::SizeArgs;
use crate::study_file::args::{ExportStudyArgs, ImportStudyArgs};
use crate::tune::args::TuneArgs;
use crate::why::args::WhyArgs;

/// Which PHP runtime is fastest for your application, under equal limits, and how sure is that?
#[derive(Debug, Parser)]
#[command(
    version,
    disable_version_flag = true,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    max_term_width = 100,
    after_help = "Examples:\n  \
        stampede compare .                  # your application, in this folder\n  \
        stampede compare markdown           # a built-in workload\n  \
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
    /// Profile running PHP processes: where their time goes, without an extension
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
    /// Find the cheapest CPU, memory and workers that meet your SLO under a load
    ///
    /// Tries runtimes under limits of CPU and memory with pools of several sizes, guided by a model of queues, and drops what
    /// fails the SLO. What seems cheapest is then confirmed in fresh rounds, from expensive to cheap, at the load and with headroom.
    Size(Box<SizeArgs>),
    /// Write a stampede.yaml for your application, and record its current responses
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
    /// Measure autoscaling as on Cloud Run or Knative, with real instances on this machine
    ///
    /// Puts a gateway in front of real instances, each a deployment under limits of its own, and starts and stops them as the
    /// autoscaler of Cloud Run or Knative would while load is driven: instances, queue, cold starts with their parts, requests by
    /// outcome, responses per vCPU-second, and the bill. `stampede forecast` simulates what this machine cannot hold.
    Scale(Box<ScaleArgs>),
    /// Simulate an autoscaled service of any size, with its bill, from what was measured
    ///
    /// Takes from a stored study how much work a request is, how well requests share a CPU and how an instance starts, and lets
    /// the platform's rules start and stop as many instances as the load asks for: response times, instances, rejected
    /// requests and cost for each combination of concurrency, CPU and memory.
    Forecast(Box<ForecastArgs>),
    /// Write files that deploy a runtime with the settings that were measured
    ///
    /// A Dockerfile, manifests, systemd units, or the configuration alone: the one that was measured, with the paths of
    /// the target.
    Export(Box<ExportArgs>),
    /// Load-test a URL and measure its responses
    ///
    /// Just the load engine: closed or open load over HTTP, every answer checked, response times counted from when a
    /// request was due. Reports when it was itself the bottleneck.
    Load(Box<LoadArgs>),
    /// Use like `hey`: the same options and output, on Stampede's load engine
    #[command(disable_help_flag = true)]
    Hey(OtherArgs),
    /// Use like `ab`: the same options and output, on Stampede's load engine
    #[command(disable_help_flag = true)]
    Ab(OtherArgs),
    /// Use like `wrk`: the same options and output, on Stampede's load engine
    #[command(disable_help_flag = true)]
    Wrk(OtherArgs),
    /// List runtimes, workloads, services or stored studies
    List(ListArgs),
    /// Show a stored study again, a runtime's settings, or the schema of plans
    ///
    /// Verdicts and findings of a study are recomputed from its records.
    Show(Box<ShowArgs>),
    /// Write a report on a stored study as one self-contained HTML file
    ///
    /// Verdicts and findings are recomputed from the study's records. The file holds all records, and has buttons that
    /// save them as JSON and CSV.
    Report(ReportArgs),
    /// Browse all stored studies: a dashboard on this machine
    ///
    /// A searchable list, the report of each study, two studies side by side, and a metric over time. It changes
    /// nothing, and ends with Ctrl-C. Other machines reach it only at the address that you give, and only with a token.
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
    /// Stop and remove what a killed Stampede left behind
    ///
    /// Processes, control groups and folders of runs whose Stampede is gone. What a running Stampede uses is not
    /// touched. The next `stampede compare` does the same. With --platform kubernetes: jobs and pods of loads in a
    /// namespace.
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
    /// Carry out a command beside a container engine (started by Stampede itself, in a container)
    #[command(name = "__beside", hide = true, disable_help_flag = true)]
    Beside(OtherArgs),
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

/// Another tool's command line, read as that tool would.
#[derive(Debug, clap::Args)]
pub(crate) struct OtherArgs {
    /// Its options and the URL; --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}
