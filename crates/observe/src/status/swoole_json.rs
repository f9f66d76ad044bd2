//! What Swoole's `Server::stats()` gives, told by a worker. <https://wiki.swoole.com/en/#/server/methods?id=stats>

use serde::Deserialize;
use stampede_core::Gauge;

#[derive(Deserialize)]
struct Stats {
    worker_num: u64,
    idle_worker_num: u64,
    connection_num: u64,
    accept_count: u64,
    request_count: u64,
}

pub(super) fn decode(text: &str) -> serde_json::Result<Vec<(Gauge, u64)>> {
    let Stats { worker_num, idle_worker_num, connection_num, accept_count, request_count } =
        serde_json::from_str(text)?;
    // The worker that answers is not idle, and would be otherwise.
    let idle = (idle_worker_num + 1).min(worker_num);
    Ok(vec![
        (Gauge::BusyWorkers, worker_num - idle),
        (Gauge::IdleWorkers, idle),
        (Gauge::TotalWorkers, worker_num),
        (Gauge::Connections, connection_num.saturating_sub(1)),
        (Gauge::Accepted, accept_count),
        (Gauge::Requests, request_count),
    ])
}
