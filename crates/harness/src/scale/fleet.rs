//! The instances of an autoscaled service: each a deployment of its own, started and stopped as the gateway orders.

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use stampede_core::{Counters, Endpoint, Fut, Memory, MeterSource, ReadyBy, Request, with_causes};
use stampede_gateway::{Gateway, Instance, InstanceOrder};
use stampede_seam::{Platform, Running, Vantage};
use tokio::sync::{oneshot, watch};

use crate::prepare::Prepared;
use crate::ready::{self, Front};
use crate::trial::explain;

/// So many starts in a row may fail before nobody is started any more.
const MOST_FAILED: u32 = 3;

/// So many instances may end by themselves once they have served, in one trial.
const MOST_LOST: u32 = 20;

/// How an instance came up and went.
#[derive(Debug, Default)]
pub(crate) struct Course {
    /// From its order until its processes listened.
    pub(crate) process: Option<Duration>,
    /// How much of that was over when the first of them was started.
    pub(crate) set_up: Option<Duration>,
    /// From then until it counted as ready.
    pub(crate) ready: Option<Duration>,
    /// Why it ended by itself, or never came up.
    pub(crate) lost: Option<String>,
    /// Another fault: the limits were not held, or it could not be stopped.
    pub(crate) fault: Option<String>,
}

/// What all instances have used, those that are gone included.
pub(crate) struct Meters {
    vantage: Arc<dyn Vantage>,
    readings: Mutex<Readings>,
}

#[derive(Debug, Default)]
struct Readings {
    /// Each with what it last told.
    live: BTreeMap<Instance, (Vec<MeterSource>, Counters)>,
    gone: Counters,
}

impl Meters {
    pub(crate) fn new(vantage: Arc<dyn Vantage>) -> Self {
        Self { vantage, readings: Mutex::default() }
    }

    fn readings(&self) -> MutexGuard<'_, Readings> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, instance: Instance, running: &dyn Running) {
        let sources = running.meters();
        if !sources.is_empty() {
            self.readings().live.insert(instance, (sources, Counters::default()));
        }
    }

    /// The counters of each; of one that cannot be read any more as they last were.
    fn latest(&self, live: &[(&[MeterSource], Counters)]) -> Vec<Counters> {
        let sources: Vec<_> = live.iter().map(|(sources, _)| *sources).collect();
        let read = self.vantage.counters(&sources).groups.into_iter();
        read.zip(live).map(|(read, (_, last))| read.ok().flatten().unwrap_or(*last)).collect()
    }

    /// Keeps what an instance has used that is about to be stopped.
    fn retire(&self, instance: Instance) {
        let mut readings = self.readings();
        if let Some((sources, last)) = readings.live.remove(&instance) {
            for last in self.latest(&[(&sources, last)]) {
                readings.gone = sum(readings.gone, Counters { memory: Memory::default(), swap: None, ..last });
            }
        }
    }

    /// The sums; memory is that of the instances that live.
    pub(crate) fn read(&self) -> Counters {
        let mut readings = self.readings();
        let live: Vec<_> = readings.live.values().map(|(sources, last)| (sources.as_slice(), *last)).collect();
        let latest = self.latest(&live);
        for ((_, last), read) in readings.live.values_mut().zip(&latest) {
            *last = *read;
        }
        latest.into_iter().fold(readings.gone, sum)
    }
}

fn sum(a: Counters, b: Counters) -> Counters {
    let mut memory = a.memory;
    memory.anonymous += b.memory.anonymous;
    memory.shared += b.memory.shared;
    memory.kernel += b.memory.kernel;
    memory.cache += b.memory.cache;
    Counters {
        cpu: a.cpu + b.cpu,
        periods: a.periods + b.periods,
        throttled_periods: a.throttled_periods + b.throttled_periods,
        throttled: a.throttled + b.throttled,
        memory,
        oom_kills: a.oom_kills + b.oom_kills,
        major_faults: a.major_faults + b.major_faults,
        file_refaults: both(a.file_refaults, b.file_refaults),
        limit_hits: both(a.limit_hits, b.limit_hits),
        swap: both(a.swap, b.swap),
    }
}

/// The sum of what is known.
fn both(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.into_iter().chain(b).reduce(|a, b| a + b)
}

/// Tells a service whose instances never come up, or end again and again, from one that loses some.
#[derive(Debug, Default)]
struct Losses {
    failed_in_a_row: u32,
    lost: u32,
}

impl Losses {
    /// An instance has ended.
    fn note(&mut self, course: &Course) -> Result<(), String> {
        let Course { ready, lost, .. } = course;
        match (ready.is_some(), lost) {
            (false, Some(_)) => self.failed_in_a_row += 1,
            (true, Some(_)) => {
                self.failed_in_a_row = 0;
                self.lost += 1;
            }
            (true, None) => self.failed_in_a_row = 0,
            // It was given up before it could tell.
            (false, None) => {}
        }
        let last = lost.as_deref().unwrap_or_default();
        if self.failed_in_a_row >= MOST_FAILED {
            return Err(format!("started {MOST_FAILED} instances in a row that never came up; the last {last}"));
        }
        if self.lost >= MOST_LOST {
            return Err(format!("lost {MOST_LOST} instances that had served; the last {last}"));
        }
        Ok(())
    }
}

/// What each instance is.
#[derive(Clone, Copy)]
pub(crate) struct Mould<'a> {
    pub(crate) platform: &'a dyn Platform,
    pub(crate) prepared: &'a Prepared,
    /// What is asked to see whether it is ready.
    pub(crate) first: &'a Request,
    pub(crate) ready_timeout: Duration,
}

/// The instances of a service. They live as long as this is polled; dropping it kills them.
pub(crate) struct Fleet<'a> {
    mould: Mould<'a>,
    gateway: &'a Gateway,
    meters: &'a Meters,
    lives: FuturesUnordered<Fut<'a, (Instance, Course)>>,
    stops: HashMap<Instance, oneshot::Sender<()>>,
    courses: BTreeMap<Instance, Course>,
    /// How many have come up.
    came_up: watch::Sender<u32>,
    losses: Losses,
}

impl<'a> Fleet<'a> {
    pub(crate) fn new(mould: Mould<'a>, gateway: &'a Gateway, meters: &'a Meters) -> Self {
        Self {
            mould,
            gateway,
            meters,
            lives: FuturesUnordered::new(),
            stops: HashMap::new(),
            courses: BTreeMap::new(),
            came_up: watch::Sender::new(0),
            losses: Losses::default(),
        }
    }

    /// How many instances have come up so far.
    pub(crate) fn came_up(&self) -> watch::Receiver<u32> {
        self.came_up.subscribe()
    }

    /// Starts or stops an instance.
    pub(crate) fn obey(&mut self, order: InstanceOrder) {
        match order {
            InstanceOrder::Start(instance) => {
                let (stop, stopped) = oneshot::channel();
                self.stops.insert(instance, stop);
                let (mould, gateway, meters, came_up) = (self.mould, self.gateway, self.meters, self.came_up.clone());
                self.lives.push(Box::pin(live(mould, gateway, meters, instance, stopped, came_up)));
            }
            InstanceOrder::Stop(instance) => {
                // One that has ended by itself does not listen.
                self.stops.remove(&instance).map(|stop| stop.send(()));
            }
        }
    }

    /// Waits until an instance has ended, however long that takes.
    ///
    /// # Errors
    ///
    /// When it is of no use to start others: what happened, as a sentence.
    pub(crate) async fn next_end(&mut self) -> Result<(), String> {
        let Some((instance, course)) = self.lives.next().await else {
            return std::future::pending().await;
        };
        let told = self.losses.note(&course);
        self.courses.insert(instance, course);
        told
    }

    /// Stops all instances: how each came up and went.
    pub(crate) async fn end(mut self) -> BTreeMap<Instance, Course> {
        for (_, stop) in self.stops.drain() {
            let _ = stop.send(());
        }
        while let Some((instance, course)) = self.lives.next().await {
            self.courses.insert(instance, course);
        }
        self.courses
    }
}

/// The life of an instance, from its order until it is stopped.
async fn live(
    mould: Mould<'_>,
    gateway: &Gateway,
    meters: &Meters,
    instance: Instance,
    mut stopped: oneshot::Receiver<()>,
    told: watch::Sender<u32>,
) -> (Instance, Course) {
    let mut course = Course::default();
    let came_up = {
        let coming_up = pin!(come_up(mould, meters, instance, &mut course));
        tokio::select! {
            biased;
            _ = &mut stopped => None,
            came_up = coming_up => Some(came_up),
        }
    };
    match came_up {
        // What was started ends with it.
        None => {}
        Some(Err(problem)) => {
            course.lost = Some(problem);
            gateway.lose(instance);
        }
        Some(Ok(running)) => {
            match running.front() {
                Endpoint::Tcp(address) => {
                    gateway.ready(instance, *address);
                    told.send_modify(|count| *count += 1);
                }
                Endpoint::Unix(path) => {
                    course.lost = Some(format!("has a front that the gateway does not reach: {}", path.display()));
                    gateway.lose(instance);
                }
            }
            if course.lost.is_none() {
                tokio::select! {
                    biased;
                    _ = &mut stopped => {}
                    exit = running.exited() => {
                        let problem = format!("had {} end with {}", exit.unit, exit.how);
                        course.lost = Some(explain(running.as_ref(), &mould.prepared.case, &problem).await);
                        gateway.lose(instance);
                    }
                }
            }
            meters.retire(instance);
            if let Err(error) = running.stop().await {
                course.fault.get_or_insert(error.to_string());
            }
        }
    }
    meters.retire(instance);
    (instance, course)
}

/// Starts an instance and waits until it counts as ready: by its first answer, unless the case says otherwise.
pub(crate) async fn come_up(
    mould: Mould<'_>,
    meters: &Meters,
    instance: Instance,
    course: &mut Course,
) -> Result<Box<dyn Running>, String> {
    let Mould { platform, prepared: Prepared { case, deployment, terms, .. }, first, ready_timeout } = mould;
    let vantage = platform.vantage();
    let ordered = vantage.now();
    let running = platform.launch(deployment, terms).await.map_err(|error| with_causes(&error))?;
    course.process = Some(vantage.now().since(ordered));
    course.set_up = Some(running.started().since(ordered));
    meters.add(instance, running.as_ref());
    let held = running.enforced().map_err(|error| error.to_string())?;
    if !held.fulfil(&case.limits) {
        course.fault = Some("the limits were not enforced".to_owned());
    }
    let front = Front::of(running.as_ref(), case, None);
    let waited = match case.topology.ready {
        ReadyBy::Port => ready::wait_for_port(running.as_ref(), &front, ready_timeout).await,
        ReadyBy::Request => ready::wait(running.as_ref(), &front, first, ready_timeout).await,
    };
    if let Err(problem) = waited {
        return Err(explain(running.as_ref(), case, &problem).await);
    }
    course.ready = course.process.map(|process| vantage.now().since(ordered).saturating_sub(process));
    Ok(running)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(came_up: bool, lost: bool) -> Course {
        let ready = came_up.then_some(Duration::from_millis(300));
        Course { ready, lost: lost.then(|| "had php end with status 1".to_owned()), ..Course::default() }
    }

    #[test]
    fn starts_that_fail_in_a_row_and_instances_that_end_again_and_again_are_told() {
        let (failed, given_up, crashed, stopped) =
            (ended(false, true), ended(false, false), ended(true, true), ended(true, false));
        for (name, course, told) in [
            ("two starts fail, one is given up", vec![&failed, &given_up, &failed], None),
            ("a third fails", vec![&failed, &failed, &given_up, &failed], Some("3 instances in a row")),
            ("one came up between", vec![&failed, &failed, &stopped, &failed, &failed], None),
            ("some crash", vec![&crashed; 19], None),
            ("all crash", vec![&crashed; 20], Some("lost 20 instances")),
        ] {
            let mut losses = Losses::default();
            let notes: Vec<_> = course.into_iter().map(|course| losses.note(course)).collect();
            let (last, before) = notes.split_last().unwrap();
            assert!(before.iter().all(Result::is_ok), "{name}");
            match (last, told) {
                (Ok(()), None) => {}
                (Err(problem), Some(part)) => {
                    assert!(problem.contains(part) && problem.ends_with("status 1"), "{name}: {problem}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
