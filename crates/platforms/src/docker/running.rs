//! A deployment that runs in a container.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use stampede_cgroup::Group;
use stampede_core::{
    AddressId, Deployment, Endpoint, EnforcedLimits, Fut, MeterSource, PartMeters, Places, Program, Restart, Terms,
    UnitExit, UnitId, UnitRestart, UnitStatus, UnitStop, with_causes,
};
use stampede_seam::{ExitReport, LaunchError, Located, LogTail, Moment, ReadBackError, Running, StopError, Vantage};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep_until, timeout};

use super::inside::{Inside, Process};
use super::sandbox::Sandbox;
use crate::layout::folder::Folder;
use crate::log_tail;
use crate::runs::group::{enforced, explain, forks, source};
use crate::runs::run::END_TIME;
use crate::units::end::End;
use crate::units::readiness::{NotReady, await_ready};
use crate::units::restart::{Next, Restarter};
use crate::units::{
    CHECK_TIME, Command, DEFAULT_PATH, PREPARATION_TIME, StartedUnit, command, located, logs, read_file, restarts,
    signal_number, statuses, tell,
};

/// A container whose folder is filled and in which nothing runs yet.
pub(super) struct Prepared {
    pub(super) sandbox: Sandbox,
    pub(super) folder: Folder,
    pub(super) places: Places,
    pub(super) endpoints: BTreeMap<AddressId, Endpoint>,
}

/// A deployment in one container: its limits hold all units together, and parts are groups below its own.
pub(super) struct DockerRunning {
    sandbox: Sandbox,
    folder: Folder,
    located: Located,
    statuses: Vec<UnitStatus>,
    parts: Vec<String>,
    units: Vec<Watched>,
    news: News,
}

/// What is told of units that end.
#[derive(Clone)]
struct News {
    exit: watch::Sender<Option<UnitExit>>,
    restarts: Arc<Mutex<Vec<(Moment, UnitExit)>>>,
    vantage: Arc<dyn Vantage>,
}

/// A unit with what keeps it.
struct Watched {
    unit: StartedUnit,
    signal: Option<Signal>,
    /// The process that runs, or ran last.
    process: watch::Receiver<Arc<Process>>,
    keeper: JoinHandle<()>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl DockerRunning {
    /// Prepares the application and checks all configurations, then starts unit after unit as each becomes ready.
    pub(super) async fn start(
        prepared: Prepared,
        deployment: &Deployment,
        terms: &Terms,
        ready_timeout: Duration,
        vantage: Arc<dyn Vantage>,
    ) -> Result<Self, LaunchError> {
        let Prepared { sandbox, folder, places, endpoints } = prepared;
        let mut running = Self {
            sandbox,
            folder,
            statuses: statuses(deployment, &endpoints)?,
            parts: terms.parts.iter().map(|part| part.name.clone()).collect(),
            units: Vec::new(),
            news: News { exit: watch::Sender::new(None), restarts: Arc::default(), vantage: Arc::clone(&vantage) },
            located: located(deployment, endpoints, places, vantage)?,
        };
        for program in deployment.preparation.iter().flat_map(|preparation| &preparation.programs) {
            let failed = |problem| LaunchError::Prepare(format!("warm the application up: {problem}"));
            running.run("preparation", program, None, PREPARATION_TIME).await?.map_err(failed)?;
        }
        for unit in &deployment.units {
            if let Some(check) = &unit.check {
                let failed = |problem| LaunchError::Check { unit: unit.id.clone(), problem };
                let part = running.part_of(terms, &unit.id);
                let checked = running.run(&format!("{}.check", unit.id), check, part.as_ref(), CHECK_TIME).await?;
                checked.map_err(failed)?;
            }
        }
        running.located.started = running.located.vantage.now();
        for unit in &deployment.units {
            let log = running.folder.log(unit.id.as_str());
            let started = StartedUnit::new(unit, &running.folder)?;
            let order = command(&unit.program, &running.folder, &running.located.places, log)?;
            let failed = |problem| LaunchError::Start { unit: unit.id.clone(), problem };
            let part = running.part_of(terms, &unit.id);
            let inside = running.sandbox.inside.clone();
            let process = inside.start(&order, part.as_ref()).await.map_err(|error| failed(with_causes(&error)))?;
            let (now, process) = watch::channel(Arc::new(process));
            let restarter = Restarter::new(terms.part_of(&unit.id).map_or(Restart::Never, |part| part.restart));
            let news = running.news.clone();
            let kept = Kept { unit: unit.id.clone(), order, part, inside, restarter, now, news };
            running.units.push(Watched {
                unit: started,
                signal: Signal::from_named_raw(signal_number(unit.stop.signal)),
                process,
                keeper: tokio::spawn(kept.keep()),
            });
            await_ready(&running, &unit.ready, ready_timeout).await.map_err(|problem| {
                let (unit, problem) = match problem {
                    NotReady::Ended(exit) => (exit.unit, format!("it ended with {}", exit.how)),
                    NotReady::Late(problem) => (unit.id.clone(), problem),
                };
                let problem = explain(running.sandbox.group.as_ref(), &problem, &running.logs(&unit).lines);
                LaunchError::Start { unit, problem }
            })?;
        }
        Ok(running)
    }

    /// The control group of the part that a unit is in.
    fn part_of(&self, terms: &Terms, unit: &UnitId) -> Option<Group> {
        terms.part_of(unit).and_then(|part| self.group_of(&part.name))
    }

    fn group_of(&self, part: &str) -> Option<Group> {
        self.sandbox.group.as_ref().map(|group| group.child(part))
    }

    /// Runs a program to its end. The inner error says how it failed, with the end of its log.
    async fn run(
        &self,
        name: &str,
        program: &Program,
        part: Option<&Group>,
        limit: Duration,
    ) -> Result<Result<(), String>, LaunchError> {
        let log = self.folder.log(name);
        let order = command(program, &self.folder, &self.located.places, log.clone())?;
        let done = self.sandbox.inside.run(&order, part, limit).await;
        let done = done.map_err(|error| LaunchError::Prepare(with_causes(&error)))?;
        Ok(done.map_err(|problem| explain(self.sandbox.group.as_ref(), &problem, &log_tail::read(&log))))
    }
}

/// A unit that is told of when it ends and, where that was asked for, started again.
struct Kept {
    unit: UnitId,
    order: Command,
    part: Option<Group>,
    inside: Inside,
    restarter: Restarter,
    now: watch::Sender<Arc<Process>>,
    news: News,
}

impl Kept {
    async fn keep(mut self) {
        loop {
            let process = Arc::clone(&self.now.borrow());
            let end = process.ended().await;
            let ended = |how: String| UnitExit { unit: self.unit.clone(), how };
            let due = match self.restarter.next(end, Instant::now()) {
                Next::Stay(how) => return tell(&self.news.exit, ended(how)),
                Next::Start(due) => due,
            };
            let again = (self.news.vantage.now(), ended(end.to_string()));
            self.news.restarts.lock().unwrap_or_else(PoisonError::into_inner).push(again);
            if let Some(part) = &self.part {
                process.kill_left_behind(part);
            }
            sleep_until(due.into()).await;
            match self.inside.start(&self.order, self.part.as_ref()).await {
                Ok(again) => drop(self.now.send_replace(Arc::new(again))),
                Err(error) => return tell(&self.news.exit, ended(with_causes(&error))),
            }
        }
    }
}

impl Running for DockerRunning {
    fn located(&self) -> &Located {
        &self.located
    }

    fn meters(&self) -> Vec<MeterSource> {
        self.sandbox.group.iter().map(source).collect()
    }

    fn part_meters(&self) -> Vec<PartMeters> {
        let meters = |part: &String| self.group_of(part).iter().map(source).collect();
        self.parts.iter().map(|part| PartMeters { part: part.clone(), meters: meters(part) }).collect()
    }

    fn statuses(&self) -> &[UnitStatus] {
        &self.statuses
    }

    fn enforced(&self) -> Result<EnforcedLimits, ReadBackError> {
        enforced(self.sandbox.group.as_ref())
    }

    fn enforced_on(&self, part: &str) -> Result<EnforcedLimits, ReadBackError> {
        enforced(self.group_of(part).as_ref())
    }

    fn restarts(&self) -> Vec<UnitRestart> {
        restarts(&self.news.restarts, self.located.started)
    }

    /// In the container, and so within its limits.
    fn ask<'a>(&'a self, program: &'a Program, limit: Duration) -> Fut<'a, Result<String, String>> {
        Box::pin(async move {
            let resolve = |text: &String| self.resolve(text).map_err(|error| error.to_string());
            let mut words = ["env", "-i"].map(str::to_owned).to_vec();
            words.push(format!("PATH={DEFAULT_PATH}"));
            for (name, value) in &program.env {
                words.push(format!("{name}={}", resolve(value)?));
            }
            words.push(resolve(&program.path)?);
            for argument in &program.args {
                words.push(resolve(argument)?);
            }
            self.sandbox.inside.ask(words, limit).await.map_err(|error| with_causes(&error))?
        })
    }

    fn read<'a>(&'a self, file: &'a str) -> Fut<'a, Result<Option<String>, String>> {
        Box::pin(async move { read_file(&self.located.places, file) })
    }

    fn exited(&self) -> Fut<'_, UnitExit> {
        let mut exits = self.news.exit.subscribe();
        Box::pin(async move {
            match exits.wait_for(Option::is_some).await.map(|exit| exit.clone()) {
                Ok(Some(exit)) => exit,
                // This holds the sender, so it is not gone.
                _ => std::future::pending().await,
            }
        })
    }

    fn forks(&self) -> BTreeSet<u32> {
        forks(self.sandbox.group.as_ref(), &self.parts)
    }

    fn logs(&self, unit: &UnitId) -> LogTail {
        logs(self.units.iter().map(|watched| &watched.unit), unit)
    }

    fn units(&self) -> Vec<UnitId> {
        self.units.iter().map(|watched| watched.unit.id.clone()).collect()
    }

    fn stop(self: Box<Self>) -> Fut<'static, Result<ExitReport, StopError>> {
        Box::pin(async move {
            let Self { sandbox, units, .. } = *self;
            let mut stops = Vec::new();
            for Watched { unit, signal, process, keeper } in units.iter().rev() {
                let asked = Instant::now();
                // It is not started again any more.
                keeper.abort();
                let process = Arc::clone(&process.borrow());
                if let Some(signal) = signal {
                    process.signal(*signal);
                }
                let in_time = timeout(unit.grace, process.ended()).await;
                let end = match in_time {
                    Ok(end) => end,
                    Err(_) => {
                        process.signal(Signal::KILL);
                        timeout(END_TIME, process.ended()).await.unwrap_or(End::Untold)
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
