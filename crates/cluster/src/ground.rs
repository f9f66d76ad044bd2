//! What a study has in a cluster before it begins.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use stampede_core::{Limits, Machine};
use stampede_kubernetes::{Cluster, ClusterError, GeneratorOrder, PodRun, Pods, Server, ServerOrder};

/// The last bound of a study, where the cluster removes nothing although its lease is over.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// How long Stampede's program may take to say what a machine is.
const LOOK: Duration = Duration::from_secs(30);

/// What a study asks of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct GroundOrder {
    /// An image that has this same program as `stampede` on its search path.
    pub image: String,
    /// How many generators.
    pub generators: u32,
    /// Processors of each.
    pub cpus: f64,
    /// What each deployment may use.
    pub limits: Limits,
    /// The node of all deployments, where it is not to be chosen.
    pub node: Option<String>,
}

/// What a study has in a cluster before it begins. Dropping it ends all of it.
pub struct Ground {
    pub(crate) run: Arc<PodRun>,
    /// Its generators.
    pub pods: Pods,
    /// The node of all deployments.
    pub node: String,
    /// What that is.
    pub machine: Machine,
}

impl Ground {
    /// Makes a guardian, finds a node with room for a deployment, and makes generators, elsewhere where there is another node. `note` is
    /// told what takes its time.
    ///
    /// # Errors
    ///
    /// When one of them does not run in time; what was made is removed then.
    pub async fn take(
        cluster: &Cluster,
        order: &GroundOrder,
        note: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, ClusterError> {
        let run = PodRun::begin(cluster, &order.image, LONGEST, note).await?;
        match Self::take_in(&run, order, note).await {
            Ok(ground) => Ok(ground),
            Err(problem) => {
                // Why it is not there is worth more than why the rest could not be removed: its lease ends.
                let _ = run.end().await;
                Err(problem)
            }
        }
    }

    async fn take_in(
        run: &Arc<PodRun>,
        order: &GroundOrder,
        note: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, ClusterError> {
        // All must find room at once: the deployment's is held until the generators have theirs.
        let holder = Server::placeholder(run, &server_order(order.limits, order.node.as_deref()), note).await?;
        let none =
            || ClusterError::NotStarted { pod: "of a deployment".to_owned(), problem: "there is none".to_owned() };
        let pod = holder.pods().first().ok_or_else(none)?;
        let node = pod.node.clone();
        let printed = holder.ask(pod, &["__guardian".to_owned(), "node".to_owned()], LOOK).await?;
        let machine = serde_json::from_str(&printed).map_err(|error| ClusterError::InPod {
            pod: pod.name.clone(),
            problem: format!("it says of its node {printed:?}: {error}"),
        })?;
        let generators = GeneratorOrder {
            image: order.image.clone(),
            count: order.generators,
            cpus: order.cpus,
            avoid: run.server_labels(),
            longest: LONGEST,
        };
        let pods = Pods::start_in(run, &generators, note).await?;
        holder.end().await?;
        Ok(Self { run: Arc::clone(run), pods, node, machine })
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.run.end_now();
    }
}

/// A deployment within these limits, of nothing yet.
pub(crate) fn server_order(limits: Limits, node: Option<&str>) -> ServerOrder {
    ServerOrder {
        image: String::new(),
        command: Vec::new(),
        args: Vec::new(),
        env: BTreeMap::new(),
        replicas: 1,
        cpu_millis: limits.cpus.millis(),
        memory: limits.memory.get(),
        empty: Vec::new(),
        node: node.map(str::to_owned),
        grace: Duration::ZERO,
    }
}
