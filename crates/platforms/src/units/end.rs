//! How a process ended.

use std::fmt;

use rustix::process::{Signal, WaitStatus};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// In a way that the kernel did not tell.
    Untold,
}

impl From<WaitStatus> for End {
    fn from(status: WaitStatus) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, Some(signal)) => Self::Killed(signal),
            (None, None) => Self::Untold,
        }
    }
}

impl End {
    /// As a container's engine tells it, in the way of shells: 128 and a signal's number for a process that was killed.
    pub(crate) fn told(status: Option<i64>) -> Self {
        match status.map(i32::try_from) {
            Some(Ok(status @ 129..=192)) => Self::Killed(status - 128),
            Some(Ok(status)) => Self::Exited(status),
            Some(Err(_)) | None => Self::Untold,
        }
    }
}

/// `status 1`, `signal 9 (SIGKILL)`.
impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "status {code}"),
            Self::Killed(signal) => match Signal::from_named_raw(*signal) {
                Some(name) => write!(f, "signal {signal} ({})", signal_name(name)),
                None => write!(f, "signal {signal}"),
            },
            Self::Untold => f.write_str("an unknown status"),
        }
    }
}

fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::ABORT => "SIGABRT",
        Signal::BUS => "SIGBUS",
        Signal::FPE => "SIGFPE",
        Signal::HUP => "SIGHUP",
        Signal::ILL => "SIGILL",
        Signal::INT => "SIGINT",
        Signal::KILL => "SIGKILL",
        Signal::QUIT => "SIGQUIT",
        Signal::SEGV => "SIGSEGV",
        Signal::TERM => "SIGTERM",
        _ => "another",
    }
}
