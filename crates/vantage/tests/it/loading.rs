//! A load through the vantage: as many requests as the server counts, on the vantage's own clock, and over a way that delays.

use std::time::Duration;

use stampede_core::{ClientLink, Endpoint};
use stampede_seam::{LoadOrder, Vantage as _};
use stampede_testkit::{Behaviour, CountingServer, samples};
use stampede_vantage::Here;

fn order(target: &Endpoint, link: Option<ClientLink>) -> LoadOrder {
    let mut order = LoadOrder { link, ..samples::load_order(target, "open:50".parse().unwrap()) };
    order.spec.warm_up = Duration::from_millis(200);
    order
}

#[tokio::test]
async fn a_load_sends_what_the_server_counts_and_may_take_a_way_that_delays() {
    let here = Here::new();
    for rtt in [None, Some(Duration::from_millis(20))] {
        let server = CountingServer::start(Behaviour::default()).unwrap();
        let link = rtt.map(|rtt| ClientLink { rtt, bits_per_second: None });
        let mut load = here.load(order(server.endpoint(), link)).unwrap();
        let window = load.window();
        assert_eq!(window.end.since(window.start), Duration::from_secs(1));
        let mut told = 0;
        loop {
            let view = load.look();
            told += view.slices.iter().map(|slice| slice.ok).sum::<u64>();
            if view.is_finished {
                break;
            }
            here.sleep_until(here.now() + Duration::from_millis(20)).await;
        }
        let outcome = load.finish().await.unwrap();
        let result = outcome.result;
        let (all, received) = (result.total.requests.sent + result.total.warm_up.sent, server.requests());
        assert_eq!((result.total.requests.ok, all), (50, received));
        assert_eq!(told + result.slices.iter().map(|slice| slice.ok).sum::<u64>(), 50);
        assert_eq!(outcome.link.is_some(), rtt.is_some());
        let fastest = result.total.service.min();
        assert!(rtt.is_none_or(|rtt| fastest >= rtt), "{fastest:?}");
    }
}

#[tokio::test]
async fn a_way_leads_to_one_address() {
    let here = Here::new();
    let link = ClientLink { rtt: Duration::ZERO, bits_per_second: None };
    let socket = Endpoint::Unix("/nowhere/socket".into());
    let refused = here.load(order(&socket, Some(link))).map(drop).unwrap_err();
    assert_eq!(refused.to_string(), "has a front that no client is away from: /nowhere/socket");
}
