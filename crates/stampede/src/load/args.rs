//! The flags of `stampede load`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Arg;
use stampede_plan::{LoadFlags, PodFlags};

use crate::flags::{BackendArgs, QuietArgs};
use crate::init::args::LogArgs;

/// What to send where, how much of it, and what must come back.
#[derive(Debug, clap::Args)]
#[command(mut_arg("backend", in_load))]
#[command(mut_arg("access_log", of_log))]
#[command(mut_arg("most", |arg| arg.help_heading("Request")))]
#[command(mut_arg("replay", |arg| arg.conflicts_with("load").help_heading("Load")))]
#[command(after_help = "Examples:\n  \
        stampede load http://127.0.0.1:8080/\n  \
        stampede load http://127.0.0.1:8080/ -c 64 -d 30s\n  \
        stampede load http://127.0.0.1:8080/ --load closed:1..100/60s\n  \
        stampede load http://127.0.0.1:8080/ --load open:500\n  \
        stampede load http://127.0.0.1:8080/ --load open:50/10s,50..500/60s\n  \
        stampede load https://localhost:8443/ --http2 --streams 10 --insecure\n  \
        stampede load http://127.0.0.1:8080/ -n 1000 -b @body.json --json result.json\n  \
        stampede load http://127.0.0.1:8080/ --scenario rinha.yaml \\\n    \
        --feeder people=payloads.tsv\n  \
        stampede load http://127.0.0.1:8080/ --access-log access.log --replay x2\n  \
        stampede load http://web.shop.svc/ --generators kubernetes:2 \\\n    \
        --namespace shop --generator-image r.example/stampede\n\n\
        Exit codes: 0 done; 2 usage error; 3 something needed is missing here;\n\
        4 the load generator was the bottleneck, or responses were wrong;\n\
        5 no correct response came; 130 interrupted.")]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    pub(crate) flags: LoadFlags,
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    /// Trust the certificates in this file (PEM) instead of this machine's
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", help_heading = "Protocol")]
    pub(crate) cacert: Option<PathBuf>,
    /// Accept any certificate
    #[arg(long, help_heading = "Protocol")]
    pub(crate) insecure: bool,
    /// Client certificate (PEM) for a server that asks for one
    #[arg(long, value_name = "FILE", help_heading = "Protocol")]
    pub(crate) cert: Option<PathBuf>,
    /// The key of --cert (PEM) [default: in the same file]
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "Protocol")]
    pub(crate) key: Option<PathBuf>,
    /// Name of the server for TLS (SNI and certificate) [default: the URL's host, whatever the Host header]
    #[arg(long, value_name = "NAME", help_heading = "Protocol")]
    pub(crate) server_name: Option<String>,
    /// Connect to ADDRESS where the URL is HOST:PORT, as curl does
    #[arg(long, value_name = "HOST:PORT:ADDRESS", conflicts_with_all = ["connect", "unix"], help_heading = "Protocol")]
    pub(crate) resolve: Vec<String>,
    /// Connect from this address of this machine
    #[arg(long, value_name = "ADDRESS", conflicts_with = "unix", help_heading = "Protocol")]
    pub(crate) source: Option<IpAddr>,
    /// Connect to HOST:PORT in place of the URL's; if repeated, connections are spread over all of them
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "unix", help_heading = "Protocol")]
    pub(crate) connect: Vec<String>,
    /// Connect to this unix socket; the URL still gives host and path
    #[arg(long, value_name = "PATH", help_heading = "Protocol")]
    pub(crate) unix: Option<PathBuf>,
    /// Allow a target that is neither this machine nor in a private network
    #[arg(long, help_heading = "Protocol")]
    pub(crate) allow_remote: bool,
    /// Follow redirects, up to 9 for each request; it counts as one request, until the last response
    #[arg(long, conflicts_with_all = ["scenario", "generators"], help_heading = "Protocol")]
    pub(crate) follow_redirects: bool,
    /// Write the result as JSON (`-` is stdout, in place of the table)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,
    /// Write a line of JSON for each second, while load runs (`-` is stdout, in place of the table)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) timeseries: Option<PathBuf>,
    /// Write a line for every request to a .csv, .tsv or .ndjson file, while load runs
    #[arg(long, value_name = "FILE", conflicts_with = "generators", help_heading = "Output")]
    pub(crate) samples: Option<PathBuf>,
    /// Write the percentiles of response times as a file for HdrHistogram's plotter
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) hdr: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pods: PodFlags,
    #[command(flatten)]
    pub(crate) quiet: QuietArgs,
}

/// It says what is sent.
fn of_log(access_log: Arg) -> Arg {
    access_log.conflicts_with_all(["scenario", "method", "body"]).help_heading("Request")
}

/// It stands before the seed.
fn in_load(backend: Arg) -> Arg {
    backend
        .help("System calls of the load generator: epoll, io-uring, or auto [default: auto, whichever costs less CPU on this machine]")
        .help_heading("Load")
        .display_order(5)
}
