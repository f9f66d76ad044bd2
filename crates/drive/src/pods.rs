//! Pods of a cluster that drive a load.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_conduct::{Bench, Failure};
use stampede_core::{Carrier, Endpoint};
use stampede_generators::{CarriedStream, Carrying};
use stampede_kubernetes::{
    AgentStream, Cluster, ClusterAccess, ClusterService, GeneratorOrder, Pods, Purpose, ServiceName,
};
use stampede_plan::HttpUrl;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

/// How often it is looked whether a service has other pods.
const FOLLOW: Duration = Duration::from_secs(1);

/// What a load asks for of those of its generators that are pods.
#[derive(Clone, Debug, Default)]
pub struct PodRequest {
    /// The cluster.
    pub cluster: ClusterAccess,
    /// An image that has this version of Stampede.
    pub image: Option<String>,
    /// Processors of each; as many as threads by default.
    pub cpus: Option<f64>,
}

impl PodRequest {
    /// Those among generators that are pods, with so many threads each, once it is seen that they may be made; none where none is a pod.
    ///
    /// # Errors
    ///
    /// When something is said of pods where there are none, or not enough where there are some; when the cluster does not answer, or this
    /// user may not make them.
    pub(crate) async fn generators(
        self,
        generators: &[Carrier],
        threads: usize,
    ) -> Result<Option<PodGenerators>, Failure> {
        let Self { cluster, image, cpus } = self;
        let count = generators.iter().filter(|carrier| **carrier == Carrier::Kubernetes).count();
        if count == 0 {
            let given = [
                ("--generator-image", image.is_some()),
                ("--generator-cpus", cpus.is_some()),
                ("--kube-context", cluster.context.is_some()),
                ("--namespace", cluster.namespace.is_some()),
            ];
            return match given.iter().find(|(_, is_given)| *is_given) {
                Some((flag, _)) => Err(Failure::usage(format!(
                    "{flag} belongs to pods; give --generators kubernetes:2, or leave it out"
                ))),
                None => Ok(None),
            };
        }
        let Some(image) = image else {
            return Err(Failure::usage(
                "--generators kubernetes needs an image with this version of Stampede: give --generator-image REGISTRY/stampede:TAG",
            ));
        };
        let cpus = cpus.unwrap_or(threads as f64);
        if !(0.01..=1000.0).contains(&cpus) {
            return Err(Failure::usage(format!(
                "--generator-cpus {cpus} is not a number of processors; for example 0.5"
            )));
        }
        let cluster = Cluster::connect(&cluster).await.map_err(Failure::missing)?;
        PodGenerators::new(cluster, image, u32::try_from(count).unwrap_or(u32::MAX), cpus).await.map(Some)
    }
}

/// The generators of a load that are pods.
pub(crate) struct PodGenerators {
    cluster: Cluster,
    image: String,
    count: u32,
    cpus: f64,
}

impl PodGenerators {
    /// So many pods of an image, with so many processors each, once it is seen that they may be made.
    ///
    /// # Errors
    ///
    /// When the cluster does not answer, or this user may not make them.
    async fn new(cluster: Cluster, image: String, count: u32, cpus: f64) -> Result<Self, Failure> {
        cluster.check_rights(Purpose::Load).await.map_err(Failure::missing)?;
        Ok(Self { cluster, image, count, cpus })
    }

    /// The pods of the service that a URL names, where it names one.
    ///
    /// # Errors
    ///
    /// When the cluster does not answer, or has no such service.
    pub(crate) async fn service(&self, url: &HttpUrl) -> Result<Option<ClusterService>, Failure> {
        let Some(name) = ServiceName::of_host(&url.host) else { return Ok(None) };
        self.cluster.service(&name, url.port).await.map(Some).map_err(Failure::missing)
    }

    /// Follows the pods of the service that a URL names: whenever they are others than these, they are told.
    pub(crate) fn follow(
        &self,
        url: &HttpUrl,
        mut known: Vec<Endpoint>,
        tell: UnboundedSender<Vec<Endpoint>>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (cluster, name, port) = (self.cluster.clone(), ServiceName::of_host(&url.host), url.port);
        async move {
            while let Some(name) = &name
                && !tell.is_closed()
            {
                sleep(FOLLOW).await;
                // As before, where none is ready or the cluster does not answer.
                let Ok(found) = cluster.service(name, port).await else { continue };
                let found: Vec<Endpoint> = found.targets.into_iter().map(Endpoint::Tcp).collect();
                if found != known && tell.send(found.clone()).is_ok() {
                    known = found;
                }
            }
        }
    }

    /// Makes the pods, away from those with these labels, for a load that takes so long at most.
    pub(crate) async fn start(
        &self,
        avoid: BTreeMap<String, String>,
        longest: Duration,
        bench: Bench<'_>,
    ) -> Result<Pods, Failure> {
        let Self { cluster, image, count, cpus } = self;
        let order = GeneratorOrder { image: image.clone(), count: *count, cpus: *cpus, avoid, longest };
        let note = |words: &str| bench.note(words);
        note(&format!("pods in the namespace {} of {}: {count}", cluster.namespace(), cluster.context()));
        if cpus.fract() > 0.0 {
            note(&format!("  {cpus} processors each: how much they can send is only measured for whole processors"));
        }
        Pods::start(cluster, &order, &note).await.map_err(Failure::missing)
    }
}

/// The streams of agents in pods.
pub(crate) async fn streams(pods: &Pods, bench: Bench<'_>) -> Result<Vec<CarriedStream>, Failure> {
    let mut streams = Vec::new();
    for (place, stream) in pods.open().await.map_err(Failure::missing)?.into_iter().enumerate() {
        bench.note(&format!("pod {} of the generators is {} on node {}", place + 1, stream.pod, stream.node));
        streams.push(carried(stream));
    }
    Ok(streams)
}

/// The stream of an agent in a pod, for whoever shares loads.
#[must_use]
pub fn carried(AgentStream { pod: _, node: _, output, input, said }: AgentStream) -> CarriedStream {
    CarriedStream { output, input, carrier: Box::new(InPod(said)) }
}

/// What is known of an agent in a pod.
struct InPod(Box<dyn Fn() -> String + Send + Sync>);

impl Carrying for InPod {
    fn said(&self) -> String {
        self.0()
    }
}

/// Ends pods, and reports what is left where that fails.
pub(crate) async fn end(pods: Pods, bench: Bench<'_>) {
    let lease = pods.is_over();
    if let Some(problem) = lease {
        bench.warning(&format!("the guardian of the pods has ended: {problem}"));
    }
    if let Err(error) = pods.end().await {
        bench.warning(&error.to_string());
        bench
            .host
            .notices()
            .note("  the pods end by themselves within a minute; see stampede clean --platform kubernetes");
    }
}
