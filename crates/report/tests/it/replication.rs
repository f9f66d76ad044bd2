//! A published experiment beside ours.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use stampede_analysis::{TableRun, analyse, check, replicate};
use stampede_core::{
    Bounds, Bytes, CaseId, Censored, Claim, ClaimTest, Cpus, Failures, Latencies, Limits, Outcome, PartRecord,
    Publication, PublishedColumn, PublishedFigure, PublishedRow, PublishedTable, PublishedUnit, ResourceUse, Sending,
    Trial,
};
use stampede_report::replication::{self, ReplicatedTable, ReplicationView};
use stampede_report::{Medium, StudyView, html};

use crate::samples::four_runtimes;
use crate::tables::scenario;

fn row(case: &str, title: &str, figures: [Option<(f64, f64)>; 2], unlike: Option<&str>) -> PublishedRow {
    let figures = figures.map(|figure| figure.map(|(low, high)| PublishedFigure { low, high }));
    PublishedRow {
        case: CaseId::new(case),
        title: title.to_owned(),
        figures: figures.to_vec(),
        unlike: unlike.map(str::to_owned),
    }
}

fn publication() -> Publication {
    let single = |value: f64| Some((value, value));
    let ratio = |of: &str, to: &str, from, up_to| ClaimTest::Ratio {
        table: "services".to_owned(),
        metric: None,
        of: CaseId::new(of),
        to: CaseId::new(to),
        against: None,
        within: Bounds { from, to: up_to },
    };
    let claim = |says: &str, test| Claim { says: says.to_owned(), test };
    Publication {
        name: "markdown".to_owned(),
        title: "One API on several services".to_owned(),
        source: "hey -c 16 -z 1m".to_owned(),
        unlike: vec!["One CPU instead of eight.".to_owned()],
        tables: vec![PublishedTable {
            id: "services".to_owned(),
            title: "Each service".to_owned(),
            failures: Failures::Faults,
            timeout: None,
            columns: vec![
                PublishedColumn { metric: "throughput_rps".to_owned(), unit: PublishedUnit::PerSecond },
                PublishedColumn { metric: "response_p50_us".to_owned(), unit: PublishedUnit::Seconds },
            ],
            baseline: CaseId::new("nginx-fpm"),
            rows: vec![
                row("apache-mod-php", "Apache + mod_php", [single(77.8), single(0.6918)], None),
                row("nginx-fpm", "nginx + PHP-FPM", [single(1225.3), single(0.0719)], Some("under supervisord")),
                row("php-cli-server", "the built-in server", [single(2000.0), None], None),
                row("go", "Go", [Some((1e4, 2e4)), None], None),
                row("frankenphp", "FrankenPHP", [single(1645.8), single(0.0541)], None),
            ],
        }],
        claims: vec![
            claim("Go is the fastest", ratio("go", "nginx-fpm", Some(1.0), None)),
            claim("mod_php and FPM differ by noise only", ratio("apache-mod-php", "nginx-fpm", Some(0.99), Some(1.01))),
            claim("FrankenPHP is faster than FPM", ratio("frankenphp", "nginx-fpm", Some(1.0), None)),
            claim(
                "CPU is at 50 %",
                ClaimTest::Figure {
                    table: "services".to_owned(),
                    metric: "cpu_share".to_owned(),
                    of: CaseId::new("go"),
                    within: Bounds { from: Some(0.4), to: Some(0.6) },
                },
            ),
            claim("It is nice", ClaimTest::Untested { because: "nobody can measure that".to_owned() }),
        ],
    }
}

/// The publication beside four runtimes of which one does not count, and a fifth that is not installed.
fn with_view<T>(test: impl Fn(&ReplicationView<'_>) -> T) -> T {
    with_reason("9 of 10 requests broke off", test)
}

fn with_reason<T>(reason: &str, test: impl Fn(&ReplicationView<'_>) -> T) -> T {
    let mut sample = four_runtimes();
    for trial in sample.trials.iter_mut().filter(|trial| trial.case.as_str() == "php-cli-server") {
        trial.outcome = Outcome::Invalid(reason.to_owned());
    }
    let publication = publication();
    let analysis = analyse(&sample.study, &sample.trials);
    let left_out = [(CaseId::new("frankenphp"), "needs frankenphp: https://frankenphp.dev".to_owned())];
    let run = TableRun {
        table: &publication.tables[0],
        study: Some(&sample.study),
        trials: &sample.trials,
        analysis: Some(&analysis),
        left_out: &left_out,
    };
    let claims: Vec<_> = publication.claims.iter().map(|claim| check(claim, &[run])).collect();
    let tables = [ReplicatedTable { run, replication: replicate(&run) }];
    test(&ReplicationView { publication: &publication, scale: 0.1, rate_scale: 1.0, tables: &tables, claims: &claims })
}

#[test]
fn a_replication_at_80_columns() {
    let text = with_view(|view| replication::page(view, Medium::Terminal).terminal(80, false));
    let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "{long:?}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_replication_as_markdown() {
    insta::assert_snapshot!(with_view(|view| replication::page(view, Medium::Markdown).markdown()));
}

#[test]
fn why_a_row_has_no_figures_is_told_with_the_line_of_its_log_that_names_the_error() {
    let long = "x".repeat(2_000);
    let reason = format!(
        "warm up: status 1; its log ends:\na notice\nFatal error: no /var/tmp/stampede-0/r/600e-5/app/a.php {long}\n#0 main"
    );
    let text = with_reason(&reason, |view| replication::page(view, Medium::Markdown).markdown());
    let told = text.lines().find(|line| line.contains("without valid figures")).unwrap();
    assert!(
        told.contains("(its trials do not count: warm up: status 1: Fatal error: no @{run}/app/a.php xxx"),
        "{told}"
    );
    assert!(told.contains("xxx…xxx") && told.len() < 400, "{told}");
    let json = with_reason(&reason, replication::json);
    assert!(json.contains("no @{run}/app/a.php xxx") && !json.contains("/var/tmp/stampede-0"), "the whole log");
}

#[test]
fn a_replication_as_json() {
    let text = with_view(replication::json);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema"], "stampede/replication/v1");
    let row = |place: usize| &json["tables"][0]["rows"][place];
    assert_eq!((&row(0)["case"], &row(0)["figures"][0]["published_low"]), (&"apache-mod-php".into(), &77.8.into()));
    assert_eq!((&row(2)["figures"][0]["counts"], &row(4)["figures"][0]["ours"]), (&false.into(), &Value::Null));
    assert_eq!(row(4)["problem"], "needs frankenphp: https://frankenphp.dev");
    let standings: Vec<_> = json["claims"].as_array().unwrap().iter().map(|claim| claim["standing"].clone()).collect();
    assert_eq!(standings[0], "confirmed");
    assert_eq!((&standings[2], &standings[4]), (&"not tested".into(), &"not tested".into()));
}

/// A table about how many people are created, with clients that give up: `slow`'s database ran out of CPU time, and nobody knows
/// its longest response times.
fn with_score<T>(test: impl Fn(&ReplicationView<'_>) -> T) -> T {
    let mut sample = scenario(0);
    let third = sample.trials.iter().filter(|trial| trial.block == 2).map(|trial| Trial { block: 3, ..trial.clone() });
    sample.trials.extend(third.collect::<Vec<_>>());
    for trial in &mut sample.trials {
        let is_slow = trial.case.as_str() == "slow";
        let part = |name: &str, throttled_periods| PartRecord {
            part: name.to_owned(),
            units: Vec::new(),
            share: Some(Limits { cpus: Cpus::from_millis(350), memory: Bytes::from_mib(256) }),
            enforced: None,
            resources: Some(ResourceUse { periods: 200, throttled_periods, ..ResourceUse::default() }),
            requests: None,
            restarts: Vec::new(),
            settings: BTreeMap::new(),
        };
        trial.parts = vec![part("postgres", if is_slow { 190 } else { 10 }), part("replica-1", 20)];
        let measured = trial.measurement.as_mut().unwrap();
        measured.status.insert(201, 8_500);
        let mut lateness = Latencies::new();
        (0..10_000).for_each(|_| lateness.record_ns(if is_slow { 20_000_000 } else { 1_000_000 }));
        let censored = Censored { count: u64::from(is_slow), least: is_slow.then(|| Duration::from_secs(3)) };
        measured.sending = Some(Sending { backend: "epoll".to_owned(), unsent: 0, censored, lateness });
    }
    let mut publication = publication();
    let claim = |says: &str, metric: &str| Claim {
        says: says.to_owned(),
        test: ClaimTest::Ratio {
            table: "services".to_owned(),
            metric: Some(metric.to_owned()),
            of: CaseId::new("slow"),
            to: CaseId::new("quick"),
            against: None,
            within: Bounds { from: Some(0.97), to: Some(1.03) },
        },
    };
    publication.claims =
        vec![claim("Both made the same", "created_count"), claim("In the same time", "response_p50_us")];
    let table = &mut publication.tables[0];
    table.failures = Failures::Figures;
    table.timeout = Some(Duration::from_secs(30));
    table.columns = vec![
        PublishedColumn { metric: "response_mean_us".to_owned(), unit: PublishedUnit::Milliseconds },
        PublishedColumn { metric: "created_count".to_owned(), unit: PublishedUnit::Count },
        PublishedColumn { metric: "throughput_rps".to_owned(), unit: PublishedUnit::PerSecond },
    ];
    table.baseline = CaseId::new("slow");
    table.rows = [("slow", "the slow one", 3_000.0, 33e3, 60.0), ("quick", "the quick one", 3.0, 46_576.0, 500.0)]
        .map(|(case, title, mean, created, rate)| PublishedRow {
            case: CaseId::new(case),
            title: title.to_owned(),
            figures: [mean, created, rate].map(|value| Some(PublishedFigure { low: value, high: value })).to_vec(),
            unlike: None,
        })
        .to_vec();
    let analysis = analyse(&sample.study, &sample.trials);
    let run = TableRun {
        table: &publication.tables[0],
        study: Some(&sample.study),
        trials: &sample.trials,
        analysis: Some(&analysis),
        left_out: &[],
    };
    let claims: Vec<_> = publication.claims.iter().map(|claim| check(claim, &[run])).collect();
    let tables = [ReplicatedTable { run, replication: replicate(&run) }];
    test(&ReplicationView { publication: &publication, scale: 0.2, rate_scale: 1.0, tables: &tables, claims: &claims })
}

#[test]
fn the_score_of_a_load_at_80_columns() {
    let text = with_score(|view| replication::page(view, Medium::Terminal).terminal(80, false));
    let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "{long:?}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_score_of_a_load_as_markdown_and_json() {
    let text = with_score(|view| replication::page(view, Medium::Markdown).markdown());
    insta::assert_snapshot!(&text[text.find("### By kind").unwrap()..]);
    let json: Value = serde_json::from_str(&with_score(replication::json)).unwrap();
    let table = &json["tables"][0];
    let row = &table["rows"][0];
    assert_eq!((&table["client_timeout_us"], &table["pairs"][1]["metric"]), (&6e6.into(), &"created_count".into()));
    assert_eq!(row["limiting_parts"], serde_json::json!({"postgres": 0.95}));
    assert!((row["lateness_p99_us"].as_f64().unwrap() / 20_000.0 - 1.0).abs() < 0.01, "{}", row["lateness_p99_us"]);
    let trial = &row["trials"][0];
    assert_eq!((&trial["kinds"][1]["name"], &trial["audits"][0]["answered"]), (&"search".into(), &8_500.into()));
}

/// Its page for a browser.
pub(crate) fn page() -> String {
    with_view(|view| {
        let analyses: Vec<_> = view.tables.iter().filter_map(|table| table.run.analysis).collect();
        let studies = view.tables.iter().filter_map(|table| table.run.study).zip(analyses).zip(view.tables);
        let studies: Vec<StudyView<'_>> = studies
            .map(|((study, analysis), table)| StudyView {
                study,
                finished_at: None,
                trials: table.run.trials,
                yard_stick: &[],
                analysis,
                open_part: None,
            })
            .collect();
        html::replication(view, &studies)
    })
}

#[test]
fn a_page_has_the_tables_beside_ours_and_then_each_study() {
    let text = page();
    for part in ["published", "id=\"s0\"", "stampede reproduce", "Published differences: "] {
        assert!(text.contains(part), "{part}");
    }
}
