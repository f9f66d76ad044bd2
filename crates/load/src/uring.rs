//! Connections by completion: receives that go on by themselves into buffers which the kernel chooses, and sends that leave
//! together with the next wait, all in one system call (io_uring(7)).

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use io_uring::squeue::{self, Flags};
use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::sockopt::socket_error;
use rustix::net::{RecvFlags, SendFlags};

use crate::buffers::{Buffers, GROUP};
use crate::io::{Happening, Io, Outgoing, Woken, is_untaken, send_now};
use crate::prepared_exchange::PreparedExchange;
use stampede_seam::Backend;

/// Submissions that fit into the queue; when it is full the kernel takes them early.
const SUBMISSIONS: u32 = 256;

/// The completion queue has room for one of each connection, within these bounds.
const FEWEST_COMPLETIONS: usize = 1024;
const MOST_COMPLETIONS: usize = 32 << 10;

/// A request up to this length finds room in an idle socket at once, and the kernel tells only when it did not go out: a
/// completion of each send would end the wait that it leaves with.
const SHORT: usize = 4 << 10;

/// How long the end of what is under way is waited for; it is cancelled, and takes no time.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// What a completion is about: the number of a connection, how many sockets it had before, and the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Token {
    number: u32,
    generation: u32,
    operation: Operation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Receive,
    Send,
    /// A socket takes bytes.
    Room,
    /// The event that calls the thread.
    Call,
    /// What is done for nobody any more.
    Forget,
}

impl Token {
    const CALL: Self = Self { number: 0, generation: 0, operation: Operation::Call };
    const FORGET: Self = Self { number: 0, generation: 0, operation: Operation::Forget };
    /// Generations have 29 bits: a number would need that many sockets while a completion is on its way.
    const GENERATIONS: u32 = 1 << 29;

    fn to_bits(self) -> u64 {
        let operation = match self.operation {
            Operation::Receive => 0,
            Operation::Send => 1,
            Operation::Room => 2,
            Operation::Call => 3,
            Operation::Forget => 4,
        };
        operation << 61 | u64::from(self.generation) << 32 | u64::from(self.number)
    }

    fn from_bits(bits: u64) -> Self {
        let operation = match bits >> 61 {
            0 => Operation::Receive,
            1 => Operation::Send,
            2 => Operation::Room,
            3 => Operation::Call,
            _ => Operation::Forget,
        };
        let generation = (bits >> 32) as u32 % Self::GENERATIONS;
        Self { number: bits as u32, generation, operation }
    }
}

/// A connection's number, which many sockets have one after the other.
#[derive(Debug, Default)]
struct Slot {
    /// Closed by the ring, after what was queued before.
    socket: Option<OwnedFd>,
    generation: u32,
    connected: bool,
    receiving: bool,
    /// It is waited for that it connects, or takes bytes again.
    awaiting_room: bool,
    /// A long send is on its way.
    sending: bool,
    /// What a long send has done, not yet told.
    sent: usize,
    /// Leaves with the next wait.
    outgoing: Option<Piece>,
    /// Whether the number is in the queue.
    queued: bool,
}

/// Bytes of a prepared request.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: *const u8,
    length: usize,
    /// Whether the end of the send is to be told in any case.
    is_told: bool,
}

impl Slot {
    fn token(&self, number: usize, operation: Operation) -> u64 {
        Token { number: number as u32, generation: self.generation, operation }.to_bits()
    }
}

/// A completion.
#[derive(Clone, Copy, Debug)]
struct Event {
    token: u64,
    result: i32,
    flags: u32,
}

pub(crate) struct Uring {
    ring: IoUring,
    buffers: Buffers,
    /// What prepared requests point to.
    exchanges: Arc<[PreparedExchange]>,
    slots: Vec<Slot>,
    /// Numbers that have something to send.
    queue: Vec<usize>,
    events: Vec<Event>,
    /// How many of the events have been dealt with.
    seen: usize,
    /// The buffer whose bytes were told last.
    held: Option<u16>,
    /// The event that calls the thread, which outlives this.
    call: RawFd,
}

impl Io for Uring {
    const BACKEND: Backend = Backend::IoUring;
    const DEFERS: bool = true;

    /// Needs Linux 6.1, where completions can wait for the thread (IORING_SETUP_DEFER_TASKRUN), with receives that go on by
    /// themselves (6.0). Containers often do not permit io_uring.
    fn new(connections: usize, exchanges: &Arc<[PreparedExchange]>, call: &OwnedFd) -> Result<Self, Errno> {
        let completions = connections.next_power_of_two().clamp(FEWEST_COMPLETIONS, MOST_COMPLETIONS);
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_clamp()
            .setup_cqsize(completions as u32)
            .build(SUBMISSIONS)
            .map_err(|error| to_errno(&error))?;
        let buffers = Buffers::new(connections)?;
        buffers.register(&ring.submitter())?;
        let mut uring = Self {
            ring,
            buffers,
            exchanges: Arc::clone(exchanges),
            slots: (0..connections).map(|_| Slot::default()).collect(),
            queue: Vec::with_capacity(connections),
            events: Vec::with_capacity(completions),
            seen: 0,
            held: None,
            call: call.as_raw_fd(),
        };
        uring.await_call()?;
        uring.enter(Duration::ZERO)?;
        Ok(uring)
    }

    fn add(&mut self, number: usize, socket: OwnedFd) -> Result<(), Errno> {
        let Some(slot) = self.slots.get_mut(number) else { return Err(Errno::BADF) };
        slot.generation = (slot.generation + 1) % Token::GENERATIONS;
        slot.connected = false;
        slot.socket = Some(socket);
        self.await_room(number)
    }

    fn send(&mut self, number: usize, outgoing: Outgoing<'_>) -> Result<usize, Errno> {
        let Some(slot) = self.slots.get_mut(number) else { return Err(Errno::BADF) };
        let Some(socket) = &slot.socket else { return Err(Errno::BADF) };
        let (exchange, from) = match outgoing {
            Outgoing::Prepared(exchange, from) => (exchange, from),
            // A copy would have to live until the kernel tells that it is sent, and being told would end the wait.
            Outgoing::Passing(bytes) => {
                let taken = send_now(socket.as_fd(), bytes)?;
                if taken < bytes.len() {
                    self.await_room(number)?;
                }
                return Ok(taken);
            }
        };
        // What is sent must stay where it is for as long as this lives.
        if !self.exchanges.as_ptr_range().contains(&std::ptr::from_ref(exchange)) {
            return Err(Errno::FAULT);
        }
        let bytes = exchange.request.get(from..).unwrap_or_default();
        let sent = mem::take(&mut slot.sent);
        let rest = bytes.get(sent..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(sent);
        }
        let is_told = bytes.len() < exchange.request.len() || sent > 0 || rest.len() > SHORT;
        slot.outgoing = Some(Piece { start: rest.as_ptr(), length: rest.len(), is_told });
        if !mem::replace(&mut slot.queued, true) {
            self.queue.push(number);
        }
        Ok(if is_told { sent } else { bytes.len() })
    }

    fn close(&mut self, number: usize) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        let Some(socket) = slot.socket.take() else { return };
        // The kernel keeps the socket open as long as something is under way on it.
        let under_way = [
            (mem::take(&mut slot.receiving), Operation::Receive),
            (mem::take(&mut slot.awaiting_room), Operation::Room),
            (mem::take(&mut slot.sending), Operation::Send),
        ];
        let tokens = under_way.map(|(is, operation)| is.then(|| slot.token(number, operation)));
        slot.outgoing = None;
        slot.sent = 0;
        slot.generation = (slot.generation + 1) % Token::GENERATIONS;
        for token in tokens.into_iter().flatten() {
            let cancel = opcode::AsyncCancel::new(token).build().flags(Flags::SKIP_SUCCESS);
            // Without it, the socket is closed when the peer closes.
            let _ = self.push(cancel.user_data(Token::FORGET.to_bits()));
        }
        let close = opcode::Close::new(Fd(socket.as_raw_fd())).build().flags(Flags::SKIP_SUCCESS);
        if self.push(close.user_data(Token::FORGET.to_bits())).is_ok() {
            let _: RawFd = socket.into_raw_fd();
        }
    }

    fn is_untaken(&self, number: usize) -> bool {
        self.slots.get(number).and_then(|slot| slot.socket.as_ref()).is_some_and(|socket| is_untaken(socket.as_fd()))
    }

    fn wait(&mut self, patience: Duration) -> Result<Woken, Errno> {
        self.offer_held();
        self.events.clear();
        self.seen = 0;
        self.submit_sends()?;
        self.enter(patience)?;
        let room = self.events.capacity();
        self.events.extend(self.ring.completion().take(room).map(|entry| Event {
            token: entry.user_data(),
            result: entry.result(),
            flags: entry.flags(),
        }));
        Ok(match self.events.as_slice() {
            [] => Woken::Patience,
            events if events.iter().any(|event| event.token == Token::CALL.to_bits()) => {
                self.await_call()?;
                Woken::Called
            }
            _ => Woken::Happened,
        })
    }

    fn next(&mut self) -> Option<(usize, Happening<'_>)> {
        self.offer_held();
        loop {
            let event = *self.events.get(self.seen)?;
            self.seen += 1;
            let Token { number, generation, operation } = Token::from_bits(event.token);
            let number = number as usize;
            let buffer = cqueue::buffer_select(event.flags);
            let current = self.slots.get_mut(number).filter(|slot| slot.generation == generation);
            let Some(slot) = current.filter(|slot| slot.socket.is_some()) else {
                buffer.into_iter().for_each(|id| self.buffers.offer(id));
                continue;
            };
            match operation {
                Operation::Receive => {
                    let more = cqueue::more(event.flags);
                    slot.receiving = more;
                    let unsent = slot.outgoing.is_some();
                    match usize::try_from(event.result) {
                        Ok(0) => {
                            buffer.into_iter().for_each(|id| self.buffers.offer(id));
                            // A request that has not left meets a closed connection.
                            let happening = if unsent { Happening::Failed(Errno::PIPE) } else { Happening::Ended };
                            return Some((number, happening));
                        }
                        Ok(length) => {
                            self.held = buffer;
                            if !more && let Err(errno) = self.receive(number) {
                                return Some((number, Happening::Failed(errno)));
                            }
                            let bytes = buffer.map_or(&[][..], |id| self.buffers.filled(id, length));
                            return Some((number, Happening::Received(bytes)));
                        }
                        // All buffers were filled; they are offered again by the time that this is submitted.
                        Err(_) if -event.result == Errno::NOBUFS.raw_os_error() => match self.receive(number) {
                            Ok(()) => continue,
                            Err(errno) => return Some((number, Happening::Failed(errno))),
                        },
                        Err(_) => return Some((number, Happening::Failed(of_result(event.result)))),
                    }
                }
                Operation::Send => {
                    let happening = match (usize::try_from(event.result), mem::take(&mut slot.sending)) {
                        (Ok(sent), true) => {
                            slot.sent = sent;
                            Happening::Writable
                        }
                        // It was cut short by the end of the connection (MSG_WAITALL).
                        (Ok(_), false) => Happening::Failed(Errno::PIPE),
                        (Err(_), _) => Happening::Failed(of_result(event.result)),
                    };
                    return Some((number, happening));
                }
                Operation::Room => {
                    slot.awaiting_room = false;
                    let Some(socket) = slot.socket.as_ref().filter(|_| !slot.connected) else {
                        return Some((number, Happening::Writable));
                    };
                    let connected = match event.result {
                        failed @ ..=-1 => Err(of_result(failed)),
                        _ => socket_error(socket).and_then(|connected| connected),
                    };
                    slot.connected = connected.is_ok();
                    let happening = match connected.and_then(|()| self.receive(number)) {
                        Ok(()) => Happening::Writable,
                        Err(errno) => Happening::Failed(errno),
                    };
                    return Some((number, happening));
                }
                Operation::Call | Operation::Forget => {}
            }
        }
    }
}

impl Uring {
    /// Has the kernel tell once when the thread is called, from the next wait on.
    fn await_call(&mut self) -> Result<(), Errno> {
        let watch = opcode::PollAdd::new(Fd(self.call), u32::from(PollFlags::IN.bits()));
        self.push(watch.build().user_data(Token::CALL.to_bits()))
    }

    /// Has the kernel tell once when the socket takes bytes, which is also when it is connected.
    fn await_room(&mut self, number: usize) -> Result<(), Errno> {
        let Some(slot) = self.slots.get_mut(number) else { return Err(Errno::BADF) };
        let Some(socket) = &slot.socket else { return Err(Errno::BADF) };
        if mem::replace(&mut slot.awaiting_room, true) {
            return Ok(());
        }
        let watch = opcode::PollAdd::new(Fd(socket.as_raw_fd()), u32::from(PollFlags::OUT.bits())).build();
        let entry = watch.user_data(slot.token(number, Operation::Room));
        self.push(entry)
    }

    /// Has the kernel receive until it is cancelled or the connection ends.
    fn receive(&mut self, number: usize) -> Result<(), Errno> {
        let Some(slot) = self.slots.get_mut(number) else { return Err(Errno::BADF) };
        let Some(socket) = &slot.socket else { return Err(Errno::BADF) };
        slot.receiving = true;
        let entry = opcode::RecvMulti::new(Fd(socket.as_raw_fd()), GROUP).build();
        let entry = entry.user_data(slot.token(number, Operation::Receive));
        self.push(entry)
    }

    /// Queues what is to be sent; where the connection was closed since, that is nothing.
    fn submit_sends(&mut self) -> Result<(), Errno> {
        for turn in 0..self.queue.len() {
            let Some(number) = self.queue.get(turn).copied() else { break };
            let Some(slot) = self.slots.get_mut(number) else { continue };
            slot.queued = false;
            let (Some(piece), Some(socket)) = (slot.outgoing.take(), &slot.socket) else { continue };
            let Piece { start, length, is_told } = piece;
            let mut flags = SendFlags::NOSIGNAL.bits();
            let mut entry_flags = Flags::empty();
            if is_told {
                slot.sending = true;
            } else {
                flags |= RecvFlags::WAITALL.bits();
                entry_flags = Flags::SKIP_SUCCESS;
            }
            let length = u32::try_from(length).unwrap_or(u32::MAX);
            let entry = opcode::Send::new(Fd(socket.as_raw_fd()), start, length).flags(flags.cast_signed()).build();
            let entry = entry.flags(entry_flags).user_data(slot.token(number, Operation::Send));
            self.push(entry)?;
        }
        self.queue.clear();
        Ok(())
    }

    fn push(&mut self, entry: squeue::Entry) -> Result<(), Errno> {
        // SAFETY: descriptors stay open until the ring has closed them; what is sent is in the exchanges, which live until
        // nothing is under way any more (see `drop`).
        if unsafe { self.ring.submission().push(&entry) }.is_ok() {
            return Ok(());
        }
        self.ring.submit().map_err(|error| to_errno(&error))?;
        // SAFETY: as above.
        unsafe { self.ring.submission().push(&entry) }.map_err(|_| Errno::AGAIN)
    }

    /// Submits what is queued and waits until something is complete, for no longer than this.
    fn enter(&mut self, patience: Duration) -> Result<(), Errno> {
        let entered = if patience.is_zero() {
            let queue = self.ring.submission();
            // Before a due time this is asked over and over: without a system call, as long as nothing has happened.
            if queue.is_empty() && !queue.taskrun() && !queue.cq_overflow() {
                return Ok(());
            }
            drop(queue);
            self.ring.submit()
        } else {
            let patience = Timespec::from(patience);
            self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&patience))
        };
        match entered.map_err(|error| to_errno(&error)) {
            // Time has passed, or completions must be taken first.
            Ok(_) | Err(Errno::TIME | Errno::INTR | Errno::BUSY | Errno::AGAIN) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    fn offer_held(&mut self) {
        if let Some(id) = self.held.take() {
            self.buffers.offer(id);
        }
    }
}

impl Drop for Uring {
    /// Has everything end that is under way, so that buffers and exchanges are the kernel's no more.
    fn drop(&mut self) {
        let _ = self.ring.submit();
        let _ = self.ring.submitter().register_sync_cancel(Some(LAST_WAIT.into()), CancelBuilder::any());
    }
}

fn to_errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// The error of a completion whose result is negative.
fn of_result(result: i32) -> Errno {
    Errno::from_raw_os_error(result.saturating_neg())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use rustix::event::{EventfdFlags, eventfd};
    use stampede_core::{Protocol, Request};
    use stampede_scenario::{Check, Statuses};

    use super::*;
    use crate::try_out;
    use stampede_seam::Backend;
    use stampede_seam::LoadExchange;

    const PATIENCE: Duration = Duration::from_secs(5);

    /// A ring for one connection with one request, and that request; `None`, said loudly, where io_uring is not permitted.
    fn uring(test: &str) -> Option<(Uring, Arc<[PreparedExchange]>)> {
        if let Err(error) = try_out(Backend::IoUring) {
            let _ = writeln!(io::stderr(), "SKIP {test}: needs io_uring: {error}");
            return None;
        }
        let request =
            Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() };
        let check = Check::new(Statuses::only(200), Vec::new());
        let exchange = LoadExchange::new(request, check);
        let exchanges = Arc::from([PreparedExchange::new(exchange, Protocol::Http11, "http", "localhost", true)]);
        let abort = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        Some((Uring::new(1, &exchanges, &abort).unwrap(), exchanges))
    }

    /// Adds a socket as connection 0 and returns its peer.
    fn connect(uring: &mut Uring) -> UnixStream {
        let (socket, peer) = UnixStream::pair().unwrap();
        uring.add(0, socket.into()).unwrap();
        assert_eq!(next(uring), (Vec::new(), Some(Happening::Writable)));
        peer
    }

    /// What happens next: the bytes of it, or what else it is.
    fn next(uring: &mut Uring) -> (Vec<u8>, Option<Happening<'static>>) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match uring.next() {
                Some((0, Happening::Received(bytes))) => return (bytes.to_vec(), None),
                Some((0, Happening::Writable)) => return (Vec::new(), Some(Happening::Writable)),
                Some((0, Happening::Ended)) => return (Vec::new(), Some(Happening::Ended)),
                Some((0, Happening::Failed(errno))) => return (Vec::new(), Some(Happening::Failed(errno))),
                Some((other, happening)) => panic!("{other} has {happening:?}"),
                None => assert!(Instant::now() < deadline, "nothing happens"),
            }
            uring.wait(PATIENCE).unwrap();
        }
    }

    #[test]
    fn tokens_are_read_back() {
        for operation in [Operation::Receive, Operation::Send, Operation::Room, Operation::Call, Operation::Forget] {
            for (number, generation) in [(0, 0), (u32::MAX, Token::GENERATIONS - 1), (7, 9)] {
                let token = Token { number, generation, operation };
                assert_eq!(Token::from_bits(token.to_bits()), token);
            }
        }
    }

    #[test]
    fn buffers_are_offered_again() {
        let Some((mut uring, exchanges)) = uring("buffers_are_offered_again") else { return };
        let mut peer = connect(&mut uring);
        let request = exchanges[0].request.clone();
        for turn in 0..200_u8 {
            assert_eq!(uring.send(0, Outgoing::Prepared(&exchanges[0], 0)), Ok(request.len()));
            assert_eq!(uring.wait(Duration::ZERO), Ok(Woken::Patience));
            let mut came = vec![0; request.len()];
            peer.read_exact(&mut came).unwrap();
            assert_eq!(came, request);
            peer.write_all(&[turn]).unwrap();
            assert_eq!(next(&mut uring), (vec![turn], None));
        }
    }

    #[test]
    fn what_happened_to_a_closed_socket_is_told_no_more() {
        let Some((mut uring, _)) = uring("what_happened_to_a_closed_socket_is_told_no_more") else { return };
        let mut first = connect(&mut uring);
        first.write_all(b"late").unwrap();
        assert_eq!(uring.wait(PATIENCE), Ok(Woken::Happened));
        uring.close(0);
        let mut second = connect(&mut uring);
        assert_eq!(first.read(&mut [0]).unwrap(), 0, "the socket is closed");
        second.write_all(b"new").unwrap();
        assert_eq!(next(&mut uring), (b"new".to_vec(), None));
    }

    #[test]
    fn a_request_that_meets_the_end_before_it_leaves_has_failed() {
        let Some((mut uring, exchanges)) = uring("a_request_that_meets_the_end_before_it_leaves_has_failed") else {
            return;
        };
        let mut peer = connect(&mut uring);
        peer.write_all(b"answer").unwrap();
        drop(peer);
        assert_eq!(next(&mut uring), (b"answer".to_vec(), None));
        uring.send(0, Outgoing::Prepared(&exchanges[0], 0)).unwrap();
        assert_eq!(next(&mut uring), (Vec::new(), Some(Happening::Failed(Errno::PIPE))));
    }

    #[test]
    fn only_its_own_requests_are_sent_from_where_they_are() {
        let test = "only_its_own_requests_are_sent_from_where_they_are";
        let (Some((mut uring, _)), other) = (uring(test), uring(test)) else { return };
        let (_, others) = other.unwrap();
        let _peer = connect(&mut uring);
        assert_eq!(uring.send(0, Outgoing::Prepared(&others[0], 0)), Err(Errno::FAULT));
    }
}
