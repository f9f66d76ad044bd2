use std::sync::Arc;

use proptest::prelude::*;
use stampede_core::Load;

use super::*;
use crate::share::{FlowTally, Tally};
use crate::statuses::Statuses;
use crate::{
    BODY_LIMIT, BodyCheck, Capture, CaptureSource, CaptureTest, Check, Choice, Condition, Crowd, Feeder, FeederFormat,
    Flow, Names, Pause, RowOrder, Scenario, Step, Table,
};

mod allocations;

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

fn feeder(order: RowOrder, rows: usize) -> Feeder {
    let text: String = (0..rows).fold("id,name\n".to_owned(), |text, row| text + &format!("{row},n{row}\n"));
    Feeder { name: "people".to_owned(), table: Table::parse(FeederFormat::Csv, text.as_bytes()).unwrap(), order }
}

/// A path, the captures that are taken from its answer, and the step's condition.
type Brief<'a> = (&'a str, &'a [(&'a str, CaptureSource)], Option<(&'a str, CaptureTest)>);

fn flow(name: &str, feeders: &[Feeder], steps: &[Brief<'_>]) -> Flow {
    let names = steps.iter().flat_map(|(_, captures, _)| captures.iter().map(|(name, _)| (*name).to_owned()));
    let mut captures: Vec<String> = names.collect();
    captures.sort();
    captures.dedup();
    let number = |name: &str| captures.iter().position(|known| known == name).unwrap();
    let names = Names { captures: &captures, feeders };
    let steps = steps.iter().enumerate().map(|(index, (path, taken, when))| Step {
        name: format!("step {index}"),
        method: "GET".to_owned(),
        path: Template::parse(path, names).unwrap(),
        headers: Vec::new(),
        body: Template::default(),
        pause: Pause::default(),
        when: when.clone().map(|(name, test)| Condition { capture: number(name), test }),
        captures: taken.iter().map(|(name, source)| Capture { number: number(name), source: source.clone() }).collect(),
        check: Check { status: Statuses::new(vec![200..=299]), headers: Vec::new(), body: Vec::new() },
        shows: Vec::new(),
        events: None,
    });
    let steps = steps.collect();
    Flow { name: name.to_owned(), weight: 1, cookies: false, identities: 1, captures, steps }
}

fn scenario(feeders: Vec<Feeder>, flows: Vec<Flow>, choice: Choice) -> Arc<Scenario> {
    let load: Load = "open:10".parse().unwrap();
    Arc::new(Scenario { feeders, crowds: vec![Crowd { load, think: Pause::default(), flows, choice }] })
}

fn script(scenario: &Arc<Scenario>, thread: u64, threads: u64) -> Script {
    Script::new(scenario.clone(), 0, "h:1", true, (thread, threads), 7).unwrap()
}

/// The target of the present step's request.
fn target(journey: &mut Journey, script: &Script) -> Result<String, RenderFault> {
    let mut out = Vec::new();
    journey.render(script, NOW, &mut out)?;
    Ok(String::from_utf8(out).unwrap().split(' ').nth(1).unwrap().to_owned())
}

fn answer(
    journey: &mut Journey,
    script: &mut Script,
    status: u16,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<Wrong> {
    let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
    journey.head(script, status, headers, NOW);
    for bytes in body.as_bytes().chunks(3) {
        journey.body(script, bytes);
    }
    journey.end(script)
}

#[test]
fn a_flow_goes_on_with_what_its_answers_gave() {
    let location = ("location", CaptureSource::Header("Location".to_owned()));
    let id = ("id", CaptureSource::Json("/data/id".parse().unwrap()));
    let feeders = vec![feeder(RowOrder::Loop, 2)];
    let steps: [Brief<'_>; 4] = [
        ("/people?name=${people.name}", &[location], None),
        ("${location}", &[id], Some(("location", CaptureTest::Present))),
        ("/retry", &[], Some(("location", CaptureTest::Missing))),
        ("/people/${id}", &[], Some(("id", CaptureTest::Differs("a b".to_owned())))),
    ];
    let scenario = scenario(feeders.clone(), vec![flow("create", &feeders, &steps)], Choice::InTurn);
    let mut script = script(&scenario, 0, 1);
    let mut journey = Journey::new(&script);

    assert_eq!(journey.begin(&mut script), Some(0));
    assert_eq!(journey.next_step(&mut script), Some(NextStep { step: 0, pause: Duration::ZERO }));
    assert_eq!(target(&mut journey, &script).unwrap(), "/people?name=n0");
    assert_eq!(answer(&mut journey, &mut script, 201, &[("location", "http://h:1/people/7#x")], ""), None);
    assert_eq!(journey.next_step(&mut script).unwrap().step, 1);
    assert_eq!(target(&mut journey, &script).unwrap(), "/people/7");
    assert_eq!(answer(&mut journey, &mut script, 200, &[], r#"{"data": {"id": "ä/7"}}"#), None);
    assert_eq!(journey.next_step(&mut script).unwrap().step, 3);
    assert_eq!(target(&mut journey, &script).unwrap(), "/people/%C3%A4%2F7");
    assert_eq!(answer(&mut journey, &mut script, 200, &[], ""), None);
    assert_eq!(journey.next_step(&mut script), None);

    // Nothing is left of the flow before. What has no value cannot be sent.
    assert_eq!(journey.begin(&mut script), Some(0));
    journey.next_step(&mut script);
    assert_eq!(target(&mut journey, &script).unwrap(), "/people?name=n1");
    assert_eq!(answer(&mut journey, &mut script, 204, &[], ""), None);
    assert_eq!(journey.next_step(&mut script).unwrap().step, 2);
    assert_eq!(answer(&mut journey, &mut script, 200, &[], ""), None);
    assert_eq!(journey.next_step(&mut script).unwrap().step, 3);
    assert_eq!(target(&mut journey, &script), Err(RenderFault::Missing(0)));
    journey.abandon(&mut script);
    assert_eq!(journey.begin(&mut script), Some(0));
    journey.next_step(&mut script);
    assert_eq!(answer(&mut journey, &mut script, 500, &[], ""), Some(Wrong::Status { came: 500, expected: None }));
    journey.abandon(&mut script);

    let Tally { flows, steps, exhausted } = &script.share.tally;
    assert_eq!(flows, &[FlowTally { begun: 3, completed: 1, abandoned: 2 }]);
    let counts = |count: fn(&crate::share::StepTally) -> u64| steps.iter().map(count).collect::<Vec<_>>();
    assert_eq!(counts(|step| step.right), [2, 1, 1, 1]);
    assert_eq!(counts(|step| step.skipped), [0, 1, 1, 0]);
    assert_eq!(counts(|step| step.unreached), [0, 1, 1, 1]);
    assert_eq!((&steps[0].matched, exhausted), (&vec![1], &vec![false]));
}

#[test]
fn a_capture_that_never_matched_is_named() {
    let captures: &[_] = &[
        ("etag", CaptureSource::Header("ETag".to_owned())),
        ("csrf", CaptureSource::Regex(regex::bytes::Regex::new("csrf=(.)").unwrap())),
    ];
    let steps = [("/a", captures, None), ("/b", captures, Some(("etag", CaptureTest::Present)))];
    let scenario = scenario(Vec::new(), vec![flow("login", &[], &steps)], Choice::InTurn);
    let mut script = script(&scenario, 0, 1);
    let mut journey = Journey::new(&script);
    journey.begin(&mut script);
    journey.next_step(&mut script);
    answer(&mut journey, &mut script, 200, &[], "csrf=x");
    assert_eq!(journey.next_step(&mut script), None);
    let mut all = Tally::new(&scenario.crowds[0], 0);
    all.merge(&script.share.tally);
    all.merge(&script.share.tally);
    assert_eq!(all.steps[0].right, 2);
    // The second step was never taken, so nothing is said of it.
    assert_eq!(all.never_matched(&scenario.crowds[0]).collect::<Vec<_>>(), [("login", "step 0", "etag")]);
}

#[test]
fn threads_take_the_rows_in_turn() {
    for (order, rows, flows, expected) in [
        (RowOrder::Loop, 5, 12, (0..12).map(|n| Some(n % 5)).collect::<Vec<_>>()),
        (RowOrder::Once, 5, 7, (0..7).map(|n| (n < 5).then_some(n)).collect()),
    ] {
        let feeders = vec![feeder(order, rows)];
        let one = flow("f", &feeders, &[("/${people.id}", &[], None)]);
        let scenario = scenario(feeders, vec![one], Choice::InTurn);
        for threads in [1, 2, 3] {
            let mut taken = vec![None; flows];
            for thread in 0..threads {
                let mut script = script(&scenario, thread as u64, threads as u64);
                let mut journey = Journey::new(&script);
                for number in (thread..flows).step_by(threads) {
                    if journey.begin(&mut script).is_some() {
                        journey.next_step(&mut script);
                        taken[number] = target(&mut journey, &script).unwrap()[1..].parse().ok();
                    }
                }
                let ran_out = order == RowOrder::Once && (thread..flows).step_by(threads).any(|number| number >= rows);
                assert_eq!(script.share.tally.exhausted, [ran_out], "{order:?} on {threads}");
            }
            assert_eq!(taken, expected, "{order:?} on {threads}");
        }
    }
}

#[test]
fn random_rows_and_weighted_flows_do_not_depend_on_threads() {
    let feeders = vec![feeder(RowOrder::Random, 10)];
    let steps: [Brief<'_>; 1] = [("/${people.id}", &[], None)];
    let mut flows =
        vec![flow("often", &feeders, &steps), flow("never", &feeders, &steps), flow("seldom", &feeders, &steps)];
    (flows[0].weight, flows[1].weight) = (3, 0);
    let scenario = scenario(feeders, flows, Choice::Weighted);
    let run = |threads: u64| {
        let mut seen = vec![(0, String::new()); 10_000];
        for thread in 0..threads {
            let mut script = script(&scenario, thread, threads);
            let mut journey = Journey::new(&script);
            for number in (thread..10_000).step_by(threads as usize) {
                let flow = journey.begin(&mut script).unwrap();
                journey.next_step(&mut script);
                seen[number as usize] = (flow, target(&mut journey, &script).unwrap());
            }
        }
        seen
    };
    let seen = run(1);
    assert_eq!(seen, run(3));
    let share = |count: usize, expected: f64| {
        // Five standard deviations.
        let spread = 5.0 * (expected * (1.0 - expected) / 10_000.0).sqrt();
        assert!((count as f64 / 10_000.0 - expected).abs() < spread, "{count} for {expected}");
    };
    share(seen.iter().filter(|(flow, _)| *flow == 0).count(), 0.75);
    share(seen.iter().filter(|(flow, _)| *flow == 2).count(), 0.25);
    for row in 0..10 {
        share(seen.iter().filter(|(_, target)| *target == format!("/{row}")).count(), 0.1);
    }
}

#[test]
fn pauses_are_between_their_ends() {
    let mut one = flow("f", &[], &[("/", &[], None)]);
    let (least, most) = (Duration::from_millis(1), Duration::from_millis(30));
    one.steps[0].pause = Pause { least, most };
    let mut script = script(&scenario(Vec::new(), vec![one], Choice::InTurn), 0, 1);
    let mut journey = Journey::new(&script);
    let pauses: Vec<_> = (0..10_000)
        .map(|_| {
            journey.begin(&mut script);
            journey.next_step(&mut script).unwrap().pause
        })
        .collect();
    assert!(pauses.iter().all(|pause| (least..=most).contains(pause)));
    // The mean of 10,000 has a standard deviation of 29 / sqrt(12) / 100 ms.
    let mean = pauses.iter().sum::<Duration>().as_secs_f64() / 10.0;
    assert!((mean - 15.5).abs() < 0.42, "{mean} ms");
}

#[test]
fn identities_keep_their_cookies_apart() {
    let mut one = flow("f", &[], &[("/", &[], None)]);
    (one.cookies, one.identities) = (true, 2);
    let mut script = script(&scenario(Vec::new(), vec![one], Choice::InTurn), 0, 1);
    let mut journey = Journey::new(&script);
    for (number, sent) in [(0, None), (1, None), (2, Some("s=0")), (3, Some("s=1")), (4, Some("s=2"))] {
        journey.begin(&mut script);
        journey.next_step(&mut script);
        let length = journey.prepare(&script, NOW).unwrap();
        let parts = journey.parts(&script).unwrap();
        assert_eq!((parts.method, parts.target, length), ("GET", &b"/"[..], 0));
        let cookie =
            parts.headers().map(|(name, value)| (name, std::str::from_utf8(value).unwrap())).collect::<Vec<_>>();
        assert_eq!(cookie, sent.map(|sent| ("Cookie", sent)).into_iter().collect::<Vec<_>>());
        answer(&mut journey, &mut script, 200, &[("Set-Cookie", &format!("s={number}"))], "");
    }
}

#[test]
fn the_parts_of_a_request_are_what_is_rendered() {
    let feeders = vec![feeder(RowOrder::Loop, 2)];
    let mut one = flow("f", &feeders, &[("/${people.id}", &[], None)]);
    let names = Names { captures: &[], feeders: &feeders };
    one.steps[0].headers = vec![("A".to_owned(), Template::parse("${people.name}", names).unwrap())];
    one.steps[0].body = Template::parse("body of ${people.name}", names).unwrap();
    let mut script = script(&scenario(feeders, vec![one], Choice::InTurn), 0, 1);
    let mut journey = Journey::new(&script);
    journey.begin(&mut script);
    journey.next_step(&mut script);
    let length = journey.prepare(&script, NOW).unwrap();
    let (mut body, mut rendered) = (Vec::new(), Vec::new());
    journey.write_body(&script, &mut body).unwrap();
    assert_eq!((length, body.as_slice()), (10, &b"body of n0"[..]));
    let parts = journey.parts(&script).unwrap();
    assert_eq!((parts.method, parts.target), ("GET", &b"/0"[..]));
    assert_eq!(parts.headers().collect::<Vec<_>>(), [("A", &b"n0"[..])]);
    journey.render(&script, NOW, &mut rendered).unwrap();
    let expected = "GET /0 HTTP/1.1\r\nHost: h:1\r\nA: n0\r\nContent-Length: 10\r\n\r\nbody of n0";
    assert_eq!(String::from_utf8(rendered).unwrap(), expected);
}

#[test]
fn after_its_first_flows_a_journey_takes_next_to_no_memory() {
    let feeders = vec![feeder(RowOrder::Loop, 100)];
    let captures: &[_] = &[
        ("location", CaptureSource::Header("Location".to_owned())),
        ("id", CaptureSource::Json("/data/id".parse().unwrap())),
        ("token", CaptureSource::Regex(regex::bytes::Regex::new("token=([a-z]+)").unwrap())),
    ];
    let steps: [Brief<'_>; 3] = [
        ("/people?name=${people.name}", captures, None),
        ("${location}?id=${id}&token=${token}", &[], Some(("location", CaptureTest::Present))),
        ("/fixed", &[], None),
    ];
    let mut one = flow("create", &feeders, &steps);
    (one.cookies, one.identities) = (true, 2);
    one.steps[1].check.body = vec![BodyCheck::Contains(b"ok".to_vec()), BodyCheck::Sha256([0; 32])];
    let mut script = script(&scenario(feeders, vec![one], Choice::InTurn), 0, 1);
    let mut journey = Journey::new(&script);
    let mut out = Vec::new();
    let headers = [("Location", &b"/people/1234567"[..]), ("Set-Cookie", b"session=0123456789; Path=/; Max-Age=60")];
    let mut take_flow = || {
        journey.begin(&mut script);
        while journey.next_step(&mut script).is_some() {
            out.clear();
            journey.render(&script, NOW, &mut out).unwrap();
            journey.head(&script, 201, headers.into_iter(), NOW);
            journey.body(&script, br#"{"data": {"#);
            journey.body(&script, br#""id": 17, "x": [1, {"y": 2}]}, "z": "token=abc ok"}"#);
            if journey.end(&mut script).is_some() {
                journey.abandon(&mut script);
            }
        }
    };
    (0..10).for_each(|_| take_flow());
    let before = allocations::count();
    (0..1000).for_each(|_| take_flow());
    // To pass over JSON that is nested more than once, serde_json keeps a stack of brackets, which it takes and gives back.
    assert_eq!(allocations::count() - before, 2 * 1000);
    assert_eq!(script.share.tally.steps[0].matched, [1010, 1010, 1010]);
}

#[test]
fn a_body_that_is_too_long_matches_nothing_and_fails_a_check_of_all_of_it() {
    let json = CaptureSource::Json("".parse().unwrap());
    let mut one = flow("f", &[], &[("/", &[("all", json)], None), ("/", &[], None)]);
    one.steps[1].check.body = vec![BodyCheck::Json("".parse().unwrap(), serde_json::json!(""))];
    let mut script = script(&scenario(Vec::new(), vec![one], Choice::InTurn), 0, 1);
    let mut journey = Journey::new(&script);
    let long = format!("\"{}\"", "x".repeat(BODY_LIMIT - 1));
    journey.begin(&mut script);
    journey.next_step(&mut script);
    assert_eq!(answer(&mut journey, &mut script, 200, &[], &long), None);
    assert_eq!(script.share.tally.steps[0].matched, [0]);
    journey.next_step(&mut script);
    assert_eq!(answer(&mut journey, &mut script, 200, &[], &long), Some(Wrong::TooLong));
}

proptest! {
    /// httparse, an independent reader, sees the request that was meant, whatever the values are.
    #[test]
    fn a_request_is_what_was_meant(
        value in prop::collection::vec(any::<u8>(), 0..20),
        body in "\\PC{0,20}",
        post in any::<bool>(),
        keep_alive in any::<bool>(),
    ) {
        let captures = vec!["v".to_owned()];
        let names = Names { captures: &captures, feeders: &[] };
        let mut one = flow("f", &[], &[("/", &[("v", CaptureSource::Header("V".to_owned()))], None), ("/", &[], None)]);
        let step = &mut one.steps[1];
        step.method = if post { "POST" } else { "GET" }.to_owned();
        step.path = Template::parse("/a/${v}?b=${v}", names).unwrap();
        step.headers = vec![("X-V".to_owned(), Template::parse("is ${v}", names).unwrap())];
        step.body = Template::parse(&format!("{}${{v}}", body.replace('$', "$$")), names).unwrap();
        let scenario = scenario(Vec::new(), vec![one], Choice::InTurn);
        let mut script = Script::new(scenario, 0, "h:1", keep_alive, (0, 1), 7).unwrap();
        let mut journey = Journey::new(&script);
        journey.begin(&mut script);
        journey.next_step(&mut script);
        journey.head(&script, 200, [("V", value.as_slice())].into_iter(), NOW);
        prop_assert_eq!(journey.end(&mut script), None);
        journey.next_step(&mut script);
        let mut out = b"before".to_vec();
        if let Err(fault) = journey.render(&script, NOW, &mut out) {
            prop_assert_eq!((fault, out), (RenderFault::Header, b"before".to_vec()));
            prop_assert!(value.iter().any(|byte| b"\r\n\0".contains(byte)));
            return Ok(());
        }
        let out = &out[6..];
        let mut headers = [httparse::EMPTY_HEADER; 8];
        let mut request = httparse::Request::new(&mut headers);
        let Ok(httparse::Status::Complete(length)) = request.parse(out) else {
            // Other control bytes in a header are the server's to refuse; they end no line.
            prop_assert!(value.iter().any(u8::is_ascii_control));
            return Ok(());
        };
        let encoded: String = value.iter().map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
            byte => format!("%{byte:02X}"),
        }).collect();
        let target = format!("/a/{encoded}?b={encoded}");
        prop_assert_eq!(request.path, Some(target.as_str()));
        prop_assert_eq!(request.method, Some(if post { "POST" } else { "GET" }));
        let body = [body.as_bytes(), &value].concat();
        let header = |name: &str| request.headers.iter().find(|header| header.name == name).map(|header| header.value);
        prop_assert_eq!(header("Host"), Some(&b"h:1"[..]));
        let written = [b"is ", value.as_slice()].concat();
        prop_assert_eq!(header("X-V").map(<[u8]>::trim_ascii), Some(written.trim_ascii()));
        prop_assert_eq!(header("Connection"), (!keep_alive).then_some(&b"close"[..]));
        let stated = header("Content-Length").map(|text| std::str::from_utf8(text).unwrap().parse::<usize>().unwrap());
        prop_assert_eq!(stated, (post || !body.is_empty()).then_some(body.len()));
        prop_assert_eq!(&out[length..], body.as_slice());
    }
}

#[test]
fn each_identity_has_its_row_and_sees_what_is_its_own() {
    let feeders = vec![feeder(RowOrder::Identity, 2)];
    let names = Names { captures: &[], feeders: &feeders };
    let mut one = flow("account", &feeders, &[("/", &[], None)]);
    (one.cookies, one.identities) = (true, 2);
    one.steps[0].shows = vec![Template::parse("Hello ${people.name}!", names).unwrap()];
    one.steps[0].body = Template::form([("user", "${people.name}"), ("a b", "c&d")], names).unwrap();
    let mut script = script(&scenario(feeders, vec![one], Choice::InTurn), 0, 1);
    let [mut first, mut second] = [Journey::new(&script), Journey::new(&script)];
    // Each user's runs take its identities in turn, whoever else begins meanwhile.
    let runs = [(0, "n0"), (1, "n0"), (0, "n1"), (0, "n0"), (1, "n1")];
    for (user, name) in runs {
        let journey = if user == 0 { &mut first } else { &mut second };
        for (body, wrong) in [(format!("<p>Hello {name}!"), None), ("Hello n9!".to_owned(), Some(Wrong::Missing(0)))] {
            journey.begin(&mut script).unwrap();
            journey.next_step(&mut script).unwrap();
            let mut sent = Vec::new();
            journey.render(&script, NOW, &mut sent).unwrap();
            assert!(String::from_utf8(sent).unwrap().ends_with(&format!("\r\n\r\nuser={name}&a%20b=c%26d")), "{name}");
            journey.head(&script, 200, std::iter::empty(), NOW);
            journey.body(&script, body.as_bytes());
            assert_eq!(journey.end(&mut script), wrong, "{user} {name}");
            journey.abandon(&mut script);
            // The same identity once more.
            journey.runs[0] -= 1;
        }
        journey.runs[0] += 1;
    }
}

#[test]
fn values_in_forms_are_encoded_and_counted_so() {
    let feeders = vec![Feeder {
        name: "people".to_owned(),
        table: Table::of_columns(vec![("name".to_owned(), vec!["a+b=c \u{e4}".to_owned()])]).unwrap(),
        order: RowOrder::Identity,
    }];
    let names = Names { captures: &[], feeders: &feeders };
    let mut one = flow("form", &feeders, &[("/", &[], None)]);
    one.steps[0].body = Template::form([("f[t]", "x${people.name}y")], names).unwrap();
    let mut script = script(&scenario(feeders, vec![one], Choice::InTurn), 0, 1);
    let mut journey = Journey::new(&script);
    journey.begin(&mut script).unwrap();
    journey.next_step(&mut script).unwrap();
    let mut sent = Vec::new();
    journey.render(&script, NOW, &mut sent).unwrap();
    let sent = String::from_utf8(sent).unwrap();
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, "f%5Bt%5D=xa%2Bb%3Dc%20%C3%A4y");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
}
