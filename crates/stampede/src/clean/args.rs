//! The command line of `stampede clean`.

use crate::kubernetes::args::CleanClusterArgs;

/// What to clean up beside runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  stampede clean --images  # remove built images, too")]
pub(crate) struct CleanArgs {
    /// Also remove the images that --platform docker has built; the next study builds what it needs again
    #[arg(long, conflicts_with = "platform")]
    pub(crate) images: bool,
    #[command(flatten)]
    pub(crate) cluster: CleanClusterArgs,
}
