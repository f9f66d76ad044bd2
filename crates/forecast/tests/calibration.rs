//! What is taken from studies whose figures are known.

#[path = "made_up/study.rs"]
mod made_up;

use std::time::Duration;

use made_up::{MadeUp, SINGLE, study};
use stampede_core::{Bytes, Outcome};
use stampede_forecast::{Calibration, CalibrationError, MeasuredStudy, Shape};

fn calibrate(studies: &[&[MadeUp]], case: Option<&str>) -> Result<Calibration, CalibrationError> {
    let studies: Vec<_> = studies.iter().map(|cases| study("20260301", cases)).collect();
    let records: Vec<_> = studies.iter().map(|(study, trials)| MeasuredStudy { study, trials }).collect();
    Calibration::of(&records, case)
}

fn near(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 0.005
}

#[test]
fn a_request_is_what_was_measured_one_at_a_time() {
    let calibration = calibrate(&[&[SINGLE]], None).unwrap();
    assert!(near(calibration.work.cpu.as_secs_f64(), 0.004), "{:?}", calibration.work);
    assert!(near(calibration.work.wait.as_secs_f64(), 0.001), "{:?}", calibration.work);
    assert!(near(calibration.shape.mean(), 1.0));
    // A pool that follows from the load says nothing of another load.
    assert_eq!((calibration.workers, calibration.trials, calibration.requests), (None, 3, 3003));
    let given = calibrate(&[&[MadeUp { workers: 4, given: true, ..SINGLE }]], None).unwrap();
    assert_eq!(given.workers, Some(4));
    // Under one limit alone, all of a start is taken for CPU time.
    assert_eq!((calibration.start.cpu, calibration.start.wait), (Duration::from_millis(300), Duration::ZERO));
    // Processes that overlap use more CPU than time: nothing is left off the CPU.
    let busy = calibrate(&[&[MadeUp { cpu_ms: 6.0, ..SINGLE }]], None).unwrap();
    assert_eq!(busy.work.wait, Duration::ZERO);
    assert!(near(busy.work.cpu.as_secs_f64(), 0.006));
}

#[test]
fn the_speed_under_more_load_comes_from_all_studies_and_no_more_than_the_workers() {
    let more = |connections, cpu_ms| MadeUp { id: "more", connections, cpu_ms, workers: 4, ..SINGLE };
    let calibration = calibrate(&[&[SINGLE, MadeUp { id: "two", ..more(2, 5.0) }], &[more(16, 8.0)]], None).unwrap();
    // 16 connections are four workers at once.
    assert_eq!(calibration.efficiencies.len(), 3);
    for (requests, efficiency) in [(1, 1.0), (2, 0.8), (4, 0.5), (3, 0.8 - 0.3 * 1.5_f64.log2()), (64, 0.5)] {
        let told = calibration.efficiency(requests);
        assert!(near(told, efficiency), "{requests}: {told}");
    }
    assert_eq!(calibration.most_measured(), 4);
}

#[test]
fn what_idleness_costs_comes_from_open_loads_that_leave_an_instance_idle() {
    let open = MadeUp { id: "open", is_open: true, requests: 101, cpu_ms: 5.0, service_ms: 7.0, ..SINGLE };
    let calibration = calibrate(&[&[SINGLE], &[open]], None).unwrap();
    let [none, waking] = calibration.waking[..] else { panic!("{:?}", calibration.waking) };
    assert_eq!((none.cpu, none.wait), (Duration::ZERO, Duration::ZERO));
    // 20.2 requests in a second, each 5 ms on the CPU, on which others keep it for a while, and the rest of 7 ms off it.
    let queued = 0.005 * 0.101 / (1.0 - 0.101);
    let wait = 0.002 - queued;
    let found_idle = 1.0 - 20.2 * (0.005 + wait);
    assert!(near(waking.cpu.as_secs_f64(), 0.001 / found_idle), "{waking:?}");
    assert!(near(waking.wait.as_secs_f64(), (wait - 0.001) / found_idle), "{waking:?}");
    assert!(near(waking.idle.as_secs_f64(), 0.561_459_5 / 20.2), "{waking:?}");
    // Not from one that keeps it busy, nor from one that is stalled.
    for other in [MadeUp { requests: 1001, ..open }, MadeUp { stalled: 25, ..open }] {
        assert_eq!(calibrate(&[&[SINGLE], &[other]], None).unwrap().waking.len(), 1);
    }
}

#[test]
fn memory_grows_with_workers_as_far_as_that_was_measured() {
    let one = calibrate(&[&[SINGLE]], None).unwrap();
    assert_eq!([1, 4, 16].map(|workers| one.memory_of(workers)), [Bytes::from_mib(100); 3]);
    let loaded = MadeUp { id: "loaded", connections: 16, workers: 5, memory_mib: 180, ..SINGLE };
    let two = calibrate(&[&[SINGLE, loaded]], None).unwrap();
    for (workers, mib) in [(1, 100.0), (5, 180.0), (10, 280.0)] {
        assert!(near(two.memory_of(workers).mib(), mib), "{workers}: {}", two.memory_of(workers).mib());
    }
}

#[test]
fn starts_under_several_limits_tell_cpu_from_waiting() {
    // 200 ms of CPU and 100 ms of waiting: 300 ms on one CPU, 500 ms on half of one.
    let half = MadeUp { id: "half", connections: 16, cpus: 500, ready_ms: 500, ..SINGLE };
    let start = calibrate(&[&[SINGLE, half]], None).unwrap().start;
    assert!(near(start.cpu.as_secs_f64(), 0.2) && near(start.wait.as_secs_f64(), 0.1), "{start:?}");
}

#[test]
fn what_does_not_calibrate_says_what_to_do() {
    let loaded = MadeUp { id: "loaded", connections: 16, ..SINGLE };
    let other = MadeUp { id: "other", ..SINGLE };
    for (cases, name, expected) in [
        (
            vec![loaded],
            None,
            "measure one first: stampede compare markdown --runtimes nginx-fpm --load closed:1 --cpus 1",
        ),
        (vec![SINGLE, other], None, "choose with --case: single, other"),
        (vec![SINGLE], Some("loaded"), "--case loaded is no case of study 20260301"),
        (vec![MadeUp { stalled: 25, ..SINGLE }], None, "stalled by its quota of 1 CPU in 50 % of the periods"),
        (vec![MadeUp { cpu_ms: 0.0, ..SINGLE }], None, "case single has no CPU time"),
    ] {
        let error = calibrate(&[&cases], name).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(calibrate(&[&[SINGLE, other]], Some("other")).unwrap().case.as_str(), "other");
    let (study, mut trials) = study("20260301", &[SINGLE]);
    trials.iter_mut().for_each(|trial| trial.outcome = Outcome::Failed("it did not start".to_owned()));
    let error = Calibration::of(&[MeasuredStudy { study: &study, trials: &trials }], None).unwrap_err();
    assert!(error.to_string().contains("case single has no trial that counts"), "{error}");
}
