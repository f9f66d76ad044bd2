//! The flags that name a cluster.

use clap::{Args, ValueEnum};
use stampede_plan::ClusterFlags;

/// A platform that is cleaned on request alone.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CleanedPlatform {
    Kubernetes,
}

/// Whether a namespace of a cluster is cleaned.
#[derive(Args, Clone, Debug)]
pub(crate) struct CleanClusterArgs {
    /// Clean a namespace of a cluster in place of this machine: list what loads left there, and remove it
    #[arg(long, value_name = "NAME")]
    pub(crate) platform: Option<CleanedPlatform>,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// Who gets a Role.
#[derive(Args, Clone, Debug)]
pub(crate) struct RoleArgs {
    /// Bind the Role to this user of the cluster
    #[arg(long, value_name = "NAME", conflicts_with = "service_account")]
    pub(crate) user: Option<String>,
    /// Bind the Role to this ServiceAccount of the namespace
    #[arg(long, value_name = "NAME", default_value = "stampede")]
    pub(crate) service_account: String,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}
