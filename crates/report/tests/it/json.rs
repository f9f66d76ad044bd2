//! The JSON of a study.

use serde_json::Value;
use stampede_core::Carrier;
use stampede_report::json;

use crate::samples::{Sample, four_runtimes, with_failures, with_trust, without_limits};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_study_as_json() {
    // One case in one block, so that it can be read at a glance.
    let mut sample = with_failures();
    sample.study.cases.truncate(2);
    sample.trials.truncate(2);
    insta::assert_snapshot!(sample.render(json::render));
}

#[test]
fn every_name_that_was_promised_is_there() {
    for sample in [four_runtimes(), with_failures(), without_limits()] {
        let study: Value = serde_json::from_str(&sample.render(json::render)).unwrap();
        let has = |value: &Value, names: &str| {
            let keys = keys(value);
            for name in names.split_whitespace() {
                assert!(keys.contains(&name), "{name} is not in {keys:?}");
            }
        };
        has(&study, "schema id kind workload seed started_at finished_at stampede_version machine cases verdicts");
        has(&study["machine"], "cpus cpu_model kernel cgroup");
        assert_eq!(study["schema"], "stampede/study/v1");
        for case in study["cases"].as_array().unwrap() {
            has(
                case,
                "id runtime runtime_version tuning limits enforced platform pinning load trials summary findings",
            );
            has(&case["limits"], "cpus memory_bytes");
            has(&case["enforced"], "cpus memory_bytes");
            for estimate in case["summary"].as_object().unwrap().values() {
                has(estimate, "value low high n");
            }
            for finding in case["findings"].as_array().unwrap() {
                has(finding, "id severity text evidence advice");
            }
            for trial in case["trials"].as_array().unwrap() {
                has(
                    trial,
                    "block outcome reason requests window_s throughput_rps service_us response_us status errors \
                     cpu_seconds cpu_us_per_request memory_peak_bytes throttled_periods periods throttled_seconds \
                     generator",
                );
                if trial["requests"].is_null() {
                    assert_eq!(trial["outcome"], "failed");
                    continue;
                }
                has(&trial["requests"], "sent ok failed unfinished");
                has(&trial["generator"], "cpu_seconds cpu_us_per_request");
                for clock in ["service_us", "response_us"] {
                    has(&trial[clock], "min mean stddev p50 p75 p90 p95 p99 p999 max");
                }
            }
        }
        for verdict in study["verdicts"].as_array().unwrap() {
            has(verdict, "metric a b ratio verdict");
            has(&verdict["ratio"], "value low high n");
        }
    }
}

#[test]
fn what_bounds_a_studys_claims_is_in_it() {
    let study: Value = serde_json::from_str(&with_trust().render(json::render)).unwrap();
    let warm_ups = study["cases"].as_array().unwrap().iter().map(|case| &case["warm_up"]);
    let [slow, go] = warm_ups.skip(2).collect::<Vec<_>>()[..] else { panic!("four cases") };
    assert_eq!(
        (&slow["length_s"], &slow["outcome"], &slow["at_rest_after_s"]),
        (&3.5.into(), &"steady".into(), &3.5.into())
    );
    assert_eq!((&go["length_s"], &go["outcome"], &go["watched_s"]), (&10.0.into(), &"unsteady".into(), &30.0.into()));
    assert_eq!(study["noise_floor"]["metrics"]["throughput_rps"]["share"], 0.0183);
    assert_eq!(study["resumed_at"][0], "2026-07-13T12:14:00Z");
    let yard_stick = &study["yard_stick"];
    assert_eq!(yard_stick["readings"][0]["requests_per_cpu_second"], 12_020.0);
    assert_eq!(yard_stick["readings"][4]["reason"], "no answer");
    assert_eq!((&yard_stick["drift"]["standing_out"], &yard_stick["drift"]["without"]), (&[3].into(), &[5].into()));
}

#[test]
fn generators_are_named() {
    let mut sample = four_runtimes();
    let named = |sample: &Sample| -> Value {
        let study: Value = serde_json::from_str(&sample.render(json::render)).unwrap();
        study["generators"].clone()
    };
    assert_eq!(named(&sample), Value::Null);
    sample.study.groundwork.generators = Carrier::read_all("local:2,exec:'ip netns exec client'").unwrap();
    assert_eq!(named(&sample), serde_json::json!(["local", "local", "exec:'ip netns exec client'"]));
}
