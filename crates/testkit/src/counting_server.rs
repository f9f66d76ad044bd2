//! An HTTP/1 server that counts what it receives: the ground truth for a load generator.
//!
//! A thread for each connection reads requests with plain code of its own, so that a mistake in the code under test
//! cannot hide here.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{Shutdown, shutdown};
use stampede_core::Endpoint;

/// How a [`CountingServer`] answers.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// Status of every answer.
    pub status: u16,
    /// Body of every answer.
    pub body: Vec<u8>,
    /// From the end of a request to the start of its answer.
    pub delay: Duration,
    /// When connections are closed.
    pub close: Close,
    /// What goes wrong, and with every how many-th request of the server.
    pub fault: Option<(Fault, u64)>,
    /// The most bytes that are written at once.
    pub write_size: usize,
}

impl Default for Behaviour {
    /// 200 with a short body, at once, on connections that stay open.
    fn default() -> Self {
        Self {
            status: 200,
            body: b"Hello, World!".to_vec(),
            delay: Duration::ZERO,
            close: Close::Never,
            fault: None,
            write_size: usize::MAX,
        }
    }
}

/// When a server closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// When the client has closed it.
    Never,
    /// After this many answers; the last of them says so.
    Announced(u64),
    /// After this many answers, without a word.
    Silent(u64),
    /// When no request has come for so long.
    Idle(Duration),
}

/// What goes wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It never comes.
    NoAnswer,
    /// Its last byte is another one.
    WrongBody,
    /// Its status is this one.
    WrongStatus(u16),
    /// It ends in the middle, and so does the connection.
    Truncated,
    /// The connection ends in its place.
    Closed,
}

/// What a server has received.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// When each complete request had come.
    pub at: Vec<Instant>,
    /// The first of them, byte by byte.
    pub first: Vec<u8>,
    /// How long requests were held by the behaviour's delay, summed: more than asked for on a busy machine.
    pub held: Duration,
    /// Connections accepted.
    pub connections: u64,
    /// Complete requests of each, in the order in which they were accepted.
    pub by_connection: Vec<u64>,
    /// When each of them was accepted.
    pub opened: Vec<Instant>,
    /// When each was found to be closed, in that order.
    pub closed: Vec<Instant>,
    /// Requests that met the fault.
    pub faults: u64,
}

impl Received {
    /// Complete requests.
    pub fn requests(&self) -> u64 {
        self.at.len() as u64
    }
}

/// A server on `127.0.0.1`, or on a unix socket. Dropping it ends it with all its connections.
#[derive(Debug)]
pub struct CountingServer {
    endpoint: Endpoint,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    received: Mutex<Received>,
    open: Mutex<HashMap<u64, Arc<File>>>,
    stopping: AtomicBool,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl CountingServer {
    /// Listens on a free port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// When it cannot listen or start its thread.
    pub fn start(behaviour: Behaviour) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let endpoint = Endpoint::Tcp(listener.local_addr()?);
        Self::serve(endpoint, Listener::Tcp(listener), behaviour)
    }

    /// Listens on a unix socket that it makes.
    ///
    /// # Errors
    ///
    /// When it cannot listen or start its thread.
    pub fn start_unix(path: &Path, behaviour: Behaviour) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        let endpoint = Endpoint::Unix(path.to_owned());
        Self::serve(endpoint, Listener::Unix(listener), behaviour)
    }

    fn serve(endpoint: Endpoint, listener: Listener, behaviour: Behaviour) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let of_acceptor = Arc::clone(&shared);
        let acceptor = thread::Builder::new()
            .name("counting-server".to_owned())
            .spawn(move || of_acceptor.accept_all(&listener, &behaviour))?;
        Ok(Self { endpoint, shared, acceptor: Some(acceptor) })
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// How many complete requests have come so far.
    pub fn requests(&self) -> u64 {
        lock(&self.shared.received).requests()
    }

    /// How many connections are open.
    pub fn open_connections(&self) -> usize {
        lock(&self.shared.open).len()
    }

    /// Stops listening, reads what clients that have closed had sent before, and says what came in all. Connections
    /// that clients keep open are ended after a second.
    pub fn stop(mut self) -> Received {
        self.end(Duration::from_secs(1));
        lock(&self.shared.received).clone()
    }

    fn end(&mut self, patience: Duration) {
        let Some(acceptor) = self.acceptor.take() else {
            return;
        };
        self.shared.stopping.store(true, Ordering::SeqCst);
        let deadline = Instant::now() + patience;
        while !acceptor.is_finished() {
            if Instant::now() >= deadline {
                for socket in lock(&self.shared.open).values() {
                    // It may have ended by itself in the meantime.
                    let _ = shutdown(socket, Shutdown::Both);
                }
            }
            thread::sleep(Duration::from_millis(1));
        }
        assert!(acceptor.join().is_ok(), "the counting server panicked");
    }
}

impl Drop for CountingServer {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

impl Listener {
    /// The next connection, `None` when none is waiting.
    fn accept(&self) -> io::Result<Option<File>> {
        let accepted = match self {
            Self::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                Ok(OwnedFd::from(stream))
            }),
            Self::Unix(listener) => listener.accept().and_then(|(stream, _)| {
                stream.set_nonblocking(false)?;
                Ok(OwnedFd::from(stream))
            }),
        };
        match accepted {
            Ok(socket) => Ok(Some(File::from(socket))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn wait(&self, patience: Duration) {
        let listener = match self {
            Self::Tcp(listener) => PollFd::new(listener, PollFlags::IN),
            Self::Unix(listener) => PollFd::new(listener, PollFlags::IN),
        };
        let patience = Timespec::try_from(patience).ok();
        // Whether a connection waits is found out by accepting it.
        let _ = poll(&mut [listener], patience.as_ref());
    }
}

impl Shared {
    /// Accepts until it is told to stop and nobody waits any more; then waits for its connections.
    fn accept_all(&self, listener: &Listener, behaviour: &Behaviour) {
        thread::scope(|scope| {
            for id in 0.. {
                let socket = loop {
                    match listener.accept() {
                        Ok(Some(socket)) => break Arc::new(socket),
                        Ok(None) if self.stopping.load(Ordering::SeqCst) => return,
                        // A client that has gone before it was accepted is an error here.
                        Ok(None) | Err(_) => listener.wait(Duration::from_millis(10)),
                    }
                };
                lock(&self.open).insert(id, Arc::clone(&socket));
                {
                    let mut received = lock(&self.received);
                    received.connections += 1;
                    received.by_connection.push(0);
                    received.opened.push(Instant::now());
                }
                scope.spawn(move || {
                    // A client that has gone is no fault of the server.
                    let _ = self.serve_connection(id, &socket, behaviour);
                    lock(&self.received).closed.push(Instant::now());
                    lock(&self.open).remove(&id);
                });
            }
        });
    }

    fn serve_connection(&self, id: u64, mut socket: &File, behaviour: &Behaviour) -> io::Result<()> {
        let mut unread = Vec::new();
        for answered in 1.. {
            if let Close::Idle(patience) = behaviour.close
                && !has_come(socket, patience)?
            {
                return Ok(());
            }
            let Some(request) = read_request(&mut socket, &mut unread)? else {
                return Ok(());
            };
            let persistence = Persistence::asked_for_by(&request);
            let fault = self.count(id, request, behaviour);
            let held_from = Instant::now();
            thread::sleep(behaviour.delay);
            let held = held_from.elapsed();
            lock(&self.received).held += held;
            let (limit, announced) = match behaviour.close {
                Close::Never | Close::Idle(_) => (u64::MAX, false),
                Close::Announced(limit) => (limit, true),
                Close::Silent(limit) => (limit, false),
            };
            let last = answered >= limit || persistence == Persistence::Never;
            let answer = match fault {
                Some(Fault::NoAnswer) => continue,
                Some(Fault::Closed) => return Ok(()),
                _ => answer(behaviour, fault, persistence.header(last && announced)),
            };
            for piece in answer.chunks(behaviour.write_size) {
                socket.write_all(piece)?;
            }
            if last || fault == Some(Fault::Truncated) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Counts a request and returns what goes wrong with its answer.
    fn count(&self, id: u64, request: Vec<u8>, behaviour: &Behaviour) -> Option<Fault> {
        let mut received = lock(&self.received);
        if received.at.is_empty() {
            received.first = request;
        }
        received.at.push(Instant::now());
        if let Some(count) = usize::try_from(id).ok().and_then(|id| received.by_connection.get_mut(id)) {
            *count += 1;
        }
        let (fault, every) = behaviour.fault?;
        if !received.requests().is_multiple_of(every) {
            return None;
        }
        received.faults += 1;
        Some(fault)
    }
}

/// Whether a client has sent something, or gone, within this time.
fn has_come(socket: &File, patience: Duration) -> io::Result<bool> {
    let patience = Timespec::try_from(patience).ok();
    Ok(poll(&mut [PollFd::new(socket, PollFlags::IN)], patience.as_ref())? > 0)
}

/// Whether a request's connection lives on by the rules of its version (RFC 9112, section 9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Persistence {
    /// HTTP/1.1: until one side says otherwise.
    Assumed,
    /// HTTP/1.0 that asked for it, and must be told that it is granted.
    Granted,
    /// HTTP/1.0 that did not ask.
    Never,
}

impl Persistence {
    fn asked_for_by(request: &[u8]) -> Self {
        let head = String::from_utf8_lossy(request).to_ascii_lowercase();
        let mut lines = head.lines().take_while(|line| !line.is_empty());
        if !lines.next().is_some_and(|line| line.ends_with("http/1.0")) {
            Self::Assumed
        } else if lines.any(|line| line == "connection: keep-alive") {
            Self::Granted
        } else {
            Self::Never
        }
    }

    fn header(self, announce_close: bool) -> &'static str {
        match self {
            _ if announce_close => "Connection: close\r\n",
            Self::Granted => "Connection: keep-alive\r\n",
            Self::Assumed | Self::Never => "",
        }
    }
}

fn answer(behaviour: &Behaviour, fault: Option<Fault>, connection: &str) -> Vec<u8> {
    let status = match fault {
        Some(Fault::WrongStatus(status)) => status,
        _ => behaviour.status,
    };
    let length = behaviour.body.len();
    let head = format!("HTTP/1.1 {status} Status\r\n{connection}Content-Length: {length}\r\n\r\n");
    let mut answer = head.into_bytes();
    answer.extend_from_slice(&behaviour.body);
    match (fault, answer.last_mut()) {
        (Some(Fault::WrongBody), Some(last)) => *last ^= 1,
        (Some(Fault::Truncated), _) => answer.truncate(answer.len() - length.div_ceil(2)),
        _ => {}
    }
    answer
}

/// Reads one request with its body; `unread` keeps what came after it. `None` when the client has closed before it.
fn read_request(socket: &mut impl Read, unread: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    let mut buffer = [0; 16 << 10];
    loop {
        if let Some(length) = request_length(unread) {
            return Ok(Some(unread.drain(..length).collect()));
        }
        match socket.read(&mut buffer)? {
            0 => return Ok(None),
            count => unread.extend_from_slice(&buffer[..count]),
        }
    }
}

/// The length of the first request in `bytes`, `None` when it is not complete.
fn request_length(bytes: &[u8]) -> Option<usize> {
    let end = b"\r\n\r\n";
    let head_length = bytes.windows(end.len()).position(|four| four == end)? + end.len();
    let head = String::from_utf8_lossy(&bytes[..head_length]).to_ascii_lowercase();
    let body_length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .and_then(|length| length.trim().parse().ok())
        .unwrap_or(0);
    let length = head_length + body_length;
    (bytes.len() >= length).then_some(length)
}

/// A thread that panicked with the lock has already failed the test.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
