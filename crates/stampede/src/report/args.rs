//! The command line of `stampede report`.

use std::path::PathBuf;

use crate::flags::StoreArgs;

/// On which study to report, and where.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
        stampede report\n  \
        stampede report 20260301 -o report.html\n  \
        stampede report latest --svg chart.svg      # for a README")]
pub(crate) struct ReportArgs {
    /// A study's name, the start of one, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) study: String,
    /// The file (`-` is stdout) [default: the study's name with .html]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write only a chart of all trials, as SVG (`-` is stdout)
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    pub(crate) svg: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
