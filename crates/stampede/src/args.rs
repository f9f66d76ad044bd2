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
    /// With --version: also print the commit and the compiler, and the versions of file formats
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
    /// responses, sends requests, and reports which runtime is faster, by how much, and how certain that is.
    ///
    /// The limits are for everything that serves: nginx and PHP-FPM share one CPU quota and one memory limit. A case is a
    /// runtime with its settings. Each round measures every case once, in random order, on freshly started servers; one such
    /// measurement is a trial. All of it is a study, which is stored: see `stampede show`.
    Compare(Box<CompareArgs>),
    /// Find how many requests per second a runtime can take before your SLO breaks
    ///
    /// Measures throughput with more and more connections. Then tries request rates, with random gaps, until it knows the
    /// highest one that meets the SLO, and confirms it in a longer trial. Each trial starts the servers afresh.
    Capacity(Box<CapacityArgs>),
    /// Check whether a change made your application slower: exit code 1 if it did
    ///
    /// Measures the versions before and after the change alternately, each trial on fresh servers, and compares the
    /// difference with the threshold. The verdict is passed, failed, or undecided (the measurements show neither); undecided
    /// exits with 0 unless --strict is given.
    Gate(Box<GateArgs>),
    /// Find what holds a measured runtime back, by changing one limit at a time
    ///
    /// Takes a case (a runtime with its settings) of a stored study and tests each limit that may be its bottleneck: CPU,
    /// memory, workers. Each limit alone is raised by half, or lowered by a fifth if it cannot be raised, and measured beside
    /// the unchanged case in the same rounds. The bottleneck is the limit whose change has the largest effect.
    Why(Box<WhyArgs>),
    /// Profile running PHP processes: where their time goes, without an extension
    ///
    /// Reads PHP's call stacks from outside, by process id: workers of PHP-FPM, Apache, FrankenPHP, RoadRunner, Swoole and
    /// others. Nothing is loaded into PHP and no process is paused. Needs root, unless you started the processes yourself.
    Inside(InsideArgs),
    /// Find the settings of a runtime that are best under these limits
    ///
    /// Tries settings within a time budget, each beside the best so far in the same rounds, and drops the worse. The winner
    /// is then compared with the defaults and with what the runtime's documentation recommends, also under 0.5 and 1.2 times
    /// the load.
    Tune(Box<TuneArgs>),
    /// Find the cheapest CPU, memory and workers that meet your SLO under a load
    ///
    /// Tries runtimes with different limits and numbers of workers, chosen by a queueing model, and drops what misses the SLO.
    /// The sizes that seem cheapest are then confirmed in fresh rounds, at the load and with headroom.
    Size(Box<SizeArgs>),
    /// Write a stampede.yaml for your application, and record its current responses
    ///
    /// Looks at the folder, prints what it found and which runtimes can serve it, starts it on one of them, records its
    /// responses (parts that change from one to the next, such as tokens, are masked), and writes a commented plan file.
    /// `stampede compare` runs that plan.
    Init(InitArgs),
    /// Run a published experiment again, and print its tables beside yours
    ///
    /// Without a name, lists the experiments. Each table of an experiment is measured as a study, each row as a case (a runtime
    /// with its settings); what cannot run here is listed with how to install it. Then it reports for each published
    /// difference of more than 20 %, and for each of the author's claims, whether it is confirmed, refuted or undecided.
    Reproduce(Box<ReproduceArgs>),
    /// Measure autoscaling as on Cloud Run or Knative, with real instances on this machine
    ///
    /// Puts a gateway in front of real instances of your application, each under its own limits, and starts and stops them as
    /// the autoscaler of Cloud Run or Knative would. Reports instances, queue, cold starts, failed and rejected requests,
    /// responses per vCPU-second, and the cost. For services larger than this machine: `stampede forecast`.
    Scale(Box<ScaleArgs>),
    /// Simulate an autoscaled service of any size, with its bill, from what was measured
    ///
    /// Takes from a stored study how much CPU time a request needs, how well requests share a CPU and how long an instance takes
    /// to start. Simulates instances that start and stop by the platform's rules, and prints response times, instances,
    /// rejected requests and cost for each combination of concurrency, CPU and memory.
    Forecast(Box<ForecastArgs>),
    /// Write files that deploy a runtime with the settings that were measured
    ///
    /// A Dockerfile, Compose file, Kubernetes manifests, systemd units, or the servers' configuration files alone. They hold the
    /// settings and limits that were measured, with the paths of where they are deployed.
    Export(Box<ExportArgs>),
    /// Load-test a URL and measure its responses
    ///
    /// Sends requests as ab, hey and wrk do: on a fixed number of busy connections (closed load), or at a fixed rate (open
    /// load). Every response is checked. Response times count from when a request was due, so waiting is not left out.
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
    /// Show a stored study again, a runtime's settings, or the schema of plan files
    ///
    /// A study is what one command measured; `stampede list studies` lists them. Verdicts and findings are recomputed from the
    /// stored measurements.
    Show(Box<ShowArgs>),
    /// Write a report on a stored study as one self-contained HTML file
    ///
    /// Verdicts and findings are recomputed from the stored measurements. The file holds all of them, and has buttons that
    /// save them as JSON and CSV.
    Report(ReportArgs),
    /// Browse all stored studies: a dashboard on this machine
    ///
    /// A searchable list, the report of each study, two studies side by side, and a metric over time. It only reads, and ends
    /// with Ctrl-C. Other machines reach it only at the address that you give (--listen), and only with a token.
    Serve(ServeArgs),
    /// Write a stored study into one file, to keep it or give it to others
    ///
    /// The file holds everything that is stored about the study. `stampede import-study` reads it on another machine, where
    /// `show`, `report`, `gate` and `forecast` then work on it.
    ExportStudy(ExportStudyArgs),
    /// Import a study from a file of `stampede export-study`
    ///
    /// A file that is incomplete, altered, or written by a newer Stampede is refused. Stored studies are not changed.
    ImportStudy(ImportStudyArgs),
    /// Check whether this machine can measure, and print what to do if it cannot
    ///
    /// Checks CPU and memory limits, idle processors, other programs, open files, ports, clock and timers, and which runtimes are
    /// installed. Takes about two seconds and changes nothing.
    Doctor(DoctorArgs),
    /// Stop and remove what a killed Stampede left behind
    ///
    /// Ends processes and removes control groups and folders of a Stampede that no longer runs. What a running Stampede uses is
    /// not touched. The next `stampede compare` does the same by itself. With --platform kubernetes: jobs and pods in a
    /// namespace.
    Clean(CleanArgs),
    /// Print the help of a command, or its manual page
    Help(HelpArgs),
    /// Print a script with which your shell completes commands and flags of Stampede
    ///
    /// Packages install it already. For zsh, write it to a file `_stampede` in a folder of $fpath.
    #[command(after_help = "Examples:\n  \
        stampede completions bash \\\n    \
        > ~/.local/share/bash-completion/completions/stampede\n  \
        stampede completions fish > ~/.config/fish/completions/stampede.fish")]
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
