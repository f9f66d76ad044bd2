//! What the event loop needs of the kernel. [`Epoll`](crate::epoll::Epoll) waits until a socket can be read and reads it.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;

use crate::socket::Opened;
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
}

impl<'a> Outgoing<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Prepared(exchange, from) => exchange.request.get(from..).unwrap_or_default(),
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
    /// Room for this many connections, and an event that ends the load.
    fn new(connections: usize, abort: &OwnedFd) -> Result<Self, Errno>;

    /// Takes a socket; its number has none. One that is connecting is [`Happening::Writable`] when it is there.
    fn add(&mut self, number: usize, socket: Opened) -> Result<(), Errno>;

    /// Sends, and returns how many bytes were taken. When these are not all, [`Happening::Writable`] follows.
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

/// How long a reset is waited for after an end of file: on loopback it comes within microseconds.
pub(crate) const RESET_WAIT: Duration = Duration::from_millis(1);
