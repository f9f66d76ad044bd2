//! The command line of `stampede help`.

use std::path::PathBuf;

use clap::Subcommand;

/// What is explained.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
        stampede help compare\n  \
        stampede help show runtime\n  \
        stampede help man compare | man -l -\n  \
        stampede help man --dir ./man1")]
pub(crate) struct HelpArgs {
    #[command(subcommand)]
    pub(crate) topic: Option<Topic>,
}

/// What can be explained.
#[derive(Debug, Subcommand)]
pub(crate) enum Topic {
    /// Print a manual page for man(1)
    Man(ManArgs),
    /// A command by its words: `show runtime`.
    #[command(external_subcommand)]
    Command(Vec<String>),
}

/// Of what, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// The command, such as compare or show runtime [default: stampede itself]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}
