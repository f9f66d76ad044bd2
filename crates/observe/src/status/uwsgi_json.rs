//! What uWSGI's stats server gives. <https://uwsgi-docs.readthedocs.io/en/latest/StatsServer.html>

use serde::Deserialize;
use stampede_core::Gauge;

#[derive(Deserialize)]
struct Stats {
    sockets: Vec<Socket>,
    workers: Vec<Worker>,
}

#[derive(Deserialize)]
struct Socket {
    name: String,
    queue: u64,
}

#[derive(Deserialize)]
struct Worker {
    status: String,
    requests: u64,
    respawn_count: u64,
}

pub(super) fn decode(text: &str) -> serde_json::Result<Vec<(Gauge, u64)>> {
    let Stats { sockets, workers } = serde_json::from_str(text)?;
    let count = |status: &str| workers.iter().filter(|worker| worker.status == status).count() as u64;
    let mut figures = vec![
        (Gauge::BusyWorkers, count("busy")),
        (Gauge::IdleWorkers, count("idle")),
        // A worker that is not there for the time being is `cheap`.
        (Gauge::TotalWorkers, workers.len() as u64 - count("cheap")),
        (Gauge::Requests, workers.iter().map(|worker| worker.requests).sum()),
        // The first start of a worker is counted too.
        (Gauge::Restarts, workers.iter().map(|worker| worker.respawn_count.saturating_sub(1)).sum()),
    ];
    // It asks the kernel by TCP_INFO, which a unix socket does not have: then it shows 0.
    let queues: Vec<u64> =
        sockets.iter().filter(|socket| !socket.name.starts_with('/')).map(|socket| socket.queue).collect();
    if !queues.is_empty() {
        figures.push((Gauge::Queue, queues.iter().sum()));
    }
    Ok(figures)
}
