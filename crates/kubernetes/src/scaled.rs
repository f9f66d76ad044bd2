//! A service whose pods the cluster's HorizontalPodAutoscaler starts and stops.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::cluster::Cluster;
use crate::cluster_error::ClusterError;
use crate::labels::selector_of_part;
use crate::pod_course::{PodCourse, PodUse};
use crate::run::PodRun;
use crate::scaled_manifest::{self, ScaledOrder};
use crate::server_manifest::server_name;
use crate::servers::{ServerEnd, gone};
use crate::waiting::{LOOK, START};

/// How often the cluster's metrics are read; it has new ones every 10 or 15 s.
const METRICS: Duration = Duration::from_secs(5);

/// How long the cluster may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// A service, its pods and its autoscaler. Dropping it removes them.
pub struct ScaledServer {
    run: Arc<PodRun>,
    part: String,
    /// The service's own.
    address: SocketAddr,
    grace: Duration,
    seen: Arc<Mutex<ScaledCourse>>,
    _watching: JoinSet<()>,
    is_removed: bool,
}

/// What was seen of a service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScaledCourse {
    /// In the order in which they were made.
    pub pods: Vec<PodCourse>,
    /// In their order, each other than the one before.
    pub decisions: Vec<DesiredPods>,
    /// Why the autoscaler cannot decide now: its words.
    pub undecided: Option<String>,
}

/// What an autoscaler wanted from then on.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredPods {
    /// When that was told.
    pub at: Instant,
    /// How many pods.
    pub wanted: u32,
    /// What pods used of their CPU then, in percent, where it knew.
    pub percent: Option<u32>,
}

impl ScaledServer {
    /// Makes one, and waits until its fewest pods are ready and the autoscaler knows what they use. `note` is told what takes its time.
    ///
    /// # Errors
    ///
    /// When it does not come to that in time; it is removed then.
    pub async fn start(
        run: &Arc<PodRun>,
        order: &ScaledOrder,
        note: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, ClusterError> {
        let (cluster, part) = (&run.cluster, run.next_part());
        let made = scaled_manifest::deployment(&run.name, &part, &run.owner, order);
        let made = cluster.api::<Deployment>().create(&PostParams::default(), &made).await;
        made.map_err(|error| cluster.error("create a deployment", &error))?;
        let selector = selector_of_part(&run.name, &part);
        let seen = Arc::new(Mutex::new(ScaledCourse::default()));
        let mut watching = JoinSet::new();
        let (pods, scales, uses) = (Arc::clone(&seen), Arc::clone(&seen), Arc::clone(&seen));
        let see_pod = move |told: Told<Pod>| locked(&pods).see_pod(told);
        let see_scale = move |told: Told<HorizontalPodAutoscaler>| locked(&scales).see_scale(&told);
        watching.spawn(follow(cluster.clone(), selector.clone(), see_pod));
        watching.spawn(follow(cluster.clone(), selector.clone(), see_scale));
        watching.spawn(read_uses(cluster.clone(), selector, uses));
        let nowhere = SocketAddr::new(IpAddr::from([0, 0, 0, 0]), order.port);
        let (run, grace) = (Arc::clone(run), order.server.grace);
        let mut made = Self { run, part, address: nowhere, grace, seen, _watching: watching, is_removed: false };
        match made.begin(order, note).await {
            Ok(address) => {
                made.address = address;
                Ok(made)
            }
            Err(problem) => {
                // Why it did not start is worth more than why it could not be removed: it ends with the run.
                let _ = made.end().await;
                Err(problem)
            }
        }
    }

    /// Makes service and autoscaler, and waits: the service's address.
    async fn begin(&self, order: &ScaledOrder, note: &(dyn Fn(&str) + Sync)) -> Result<SocketAddr, ClusterError> {
        let (run, part) = (&self.run, &self.part);
        let service = scaled_manifest::service(&run.name, part, &run.owner, order);
        let service = run.cluster.api::<Service>().create(&PostParams::default(), &service).await;
        let service = service.map_err(|error| run.cluster.error("create a service", &error))?;
        let address = service.spec.and_then(|spec| spec.cluster_ip?.parse::<IpAddr>().ok());
        let address = address.ok_or_else(|| ClusterError::Service {
            name: server_name(&run.name, part),
            problem: "the cluster gave it no address of its own".to_owned(),
        })?;
        let autoscaler = scaled_manifest::autoscaler(&run.name, part, &run.owner, order);
        let api = run.cluster.api::<HorizontalPodAutoscaler>();
        let made = api.create(&PostParams::default(), &autoscaler).await;
        made.map_err(|error| run.cluster.error("create a horizontalpodautoscaler", &error))?;
        let (started, mut noted) = (Instant::now(), String::new());
        loop {
            let course = self.seen();
            let is_late = started.elapsed() > START;
            let waits = match course.missing(order.server.replicas) {
                Missing::Nothing => return Ok(SocketAddr::new(address, order.port)),
                Missing::Broken(pod, problem) => return Err(ClusterError::NotStarted { pod, problem }),
                Missing::Pods(waits) if is_late => {
                    return Err(ClusterError::NotStarted {
                        pod: format!("of {}", server_name(&run.name, part)),
                        problem: waits,
                    });
                }
                Missing::Metrics(problem) if is_late => return Err(ClusterError::NoMetrics { problem, waited: START }),
                Missing::Pods(waits) => waits,
                Missing::Metrics(waits) => format!("the autoscaler waits for the CPU use of pods: {waits}"),
            };
            if noted != waits && started.elapsed() > Duration::from_secs(5) {
                note(&waits);
                noted = waits;
            }
            if let Some(over) = run.is_over() {
                return Err(ClusterError::NotStarted {
                    pod: format!("of {}", server_name(&run.name, part)),
                    problem: over,
                });
            }
            sleep(LOOK).await;
        }
    }

    /// The address of the service: connections to it go to a pod that is ready, whichever the cluster takes.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What has been seen until now.
    pub fn seen(&self) -> ScaledCourse {
        locked(&self.seen).clone()
    }

    /// Removes all of it, and waits until its pods are gone.
    ///
    /// # Errors
    ///
    /// When it cannot be removed, or is not gone in time.
    pub async fn end(mut self) -> Result<ServerEnd, ClusterError> {
        self.is_removed = true;
        around(&self.run.cluster, &server_name(&self.run.name, &self.part)).await?;
        gone(&self.run, &self.part, self.grace).await
    }
}

impl Drop for ScaledServer {
    fn drop(&mut self) {
        if !self.is_removed {
            let name = server_name(&self.run.name, &self.part);
            // What cannot be removed ends with the run's lease.
            let _ = self.run.cluster.apart(async move |cluster: Cluster| {
                around(&cluster, &name).await?;
                let removed = cluster.api::<Deployment>().delete(&name, &DeleteParams::background()).await.map(drop);
                cluster.gone(removed, &format!("remove the deployment {name}"))
            });
        }
    }
}

impl fmt::Debug for ScaledServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScaledServer").field("part", &self.part).field("address", &self.address).finish_non_exhaustive()
    }
}

/// Removes what is around a deployment of this name: first who would start pods again.
async fn around(cluster: &Cluster, name: &str) -> Result<(), ClusterError> {
    let how = DeleteParams::background();
    let removed = cluster.api::<HorizontalPodAutoscaler>().delete(name, &how).await.map(drop);
    cluster.gone(removed, &format!("remove the horizontalpodautoscaler {name}"))?;
    let removed = cluster.api::<Service>().delete(name, &how).await.map(drop);
    cluster.gone(removed, &format!("remove the service {name}"))
}

fn locked(seen: &Mutex<ScaledCourse>) -> MutexGuard<'_, ScaledCourse> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a service that begins waits for.
enum Missing {
    Nothing,
    /// A pod that will never be ready, and why.
    Broken(String, String),
    Pods(String),
    Metrics(String),
}

impl ScaledCourse {
    fn missing(&self, least: u32) -> Missing {
        if let Some((pod, lost)) = self.pods.iter().find_map(|pod| Some((pod, pod.lost.clone()?))) {
            return Missing::Broken(pod.name.clone(), lost);
        }
        let ready = self.pods.iter().filter(|pod| pod.ready.is_some() && pod.ended.is_none()).count();
        if ready < least as usize {
            let why = self.pods.iter().filter(|pod| pod.placed.is_none()).find_map(|pod| pod.unplaced.clone());
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            return Missing::Pods(format!("{ready} of {least} pods are ready{why}"));
        }
        match (&self.undecided, self.decisions.last()) {
            (Some(problem), _) => Missing::Metrics(problem.clone()),
            (None, Some(DesiredPods { percent: Some(_), .. })) => Missing::Nothing,
            (None, _) => Missing::Metrics("it has not read it yet".to_owned()),
        }
    }

    fn see_pod(&mut self, told: Told<Pod>) {
        let now = Instant::now();
        match told {
            Told::All(pods) => {
                let names: Vec<String> = pods.iter().filter_map(|pod| pod.metadata.name.clone()).collect();
                for known in self.pods.iter_mut().filter(|known| !names.contains(&known.name)) {
                    known.ended.get_or_insert(now);
                }
                pods.iter().for_each(|pod| self.see_one(pod, now));
            }
            Told::Now(pod) => self.see_one(&pod, now),
            Told::Gone(pod) => {
                self.see_one(&pod, now);
                for known in self.pods.iter_mut().filter(|known| pod.metadata.name.as_ref() == Some(&known.name)) {
                    known.ended.get_or_insert(now);
                }
            }
        }
    }

    fn see_one(&mut self, pod: &Pod, now: Instant) {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        if !self.pods.iter().any(|known| known.name == name) {
            self.pods.push(PodCourse::new(name, now));
        }
        if let Some(known) = self.pods.iter_mut().find(|known| known.name == name) {
            known.see(pod, now);
        }
    }

    fn see_scale(&mut self, told: &Told<HorizontalPodAutoscaler>) {
        let found = match told {
            Told::All(found) => found.first(),
            Told::Now(found) => Some(found),
            Told::Gone(_) => None,
        };
        let Some(status) = found.and_then(|found| found.status.as_ref()) else { return };
        let active = status.conditions.iter().flatten().find(|condition| condition.type_ == "ScalingActive");
        self.undecided = active
            .filter(|condition| condition.status != "True")
            .map(|condition| condition.message.clone().or_else(|| condition.reason.clone()).unwrap_or_default());
        let metrics = status.current_metrics.iter().flatten();
        let percent = metrics.filter_map(|metric| metric.resource.as_ref()?.current.average_utilization).next();
        let percent = percent.and_then(|percent| u32::try_from(percent).ok());
        let wanted = u32::try_from(status.desired_replicas).unwrap_or_default();
        if self.decisions.last().is_none_or(|last| (last.wanted, last.percent) != (wanted, percent)) {
            self.decisions.push(DesiredPods { at: Instant::now(), wanted, percent });
        }
    }

    /// Takes in what the cluster's metrics say of pods.
    fn see_uses(&mut self, metrics: &[DynamicObject]) {
        for of in metrics {
            let Some(known) = self.pods.iter_mut().find(|known| of.metadata.name.as_ref() == Some(&known.name)) else {
                continue;
            };
            let timestamp = of.data["timestamp"].as_str().unwrap_or_default();
            let containers = of.data["containers"].as_array().into_iter().flatten();
            let cpus: f64 = containers.filter_map(|one| processors(&one["usage"]["cpu"])).sum();
            if known.uses.last().is_none_or(|last| last.timestamp != timestamp) {
                known.uses.push(PodUse { at: Instant::now(), timestamp: timestamp.to_owned(), cpus });
            }
        }
    }
}

/// A quantity of processors: `1`, `250m`, `12345n` or `12u`.
fn processors(quantity: &Value) -> Option<f64> {
    let text = quantity.as_str()?;
    let (number, unit) = match text.char_indices().last()? {
        (at, 'n') => (&text[..at], 1e-9),
        (at, 'u') => (&text[..at], 1e-6),
        (at, 'm') => (&text[..at], 1e-3),
        _ => (text, 1.0),
    };
    Some(number.parse::<f64>().ok()? * unit)
}

/// What is told of objects.
enum Told<K> {
    /// All that there are.
    All(Vec<K>),
    /// One, as it is now.
    Now(K),
    /// One that is gone, as it last was.
    Gone(K),
}

/// Tells of the objects with these labels, as the cluster tells of them. A cluster that does not answer for a while is asked again.
async fn follow<K>(cluster: Cluster, labels: String, tell: impl Fn(Told<K>))
where
    K: kube::Resource<Scope = NamespaceResourceScope> + Clone + fmt::Debug + DeserializeOwned,
    K::DynamicType: Default,
{
    let api = cluster.api::<K>();
    loop {
        if let Ok(Ok(listed)) = timeout(ANSWER, api.list(&ListParams::default().labels(&labels))).await {
            let version = listed.metadata.resource_version.clone().unwrap_or_default();
            tell(Told::All(listed.items));
            if let Ok(events) = api.watch(&WatchParams::default().labels(&labels), &version).await {
                let mut events = std::pin::pin!(events);
                while let Some(Ok(event)) = events.next().await {
                    match event {
                        WatchEvent::Added(object) | WatchEvent::Modified(object) => tell(Told::Now(object)),
                        WatchEvent::Deleted(object) => tell(Told::Gone(object)),
                        WatchEvent::Bookmark(_) => {}
                        // What has been missed is in the next list.
                        WatchEvent::Error(_) => break,
                    }
                }
            }
        }
        sleep(LOOK).await;
    }
}

/// Reads what pods use, from the cluster's metrics.
async fn read_uses(cluster: Cluster, labels: String, seen: Arc<Mutex<ScaledCourse>>) {
    let resource = ApiResource {
        group: "metrics.k8s.io".to_owned(),
        version: "v1beta1".to_owned(),
        api_version: "metrics.k8s.io/v1beta1".to_owned(),
        kind: "PodMetrics".to_owned(),
        plural: "pods".to_owned(),
    };
    let api = cluster.dynamic(&resource);
    loop {
        if let Ok(Ok(listed)) = timeout(ANSWER, api.list(&ListParams::default().labels(&labels))).await {
            locked(&seen).see_uses(&listed.items);
        }
        sleep(METRICS).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_of_processors() {
        for (text, expected) in [("2", 2.0), ("250m", 0.25), ("123456n", 0.000_123_456), ("1500u", 0.0015)] {
            let found = processors(&json!(text)).unwrap();
            assert!((found - expected).abs() < 1e-12, "{text}: {found}");
        }
        assert_eq!((processors(&json!("")), processors(&json!(2))), (None, None));
    }

    #[test]
    fn what_an_autoscaler_wants_is_kept_once() {
        let status = |wanted: u32, percent: Option<u32>, active: bool| {
            let metric = percent.map(|percent| {
                json!([{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": percent}}}])
            });
            let found = json!({"metadata": {}, "status": {"desiredReplicas": wanted, "currentMetrics": metric, "conditions": [
                {"type": "ScalingActive", "status": if active { "True" } else { "False" }, "message": "no metrics"}]}});
            Told::Now(serde_json::from_value(found).unwrap())
        };
        let mut course = ScaledCourse::default();
        assert!(matches!(course.missing(0), Missing::Metrics(_)));
        course.see_scale(&status(1, None, false));
        assert!(matches!(course.missing(0), Missing::Metrics(words) if words == "no metrics"));
        for (wanted, percent) in [(1, Some(40)), (1, Some(40)), (3, Some(150)), (3, Some(70))] {
            course.see_scale(&status(wanted, percent, true));
        }
        assert!(matches!(course.missing(0), Missing::Nothing));
        assert!(matches!(course.missing(1), Missing::Pods(words) if words == "0 of 1 pods are ready"));
        let found: Vec<_> = course.decisions.iter().map(|one| (one.wanted, one.percent)).collect();
        assert_eq!(found, [(1, None), (1, Some(40)), (3, Some(150)), (3, Some(70))]);
    }

    #[test]
    fn pods_are_known_in_their_order_and_those_that_are_missed_have_ended() {
        let pod = |name: &str| -> Pod {
            serde_json::from_value(json!({"metadata": {"name": name}, "spec": {"nodeName": "n", "containers": []},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]}}))
            .unwrap()
        };
        let mut course = ScaledCourse::default();
        course.see_pod(Told::All(vec![pod("b")]));
        course.see_pod(Told::Now(pod("a")));
        course.see_pod(Told::Now(pod("c")));
        course.see_pod(Told::Gone(pod("c")));
        let uses: Vec<DynamicObject> = serde_json::from_value(json!([{"metadata": {"name": "a"}, "timestamp": "t1",
            "containers": [{"usage": {"cpu": "200m"}}, {"usage": {"cpu": "50m"}}]}]))
        .unwrap();
        (0..2).for_each(|_| course.see_uses(&uses));
        course.see_pod(Told::All(vec![pod("a")]));
        let of = |pod: &PodCourse| (pod.name.clone(), pod.ready.is_some(), pod.ended.is_some(), pod.uses.len());
        let found: Vec<_> = course.pods.iter().map(of).collect();
        let expected = [("b", true, true, 0), ("a", true, false, 1), ("c", true, true, 0)];
        assert_eq!(found, expected.map(|(name, ready, ended, uses)| (name.to_owned(), ready, ended, uses)));
    }
}
