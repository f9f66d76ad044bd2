//! A blocking client for single requests: readiness, verification, a server's status page.
//!
//! It opens a connection for each request and closes it after the answer. The bytes that it sends are those that the
//! load engine sends.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send as send_some,
    socket_with,
};
use rustls::{ClientConnection, StreamOwned};
use stampede_core::{Endpoint, Request, named_status};
use thiserror::Error;

use crate::fastcgi::FastCgiError;
use crate::request;
use crate::response::{DecodeError, Decoder, Head, ReadProgress, Visitor};
use crate::security::Security;

/// The most bytes of a body that are kept; a longer one is an error.
pub const BODY_LIMIT: usize = 64 << 20;

pub use stampede_core::Answer;

/// Sends one request on a connection of its own and waits for the answer, `timeout` for all of it together.
///
/// # Errors
///
/// How far it got; the cause is the error's source.
pub fn send(endpoint: &Endpoint, request: &Request, host: &str, timeout: Duration) -> Result<Answer, SendError> {
    send_secured(endpoint, None, request, host, timeout)
}

/// The same over TLS, where it is told whom to trust.
///
/// # Errors
///
/// As [`send`]; a certificate that is not trusted ends it when the request is sent.
pub fn send_secured(
    endpoint: &Endpoint,
    security: Option<&Security>,
    request: &Request,
    host: &str,
    timeout: Duration,
) -> Result<Answer, SendError> {
    let mut connection = Connection::open(endpoint, security, timeout).map_err(SendError::Connect)?;
    connection.write_all(&request::encode(request, host)).map_err(SendError::Send)?;

    let mut decoder = Decoder::new();
    decoder.expect_answer(request.method == "HEAD");
    let mut collector = Collector::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let step = connection.read_step(&mut buffer, &mut decoder, &mut collector);
        match (step, collector.0.take()) {
            (Ok(Step::Complete), Some(answer)) => return Ok(answer),
            (Ok(_), None) => {}
            (Ok(_), Some(answer)) if answer.body.len() <= BODY_LIMIT => {
                collector.0 = Some(answer);
            }
            (Ok(_), Some(_)) => return Err(SendError::ReadBody(Cause::TooLong)),
            (Err(cause), None) => return Err(SendError::Wait(cause)),
            (Err(cause), Some(_)) => return Err(SendError::ReadBody(cause)),
        }
    }
}

enum Step {
    More,
    Complete,
}

/// The answer as far as it has been read.
#[derive(Default)]
pub(crate) struct Collector(pub(crate) Option<Answer>);

impl Visitor for Collector {
    fn head(&mut self, head: &Head<'_>) {
        let headers = head
            .headers()
            .map(|(name, value)| (name.to_owned(), String::from_utf8_lossy(value).into_owned()))
            .collect();
        self.0 = Some(Answer { status: head.status, headers, body: Vec::new() });
    }

    fn body(&mut self, bytes: &[u8]) {
        if let Some(answer) = &mut self.0 {
            answer.body.extend_from_slice(bytes);
        }
    }
}

/// A blocking connection whose every step ends at one deadline.
pub(crate) struct Connection {
    stream: Stream,
    timeout: Duration,
}

enum Stream {
    Plain(Socket),
    Secured(Box<StreamOwned<ClientConnection, Socket>>),
}

impl Connection {
    pub(crate) fn open(endpoint: &Endpoint, security: Option<&Security>, timeout: Duration) -> Result<Self, Cause> {
        let deadline = Instant::now() + timeout;
        let socket = match endpoint {
            _ if timeout.is_zero() => Err(io::ErrorKind::TimedOut.into()),
            Endpoint::Tcp(address) => TcpStream::connect_timeout(address, timeout).map(OwnedFd::from),
            Endpoint::Unix(path) => connect_unix(path, timeout),
        };
        let fd = socket.map_err(|error| cause(error, timeout))?;
        let socket = Socket { fd, deadline };
        let stream = match security.map(Security::begin).transpose() {
            Ok(None) => Stream::Plain(socket),
            Ok(Some(tls)) => Stream::Secured(Box::new(StreamOwned::new(tls, socket))),
            Err(error) => return Err(Cause::Io(io::Error::other(error))),
        };
        Ok(Self { stream, timeout })
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> Result<(), Cause> {
        let written = match &mut self.stream {
            Stream::Plain(socket) => socket.write_all(bytes),
            Stream::Secured(tls) => tls.write_all(bytes).and_then(|()| tls.flush()),
        };
        written.map_err(|error| cause(error, self.timeout))
    }

    /// Gives what follows another time.
    pub(crate) fn give(&mut self, timeout: Duration) {
        let socket = match &mut self.stream {
            Stream::Plain(socket) => socket,
            Stream::Secured(tls) => tls.get_mut(),
        };
        socket.deadline = Instant::now() + timeout;
        self.timeout = timeout;
    }

    /// Waits for the next bytes; none say that the connection has ended.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Cause> {
        let read = match &mut self.stream {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Secured(tls) => tls.read(buffer),
        };
        read.map_err(|error| cause(error, self.timeout))
    }

    /// Waits for the next bytes of the answer, or the connection's end, and decodes them.
    fn read_step(
        &mut self,
        buffer: &mut [u8],
        decoder: &mut Decoder,
        collector: &mut Collector,
    ) -> Result<Step, Cause> {
        let count = self.read(buffer)?;
        if count == 0 {
            decoder.finish()?;
            return Ok(Step::Complete);
        }
        match decoder.feed(&buffer[..count], collector)? {
            ReadProgress::Incomplete => Ok(Step::More),
            ReadProgress::Complete { .. } => Ok(Step::Complete),
        }
    }
}

/// What stopped a step that may have been the deadline.
fn cause(error: io::Error, timeout: Duration) -> Cause {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Cause::TimedOut(timeout),
        _ => Cause::Io(error),
    }
}

/// A socket whose calls all end at one deadline.
struct Socket {
    fd: OwnedFd,
    deadline: Instant,
}

impl Socket {
    /// Calls again until it is done, what it may wait for ended by the deadline.
    fn until_done<T>(&self, direction: Timeout, mut call: impl FnMut() -> Result<T, Errno>) -> io::Result<T> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            // The kernel reads zero as "no limit", and counts in microseconds.
            if left < Duration::from_micros(1) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            set_socket_timeout(&self.fd, direction, Some(left))?;
            match call() {
                Err(Errno::INTR | Errno::AGAIN) => {}
                done => return Ok(done?),
            }
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.until_done(Timeout::Recv, || recv(&self.fd, &mut *buffer, RecvFlags::empty()).map(|(count, _)| count))
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.until_done(Timeout::Send, || send_some(&self.fd, bytes, SendFlags::NOSIGNAL))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Connects to a unix socket; waits for a listener with a full queue no longer than `timeout` (unix(7), `SO_SNDTIMEO`).
fn connect_unix(path: &Path, timeout: Duration) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(timeout))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

/// How far a request got.
#[derive(Debug, Error)]
pub enum SendError {
    /// There is no connection.
    #[error("connect to the server")]
    Connect(#[source] Cause),
    /// The request could not be sent as a whole.
    #[error("send the request")]
    Send(#[source] Cause),
    /// No head of an answer came.
    #[error("wait for the answer")]
    Wait(#[source] Cause),
    /// A head came, but not the whole body.
    #[error("read the answer's body")]
    ReadBody(#[source] Cause),
}

/// What stopped a request.
#[derive(Debug, Error)]
pub enum Cause {
    /// The network said so.
    #[error(transparent)]
    Io(io::Error),
    /// The time for the whole exchange was over.
    #[error("nothing more came within {0:?}")]
    TimedOut(Duration),
    /// The bytes that came are no answer, or the server closed too early.
    #[error(transparent)]
    Answer(#[from] DecodeError),
    /// The server refused.
    #[error("the server answered {}", named_status(*.0))]
    Refused(u16),
    /// The bytes that came are no answer over FastCGI.
    #[error(transparent)]
    FastCgi(#[from] FastCgiError),
    /// The body is longer than [`BODY_LIMIT`].
    #[error("the body is longer than {BODY_LIMIT} bytes")]
    TooLong,
}
