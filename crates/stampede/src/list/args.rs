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
    /// Runtimes with the installed version, or how to install them
    Runtimes,
    /// Built-in workloads: small applications to compare runtimes with
    Workloads,
    /// Load balancers and databases that can be measured together with a runtime, with the installed version
    Services,
    /// Stored studies, newest first
    Studies,
}
