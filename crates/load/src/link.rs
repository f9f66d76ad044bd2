//! A connection as its protocol sees it: what has been sent of a request, and what has come of its answer.

use std::time::Instant;

use rustix::io::Errno;
use stampede_wire::response::{DecodeError, Decoder, Progress};

use crate::body_check::Comparing;
use crate::fault::Fault;
use crate::io::{Happening, Io, Outgoing};
use crate::spec::PreparedExchange;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Closed,
    Connecting,
    Open,
}

#[derive(Debug)]
pub(crate) struct Link {
    /// Its number among the thread's connections.
    pub(crate) number: usize,
    pub(crate) stage: Stage,
    pub(crate) connecting_at: Instant,
    /// The server has closed it between two answers.
    pub(crate) closed_between: bool,
    /// Whether it has carried a complete answer.
    reused: bool,
    /// Whether a byte of the present answer has come.
    answering: bool,
    /// Bytes of the request that have been sent.
    written: usize,
    decoder: Decoder,
}

/// What has come of the present answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    Incomplete,
    Complete,
    Broken(Fault),
}

impl Link {
    pub(crate) fn new(number: usize, now: Instant) -> Self {
        Self {
            number,
            stage: Stage::Closed,
            connecting_at: now,
            closed_between: false,
            reused: false,
            answering: false,
            written: 0,
            decoder: Decoder::new(),
        }
    }

    /// Has a new socket.
    pub(crate) fn begin(&mut self, stage: Stage) {
        self.stage = stage;
        self.reused = false;
        self.answering = false;
    }

    /// Sends a request; returns how many of its bytes went out at once.
    pub(crate) fn request(&mut self, io: &mut impl Io, exchange: &PreparedExchange) -> Result<usize, Errno> {
        self.decoder.expect_answer(exchange.is_head);
        self.answering = false;
        self.written = 0;
        self.go_on(io, exchange)
    }

    /// Sends more of a request.
    pub(crate) fn go_on(&mut self, io: &mut impl Io, exchange: &PreparedExchange) -> Result<usize, Errno> {
        if self.written == exchange.request.len() {
            return Ok(0);
        }
        let taken = io.send(self.number, Outgoing::Prepared(exchange, self.written))?;
        self.written += taken;
        Ok(taken)
    }

    /// Whether no byte of the present answer has come yet.
    pub(crate) fn awaits_first_byte(&self) -> bool {
        !self.answering
    }

    /// Reads what has come.
    pub(crate) fn read(&mut self, happening: Happening<'_>, comparing: &mut Comparing<'_>) -> Came {
        let bytes = match happening {
            Happening::Writable => return Came::Incomplete,
            Happening::Failed(errno) => return Came::Broken(Fault::Read(errno)),
            Happening::Ended => {
                return self
                    .decoder
                    .finish()
                    .map_or_else(|error| Came::Broken(Fault::Answer(error)), |()| Came::Complete);
            }
            Happening::Received(bytes) => bytes,
        };
        self.answering = true;
        match self.decoder.feed(bytes, comparing) {
            Ok(Progress::Incomplete) => Came::Incomplete,
            Ok(Progress::Complete { consumed }) if consumed < bytes.len() => Came::Broken(Fault::Surplus),
            Ok(Progress::Complete { .. }) => Came::Complete,
            Err(error) => Came::Broken(Fault::Answer(error)),
        }
    }

    /// An answer is complete: whether the connection may carry another request.
    pub(crate) fn is_kept(&mut self, exchange: &PreparedExchange) -> bool {
        self.reused = true;
        self.decoder.is_reusable() && self.written == exchange.request.len()
    }

    /// Whether the server closed between two answers, and the request that came across it was not taken.
    ///
    /// A request that meets a closed socket, or is left unread in one, is answered with a reset. An end of file that no
    /// reset follows came from a peer that had read everything: a worker that died over this very request, say. The reset
    /// may come a little after the end of file, so it is waited for, on this rare path alone; a peer on another machine may
    /// be slower than that, and its close is then taken for this.
    pub(crate) fn was_closed_between(&self, io: &impl Io, fault: Fault) -> bool {
        self.reused
            && !self.answering
            && fault.is_closed_by_peer()
            && (fault != Fault::Answer(DecodeError::Truncated) || io.is_reset(self.number))
    }

    pub(crate) fn close(&mut self, io: &mut impl Io) {
        if self.stage != Stage::Closed {
            io.close(self.number);
            self.stage = Stage::Closed;
        }
    }
}
