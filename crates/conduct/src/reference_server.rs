//! The reference server, a fixed one that each block measures, so that the machine's drift is seen.
//!
//! Each request takes the same work: steps that each wait for the one before and for a word of a table that fits a core's own
//! cache, as much of an interpreter's time goes. So it slows down with the processor, with neighbours on it and with time that
//! is taken away, and with nothing that the runtimes under test do.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{
    Body, Case, CaseId, CaseRole, Exchange, Expectation, Load, Random, Request, RuntimeId, Terms, Topology, Tuning,
    Workload, WorkloadId,
};
use stampede_harness::{Conditions, Prepared, YardStick};

use crate::host::OwnProgram;

/// The command that serves it; its argument is the address.
pub const COMMAND: &str = "__yard-stick";

/// What it is called, and its folder.
pub const ID: &str = "yard-stick";

/// Steps of a request: about 0.2 ms of a core of 2020, so that the generator is far from its limit.
const STEPS: u32 = 20_000;

/// Words of the table: 256 KiB, more than the first cache of a core and less than its second.
const WORDS: usize = 1 << 15;

/// Connections of its load, which is closed whatever the study's is: the rate is what it is there to tell.
const CONNECTIONS: u32 = 16;

/// Its window is an eighth of the study's within these, so that it takes little of the time and is still worth reading.
const LEAST_WINDOW: Duration = Duration::from_millis(300);
const MOST_WINDOW: Duration = Duration::from_secs(1);

/// A whole number of the kernel's quota periods.
const PERIOD_MS: u128 = 100;

/// The reference server of a study under these conditions, with windows of this length.
pub(crate) fn of(program: &OwnProgram, conditions: &Conditions, duration: Duration, platform: &str) -> YardStick {
    let OwnProgram { path, version, folder } = program;
    let case = Case {
        id: CaseId::new(ID),
        runtime: RuntimeId::new(ID),
        role: CaseRole::Reference,
        runtime_version: env!("CARGO_PKG_VERSION").to_owned(),
        app: String::new(),
        site: None,
        revision: None,
        autoloader: None,
        php: None,
        tuning: Tuning::new(),
        limits: conditions.limits,
        topology: Topology::default(),
        platform: platform.to_owned(),
        base_image: None,
        pinning: conditions.pinning.clone(),
        load: Load::Closed { connections: CONNECTIONS },
        beside: Vec::new(),
    };
    let deployment = stampede_runtimes::yard_stick(path, version, &[COMMAND], folder);
    let prepared = Prepared::alone(case, deployment, Terms::of(conditions.limits));
    let request =
        Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() };
    let expect = Expectation {
        status: 200,
        body: Body::Bytes(body(&table()).into_bytes()),
        gzip: false,
        head: Default::default(),
    };
    let workload = Workload {
        id: WorkloadId::new(ID),
        title: String::new(),
        apps: Vec::new(),
        exchanges: vec![Exchange { name: ID.to_owned(), request, expect, weight: 1, once: false, optional: false }],
        play: None,
        cookies: false,
        services: Vec::new(),
        audits: Vec::new(),
    };
    YardStick { prepared, workload, window: window(duration) }
}

fn window(duration: Duration) -> Duration {
    let wanted = (duration / 8).clamp(LEAST_WINDOW, MOST_WINDOW);
    Duration::from_millis((wanted.as_millis() / PERIOD_MS * PERIOD_MS) as u64)
}

/// The words that the steps of a request wait for.
#[must_use]
pub fn table() -> Vec<u64> {
    let mut random = Random(1);
    (0..WORDS).map(|_| random.draw()).collect()
}

/// The work of a request, and what comes of it.
#[must_use]
pub fn body(table: &[u64]) -> String {
    let state = (0..STEPS).fold(1, |state, _| step(state, table));
    format!("{state:016x}\n")
}

fn step(state: u64, table: &[u64]) -> u64 {
    (state ^ table[place(state)]).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

/// The word that a step waits for.
fn place(state: u64) -> usize {
    (state >> 49) as usize % WORDS
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_window_is_of_whole_periods_and_short() {
        for (study_ms, window_ms) in
            [(100, 300), (2_000, 300), (4_000, 500), (5_000, 600), (8_000, 1_000), (60_000, 1_000)]
        {
            assert_eq!(window(Duration::from_millis(study_ms)).as_millis(), window_ms, "{study_ms}");
        }
    }

    #[test]
    fn the_work_is_the_same_every_time_and_reaches_all_of_the_table() {
        let table = table();
        assert_eq!(body(&table), body(&table));
        let mut seen = BTreeSet::new();
        (0..STEPS).fold(1, |state, _| {
            seen.insert(place(state));
            step(state, &table)
        });
        // 20,000 draws of 32,768 places reach 46 % of them.
        assert!((14_000..16_500).contains(&seen.len()), "{}", seen.len());
    }
}
