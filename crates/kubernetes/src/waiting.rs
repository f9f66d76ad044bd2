//! Waits until pods run, and finds out why they do not.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::ListParams;
use tokio::time::{Instant, sleep};

use crate::cluster::Cluster;
use crate::cluster_error::{ClusterError, is_quota};
use crate::labels::{PodRole, selector};
use crate::manifest;
use crate::pod_state::PodState;

/// How long pods may take to run: an image is pulled, a node may be added.
pub(crate) const START: Duration = Duration::from_secs(180);

/// How often it is looked how pods are, while they start and while they run.
pub(crate) const LOOK: Duration = Duration::from_millis(300);
pub(crate) const WATCH: Duration = Duration::from_secs(1);

/// What runc and crun say of an image without a program.
const NO_PROGRAM: &str = "executable file";

/// Waits until so many pods of a role run: name and node of each. One without a node is waited for, unless the scheduler's words mean that
/// this is of no use.
pub(crate) async fn wait_for(
    cluster: &Cluster,
    run: &str,
    role: PodRole,
    count: usize,
    is_of_no_use: fn(&str) -> bool,
    note: &(dyn Fn(&str) + Sync),
) -> Result<Vec<(String, String)>, ClusterError> {
    let started = Instant::now();
    let labelled = ListParams::default().labels(&selector(run, role));
    let mut noted = String::new();
    loop {
        let listed = cluster.api::<Pod>().list(&labelled).await;
        let listed = listed.map_err(|error| cluster.error("list pods", &error))?;
        let states = listed.items.iter().map(|pod| (pod.metadata.name.clone().unwrap_or_default(), PodState::of(pod)));
        let mut states: Vec<_> = states.collect();
        states.sort_by(|(one, _), (other, _)| one.cmp(other));
        let is_late = started.elapsed() > START;
        let mut running = Vec::new();
        let mut waits = None;
        for (pod, state) in states {
            match state {
                PodState::Running { node } => running.push((pod, node)),
                PodState::Image(problem) => return Err(ClusterError::Image { pod, problem }),
                PodState::Stuck(problem) | PodState::Ended(problem) if problem.contains(NO_PROGRAM) => {
                    return Err(ClusterError::Image { pod, problem });
                }
                PodState::Stuck(problem) | PodState::Ended(problem) => {
                    return Err(ClusterError::NotStarted { pod, problem });
                }
                PodState::Unschedulable(problem) if is_late || is_of_no_use(&problem) => {
                    return Err(ClusterError::NoNode { pod, problem, waited: started.elapsed() });
                }
                PodState::Unschedulable(problem) => waits = Some(format!("pod {pod} waits for a node: {problem}")),
                PodState::Pending => {}
            }
        }
        if running.len() == count {
            return Ok(running);
        }
        if listed.items.len() < count
            && let Some(problem) = refused(cluster, "Job", &manifest::guardian_name(run)).await?
        {
            return Err(if is_quota(&problem) {
                ClusterError::Quota(problem)
            } else {
                ClusterError::NotStarted { pod: format!("of a {}", role.name()), problem }
            });
        }
        if is_late {
            let problem = format!("{} of {count} run after {} s", running.len(), START.as_secs());
            return Err(ClusterError::NotStarted { pod: format!("of a {}", role.name()), problem });
        }
        if let Some(waits) = waits.filter(|waits| *waits != noted) {
            note(&waits);
            noted = waits;
        }
        sleep(LOOK).await;
    }
}

/// Waits until no pod of a role is left.
pub(crate) async fn wait_for_none(cluster: &Cluster, run: &str, role: PodRole) -> Result<(), ClusterError> {
    let started = Instant::now();
    let labelled = ListParams::default().labels(&selector(run, role));
    loop {
        let listed = cluster.api::<Pod>().list(&labelled).await;
        let listed = listed.map_err(|error| cluster.error("list pods", &error))?;
        let Some(first) = listed.items.first() else { return Ok(()) };
        if started.elapsed() > START {
            let pod = first.metadata.name.clone().unwrap_or_default();
            let problem = format!("it is still there {} s after it was to end", START.as_secs());
            return Err(ClusterError::NotStarted { pod, problem });
        }
        sleep(LOOK).await;
    }
}

/// Why the cluster makes no pods for an object of this kind whose name begins so, where it reports that.
pub(crate) async fn refused(cluster: &Cluster, kind: &str, begin: &str) -> Result<Option<String>, ClusterError> {
    let failed = ListParams::default().fields(&format!("reason=FailedCreate,involvedObject.kind={kind}"));
    let events = cluster.api::<Event>().list(&failed).await.map_err(|error| cluster.error("list events", &error))?;
    let of_run = events
        .items
        .into_iter()
        .find(|event| event.involved_object.name.as_deref().is_some_and(|name| name.starts_with(begin)));
    Ok(of_run.and_then(|event| event.message))
}
