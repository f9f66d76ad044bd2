//! Connections and exchanges with servers that answer, refuse, and do neither.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
use stampede_core::{Endpoint, Request};
use stampede_seam::{Call, Vantage as _};
use stampede_testkit::{Behaviour, CountingServer};
use stampede_vantage::Here;

fn request() -> Request {
    Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() }
}

/// A socket that listens with room for one connection, and the connections that fill it: others are dropped by the kernel, which
/// tries again for two minutes.
fn full_queue() -> (SocketAddr, OwnedFd, Vec<TcpStream>) {
    let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&listener, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    listen(&listener, 0).unwrap();
    let address = SocketAddr::try_from(rustix::net::getsockname(&listener).unwrap()).unwrap();
    let within = Duration::from_millis(200);
    let waiting = (0..8).map_while(|_| TcpStream::connect_timeout(&address, within).ok()).collect();
    (address, listener, waiting)
}

#[tokio::test]
async fn a_queue_that_is_full_is_waited_for_no_longer_than_was_asked() {
    let here = Here::new();
    let (address, _listener, waiting) = full_queue();
    assert!(waiting.len() < 8, "the queue takes all");
    let began = here.now();
    let connected = here.connect(&Endpoint::Tcp(address), Duration::from_millis(300)).await;
    let took = here.now().since(began);
    assert!(connected.unwrap_err().problem.starts_with("not connected within 300ms"));
    assert!((Duration::from_millis(300)..Duration::from_secs(10)).contains(&took), "{took:?}");
}

#[tokio::test]
async fn a_port_where_nobody_listens_refuses_at_once_and_one_that_does_is_open() {
    let here = Here::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
    assert_eq!(here.connect(&endpoint, Duration::from_secs(5)).await, Ok(()));
    drop(listener);
    let refused = here.connect(&endpoint, Duration::from_secs(5)).await.unwrap_err();
    assert!(refused.problem.contains("refused") && !refused.waited, "{refused:?}");
}

#[tokio::test]
async fn an_answer_comes_whole_and_one_that_does_not_come_was_waited_for() {
    let here = Here::new();
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let call = |endpoint: Endpoint| Call {
        endpoint,
        tls: None,
        host: None,
        request: request(),
        timeout: Duration::from_secs(5),
    };
    let answer = here.exchange(&call(server.endpoint().clone())).await.unwrap();
    assert_eq!(answer.status, 200);
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let call = Call { timeout: Duration::from_millis(200), ..call(Endpoint::Tcp(silent.local_addr().unwrap())) };
    assert!(here.exchange(&call).await.unwrap_err().waited);
}
