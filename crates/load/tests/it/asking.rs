//! What the tests ask for, and with which backends.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use rustix::thread::sched_getaffinity;
use stampede_core::{Counts, Endpoint, Protocol, Request};
use stampede_load::{Backend, Check, LoadExchange, LoadResult, LoadSpec, Measures, Pause, Statuses, try_out};

pub(crate) const MS: Duration = Duration::from_millis(1);

/// The processors that the tests may use.
pub(crate) fn cpus() -> Vec<u32> {
    let allowed = sched_getaffinity(None).unwrap();
    (0..1024).filter(|cpu| allowed.is_set(*cpu as usize)).collect()
}

/// The backends that this machine permits; a test that goes without one of them says so.
pub(crate) fn backends(test: &str) -> Vec<Backend> {
    let permitted = |backend: &Backend| match try_out(*backend) {
        Ok(()) => true,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "SKIP {test} on {backend}: needs {backend}: {error}");
            false
        }
    };
    Backend::ALL.into_iter().filter(permitted).collect()
}

/// Has each function run as a test with each backend.
#[allow(unused_macros, reason = "each test program uses a part of it")]
macro_rules! on_each_backend {
    ($($name:ident),* $(,)?) => {
        mod epoll {
            $(#[test] fn $name() { super::$name(stampede_load::Backend::Epoll); })*
        }
        mod io_uring {
            $(#[test] fn $name() {
                let io_uring = stampede_load::Backend::IoUring;
                if crate::asking::backends(stringify!($name)).contains(&io_uring) {
                    super::$name(io_uring);
                }
            })*
        }
    };
}
#[allow(unused_imports, reason = "each test program uses a part of it")]
pub(crate) use on_each_backend;

/// `GET /` that must not be answered with an error, for 500 ms on one processor, without a warm-up.
pub(crate) fn spec(backend: Backend, target: &Endpoint, load: &str) -> LoadSpec {
    let request =
        Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() };
    LoadSpec {
        targets: vec![target.clone()],
        protocol: Protocol::Http11,
        tls: None,
        host: "localhost".to_owned(),
        exchanges: vec![LoadExchange::new(request, Check::new(Statuses::new(vec![200..=399]), Vec::new()))],
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
        shard: None,
        source: None,
        slices: false,
        cpus: cpus()[..1].to_vec(),
        backend,
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
