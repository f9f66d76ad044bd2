use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::time::Duration;

use stampede_core::{Arrivals, Bytes};
use stampede_scenario::{BodyCheck, CaptureSource, CaptureTest, Events, EventsEnd, HeaderRule, Pause, Slot};

use super::*;

const MACHINE: MachineSize = MachineSize { cpus: 4, memory: Bytes::from_mib(1024), connections: 1000 };

/// Parses a scenario beside these files.
fn parsed(yaml: &str, files: &[(&str, &str)]) -> Result<Scenario, Mistakes> {
    let files: BTreeMap<_, _> = files.iter().copied().collect();
    parse(yaml, "s.yaml", MACHINE, &BTreeMap::new(), &|path| {
        let text = path.to_str().and_then(|path| files.get(path)).ok_or(ErrorKind::NotFound)?;
        Ok(text.as_bytes().to_vec())
    })
}

/// The YAML blocks of the page that explains scenarios.
fn examples() -> Vec<String> {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenarios.md")).unwrap();
    page.split("```yaml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0.to_owned()).collect()
}

fn duration(load: &Load) -> Duration {
    let Load::Open { schedule, .. } = load else { panic!("{load}") };
    schedule.length()
}

#[test]
fn the_last_example_is_the_load_of_rinha() {
    let files = [("pessoas-payloads.tsv", "payload\n{\"apelido\" : \"a\"}\n"), ("termos-busca.tsv", "t\na b\n")];
    let scenario = parsed(examples().last().unwrap(), &files).unwrap();
    let counts: Vec<_> = scenario
        .crowds
        .iter()
        .map(|crowd| {
            let Load::Open { schedule, arrivals: Arrivals::Uniform, .. } = &crowd.load else { panic!() };
            assert_eq!(duration(&crowd.load), Duration::from_secs(205));
            schedule.count_before(schedule.length())
        })
        .collect();
    assert_eq!(counts, [54_635, 9_590, 4_190]);
    let [create, follow] = scenario.crowds[0].flows[0].steps.as_slice() else { panic!() };
    assert_eq!(create.body.slots().collect::<Vec<_>>(), [Slot::Column { feeder: 0, column: 0 }]);
    assert_eq!(follow.path.slots().collect::<Vec<_>>(), [Slot::Capture(0)]);
    assert_eq!(follow.pause, Pause { least: Duration::from_millis(1), most: Duration::from_millis(30) });
    assert_eq!(follow.when.as_ref().map(|when| &when.test), Some(&CaptureTest::Present));
    let [search] = scenario.crowds[1].flows[0].steps.as_slice() else { panic!() };
    assert_eq!((search.method.as_str(), search.path.slots().count()), ("GET", 1));
    assert_eq!(scenario.crowds[2].flows[0].steps[0].check.status, stampede_scenario::Statuses::only(400));
}

#[test]
fn the_other_examples_are_read() {
    let examples = examples();
    assert_eq!(examples.len(), 4);
    let mix = parsed(&examples[0], &[]).unwrap();
    let [crowd] = mix.crowds.as_slice() else { panic!() };
    assert_eq!(crowd.choice, Choice::Weighted);
    let flows: Vec<_> = crowd.flows.iter().map(|flow| (flow.name.as_str(), flow.weight)).collect();
    assert_eq!(flows, [("GET /", 8), ("GET /posts/1", 3), ("search", 1)]);
    let search = &crowd.flows[2].steps[0];
    assert_eq!((search.method.as_str(), &search.check.headers[0].rule), ("POST", &HeaderRule::Contains("json".into())));
    assert_eq!(search.check.body, [BodyCheck::Json("/total".parse().unwrap(), 42.into())]);

    let visit = parsed(&examples[1], &[("accounts.csv", "mail,password\na@b,secret\n")]).unwrap();
    let flow = &visit.crowds[0].flows[0];
    assert_eq!((flow.cookies, flow.identities, visit.crowds[0].choice), (true, 2, Choice::InTurn));
    assert_eq!(flow.captures, ["token", "next", "user"]);
    assert!(matches!(flow.steps[0].captures[0].source, CaptureSource::Regex(_)));
    assert_eq!(flow.steps[2].path.slots().collect::<Vec<_>>(), [Slot::Capture(2)]);
    assert_eq!(flow.steps[4].method, "DELETE");

    let live = parsed(&examples[2], &[]).unwrap();
    let steps = live.crowds.iter().flat_map(|crowd| crowd.flows.iter().flat_map(|flow| &flow.steps));
    let heard: Vec<_> = steps
        .map(|step| {
            let Events { end, kind, least } = step.events.clone().unwrap();
            assert!(step.headers.iter().any(|(name, _)| name == "Accept"), "{}", step.name);
            assert_eq!(step.check.status, stampede_scenario::Statuses::only(200));
            (step.method.as_str(), end, kind, least)
        })
        .collect();
    let price = || Some("price".to_owned());
    let expected = [
        ("GET", EventsEnd::After(Duration::from_secs(30)), None, 1),
        ("POST", EventsEnd::Until("[DONE]".to_owned()), None, 0),
        ("GET", EventsEnd::Count(10), price(), 0),
        ("GET", EventsEnd::Count(1), price(), 0),
    ];
    assert_eq!(heard, expected);
    assert_eq!(live.crowds[1].flows[0].steps[1].captures[0].source, CaptureSource::EventId);
}

/// A scenario of one step, below a first line.
fn of_one_step(first: &str, step: &str) -> String {
    format!("{first}\ncrowds:\n- load: closed:1\n  flows: [{{name: f, identities: 2, steps: [{step}]}}]\n")
}

#[test]
fn mistakes_in_what_is_heard_are_told() {
    let of = |rest: &str| {
        let step = format!("{{name: s, path: /, {rest}}}");
        parsed(&of_one_step("", &step), &[])
    };
    let own = of("events: {}, headers: {accept: '*/*'}, check: {status: 200-299}").unwrap();
    let step = &own.crowds[0].flows[0].steps[0];
    let names: Vec<_> = step.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, step.events.as_ref().unwrap().end.clone()), (vec!["Cache-Control", "accept"], EventsEnd::Close));
    for (rest, told) in [
        ("events: {count: 1, for: 1s}", "s.yaml:4 events ends in more than one way"),
        ("events: {count: 0}", "count 0 is no number of events; for example count: 10"),
        ("events: {until: ''}", "until is in every event"),
        ("events: {until: '${a}'}", "until ${a} has a value, which is not put in here"),
        ("events: {for: soon}", "for soon is not a length of time up to a day"),
        ("events: {for: 0s}", "for 0s is not a length of time up to a day"),
        ("events: {for: 2days}", "for 2days is not a length of time up to a day"),
        ("events: {type: ''}", "type is not the type of an event"),
        ("events: {count: 2, least: 3}", "least 3 is more than count"),
        ("method: HEAD, events: {count: 1}", "events has an answer without a body"),
        ("capture: {a: {event: id}}", "takes a part of an event, and the step hears none"),
        ("events: {counts: 1}", "counts"),
        ("events: {}, capture: {a: {event: data}}", "data"),
    ] {
        let problem = of(rest).unwrap_err().to_string();
        assert!(problem.contains(told), "{told}: {problem}");
    }
}

#[test]
fn conditions_are_read() {
    for (typed, expected) in [
        ("a", CaptureTest::Present),
        ("'!a'", CaptureTest::Missing),
        ("'! a'", CaptureTest::Missing),
        ("a == x y", CaptureTest::Equals("x y".to_owned())),
        ("a==x!=y", CaptureTest::Equals("x!=y".to_owned())),
        ("a != x==y", CaptureTest::Differs("x==y".to_owned())),
        ("'a != '", CaptureTest::Differs(String::new())),
    ] {
        let yaml = format!(
            "crowds:\n- load: open:1\n  flows:\n  - name: f\n    steps:\n    - {{name: a, path: /, capture: {{a: {{header: A}}}}}}\n    - {{name: b, path: /, when: {typed}}}\n"
        );
        let scenario = parsed(&yaml, &[]).unwrap();
        assert_eq!(scenario.crowds[0].flows[0].steps[1].when.as_ref().unwrap().test, expected, "{typed}");
    }
}

#[test]
fn all_mistakes_are_told_at_once_with_their_lines() {
    let yaml = "\
feeders:
  users: {file: users.csv}
  bad: {file: bad.csv}
  gone: {file: gone.tsv, order: once}
  odd: {file: odd.txt}
  a b: {file: users.csv}
crowds:
- load: opened:5
  flows:
  - name: one
    steps:
    - {name: a, path: people, method: G ET, capture: {id: {json: id}, re: {regex: '('}, h: {header: 'a b'}, a b: {header: x}}}
    - {name: a, path: '/${idd}', pause: 30ms..1ms, when: ide, headers: {Host: h, A: 'x', a: 'y', 'b c': z}}
    - {name: c, path: '/a b', body: '$5 ${users.nam}', check: {status: 2xx, sha256: abc, json: {a: 1}, headers: {'a b': present}}}
    - {name: d, path: '/${bad.x}${gone.y}', pause: 2h, when: re == 1}
    - {name: e, path: '/${users.nam}'}
- load: open:poisson:random:5/15s
  requests:
  - {path: /, weight: 0}
- load: closed:2000
  flows:
  - {name: one, identities: 0, steps: []}
  - {name: two, identities: 2, cookies: false, steps: [{name: a, path: '${x', headers: {Cookie: a=b}}]}
- load: open:1
- load: open:1
  flows: [{name: three, cookies: true, steps: [{name: a, path: /, headers: {Cookie: a=b}}]}]
  requests: [{path: /x}]
- load: open:1
  flows: [{name: four, cookies: true, steps: [{name: a, path: /, headers: {Cookie: a=b}}]}]
";
    let files = [("users.csv", "id,name\n1,a\n"), ("bad.csv", "x\n1\n2,3\n")];
    let told = parsed(yaml, &files).unwrap_err().to_string();
    let expected = "\
s.yaml:6 feeder a b is not a name; use letters, digits, _ and -
s.yaml:3 file bad.csv is not a table: line 3 has 2 values for 1 columns; correct that line
s.yaml:4 file gone.tsv cannot be read: entity not found; correct the path, which begins at the scenario's folder
s.yaml:5 file odd.txt has a name that tells no format; add format: csv, tsv or jsonl
s.yaml:8 load opened:5 is not a load such as closed:16 (16 connections, each with one request in flight) or open:500 (500 requests a second); for example load: closed:16 or load: open:500
s.yaml:12 method G ET is not a method; for example method: PUT
s.yaml:12 path people does not begin with /; write an absolute path, or begin with a captured one
s.yaml:12 capture a b is not a name; use letters, digits, _ and -
s.yaml:12 header a b is not the name of a header; for example header: ETag
s.yaml:12 json id is a JSON pointer without a leading /; for example json: /data/0/id
s.yaml:12 regex ( is not a regular expression: unclosed group; for example regex: 'token=(\\w+)'
s.yaml:13 name a is the name of two steps; name each step differently
s.yaml:13 when ide asks for \"ide\", which no earlier step captures; did you mean id?
s.yaml:13 pause 30ms..1ms is not a time up to an hour, or two; for example pause: 10ms or pause: 1ms..30ms
s.yaml:13 path /${idd} uses ${idd}, which is not known here (at character 2); did you mean id?
s.yaml:13 Host h says how the request is carried, which the engine does; leave it out
s.yaml:13 a y is given twice; join its values with a comma
s.yaml:13 b c z is not a header; for example Accept: text/html
s.yaml:14 path /a b has characters that no path has; write them as %XX: %20 for a blank
s.yaml:14 body $5 ${users.nam} has a $ that begins no ${name} (at character 1); write $$ for a dollar
s.yaml:14 status 2xx is not a list of statuses; for example status: 200 or status: 200,204,300-399
s.yaml:14 headers a b is not the name of a header; for example ETag: present
s.yaml:14 sha256 abc is not a SHA-256 hash; give 64 hexadecimal digits
s.yaml:14 json a is a JSON pointer without a leading /; for example json: {/data/0/id: 7}
s.yaml:15 pause 2h is not a time up to an hour, or two; for example pause: 10ms or pause: 1ms..30ms
s.yaml:16 path /${users.nam} uses ${users.nam}, which is not known here (at character 2); did you mean users.name?
s.yaml:17 load open:poisson:random:5/15s has flows that all weigh 0; give one of them a weight
s.yaml:17 load open:poisson:random:5/15s has an exact count and a random one at once; leave out poisson: or random:
s.yaml:22 name one is the name of two flows; name each flow differently
s.yaml:22 name one names a flow without steps; add steps
s.yaml:22 identities 0 is not a number of identities from 1 to 1000; for example identities: 2
s.yaml:23 identities 2 tells apart nothing without cookies; leave out cookies: false, or identities
s.yaml:23 path ${x has a ${ without its } (at character 1); add the }
s.yaml:24 load open:1 has no flow; add flows or requests beside it
s.yaml:25 load open:1 has flows and requests; make a flow of each request
s.yaml:29 Cookie a=b stands beside the cookies that are kept; leave it out, or cookies: true
s.yaml opens 2768 connections in all, more than one process may; let the loads have at most 1000 together (open:500@64), or raise the limit of open files (ulimit -n)";
    let (told, expected): (Vec<_>, Vec<_>) = (told.lines().collect(), expected.lines().collect());
    for (told, expected) in told.iter().zip(&expected) {
        assert_eq!(told, expected);
    }
    assert_eq!(told.len(), expected.len());
}

#[test]
fn what_is_no_scenario_says_where() {
    for (yaml, part) in [
        ("crowds:\n- load: open:1\n  flow: []\n", "line 3"),
        ("crowds: []\nfeeder: {}\n", "line 2"),
        ("crowds:\n- load: open:1\n  requests:\n  - {path: /, check: {headers: {a: {hold: x}}}}\n", "`hold`"),
        ("crowds:\n- {load: open:1, requests: [{path: /, weight: -1}]}\n", "line 2"),
        ("", "line 1"),
        ("crowds: [", "s.yaml"),
        ("crowds: []", "s.yaml:1 crowds are none"),
        (
            "crowds: [{load: open:1, think: 1s, requests: [{path: /}]}]",
            "s.yaml:1 think 1s belongs to a closed load; leave it out: the rate says when flows begin",
        ),
        (
            "crowds: [{load: closed:1, think: soon, requests: [{path: /}]}]",
            "s.yaml:1 think soon is not a time up to an hour, or two; for example think: 10ms or think: 1ms..30ms",
        ),
    ] {
        let told = parsed(yaml, &[]).unwrap_err().to_string();
        assert!(told.contains(part), "{part} in {told}");
    }
}

#[test]
fn a_file_is_read_with_the_tables_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scenario.yaml");
    let yaml = "feeders: {p: {file: p.jsonl}}\ncrowds: [{load: open:1, requests: [{path: '/${p.id}'}]}]\n";
    assert!(read(&file, MACHINE, &BTreeMap::new()).unwrap_err().to_string().contains("cannot be read"));
    fs::write(&file, yaml).unwrap();
    fs::write(folder.path().join("p.jsonl"), "{\"id\": 1}\n{\"id\": 2}\n").unwrap();
    assert_eq!(read(&file, MACHINE, &BTreeMap::new()).unwrap().feeders[0].table.rows(), 2);

    // Another file has its own format, and its own mistakes.
    let other = folder.path().join("other.csv");
    let replaced = BTreeMap::from([("p".to_owned(), other.clone())]);
    fs::write(&other, "id\n1\n2\n3\n").unwrap();
    assert_eq!(read(&file, MACHINE, &replaced).unwrap().feeders[0].table.rows(), 3);
    fs::write(&other, "id\n1\n2,3\n").unwrap();
    let told = read(&file, MACHINE, &replaced).unwrap_err().to_string();
    assert!(told.contains("other.csv is not a table: line 3 "), "{told}");
    let unknown = BTreeMap::from([("q".to_owned(), other)]);
    let told = read(&file, MACHINE, &unknown).unwrap_err().to_string();
    assert!(told.contains("other.csv names no feeder of the scenario; the scenario has p"), "{told}");
}

#[test]
fn forms_values_in_checks_and_accounts_from_the_environment_are_read() {
    let of = |feeder: &str, step: &str| {
        parsed(&of_one_step(&format!("feeders: {{a: {feeder}}}"), step), &[("a.csv", "name\nx\n")])
    };
    // Variables that cargo sets.
    let env = "{env: {name: [CARGO_PKG_NAME, CARGO_PKG_VERSION]}, order: identity}";
    let step = "{name: s, path: /, form: {b: '1 2', 'a[x]': '${a.name}'}, check: {contains: 'Hello ${a.name}'}}";
    let scenario = of(env, step).unwrap();
    let Feeder { table, order, .. } = &scenario.feeders[0];
    assert_eq!(
        (table.rows(), table.cell(0, 0), *order),
        (2, "stampede-plan".as_bytes(), stampede_scenario::RowOrder::Identity)
    );
    let step = &scenario.crowds[0].flows[0].steps[0];
    assert_eq!((step.method.as_str(), step.shows.len(), step.check.body.len()), ("POST", 1, 0));
    assert_eq!(step.headers[0].0, "Content-Type");
    assert_eq!(step.body.texts().collect::<Vec<_>>(), [&b"a%5Bx%5D="[..], b"&b=1%202"]);
    for (feeder, step, told) in [
        (
            "{env: {name: [STAMPEDE_NO_SUCH]}}",
            "{name: s, path: /}",
            "env STAMPEDE_NO_SUCH is not set in the environment",
        ),
        (
            "{env: {name: [CARGO_PKG_NAME], b: [CARGO_PKG_NAME, CARGO_PKG_NAME]}}",
            "{name: s, path: /}",
            "env has columns of different lengths, or none",
        ),
        ("{file: a.csv, env: {name: [CARGO_PKG_NAME]}}", "{name: s, path: /}", "env stands beside file"),
        ("{order: once}", "{name: s, path: /}", "s.yaml feeder a has no values"),
        ("{file: a.csv}", "{name: s, path: /, body: x, form: {a: b}}", "form stands beside body"),
        ("{file: a.csv}", "{name: s, path: /, form: {a: '${a.nam}'}}", "did you mean a.name"),
        ("{file: a.csv}", "{name: s, path: /, check: {contains: '${a.nam}'}}", "did you mean a.name"),
    ] {
        let problem = of(feeder, step).unwrap_err().to_string();
        assert!(problem.contains(told), "{told}: {problem}");
    }
}
