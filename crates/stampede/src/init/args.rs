//! Where the requests of a plan come from.

use std::path::PathBuf;

/// Requests that people have; by default there is `GET /`.
#[derive(Debug, Default, clap::Args)]
#[group(id = "traffic")]
pub(crate) struct TrafficArgs {
    /// Take the requests from an access log, each as often as it is in there; .gz too; may be given several times
    #[arg(long, value_name = "FILE", conflicts_with_all = ["urls", "curl", "har"])]
    pub(crate) access_log: Vec<PathBuf>,
    /// Take the requests from a file with an address a line: /path, a whole URL, or METHOD URL
    #[arg(long, value_name = "FILE", conflicts_with_all = ["curl", "har"])]
    pub(crate) urls: Option<PathBuf>,
    /// Take a request from a curl line, as a browser copies it; may be given several times
    #[arg(long, value_name = "LINE", conflicts_with = "har")]
    pub(crate) curl: Vec<String>,
    /// Take the pages of a visit that a browser recorded (Save all as HAR)
    #[arg(long, value_name = "FILE")]
    pub(crate) har: Option<PathBuf>,
    /// Take N requests that a visitor can come to: pages from / on by their links, and their style sheets, scripts and images
    #[arg(long, value_name = "N", conflicts_with_all = ["access_log", "urls", "curl", "har"])]
    pub(crate) crawl: Option<usize>,
    /// How many different requests are taken from a log, the most frequent ones
    #[arg(long, value_name = "N", default_value_t = 20, requires = "access_log")]
    pub(crate) most: usize,
}
