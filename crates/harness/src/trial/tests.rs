use std::collections::BTreeMap;

use stampede_core::{
    Bytes, CaseId, Counts, CpuLayout, Cpus, GeneratorUse, Latencies, Measurement, RuntimeId, Topology, Tuning,
};

use super::*;

fn case() -> Case {
    Case {
        id: CaseId::new("a"),
        runtime: RuntimeId::new("a"),
        runtime_version: String::new(),
        app: String::new(),
        revision: None,
        php: None,
        tuning: Tuning::default(),
        limits: Limits { cpus: Cpus::from_millis(1000), memory: Bytes::from_mib(64) },
        topology: Topology::default(),
        platform: "local".to_owned(),
        base_image: None,
        pinning: CpuLayout { server: Vec::new(), generator: Vec::new() },
        load: "closed:16".parse().unwrap(),
        beside: Vec::new(),
    }
}

/// So many requests with these failures.
fn measured(sent: u64, errors: &[(ErrorClass, u64)]) -> Measured {
    let failed = errors.iter().map(|(_, count)| count).sum();
    let measurement = Measurement {
        window: Duration::from_secs(5),
        requests: Counts { sent, ok: sent - failed, failed, unfinished: 0 },
        warm_up: Counts::default(),
        reconnects: 0,
        service: Latencies::new(),
        response: Latencies::new(),
        status: BTreeMap::new(),
        errors: errors.iter().copied().collect(),
        bytes_sent: 0,
        bytes_received: 0,
        resources: None,
        generator: GeneratorUse::default(),
        sending: None,
        sampling: None,
        steps: Vec::new(),
        seconds: Vec::new(),
        load_seconds: Vec::new(),
    };
    Measured {
        measurement,
        saturation: None,
        failure_example: Some("an example".to_owned()),
        parts: Vec::new(),
        edges_late: Duration::ZERO,
        answers: Vec::new(),
        exhausted: Vec::new(),
    }
}

fn outcome(measured: &Measured, failures: Failures) -> Outcome {
    judge(measured, &case(), Duration::from_secs(1), failures, Vec::new()).unwrap()
}

#[test]
fn one_wrong_answer_of_any_kind_is_too_many_and_a_few_that_broke_off_are_not() {
    for class in ErrorClass::ALL {
        let outcome = outcome(&measured(100_000, &[(class, 1)]), Failures::Faults);
        let expected = match class {
            ErrorClass::WrongStatus | ErrorClass::WrongHeader | ErrorClass::WrongBody | ErrorClass::Malformed => {
                Outcome::Invalid("1 of 100000 answers under load were wrong; the first: an example".to_owned())
            }
            ErrorClass::Unwritable => {
                Outcome::Invalid("the generator could not write 1 of 100000 requests; the first: an example".to_owned())
            }
            ErrorClass::Exhausted => {
                Outcome::Invalid("the generator ran out of ports or files 1 times; the first: an example".to_owned())
            }
            _ => Outcome::Measured,
        };
        assert_eq!(outcome, expected, "{class:?}");
    }
}

#[test]
fn what_could_not_be_written_is_never_the_servers_fault() {
    // More than may break off, and where failures are what is measured.
    let many = measured(1000, &[(ErrorClass::Unwritable, 500)]);
    for failures in [Failures::Faults, Failures::Figures] {
        assert_eq!(
            outcome(&many, failures),
            Outcome::Invalid("the generator could not write 500 of 1000 requests; the first: an example".to_owned())
        );
    }
    let none_left = measured(10, &[(ErrorClass::Unwritable, 10)]);
    assert!(matches!(outcome(&none_left, Failures::Faults), Outcome::Invalid(_)));
    let one_left = measured(10, &[(ErrorClass::Unwritable, 9), (ErrorClass::WrongBody, 1)]);
    let judged = judge(&one_left, &case(), Duration::from_secs(1), Failures::Faults, Vec::new());
    assert!(matches!(judged, Err(MeasureError::Failed(_))));
}
