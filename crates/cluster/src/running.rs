//! Pods that serve, all of one deployment.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::{join_all, select_all};
use stampede_core::{
    AddressId, Bytes, Cpus, Endpoint, EnforcedLimits, Fut, Limit, MeterSource, PartMeters, Places, Program, Topology,
    UnitExit, UnitId, UnitStop,
};
use stampede_kubernetes::{Fate, FoundPod, Server, ServerEnd};
use stampede_seam::{ExitReport, Located, LogTail, Moment, ReadBackError, Running, StopError};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout, timeout_at};

use crate::pod_agent::PodAgent;
use crate::pod_vantage::PodVantage;

/// How long the cluster may take to notice that a process in a pod has ended.
const NOTICE: Duration = Duration::from_secs(15);

/// How old a log may be that is shown.
const LOG_AGE: Duration = Duration::from_secs(2);

/// The unit of a deployment that has none.
const UNKNOWN_UNIT: &str = "image";

/// What is written of a process whose end nobody saw.
const UNKNOWN: &str = "an unknown status";

/// The status of a process that was killed.
const KILLED: &str = "exit code 137";

/// One of the pods that serve, or a service beside them.
pub(crate) struct ServingPod {
    /// Its part of the deployment, where there are several.
    pub(crate) part: Option<String>,
    pub(crate) unit: UnitId,
    pub(crate) agent: PodAgent,
    /// Where it takes its load, or is asked.
    pub(crate) target: Endpoint,
    /// What the kernel holds its container to.
    pub(crate) enforced: EnforcedLimits,
}

/// Pods that serve. Dropping it removes their deployment.
pub(crate) struct ClusterRunning {
    // The agents in them, which its vantage has, go first.
    located: Located,
    /// In the order of the pods of all servers; one at least.
    pods: Vec<ServingPod>,
    /// Services first.
    servers: Vec<Server>,
    enforced: EnforcedLimits,
    meters: Vec<MeterSource>,
    /// What befell the first of them, once that is known.
    fate: OnceCell<Fate>,
    /// When an agent in one of them was found lost.
    lost_at: OnceLock<Instant>,
    /// Their logs, and when each was read.
    logs: Mutex<BTreeMap<UnitId, (Instant, LogTail)>>,
}

impl ClusterRunning {
    pub(crate) fn new(
        servers: Vec<Server>,
        pods: Vec<ServingPod>,
        vantage: Arc<PodVantage>,
        (front, endpoints, places): (Endpoint, BTreeMap<AddressId, Endpoint>, Places),
        started: Moment,
    ) -> Self {
        let enforced = summed(pods.iter().map(|pod| pod.enforced));
        let meters = vantage.meters();
        let (fate, lost_at, logs) = (OnceCell::new(), OnceLock::new(), Mutex::default());
        let located = Located { vantage, front, endpoints, places, started };
        Self { located, pods, servers, enforced, meters, fate, lost_at, logs }
    }

    /// Each pod with what the cluster knows of it.
    fn found(&self) -> impl Iterator<Item = (&ServingPod, &FoundPod)> {
        self.pods.iter().zip(self.servers.iter().flat_map(Server::pods))
    }

    /// Resolves when something has befallen a pod: what.
    async fn befallen(&self) -> Fate {
        select_all(self.servers.iter().map(|server| Box::pin(server.fate()))).await.0
    }

    /// The unit whose pod these words name; the first where they name none.
    fn unit_of(&self, words: &str) -> UnitId {
        let named = self.found().find(|(_, found)| words.contains(&found.name));
        named.or_else(|| self.found().next()).map_or_else(|| UnitId::new(UNKNOWN_UNIT), |(pod, _)| pod.unit.clone())
    }

    /// Resolves when an agent is lost: the words of that, with its pod.
    async fn lost(&self) -> String {
        let each = self.found().map(|(pod, found)| {
            Box::pin(async move {
                let lost = pod.agent.lost().await;
                format!("pod {} on node {}: the sampler in it is lost: {lost}", found.name, found.node)
            })
        });
        select_all(each).await.0
    }

    /// Resolves when something has befallen one of them. That the agent in it is lost is the cluster's doing, unless the pod has ended.
    async fn fate(&self) -> &Fate {
        let befalls = async {
            tokio::select! {
                biased;
                fate = self.befallen() => fate,
                lost = self.lost() => {
                    timeout_at(self.noticed(), self.befallen()).await.unwrap_or(Fate::Taken(lost))
                }
            }
        };
        self.fate.get_or_init(|| befalls).await
    }

    /// When the cluster should have noticed why an agent is lost. Whoever waits may give up and wait again.
    fn noticed(&self) -> Instant {
        *self.lost_at.get_or_init(Instant::now) + NOTICE
    }

    /// Whether an agent is lost; resolves at once.
    async fn is_blind(&self) -> bool {
        timeout(Duration::ZERO, self.lost()).await.is_ok()
    }
}

impl Running for ClusterRunning {
    fn located(&self) -> &Located {
        &self.located
    }

    fn targets(&self) -> Vec<Endpoint> {
        let takes_load = |pod: &&ServingPod| pod.part.as_deref().is_none_or(Topology::is_replica);
        self.pods.iter().filter(takes_load).map(|pod| pod.target.clone()).collect()
    }

    fn meters(&self) -> Vec<MeterSource> {
        self.meters.clone()
    }

    fn enforced(&self) -> Result<EnforcedLimits, ReadBackError> {
        Ok(self.enforced)
    }

    fn part_meters(&self) -> Vec<PartMeters> {
        let of = |(pod, meter): (&ServingPod, &MeterSource)| {
            Some(PartMeters { part: pod.part.clone()?, meters: vec![meter.clone()] })
        };
        self.pods.iter().zip(&self.meters).filter_map(of).collect()
    }

    fn enforced_on(&self, part: &str) -> Result<EnforcedLimits, ReadBackError> {
        let found = self.pods.iter().find(|pod| pod.part.as_deref() == Some(part));
        found.map(|pod| pod.enforced).ok_or_else(|| ReadBackError(format!("the deployment has no part {part}")))
    }

    /// In the pod of the service that it is about.
    fn ask<'a>(&'a self, program: &'a Program, limit: Duration) -> Fut<'a, Result<String, String>> {
        Box::pin(async move {
            let Program { path, args, env } = program;
            for server in &self.servers {
                for (pod, found) in self.found().filter(|(_, found)| server.pods().contains(found)) {
                    let place = format!("@{{{}.", pod.unit);
                    if args.iter().chain(env.values()).any(|text| text.contains(&place)) {
                        return run(server, found, (program, ""), &self.located.places, limit).await;
                    }
                }
            }
            Err(format!("run {path}: nothing is run beside an image that serves by itself"))
        })
    }

    fn read<'a>(&'a self, file: &'a str) -> Fut<'a, Result<Option<String>, String>> {
        Box::pin(async move { Err(format!("read {file}: the files of an image in a cluster are not read")) })
    }

    fn exited(&self) -> Fut<'_, UnitExit> {
        Box::pin(async move {
            let how = self.fate().await.words();
            UnitExit { unit: self.unit_of(how), how: how.to_owned() }
        })
    }

    fn disturbed(&self) -> Fut<'_, Option<String>> {
        Box::pin(async move {
            let known = self.fate.get().cloned();
            let fate = match known {
                Some(fate) => Some(fate),
                None if self.is_blind().await => Some(self.fate().await.clone()),
                None => {
                    let each = join_all(self.servers.iter().map(Server::fate_now)).await;
                    each.into_iter().flatten().next()
                }
            };
            match fate {
                Some(Fate::Taken(words)) => Some(words),
                Some(Fate::Own(_)) | None => None,
            }
        })
    }

    fn forks(&self) -> BTreeSet<u32> {
        BTreeSet::new()
    }

    fn logs(&self, unit: &UnitId) -> LogTail {
        let mut known = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever explains a failure asks several times.
        if let Some((_, log)) = known.get(unit).filter(|(read, _)| read.elapsed() < LOG_AGE) {
            return log.clone();
        }
        let found = self.found().find(|(pod, _)| pod.unit == *unit);
        let lines = found.zip(self.servers.first()).map(|((_, found), any)| any.log_now(found)).unwrap_or_default();
        let log = LogTail::of(lines.iter().map(String::as_str));
        known.insert(unit.clone(), (Instant::now(), log.clone()));
        log
    }

    fn units(&self) -> Vec<UnitId> {
        self.pods.iter().map(|pod| pod.unit.clone()).collect()
    }

    fn stop(self: Box<Self>) -> Fut<'static, Result<ExitReport, StopError>> {
        Box::pin(async move {
            let units: Vec<(UnitId, String)> =
                self.found().map(|(pod, found)| (pod.unit.clone(), found.name.clone())).collect();
            let Self { located, pods, servers, .. } = *self;
            drop((located, pods));
            let mut stopped = Vec::new();
            // Services end last.
            for server in servers.into_iter().rev() {
                let names: Vec<String> = server.pods().iter().map(|found| found.name.clone()).collect();
                let ServerEnd { took, how } = server.end().await.map_err(|error| StopError(error.to_string()))?;
                stopped.extend(units.iter().filter(|(_, pod)| names.contains(pod)).map(|(unit, pod)| {
                    let how = how.get(pod).cloned().unwrap_or_else(|| UNKNOWN.to_owned());
                    UnitStop { unit: unit.clone(), took, killed: how.contains(KILLED), how }
                }));
            }
            Ok(ExitReport { units: stopped })
        })
    }
}

/// Runs a program of its image in a pod, with what that reads.
pub(crate) async fn run(
    server: &Server,
    pod: &FoundPod,
    (program, input): (&Program, &str),
    places: &Places,
    limit: Duration,
) -> Result<String, String> {
    let Program { path, args, env } = program;
    let resolve = |text: &String| places.resolve(text).map_err(|error| error.to_string());
    let mut command = vec!["env".to_owned()];
    for (name, value) in env {
        command.push(format!("{name}={}", resolve(value)?));
    }
    for word in iter::once(path).chain(args) {
        command.push(resolve(word)?);
    }
    server.run_in(pod, (command, input), limit).await.map_err(|error| error.to_string())
}

/// What all pods together are held to: nothing, where one of them is not.
pub(crate) fn summed(pods: impl Iterator<Item = EnforcedLimits>) -> EnforcedLimits {
    let both = |one: EnforcedLimits, other: EnforcedLimits| EnforcedLimits {
        cpus: match (one.cpus, other.cpus) {
            (Limit::AtMost(one), Limit::AtMost(other)) => {
                Limit::AtMost(Cpus::from_millis(one.millis().saturating_add(other.millis())))
            }
            _ => Limit::Unlimited,
        },
        period: one.period.max(other.period),
        memory: match (one.memory, other.memory) {
            (Limit::AtMost(one), Limit::AtMost(other)) => {
                Limit::AtMost(Bytes::new(one.get().saturating_add(other.get())))
            }
            _ => Limit::Unlimited,
        },
    };
    let none = EnforcedLimits { cpus: Limit::Unlimited, period: Duration::ZERO, memory: Limit::Unlimited };
    pods.reduce(both).unwrap_or(none)
}
