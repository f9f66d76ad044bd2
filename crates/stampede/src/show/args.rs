//! The command line of `stampede show`.

use clap::Subcommand;

use crate::flags::{OutputArgs, StoreArgs};
use crate::kubernetes::args::RoleArgs;
use crate::show_runtime::args::ShowRuntimeArgs;

/// Which study to show, and where.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_precedence_over_arg = true)]
pub(crate) struct ShowArgs {
    #[command(subcommand)]
    pub(crate) other: Option<Shown>,
    /// A study's name, the start of one, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) study: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// What can be shown beside a study.
#[derive(Debug, Subcommand)]
pub(crate) enum Shown {
    /// Show a runtime: each setting with its value, the reason for it and the manual's address
    Runtime(Box<ShowRuntimeArgs>),
    /// Show the JSON Schema of a plan (stampede.yaml) or a workload (workload.yaml), for editors
    Schema {
        /// Of which file
        #[arg(value_enum, default_value = "plan")]
        of: SchemaOf,
    },
    /// Show the Role that generators in a cluster need, and its binding, as YAML: for `kubectl apply -f -`
    KubernetesRole(RoleArgs),
}

/// A file with a schema.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum SchemaOf {
    Plan,
    Workload,
}
