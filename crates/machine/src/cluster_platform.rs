//! The platform of a plan in a cluster.

use std::sync::Arc;

use stampede_cluster::{Again, ClusterPlatform, Ground, GroundOrder, PodAgent, PodVantage};
use stampede_conduct::Failure;
use stampede_core::Limits;
use stampede_drive::{Demand, carried};
use stampede_kubernetes::{Cluster, ClusterAccess, Purpose};
use stampede_load::Backend;
use stampede_plan::{ClusterChoice, ComparePlan};
use stampede_seam::Vantage;
use stampede_vantage::Here;

use crate::onlooker::Onlooker;

/// Pods in a cluster: generators, and whatever the cases of the plan and of those beside it are.
///
/// # Errors
///
/// When the cluster does not answer, this user may not do what is needed, or there is no room.
pub(crate) async fn in_cluster(
    choice: &ClusterChoice,
    plan: &ComparePlan,
    beside: &[&ComparePlan],
    onlooker: Onlooker<'_>,
) -> Result<ClusterPlatform, Failure> {
    let ClusterChoice { context, namespace, image, cpus, node, scales } = choice;
    let access = ClusterAccess { context: context.clone(), namespace: namespace.clone() };
    let cluster = Cluster::connect(&access).await.map_err(Failure::missing)?;
    let rights = if *scales { Purpose::Scaling } else { Purpose::Deployments };
    cluster.check_rights(rights).await.map_err(Failure::missing)?;
    let note = |words: &str| {
        if !onlooker.quiet {
            onlooker.notices.note(words);
        }
    };
    let count = u32::try_from(plan.generators.len()).unwrap_or(u32::MAX);
    let (namespace, context) = (cluster.namespace(), cluster.context());
    let what = if *scales { "the pods of a service" } else { "one case at a time" };
    note(&format!("pods in the namespace {namespace} of {context}: generators ({count}), and {what}"));
    // Its node has room for the largest of them.
    let limits = beside.iter().fold(plan.limits, |Limits { cpus, memory }, other| Limits {
        cpus: cpus.max(other.limits.cpus),
        memory: memory.max(other.limits.memory),
    });
    let (image, node) = (image.clone(), node.clone());
    let order = GroundOrder { image, generators: count, cpus: cpus.cores(), limits, node };
    let ground = Ground::take(&cluster, &order, &note).await.map_err(Failure::missing)?;
    if !scales {
        note(&format!("each case runs on node {}", ground.node));
    }
    let mut streams = Vec::new();
    for (place, stream) in ground.pods.open().await.map_err(Failure::missing)?.into_iter().enumerate() {
        let beside = if stream.node == ground.node { ", beside the cases" } else { "" };
        note(&format!("pod {} of the generators is {} on node {}{beside}", place + 1, stream.pod, stream.node));
        streams.push(carried(stream));
    }
    let stream = ground.pods.open_another().await.map_err(Failure::missing)?;
    let eyes = PodAgent::begin(stream).await.map_err(Failure::missing)?;
    let threads = u32::try_from(cpus.whole_cores()).unwrap_or(u32::MAX);
    let own: Vec<u32> = (0..threads).collect();
    let purpose = format!("compare {}", plan.workload.id);
    let demand = Demand { purpose: &purpose, loads: vec![&plan.load], cpus: &own, backend: Backend::Epoll };
    let here: Arc<dyn Vantage> = Here::new();
    let load = stampede_drive::vantage(
        Arc::clone(&here),
        &plan.generators,
        streams,
        demand,
        (onlooker.notices, onlooker.quiet),
    )
    .await?;
    let tell = if onlooker.quiet { |_: &str| {} } else { onlooker.tell };
    let seen = PodVantage::new(load, eyes, threads);
    let carriers = plan.generators.clone();
    let again: Again = Box::new(move |pods| {
        let (here, carriers, own) = (Arc::clone(&here), carriers.clone(), own.clone());
        Box::pin(async move {
            let streams = pods.open().await.map_err(|error| error.to_string())?.into_iter().map(carried).collect();
            let eyes = pods.open_another().await.map_err(|error| error.to_string())?;
            let load =
                stampede_drive::again(here, &carriers, streams, &own).await.map_err(|failure| failure.message)?;
            Ok(PodVantage::new(load, PodAgent::begin(eyes).await?, threads))
        })
    });
    Ok(ClusterPlatform::new(ground, (seen, again), plan.limits, plan.ready_timeout, tell))
}
