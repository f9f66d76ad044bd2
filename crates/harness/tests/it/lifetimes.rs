//! Deployments that are open at the same time, and measured more than once, are tested inside the crate: trials in parts are its
//! own. Here: what a lifetime leaves behind.

use std::time::Duration;

use stampede_core::{Rounds, UnitExit, UnitId};
use stampede_testkit::{FakeLifetime, FakePlatform};

use crate::bench::{BODY, Bench};

#[tokio::test(start_paused = true)]
async fn every_deployment_that_was_launched_is_stopped_whatever_became_of_it() {
    let platform = FakePlatform::new(|launch| {
        let serving = FakeLifetime::serving(BODY, 1000.0);
        let exit = |after| {
            Some((Duration::from_millis(after), UnitExit { unit: UnitId::new("a"), how: "status 1".to_owned() }))
        };
        match launch.number % 5 {
            0 => serving,
            1 => FakeLifetime { exit: exit(50), ..serving },
            2 => FakeLifetime { exit: exit(3000), ..serving },
            3 => FakeLifetime { ready: Duration::from_secs(60), ..serving },
            _ => FakeLifetime { load_problem: Some("no".to_owned()), ..serving },
        }
    });
    let heard = Bench::new(&["a"], Rounds::Fixed(10)).run(&platform).await;
    assert_eq!(heard.trials.len(), 10);
    let expected: Vec<String> = (0..10).flat_map(|_| ["launch a".to_owned(), "stop a".to_owned()]).collect();
    assert_eq!(platform.log(), expected);
}
