//! The terminal's and Markdown's tables.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{
    Arrivals, AuditRecord, AuditTold, Censored, Counts, Floor, Gauge, Latencies, Load, NoiseFloor, Sampling, Schedule,
    Series, SeriesSource, StepRecord, StudyId, StudyKind,
};
use stampede_report::{markdown, terminal};

use crate::samples::{Sample, four_runtimes, mode, plain, with_failures, with_trust, without_limits};

fn in_terminal(sample: &Sample, width: usize) -> String {
    sample.render(|view| terminal::page(view).terminal(width, false))
}

#[test]
fn four_runtimes_at_80_columns() {
    insta::assert_snapshot!(in_terminal(&four_runtimes(), 80));
}

#[test]
fn four_runtimes_at_120_columns() {
    insta::assert_snapshot!(in_terminal(&four_runtimes(), 120));
}

#[test]
fn failures_at_80_columns() {
    insta::assert_snapshot!(in_terminal(&with_failures(), 80));
}

#[test]
fn a_narrow_table_keeps_what_failed_and_explains_what_it_shows() {
    for sample in [four_runtimes(), with_failures()] {
        for width in [40, 60, 80, 120, 200] {
            let text = in_terminal(&sample, width);
            let lines: Vec<&str> = text.lines().collect();
            let heading = lines.iter().position(|line| line.starts_with("case ")).unwrap();
            assert!(lines[heading - 1].contains("fail"), "{width}\n{text}");
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for (column, is_shown, note) in [
                ("rank", lines[heading].contains("rank"), "A rank is"),
                ("service", lines[heading - 1].contains("service"), "Service times count"),
                ("±", lines[heading].contains('±'), "± is half of"),
            ] {
                // Ranks of which none is a range need no explanation.
                let is_told = words.contains(note);
                assert!(is_shown || !is_told, "{column} at {width}\n{text}");
                assert!(is_told || !is_shown || column == "rank", "{column} at {width}\n{text}");
            }
        }
    }
}

#[test]
fn without_limits_at_80_columns() {
    let text = in_terminal(&without_limits(), 80);
    assert!(text.starts_with("LIMITS WERE NOT ENFORCED"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn four_runtimes_as_markdown() {
    insta::assert_snapshot!(four_runtimes().render(|view| markdown::page(view).markdown()));
}

#[test]
fn failures_as_markdown() {
    insta::assert_snapshot!(with_failures().render(|view| markdown::page(view).markdown()));
}

#[test]
fn a_study_without_trials_is_told() {
    let mut sample = four_runtimes();
    sample.trials.clear();
    insta::assert_snapshot!(in_terminal(&sample, 80));
}

#[test]
fn a_study_begins_with_what_it_comes_to_and_ends_with_how_that_follows() {
    let [a, b, far] = [[1000.0, 1010.0, 1005.0, 990.0], [1003.0, 1001.0, 1009.0, 986.0], [300.0, 301.0, 302.0, 300.0]];
    let noisy = [900.0, 1_150.0, 1_000.0, 870.0];
    let faster = a.map(|value| value * 1.01 + value % 3.0);
    let samples = [
        ("one is far ahead", plain(&[("a", &a), ("b", &far)])),
        ("one is ahead, but by little", plain(&[("a", &faster), ("b", &a)])),
        ("the same", plain(&[("a", &a), ("b", &b), ("c", &far)])),
        ("not known yet", plain(&[("a", &a), ("b", &noisy), ("c", &far)])),
        ("one block", plain(&[("a", &a[..1]), ("b", &b[..1])])),
        ("one case", plain(&[("a", &a)])),
    ];
    let told = samples.map(|(name, sample)| {
        let text = in_terminal(&sample, 80);
        let (first, rest) = text.trim_start().split_once("\n\n").unwrap();
        let (_, end) = rest.split_once("\nstudy ").unwrap();
        format!("{name}:\n{first}\n...\n{}", end.split_once("\n\n").map_or("nothing\n", |(_, end)| end))
    });
    insta::assert_snapshot!(told.join("\n"));
}

/// The first line of each of these studies.
#[test]
fn the_first_line_says_what_to_ship() {
    let [slow, quick, same] =
        [[500.0, 504.0, 501.0, 499.0], [950.0, 955.0, 951.0, 949.0], [949.0, 954.0, 952.0, 950.0]];
    let noisy = [300.0, 900.0, 450.0, 700.0];
    let with_memory = |cases: &[(&str, &[f64])], mebibytes: &[u64]| {
        let mut sample = plain(cases);
        for (trial, place) in sample.trials.iter_mut().zip((0..).map(|number| number / 4)) {
            let peak = (mebibytes[place] << 20) + u64::from(trial.block % 3) * 4_096;
            trial.measurement.as_mut().unwrap().resources.as_mut().unwrap().memory_peak = peak;
        }
        sample
    };
    let mut worker =
        with_memory(&[("nginx-fpm", &slow), ("frankenphp", &quick), ("go", &[9e3, 9.1e3, 9e3, 9e3])], &[41, 63, 9]);
    worker.study.cases[1].tuning = mode("worker");
    let mut wrong = plain(&[("nginx-fpm", &slow), ("swoole", &quick)]);
    wrong.trials[4].measurement.as_mut().unwrap().requests.failed = 3;
    let mut broke = plain(&[("nginx-fpm", &slow), ("swoole", &quick), ("uwsgi", &noisy)]);
    broke.study.slo = Some("p99<1ms".parse().unwrap());
    let mut early = plain(&[("nginx-fpm", &slow), ("swoole", &quick)]);
    early.trials.pop();
    // Of each second of the two processors others had 1.3.
    let mut busy = plain(&[("nginx-fpm", &slow), ("swoole", &noisy)]);
    for measured in busy.trials.iter_mut().filter_map(|trial| trial.measurement.as_mut()) {
        let mut machine = Series::new(SeriesSource::Machine);
        machine.push(Duration::ZERO, &[(Gauge::IdleUs, 0), (Gauge::StolenUs, 0)]);
        machine.push(Duration::from_secs(1), &[(Gauge::IdleUs, 300_000), (Gauge::StolenUs, 0)]);
        measured.sampling = Some(Sampling { series: vec![machine], ..Sampling::default() });
        (measured.window, measured.generator.cpu) = (Duration::from_secs(10), Duration::from_secs(1));
        let resources = measured.resources.as_mut().unwrap();
        (resources.cpu, resources.between) = (Duration::from_secs(3), Duration::from_secs(10));
    }
    let mut gate = plain(&[("base", &slow), ("head", &quick)]);
    gate.study.kind = StudyKind::Gate;
    let many: Vec<String> = (1..=7).map(|number| format!("case-{number}")).collect();
    let of_case = |number: usize| {
        std::array::from_fn(|block| noisy[(block * number + number) % 4] * (1.0 + number as f64 / 20.0))
    };
    let shifted: Vec<[f64; 4]> = (1..=7).map(of_case).collect();
    let many: Vec<(&str, &[f64])> =
        many.iter().map(String::as_str).zip(shifted.iter().map(|values| &values[..])).collect();
    let samples = [
        ("the best candidate", worker),
        (
            "the development server is faster",
            plain(&[("nginx-fpm", &slow), ("swoole", &[600.0, 604.0, 601.0, 602.0]), ("php-cli-server", &quick)]),
        ),
        (
            "a tie that memory breaks",
            with_memory(&[("nginx-fpm", &same), ("swoole", &quick), ("go", &quick)], &[41, 63, 9]),
        ),
        ("a tie of three", plain(&[("a", &same), ("b", &quick), ("c", &[951.0, 953.0, 950.0, 951.0])])),
        ("open", plain(&[("nginx-fpm", &slow), ("swoole", &noisy)])),
        ("open, beside others", busy),
        ("open, and shown by itself", plain(&[("a", &slow), ("b", &[520.0, 531.0, 515.0, 527.0]), ("c", &noisy)])),
        ("many that are open", plain(&many)),
        ("one candidate", with_memory(&[("nginx-fpm", &slow), ("go", &quick)], &[41, 9])),
        ("no candidate", plain(&[("php-cli-server", &slow), ("go", &quick)])),
        ("one with wrong answers", wrong),
        ("all broke their objective", broke),
        ("not finished", early),
        ("a gate", gate),
    ];
    let lines = samples.map(|(name, sample)| {
        let text = sample.render(|view| markdown::page(view).markdown());
        format!("{name}:\n  {}\n", text.lines().next().unwrap_or_default().replace("**", ""))
    });
    insta::assert_snapshot!(lines.concat());
}

#[test]
fn under_an_open_load_the_shorter_wait_is_the_better() {
    let mut sample = plain(&[("slow", &[3_000.0, 3_010.0, 3_005.0]), ("quick", &[6_000.0, 6_100.0, 6_050.0])]);
    for case in &mut sample.study.cases {
        let schedule = Schedule::constant("500".parse().unwrap()).unwrap();
        case.load = Load::Open { schedule, arrivals: Arrivals::Uniform, connections: 16 };
    }
    for (trial, millis) in sample.trials.iter_mut().zip([20, 21, 22, 12, 12, 13]) {
        let mut latencies = Latencies::new();
        (0..10_000).for_each(|_| latencies.record_ns(millis * 1_000_000));
        trial.measurement.as_mut().unwrap().response = latencies;
    }
    let text = in_terminal(&sample, 80);
    assert!(text.contains("Ship quick: 0.59 times the p99 response time of slow (0.55 to 0.62), the same"), "{text}");
    assert!(text.contains("quick is faster than slow: p99 response time 0.587 times ("), "{text}");
    // What stands beside req/s is half an interval of req/s, and not one of a time in microseconds.
    let of = |case: &str| text.lines().find(|line| line.starts_with(case) && line.contains('±')).unwrap();
    assert!(of("slow").contains("±12") && of("quick").contains("±124"), "{text}");
}

#[test]
fn words_of_speed_are_kept_for_speed() {
    let mut sample = plain(&[("a", &[1_000.0, 1_010.0, 1_005.0]), ("b", &[1_003.0, 1_001.0, 1_009.0])]);
    sample.study.metric = Some("memory_peak_bytes".to_owned());
    for (trial, mib) in sample.trials.iter_mut().zip([50, 51, 50, 100, 101, 102]) {
        trial.measurement.as_mut().unwrap().resources.as_mut().unwrap().memory_peak = mib << 20;
    }
    let text = in_terminal(&sample, 100);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("Ship a: 0.50 times the peak memory without page cache of b (0.48 to 0.52)."), "{text}");
    assert!(flat.contains("a is better than b: peak memory without page cache 0.49"), "{text}");
    assert!(!flat.contains("fastest") && !flat.contains("faster"), "{text}");

    sample.study.metric = Some("requests_per_cpu_second".to_owned());
    for (trial, cpu_ms) in sample.trials.iter_mut().zip([1_000, 1_010, 1_000, 2_000, 2_030, 2_010]) {
        trial.measurement.as_mut().unwrap().resources.as_mut().unwrap().cpu = Duration::from_millis(cpu_ms);
    }
    let flat = in_terminal(&sample, 100).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("Ship a: 2.01 times the requests per CPU-second of b ("), "{flat}");
}

#[test]
fn a_study_that_was_interrupted_claims_nothing() {
    let mut sample = plain(&[("a", &[1_000.0, 1_010.0, 1_005.0, 1_002.0]), ("b", &[500.0, 501.0, 502.0, 503.0])]);
    sample.trials.pop();
    let flat = in_terminal(&sample, 80).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("not finished: a against b, 2.01 times"), "{flat}");
    assert!(flat.contains("No verdict yet: 4 rounds were measured of 4"), "{flat}");
}

#[test]
fn who_is_equal_is_equal_to_each_of_the_others() {
    // a is the same as b and as c; b and c are up to 4 % apart.
    let sample = plain(&[
        ("a", &[1_020.0, 1_021.0, 1_019.5, 1_020.0]),
        ("b", &[1_000.0, 1_006.0, 997.0, 1_001.0]),
        ("c", &[1_004.0, 994.0, 1_040.0, 999.0]),
    ]);
    let flat = in_terminal(&sample, 80).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!flat.contains("a, b and c are equally fast"), "{flat}");
}

#[test]
fn a_floor_that_hides_as_much_as_the_precision_leaves_equals_undecided() {
    let mut sample = plain(&[("a", &[1_000.0, 1_010.0, 1_005.0, 990.0]), ("b", &[1_003.0, 1_001.0, 1_009.0, 986.0])]);
    let floor = Floor { share: 0.12, deviation: 0.05, pairs: 10 };
    let metrics = BTreeMap::from([("throughput_rps".to_owned(), floor)]);
    sample.study.groundwork.floor = Some(NoiseFloor { calibration: StudyId::new("c"), metrics });
    let flat = in_terminal(&sample, 80).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!flat.contains("equally fast"), "{flat}");
    assert!(flat.contains("this machine's noise floor of 12 % may hide differences of 3 % and more"), "{flat}");
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    for sample in [four_runtimes(), with_failures(), without_limits()] {
        for width in [60, 80, 100, 120, 200] {
            for line in in_terminal(&sample, width).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    for sample in [four_runtimes(), with_failures(), without_limits()] {
        let plain = in_terminal(&sample, 80);
        let mut colored = sample.render(|view| terminal::page(view).terminal(80, true));
        assert_ne!(plain, colored);
        for code in ["\x1b[1m", "\x1b[1;31m", "\x1b[33m", "\x1b[0m"] {
            colored = colored.replace(code, "");
        }
        assert_eq!(plain, colored);
    }
}

#[test]
fn what_bounds_a_studys_claims_is_told() {
    let text = in_terminal(&with_trust(), 80);
    let from = text.find("warm-up, by a short trial").unwrap();
    let head = text[from..].split("\n\n").next().unwrap();
    insta::assert_snapshot!(head);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("noise floor 1.8 % (10 pairs)"), "{text}");
    assert!(flat.contains("warning: go: It reached no steady state in 30 s of load"), "{text}");
}

#[test]
fn a_calibration_says_what_later_studies_claim() {
    let mut sample = plain(&[("a", &[1_000.0, 1_010.0, 1_005.0, 990.0]), ("b", &[1_003.0, 1_001.0, 1_009.0, 986.0])]);
    sample.study.kind = StudyKind::Calibrate;
    let text = in_terminal(&sample, 80);
    insta::assert_snapshot!(text.trim());
    sample.trials.retain(|trial| trial.block <= 2);
    assert!(in_terminal(&sample, 80).contains("No noise floor: that takes 3 rounds"));
}

#[test]
fn a_study_that_measured_nothing_says_so_at_its_end() {
    let mut sample = plain(&[("a", &[1_000.0]), ("b", &[1_003.0])]);
    sample.trials.truncate(1);
    assert!(in_terminal(&sample, 80).contains("No result: no two cases were measured in the same round"));
}

#[test]
fn cases_without_the_figure_that_decides_are_not_told_to_be_unmeasured() {
    let mut sample = plain(&[("a", &[1_000.0, 1_010.0, 1_005.0]), ("b", &[1_003.0, 1_001.0, 1_009.0])]);
    for trial in sample.trials.iter_mut().filter(|trial| trial.case.as_str() == "b") {
        trial.measurement = None;
    }
    let text = in_terminal(&sample, 80).replace('\n', " ");
    assert!(text.contains("No result by requests per second"), "{text}");
}

/// Two cases that were loaded with two kinds of request; of the second one, `lost` rows are missing in one block.
pub(crate) fn scenario(lost: u64) -> Sample {
    let mut sample = plain(&[("slow", &[3_000.0, 3_010.0]), ("quick", &[6_000.0, 6_100.0])]);
    for case in &mut sample.study.cases {
        case.load = "open:2..600/180s".parse().unwrap();
        case.beside = vec!["open:5".parse().unwrap()];
    }
    for trial in &mut sample.trials {
        let slow = trial.case.as_str() == "slow";
        let step = |name: &str, count: u64, longest_ms: u64| {
            let mut response = Latencies::new();
            (1..=count).for_each(|number| response.record_ns(longest_ms * 1_000_000 * number / count));
            StepRecord {
                name: name.to_owned(),
                requests: Counts { sent: count, ok: count, failed: 0, unfinished: 0 },
                unsent: 0,
                service: response.clone(),
                response,
                censored: Censored::default(),
                status: BTreeMap::new(),
                errors: BTreeMap::new(),
            }
        };
        let measured = trial.measurement.as_mut().unwrap();
        measured.response = step("", 10_000, if slow { 1_500 } else { 40 }).response;
        measured.steps =
            vec![step("create and follow/create", 9_000, if slow { 1_500 } else { 40 }), step("search", 1_000, 10)];
        let missing = if !slow && trial.block == 2 { lost } else { 0 };
        let told = |by: &str, after: u64| AuditTold { by: by.to_owned(), before: 0, after };
        trial.audits = vec![AuditRecord {
            name: "people".to_owned(),
            answered: 8_500,
            unknown: 0,
            told: vec![told("replica-1", 8_500), told("replica-2", 8_500), told("postgres", 8_500 - missing)],
        }];
    }
    sample
}

#[test]
fn kinds_of_request_and_what_they_made_at_80_columns() {
    let text = in_terminal(&scenario(0), 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let (_, end) = text.split_once("By kind").unwrap();
    insta::assert_snapshot!(format!("By kind{}", end.split_once("\nstudy ").unwrap().0));
}

#[test]
fn kinds_of_request_and_lost_rows_as_markdown() {
    let text = scenario(3).render(|view| markdown::page(view).markdown());
    let (_, end) = text.split_once("By kind").unwrap();
    insta::assert_snapshot!(format!("By kind{}", end.split_once("Pairs: ").unwrap().0));
}
