//! An agent of this process.

use std::sync::Arc;
use std::time::Duration;

use stampede_agent::{AgentHost, AgentVantage, LineError, PATIENCE, serve};
use stampede_core::{Endpoint, Request};
use stampede_seam::{Call, LoadOrder, Vantage};
use stampede_testkit::samples;
use tokio::io::{duplex, split};
use tokio::task::JoinHandle;

/// An agent that serves what a vantage sees, and why it ended. The stream takes no more bytes than these at once.
pub(crate) async fn agent(
    vantage: Arc<dyn Vantage>,
    bytes: usize,
) -> (Arc<AgentVantage>, JoinHandle<Result<(), LineError>>) {
    let (ours, theirs) = duplex(bytes);
    let (input, output) = split(theirs);
    let served = tokio::spawn(serve(vantage, AgentHost::default(), input, output, PATIENCE));
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
pub(crate) fn order(target: &Endpoint, load: &str) -> LoadOrder {
    let mut order = samples::load_order(target, load.parse().unwrap());
    (order.spec.warm_up, order.spec.duration) = (Duration::from_secs(1), Duration::from_secs(3));
    order
}
