//! The pods of one load, from their making to their end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, PostParams};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::cluster_error::ClusterError;
use crate::exec::{self, AgentStream};
use crate::labels::{PodRole, selector};
use crate::manifest::{self, Apart, CONTAINER, GeneratorJob, PROGRAM};
use crate::pod_state::PodState;
use crate::run::{PodRun, bound};
use crate::waiting::{WATCH, wait_for, wait_for_none};

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
    run: Arc<PodRun>,
    /// Name and node of each generator, in their order.
    generators: Vec<(String, String)>,
    /// Why pods ended, by their names.
    ended: Arc<Mutex<BTreeMap<String, String>>>,
    _watching: JoinSet<()>,
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
        let run = PodRun::begin(cluster, &order.image, bound(order.longest), note).await?;
        match Self::start_in(&run, order, note).await {
            Ok(pods) => Ok(pods),
            Err(problem) => {
                // Why they did not start is worth more than why they could not be removed: their lease ends.
                let _ = run.end().await;
                Err(problem)
            }
        }
    }

    /// Makes them in a run that has begun.
    ///
    /// # Errors
    ///
    /// When they do not run in time.
    pub async fn start_in(
        run: &Arc<PodRun>,
        order: &GeneratorOrder,
        note: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, ClusterError> {
        let PodRun { cluster, name, .. } = &**run;
        let apart = if order.avoid.is_empty() { Apart::Rather } else { Apart::Always };
        let generators = match Self::make(run, order, apart, note).await {
            Err(ClusterError::NoNode { problem, .. }) if is_for_others(&problem) => {
                note("no other node has room for all generators: some may run on the node of what they load");
                remove_generators(cluster, name).await?;
                Self::make(run, order, Apart::Rather, note).await?
            }
            made => made?,
        };
        let ended = Arc::new(Mutex::new(BTreeMap::new()));
        let mut watching = JoinSet::new();
        let names = generators.iter().map(|(name, _)| name.clone()).collect();
        watching.spawn(watch(cluster.clone(), name.clone(), names, Arc::clone(&ended)));
        Ok(Self { run: Arc::clone(run), generators, ended, _watching: watching })
    }

    /// Makes generators, and waits for them.
    async fn make(
        run: &PodRun,
        order: &GeneratorOrder,
        apart: Apart,
        note: &(dyn Fn(&str) + Sync),
    ) -> Result<Vec<(String, String)>, ClusterError> {
        let PodRun { cluster, name, owner, longest, .. } = run;
        let GeneratorOrder { image, count, cpus, avoid, longest: _ } = order;
        let (count, cpus, longest) = (*count, *cpus, *longest);
        let job = manifest::generators(&GeneratorJob { run: name, image, count, cpus, avoid, apart, owner, longest });
        let made = cluster.api::<Job>().create(&PostParams::default(), &job).await;
        made.map_err(|error| cluster.error("create a job", &error))?;
        let is_of_no_use: fn(&str) -> bool = match apart {
            Apart::Always => is_for_others,
            Apart::Rather => |_| false,
        };
        wait_for(cluster, name, PodRole::Generator, count as usize, is_of_no_use, note).await
    }

    /// Starts an agent in each generator.
    ///
    /// # Errors
    ///
    /// When one cannot be started.
    pub async fn open(&self) -> Result<Vec<AgentStream>, ClusterError> {
        let mut streams = Vec::new();
        for generator in &self.generators {
            streams.push(self.agent(generator).await?);
        }
        Ok(streams)
    }

    /// Starts another agent in the first generator, beside the one that drives load.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub async fn open_another(&self) -> Result<AgentStream, ClusterError> {
        let none =
            || ClusterError::NotStarted { pod: "of a generator".to_owned(), problem: "there is none".to_owned() };
        self.agent(self.generators.first().ok_or_else(none)?).await
    }

    async fn agent(&self, (pod, node): &(String, String)) -> Result<AgentStream, ClusterError> {
        let (name, ended) = (pod.clone(), Arc::clone(&self.ended));
        let why = move || ended.lock().unwrap_or_else(PoisonError::into_inner).get(&name).cloned();
        let command = [PROGRAM, "__agent"].map(str::to_owned).to_vec();
        exec::agent(&self.run.cluster, (pod, node), CONTAINER, command, Box::new(why)).await
    }

    /// Why one of them has ended, where one has.
    pub fn ended(&self) -> Option<String> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.iter().next().map(|(pod, why)| format!("pod {pod} of the generators has ended: {why}"))
    }

    /// Why the guardian may have ended, where it may.
    pub fn is_over(&self) -> Option<String> {
        self.run.is_over()
    }

    /// Removes all of it.
    ///
    /// # Errors
    ///
    /// When the guardian cannot be removed; its lease ends all the same.
    pub async fn end(self) -> Result<(), ClusterError> {
        self.run.end().await
    }
}

/// Whether the scheduler says of a pod that it would have a node if it did not keep away from others.
fn is_for_others(problem: &str) -> bool {
    problem.contains("anti-affinity")
}

/// Removes generators of which some have no node.
async fn remove_generators(cluster: &Cluster, run: &str) -> Result<(), ClusterError> {
    let name = manifest::generators_name(run);
    let removed = cluster.api::<Job>().delete(&name, &DeleteParams::background()).await.map(drop);
    cluster.gone(removed, &format!("remove the job {name}"))?;
    wait_for_none(cluster, run, PodRole::Generator).await
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
