//! One lifetime of a deployment, and what was measured in it. The trial is the unit of replication.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    AuditRecord, CaseId, Censored, EnforcedLimits, Latencies, LoadSecond, PartRecord, PhpReadBack, Sampling,
    ScaleRecord, SloSecond, StepRecord, Turn, UnitStop,
};

/// How a trial ended. A failed trial is data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "reason", rename_all = "snake_case")]
pub enum Outcome {
    /// It was measured and counts.
    Measured,
    /// It was measured, but the figures do not mean what they should.
    Invalid(String),
    /// It could not be measured.
    Failed(String),
}

impl Outcome {
    /// What the reason of a failed trial says where the kernel killed processes of it for memory.
    pub const MEMORY_LIMIT: &str = "because the control group reached its memory limit";

    /// How a line of a reason begins that says what mends it.
    pub const FIX: &str = "fix: ";

    /// Its name in records, and why it was not measured.
    #[must_use]
    pub fn words(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Measured => ("measured", None),
            Self::Invalid(reason) => ("invalid", Some(reason)),
            Self::Failed(reason) => ("failed", Some(reason)),
        }
    }

    /// What the first line of a reason says, and what mends it, where that is known.
    #[must_use]
    pub fn problem_and_fixes(reason: &str) -> (&str, Vec<&str>) {
        (Self::problem(reason), reason.lines().skip(1).filter_map(|line| line.strip_prefix(Self::FIX)).collect())
    }

    /// What the first line of a reason says; details and the ends of logs follow in further lines.
    #[must_use]
    pub fn problem(reason: &str) -> &str {
        let line = reason.lines().next().unwrap_or_default();
        line.strip_suffix(LOG_FOLLOWS).unwrap_or(line)
    }

    /// The line of a log in a reason that most likely tells why: the first that names an error, else the last.
    #[must_use]
    pub fn log_line(reason: &str) -> Option<&str> {
        let log = reason.lines().skip_while(|line| !line.ends_with(LOG_FOLLOWS) && !line.starts_with("log of "));
        let log = || log.clone().skip(1).filter(|line| !line.trim().is_empty());
        let names_an_error = |line: &&str| {
            let line = line.to_ascii_lowercase();
            ["error", "fatal", "exception", "failed"].iter().any(|word| line.contains(word))
        };
        log().find(names_an_error).or_else(|| log().last()).map(str::trim)
    }
}

/// How the first line of a reason ends that a log follows.
const LOG_FOLLOWS: &str = "; its log ends:";

/// What happened to requests. `sent = ok + failed + unfinished`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests that were begun.
    pub sent: u64,
    /// Requests with the right answer.
    pub ok: u64,
    /// Requests with a wrong answer, or none that could be read.
    pub failed: u64,
    /// Requests that had no answer when the drain's time was over.
    pub unfinished: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        let Self { sent, ok, failed, unfinished } = other;
        self.sent += sent;
        self.ok += ok;
        self.failed += failed;
        self.unfinished += unfinished;
    }
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The connection was refused.
    Refused,
    /// The connection was reset.
    Reset,
    /// The connection could not be encrypted.
    Tls,
    /// The server closed in mid-answer, or twice before one.
    ClosedEarly,
    /// The answer is not HTTP.
    Malformed,
    /// The status is another one than expected.
    WrongStatus,
    /// A header is not what it must be.
    WrongHeader,
    /// The body is not what it must be.
    WrongBody,
    /// The request could not be written: a value was missing, or could not stand in its place.
    Unwritable,
    /// No connection could be opened: no port or no file descriptor was left.
    Exhausted,
    /// The answer was not complete within the time that was set for it.
    TimedOut,
    /// Another error of the network.
    Io,
}

impl ErrorClass {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Refused,
        Self::Reset,
        Self::Tls,
        Self::ClosedEarly,
        Self::Malformed,
        Self::WrongStatus,
        Self::WrongHeader,
        Self::WrongBody,
        Self::Unwritable,
        Self::Exhausted,
        Self::TimedOut,
        Self::Io,
    ];

    /// Whether the server answered, and not with what it must. One such answer makes a measurement invalid.
    pub fn is_wrong(self) -> bool {
        match self {
            Self::WrongStatus | Self::WrongHeader | Self::WrongBody | Self::Malformed => true,
            Self::Refused
            | Self::Reset
            | Self::Tls
            | Self::ClosedEarly
            | Self::Unwritable
            | Self::Exhausted
            | Self::TimedOut
            | Self::Io => false,
        }
    }
}

/// What a measuring window holds: requests that were due in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Length of the window.
    pub window: Duration,
    /// Requests that were due in the window.
    pub requests: Counts,
    /// Requests that were due before the window, in the warm-up.
    pub warm_up: Counts,
    /// Connections that were opened again because the server had closed them between two answers.
    pub reconnects: u64,
    /// From when a request was sent to the end of its answer.
    pub service: Latencies,
    /// From when a request was due to the end of its answer.
    pub response: Latencies,
    /// Answers by status.
    pub status: BTreeMap<u16, u64>,
    /// Failed requests by cause.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Bytes of requests.
    pub bytes_sent: u64,
    /// Bytes of answers, heads included.
    pub bytes_received: u64,
    /// What the deployment used; absent where nothing counts it.
    pub resources: Option<ResourceUse>,
    /// What the generator used.
    pub generator: GeneratorUse,
    /// How it sent; absent in trials of before this was recorded.
    pub sending: Option<Sending>,
    /// What was sampled in the window; absent where sampling was off.
    pub sampling: Option<Sampling>,
    /// The same by steps of the load; none where it has one kind of request alone.
    pub steps: Vec<StepRecord>,
    /// The seconds of the window, where they were counted beside an objective.
    pub seconds: Vec<SloSecond>,
    /// The turns that the window was cut into, in their order; none where it was not.
    pub turns: Vec<Turn>,
    /// The whole seconds of the window, as the generator saw them; none in trials of before this was recorded.
    pub load_seconds: Vec<LoadSecond>,
}

/// How the load generator sent the requests of the window, and what it could not.
#[derive(Clone, Debug, PartialEq)]
pub struct Sending {
    /// How it reached the kernel, by name.
    pub backend: String,
    /// Requests of an open load that were due in the window and never begun, since no connection was free.
    pub unsent: u64,
    /// Requests without an end, those included: they are part of [`Measurement::response`] at their age.
    pub censored: Censored,
    /// The generator's own delay: from when it could have begun a request to when it did.
    pub lateness: Latencies,
}

/// What a deployment used between the edges of the window. Counters are read at the edges; memory is sampled from the
/// warm-up to the end of the drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceUse {
    /// Wall time between the two readings.
    pub between: Duration,
    /// CPU time.
    pub cpu: Duration,
    /// Quota periods in which something ran.
    pub periods: u64,
    /// Quota periods in which the quota ran out.
    pub throttled_periods: u64,
    /// Time that runnable threads waited for quota, summed over processors.
    pub throttled: Duration,
    /// Peak of anonymous, shared and kernel memory, in bytes.
    pub memory_peak: u64,
    /// Peak of page cache, in bytes.
    pub cache_peak: u64,
    /// Processes killed for memory during the trial.
    pub oom_kills: u64,
}

/// What the load generator used in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorUse {
    /// Threads that drove load.
    pub threads: u32,
    /// CPU time of these threads.
    pub cpu: Duration,
}

/// The answer to a workload's exchange as this runtime wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedAnswer {
    /// The exchange.
    pub exchange: String,
    /// Its status.
    pub status: u16,
    /// Bytes of the body on the wire.
    pub body_bytes: u64,
    /// What it begins for whoever brings no cookie; absent where it begins nothing, and where visitors keep their cookies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_session: Option<NewSession>,
}

/// Folders, with their places, in which applications keep the files of sessions: PHP's own as deployments set it, and those of
/// Laravel and Symfony. <https://laravel.com/docs/session#configuration>, <https://symfony.com/doc/current/session.html>
pub const SESSION_FOLDERS: [&str; 3] =
    ["@{run}/php/sessions", "@{app}/storage/framework/sessions", "@{app}/var/sessions"];

/// A session that begins with each answer to a request without cookies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSession {
    /// The names of the cookies that had another value in each such answer.
    pub cookies: BTreeSet<String>,
    /// Bytes on disk of a file in which PHP keeps a session, the mean of those that verification left; absent where there were
    /// none in the known folders.
    pub file_bytes: Option<u64>,
}

/// How long a deployment took to answer its first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadinessRecord {
    /// From the start of the first unit to the first answer.
    pub took: Duration,
    /// How often it was tried.
    pub attempts: u32,
}

/// One lifetime of a deployment: provision, start, ready, verify, warm up, measure, drain, tear down.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The case.
    pub case: CaseId,
    /// Number of the block, from 1.
    pub block: u32,
    /// Place in the block's order, from 1.
    pub position: u32,
    /// When it was started.
    pub started_at: Timestamp,
    /// How it ended.
    pub outcome: Outcome,
    /// The limits that the kernel held.
    pub enforced: Option<EnforcedLimits>,
    /// How it became ready.
    pub ready: Option<ReadinessRecord>,
    /// What the PHP that served said of itself; absent where it is none, or cannot be asked.
    pub php: Option<PhpReadBack>,
    /// What was verified.
    pub answers: Vec<ServedAnswer>,
    /// What was measured; present unless the trial failed before its window closed.
    pub measurement: Option<Measurement>,
    /// How each unit stopped.
    pub stops: Vec<UnitStop>,
    /// What became of each part of a topology, in the order of their start; none for a runtime that stands alone.
    pub parts: Vec<PartRecord>,
    /// What the link between client and front cost; absent without one.
    pub link: Option<LinkUse>,
    /// What the load had made when it was over; none where nothing is audited.
    pub audits: Vec<AuditRecord>,
    /// What the instances of an autoscaled service did; absent where one deployment serves.
    pub scale: Option<ScaleRecord>,
}

impl Trial {
    /// One that begins now, at this place in this block; nothing is known of it yet.
    #[must_use]
    pub fn begun(case: CaseId, block: u32, position: u32, started_at: Timestamp) -> Self {
        Self {
            case,
            block,
            position,
            started_at,
            outcome: Outcome::Measured,
            enforced: None,
            ready: None,
            php: None,
            answers: Vec::new(),
            measurement: None,
            stops: Vec::new(),
            parts: Vec::new(),
            link: None,
            audits: Vec::new(),
            scale: None,
        }
    }
}

/// Whether these are of services whose instances came and went: every one of them.
#[must_use]
pub fn are_autoscaled(trials: &[Trial]) -> bool {
    !trials.is_empty() && trials.iter().all(|trial| trial.scale.is_some())
}

/// What the link between client and front did to the bytes of a trial, and what it used for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkUse {
    /// CPU time of its thread; it runs where the generator does.
    pub cpu: Duration,
    /// How much later than due bytes were passed on: the median.
    pub late_p50: Duration,
    /// The same for 99 of 100.
    pub late_p99: Duration,
    /// Bytes that were passed on, both ways.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_the_first_line_without_the_words_that_lead_to_a_log() {
        let reason = "start server: it ended with status 1; its log ends:\nline 3: unknown word\nfix: mend line 3";
        assert_eq!(Outcome::problem(reason), "start server: it ended with status 1");
        assert_eq!(Outcome::problem_and_fixes(reason), ("start server: it ended with status 1", vec!["mend line 3"]));
        assert_eq!(Outcome::problem(""), "");
    }

    #[test]
    fn the_line_of_a_log_that_names_an_error_tells_why() {
        let log = |reason| Outcome::log_line(reason);
        let warm_up =
            "warm up: status 1; its log ends:\n\nartisan: Error: Class \"DOMDocument\" not found\nStack trace:\n#0 a";
        assert_eq!(log(warm_up), Some("artisan: Error: Class \"DOMDocument\" not found"));
        let wrong = "gave a wrong answer\nbody: an error\nlog of roadrunner:\n  2 times: PHP Fatal error: gone\nlast";
        assert_eq!(log(wrong), Some("2 times: PHP Fatal error: gone"));
        assert_eq!(log("status 1; its log ends:\none\nlicense missing"), Some("license missing"));
        assert_eq!([log("no log\nfix: an error"), log("status 1; its log ends:\n"), log("")], [None; 3]);
    }
}
