//! Scenarios: whatever is written is a scenario or a list of mistakes that can be shown.

#![no_main]

use std::collections::BTreeMap;
use std::io::ErrorKind;

use libfuzzer_sys::fuzz_target;
use stampede_core::Bytes;
use stampede_plan::{MachineSize, parse_scenario};

fuzz_target!(|text: &str| {
    let machine = MachineSize { cpus: 2, memory: Bytes::from_mib(1024), connections: 1000 };
    let files = |path: &std::path::Path| match path.to_str() {
        Some("a.csv") => Ok(b"id,name\n1,a\n".to_vec()),
        _ => Err(ErrorKind::NotFound.into()),
    };
    match parse_scenario(text, "scenario.yaml", machine, &BTreeMap::new(), &files) {
        Ok(scenario) => {
            for crowd in &scenario.crowds {
                assert!(!crowd.flows.is_empty());
                for flow in &crowd.flows {
                    assert!(!flow.steps.is_empty() && flow.identities > 0);
                    for step in &flow.steps {
                        assert!(step.captures.iter().all(|capture| capture.number < flow.captures.len()));
                    }
                }
            }
        }
        Err(mistakes) => assert!(!mistakes.to_string().is_empty()),
    }
});
