use stampede_core::{ClaimTest, Failures};

use super::*;
use crate::scale::InstancesAsked;

/// A catalogue without anything: rows then keep the mistakes that their workloads are.
struct Empty;

impl Catalogue for Empty {
    fn runtimes(&self) -> &[&'static dyn stampede_core::Runtime] {
        &[]
    }

    fn workloads(&self) -> Vec<String> {
        Vec::new()
    }

    fn workload_folder(&self, name: &str) -> Result<PathBuf, String> {
        Err(name.to_owned())
    }

    fn generated(&self, _: &std::path::Path, _: &[String]) -> Result<PathBuf, String> {
        Err("generates nothing".to_owned())
    }
}

/// A catalogue with one workload, which has no scenario.
struct Plain;

impl Catalogue for Plain {
    fn runtimes(&self) -> &[&'static dyn stampede_core::Runtime] {
        &[]
    }

    fn workloads(&self) -> Vec<String> {
        vec!["hello".to_owned()]
    }

    fn workload_folder(&self, name: &str) -> Result<PathBuf, String> {
        Ok(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads").join(name))
    }

    fn generated(&self, _: &std::path::Path, _: &[String]) -> Result<PathBuf, String> {
        Err("generates nothing".to_owned())
    }
}

const MACHINE: MachineSize = MachineSize { cpus: 2, memory: stampede_core::Bytes::from_mib(1024), connections: 900 };

const GOOD: &str = "title: A title
source: Somewhere
scale: 0.5
rounds: 5
tables:
  - id: closed
    title: At once
    workload: hello
    duration: 60s
    warm_up: 2s
    case: {load: 'closed:50', cpus: 1, env: {A: 1, B: 2}, set: {pm: static}, runtime: nginx-fpm}
    columns: [{metric: throughput_rps, unit: req/s}, {metric: response_p50_us, unit: s}]
    baseline: a
    rows:
      - {id: a, title: The first, published: [217.93, 0.0674]}
      - {id: b, title: The second, case: {runtime: go, env: {B: 3}}, published: [80000..160000]}
      - {id: c, title: The third, case: {set: {pm.max_children: 4}}, published: [null, 1], unlike: It is older}
claims:
  - {says: faster, table: closed, ratio: b / a, from: 1.2}
  - {says: no failures, table: closed, figure: a, metric: failed_share, to: 0}
  - {says: nice, untested: nobody can}
";

#[test]
fn a_feeder_that_no_row_takes_is_a_mistake_of_the_command_line() {
    for (typed, told) in [
        ("payloads", "--feeder payloads is not a feeder and its file"),
        ("payloads=x.tsv", "x.tsv feeds a scenario, and this has none"),
    ] {
        let feeders = FeederFlag { feeders: vec![typed.to_owned()] };
        let flags = ReproduceFlags { feeders, ..ReproduceFlags::default() };
        let read = ReproducePlan::read("some", &flags, &known(GOOD), MACHINE, &Plain);
        let mistakes = read.unwrap_err().0;
        let [mistake] = mistakes.as_slice() else { panic!("{mistakes:?}") };
        assert!(mistake.to_string().contains(told), "{mistake}");
    }
}

fn known(text: &str) -> Vec<KnownPublication> {
    vec![KnownPublication { name: "some".to_owned(), place: "studies/some.yaml".to_owned(), text: text.to_owned() }]
}

fn read(text: &str, change: impl Fn(&mut ReproduceFlags)) -> Result<ReproducePlan, Vec<String>> {
    let mut flags = ReproduceFlags::default();
    change(&mut flags);
    let told = |Mistakes(all): Mistakes| all.iter().map(ToString::to_string).collect();
    ReproducePlan::read("some", &flags, &known(text), MACHINE, &Empty).map_err(told)
}

#[test]
fn an_experiment_is_read_whole_and_rows_that_cannot_be_served_keep_their_place() {
    let plan = read(GOOD, |_| ()).unwrap();
    assert_eq!((plan.scale, plan.rate_scale, plan.rounds, plan.seed), (0.5, 1.0, 5, None));
    let table = &plan.publication.tables[0];
    assert_eq!(table.rows.iter().map(|row| row.case.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    let figures: Vec<Vec<Option<f64>>> = table
        .rows
        .iter()
        .map(|row| row.figures.iter().map(|figure| figure.map(|figure| figure.low)).collect())
        .collect();
    assert_eq!(figures, [[Some(217.93), Some(0.0674)], [Some(80e3), None], [None, Some(1.0)]]);
    assert_eq!(plan.publication.claims.len(), 3);
    for row in &plan.tables[0].rows {
        let problem = row.plan.as_ref().unwrap_err().to_string();
        assert!(problem.contains("workload hello is neither"), "{problem}");
    }
    let full = read(GOOD, |flags| flags.full = true).unwrap();
    assert_eq!(full.scale, 1.0);
    assert_eq!(table.failures, Failures::Faults);
    let asked = GOOD.replacen("    baseline: a", "    failures: figures\n    baseline: a", 1);
    assert_eq!(read(&asked, |_| ()).unwrap().publication.tables[0].failures, Failures::Figures);
    let patient = GOOD.replacen("    baseline: a", "    timeout: 30s\n    baseline: a", 1);
    let patient = &read(&patient, |_| ()).unwrap().publication.tables[0];
    let [short, long] = [0.01, 0.5].map(|scale| patient.client_timeout(scale).unwrap().as_secs());
    assert_eq!((short, long, table.client_timeout(1.0)), (1, 15, None));
    let against = GOOD.replacen("ratio: b / a,", "ratio: b / a, against: c / a,", 1);
    let claim = &read(&against, |_| ()).unwrap().publication.claims[0].test;
    assert!(
        matches!(claim, ClaimTest::Ratio { against: Some((c, a)), .. } if (c.as_str(), a.as_str()) == ("c", "a")),
        "{claim:?}"
    );
}

#[test]
fn a_claim_about_the_whole_load_is_tested_by_a_full_run_alone() {
    let text = GOOD.replace("metric: failed_share, to: 0}", "metric: created_count, from: 7, to: 7, full: true}");
    let untested = |change: fn(&mut ReproduceFlags)| {
        let claims = read(&text, change).unwrap().publication.claims;
        claims.iter().map(|claim| matches!(claim.test, ClaimTest::Untested { .. })).collect::<Vec<_>>()
    };
    assert_eq!(untested(|_| ()), [false, true, true]);
    assert_eq!(untested(|flags| flags.full = true), [false, false, true]);
    let weaker = |flags: &mut ReproduceFlags| {
        (flags.scale, flags.rate_scale) = (Some("1".to_owned()), Some("0.5".to_owned()));
    };
    assert_eq!(untested(weaker), [false, true, true]);
}

#[test]
fn a_row_takes_over_what_it_does_not_say() {
    let (file, _) = PublishedFile::read(&known(GOOD)[0]).unwrap();
    let flags = |row: usize| {
        let keys = file.tables[0].rows[row].case.clone().over(&file.tables[0].case);
        (keys.env(), keys.flags())
    };
    let (env, of_b) = flags(1);
    assert_eq!((of_b.runtimes.runtimes.as_deref(), of_b.deployment.cpus.as_deref()), (Some("go"), Some("1")));
    assert_eq!(
        env.into_iter().collect::<Vec<_>>(),
        [("A".to_owned(), "1".to_owned()), ("B".to_owned(), "3".to_owned())]
    );
    assert!(of_b.deployment.set.is_empty(), "settings of another runtime: {:?}", of_b.deployment.set);
    assert_eq!(flags(2).1.deployment.set, ["nginx-fpm.pm=static", "nginx-fpm.pm.max_children=4"]);
}

#[test]
fn a_build_that_a_row_names_is_where_the_command_line_says() {
    let text = GOOD
        .replace("scale: 0.5", "scale: 0.5\nbuilds: {zts: PHP with --enable-zts}")
        .replace("case: {set: {pm.max_children: 4}}", "case: {php: zts}")
        .replace("case: {runtime: go,", "case: {php: 8.4, runtime: nginx-fpm,");
    let php = |given: &[&str]| -> Vec<Result<Option<String>, String>> {
        let (file, _) = PublishedFile::read(&known(&text)[0]).unwrap();
        let given: Vec<String> = given.iter().map(|&build| build.to_owned()).collect();
        let builds = Builds::read(&given, &file.builds, &mut Gathered::default());
        let keys = file.tables[0].rows.iter().map(|row| row.case.clone().over(&file.tables[0].case));
        let php = |keys: CaseKeys| keys.at(&builds).map(|keys| keys.flags().php.php);
        keys.map(|keys| php(keys).map_err(|mistakes| mistakes.to_string())).collect()
    };
    let version = Ok(Some("8.4".to_owned()));
    assert_eq!(php(&["zts=/opt/zts/bin/php"]), [Ok(None), version, Ok(Some("/opt/zts/bin/php".to_owned()))]);
    let missing = php(&[]).pop().unwrap().unwrap_err();
    assert!(missing.starts_with("build zts is not given: PHP with --enable-zts; name its"), "{missing}");
    // The other rows run all the same.
    let plan = read(&text, |_| ()).unwrap();
    assert!(plan.tables[0].rows[0].plan.as_ref().unwrap_err().to_string().contains("workload hello is neither"));
}

#[test]
fn a_row_has_the_extensions_of_its_table_and_its_own() {
    let text = GOOD
        .replace("case: {load: 'closed:50',", "case: {load: 'closed:50', extensions: [intl],")
        .replace("case: {runtime: go,", "case: {extensions: [xdebug], runtime: go,");
    let (file, _) = PublishedFile::read(&known(&text)[0]).unwrap();
    let table = &file.tables[0];
    let rows = table.rows.iter().map(|row| row.case.clone().over(&table.case).extensions().join(" "));
    assert_eq!(rows.collect::<Vec<_>>(), ["intl", "intl xdebug", "intl"]);
}

#[test]
fn mistakes_of_the_command_line_are_told_at_once() {
    let mistakes = read(GOOD, |flags| {
        *flags = ReproduceFlags {
            scale: Some("0".to_owned()),
            rate_scale: Some("many".to_owned()),
            full: true,
            rounds: RoundsFlag { rounds: Some("auto".to_owned()) },
            seed: SeedFlag { seed: Some("-1".to_owned()) },
            client_rtt: ClientRttFlag { client_rtt: Some("1h".to_owned()) },
            tables: Some("closd".to_owned()),
            workloads: Some(PathBuf::from("/nowhere/at/all")),
            builds: vec!["zts".to_owned()],
            feeders: FeederFlag::default(),
        }
    })
    .unwrap_err();
    let told = [
        "--scale 0 leaves --full nothing to say",
        "--rate-scale many leaves --full nothing to say",
        "--scale 0 is not a factor",
        "--rate-scale many is not a factor",
        "--seed -1 is not",
        "--rounds auto is not a number of rounds from 1 to 1000",
        "--client-rtt 1h is not a time up to 10s",
        "--workloads /nowhere/at/all is no folder",
        "--tables closd is no table of some; did you mean closed?",
        "--build zts is not a name and a version",
    ];
    assert_eq!(mistakes.len(), told.len(), "{mistakes:#?}");
    for (mistake, told) in mistakes.iter().zip(told) {
        assert!(mistake.starts_with(told), "{mistake}, not {told}");
    }
    let flags = ReproduceFlags::default();
    let read = ReproducePlan::read("sme", &flags, &known(GOOD), MACHINE, &Empty);
    let unknown: Vec<String> = read.unwrap_err().0.iter().map(ToString::to_string).collect();
    assert_eq!(unknown, ["experiment sme is not known; did you mean some?"]);
}

#[test]
fn mistakes_of_a_file_are_told() {
    for (what, from, to, told) in [
        ("a key", "title: At once", "titel: At once", "is not a published experiment"),
        ("a scale", "scale: 0.5", "scale: 7", "scale is not above 0 and up to 1"),
        ("rounds", "rounds: 5", "rounds: 2", "rounds give no verdict"),
        ("a unit", "unit: req/s", "unit: rps", "has a column in no known unit"),
        ("a baseline", "baseline: a", "baseline: z", "has a baseline that is none of its rows"),
        ("a row twice", "id: b", "id: a", "a is the name of two rows"),
        ("a figure", "217.93", "fast", "a has a figure that is no number"),
        ("a build", "rounds: 5", "rounds: 5\nbuilds: {Zts: PHP}", "build Zts is no name of a build"),
        ("a range", "80000..160000", "8..4", "b has a figure that is no number"),
        ("figures", "[217.93, 0.0674]", "[1, 2, 3]", "a has more figures"),
        ("a model", "{runtime: go", "{load: 'open:5', runtime: go", "mixes open and closed loads"),
        (
            "instances",
            "case: {runtime: go",
            "case: {max_instances: 4, runtime: go",
            "b has instances without a concurrency",
        ),
        ("a claim", "ratio: b / a", "ratio: b / z", "names z, which is no row of the table closed"),
        ("bounds", ", from: 1.2", "", "has no bounds"),
        ("two claims", "ratio: b / a", "ratio: b / a, against: b / z", "names z, which is no row of the table closed"),
        ("no ratio", "figure: a,", "figure: a, against: b / a,", "holds no ratio against another"),
        ("a timeout", "    baseline: a", "    timeout: soon\n    baseline: a", "has a timeout that is no time"),
        ("nothing", "untested: nobody can", "to: 1", "is no claim"),
        (
            "in full",
            "untested: nobody can",
            "untested: nobody can, full: true",
            "is untested, and so in a full run too",
        ),
    ] {
        assert!(GOOD.contains(from), "{what}");
        let mistakes = read(&GOOD.replacen(from, to, 1), |_| ()).unwrap_err();
        assert!(mistakes.iter().any(|mistake| mistake.contains(told)), "{what}: {mistakes:#?}");
    }
}

#[test]
fn times_and_rates_are_scaled_and_a_window_keeps_a_second() {
    let folder = None;
    let feeders = FeederFlag::default();
    let reader = |scale, rate_scale| Reader {
        scale,
        rate_scale,
        client_rtt: None,
        workloads: &folder,
        builds: Builds::default(),
        feeders: &feeders,
        machine: MACHINE,
        catalogue: &Empty,
    };
    assert_eq!(reader(0.1, 1.0).duration("60s").unwrap(), "6s");
    assert_eq!(reader(0.001, 1.0).duration("60s").unwrap(), "1s");
    assert_eq!(reader(0.1, 0.5).load("open:50..100/60s").unwrap(), "open:25..50/6s");
    let problem = reader(0.000_001, 1.0).load("open:50..100/60s").unwrap_err().to_string();
    assert!(problem.contains("use a greater --scale"), "{problem}");
}

#[test]
fn instances_of_a_row_that_are_not_said_are_those_of_its_table() {
    let text = GOOD
        .replace(
            "case: {load: 'closed:50',",
            "case: {load: 'closed:50', concurrency: 10, max_instances: 3, total_cpus: 2,",
        )
        .replace("case: {set: {pm.max_children: 4}}", "case: {concurrency: 1, min_instances: 1}");
    let scaled = |text: &str| -> Vec<Option<ScaledRow>> {
        let known = known(text);
        let (file, _) = PublishedFile::read(&known[0]).unwrap();
        let table = &file.tables[0];
        table.rows.iter().map(|row| row.case.clone().over(&table.case).scaled()).collect()
    };
    let rows = scaled(&text);
    let instances = |least| InstancesAsked { least, most: Some(3), total_cpus: Some(2) };
    assert_eq!(rows[0], Some(ScaledRow { concurrency: 10, instances: instances(0) }));
    assert_eq!(rows[2], Some(ScaledRow { concurrency: 1, instances: instances(1) }));
    assert!(scaled(GOOD).iter().all(Option::is_none));
}
