//! A vantage of deployments that are made up, with a virtual clock.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{Answer, Endpoint, Fut, MeterSource, Sampling};
use stampede_seam::{
    Call, LoadError, LoadHandle, LoadOrder, Moment, NoAnswer, Reading, SampleTargets, SamplerHandle, SamplingError,
    Vantage,
};
use tokio::time::Instant;

use crate::fake_deployment::FakeDeployment;
use crate::fake_load::FakeLoad;

/// Sees deployments of a [`FakePlatform`](crate::FakePlatform). Its clock is tokio's: in a runtime whose time is paused it stands
/// still while anything can be done, and then goes on to whatever is waited for.
#[derive(Debug)]
pub struct FakeVantage {
    began: Instant,
    deployments: Mutex<HashMap<Endpoint, Arc<FakeDeployment>>>,
    /// Every load that was started.
    loads: Mutex<Vec<LoadOrder>>,
}

impl FakeVantage {
    /// Its clock begins now. Must be called within a tokio runtime.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { began: Instant::now(), deployments: Mutex::default(), loads: Mutex::default() })
    }

    /// Every load that was started, in order.
    pub fn loads(&self) -> Vec<LoadOrder> {
        self.loads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn deployments(&self) -> MutexGuard<'_, HashMap<Endpoint, Arc<FakeDeployment>>> {
        self.deployments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn instant(&self, moment: Moment) -> Instant {
        self.began + moment.since_start()
    }

    /// Whoever listens there now.
    fn listening(&self, endpoint: &Endpoint) -> Option<Arc<FakeDeployment>> {
        let deployment = self.deployments().get(endpoint).cloned()?;
        deployment.is_ready(self.now()).then_some(deployment)
    }

    /// Until when nothing is answered.
    fn stalls_until(&self, deployment: &FakeDeployment) -> Option<Moment> {
        let (from, to) = deployment.lifetime.stall?;
        let now = self.now();
        (deployment.at(from) <= now && now < deployment.at(to)).then(|| deployment.at(to))
    }
}

fn refused() -> NoAnswer {
    NoAnswer { problem: "Connection refused (os error 111)".to_owned(), waited: false }
}

impl Vantage for FakeVantage {
    fn now(&self) -> Moment {
        Moment::new(self.began.elapsed())
    }

    /// The first second of 2026 and so long after it.
    fn timestamp(&self) -> Timestamp {
        let since = i64::try_from(self.began.elapsed().as_nanos()).unwrap_or(i64::MAX);
        Timestamp::from_nanosecond(1_767_225_600_000_000_000 + i128::from(since)).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn sleep_until(&self, until: Moment) -> Fut<'_, ()> {
        Box::pin(tokio::time::sleep_until(self.instant(until)))
    }

    fn connect<'a>(&'a self, endpoint: &'a Endpoint, timeout: Duration) -> Fut<'a, Result<(), NoAnswer>> {
        Box::pin(async move {
            let deployment = self.listening(endpoint).ok_or_else(refused)?;
            if self.stalls_until(&deployment).is_some() {
                tokio::time::sleep(timeout).await;
                return Err(NoAnswer { problem: format!("not connected within {timeout:?}"), waited: false });
            }
            Ok(())
        })
    }

    fn exchange<'a>(&'a self, call: &'a Call) -> Fut<'a, Result<Answer, NoAnswer>> {
        Box::pin(async move {
            let deployment = self.listening(&call.endpoint).ok_or_else(refused)?;
            let answered = self.stalls_until(&deployment).unwrap_or(self.now()) + deployment.lifetime.latency;
            let patience = self.now() + call.timeout;
            self.sleep_until(answered.min(patience)).await;
            if answered > patience {
                return Err(NoAnswer { problem: format!("no answer within {:?}", call.timeout), waited: true });
            }
            if deployment.has_ended(self.now()) {
                return Err(NoAnswer { problem: "Connection reset by peer (os error 104)".to_owned(), waited: false });
            }
            Ok(deployment.answer(call))
        })
    }

    fn counters(&self, groups: &[&[MeterSource]]) -> Reading {
        let now = self.now();
        let deployments = self.deployments();
        let read = |sources: &&[MeterSource]| {
            let Some(MeterSource::CgroupV2 { dir }) = sources.first() else { return Ok(None) };
            let found = deployments.values().find(|deployment| dir.starts_with(&deployment.group));
            let deployment = found.ok_or_else(|| format!("{} is not there", dir.display()))?;
            match &deployment.lifetime.counters_problem {
                Some(problem) => Err(problem.clone()),
                None => Ok(Some(deployment.counters(now))),
            }
        };
        Reading { at: now, groups: groups.iter().map(read).collect() }
    }

    fn load(&self, order: LoadOrder) -> Result<Box<dyn LoadHandle>, LoadError> {
        let target = order.spec.targets.first().ok_or_else(|| LoadError("start the load: no target".to_owned()))?;
        let deployment = self.deployments().get(target).cloned();
        let deployment = deployment.ok_or_else(|| LoadError(format!("start the load: nothing is at {target}")))?;
        if let Some(problem) = &deployment.lifetime.load_problem {
            return Err(LoadError(problem.clone()));
        }
        self.loads.lock().unwrap_or_else(PoisonError::into_inner).push(order.clone());
        Ok(Box::new(FakeLoad::start(self.began, self.now(), order, deployment)))
    }

    fn sample(&self, targets: SampleTargets, window: Range<Moment>) -> Result<Box<dyn SamplerHandle>, SamplingError> {
        let deployment = match targets.meters.first() {
            Some(MeterSource::CgroupV2 { dir }) => {
                let deployments = self.deployments();
                deployments.values().find(|deployment| dir.starts_with(&deployment.group)).cloned()
            }
            _ => None,
        };
        let deployment = deployment.as_deref();
        let inside = targets.inside.and_then(|_| deployment?.lifetime.inside.clone());
        // That of a lifetime without growth is the same all along, and nothing is said of it.
        let grows = deployment.filter(|deployment| deployment.lifetime.memory_growth.is_some());
        let series = grows.map(|deployment| deployment.sampled(&window)).into_iter().collect();
        Ok(Box::new(FakeSampler { sampling: Sampling { series, inside: inside.map(Box::new), ..Sampling::default() } }))
    }
}

/// Samples nothing but what a lifetime says of its PHP's stacks and of memory that grows.
struct FakeSampler {
    sampling: Sampling,
}

impl SamplerHandle for FakeSampler {
    fn queue(&self) -> Option<u64> {
        None
    }

    fn cut(self: Box<Self>) -> Fut<'static, Sampling> {
        self.finish()
    }

    fn finish(self: Box<Self>) -> Fut<'static, Sampling> {
        Box::pin(async { self.sampling })
    }
}
