//! An HTTP/1.1 server that stands still at regular times: what an open load must measure is known in advance.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use stampede_core::Endpoint;

/// When a server stands still: for `length` at the beginning of every `every`, counted from an epoch.
#[derive(Clone, Copy, Debug)]
pub struct Stalls {
    /// How long one lasts.
    pub length: Duration,
    /// From the beginning of one to that of the next.
    pub every: Duration,
}

impl Stalls {
    /// What is left of a stall so long after the epoch.
    fn left_at(&self, since_epoch: Duration) -> Duration {
        self.length.saturating_sub(self.since_last_began(since_epoch))
    }

    fn until_next(&self, since_epoch: Duration) -> Duration {
        self.every - self.since_last_began(since_epoch)
    }

    fn since_last_began(&self, since_epoch: Duration) -> Duration {
        Duration::from_nanos((since_epoch.as_nanos() % self.every.as_nanos()) as u64)
    }
}

/// A server on `127.0.0.1` with one thread: while it stalls it reads nothing, otherwise it answers at once. It takes
/// requests without a body. Dropping it ends it with all its connections.
#[derive(Debug)]
pub struct StallServer {
    endpoint: Endpoint,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<Vec<Stall>>>>,
}

/// A stall that happened.
#[derive(Clone, Copy, Debug)]
pub struct Stall {
    /// From when on nothing was read.
    pub from: Instant,
    /// When the server went on, which is a little late when the machine was busy.
    pub to: Instant,
}

impl StallServer {
    /// Listens on a free port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// When it cannot listen or start its thread.
    pub fn start(stalls: Stalls) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let endpoint = Endpoint::Tcp(listener.local_addr()?);
        let (epoch, stopping) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        let of_thread = Arc::clone(&stopping);
        let thread = thread::Builder::new()
            .name("stall-server".to_owned())
            .spawn(move || serve(&listener, stalls, epoch, &of_thread))?;
        Ok(Self { endpoint, stopping, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Ends it, and says which stalls there were.
    ///
    /// # Errors
    ///
    /// When it could not serve.
    pub fn stop(mut self) -> io::Result<Vec<Stall>> {
        self.end().unwrap_or_else(|| Ok(Vec::new()))
    }

    fn end(&mut self) -> Option<io::Result<Vec<Stall>>> {
        self.stopping.store(true, Ordering::SeqCst);
        let served = self.thread.take()?.join();
        Some(served.unwrap_or_else(|_| Err(io::Error::other("the stall server panicked"))))
    }
}

impl Drop for StallServer {
    fn drop(&mut self) {
        // Whoever drops it does not ask how it went.
        let _ = self.end();
    }
}

/// The longest time without a look at whether to stop.
const ATTENTION: Duration = Duration::from_millis(20);

fn serve(listener: &TcpListener, stalls: Stalls, epoch: Instant, stopping: &AtomicBool) -> io::Result<Vec<Stall>> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, listener, EventData::new_u64(u64::MAX), EventFlags::IN)?;
    let mut streams: HashMap<u64, Stream> = HashMap::new();
    let mut events: Vec<Event> = Vec::with_capacity(64);
    let mut accepted = 0;
    let mut happened = Vec::new();
    while !stopping.load(Ordering::SeqCst) {
        let since_epoch = epoch.elapsed();
        let left = stalls.left_at(since_epoch);
        if !left.is_zero() {
            let to = epoch + since_epoch + left;
            while let Some(left) = to.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
                thread::sleep(left);
            }
            happened.push(Stall { from: to - stalls.length, to: Instant::now() });
        }
        let patience = stalls.until_next(epoch.elapsed()).min(ATTENTION);
        let patience = Timespec { tv_sec: 0, tv_nsec: patience.subsec_nanos().into() };
        events.clear();
        match epoll::wait(&epoll, spare_capacity(&mut events), Some(&patience)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        }
        for Event { data, .. } in events.iter().copied() {
            // Events that are left out come again.
            if !stalls.left_at(epoch.elapsed()).is_zero() {
                break;
            }
            let number = data.u64();
            if number == u64::MAX {
                while let Some(stream) = not_blocked(listener.accept())? {
                    let (stream, _) = stream;
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    epoll::add(&epoll, &stream, EventData::new_u64(accepted), EventFlags::IN)?;
                    streams.insert(accepted, Stream { stream, seen: 0 });
                    accepted += 1;
                }
            } else if let Some(stream) = streams.get_mut(&number)
                && !stream.answer().unwrap_or(false)
            {
                streams.remove(&number);
            }
        }
    }
    Ok(happened)
}

struct Stream {
    stream: TcpStream,
    /// How many bytes of the end of a head have come.
    seen: usize,
}

impl Stream {
    /// Answers what has come; false when the client has closed.
    fn answer(&mut self) -> io::Result<bool> {
        const END: &[u8] = b"\r\n\r\n";
        let mut buffer = [0; 4096];
        let Some(count) = not_blocked(self.stream.read(&mut buffer))? else {
            return Ok(true);
        };
        for byte in &buffer[..count] {
            self.seen = match self.seen {
                seen if *byte == END[seen] => seen + 1,
                _ => usize::from(*byte == END[0]),
            };
            if self.seen == END.len() {
                self.seen = 0;
                self.stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
            }
        }
        Ok(count > 0)
    }
}

fn not_blocked<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
