//! What the tests of open loads ask for.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::thread::sched_getaffinity;
use stampede_core::{Counts, Endpoint, Protocol, Request};
use stampede_load::{Check, LoadExchange, LoadResult, LoadSpec, Measures, Pause, Statuses};

pub(crate) const MS: Duration = Duration::from_millis(1);

/// The processors that the tests may use.
pub(crate) fn cpus() -> Vec<u32> {
    let allowed = sched_getaffinity(None).unwrap();
    (0..1024).filter(|cpu| allowed.is_set(*cpu as usize)).collect()
}

/// `GET /` that must not be answered with an error, for 500 ms on one processor, without a warm-up.
pub(crate) fn spec(target: &Endpoint, load: &str) -> LoadSpec {
    let request =
        Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() };
    LoadSpec {
        targets: vec![target.clone()],
        protocol: Protocol::Http11,
        tls: None,
        host: "localhost".to_owned(),
        exchanges: vec![LoadExchange { request, check: Check::new(Statuses::new(vec![200..=399]), Vec::new()) }],
        load: load.parse().unwrap(),
        think: Pause::default(),
        scenario: None,
        warm_up: Duration::ZERO,
        duration: 500 * MS,
        requests: None,
        drain: 2000 * MS,
        timeout: None,
        keep_alive: true,
        seed: 1,
        cpus: cpus()[..1].to_vec(),
    }
}

/// Sums of warm-up and window, after a check that each adds up.
pub(crate) fn total(result: &LoadResult) -> Counts {
    for counts in [result.total.warm_up, result.total.requests] {
        assert_eq!(counts.sent, counts.ok + counts.failed + counts.unfinished, "{counts:?}");
    }
    let Measures { requests, warm_up, .. } = &result.total;
    Counts {
        sent: warm_up.sent + requests.sent,
        ok: warm_up.ok + requests.ok,
        failed: warm_up.failed + requests.failed,
        unfinished: warm_up.unfinished + requests.unfinished,
    }
}
