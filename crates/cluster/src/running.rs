//! A pod that serves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use stampede_core::{
    AddressId, Endpoint, EnforcedLimits, Fut, MeterSource, PartMeters, Places, Program, UnitExit, UnitId, UnitRestart,
    UnitStatus, UnitStop, UnknownPlace,
};
use stampede_kubernetes::{Fate, Server, ServerEnd};
use stampede_seam::{ExitReport, LogTail, Moment, ReadBackError, Running, StopError, Vantage};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout, timeout_at};

use crate::pod_agent::PodAgent;
use crate::pod_vantage::PodVantage;

/// How long the cluster may take to notice that a process in a pod has ended.
const NOTICE: Duration = Duration::from_secs(15);

/// How old a log may be that is shown.
const LOG_AGE: Duration = Duration::from_secs(2);

/// What is written of a process whose end nobody saw.
const UNKNOWN: &str = "an unknown status";

/// The status of a process that was killed.
const KILLED: &str = "exit code 137";

/// A pod that serves. Dropping it removes its deployment.
pub(crate) struct ClusterRunning {
    // The agent in it goes first.
    vantage: Arc<dyn Vantage>,
    agent: PodAgent,
    server: Server,
    unit: UnitId,
    front: Endpoint,
    endpoints: BTreeMap<AddressId, Endpoint>,
    places: Places,
    enforced: EnforcedLimits,
    meter: MeterSource,
    started: Moment,
    /// What befell it, once that is known.
    fate: OnceCell<Fate>,
    /// When the agent in it was found lost.
    lost_at: OnceLock<Instant>,
    /// Its log, and when that was read.
    log: Mutex<Option<(Instant, LogTail)>>,
}

impl ClusterRunning {
    pub(crate) fn new(
        server: Server,
        agent: PodAgent,
        vantage: Arc<PodVantage>,
        (unit, front, endpoints, places): (UnitId, Endpoint, BTreeMap<AddressId, Endpoint>, Places),
        (enforced, meter): (EnforcedLimits, MeterSource),
        started: Moment,
    ) -> Self {
        let (fate, lost_at, log) = (OnceCell::new(), OnceLock::new(), Mutex::default());
        Self { vantage, agent, server, unit, front, endpoints, places, enforced, meter, started, fate, lost_at, log }
    }

    /// Resolves when something has befallen it. That the agent in it is lost is the cluster's doing, unless the pod has ended.
    async fn fate(&self) -> &Fate {
        let befalls = async {
            tokio::select! {
                biased;
                fate = self.server.fate() => fate,
                lost = self.agent.lost() => match timeout_at(self.noticed(), self.server.fate()).await {
                    Ok(fate) => fate,
                    Err(_) => {
                        let pod = self.server.pod();
                        Fate::Taken(format!("pod {} on node {}: the sampler in it is lost: {lost}", pod.name, pod.node))
                    }
                },
            }
        };
        self.fate.get_or_init(|| befalls).await
    }

    /// When the cluster should have noticed why the agent is lost. Whoever waits may give up and wait again.
    fn noticed(&self) -> Instant {
        *self.lost_at.get_or_init(Instant::now) + NOTICE
    }

    /// Whether the agent in it is lost; resolves at once.
    async fn is_blind(&self) -> bool {
        timeout(Duration::ZERO, self.agent.lost()).await.is_ok()
    }
}

impl Running for ClusterRunning {
    fn vantage(&self) -> &Arc<dyn Vantage> {
        &self.vantage
    }

    fn front(&self) -> &Endpoint {
        &self.front
    }

    fn resolve(&self, text: &str) -> Result<String, UnknownPlace> {
        self.places.resolve(text)
    }

    fn endpoint(&self, address: &AddressId) -> Option<&Endpoint> {
        self.endpoints.get(address)
    }

    fn started(&self) -> Moment {
        self.started
    }

    fn meters(&self) -> Vec<MeterSource> {
        vec![self.meter.clone()]
    }

    /// Nothing is known of what it runs.
    fn statuses(&self) -> &[UnitStatus] {
        &[]
    }

    /// None: their queues are not seen from a generator.
    fn listeners(&self) -> &[(AddressId, Endpoint)] {
        &[]
    }

    fn enforced(&self) -> Result<EnforcedLimits, ReadBackError> {
        Ok(self.enforced)
    }

    fn part_meters(&self) -> Vec<PartMeters> {
        Vec::new()
    }

    fn enforced_on(&self, part: &str) -> Result<EnforcedLimits, ReadBackError> {
        Err(ReadBackError(format!("an image has no part {part}")))
    }

    /// One that was started again has failed.
    fn restarts(&self) -> Vec<UnitRestart> {
        Vec::new()
    }

    fn ask<'a>(&'a self, program: &'a Program, _limit: Duration) -> Fut<'a, Result<String, String>> {
        let path = program.path.clone();
        Box::pin(async move { Err(format!("run {path}: nothing is run beside an image that serves by itself")) })
    }

    fn read<'a>(&'a self, file: &'a str) -> Fut<'a, Result<Option<String>, String>> {
        Box::pin(async move { Err(format!("read {file}: the files of an image in a cluster are not read")) })
    }

    fn exited(&self) -> Fut<'_, UnitExit> {
        Box::pin(async move { UnitExit { unit: self.unit.clone(), how: self.fate().await.words().to_owned() } })
    }

    fn disturbed(&self) -> Fut<'_, Option<String>> {
        Box::pin(async move {
            let known = self.fate.get().cloned();
            let fate = match known {
                Some(fate) => Some(fate),
                None if self.is_blind().await => Some(self.fate().await.clone()),
                None => self.server.fate_now().await,
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

    fn logs(&self, _unit: &UnitId) -> LogTail {
        let mut known = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever explains a failure asks several times.
        if let Some((_, log)) = known.as_ref().filter(|(read, _)| read.elapsed() < LOG_AGE) {
            return log.clone();
        }
        let log = LogTail::of(self.server.log_now().iter().map(String::as_str));
        *known = Some((Instant::now(), log.clone()));
        log
    }

    fn units(&self) -> Vec<UnitId> {
        vec![self.unit.clone()]
    }

    fn stop(self: Box<Self>) -> Fut<'static, Result<ExitReport, StopError>> {
        Box::pin(async move {
            let Self { vantage, agent, server, unit, .. } = *self;
            drop((vantage, agent));
            let ServerEnd { took, how } = server.end().await.map_err(|error| StopError(error.to_string()))?;
            let how = how.unwrap_or_else(|| UNKNOWN.to_owned());
            let killed = how.contains(KILLED);
            Ok(ExitReport { units: vec![UnitStop { unit, took, killed, how }] })
        })
    }
}
