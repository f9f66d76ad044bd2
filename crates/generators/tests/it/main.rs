//! Generators in this process, over streams of its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod hold_back;

use std::sync::Arc;
use std::time::Duration;

use stampede_agent::{AgentHost, AgentVantage, PATIENCE, serve};
use stampede_core::Latencies;
use stampede_generators::{Generators, Member};
use stampede_seam::{Backend, LoadOrder, LoadOutcome, LoadResult, StartSkew, Vantage as _};
use stampede_stats::{Confidence, Interval, mean_interval};
use stampede_testkit::{Behaviour, CountingServer, samples};
use stampede_vantage::Here;
use tokio::io::{duplex, split};

use crate::hold_back::HoldBack;

/// A generator, and what holds back what it is sent.
async fn member(name: &str) -> (Member, HoldBack) {
    let (ours, relayed) = duplex(1 << 16);
    let (theirs, far) = duplex(1 << 16);
    let hold_back = HoldBack::between(relayed, theirs);
    let (input, output) = split(far);
    let host = AgentHost { cpus: vec![0, 1], boot: "here".to_owned(), io_uring_refused: None };
    tokio::spawn(serve(Here::new(), host, input, output, PATIENCE));
    let (input, output) = split(ours);
    let agent = AgentVantage::begin(name, input, output, PATIENCE).await.unwrap();
    (Member::of(agent).await.unwrap(), hold_back)
}

async fn generators(count: usize) -> (Arc<Generators>, Vec<HoldBack>) {
    let (mut members, mut holds) = (Vec::new(), Vec::new());
    for number in 1..=count {
        let (member, hold) = member(&format!("g{number}")).await;
        members.push(member);
        holds.push(hold);
    }
    (Generators::of(Here::new(), members, "here".to_owned()), holds)
}

fn order(server: &CountingServer, load: &str, duration: Duration) -> LoadOrder {
    let mut order = samples::load_order(server.endpoint(), load.parse().unwrap());
    (order.spec.warm_up, order.spec.duration) = (Duration::ZERO, duration);
    order
}

/// Drives a load to its end, and what is done once it has begun to.
async fn drive(generators: &Generators, order: LoadOrder, then: impl FnOnce()) -> LoadOutcome {
    let mut load = generators.load(order).unwrap();
    then();
    while !load.look().is_finished {
        generators.sleep_until(generators.now() + Duration::from_millis(20)).await;
    }
    load.finish().await.unwrap()
}

fn all(result: &LoadResult) -> u64 {
    let requests = result.total.requests;
    requests.ok + requests.failed + requests.unfinished
}

#[tokio::test]
async fn parts_add_up_to_what_the_server_counts() {
    let (generators, _holds) = generators(3).await;
    for load in ["open:300", "closed:5", "closed:2"] {
        let server = CountingServer::start(Behaviour::default()).unwrap();
        let LoadOutcome { result, generators: parts, .. } =
            drive(&generators, order(&server, load, Duration::from_secs(1)), || {}).await;
        // Who has no connection has no part.
        assert_eq!(parts.len(), if load == "closed:2" { 2 } else { 3 }, "{load}");
        let results: Vec<_> = parts.iter().map(|part| part.result.clone().unwrap()).collect();
        assert_eq!(LoadResult::merged(&results).unwrap().total, result.total, "{load}");
        assert_eq!((all(&result), result.total.requests.sent), (server.requests(), server.requests()), "{load}");
        let mut sum = Latencies::new();
        results.iter().for_each(|part| sum.merge(&part.total.response));
        assert_eq!(sum, result.total.response, "{load}");
        let (_, bound) = StartSkew::between(&parts).unwrap();
        assert!(bound < Duration::from_millis(100), "{load} {bound:?}");
        assert_eq!(server.stop().requests(), all(&result), "{load}");
    }
}

#[tokio::test]
async fn one_whose_order_comes_late_begins_late_and_is_named() {
    let (generators, holds) = generators(4).await;
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let held = &holds[2];
    let outcome = drive(&generators, order(&server, "closed:4", Duration::from_secs(2)), || {
        held.for_a_while(Duration::from_millis(900));
    });
    let LoadOutcome { result, generators: parts, .. } = outcome.await;
    let faults: Vec<_> = parts.iter().flat_map(|part| &part.faults).filter(|fault| fault.contains(" began ")).collect();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(
        faults[0].starts_with("generator g3 began ") && faults[0].contains(" ms after the moment for all"),
        "{faults:?}"
    );
    assert_eq!(all(&result), server.stop().requests());
}

#[tokio::test]
async fn a_target_that_joins_has_its_share_of_all_generators_connections() {
    let (generators, _holds) = generators(3).await;
    let [old, joined] = [(), ()].map(|()| CountingServer::start(Behaviour::default()).unwrap());
    let mut load = generators.load(order(&old, "open:300@12", Duration::from_secs(3))).unwrap();
    let look = async |until: &dyn Fn() -> bool| {
        while !until() {
            generators.sleep_until(generators.now() + Duration::from_millis(5)).await;
        }
    };
    look(&|| old.open_connections() == 12).await;
    load.set_targets(&[old.endpoint().clone(), joined.endpoint().clone()]);
    look(&|| old.open_connections() == 6 && joined.open_connections() == 6).await;
    let outcome = load.finish().await.unwrap();
    assert_eq!(all(&outcome.result), old.stop().requests() + joined.stop().requests());
    assert_eq!(outcome.result.total.requests.failed, 0);
}

#[tokio::test]
async fn what_each_can_send_at_most_is_measured_before() {
    let (generators, _holds) = generators(3).await;
    let most = generators.measure_most(&[0], Backend::Epoll).await;
    let names: Vec<_> = most.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["g1", "g2", "g3"]);
    let most: Vec<f64> = most.into_iter().map(|(_, most)| most.unwrap()).collect();
    // More than a second has time for in any build, and less than the kernel takes.
    assert!(most.iter().all(|most| (100.0..10_000_000.0).contains(most)), "{most:?}");
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let outcome = drive(&generators, order(&server, "open:90", Duration::from_secs(1)), || {}).await;
    let kept: Vec<_> = outcome.generators.iter().filter_map(|part| part.most_rps).collect();
    assert_eq!(kept, most);
    assert_eq!(server.stop().requests(), 90);
}

/// Pairs of runs whose ratios are taken together.
const PAIRS: usize = 8;

#[tokio::test]
#[ignore = "compares response times, which needs a quiet machine"]
async fn two_generators_measure_the_percentiles_of_one() {
    let behaviour = Behaviour { delay: Duration::from_millis(5), ..Behaviour::default() };
    let quantiles = [0.5, 0.9, 0.99];
    let mut ratios = quantiles.map(|_| Vec::new());
    for pair in 0..PAIRS {
        let mut measured = [quantiles.map(|_| 0.0); 2];
        // What the machine does meanwhile falls on the first as often as on the second.
        for count in if pair % 2 == 0 { [1, 2] } else { [2, 1] } {
            let (generators, _holds) = generators(count).await;
            let server = CountingServer::start(behaviour.clone()).unwrap();
            let outcome = drive(&generators, order(&server, "open:poisson:400", Duration::from_secs(2)), || {}).await;
            measured[count - 1] = quantiles.map(|q| outcome.result.total.response.quantile(q).as_secs_f64());
        }
        for (number, ratios) in ratios.iter_mut().enumerate() {
            ratios.push((measured[1][number] / measured[0][number]).ln());
        }
    }
    for (q, ratios) in quantiles.into_iter().zip(ratios) {
        let Interval { low, high, .. } = mean_interval(&ratios, Confidence::with_error(0.01).unwrap()).unwrap().exp();
        let said = format!("p{}: two to one {low:.4} to {high:.4}", q * 100.0);
        println!("{said}");
        assert!(low <= 1.0 && 1.0 <= high, "{said}");
        // A machine that scatters more says nothing of the body of the distribution.
        assert!(q > 0.9 || high / low < 1.05, "not quiet enough: {said}");
    }
}
