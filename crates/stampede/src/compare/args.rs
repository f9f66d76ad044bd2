//! The command line of `stampede compare`.

use clap::Arg;
use stampede_plan::{AtFlag, CompareFlags, DryRunFlag};

use crate::flags::{BackendArgs, MetricArgs, StudyArgs};

/// What to compare, under what, for how long.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_compare))]
#[command(after_help = "Examples:\n  \
        stampede compare .  # your application; its framework is detected\n  \
        stampede compare  # the stampede.yaml in this folder, see stampede init\n  \
        stampede compare markdown --runtimes nginx-fpm,go --load closed:64\n  \
        stampede compare markdown --cpus 0.5 --memory 256Mi --json result.json\n  \
        stampede compare markdown --set nginx-fpm.pm=dynamic --rounds 5\n  \
        stampede compare markdown --at 70%  # then response times below saturation\n  \
        stampede compare markdown --replicas 2 --balancer nginx --tls\n  \
        stampede compare markdown --platform docker --base-image debian:bookworm\n  \
        stampede compare --image my/app:fpm --image my/app:frankenphp\n  \
        stampede compare --image r.example/app:1 --image r.example/app:2 \\\n    \
        --platform kubernetes --generator-image r.example/stampede")]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) flags: CompareFlags,
    #[command(flatten)]
    pub(crate) at: AtFlag,
    #[command(flatten)]
    pub(crate) metric: MetricArgs,
    #[command(flatten)]
    pub(crate) dry_run: DryRunFlag,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    #[command(flatten)]
    pub(crate) study: StudyArgs,
}

fn in_compare(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "app" => arg.value_name("A,B").help(
            "Which of the workload's apps to serve, by name: symfony, or several: plain,symfony [default: the first that a \
             runtime can serve]",
        ),
        "php" => arg.value_name("A,B").help(
            "PHP versions to compare on each runtime: 8.2,8.4, or paths of php programs [default: that of `php` \
             on the search path]",
        ),
        "load" => arg.help(
            "Load. closed:N keeps N connections busy, one request in flight on each: how much can it take? open:RATE sends RATE \
             requests a second, whether or not the server keeps up: how fast is it? open:poisson:RATE with random gaps; \
             open:FROM..TO/TIME is a ramp [default: closed:16]",
        ),
        _ => arg,
    }
}
