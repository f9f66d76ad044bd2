//! What tests of the layouts render and read.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{Bytes, Censored, Counts, ErrorClass, GeneratorUse, Latencies};
use stampede_load::{Backend, LittlesLaw, LoadResult, Measures};
use stampede_plan::{MachineSize, Mistake, Mistakes};

use super::errand::Errand;
use super::flags::{Syntax, Typed};

pub(super) const MACHINE: MachineSize = MachineSize { cpus: 4, memory: Bytes::from_mib(1024), connections: 1000 };

/// 20,000 answers between 10 and 30 ms on 100 connections within ten seconds.
pub(crate) fn good() -> LoadResult {
    let latencies = |from_us: u64, count: u64, step_ns: u64| {
        let mut latencies = Latencies::new();
        (0..count).for_each(|number| latencies.record_ns(from_us * 1000 + number * step_ns));
        latencies
    };
    LoadResult {
        window: Duration::from_secs(10),
        backend: Backend::Epoll,
        total: Measures {
            requests: Counts { sent: 20_000, ok: 20_000, failed: 0, unfinished: 0 },
            unsent: 0,
            warm_up: Counts::default(),
            warm_up_status: BTreeMap::new(),
            service: latencies(10_000, 20_000, 1000),
            response: latencies(10_010, 20_000, 1000),
            censored: Censored::default(),
            first_byte: latencies(9000, 20_000, 1000),
            connect: latencies(100, 100, 10_000),
            tls: Latencies::new(),
            lateness: latencies(1, 20_000, 0),
            status: BTreeMap::from([(200, 20_000)]),
            errors: BTreeMap::new(),
        },
        steps: Vec::new(),
        slices: Vec::new(),
        flows: Vec::new(),
        unmatched_captures: Vec::new(),
        exhausted_feeders: Vec::new(),
        reconnects: 0,
        bytes_sent: 2_000_000,
        bytes_received: 4_000_000,
        generator: GeneratorUse { threads: 2, cpu: Duration::from_secs(1) },
        spin: Duration::ZERO,
        littles_law: LittlesLaw::default(),
        saturation: None,
        wrong_answers: Vec::new(),
        first_failure: None,
    }
}

/// The same with 502 and 404 among the answers, refused connections, time-outs, and requests without an end.
pub(super) fn bad() -> LoadResult {
    let mut result = good();
    result.total.status = BTreeMap::from([(200, 19_650), (302, 20), (404, 10), (502, 320)]);
    result.total.errors =
        BTreeMap::from([(ErrorClass::WrongStatus, 330), (ErrorClass::Refused, 7), (ErrorClass::TimedOut, 3)]);
    result.total.requests = Counts { sent: 20_310, ok: 19_670, failed: 340, unfinished: 300 };
    for age in [2000, 2001, 2002] {
        result.total.response.record_ns(age * 1_000_000);
        result.total.censored.add(Duration::from_millis(age));
    }
    result
}

/// Nothing was answered.
pub(super) fn none() -> LoadResult {
    let good = good();
    LoadResult {
        total: Measures {
            requests: Counts { sent: 4, ok: 0, failed: 4, unfinished: 0 },
            service: Latencies::new(),
            response: Latencies::new(),
            first_byte: Latencies::new(),
            connect: Latencies::new(),
            status: BTreeMap::new(),
            errors: BTreeMap::from([(ErrorClass::Refused, 4)]),
            ..good.total
        },
        bytes_received: 0,
        ..good
    }
}

/// Reads a command line, words separated by blanks.
pub(super) fn read<L>(
    syntax: &Syntax,
    read: impl Fn(Typed, MachineSize) -> Result<(Errand, L), Mistakes>,
    line: &str,
) -> Result<(Errand, L), Vec<String>> {
    let args: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
    read(syntax.read(&args), MACHINE)
        .map_err(|Mistakes(mistakes)| mistakes.into_iter().map(|Mistake { place, .. }| place).collect())
}
