//! The command line of `stampede capacity`.

use clap::Arg;
use stampede_plan::CapacityFlags;

use crate::flags::{BackendArgs, StudyArgs};

/// Of what, under which objective, for how long.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_capacity))]
#[command(after_help = "Examples:\n  \
        stampede capacity nginx-fpm markdown --cpus 0.5 --memory 256Mi \\\n    \
        --slo 'p99<100ms,errors<0.1%'\n  \
        stampede capacity frankenphp ./my-app --slo 'p95<250ms' --duration 60s\n  \
        stampede capacity go hello --slo 'p99<10ms' --duration 5s --json -\n\n\
        Exit codes: 0 a rate was found; 1 no rate meets the SLO;\n\
        4 the load generator was the bottleneck; others: see stampede --help.")]
pub(crate) struct CapacityArgs {
    #[command(flatten)]
    pub(crate) flags: CapacityFlags,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    #[command(flatten)]
    pub(crate) study: StudyArgs,
}

fn in_capacity(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "slo" => arg.help(
            "Limits that must hold, on response times (p50, p90, p95, p99, p99.9; counted from when a request was due) and \
             on the share of failed requests: p99<100ms,errors<0.1% [default: the plan's]",
        ),
        "duration" => arg
            .help("How long each rate is measured, after the warm-up; the last takes four times as long [default: 45s]")
            .help_heading("Study"),
        "warm_up" => {
            arg.value_name("TIME").help("Load before each measurement, not counted [default: 2s]").help_heading("Study")
        }
        "max_time" => arg.help("Time limit for the whole search [default: 15m, or longer if --duration needs it]"),
        "seed" => arg.help("Seed of the random gaps between requests; the same seed gives the same gaps [default: a random one]"),
        "resume" => {
            arg.help("Resume an interrupted search; repeat the same command line [default: the newest]")
        }
        _ => arg,
    }
}
