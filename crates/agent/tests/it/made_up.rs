//! Deployments that are made up, seen directly and by an agent: both see the same.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use stampede_core::{Answer, Counters, Endpoint, MeterSource, Sampling, Terms};
use stampede_seam::{
    LoadError, LoadOutcome, LoadProgress, Moment, NoAnswer, Platform as _, Running, SampleTargets, Vantage,
};
use stampede_testkit::{FakeLifetime, FakePlatform, samples};

use crate::line::{agent, call, order};

const SECOND: Duration = Duration::from_secs(1);

/// Everything that a vantage says of a deployment.
#[derive(Debug, PartialEq)]
struct Seen {
    connected: Result<(), NoAnswer>,
    refused: Result<(), NoAnswer>,
    answer: Result<Answer, NoAnswer>,
    silence: Result<Answer, NoAnswer>,
    window: Range<Moment>,
    outcome: Result<LoadOutcome, LoadError>,
    told: LoadProgress,
    /// Seconds that were told while the load ran.
    seconds: Vec<u64>,
    sampling: Sampling,
    queue: Option<u64>,
    used: Vec<Result<Option<Counters>, String>>,
    cut: Result<LoadOutcome, LoadError>,
    not_started: LoadError,
    time: Moment,
    timestamp: jiff::Timestamp,
}

fn lifetime() -> FakeLifetime {
    FakeLifetime {
        stall: Some((20 * SECOND, 30 * SECOND)),
        drain: SECOND / 2,
        unfinished: 3,
        ..FakeLifetime::serving("hi", 100.0)
    }
}

async fn see(vantage: &dyn Vantage, running: &dyn Running) -> Seen {
    let front = running.front();
    let nobody = Endpoint::Tcp("127.9.9.9:1".parse().unwrap());
    let until = |secs: u32| Moment::START + SECOND * secs;
    vantage.sleep_until(until(2)).await;
    let connected = vantage.connect(front, SECOND).await;
    let refused = vantage.connect(&nobody, SECOND).await;
    let answer = vantage.exchange(&call(front)).await;
    let mut load = vantage.load(order(front, "open:50")).unwrap();
    let targets = SampleTargets {
        inside: None,
        cpus: stampede_core::Limit::Unlimited,
        meters: running.meters(),
        listeners: Vec::new(),
        statuses: Vec::new(),
    };
    let sampler = vantage.sample(targets, load.window()).unwrap();
    let meters = running.meters();
    let groups: [&[MeterSource]; 3] = [&meters, &[], &[MeterSource::CgroupV2 { dir: "/nowhere".into() }]];
    let mut seconds = Vec::new();
    let (told, used) = loop {
        // As whoever conducts a trial does.
        vantage.sleep_until(vantage.now() + SECOND / 10).await;
        let used = vantage.counters(&groups).groups;
        let view = load.look();
        seconds.extend(view.slices.iter().map(|slice| slice.second));
        if view.is_finished {
            break (view.progress, used);
        }
    };
    let window = load.window();
    let queue = sampler.queue();
    let outcome = load.finish().await;
    let sampling = sampler.finish().await;
    vantage.sleep_until(until(12)).await;
    let mut load = vantage.load(order(front, "closed:4")).unwrap();
    vantage.sleep_until(until(15)).await;
    load.cut();
    let cut = load.finish().await;
    let not_started = match vantage.load(order(&nobody, "closed:4")) {
        Err(error) => error,
        Ok(load) => load.finish().await.unwrap_err(),
    };
    vantage.sleep_until(until(22)).await;
    let silence = vantage.exchange(&call(front)).await;
    vantage.sleep_until(until(25)).await;
    Seen {
        connected,
        refused,
        answer,
        silence,
        window,
        outcome,
        told,
        seconds,
        sampling,
        queue,
        used,
        cut,
        not_started,
        time: vantage.now(),
        timestamp: vantage.timestamp(),
    }
}

/// By an agent over a stream of so many bytes, or directly.
async fn seen(by_agent: Option<usize>) -> Seen {
    let platform = FakePlatform::new(|_| lifetime());
    let running = platform.launch(&samples::deployment("a"), &Terms::of(samples::LIMITS)).await.unwrap();
    let direct = Arc::clone(platform.vantage());
    match by_agent {
        Some(bytes) => {
            let (vantage, _served) = agent(direct, bytes).await;
            see(vantage.as_ref(), running.as_ref()).await
        }
        None => see(direct.as_ref(), running.as_ref()).await,
    }
}

fn run(by_agent: Option<usize>) -> Seen {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(seen(by_agent))
}

#[test]
fn an_agent_sees_what_is_seen_directly() {
    let directly = run(None);
    assert!(directly.outcome.is_ok() && directly.cut.is_ok() && directly.answer.is_ok(), "{directly:?}");
    for bytes in [64 << 10, 100, 3] {
        let by_agent = run(Some(bytes));
        assert_eq!(by_agent.told.failed, directly.told.failed, "{bytes}");
        let all = |seen: &Seen| {
            let last = seen.outcome.as_ref().unwrap().result.slices.iter().map(|slice| slice.second);
            seen.seconds.iter().copied().chain(last).collect::<Vec<_>>()
        };
        // When a second is told depends on when it was looked at; each is told once.
        assert_eq!(all(&by_agent), all(&directly), "{bytes}");
        assert_eq!(without_seconds(by_agent), without_seconds(run(None)), "{bytes}");
    }
}

fn without_seconds(mut seen: Seen) -> Seen {
    if let Ok(outcome) = &mut seen.outcome {
        outcome.result.slices.clear();
    }
    Seen { seconds: Vec::new(), ..seen }
}
