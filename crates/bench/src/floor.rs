//! The floor: a client that does nothing but send and receive, and so uses what no client can go below.
//!
//! It counts bytes in place of reading answers, checks nothing and reads no clock between its first and its last request: a
//! timer's signal ends it. One connection blocks in `recv`; more are waited for with epoll.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_nodelay;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with};

use crate::exchange::{ANSWER, request};
use crate::failure::Failure;

/// Events that are fetched, and bytes that are read, at once.
const EVENTS: usize = 256;
const BUFFER: usize = 4096;

const TIMER: &str = "run the floor: have a timer end the run";

/// What the floor has done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flown {
    /// Answers, all that were asked for.
    pub(crate) answers: u64,
    /// From the first request to the last answer.
    pub(crate) time: Duration,
}

/// Keeps `connections` busy for some time, then waits for the answers that are out.
pub(crate) fn run(address: SocketAddr, connections: usize, duration: Duration) -> Result<Flown, Failure> {
    let mut lines = Vec::new();
    for _ in 0..connections {
        lines.push(Line {
            socket: open(address).map_err(Failure::step("run the floor: connect to the server"))?,
            received: 0,
        });
    }
    let request = request(&address.to_string());
    let over = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGALRM, Arc::clone(&over)).map_err(Failure::step(TIMER))?;
    let started = Instant::now();
    ring_after(duration).map_err(Failure::step(TIMER))?;
    let answers = match lines.as_mut_slice() {
        [line] => block(line, &request, &over),
        lines => wait(lines, &request, &over),
    };
    Ok(Flown {
        answers: answers.map_err(Failure::step("run the floor: send requests and receive answers"))?,
        time: started.elapsed(),
    })
}

struct Line {
    socket: OwnedFd,
    /// Bytes of the present answer.
    received: usize,
}

impl Line {
    fn send(&self, request: &[u8]) -> Result<(), Errno> {
        match send(&self.socket, request, SendFlags::NOSIGNAL)? {
            count if count == request.len() => Ok(()),
            _ => Err(Errno::AGAIN),
        }
    }

    /// Receives once; true when an answer is complete.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<bool, Errno> {
        match recv(&self.socket, buffer, RecvFlags::empty()) {
            Ok((0, _)) => return Err(Errno::CONNRESET),
            Ok((count, _)) => self.received += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let complete = self.received >= ANSWER.len();
        if complete {
            self.received -= ANSWER.len();
        }
        Ok(complete)
    }
}

fn open(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_tcp_nodelay(&socket, true)?;
    connect(&socket, &address)?;
    Ok(socket)
}

fn block(line: &mut Line, request: &[u8], over: &AtomicBool) -> Result<u64, Errno> {
    let mut buffer = [0; BUFFER];
    let mut answers = 0;
    while !over.load(Ordering::Relaxed) {
        line.send(request)?;
        while !line.receive(&mut buffer)? {}
        answers += 1;
    }
    Ok(answers)
}

fn wait(lines: &mut [Line], request: &[u8], over: &AtomicBool) -> Result<u64, Errno> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    for (token, line) in lines.iter().enumerate() {
        epoll::add(&epoll, &line.socket, EventData::new_u64(token as u64), EventFlags::IN)?;
        line.send(request)?;
    }
    let mut buffer = [0; BUFFER];
    let mut answers = 0;
    let mut out = lines.len();
    let mut events = Vec::with_capacity(EVENTS);
    while out > 0 {
        events.clear();
        match epoll::wait(&epoll, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        for Event { data, .. } in events.iter().copied() {
            let Some(line) = usize::try_from(data.u64()).ok().and_then(|token| lines.get_mut(token)) else { continue };
            if line.receive(&mut buffer)? {
                answers += 1;
                if over.load(Ordering::Relaxed) {
                    out -= 1;
                } else {
                    line.send(request)?;
                }
            }
        }
    }
    Ok(answers)
}

/// Has the kernel send `SIGALRM` once.
fn ring_after(duration: Duration) -> io::Result<()> {
    let value = libc::timeval {
        tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: duration.subsec_micros().into(),
    };
    let timer = libc::itimerval { it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 }, it_value: value };
    // SAFETY: the kernel reads the timer and, given no place for it, does not tell the old one.
    match unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
