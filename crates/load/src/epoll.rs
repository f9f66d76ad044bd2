//! Connections by readiness: `epoll_wait`, then one read for each socket that can be read (epoll(7)).

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt::socket_error;
use rustix::net::{RecvFlags, recv};

use crate::io::{Happening, Io, Outgoing, Woken, is_untaken, send_now, to_timespec};
use crate::prepared_exchange::PreparedExchange;
use stampede_seam::Backend;

/// Bytes that are read at once.
const BUFFER: usize = 64 << 10;

/// Events that are fetched at once.
const EVENTS: usize = 256;

/// The token of the event that calls the thread.
const CALL: u64 = u64::MAX;

pub(crate) struct Epoll {
    epoll: OwnedFd,
    sockets: Vec<Slot>,
    events: Vec<Event>,
    /// How many of the events have been dealt with.
    seen: usize,
    buffer: Box<[u8]>,
}

/// A connection's number, which many sockets have one after the other.
#[derive(Debug, Default)]
struct Slot {
    socket: Option<Socket>,
    /// How many sockets it has had: events of earlier ones may still be in the list when one is closed.
    generation: u32,
}

#[derive(Debug)]
struct Socket {
    fd: OwnedFd,
    interest: EventFlags,
}

impl Slot {
    fn token(&self, number: usize) -> u64 {
        u64::from(self.generation) << 32 | number as u64
    }
}

impl Io for Epoll {
    const BACKEND: Backend = Backend::Epoll;
    const DEFERS: bool = false;

    fn new(connections: usize, _: &Arc<[PreparedExchange]>, call: &OwnedFd) -> Result<Self, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, call, EventData::new_u64(CALL), EventFlags::IN)?;
        // Waiting for nanoseconds needs Linux 5.11 (epoll_pwait2); better to be told now than in the midst of the load.
        epoll::wait(&epoll, spare_capacity(&mut Vec::with_capacity(1)), Some(&to_timespec(Duration::ZERO)))?;
        Ok(Self {
            epoll,
            sockets: (0..connections).map(|_| Slot::default()).collect(),
            events: Vec::with_capacity(EVENTS),
            seen: 0,
            buffer: vec![0; BUFFER].into_boxed_slice(),
        })
    }

    fn add(&mut self, number: usize, fd: OwnedFd) -> Result<(), Errno> {
        let Some(slot) = self.sockets.get_mut(number) else { return Err(Errno::BADF) };
        slot.generation = slot.generation.wrapping_add(1);
        let interest = EventFlags::IN | EventFlags::OUT;
        epoll::add(&self.epoll, &fd, EventData::new_u64(slot.token(number)), interest)?;
        slot.socket = Some(Socket { fd, interest });
        Ok(())
    }

    fn send(&mut self, number: usize, outgoing: Outgoing<'_>) -> Result<usize, Errno> {
        let Some(Slot { socket: Some(socket), .. }) = self.sockets.get(number) else { return Err(Errno::BADF) };
        let bytes = outgoing.bytes();
        let taken = send_now(socket.fd.as_fd(), bytes)?;
        if taken < bytes.len() {
            self.watch(number, EventFlags::IN | EventFlags::OUT)?;
        }
        Ok(taken)
    }

    fn close(&mut self, number: usize) {
        if let Some(slot) = self.sockets.get_mut(number) {
            slot.socket = None;
        }
    }

    fn is_untaken(&self, number: usize) -> bool {
        let Some(Slot { socket: Some(socket), .. }) = self.sockets.get(number) else { return false };
        is_untaken(socket.fd.as_fd())
    }

    fn wait(&mut self, patience: Duration) -> Result<Woken, Errno> {
        self.events.clear();
        self.seen = 0;
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&to_timespec(patience))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        Ok(match self.events.as_slice() {
            [] => Woken::Patience,
            events if events.iter().any(is_call) => Woken::Called,
            _ => Woken::Happened,
        })
    }

    fn next(&mut self) -> Option<(usize, Happening<'_>)> {
        loop {
            let Event { flags, data } = *self.events.get(self.seen)?;
            let token = data.u64();
            let number = (token & u64::from(u32::MAX)) as usize;
            let socket = self.sockets.get(number).filter(|slot| slot.token(number) == token);
            let Some(Slot { socket: Some(socket), .. }) = socket else {
                self.seen += 1;
                continue;
            };
            if flags.contains(EventFlags::OUT) {
                // What can be read is told by the same event once more, after this.
                if let Some(event) = self.events.get_mut(self.seen) {
                    event.flags = flags - EventFlags::OUT;
                }
                let happening = if flags.contains(EventFlags::ERR) {
                    Happening::Failed(socket_error(&socket.fd).ok().and_then(Result::err).unwrap_or(Errno::IO))
                } else {
                    match self.watch(number, EventFlags::IN) {
                        Ok(()) => Happening::Writable,
                        Err(errno) => Happening::Failed(errno),
                    }
                };
                return Some((number, happening));
            }
            self.seen += 1;
            if !flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
                continue;
            }
            return match recv(&socket.fd, &mut *self.buffer, RecvFlags::empty()) {
                Ok((0, _)) => Some((number, Happening::Ended)),
                Ok((count, _)) => Some((number, Happening::Received(self.buffer.get(..count).unwrap_or_default()))),
                Err(Errno::AGAIN | Errno::INTR) => continue,
                Err(errno) => Some((number, Happening::Failed(errno))),
            };
        }
    }
}

impl Epoll {
    fn watch(&mut self, number: usize, interest: EventFlags) -> Result<(), Errno> {
        let Some(slot) = self.sockets.get_mut(number) else { return Err(Errno::BADF) };
        let token = EventData::new_u64(slot.token(number));
        match &mut slot.socket {
            Some(socket) if socket.interest != interest => {
                socket.interest = interest;
                epoll::modify(&self.epoll, &socket.fd, token, interest)
            }
            _ => Ok(()),
        }
    }
}

fn is_call(event: &Event) -> bool {
    let Event { data, .. } = *event;
    data.u64() == CALL
}
