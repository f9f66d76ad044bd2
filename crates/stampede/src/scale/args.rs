//! The command line of `stampede scale`.

use clap::Arg;
use stampede_plan::ScaleFlags;

use crate::flags::{BackendArgs, StudyArgs};

/// Which runtime, behind which autoscaler, under what load.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_scale))]
#[command(after_help = "Examples:\n  \
        stampede scale apache-mod-php markdown --cpus 1 --concurrency 80 \\\n    \
        --max-instances 1 --load closed:100\n  \
        stampede scale apache-mod-php markdown --max-instances 1 --load closed:100 \\\n    \
        --total-cpus 1 \\\n    \
        --against cpus=0.167,memory=256Mi,concurrency=1,max-instances=6\n  \
        stampede scale nginx-fpm markdown --cpus 0.167 --memory 256Mi \\\n    \
        --concurrency 1 --max-instances 6\n  \
        stampede scale php-cli-server hello --policy knative --min-instances 1 \\\n    \
        --load open:5..50/60s\n  \
        stampede scale frankenphp ./my-app --client-rtt 35ms --json -\n  \
        stampede scale --image r.example/shop:1 --cpus 0.5 --load open:10..200/3m \\\n    \
        --platform kubernetes --generator-image r.example/stampede")]
pub(crate) struct ScaleArgs {
    #[command(flatten)]
    pub(crate) flags: ScaleFlags,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    #[command(flatten)]
    pub(crate) study: StudyArgs,
}

fn in_scale(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "cpus" => arg.help("CPUs of an instance [default: 1]").help_heading("Service"),
        "memory" => arg.help("Memory of an instance [default: 512Mi]").help_heading("Service"),
        "ready" => arg
            .value_name("HOW")
            .help("When a new instance gets requests: port (as soon as it listens) or request (as soon as it answers one) [default: request]")
            .help_heading("Service"),
        "load" => arg.help("Load: closed:N, open:RATE or open:FROM..TO/TIME [default: closed:16]"),
        "client_rtt" => arg
            .help("Round-trip time between client and gateway, added to this machine's own: 35ms [default: none]")
            .help_heading("Load"),
        "duration" => arg.help("How long each trial is measured, after the warm-up [default: 30s; 3m with --platform kubernetes]"),
        "warm_up" => {
            arg.value_name("TIME").help("Load before the measurement, not counted; it would include the first cold starts [default: 0s]")
        }
        "rounds" => arg
            .value_name("N")
            .help("How many times each configuration is measured, from a fresh start [default: 1, or 3 with --against]"),
        "seed" => arg.help("Seed of the random gaps of open:poisson loads [default: a random one]"),
        "platform" => arg.help(
            "Where instances run: local, as processes of this machine; docker, each in a container of this machine; or \
             kubernetes, as pods that the cluster's own HorizontalPodAutoscaler starts and stops [default: local]",
        ),
        _ => arg,
    }
}
