//! The command line of `stampede show runtime`.

use clap::Arg;
use stampede_plan::RuntimeFlags;

/// Which runtime, for what.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_args(in_show_runtime))]
#[command(after_help = "Examples:\n  \
        stampede show runtime nginx-fpm\n  \
        stampede show runtime nginx-fpm --cpus 2 --load closed:64 \\\n    \
        --set nginx-fpm.pm=dynamic\n  \
        stampede show runtime caddy-fpm --render\n  \
        stampede show runtime nginx-fpm --replicas 2 --balancer haproxy \\\n    \
        --services postgres --render")]
pub(crate) struct ShowRuntimeArgs {
    #[command(flatten)]
    pub(crate) flags: RuntimeFlags,
    /// Also show the configuration files, arguments and environment that it is started with
    #[arg(long)]
    pub(crate) render: bool,
}

fn in_show_runtime(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "app" => arg
            .help("Which of the workload's apps, by name [default: the first that the runtime can serve]")
            .help_heading(None::<&str>),
        "load" => arg.help("Load that settings are made for [default: closed:16]").help_heading(None::<&str>),
        "cpus" | "memory" | "set" => arg.help_heading(None::<&str>),
        _ => arg,
    }
}
