//! From where a pod is seen.

use std::future::Future as _;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use jiff::Timestamp;
use stampede_agent::AgentVantage;
use stampede_core::{Answer, Endpoint, Fut, MeterSource};
use stampede_seam::{
    Call, LoadError, LoadHandle, LoadOrder, LoadSpec, Moment, NoAnswer, Reading, SampleTargets, SamplerHandle,
    SamplingError, Vantage,
};

use crate::clocks::Clocks;
use crate::pod_agent::PodAgent;

/// Sees a pod from a generator's, and its counters from inside. Its clock is that of whoever shares loads among generators.
#[derive(Clone, Debug)]
pub struct PodVantage {
    load: Arc<dyn Vantage>,
    /// An agent in a generator's pod, beside those that drive load.
    eyes: PodAgent,
    /// Threads of each generator.
    threads: u32,
    inside: Option<Inside>,
}

/// An agent in a container under test.
#[derive(Clone, Debug)]
struct Inside {
    agent: PodAgent,
    clocks: Clocks,
}

impl PodVantage {
    /// Sees no counters. Each load is driven by so many threads of each generator.
    pub fn new(load: Arc<dyn Vantage>, eyes: PodAgent, threads: u32) -> Self {
        Self { load, eyes, threads, inside: None }
    }

    /// Why nothing is seen any more, where single requests can no longer be sent.
    pub(crate) fn lost(&self) -> Option<String> {
        lost(&self.eyes)
    }

    /// The same, with an agent in a container.
    pub(crate) fn with_inside(&self, agent: PodAgent) -> Self {
        let clocks = Clocks::of(&*self.load, &agent);
        let inside = Some(Inside { agent, clocks });
        Self { inside, ..self.clone() }
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
            if let Some(Inside { agent, clocks }) = &self.inside {
                // Counters of that moment have come then, where somebody asks for some.
                agent.sleep_until(clocks.there(agent, until)).await;
            }
            self.load.sleep_until(until).await;
        })
    }

    fn connect<'a>(&'a self, endpoint: &'a Endpoint, timeout: Duration) -> Fut<'a, Result<(), NoAnswer>> {
        self.eyes.connect(endpoint, timeout)
    }

    fn exchange<'a>(&'a self, call: &'a Call) -> Fut<'a, Result<Answer, NoAnswer>> {
        self.eyes.exchange(call)
    }

    /// None once the agent in the container is lost: it may have ended with its container, and whoever watches the pod knows why.
    fn counters(&self, groups: &[&[MeterSource]]) -> Reading {
        let nothing = || Reading { at: self.now(), groups: groups.iter().map(|_| Ok(None)).collect() };
        let Some(Inside { agent, clocks }) = &self.inside else { return nothing() };
        if lost(agent).is_some() {
            return nothing();
        }
        let read = agent.counters(groups);
        Reading { at: clocks.here(agent, read.at), groups: read.groups }
    }

    fn load(&self, order: LoadOrder) -> Result<Box<dyn LoadHandle>, LoadError> {
        // Whose numbers these are is another machine's: generators count them.
        let cpus = (0..self.threads).collect();
        self.load.load(LoadOrder { spec: LoadSpec { cpus, ..order.spec.clone() }, ..order })
    }

    fn sample(&self, targets: SampleTargets, window: Range<Moment>) -> Result<Box<dyn SamplerHandle>, SamplingError> {
        let Some(Inside { agent, clocks }) = &self.inside else {
            return Err(SamplingError("nobody is in the container".to_owned()));
        };
        agent.sample(targets, clocks.there(agent, window.start)..clocks.there(agent, window.end))
    }

    fn refuses_io_uring(&self) -> bool {
        self.load.refuses_io_uring()
    }
}

/// Why an agent is lost, where it is; found out without waiting.
fn lost(agent: &AgentVantage) -> Option<String> {
    match pin!(agent.lost()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(lost) => Some(lost.to_string()),
        Poll::Pending => None,
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
        let seen = blind.with_inside(inside);
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
