//! The engine against a server that counts what it receives: its figures are never held against themselves.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::TcpListener;
use std::num::NonZeroU32;
use std::thread;
use std::time::{Duration, Instant};

use stampede_core::{Counts, Endpoint, ErrorClass, Request};
use stampede_load::{
    Backend, BodyCheck, Check, LoadExchange, LoadResult, LoadSpec, Shard, StartError, Statuses, start,
};
use stampede_testkit::{Behaviour, Close, CountingServer, Fault, Received};

use crate::asking::{self, MS, cpus, on_each_backend, total};

on_each_backend! {
    every_request_on_kept_connections_is_counted_once,
    the_window_holds_what_was_due_in_it_and_load_does_not_pause_before_it,
    a_close_between_answers_is_a_reconnect_and_no_error,
    what_is_never_answered_is_unfinished,
    a_close_in_place_of_an_answer_is_a_failure_and_not_sent_again,
    wrong_answers_are_counted_exactly_and_kept_as_evidence,
    an_answer_that_breaks_off_is_an_error_without_latency,
    answers_in_small_pieces_are_read_whole,
    a_large_request_and_a_large_answer_pass_through_full_buffers,
    a_slow_server_has_its_delay_as_latency_and_connections_over_delay_as_throughput,
    opening_a_connection_is_response_time_and_not_service_time,
    exchanges_take_turns,
    exchanges_come_as_often_as_their_weight,
    nobody_listening_is_refused_at_a_bounded_rate,
    a_unix_socket_is_a_target,
    connections_are_spread_over_threads_and_never_fewer_than_they,
    an_abort_ends_at_once_and_keeps_what_was_seen,
    what_cannot_be_started_says_why,
}

fn exchange(path: &str, check: Check) -> LoadExchange {
    let (method, path) = ("GET".to_owned(), path.to_owned());
    LoadExchange::new(Request { method, path, headers: BTreeMap::new(), body: Vec::new() }, check)
}

fn right(body: BodyCheck) -> Check {
    Check::new(Statuses::only(200), vec![body])
}

/// 100 ms of warm-up and 300 ms of window on one processor.
fn spec(backend: Backend, target: &Endpoint, connections: u32) -> LoadSpec {
    LoadSpec {
        exchanges: vec![exchange("/", right(BodyCheck::Equals(Behaviour::default().body)))],
        warm_up: 100 * MS,
        duration: 300 * MS,
        ..asking::spec(backend, target, &format!("closed:{connections}"))
    }
}

/// Drives the load at a server that behaves so, and checks that it received exactly what the result says.
fn measure(behaviour: Behaviour, spec: impl FnOnce(&Endpoint) -> LoadSpec) -> (LoadResult, Received) {
    let server = CountingServer::start(behaviour).unwrap();
    let result = start(spec(server.endpoint())).unwrap().finish();
    let received = server.stop();
    let total = total(&result);
    assert_eq!(received.requests(), total.ok + total.failed + total.unfinished, "{total:?} {:?}", result.first_failure);
    assert!(total.ok > 0, "{result:?}");
    (result, received)
}

fn every_request_on_kept_connections_is_counted_once(backend: Backend) {
    let (result, received) = measure(Behaviour::default(), |target| spec(backend, target, 8));
    let Counts { sent, ok, failed: 0, unfinished: 0 } = result.total.requests else {
        panic!("{result:?}");
    };
    assert_eq!((ok, received.connections), (sent, 8));
    assert_eq!((result.reconnects, result.first_failure), (0, None));
    assert_eq!(result.total.status, [(200, ok)].into());
    assert_eq!((result.total.service.count(), result.total.response.count()), (ok, ok));
    assert_eq!(result.bytes_sent, ok * "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".len() as u64);
    assert_eq!(
        result.bytes_received,
        ok * "HTTP/1.1 200 Status\r\nContent-Length: 13\r\n\r\nHello, World!".len() as u64
    );
    assert_eq!(result.generator.threads, 1);
    assert!(result.generator.cpu > Duration::ZERO && result.generator.cpu < 350 * MS, "{:?}", result.generator);
}

fn the_window_holds_what_was_due_in_it_and_load_does_not_pause_before_it(backend: Backend) {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let connections = 4;
    let load = start(spec(backend, server.endpoint(), connections)).unwrap();
    let (opens_at, closes_at) = (load.opens_at(), load.closes_at());
    assert_eq!(closes_at - opens_at, 300 * MS);
    let result = load.finish();
    let received = server.stop();
    let in_window = |at: &&Instant| (opens_at..closes_at).contains(*at);
    let came = received.at.iter().filter(in_window).count() as u64;
    // Those on their way at an edge were due on its other side.
    assert!(
        result.total.requests.sent.abs_diff(came) <= u64::from(connections),
        "{} {came}",
        result.total.requests.sent
    );
    let near = |at: &&Instant| at.checked_duration_since(opens_at).unwrap_or(opens_at - **at) < 20 * MS;
    assert!(received.at.iter().filter(near).count() > 10);
}

fn a_close_between_answers_is_a_reconnect_and_no_error(backend: Backend) {
    for close in [Close::Announced(1), Close::Announced(3), Close::Silent(1), Close::Silent(3)] {
        let behaviour = Behaviour { close, ..Behaviour::default() };
        let (result, received) = measure(behaviour, |target| spec(backend, target, 4));
        let total = total(&result);
        assert_eq!(total.ok, total.sent, "{close:?} {result:?}");
        let (Close::Announced(answers) | Close::Silent(answers)) = close else {
            continue;
        };
        // The four first connections and those of the warm-up are no reconnects of the window.
        assert!(result.reconnects > 0, "{close:?}");
        assert!(
            result.reconnects.abs_diff(result.total.requests.ok / answers) <= 8,
            "{close:?}: {} reconnects, {} answers",
            result.reconnects,
            result.total.requests.ok
        );
        assert!(received.connections >= result.reconnects, "{close:?}");
    }
}

fn what_is_never_answered_is_unfinished(backend: Backend) {
    let behaviour = Behaviour { fault: Some((Fault::NoAnswer, 40)), ..Behaviour::default() };
    let (result, received) = measure(behaviour, |target| LoadSpec { drain: 50 * MS, ..spec(backend, target, 8) });
    let total = total(&result);
    assert_eq!((total.unfinished, total.failed), (8, 0), "{result:?}");
    // They have a response time all the same, which is at least the drain.
    assert_eq!(result.total.censored.count, result.total.requests.unfinished);
    assert_eq!(result.total.response.count(), result.total.service.count() + result.total.censored.count);
    assert!(result.total.censored.least.is_none_or(|least| least >= 50 * MS), "{:?}", result.total.censored);
    assert_eq!(received.faults, 8);
}

fn a_close_in_place_of_an_answer_is_a_failure_and_not_sent_again(backend: Backend) {
    let behaviour = Behaviour { fault: Some((Fault::Closed, 20)), ..Behaviour::default() };
    // `measure` holds the server's count against ours: none was sent twice.
    let (result, received) =
        measure(behaviour, |target| LoadSpec { warm_up: Duration::ZERO, ..spec(backend, target, 4) });
    assert_eq!(result.total.errors.get(&ErrorClass::ClosedEarly), Some(&received.faults), "{result:?}");
    assert_eq!((result.total.requests.failed, result.reconnects), (received.faults, 0), "{result:?}");
}

fn wrong_answers_are_counted_exactly_and_kept_as_evidence(backend: Backend) {
    for (fault, class, detail, offset, bytes) in [
        (Fault::WrongBody, ErrorClass::WrongBody, "the body differs from the verified one from byte 12 on", 12, "\x20"),
        (
            Fault::WrongStatus(503),
            ErrorClass::WrongStatus,
            "status 503 Service Unavailable came instead of 200 OK",
            0,
            "Hello, World!",
        ),
    ] {
        let behaviour = Behaviour { fault: Some((fault, 7)), ..Behaviour::default() };
        let (result, received) = measure(behaviour, |target| spec(backend, target, 3));
        assert_eq!(total(&result).failed, received.faults, "{fault:?}");
        assert_eq!(result.total.errors, [(class, result.total.requests.failed)].into(), "{fault:?}");
        // Wrong answers have latencies too.
        assert_eq!(result.total.response.count(), result.total.requests.sent);
        let failure = result.first_failure.unwrap();
        assert_eq!((failure.class, failure.detail.as_str()), (class, detail));
        assert_eq!(result.wrong_answers.len(), 3);
        for wrong in result.wrong_answers {
            assert_eq!((wrong.offset, wrong.bytes), (offset, bytes.as_bytes().to_vec()));
        }
    }
}

fn an_answer_that_breaks_off_is_an_error_without_latency(backend: Backend) {
    let behaviour = Behaviour { fault: Some((Fault::Truncated, 10)), ..Behaviour::default() };
    let (result, received) = measure(behaviour, |target| spec(backend, target, 4));
    assert_eq!(total(&result).failed, received.faults);
    let failed = result.total.requests.failed;
    assert_eq!(result.total.errors, [(ErrorClass::ClosedEarly, failed)].into());
    assert_eq!(result.total.service.count(), result.total.requests.ok);
    assert_eq!(result.reconnects, 0);
}

fn answers_in_small_pieces_are_read_whole(backend: Backend) {
    let behaviour = Behaviour { write_size: 2, ..Behaviour::default() };
    let (result, _) = measure(behaviour, |target| spec(backend, target, 2));
    assert_eq!(total(&result).ok, total(&result).sent);
}

fn a_large_request_and_a_large_answer_pass_through_full_buffers(backend: Backend) {
    let body: Vec<u8> = (0..4_000_000_u32).map(|number| number as u8).collect();
    let behaviour = Behaviour { body: body.clone(), ..Behaviour::default() };
    let (result, _) = measure(behaviour, |target| {
        let mut spec = spec(backend, target, 2);
        for LoadExchange { request, check, .. } in &mut spec.exchanges {
            request.method = "POST".to_owned();
            request.body = body.clone();
            check.body = vec![BodyCheck::Equals(body.clone())];
        }
        spec
    });
    assert_eq!(total(&result).ok, total(&result).sent, "{result:?}");
}

fn a_slow_server_has_its_delay_as_latency_and_connections_over_delay_as_throughput(backend: Backend) {
    let (delay, connections) = (10 * MS, 16);
    let behaviour = Behaviour { delay, ..Behaviour::default() };
    let (result, _) =
        measure(behaviour, |target| LoadSpec { duration: 1000 * MS, ..spec(backend, target, connections) });
    for latencies in [&result.total.response, &result.total.service] {
        let p50 = latencies.quantile(0.5);
        assert!((delay..delay + 2 * MS).contains(&p50), "{latencies:?}");
        assert!(latencies.min() >= delay, "{latencies:?}");
    }
    let throughput = result.total.requests.ok as f64 / result.window.as_secs_f64();
    // Little's law: what is under way is throughput times response time.
    let under_way = throughput * result.total.response.mean_ns() / 1e9;
    assert!((under_way / f64::from(connections) - 1.0).abs() < 0.02, "{under_way} of {connections}: {result:?}");
}

fn opening_a_connection_is_response_time_and_not_service_time(backend: Backend) {
    let behaviour = Behaviour { close: Close::Announced(1), ..Behaviour::default() };
    let (result, _) = measure(behaviour, |target| spec(backend, target, 1));
    assert!(result.total.response.mean_ns() > result.total.service.mean_ns() + 1000.0, "{result:?}");
}

fn exchanges_come_as_often_as_their_weight(backend: Backend) {
    for load in ["closed:1", "closed:3", "open:2000"] {
        let (result, _) = measure(Behaviour::default(), |target| {
            let mut spec =
                LoadSpec { requests: Some(600), warm_up: Duration::ZERO, ..asking::spec(backend, target, load) };
            spec.exchanges = [("/a", 3), ("/b", 1), ("/c", 2)]
                .map(|(path, weight)| {
                    let weight = NonZeroU32::new(weight).unwrap();
                    LoadExchange { weight, ..exchange(path, Check::new(Statuses::only(200), Vec::new())) }
                })
                .into();
            spec
        });
        let counts: Vec<u64> = result.steps.iter().map(|step| step.measures.requests.ok).collect();
        // Each of three connections may be in mid-cycle at the end.
        let is_near = |(count, due): (&u64, u64)| count.abs_diff(due) <= if load == "closed:3" { 3 } else { 0 };
        assert!(counts.iter().zip([300, 100, 200]).all(is_near), "{load}: {counts:?}");
    }
}

fn exchanges_take_turns(backend: Backend) {
    let (result, _) = measure(Behaviour::default(), |target| {
        let mut spec = spec(backend, target, 3);
        let any_body = Check::new(Statuses::only(200), Vec::new());
        let wrong_status = Check::new(Statuses::only(404), Vec::new());
        spec.exchanges.push(exchange("/b", any_body));
        spec.exchanges.push(exchange("/c", wrong_status));
        spec
    });
    let Counts { ok, failed, .. } = total(&result);
    assert!(ok.abs_diff(2 * failed) <= 3, "{ok} {failed}");
    assert_eq!(result.first_failure.unwrap().step, 2);
}

fn nobody_listening_is_refused_at_a_bounded_rate(backend: Backend) {
    let endpoint = Endpoint::Tcp(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let result = start(spec(backend, &endpoint, 4)).unwrap().finish();
    let Counts { sent, failed, .. } = total(&result);
    assert_eq!(sent, failed);
    let failed = result.total.requests.failed;
    assert_eq!(result.total.errors, [(ErrorClass::Refused, failed)].into());
    // 1, 2, 4 ... 100 ms: about nine pauses in the first 400 ms.
    assert!((4 * 5..4 * 12).contains(&sent), "{sent}");
    let failure = result.first_failure.unwrap();
    assert!(failure.detail.starts_with("connect: "), "{failure:?}");
}

fn a_unix_socket_is_a_target(backend: Backend) {
    let folder = tempfile::tempdir().unwrap();
    let server = CountingServer::start_unix(&folder.path().join("s"), Behaviour::default()).unwrap();
    // The listener's queue holds 128, so that some connections must queue for it.
    let result = start(spec(backend, server.endpoint(), 300)).unwrap().finish();
    let total = total(&result);
    assert_eq!((total.ok, server.stop().requests()), (total.sent, total.sent));
    assert!(total.ok >= 300);
}

fn connections_are_spread_over_threads_and_never_fewer_than_they(backend: Backend) {
    if cpus().len() < 2 {
        let _ = writeln!(
            std::io::stderr(),
            "SKIP connections_are_spread_over_threads_and_never_fewer_than_they: needs two processors"
        );
        return;
    }
    for (connections, threads) in [(1, 1), (5, 2)] {
        let (result, received) = measure(Behaviour::default(), |target| LoadSpec {
            cpus: cpus()[..2].to_vec(),
            ..spec(backend, target, connections)
        });
        assert_eq!(result.generator.threads, threads);
        assert_eq!(received.connections, u64::from(connections));
    }
}

fn an_abort_ends_at_once_and_keeps_what_was_seen(backend: Backend) {
    let behaviour = Behaviour { delay: 20 * MS, ..Behaviour::default() };
    let server = CountingServer::start(behaviour).unwrap();
    let long = |target| LoadSpec {
        duration: Duration::from_secs(3600),
        drain: Duration::from_secs(3600),
        ..spec(backend, target, 4)
    };
    let load = start(long(server.endpoint())).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while load.progress().ok < 40 {
        assert!(Instant::now() < deadline, "{:?}", load.progress());
        thread::sleep(MS);
    }
    let aborted_at = Instant::now();
    load.abort();
    let result = load.finish();
    assert!(aborted_at.elapsed() < 500 * MS);
    assert_eq!(total(&result).unfinished, 4);

    let load = start(long(server.endpoint())).unwrap();
    let dropped_at = Instant::now();
    drop(load);
    assert!(dropped_at.elapsed() < 500 * MS);
}

fn what_cannot_be_started_says_why(backend: Backend) {
    let target = Endpoint::Tcp(([127, 0, 0, 1], 1).into());
    let error = |change: fn(&mut LoadSpec)| {
        let mut spec = spec(backend, &target, 2);
        change(&mut spec);
        start(spec).map(|_| ()).unwrap_err()
    };
    assert!(matches!(error(|spec| spec.exchanges.clear()), StartError::NoExchange));
    assert!(matches!(error(|spec| spec.cpus.clear()), StartError::NoThread));
    for cpu in [1023, 5000] {
        let error =
            start(LoadSpec { cpus: vec![cpus()[0], cpu], ..spec(backend, &target, 2) }).map(|_| ()).unwrap_err();
        assert!(matches!(error, StartError::Pin { cpu: at, .. } if at == cpu));
    }
    let long = error(|spec| spec.targets = vec![Endpoint::Unix("/x".repeat(100).into())]);
    assert!(matches!(long, StartError::Target(_)));
}

#[test]
fn the_seconds_add_up_to_the_whole_on_any_number_of_threads() {
    for threads in [1, 2] {
        let server = CountingServer::start(Behaviour::default()).unwrap();
        let cpus: Vec<u32> = cpus().into_iter().cycle().take(threads).collect();
        let load =
            start(LoadSpec { slices: true, duration: 2300 * MS, cpus, ..spec(Backend::Epoll, server.endpoint(), 4) })
                .unwrap();
        let closes_at = load.closes_at();
        let mut told = Vec::new();
        while !load.is_finished() {
            assert!(Instant::now() < closes_at + Duration::from_secs(20));
            told.extend(load.slices());
            std::thread::yield_now();
        }
        assert!(!told.is_empty(), "nothing was told while load ran");
        let result = load.finish();
        told.extend(result.slices);
        let sum = |of: fn(&stampede_load::Slice) -> u64| told.iter().map(of).sum::<u64>();
        assert_eq!(told.iter().map(|slice| slice.second).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(sum(|slice| slice.sent), result.total.requests.sent);
        assert_eq!((sum(|slice| slice.ok), sum(|slice| slice.failed)), {
            let counts = result.total.requests;
            (counts.ok, counts.failed)
        });
        assert_eq!(sum(|slice| slice.service.count()), result.total.service.count());
        assert_eq!(sum(|slice| slice.bytes_sent), result.bytes_sent);
    }
}

#[test]
fn generators_that_share_a_load_send_what_one_would_and_their_results_add_up() {
    let fault = Some((Fault::WrongStatus(500), 50));
    let mut due = None;
    for of in [1, 2, 4, 7] {
        let server = CountingServer::start(Behaviour { fault, ..Behaviour::default() }).unwrap();
        let of = NonZeroU32::new(of).unwrap();
        let part = |index| LoadSpec {
            load: "open:poisson:800@16".parse().unwrap(),
            shard: Some(Shard { index, of }),
            slices: true,
            ..spec(Backend::Epoll, server.endpoint(), 16)
        };
        let parts: Vec<_> = (0..of.get()).map(|index| start(part(index)).unwrap()).collect();
        let parts: Vec<_> = parts.into_iter().map(|part| part.finish()).collect();
        let all = LoadResult::merged(&parts).unwrap();
        let (received, sum) = (server.stop().requests(), total(&all));
        assert_eq!(received, sum.ok + sum.failed + sum.unfinished, "{of}");
        assert_eq!(sum.failed, received / 50, "{of}");
        let begun = (all.total.warm_up.sent, all.total.requests.sent, all.total.unsent);
        assert_eq!(*due.get_or_insert(begun), begun, "{of}");
        assert_eq!(all.total.response.count(), all.total.requests.ok + all.total.requests.failed, "{of}");
        assert_eq!(all.slices.iter().map(|slice| slice.sent).sum::<u64>(), all.total.requests.sent, "{of}");
        assert_eq!(all.generator.threads, of.get());
    }
}

#[test]
fn a_generator_that_is_lost_takes_its_own_requests_with_it_and_no_others() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let of = NonZeroU32::new(3).unwrap();
    let part = |index| LoadSpec {
        load: "open:600".parse().unwrap(),
        shard: Some(Shard { index, of }),
        ..spec(Backend::Epoll, server.endpoint(), 16)
    };
    let mut parts: Vec<_> = (0..3).map(|index| start(part(index)).unwrap()).collect();
    let lost = parts.remove(1);
    while lost.progress().ok < 20 {
        std::thread::yield_now();
    }
    let before = lost.progress().ok;
    drop(lost);
    let parts: Vec<_> = parts.into_iter().map(|part| part.finish()).collect();
    let all = LoadResult::merged(&parts).unwrap();
    // 180 are due in the window, a third of them each.
    assert_eq!((all.total.requests.ok, all.total.requests.sent), (120, 120));
    let (received, sum) = (server.stop().requests(), total(&all));
    assert!((before..=80).contains(&(received - sum.ok)), "{received} {sum:?}");
}
