//! The command line of `stampede forecast`.

use std::path::PathBuf;

use clap::Arg;

use crate::args::StoreArgs;
use crate::scale::args::{PriceArgs, ServiceArgs, WaitingArgs};

/// What to simulate, from which study.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_args(in_forecast))]
#[command(after_help = "Examples:\n  \
        stampede compare markdown --runtimes nginx-fpm --load closed:1     (calibrates)\n  \
        stampede compare markdown --runtimes nginx-fpm --load open:poisson:20   (how idle instances are)\n  \
        stampede forecast --load open:poisson:200 --concurrency 1,10,80 --cpus 0.5,1\n  \
        stampede forecast latest --load open:10..200/10m --times 100 --policy knative\n  \
        stampede forecast 20260301 --case nginx-fpm --load closed:100 --client-rtt 35ms --cpus 0.167 --memory 256Mi")]
pub(crate) struct ForecastArgs {
    /// A stored study with a case that had one request at a time: its name, the start of one, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) study: String,
    /// Which of its cases, where several had one request at a time
    #[arg(long, value_name = "CASE", help_heading = "Calibration")]
    pub(crate) case: Option<String>,
    /// Another study of the same runtime (may be repeated): closed loads of more connections tell how well requests share
    /// the CPU, and low open loads how much longer an instance works that was idle
    #[arg(long, value_name = "STUDY", help_heading = "Calibration")]
    pub(crate) also: Vec<String>,
    /// Load: open:RATE, open:poisson:RATE, open:FROM..TO/TIME, or closed:CLIENTS
    #[arg(long, value_name = "MODEL", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) load: Option<String>,
    /// In place of --load: a file with the time of a request in each line, in seconds from the first
    #[arg(long, value_name = "FILE", conflicts_with = "load", help_heading = "Load")]
    pub(crate) trace: Option<PathBuf>,
    /// What if there were so many times as many? [default: 1]
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) times: Option<String>,
    /// Of closed loads: the round trip between a client and the platform [default: 0ms]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) client_rtt: Option<String>,
    /// How long is simulated and counted [default: the length of the load's stages, or 5m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) duration: Option<String>,
    /// How long before that is simulated and not counted [default: of a load that never changes 2m, on
    /// Cloud Run and its idle time; otherwise none]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) warm_up: Option<String>,
    #[command(flatten)]
    pub(crate) service: ServiceArgs,
    /// CPU of an instance, each a point: 0.167,0.5,1 [default: as calibrated]
    #[arg(long, value_name = "A,B", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) cpus: Option<String>,
    /// Memory of an instance, each a point: 256Mi,512Mi [default: as calibrated]
    #[arg(long, value_name = "A,B", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) memory: Option<String>,
    /// How many requests an instance works on at once; the others that it is given wait [default: the pool that
    /// the calibrating case was given, or that its runtime has by default]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) workers: Option<String>,
    /// All instances share so many processors, as on a laptop [default: each has its own]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) host_cpus: Option<String>,
    #[command(flatten)]
    pub(crate) waiting: WaitingArgs,
    /// Time that a start takes beside what was measured, as for the image to be there [default: 0s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Service")]
    pub(crate) start_wait: Option<String>,
    /// Instances have more CPU while they start
    #[arg(long, help_heading = "Service")]
    pub(crate) start_boost: bool,
    /// Instances have their CPU also between requests, and are paid for as long as they live
    #[arg(long, help_heading = "Service")]
    pub(crate) cpu_always: bool,
    #[command(flatten)]
    pub(crate) price: PriceArgs,
    /// How often each point is simulated, with other luck [default: 5]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Simulation")]
    pub(crate) rounds: Option<String>,
    /// Seed; the same seed gives the same forecast [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Simulation")]
    pub(crate) seed: Option<String>,
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
        "concurrency" => arg
            .value_name("A,B")
            .help("The most requests that an instance is given at once, each a point: 1,10,80 [default: 80]"),
        "max_instances" => arg.help("The most instances [default: 100]"),
        "request_timeout" => arg.help("How long a request may take in all [default: 5m]"),
        "price" => arg
            .help("Whose price [default: cloud-run-requests, or cloud-run-instances with --cpu-always]")
            .help_heading("Cost"),
        _ => arg,
    }
}
