//! The command line of `stampede gate`.

use std::path::PathBuf;

use crate::args::StoreArgs;

/// What is held against what.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
        stampede gate main .                       (a revision, and this folder as it is)\n  \
        stampede gate origin/main HEAD --github --markdown comment.md\n  \
        stampede gate ./before ./after --metric cpu_us_per_request --threshold 3%\n  \
        stampede gate study:20260301 study:latest  (two stored studies of the same cases)\n\n\
        Exit codes: 0 passed, or undecided without --strict; 1 failed; the others as for compare.")]
pub(crate) struct GateArgs {
    /// What was before: a folder with a stampede.yaml or an application, a revision of the git repository around the current
    /// folder (git:NAME where a folder has that name too), or study:NAME
    pub(crate) base: String,
    /// What came after, in the same words
    pub(crate) head: String,
    /// How much worse it may be: 20% is 1.2 times the time, or throughput divided by 1.2, which is 17 % less [default: 5%]
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, help_heading = "Gate")]
    pub(crate) threshold: Option<String>,
    /// Which figure decides, by its key in JSON: cpu_us_per_request [default: throughput under closed load, the
    /// p99 response time under open load]
    #[arg(long, value_name = "KEY", help_heading = "Gate")]
    pub(crate) metric: Option<String>,
    /// Undecided does not pass
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
    /// Print annotations for GitHub as well
    #[arg(long, help_heading = "Output")]
    pub(crate) github: bool,
    #[command(flatten)]
    pub(crate) measuring: MeasuringArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// No progress on stderr
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// How both sides of a gate are measured, where their plans do not say it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MeasuringArgs {
    /// Runtime that serves both [default: the plan's, or the first that is installed and serves both]
    #[arg(long, value_name = "NAME", help_heading = "Measuring")]
    pub(crate) runtime: Option<String>,
    /// Set a tunable: nginx-fpm.pm.max_children=8 (may be repeated)
    #[arg(long, value_name = "RUNTIME.TUNABLE=VALUE", help_heading = "Measuring")]
    pub(crate) set: Vec<String>,
    /// CPUs for each side [default: 1]
    #[arg(long, value_name = "CPUS", allow_hyphen_values = true, help_heading = "Measuring")]
    pub(crate) cpus: Option<String>,
    /// Memory for each side [default: 512Mi]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, help_heading = "Measuring")]
    pub(crate) memory: Option<String>,
    /// Load: closed:N or open:RATE [default: closed:16]
    #[arg(long, value_name = "MODEL", allow_hyphen_values = true, help_heading = "Measuring")]
    pub(crate) load: Option<String>,
    /// Length of the measuring window of each trial [default: 8s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Measuring")]
    pub(crate) duration: Option<String>,
    /// Load before the window; auto finds it out by a pilot of each side [default: auto for windows of 5s and more that
    /// come to verdicts, otherwise 1s]
    #[arg(long, value_name = "auto|TIME", allow_hyphen_values = true, help_heading = "Measuring")]
    pub(crate) warm_up: Option<String>,
    /// Rounds, in each of which both sides are measured once: auto, or a number [default: auto]
    #[arg(long, value_name = "auto|N", allow_hyphen_values = true, help_heading = "Measuring")]
    pub(crate) rounds: Option<String>,
    /// The most time that rounds are found out in [default: 10m, or what three rounds need]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Measuring")]
    pub(crate) max_time: Option<String>,
    /// Seed of the order in which the sides are measured
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Measuring")]
    pub(crate) seed: Option<String>,
    /// End with exit code 3, instead of waiting, when another Stampede is measuring
    #[arg(long, help_heading = "Measuring")]
    pub(crate) no_wait: bool,
}
