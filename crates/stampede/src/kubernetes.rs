//! What commands do with a cluster: pods that drive a load, the Role that this needs, and what loads left there.

pub(crate) mod args;

use jiff::Timestamp;
use stampede_drive::PodRequest;
use stampede_kubernetes::{Cluster, ClusterAccess, RoleSubject};
use stampede_plan::{ClusterFlags, PodFlags};

use crate::exit::{Exit, Failure};
use crate::kubernetes::args::RoleArgs;
use crate::{Outcome, screen};

/// What a load asks for of its pods.
pub(crate) fn request(flags: PodFlags) -> PodRequest {
    let PodFlags { cluster, generator_image, generator_cpus } = flags;
    PodRequest { cluster: access(cluster), image: generator_image, cpus: generator_cpus }
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
pub(crate) fn clean(cluster: &ClusterFlags) -> Outcome {
    runtime()?.block_on(async {
        let cluster = connect(cluster.clone()).await?;
        let found = cluster.leftovers(Timestamp::now()).await.map_err(Failure::missing)?;
        for leftover in &found {
            let what = format!("load {}: {}", leftover.run, leftover.objects().join(", "));
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

async fn connect(args: ClusterFlags) -> Result<Cluster, Failure> {
    Cluster::connect(&access(args)).await.map_err(Failure::missing)
}

fn access(args: ClusterFlags) -> ClusterAccess {
    let ClusterFlags { kube_context, namespace } = args;
    ClusterAccess { context: kube_context, namespace }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)
}
