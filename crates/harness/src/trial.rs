//! One lifetime of a deployment, in three parts: it is opened (launched, ready, verified), measured once or again and again, and
//! closed (audited, stopped, judged). Several can be open at the same time.

mod judge;
mod open;

use stampede_core::Trial;
use stampede_seam::Platform;

use crate::context::{Place, Timing, TrialContext};
use crate::early_stop::Watch;
use crate::event::{Sink, SinkError};
use crate::prepare::Prepared;

pub(crate) use self::judge::{MOST_LATE, answered_none, explain, unlaunched};
pub(crate) use self::open::OpenTrial;

/// Runs one trial with one window; one that is watched ends when there is nothing more to see. Whatever goes wrong with the
/// deployment is in the trial's outcome.
///
/// # Errors
///
/// Only when a sink does not take an event.
pub(crate) async fn run(
    platform: &dyn Platform,
    context: &TrialContext<'_>,
    prepared: &Prepared,
    place: Place,
    timing: &Timing,
    watch: Option<&mut Watch<'_>>,
    sink: &mut dyn Sink,
) -> Result<Trial, SinkError> {
    // On the heap: the states of all that a study waits for would take most of a thread's stack.
    match Box::pin(OpenTrial::open(platform, context, prepared, place, timing.seed, sink)).await? {
        Ok(mut open) => {
            Box::pin(open.measure(timing, watch, sink)).await?;
            Box::pin(open.close(sink)).await
        }
        Err(failed) => Ok(*failed),
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use stampede_core::{
        Endpoint, Failures, Fut, InsideEffort, InsideRecord, Outcome, Terms, UnitExit, UnitId, Workload,
    };
    use stampede_seam::{Backend, LoadOrder};
    use stampede_testkit::samples::{BODY, LIMITS, workload};
    use stampede_testkit::{FakeLifetime, FakePlatform, samples};

    use super::*;
    use crate::event::Event;
    use crate::stop::Stop;

    /// Nobody listens.
    struct Silence;

    impl Sink for Silence {
        fn take<'a>(&'a mut self, _event: &'a Event<'a>) -> Fut<'a, Result<(), SinkError>> {
            Box::pin(async { Ok(()) })
        }
    }

    fn context<'a>(workload: &'a Workload, stop: &'a Stop) -> TrialContext<'a> {
        TrialContext {
            workload,
            scenario: None,
            ready_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(5),
            timeout: None,
            failures: Failures::Faults,
            backend: Backend::Epoll,
            sampled: true,
            inside: None,
            yard_stick: None,
            stop,
        }
    }

    fn prepared(name: &str) -> Prepared {
        Prepared::alone(samples::case(name), samples::deployment(name), Terms::of(LIMITS))
    }

    /// Two deployments are up together, and their windows alternate.
    #[tokio::test(start_paused = true)]
    async fn several_deployments_are_open_together_and_measured_again_and_again() {
        let platform =
            FakePlatform::new(|launch| FakeLifetime::serving(BODY, if launch.unit() == "a" { 1000.0 } else { 500.0 }));
        let (workload, stop, sink) = (workload(), Stop::default(), &mut Silence);
        let context = context(&workload, &stop);
        let cases = [prepared("a"), prepared("b")];
        let mut open = Vec::new();
        for (position, case) in (1..).zip(&cases) {
            let place = Place { block: 1, position };
            open.push(OpenTrial::open(&platform, &context, case, place, 1, sink).await.unwrap().unwrap());
        }
        assert_eq!(platform.up(), 2);
        let window = Duration::from_secs(2);
        for turn in 0..3 {
            let warm_up = if turn == 0 { window } else { Duration::ZERO };
            for trial in &mut open {
                trial.measure(&Timing { warm_up, duration: window, seed: 1 }, None, sink).await.unwrap();
            }
        }
        let units: Vec<u16> = platform.fake_vantage().loads().iter().map(launch).collect();
        assert_eq!(units, [0, 1, 0, 1, 0, 1]);
        for (trial, ok) in open.into_iter().zip([2000, 1000]) {
            let trial = trial.close(sink).await.unwrap();
            assert_eq!((trial.outcome, trial.measurement.unwrap().requests.ok), (Outcome::Measured, ok));
        }
        assert_eq!(platform.up(), 0);
    }

    /// The number of the launch that a load is for, which its address ends with.
    fn launch(order: &LoadOrder) -> u16 {
        match &order.spec.targets[0] {
            Endpoint::Tcp(SocketAddr::V4(address)) => u16::from(address.ip().octets()[3]),
            other => panic!("{other}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn stacks_of_php_are_part_of_what_was_measured_where_they_are_sampled() {
        let effort = InsideEffort { taken: 7, ..InsideEffort::default() };
        let platform = FakePlatform::new(move |_| FakeLifetime {
            inside: Some(InsideRecord { effort, ..InsideRecord::default() }),
            ..FakeLifetime::serving(BODY, 1000.0)
        });
        let (workload, stop, sink) = (workload(), Stop::default(), &mut Silence);
        let timing = Timing { warm_up: Duration::ZERO, duration: Duration::from_secs(2), seed: 1 };
        for (inside, taken) in [(Some(99), Some(7)), (None, None)] {
            let context = TrialContext { inside, ..context(&workload, &stop) };
            let place = Place { block: 1, position: 1 };
            let trial = run(&platform, &context, &prepared("a"), place, &timing, None, sink).await.unwrap();
            let sampling = trial.measurement.unwrap().sampling.unwrap();
            assert_eq!(sampling.inside.map(|inside| inside.effort.taken), taken);
        }
    }

    /// What is taken away says nothing of what was measured, however its trial looks.
    #[tokio::test(start_paused = true)]
    async fn a_deployment_that_was_taken_away_is_no_failure_of_its_own() {
        let exit = UnitExit { unit: UnitId::new("a"), how: "status 1".to_owned() };
        let taken = || Some("pod p on node n: it was deleted".to_owned());
        let serving = || FakeLifetime { disturbed: taken(), ..FakeLifetime::serving(BODY, 1000.0) };
        let (workload, stop) = (workload(), Stop::default());
        let context = context(&workload, &stop);
        let timing = Timing { warm_up: Duration::ZERO, duration: Duration::from_secs(2), seed: 1 };
        for (name, lifetime, expected) in [
            ("at its end", serving(), "pod p on node n: it was deleted"),
            (
                "in its window",
                FakeLifetime { exit: Some((Duration::from_secs(1), exit.clone())), ..serving() },
                "pod p on node n: it was deleted; a ended with status 1 while it was measured",
            ),
            (
                "before it answers",
                FakeLifetime { exit: Some((Duration::from_millis(150), exit.clone())), ..serving() },
                "pod p on node n: it was deleted; ",
            ),
        ] {
            let platform = FakePlatform::new(move |_| lifetime.clone());
            let place = Place { block: 1, position: 1 };
            let trial = run(&platform, &context, &prepared("a"), place, &timing, None, &mut Silence).await.unwrap();
            assert!(
                matches!(&trial.outcome, Outcome::Invalid(reason) if reason.starts_with(expected)),
                "{name}: {trial:?}"
            );
        }
    }

    /// One that ends between two windows is found at the next.
    #[tokio::test(start_paused = true)]
    async fn a_death_at_rest_fails_the_trial_at_its_next_window() {
        let exit = UnitExit { unit: UnitId::new("a"), how: "status 1".to_owned() };
        let platform = FakePlatform::new(move |_| FakeLifetime {
            exit: Some((Duration::from_secs(20), exit.clone())),
            ..FakeLifetime::serving(BODY, 1000.0)
        });
        let (workload, stop, sink) = (workload(), Stop::default(), &mut Silence);
        let context = context(&workload, &stop);
        let case = prepared("a");
        let place = Place { block: 1, position: 1 };
        let mut open = OpenTrial::open(&platform, &context, &case, place, 1, sink).await.unwrap().unwrap();
        let timing = Timing { warm_up: Duration::ZERO, duration: Duration::from_secs(2), seed: 1 };
        open.measure(&timing, None, sink).await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        open.measure(&timing, None, sink).await.unwrap();
        open.measure(&timing, None, sink).await.unwrap();
        let trial = open.close(sink).await.unwrap();
        assert_eq!(trial.outcome, Outcome::Failed("a ended with status 1 while it was measured".to_owned()));
        assert_eq!(platform.fake_vantage().loads().len(), 2, "nothing is measured after that");
    }
}
