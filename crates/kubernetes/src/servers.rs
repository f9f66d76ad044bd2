//! A deployment under test, from its making until its pod is gone.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{DeleteParams, ListParams, LogParams, PostParams};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::cluster::Cluster;
use crate::cluster_error::{ClusterError, is_quota};
use crate::exec::{self, AgentStream};
use crate::fate::Fate;
use crate::labels::selector_of_part;
use crate::pod_state::{PodState, ended, node_of};
use crate::run::PodRun;
use crate::server_manifest::{self, SERVER, ServerOrder, server_name};
use crate::waiting::{LOOK, START, WATCH, refused};

/// How long a cluster may take to remove a pod, beside its own time to end.
const REMOVAL: Duration = Duration::from_secs(60);

/// Lines of a log that are read: more than are shown, since what is repeated is shown once.
const LOG_LINES: i64 = 200;

/// A pod under test that runs. Dropping it removes its deployment.
pub struct Server {
    run: Arc<PodRun>,
    part: String,
    found: FoundPod,
    grace: Duration,
    fate: watch::Receiver<Option<Fate>>,
    _watching: JoinSet<()>,
    is_removed: bool,
}

/// What is known of a pod that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPod {
    /// Its name.
    pub name: String,
    /// Its node.
    pub node: String,
    /// Its address.
    pub address: IpAddr,
    /// What its node's runtime knows its image by.
    pub image_id: String,
    /// The quality of service that the cluster gives it: `Guaranteed` where requests are limits.
    pub class: String,
    /// How Stampede's program is started in the container.
    program: Vec<String>,
}

/// How a deployment ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEnd {
    /// From the request until its pod was gone.
    pub took: Duration,
    /// How its process ended, where that was seen: `Completed (exit code 0)`.
    pub how: Option<String>,
}

impl Server {
    /// Makes one, and waits until it runs. `note` is told what takes its time.
    ///
    /// # Errors
    ///
    /// When it does not run in time; it is removed then.
    pub async fn start(
        run: &Arc<PodRun>,
        order: &ServerOrder,
        note: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, ClusterError> {
        let making = Making::begin(run, order).await?;
        let found = making.wait(order, note, runs).await;
        let found = making.or_removed(found).await?;
        let (tell, fate) = watch::channel(None);
        let mut watching = JoinSet::new();
        watching.spawn(keep(run.cluster.clone(), run.name.clone(), making.part.clone(), found.name.clone(), tell));
        let part = making.made();
        Ok(Self { run: Arc::clone(run), part, found, grace: order.grace, fate, _watching: watching, is_removed: false })
    }

    /// One of Stampede's own image that only holds a place: the node that a pod as large as this order finds.
    ///
    /// # Errors
    ///
    /// When no node has room for it, or it does not run in time.
    pub async fn placeholder(
        run: &Arc<PodRun>,
        order: &ServerOrder,
        note: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, ClusterError> {
        let order = ServerOrder {
            image: run.image.clone(),
            command: server_manifest::waiting(),
            args: Vec::new(),
            empty: Vec::new(),
            // It has nothing to bring to its end.
            grace: Duration::from_secs(1),
            ..order.clone()
        };
        Self::start(run, &order, note).await
    }

    /// Sees that the order's node has its image, and gives what the node's runtime knows that by.
    ///
    /// # Errors
    ///
    /// When the image cannot be had, or no pod can be made of it.
    pub async fn image_id(
        run: &Arc<PodRun>,
        order: &ServerOrder,
        note: &(dyn Fn(&str) + Sync),
    ) -> Result<String, ClusterError> {
        let making = Making::begin(run, order).await?;
        let found = making.wait(order, note, has_image).await;
        let found = making.or_removed(found).await;
        let part = making.made();
        let removed = gone(run, &part, Duration::from_secs(1)).await;
        let id = found?;
        removed?;
        Ok(id)
    }

    /// What is known of its pod.
    pub fn pod(&self) -> &FoundPod {
        &self.found
    }

    /// Runs Stampede's program in its container, within its limits, for so long at most, and gives what that printed.
    ///
    /// # Errors
    ///
    /// What went wrong.
    pub async fn ask(&self, arguments: &[String], limit: Duration) -> Result<String, ClusterError> {
        let command = [&self.found.program[..], arguments].concat();
        exec::ask(&self.run.cluster, &self.found.name, SERVER, command, limit).await
    }

    /// Starts an agent in its container, within its limits.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub async fn agent(&self) -> Result<AgentStream, ClusterError> {
        let command = [&self.found.program[..], &["__agent".to_owned()]].concat();
        let fate = self.fate.clone();
        let why = move || fate.borrow().as_ref().map(|fate| fate.words().to_owned());
        let place = (self.found.name.as_str(), self.found.node.as_str());
        exec::agent(&self.run.cluster, place, SERVER, command, Box::new(why)).await
    }

    /// Resolves when it has ended, was started again or is lost: what befell it.
    pub async fn fate(&self) -> Fate {
        let mut fate = self.fate.clone();
        match fate.wait_for(Option::is_some).await.map(|fate| fate.clone()) {
            Ok(Some(fate)) => fate,
            // Who watches ends with this.
            _ => std::future::pending().await,
        }
    }

    /// What has befallen it until now, where anything has.
    pub async fn fate_now(&self) -> Option<Fate> {
        if let Some(fate) = self.fate.borrow().clone() {
            return Some(fate);
        }
        let listed = list(&self.run.cluster, &self.run.name, &self.part).await.ok()?;
        Fate::of(&listed, &self.found.name)
    }

    /// The last lines of its log, and those of a container before that was started again.
    pub async fn log(&self) -> Vec<String> {
        log(&self.run.cluster, &self.found.name).await
    }

    /// The same for whoever cannot wait for a future, on a connection of its own.
    pub fn log_now(&self) -> Vec<String> {
        let name = self.found.name.clone();
        let read = self.run.cluster.apart(async move |cluster: Cluster| Ok(log(&cluster, &name).await));
        read.unwrap_or_default()
    }

    /// Removes it, and waits until its pod is gone.
    ///
    /// # Errors
    ///
    /// When it cannot be removed, or is not gone in time.
    pub async fn end(mut self) -> Result<ServerEnd, ClusterError> {
        self.is_removed = true;
        gone(&self.run, &self.part, self.grace).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.is_removed {
            let name = server_name(&self.run.name, &self.part);
            // What cannot be removed ends with the run's lease.
            let _ = self.run.cluster.apart(async move |cluster: Cluster| remove(&cluster, &name).await);
        }
    }
}

/// A deployment whose pod is on its way. Dropping it leaves the deployment to the run's end.
struct Making<'a> {
    run: &'a Arc<PodRun>,
    part: String,
}

impl<'a> Making<'a> {
    async fn begin(run: &'a Arc<PodRun>, order: &ServerOrder) -> Result<Self, ClusterError> {
        let part = run.next_part();
        let deployment = server_manifest::server(&run.name, &part, &run.image, &run.owner, order);
        let made = run.cluster.api::<Deployment>().create(&PostParams::default(), &deployment).await;
        made.map_err(|error| run.cluster.error("create a deployment", &error))?;
        Ok(Self { run, part })
    }

    /// Waits until its pod is as far as `look` asks for.
    async fn wait<T>(
        &self,
        order: &ServerOrder,
        note: &(dyn Fn(&str) + Sync),
        look: fn(&Pod) -> Option<T>,
    ) -> Result<T, ClusterError> {
        let (cluster, started) = (&self.run.cluster, Instant::now());
        let name = server_name(&self.run.name, &self.part);
        let mut noted = String::new();
        loop {
            let listed = list(cluster, &self.run.name, &self.part).await?;
            let is_late = started.elapsed() > START;
            // A pod that was evicted stays beside the one in its place.
            let pod = listed.iter().max_by_key(|pod| pod.metadata.creation_timestamp.as_ref().map(|created| created.0));
            if let Some(found) = pod.and_then(look) {
                return Ok(found);
            }
            match pod.map(|pod| (pod.metadata.name.clone().unwrap_or_default(), PodState::of(pod))) {
                Some((pod, PodState::Image(problem))) => {
                    let more = event(cluster, &pod).await.filter(|event| !problem.contains(event.as_str()));
                    let problem = more.map_or(problem.clone(), |event| format!("{problem}; {event}"));
                    return Err(ClusterError::ServerImage { image: order.image.clone(), pod, problem });
                }
                Some((pod, PodState::Stuck(problem) | PodState::Ended(problem))) => {
                    let log = log(cluster, &pod).await;
                    let tail = log.iter().rev().take(10).rev();
                    let log: String = tail.map(|line| format!("\n  {line}")).collect();
                    return Err(ClusterError::NotStarted { pod, problem: format!("{problem}{log}") });
                }
                Some((pod, PodState::Unschedulable(problem))) if is_late => {
                    let size = format!("{} CPU and {} MiB", f64::from(order.cpu_millis) / 1000.0, order.memory >> 20);
                    return Err(ClusterError::NoRoom { pod, size, problem, waited: started.elapsed() });
                }
                Some((pod, PodState::Unschedulable(problem))) => {
                    let waits = format!("pod {pod} waits for a node: {problem}");
                    if noted != waits {
                        note(&waits);
                        noted = waits;
                    }
                }
                Some((_, PodState::Pending | PodState::Running { .. })) => {}
                None => {
                    if let Some(problem) = refused(cluster, "ReplicaSet", &format!("{name}-")).await? {
                        return Err(if is_quota(&problem) {
                            ClusterError::Quota(problem)
                        } else {
                            ClusterError::NotStarted { pod: format!("of {name}"), problem }
                        });
                    }
                }
            }
            if is_late {
                let problem = format!("it does not run after {} s", START.as_secs());
                return Err(ClusterError::NotStarted { pod: format!("of {name}"), problem });
            }
            sleep(LOOK).await;
        }
    }

    /// Removes it where it has failed.
    async fn or_removed<T>(&self, found: Result<T, ClusterError>) -> Result<T, ClusterError> {
        if found.is_err() {
            // Why it did not start is worth more than why it could not be removed: it ends with the run.
            let _ = remove(&self.run.cluster, &server_name(&self.run.name, &self.part)).await;
        }
        found
    }

    fn made(self) -> String {
        self.part
    }
}

/// A pod that runs and is ready, with the program that was brought.
fn runs(pod: &Pod) -> Option<FoundPod> {
    let PodState::Running { node } = PodState::of(pod) else { return None };
    let status = pod.status.as_ref()?;
    let is_ready = |condition: &&k8s_openapi::api::core::v1::PodCondition| {
        condition.type_ == "Ready" && condition.status == "True"
    };
    status.conditions.iter().flatten().find(is_ready)?;
    let brought = status.init_container_statuses.as_ref()?.first()?.state.as_ref()?.terminated.as_ref()?;
    let program = serde_json::from_str(brought.message.as_deref()?).ok()?;
    Some(FoundPod {
        name: pod.metadata.name.clone()?,
        node,
        address: status.pod_ip.as_ref()?.parse().ok()?,
        image_id: has_image(pod)?,
        class: status.qos_class.clone().unwrap_or_default(),
        program,
    })
}

/// What a node's runtime knows the image of a pod by, once it has it.
fn has_image(pod: &Pod) -> Option<String> {
    let container = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
    Some(container.image_id.clone()).filter(|id| !id.is_empty())
}

async fn list(cluster: &Cluster, run: &str, part: &str) -> Result<Vec<Pod>, ClusterError> {
    let labelled = ListParams::default().labels(&selector_of_part(run, part));
    let listed = cluster.api::<Pod>().list(&labelled).await;
    listed.map(|listed| listed.items).map_err(|error| cluster.error("list pods", &error))
}

/// What the cluster's events say of a pod that failed.
async fn event(cluster: &Cluster, pod: &str) -> Option<String> {
    let of_pod = ListParams::default().fields(&format!("reason=Failed,involvedObject.name={pod}"));
    let events = cluster.api::<Event>().list(&of_pod).await.ok()?;
    // "Error: ErrImagePull" says less than the words of the attempt.
    events.items.into_iter().filter_map(|event| event.message).max_by_key(String::len)
}

async fn log(cluster: &Cluster, pod: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for previous in [true, false] {
        let how = LogParams {
            container: Some(SERVER.to_owned()),
            previous,
            tail_lines: Some(LOG_LINES),
            ..LogParams::default()
        };
        // There is none of a container that was not started again.
        let read = cluster.api::<Pod>().logs(pod, &how).await.unwrap_or_default();
        lines.extend(read.lines().map(str::to_owned));
    }
    lines
}

async fn remove(cluster: &Cluster, name: &str) -> Result<(), ClusterError> {
    let removed = cluster.api::<Deployment>().delete(name, &DeleteParams::background()).await.map(drop);
    cluster.gone(removed, &format!("remove the deployment {name}"))
}

/// Removes a deployment, and waits until its pod is gone: the next one may need its room.
async fn gone(run: &PodRun, part: &str, grace: Duration) -> Result<ServerEnd, ClusterError> {
    let (name, started) = (server_name(&run.name, part), Instant::now());
    remove(&run.cluster, &name).await?;
    let mut how = None;
    loop {
        let listed = list(&run.cluster, &run.name, part).await?;
        if listed.is_empty() {
            return Ok(ServerEnd { took: started.elapsed(), how });
        }
        let states =
            listed.iter().filter_map(|pod| pod.status.as_ref()?.container_statuses.as_ref()?.first()?.state.as_ref());
        how = states.filter_map(ended).next().or(how);
        if started.elapsed() > grace + REMOVAL {
            let nodes: Vec<String> = listed.iter().map(node_of).collect();
            let problem =
                format!("its pod is still there after {} s, on node {}", started.elapsed().as_secs(), nodes.join(", "));
            return Err(ClusterError::NotRemoved { name, problem });
        }
        sleep(LOOK).await;
    }
}

/// Tells what befalls a pod, once.
async fn keep(cluster: Cluster, run: String, part: String, pod: String, tell: watch::Sender<Option<Fate>>) {
    loop {
        sleep(WATCH).await;
        // A cluster that does not answer for a while is asked again.
        let Ok(listed) = list(&cluster, &run, &part).await else { continue };
        if let Some(fate) = Fate::of(&listed, &pod) {
            tell.send_replace(Some(fate));
            return;
        }
    }
}
