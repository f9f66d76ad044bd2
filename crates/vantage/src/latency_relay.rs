//! The way between client and front: a relay that holds bytes back, both ways, for as long as they would travel.
//!
//! Bytes leave half a round trip after they came, behind all that came before them on a link of limited width. A client's
//! first bytes wait one round trip more: that long its connection would take to open. Nothing is lost and no window has to
//! open slowly. The relay is a thread of its own outside the deployment's limits, on the processors of the generator; it
//! tells what it used and how late it was. The kernel's own delays (`netem`) would need root, a network namespace and a
//! module that many kernels lack.

use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use rustix::time::{ClockId, clock_gettime};
use stampede_core::{ClientLink, Latencies, LinkUse};
use stampede_priority::{Precedence, ThreadRole};

/// Bytes that travel together. At 100 Mbit/s they take 1.3 ms to pass.
const CHUNK: usize = 16 << 10;

/// Bytes that are on their way in one direction of a connection before its sender has to wait.
const MOST_ON_THE_WAY: usize = 4 << 20;

/// How soon it is looked again for descriptors that others of this program have given back.
const AGAIN: Duration = Duration::from_millis(10);

const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

/// A relay that is in use. Dropping it ends it with its connections.
pub(crate) struct LatencyRelay {
    address: SocketAddr,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<io::Result<LinkUse>>>,
}

impl LatencyRelay {
    /// Opens a link to a server.
    pub(crate) fn open(server: SocketAddr, link: ClientLink) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let mut relay = Relay::new(listener, server, link, &stop)?;
        let precedence = Precedence::here();
        let thread = thread::Builder::new().name("stampede-relay".to_owned()).spawn(move || {
            precedence.adopt(ThreadRole::Load);
            relay.run()
        })?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where clients find it.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it and tells what it cost.
    pub(crate) fn close(mut self) -> io::Result<LinkUse> {
        self.end().unwrap_or_else(|| Err(io::Error::other("it has ended already")))
    }

    fn end(&mut self) -> Option<io::Result<LinkUse>> {
        let thread = self.thread.take()?;
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
        Some(thread.join().unwrap_or_else(|_| Err(io::Error::other("its thread has panicked"))))
    }
}

impl Drop for LatencyRelay {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// A direction by where it comes from: the client is 0, the server 1.
type Side = usize;
const CLIENT: Side = 0;

struct Relay {
    epoll: OwnedFd,
    listener: TcpListener,
    server: SocketAddr,
    rtt: Duration,
    bits_per_second: Option<u64>,
    pairs: HashMap<u64, Pair>,
    /// Connections wait for descriptors.
    is_full: bool,
    next: u64,
    /// When something is due: the time, a number that keeps the order, the pair and the side that it came from.
    due: BinaryHeap<std::cmp::Reverse<(Instant, u64, u64, Side)>>,
    order: u64,
    /// When the link is free again, by direction.
    free: [Instant; 2],
    late: Latencies,
    bytes: u64,
    buffer: Vec<u8>,
}

struct Pair {
    /// The client's connection and the server's.
    ends: [TcpStream; 2],
    opened: Instant,
    ways: [Way; 2],
}

/// What is on its way from one end to the other.
#[derive(Default)]
struct Way {
    chunks: VecDeque<Chunk>,
    waiting: usize,
    /// The sender has said that it sends no more.
    ended: bool,
    /// That has been passed on.
    shut: bool,
}

/// Bytes, or the end of them when there are none.
struct Chunk {
    bytes: Vec<u8>,
    sent: usize,
    due: Instant,
}

impl Relay {
    fn new(listener: TcpListener, server: SocketAddr, link: ClientLink, stop: &Arc<OwnedFd>) -> io::Result<Self> {
        let ClientLink { rtt, bits_per_second } = link;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN | EventFlags::ET)?;
        epoll::add(&epoll, stop.as_fd(), EventData::new_u64(STOP), EventFlags::IN)?;
        let now = Instant::now();
        Ok(Self {
            epoll,
            listener,
            server,
            rtt,
            bits_per_second,
            pairs: HashMap::new(),
            is_full: false,
            next: 0,
            due: BinaryHeap::new(),
            order: 0,
            free: [now; 2],
            late: Latencies::new(),
            bytes: 0,
            buffer: vec![0; CHUNK],
        })
    }

    fn run(&mut self) -> io::Result<LinkUse> {
        let mut events: Vec<Event> = Vec::with_capacity(256);
        loop {
            // Where no pair is open that could be closed, others of this program have the descriptors.
            let waits_for_others = self.is_full && self.pairs.is_empty();
            let again = waits_for_others.then(|| Instant::now() + AGAIN);
            let first = self.due.peek().map(|std::cmp::Reverse((due, ..))| *due).or(again);
            let patience = first.map(|due| due.saturating_duration_since(Instant::now()));
            let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), patience.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.pass_on_due();
            if waits_for_others {
                self.accept();
            }
            for Event { flags, data } in events.iter().copied() {
                match data.u64() {
                    STOP => return Ok(self.used()),
                    LISTENER => self.accept(),
                    token => self.look(token / 2, (token % 2) as Side, flags),
                }
            }
        }
    }

    fn used(&self) -> LinkUse {
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        LinkUse {
            cpu: Duration::try_from(cpu).unwrap_or_default(),
            late_p50: self.late.quantile(0.5),
            late_p99: self.late.quantile(0.99),
            bytes: self.bytes,
        }
    }

    /// Accepts all that is there. What cannot be accepted, for want of descriptors, waits until a pair is closed: to be told of
    /// it again and again would take the processor from those that are open.
    fn accept(&mut self) {
        loop {
            // A pair takes two descriptors: who is accepted with the last one could only be closed.
            let Ok(spare) = self.epoll.try_clone() else {
                self.is_full = true;
                return;
            };
            match self.listener.accept() {
                Ok((client, _)) => {
                    drop(spare);
                    // A server that refuses closes the client's connection with it.
                    let _ = self.open(client);
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted) => {
                }
                Err(error) => {
                    self.is_full = error.kind() != io::ErrorKind::WouldBlock;
                    return;
                }
            }
        }
    }

    fn open(&mut self, client: TcpStream) -> io::Result<()> {
        let server = begin_to_connect(self.server)?;
        let number = self.next;
        let ends = [client, server];
        for (side, end) in ends.iter().enumerate() {
            end.set_nonblocking(true)?;
            end.set_nodelay(true)?;
            let token = EventData::new_u64(number * 2 + side as u64);
            epoll::add(&self.epoll, end, token, EventFlags::IN | EventFlags::OUT | EventFlags::ET)?;
        }
        self.next += 1;
        self.pairs.insert(number, Pair { ends, opened: Instant::now(), ways: Default::default() });
        Ok(())
    }

    /// Closes a pair, and accepts whoever has waited for its descriptors.
    fn close(&mut self, number: u64) {
        self.pairs.remove(&number);
        if self.is_full {
            self.accept();
        }
    }

    /// Something can be read from an end of a pair, or written to it.
    fn look(&mut self, number: u64, side: Side, flags: EventFlags) {
        if flags.contains(EventFlags::OUT) {
            self.write(number, 1 - side);
        }
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR | EventFlags::RDHUP) {
            self.read(number, side);
        }
    }

    /// Takes in what an end has sent, as long as there is room for it on the way.
    fn read(&mut self, number: u64, side: Side) {
        loop {
            let Some(pair) = self.pairs.get_mut(&number) else { return };
            let Pair { ends, opened, ways } = pair;
            let way = &mut ways[side];
            if way.ended || way.waiting >= MOST_ON_THE_WAY {
                return;
            }
            let count = match (&ends[side]).read(&mut self.buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => {
                    self.close(number);
                    return;
                }
            };
            let now = Instant::now();
            let came = if side == CLIENT { now.max(*opened + self.rtt) } else { now };
            let passing = match self.bits_per_second {
                Some(bits) => Duration::from_secs_f64(count as f64 * 8.0 / bits as f64),
                None => Duration::ZERO,
            };
            let passed = came.max(self.free[side]) + passing;
            if self.bits_per_second.is_some() {
                self.free[side] = passed;
            }
            let due = passed + self.rtt / 2;
            way.ended = count == 0;
            way.waiting += count;
            way.chunks.push_back(Chunk { bytes: self.buffer[..count].to_vec(), sent: 0, due });
            self.order += 1;
            self.due.push(std::cmp::Reverse((due, self.order, number, side)));
        }
    }

    fn pass_on_due(&mut self) {
        let now = Instant::now();
        while let Some(std::cmp::Reverse((due, _, number, side))) = self.due.peek().copied() {
            if due > now {
                return;
            }
            self.due.pop();
            self.write(number, side);
        }
    }

    /// Passes on what is due of what came from a side.
    fn write(&mut self, number: u64, side: Side) {
        let Some(Pair { ends, ways, .. }) = self.pairs.get_mut(&number) else { return };
        let (way, target) = (&mut ways[side], &ends[1 - side]);
        let was_full = way.waiting >= MOST_ON_THE_WAY;
        let mut broken = false;
        let now = Instant::now();
        while let Some(chunk) = way.chunks.front_mut().filter(|chunk| chunk.due <= now) {
            if chunk.bytes.is_empty() {
                let _ = target.shutdown(Shutdown::Write);
                way.shut = true;
                way.chunks.pop_front();
                continue;
            }
            if chunk.sent == 0 {
                self.late.record_ns(u64::try_from((now - chunk.due).as_nanos()).unwrap_or(u64::MAX));
            }
            match (&mut &*target).write(&chunk.bytes[chunk.sent..]) {
                Ok(count) => {
                    chunk.sent += count;
                    way.waiting -= count;
                    self.bytes += count as u64;
                    if chunk.sent == chunk.bytes.len() {
                        way.chunks.pop_front();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    broken = true;
                    break;
                }
            }
        }
        let has_room = was_full && way.waiting < MOST_ON_THE_WAY;
        if broken || ways.iter().all(|way| way.shut) {
            self.close(number);
        } else if has_room {
            self.read(number, side);
        }
    }
}

/// A connection that opens meanwhile: a server whose queue is full lets others wait no longer for that.
fn begin_to_connect(server: SocketAddr) -> io::Result<TcpStream> {
    let family = if server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &server) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket.into()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that sends back what comes.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    stream.set_nodelay(true).unwrap();
                    let mut reader = stream.try_clone().unwrap();
                    let _ = io::copy(&mut reader, &mut &stream);
                });
            }
        });
        address
    }

    fn exchange(stream: &mut TcpStream) -> Duration {
        let sent = Instant::now();
        stream.write_all(b"ping").unwrap();
        stream.read_exact(&mut [0; 4]).unwrap();
        sent.elapsed()
    }

    /// Most tries of what this machine can spoil by being busy.
    const MOST_TRIES: usize = 5;

    fn median(mut times: Vec<Duration>) -> Duration {
        times.sort();
        times[times.len() / 2]
    }

    #[test]
    fn a_round_trip_takes_as_long_as_asked_and_the_first_one_twice() {
        let server = echo();
        let mut direct = TcpStream::connect(server).unwrap();
        let own = median((0..50).map(|_| exchange(&mut direct)).collect());
        // How much longer than without a link a round trip took, the median of fifty.
        let added = |rtt: Duration| {
            let link = LatencyRelay::open(server, ClientLink { rtt, bits_per_second: None }).unwrap();
            let mut stream = TcpStream::connect(link.address()).unwrap();
            let first = exchange(&mut stream);
            assert!(first >= rtt * 2, "{rtt:?}: {first:?}");
            let times: Vec<Duration> = (0..50).map(|_| exchange(&mut stream)).collect();
            assert!(times.iter().all(|time| *time >= rtt), "{rtt:?}: {times:?}");
            let used = link.close().unwrap();
            assert_eq!(used.bytes, 51 * 8);
            (median(times) - own.min(rtt), used)
        };
        for millis in [0, 5, 20] {
            let rtt = Duration::from_millis(millis);
            // Never less, and within 1 ms more unless this machine is busy with other things: then the next try tells.
            let mut tries = Vec::new();
            while tries.last().is_none_or(|(added, _)| *added >= rtt + Duration::from_millis(1)) {
                assert!(tries.len() < MOST_TRIES, "{rtt:?}: {tries:?}");
                tries.push(added(rtt));
            }
        }
    }

    #[test]
    fn a_width_is_shared_by_all_connections() {
        // 4 Mbit at 20 Mbit/s each way, and both ways overlap. What is busy with other things takes longer, never less.
        let mut tries = Vec::new();
        while tries.last().is_none_or(|took| *took >= 0.3) {
            assert!(tries.len() < MOST_TRIES, "{tries:?}");
            let took = time_over_a_width();
            assert!(took >= 0.2, "{took}");
            tries.push(took);
        }
    }

    /// Seconds for half a megabyte there and back.
    fn time_over_a_width() -> f64 {
        const BYTES: usize = 250_000;
        let link = ClientLink { rtt: Duration::from_millis(2), bits_per_second: Some(20_000_000) };
        let link = LatencyRelay::open(echo(), link).unwrap();
        let began = Instant::now();
        let clients: Vec<_> = (0..2)
            .map(|_| {
                let address = link.address();
                thread::spawn(move || {
                    let mut stream = TcpStream::connect(address).unwrap();
                    let mut writer = stream.try_clone().unwrap();
                    let sender = thread::spawn(move || {
                        writer.write_all(&vec![7; BYTES]).unwrap();
                        writer.shutdown(Shutdown::Write).unwrap();
                    });
                    let mut back = Vec::new();
                    stream.read_to_end(&mut back).unwrap();
                    sender.join().unwrap();
                    back.len()
                })
            })
            .collect();
        for client in clients {
            assert_eq!(client.join().unwrap(), BYTES);
        }
        began.elapsed().as_secs_f64()
    }

    #[test]
    fn a_server_that_is_not_there_ends_the_clients_connection() {
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let link = LatencyRelay::open(nobody, ClientLink { rtt: Duration::ZERO, bits_per_second: None }).unwrap();
        let mut stream = TcpStream::connect(link.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        assert!(matches!(stream.read(&mut [0; 1]), Ok(0) | Err(_)));
    }
}
