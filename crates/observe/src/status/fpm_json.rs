//! PHP-FPM's page with `?json`, or with `?json&full`, which tells what each worker does.
//! <https://www.php.net/manual/en/fpm.status.php>

use serde::Deserialize;
use stampede_core::Gauge;

#[derive(Deserialize)]
struct Page {
    #[serde(rename = "accepted conn")]
    accepted: u64,
    #[serde(rename = "listen queue")]
    queue: u64,
    #[serde(rename = "listen queue len")]
    queue_bound: u64,
    #[serde(rename = "idle processes")]
    idle: u64,
    #[serde(rename = "active processes")]
    active: u64,
    #[serde(rename = "total processes")]
    total: u64,
    #[serde(rename = "max children reached")]
    max_children_reached: u64,
    processes: Option<Vec<Process>>,
}

#[derive(Deserialize)]
struct Process {
    state: String,
}

const IDLE: &str = "Idle";

/// What a worker does on a connection that brought nothing more yet.
const BETWEEN_REQUESTS: &str = "Reading headers";

pub(super) fn decode(text: &str) -> serde_json::Result<Vec<(Gauge, u64)>> {
    let Page { accepted, queue, queue_bound, idle, active, total, max_children_reached, processes } =
        serde_json::from_str(text)?;
    let mut figures = match processes {
        // FPM's own sums count a worker as one more active one with each request on a kept connection (php-src #14212).
        Some(processes) => {
            let of = |state: &str| processes.iter().filter(|process| process.state == state).count() as u64;
            let (all, idle, kept) = (processes.len() as u64, of(IDLE), of(BETWEEN_REQUESTS));
            vec![
                (Gauge::BusyWorkers, all - idle - kept),
                (Gauge::IdleWorkers, idle),
                (Gauge::KeptWorkers, kept),
                (Gauge::TotalWorkers, all),
            ]
        }
        None => vec![(Gauge::BusyWorkers, active), (Gauge::IdleWorkers, idle), (Gauge::TotalWorkers, total)],
    };
    figures.extend([(Gauge::Accepted, accepted), (Gauge::MaxChildrenReached, max_children_reached)]);
    // FPM asks the kernel by TCP_INFO, which a unix socket does not have: then it shows 0 of 0.
    if queue_bound > 0 {
        figures.push((Gauge::Queue, queue));
    }
    Ok(figures)
}
