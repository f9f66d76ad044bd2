//! What the event loop needs of the kernel. [`Epoll`](crate::epoll::Epoll) waits until a socket can be read and reads it;
//! [`Uring`](crate::uring::Uring) has the kernel read and send, and waits until that is done.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use libc::{TIOCOUTQ, c_int};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, ioctl};
use rustix::net::{SendFlags, send};

use crate::prepared_exchange::PreparedExchange;
use stampede_seam::Backend;

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
    /// The event has come that calls the thread.
    Called,
}

/// Connections of one thread, known by their numbers.
pub(crate) trait Io: Sized {
    const BACKEND: Backend;

    /// Whether prepared requests leave only with the next [`Io::wait`].
    const DEFERS: bool;

    /// Room for this many connections, what they send, and an event that calls the thread, which outlives it. Made by the
    /// thread that uses it.
    fn new(connections: usize, exchanges: &Arc<[PreparedExchange]>, call: &OwnedFd) -> Result<Self, Errno>;

    /// Takes a socket that is connecting; its number has none. It is [`Happening::Writable`] when it is there.
    fn add(&mut self, number: usize, socket: OwnedFd) -> Result<(), Errno>;

    /// Sends, and returns how many bytes were taken. When these are not all, [`Happening::Writable`] follows, and asks to be
    /// called with what is left. Prepared requests are those that this was made with.
    fn send(&mut self, number: usize, outgoing: Outgoing<'_>) -> Result<usize, Errno>;

    /// Closes the socket of this number, if it has one. Nothing happens to it any more.
    fn close(&mut self, number: usize);

    /// Whether the peer has ended the connection without taking what was sent last.
    fn is_untaken(&self, number: usize) -> bool;

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

/// Whether a socket that the peer has ended holds bytes that it did not take.
///
/// The segment that ends the connection acknowledges all that had come by then, as every segment does (RFC 9293, section 3.1), so what
/// is not acknowledged met a closed socket. What was acknowledged and left unread is answered with a reset (RFC 2525, section 2.17).
pub(crate) fn is_untaken(socket: BorrowedFd<'_>) -> bool {
    unacknowledged(socket).is_ok_and(|bytes| bytes > 0) || is_reset(socket)
}

/// Its other name is that of terminals (linux/sockios.h).
const SIOCOUTQ: Opcode = TIOCOUTQ as Opcode;

/// How many sent bytes the peer has not acknowledged (`SIOCOUTQ` in tcp(7)), or not read where it is a Unix socket (unix(7)).
fn unacknowledged(socket: BorrowedFd<'_>) -> Result<c_int, Errno> {
    // SAFETY: this request writes one int and nothing else.
    unsafe { ioctl(socket, Getter::<SIOCOUTQ, c_int>::new()) }
}

/// Whether a socket is in error, or comes to be so within [`RESET_WAIT`].
fn is_reset(socket: BorrowedFd<'_>) -> bool {
    // No event is asked for: errors are always told.
    let mut watched = [PollFd::from_borrowed_fd(socket, PollFlags::empty())];
    let _ = poll(&mut watched, Some(&to_timespec(RESET_WAIT)));
    watched[0].revents().contains(PollFlags::ERR)
}

pub(crate) fn to_timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX), tv_nsec: duration.subsec_nanos().into() }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn what_the_peer_had_not_received_when_it_ended_is_untaken() {
        let (mut client, server) = pair();
        client.set_nonblocking(true).unwrap();
        // More than both sides hold: its end stays here.
        let mut sent = 0;
        while let Ok(count) = send(&client, &[0; 65_536], SendFlags::NOSIGNAL) {
            sent += count;
        }
        assert!(sent > 0);
        server.shutdown(Shutdown::Write).unwrap();
        client.set_nonblocking(false).unwrap();
        assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
        assert!(is_untaken(client.as_fd()));
    }

    #[test]
    fn what_the_peer_left_unread_is_untaken() {
        let (mut client, server) = pair();
        send(&client, b"GET", SendFlags::NOSIGNAL).unwrap();
        server.peek(&mut [0; 3]).unwrap();
        server.shutdown(Shutdown::Write).unwrap();
        assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
        drop(server);
        assert!(is_untaken(client.as_fd()));
    }

    #[test]
    fn what_the_peer_read_before_it_ended_was_taken() {
        let (mut client, mut server) = pair();
        send(&client, b"GET", SendFlags::NOSIGNAL).unwrap();
        server.read_exact(&mut [0; 3]).unwrap();
        drop(server);
        assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
        assert!(!is_untaken(client.as_fd()));
    }
}
