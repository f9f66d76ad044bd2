//! What commands do with a cluster: pods that drive a load, the Role that this needs, and what loads left there.

pub(crate) mod args;

use jiff::Timestamp;
use stampede_core::Carrier;
use stampede_drive::PodGenerators;
use stampede_kubernetes::{Cluster, ClusterAccess, RoleSubject};

use crate::exit::{Exit, Failure};
use crate::kubernetes::args::{ClusterArgs, PodArgs, RoleArgs};
use crate::{Outcome, screen};

/// Those among generators that are pods, with so many threads each, once it is seen that they may be made; none where none is a pod.
pub(crate) async fn pod_generators(
    generators: &[Carrier],
    threads: usize,
    args: PodArgs,
) -> Result<Option<PodGenerators>, Failure> {
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
            Some((flag, _)) => {
                Err(Failure::usage(format!("{flag} belongs to pods; give --generators kubernetes:2, or leave it out")))
            }
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
        return Err(Failure::usage(format!("--generator-cpus {cpus} is not a number of processors; for example 0.5")));
    }
    let cluster = connect(cluster).await?;
    PodGenerators::new(cluster, image, u32::try_from(count).unwrap_or(u32::MAX), cpus).await.map(Some)
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
