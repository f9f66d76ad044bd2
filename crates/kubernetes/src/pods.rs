//! The pods of one load, from their making to their end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{AttachParams, AttachedProcess, DeleteParams, ListParams, PostParams};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::cluster::Cluster;
use crate::cluster_error::{ClusterError, is_quota};
use crate::labels::{PodRole, selector};
use crate::lease_line::LeaseLine;
use crate::manifest::{self, CONTAINER, GeneratorJob, PROGRAM};
use crate::pod_state::PodState;

/// How long pods may take to run: an image is pulled, a node may be added.
pub(crate) const START: Duration = Duration::from_secs(180);

/// How often it is looked how pods are, while they start and while they run.
const LOOK: Duration = Duration::from_millis(300);
const WATCH: Duration = Duration::from_secs(1);

/// What a stream holds at once: a frame of an agent.
const BUFFER: usize = 64 << 10;

/// What is kept of what an agent writes to standard error: the end.
const KEPT: usize = 2000;

/// Letters of a load's name.
const LETTERS: usize = 8;

/// Which generators.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorOrder {
    /// An image that has this same program as `stampede` on its search path.
    pub image: String,
    /// How many.
    pub count: u32,
    /// Processors of each; whole ones are a node's alone where its kubelet gives them so.
    pub cpus: f64,
    /// The labels of pods whose nodes are avoided, where there are others.
    pub avoid: BTreeMap<String, String>,
    /// The longest that all of it may take, once it has started.
    pub longest: Duration,
}

/// The pods of one load. When this is dropped, nobody renews their lease, and they end with it; [`Pods::end`] ends them at once.
pub struct Pods {
    cluster: Cluster,
    run: String,
    lease: LeaseLine,
    /// Name and node of each generator, in their order.
    generators: Vec<(String, String)>,
    /// Why pods ended, by their names.
    ended: Arc<Mutex<BTreeMap<String, String>>>,
    _watching: JoinSet<()>,
}

/// An agent in a pod.
pub struct AgentStream {
    /// The pod that it runs in.
    pub pod: String,
    /// The node of that pod.
    pub node: String,
    /// What it sends.
    pub output: Box<dyn AsyncRead + Unpin + Send>,
    /// What it is sent.
    pub input: Box<dyn AsyncWrite + Unpin + Send>,
    /// What it wrote to standard error, and why its pod ended; holds the stream open.
    pub said: Box<dyn Fn() -> String + Send + Sync>,
}

impl Pods {
    /// Makes them: the guardian first. `note` is told what takes its time.
    ///
    /// # Errors
    ///
    /// When they do not run in time; what was made is removed then.
    pub async fn start(
        cluster: &Cluster,
        order: &GeneratorOrder,
        note: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, ClusterError> {
        let run: String = (0..LETTERS).map(|_| fastrand::alphanumeric().to_ascii_lowercase()).collect();
        let longest = order.longest + START * 2;
        let jobs = cluster.api::<Job>();
        let guardian = manifest::guardian(&run, &order.image, longest);
        let made = jobs.create(&PostParams::default(), &guardian).await;
        let made = made.map_err(|error| cluster.error("create a job", &error))?;
        let started = async {
            wait_for(cluster, &run, PodRole::Guardian, 1, note).await?;
            let lease = LeaseLine::open(cluster.clone(), run.clone());
            lease.begun().await?;
            let job = manifest::generators(&GeneratorJob {
                run: &run,
                image: &order.image,
                count: order.count,
                cpus: order.cpus,
                avoid: &order.avoid,
                owner: made.metadata.uid.as_deref().unwrap_or_default(),
                longest,
            });
            let made = jobs.create(&PostParams::default(), &job).await;
            made.map_err(|error| cluster.error("create a job", &error))?;
            let generators = wait_for(cluster, &run, PodRole::Generator, order.count as usize, note).await?;
            Ok((lease, generators))
        };
        match started.await {
            Ok((lease, generators)) => {
                let ended = Arc::new(Mutex::new(BTreeMap::new()));
                let mut watching = JoinSet::new();
                let names = generators.iter().map(|(name, _)| name.clone()).collect();
                watching.spawn(watch(cluster.clone(), run.clone(), names, Arc::clone(&ended)));
                Ok(Self { cluster: cluster.clone(), run, lease, generators, ended, _watching: watching })
            }
            Err(problem) => {
                // Why it did not start is worth more than why it could not be removed: its lease ends.
                let _ = remove(cluster, &run).await;
                Err(problem)
            }
        }
    }

    /// Starts an agent in each generator.
    ///
    /// # Errors
    ///
    /// When one cannot be started.
    pub async fn open(&self) -> Result<Vec<AgentStream>, ClusterError> {
        let mut streams = Vec::new();
        for (pod, node) in &self.generators {
            let how = AttachParams::default().container(CONTAINER).stdin(true).stdout(true).stderr(true);
            let how = how.max_stdin_buf_size(BUFFER).max_stdout_buf_size(BUFFER);
            let begun = self.cluster.api::<Pod>().exec(pod, [PROGRAM, "__agent"], &how).await;
            let process = begun.map_err(|error| self.cluster.error(&format!("exec in {pod}"), &error))?;
            let stream = self.stream(pod, node, process);
            streams.push(stream.ok_or_else(|| ClusterError::NotStarted {
                pod: pod.clone(),
                problem: "exec gave no streams".to_owned(),
            })?);
        }
        Ok(streams)
    }

    fn stream(&self, pod: &str, node: &str, mut process: AttachedProcess) -> Option<AgentStream> {
        let (input, output, mut errors) = (process.stdin()?, process.stdout()?, process.stderr()?);
        let written = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&written);
        let mut listening = JoinSet::new();
        listening.spawn(async move {
            let mut buffer = [0; 1024];
            while let Ok(count) = errors.read(&mut buffer).await
                && count > 0
            {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                heard.extend_from_slice(&buffer[..count]);
                let excess = heard.len().saturating_sub(KEPT);
                heard.drain(..excess);
            }
        });
        let (name, place) = (pod.to_owned(), node.to_owned());
        let ended = Arc::clone(&self.ended);
        let held = (process, listening);
        let said = move || {
            let (_process, _listening) = &held;
            let written = written.lock().unwrap_or_else(PoisonError::into_inner);
            let written = String::from_utf8_lossy(&written).trim().to_owned();
            let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
            match ended.get(&name) {
                Some(why) => format!("pod {name} on node {place}: {why}"),
                None => written,
            }
        };
        Some(AgentStream {
            pod: pod.to_owned(),
            node: node.to_owned(),
            output: Box::new(output),
            input: Box::new(input),
            said: Box::new(said),
        })
    }

    /// Why the guardian may have ended, where it may.
    pub fn is_over(&self) -> Option<String> {
        self.lease.is_over()
    }

    /// Removes all of it.
    ///
    /// # Errors
    ///
    /// When the guardian cannot be removed; its lease ends all the same.
    pub async fn end(self) -> Result<(), ClusterError> {
        remove(&self.cluster, &self.run).await
    }
}

/// Removes the guardian: the cluster removes what it owns.
async fn remove(cluster: &Cluster, run: &str) -> Result<(), ClusterError> {
    let name = manifest::guardian_name(run);
    let removed = cluster.api::<Job>().delete(&name, &DeleteParams::background()).await.map(drop);
    cluster.gone(removed, &format!("remove the job {name}"))
}

/// Waits until so many pods of a role run: name and node of each.
async fn wait_for(
    cluster: &Cluster,
    run: &str,
    role: PodRole,
    count: usize,
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
                PodState::Stuck(problem) | PodState::Ended(problem) => {
                    return Err(ClusterError::NotStarted { pod, problem });
                }
                PodState::Unschedulable(problem) if is_late => {
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
            && let Some(problem) = refused(cluster, run).await?
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

/// Why the cluster makes no pods for a job of this run, where it reports that.
async fn refused(cluster: &Cluster, run: &str) -> Result<Option<String>, ClusterError> {
    let failed = ListParams::default().fields("reason=FailedCreate,involvedObject.kind=Job");
    let events = cluster.api::<Event>().list(&failed).await.map_err(|error| cluster.error("list events", &error))?;
    let guardian = manifest::guardian_name(run);
    let of_run = events
        .items
        .into_iter()
        .find(|event| event.involved_object.name.as_deref().is_some_and(|name| name.starts_with(&guardian)));
    Ok(of_run.and_then(|event| event.message))
}

/// Keeps why these pods ended, for as long as it is let run. A cluster that does not answer for a while is asked again.
async fn watch(cluster: Cluster, run: String, pods: Vec<String>, ended: Arc<Mutex<BTreeMap<String, String>>>) {
    let labelled = ListParams::default().labels(&selector(&run, PodRole::Generator));
    loop {
        if let Ok(listed) = cluster.api::<Pod>().list(&labelled).await {
            let states: BTreeMap<String, PodState> = listed
                .items
                .iter()
                .map(|pod| (pod.metadata.name.clone().unwrap_or_default(), PodState::of(pod)))
                .collect();
            let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
            for pod in &pods {
                let why = match states.get(pod) {
                    Some(PodState::Ended(why)) => why.clone(),
                    Some(_) => continue,
                    None => "it was deleted".to_owned(),
                };
                // The first reason is the cause of what follows.
                ended.entry(pod.clone()).or_insert(why);
            }
        }
        sleep(WATCH).await;
    }
}
