//! The command line of `stampede tune`.

use std::path::PathBuf;

use clap::Arg;
use stampede_plan::{LadderFlags, TuneFlags};

use crate::flags::{MetricArgs, StudyArgs};

/// Which runtime, for what, and how long.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_tune))]
#[command(after_help = "Examples:\n  \
        stampede tune nginx-fpm mix --cpus 0.5 --memory 256Mi\n  \
        stampede tune nginx-fpm mix --slo 'p99<100ms,errors<0.1%' \\\n    \
        --budget 30m --out ./tuned\n  \
        stampede tune nginx-fpm ./my-app --objective memory --slo 'p95<50ms'\n  \
        stampede tune nginx-fpm mix --resume  # after an interruption\n  \
        stampede tune php-cli-server rinha --app laravel --steps 10 \\\n    \
        --metric created_count --cpus 1.5 --memory 3Gi --replicas 2 \\\n    \
        --balancer nginx --share replica=0.33,700Mi --share balancer=0.2,256Mi\n\n\
        Exit code 1: the best settings found miss the SLO.")]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    pub(crate) flags: TuneFlags,
    #[command(flatten)]
    pub(crate) steps: LadderFlags,
    #[command(flatten)]
    pub(crate) metric: MetricArgs,
    /// Write the winner's files into this folder, ready to start, as `stampede export config` does
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) study: StudyArgs,
}

fn in_tune(arg: Arg) -> Arg {
    const SEARCH: &str = "Search";
    match arg.get_id().as_str() {
        "set" => {
            arg.help("Fix a setting, and do not search it: nginx-fpm.pm=static (may be repeated)")
        }
        "duration" => arg.help("How long each trial is measured, after the warm-up [default: 4s]"),
        "metric" => arg
            .help("Metric that each step must improve, such as created_count; --metric help lists all [default: throughput_rps]")
            .requires("steps")
            .help_heading("Steps"),
        "seed" => arg.help("Seed of the search; the same seed tries in the same order [default: a random one]").help_heading(SEARCH),
        "resume" => arg
            .value_name("SEARCH")
            .help("Resume an interrupted search; repeat the same command line [default: the newest]")
            .help_heading(SEARCH),
        "no_wait" => arg.help_heading(SEARCH),
        _ => arg,
    }
}
