//! The flags of `stampede load`.

use std::path::PathBuf;

use clap::Arg;
use stampede_plan::LoadFlags;

use crate::args::{BackendArgs, QuietArgs};

/// What to send where, how much of it, and what must come back.
#[derive(Debug, clap::Args)]
#[command(mut_arg("backend", in_load))]
#[command(after_help = "Examples:\n  \
        stampede load http://127.0.0.1:8080/\n  \
        stampede load http://127.0.0.1:8080/ -c 64 -d 30s\n  \
        stampede load http://127.0.0.1:8080/ --load closed:1..100/60s\n  \
        stampede load http://127.0.0.1:8080/ --load open:500\n  \
        stampede load http://127.0.0.1:8080/ --load open:50/10s,50..500/60s\n  \
        stampede load https://localhost:8443/ --http2 --streams 10 --insecure\n  \
        stampede load http://127.0.0.1:8080/ -n 1000 -b @body.json --json result.json\n  \
        stampede load http://127.0.0.1:8080/ --scenario rinha.yaml --feeder people=payloads.tsv\n\n\
        Exit codes: 0 done; 2 usage error; 3 something needed is missing here;\n\
        4 the generator was the limit, or answers were wrong; 5 no right answer came;\n\
        130 interrupted.")]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    pub(crate) flags: LoadFlags,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    /// Trust the certificates in this file (PEM) instead of this machine's
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", help_heading = "Protocol")]
    pub(crate) cacert: Option<PathBuf>,
    /// Take any certificate
    #[arg(long, help_heading = "Protocol")]
    pub(crate) insecure: bool,
    /// Connect to HOST:PORT in place of the URL's; given more than once, connections take turns
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "unix", help_heading = "Protocol")]
    pub(crate) connect: Vec<String>,
    /// Connect to this unix socket; the URL still gives host and path
    #[arg(long, value_name = "PATH", help_heading = "Protocol")]
    pub(crate) unix: Option<PathBuf>,
    /// Allow a target that is neither this machine nor in a private network
    #[arg(long, help_heading = "Protocol")]
    pub(crate) allow_remote: bool,
    /// Write the result as JSON (`-` is stdout, in place of the table)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,
    /// Write each second as a line of JSON while load runs (`-` is stdout, in place of the table)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) timeseries: Option<PathBuf>,
    /// Write the response times as a percentile file for HdrHistogram's plotter
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) hdr: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) quiet: QuietArgs,
}

/// It stands before the seed.
fn in_load(backend: Arg) -> Arg {
    backend
        .help("How the kernel is reached: epoll, io-uring, or auto [default: auto, which is what costs less here]")
        .help_heading("Load")
        .display_order(5)
}
