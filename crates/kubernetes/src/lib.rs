//! Pods of a cluster, for load and under test: what they need, what is made, how their streams are reached, and how all of it ends.
//!
//! [`Cluster`] is a namespace of the cluster that a kubeconfig names. A [`PodRun`] is what one command makes there: a guardian, which owns
//! everything else and holds a lease. [`Pods`] are generators, each of which waits for an agent to be started in it ([`guardian`] has both
//! processes). A [`Server`] is a deployment of an image that somebody has built, with Stampede's own program beside it; a [`ScaledServer`] is one
//! whose pods the cluster's autoscaler starts and stops, and nothing is beside those. What an agent's
//! frames mean is not known here, nor what is measured.

mod cluster;
mod cluster_error;
mod exec;
mod fate;
pub mod guardian;
mod labels;
mod lease_line;
mod leftovers;
mod manifest;
mod placed_program;
mod pod_course;
mod pod_state;
mod pods;
mod rights;
mod run;
mod scaled;
mod scaled_manifest;
mod server_manifest;
mod servers;
mod service;
mod waiting;

pub use cluster::{Cluster, ClusterAccess};
pub use cluster_error::ClusterError;
pub use exec::AgentStream;
pub use fate::Fate;
pub use leftovers::Leftover;
pub use placed_program::put;
pub use pod_course::{PodCourse, PodUse};
pub use pods::{GeneratorOrder, Pods};
pub use rights::{Purpose, RoleSubject, role};
pub use run::PodRun;
pub use scaled::{DesiredPods, ScaledCourse, ScaledServer};
pub use scaled_manifest::ScaledOrder;
pub use server_manifest::ServerOrder;
pub use servers::{FoundPod, Server, ServerEnd};
pub use service::{ClusterService, ServiceName};
