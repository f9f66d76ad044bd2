//! An agent of this process.

use std::sync::Arc;
use std::time::Duration;

use stampede_agent::{AgentVantage, LineError, PATIENCE, serve};
use stampede_core::Endpoint;
use stampede_core::{Load, Protocol, Request};
use stampede_seam::{Backend, Call, Check, LoadExchange, LoadOrder, LoadSpec, Pause, Statuses, Vantage};
use tokio::io::{duplex, split};
use tokio::task::JoinHandle;

/// An agent that serves what a vantage sees, and why it ended. The stream takes no more bytes than these at once.
pub(crate) async fn agent(
    vantage: Arc<dyn Vantage>,
    bytes: usize,
) -> (Arc<AgentVantage>, JoinHandle<Result<(), LineError>>) {
    let (ours, theirs) = duplex(bytes);
    let (input, output) = split(theirs);
    let served = tokio::spawn(serve(vantage, input, output, PATIENCE));
    let (input, output) = split(ours);
    (AgentVantage::begin("local", input, output, PATIENCE).await.unwrap(), served)
}

pub(crate) fn request() -> Request {
    Request { method: "GET".to_owned(), path: "/".to_owned(), headers: Default::default(), body: Vec::new() }
}

pub(crate) fn call(endpoint: &Endpoint) -> Call {
    let timeout = Duration::from_secs(2);
    Call { endpoint: endpoint.clone(), tls: None, host: None, request: request(), timeout }
}

/// A load of three seconds after one of warm-up.
pub(crate) fn order(target: &Endpoint, load: &str, cpu: u32) -> LoadOrder {
    let load: Load = load.parse().unwrap();
    LoadOrder {
        spec: LoadSpec {
            targets: vec![target.clone()],
            host: target.to_string(),
            protocol: Protocol::Http11,
            tls: None,
            exchanges: vec![LoadExchange { request: request(), check: Check::new(Statuses::only(200), Vec::new()) }],
            load,
            think: Pause::default(),
            scenario: None,
            warm_up: Duration::from_secs(1),
            duration: Duration::from_secs(3),
            requests: None,
            drain: Duration::from_secs(5),
            timeout: None,
            keep_alive: true,
            seed: 1,
            shard: None,
            slices: true,
            cpus: vec![cpu],
            backend: Backend::Epoll,
        },
        link: None,
        begins: None,
        turns: Vec::new(),
    }
}
