//! A script of wrk's as its command line gives it, and what it is told at the end.

/// A script and what it is run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrkScript {
    /// The file.
    pub file: String,
    /// What it holds.
    pub text: Vec<u8>,
    /// The URL's port, where it has one.
    pub port: Option<String>,
    /// What `-H` gives, in its order.
    pub headers: Vec<(String, String)>,
    /// The URL, and what follows it.
    pub args: Vec<String>,
    /// Whether a rate is given, as to wrk2.
    pub is_paced: bool,
}

/// What `done` is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrkTotals {
    /// How long the load was, in microseconds.
    pub duration_us: u64,
    /// Complete answers.
    pub requests: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// Connections that could not be made.
    pub connect: u64,
    /// Answers that did not come to their end.
    pub read: u64,
    /// Answers with a status from 400 on.
    pub status: u64,
    /// Answers beyond `--timeout`.
    pub timeout: u64,
    /// Latencies in microseconds, each with its count.
    pub latency_us: Vec<(u64, u64)>,
    /// Requests a second of one thread in tenths of a second.
    pub rates: Vec<u64>,
}
