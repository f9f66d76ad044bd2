//! Generators of load as pods of a cluster: what they need, what is made, how their streams are reached, and how all of it ends.
//!
//! [`Cluster`] is a namespace of the cluster that a kubeconfig names. [`Pods`] are the pods of one load: a guardian, which owns
//! everything else and holds a lease, and generators, each of which waits for an agent to be started in it ([`guardian`] has both
//! processes). What an agent's frames mean is not known here, nor what is measured.

mod cluster;
mod cluster_error;
pub mod guardian;
mod labels;
mod lease_line;
mod leftovers;
mod manifest;
mod pod_state;
mod pods;
mod rights;
mod service;

pub use cluster::{Cluster, ClusterAccess};
pub use cluster_error::ClusterError;
pub use leftovers::Leftover;
pub use pods::{AgentStream, GeneratorOrder, Pods};
pub use rights::{RoleSubject, role};
pub use service::{ClusterService, ServiceName};
