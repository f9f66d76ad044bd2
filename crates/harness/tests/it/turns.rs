//! Blocks whose deployments are up together and measured in turns.

use std::time::Duration;

use stampede_core::{BlockOrder, Outcome, Rounds, Trial, UnitExit, UnitId};
use stampede_seam::Platform as _;
use stampede_testkit::{FakeLaunch, FakeLifetime, FakePlatform};

use crate::bench::{BODY, Bench, Heard};

fn bench(cases: &[&str]) -> Bench {
    let mut bench = Bench::new(cases, Rounds::Fixed(2));
    bench.study.order = BlockOrder::Turns;
    bench.study.duration = Duration::from_secs(4);
    bench
}

#[tokio::test(start_paused = true)]
async fn all_are_up_before_the_first_turn_and_each_turn_is_a_part_of_its_trial() {
    let rate = |unit: &str| if unit == "fast" { 1000.0 } else { 500.0 };
    let platform = FakePlatform::new(move |launch| FakeLifetime::serving(BODY, rate(launch.unit())));
    let heard = bench(&["fast", "slow", "slower"]).run(&platform).await;
    let log = platform.log();
    let (first, second) = log.split_at(6);
    for block in [first, second] {
        assert!(block[..3].iter().all(|line| line.starts_with("launch")), "{log:?}");
        assert!(block[3..].iter().all(|line| line.starts_with("stop")), "{log:?}");
    }
    assert_eq!((heard.trials.len(), platform.up()), (6, 0));
    for trial in &heard.trials {
        let measured = trial.measurement.as_ref().unwrap();
        assert_eq!((trial.outcome.clone(), measured.turns.len()), (Outcome::Measured, 10));
        let of_turns = |value: &dyn Fn(&stampede_core::Turn) -> f64| measured.turns.iter().map(value).sum::<f64>();
        let window = of_turns(&|turn| turn.window.as_secs_f64());
        assert!((window - measured.window.as_secs_f64()).abs() < 1e-9, "{window}");
        assert_eq!(of_turns(&|turn| turn.ok as f64), measured.requests.ok as f64);
        assert_eq!(measured.response.count(), measured.requests.ok);
        let told = measured.requests.ok as f64 / window / rate(trial.case.as_str());
        assert!((told - 1.0).abs() < 0.01, "{}: {told}", trial.case);
        let used = measured.resources.unwrap();
        assert!((used.between.as_secs_f64() - window).abs() < 0.01, "{used:?}");
        assert!(measured.turns.is_sorted_by(|a, b| a.at + a.window <= b.at), "{:?}", measured.turns);
    }
    // The turns of a block alternate: each deployment has its second when all have had their first.
    for block in [1, 2] {
        let of = || {
            heard.trials.iter().filter(|trial| trial.block == block).map(|trial| trial.measurement.as_ref().unwrap())
        };
        let last_first = of().map(|measured| measured.turns[0].at).max().unwrap();
        assert!(of().all(|measured| measured.turns[1].at > last_first));
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_dies_at_rest_is_told_with_its_turn_and_the_others_go_on() {
    let exit = UnitExit { unit: UnitId::new("b"), how: "status 1".to_owned() };
    let platform = FakePlatform::new(move |launch| FakeLifetime {
        exit: (launch.unit() == "b").then(|| (Duration::from_secs(12), exit.clone())),
        ..FakeLifetime::serving(BODY, 1000.0)
    });
    let heard = bench(&["a", "b", "c"]).run(&platform).await;
    assert_eq!(heard.trials.len(), 6);
    for trial in &heard.trials {
        match trial.case.as_str() {
            "b" => {
                let Outcome::Failed(reason) = &trial.outcome else { panic!("{:?}", trial.outcome) };
                assert!(reason.starts_with("b ended with status 1 while it was measured, in turn "), "{reason}");
            }
            _ => assert_eq!(trial.outcome, Outcome::Measured),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_never_starts_leaves_the_turns_to_the_others() {
    let platform = FakePlatform::new(|launch| FakeLifetime {
        launch_problem: (launch.unit() == "b").then(|| "no such program".to_owned()),
        ..FakeLifetime::serving(BODY, 1000.0)
    });
    let heard = bench(&["a", "b"]).run(&platform).await;
    for trial in &heard.trials {
        assert_eq!(trial.measurement.is_some(), trial.case.as_str() == "a");
    }
    let positions: Vec<_> = heard.trials.iter().map(|trial| (trial.block, trial.position)).collect();
    assert_eq!(positions, [(1, 1), (1, 2), (2, 1), (2, 2)]);
}

/// Workers that are replaced at rest, after a block in which none was.
#[tokio::test(start_paused = true)]
async fn where_a_rest_changes_a_deployment_windows_take_the_place_of_turns() {
    let second_block = |launch: &FakeLaunch<'_>| launch.number >= 2;
    let platform = FakePlatform::new(move |launch| FakeLifetime {
        worker_life: (launch.unit() == "b" && second_block(launch)).then_some(Duration::from_millis(900)),
        ..FakeLifetime::serving(BODY, 1000.0)
    });
    let mut bench = bench(&["a", "b"]);
    bench.study.rounds = Rounds::Fixed(3);
    let heard = bench.run(&platform).await;
    let turns = |block| {
        let of = heard.trials.iter().filter(move |trial| trial.block == block);
        of.map(|trial| trial.measurement.as_ref().unwrap().turns.len()).collect::<Vec<_>>()
    };
    assert_eq!([turns(1), turns(2), turns(3)], [vec![10, 10], vec![0, 0], vec![0, 0]]);
    assert!(heard.trials.iter().all(|trial| trial.outcome == Outcome::Measured));
    let windows_from = heard.windows_from.unwrap();
    assert_eq!(windows_from.block, 2);
    assert!(
        windows_from.why.starts_with("b: 2 of its 2 workers ended while it was at rest, before turn "),
        "{windows_from:?}"
    );
    assert_eq!(platform.up(), 0);

    // One that is resumed goes on in windows.
    let mut resumed = bench;
    resumed.study.windows_from = Some(windows_from);
    resumed.study.resumed_at = vec![platform.vantage().timestamp()];
    let kept = heard.trials.iter().filter(|trial| trial.block < 3).cloned().collect();
    let heard = resumed.resume(&platform, kept).await;
    assert!(
        heard.windows_from.is_none()
            && heard.trials.iter().all(|trial| trial.measurement.as_ref().unwrap().turns.is_empty())
    );
}

/// A study without pilots learns from its warm-ups how long clients wait.
#[tokio::test(start_paused = true)]
async fn where_answers_are_slow_windows_take_the_place_of_turns_that_nobody_asked_for() {
    let platform =
        FakePlatform::new(|launch| FakeLifetime::serving(BODY, if launch.unit() == "b" { 2.0 } else { 1000.0 }));
    for (order_why, expected) in [(None, vec![2, 2, 2, 2]), (Some("they fit into the memory"), vec![0; 4])] {
        let mut bench = bench(&["a", "b"]);
        bench.study.groundwork.order_why = order_why.map(str::to_owned);
        let heard = bench.run(&platform).await;
        let turns: Vec<_> = heard.trials.iter().map(|trial| trial.measurement.as_ref().unwrap().turns.len()).collect();
        assert_eq!(turns, expected, "{order_why:?}");
        let why = heard.windows_from.map(|windows_from| (windows_from.block, windows_from.why));
        let told = "b: a client waits 4.00 s for an answer, so that a window of 4 s has too few turns".to_owned();
        assert_eq!(why, order_why.map(|_| (1, told)));
        assert_eq!(platform.up(), 0);
    }
}

/// What reads its memory from a disk again; a page now and then does not matter.
#[tokio::test(start_paused = true)]
async fn memory_that_is_read_from_a_disk_again_ends_turns() {
    let platform = FakePlatform::new(|launch| FakeLifetime {
        major_faults: match launch.unit() {
            "b" => vec![Duration::from_secs(10); 4],
            _ => (5..15).map(Duration::from_secs).collect(),
        },
        ..FakeLifetime::serving(BODY, 1000.0)
    });
    let heard = bench(&["a", "b"]).run(&platform).await;
    let windows_from = heard.windows_from.unwrap();
    assert!(windows_from.why.starts_with("b: 4 pages of its memory had to be read from a disk"), "{windows_from:?}");
    assert_eq!((windows_from.block, heard.trials.len()), (1, 4));
    // Nothing of the block in turns is kept, and its deployments are stopped before the first window.
    let log = platform.log();
    assert!(log[2..4].iter().all(|line| line.starts_with("stop")), "{log:?}");
}

/// Where not all fit into the memory together.
#[tokio::test(start_paused = true)]
async fn groups_have_their_turns_one_after_the_other() {
    let platform = FakePlatform::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let mut bench = bench(&["a", "b", "c", "d", "e"]);
    bench.study.groundwork.up_together = Some(2);
    let heard = bench.run(&platform).await;
    assert_eq!(heard.trials.len(), 10);
    assert!(heard.trials.iter().all(|trial| trial.measurement.as_ref().unwrap().turns.len() == 10));
    let mut up = 0;
    for line in platform.log() {
        up = if line.starts_with("launch") { up + 1 } else { up - 1 };
        assert!(up <= 2, "{:?}", platform.log());
    }
    for block in heard.blocks() {
        let mut cases = block.clone();
        cases.sort();
        assert_eq!(cases, ["a", "b", "c", "d", "e"]);
    }

    // A block of which one group was measured continues with the others.
    let (kept, missing) = heard.trials.split_at(7);
    bench.study.resumed_at = vec![platform.vantage().timestamp()];
    let resumed = bench.resume(&platform, kept.to_vec()).await;
    let places = |trials: &[Trial]| -> Vec<_> {
        trials.iter().map(|trial| (trial.case.clone(), trial.block, trial.position)).collect()
    };
    assert_eq!(places(&resumed.trials), places(missing));
}

/// A second Ctrl-C drops the study in the middle of a turn.
#[tokio::test(start_paused = true)]
async fn a_study_that_is_dropped_in_a_turn_leaves_nothing_up_and_is_begun_again_at_its_block() {
    let platform = FakePlatform::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let mut bench = bench(&["a", "b"]);
    let whole = bench.run(&platform).await;
    let one_block = platform.vantage().now().since_start() / 2;
    let in_the_second = one_block + one_block / 2;
    let platform = FakePlatform::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let mut heard = Heard::default();
    let study = bench.study.clone();
    let context = bench.context();
    let run = stampede_harness::run(&platform, &study, &bench.prepared, &context, Vec::new(), &mut heard);
    assert!(tokio::time::timeout(in_the_second, run).await.is_err(), "it was not dropped");
    assert_eq!((heard.trials.len(), platform.up()), (2, 0));
    bench.study.resumed_at = vec![platform.vantage().timestamp()];
    let resumed = bench.resume(&platform, heard.trials).await;
    assert_eq!(resumed.blocks()[1], whole.blocks()[1]);
}
