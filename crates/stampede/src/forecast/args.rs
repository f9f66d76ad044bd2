//! The command line of `stampede forecast`.

use std::path::PathBuf;

use clap::Arg;
use stampede_plan::ForecastFlags;

use crate::flags::StoreArgs;

/// What to simulate, from which study.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_args(in_forecast))]
#[command(after_help = "Examples:\n  \
        stampede compare markdown --runtimes nginx-fpm --load closed:1  # first\n  \
        stampede compare markdown --runtimes nginx-fpm --load open:poisson:20\n  \
        stampede forecast --load open:poisson:200 --concurrency 1,10,80 --cpus 0.5,1\n  \
        stampede forecast latest --load open:10..200/10m --times 100 --policy knative\n  \
        stampede forecast 20260301 --case nginx-fpm --load closed:100 \\\n    \
        --client-rtt 35ms --cpus 0.167 --memory 256Mi")]
pub(crate) struct ForecastArgs {
    /// A stored study that was measured with one request at a time (--load closed:1): its name, the start of one, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) study: String,
    #[command(flatten)]
    pub(crate) flags: ForecastFlags,
    /// Write the forecast as JSON (`-` is stdout, in place of the table)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,
    /// Write the table as Markdown (`-` is stdout, in place of the table)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write it as a page for a browser (`-` is stdout, in place of the table)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

fn in_forecast(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "concurrency" => arg.value_name("A,B").help(
            "Requests that an instance gets at once, at most; each value is simulated: 1,10,80 [default: 80]",
        ),
        "max_instances" => arg.help("Maximum number of instances [default: 100]"),
        "request_timeout" => arg.help("Time limit for a request, waiting included [default: 5m]"),
        "price" => arg
            .help("Price list; --price help prints all [default: cloud-run-requests, or cloud-run-instances with --cpu-always]")
            .help_heading("Cost"),
        _ => arg,
    }
}
