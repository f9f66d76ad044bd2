//! Closed loads whose connections change, against a server that notes when connections come and go.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use stampede_core::{Load, Population, Protocol};
use stampede_load::{Backend, LoadSpec, Pause, start};
use stampede_testkit::{Behaviour, CountingServer, Received};

use crate::asking::{MS, cpus, on_each_backend, spec, total};
use crate::http2_peer::{Came, Http2Server};

on_each_backend! {
    connections_come_and_go_when_the_line_passes_their_number,
    littles_law_holds_while_the_number_changes,
    users_who_share_a_connection_come_and_go_together,
    a_count_ends_a_load_whose_users_are_still_to_come,
    a_window_that_ends_before_they_go_waits_for_nobody,
    who_thinks_goes_when_it_is_time_and_not_with_the_next_request,
}

/// How late a connection may come or go on a machine that is busy with other tests.
const TOLERANCE: Duration = Duration::from_millis(60);

const TRIES: usize = 10;

fn population(load: &str) -> Population {
    let Load::Ramped { connections } = load.parse().unwrap() else { panic!("{load}") };
    connections
}

/// When the connections of a load come, and when they go, before `end`.
fn expected(load: &str, opens_at: Instant, end: Duration) -> (Vec<Instant>, Vec<Instant>) {
    let population = population(load);
    let (mut opened, mut closed) = (Vec::new(), Vec::new());
    for user in 0..population.most() {
        let mut joins = population.joins(user, Duration::ZERO);
        while let Some(at) = joins.filter(|at| *at < end) {
            opened.push(opens_at + at);
            let leaves = population.leaves(user, at).filter(|at| *at < end);
            closed.extend(leaves.map(|at| opens_at + at));
            joins = leaves.and_then(|at| population.joins(user, at));
        }
    }
    opened.sort();
    closed.sort();
    (opened, closed)
}

/// Whether what was seen happened when it had to. Nothing may be early.
fn happened(what: &str, seen: &[Instant], expected: &[Instant], opens_at: Instant) -> Result<(), String> {
    let told = |at: &Instant| at.saturating_duration_since(opens_at);
    let (seen, expected): (Vec<_>, Vec<_>) = (seen.iter().map(told).collect(), expected.iter().map(told).collect());
    assert_eq!(seen.len(), expected.len(), "{what}: {seen:?} for {expected:?}");
    for (seen, expected) in seen.iter().zip(&expected) {
        assert!(*seen + MS >= *expected, "{what} at {seen:?}, to be at {expected:?}");
        if *seen > *expected + TOLERANCE {
            return Err(format!("{what} at {seen:?}, to be at {expected:?}"));
        }
    }
    Ok(())
}

/// A busy machine may be late in one try, and a load that is wrong is late in all of them.
fn retried(attempt: impl Fn() -> Result<(), String>) {
    let mut late = Vec::new();
    while let Err(what) = attempt() {
        late.push(what);
        assert!(late.len() < TRIES, "late in each of {TRIES} tries: {late:#?}");
    }
}

fn connections_come_and_go_when_the_line_passes_their_number(backend: Backend) {
    for (load, threads) in [
        ("closed:1..8/700ms", 1),
        ("closed:1..8/700ms,8/200ms,8..2/600ms,2/100ms", 1),
        ("closed:2/200ms,6/200ms,0/200ms,3/200ms", 1),
        ("closed:1..9/800ms,9..0/800ms", 2),
    ] {
        retried(|| connections_of(backend, load, threads));
    }
}

fn connections_of(backend: Backend, load: &str, threads: usize) -> Result<(), String> {
    let length = population(load).length();
    let server = CountingServer::start(Behaviour { delay: 2 * MS, ..Behaviour::default() }).unwrap();
    let cpus = cpus().into_iter().cycle().take(threads).collect();
    let running = start(LoadSpec { duration: length, cpus, ..spec(backend, server.endpoint(), load) }).unwrap();
    let opens_at = running.opens_at();
    let result = running.finish();
    let Received { opened, mut closed, at, .. } = server.stop();
    let (joins, leaves) = expected(load, opens_at, length);
    let comes = happened(&format!("{load}: a connection comes"), &opened, &joins, opens_at);
    // The others are closed with the window.
    closed.truncate(leaves.len());
    let goes = happened(&format!("{load}: a connection goes"), &closed, &leaves, opens_at);
    let total = total(&result);
    assert_eq!((total.sent, total.ok, result.reconnects), (at.len() as u64, at.len() as u64, 0), "{load}");
    comes.and(goes)
}

fn littles_law_holds_while_the_number_changes(backend: Backend) {
    retried(|| littles_law(backend));
}

fn littles_law(backend: Backend) -> Result<(), String> {
    let delay = 10 * MS;
    let server = CountingServer::start(Behaviour { delay, ..Behaviour::default() }).unwrap();
    let load = "closed:1..21/1s";
    let spec = LoadSpec { duration: 1000 * MS, ..spec(backend, server.endpoint(), load) };
    let result = start(spec).unwrap().finish();
    // 1 to 20 users for 50 ms each: 10.5 on average.
    let in_flight = result.littles_law.in_flight(result.window);
    let ratio = result.littles_law.ratio().unwrap();
    assert_eq!((result.total.connect.count(), server.stop().connections), (20, 20));
    let holds = (in_flight / 10.5 - 1.0).abs() < 0.05 && (ratio - 1.0).abs() < 0.1;
    if holds { Ok(()) } else { Err(format!("{in_flight} in flight, {ratio} of what requests add up to")) }
}

fn users_who_share_a_connection_come_and_go_together(backend: Backend) {
    let server = Http2Server::start(|peer, came| match came {
        Came::Preface => peer.settings(&[]),
        Came::Head(_) => Ok(()),
        Came::End(stream) => peer.answer(stream),
    });
    let spec = LoadSpec {
        protocol: Protocol::Http2 { streams: NonZeroU32::new(3).unwrap() },
        think: Pause { least: MS, most: 3 * MS },
        duration: 900 * MS,
        ..spec(backend, &server.endpoint, "closed:3/300ms,1/300ms,3/300ms")
    };
    let result = start(spec).unwrap().finish();
    let total = total(&result);
    assert_eq!((total.sent, total.ok), (server.requests(), server.requests()), "{result:?}");
    // Two of them go and come again.
    assert_eq!((server.connections(), result.total.connect.count(), result.reconnects), (5, 5, 0), "{result:?}");
}

fn a_count_ends_a_load_whose_users_are_still_to_come(backend: Backend) {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let started = Instant::now();
    let spec = LoadSpec {
        requests: Some(50),
        duration: Duration::from_secs(3600),
        ..spec(backend, server.endpoint(), "closed:1..100/1h")
    };
    let result = start(spec).unwrap().finish();
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!((result.total.requests.ok, server.stop().requests()), (50, 50));
}

fn a_window_that_ends_before_they_go_waits_for_nobody(backend: Backend) {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let hour = Duration::from_secs(3600);
    let started = Instant::now();
    let spec = LoadSpec {
        think: Pause { least: hour, most: hour },
        duration: 300 * MS,
        drain: hour,
        ..spec(backend, server.endpoint(), "closed:4/30m,0")
    };
    let result = start(spec).unwrap().finish();
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!((result.total.requests.ok, server.stop().connections), (4, 4));
}

fn who_thinks_goes_when_it_is_time_and_not_with_the_next_request(backend: Backend) {
    retried(|| thinkers(backend));
}

fn thinkers(backend: Backend) -> Result<(), String> {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let load = "closed:4/200ms,1/300ms";
    let spec = LoadSpec {
        think: Pause { least: 400 * MS, most: 400 * MS },
        duration: 500 * MS,
        warm_up: 100 * MS,
        ..spec(backend, server.endpoint(), load)
    };
    let running = start(spec).unwrap();
    let opens_at = running.opens_at();
    let result = running.finish();
    let Received { mut closed, .. } = server.stop();
    closed.truncate(3);
    assert_eq!((result.total.warm_up.ok, result.total.requests.ok), (4, 1));
    happened("a connection goes", &closed, &[opens_at + 200 * MS; 3], opens_at)
}
