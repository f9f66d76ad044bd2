//! What stops a script.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

/// What of a script is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The file itself, which defines the functions.
    File,
    /// `setup(thread)`.
    Setup,
    /// `init(args)`.
    Init,
    /// `request()`.
    Request,
    /// `response(status, headers, body)`.
    Response,
    /// `delay()`.
    Delay,
    /// `done(summary, latency, requests)`.
    Done,
}

impl Entry {
    pub(crate) const ALL: [Self; 7] =
        [Self::File, Self::Setup, Self::Init, Self::Request, Self::Response, Self::Delay, Self::Done];

    /// The name of the function.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::File => "the file",
            Self::Setup => "setup",
            Self::Init => "init",
            Self::Request => "request",
            Self::Response => "response",
            Self::Delay => "delay",
            Self::Done => "done",
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => f.write_str("the script's file"),
            other => write!(f, "{}()", other.name()),
        }
    }
}

/// Why a script cannot go on.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Trouble {
    /// An error of the script itself.
    #[error("{message}\n  it stopped {entry}{}", told(.thread, .call))]
    Failed {
        /// What Lua reports, with file and line.
        message: String,
        /// Where.
        entry: Entry,
        /// The thread whose state it was, from 1; `None` for that of the command.
        thread: Option<usize>,
        /// The number of the call, from 1, where there are many.
        call: Option<u64>,
    },
    /// It takes more memory than it may.
    #[error("{file}: the script needs more than its {mib} MiB of memory\n  it stopped {entry}{}", told(.thread, .call))]
    Memory {
        /// The script.
        file: String,
        /// What it may have.
        mib: usize,
        /// Where.
        entry: Entry,
        /// The thread whose state it was, from 1.
        thread: Option<usize>,
        /// The number of the call, from 1, where there are many.
        call: Option<u64>,
    },
    /// A call that does not come back.
    #[error("{place}: {entry} has not returned for {} s{}\n  look for a loop without an end", .after.as_secs(), told(.thread, .call))]
    Endless {
        /// File and line of the function.
        place: String,
        /// The function.
        entry: Entry,
        /// The thread whose state it is, from 1.
        thread: Option<usize>,
        /// The number of the call, from 1, where there are many.
        call: Option<u64>,
        /// For how long.
        after: Duration,
    },
    /// What `request()` returns is not a request.
    #[error("{file}: what request() returned is not an HTTP request: {problem} at line {line}, column {column} of it")]
    NoRequest {
        /// The script.
        file: String,
        /// What is wrong.
        problem: &'static str,
        /// The line of the request, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// Nobody listens.
    #[error("unable to connect to {0}")]
    Unreachable(String),
    /// There is no thread for it.
    #[error("start a thread for the script: {0}")]
    NoThread(String),
}

/// ` (thread 2, call 7)`.
fn told(thread: &Option<usize>, call: &Option<u64>) -> String {
    let parts: Vec<_> = [thread.map(|thread| format!("thread {thread}")), call.map(|call| format!("call {call}"))]
        .into_iter()
        .flatten()
        .collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}
