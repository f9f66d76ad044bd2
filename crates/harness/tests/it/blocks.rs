//! Which case is measured when.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use stampede_core::{Case, CaseId, Outcome, Rounds, StudyKind};
use stampede_harness::{Prepared, YardStick, order};
use stampede_seam::Platform as _;
use stampede_testkit::{FakeLifetime, FakePlatform};

use crate::bench::{BODY, Bench, Heard, prepared, workload};

#[tokio::test(start_paused = true)]
async fn three_cases_and_five_blocks_take_virtual_minutes_and_no_time() {
    // What runs beside it does not count but for what it shares of a processor: its caches, and both threads of a core.
    let mut took = Duration::MAX;
    for _ in 0..3 {
        took = took.min(three_cases_and_five_blocks().await);
    }
    assert!(took < Duration::from_millis(100), "{took:?}");
}

/// Runs that study, and returns the time of the processor that it took.
async fn three_cases_and_five_blocks() -> Duration {
    let began = cpu_time();
    let platform = FakePlatform::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let bench = Bench::new(&["a", "b", "c"], Rounds::Fixed(5));
    let heard = bench.run(&platform).await;
    assert_eq!(heard.trials.len(), 15);
    for (block, cases) in (1..).zip(heard.blocks()) {
        let expected = order(1, block, 3).into_iter().map(|index| ["a", "b", "c"][index]).collect::<Vec<_>>();
        assert_eq!(cases, expected, "block {block}");
    }
    assert!(heard.trials.iter().all(|trial| trial.outcome == Outcome::Measured));
    let first = heard.trials[0].started_at;
    let virtual_time = heard.trials[14].started_at.duration_since(first);
    assert!(virtual_time.as_secs() >= 14 * 11, "{virtual_time}");
    // Each deployment is gone before the next one comes.
    let log = platform.log();
    let expected =
        heard.trials.iter().flat_map(|trial| [format!("launch {}", trial.case), format!("stop {}", trial.case)]);
    assert_eq!(log, expected.collect::<Vec<_>>());
    assert_eq!(platform.up(), 0);
    let took = cpu_time() - began;
    eprintln!("{virtual_time:#} of study took {took:?}");
    took
}

/// What this thread, on which all of it runs, has used of its processor.
fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_was_measured_is_what_the_deployment_did() {
    let platform = FakePlatform::new(|launch| match launch.unit() {
        "fast" => FakeLifetime { latency: Duration::from_millis(4), ..FakeLifetime::serving(BODY, 2000.0) },
        _ => FakeLifetime { cpus: 0.25, ..FakeLifetime::serving(BODY, 500.0) },
    });
    let heard = Bench::new(&["fast", "slow"], Rounds::Fixed(1)).run(&platform).await;
    for trial in &heard.trials {
        let measured = trial.measurement.as_ref().unwrap();
        let (rate, cpu, latency) = if trial.case.as_str() == "fast" { (2000, 5.0, 4) } else { (500, 2.5, 2) };
        assert_eq!((measured.requests.ok, measured.warm_up.ok), (10 * rate, rate), "{}", trial.case);
        let used = measured.resources.unwrap();
        assert!((used.cpu.as_secs_f64() - cpu).abs() < 0.01 && used.between == measured.window, "{used:?}");
        let p50 = measured.response.quantile(0.5).as_secs_f64();
        assert!((p50 * 1e3 / f64::from(latency) - 1.0).abs() < 0.01, "{p50}");
        assert_eq!(measured.load_seconds.len(), 10);
        assert_eq!(trial.ready.map(|ready| ready.took.as_millis() / 100), Some(2));
    }
}

#[tokio::test(start_paused = true)]
async fn all_cases_of_a_block_meet_the_same_arrivals_and_blocks_others() {
    let platform = FakePlatform::new(|_| FakeLifetime::serving(BODY, 1000.0));
    Bench::new(&["a", "b"], Rounds::Fixed(2)).run(&platform).await;
    let seeds: Vec<u64> = platform.fake_vantage().loads().iter().map(|order| order.spec.seed).collect();
    assert_eq!(seeds, [2, 2, 3, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_reference_server_is_measured_first_in_each_block_and_is_no_trial() {
    let platform = FakePlatform::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let mut bench = Bench::new(&["a", "b"], Rounds::Fixed(2));
    let window = Duration::from_secs(1);
    bench.yard_stick = Some(YardStick { prepared: prepared("reference"), workload: workload(), window });
    let heard = bench.run(&platform).await;
    let launches: Vec<String> = platform.log().into_iter().filter(|line| line.starts_with("launch")).collect();
    assert_eq!(launches.iter().filter(|line| *line == "launch reference").count(), 2);
    assert_eq!((launches[0].as_str(), launches[3].as_str()), ("launch reference", "launch reference"));
    assert_eq!(heard.trials.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_study_until_its_verdicts_are_clear_ends_with_them_and_drops_what_is_decided() {
    // Noise of up to 4 % that is the same in every run.
    let noise = |number: usize| 1.0 + (stampede_core::Random(number as u64).uniform() - 0.5) * 0.08;
    let platform = FakePlatform::new(move |launch| {
        let rate = if launch.unit() == "far" { 100.0 } else { 1000.0 };
        FakeLifetime::serving(BODY, rate * noise(launch.number))
    });
    let rounds = Rounds::Auto { max_time: Duration::from_secs(3600) };
    let heard = Bench::new(&["a", "b", "far"], rounds).run(&platform).await;
    let blocks = heard.blocks();
    let of = |name: &str| blocks.iter().filter(|block| block.iter().any(|case| case == name)).count();
    assert!(of("far") < of("a") && of("a") == of("b"), "{blocks:?}");
    assert!(of("far") >= 3);
    assert!(of("a") < 200, "{}", of("a"));
}

/// From the launch of the first deployment to the end of all that was measured, however fast the machine is.
#[tokio::test(start_paused = true)]
async fn a_study_keeps_to_its_time() {
    for (name, seconds, launch, blocks, is_over) in [
        ("as planned", 200, 0, 8, false),
        ("starts take a second", 200, 1, 8, false),
        ("too slow for a second block", 60, 10, 1, true),
        ("too slow for one", 60, 50, 0, true),
        ("no room for the load", 20, 0, 0, true),
    ] {
        // So little apart that four blocks do not tell.
        let platform = FakePlatform::new(move |of| {
            let noise = 1.0 + (stampede_core::Random(of.number as u64).uniform() - 0.5) * 0.08;
            FakeLifetime {
                launch: Duration::from_secs(launch),
                ..FakeLifetime::serving(BODY, noise * if of.unit() == "a" { 1030.0 } else { 1000.0 })
            }
        });
        let max_time = Duration::from_secs(seconds);
        let bench = Bench::new(&["a", "b"], Rounds::Auto { max_time });
        let began = platform.vantage().now();
        let heard = bench.run(&platform).await;
        let took = platform.vantage().now().since(began);
        assert!(took <= max_time, "{name}: {took:?}");
        assert_eq!(heard.time_over_at.is_some(), is_over, "{name}: {took:?}");
        let complete = heard.blocks().iter().filter(|block| block.len() == 2).count();
        assert_eq!(complete, blocks, "{name}: {took:?} {:?}", heard.blocks());
        assert_eq!(platform.up(), 0, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn pilots_are_part_of_the_time() {
    // Its rate never rests.
    let platform = FakePlatform::new(|launch| FakeLifetime {
        launch: Duration::from_secs(if launch.number == 1 { 70 } else { 1 }),
        ..FakeLifetime::serving(BODY, 1.0)
    });
    let max_time = Duration::from_secs(100);
    let mut bench = Bench::new(&["a", "b"], Rounds::Auto { max_time });
    bench.study.started_at = platform.vantage().timestamp();
    let began = platform.vantage().now();
    let context = bench.context();
    let mut heard = Heard::default();
    let found = stampede_harness::pilots(&platform, &bench.study, &bench.prepared, &context, &mut heard).await.unwrap();
    let watched = platform.fake_vantage().loads()[0].spec.duration;
    assert_eq!(watched, Duration::from_secs(10), "a fifth of the time for two");
    let stampede_core::Pilot::Untold { why } = &found.warm_ups[&CaseId::new("b")].pilot else { panic!("{found:?}") };
    assert_eq!(why, "gave 0 bins of 100 requests or more in 0 s, too few to find a steady level");
    stampede_harness::run(&platform, &bench.study, &bench.prepared, &context, Vec::new(), &mut heard).await.unwrap();
    let took = platform.vantage().now().since(began);
    assert!(took <= max_time && heard.time_over_at.is_some(), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn progress_reaches_its_total_where_a_race_drops_cases() {
    let platform = FakePlatform::new(|launch| {
        FakeLifetime::serving(BODY, if launch.unit() == "slow" { 50.0 } else { 1000.0 + launch.number as f64 })
    });
    let mut bench = Bench::new(&["a", "b", "slow"], Rounds::Fixed(8));
    bench.study.kind = StudyKind::Tune;
    let heard = bench.run(&platform).await;
    let slow = heard.trials.iter().filter(|trial| trial.case.as_str() == "slow").count();
    assert!(slow < 8, "it was dropped: {:?}", heard.blocks());
    let last = heard.events.iter().rfind(|event| event.starts_with("trial ")).unwrap();
    let all = heard.trials.len();
    assert!(last.contains(&format!(" {all} of {all} ")), "{last}");
}

#[tokio::test(start_paused = true)]
async fn cases_may_differ_in_their_limits_and_loads() {
    let platform = FakePlatform::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let mut bench = Bench::new(&["a", "b"], Rounds::Fixed(1));
    let Prepared { case: Case { load, .. }, .. } = &mut bench.prepared[1];
    *load = "open:200".parse().unwrap();
    bench.study.cases = bench.prepared.iter().map(|prepared| prepared.case.clone()).collect();
    let heard = bench.run(&platform).await;
    let ok = |name: &str| {
        let trial = heard.trials.iter().find(|trial| trial.case == CaseId::new(name)).unwrap();
        trial.measurement.as_ref().unwrap().requests.ok
    };
    assert_eq!((ok("a"), ok("b")), (10_000, 2_000));
    let loads: BTreeSet<String> =
        platform.fake_vantage().loads().iter().map(|order| order.spec.load.to_string()).collect();
    assert_eq!(loads.len(), 2);
}
