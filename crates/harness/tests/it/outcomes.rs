//! What is said of a measurement.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{
    Audit, Bytes, Cpus, EnforcedLimits, ErrorClass, Failures, Limit, Outcome, Part, Program, ReadBack, Restart, Rounds,
    UnitExit, UnitId, UnitRestart,
};
use stampede_harness::PreparedAudit;
use stampede_seam::Saturation;
use stampede_testkit::{FakeLifetime, FakePlatform};

use crate::bench::{BODY, Bench, LIMITS, reason};

fn serving() -> FakeLifetime {
    FakeLifetime::serving(BODY, 1000.0)
}

async fn outcome_in(bench: &Bench, lifetime: FakeLifetime) -> Outcome {
    let platform = FakePlatform::new(move |_| lifetime.clone());
    bench.run(&platform).await.only().outcome.clone()
}

async fn outcome(lifetime: FakeLifetime) -> Outcome {
    outcome_in(&Bench::new(&["a"], Rounds::Fixed(1)), lifetime).await
}

#[tokio::test(start_paused = true)]
async fn each_fault_makes_a_trial_invalid_and_says_so() {
    let errors = |class, count| FakeLifetime { errors: vec![(class, count)], ..serving() };
    let late =
        Saturation::Late { percentile: 99, lateness: Duration::from_millis(5), response: Duration::from_millis(6) };
    for (lifetime, said) in [
        (errors(ErrorClass::WrongStatus, 1), "1 of 10001 answers under load were wrong"),
        (errors(ErrorClass::WrongBody, 1), "1 of 10001 answers under load were wrong"),
        (errors(ErrorClass::Malformed, 2), "2 of 10002 answers under load were wrong"),
        (errors(ErrorClass::Exhausted, 3), "the generator ran out of ports or files 3 times"),
        (errors(ErrorClass::Reset, 11), "11 of 10011 requests broke off"),
        (FakeLifetime { unfinished: 4, ..serving() }, "4 requests had no answer 5s after the window"),
        (FakeLifetime { saturation: Some(late), ..serving() }, "the generator began requests late"),
    ] {
        match outcome(lifetime).await {
            Outcome::Invalid(reason) => assert!(reason.contains(said), "{said}: {reason}"),
            other => panic!("{said}: {other:?}"),
        }
    }
    // One in a thousand may break off.
    assert_eq!(outcome(errors(ErrorClass::Reset, 10)).await, Outcome::Measured);
}

#[tokio::test(start_paused = true)]
async fn failures_may_be_what_is_asked_for() {
    let mut bench = Bench::new(&["a"], Rounds::Fixed(1));
    bench.failures = Failures::Figures;
    let lifetime = FakeLifetime { errors: vec![(ErrorClass::WrongStatus, 500)], unfinished: 9, ..serving() };
    assert_eq!(outcome_in(&bench, lifetime).await, Outcome::Measured);
}

#[tokio::test(start_paused = true)]
async fn limits_that_are_not_held_make_a_trial_invalid() {
    let enforced = EnforcedLimits {
        cpus: Limit::AtMost(Cpus::from_millis(1000)),
        period: Duration::from_millis(100),
        memory: Limit::AtMost(Bytes::from_mib(64)),
    };
    let said = outcome(FakeLifetime { enforced: Some(enforced), ..serving() }).await;
    assert_eq!(said, Outcome::Invalid("the limits were not enforced".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_killed_for_memory_is_told_with_count_and_limit() {
    let lifetime = FakeLifetime { oom_kills: vec![Duration::from_secs(5)], ..serving() };
    let Outcome::Failed(reason) = outcome(lifetime).await else { panic!() };
    assert!(reason.starts_with("lost 1 process, and 0 of 10000 requests failed"), "{reason}");
    assert!(reason.contains("the kernel killed 1 process because the control group reached its memory limit of 64Mi"));
}

#[tokio::test(start_paused = true)]
async fn a_part_whose_process_is_killed_in_the_drain_is_told_as_the_whole_is() {
    let mut bench = Bench::new(&["a"], Rounds::Fixed(1));
    bench.prepared[0].terms.parts = vec![Part {
        name: "replica-1".to_owned(),
        share: None,
        units: vec![UnitId::new("a")],
        restart: Restart::Never,
        read_back: None,
    }];
    // After the window has closed and before the last answer: ready within a second, then 11 s of load.
    let platform = FakePlatform::new(|_| FakeLifetime {
        oom_kills: vec![Duration::from_secs(13)],
        drain: Duration::from_secs(4),
        ..serving()
    });
    let heard = bench.run(&platform).await;
    let trial = heard.only();
    let part = trial.parts[0].resources.unwrap();
    let whole = trial.measurement.as_ref().unwrap().resources.unwrap();
    assert_eq!((whole.oom_kills, part.oom_kills), (1, 1), "{}", reason(trial));
}

#[tokio::test(start_paused = true)]
async fn a_unit_that_ends_under_load_fails_the_trial_and_not_the_study() {
    let platform = FakePlatform::new(|launch| {
        let ended = UnitExit { unit: UnitId::new("php"), how: "signal 11 (SIGSEGV)".to_owned() };
        let exit = (launch.unit() == "a").then(|| (Duration::from_secs(4), ended));
        FakeLifetime { exit, log: vec!["Segmentation fault".to_owned()], ..serving() }
    });
    let heard = Bench::new(&["a", "b"], Rounds::Fixed(2)).run(&platform).await;
    let of = |name: &'static str| heard.trials.iter().filter(move |trial| trial.case.as_str() == name);
    for trial in of("a") {
        assert_eq!(
            reason(trial),
            "php ended with signal 11 (SIGSEGV) while it was measured\nlog of a:\n  Segmentation fault"
        );
        assert!(trial.measurement.is_none());
    }
    assert!(of("a").count() == 2 && of("b").all(|trial| trial.outcome == Outcome::Measured));
}

#[tokio::test(start_paused = true)]
async fn a_load_that_cannot_be_started_fails_the_trial() {
    let load_problem = Some("start the load: pin a thread to processor 7".to_owned());
    let said = outcome(FakeLifetime { load_problem, ..serving() }).await;
    assert_eq!(said, Outcome::Failed("start the load: pin a thread to processor 7".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn counters_that_cannot_be_read_fail_the_trial() {
    let counters_problem = Some("read cpu.stat: no such file".to_owned());
    let said = outcome(FakeLifetime { counters_problem, ..serving() }).await;
    assert_eq!(said, Outcome::Failed("read cpu.stat: no such file".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_cannot_be_stopped_fails_its_trial() {
    let stop_problem = Some("it is still there".to_owned());
    let said = outcome(FakeLifetime { stop_problem, ..serving() }).await;
    assert_eq!(said, Outcome::Failed("stop the deployment: it is still there".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_nothing_rightly_fails() {
    let lifetime = FakeLifetime { rate: 0.0, errors: vec![(ErrorClass::TimedOut, 8)], ..serving() };
    let said = outcome(lifetime).await;
    assert_eq!(said, Outcome::Failed("answered none of 8 requests rightly; the first: TimedOut".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn units_that_were_started_again_are_kept_with_their_part() {
    let mut bench = Bench::new(&["a"], Rounds::Fixed(1));
    bench.prepared[0].terms.parts = vec![Part {
        name: "replica-1".to_owned(),
        share: Some(LIMITS),
        units: vec![UnitId::new("a")],
        restart: Restart::OnFailure,
        read_back: None,
    }];
    let restart = UnitRestart { unit: UnitId::new("a"), how: "status 255".to_owned(), after: Duration::from_secs(3) };
    let again = restart.clone();
    let platform = FakePlatform::new(move |_| FakeLifetime { restarts: vec![again.clone()], ..serving() });
    let heard = bench.run(&platform).await;
    assert_eq!(heard.only().parts[0].restarts, [restart]);
}

#[tokio::test(start_paused = true)]
async fn rows_that_are_missing_make_a_trial_invalid() {
    let mut bench = Bench::new(&["a"], Rounds::Fixed(1));
    let audit = Audit {
        name: "people".to_owned(),
        step: "GET /".to_owned(),
        status: 200,
        path: Some("/".to_owned()),
        query: None,
    };
    bench.prepared[0].audits = vec![PreparedAudit { audit, query: None }];
    // Counts 5 whenever it is asked, whatever it has answered.
    bench.workload.exchanges[0].expect.body = stampede_core::Body::Bytes(b"5".to_vec());
    let said = outcome_in(&bench, FakeLifetime::serving("5", 1000.0)).await;
    let Outcome::Invalid(reason) = said else { panic!("{said:?}") };
    assert!(reason.contains("people"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_setting_of_a_service_that_is_not_in_effect_fails_the_trial() {
    let program = Program { path: "/fake".to_owned(), args: Vec::new(), env: BTreeMap::new() };
    let asked = BTreeMap::from([("max_connections".to_owned(), "50".to_owned())]);
    let mut bench = Bench::new(&["a"], Rounds::Fixed(1));
    bench.prepared[0].terms.parts = vec![Part {
        name: "postgres".to_owned(),
        share: None,
        units: vec![UnitId::new("a")],
        restart: Restart::Never,
        read_back: Some(ReadBack { program, asked }),
    }];
    for (said, outcome) in [
        (Ok("max_connections\t50\t\n"), Outcome::Measured),
        (
            Ok("max_connections\t100\t\n"),
            Outcome::Failed("postgres: max_connections is 100, not 50 as asked for".to_owned()),
        ),
        (Err("status 2"), Outcome::Failed("cannot read the settings of postgres back: status 2".to_owned())),
    ] {
        let said = said.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(outcome_in(&bench, FakeLifetime { said, ..serving() }).await, outcome);
    }
}
