//! What an agent has said, and who waits for what it will say.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use stampede_core::MeterSource;
use stampede_seam::{LoadError, LoadStatus, Moment, Reading};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::clock_offset::{ClockOffset, OffsetEstimate};
use crate::line_error::{LineError, LostAgent};
use crate::message::{AgentReply, AgentRequest, encode};

/// How long counters are read with every pause after somebody asked for them.
const WATCHED: Duration = Duration::from_secs(2);

/// What both the vantage and its line know.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) agent: String,
    /// The beginning of our own clock.
    began: Instant,
    known: Mutex<Known>,
    requests: mpsc::UnboundedSender<Vec<u8>>,
    lost: watch::Sender<Option<LostAgent>>,
}

/// What is known.
#[derive(Debug, Default)]
pub(crate) struct Known {
    next: u64,
    /// Pings that are under way, with our time at which they were sent.
    pings: HashMap<u64, Duration>,
    offset: Option<OffsetEstimate>,
    /// The last time that was given: the clock never goes back.
    latest: Moment,
    /// A date and time there, and our time at which it came.
    timestamp: Option<(Timestamp, Duration)>,
    /// Calls that wait for their reply.
    waiting: HashMap<u64, oneshot::Sender<AgentReply>>,
    pub(crate) loads: HashMap<u64, SeenLoad>,
    /// Queues by samplers.
    pub(crate) queues: HashMap<u64, Option<u64>>,
    counters: KnownCounters,
}

/// How far a load is.
#[derive(Debug)]
pub(crate) struct SeenLoad {
    /// Its window; expected before the agent has said when it is.
    pub(crate) window: std::ops::Range<Moment>,
    pub(crate) view: LoadStatus,
    /// Why it was not started.
    pub(crate) problem: Option<LoadError>,
}

/// The counters that came last.
#[derive(Debug, Default)]
struct KnownCounters {
    /// Groups that somebody asked for, with our time at which that was.
    watched: Vec<(Vec<MeterSource>, Duration)>,
    /// What was asked for last, and what came.
    read: Option<(Vec<Vec<MeterSource>>, Reading)>,
    /// What was asked for, by request.
    asked: HashMap<u64, Vec<Vec<MeterSource>>>,
}

impl Shared {
    pub(crate) fn new(agent: String, requests: mpsc::UnboundedSender<Vec<u8>>) -> Self {
        let (lost, _) = watch::channel(None);
        Self { agent, began: Instant::now(), known: Mutex::default(), requests, lost }
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Our own time.
    pub(crate) fn here(&self) -> Duration {
        self.began.elapsed()
    }

    /// Our own time at an instant.
    pub(crate) fn at(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.began)
    }

    /// When our own time is that.
    pub(crate) fn instant(&self, here: Duration) -> Instant {
        self.began.checked_add(here).unwrap_or_else(|| self.began + Duration::from_secs(u32::MAX.into()))
    }

    /// Why the agent is lost, if it is.
    pub(crate) fn lost(&self) -> Option<LostAgent> {
        self.lost.borrow().clone()
    }

    /// Waits until the agent is lost.
    pub(crate) async fn until_lost(&self) -> LostAgent {
        let mut lost = self.lost.subscribe();
        match lost.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(lost)) => lost.clone(),
            _ => self.loss(LineError::Closed),
        }
    }

    fn loss(&self, reason: LineError) -> LostAgent {
        LostAgent { agent: self.agent.clone(), reason }
    }

    /// Nothing more comes: all who wait have an error.
    pub(crate) fn lose(&self, reason: LineError) {
        self.lost.send_replace(Some(self.loss(reason)));
        self.known().waiting.clear();
    }

    /// Sends a request of this number. One that cannot be written, or that comes too late, has its error where its reply is waited
    /// for.
    pub(crate) fn send(&self, number: u64, request: &AgentRequest) -> Result<(), LostAgent> {
        if let Some(lost) = self.lost() {
            return Err(lost);
        }
        let message = encode(number, request).map_err(|error| self.loss(error))?;
        self.requests.send(message).map_err(|_| self.lost().unwrap_or_else(|| self.loss(LineError::Closed)))
    }

    /// Sends a ping.
    pub(crate) fn ping(&self, number: u64) -> Result<(), LostAgent> {
        self.known().pings.insert(number, self.here());
        self.send(number, &AgentRequest::Ping)
    }

    /// A number for a request.
    pub(crate) fn number(&self) -> u64 {
        let mut known = self.known();
        known.next += 1;
        known.next
    }

    /// Has the reply to a request given to whoever holds this.
    pub(crate) fn wait_for(&self, number: u64) -> oneshot::Receiver<AgentReply> {
        let (sender, receiver) = oneshot::channel();
        self.known().waiting.insert(number, sender);
        receiver
    }

    /// The reply that comes, or why none does.
    pub(crate) async fn reply(&self, receiver: oneshot::Receiver<AgentReply>) -> Result<AgentReply, LostAgent> {
        match receiver.await {
            Ok(reply) => Ok(reply),
            Err(_) => Err(self.lost().unwrap_or_else(|| self.loss(LineError::Closed))),
        }
    }

    /// Sends a request, and waits for its reply.
    pub(crate) async fn ask(&self, request: &AgentRequest) -> Result<AgentReply, LostAgent> {
        let number = self.number();
        let receiver = self.wait_for(number);
        self.send(number, request)?;
        self.reply(receiver).await
    }

    /// Sends a ping, waits for its answer, and gives the offset that it shows.
    pub(crate) async fn measure_offset(&self) -> Result<ClockOffset, LostAgent> {
        let number = self.number();
        let receiver = self.wait_for(number);
        let sent = self.here();
        self.ping(number)?;
        match self.reply(receiver).await? {
            AgentReply::Pong { at, .. } => Ok(ClockOffset::of_ping(sent, at, self.here())),
            _ => Err(self.unexpected()),
        }
    }

    /// The agent answers something else than what was asked.
    pub(crate) fn unexpected(&self) -> LostAgent {
        self.loss(LineError::Unreadable("it answers another question".to_owned()))
    }

    /// Takes in what the agent says.
    pub(crate) fn take(&self, number: u64, reply: AgentReply) {
        let here = self.here();
        let mut known = self.known();
        match reply {
            AgentReply::Started(started) => {
                if let Some(load) = known.loads.get_mut(&number) {
                    match started {
                        Ok(window) => load.window = window,
                        Err(problem) => load.problem = Some(problem),
                    }
                }
            }
            AgentReply::Seen(mut view) => {
                if let Some(load) = known.loads.get_mut(&number) {
                    let mut slices = std::mem::take(&mut load.view.slices);
                    slices.append(&mut view.slices);
                    load.view = LoadStatus { slices, ..*view };
                }
            }
            AgentReply::Queue(queue) => {
                known.queues.entry(number).and_modify(|known| *known = queue);
            }
            // A sampler that could not be started gives nothing.
            AgentReply::Sampling(_) => {}
            reply => {
                match &reply {
                    AgentReply::Pong { at, timestamp } => known.pong(number, *at, *timestamp, here),
                    AgentReply::Read(reading) => known.counters.take(number, reading),
                    _ => {}
                }
                if let Some(waiting) = known.waiting.remove(&number) {
                    // Nobody waits any more where this fails.
                    let _ = waiting.send(reply);
                }
            }
        }
    }

    /// The offset of the clocks, as it is known now.
    pub(crate) fn offset(&self) -> Option<ClockOffset> {
        let (here, known) = (self.here(), self.known());
        known.offset.as_ref().map(|known| known.offset(here))
    }

    /// Makes counters of these groups come with each pause for a while, and gives what came last.
    pub(crate) fn counters(&self, groups: &[&[MeterSource]]) -> Reading {
        let (here, now) = (self.here(), self.now());
        if let Some(lost) = self.lost() {
            let problem = |sources: &&[MeterSource]| if sources.is_empty() { Ok(None) } else { Err(lost.to_string()) };
            return Reading { at: now, groups: groups.iter().map(problem).collect() };
        }
        let (reading, is_old) = {
            let counters = &mut self.known().counters;
            counters.watch(groups, here);
            counters.latest(groups, now)
        };
        if is_old {
            // Its loss is told by the next call.
            let _ = self.read_counters(None);
        }
        reading
    }

    /// Asks for the counters that are watched, at a moment or now, and gives who has the reply; nobody where nothing is watched.
    pub(crate) fn read_counters(&self, at: Option<Moment>) -> Option<oneshot::Receiver<AgentReply>> {
        let (here, number) = (self.here(), self.number());
        let groups = {
            let counters = &mut self.known().counters;
            let groups = counters.watched(here);
            // Who asks for now has it with what is under way.
            if groups.is_empty() || at.is_none() && counters.asked.values().any(|asked| *asked == groups) {
                return None;
            }
            counters.asked.insert(number, groups.clone());
            groups
        };
        let receiver = self.wait_for(number);
        self.send(number, &AgentRequest::Counters { at, groups }).ok().map(|()| receiver)
    }

    /// The time there.
    pub(crate) fn now(&self) -> Moment {
        let here = self.here();
        let mut known = self.known();
        let there = known.offset.as_ref().map_or(Moment::START, |known| known.offset(here).there(here));
        known.latest = known.latest.max(there);
        known.latest
    }

    /// Our time at a moment there.
    pub(crate) fn here_at(&self, there: Moment) -> Duration {
        let (here, known) = (self.here(), self.known());
        known.offset.as_ref().map_or(Duration::ZERO, |known| known.offset(here).here(there))
    }

    /// The date and time there.
    pub(crate) fn timestamp(&self) -> Timestamp {
        let (here, known) = (self.here(), self.known());
        let Some((timestamp, at)) = known.timestamp else { return Timestamp::UNIX_EPOCH };
        let since = SignedDuration::try_from(here.saturating_sub(at)).unwrap_or(SignedDuration::ZERO);
        timestamp.saturating_add(since).unwrap_or(timestamp)
    }
}

impl Known {
    fn pong(&mut self, number: u64, at: Moment, timestamp: Timestamp, here: Duration) {
        let Some(sent) = self.pings.remove(&number) else { return };
        let offset = ClockOffset::of_ping(sent, at, here);
        match &mut self.offset {
            Some(known) => known.add(offset, here),
            none => *none = Some(OffsetEstimate::new(offset, here)),
        }
        self.timestamp = Some((timestamp, here - (here.saturating_sub(sent)) / 2));
    }
}

impl KnownCounters {
    fn watch(&mut self, groups: &[&[MeterSource]], here: Duration) {
        for sources in groups.iter().filter(|sources| !sources.is_empty()) {
            match self.watched.iter_mut().find(|(watched, _)| watched == sources) {
                Some((_, asked)) => *asked = here,
                None => self.watched.push((sources.to_vec(), here)),
            }
        }
    }

    /// What somebody has asked for lately.
    fn watched(&mut self, here: Duration) -> Vec<Vec<MeterSource>> {
        self.watched.retain(|(_, asked)| here.saturating_sub(*asked) < WATCHED);
        self.watched.iter().map(|(sources, _)| sources.clone()).collect()
    }

    /// What came last of these groups, and whether that is old or lacks some of them.
    fn latest(&self, groups: &[&[MeterSource]], now: Moment) -> (Reading, bool) {
        let Some((names, read)) = &self.read else {
            let has_sources = groups.iter().any(|sources| !sources.is_empty());
            return (Reading { at: now, groups: groups.iter().map(|_| Ok(None)).collect() }, has_sources);
        };
        let mut is_old = now.since(read.at) >= WATCHED;
        let of = |sources: &&[MeterSource]| {
            if sources.is_empty() {
                return Ok(None);
            }
            let place = names.iter().position(|name| name == sources);
            match place.and_then(|place| read.groups.get(place)) {
                Some(group) => group.clone(),
                None => {
                    is_old = true;
                    Ok(None)
                }
            }
        };
        let groups = groups.iter().map(of).collect();
        (Reading { at: read.at, groups }, is_old)
    }

    fn take(&mut self, number: u64, reading: &Reading) {
        let Some(names) = self.asked.remove(&number) else { return };
        if self.read.as_ref().is_none_or(|(_, known)| known.at <= reading.at) {
            self.read = Some((names, reading.clone()));
        }
    }
}
