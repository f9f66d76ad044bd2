//! Pages for a browser on a full disk, and of a large study.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::Command;
use std::time::Duration;

use stampede_core::{CaseId, Gauge, Latencies, LoadSecond, Random, Series, SeriesSource, UnitId};
use stampede_store::{Store, StoredStudy, read_study_file};

use crate::stage::Stage;

/// A study with something in every record.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/data/version-15.stampede-study");

#[test]
fn a_full_disk_leaves_the_report_that_was_there() {
    const NAME: &str = "a_full_disk_leaves_the_report_that_was_there";
    let stage = Stage::new();
    assert_eq!(stage.run(&["import-study", FILE]).code, Some(0));
    if !Command::new("unshare").args(["--mount", "true"]).output().unwrap().status.success() {
        let _ = writeln!(std::io::stderr(), "SKIP {NAME}: the full disk needs a mount namespace");
        return;
    }
    let full = stage.home().join("full");
    fs::create_dir(&full).unwrap();
    let inner = stage.command(&[]);
    // A file system of its own that holds the old report and not the new one beside it.
    let script = "mount -t tmpfs -o size=16k none \"$0\" && echo old > \"$0/page.html\" && \
                  { \"$@\"; code=$?; cat \"$0/page.html\"; ls -A \"$0\"; exit $code; }";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(&full).arg(inner.get_program());
    command.args(["report", "-o"]).arg(full.join("page.html"));
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = stage.output(&mut command);
    let (stdout, stderr) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert_eq!((said.status.code(), stdout.as_ref()), (Some(3), "old\npage.html\n"), "{stderr}");
    assert!(stderr.contains("cannot write") && stderr.contains("No space left on device"), "{stderr}");
}

/// The memory that a report of a large study may take, whatever it is that is shown.
const MOST_MEMORY_KIB: u64 = 200 << 10;

#[test]
#[ignore = "takes a minute where nothing is optimised: make bench-report"]
fn a_report_of_a_thousand_trials_takes_little_memory() {
    let stage = Stage::new();
    let large = large(50, 20);
    Store::open(&stage.store()).unwrap().import(&large, large.study.started_at).unwrap();
    drop(large);
    let mut report = stage.start(&["report", "latest", "-o", "-"]);
    let mut page = report.stdout.take().unwrap();
    // The page is longer than a pipe holds: once it begins, all is made, and the program waits to be read.
    let mut text = vec![0];
    page.read_exact(&mut text).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", report.id())).unwrap();
    page.read_to_end(&mut text).unwrap();
    assert!(report.wait().unwrap().success());
    assert!(text.starts_with(b"<!doctype html>") && text.len() > 1 << 20, "{} bytes", text.len());
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let peak: u64 = peak.unwrap_or_else(|| panic!("no peak of memory: {status}")).parse().unwrap();
    let _ = writeln!(std::io::stderr(), "peak of a report of 50 cases x 20 trials: {} MiB", peak >> 10);
    assert!(peak < MOST_MEMORY_KIB, "{peak} KiB");
}

/// A stored study, its first trial so often and in so many cases, with a minute's samples and ten thousand latencies each.
fn large(cases: usize, blocks: u32) -> StoredStudy {
    let StoredStudy { mut study, finished_at, trials, yard_stick } =
        read_study_file(fs::File::open(FILE).unwrap()).unwrap();
    let (case, trial) = (study.cases[0].clone(), trials.into_iter().find(|trial| trial.measurement.is_some()).unwrap());
    let mut random = Random(7);
    study.groundwork.warm_ups.clear();
    study.cases = (0..cases)
        .map(|number| {
            let mut case = case.clone();
            case.id = CaseId::new(format!("case-{number}"));
            case
        })
        .collect();
    let kinds: Vec<Latencies> = (0..blocks).map(|_| latencies(&mut random)).collect();
    let mut all = Vec::new();
    for block in 1..=blocks {
        for case in &study.cases {
            let mut trial = trial.clone();
            (trial.case, trial.block) = (case.id.clone(), block);
            let measured = trial.measurement.as_mut().unwrap();
            measured.steps.clear();
            measured.window = Duration::from_secs(60);
            let kind = &kinds[block as usize - 1];
            (measured.service, measured.response) = (kind.clone(), kind.clone());
            measured.sending.as_mut().unwrap().lateness = kind.clone();
            measured.load_seconds = (0..60)
                .map(|second| LoadSecond {
                    second,
                    sent: 170 + random.draw() % 20,
                    ok: 160 + random.draw() % 20,
                    failed: random.draw() % 3,
                    response_p50_us: Some(900 + random.draw() % 500),
                    response_p99_us: Some(20_000 + random.draw() % 9_000),
                })
                .collect();
            measured.sampling.as_mut().unwrap().series = samples(&mut random);
            all.push(trial);
        }
    }
    StoredStudy { study, finished_at, trials: all, yard_stick }
}

/// From a tenth of a millisecond to a second, most of them short.
fn latencies(random: &mut Random) -> Latencies {
    let mut latencies = Latencies::new();
    for _ in 0..10_000 {
        let exponent = (0..4).map(|_| random.uniform()).sum::<f64>();
        latencies.record_ns((1e5 * 10_f64.powf(exponent)) as u64);
    }
    // As it comes out of a store: small.
    Latencies::from_bytes(&latencies.to_bytes()).unwrap()
}

/// A sample a second of what a page draws.
fn samples(random: &mut Random) -> Vec<Series> {
    let sources = [
        (SeriesSource::Group, &[Gauge::CpuUs, Gauge::Periods, Gauge::ThrottledPeriods, Gauge::AnonymousBytes][..]),
        (SeriesSource::Machine, &[Gauge::ListenDrops]),
        (SeriesSource::Unit(UnitId::new("php-fpm")), &[Gauge::BusyWorkers, Gauge::Requests]),
    ];
    let of = |(source, gauges): (SeriesSource, &[Gauge])| {
        let mut series = Series::new(source);
        for second in 0..=60 {
            let figures: Vec<(Gauge, u64)> =
                gauges.iter().map(|gauge| (*gauge, second * 10_000 + random.draw() % 10_000)).collect();
            series.push(Duration::from_secs(second), &figures);
        }
        series
    };
    sources.map(of).into()
}
