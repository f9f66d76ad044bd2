//! What commands do with a cluster: pods that drive a load, the Role that this needs, and what loads left there.

pub(crate) mod args;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use stampede_core::Carrier;
use stampede_generators::{CarriedStream, Carrying};
use stampede_kubernetes::{
    AgentStream, Cluster, ClusterAccess, ClusterService, GeneratorOrder, Pods, RoleSubject, ServiceName,
};
use stampede_plan::HttpUrl;

use crate::exit::{Exit, Failure};
use crate::kubernetes::args::{ClusterArgs, PodArgs, RoleArgs};
use crate::{Outcome, screen};

/// The generators of a load that are pods.
pub(crate) struct PodGenerators {
    cluster: Cluster,
    image: String,
    count: u32,
    cpus: f64,
}

impl PodGenerators {
    /// Those among generators, with so many threads each, once it is seen that they may be made; none where none is a pod.
    pub(crate) async fn find(generators: &[Carrier], threads: usize, args: PodArgs) -> Result<Option<Self>, Failure> {
        let PodArgs { cluster, generator_image, generator_cpus } = args;
        let ClusterArgs { kube_context, namespace } = &cluster;
        let count = generators.iter().filter(|carrier| **carrier == Carrier::Kubernetes).count();
        if count == 0 {
            let given = [
                ("--generator-image", generator_image.is_some()),
                ("--generator-cpus", generator_cpus.is_some()),
                ("--kube-context", kube_context.is_some()),
                ("--namespace", namespace.is_some()),
            ];
            return match given.iter().find(|(_, is_given)| *is_given) {
                Some((flag, _)) => Err(Failure::usage(format!(
                    "{flag} belongs to pods; give --generators kubernetes:2, or leave it out"
                ))),
                None => Ok(None),
            };
        }
        let Some(image) = generator_image else {
            return Err(Failure::usage(
                "--generators kubernetes needs an image with this version of Stampede: give --generator-image REGISTRY/stampede:TAG",
            ));
        };
        let cpus = generator_cpus.unwrap_or(threads as f64);
        if !(0.01..=1000.0).contains(&cpus) {
            return Err(Failure::usage(format!(
                "--generator-cpus {cpus} is not a number of processors; for example 0.5"
            )));
        }
        let cluster = connect(cluster).await?;
        cluster.check_rights().await.map_err(Failure::missing)?;
        Ok(Some(Self { cluster, image, count: u32::try_from(count).unwrap_or(u32::MAX), cpus }))
    }

    /// The pods of the service that a URL names, where it names one.
    pub(crate) async fn service(&self, url: &HttpUrl) -> Result<Option<ClusterService>, Failure> {
        let Some(name) = ServiceName::of_host(&url.host) else { return Ok(None) };
        self.cluster.service(&name, url.port).await.map(Some).map_err(Failure::missing)
    }

    /// Makes the pods, away from those with these labels, for a load that takes so long at most.
    pub(crate) async fn start(
        &self,
        avoid: BTreeMap<String, String>,
        longest: Duration,
        quiet: bool,
    ) -> Result<Pods, Failure> {
        let Self { cluster, image, count, cpus } = self;
        let order = GeneratorOrder { image: image.clone(), count: *count, cpus: *cpus, avoid, longest };
        let note = |words: &str| {
            if !quiet {
                screen::note(words);
            }
        };
        note(&format!("{count} pods in the namespace {} of {}", cluster.namespace(), cluster.context()));
        if cpus.fract() > 0.0 {
            note(&format!("  {cpus} processors each: what they can send is measured of whole ones"));
        }
        Pods::start(cluster, &order, &note).await.map_err(Failure::missing)
    }
}

/// The streams of agents in pods.
pub(crate) async fn streams(pods: &Pods, quiet: bool) -> Result<Vec<CarriedStream>, Failure> {
    let mut streams = Vec::new();
    for (place, AgentStream { pod, node, output, input, said }) in
        pods.open().await.map_err(Failure::missing)?.into_iter().enumerate()
    {
        if !quiet {
            screen::note(&format!("pod {} of the generators is {pod} on node {node}", place + 1));
        }
        streams.push(CarriedStream { output, input, carrier: Box::new(InPod(said)) });
    }
    Ok(streams)
}

/// What is known of an agent in a pod.
struct InPod(Box<dyn Fn() -> String + Send + Sync>);

impl Carrying for InPod {
    fn said(&self) -> String {
        self.0()
    }
}

/// Ends pods, and reports what is left where that fails.
pub(crate) async fn end(pods: Pods) {
    let lease = pods.is_over();
    if let Some(problem) = lease {
        screen::warning(&format!("the guardian of the pods has ended: {problem}"));
    }
    if let Err(error) = pods.end().await {
        screen::warning(&error.to_string());
        screen::note("  the pods end by themselves within a minute; see stampede clean --platform kubernetes");
    }
}

/// `stampede show kubernetes-role`.
pub(crate) fn show_role(args: &RoleArgs) -> Outcome {
    let RoleArgs { user, service_account, cluster } = args;
    let namespace = match &cluster.namespace {
        Some(namespace) => namespace.clone(),
        None => runtime()?.block_on(connect(cluster.clone()))?.namespace().to_owned(),
    };
    let subject = match user {
        Some(user) => RoleSubject::User(user.clone()),
        None => RoleSubject::ServiceAccount(service_account.clone()),
    };
    screen::print(&stampede_kubernetes::role(&namespace, subject).map_err(Failure::missing)?)?;
    Ok(Exit::Done)
}

/// `stampede clean --platform kubernetes`.
pub(crate) fn clean(cluster: &ClusterArgs) -> Outcome {
    runtime()?.block_on(async {
        let cluster = connect(cluster.clone()).await?;
        let found = cluster.leftovers(Timestamp::now()).await.map_err(Failure::missing)?;
        for leftover in &found {
            let what =
                format!("load {}: {}", leftover.run, [&leftover.jobs[..], &leftover.pods[..]].concat().join(", "));
            if leftover.is_held {
                screen::note(&format!("left alone: {what}; its guardian removes it at the end of its lease"));
                continue;
            }
            cluster.remove(leftover).await.map_err(Failure::missing)?;
            screen::note(&format!("removed {what}"));
        }
        if found.is_empty() {
            screen::note(&format!("nothing to clean in the namespace {}", cluster.namespace()));
        }
        Ok(Exit::Done)
    })
}

async fn connect(args: ClusterArgs) -> Result<Cluster, Failure> {
    let ClusterArgs { kube_context, namespace } = args;
    Cluster::connect(&ClusterAccess { context: kube_context, namespace }).await.map_err(Failure::missing)
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)
}
