//! Pilots and the search for a capacity.

use std::time::Duration;

use stampede_core::{Rounds, StudyKind};
use stampede_testkit::{FakeLifetime, FakePlatform};

use crate::bench::{BODY, Bench, Heard, LIMITS};

#[tokio::test(start_paused = true)]
async fn a_pilot_fixes_a_warm_up_and_a_case_that_fails_has_the_shortest() {
    let platform = FakePlatform::new(|launch| {
        let lifetime = FakeLifetime::serving(BODY, 1000.0);
        if launch.unit() == "broken" {
            FakeLifetime { launch_problem: Some("no".to_owned()), ..lifetime }
        } else {
            lifetime
        }
    });
    let bench = Bench::new(&["a", "broken"], Rounds::Fixed(1));
    let mut heard = Heard::default();
    let found =
        stampede_harness::pilots(&platform, &bench.study, &bench.prepared, &bench.context(), &mut heard).await.unwrap();
    let of =
        |name: &str| found.warm_ups.iter().find(|(case, _)| case.as_str() == name).map(|(_, warm_up)| warm_up.length);
    assert_eq!(of("broken"), Some(Duration::from_secs(1)));
    assert!(of("a").unwrap() < Duration::from_secs(30));
    assert_eq!(found.peaks.len(), 1, "{:?}", found.peaks);
    assert_eq!(heard.events.iter().filter(|event| event.starts_with("pilot ")).count(), 2);
    assert!(heard.trials.is_empty(), "a pilot is no trial");
}

/// Answers 400 requests a second at the most, whatever is asked of it: above that, the requests wait.
fn up_to_400(launch: &stampede_testkit::FakeLaunch<'_>) -> FakeLifetime {
    assert_eq!(launch.terms.total, LIMITS);
    FakeLifetime::serving(BODY, 400.0)
}

#[tokio::test(start_paused = true)]
async fn a_capacity_is_searched_with_a_fresh_deployment_for_each_probe() {
    let platform = FakePlatform::new(up_to_400);
    let mut bench = Bench::new(&["a"], Rounds::Auto { max_time: Duration::from_secs(600) });
    bench.study.kind = StudyKind::Capacity;
    bench.study.slo = Some("p99<100ms,errors<0.1%".parse().unwrap());
    bench.study.cases.clear();
    bench.prepared[0].case.load = "open:poisson:1".parse().unwrap();
    let mut heard = Heard::default();
    let context = bench.context();
    stampede_harness::capacity(&platform, &bench.study, &bench.prepared[0], &context, Vec::new(), &mut heard)
        .await
        .unwrap();
    assert!(heard.trials.len() > 3, "{:?}", heard.events);
    let launches = platform.log().iter().filter(|line| line.starts_with("launch")).count();
    assert_eq!(launches, heard.trials.len());
    let names: Vec<_> = heard.events.iter().filter(|event| event.starts_with("case ")).collect();
    assert!(names.len() >= 3, "{names:?}");
}
