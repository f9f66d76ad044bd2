//! A deployment under test, from its making until its pods are gone.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{DeleteParams, ListParams, LogParams, PostParams};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

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

/// How long the cluster may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// Lines of a log that are read: more than are shown, since what is repeated is shown once.
const LOG_LINES: i64 = 200;

/// Pods under test that run, all of one deployment. Dropping it removes that.
pub struct Server {
    run: Arc<PodRun>,
    part: String,
    /// In the order of their names.
    pods: Vec<FoundPod>,
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
    /// From the request until its pods were gone.
    pub took: Duration,
    /// How the processes of pods ended, by their names, where that was seen: `Completed (exit code 0)`.
    pub how: BTreeMap<String, String>,
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
        let mut pods = making.or_removed(found).await?;
        pods.sort_by(|one, other| one.name.cmp(&other.name));
        let places = pods.iter().map(|pod| (pod.name.clone(), pod.node.clone())).collect();
        let (tell, fate) = watch::channel(None);
        let mut watching = JoinSet::new();
        watching.spawn(keep(run.cluster.clone(), run.name.clone(), making.part.clone(), places, tell));
        let part = making.made();
        Ok(Self { run: Arc::clone(run), part, pods, grace: order.grace, fate, _watching: watching, is_removed: false })
    }

    /// One pod of Stampede's own image that only holds a place: the node that a pod as large as this order finds, or its own node.
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
            replicas: 1,
            empty: Vec::new(),
            // It has nothing to bring to its end.
            grace: Duration::from_secs(1),
            ..order.clone()
        };
        Self::start(run, &order, note).await.map_err(|error| match (error, order.node) {
            (ClusterError::NoRoom { size, problem, waited, .. }, Some(node)) => {
                ClusterError::NodeTaken { node, size, problem, waited }
            }
            (error, _) => error,
        })
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
        let order = &ServerOrder { replicas: 1, ..order.clone() };
        let making = Making::begin(run, order).await?;
        let found = making.wait(order, note, has_image).await;
        let found = making.or_removed(found).await;
        let part = making.made();
        let removed = gone(run, &part, Duration::from_secs(1)).await;
        let ids = found?;
        removed?;
        Ok(ids.into_iter().next().unwrap_or_default())
    }

    /// What is known of its pods, in the order of their names. There is one at least.
    pub fn pods(&self) -> &[FoundPod] {
        &self.pods
    }

    /// Runs Stampede's program in the container of one of its pods, within its limits, for so long at most, and gives what that printed.
    ///
    /// # Errors
    ///
    /// What went wrong.
    pub async fn ask(&self, pod: &FoundPod, arguments: &[String], limit: Duration) -> Result<String, ClusterError> {
        self.run_in(pod, ([&pod.program[..], arguments].concat(), ""), limit).await
    }

    /// Runs a program of its image in the container of one of its pods, within its limits, for so long at most, with what that reads on
    /// standard input, and gives what it printed.
    ///
    /// # Errors
    ///
    /// What went wrong.
    pub async fn run_in(
        &self,
        pod: &FoundPod,
        (command, input): (Vec<String>, &str),
        limit: Duration,
    ) -> Result<String, ClusterError> {
        exec::ask(&self.run.cluster, &pod.name, SERVER, (command, input), limit).await
    }

    /// Starts an agent in the container of one of its pods, within its limits.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub async fn agent(&self, pod: &FoundPod) -> Result<AgentStream, ClusterError> {
        let command = [&pod.program[..], &["__agent".to_owned()]].concat();
        let fate = self.fate.clone();
        let why = move || fate.borrow().as_ref().map(|fate| fate.words().to_owned());
        let place = (pod.name.as_str(), pod.node.as_str());
        exec::agent(&self.run.cluster, place, SERVER, command, Box::new(why)).await
    }

    /// Resolves when one of its pods has ended, was started again or is lost: what befell that.
    pub async fn fate(&self) -> Fate {
        let mut fate = self.fate.clone();
        match fate.wait_for(Option::is_some).await.map(|fate| fate.clone()) {
            Ok(Some(fate)) => fate,
            // Who watches ends with this.
            _ => std::future::pending().await,
        }
    }

    /// What has befallen one of its pods until now, where anything has.
    pub async fn fate_now(&self) -> Option<Fate> {
        if let Some(fate) = self.fate.borrow().clone() {
            return Some(fate);
        }
        let listed = list(&self.run.cluster, &self.run.name, &self.part).await.ok()?;
        self.pods.iter().find_map(|pod| Fate::of(&listed, (&pod.name, &pod.node)))
    }

    /// The last lines of the log of one of its pods, and those of a container before that was started again.
    pub async fn log(&self, pod: &FoundPod) -> Vec<String> {
        log(&self.run.cluster, &pod.name).await
    }

    /// The same for whoever cannot wait for a future, on a connection of its own.
    pub fn log_now(&self, pod: &FoundPod) -> Vec<String> {
        let name = pod.name.clone();
        let read = self.run.cluster.apart(async move |cluster: Cluster| Ok(log(&cluster, &name).await));
        read.unwrap_or_default()
    }

    /// Removes it, and waits until its pods are gone.
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

/// A deployment whose pods are on their way. Dropping it leaves the deployment to the run's end.
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

    /// Waits until each of its pods is as far as `look` asks for.
    async fn wait<T>(
        &self,
        order: &ServerOrder,
        note: &(dyn Fn(&str) + Sync),
        look: fn(&Pod) -> Option<T>,
    ) -> Result<Vec<T>, ClusterError> {
        let (cluster, started) = (&self.run.cluster, Instant::now());
        let name = server_name(&self.run.name, &self.part);
        let mut noted = String::new();
        loop {
            let is_late = started.elapsed() > START;
            let listed = match list(cluster, &self.run.name, &self.part).await {
                Err(error) if error.may_pass() && !is_late => {
                    sleep(LOOK).await;
                    continue;
                }
                listed => listed?,
            };
            // Pods that were evicted stay beside those in their place.
            let mut pods: Vec<&Pod> = listed.iter().collect();
            pods.sort_by_key(|pod| Reverse(pod.metadata.creation_timestamp.as_ref().map(|created| created.0)));
            pods.truncate(order.replicas as usize);
            let found: Vec<T> = pods.iter().filter_map(|pod| look(pod)).collect();
            if found.len() == order.replicas as usize {
                return Ok(found);
            }
            for pod in &pods {
                let name = pod.metadata.name.clone().unwrap_or_default();
                match PodState::of(pod) {
                    PodState::Image(problem) => {
                        let more = event(cluster, &name).await.filter(|event| !problem.contains(event.as_str()));
                        let problem = more.map_or(problem.clone(), |event| format!("{problem}; {event}"));
                        return Err(ClusterError::ServerImage { image: order.image.clone(), pod: name, problem });
                    }
                    PodState::Stuck(problem) | PodState::Ended(problem) => {
                        let log = log(cluster, &name).await;
                        let tail = log.iter().rev().take(10).rev();
                        let log: String = tail.map(|line| format!("\n  {line}")).collect();
                        return Err(ClusterError::NotStarted { pod: name, problem: format!("{problem}{log}") });
                    }
                    PodState::Unschedulable(problem) if is_late => {
                        let cpus = f64::from(order.cpu_millis) / 1000.0;
                        let size = format!("{cpus} CPU and {} MiB", order.memory >> 20);
                        return Err(ClusterError::NoRoom { pod: name, size, problem, waited: started.elapsed() });
                    }
                    PodState::Unschedulable(problem) => {
                        let waits = format!("pod {name} waits for a node: {problem}");
                        if noted != waits {
                            note(&waits);
                            noted = waits;
                        }
                    }
                    PodState::Pending | PodState::Running { .. } => {}
                }
            }
            if pods.len() < order.replicas as usize
                && let Some(problem) = refused(cluster, "ReplicaSet", &format!("{name}-")).await?
            {
                return Err(if is_quota(&problem) {
                    ClusterError::Quota(problem)
                } else {
                    ClusterError::NotStarted { pod: format!("of {name}"), problem }
                });
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
    match timeout(ANSWER, cluster.api::<Pod>().list(&labelled)).await {
        Ok(listed) => listed.map(|listed| listed.items).map_err(|error| cluster.error("list pods", &error)),
        Err(_) => Err(cluster.silent(ANSWER)),
    }
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
    let (api, how) = (cluster.api::<Deployment>(), DeleteParams::background());
    let verb = format!("remove the deployment {name}");
    match timeout(ANSWER, api.delete(name, &how)).await {
        Ok(removed) => cluster.gone(removed.map(drop), &verb),
        Err(_) => Err(cluster.silent(ANSWER)),
    }
}

/// Removes a deployment, and waits until its pods are gone: the next one may need their room. A cluster that does not answer for a while is
/// asked again.
pub(crate) async fn gone(run: &PodRun, part: &str, grace: Duration) -> Result<ServerEnd, ClusterError> {
    let (name, started) = (server_name(&run.name, part), Instant::now());
    let (mut how, mut is_removed) = (BTreeMap::new(), false);
    loop {
        let looked = async {
            if !is_removed {
                remove(&run.cluster, &name).await?;
                is_removed = true;
            }
            list(&run.cluster, &run.name, part).await
        };
        let is_late = started.elapsed() > grace + REMOVAL;
        match looked.await {
            Ok(listed) if listed.is_empty() => return Ok(ServerEnd { took: started.elapsed(), how }),
            Ok(listed) if is_late => {
                let nodes: Vec<String> = listed.iter().map(node_of).collect();
                let problem = format!(
                    "a pod of it is still there after {} s, on node {}",
                    started.elapsed().as_secs(),
                    nodes.join(", ")
                );
                return Err(ClusterError::NotRemoved { name, problem });
            }
            Ok(listed) => how.extend(listed.iter().filter_map(|pod| {
                let state = pod.status.as_ref()?.container_statuses.as_ref()?.first()?.state.as_ref()?;
                Some((pod.metadata.name.clone()?, ended(state)?))
            })),
            // The cluster itself removes it then.
            Err(error) if error.may_pass() && run.is_over().is_some() => {
                return Ok(ServerEnd { took: started.elapsed(), how });
            }
            Err(error) if error.may_pass() && !is_late => {}
            Err(error) => return Err(error),
        }
        sleep(LOOK).await;
    }
}

/// Tells what befalls the first of these pods, once.
async fn keep(
    cluster: Cluster,
    run: String,
    part: String,
    pods: Vec<(String, String)>,
    tell: watch::Sender<Option<Fate>>,
) {
    loop {
        sleep(WATCH).await;
        // A cluster that does not answer for a while is asked again.
        let Ok(listed) = list(&cluster, &run, &part).await else { continue };
        if let Some(fate) = pods.iter().find_map(|(name, node)| Fate::of(&listed, (name, node))) {
            tell.send_replace(Some(fate));
            return;
        }
    }
}
