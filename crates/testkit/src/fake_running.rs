//! A deployment that is made up and runs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stampede_core::{
    Endpoint, EnforcedLimits, Fut, Limit, Limits, MeterSource, PartMeters, Program, UnitExit, UnitId, UnitRestart,
    UnitStop, UnknownPlace,
};
use stampede_seam::{ExitReport, Located, LogTail, ReadBackError, Running, StopError};

use crate::fake_deployment::FakeDeployment;
use crate::fake_vantage::FakeVantage;

/// How many workers it says it has.
const WORKERS: u32 = 2;

pub(crate) struct FakeRunning {
    pub(crate) name: String,
    pub(crate) located: Located,
    pub(crate) targets: Vec<Endpoint>,
    pub(crate) made: Arc<FakeDeployment>,
    pub(crate) units: Vec<UnitId>,
    pub(crate) parts: Vec<String>,
    pub(crate) total: Limits,
    pub(crate) fake: Arc<FakeVantage>,
    pub(crate) log: Arc<Mutex<Vec<String>>>,
    pub(crate) is_stopped: bool,
}

impl FakeRunning {
    fn note(&self, what: &str) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{what} {}", self.name));
    }

    fn meter(&self, below: &str) -> Vec<MeterSource> {
        vec![MeterSource::CgroupV2 { dir: self.made.group.join(below) }]
    }
}

impl Drop for FakeRunning {
    fn drop(&mut self) {
        for endpoint in self.located.endpoints.values() {
            self.fake.deployments().remove(endpoint);
        }
        if !self.is_stopped {
            self.note("drop");
        }
    }
}

impl Running for FakeRunning {
    fn located(&self) -> &Located {
        &self.located
    }

    fn targets(&self) -> Vec<Endpoint> {
        self.targets.clone()
    }

    fn resolve(&self, text: &str) -> Result<String, UnknownPlace> {
        Ok(text.to_owned())
    }

    fn meters(&self) -> Vec<MeterSource> {
        self.meter("")
    }

    fn enforced(&self) -> Result<EnforcedLimits, ReadBackError> {
        Ok(self.made.lifetime.enforced.unwrap_or(held_to(self.total)))
    }

    fn part_meters(&self) -> Vec<PartMeters> {
        self.parts.iter().map(|part| PartMeters { part: part.clone(), meters: self.meter(part) }).collect()
    }

    fn enforced_on(&self, part: &str) -> Result<EnforcedLimits, ReadBackError> {
        let own = self.made.lifetime.parts.iter().find(|(name, _)| name == part);
        own.map_or_else(|| self.enforced(), |(_, limits)| Ok(held_to(*limits)))
    }

    fn restarts(&self) -> Vec<UnitRestart> {
        self.made.lifetime.restarts.clone()
    }

    fn ask<'a>(&'a self, _program: &'a Program, _limit: Duration) -> Fut<'a, Result<String, String>> {
        let said = self.made.lifetime.said.clone();
        Box::pin(async move { said })
    }

    fn read<'a>(&'a self, _file: &'a str) -> Fut<'a, Result<Option<String>, String>> {
        let file = self.made.php.as_ref().and_then(|(_, told)| serde_json::to_string(told).ok());
        Box::pin(async move { Ok(file) })
    }

    fn exited(&self) -> Fut<'_, UnitExit> {
        Box::pin(async move {
            match &self.made.lifetime.exit {
                Some((after, exit)) => {
                    self.located.vantage.sleep_until(self.made.at(*after)).await;
                    exit.clone()
                }
                None => std::future::pending().await,
            }
        })
    }

    fn disturbed(&self) -> Fut<'_, Option<String>> {
        Box::pin(async { self.made.lifetime.disturbed.clone() })
    }

    fn forks(&self) -> BTreeSet<u32> {
        let age = self.located.vantage.now().since(self.made.launched);
        let generation = self.made.lifetime.worker_life.map_or(0, |life| (age.as_nanos() / life.as_nanos()) as u32);
        (0..WORKERS).map(|worker| 1000 + generation * WORKERS + worker).collect()
    }

    fn logs(&self, unit: &UnitId) -> LogTail {
        let is_first = self.units.first() == Some(unit);
        LogTail::of(self.made.lifetime.log.iter().filter(|_| is_first).map(String::as_str))
    }

    fn units(&self) -> Vec<UnitId> {
        self.units.clone()
    }

    fn stop(mut self: Box<Self>) -> Fut<'static, Result<ExitReport, StopError>> {
        Box::pin(async move {
            let took = self.made.lifetime.stop;
            tokio::time::sleep(took).await;
            self.is_stopped = true;
            self.note("stop");
            self.made.lifetime.stopped()?;
            let killed = self.made.lifetime.is_deaf;
            let how = if killed { "signal 9 (SIGKILL)" } else { "status 0" };
            let stop = |unit: &UnitId| UnitStop { unit: unit.clone(), took, killed, how: how.to_owned() };
            Ok(ExitReport { units: self.units.iter().map(stop).collect() })
        })
    }
}

fn held_to(limits: Limits) -> EnforcedLimits {
    EnforcedLimits {
        cpus: Limit::AtMost(limits.cpus),
        period: Duration::from_millis(100),
        memory: Limit::AtMost(limits.memory),
    }
}
