//! What `stampede init` is asked for: where a plan is written, and where its requests come from.

use std::path::PathBuf;

use clap::Arg;
use stampede_plan::{DatabaseFlags, SiteFlags};
use stampede_traffic::TrafficSource;

use crate::flags::WaitArgs;

/// Requests of an access log, each as often as it is in there.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(id = "log")]
pub(crate) struct LogArgs {
    /// Take the requests from an access log, in the same proportions; .gz too (may be repeated)
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Vec<PathBuf>,
    /// Keep only the N most frequent requests of a log
    #[arg(long, value_name = "N", default_value_t = 20, requires = "access_log")]
    pub(crate) most: usize,
    /// Replay the log at its recorded rate, minute by minute, as an open load: x1, or x2 for twice as fast
    #[arg(long, value_name = "xN", requires = "access_log")]
    pub(crate) replay: Option<String>,
}

impl LogArgs {
    /// The files that requests are read from, where some are named.
    pub(crate) fn source(&self) -> Option<TrafficSource<'_>> {
        let Self { access_log, most, replay } = self;
        let named = (!access_log.is_empty()).then_some(access_log);
        named.map(|files| TrafficSource::AccessLogs { files, most: *most, replay: replay.as_deref() })
    }
}

/// Requests that people have; by default there is `GET /`.
#[derive(Debug, Default, clap::Args)]
#[group(id = "traffic")]
pub(crate) struct TrafficArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    /// Take the requests from a file with one URL per line: /path, a whole URL, or METHOD URL
    #[arg(long, value_name = "FILE", conflicts_with_all = ["access_log", "curl", "har"])]
    pub(crate) urls: Option<PathBuf>,
    /// Take a request from a curl command, as a browser copies it (may be repeated)
    #[arg(long, value_name = "LINE", conflicts_with_all = ["access_log", "har"])]
    pub(crate) curl: Vec<String>,
    /// Take the pages of a visit that a browser recorded (Save all as HAR)
    #[arg(long, value_name = "FILE", conflicts_with = "access_log")]
    pub(crate) har: Option<PathBuf>,
    /// Follow links from / and take N requests: pages, and their style sheets, scripts and images
    #[arg(long, value_name = "N", conflicts_with_all = ["access_log", "urls", "curl", "har"])]
    pub(crate) crawl: Option<usize>,
}

impl TrafficArgs {
    /// The files or lines that requests are read from, where some are named.
    pub(crate) fn source(&self) -> Option<TrafficSource<'_>> {
        let Self { log, urls, curl, har, crawl: _ } = self;
        let lines = (!curl.is_empty()).then_some(TrafficSource::Curl(curl));
        let urls = urls.as_deref().map(TrafficSource::Urls);
        log.source().or(urls).or(lines).or(har.as_deref().map(TrafficSource::Recording))
    }
}

/// Where a plan is written.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_init))]
#[command(after_help = "Examples:\n  \
        stampede init\n  \
        stampede init ./my-app\n  \
        stampede init ./my-app --access-log access.log.1 --access-log access.log.2.gz\n  \
        stampede init ./my-app --urls urls.txt\n  \
        stampede init ./my-app \\\n    \
        --curl \"curl 'https://shop.example/api?q=1' -H 'Accept: application/json'\"\n  \
        stampede compare ./my-app")]
pub(crate) struct InitArgs {
    /// The application's folder
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) site: SiteFlags,
    #[command(flatten)]
    pub(crate) databases: DatabaseFlags,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    /// Overwrite an existing plan and its recorded responses
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) wait: WaitArgs,
}

fn in_init(arg: Arg) -> Arg {
    arg.help_heading(None::<&str>)
}
