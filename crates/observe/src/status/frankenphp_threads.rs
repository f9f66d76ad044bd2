//! What FrankenPHP's administration end point says of its threads. Where some of them are workers, these are the pool:
//! the others serve what is not for a worker.

use serde::Deserialize;
use stampede_core::Gauge;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    thread_debug_states: Vec<Thread>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Thread {
    name: String,
    /// Otherwise it waits. `IsWaiting` is looked at a moment later, and may say the same of a thread that has changed meanwhile.
    is_busy: bool,
    /// Not told by earlier versions, as the next one.
    request_count: Option<u64>,
    memory_usage: Option<u64>,
}

pub(super) fn decode(text: &str) -> serde_json::Result<Vec<(Gauge, u64)>> {
    let Page { thread_debug_states: mut threads } = serde_json::from_str(text)?;
    if threads.iter().any(Thread::is_worker) {
        threads.retain(Thread::is_worker);
    }
    let sum = |figure: fn(&Thread) -> Option<u64>| threads.iter().map(figure).sum::<Option<u64>>();
    let (busy, total) = (threads.iter().filter(|thread| thread.is_busy).count() as u64, threads.len() as u64);
    let mut figures =
        vec![(Gauge::BusyWorkers, busy), (Gauge::IdleWorkers, total - busy), (Gauge::TotalWorkers, total)];
    figures.extend(sum(|thread| thread.request_count).map(|sum| (Gauge::Requests, sum)));
    figures.extend(sum(|thread| thread.memory_usage).map(|sum| (Gauge::WorkerMemoryBytes, sum)));
    Ok(figures)
}

impl Thread {
    fn is_worker(&self) -> bool {
        self.name.starts_with("Worker ")
    }
}
