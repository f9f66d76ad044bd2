//! The command line of `stampede show`.

use clap::Subcommand;

use crate::flags::{OutputArgs, StoreArgs};
use crate::kubernetes::args::RoleArgs;
use crate::show_runtime::args::ShowRuntimeArgs;

/// Which study to show, and where.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_precedence_over_arg = true)]
#[command(after_help = "Examples:\n  \
        stampede show  # the latest study\n  \
        stampede show runtime nginx-fpm --cpus 0.5 --memory 256Mi\n  \
        stampede show schema > stampede.schema.json")]
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
    /// Show the settings of a runtime: each with its value, the reason for it and a link to its manual
    Runtime(Box<ShowRuntimeArgs>),
    /// Show the JSON Schema of stampede.yaml or workload.yaml, for completion in editors
    Schema {
        /// Of which file: plan is stampede.yaml, workload is workload.yaml
        #[arg(value_enum, default_value = "plan")]
        of: SchemaOf,
    },
    /// Show the Role that load generators in a cluster need, with its binding, as YAML: for `kubectl apply -f -`
    KubernetesRole(RoleArgs),
}

/// A file with a schema.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum SchemaOf {
    Plan,
    Workload,
}
