//! A connection that carries many requests at the same time (RFC 9113).

use std::time::{Instant, SystemTime};

use stampede_scenario::{Journey, RenderFault, Script};
use stampede_wire::h2::{Refused, RequestHead, Session, SessionError, StreamFault, StreamVisitor};
use stampede_wire::response::{Head, Visitor};

use crate::connection::{Notice, Reception};
use crate::fault::Fault;
use crate::prepared_exchange::PreparedExchange;
use crate::redirect::Hop;

#[derive(Debug)]
pub(crate) struct Http2 {
    session: Session,
    /// It takes no more requests.
    retired: bool,
}

impl Http2 {
    /// A connection that is there. Appends what is said first.
    pub(crate) fn new(out: &mut Vec<u8>) -> Self {
        Self { session: Session::new(out), retired: false }
    }

    /// Begins a request; `false` when it must wait until another one has ended.
    pub(crate) fn request(
        &mut self,
        key: usize,
        exchange: &PreparedExchange,
        out: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        let Some(head) = &exchange.http2 else { return Ok(false) };
        self.begin(key, head, &exchange.content, out)
    }

    /// Begins the next request of a chain of redirects, as [`Http2::request`] does.
    pub(crate) fn request_hop(&mut self, key: usize, hop: &Hop, out: &mut Vec<u8>) -> Result<bool, Fault> {
        let Some(head) = &hop.http2 else { return Ok(false) };
        self.begin(key, head, hop.content(), out)
    }

    /// Begins the present request of a journey, as [`Http2::request`] does. It takes memory for its head and its body.
    pub(crate) fn request_of(
        &mut self,
        key: usize,
        exchange: &PreparedExchange,
        journey: &mut Journey,
        script: &Script,
        now: SystemTime,
        out: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        let Some(mut head) = exchange.http2.clone() else { return Ok(false) };
        let mut content = Vec::with_capacity(journey.prepare(script, now).map_err(Fault::Unwritable)?);
        journey.write_body(script, &mut content).map_err(Fault::Unwritable)?;
        let Some(parts) = journey.parts(script) else { return Ok(false) };
        // A target has nothing but ASCII.
        let text = |bytes| str::from_utf8(bytes).map_err(|_| Fault::Unwritable(RenderFault::Header));
        head.set_path(text(parts.target)?);
        for (name, value) in parts.headers() {
            head.set_header(&name.to_ascii_lowercase(), text(value)?);
        }
        self.begin(key, &head, &content, out)
    }

    fn begin(&mut self, key: usize, head: &RequestHead, content: &[u8], out: &mut Vec<u8>) -> Result<bool, Fault> {
        if self.retired {
            return Ok(false);
        }
        let key = u32::try_from(key).unwrap_or(u32::MAX);
        match self.session.request(key, head, content, out) {
            Ok(()) => Ok(true),
            Err(Refused::GoingAway | Refused::UsedUp | Refused::TooMany) => Ok(false),
            Err(refused @ Refused::SlotInUse) => Err(Fault::Refused(refused)),
        }
    }

    pub(crate) fn cancel(&mut self, key: usize, out: &mut Vec<u8>) {
        self.session.cancel(u32::try_from(key).unwrap_or(u32::MAX), out);
    }

    /// Whether it takes no more requests, and all that it took have ended.
    pub(crate) fn is_done(&self) -> bool {
        self.session.in_flight() == 0 && !self.can_start()
    }

    /// Whether the server has said that it takes no more on it.
    pub(crate) fn is_going_away(&self) -> bool {
        self.session.going_away().is_some()
    }

    pub(crate) fn can_start(&self) -> bool {
        !self.retired && self.session.can_start()
    }

    /// Takes no more requests; those under way are still answered.
    pub(crate) fn retire(&mut self) {
        self.retired = true;
    }

    /// Reads what has come. An error is the end of the connection.
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        at: Instant,
        reception: &mut Reception<'_>,
    ) -> Result<(), SessionError> {
        self.session.feed(bytes, out, &mut Streams { at, reception })
    }
}

/// The users of a connection, as the session speaks of them.
struct Streams<'a, 'b> {
    at: Instant,
    reception: &'a mut Reception<'b>,
}

impl StreamVisitor for Streams<'_, '_> {
    fn head(&mut self, key: u32, head: &Head<'_>) {
        let Self { at, reception } = self;
        if let Some((first_byte_at, mut comparing)) = reception.comparing(key as usize) {
            *first_byte_at = *at;
            comparing.head(head);
        }
    }

    fn interim(&mut self, key: u32, status: u16) {
        if let Some((_, mut comparing)) = self.reception.comparing(key as usize) {
            comparing.interim(status);
        }
    }

    fn body(&mut self, key: u32, bytes: &[u8]) {
        if let Some((_, mut comparing)) = self.reception.comparing(key as usize) {
            comparing.body(bytes);
        }
    }

    fn end(&mut self, key: u32) {
        self.reception.tell(key as usize, Notice::Answered(self.at));
    }

    fn failed(&mut self, key: u32, fault: StreamFault) {
        let notice = match fault {
            StreamFault::NotProcessed => Notice::NotTaken(Fault::Stream(fault)),
            fault => Notice::Failed(Fault::Stream(fault)),
        };
        self.reception.tell(key as usize, notice);
    }
}
