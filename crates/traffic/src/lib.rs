//! Requests that people have, read into a mix: access logs, lists of addresses, curl lines, recordings of a browser, a walk
//! over a site.
//!
//! Bytes in, requests out. Nothing is read from a disk or sent: whoever calls opens files and asks servers.

mod access_log;
mod asset;
mod browser_recording;
mod busy_minute;
mod crawl;
mod curl;
mod escape;
mod header_use;
mod links;
mod log_line;
mod mix;
mod planned_traffic;
mod recorded_request;
mod replay;
mod robot;
mod robots_file;
mod shell_words;
mod sign_in;
mod sitemap;
mod target;
mod url_list;

pub use access_log::{AccessLog, LogSummary};
pub use browser_recording::{BrowserRecording, RecordedStep};
pub use busy_minute::BusyMinute;
pub use crawl::{Crawl, CrawlAnswer, CrawlSummary};
pub use curl::curl;
pub use mix::{Mix, MixedRequest};
pub use planned_traffic::{OpenFile, PlannedTraffic, SCENARIO, TrafficSource};
pub use recorded_request::RecordedRequest;
pub use replay::Replay;
pub use sign_in::SignIn;
pub use url_list::url_list;
