//! What a generator can offer at most.
//!
//! It drives a short closed load at a server that answers at once, on its own machine. What counts is the CPU time that a request took
//! it there, and not how many there were: the server has used processors that the generator has for itself later.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use stampede_core::{Endpoint, Load, Protocol, Request};
use stampede_seam::{Backend, Check, LoadExchange, LoadOrder, LoadResult, LoadSpec, Pause, Statuses};

/// How long the load takes: long enough for thousands of requests on a slow machine, and short beside any load that is measured.
const WARM_UP: Duration = Duration::from_millis(100);

/// The windows, one after the other until one has enough requests: on a machine that is busy the server may get no time in a short one.
pub(crate) const WINDOWS: [Duration; 3] =
    [Duration::from_millis(300), Duration::from_millis(1200), Duration::from_millis(4800)];

/// Connections for each thread: enough that it always has something to do.
const CONNECTIONS: u32 = 16;

/// Fewer requests say nothing.
const FEWEST: u64 = 20;

/// The load of one window, on these processors.
pub(crate) fn order(server: SocketAddr, cpus: &[u32], window: Duration, backend: Backend) -> LoadOrder {
    let request =
        Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() };
    let spec = LoadSpec {
        targets: vec![Endpoint::Tcp(server)],
        host: server.to_string(),
        protocol: Protocol::Http11,
        tls: None,
        exchanges: vec![LoadExchange::new(request, Check::new(Statuses::only(200), Vec::new()))],
        load: Load::Closed { connections: CONNECTIONS * (cpus.len() as u32).max(1) },
        think: Pause::default(),
        scenario: None,
        warm_up: WARM_UP,
        duration: window,
        requests: None,
        drain: window,
        timeout: None,
        keep_alive: true,
        seed: 0,
        shard: None,
        source: None,
        slices: false,
        cpus: cpus.to_vec(),
        backend,
    };
    LoadOrder { spec, link: None, begins: None, turns: Vec::new() }
}

/// Requests a second that so many processors can begin, by what came of the load.
pub(crate) fn rate(result: &LoadResult, processors: f64) -> Result<f64, String> {
    let (requests, cpu) = (result.total.requests.ok, result.generator.cpu.as_secs_f64());
    if requests < FEWEST || cpu <= 0.0 {
        return Err(format!("its own server answered only {requests} requests in {:?}", result.window));
    }
    Ok(requests as f64 / cpu * processors)
}

#[cfg(test)]
mod tests {
    use stampede_testkit::samples;

    use super::*;

    #[test]
    fn the_most_is_what_its_processors_have_time_for() {
        let mut result = samples::load_result();
        (result.total.requests.ok, result.generator.cpu) = (3000, Duration::from_millis(150));
        assert_eq!(rate(&result, 2.0), Ok(40_000.0));
        assert_eq!(rate(&result, 0.5), Ok(10_000.0));
        result.total.requests.ok = 19;
        assert_eq!(rate(&result, 2.0), Err(format!("its own server answered only 19 requests in {:?}", result.window)));
    }
}
