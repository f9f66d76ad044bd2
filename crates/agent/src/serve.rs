//! The side that serves.
//!
//! Loads run on threads of the vantage's own. They are looked at when the stream has taken everything before: how far a load is
//! waits for the stream, and never a load for it. Answers and results wait in a queue, as many as were asked for.

use std::collections::HashMap;
use std::future::pending;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use stampede_core::Sampling;
use stampede_seam::{LoadError, LoadHandle, LoadOutcome, Moment, SampleTargets, SamplerHandle, Vantage};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use crate::agent_host::AgentHost;
use crate::line::{Incoming, Outgoing};
use crate::line_error::LineError;
use crate::message::{AgentReply, AgentRequest, decode, encode};
use crate::null_server::NullServer;
use crate::preamble::Side;

/// How often loads are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// How often the end of a drain is looked for.
const DRAIN_LOOK: Duration = Duration::from_millis(5);

/// Serves what `vantage` sees from this `host` to whoever asks over this stream, until it ends or nothing is heard for as long as `patience`. Everything
/// that was started has ended then.
///
/// # Errors
///
/// Why it ended, unless whoever asks ended it.
pub async fn serve(
    vantage: Arc<dyn Vantage>,
    host: AgentHost,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    patience: Duration,
) -> Result<(), LineError> {
    let mut incoming = Incoming::new(input, Side::Client, patience);
    let mut agent = Agent::new(vantage, host, Outgoing::new(output, Side::Agent));
    incoming.begin().await?;
    let Err(end) = agent.run(&mut incoming).await;
    agent.tasks.shutdown().await;
    match end {
        LineError::Ended => Ok(()),
        end => Err(end),
    }
}

/// Who serves a line.
struct Agent {
    vantage: Arc<dyn Vantage>,
    host: AgentHost,
    outgoing: Outgoing,
    loads: HashMap<u64, RunningLoad>,
    samplers: HashMap<u64, RunningSampler>,
    /// Who answers at once, where that was asked for.
    null_server: Option<NullServer>,
    /// What takes time: it gives the number of its request, and the reply.
    tasks: JoinSet<(u64, AgentReply)>,
    /// Those of them that finish a load or a sampler.
    finishing: HashMap<u64, AbortHandle>,
    next_look: Instant,
}

struct RunningLoad {
    handle: Box<dyn LoadHandle>,
    is_cut: bool,
}

struct RunningSampler {
    handle: Box<dyn SamplerHandle>,
    closes: Moment,
    /// What was told last.
    queue: Option<u64>,
}

enum Never {}

impl Agent {
    fn new(vantage: Arc<dyn Vantage>, host: AgentHost, outgoing: Outgoing) -> Self {
        Self {
            vantage,
            host,
            outgoing,
            loads: HashMap::new(),
            samplers: HashMap::new(),
            null_server: None,
            tasks: JoinSet::new(),
            finishing: HashMap::new(),
            next_look: Instant::now(),
        }
    }

    async fn run(&mut self, incoming: &mut Incoming<impl AsyncRead + Unpin>) -> Result<Never, LineError> {
        loop {
            let has_frames = !self.outgoing.is_empty();
            let look = (!has_frames && !self.has_nothing_to_look_at()).then_some(self.next_look);
            tokio::select! {
                message = incoming.next() => {
                    let (number, request) = decode(&message?)?;
                    self.obey(number, request)?;
                }
                sent = self.outgoing.send_next(), if has_frames => sent?,
                Some(done) = self.tasks.join_next(), if !self.tasks.is_empty() => match done {
                    Ok((number, reply)) => {
                        self.finishing.remove(&number);
                        self.reply(number, &reply)?;
                    }
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    // It was dropped.
                    Err(_) => {}
                },
                () = until(look) => self.look()?,
            }
        }
    }

    fn has_nothing_to_look_at(&self) -> bool {
        self.loads.is_empty() && self.samplers.is_empty()
    }

    fn reply(&mut self, number: u64, reply: &AgentReply) -> Result<(), LineError> {
        self.outgoing.push(encode(number, reply)?);
        Ok(())
    }

    fn obey(&mut self, number: u64, request: AgentRequest) -> Result<(), LineError> {
        let vantage = Arc::clone(&self.vantage);
        match request {
            AgentRequest::Ping => {
                let (at, timestamp) = (vantage.now(), vantage.timestamp());
                self.reply(number, &AgentReply::Pong { at, timestamp })?;
            }
            AgentRequest::Describe => self.reply(number, &AgentReply::Described(self.host.clone()))?,
            AgentRequest::ServeNothing => {
                let started = NullServer::start().map_err(|error| error.to_string());
                let address = started.map(|server| self.null_server.insert(server).address);
                self.reply(number, &AgentReply::ServesNothing(address))?;
            }
            AgentRequest::Connect { endpoint, timeout } => {
                self.tasks
                    .spawn(async move { (number, AgentReply::Connected(vantage.connect(&endpoint, timeout).await)) });
            }
            AgentRequest::Exchange(call) => {
                self.tasks.spawn(async move { (number, AgentReply::Answered(vantage.exchange(&call).await)) });
            }
            AgentRequest::Counters { at, groups } => {
                self.tasks.spawn(async move {
                    if let Some(at) = at {
                        vantage.sleep_until(at).await;
                    }
                    let groups: Vec<_> = groups.iter().map(Vec::as_slice).collect();
                    (number, AgentReply::Read(vantage.counters(&groups)))
                });
            }
            AgentRequest::Load(order) => {
                let started = vantage.load(*order).map(|handle| {
                    let window = handle.window();
                    self.loads.insert(number, RunningLoad { handle, is_cut: false });
                    window
                });
                self.reply(number, &AgentReply::Started(started))?;
            }
            AgentRequest::CutLoad => {
                if let Some(load) = self.loads.get_mut(&number) {
                    load.handle.cut();
                    load.is_cut = true;
                }
            }
            AgentRequest::SetTargets(targets) => {
                if let Some(load) = self.loads.get_mut(&number) {
                    load.handle.set_targets(&targets);
                }
            }
            AgentRequest::FinishLoad => self.finish_load(number)?,
            AgentRequest::DropLoad | AgentRequest::DropSample => {
                self.loads.remove(&number);
                self.samplers.remove(&number);
                if let Some(task) = self.finishing.remove(&number) {
                    task.abort();
                }
            }
            AgentRequest::Sample { targets, window } => self.sample(number, targets, window)?,
            AgentRequest::CutSample => self.end_sampler(number, true)?,
            AgentRequest::FinishSample => self.end_sampler(number, false)?,
        }
        Ok(())
    }

    fn sample(&mut self, number: u64, targets: SampleTargets, window: Range<Moment>) -> Result<(), LineError> {
        let closes = window.end;
        let started = self.vantage.sample(targets, window).map(|handle| {
            self.samplers.insert(number, RunningSampler { handle, closes, queue: None });
        });
        self.reply(number, &AgentReply::Sampling(started))
    }

    fn end_sampler(&mut self, number: u64, is_cut: bool) -> Result<(), LineError> {
        let Some(RunningSampler { handle, closes, .. }) = self.samplers.remove(&number) else {
            // One that could not be started.
            return self.reply(number, &AgentReply::Sampled(Sampling::default()));
        };
        let vantage = Arc::clone(&self.vantage);
        let task = self.tasks.spawn(async move {
            let sampling = if is_cut {
                handle.cut().await
            } else {
                // A handle may hold up this thread until then.
                vantage.sleep_until(closes).await;
                handle.finish().await
            };
            (number, AgentReply::Sampled(sampling))
        });
        self.finishing.insert(number, task);
        Ok(())
    }

    fn finish_load(&mut self, number: u64) -> Result<(), LineError> {
        let Some(load) = self.loads.remove(&number) else {
            let unknown = LoadError("there is no such load".to_owned());
            return self.reply(number, &AgentReply::Finished(Box::new(Err(unknown))));
        };
        let finish = finish(Arc::clone(&self.vantage), load);
        let task = self.tasks.spawn(async move { (number, AgentReply::Finished(Box::new(finish.await))) });
        self.finishing.insert(number, task);
        Ok(())
    }

    /// Tells how far everything is.
    fn look(&mut self) -> Result<(), LineError> {
        let now = self.vantage.now();
        let mut replies = Vec::new();
        let mut pause = LOOK;
        for (number, load) in &mut self.loads {
            if load.handle.window().end <= now {
                pause = DRAIN_LOOK;
            }
            replies.push((*number, AgentReply::Seen(Box::new(load.handle.look()))));
        }
        for (number, sampler) in &mut self.samplers {
            let queue = sampler.handle.queue();
            if queue != sampler.queue {
                sampler.queue = queue;
                replies.push((*number, AgentReply::Queue(queue)));
            }
        }
        for (number, reply) in replies {
            self.reply(number, &reply)?;
        }
        self.next_look = Instant::now() + pause;
        Ok(())
    }
}

/// Waits for a load's end, and gives what was measured with all seconds that were not told.
async fn finish(vantage: Arc<dyn Vantage>, load: RunningLoad) -> Result<LoadOutcome, LoadError> {
    let RunningLoad { mut handle, is_cut } = load;
    let mut slices = Vec::new();
    // A handle may hold up this thread until the load is finished.
    let mut is_finished = is_cut;
    while !is_finished {
        let view = handle.look();
        slices.extend(view.slices);
        is_finished = view.is_finished;
        if !is_finished {
            vantage.sleep_until(vantage.now() + DRAIN_LOOK).await;
        }
    }
    let mut outcome = handle.finish().await?;
    slices.append(&mut outcome.result.slices);
    outcome.result.slices = slices;
    Ok(outcome)
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests;
