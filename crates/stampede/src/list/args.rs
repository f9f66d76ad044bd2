//! The command line of `stampede list`.

use clap::ValueEnum;

use crate::flags::StoreArgs;

/// What to list.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
        stampede list runtimes\n  \
        stampede list studies")]
pub(crate) struct ListArgs {
    /// What to list
    #[arg(value_enum)]
    pub(crate) what: Listed,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Runtimes with the version found, or how to get them
    Runtimes,
    /// Built-in workloads
    Workloads,
    /// Balancers and services that can be put around a runtime, with the version found
    Services,
    /// Stored studies, newest first
    Studies,
}
