//! The vantage that asks an agent.

use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{Answer, Endpoint, Fut, MeterSource};
use stampede_seam::{
    Call, LoadError, LoadHandle, LoadOrder, Moment, NoAnswer, Reading, SampleTargets, SamplerHandle, SamplingError,
    Vantage,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};

use crate::HEARTBEAT;
use crate::agent_host::AgentHost;
use crate::clock_offset::{ClockCheck, ClockOffset, FEWEST_PINGS, OffsetEstimate, pings_needed};
use crate::handles::{AgentLoad, AgentSampler};
use crate::line::{Incoming, Outgoing};
use crate::line_error::{LineError, LostAgent};
use crate::message::{AgentReply, AgentRequest, decode};
use crate::preamble::Side;
use crate::shared::Shared;

/// What is between two of them, so that none waits for another.
const PING_PAUSE: Duration = Duration::from_millis(10);

/// Sees deployments by an agent, on the agent's clock. Needs the tokio runtime that it was made in. Dropping it ends the line when
/// that runtime runs next, and so everything that the agent started.
///
/// What [`Vantage`] does without waiting goes by what the agent has said: a load's window is an expectation until the agent has
/// answered, a load that cannot be started fails where its result is waited for, and counters are those that came last.
/// [`Vantage::sleep_until`] waits for counters that were read at that moment, where somebody asked for some in the last seconds.
pub struct AgentVantage {
    shared: Arc<Shared>,
    first: ClockOffset,
    /// Who reads and writes.
    _line: JoinSet<()>,
}

impl AgentVantage {
    /// Begins a line over this stream with an agent that errors name. It is lost when nothing is heard of it for as long as `patience`.
    ///
    /// # Errors
    ///
    /// When no agent of this version answers.
    pub async fn begin(
        agent: impl Into<String>,
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
        patience: Duration,
    ) -> Result<Arc<Self>, LostAgent> {
        let (requests, asked) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared::new(agent.into(), requests));
        let mut line = JoinSet::new();
        line.spawn({
            let shared = Arc::clone(&shared);
            async move {
                let incoming = Incoming::new(input, Side::Agent, patience);
                let Err(reason) = run(&shared, incoming, Outgoing::new(output, Side::Client), asked).await;
                shared.lose(reason);
            }
        });
        let first = measure(&shared).await?;
        Ok(Arc::new(Self { shared, first, _line: line }))
    }

    /// Its name.
    pub fn agent(&self) -> &str {
        &self.shared.agent
    }

    /// How far its clock is ahead of ours (tokio's, from when the line began), as it is known now.
    pub fn clock_offset(&self) -> ClockOffset {
        self.shared.offset().unwrap_or(self.first)
    }

    /// Measures the clocks again.
    ///
    /// # Errors
    ///
    /// When the agent is lost.
    pub async fn check_clock(&self) -> Result<ClockCheck, LostAgent> {
        Ok(ClockCheck { first: self.first, last: measure(&self.shared).await? })
    }

    /// What it runs on.
    ///
    /// # Errors
    ///
    /// When the agent is lost.
    pub async fn describe(&self) -> Result<AgentHost, LostAgent> {
        match self.shared.ask(&AgentRequest::Describe).await? {
            AgentReply::Described(host) => Ok(host),
            _ => Err(self.shared.unexpected()),
        }
    }

    /// Starts a server there that answers at once, and gives where it listens on the loopback device there; or why there is none. It
    /// ends with the line, or when it is started again.
    ///
    /// # Errors
    ///
    /// When the agent is lost.
    pub async fn serve_nothing(&self) -> Result<Result<SocketAddr, String>, LostAgent> {
        match self.shared.ask(&AgentRequest::ServeNothing).await? {
            AgentReply::ServesNothing(address) => Ok(address),
            _ => Err(self.shared.unexpected()),
        }
    }

    /// The moment there that an instant here is, by an offset of the clocks.
    pub fn moment_at(&self, instant: Instant, offset: ClockOffset) -> Moment {
        offset.there(self.shared.at(instant))
    }

    /// The instant here that a moment there is, by an offset of the clocks.
    pub fn instant_at(&self, moment: Moment, offset: ClockOffset) -> Instant {
        self.shared.instant(offset.here(moment))
    }

    /// Waits until the agent is lost.
    pub async fn lost(&self) -> LostAgent {
        self.shared.until_lost().await
    }

    fn no_answer(lost: &LostAgent) -> NoAnswer {
        NoAnswer { problem: lost.to_string(), waited: false }
    }
}

impl fmt::Debug for AgentVantage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentVantage").field("agent", &self.shared.agent).finish_non_exhaustive()
    }
}

/// What several pings agree on: as many that on a line whose delay varies some meet little of that on each way.
async fn measure(shared: &Arc<Shared>) -> Result<ClockOffset, LostAgent> {
    let mut offsets = vec![shared.measure_offset().await?];
    let mut estimate = OffsetEstimate::new(offsets[0], shared.here());
    for needed in [|_: &[ClockOffset]| FEWEST_PINGS, pings_needed] {
        let more = needed(&offsets).saturating_sub(offsets.len());
        let mut pings: JoinSet<_> =
            (0..more as u32).map(|number| ping(Arc::clone(shared), PING_PAUSE * number)).collect();
        while let Some(next) = pings.join_next().await {
            let next = match next {
                Ok(next) => next?,
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            };
            estimate.add(next, shared.here());
            offsets.push(next);
        }
    }
    Ok(estimate.offset(shared.here()))
}

/// Sends a ping after a pause, and waits for its answer.
async fn ping(shared: Arc<Shared>, pause: Duration) -> Result<ClockOffset, LostAgent> {
    sleep(pause).await;
    shared.measure_offset().await
}

enum Never {}

/// Passes on requests and replies, until the line ends.
async fn run(
    shared: &Shared,
    mut incoming: Incoming<impl AsyncRead + Unpin>,
    mut outgoing: Outgoing,
    mut asked: mpsc::UnboundedReceiver<Vec<u8>>,
) -> Result<Never, LineError> {
    incoming.begin().await?;
    let mut heartbeat = interval(HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let has_frames = !outgoing.is_empty();
        tokio::select! {
            message = incoming.next() => {
                let (number, reply) = decode(&message?)?;
                shared.take(number, reply);
            }
            sent = outgoing.send_next(), if has_frames => sent?,
            Some(request) = asked.recv() => outgoing.push(request),
            _ = heartbeat.tick() => {
                // It cannot fail before this ends.
                let _ = shared.ping(shared.number());
            }
        }
    }
}

impl Vantage for AgentVantage {
    fn now(&self) -> Moment {
        self.shared.now()
    }

    fn timestamp(&self) -> Timestamp {
        self.shared.timestamp()
    }

    fn sleep_until(&self, until: Moment) -> Fut<'_, ()> {
        Box::pin(async move {
            if let Some(receiver) = self.shared.read_counters(Some(until))
                && self.shared.reply(receiver).await.is_ok()
            {
                return;
            }
            sleep_until(self.shared.instant(self.shared.here_at(until))).await;
        })
    }

    fn connect<'a>(&'a self, endpoint: &'a Endpoint, timeout: Duration) -> Fut<'a, Result<(), NoAnswer>> {
        Box::pin(async move {
            let request = AgentRequest::Connect { endpoint: endpoint.clone(), timeout };
            match self.shared.ask(&request).await {
                Ok(AgentReply::Connected(connected)) => connected,
                Ok(_) => Err(Self::no_answer(&self.shared.unexpected())),
                Err(lost) => Err(Self::no_answer(&lost)),
            }
        })
    }

    fn exchange<'a>(&'a self, call: &'a Call) -> Fut<'a, Result<Answer, NoAnswer>> {
        Box::pin(async move {
            match self.shared.ask(&AgentRequest::Exchange(call.clone())).await {
                Ok(AgentReply::Answered(answer)) => answer,
                Ok(_) => Err(Self::no_answer(&self.shared.unexpected())),
                Err(lost) => Err(Self::no_answer(&lost)),
            }
        })
    }

    fn counters(&self, groups: &[&[MeterSource]]) -> Reading {
        self.shared.counters(groups)
    }

    fn load(&self, order: LoadOrder) -> Result<Box<dyn LoadHandle>, LoadError> {
        // By default it begins when the order arrives: half a round trip from now.
        let expected = order.window(self.now() + self.clock_offset().bound);
        let number = self.shared.number();
        // Before its answer can come.
        let load = AgentLoad::new(Arc::clone(&self.shared), number, expected);
        self.shared.send(number, &AgentRequest::Load(Box::new(order))).map_err(|lost| LoadError(lost.to_string()))?;
        Ok(Box::new(load))
    }

    fn sample(&self, targets: SampleTargets, window: Range<Moment>) -> Result<Box<dyn SamplerHandle>, SamplingError> {
        let number = self.shared.number();
        let sampler = AgentSampler::new(Arc::clone(&self.shared), number);
        let request = AgentRequest::Sample { targets, window };
        self.shared.send(number, &request).map_err(|lost| SamplingError(lost.to_string()))?;
        Ok(Box::new(sampler))
    }

    fn why_lost(&self) -> Option<String> {
        self.shared.lost().map(|lost| lost.to_string())
    }
}
