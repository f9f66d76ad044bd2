//! nginx's `stub_status`. <https://nginx.org/en/docs/http/ngx_http_stub_status_module.html>

use stampede_core::Gauge;

pub(super) fn decode(text: &str) -> Option<Vec<(Gauge, u64)>> {
    let after = |word: &str| -> Option<u64> {
        let (_, rest) = text.split_once(word)?;
        rest.split_whitespace().next()?.parse().ok()
    };
    let (_, counters) = text.split_once("requests")?;
    let mut counters = counters.split_whitespace().map(str::parse::<u64>);
    let (accepts, _handled, requests) = (counters.next()?.ok()?, counters.next()?.ok()?, counters.next()?.ok()?);
    let (active, reading, writing) = (after("Active connections:")?, after("Reading:")?, after("Writing:")?);
    Some(vec![
        (Gauge::Connections, active.saturating_sub(1)),
        (Gauge::InFlight, (reading + writing).saturating_sub(1)),
        (Gauge::Accepted, accepts),
        (Gauge::Requests, requests),
    ])
}
