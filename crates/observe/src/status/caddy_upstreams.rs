//! What Caddy's administration end point says of the servers behind it: the requests that each is working on.
//! <https://caddyserver.com/docs/api#get-reverse-proxyupstreams>

use serde::Deserialize;
use stampede_core::Gauge;

#[derive(Deserialize)]
struct Upstream {
    num_requests: u64,
}

pub(super) fn decode(text: &str) -> serde_json::Result<Vec<(Gauge, u64)>> {
    let upstreams: Vec<Upstream> = serde_json::from_str(text)?;
    Ok(vec![(Gauge::InFlight, upstreams.iter().map(|upstream| upstream.num_requests).sum())])
}
