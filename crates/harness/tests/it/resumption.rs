//! Studies that are interrupted and resumed.

use stampede_core::{Outcome, Rounds, Study};
use stampede_testkit::{FakeLifetime, FakePlatform};

use crate::bench::{BODY, Bench};

fn platform() -> FakePlatform {
    FakePlatform::new(|_| FakeLifetime::serving(BODY, 1000.0))
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_study_is_completed_as_if_it_had_never_been_interrupted() {
    let bench = Bench::new(&["a", "b", "c"], Rounds::Fixed(4));
    let whole = bench.run(&platform()).await;
    for kept in [0, 1, 2, 3, 7, 11, 12] {
        let earlier = whole.trials[..kept].to_vec();
        let mut resumed = Bench::new(&["a", "b", "c"], Rounds::Fixed(4));
        resumed.study = Study { resumed_at: vec![jiff::Timestamp::UNIX_EPOCH], ..resumed.study };
        let heard = resumed.resume(&platform(), earlier).await;
        let places = |trials: &[stampede_core::Trial]| {
            trials.iter().map(|trial| (trial.case.clone(), trial.block, trial.position)).collect::<Vec<_>>()
        };
        assert_eq!(places(&heard.trials), places(&whole.trials[kept..]), "after {kept}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_the_block_be_completed() {
    for (asked_after, measured) in [(1, 3), (3, 3), (4, 6)] {
        let bench = Bench::new(&["a", "b", "c"], Rounds::Fixed(4));
        let heard = bench.stop_after(&platform(), asked_after).await;
        assert_eq!(heard.trials.len(), measured, "asked after {asked_after}");
        assert!(bench.stop.is_obeyed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_the_last_block_is_obeyed_by_nobody() {
    let bench = Bench::new(&["a", "b"], Rounds::Fixed(2));
    let heard = bench.stop_after(&platform(), 3).await;
    assert!(heard.trials.len() == 4 && !bench.stop.is_obeyed());
}

/// The block is completed with trials that do not count, so that it can be resumed with the next.
#[tokio::test(start_paused = true)]
async fn a_study_whose_platform_is_gone_ends_as_if_it_was_asked_to() {
    let bench = Bench::new(&["a", "b", "c"], Rounds::Fixed(4));
    let heard = bench.run(&platform().over_after(4)).await;
    let gone = Outcome::Invalid("it is gone".to_owned());
    let outcomes: Vec<_> = heard.trials.iter().map(|trial| trial.outcome.clone()).collect();
    assert_eq!(outcomes[3..], [Outcome::Measured, gone.clone(), gone]);
    assert!(bench.stop.is_obeyed());
}

/// Dropping the future of a study ends everything that it started.
#[tokio::test(start_paused = true)]
async fn a_study_that_is_dropped_leaves_nothing() {
    for millis in [50, 250, 400, 5_000, 11_350] {
        let platform = platform();
        let bench = Bench::new(&["a"], Rounds::Fixed(1));
        let run = tokio::time::timeout(std::time::Duration::from_millis(millis), bench.run(&platform)).await;
        assert!(run.is_err());
        assert_eq!(platform.up(), 0, "after {millis} ms");
    }
}
