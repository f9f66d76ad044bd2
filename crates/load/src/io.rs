//! What the event loop needs of the kernel. [`Epoll`](crate::epoll::Epoll) waits until a socket can be read and reads it;
//! [`Uring`](crate::uring::Uring) has the kernel read and send, and waits until that is done.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::backend::Backend;
use crate::spec::PreparedExchange;

/// What has happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening<'a> {
    /// It is there now, or takes bytes again.
    Writable,
    /// Bytes have come.
    Received(&'a [u8]),
    /// The peer sends no more.
    Ended,
    /// It cannot be used any more, or could not be made.
    Failed(Errno),
}

/// Bytes to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outgoing<'a> {
    /// What is left of a prepared request, which stays where it is as long as load runs.
    Prepared(&'a PreparedExchange, usize),
    /// Bytes that may change after the call.
    Passing(&'a [u8]),
}

impl<'a> Outgoing<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Prepared(exchange, from) => exchange.request.get(from..).unwrap_or_default(),
            Self::Passing(bytes) => bytes,
        }
    }
}

/// Why a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// Something has happened.
    Happened,
    /// Time has passed.
    Patience,
    /// The load is to end at once.
    Abort,
}

/// Connections of one thread, known by their numbers.
pub(crate) trait Io: Sized {
    const BACKEND: Backend;

    /// Whether prepared requests leave only with the next [`Io::wait`].
    const DEFERS: bool;

    /// Room for this many connections, what they send, and an event that ends the load. Made by the thread that uses it.
    fn new(connections: usize, exchanges: &Arc<[PreparedExchange]>, abort: &OwnedFd) -> Result<Self, Errno>;

    /// Takes a socket that is connecting; its number has none. It is [`Happening::Writable`] when it is there.
    fn add(&mut self, number: usize, socket: OwnedFd) -> Result<(), Errno>;

    /// Sends, and returns how many bytes were taken. When these are not all, [`Happening::Writable`] follows, and asks to be
    /// called with what is left. Prepared requests are those that this was made with.
    fn send(&mut self, number: usize, outgoing: Outgoing<'_>) -> Result<usize, Errno>;

    /// Closes the socket of this number, if it has one. Nothing happens to it any more.
    fn close(&mut self, number: usize);

    /// Whether the peer resets the connection that it has ended, within [`RESET_WAIT`].
    fn is_reset(&self, number: usize) -> bool;

    /// Waits until something happens, for no longer than this.
    fn wait(&mut self, patience: Duration) -> Result<Woken, Errno>;

    /// The next of what has happened.
    fn next(&mut self) -> Option<(usize, Happening<'_>)>;
}

/// Sends what the socket takes now.
pub(crate) fn send_now(socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    let mut unsent = bytes;
    while !unsent.is_empty() {
        match send(socket, unsent, SendFlags::NOSIGNAL) {
            Ok(count) => unsent = unsent.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(bytes.len() - unsent.len())
}

/// How long a reset is waited for after an end of file: on loopback it comes within microseconds.
const RESET_WAIT: Duration = Duration::from_millis(1);

/// Whether a socket is in error, or comes to be so within [`RESET_WAIT`].
pub(crate) fn is_reset(socket: BorrowedFd<'_>) -> bool {
    // No event is asked for: errors are always told.
    let mut watched = [PollFd::from_borrowed_fd(socket, PollFlags::empty())];
    let _ = poll(&mut watched, Some(&to_timespec(RESET_WAIT)));
    watched[0].revents().contains(PollFlags::ERR)
}

pub(crate) fn to_timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX), tv_nsec: duration.subsec_nanos().into() }
}
