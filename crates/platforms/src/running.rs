//! A deployment that runs, seen from Stampede: orders to the warden, news from it, and the run's end.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stampede_cgroup::{Bound, Group, V1Folders};
use stampede_core::{
    AddressId, Bytes, Cpus, Deployment, Endpoint, EnforcedLimits, ExitReport, Fut, LaunchError, Limit, LogTail,
    MeterSource, PartMeters, Places, Program, ReadBackError, Ready, Restart, Running, StatusSource, StopError,
    StopSignal, Terms, Unit, UnitExit, UnitId, UnitRestart, UnitStatus, UnknownPlace, with_causes,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpStream, UnixStream as TokioUnixStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::custody::Custody;
use crate::folder::Folder;
use crate::log_tail::{self, with_log};
use crate::message::{Command, News, Order};
use crate::output::collect;
use crate::process_table;
use crate::run::END_TIME;

/// How long a program's check of its configuration may take.
pub(crate) const CHECK_TIME: Duration = Duration::from_secs(10);

/// How long the preparation of an application may take: a container is compiled in seconds, ten times longer on a tenth
/// of a processor.
pub(crate) const PREPARATION_TIME: Duration = Duration::from_secs(120);
/// How long a program that is run beside a deployment may take.
pub(crate) const ASK_TIME: Duration = Duration::from_secs(10);

/// The search path of units that are given none.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The name under which the end of the warden is told.
const WARDEN: &str = "warden";

/// A run whose units can be started.
pub(crate) struct Prepared {
    pub(crate) custody: Custody,
    pub(crate) socket: UnixStream,
    /// The first order.
    pub(crate) begin: Order,
    pub(crate) folder: Folder,
    pub(crate) places: Places,
    pub(crate) endpoints: BTreeMap<AddressId, Endpoint>,
}

/// A deployment that runs under a warden.
pub(crate) struct LocalRunning {
    custody: Custody,
    warden: WardenLine,
    front: Endpoint,
    statuses: Vec<UnitStatus>,
    listeners: Vec<(AddressId, Endpoint)>,
    endpoints: BTreeMap<AddressId, Endpoint>,
    parts: Vec<String>,
    units: Vec<StartedUnit>,
    places: Places,
    started: std::time::Instant,
}

struct StartedUnit {
    id: UnitId,
    logs: Vec<PathBuf>,
    grace: Duration,
}

impl LocalRunning {
    /// Checks all configurations, then starts unit after unit as each becomes ready.
    pub(crate) async fn start(
        prepared: Prepared,
        deployment: &Deployment,
        terms: &Terms,
        ready_timeout: Duration,
    ) -> Result<Self, LaunchError> {
        let Prepared { custody, socket, begin, folder, places, endpoints } = prepared;
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
        let takes_work =
            |endpoint: &Endpoint| !statuses.iter().any(|(_, status): &UnitStatus| status.address == *endpoint);
        let listeners = endpoints.clone().into_iter().filter(|(_, endpoint)| takes_work(endpoint)).collect();
        let mut running = Self {
            custody,
            warden: WardenLine::new(socket)?,
            front: endpoint(&deployment.front)?,
            listeners,
            statuses,
            endpoints: endpoints.clone(),
            parts: terms.parts.iter().map(|part| part.name.clone()).collect(),
            units: Vec::new(),
            places: places.clone(),
            started: std::time::Instant::now(),
        };
        running.warden.send(&begin).await?;
        for program in deployment.preparation.iter().flat_map(|preparation| &preparation.programs) {
            running.prepare_app(program, &folder).await?;
        }
        for unit in &deployment.units {
            running.check(unit, terms, &folder).await?;
        }
        running.started = std::time::Instant::now();
        for unit in &deployment.units {
            running.start_unit(unit, terms, &folder).await?;
            match &unit.ready {
                Ready::Port(id) => {
                    let awaited = Awaited::Port(endpoint(id)?);
                    running.await_ready(&unit.id, &awaited, ready_timeout).await?;
                }
                Ready::Program(program) => {
                    running.await_ready(&unit.id, &Awaited::Program(program), ready_timeout).await?;
                }
                Ready::Request => {}
            }
        }
        Ok(running)
    }

    async fn prepare_app(&mut self, program: &Program, folder: &Folder) -> Result<(), LaunchError> {
        let log = folder.log("preparation");
        let command = command(program, folder, &self.places, log.clone())?;
        let order = Order::Check { command, part: None, limit: PREPARATION_TIME };
        match self.warden.ask(&order).await? {
            News::Checked(Ok(())) => Ok(()),
            News::Checked(Err(problem)) => Err(LaunchError::Prepare(format!(
                "warm the application up: {}",
                self.explain(&problem, &log_tail::read(&log))
            ))),
            other => Err(unexpected(&other)),
        }
    }

    async fn check(&mut self, unit: &Unit, terms: &Terms, folder: &Folder) -> Result<(), LaunchError> {
        let Some(check) = &unit.check else {
            return Ok(());
        };
        let log = folder.log(&format!("{}.check", unit.id));
        let part = terms.part_of(&unit.id).map(|part| part.name.clone());
        let command = command(check, folder, &self.places, log.clone())?;
        let order = Order::Check { command, part, limit: CHECK_TIME };
        match self.warden.ask(&order).await? {
            News::Checked(Ok(())) => Ok(()),
            News::Checked(Err(problem)) => Err(LaunchError::Check {
                unit: unit.id.clone(),
                problem: self.explain(&problem, &log_tail::read(&log)),
            }),
            other => Err(unexpected(&other)),
        }
    }

    async fn start_unit(&mut self, unit: &Unit, terms: &Terms, folder: &Folder) -> Result<(), LaunchError> {
        let log = folder.log(unit.id.as_str());
        let mut logs = vec![log.clone()];
        for path in &unit.logs {
            let inside = folder.inside(path);
            logs.push(inside.map_err(|error| LaunchError::Prepare(error.to_string()))?);
        }
        self.units.push(StartedUnit { id: unit.id.clone(), logs, grace: unit.stop.grace });
        let part = terms.part_of(&unit.id);
        let order = Order::Start {
            unit: unit.id.clone(),
            command: command(&unit.program, folder, &self.places, log)?,
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

    /// Waits until a unit is ready, or one ends.
    async fn await_ready(&self, unit: &UnitId, awaited: &Awaited<'_>, limit: Duration) -> Result<(), LaunchError> {
        const PAUSE: Duration = Duration::from_millis(10);
        let deadline = Instant::now() + limit;
        let mut exited = self.exited();
        loop {
            let state = tokio::select! {
                exit = &mut exited => {
                    return Err(match exit.unit.as_str() {
                        WARDEN => LaunchError::Warden(exit.how),
                        _ => self.start_error(&exit.unit, &format!("it ended with {}", exit.how)),
                    });
                }
                tried = self.try_ready(awaited) => match tried {
                    Ok(()) => return Ok(()),
                    Err(state) => state,
                },
            };
            if Instant::now() >= deadline {
                let problem = match awaited {
                    Awaited::Port(endpoint) => format!("nothing listens on {endpoint} after {limit:?} ({state})"),
                    Awaited::Program(_) => format!("it is not ready after {limit:?} ({state})"),
                };
                return Err(self.start_error(unit, &problem));
            }
            sleep(PAUSE).await;
        }
    }

    async fn try_ready(&self, awaited: &Awaited<'_>) -> Result<(), String> {
        const CONNECT_TIME: Duration = Duration::from_secs(1);
        match awaited {
            Awaited::Port(endpoint) => match timeout(CONNECT_TIME, connect(endpoint)).await {
                Ok(connected) => connected.map_err(|error| error.to_string()),
                Err(_) => Err("connecting takes too long".to_owned()),
            },
            Awaited::Program(program) => self.ask(program).await.map(drop),
        }
    }

    fn start_error(&self, unit: &UnitId, problem: &str) -> LaunchError {
        LaunchError::Start { unit: unit.clone(), problem: self.explain(problem, &self.logs(unit).lines) }
    }

    fn explain(&self, problem: &str, log: &[String]) -> String {
        explain(self.group(), problem, log)
    }

    fn group(&self) -> Option<&Group> {
        self.custody.run().group.as_ref()
    }
}

/// What shows that a unit is ready.
enum Awaited<'a> {
    Port(Endpoint),
    Program(&'a Program),
}

impl Running for LocalRunning {
    fn front(&self) -> &Endpoint {
        &self.front
    }

    fn resolve(&self, text: &str) -> Result<String, UnknownPlace> {
        self.places.resolve(text)
    }

    fn endpoint(&self, address: &AddressId) -> Option<&Endpoint> {
        self.endpoints.get(address)
    }

    fn started(&self) -> std::time::Instant {
        self.started
    }

    fn meters(&self) -> Vec<MeterSource> {
        self.group().map(source).into_iter().collect()
    }

    fn part_meters(&self) -> Vec<PartMeters> {
        let meters = |part: &str| self.group().map(|group| source(&group.child(part))).into_iter().collect();
        self.parts.iter().map(|part| PartMeters { part: part.clone(), meters: meters(part) }).collect()
    }

    fn statuses(&self) -> &[UnitStatus] {
        &self.statuses
    }

    fn listeners(&self) -> &[(AddressId, Endpoint)] {
        &self.listeners
    }

    fn enforced(&self) -> Result<EnforcedLimits, ReadBackError> {
        enforced(self.group())
    }

    fn enforced_on(&self, part: &str) -> Result<EnforcedLimits, ReadBackError> {
        enforced(self.group().map(|group| group.child(part)).as_ref())
    }

    fn restarts(&self) -> Vec<UnitRestart> {
        let restarts = self.warden.restarts.lock().unwrap_or_else(PoisonError::into_inner);
        let after = |at: std::time::Instant| at.saturating_duration_since(self.started);
        restarts
            .iter()
            .map(|(at, UnitExit { unit, how })| UnitRestart { unit: unit.clone(), how: how.clone(), after: after(*at) })
            .collect()
    }

    fn ask<'a>(&'a self, program: &'a Program) -> Fut<'a, Result<String, String>> {
        Box::pin(async move {
            let resolve = |text: &String| self.places.resolve(text).map_err(|error| error.to_string());
            let mut command = tokio::process::Command::new(resolve(&program.path)?);
            for argument in &program.args {
                command.arg(resolve(argument)?);
            }
            command.env_clear().env("PATH", DEFAULT_PATH);
            for (name, value) in &program.env {
                command.env(name, resolve(value)?);
            }
            let said = collect(command, ASK_TIME).await.map_err(|error| with_causes(&error))?;
            let text = String::from_utf8_lossy(&said.bytes).into_owned();
            if said.status.success() { Ok(text) } else { Err(format!("{}: {}", said.status, text.trim())) }
        })
    }

    fn exited(&self) -> Fut<'_, UnitExit> {
        let mut exits = self.warden.exits.clone();
        Box::pin(async move {
            let exit = exits.wait_for(Option::is_some).await;
            exit.ok().and_then(|exit| exit.clone()).unwrap_or_else(warden_gone)
        })
    }

    fn forks(&self) -> BTreeSet<u32> {
        let members = self.group().and_then(|group| group.processes().ok()).unwrap_or_default();
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
            let Self { mut custody, mut warden, units, .. } = *self;
            // For each unit its grace and then the time to kill it, and at last the time to end the run.
            let graces: Duration = units.iter().map(|unit| unit.grace + END_TIME).sum();
            let answer = timeout(graces + END_TIME, warden.ask(&Order::Stop)).await;
            // Also when the warden has failed: then the run is ended here.
            let finished = tokio::task::spawn_blocking(move || custody.finish())
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
    restarts: Arc<Mutex<Vec<(std::time::Instant, UnitExit)>>>,
}

impl WardenLine {
    pub(crate) fn new(socket: UnixStream) -> Result<Self, LaunchError> {
        let socket = socket
            .set_nonblocking(true)
            .and_then(|()| TokioUnixStream::from_std(socket))
            .map_err(|error| LaunchError::Warden(error.to_string()))?;
        let (reader, writer) = socket.into_split();
        let (answer, answers) = mpsc::unbounded_channel();
        let (exit, exits) = watch::channel(None);
        let restarts = Arc::default();
        tokio::spawn(listen(reader, answer, exit, Arc::clone(&restarts)));
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
    restarts: Arc<Mutex<Vec<(std::time::Instant, UnitExit)>>>,
) {
    // The first end is the one that matters; others often follow from it.
    let tell = |ended: UnitExit| {
        exit.send_if_modified(|known| {
            let first = known.is_none();
            known.get_or_insert(ended);
            first
        });
    };
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line) {
            Ok(News::Exited(ended)) => tell(ended),
            Ok(News::Restarted(ended)) => {
                let mut restarts = restarts.lock().unwrap_or_else(PoisonError::into_inner);
                restarts.push((std::time::Instant::now(), ended));
            }
            // Nobody waits for an answer any more when the receiver is gone.
            Ok(news) => drop(answer.send(news)),
            Err(_) => break,
        }
    }
    tell(warden_gone());
}

fn warden_gone() -> UnitExit {
    UnitExit { unit: UnitId::new(WARDEN), how: "it is gone".to_owned() }
}

fn unexpected(news: &News) -> LaunchError {
    LaunchError::Warden(format!("an answer to something else came: {news:?}"))
}

pub(crate) async fn connect(endpoint: &Endpoint) -> std::io::Result<()> {
    match endpoint {
        Endpoint::Tcp(address) => TcpStream::connect(address).await.map(drop),
        Endpoint::Unix(path) => TokioUnixStream::connect(path).await.map(drop),
    }
}

/// A problem with what explains it: processes killed for memory, and the end of the log.
pub(crate) fn explain(group: Option<&Group>, problem: &str, log: &[String]) -> String {
    let counters = group.and_then(|group| group.read_counters().ok());
    match counters.map_or(0, |counters| counters.oom_kills) {
        0 => with_log(problem, log),
        kills => {
            let limit = match enforced(group).map(|enforced| enforced.memory) {
                Ok(Limit::AtMost(bytes)) => format!(" of {bytes}"),
                _ => String::new(),
            };
            with_log(&format!("{problem}; processes killed at the memory limit{limit}: {kills}"), log)
        }
    }
}

pub(crate) fn source(group: &Group) -> MeterSource {
    match group.clone() {
        Group::V1(V1Folders { cpu, cpuacct, memory, cpuset: _, freezer: _, tracking: _ }) => {
            MeterSource::CgroupV1 { cpu, cpuacct, memory }
        }
        Group::V2 { dir } => MeterSource::CgroupV2 { dir },
    }
}

/// What the kernel holds a group to; nothing where there is none.
pub(crate) fn enforced(group: Option<&Group>) -> Result<EnforcedLimits, ReadBackError> {
    let Some(group) = group else {
        return Ok(EnforcedLimits { cpus: Limit::Unlimited, period: Duration::ZERO, memory: Limit::Unlimited });
    };
    let in_force = group.read_limits().map_err(|error| ReadBackError(with_causes(&error)))?;
    let (cpus, period) = match in_force.cpu {
        Bound::Unlimited => (Limit::Unlimited, Duration::ZERO),
        Bound::AtMost(quota) => {
            let cores = quota.runtime.as_secs_f64() / quota.period.as_secs_f64();
            let cpus = Cpus::from_millis((cores * 1000.0).round() as u32);
            (Limit::AtMost(cpus), quota.period)
        }
    };
    let memory = match in_force.memory {
        Bound::Unlimited => Limit::Unlimited,
        Bound::AtMost(bytes) => Limit::AtMost(Bytes::new(bytes)),
    };
    Ok(EnforcedLimits { cpus, period, memory })
}

/// Fills in the places of a program.
pub(crate) fn command(
    program: &Program,
    folder: &Folder,
    places: &Places,
    log: PathBuf,
) -> Result<Command, LaunchError> {
    let resolve = |text: &String| {
        places.resolve(text).map_err(|error| LaunchError::Prepare(format!("{}: {error}", program.path)))
    };
    let args = program.args.iter().map(resolve);
    let env = program.env.iter().map(|(name, value)| Ok((name.clone(), resolve(value)?)));
    let mut env = env.collect::<Result<BTreeMap<_, _>, LaunchError>>()?;
    env.entry("PATH".to_owned()).or_insert_with(|| DEFAULT_PATH.to_owned());
    Ok(Command {
        path: resolve(&program.path)?,
        args: args.collect::<Result<_, _>>()?,
        env,
        dir: folder.path().to_owned(),
        log,
    })
}

pub(crate) fn signal_number(signal: StopSignal) -> i32 {
    match signal {
        StopSignal::Term => libc::SIGTERM,
        StopSignal::Quit => libc::SIGQUIT,
        StopSignal::Int => libc::SIGINT,
        StopSignal::Winch => libc::SIGWINCH,
        StopSignal::Usr1 => libc::SIGUSR1,
    }
}
