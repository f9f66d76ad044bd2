//! The vantage that shares a load among agents.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{Answer, Carrier, Endpoint, Fut, MeterSource};
use stampede_seam::{
    Backend, Call, LoadError, LoadHandle, LoadOrder, LoadSpec, Moment, NoAnswer, Reading, SampleTargets, SamplerHandle,
    SamplingError, Shard, Vantage,
};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::agent_process::AgentProcess;
use crate::carried::CarriedStream;
use crate::generators_error::GeneratorsError;
use crate::member::Member;
use crate::shared_load::{LoadPart, SharedLoad};
use crate::ssh::{SentProgram, explained};

/// Orders are on their way for so long at least before a load begins: writing and reading them takes its time, too.
const LEAD: Duration = Duration::from_millis(200);

/// How many bounds of a clock, each half a round trip, an order may be on its way.
const TRIPS: u32 = 6;

/// Sees as another vantage does, which is of this process, and has loads driven by agents: at one moment, each its part. Needs the
/// tokio runtime that it was made in. Dropping it ends the agents.
pub struct Generators {
    here: Arc<dyn Vantage>,
    /// What the start of this machine's kernel is known by.
    boot: String,
    members: Vec<Arc<Member>>,
}

impl Generators {
    /// Starts an agent by each carrier: `program` is this program, `pods` are the streams of agents in a cluster's pods, one for each carrier that is
    /// of a cluster, `purpose` what others who wait for a machine's lock are told, and `boot` what the start of this machine's kernel is known by. With
    /// `go_first` they go before other programs of their machine, where each has a processor for itself.
    ///
    /// # Errors
    ///
    /// Why agents could not be started, of each that could not.
    pub async fn start(
        here: Arc<dyn Vantage>,
        carriers: &[Carrier],
        program: &Path,
        pods: Vec<CarriedStream>,
        purpose: &str,
        boot: String,
        go_first: bool,
    ) -> Result<Arc<Self>, GeneratorsError> {
        let sent = send(carriers, program).await?;
        let mut starting = JoinSet::new();
        let mut pods = pods.into_iter();
        for (place, (name, carrier)) in names(carriers).into_iter().zip(carriers).enumerate() {
            let mut arguments = Vec::new();
            if go_first {
                let are_beside = |other: &&Carrier| *other == carrier || !is_elsewhere(carrier) && !is_elsewhere(other);
                let beside = carriers.iter().filter(are_beside).count();
                arguments.push(format!("--first={beside}"));
            }
            let own = || [program.as_os_str().to_owned(), OsString::from("__agent")].into_iter();
            let own = || own().chain(arguments.iter().map(OsString::from));
            let stream = match (carrier, &sent) {
                (Carrier::Local, _) => process(own().collect()),
                (Carrier::Exec(command), _) => process(command.iter().map(OsString::from).chain(own()).collect()),
                (Carrier::Ssh(destination), Some(sent)) => {
                    // One of several on a machine holds its lock.
                    let is_first = !carriers[..place].contains(carrier);
                    process(sent.command(destination, is_first.then_some(purpose), &arguments))
                }
                (Carrier::Ssh(_), None) => continue,
                (Carrier::Kubernetes, _) => pods.next().ok_or_else(|| "it has no pod".to_owned()),
            };
            let carrier = carrier.clone();
            starting.spawn(async move {
                let started = match stream {
                    Ok(stream) => Member::begin(name.clone(), stream).await,
                    Err(problem) => Err((problem, String::new())),
                };
                let problem = |(reason, said): (String, String)| match (&carrier, said.is_empty()) {
                    (_, true) => reason,
                    (Carrier::Ssh(destination), false) => explained(destination, &said),
                    (Carrier::Local | Carrier::Exec(_) | Carrier::Kubernetes, false) => {
                        format!("{reason}\n  it said: {said}")
                    }
                };
                (place, started.map_err(|failed| format!("generator {name} did not start: {}", problem(failed))))
            });
        }
        let mut started = starting.join_all().await;
        started.sort_by_key(|(place, _)| *place);
        let (members, problems): (Vec<_>, Vec<_>) =
            started.into_iter().map(|(_, started)| started).partition(Result::is_ok);
        let problems: Vec<String> = problems.into_iter().filter_map(Result::err).collect();
        if !problems.is_empty() {
            return Err(GeneratorsError(problems));
        }
        Ok(Self::of(here, members.into_iter().flatten().collect(), boot))
    }

    /// Those whose agents are there.
    pub fn of(here: Arc<dyn Vantage>, members: Vec<Member>, boot: String) -> Arc<Self> {
        Arc::new(Self { here, boot, members: members.into_iter().map(Arc::new).collect() })
    }

    /// Why io_uring cannot be used by all of them, of the first that cannot: its name and the reason.
    pub fn io_uring_refused(&self) -> Option<(&str, &str)> {
        self.members.iter().find_map(|member| Some((member.name(), member.host.io_uring_refused.as_deref()?)))
    }

    /// The processors of a member's part: of those that are meant for loads here, or of its own machine's, the share that no other member
    /// of that machine has.
    fn cpus_of(&self, place: usize, cpus: &[u32]) -> Vec<u32> {
        let host = &self.members[place].host;
        let are_beside = |member: &&Arc<Member>| member.host.boot == host.boot;
        let of_machine = self.members.iter().filter(are_beside).count();
        let own = self.members[..place].iter().filter(are_beside).count();
        let allowed: BTreeSet<u32> = host.cpus.iter().copied().collect();
        let meant = cpus.iter().copied().filter(|cpu| host.boot == self.boot && allowed.contains(cpu));
        let mut pool: Vec<u32> = meant.collect();
        if pool.is_empty() {
            let most = (cpus.len() * of_machine).max(1);
            pool = host.cpus.iter().rev().take(most).copied().collect();
        }
        match pool.len() {
            0 => Vec::new(),
            count if count < of_machine => vec![pool[own % count]],
            _ => pool.into_iter().skip(own).step_by(of_machine).collect(),
        }
    }

    /// The backend that all of them can use.
    fn backend(&self, asked: Backend) -> Backend {
        if self.refuses_io_uring() { Backend::Epoll } else { asked }
    }

    /// Measures what each can offer at most, all at once, of a load on these processors of this machine: requests a second by its name,
    /// or why that is not known.
    pub async fn measure_most(&self, cpus: &[u32], backend: Backend) -> Vec<(&str, Result<f64, String>)> {
        let cpus: Vec<Vec<u32>> = (0..self.members.len()).map(|place| self.cpus_of(place, cpus)).collect();
        let mut measuring = JoinSet::new();
        for (place, (member, own)) in self.members.iter().zip(&cpus).enumerate() {
            let users = |cpu: &u32| {
                let of_machine =
                    self.members.iter().zip(&cpus).filter(|(other, _)| other.host.boot == member.host.boot);
                of_machine.filter(|(_, cpus)| cpus.contains(cpu)).count() as f64
            };
            let processors = own.iter().map(|cpu| users(cpu).recip()).sum();
            let (member, own, backend) = (Arc::clone(member), own.clone(), self.backend(backend));
            measuring.spawn(async move { (place, member.measure_most(&own, processors, backend).await) });
        }
        let mut measured = measuring.join_all().await;
        measured.sort_by_key(|(place, _)| *place);
        self.members.iter().zip(measured).map(|(member, (_, most))| (member.name(), most)).collect()
    }

    /// The part of a load that a member drives.
    fn part(&self, (place, of): (usize, NonZeroU32), begins: Instant, order: &LoadOrder) -> LoadPart {
        let member = &self.members[place];
        let offset = member.agent.clock_offset();
        let begins_there = member.agent.moment_at(begins, offset);
        let spec = LoadSpec {
            shard: Some(Shard { index: place as u32, of }),
            cpus: self.cpus_of(place, &order.spec.cpus),
            backend: self.backend(order.spec.backend),
            ..order.spec.clone()
        };
        let order = LoadOrder { spec, begins: Some(begins_there), ..order.clone() };
        LoadPart::new(Arc::clone(member), member.agent.load(order), (begins, begins_there), offset)
    }
}

/// The stream of an agent that this command starts.
fn process(command: Vec<OsString>) -> Result<CarriedStream, String> {
    AgentProcess::start(&command).map_err(|error| format!("start {}: {error}", command[0].display()))
}

/// Whether a carrier leads to another machine.
fn is_elsewhere(carrier: &Carrier) -> bool {
    match carrier {
        Carrier::Ssh(_) | Carrier::Kubernetes => true,
        Carrier::Local | Carrier::Exec(_) => false,
    }
}

/// Sees that the program is wherever ssh leads to; nothing where it leads nowhere.
async fn send(carriers: &[Carrier], program: &Path) -> Result<Option<SentProgram>, GeneratorsError> {
    let destination = |carrier: &Carrier| match carrier {
        Carrier::Ssh(destination) => Some(destination.clone()),
        Carrier::Local | Carrier::Exec(_) | Carrier::Kubernetes => None,
    };
    let destinations: BTreeSet<String> = carriers.iter().filter_map(destination).collect();
    if destinations.is_empty() {
        return Ok(None);
    }
    let program = SentProgram::read(program).map_err(|problem| GeneratorsError(vec![problem]))?;
    let mut sending = JoinSet::new();
    for destination in destinations {
        let program = program.clone();
        sending.spawn(async move {
            let sent = program.send(&destination).await;
            sent.map_err(|problem| format!("generator ssh:{destination} did not start: {problem}"))
        });
    }
    let mut problems: Vec<String> = sending.join_all().await.into_iter().filter_map(Result::err).collect();
    problems.sort();
    if problems.is_empty() { Ok(Some(program)) } else { Err(GeneratorsError(problems)) }
}

/// Names of generators: their carriers, with a number where several are alike.
fn names(carriers: &[Carrier]) -> Vec<String> {
    let name = |(place, carrier): (usize, &Carrier)| {
        let before = carriers[..place].iter().filter(|other| *other == carrier).count();
        match carriers.iter().filter(|other| *other == carrier).count() {
            1 => carrier.to_string(),
            _ => format!("{carrier}#{}", before + 1),
        }
    };
    carriers.iter().enumerate().map(name).collect()
}

impl fmt::Debug for Generators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generators").field("members", &self.members).finish_non_exhaustive()
    }
}

impl Vantage for Generators {
    fn now(&self) -> Moment {
        self.here.now()
    }

    fn timestamp(&self) -> Timestamp {
        self.here.timestamp()
    }

    fn sleep_until(&self, until: Moment) -> Fut<'_, ()> {
        self.here.sleep_until(until)
    }

    fn connect<'a>(&'a self, endpoint: &'a Endpoint, timeout: Duration) -> Fut<'a, Result<(), NoAnswer>> {
        self.here.connect(endpoint, timeout)
    }

    fn exchange<'a>(&'a self, call: &'a Call) -> Fut<'a, Result<Answer, NoAnswer>> {
        self.here.exchange(call)
    }

    fn counters(&self, groups: &[&[MeterSource]]) -> Reading {
        self.here.counters(groups)
    }

    /// As many members drive it as it has connections, at the most all.
    fn load(&self, order: LoadOrder) -> Result<Box<dyn LoadHandle>, LoadError> {
        let connections = match &order.spec.scenario {
            Some(scenario) => scenario.crowds.iter().map(|crowd| crowd.load.connections()).max().unwrap_or(1),
            None => order.spec.load.connections(),
        };
        let count = u32::try_from(self.members.len()).unwrap_or(u32::MAX).min(connections);
        let Some(of) = NonZeroU32::new(count) else {
            return Err(LoadError("start the load: it has no generator or no connection".to_owned()));
        };
        let bound = self.members.iter().map(|member| member.agent.clock_offset().bound).max().unwrap_or_default();
        let (now, moment) = (Instant::now(), self.here.now());
        let begins = match order.begins {
            Some(begins) => now + begins.since(moment),
            None => now + LEAD + bound * TRIPS,
        };
        let window = LoadOrder { begins: Some(moment + (begins - now)), ..order.clone() }.window(moment);
        let parts = (0..count as usize).map(|place| self.part((place, of), begins, &order)).collect();
        Ok(Box::new(SharedLoad::new(window, parts)))
    }

    fn sample(&self, targets: SampleTargets, window: Range<Moment>) -> Result<Box<dyn SamplerHandle>, SamplingError> {
        self.here.sample(targets, window)
    }

    fn refuses_io_uring(&self) -> bool {
        self.io_uring_refused().is_some()
    }

    fn why_lost(&self) -> Option<String> {
        self.members.iter().find_map(|member| member.agent.why_lost())
    }
}
