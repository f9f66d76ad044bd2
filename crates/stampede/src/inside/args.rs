//! The command line of `stampede inside`.

use std::path::PathBuf;

use crate::flags::{StoreArgs, StudyFlag};

/// What to look into: processes now, or a case of a study that was measured with `--inside`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code 3: a process does not exist, is not PHP, or may not be read.\n\nExamples:\n  \
        stampede inside $(pgrep -o php-fpm)  # a master and all of its workers\n  \
        stampede inside $(pgrep frankenphp) --duration 30s\n  \
        stampede inside 4711 --folded stacks.txt  # for tools that draw flame graphs\n  \
        stampede inside nginx-fpm --save stacks  # a case of the latest study")]
pub(crate) struct InsideArgs {
    /// Process ids (processes that these started are included); or a case of a study that was measured with --inside
    #[arg(value_name = "PID|CASE", required = true)]
    pub(crate) subjects: Vec<String>,
    /// How long to profile; Ctrl-C ends it earlier
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) duration: std::time::Duration,
    /// Samples per second of each thread, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 99, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rate: u32,
    #[command(flatten)]
    pub(crate) study: StudyFlag,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Write folded stacks, weighted by microseconds, as flame graph tools read them (`-` is stdout, in place of the tables)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) folded: Option<PathBuf>,
    /// Write the profile into this folder for other tools: as folded stacks, for speedscope and for pprof
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) save: Option<PathBuf>,
}
