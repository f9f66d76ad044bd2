//! Drives a closed load at an address and prints what was measured:
//! `closed_load 127.0.0.1:8080 /path 16 5` for 16 connections and 5 seconds.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use stampede_core::{Endpoint, Load, Protocol, Request};
use stampede_load::{Check, LoadExchange, LoadSpec, Pause, Statuses, start};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [address, path, connections, seconds] = args.as_slice() else {
        return Err("give an address, a path, a number of connections and of seconds".into());
    };
    let get = Request { method: "GET".to_owned(), path: path.clone(), headers: BTreeMap::new(), body: Vec::new() };
    let load = start(LoadSpec {
        targets: vec![Endpoint::Tcp(address.parse()?)],
        protocol: Protocol::Http11,
        tls: None,
        host: address.clone(),
        exchanges: vec![LoadExchange { request: get, check: Check::new(Statuses::only(200), Vec::new()) }],
        load: Load::Closed { connections: connections.parse()? },
        think: Pause::default(),
        scenario: None,
        warm_up: Duration::from_millis(500),
        duration: Duration::from_secs(seconds.parse()?),
        requests: None,
        drain: Duration::from_secs(2),
        timeout: None,
        keep_alive: true,
        seed: 1,
        cpus: vec![0],
    })?;
    let result = load.finish();

    let answers = result.total.response.count();
    println!("{:.0} answers/s", answers as f64 / result.window.as_secs_f64());
    println!("{:?} {:?} {} reconnects", result.total.requests, result.total.errors, result.reconnects);
    println!("response time {:?}", result.total.response);
    println!("service time  {:?}", result.total.service);
    let generator = result.generator.cpu.as_secs_f64() * 1e6 / answers as f64;
    println!("{generator:.2} us of the generator's CPU time an answer");
    if let Some(failure) = result.first_failure {
        println!("first failure: {}", failure.detail);
    }
    Ok(())
}
