//! The flags that name a cluster.

use clap::{Args, ValueEnum};

/// Which cluster, and which namespace of it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClusterArgs {
    /// The context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME", help_heading = "Kubernetes")]
    pub(crate) kube_context: Option<String>,
    /// The namespace; nothing outside it is touched [default: the context's]
    #[arg(long, value_name = "NAME", help_heading = "Kubernetes")]
    pub(crate) namespace: Option<String>,
}

/// Which pods drive a load, and where.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PodArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// With --generators kubernetes: an image that has this version of Stampede, for the generators
    #[arg(long, value_name = "IMAGE", help_heading = "Kubernetes")]
    pub(crate) generator_image: Option<String>,
    /// With --generators kubernetes: processors of each generator, also a part of one [default: as many as --threads]
    #[arg(long, value_name = "CPUS", help_heading = "Kubernetes")]
    pub(crate) generator_cpus: Option<f64>,
}

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
    pub(crate) cluster: ClusterArgs,
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
    pub(crate) cluster: ClusterArgs,
}
