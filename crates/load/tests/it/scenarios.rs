//! Scenarios against a server that knows people: what it saw is held against what was asked for and what is told.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::thread::sched_getaffinity;
use stampede_core::{Bytes, ErrorClass, Load, Protocol};
use stampede_load::{Backend, LoadResult, LoadSpec, Pause, start};
use stampede_plan::{MachineSize, parse_scenario};

use crate::asking::on_each_backend;
use crate::people::{PeopleServer, Seen};

on_each_backend! {
    one_follow_up_comes_after_each_creation,
    a_closed_mix_is_weighted_and_thinks,
    two_identities_take_turns_on_one_connection,
    rows_that_are_used_up_end_the_users_and_the_load,
    a_capture_that_never_matched_is_named_and_a_step_without_its_value_fails,
    a_wrong_answer_ends_its_flow,
    a_closed_flow_stops_with_the_window_and_an_open_one_does_not,
}

const MACHINE: MachineSize = MachineSize { cpus: 4, memory: Bytes::from_mib(1024), connections: 1000 };

/// The load of a scenario on at most so many threads.
fn spec(
    backend: Backend,
    server: &PeopleServer,
    yaml: &str,
    files: &[(&str, &str)],
    threads: usize,
    seconds: f64,
) -> LoadSpec {
    let files: BTreeMap<_, _> = files.iter().copied().collect();
    let read = |path: &Path| {
        let text = path.to_str().and_then(|path| files.get(path)).ok_or(ErrorKind::NotFound)?;
        Ok(text.as_bytes().to_vec())
    };
    let scenario = parse_scenario(yaml, "scenario.yaml", MACHINE, &BTreeMap::new(), &read).unwrap();
    let allowed = sched_getaffinity(None).unwrap();
    LoadSpec {
        targets: vec![server.endpoint().clone()],
        protocol: Protocol::Http11,
        tls: None,
        host: server.host(),
        exchanges: Vec::new(),
        load: Load::Closed { connections: 1 },
        think: Pause::default(),
        scenario: Some(Arc::new(scenario)),
        warm_up: Duration::ZERO,
        duration: Duration::from_secs_f64(seconds),
        requests: None,
        drain: Duration::from_secs(10),
        timeout: None,
        keep_alive: true,
        seed: 1,
        shard: None,
        source: None,
        slices: false,
        backend,
        cpus: (0..1024).filter(|cpu| allowed.is_set(*cpu as usize)).take(threads).collect(),
    }
}

fn run(backend: Backend, yaml: &str, files: &[(&str, &str)], threads: usize, seconds: f64) -> (LoadResult, Seen) {
    let server = PeopleServer::start();
    let result = start(spec(backend, &server, yaml, files, threads, seconds)).unwrap().finish();
    (result, server.stop())
}

/// Requests of a step that were answered rightly, and that failed.
fn step(result: &LoadResult, name: &str) -> (u64, u64) {
    let step = result.steps.iter().find(|step| step.name == name).unwrap_or_else(|| panic!("{name}: {result:?}"));
    assert_eq!((step.measures.requests.unfinished, step.measures.unsent), (0, 0), "{name}");
    (step.measures.requests.ok, step.measures.requests.failed)
}

/// What became of a flow: begun, completed, abandoned.
fn flow(result: &LoadResult, name: &str) -> (u64, u64, u64) {
    let flow = result.flows.iter().find(|flow| flow.name == name).unwrap();
    (flow.count.begun, flow.count.completed, flow.count.abandoned)
}

fn one_follow_up_comes_after_each_creation(backend: Backend) {
    let yaml = "
        feeders:
          people: {file: people.tsv, order: loop}
          terms: {file: terms.tsv}
        crowds:
          - load: open:40/500ms,random:60/500ms,100..300/500ms@16
            flows:
              - name: create
                steps:
                  - name: new
                    path: /pessoas
                    body: ${people.payload}
                    check: {status: '201,422'}
                    capture: {location: {header: Location}}
                  - {name: follow, when: location, pause: 1ms..30ms, path: '${location}', check: {status: 200}}
          - load: open:20/1500ms@4
            requests:
              - {name: search, path: '/pessoas?t=${terms.t}', check: {status: 200, json: {/0/apelido: 'a b'}}}
          - load: open:10/1500ms@4
            requests:
              - {name: invalid, path: /pessoas, check: {status: 400}}
    ";
    // 20 + 30 + 100 creations; every tenth row is a person who is there already.
    let people: String = (0..150).fold("payload\n".to_owned(), |text, row| {
        text + &format!("{{\"apelido\":\"p{}\"}}\n", if row % 10 == 9 { row - 1 } else { row })
    });
    let files = [("people.tsv", people.as_str()), ("terms.tsv", "t\na b\n")];
    for threads in [1, 2] {
        let (result, seen) = run(backend, yaml, &files, threads, 1.5);
        assert_eq!((seen.created, seen.duplicates), (135, 15), "{threads}: {seen:?}");
        assert_eq!((seen.followed, seen.searched, seen.invalid), (135, 30, 15), "{threads}: {seen:?}");
        assert_eq!((seen.unknown, &seen.terms), (0, &["a%20b".to_owned()].into()), "{seen:?}");
        assert_eq!(step(&result, "create/new"), (150, 0), "{threads}");
        assert_eq!(step(&result, "create/follow"), (135, 0), "{threads}");
        assert_eq!((step(&result, "search"), step(&result, "invalid")), ((30, 0), (15, 0)), "{threads}");
        assert_eq!(flow(&result, "create"), (150, 150, 0), "{threads}");
        assert_eq!(result.total.requests.sent, 330, "{threads}");
        assert!(result.unmatched_captures.is_empty() && result.exhausted_feeders.is_empty(), "{result:?}");
        assert!(seen.connections <= 24, "{seen:?}");
    }
}

fn a_closed_mix_is_weighted_and_thinks(backend: Backend) {
    let yaml = "
        crowds:
          - load: closed:4
            think: 10ms
            requests:
              - {name: often, path: /often, weight: 3}
              - {name: seldom, path: /seldom, check: {contains: seldom, headers: {Server: {equals: people}}}}
              - {name: never, path: /never, weight: 0}
    ";
    for threads in [1, 2] {
        let (result, seen) = run(backend, yaml, &[], threads, 1.5);
        let (often, seldom) = (seen.paths["/often"], seen.paths["/seldom"]);
        assert_eq!((step(&result, "often"), step(&result, "seldom")), ((often, 0), (seldom, 0)));
        assert_eq!((step(&result, "never"), seen.connections), ((0, 0), 4));
        // 4 users can make no more than 150 requests each.
        let all = (often + seldom) as f64;
        assert!((100.0..=600.0).contains(&all), "{all}");
        // Five standard deviations.
        let share = often as f64 / all;
        assert!((share - 0.75).abs() < 5.0 * (0.75_f64 * 0.25 / all).sqrt(), "{often} of {all}");
        // A thinking user's lateness is the generator's alone, and its response no longer than the answer took.
        assert!(result.total.response.quantile(0.5) < Duration::from_millis(10), "{:?}", result.total.response);
    }
}

fn two_identities_take_turns_on_one_connection(backend: Backend) {
    let yaml = "
        crowds:
          - load: closed:1
            flows:
              - name: visit
                identities: 2
                steps:
                  - {name: look, path: /cookies}
    ";
    let server = PeopleServer::start();
    let spec = LoadSpec { requests: Some(6), ..spec(backend, &server, yaml, &[], 1, 5.0) };
    let result = start(spec).unwrap().finish();
    let seen = server.stop();
    // The server numbers who comes without a cookie.
    let cookies: Vec<_> = seen.cookies.iter().map(String::as_str).collect();
    assert_eq!(cookies, ["", "", "s=0", "s=1", "s=0", "s=1"]);
    assert_eq!((seen.connections, flow(&result, "visit")), (1, (6, 6, 0)));
}

fn rows_that_are_used_up_end_the_users_and_the_load(backend: Backend) {
    let yaml = "
        feeders:
          people: {file: people.csv, order: once}
        crowds:
          - load: LOAD
            requests: [{name: create, path: /pessoas, body: '{\"apelido\":\"${people.name}\"}', check: {status: 201}}]
    ";
    let people: String = (0..25).fold("name\n".to_owned(), |text, row| text + &format!("n{row}\n"));
    for load in ["closed:4", "open:200@4"] {
        for threads in [1, 2] {
            let (result, seen) = run(backend, &yaml.replace("LOAD", load), &[("people.csv", &people)], threads, 30.0);
            assert_eq!((seen.created, seen.duplicates), (25, 0), "{load} {threads}");
            assert_eq!((step(&result, "create"), flow(&result, "create")), ((25, 0), (25, 25, 0)), "{load} {threads}");
            assert_eq!(result.exhausted_feeders, ["people"], "{load} {threads}");
            assert!(result.window < Duration::from_secs(15), "{load} {threads}: {:?}", result.window);
        }
    }
}

fn a_capture_that_never_matched_is_named_and_a_step_without_its_value_fails(backend: Backend) {
    let yaml = "
        crowds:
          - load: closed:2
            flows:
              - name: visit
                steps:
                  - {name: a, path: /a, capture: {token: {regex: 'token=(.+)'}, server: {header: Server}}}
                  - {name: b, path: '/b?${server}'}
                  - {name: c, path: '/c?${token}'}
                  - {name: d, path: /d}
    ";
    let server = PeopleServer::start();
    let result = start(LoadSpec { requests: Some(8), ..spec(backend, &server, yaml, &[], 2, 5.0) }).unwrap().finish();
    let seen = server.stop();
    let paths = BTreeMap::from([("/a".to_owned(), 8), ("/b?people".to_owned(), 8)]);
    assert_eq!(seen.paths, paths);
    // What could not be written costs no connection.
    assert_eq!(seen.connections, 2);
    assert_eq!(result.unmatched_captures, ["visit/a: token"]);
    assert_eq!((flow(&result, "visit"), step(&result, "visit/c")), ((8, 0, 8), (0, 8)));
    assert_eq!(result.total.errors, [(ErrorClass::Unwritable, 8)].into());
    assert_eq!(step(&result, "visit/d"), (0, 0));
}

fn a_wrong_answer_ends_its_flow(backend: Backend) {
    let yaml = "
        crowds:
          - load: open:100@4
            flows:
              - name: visit
                steps:
                  - {name: a, path: /a, check: {body: /other}}
                  - {name: b, path: /b}
    ";
    let (result, seen) = run(backend, yaml, &[], 1, 0.2);
    assert_eq!(seen.paths, [("/a".to_owned(), 20)].into());
    assert_eq!((flow(&result, "visit"), step(&result, "visit/a")), ((20, 0, 20), (0, 20)));
    assert_eq!(result.total.errors, [(ErrorClass::WrongBody, 20)].into());
    let [wrong, ..] = result.wrong_answers.as_slice() else { panic!() };
    assert_eq!((wrong.step, wrong.offset, wrong.bytes.as_slice()), (0, 1, &b"a"[..]));
}

fn a_closed_flow_stops_with_the_window_and_an_open_one_does_not(backend: Backend) {
    let yaml = "
        crowds:
          - load: LOAD
            flows:
              - name: visit
                steps:
                  - {name: a, path: /a}
                  - {name: b, path: /b, pause: 400ms}
    ";
    for (load, flows, ends) in [("open:10/200ms,0@4", 2, 2), ("closed:3", 3, 0)] {
        let (result, seen) = run(backend, &yaml.replace("LOAD", load), &[], 1, 0.3);
        assert_eq!((seen.paths["/a"], seen.paths.get("/b").copied().unwrap_or(0)), (flows, ends), "{load}");
        assert_eq!(flow(&result, "visit"), (flows, ends, 0), "{load}");
        // The second step is due after its pause, from where its response time counts.
        assert!(result.total.response.max() < Duration::from_millis(300), "{load}: {:?}", result.total.response);
    }
}
