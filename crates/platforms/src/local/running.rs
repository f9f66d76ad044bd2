//! A deployment that runs, seen from Stampede: orders to the warden, news from it, and the run's end.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stampede_cgroup::Group;
use stampede_core::{
    AddressId, Deployment, Endpoint, EnforcedLimits, Fut, MeterSource, PartMeters, Places, Program, Restart, Terms,
    Unit, UnitExit, UnitId, UnitRestart, UnitStatus, with_causes,
};
use stampede_seam::{ExitReport, LaunchError, Located, LogTail, Moment, ReadBackError, Running, StopError, Vantage};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream as TokioUnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::message::{News, Order};
use crate::layout::folder::Folder;
use crate::log_tail;
use crate::output::collect;
use crate::runs::group;
use crate::runs::process_owner::ProcessOwner;
use crate::runs::run::END_TIME;
use crate::units::readiness::{NotReady, await_ready};
use crate::units::{
    CHECK_TIME, DEFAULT_PATH, PREPARATION_TIME, StartedUnit, command, located, logs, read_file, restarts,
    signal_number, statuses, tell,
};

/// The name under which the end of the warden is told.
const WARDEN: &str = "warden";

/// A run whose units can be started.
pub(crate) struct Prepared {
    pub(crate) owner: ProcessOwner,
    pub(crate) socket: UnixStream,
    /// The first order.
    pub(crate) begin: Order,
    pub(crate) folder: Folder,
    pub(crate) places: Places,
    pub(crate) endpoints: BTreeMap<AddressId, Endpoint>,
}

/// A deployment that runs under a warden.
pub(crate) struct LocalRunning {
    owner: ProcessOwner,
    warden: WardenLine,
    located: Located,
    statuses: Vec<UnitStatus>,
    listeners: Vec<(AddressId, Endpoint)>,
    parts: Vec<String>,
    units: Vec<StartedUnit>,
}

impl LocalRunning {
    /// Checks all configurations, then starts unit after unit as each becomes ready.
    pub(crate) async fn start(
        prepared: Prepared,
        deployment: &Deployment,
        terms: &Terms,
        ready_timeout: Duration,
        vantage: Arc<dyn Vantage>,
    ) -> Result<Self, LaunchError> {
        let Prepared { owner, socket, begin, folder, places, endpoints } = prepared;
        let statuses = statuses(deployment, &endpoints)?;
        let takes_work = |endpoint: &Endpoint| {
            !statuses.iter().any(|(_, status): &UnitStatus| status.takes_no_load() && status.address == *endpoint)
        };
        let listeners = endpoints.clone().into_iter().filter(|(_, endpoint)| takes_work(endpoint)).collect();
        let mut running = Self {
            owner,
            warden: WardenLine::new(socket, Arc::clone(&vantage))?,
            located: located(deployment, endpoints, places, vantage)?,
            listeners,
            statuses,
            parts: terms.parts.iter().map(|part| part.name.clone()).collect(),
            units: Vec::new(),
        };
        running.warden.send(&begin).await?;
        for program in deployment.preparation.iter().flat_map(|preparation| &preparation.programs) {
            let failed = |problem| LaunchError::Prepare(format!("warm the application up: {problem}"));
            running.run("preparation", program, None, PREPARATION_TIME, &folder).await?.map_err(failed)?;
        }
        for unit in &deployment.units {
            let Some(check) = &unit.check else { continue };
            let failed = |problem| LaunchError::Check { unit: unit.id.clone(), problem };
            let part = terms.part_of(&unit.id).map(|part| part.name.clone());
            let name = format!("{}.check", unit.id);
            running.run(&name, check, part, CHECK_TIME, &folder).await?.map_err(failed)?;
        }
        running.located.started = running.located.vantage.now();
        for unit in &deployment.units {
            running.start_unit(unit, terms, &folder).await?;
            await_ready(&running, &unit.ready, ready_timeout).await.map_err(|problem| match problem {
                NotReady::Ended(exit) if exit.unit.as_str() == WARDEN => LaunchError::Warden(exit.how),
                NotReady::Ended(exit) => running.start_error(&exit.unit, &format!("it ended with {}", exit.how)),
                NotReady::Late(problem) => running.start_error(&unit.id, &problem),
            })?;
        }
        Ok(running)
    }

    /// Runs a program to its end. The inner error says how it failed, with the end of its log.
    async fn run(
        &mut self,
        name: &str,
        program: &Program,
        part: Option<String>,
        limit: Duration,
        folder: &Folder,
    ) -> Result<Result<(), String>, LaunchError> {
        let log = folder.log(name);
        let command = command(program, folder, &self.located.places, log.clone())?;
        match self.warden.ask(&Order::Check { command, part, limit }).await? {
            News::Checked(done) => Ok(done.map_err(|problem| self.explain(&problem, &log_tail::read(&log)))),
            other => Err(unexpected(&other)),
        }
    }

    async fn start_unit(&mut self, unit: &Unit, terms: &Terms, folder: &Folder) -> Result<(), LaunchError> {
        self.units.push(StartedUnit::new(unit, folder)?);
        let part = terms.part_of(&unit.id);
        let order = Order::Start {
            unit: unit.id.clone(),
            command: command(&unit.program, folder, &self.located.places, folder.log(unit.id.as_str()))?,
            part: part.map(|part| part.name.clone()),
            restart: part.map_or(Restart::Never, |part| part.restart),
            signal: signal_number(unit.stop.signal),
            grace: unit.stop.grace,
        };
        match self.warden.ask(&order).await? {
            News::Started(Ok(())) => Ok(()),
            News::Started(Err(problem)) => Err(self.start_error(&unit.id, &problem)),
            other => Err(unexpected(&other)),
        }
    }

    fn start_error(&self, unit: &UnitId, problem: &str) -> LaunchError {
        LaunchError::Start { unit: unit.clone(), problem: self.explain(problem, &self.logs(unit).lines) }
    }

    fn explain(&self, problem: &str, log: &[String]) -> String {
        group::explain(self.group(), problem, log)
    }

    fn group(&self) -> Option<&Group> {
        self.owner.run().group.as_ref()
    }
}

impl Running for LocalRunning {
    fn located(&self) -> &Located {
        &self.located
    }

    fn meters(&self) -> Vec<MeterSource> {
        self.group().map(group::source).into_iter().collect()
    }

    fn part_meters(&self) -> Vec<PartMeters> {
        let meters = |part: &str| self.group().map(|group| group::source(&group.child(part))).into_iter().collect();
        self.parts.iter().map(|part| PartMeters { part: part.clone(), meters: meters(part) }).collect()
    }

    fn statuses(&self) -> &[UnitStatus] {
        &self.statuses
    }

    fn listeners(&self) -> &[(AddressId, Endpoint)] {
        &self.listeners
    }

    fn enforced(&self) -> Result<EnforcedLimits, ReadBackError> {
        group::enforced(self.group())
    }

    fn enforced_on(&self, part: &str) -> Result<EnforcedLimits, ReadBackError> {
        group::enforced(self.group().map(|group| group.child(part)).as_ref())
    }

    fn restarts(&self) -> Vec<UnitRestart> {
        restarts(&self.warden.restarts, self.located.started)
    }

    fn ask<'a>(&'a self, program: &'a Program, limit: Duration) -> Fut<'a, Result<String, String>> {
        Box::pin(async move {
            let resolve = |text: &String| self.resolve(text).map_err(|error| error.to_string());
            let mut command = tokio::process::Command::new(resolve(&program.path)?);
            for argument in &program.args {
                command.arg(resolve(argument)?);
            }
            command.env_clear().env("PATH", DEFAULT_PATH);
            for (name, value) in &program.env {
                command.env(name, resolve(value)?);
            }
            let said = collect(command, limit).await.map_err(|error| with_causes(&error))?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            if said.status.success() {
                // Warnings are no part of an answer.
                Ok(text(&said.stdout))
            } else {
                Err(format!("{}: {}", said.status, text(&said.all()).trim()))
            }
        })
    }

    fn read<'a>(&'a self, file: &'a str) -> Fut<'a, Result<Option<String>, String>> {
        Box::pin(async move { read_file(&self.located.places, file) })
    }

    fn exited(&self) -> Fut<'_, UnitExit> {
        let mut exits = self.warden.exits.clone();
        Box::pin(async move {
            let exit = exits.wait_for(Option::is_some).await;
            exit.ok().and_then(|exit| exit.clone()).unwrap_or_else(warden_gone)
        })
    }

    fn forks(&self) -> BTreeSet<u32> {
        group::forks(self.group(), &self.parts)
    }

    fn logs(&self, unit: &UnitId) -> LogTail {
        logs(&self.units, unit)
    }

    fn units(&self) -> Vec<UnitId> {
        self.units.iter().map(|unit| unit.id.clone()).collect()
    }

    fn stop(self: Box<Self>) -> Fut<'static, Result<ExitReport, StopError>> {
        Box::pin(async move {
            let Self { mut owner, mut warden, units, .. } = *self;
            // For each unit its grace and then the time to kill it, and at last the time to end the run.
            let graces: Duration = units.iter().map(|unit| unit.grace + END_TIME).sum();
            let answer = timeout(graces + END_TIME, warden.ask(&Order::Stop)).await;
            // Also when the warden has failed: then the run is ended here.
            let finished = tokio::task::spawn_blocking(move || owner.finish())
                .await
                .unwrap_or_else(|error| Err(with_causes(&error)));
            let answer = answer
                .unwrap_or_else(|_| Err(LaunchError::Warden("it did not answer in time and was killed".to_owned())));
            finished.map_err(StopError)?;
            match answer {
                // A problem that the warden had is over when this side could finish.
                Ok(News::Stopped { units, problem: _ }) => Ok(ExitReport { units }),
                Ok(other) => Err(StopError(unexpected(&other).to_string())),
                Err(error) => Err(StopError(error.to_string())),
            }
        })
    }
}

/// The socket to the warden. Dropping it ends the run.
#[derive(Debug)]
pub(crate) struct WardenLine {
    writer: OwnedWriteHalf,
    answers: mpsc::UnboundedReceiver<News>,
    exits: watch::Receiver<Option<UnitExit>>,
    restarts: Arc<Mutex<Vec<(Moment, UnitExit)>>>,
}

impl WardenLine {
    pub(crate) fn new(socket: UnixStream, vantage: Arc<dyn Vantage>) -> Result<Self, LaunchError> {
        let socket = socket
            .set_nonblocking(true)
            .and_then(|()| TokioUnixStream::from_std(socket))
            .map_err(|error| LaunchError::Warden(error.to_string()))?;
        let (reader, writer) = socket.into_split();
        let (answer, answers) = mpsc::unbounded_channel();
        let (exit, exits) = watch::channel(None);
        let restarts = Arc::default();
        tokio::spawn(listen(reader, answer, exit, Arc::clone(&restarts), vantage));
        Ok(Self { writer, answers, exits, restarts })
    }

    pub(crate) async fn send(&mut self, order: &Order) -> Result<(), LaunchError> {
        let mut line = serde_json::to_vec(order).map_err(|error| LaunchError::Warden(error.to_string()))?;
        line.push(b'\n');
        let sent = self.writer.write_all(&line).await;
        sent.map_err(|error| LaunchError::Warden(error.to_string()))
    }

    pub(crate) async fn ask(&mut self, order: &Order) -> Result<News, LaunchError> {
        self.send(order).await?;
        let answer = self.answers.recv().await;
        answer.ok_or_else(|| LaunchError::Warden(warden_gone().how))
    }
}

/// Hands the warden's news on until the socket is closed.
async fn listen(
    reader: OwnedReadHalf,
    answer: mpsc::UnboundedSender<News>,
    exit: watch::Sender<Option<UnitExit>>,
    restarts: Arc<Mutex<Vec<(Moment, UnitExit)>>>,
    vantage: Arc<dyn Vantage>,
) {
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line) {
            Ok(News::Exited(ended)) => tell(&exit, ended),
            Ok(News::Restarted(ended)) => {
                let mut restarts = restarts.lock().unwrap_or_else(PoisonError::into_inner);
                restarts.push((vantage.now(), ended));
            }
            // Nobody waits for an answer any more when the receiver is gone.
            Ok(news) => drop(answer.send(news)),
            Err(_) => break,
        }
    }
    tell(&exit, warden_gone());
}

fn warden_gone() -> UnitExit {
    UnitExit { unit: UnitId::new(WARDEN), how: "it is gone".to_owned() }
}

fn unexpected(news: &News) -> LaunchError {
    LaunchError::Warden(format!("an answer to something else came: {news:?}"))
}
