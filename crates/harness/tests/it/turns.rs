//! Blocks whose deployments are up together and measured in turns.

use std::time::Duration;

use stampede_core::{BlockOrder, Outcome, Rounds, UnitExit, UnitId};
use stampede_testkit::{FakeLifetime, FakePlatform};

use crate::bench::{BODY, Bench};

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
