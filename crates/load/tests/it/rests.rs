//! Loads that begin when they are told to, and rest between turns, against a server that notes when what came.

use std::time::{Duration, Instant};

use stampede_core::Counts;
use stampede_load::{Backend, LoadSpec, start_at};
use stampede_seam::TurnSpan;
use stampede_testkit::{Behaviour, Close, CountingServer};

use crate::asking::{MS, cpus, on_each_backend, spec, total};

on_each_backend! {
    nothing_is_sent_while_a_load_rests_and_connections_are_kept,
    a_turn_counts_what_was_due_in_its_window,
    an_answer_that_comes_after_the_next_turn_has_begun_is_counted_once,
    a_server_that_closes_at_rest_is_connected_to_again_before_the_window,
    a_load_begins_when_it_is_told_to,
    what_cannot_rest_says_why,
}

/// Turns of 60 ms, of which 30 count, each 100 ms.
fn turns(number: u32) -> Vec<TurnSpan> {
    let turn = |number| {
        let wakes = 100 * MS * number;
        TurnSpan { wakes, opens: wakes + 20 * MS, closes: wakes + 50 * MS, rests: wakes + 60 * MS }
    };
    (0..number).map(turn).collect()
}

/// How far an instant lies outside of the turns, which begin then.
fn outside(at: Instant, begins: Instant, turns: &[TurnSpan]) -> Duration {
    let outside = |turn: &TurnSpan| {
        let (wakes, rests) = (begins + turn.wakes, begins + turn.rests);
        wakes.saturating_duration_since(at).max(at.saturating_duration_since(rests))
    };
    turns.iter().map(outside).min().unwrap()
}

fn nothing_is_sent_while_a_load_rests_and_connections_are_kept(backend: Backend) {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let begins = Instant::now() + 50 * MS;
    let turns = turns(5);
    let spec = LoadSpec { cpus: cpus().into_iter().take(2).collect(), ..spec(backend, server.endpoint(), "closed:8") };
    let load = start_at(spec, Some(begins), &turns).unwrap();
    assert_eq!((load.opens_at(), load.closes_at()), (begins + 20 * MS, begins + 450 * MS));
    let result = load.finish();
    let received = server.stop();
    assert_eq!(received.requests(), total(&result).ok);
    assert_eq!((received.connections, result.reconnects), (8, 0));
    // What was on its way when the load went to rest may come as late as a busy machine lets it.
    let strays: Vec<_> = received.at.iter().map(|at| outside(*at, begins, &turns)).filter(|by| *by > 10 * MS).collect();
    assert!(strays.len() * 100 < received.at.len(), "{} of {}: {strays:?}", strays.len(), received.at.len());
}

fn a_turn_counts_what_was_due_in_its_window(backend: Backend) {
    let behaviour = Behaviour { delay: 2 * MS, ..Behaviour::default() };
    let server = CountingServer::start(behaviour).unwrap();
    let spec = LoadSpec { slices: true, ..spec(backend, server.endpoint(), "closed:4") };
    let result = start_at(spec, None, &turns(4)).unwrap().finish();
    let received = server.stop();
    assert_eq!(result.window, 120 * MS);
    let sum = |count: fn(&Counts) -> u64| result.turns.iter().map(count).sum::<u64>();
    let requests = result.total.requests;
    assert_eq!((result.turns.len(), sum(|turn| turn.sent), sum(|turn| turn.ok)), (4, requests.sent, requests.ok));
    assert_eq!(received.requests(), requests.ok + result.total.warm_up.ok);
    // Before and after a window as much is sent as in it, and none of that counts.
    assert!(result.total.warm_up.ok * 2 > requests.ok, "{:?}", result.total.warm_up);
    // A client sends every 2 ms, less often on a busy machine.
    assert!(result.turns.iter().all(|turn| (4..=64).contains(&turn.ok)), "{:?}", result.turns);
    assert_eq!(result.total.service.count(), requests.ok);
    let told: Vec<_> = result.slices.iter().map(|slice| (slice.second, slice.ok)).collect();
    assert_eq!(told, [(0, requests.ok)]);
    // Clients are at work all the time that counts.
    let in_flight = result.littles_law.in_flight(result.window);
    assert!((3.0..=4.01).contains(&in_flight), "{in_flight}");
    assert!(result.generator.cpu < 120 * MS, "{:?}", result.generator);
}

fn an_answer_that_comes_after_the_next_turn_has_begun_is_counted_once(backend: Backend) {
    let behaviour = Behaviour { delay: 130 * MS, ..Behaviour::default() };
    let server = CountingServer::start(behaviour).unwrap();
    let result = start_at(spec(backend, server.endpoint(), "closed:3"), None, &turns(6)).unwrap().finish();
    let received = server.stop();
    let total = total(&result);
    assert_eq!((received.requests(), total.sent), (total.ok, total.ok));
    assert_eq!((received.connections, result.reconnects), (3, 0));
    assert_eq!(result.turns.iter().map(|turn| turn.sent).sum::<u64>(), result.total.requests.sent);
}

fn a_server_that_closes_at_rest_is_connected_to_again_before_the_window(backend: Backend) {
    // Each answer closes its connection: the next request of a client needs a new one, in a window as at its wake.
    let behaviour = Behaviour { close: Close::Announced(1), ..Behaviour::default() };
    let server = CountingServer::start(behaviour).unwrap();
    let result = start_at(spec(backend, server.endpoint(), "closed:2"), None, &turns(3)).unwrap().finish();
    let received = server.stop();
    let total = total(&result);
    assert_eq!((total.failed, received.requests()), (0, total.ok));
    assert!(result.reconnects <= result.total.requests.sent, "{result:?}");
}

fn a_load_begins_when_it_is_told_to(backend: Backend) {
    for load in ["closed:2", "open:200@4"] {
        let server = CountingServer::start(Behaviour::default()).unwrap();
        let begins = Instant::now() + 120 * MS;
        let spec = LoadSpec { duration: 100 * MS, ..spec(backend, server.endpoint(), load) };
        let load = start_at(spec, Some(begins), &[]).unwrap();
        assert_eq!(load.opens_at(), begins);
        load.finish();
        let received = server.stop();
        let first = received.at.iter().min().copied().unwrap();
        assert!(first >= begins && first < begins + 60 * MS, "{:?}", first.saturating_duration_since(begins));
    }
}

fn what_cannot_rest_says_why(backend: Backend) {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let [first, second] = turns(2)[..] else { panic!() };
    let closed = || spec(backend, server.endpoint(), "closed:2");
    for (spec, turns) in [
        (spec(backend, server.endpoint(), "open:100"), vec![first, second]),
        (spec(backend, server.endpoint(), "closed:1..4/1s"), vec![first]),
        (LoadSpec { requests: Some(9), ..closed() }, vec![first]),
        (closed(), vec![second, first]),
        (closed(), vec![TurnSpan { rests: first.opens, ..first }]),
    ] {
        let error = start_at(spec, None, &turns).unwrap_err().to_string();
        assert!(error.contains("they must follow each other"), "{error}");
    }
    assert_eq!(server.stop().requests(), 0);
}
