//! From a launch to right answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stampede_core::{Outcome, ReadyBy, Request, Rounds, UnitExit, UnitId};
use stampede_harness::Phase;
use stampede_testkit::{FakeLifetime, FakePlatform};

use crate::bench::{BODY, Bench, answer, reason};

fn serving() -> FakeLifetime {
    FakeLifetime::serving(BODY, 1000.0)
}

fn exit(after: Duration) -> Option<(Duration, UnitExit)> {
    Some((after, UnitExit { unit: UnitId::new("a"), how: "status 1".to_owned() }))
}

/// Runs one trial of a case with such a lifetime.
async fn trial(lifetime: FakeLifetime) -> (Outcome, Vec<Phase>, FakePlatform) {
    trial_of(Bench::new(&["a"], Rounds::Fixed(1)), lifetime).await
}

async fn trial_of(bench: Bench, lifetime: FakeLifetime) -> (Outcome, Vec<Phase>, FakePlatform) {
    let platform = FakePlatform::new(move |_| lifetime.clone());
    let heard = bench.run(&platform).await;
    (heard.only().outcome.clone(), heard.phases(), platform)
}

fn by_port() -> Bench {
    let mut bench = Bench::new(&["a"], Rounds::Fixed(1));
    bench.prepared[0].case.topology.ready = ReadyBy::Port;
    bench
}

#[tokio::test(start_paused = true)]
async fn a_trial_goes_through_its_phases() {
    let (outcome, phases, _) = trial(serving()).await;
    assert_eq!(outcome, Outcome::Measured);
    let all = [Phase::Launch, Phase::Ready, Phase::Verify, Phase::WarmUp, Phase::Measure, Phase::Drain, Phase::Stop];
    assert_eq!(phases, all);
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_fails_is_a_trial_that_failed_and_nothing_is_stopped() {
    let (outcome, phases, platform) =
        trial(FakeLifetime { launch_problem: Some("no space is left".to_owned()), ..serving() }).await;
    assert_eq!(outcome, Outcome::Failed("prepare the run: no space is left".to_owned()));
    assert_eq!((phases, platform.log()), (vec![Phase::Launch], vec!["launch a".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn what_is_never_ready_is_told_with_its_last_state_and_log() {
    let log = vec!["waiting for a lock".to_owned()];
    let (outcome, phases, platform) = trial(FakeLifetime { ready: Duration::from_secs(3600), log, ..serving() }).await;
    let Outcome::Failed(reason) = outcome else { panic!("{outcome:?}") };
    assert!(
        reason.starts_with("was not ready within 30s; last state: Connection refused")
            && reason.ends_with("log of a:\n  waiting for a lock"),
        "{reason}"
    );
    assert_eq!(phases, [Phase::Launch, Phase::Ready, Phase::Stop]);
    assert_eq!((platform.up(), platform.log()), (0, vec!["launch a".to_owned(), "stop a".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_front_without_its_application_is_waited_for() {
    let asked = Arc::new(AtomicU32::new(0));
    let (outcome, ..) = trial(FakeLifetime {
        answer: Arc::new(move |_: &Request| {
            if asked.fetch_add(1, Ordering::Relaxed) < 5 { answer(503, "no upstream") } else { answer(200, BODY) }
        }),
        ..serving()
    })
    .await;
    assert_eq!(outcome, Outcome::Measured);
}

#[tokio::test(start_paused = true)]
async fn a_unit_that_ends_before_it_is_ready_is_told_at_once() {
    for bench in [Bench::new(&["a"], Rounds::Fixed(1)), by_port()] {
        let ready = Duration::from_secs(3600);
        let (outcome, ..) =
            trial_of(bench, FakeLifetime { ready, exit: exit(Duration::from_secs(2)), ..serving() }).await;
        assert_eq!(outcome, Outcome::Failed("a ended with status 1 before it was ready".to_owned()));
    }
}

/// A queue of connections that is full drops what comes, and the kernel tries again for two minutes.
#[tokio::test(start_paused = true)]
async fn a_port_that_neither_takes_nor_refuses_is_waited_for_until_the_time_is_over() {
    let stall = Some((Duration::ZERO, Duration::from_secs(3600)));
    let (outcome, ..) = trial_of(by_port(), FakeLifetime { stall, ..serving() }).await;
    let Outcome::Failed(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.starts_with("did not listen at its front within 30s; last state: not connected within"), "{reason}");
    // And whoever ends meanwhile is not waited for.
    let (outcome, ..) =
        trial_of(by_port(), FakeLifetime { stall, exit: exit(Duration::from_secs(1)), ..serving() }).await;
    assert_eq!(outcome, Outcome::Failed("a ended with status 1 before it was ready".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_port_that_is_open_is_ready_within_a_millisecond() {
    let platform = FakePlatform::new(|_| serving());
    let heard = by_port().run(&platform).await;
    let ready = heard.only().ready.unwrap();
    assert!((Duration::from_millis(200)..=Duration::from_millis(202)).contains(&ready.took), "{ready:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_come_is_waited_for_longer_each_time() {
    // Answers after 5 s: longer than the first tries wait.
    let (outcome, ..) = trial(FakeLifetime { latency: Duration::from_secs(5), ..serving() }).await;
    assert_eq!(outcome, Outcome::Measured);
}

#[tokio::test(start_paused = true)]
async fn workers_that_are_started_again_and_again_are_told_within_5_seconds() {
    let platform = FakePlatform::new(|_| FakeLifetime {
        ready: Duration::from_secs(3600),
        worker_life: Some(Duration::from_millis(300)),
        log: vec!["PHP Fatal error".to_owned()],
        ..serving()
    });
    let bench = Bench::new(&["a", "b"], Rounds::Fixed(1));
    let heard = bench.run(&platform).await;
    assert!(reason(&heard.trials[0]).contains("starts its workers again and again: 6 of them ended"));
    assert!(reason(&heard.trials[0]).contains("PHP Fatal error"));
    let took = heard.trials[1].started_at.duration_since(heard.trials[0].started_at);
    assert!(took.unsigned_abs() < Duration::from_secs(5), "{took}");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_answer_is_told_with_status_body_and_log() {
    let log = vec!["PHP Fatal error: Uncaught Error".to_owned()];
    let (outcome, phases, _) =
        trial(FakeLifetime { answer: Arc::new(|_: &Request| answer(500, "<b>Fatal error</b>")), log, ..serving() })
            .await;
    let Outcome::Failed(reason) = outcome else { panic!("{outcome:?}") };
    assert_eq!(
        reason,
        "gave a wrong answer to `home`: status 200 OK was expected, and 500 Internal Server Error came\n\
         body: <b>Fatal error</b>\nlog of a:\n  PHP Fatal error: Uncaught Error"
    );
    assert_eq!(phases, [Phase::Launch, Phase::Ready, Phase::Verify, Phase::Stop]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_varies_is_told_to_be_masked() {
    let asked = Arc::new(AtomicU32::new(0));
    let answering = move |_: &Request| answer(200, &format!("token {}", asked.fetch_add(1, Ordering::Relaxed)));
    let (outcome, ..) = trial(FakeLifetime { answer: Arc::new(answering), ..serving() }).await;
    let Outcome::Failed(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("asked again, it answers otherwise: mask the part that varies"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_write_is_told_with_what_to_do() {
    let log = vec!["file_put_contents(/srv/a): Failed to open stream: Permission denied".to_owned()];
    let (outcome, ..) = trial(FakeLifetime { answer: Arc::new(|_: &Request| answer(500, "")), log, ..serving() }).await;
    let Outcome::Failed(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("a program was refused access: file_put_contents(/srv/a)"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_checked_is_waited_for_as_long_as_the_first_one() {
    // Ready at once, and then stuck for 20 s: less than the 30 s that a first answer may take.
    let stall = Some((Duration::from_millis(210), Duration::from_secs(20)));
    let (outcome, ..) = trial(FakeLifetime { stall, ..serving() }).await;
    assert_eq!(outcome, Outcome::Measured);
}
