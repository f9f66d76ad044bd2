//! Why a request failed, small enough to be noted while load runs; its words are made afterwards.

use rustix::io::Errno;
use stampede_core::ErrorClass;
use stampede_scenario::{RenderFault, Wrong};
use stampede_wire::h2::{Refused, SessionError, StreamFault};
use stampede_wire::response::DecodeError;
use thiserror::Error;

use crate::redirect::RedirectFault;
use crate::tls::TlsFault;

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum Fault {
    #[error("connect: {0}")]
    Connect(Errno),
    #[error("send the request: {0}")]
    Send(Errno),
    #[error("read the answer: {0}")]
    Read(Errno),
    #[error("{0}")]
    Answer(DecodeError),
    #[error("secure the connection: {0}")]
    Tls(TlsFault),
    #[error("{0}")]
    Session(SessionError),
    #[error("{0}")]
    Stream(StreamFault),
    #[error("{0}")]
    Refused(Refused),
    #[error("read the answer: more bytes came after its end")]
    Surplus,
    #[error("{0}")]
    Wrong(Wrong),
    #[error("write the request: {0}")]
    Unwritable(RenderFault),
    #[error("no complete answer came in time")]
    TimedOut,
    #[error("follow the redirect: {0}")]
    Redirect(RedirectFault),
}

impl Fault {
    pub(crate) fn class(self) -> ErrorClass {
        match self {
            Self::Connect(errno) | Self::Send(errno) | Self::Read(errno) => match errno {
                Errno::CONNREFUSED => ErrorClass::Refused,
                Errno::CONNRESET | Errno::PIPE => ErrorClass::Reset,
                // ENOSPC is epoll_ctl's word for too many watches.
                Errno::MFILE | Errno::NFILE | Errno::ADDRNOTAVAIL | Errno::NOBUFS | Errno::NOMEM | Errno::NOSPC => {
                    ErrorClass::Exhausted
                }
                _ => ErrorClass::Io,
            },
            Self::Answer(DecodeError::Truncated) => ErrorClass::ClosedEarly,
            Self::Tls(TlsFault::Closed) => ErrorClass::ClosedEarly,
            Self::Tls(_) => ErrorClass::Tls,
            Self::Stream(StreamFault::Reset(_) | StreamFault::NotProcessed) => ErrorClass::Reset,
            Self::Answer(_) | Self::Surplus | Self::Session(_) | Self::Stream(_) | Self::Refused(_) => {
                ErrorClass::Malformed
            }
            Self::Wrong(Wrong::Status { .. }) => ErrorClass::WrongStatus,
            Self::Wrong(Wrong::Header(_)) => ErrorClass::WrongHeader,
            Self::Wrong(_) => ErrorClass::WrongBody,
            Self::Unwritable(_) => ErrorClass::Unwritable,
            Self::TimedOut => ErrorClass::TimedOut,
            Self::Redirect(_) => ErrorClass::Io,
        }
    }

    /// Whether the peer has ended the connection.
    pub(crate) fn is_closed_by_peer(self) -> bool {
        matches!(
            self,
            Self::Send(Errno::CONNRESET | Errno::PIPE)
                | Self::Read(Errno::CONNRESET | Errno::PIPE)
                | Self::Answer(DecodeError::Truncated)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_its_class_and_its_words() {
        let cases = [
            (Fault::Connect(Errno::CONNREFUSED), ErrorClass::Refused, "connect: Connection refused (os error 111)"),
            (
                Fault::Connect(Errno::ADDRNOTAVAIL),
                ErrorClass::Exhausted,
                "connect: Cannot assign requested address (os error 99)",
            ),
            (Fault::Connect(Errno::MFILE), ErrorClass::Exhausted, "connect: Too many open files (os error 24)"),
            (Fault::Send(Errno::PIPE), ErrorClass::Reset, "send the request: Broken pipe (os error 32)"),
            (
                Fault::Read(Errno::CONNRESET),
                ErrorClass::Reset,
                "read the answer: Connection reset by peer (os error 104)",
            ),
            (Fault::Read(Errno::TIMEDOUT), ErrorClass::Io, "read the answer: Connection timed out (os error 110)"),
            (
                Fault::Answer(DecodeError::Truncated),
                ErrorClass::ClosedEarly,
                "read the answer: the connection was closed before its end",
            ),
            (
                Fault::Answer(DecodeError::Chunk),
                ErrorClass::Malformed,
                "read the answer: a chunk of its body is malformed",
            ),
            (Fault::Surplus, ErrorClass::Malformed, "read the answer: more bytes came after its end"),
            (
                Fault::Wrong(Wrong::Status { came: 502, expected: Some(200) }),
                ErrorClass::WrongStatus,
                "status 502 Bad Gateway came instead of 200 OK",
            ),
            (
                Fault::Wrong(Wrong::Status { came: 502, expected: None }),
                ErrorClass::WrongStatus,
                "status 502 Bad Gateway came, which is not one of the right ones",
            ),
            (Fault::Wrong(Wrong::Missing(0)), ErrorClass::WrongBody, "the body does not contain what it must"),
            (Fault::TimedOut, ErrorClass::TimedOut, "no complete answer came in time"),
            (
                Fault::Wrong(Wrong::Differs { check: 0, at: 3 }),
                ErrorClass::WrongBody,
                "the body differs from the verified one from byte 3 on",
            ),
            (Fault::Wrong(Wrong::Header(1)), ErrorClass::WrongHeader, "no header is what check 2 of the headers wants"),
            (
                Fault::Unwritable(RenderFault::Missing(0)),
                ErrorClass::Unwritable,
                "write the request: no answer has given the value of a capture",
            ),
        ];
        for (fault, class, words) in cases {
            assert_eq!((fault.class(), fault.to_string().as_str()), (class, words));
        }
    }
}
