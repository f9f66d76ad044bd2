//! Deployments in a cluster: a [`Platform`](stampede_seam::Platform) whose deployments are pods of images that somebody has built.
//!
//! A [`Ground`] is what a study has in a cluster before it begins: generators, and the node that all its deployments run on. On it a
//! [`ClusterPlatform`] launches them. They are seen from a [`PodVantage`]: requests and load come from generators' pods, and what the
//! kernel counts is read by an agent in the container itself. What a cluster's API is asked is in `stampede-kubernetes`.

mod clocks;
mod ground;
mod platform;
mod pod_agent;
mod pod_vantage;
mod running;
mod sampling;

pub use ground::{Ground, GroundOrder};
pub use platform::{Again, ClusterPlatform, KUBERNETES};
pub use pod_agent::PodAgent;
pub use pod_vantage::PodVantage;
