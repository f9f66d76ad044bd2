//! The command line of `stampede gate`.

use std::path::PathBuf;

use clap::Arg;
use stampede_plan::GateFlags;

use crate::flags::{BenchArgs, MetricArgs, ResumeArgs, StoreArgs};

/// What is held against what.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_gate))]
#[command(after_help = "Examples:\n  \
        stampede gate main .  # a revision, and this folder as it is\n  \
        stampede gate origin/main HEAD --github --markdown comment.md\n  \
        stampede gate ./before ./after --metric cpu_us_per_request --threshold 3%\n  \
        stampede gate image:my/app:main image:my/app:change\n  \
        stampede gate study:20260301 study:latest  # two stored studies\n\n\
        Exit codes: 0 passed, or undecided without --strict; 1 failed;\n\
        the others as for compare.")]
pub(crate) struct GateArgs {
    /// The version before the change: a git revision, a folder with an application or a stampede.yaml, image:NAME for a
    /// container image, or study:NAME for a stored study (git:NAME for a revision with the name of a folder)
    pub(crate) base: String,
    /// The version after the change, in any of these forms
    pub(crate) head: String,
    /// Slowdown that still passes: with 20%, responses may take 1.2 times as long, and throughput may fall by 17 %
    /// [default: 5%]
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, help_heading = "Gate")]
    pub(crate) threshold: Option<String>,
    #[command(flatten)]
    pub(crate) metric: MetricArgs,
    /// Exit with 1 if the verdict is undecided [default: an undecided change passes]
    #[arg(long, help_heading = "Gate")]
    pub(crate) strict: bool,
    /// Write a JUnit report (`-` is stdout, in place of the text)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,
    /// Write a comment for a pull request as Markdown (`-` is stdout, in place of the text)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write a report that opens in a browser, in one file (`-` is stdout, in place of the text)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Write a row for each trial as CSV (`-` is stdout, in place of the text)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) csv: Option<PathBuf>,
    /// Also print annotations for GitHub Actions
    #[arg(long, help_heading = "Output")]
    pub(crate) github: bool,
    #[command(flatten)]
    pub(crate) measuring: GateFlags,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) bench: BenchArgs,
}

fn in_gate(arg: Arg) -> Arg {
    const MEASURING: &str = "Measuring";
    match arg.get_id().as_str() {
        "metric" => arg
            .help(
                "Metric that decides, such as cpu_us_per_request; --metric help lists all [default: throughput under \
                 closed load, the p99 response time under open load]",
            )
            .help_heading("Gate"),
        "cpus" => arg.help("CPUs that all processes of one version together may use [default: 1]").help_heading(MEASURING),
        "memory" => arg.help("Memory that all processes of one version together may use [default: 512Mi]").help_heading(MEASURING),
        "warm_up" => arg
            .help(
                "Load before the window, not counted; auto determines it by a short trial of each side [default: auto if windows \
                 are 5s or longer, otherwise 1s]",
            )
            .help_heading(MEASURING),
        "rounds" => arg
            .help("Rounds, in each of which both versions are measured once: auto (until the result is clear), or a number [default: auto]")
            .help_heading(MEASURING),
        "seed" => arg.help("Seed of the random order in which the versions are measured [default: a random one]").help_heading(MEASURING),
        "resume" => arg.help("Resume an interrupted gate: repeat its command line").help_heading(MEASURING),
        "index" | "set" | "load" | "duration" | "order" | "max_time" | "no_wait" | "platform" | "base_image" | "generators" => {
            arg.help_heading(MEASURING)
        },
        _ => arg,
    }
}
