//! The flags of `stampede load`.

use std::path::PathBuf;

use stampede_plan::GeneratorsFlag;

use crate::args::QuietArgs;
use crate::backend::BackendChoice;

/// What a scenario says itself, or cannot go with.
const OF_SCENARIO: [&str; 13] = [
    "load",
    "connections",
    "think",
    "method",
    "headers",
    "body",
    "http10",
    "check_status",
    "check_body_equals",
    "check_body_contains",
    "check_headers",
    "check_body_sha256",
    "check_json",
];

/// What to send where, how much of it, and what must come back.
#[derive(Debug, clap::Args)]
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
    /// The address: http://HOST[:PORT][/PATH], or https://
    pub(crate) url: String,
    /// Load: closed:N keeps N connections busy; open:RATE has requests due at RATE a second, whatever
    /// the server does; FROM..TO/TIME in place of either number is a ramp, N/TIME,... are stages,
    /// open:poisson:RATE is random [default: closed:16]
    #[arg(long, value_name = "MODEL", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) load: Option<String>,
    /// Connections: how many a closed load keeps busy, or an open load uses in turn [default: 16; open: as
    /// many as it needs, up to 256]
    #[arg(long, short, value_name = "N", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) connections: Option<String>,
    /// How long [default: the length of the load's stages, or 8s]
    #[arg(long, short, value_name = "TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) duration: Option<String>,
    /// Stop after this many requests; of a scenario, after this many flows of each crowd
    #[arg(long, short = 'n', value_name = "N", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) requests: Option<String>,
    /// Threads, each on a processor of its own [default: half of the processors]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) threads: Option<String>,
    #[command(flatten)]
    pub(crate) generators: GeneratorsFlag,
    /// How the kernel is reached: epoll, io-uring, or auto [default: auto, which is what costs less here]
    #[arg(
        long,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        hide_default_value = true,
        help_heading = "Load"
    )]
    pub(crate) backend: BackendChoice,
    /// Seed of random arrivals [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) seed: Option<String>,
    /// Think time of a closed load, between an answer and the next request: 1s, or any time of 1s..3s
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) think: Option<String>,
    /// Play this scenario: users who take steps, with values from answers and tables. It says all that
    /// the flags for load, request and checks say otherwise, but for --duration [default: its longest stages]
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_SCENARIO, help_heading = "Load")]
    pub(crate) scenario: Option<PathBuf>,
    /// Another file for a feeder of the scenario (may be repeated)
    #[arg(long = "feeder", value_name = "NAME=FILE", requires = "scenario", help_heading = "Load")]
    pub(crate) feeders: Vec<String>,
    /// Method [default: GET, or POST where there is a body]
    #[arg(long, short, value_name = "METHOD", help_heading = "Request")]
    pub(crate) method: Option<String>,
    /// A header (may be repeated)
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", help_heading = "Request")]
    pub(crate) headers: Vec<String>,
    /// The body, or @FILE
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Request")]
    pub(crate) body: Option<String>,
    /// A connection for each request
    #[arg(long, help_heading = "Protocol")]
    pub(crate) no_keepalive: bool,
    /// Speak HTTP/1.0, asking that connections be kept
    #[arg(long = "http1.0", help_heading = "Protocol")]
    pub(crate) http10: bool,
    /// Speak HTTP/2: with prior knowledge, over https by ALPN
    #[arg(long, help_heading = "Protocol")]
    pub(crate) http2: bool,
    /// Requests in flight on each HTTP/2 connection, at most [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Protocol")]
    pub(crate) streams: Option<String>,
    /// Trust the certificates in this file (PEM) instead of this machine's
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", help_heading = "Protocol")]
    pub(crate) cacert: Option<PathBuf>,
    /// Take any certificate
    #[arg(long, help_heading = "Protocol")]
    pub(crate) insecure: bool,
    /// Connect to HOST:PORT in place of the URL's; given more than once, connections take turns
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "unix", help_heading = "Protocol")]
    pub(crate) connect: Vec<String>,
    /// How long a request may take before it has failed [default: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Request")]
    pub(crate) timeout: Option<String>,
    /// Connect to this unix socket; the URL still gives host and path
    #[arg(long, value_name = "PATH", help_heading = "Protocol")]
    pub(crate) unix: Option<PathBuf>,
    /// Allow a target that is neither this machine nor in a private network
    #[arg(long, help_heading = "Protocol")]
    pub(crate) allow_remote: bool,
    /// Statuses that are right: 200,204 or 200-299 [default: 200-399]
    #[arg(long, value_name = "LIST", help_heading = "Checks")]
    pub(crate) check_status: Option<String>,
    /// The body that is right
    #[arg(long, value_name = "TEXT", conflicts_with = "check_body_contains", help_heading = "Checks")]
    pub(crate) check_body_equals: Option<String>,
    /// Text that the right body contains
    #[arg(long, value_name = "TEXT", help_heading = "Checks")]
    pub(crate) check_body_contains: Option<String>,
    /// A header that the right answer has (may be repeated)
    #[arg(long = "check-header", value_name = "NAME: VALUE", help_heading = "Checks")]
    pub(crate) check_headers: Vec<String>,
    /// The SHA-256 hash of the right body, in hexadecimal digits
    #[arg(long, value_name = "HASH", help_heading = "Checks")]
    pub(crate) check_body_sha256: Option<String>,
    /// A value in the JSON of the right body, at a JSON pointer: /data/0/id=7 (may be repeated)
    #[arg(long, value_name = "POINTER=VALUE", help_heading = "Checks")]
    pub(crate) check_json: Vec<String>,
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
