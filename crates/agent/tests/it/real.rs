//! Real servers, seen by an agent over a stream that takes few bytes.

use std::time::Duration;

use stampede_core::Endpoint;
use stampede_seam::{SampleTargets, Vantage as _};
use stampede_testkit::{Behaviour, CountingServer};
use stampede_vantage::Here;

use crate::line::{agent, call, order};

#[tokio::test]
async fn a_load_by_an_agent_sends_what_the_server_counts() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let (vantage, served) = agent(Here::new(), 1000).await;
    assert_eq!(vantage.connect(server.endpoint(), Duration::from_secs(5)).await, Ok(()));
    let answer = vantage.exchange(&call(server.endpoint())).await.unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (200, b"Hello, World!".as_slice()));
    let before = server.requests();

    let mut order = order(server.endpoint(), "open:50");
    (order.spec.warm_up, order.spec.duration) = (Duration::from_millis(200), Duration::from_secs(1));
    let mut load = vantage.load(order).unwrap();
    let targets = SampleTargets {
        inside: None,
        cpus: stampede_core::Limit::Unlimited,
        meters: Vec::new(),
        listeners: Vec::new(),
        statuses: Vec::new(),
    };
    let sampler = vantage.sample(targets, load.window()).unwrap();
    let (mut ok, mut slices) = (0, 0);
    loop {
        vantage.sleep_until(vantage.now() + Duration::from_millis(20)).await;
        let view = load.look();
        ok = view.progress.ok.max(ok);
        slices += view.slices.iter().map(|slice| slice.ok).sum::<u64>();
        if view.is_finished {
            break;
        }
    }
    let window = load.window();
    assert_eq!(window.end.since(window.start), Duration::from_secs(1));
    let result = load.finish().await.unwrap().result;
    let all = result.total.requests.sent + result.total.warm_up.sent;
    assert_eq!((result.total.requests.ok, all, ok), (50, server.requests() - before, all));
    assert_eq!(slices + result.slices.iter().map(|slice| slice.ok).sum::<u64>(), 50);
    assert_eq!((result.total.service.count(), result.total.response.count()), (50, 50));
    assert!(!sampler.finish().await.series.is_empty());

    let check = vantage.check_clock().await.unwrap();
    // One process has one clock.
    assert!(check.drift() <= check.first.bound + check.last.bound, "{check:?}");
    drop(vantage);
    assert_eq!(served.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn a_load_that_cannot_be_started_fails_where_its_result_is_waited_for() {
    let (vantage, _served) = agent(Here::new(), 1000).await;
    let endpoint = Endpoint::Tcp("127.0.0.1:9".parse().unwrap());
    let mut nowhere = order(&endpoint, "open:50");
    nowhere.spec.cpus = vec![4000];
    let load = vantage.load(nowhere).unwrap();
    let error = load.finish().await.unwrap_err();
    assert!(error.to_string().starts_with("start the load: pin a thread to processor 4000"), "{error}");
}

#[tokio::test]
async fn a_load_that_is_dropped_ends_where_the_agent_is() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let (vantage, _served) = agent(Here::new(), 1000).await;
    let mut load = vantage.load(order(server.endpoint(), "open:200")).unwrap();
    while load.look().progress.ok == 0 {
        vantage.sleep_until(vantage.now() + Duration::from_millis(5)).await;
    }
    drop(load);
    // Requests are obeyed in turn, and an agent has ended a load when it obeys the next.
    vantage.check_clock().await.unwrap();
    let ended = server.requests();
    vantage.sleep_until(vantage.now() + Duration::from_millis(100)).await;
    assert_eq!(server.requests(), ended);
}
