//! The command line of `stampede clean`.

use crate::kubernetes::args::CleanClusterArgs;

/// What to clean up beside runs.
#[derive(Debug, clap::Args)]
pub(crate) struct CleanArgs {
    /// Remove also the images that --platform docker has built; the next study builds what it needs
    #[arg(long, conflicts_with = "platform")]
    pub(crate) images: bool,
    #[command(flatten)]
    pub(crate) cluster: CleanClusterArgs,
}
