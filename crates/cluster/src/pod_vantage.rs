//! From where a pod is seen.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use stampede_core::{Answer, Counters, Endpoint, Fut, MeterSource};
use stampede_seam::{
    Call, LoadError, LoadHandle, LoadOrder, LoadSpec, Moment, NoAnswer, Reading, SampleTargets, SamplerHandle,
    SamplingError, Vantage,
};

use crate::clocks::Clocks;
use crate::pod_agent::PodAgent;
use crate::sampling::PodSamplers;

/// Sees the pods of a deployment from a generator's, and their counters from inside. Its clock is that of whoever shares loads among generators.
#[derive(Clone, Debug)]
pub struct PodVantage {
    load: Arc<dyn Vantage>,
    /// An agent in a generator's pod, beside those that drive load.
    eyes: PodAgent,
    /// Threads of each generator.
    threads: u32,
    /// None as long as nobody is in a container.
    inside: Vec<Inside>,
}

/// An agent in a container under test.
#[derive(Clone, Debug)]
struct Inside {
    agent: PodAgent,
    clocks: Clocks,
    /// Where its container's counters are, from inside.
    meter: MeterSource,
    /// What that is called from here, where containers of several pods have theirs at the same place.
    called: MeterSource,
}

impl PodVantage {
    /// Sees no counters. Each load is driven by so many threads of each generator.
    pub fn new(load: Arc<dyn Vantage>, eyes: PodAgent, threads: u32) -> Self {
        Self { load, eyes, threads, inside: Vec::new() }
    }

    /// The same, with an agent in the container of each pod, which finds its counters there.
    pub(crate) fn with_inside(&self, pods: Vec<(PodAgent, MeterSource)>) -> Self {
        let several = pods.len() > 1;
        let inside = (1..).zip(pods).map(|(number, (agent, meter))| Inside {
            clocks: Clocks::of(&*self.load, &agent),
            called: if several { of_pod(number, &meter) } else { meter.clone() },
            agent,
            meter,
        });
        Self { inside: inside.collect(), ..self.clone() }
    }

    /// Where the counters of each pod are, as they are asked for here.
    pub(crate) fn meters(&self) -> Vec<MeterSource> {
        self.inside.iter().map(|pod| pod.called.clone()).collect()
    }
}

/// The place of a pod's counters, told from that of others.
fn of_pod(number: usize, meter: &MeterSource) -> MeterSource {
    let in_pod = |dir: &Path| PathBuf::from(format!("/pod-{number}{}", dir.display()));
    match meter {
        MeterSource::CgroupV1 { cpu, cpuacct, memory } => {
            MeterSource::CgroupV1 { cpu: in_pod(cpu), cpuacct: in_pod(cpuacct), memory: in_pod(memory) }
        }
        MeterSource::CgroupV2 { dir } => MeterSource::CgroupV2 { dir: in_pod(dir) },
    }
}

impl Inside {
    /// What is read of its own sources in each group.
    fn counters(&self, groups: &[&[MeterSource]]) -> Reading {
        let own = |sources: &&[MeterSource]| vec![self.meter.clone(); usize::from(sources.contains(&self.called))];
        let own: Vec<Vec<MeterSource>> = groups.iter().map(own).collect();
        let read = self.agent.counters(&own.iter().map(Vec::as_slice).collect::<Vec<_>>());
        Reading { at: self.clocks.here(&self.agent, read.at), groups: read.groups }
    }
}

impl Vantage for PodVantage {
    fn now(&self) -> Moment {
        self.load.now()
    }

    fn timestamp(&self) -> Timestamp {
        self.load.timestamp()
    }

    fn sleep_until(&self, until: Moment) -> Fut<'_, ()> {
        Box::pin(async move {
            // Counters of that moment have come then, where somebody asks for some.
            let each =
                self.inside.iter().map(|Inside { agent, clocks, .. }| agent.sleep_until(clocks.there(agent, until)));
            join_all(each).await;
            self.load.sleep_until(until).await;
        })
    }

    fn connect<'a>(&'a self, endpoint: &'a Endpoint, timeout: Duration) -> Fut<'a, Result<(), NoAnswer>> {
        self.eyes.connect(endpoint, timeout)
    }

    fn exchange<'a>(&'a self, call: &'a Call) -> Fut<'a, Result<Answer, NoAnswer>> {
        self.eyes.exchange(call)
    }

    /// Those of pods are added up. None once the agent in a container is lost: it may have ended with its container, and whoever watches
    /// the pod knows why.
    fn counters(&self, groups: &[&[MeterSource]]) -> Reading {
        let nothing = || Reading { at: self.now(), groups: groups.iter().map(|_| Ok(None)).collect() };
        if self.inside.is_empty() || self.inside.iter().any(|pod| pod.agent.why_lost().is_some()) {
            return nothing();
        }
        let readings: Vec<Reading> = self.inside.iter().map(|pod| pod.counters(groups)).collect();
        let sum = |(place, sources): (usize, &&[MeterSource])| -> Result<Option<Counters>, String> {
            let mut sum = None;
            for (reading, _) in readings.iter().zip(&self.inside).filter(|(_, pod)| sources.contains(&pod.called)) {
                // What is not known of one pod is not known of all.
                let Some(read) = reading.groups.get(place).cloned().unwrap_or(Ok(None))? else { return Ok(None) };
                *sum.get_or_insert_with(Counters::default) += read;
            }
            Ok(sum)
        };
        let groups = groups.iter().enumerate().map(sum).collect();
        Reading { at: readings.iter().map(|reading| reading.at).max().unwrap_or_else(|| self.now()), groups }
    }

    fn load(&self, order: LoadOrder) -> Result<Box<dyn LoadHandle>, LoadError> {
        // Whose numbers these are is another machine's: generators count them.
        let cpus = (0..self.threads).collect();
        self.load.load(LoadOrder { spec: LoadSpec { cpus, ..order.spec.clone() }, ..order })
    }

    fn sample(&self, targets: SampleTargets, window: Range<Moment>) -> Result<Box<dyn SamplerHandle>, SamplingError> {
        let in_pod = |Inside { agent, clocks, meter, called: _ }: &Inside| {
            let window = clocks.there(agent, window.start)..clocks.there(agent, window.end);
            agent.sample(SampleTargets { meters: vec![meter.clone()], ..targets.clone() }, window)
        };
        let mut samplers = self.inside.iter().map(in_pod).collect::<Result<Vec<_>, _>>()?;
        match (samplers.pop(), samplers.is_empty()) {
            (None, _) => Err(SamplingError("nobody is in the container".to_owned())),
            (Some(only), true) => Ok(only),
            (Some(last), false) => {
                samplers.push(last);
                Ok(Box::new(PodSamplers(samplers)))
            }
        }
    }

    fn refuses_io_uring(&self) -> bool {
        self.load.refuses_io_uring()
    }

    fn why_lost(&self) -> Option<String> {
        self.load.why_lost().or_else(|| self.eyes.why_lost())
    }
}

#[cfg(test)]
mod tests {
    use stampede_agent::{AgentHost, PATIENCE, serve};
    use stampede_core::Terms;
    use stampede_kubernetes::AgentStream;
    use stampede_seam::Platform as _;
    use stampede_testkit::samples::{self, LIMITS};
    use stampede_testkit::{FakeLifetime, FakePlatform};
    use tokio::io::{duplex, split};
    use tokio::task::JoinHandle;

    use super::*;

    /// An agent of this process that sees what a vantage does, and the task that serves it.
    async fn agent(vantage: &Arc<dyn Vantage>) -> (PodAgent, JoinHandle<()>) {
        let (ours, theirs) = duplex(1 << 16);
        let (input, output) = split(theirs);
        let vantage = Arc::clone(vantage);
        let served = tokio::spawn(async move {
            // How it ends is what the other side sees.
            let _ = serve(vantage, AgentHost::default(), input, output, PATIENCE).await;
        });
        let (output, input) = split(ours);
        let stream = AgentStream {
            pod: "p".to_owned(),
            node: "n".to_owned(),
            output: Box::new(output),
            input: Box::new(input),
            said: Box::new(String::new),
        };
        (PodAgent::begin(stream).await.unwrap(), served)
    }

    #[tokio::test(start_paused = true)]
    async fn counters_are_those_of_the_moment_that_was_waited_for_on_our_clock() {
        let ours = FakePlatform::new(|_| FakeLifetime::serving("hi", 100.0));
        // The clock in the pod began later.
        tokio::time::sleep(Duration::from_secs(7)).await;
        let pod = FakePlatform::new(|_| FakeLifetime::serving("hi", 100.0));
        let running = pod.launch(&samples::deployment("a"), &Terms::of(LIMITS)).await.unwrap();
        let meters = running.meters();
        let (eyes, _served) = agent(ours.vantage()).await;
        let blind = PodVantage::new(Arc::clone(ours.vantage()), eyes, 3);
        assert_eq!(blind.counters(&[&meters]).groups, [Ok(None)]);
        let (inside, served) = agent(pod.vantage()).await;
        let [meter] = &meters[..] else { panic!("one meter") };
        let seen = blind.with_inside(vec![(inside, meter.clone())]);
        assert_eq!(seen.meters(), meters);
        seen.counters(&[&meters]);
        for _ in 0..3 {
            let edge = seen.now() + Duration::from_millis(1500);
            seen.sleep_until(edge).await;
            let read = seen.counters(&[&meters]);
            assert!(read.at >= edge && read.at.since(edge) < Duration::from_millis(2), "{read:?} {edge:?}");
            assert!(matches!(read.groups[..], [Ok(Some(_))]), "{read:?}");
        }
        served.abort();
        let later = seen.now() + PATIENCE * 2;
        seen.sleep_until(later).await;
        assert_eq!(seen.counters(&[&meters]).groups, [Ok(None)], "whoever watches the pod knows why");
        assert!(seen.now() >= later);
    }

    #[tokio::test(start_paused = true)]
    async fn counters_of_pods_are_added_up_and_are_known_of_each() {
        let ours = FakePlatform::new(|_| FakeLifetime::serving("hi", 100.0));
        let pods = [(); 2].map(|()| FakePlatform::new(|_| FakeLifetime::serving("hi", 100.0)));
        let (eyes, _served) = agent(ours.vantage()).await;
        let (mut inside, mut serving, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for pod in &pods {
            let running = pod.launch(&samples::deployment("a"), &Terms::of(LIMITS)).await.unwrap();
            let (agent, served) = agent(pod.vantage()).await;
            inside.push((agent, running.meters()[0].clone()));
            serving.push(served);
            all.push(running);
        }
        let seen = PodVantage::new(Arc::clone(ours.vantage()), eyes, 1).with_inside(inside);
        let meters = seen.meters();
        assert_ne!(meters[0], meters[1], "both containers have theirs at the same place");
        let groups: [&[MeterSource]; 3] = [&meters, &meters[..1], &meters[1..]];
        seen.counters(&groups);
        let edge = seen.now() + Duration::from_millis(1500);
        seen.sleep_until(edge).await;
        let read = seen.counters(&groups);
        assert!(read.at >= edge && read.at.since(edge) < Duration::from_millis(2), "{read:?} {edge:?}");
        let known: Vec<Counters> = read.groups.into_iter().map(|group| group.unwrap().unwrap()).collect();
        let [sum, one, other] = known[..] else { panic!("three groups") };
        assert!(
            one.memory.needed() > 0 && sum.memory.needed() == one.memory.needed() + other.memory.needed(),
            "{sum:?}"
        );
        for served in serving.drain(1..) {
            served.abort();
        }
        let later = seen.now() + PATIENCE * 2;
        seen.sleep_until(later).await;
        assert_eq!(seen.counters(&groups).groups, [Ok(None), Ok(None), Ok(None)], "one of them is lost");
    }

    #[tokio::test(start_paused = true)]
    async fn a_load_has_the_threads_of_generators() {
        let ours = FakePlatform::new(|_| FakeLifetime::serving("hi", 100.0));
        let running = ours.launch(&samples::deployment("a"), &Terms::of(LIMITS)).await.unwrap();
        let (eyes, _served) = agent(ours.vantage()).await;
        let seen = PodVantage::new(Arc::clone(ours.vantage()), eyes, 3);
        let order = samples::load_order(running.front(), "closed:4".parse().unwrap());
        drop(seen.load(order).unwrap());
        assert_eq!(ours.fake_vantage().loads()[0].spec.cpus, [0, 1, 2]);
    }
}
