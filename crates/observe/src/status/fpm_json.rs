//! PHP-FPM's page with `?json`. <https://www.php.net/manual/en/fpm.status.php>

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
}

pub(super) fn decode(text: &str) -> serde_json::Result<Vec<(Gauge, u64)>> {
    let Page { accepted, queue, queue_bound, idle, active, total, max_children_reached } = serde_json::from_str(text)?;
    let mut figures = vec![
        (Gauge::BusyWorkers, active),
        (Gauge::IdleWorkers, idle),
        (Gauge::TotalWorkers, total),
        (Gauge::Accepted, accepted),
        (Gauge::MaxChildrenReached, max_children_reached),
    ];
    // FPM asks the kernel by TCP_INFO, which a unix socket does not have: then it shows 0 of 0.
    if queue_bound > 0 {
        figures.push((Gauge::Queue, queue));
    }
    Ok(figures)
}
