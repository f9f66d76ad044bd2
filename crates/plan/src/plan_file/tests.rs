use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::process::Command;

use serde_json::Value;

use super::*;
use crate::document::Text;

fn parse(yaml: &str, place: &str) -> Result<PlanSections, Mistakes> {
    PlanFile::parse(yaml, place, Path::new("")).map(|file| file.sections)
}

/// What is wrong with a plan's keys, types or YAML.
fn mistakes(yaml: &str) -> Vec<String> {
    match parse(yaml, "p") {
        Ok(_) => Vec::new(),
        Err(Mistakes(mistakes)) => mistakes.iter().map(ToString::to_string).collect(),
    }
}

/// Plans that do not fit the schema, with what is said of them.
const MISFITS: [(&str, &str, &[&str]); 18] = [
    ("an empty file", "", &["p:1:1 is empty; begin with workload: markdown, or app: {dir: .}"]),
    ("only comments", "# nothing\n", &["p:2:1 is empty; begin with workload: markdown, or app: {dir: .}"]),
    ("a list", "[a]", &["p:1:1 is not a plan; begin with workload: markdown, or app: {dir: .}"]),
    (
        "unknown keys at every depth",
        "workloda: a\nlimits:\n  cpu: 1\n  memory: 1Gi\nstudy: {round: 3, zzz: 1}\ncases: [{runtime: go, sets: {}}]\n",
        &[
            "p:1:1 workloda is not known; did you mean workload?",
            "p:3:3 limits.cpu is not known; did you mean cpus?",
            "p:5:9 study.round is not known; did you mean rounds?",
            "p:5:19 study.zzz is not known; use at, duration, max_time, order, precision, ready_timeout, rounds, seed, warm_up",
            "p:6:23 cases[0].sets is not known; did you mean set?",
        ],
    ),
    (
        "keys that nothing resembles",
        "workload: a\nzone: {p99: 100ms}\nslo: {p98: 1s}\n",
        &[
            "p:2:1 zone is not known; use app, apps, base_image, cases, exchanges, limits, load, php, platform, runtimes, \
             slo, study, topology, workload",
            "p:3:7 slo.p98 is not known; did you mean p90?",
        ],
    ),
    (
        "values of another type",
        "workload: [a]\nlimits: 1\nruntimes: go\nplatform: {a: b}\n",
        &[
            "p:1:11 workload is a list where one value must be; for example workload: markdown",
            "p:2:9 limits 1 is a number where keys with values must be; for example limits: {cpus: 1, memory: 512Mi}",
            "p:3:11 runtimes go is a text where a list must be; for example runtimes: [nginx-fpm, frankenphp]",
            "p:4:11 platform has keys of its own where one value must be; for example \
             platform: local",
        ],
    ),
    (
        "keys that are missing",
        "app: {requests: [{method: GET}]}\ncases: [{id: a}]\nload: {rate: 5}\n",
        &[
            "p:1:6 app has no dir; add dir: .",
            "p:1:18 app.requests[0] has no path; add path: /",
            "p:2:9 cases[0] has no runtime; add runtime: nginx-fpm",
            "p:3:7 load has no model; add model: closed",
        ],
    ),
    (
        "words that are none",
        "app: {dir: ., kind: symfoni}\nload: {model: opn, arrivals: random}\ncases: [{runtime: go, role: refrence}]\n",
        &[
            "p:1:21 app.kind symfoni is not known; did you mean symfony?",
            "p:2:15 load.model opn is not known; did you mean open?",
            "p:2:30 load.arrivals random is not known; use uniform, poisson",
            "p:3:29 cases[0].role refrence is not known; did you mean reference?",
        ],
    ),
    (
        "a topology",
        "topology:\n  replica: 2\n  balancer: envoy\n  ready: never\n  tls: 'yes'\n  \
         services: {postgers: {}, mariadb: {cpu: 1}}\n  \
         share: {replica: {cpus: 1}}\n",
        &[
            "p:2:3 topology.replica is not known; did you mean replicas?",
            "p:3:13 topology.balancer envoy is not known; use nginx, haproxy",
            "p:4:10 topology.ready never is not known; use port, request",
            "p:5:8 topology.tls yes is a text where true or false must be; give it true or false",
            "p:6:14 topology.services.postgers is not known; did you mean postgres?",
            "p:6:38 topology.services.mariadb.cpu is not known; did you mean cpus?",
            "p:7:20 topology.share.replica has no memory; add memory: 128Mi",
        ],
    ),
    (
        "a load that is neither text nor keys",
        "load: 16\n",
        &["p:1:7 load 16 is a number where keys with values or a text must be; for example load: closed:16"],
    ),
    (
        "a command as text",
        "app: {dir: ., prepare: [composer install]}\n",
        &["p:1:25 app.prepare[0] composer install is a text where a list must be; give it a list"],
    ),
    ("an extension that is no list", "app: {dir: ., extensions: intl}\n", &[""]),
    (
        "a flag that is a word",
        "app: {dir: ., requests: [{path: /, load: sometimes}]}\n",
        &["p:1:42 app.requests[0].load sometimes is a text where true or false must be; give it true or false"],
    ),
    (
        "a key twice",
        "workload: a\nworkload: b\n",
        &["p:2:1 is not YAML that can be used: duplicate mapping key `workload` is not allowed here; correct it there"],
    ),
    ("an open list", "runtimes: [a\nworkload: b\n", &[""]),
    ("a tab", "limits:\n\tcpus: 1\n", &[""]),
    ("two documents", "workload: a\n---\nworkload: b\n", &[""]),
    ("an unknown alias", "workload: *a\n", &[""]),
];

#[test]
fn all_that_does_not_fit_is_told_at_once_with_its_place() {
    for (what, yaml, told) in MISFITS {
        let said = mistakes(yaml);
        // The parser's own words may change with its version; that and where it fails is enough.
        match told {
            [""] => assert!(said.len() == 1 && said[0].starts_with("p:"), "{what}: {said:?}"),
            told => assert_eq!(said, told, "{what}"),
        }
    }
}

#[test]
fn what_would_exhaust_the_reader_is_refused() {
    let many = |count: usize, item: &str| item.repeat(count);
    let bomb: String =
        (1..12).map(|level| format!("l{level}: &l{level} [{}]\n", many(10, &format!("*l{}, ", level - 1)))).collect();
    for (what, yaml) in [
        ("an alias bomb", format!("l0: &l0 [a, a]\n{bomb}")),
        ("deep nesting of lists", format!("workload: {}{}", many(5000, "["), many(5000, "]"))),
        ("deep nesting of keys", (0..300).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect()),
        ("many values", format!("runtimes: [{}]", many(100_000, "a, "))),
        ("many merges", (0..400).fold("a: &a {x: 1}\n".to_owned(), |text, key| format!("{text}b{key}: {{<<: *a}}\n"))),
    ] {
        let said = mistakes(&yaml);
        assert_eq!(said.len(), 1, "{what}: {said:?}");
        assert!(said[0].len() < 300 && said[0].contains("is not YAML that can be used"), "{what}: {said:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(PLAN_FILE);
    fs::write(&file, "#".repeat(2 << 20)).unwrap();
    let said = PlanFile::read(&file).unwrap_err().to_string();
    assert!(said.contains("cannot be read: it is larger than 1 MiB"), "{said}");
    fs::write(&file, [0xff, 0xfe, 0x00]).unwrap();
    assert!(PlanFile::read(&file).unwrap_err().to_string().contains("cannot be read"));
}

#[test]
fn anchors_and_scalars_as_they_are_written_are_read() {
    let yaml = "workload: markdown\n\
        cases:\n\
        - {id: a, runtime: nginx-fpm, set: &pool {pm: static, pm.max_children: 8, x: 0.50, y: true}}\n\
        - {id: b, runtime: apache-fpm, role: not-for-production, set: *pool}\n\
        limits: {cpus: 0.5, memory: 256Mi}\n\
        study:\n";
    let sections = parse(yaml, "p").unwrap();
    let cases = sections.cases.unwrap();
    assert_eq!(cases.iter().map(|case| case.role).collect::<Vec<_>>(), [None, Some(RoleEntry::NotForProduction)]);
    let set: BTreeMap<_, _> = cases[1].set.iter().map(|(name, Text(value))| (name.as_str(), value.as_str())).collect();
    assert_eq!(set, BTreeMap::from([("pm", "static"), ("pm.max_children", "8"), ("x", "0.50"), ("y", "true")]));
    assert_eq!(sections.limits.unwrap().cpus, Some(Text("0.5".to_owned())));
}

#[test]
fn a_load_in_keys_is_the_short_text() {
    for (keys, short) in [
        ("{model: closed, connections: 16}", Ok("closed:16")),
        ("{model: open, rate: 500}", Ok("open:500")),
        ("{model: open, rate: 50..100/60s, arrivals: poisson, connections: 64}", Ok("open:poisson:50..100/60s@64")),
        ("{model: open, rate: 5, arrivals: uniform}", Ok("open:5")),
        ("{model: closed}", Err("connections")),
        ("{model: open}", Err("rate")),
        ("{model: closed, rate: 5, connections: 1}", Err("rate")),
        ("{model: closed, arrivals: poisson, connections: 1}", Err("arrivals")),
    ] {
        let sections = parse(&format!("load: {keys}"), "p").unwrap();
        let LoadEntry::Keys(load) = sections.load.unwrap() else { panic!("{keys}") };
        assert_eq!(load.short().as_deref().map_err(|(key, _, _)| *key), short, "{keys}");
    }
}

#[test]
fn the_published_schema_is_that_of_these_types() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/stampede.schema.json");
    let published = fs::read_to_string(file).unwrap_or_default();
    assert!(published == schema(), "run: stampede show schema > docs/stampede.schema.json");
}

/// The plans of the documentation, in its text and beside it.
fn documented() -> Vec<String> {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/plan.md")).unwrap();
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let files = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/matrix")).unwrap();
    let files: Vec<String> = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    blocks.map(str::to_owned).chain(files).collect()
}

#[test]
fn every_documented_plan_is_read() {
    let plans = documented();
    assert!(plans.len() > 3);
    for plan in plans {
        assert_eq!(mistakes(&plan), Vec::<String>::new(), "{plan}");
    }
}

/// Another reader of JSON Schema must agree: <https://python-jsonschema.readthedocs.io>.
#[test]
fn a_validator_that_others_wrote_agrees() {
    const PROGRAM: &str = "import json, sys\n\
        from jsonschema import Draft202012Validator as V\n\
        schema, plans = json.load(sys.stdin)\n\
        V.check_schema(schema)\n\
        print(json.dumps([V(schema).is_valid(plan) for plan in plans]))\n";
    let has_jsonschema = Command::new("python3").args(["-c", "import jsonschema"]).output();
    if !has_jsonschema.is_ok_and(|output| output.status.success()) {
        let name = "a_validator_that_others_wrote_agrees";
        let _ = writeln!(std::io::stderr(), "SKIP {name}: needs python3 with jsonschema");
        return;
    }
    let mut plans = documented();
    let fitting = plans.len();
    plans.extend(MISFITS.iter().map(|(_, yaml, _)| (*yaml).to_owned()));
    let plans: Vec<(bool, Value)> = plans
        .iter()
        .enumerate()
        .filter_map(|(index, yaml)| Some((index < fitting, serde_saphyr::from_str(yaml).ok()?)))
        .collect();
    let input = serde_json::to_vec(&(schema_value(), plans.iter().map(|(_, plan)| plan).collect::<Vec<_>>())).unwrap();
    let mut python = Command::new("python3")
        .args(["-c", PROGRAM])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(&input).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    let valid: Vec<bool> = serde_json::from_slice(&output.stdout).unwrap();
    let expected: Vec<bool> = plans.iter().map(|(fits, _)| *fits).collect();
    assert_eq!(valid, expected);
}
