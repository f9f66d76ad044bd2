//! Open loads, loads by count and time-outs against a server that counts what it receives.

use std::io::Write as _;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use stampede_core::{Endpoint, ErrorClass};
use stampede_load::{Backend, LoadResult, LoadSpec, start};
use stampede_testkit::{Behaviour, Close, CountingServer, Fault, Received};

use crate::asking::{MS, cpus, on_each_backend, spec, total};

on_each_backend! {
    an_open_load_sends_every_request_of_its_schedule,
    the_warm_up_of_an_open_load_has_the_first_rate_and_is_counted_apart,
    threads_share_an_open_load,
    a_load_by_count_sends_exactly_so_many,
    a_count_that_is_not_reached_in_time_ends_with_the_time,
    time_outs_are_failures_at_their_age,
    requests_that_find_no_connection_wait_and_what_is_never_sent_counts_at_its_age,
    an_aborted_open_load_counts_what_was_due_until_then,
    a_server_that_closes_while_a_connection_is_idle_loses_nothing,
    without_keep_alive_every_request_has_a_connection_of_its_own,
    nobody_listening_fails_every_request_of_an_open_load_once,
    littles_law_holds,
}

/// Drives the load at a server that behaves so, and checks that it received exactly what the result says.
fn measure(behaviour: Behaviour, spec: impl FnOnce(&Endpoint) -> LoadSpec) -> (LoadResult, Received) {
    let server = CountingServer::start(behaviour).unwrap();
    let result = start(spec(server.endpoint())).unwrap().finish();
    let received = server.stop();
    assert_eq!(received.requests(), total(&result).sent, "{result:?}");
    (result, received)
}

fn an_open_load_sends_every_request_of_its_schedule(backend: Backend) {
    for (load, count) in
        [("open:400", 200), ("open:100..700/500ms", 200), ("open:100/100ms,0/200ms,1000", 210), ("open:0.5", 1)]
    {
        let (result, received) = measure(Behaviour::default(), |target| spec(backend, target, load));
        assert_eq!(
            (result.total.requests.ok, result.total.unsent, result.total.censored.count),
            (count, 0, 0),
            "{load} {result:?}"
        );
        assert_eq!((result.reconnects, &result.first_failure), (0, &None), "{load}");
        // Connections open when none is free, and not before.
        assert!(received.connections <= result.total.requests.ok, "{load} {}", received.connections);
        assert_eq!(result.total.connect.count(), received.connections, "{load}");
        for latencies in
            [&result.total.response, &result.total.service, &result.total.first_byte, &result.total.lateness]
        {
            assert_eq!(latencies.count(), count, "{load}");
        }
    }
}

fn the_warm_up_of_an_open_load_has_the_first_rate_and_is_counted_apart(backend: Backend) {
    let (result, _) = measure(Behaviour::default(), |target| LoadSpec {
        warm_up: 100 * MS,
        ..spec(backend, target, "open:200..600/500ms")
    });
    assert_eq!((result.total.warm_up.ok, result.total.requests.ok), (20, 200), "{result:?}");
}

fn threads_share_an_open_load(backend: Backend) {
    if cpus().len() < 2 {
        let _ = writeln!(std::io::stderr(), "SKIP threads_share_an_open_load: needs two processors");
        return;
    }
    for (load, count) in [("open:400@5", Some(200)), ("open:poisson:400@5", None)] {
        let on = |threads| {
            let (result, received) = measure(Behaviour::default(), |target| LoadSpec {
                cpus: cpus()[..threads].to_vec(),
                warm_up: 50 * MS,
                ..spec(backend, target, load)
            });
            assert_eq!(result.generator.threads, threads as u32);
            assert!(received.connections <= 5);
            assert_eq!(result.total.requests.ok, result.total.requests.sent, "{result:?}");
            result.total.requests.ok
        };
        let alone = on(1);
        assert_eq!(on(2), alone, "{load}");
        assert!(count.is_none_or(|count| count == alone), "{load} {alone}");
    }
}

fn a_load_by_count_sends_exactly_so_many(backend: Backend) {
    for (load, threads) in
        [("closed:7", 1), ("closed:7", 2), ("open:2000", 1), ("open:2000", 2), ("open:poisson:2000@3", 2)]
    {
        if cpus().len() < threads {
            let _ = writeln!(
                std::io::stderr(),
                "SKIP a_load_by_count_sends_exactly_so_many ({load} on {threads}): needs {threads} processors"
            );
            continue;
        }
        for requests in [1, 100, 333] {
            let started = Instant::now();
            let (result, _) = measure(Behaviour::default(), |target| LoadSpec {
                requests: Some(requests),
                duration: Duration::from_secs(60),
                cpus: cpus()[..threads].to_vec(),
                ..spec(backend, target, load)
            });
            assert_eq!(
                (result.total.requests.sent, result.total.requests.ok),
                (requests, requests),
                "{load} {result:?}"
            );
            // It ends with the last of them, and so does its window.
            assert!(result.window <= started.elapsed() && result.window < Duration::from_secs(30), "{load} {result:?}");
        }
    }
    let (result, _) = measure(Behaviour::default(), |target| LoadSpec {
        requests: Some(50),
        warm_up: 50 * MS,
        duration: Duration::from_secs(60),
        ..spec(backend, target, "closed:3")
    });
    assert!(result.total.requests.ok == 50 && result.total.warm_up.ok > 0, "{result:?}");
}

fn a_count_that_is_not_reached_in_time_ends_with_the_time(backend: Backend) {
    let behaviour = Behaviour { delay: 20 * MS, ..Behaviour::default() };
    let (result, _) = measure(behaviour, |target| LoadSpec {
        requests: Some(100_000),
        duration: 200 * MS,
        ..spec(backend, target, "closed:2")
    });
    assert!((4..=20).contains(&result.total.requests.ok), "{result:?}");
    assert!(result.window <= 200 * MS, "{result:?}");
}

fn time_outs_are_failures_at_their_age(backend: Backend) {
    for load in ["closed:4", "open:100", "open:100@2"] {
        let behaviour = Behaviour { fault: Some((Fault::NoAnswer, 5)), ..Behaviour::default() };
        let (result, received) =
            measure(behaviour, |target| LoadSpec { timeout: Some(60 * MS), ..spec(backend, target, load) });
        let timed_out = received.faults;
        assert!(timed_out > 3, "{load} {received:?}");
        assert_eq!(result.total.errors, [(ErrorClass::TimedOut, timed_out)].into(), "{load} {result:?}");
        assert_eq!((result.total.requests.failed, result.total.censored.count), (timed_out, timed_out), "{load}");
        assert_eq!(result.total.response.count(), result.total.requests.sent, "{load}");
        assert_eq!(result.total.service.count(), result.total.requests.ok, "{load}");
        let least = result.total.censored.least.unwrap();
        assert!((60 * MS..90 * MS).contains(&least), "{load} {least:?}");
        assert!(result.total.censored.bounds(result.total.response.max()));
        assert_eq!(result.first_failure.unwrap().detail, "no complete answer came in time");
    }
}

fn requests_that_find_no_connection_wait_and_what_is_never_sent_counts_at_its_age(backend: Backend) {
    // Two connections of 50 ms an answer carry 40 requests a second, and 200 a second are due.
    let behaviour = Behaviour { delay: 50 * MS, ..Behaviour::default() };
    let (result, received) =
        measure(behaviour, |target| LoadSpec { drain: 200 * MS, ..spec(backend, target, "open:200@2") });
    let requests = result.total.requests;
    assert_eq!(received.connections, 2);
    assert_eq!(requests.sent + result.total.unsent, 100, "{result:?}");
    assert!((20..=30).contains(&requests.ok), "{result:?}");
    assert_eq!(result.total.censored.count, requests.unfinished + result.total.unsent, "{result:?}");
    // All 100 have a response time; those in the queue when the load ended are at least as old as the drain.
    assert_eq!(result.total.response.count(), 100);
    assert!(result.total.censored.least.is_some_and(|least| least >= 200 * MS), "{result:?}");
    assert!(result.total.response.quantile(0.5) >= 200 * MS, "{result:?}");
    assert!(result.total.service.quantile(0.5) < 80 * MS, "{result:?}");
    // The server was slow, not the generator.
    assert_eq!(result.saturation, None, "{result:?}");
}

fn an_aborted_open_load_counts_what_was_due_until_then(backend: Backend) {
    let behaviour = Behaviour { fault: Some((Fault::NoAnswer, 1)), ..Behaviour::default() };
    let server = CountingServer::start(behaviour).unwrap();
    let spec = LoadSpec { duration: Duration::from_secs(3600), ..spec(backend, server.endpoint(), "open:100@3") };
    let load = start(spec).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while server.requests() < 3 {
        assert!(Instant::now() < deadline, "{} requests", server.requests());
        std::thread::sleep(MS);
    }
    load.abort();
    let result = load.finish();
    assert_eq!((result.total.requests.unfinished, server.stop().requests()), (3, 3));
    let due = result.window.as_secs_f64() * 100.0;
    let counted = (result.total.requests.sent + result.total.unsent) as f64;
    assert!((due.floor()..=due + 1.0).contains(&counted), "{due} {counted}");
}

fn a_server_that_closes_while_a_connection_is_idle_loses_nothing(backend: Backend) {
    for close in [Close::Announced(1), Close::Silent(1), Close::Silent(3)] {
        let behaviour = Behaviour { close, ..Behaviour::default() };
        let (result, _) = measure(behaviour, |target| spec(backend, target, "open:200@4"));
        assert_eq!((result.total.requests.ok, result.total.requests.sent), (100, 100), "{close:?} {result:?}");
        assert!(result.reconnects > 0, "{close:?}");
    }
}

fn without_keep_alive_every_request_has_a_connection_of_its_own(backend: Backend) {
    for load in ["closed:4", "open:400"] {
        // The server would keep the connection: it is the client that closes.
        let (result, received) =
            measure(Behaviour::default(), |target| LoadSpec { keep_alive: false, ..spec(backend, target, load) });
        assert_eq!(received.connections, result.total.requests.ok, "{load}");
        assert_eq!((result.total.requests.ok, result.reconnects), (result.total.requests.sent, 0), "{load} {result:?}");
        assert_eq!(result.total.connect.count(), result.total.requests.ok, "{load}");
        let request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        assert_eq!(result.bytes_sent, result.total.requests.sent * request.len() as u64);
    }
}

fn nobody_listening_fails_every_request_of_an_open_load_once(backend: Backend) {
    let endpoint = Endpoint::Tcp(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let result = start(spec(backend, &endpoint, "open:2000@8")).unwrap().finish();
    assert_eq!(result.total.errors, [(ErrorClass::Refused, 1000)].into(), "{result:?}");
    assert_eq!((result.total.requests.sent, result.total.requests.failed), (1000, 1000));
    let unix = Endpoint::Unix("/nonexistent/socket".into());
    let result = start(spec(backend, &unix, "open:2000@8")).unwrap().finish();
    assert_eq!((result.total.requests.sent, result.total.requests.failed), (1000, 1000), "{result:?}");
}

fn littles_law_holds(backend: Backend) {
    for load in ["closed:8", "open:200", "open:poisson:200@6"] {
        let behaviour = Behaviour { delay: 20 * MS, ..Behaviour::default() };
        let (result, _) = measure(behaviour, |target| LoadSpec { warm_up: 100 * MS, ..spec(backend, target, load) });
        let ratio = result.littles_law.ratio().unwrap();
        assert!((ratio - 1.0).abs() < 0.02, "{load} {ratio} {:?}", result.littles_law);
        if load == "closed:8" {
            let in_flight = result.littles_law.in_flight(result.window);
            assert!((in_flight - 8.0).abs() < 0.2, "{in_flight}");
        }
    }
}
