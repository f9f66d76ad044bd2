//! What each question's report prints, at 80 columns and as Markdown, and its JSON.

use std::time::Duration;

use stampede_analysis::{
    Better, Capacity, CapacityFound, Change, ChangeOutcome, CurvePoint, FIRST, LAST, LadderStep, ProbeEnd,
    ProbeSummary, analyse, metric,
};
use stampede_core::{CaseId, Estimate, Finding, Severity, Study, StudyKind};
use stampede_report::capacity::{self, CapacityView};
use stampede_report::gate::{self, GateView};
use stampede_report::ladder::{self, LadderView};
use stampede_report::{Medium, Page, StudyView, markdown, scale, schema, terminal, tune};

use crate::samples::{Sample, four_runtimes, plain, with_instances};

/// Both texts in one.
fn texts(terminal: &Page, markdown: &Page) -> String {
    format!("{}\n=== as Markdown ===\n{}", terminal.terminal(80, false), markdown.markdown())
}

/// Both texts of what is the same for both.
fn both(page: &Page) -> String {
    texts(page, page)
}

/// JSON with its keys by name, and without what is a report of its own.
fn sorted(json: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(json).unwrap();
    value.as_object_mut().unwrap().retain(|key, value| key != "study" || value.is_string());
    format!("{value:#}")
}

const MORE: &[f64] = &[2_000.0, 2_010.0, 2_005.0, 1_990.0];
const FEW: &[f64] = &[1_000.0, 1_010.0, 1_003.0, 998.0];

#[test]
fn a_search_for_settings() {
    let cases = [("tuned", MORE), ("default", FEW), ("documented", FEW)];
    let text = crate::tune::told(&cases, Some("p99<400ms"), &["default"], |view| {
        texts(&tune::page(view, Medium::Terminal), &tune::page(view, Medium::Markdown))
    });
    insta::assert_snapshot!(text);
    let json = crate::tune::told(&cases, Some("p99<40ms"), &["tuned"], tune::json);
    insta::assert_snapshot!(sorted(&json));
}

/// Steps of which the last are held beside the first and another.
fn ladder<T>(render: impl FnOnce(&LadderView<'_>) -> T) -> T {
    let Sample { study, finished_at, trials, yard_stick } =
        plain(&[(LAST, MORE), (FIRST, FEW), ("rinha/workers", MORE)]);
    let analysis = analyse(&study, &trials);
    let by_p99 = analyse(&Study { metric: Some("response_p99_us".to_owned()), ..study.clone() }, &trials);
    let step = |study: &str, change: Option<&str>, reason: &str, figure, kept| LadderStep {
        study: study.to_owned(),
        change: change.map(str::to_owned),
        reason: reason.to_owned(),
        figure,
        p99_us: figure.map(|_| 51_234.0),
        kept,
    };
    let steps = [
        step("a-step01", None, "", Some(1_002.0), true),
        step(
            "a-step02",
            Some("pm.max_children 4 -> 8, and the queue in front of it 128 -> 1,024"),
            "All workers were busy in 98 % of the samples while requests waited to be accepted at the door.",
            Some(2_001.0),
            true,
        ),
        step("a-step03", Some("log: access -> off"), "<b> is slow", Some(1_990.0), false),
        step("a-step04", Some("opcache.jit off -> tracing"), "", None, false),
    ];
    let state = ["nginx-fpm".to_owned(), "--set nginx-fpm.pm.max_children=8".to_owned()];
    let limits = study.cases[0].limits;
    render(&LadderView {
        id: "20260713-121314-steps",
        workload: "markdown",
        load: "closed:16",
        limits: &limits,
        metric: metric("throughput_rps").unwrap(),
        steps: &steps,
        state: &state,
        beside: Some("rinha/workers"),
        held: Some(StudyView {
            study: &study,
            finished_at,
            trials: &trials,
            yard_stick: &yard_stick,
            analysis: &analysis,
            open_part: None,
        }),
        held_by_p99: Some(&by_p99),
    })
}

#[test]
fn steps_of_tuning() {
    insta::assert_snapshot!(ladder(|view| both(&ladder::page(view))));
    let json = ladder(ladder::json);
    insta::assert_snapshot!(sorted(&json));
}

#[test]
fn the_schema_of_reports_is_current() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reports.schema.json");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(file, schema()).unwrap();
    }
    let published = std::fs::read_to_string(file).unwrap_or_default();
    assert!(published == schema(), "run: UPDATE_SCHEMA=1 cargo test -p stampede-report schema");
}

#[test]
fn a_capacity() {
    let mut sample = plain(&[("nginx-fpm", FEW)]);
    sample.study.kind = StudyKind::Capacity;
    sample.study.slo = Some("p99<100ms,errors<1%".parse().unwrap());
    let probe = |rate: f64, end, meets, terms: [Option<f64>; 2], reason: Option<&str>| ProbeSummary {
        rate,
        window: Duration::from_secs(10),
        long: rate == 900.0,
        end,
        meets,
        terms: terms.to_vec(),
        reason: reason.map(str::to_owned),
    };
    let capacity = Capacity {
        curve: [1, 4, 16]
            .map(|connections| CurvePoint {
                connections,
                throughput: 300.0 * f64::from(connections.min(4)),
                response_p50: Duration::from_micros(3_333),
                response_p99: (connections > 1).then_some(Duration::from_millis(51)),
            })
            .to_vec(),
        saturation: Some(1_200.0),
        law: None,
        probes: vec![
            probe(600.0, ProbeEnd::Complete, true, [Some(0.012), Some(0.0)], None),
            probe(1_200.0, ProbeEnd::Overloaded, false, [Some(1.23), Some(0.31)], None),
            probe(1_100.0, ProbeEnd::Failed, false, [None, None], Some("its log ends: a|b <c>")),
            probe(900.0, ProbeEnd::Complete, true, [Some(0.052), Some(0.001)], None),
        ],
        found: Some(CapacityFound::Rate { rate: 987.0, low: 950.0, high: 1_020.0, confirmed: true, breaks: Some(0) }),
        bottleneck: None,
        findings: vec![Finding {
            id: "quota".to_owned(),
            severity: Severity::Warning,
            text: "Its quota of 0.5 CPU ran out in 98 % of the periods, and it used 100 % of it.".to_owned(),
            evidence: Default::default(),
            advice: "Give it more than 0.5 CPU.".to_owned(),
        }],
    };
    let (text, json) = sample.render(|study| {
        let view = CapacityView { study: *study, capacity: &capacity };
        (both(&capacity::page(&view)), capacity::json(&view))
    });
    insta::assert_snapshot!(text);
    insta::assert_snapshot!(sorted(&json));
}

#[test]
fn a_gate() {
    let estimate = |value: f64| Estimate { value, low: Some(value * 0.98), high: Some(value * 1.02), n: 9 };
    let change = |case: &str, outcome, ratio: f64, floor| Change {
        case: CaseId::new(case),
        metric: "throughput_rps",
        better: Better::Higher,
        base: estimate(1_012.0),
        head: estimate(1_012.0 * ratio),
        ratio: estimate(ratio),
        threshold: 0.125,
        floor,
        paired: true,
        scatter: Some(0.0312),
        cpu_time: None,
        is_cut_short: false,
        outcome,
    };
    let changes = [
        change("nginx-fpm", ChangeOutcome::Failed, 0.79, 0.0),
        change("my_|case|", ChangeOutcome::Undecided, 0.87, 0.0183),
    ];
    let view = GateView {
        base: "main",
        head: "my_<branch>",
        question: Some("markdown: 0.5 CPU and 256Mi in all"),
        changes: &changes,
        losses: &[],
        strict: false,
    };
    insta::assert_snapshot!(format!("{}\n=== as Markdown ===\n{}", gate::terminal(&view, 80), gate::markdown(&view)));
}

#[test]
fn services_that_are_scaled() {
    let text = |sample: &Sample| sample.render(|view| both(&scale::page(view)));
    let several = with_instances();
    insta::assert_snapshot!(text(&several));
    let mut one = with_instances();
    one.study.cases.truncate(1);
    one.trials.retain(|trial| trial.case == one.study.cases[0].id);
    insta::assert_snapshot!(text(&one));
}

#[test]
fn what_holds_a_case_back() {
    let mut why = plain(&[
        ("nginx-fpm", &[100.0, 101.0, 99.0, 100.0, 102.0]),
        ("more CPU", &[200.0, 203.0, 197.0, 201.0, 199.0]),
        ("more memory", &[200.0, 201.0, 199.0, 202.0, 198.0]),
    ]);
    why.study.kind = StudyKind::Why;
    why.study.cases[1].limits.cpus = "1".parse().unwrap();
    why.study.cases[2].limits.memory = "512Mi".parse().unwrap();
    insta::assert_snapshot!(why.render(|view| texts(&terminal::page(view), &markdown::page(view))));
}

#[test]
fn what_was_given_or_differs_is_told_before_and_the_others_are_counted() {
    let mut study = four_runtimes().study;
    let told = |study: &_| terminal::notable_settings(study, 80, false);
    assert_eq!(
        told(&study),
        "\nSettings\n  apache-mod-php: Apache 2.4.62, PHP 8.2.29 NTS\n  nginx-fpm: nginx 1.22.1, PHP 8.2.29 NTS\n    \
         pm.max_children = 8  given\n  php-cli-server: PHP 8.2.29 NTS\n  go: go 1.26.0\n  \
         5 more are defaults: stampede show prints all, with a reason for each\n"
    );
    // The two sides of a change, alike and then not.
    study.cases = vec![study.cases[0].clone(), study.cases[0].clone()];
    for (case, name) in study.cases.iter_mut().zip(["base", "head"]) {
        case.id = CaseId::new(name);
    }
    assert!(told(&study).contains("\n  base, head: Apache 2.4.62, PHP 8.2.29 NTS\n"), "{}", told(&study));
    let tuning = study.cases[1].tuning.clone();
    study.cases[1].tuning = tuning.with_default("MaxRequestWorkers", 4, "fewer");
    for part in
        ["  base: Apache", "    MaxRequestWorkers = 16  prefork", "  head: Apache", "    MaxRequestWorkers = 4  fewer"]
    {
        assert!(told(&study).contains(part), "{part}\n{}", told(&study));
    }
    assert!(!told(&study).contains("more"), "{}", told(&study));
}

#[test]
fn settings_with_their_reasons() {
    insta::assert_snapshot!(terminal::settings(&four_runtimes().study, 80, false));
}
