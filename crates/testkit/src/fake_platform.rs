//! A platform whose deployments are made up.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use stampede_core::{App, Availability, Deployment, Endpoint, Finding, Found, Fut, Limits, Requirement, Terms};
use stampede_seam::{LaunchError, Platform, PrepareError, Running, Vantage};

use crate::fake_lifetime::{FakeLaunch, FakeLifetime};
use crate::fake_running::FakeRunning;
use crate::fake_vantage::{FakeDeployment, FakeVantage};

/// What becomes of each launch.
type Script = Box<dyn Fn(&FakeLaunch<'_>) -> FakeLifetime + Send + Sync>;

/// A platform that starts nothing: a script says what becomes of each launch. Everything that is required is there.
pub struct FakePlatform {
    script: Script,
    fake: Arc<FakeVantage>,
    vantage: Arc<dyn Vantage>,
    /// What happened, in order.
    log: Arc<Mutex<Vec<String>>>,
    launches: Mutex<usize>,
}

impl FakePlatform {
    /// Made within a tokio runtime, whose time its clock follows: best one that is paused.
    pub fn new(script: impl Fn(&FakeLaunch<'_>) -> FakeLifetime + Send + Sync + 'static) -> Self {
        let fake = FakeVantage::new();
        let vantage = fake.clone();
        Self { script: Box::new(script), fake, vantage, log: Arc::default(), launches: Mutex::default() }
    }

    /// What was launched, frozen, thawed, stopped and dropped, in order: `launch a`, `stop a`.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From where its deployments are seen.
    pub fn fake_vantage(&self) -> &FakeVantage {
        &self.fake
    }

    /// How many deployments are up.
    pub fn up(&self) -> usize {
        self.fake.deployments().len()
    }
}

impl fmt::Debug for FakePlatform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakePlatform").field("log", &self.log()).finish_non_exhaustive()
    }
}

impl Platform for FakePlatform {
    fn id(&self) -> &'static str {
        "fake"
    }

    fn vantage(&self) -> &Arc<dyn Vantage> {
        &self.vantage
    }

    fn detect<'a>(&'a self, need: &'a Requirement) -> Fut<'a, Availability> {
        let key = need.key().unwrap_or("file");
        let found = Found { path: PathBuf::from("/fake").join(key), version: "1.0".to_owned(), php: None };
        Box::pin(async move { Availability::Found(found) })
    }

    fn preflight<'a>(&'a self, _limits: &'a Limits) -> Fut<'a, Vec<Finding>> {
        Box::pin(async { Vec::new() })
    }

    fn prepare<'a>(&'a self, app: &'a App) -> Fut<'a, Result<PathBuf, PrepareError>> {
        Box::pin(async move { Ok(app.source.clone()) })
    }

    fn launch<'a>(
        &'a self,
        deployment: &'a Deployment,
        terms: &'a Terms,
    ) -> Fut<'a, Result<Box<dyn Running>, LaunchError>> {
        Box::pin(async move {
            let number = {
                let mut launches = self.launches.lock().unwrap_or_else(PoisonError::into_inner);
                *launches += 1;
                *launches - 1
            };
            let launch = FakeLaunch { number, deployment, terms };
            let (name, lifetime) = (launch.unit().to_owned(), (self.script)(&launch));
            self.log.lock().unwrap_or_else(PoisonError::into_inner).push(format!("launch {name}"));
            tokio::time::sleep(lifetime.launch).await;
            if let Some(problem) = lifetime.launch_problem {
                return Err(LaunchError::Prepare(problem));
            }
            // Port 0 is nobody's; each launch has an address of its own.
            let [high, low] = (number as u16).to_be_bytes();
            let front = Endpoint::Tcp(SocketAddr::from((Ipv4Addr::new(127, 1, high, low), 80)));
            let made = Arc::new(FakeDeployment {
                lifetime,
                launched: self.vantage.now(),
                group: PathBuf::from(format!("/fake/{number}")),
                loaded: Mutex::default(),
                frozen: Mutex::default(),
            });
            self.fake.deployments().insert(front.clone(), Arc::clone(&made));
            let units = deployment.units.iter().map(|unit| unit.id.clone()).collect();
            let parts = terms.parts.iter().map(|part| part.name.clone()).collect();
            let running = FakeRunning {
                name,
                front,
                made,
                units,
                parts,
                total: terms.total,
                fake: Arc::clone(&self.fake),
                vantage: Arc::clone(&self.vantage),
                log: Arc::clone(&self.log),
                is_stopped: false,
            };
            Ok(Box::new(running) as Box<dyn Running>)
        })
    }
}
