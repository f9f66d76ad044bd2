//! What several benchmarks take on the command line.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

/// Of what is measured.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct UnderTest {
    /// The program under test [default: stampede, beside this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) stampede: Option<PathBuf>,
    /// What else went on, in words, for what is kept and written
    #[arg(long, value_name = "TEXT", default_value = "nothing said")]
    pub(crate) remark: String,
}

/// Whole seconds, as `3s` or `3`.
pub(crate) fn seconds(typed: &str) -> Result<Duration, String> {
    let seconds: Result<NonZeroU32, _> = typed.strip_suffix('s').unwrap_or(typed).parse();
    seconds
        .map(|seconds| Duration::from_secs(seconds.get().into()))
        .map_err(|_| "it takes whole seconds, as 3s".to_owned())
}
