//! What tests of the layouts render and read.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use stampede_core::{Bytes, Counts, ErrorClass, Latencies};
use stampede_plan::{MachineSize, Mistake, Mistakes};
use stampede_seam::{AnswerFacts, LoadResult, Measures};
use stampede_testkit::samples::load_result;

use crate::Surroundings;
use crate::flags::Typed;
use crate::syntax::Syntax;
use crate::tool_run::ToolRun;

/// A small machine with one file, `body`.
pub(crate) const SURROUNDINGS: Surroundings<'_> = Surroundings {
    machine: MachineSize { cpus: 4, memory: Bytes::from_mib(1024), connections: 1000 },
    read_file: &|path| if path == "body" { Ok(b"abc".to_vec()) } else { Err(io::ErrorKind::NotFound.into()) },
};

/// A good result, with what its answers were like.
pub(crate) fn good() -> LoadResult {
    let facts = AnswerFacts {
        server: Some("nginx/1.22 (x)".to_owned()),
        first_length: Some(13),
        body_bytes: 13 * 20_000,
        ..AnswerFacts::default()
    };
    LoadResult { facts, ..load_result() }
}

/// The good result with 502 and 404 among the answers, refused connections, time-outs, and requests without an end.
pub(crate) fn bad() -> LoadResult {
    let mut result = good();
    result.total.status = BTreeMap::from([(200, 19_650), (302, 20), (404, 10), (502, 320)]);
    result.total.errors =
        BTreeMap::from([(ErrorClass::WrongStatus, 330), (ErrorClass::Refused, 7), (ErrorClass::TimedOut, 3)]);
    result.facts.other_lengths = 350;
    result.total.requests = Counts { sent: 20_310, ok: 19_670, failed: 340, unfinished: 300 };
    for age in [2000, 2001, 2002] {
        result.total.response.record_ns(age * 1_000_000);
        result.total.censored.add(Duration::from_millis(age));
    }
    result
}

/// Nothing was answered.
pub(crate) fn none() -> LoadResult {
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
        facts: AnswerFacts::default(),
        ..good
    }
}

/// Reads a command line, words separated by blanks.
pub(crate) fn read<L>(
    syntax: &Syntax,
    read: impl Fn(Typed, Surroundings<'_>) -> Result<(ToolRun, L), Mistakes>,
    line: &str,
) -> Result<(ToolRun, L), Vec<String>> {
    let args: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
    read(syntax.read(&args), SURROUNDINGS)
        .map_err(|Mistakes(mistakes)| mistakes.into_iter().map(|Mistake { place, .. }| place).collect())
}
