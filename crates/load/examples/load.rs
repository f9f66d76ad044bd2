//! Drives a load at an address and prints what was measured:
//! `load 127.0.0.1:8080 /path closed:16 5 epoll` for 16 connections and 5 seconds.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use stampede_core::{Endpoint, Protocol, Request};
use stampede_load::{Backend, Check, LoadExchange, LoadSpec, Pause, Statuses, start};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [address, path, load, seconds, backend] = args.as_slice() else {
        return Err("give an address, a path, a load, a number of seconds and a backend".into());
    };
    let named = Backend::ALL.into_iter().find(|known| known.to_string() == *backend);
    let get = Request { method: "GET".to_owned(), path: path.clone(), headers: BTreeMap::new(), body: Vec::new() };
    let running = start(LoadSpec {
        targets: vec![Endpoint::Tcp(address.parse()?)],
        protocol: Protocol::Http11,
        tls: None,
        host: address.clone(),
        exchanges: vec![LoadExchange::new(get, Check::new(Statuses::only(200), Vec::new()))],
        load: load.parse()?,
        think: Pause::default(),
        scenario: None,
        warm_up: Duration::from_millis(500),
        duration: Duration::from_secs(seconds.parse()?),
        requests: None,
        drain: Duration::from_secs(2),
        timeout: None,
        keep_alive: true,
        seed: 1,
        shard: None,
        source: None,
        slices: false,
        cpus: vec![0],
        backend: named.ok_or("the backends are epoll and io-uring")?,
    })?;
    let result = running.finish();

    let answers = result.total.response.count();
    println!("{:.0} answers/s", answers as f64 / result.window.as_secs_f64());
    println!("{:?} {:?} {} reconnects", result.total.requests, result.total.errors, result.reconnects);
    println!("response time {:?}", result.total.response);
    println!("service time  {:?}", result.total.service);
    let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|q| result.total.lateness.quantile(q));
    println!("lateness p50 {p50:?}, p99 {p99:?}, p99.9 {p999:?}");
    let generator = result.generator.cpu.as_secs_f64() * 1e6 / answers as f64;
    println!("{generator:.2} us of the generator's CPU time an answer");
    if let Some(failure) = result.first_failure {
        println!("first failure: {}", failure.detail);
    }
    Ok(())
}
