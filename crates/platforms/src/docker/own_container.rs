//! A container of an image that serves by itself: how it is looked at, run and ended.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bollard::query_parameters::StopContainerOptions;
use rustix::process::Pid;
use stampede_cgroup::Group;
use stampede_core::{
    AddressId, Deployment, Endpoint, EnforcedLimits, Fut, MeterSource, Places, Program, UnitExit, UnitId, UnitStop,
    with_causes,
};
use stampede_seam::{ExitReport, LaunchError, Located, LogTail, Moment, ReadBackError, Running, StopError, Vantage};
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::container_end::{end_of, ended, log};
use super::engine::{Engine, block_on};
use super::error::DockerError;
use super::inside;
use super::own_run::{Member, OwnRun};
use super::port::{Spoken, ask, best, why_none};
use super::sockets::listening;
use crate::log_tail::with_log;
use crate::runs::group::{enforced, forks, source};
use crate::units::end::End;
use crate::units::readiness::{NotReady, await_ready};
use crate::units::{located, read_file, tell};

/// How long the engine may take to notice what the kernel says already.
const NOTICE_TIME: Duration = Duration::from_secs(5);

const PAUSE: Duration = Duration::from_millis(20);

/// How long other ports are waited for, where what answers is no page.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// How long a port may take to its first answer until others are asked.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// Where containers take the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entrance {
    /// The number of the container, among those under test.
    pub(super) member: usize,
    pub(super) port: u16,
    /// Whether it speaks FastCGI, so that a web server goes before it.
    pub(super) is_fast_cgi: bool,
}

/// Finds where containers take the load, as soon as one answers.
///
/// # Errors
///
/// That none does, and why.
pub(super) async fn find_entrance(run: &OwnRun, vantage: &dyn Vantage, limit: Duration) -> Result<Entrance, String> {
    let begun = Instant::now();
    let mut known: Vec<BTreeMap<u16, Spoken>> = vec![BTreeMap::new(); run.members.len()];
    let (mut first_socket, mut first_answer) = (None, None);
    loop {
        for (member, known) in run.members.iter().zip(&mut known) {
            let docker = &member.inside.engine.docker;
            if let Some(DockerError::Ended(how)) = ended(docker, &member.inside.container).await {
                return Err(of(member, &format!("it ended with {how}")));
            }
            let sockets = listening(member.first);
            if !sockets.is_empty() {
                first_socket.get_or_insert_with(Instant::now);
            }
            let address = member.address.ok_or("the container has no address")?;
            ask(known, &sockets, address, vantage, ANSWER_TIME.min(limit)).await;
        }
        let answering = run.members.iter().zip(&known).enumerate().filter_map(|(member, (of, known))| {
            let port = best(known, &of.ports)?;
            let is_page = matches!(known.get(&port), Some(Spoken::Http(200..=399)));
            Some((!is_page, member, port))
        });
        if let Some((is_no_page, member, port)) = answering.min() {
            let since = first_answer.get_or_insert_with(Instant::now).elapsed();
            if !is_no_page || since >= SETTLE_TIME {
                return Ok(Entrance { member, port, is_fast_cgi: false });
            }
        }
        // What listens on another address, or speaks FastCGI, stays so. A web server beside it may take a while.
        let is_settled =
            known.iter().flat_map(BTreeMap::values).any(|spoken| matches!(spoken, Spoken::FastCgi | Spoken::Private));
        let since = first_socket.map_or(Duration::ZERO, |first: Instant| first.elapsed());
        let patience = if run.members.len() > 1 { ANSWER_TIME } else { SETTLE_TIME };
        let fast_cgi = known.iter().enumerate().find_map(|(member, known)| {
            let port = known.iter().find_map(|(port, spoken)| (*spoken == Spoken::FastCgi).then_some(*port))?;
            Some(Entrance { member, port, is_fast_cgi: true })
        });
        if let Some(entrance) = fast_cgi.filter(|_| first_answer.is_none() && since >= patience) {
            return Ok(entrance);
        }
        if begun.elapsed() >= limit || (is_settled && first_answer.is_none() && since >= ANSWER_TIME) {
            let (member, known) = match run.members.iter().zip(&known).find(|(_, known)| !known.is_empty()) {
                Some(found) => found,
                None => run.members.iter().zip(&known).next().ok_or("there is no container")?,
            };
            let log = log(&member.inside.engine.docker, &member.inside.container).await;
            return Err(of(member, &with_log(&why_none(known), &log.lines)));
        }
        sleep(PAUSE).await;
    }
}

/// A problem with the container that it is of, where there are several.
fn of(member: &Member, problem: &str) -> String {
    if member.name.is_empty() { problem.to_owned() } else { format!("{}: {problem}", member.name) }
}

/// Containers that serve.
pub(super) struct OwnRunning {
    // They go when this is dropped.
    run: Option<OwnRun>,
    /// The inside of each, with its name.
    all: Vec<(String, inside::Inside)>,
    group: Option<Group>,
    located: Located,
    unit: UnitId,
    grace: Duration,
    exit: watch::Sender<Option<UnitExit>>,
    keepers: Vec<JoinHandle<()>>,
}

impl Drop for OwnRunning {
    fn drop(&mut self) {
        self.keepers.iter().for_each(JoinHandle::abort);
    }
}

impl fmt::Debug for OwnRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnRunning").field("all", &self.all).field("front", &self.located.front).finish_non_exhaustive()
    }
}

impl OwnRunning {
    /// Waits until the containers listen at their front.
    pub(super) async fn start(
        run: OwnRun,
        deployment: &Deployment,
        (places, endpoints): (Places, BTreeMap<AddressId, Endpoint>),
        ready_timeout: Duration,
        vantage: Arc<dyn Vantage>,
    ) -> Result<Self, LaunchError> {
        let none = || LaunchError::Prepare("the deployment has no unit".to_owned());
        let unit = deployment.units.first().ok_or_else(none)?;
        let failed = |problem: String| LaunchError::Start { unit: unit.id.clone(), problem };
        let exit = watch::Sender::new(None);
        let started = Moment::new(vantage.now().since_start().saturating_sub(run.started.elapsed()));
        let (id, grace) = (unit.id.clone(), unit.stop.grace);
        let all = run.members.iter().map(|member| (member.name.clone(), member.inside.clone())).collect();
        let mut running = Self {
            all,
            group: run.group.clone(),
            located: Located { started, ..located(deployment, endpoints, places, vantage)? },
            unit: id,
            grace,
            exit,
            keepers: Vec::new(),
            run: None,
        };
        for member in &run.members {
            let pid = Pid::from_raw(member.first.cast_signed());
            let watched = pid.map(inside::watch).transpose().map_err(|error| failed(with_causes(&error)))?.flatten();
            let kept = keep(member.inside.clone(), watched, member.name.clone(), unit.id.clone(), running.exit.clone());
            running.keepers.push(tokio::spawn(kept));
        }
        running.run = Some(run);
        await_ready(&running, &unit.ready, ready_timeout).await.map_err(|problem| {
            let problem = match problem {
                NotReady::Ended(exit) => format!("it ended with {}", exit.how),
                NotReady::Late(problem) => problem,
            };
            failed(with_log(&problem, &running.logs(&unit.id).lines))
        })?;
        Ok(running)
    }
}

/// Tells when a container ends.
async fn keep(
    inside: inside::Inside,
    watched: Option<AsyncFd<OwnedFd>>,
    name: String,
    unit: UnitId,
    exit: watch::Sender<Option<UnitExit>>,
) {
    if let Some(fd) = &watched {
        // It fails when the runtime ends, and nobody listens any more.
        let _ = fd.readable().await;
    }
    let deadline = Instant::now() + NOTICE_TIME;
    let how = loop {
        match end_of(&inside.engine.docker, &inside.container).await {
            Ok(Some(how)) => break how,
            Ok(None) if Instant::now() < deadline => sleep(PAUSE).await,
            Ok(None) => break End::Untold.to_string(),
            Err(error) => break format!("{}, and the engine does not tell: {}", End::Untold, with_causes(&error)),
        }
    };
    let how = if name.is_empty() { how } else { format!("{how} ({name})") };
    tell(&exit, UnitExit { unit, how });
}

impl Running for OwnRunning {
    fn located(&self) -> &Located {
        &self.located
    }

    fn meters(&self) -> Vec<MeterSource> {
        self.group.iter().map(source).collect()
    }

    fn enforced(&self) -> Result<EnforcedLimits, ReadBackError> {
        enforced(self.group.as_ref())
    }

    fn enforced_on(&self, part: &str) -> Result<EnforcedLimits, ReadBackError> {
        Err(ReadBackError(format!("an image has no part {part}")))
    }

    /// Its image need not have any program beside its own.
    fn ask<'a>(&'a self, program: &'a Program, _limit: Duration) -> Fut<'a, Result<String, String>> {
        let path = program.path.clone();
        Box::pin(async move { Err(format!("run {path}: nothing is run beside an image that serves by itself")) })
    }

    fn read<'a>(&'a self, file: &'a str) -> Fut<'a, Result<Option<String>, String>> {
        Box::pin(async move { read_file(&self.located.places, file) })
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
        forks(self.group.as_ref(), &[])
    }

    fn logs(&self, _unit: &UnitId) -> LogTail {
        let is_alone = self.all.len() == 1;
        let mut lines = Vec::new();
        for (name, inside) in &self.all {
            // On a connection of its own: that of this thread's work cannot go on meanwhile.
            let read = block_on(async {
                let engine = Engine::connect(&inside.engine.socket).await?;
                Ok(log(&engine.docker, &inside.container).await)
            });
            let read = read.unwrap_or_default();
            if is_alone {
                return read;
            }
            lines.extend(read.lines.into_iter().map(|line| format!("{name}: {line}")));
        }
        LogTail::of(lines.iter().map(String::as_str))
    }

    fn units(&self) -> Vec<UnitId> {
        vec![self.unit.clone()]
    }

    fn stop(mut self: Box<Self>) -> Fut<'static, Result<ExitReport, StopError>> {
        Box::pin(async move {
            self.keepers.iter().for_each(JoinHandle::abort);
            let mut units = Vec::new();
            // What answers stops before what it asks.
            for (name, inside) in self.all.iter().rev() {
                let (docker, container) = (&inside.engine.docker, &inside.container);
                let asked = Instant::now();
                let grace = i32::try_from(self.grace.as_secs()).unwrap_or(i32::MAX);
                // By the image's own signal. What has ended, or is not reached any more, is told below.
                let options = StopContainerOptions { signal: None, t: Some(grace) };
                let _ = docker.stop_container(container, Some(options)).await;
                let took = asked.elapsed();
                let end = end_of(docker, container).await.ok().flatten();
                let killed = took >= self.grace;
                let how = end.unwrap_or_else(|| End::Untold.to_string());
                let unit = if name.is_empty() { self.unit.clone() } else { UnitId::new(name.clone()) };
                units.push(UnitStop { unit, took, killed, how });
            }
            units.reverse();
            if let Some(run) = self.run.take() {
                run.close().await.map_err(StopError)?;
            }
            Ok(ExitReport { units })
        })
    }
}
