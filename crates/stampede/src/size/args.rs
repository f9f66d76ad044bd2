//! The command line of `stampede size`.

use clap::Arg;
use stampede_plan::{DryRunFlag, SizeFlags};

use crate::flags::StudyArgs;

/// Of what, under which load and objective, at which prices.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_size))]
#[command(after_help = "Examples:\n  \
        stampede size markdown --load open:poisson:300 --slo 'p99<200ms,errors<0.1%'\n  \
        stampede size ./my-app --load open:poisson:100 --slo 'p99<300ms' \\\n    \
        --runtimes nginx-fpm,frankenphp --budget 40m\n  \
        stampede size markdown --load open:poisson:50 --slo 'p95<100ms' \\\n    \
        --prices fly-performance --headroom 30%\n  \
        stampede size ./my-app --autoscale --load open:poisson:50 \\\n    \
        --slo 'p99<300ms,errors<0.1%' --policy knative\n\n\
        Exit codes: 0 a size was found; 1 no size is shown to meet the SLO;\n\
        4 the generator was the limit; 5 no runtime started; others: stampede --help.")]
pub(crate) struct SizeArgs {
    #[command(flatten)]
    pub(crate) flags: SizeFlags,
    #[command(flatten)]
    pub(crate) dry_run: DryRunFlag,
    #[command(flatten)]
    pub(crate) study: StudyArgs,
}

fn in_size(arg: Arg) -> Arg {
    const SEARCH: &str = "Search";
    match arg.get_id().as_str() {
        "load" => arg.help("Load under which the SLO must hold (required): open:poisson:300 is 300 requests a second with random gaps"),
        "slo" => arg.help(
            "Limits that must hold, on a response time (p50, p90, p95, p99, p99.9; counted from when a request was due) and \
             on the share of failed requests: p99<200ms,errors<0.1% [default: the plan's]",
        ),
        "cpus" => arg.value_name("A,B").help("CPU limits to try: 0.25,0.5,1 [default: 0.1 to one less than this machine has]"),
        "memory" => arg.value_name("A,B").help("Memory limits to try: 128Mi,256Mi [default: 48Mi to half of this machine's, 2Gi at most]"),
        "concurrency" => arg.value_name("A,B").help("With --autoscale: requests at once [default: 1,4,8,16,40,80]"),
        "min_instances" => arg.value_name("A,B").help("With --autoscale: minimum numbers of instances [default: 0,1]"),
        "max_instances" => arg.help("With --autoscale: maximum number of instances [default: 100]"),
        "set" => arg.help("Fix a setting, and do not search it: nginx-fpm.pm.max_children=8 (may be repeated)"),
        "budget" => arg.help("About how long the search may take, confirmations included [default: 40m; 2h with --autoscale]"),
        "duration" => arg.help("Length of each measurement [default: 10s to 60s, enough for 20 requests beyond the percentile; with --autoscale up to 200s]"),
        "warm_up" => arg.value_name("TIME").help("Load before each measurement, not counted [default: 2s; with --autoscale as long as the autoscaler averages: 1m, hpa 5m]"),
        "seed" => arg.help("Seed of the random gaps between requests [default: a random one]").help_heading(SEARCH),
        "resume" => arg
            .value_name("SEARCH")
            .help("Resume a search, with a larger --budget if its time was over; repeat the same command line [default: the newest]")
            .help_heading(SEARCH),
        "dry_run" | "no_wait" | "ready_timeout" => arg.help_heading(SEARCH),
        _ => arg,
    }
}
