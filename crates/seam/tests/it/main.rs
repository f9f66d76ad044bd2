//! What crosses the seam is the same on its other side.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

mod merged;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stampede_core::{
    Censored, ClientLink, Counters, Counts, Endpoint, ErrorClass, GeneratorUse, Latencies, LinkUse, Protocol, Request,
};
use stampede_scenario::{
    Capture, CaptureSource, CaptureTest, Choice, Condition, Crowd, Events, EventsEnd, Feeder, FeederFormat, Flow,
    Names, RowOrder, Step, Table, Template,
};
use stampede_seam::{
    AnswerFacts, Backend, BodyCheck, Breach, BreakCount, BreakPoint, Call, Check, EventMeasures, FlowResult, FlowTally,
    HeaderCheck, HeaderRule, LittlesLaw, LoadExchange, LoadOrder, LoadOutcome, LoadProgress, LoadResult, LoadSpec,
    LoadStatus, Measures, Moment, NoAnswer, Pause, Reading, RequestFailure, RoughLatencies, Saturation, Scenario,
    Shard, Slice, Statuses, StepResult, TlsClient, TlsSpec, Trust, TurnSpan, WrongAnswer,
};

/// There and back, as JSON.
fn crossed<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

fn request() -> Request {
    Request {
        method: "POST".to_owned(),
        path: "/a?b=1".to_owned(),
        headers: BTreeMap::from([("X-A".to_owned(), "b".to_owned())]),
        body: vec![0, 255, 10],
    }
}

fn check() -> Check {
    Check {
        status: Statuses::new(vec![200..=204, 301..=301]),
        headers: vec![HeaderCheck { name: "etag".to_owned(), rule: HeaderRule::Contains("x".to_owned()) }],
        body: vec![
            BodyCheck::Equals(vec![1, 2, 254]),
            BodyCheck::Contains(b"ok".to_vec()),
            BodyCheck::Sha256([7; 32]),
            BodyCheck::Json("/data/0/a~1b".parse().unwrap(), serde_json::json!({"id": 1.5})),
        ],
    }
}

fn scenario() -> Scenario {
    let table = Table::parse(FeederFormat::Csv, b"name,age\nAda,36\n\"Bob, B.\",7\n").unwrap();
    let feeders = vec![Feeder { name: "people".to_owned(), table, order: RowOrder::Once }];
    let captures = vec!["token".to_owned()];
    let names = Names { captures: &captures, feeders: &feeders };
    let template = |text: &str| Template::parse(text, names).unwrap();
    let step = Step {
        name: "create".to_owned(),
        method: "POST".to_owned(),
        path: template("/people/${people.name}"),
        headers: vec![("X-Token".to_owned(), template("${token}$$"))],
        body: template("age=${people.age}"),
        pause: Pause { least: Duration::from_millis(5), most: Duration::from_millis(9) },
        when: Some(Condition { capture: 0, test: CaptureTest::Differs("no".to_owned()) }),
        captures: vec![
            Capture { number: 0, source: CaptureSource::Regex(regex::bytes::Regex::new("t=(\\w+)").unwrap()) },
            Capture { number: 0, source: CaptureSource::Json("/token".parse().unwrap()) },
            Capture { number: 0, source: CaptureSource::Header("X-T".to_owned()) },
            Capture { number: 0, source: CaptureSource::EventId },
        ],
        check: check(),
        shows: vec![template("Hello ${people.name}")],
        events: Some(Events { end: EventsEnd::Until("[DONE]".to_owned()), kind: Some("price".to_owned()), least: 2 }),
    };
    let flow = Flow { name: "join".to_owned(), weight: 3, cookies: true, identities: 2, captures, steps: vec![step] };
    let crowd = Crowd {
        load: "open:poisson:50..100/60s@32".parse().unwrap(),
        think: Pause::default(),
        flows: vec![flow],
        choice: Choice::Weighted,
    };
    Scenario { feeders, crowds: vec![crowd] }
}

fn latencies(ns: &[u64]) -> Latencies {
    let mut latencies = Latencies::new();
    ns.iter().for_each(|ns| latencies.record_ns(*ns));
    latencies
}

#[test]
fn a_load_is_asked_for_in_the_same_words() {
    let spec = LoadSpec {
        targets: vec![Endpoint::Tcp("127.0.0.1:80".parse().unwrap()), Endpoint::Unix("/run/x.sock".into())],
        host: "example.org".to_owned(),
        protocol: Protocol::Http2 { streams: 8.try_into().unwrap() },
        tls: Some(TlsSpec {
            server_name: "127.0.0.1".to_owned(),
            trust: Trust::Pem(b"pem".to_vec()),
            client: TlsClient::default(),
        }),
        exchanges: vec![LoadExchange::new(request(), check())],
        load: "closed:4".parse().unwrap(),
        think: Pause::default(),
        scenario: Some(Arc::new(scenario())),
        warm_up: Duration::from_millis(1),
        duration: Duration::from_nanos(1_000_000_001),
        requests: Some(7),
        drain: Duration::from_secs(5),
        timeout: Some(Duration::from_secs(1)),
        keep_alive: false,
        seed: u64::MAX,
        shard: Some(Shard { index: 1, of: NonZeroU32::MIN }),
        source: None,
        slices: true,
        cpus: vec![0, 3],
        backend: Backend::IoUring,
    };
    let [wakes, opens, closes, rests] = [1, 2, 7, 8].map(Duration::from_millis);
    let order = LoadOrder {
        spec,
        link: Some(ClientLink { rtt: Duration::from_millis(3), bits_per_second: Some(9) }),
        begins: Some(Moment::new(Duration::from_nanos(77))),
        turns: vec![TurnSpan { wakes, opens, closes, rests }],
    };
    assert_eq!(crossed(&order), order);
    let endpoint = Endpoint::Tcp("[::1]:1".parse().unwrap());
    let call = Call { endpoint, tls: None, host: None, request: request(), timeout: Duration::from_secs(2) };
    assert_eq!(crossed(&call), call);
}

#[test]
fn what_was_measured_comes_back_with_every_count_of_its_histograms() {
    let measures = Measures {
        requests: Counts { sent: 5, ok: 3, failed: 1, unfinished: 1 },
        warm_up: Counts::default(),
        unsent: 2,
        service: latencies(&[1_000, 2_000_000, 3_599_000_000_000]),
        response: latencies(&[1, 5_000]),
        censored: Censored::default(),
        first_byte: latencies(&[]),
        connect: Latencies::coarse(),
        tls: latencies(&[77_777]),
        lateness: latencies(&[12]),
        warm_up_status: BTreeMap::from([(200, 1)]),
        status: BTreeMap::from([(200, 3), (500, 1)]),
        errors: BTreeMap::from([(ErrorClass::WrongStatus, 1)]),
        events: Some(Box::new(EventMeasures {
            streams: 2,
            events: 9,
            others: 1,
            comments: 4,
            first_event: latencies(&[1_000, 3_000]),
            gaps: latencies(&[0, 5_000_000]),
        })),
    };
    let slice = Slice { sent: 5, ok: 3, failed: 1, response: latencies(&[9_999]), ..Slice::new(4) };
    let result = LoadResult {
        window: Duration::from_secs(5),
        turns: vec![Counts { sent: 5, ok: 3, failed: 1, unfinished: 1 }],
        by_target: vec![2, 3],
        total: measures.clone(),
        steps: vec![StepResult { name: "GET /".to_owned(), measures }],
        flows: vec![FlowResult { name: "join".to_owned(), count: FlowTally { begun: 3, completed: 2, abandoned: 1 } }],
        unmatched_captures: vec!["a".to_owned()],
        exhausted_feeders: vec!["b".to_owned()],
        slices: vec![slice.clone()],
        backend: Backend::Epoll,
        reconnects: 1,
        bytes_sent: 2,
        bytes_received: 3,
        generator: GeneratorUse { threads: 1, cpu: Duration::from_millis(4) },
        spin: Duration::from_micros(5),
        begun_late: Some(Duration::from_micros(7)),
        littles_law: LittlesLaw { seen: Duration::from_secs(1), summed: Duration::from_secs(2) },
        saturation: Some(Saturation::Accounts { ratio: 0.5 }),
        facts: AnswerFacts {
            server: Some("nginx".to_owned()),
            first_length: Some(3),
            interim: BTreeMap::from([(103, 2)]),
            breaks: vec![BreakCount { class: ErrorClass::Reset, point: BreakPoint::Head, count: 7 }],
            breach: Some(Breach { step: 0, rule: "no".to_owned(), bytes: vec![0, 255] }),
            ..AnswerFacts::default()
        },
        wrong_answers: vec![WrongAnswer { step: 0, status: 500, offset: 1, bytes: vec![255] }],
        first_failure: Some(RequestFailure { class: ErrorClass::TimedOut, step: 0, detail: "late".to_owned() }),
    };
    let outcome = LoadOutcome { result, link: Some(LinkUse::default()), held_up: None, generators: Vec::new() };
    assert_eq!(crossed(&outcome), outcome);
    let mut rough = RoughLatencies::new();
    rough.add([0, 1, 2, 3]);
    let view = LoadStatus {
        progress: LoadProgress { ok: 1, failed: 2 },
        latencies: rough,
        slices: vec![slice],
        is_finished: true,
    };
    assert_eq!(crossed(&view), view);
    let reading = Reading {
        at: Moment::new(Duration::from_nanos(1)),
        groups: vec![
            Ok(Some(Counters { cpu: Duration::from_nanos(3), ..Counters::default() })),
            Ok(None),
            Err("no".into()),
        ],
    };
    assert_eq!(crossed(&reading), reading);
    let no = NoAnswer { problem: "refused".to_owned(), waited: false };
    assert_eq!(crossed(&no), no);
}
