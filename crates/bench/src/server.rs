//! A server that gives one fixed answer and counts: the truth about how many requests came.
//!
//! One thread, level-triggered epoll, one `recv` and one `send` a request: as little work as a server can do, so that clients
//! show what they can do. It runs as a process of its own, prints its address, answers each byte on stdin with a line
//! `REQUESTS CONNECTIONS CPU_US`, and ends with the end of stdin.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_nodelay;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, accept_with, bind, getsockname, listen, recv, send,
    socket_with,
};
use rustix::time::{ClockId, clock_gettime};

use crate::exchange::{ANSWER, requests_ended};
use crate::failure::Failure;
use crate::process::Process;
use crate::race::{Counts, Witness};
use crate::stage::Stage;

/// Connections that wait to be accepted; the kernel takes no more than its `somaxconn`, 4,096 since Linux 5.4.
const BACKLOG: i32 = 4096;
/// Bytes that are read, answers that are sent and events that are fetched at once.
const BUFFER: usize = 64 << 10;
const ANSWERS: usize = 64;
const EVENTS: usize = 256;

const LISTENER: u64 = u64::MAX;
const CONTROL: u64 = u64::MAX - 1;

const LISTEN: &str = "serve: listen on 127.0.0.1";
const WAIT: &str = "serve: wait for events";
const REPORT: &str = "serve: tell the counts";
const TALK: &str = "ask the fixed-answer server for its counts";

/// Serves until stdin ends.
pub(crate) fn serve() -> Result<(), Failure> {
    let listener = listen_locally().map_err(Failure::step(LISTEN))?;
    let address: SocketAddr =
        getsockname(&listener).and_then(|address| address.try_into()).map_err(Failure::step(LISTEN))?;
    let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(Failure::step(WAIT))?;
    epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN).map_err(Failure::step(WAIT))?;
    epoll::add(&epoll, io::stdin(), EventData::new_u64(CONTROL), EventFlags::IN).map_err(Failure::step(WAIT))?;
    say(&format!("{address}")).map_err(Failure::step(REPORT))?;
    let mut server = Server {
        connections: Vec::new(),
        open: 0,
        requests: 0,
        buffer: vec![0; BUFFER],
        answers: ANSWER.repeat(ANSWERS),
    };
    let mut events = Vec::with_capacity(EVENTS);
    loop {
        events.clear();
        match epoll::wait(&epoll, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(Failure::step(WAIT)(errno)),
        }
        for Event { data, .. } in events.iter().copied() {
            match data.u64() {
                LISTENER => server.accept_all(&listener, &epoll),
                CONTROL => {
                    if io::stdin().read(&mut [0]).map_err(Failure::step(REPORT))? == 0 {
                        return Ok(());
                    }
                    let Server { requests, open, .. } = server;
                    let cpu = clock_gettime(ClockId::ProcessCPUTime);
                    let cpu_us = cpu.tv_sec * 1_000_000 + cpu.tv_nsec / 1_000;
                    say(&format!("{requests} {open} {cpu_us}")).map_err(Failure::step(REPORT))?;
                }
                token => server.serve(token),
            }
        }
    }
}

fn listen_locally() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let listener = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    bind(&listener, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    listen(&listener, BACKLOG)?;
    Ok(listener)
}

fn say(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

struct Server {
    /// By their descriptors.
    connections: Vec<Option<Connection>>,
    open: u64,
    requests: u64,
    buffer: Vec<u8>,
    answers: Vec<u8>,
}

struct Connection {
    socket: OwnedFd,
    /// The last four bytes that came.
    tail: u32,
}

impl Server {
    fn accept_all(&mut self, listener: &OwnedFd, epoll: &OwnedFd) {
        // It ends when nobody waits, or when there is no descriptor left; then the next event tries again.
        while let Ok(socket) = accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            let index = usize::try_from(socket.as_raw_fd()).unwrap_or_default();
            let watched = set_tcp_nodelay(&socket, true)
                .and_then(|()| epoll::add(epoll, &socket, EventData::new_u64(index as u64), EventFlags::IN));
            if watched.is_err() {
                continue;
            }
            if self.connections.len() <= index {
                self.connections.resize_with(index + 1, || None);
            }
            if let Some(place) = self.connections.get_mut(index) {
                *place = Some(Connection { socket, tail: 0 });
                self.open += 1;
            }
        }
    }

    fn serve(&mut self, token: u64) {
        let Some(place) = usize::try_from(token).ok().and_then(|index| self.connections.get_mut(index)) else { return };
        let Some(Connection { socket, tail }) = place else { return };
        let kept = match recv(&*socket, self.buffer.as_mut_slice(), RecvFlags::empty()) {
            Ok((0, _)) => false,
            Ok((count, _)) => {
                let ended = requests_ended(tail, self.buffer.get(..count).unwrap_or_default());
                self.requests += ended as u64;
                send_answers(socket, &self.answers, ended)
            }
            Err(Errno::AGAIN | Errno::INTR) => true,
            Err(_) => false,
        };
        if !kept {
            *place = None;
            self.open -= 1;
        }
    }
}

/// Sends a number of answers. False when the client is gone, or does not read: no client here has so much in flight that it
/// would fill a socket's buffer.
fn send_answers(socket: &OwnedFd, answers: &[u8], mut count: usize) -> bool {
    while count > 0 {
        let now = count.min(ANSWERS);
        let bytes = answers.get(..now * ANSWER.len()).unwrap_or_default();
        if send(socket, bytes, SendFlags::NOSIGNAL) != Ok(bytes.len()) {
            return false;
        }
        count -= now;
    }
    true
}

/// A server that runs.
#[derive(Debug)]
pub(crate) struct CountingServer {
    /// Dropping it ends the server.
    _process: Process,
    control: ChildStdin,
    reports: BufReader<ChildStdout>,
    url: String,
}

impl CountingServer {
    /// Starts one on the stage's processor for servers.
    pub(crate) fn start(stage: &Stage) -> Result<Self, Failure> {
        let mut command = Command::new(&stage.bench);
        command.arg("server").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::spawn("the fixed-answer server", command, stage.server_cpu)?;
        let (control, reports) = process.pipes().ok_or_else(silent)?;
        let mut server = Self { _process: process, control, reports: BufReader::new(reports), url: String::new() };
        server.url = format!("http://{}/", server.line()?);
        Ok(server)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        match self.reports.read_line(&mut line) {
            Ok(0) => Err(silent()),
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(error) => Err(Failure::step(TALK)(error)),
        }
    }
}

impl Witness for CountingServer {
    fn counts(&mut self) -> Result<Counts, Failure> {
        self.control.write_all(b"?").map_err(Failure::step(TALK))?;
        let line = self.line()?;
        Counts::read(&line).ok_or_else(silent)
    }
}

fn silent() -> Failure {
    Failure::Unusable("the fixed-answer server ended before its time".to_owned())
}

impl Counts {
    fn read(line: &str) -> Option<Self> {
        let mut numbers = line.split(' ').map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self { requests: next()?, open: next()?, cpu: Duration::from_micros(next()?) })
    }
}
