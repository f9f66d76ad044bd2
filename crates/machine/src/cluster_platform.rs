//! The platform of a plan in a cluster.

use stampede_cluster::{ClusterPlatform, Ground, GroundOrder, PodAgent, PodVantage};
use stampede_conduct::Failure;
use stampede_core::Limits;
use stampede_drive::{Demand, carried};
use stampede_kubernetes::{Cluster, ClusterAccess, Purpose};
use stampede_load::Backend;
use stampede_plan::{ClusterChoice, ComparePlan};

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
    let ClusterChoice { context, namespace, image, cpus } = choice;
    let access = ClusterAccess { context: context.clone(), namespace: namespace.clone() };
    let cluster = Cluster::connect(&access).await.map_err(Failure::missing)?;
    cluster.check_rights(Purpose::Deployments).await.map_err(Failure::missing)?;
    let note = |words: &str| {
        if !onlooker.quiet {
            onlooker.notices.note(words);
        }
    };
    let count = u32::try_from(plan.generators.len()).unwrap_or(u32::MAX);
    let (namespace, context) = (cluster.namespace(), cluster.context());
    note(&format!("pods in the namespace {namespace} of {context}: generators ({count}), and one case at a time"));
    // Its node has room for the largest of them.
    let limits = beside.iter().fold(plan.limits, |Limits { cpus, memory }, other| Limits {
        cpus: cpus.max(other.limits.cpus),
        memory: memory.max(other.limits.memory),
    });
    let order = GroundOrder { image: image.clone(), generators: count, cpus: cpus.cores(), limits };
    let ground = Ground::take(&cluster, &order, &note).await.map_err(Failure::missing)?;
    note(&format!("each case runs on node {}", ground.node));
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
    let load = stampede_drive::vantage(&plan.generators, streams, demand, (onlooker.notices, onlooker.quiet)).await?;
    let tell = if onlooker.quiet { |_: &str| {} } else { onlooker.tell };
    let seen = PodVantage::new(load, eyes, threads);
    Ok(ClusterPlatform::new(ground, seen, plan.limits, plan.ready_timeout, tell))
}
