//! A deployment that runs in a container.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use stampede_core::{
    AddressId, Deployment, Endpoint, EnforcedLimits, ExitReport, Fut, LaunchError, LogTail, MeterSource, PartMeters,
    Places, Program, ReadBackError, Ready, Running, StatusSource, StopError, UnitExit, UnitId, UnitRestart, UnitStatus,
    UnitStop, UnknownPlace, with_causes,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::sandbox::{Process, Sandbox};
use crate::folder::Folder;
use crate::log_tail;
use crate::process_table;
use crate::run::END_TIME;
use crate::running::{
    ASK_TIME, CHECK_TIME, DEFAULT_PATH, PREPARATION_TIME, command, connect, enforced, explain, signal_number, source,
};

/// A container whose folder is filled and in which nothing runs yet.
pub(super) struct Prepared {
    pub(super) sandbox: Sandbox,
    pub(super) folder: Folder,
    pub(super) places: Places,
    pub(super) endpoints: BTreeMap<AddressId, Endpoint>,
}

/// A deployment in one container: its limits hold all units together.
pub(super) struct DockerRunning {
    sandbox: Sandbox,
    folder: Folder,
    front: Endpoint,
    statuses: Vec<UnitStatus>,
    endpoints: BTreeMap<AddressId, Endpoint>,
    places: Places,
    units: Vec<StartedUnit>,
    exit: watch::Sender<Option<UnitExit>>,
    started: Instant,
}

struct StartedUnit {
    id: UnitId,
    logs: Vec<PathBuf>,
    grace: Duration,
    signal: Option<Signal>,
    process: Arc<Process>,
    watch: JoinHandle<()>,
}

impl Drop for StartedUnit {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

impl DockerRunning {
    /// Prepares the application and checks all configurations, then starts unit after unit as each becomes ready.
    pub(super) async fn start(
        prepared: Prepared,
        deployment: &Deployment,
        ready_timeout: Duration,
    ) -> Result<Self, LaunchError> {
        let Prepared { sandbox, folder, places, endpoints } = prepared;
        let endpoint = |id: &AddressId| {
            endpoints
                .get(id)
                .cloned()
                .ok_or_else(|| LaunchError::Prepare(format!("find the address {id}: the deployment has none")))
        };
        let mut statuses = Vec::new();
        for unit in &deployment.units {
            for StatusSource { address, transport, format } in &unit.statuses {
                let address = endpoint(address)?;
                statuses.push((unit.id.clone(), StatusSource { address, transport: *transport, format: *format }));
            }
        }
        let mut running = Self {
            sandbox,
            folder,
            front: endpoint(&deployment.front)?,
            statuses,
            endpoints: endpoints.clone(),
            places,
            units: Vec::new(),
            exit: watch::Sender::new(None),
            started: Instant::now(),
        };
        for program in deployment.preparation.iter().flat_map(|preparation| &preparation.programs) {
            let failed = |problem| LaunchError::Prepare(format!("warm the application up: {problem}"));
            running.run("preparation", program, PREPARATION_TIME).await?.map_err(failed)?;
        }
        for unit in &deployment.units {
            if let Some(check) = &unit.check {
                let failed = |problem| LaunchError::Check { unit: unit.id.clone(), problem };
                running.run(&format!("{}.check", unit.id), check, CHECK_TIME).await?.map_err(failed)?;
            }
        }
        running.started = Instant::now();
        for unit in &deployment.units {
            let log = running.folder.log(unit.id.as_str());
            let mut logs = vec![log.clone()];
            for path in &unit.logs {
                let inside = running.folder.inside(path);
                logs.push(inside.map_err(|error| LaunchError::Prepare(error.to_string()))?);
            }
            let order = command(&unit.program, &running.folder, &running.places, log)?;
            let failed = |problem| LaunchError::Start { unit: unit.id.clone(), problem };
            let process = running.sandbox.start(&order).await.map_err(|error| failed(with_causes(&error)))?;
            let process = Arc::new(process);
            running.units.push(StartedUnit {
                id: unit.id.clone(),
                logs,
                grace: unit.stop.grace,
                signal: Signal::from_named_raw(signal_number(unit.stop.signal)),
                watch: tokio::spawn(watch(unit.id.clone(), Arc::clone(&process), running.exit.clone())),
                process,
            });
            running.await_ready(&unit.id, &unit.ready, ready_timeout).await?;
        }
        Ok(running)
    }

    /// Runs a program to its end. The inner error says how it failed, with the end of its log.
    async fn run(&self, name: &str, program: &Program, limit: Duration) -> Result<Result<(), String>, LaunchError> {
        let log = self.folder.log(name);
        let order = command(program, &self.folder, &self.places, log.clone())?;
        let done = self.sandbox.run(&order, limit).await.map_err(|error| LaunchError::Prepare(with_causes(&error)))?;
        Ok(done.map_err(|problem| explain(Some(&self.sandbox.group), &problem, &log_tail::read(&log))))
    }

    /// Waits until a unit is ready, or one ends.
    async fn await_ready(&self, unit: &UnitId, ready: &Ready, limit: Duration) -> Result<(), LaunchError> {
        const PAUSE: Duration = Duration::from_millis(10);
        let deadline = Instant::now() + limit;
        let failed = |unit: &UnitId, problem: &str| LaunchError::Start {
            unit: unit.clone(),
            problem: explain(Some(&self.sandbox.group), problem, &self.logs(unit).lines),
        };
        loop {
            let state = tokio::select! {
                exit = self.exited() => {
                    return Err(failed(&exit.unit, &format!("it ended with {}", exit.how)));
                }
                tried = self.try_ready(ready) => match tried {
                    Ok(()) => return Ok(()),
                    Err(state) => state,
                },
            };
            if Instant::now() >= deadline {
                return Err(failed(unit, &format!("it is not ready after {limit:?} ({state})")));
            }
            sleep(PAUSE).await;
        }
    }

    async fn try_ready(&self, ready: &Ready) -> Result<(), String> {
        const CONNECT_TIME: Duration = Duration::from_secs(1);
        match ready {
            Ready::Request => Ok(()),
            Ready::Program(program) => self.ask(program).await.map(drop),
            Ready::Port(id) => {
                let endpoint = self.endpoints.get(id).ok_or_else(|| format!("it has no address {id}"))?;
                let connected = timeout(CONNECT_TIME, connect(endpoint)).await;
                let told = connected.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()));
                told.map_err(|error| format!("connect to {endpoint}: {error}"))
            }
        }
    }
}

/// Tells when a unit ends. The first end is the one that matters; others often follow from it.
async fn watch(unit: UnitId, process: Arc<Process>, exit: watch::Sender<Option<UnitExit>>) {
    let end = process.ended().await;
    exit.send_if_modified(|known| {
        let first = known.is_none();
        known.get_or_insert(UnitExit { unit, how: end.to_string() });
        first
    });
}

impl Running for DockerRunning {
    fn front(&self) -> &Endpoint {
        &self.front
    }

    fn resolve(&self, text: &str) -> Result<String, UnknownPlace> {
        self.places.resolve(text)
    }

    fn endpoint(&self, address: &AddressId) -> Option<&Endpoint> {
        self.endpoints.get(address)
    }

    fn started(&self) -> Instant {
        self.started
    }

    fn meters(&self) -> Vec<MeterSource> {
        vec![source(&self.sandbox.group)]
    }

    fn part_meters(&self) -> Vec<PartMeters> {
        Vec::new()
    }

    fn statuses(&self) -> &[UnitStatus] {
        &self.statuses
    }

    /// None: the kernel tells of listening sockets in one's own network namespace only.
    fn listeners(&self) -> &[(AddressId, Endpoint)] {
        &[]
    }

    fn enforced(&self) -> Result<EnforcedLimits, ReadBackError> {
        enforced(Some(&self.sandbox.group))
    }

    /// The whole, since there are no parts.
    fn enforced_on(&self, _part: &str) -> Result<EnforcedLimits, ReadBackError> {
        self.enforced()
    }

    fn restarts(&self) -> Vec<UnitRestart> {
        Vec::new()
    }

    /// In the container, and so within its limits.
    fn ask<'a>(&'a self, program: &'a Program) -> Fut<'a, Result<String, String>> {
        Box::pin(async move {
            let resolve = |text: &String| self.places.resolve(text).map_err(|error| error.to_string());
            let mut words = ["env", "-i"].map(str::to_owned).to_vec();
            words.push(format!("PATH={DEFAULT_PATH}"));
            for (name, value) in &program.env {
                words.push(format!("{name}={}", resolve(value)?));
            }
            words.push(resolve(&program.path)?);
            for argument in &program.args {
                words.push(resolve(argument)?);
            }
            self.sandbox.ask(words, ASK_TIME).await.map_err(|error| with_causes(&error))?
        })
    }

    fn exited(&self) -> Fut<'_, UnitExit> {
        let mut exits = self.exit.subscribe();
        Box::pin(async move {
            match exits.wait_for(Option::is_some).await.map(|exit| exit.clone()) {
                Ok(Some(exit)) => exit,
                // This holds the sender, so it is not gone.
                _ => std::future::pending().await,
            }
        })
    }

    fn forks(&self) -> BTreeSet<u32> {
        let members = self.sandbox.group.processes().unwrap_or_default();
        members
            .into_iter()
            .filter(|pid| process_table::is_fork(*pid))
            .map(|pid| pid.as_raw_pid().cast_unsigned())
            .collect()
    }

    fn logs(&self, unit: &UnitId) -> LogTail {
        let logs = self.units.iter().filter(|started| started.id == *unit).flat_map(|started| &started.logs);
        LogTail { lines: logs.flat_map(|log| log_tail::read(log)).collect() }
    }

    fn units(&self) -> Vec<UnitId> {
        self.units.iter().map(|unit| unit.id.clone()).collect()
    }

    fn stop(self: Box<Self>) -> Fut<'static, Result<ExitReport, StopError>> {
        Box::pin(async move {
            let Self { sandbox, units, .. } = *self;
            let mut stops = Vec::new();
            for unit in units.iter().rev() {
                let asked = Instant::now();
                if let Some(signal) = unit.signal {
                    unit.process.signal(signal);
                }
                let in_time = timeout(unit.grace, unit.process.ended()).await;
                let end = match in_time {
                    Ok(end) => end,
                    Err(_) => {
                        unit.process.signal(Signal::KILL);
                        timeout(END_TIME, unit.process.ended()).await.unwrap_or(crate::end::End::Untold)
                    }
                };
                let (took, how) = (asked.elapsed(), end.to_string());
                stops.push(UnitStop { unit: unit.id.clone(), took, killed: in_time.is_err(), how });
            }
            stops.reverse();
            drop(units);
            sandbox.close().await.map_err(StopError)?;
            Ok(ExitReport { units: stops })
        })
    }
}
