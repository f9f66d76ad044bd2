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
    AddressId, Deployment, Endpoint, EnforcedLimits, Fut, MeterSource, PartMeters, Places, Program, UnitExit, UnitId,
    UnitRestart, UnitStatus, UnitStop, UnknownPlace, with_causes,
};
use stampede_seam::{ExitReport, LaunchError, LogTail, Moment, ReadBackError, Running, StopError, Vantage};
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::container_end::{end_of, ended, log};
use super::engine::{Engine, block_on};
use super::error::DockerError;
use super::inside;
use super::port::{Spoken, ask, best, why_none};
use super::sandbox::Sandbox;
use super::sockets::listening;
use crate::log_tail::with_log;
use crate::runs::group::{enforced, forks, source};
use crate::units::end::End;
use crate::units::readiness::{NotReady, await_ready};
use crate::units::{endpoint, read_file, tell};

/// How long the engine may take to notice what the kernel says already.
const NOTICE_TIME: Duration = Duration::from_secs(5);

const PAUSE: Duration = Duration::from_millis(20);

/// How long other ports are waited for, where what answers is no page.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// How long a port may take to its first answer until others are asked.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// Finds the port on which a container takes the load, as soon as one answers.
///
/// # Errors
///
/// That none does, and why.
pub(super) async fn find_port(
    sandbox: &Sandbox,
    exposed: &[u16],
    vantage: &dyn Vantage,
    limit: Duration,
) -> Result<u16, String> {
    let (docker, container) = (&sandbox.inside.engine.docker, &sandbox.inside.container);
    let address = sandbox.address.ok_or("the container has no address")?;
    let begun = Instant::now();
    let mut known: BTreeMap<u16, Spoken> = BTreeMap::new();
    let (mut first_socket, mut first_answer) = (None, None);
    loop {
        if let Some(DockerError::Ended(how)) = ended(docker, container).await {
            return Err(format!("it ended with {how}"));
        }
        let sockets = listening(sandbox.first);
        if !sockets.is_empty() {
            first_socket.get_or_insert_with(Instant::now);
        }
        ask(&mut known, &sockets, address, vantage, ANSWER_TIME.min(limit)).await;
        if let Some(port) = best(&known, exposed) {
            let is_page = matches!(known.get(&port), Some(Spoken::Http(200..=399)));
            let since = first_answer.get_or_insert_with(Instant::now).elapsed();
            if is_page || since >= SETTLE_TIME {
                return Ok(port);
            }
        }
        // What listens on another address, or speaks FastCGI, stays so.
        let is_settled = known.values().any(|spoken| matches!(spoken, Spoken::FastCgi | Spoken::Private));
        let since = first_socket.map_or(Duration::ZERO, |first: Instant| first.elapsed());
        if begun.elapsed() >= limit || (is_settled && first_answer.is_none() && since >= ANSWER_TIME) {
            return Err(with_log(&why_none(&known), &log(docker, container).await.lines));
        }
        sleep(PAUSE).await;
    }
}

/// A container that serves.
pub(super) struct OwnRunning {
    // It goes when this is dropped.
    sandbox: Option<Sandbox>,
    inside: inside::Inside,
    group: Group,
    places: Places,
    front: Endpoint,
    endpoints: BTreeMap<AddressId, Endpoint>,
    unit: UnitId,
    grace: Duration,
    exit: watch::Sender<Option<UnitExit>>,
    keeper: JoinHandle<()>,
    vantage: Arc<dyn Vantage>,
    started: Moment,
}

impl Drop for OwnRunning {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl fmt::Debug for OwnRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnRunning").field("inside", &self.inside).field("front", &self.front).finish_non_exhaustive()
    }
}

impl OwnRunning {
    /// Waits until the container listens at its front.
    pub(super) async fn start(
        sandbox: Sandbox,
        deployment: &Deployment,
        (places, endpoints): (Places, BTreeMap<AddressId, Endpoint>),
        ready_timeout: Duration,
        vantage: Arc<dyn Vantage>,
    ) -> Result<Self, LaunchError> {
        let none = || LaunchError::Prepare("the deployment has no unit".to_owned());
        let unit = deployment.units.first().ok_or_else(none)?;
        let failed = |problem: String| LaunchError::Start { unit: unit.id.clone(), problem };
        let pid = Pid::from_raw(sandbox.first.cast_signed());
        let watched = pid.map(inside::watch).transpose().map_err(|error| failed(with_causes(&error)))?.flatten();
        let exit = watch::Sender::new(None);
        let keeper = tokio::spawn(keep(sandbox.inside.clone(), watched, unit.id.clone(), exit.clone()));
        let started = Moment::new(vantage.now().since_start().saturating_sub(sandbox.started.elapsed()));
        let front = endpoint(&endpoints, &deployment.front)?;
        let (id, grace) = (unit.id.clone(), unit.stop.grace);
        let (inside, group) = (sandbox.inside.clone(), sandbox.group.clone());
        let sandbox = Some(sandbox);
        let running =
            Self { sandbox, inside, group, places, front, endpoints, unit: id, grace, exit, keeper, vantage, started };
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
    tell(&exit, UnitExit { unit, how });
}

impl Running for OwnRunning {
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
        vec![source(&self.group)]
    }

    fn part_meters(&self) -> Vec<PartMeters> {
        Vec::new()
    }

    /// Nothing is known of what it runs.
    fn statuses(&self) -> &[UnitStatus] {
        &[]
    }

    /// None: the kernel tells of listening sockets in one's own network namespace only.
    fn listeners(&self) -> &[(AddressId, Endpoint)] {
        &[]
    }

    fn enforced(&self) -> Result<EnforcedLimits, ReadBackError> {
        enforced(Some(&self.group))
    }

    fn enforced_on(&self, part: &str) -> Result<EnforcedLimits, ReadBackError> {
        Err(ReadBackError(format!("an image has no part {part}")))
    }

    fn restarts(&self) -> Vec<UnitRestart> {
        Vec::new()
    }

    /// Its image need not have any program beside its own.
    fn ask<'a>(&'a self, program: &'a Program) -> Fut<'a, Result<String, String>> {
        let path = program.path.clone();
        Box::pin(async move { Err(format!("run {path}: nothing is run beside an image that serves by itself")) })
    }

    fn read<'a>(&'a self, file: &'a str) -> Fut<'a, Result<Option<String>, String>> {
        Box::pin(async move { read_file(&self.places, file) })
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
        forks(Some(&self.group))
    }

    fn logs(&self, _unit: &UnitId) -> LogTail {
        let inside = &self.inside;
        // On a connection of its own: that of this thread's work cannot go on meanwhile.
        let read = block_on(async {
            let engine = Engine::connect(&inside.engine.socket).await?;
            Ok(log(&engine.docker, &inside.container).await)
        });
        read.unwrap_or_default()
    }

    fn units(&self) -> Vec<UnitId> {
        vec![self.unit.clone()]
    }

    fn stop(mut self: Box<Self>) -> Fut<'static, Result<ExitReport, StopError>> {
        Box::pin(async move {
            self.keeper.abort();
            let inside = self.inside.clone();
            let (docker, container) = (&inside.engine.docker, &inside.container);
            let asked = Instant::now();
            let grace = i32::try_from(self.grace.as_secs()).unwrap_or(i32::MAX);
            // By the image's own signal. What has ended, or is not reached any more, is told below.
            let _ = docker.stop_container(container, Some(StopContainerOptions { signal: None, t: Some(grace) })).await;
            let took = asked.elapsed();
            let end = end_of(docker, container).await.ok().flatten();
            let killed = took >= self.grace;
            let how = end.unwrap_or_else(|| End::Untold.to_string());
            let units = vec![UnitStop { unit: self.unit.clone(), took, killed, how }];
            if let Some(sandbox) = self.sandbox.take() {
                sandbox.close().await.map_err(StopError)?;
            }
            Ok(ExitReport { units })
        })
    }
}
