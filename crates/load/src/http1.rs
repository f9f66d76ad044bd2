//! A connection that carries one request at a time (RFC 9112).

use stampede_seam::BreakPoint;
use stampede_wire::response::{AnswerStage, DecodeError, Decoder, Progress};

use crate::body_check::Comparing;
use crate::fault::Fault;
use crate::protocol_notes::{Rule, bad_line};

#[derive(Debug, Default)]
pub(crate) struct Http1 {
    decoder: Decoder,
    /// Whether it has carried a complete answer.
    reused: bool,
    /// Whether a byte of the present answer has come.
    answering: bool,
    /// Whether it is a byte of the final answer.
    answering_finally: bool,
}

/// What has come of the present answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    Incomplete,
    Complete,
    Broken(Fault),
}

impl Http1 {
    /// Has a new connection.
    pub(crate) fn begin(&mut self) {
        self.reused = false;
        self.answering = false;
        self.answering_finally = false;
    }

    pub(crate) fn expect_answer(&mut self, to_head_request: bool) {
        self.decoder.expect_answer(to_head_request);
        self.answering = false;
        self.answering_finally = false;
    }

    /// Whether no byte of the present answer has come yet; interim answers are none.
    pub(crate) fn awaits_first_byte(&self) -> bool {
        !self.answering_finally
    }

    /// Whether it has carried a complete answer.
    pub(crate) fn has_answered(&self) -> bool {
        self.reused
    }

    /// How far the present answer is.
    pub(crate) fn answer_point(&self) -> BreakPoint {
        match self.decoder.stage() {
            AnswerStage::Nothing => BreakPoint::Waiting,
            AnswerStage::Head => BreakPoint::Head,
            AnswerStage::Body => BreakPoint::Body,
        }
    }

    /// Reads what has come.
    pub(crate) fn read(&mut self, bytes: &[u8], comparing: &mut Comparing<'_>) -> Came {
        self.answering = true;
        self.answering_finally = true;
        match self.decoder.feed(bytes, comparing) {
            Ok(Progress::Incomplete) => {
                // What came may have been interim answers alone.
                self.answering_finally = self.decoder.stage() != AnswerStage::Nothing;
                Came::Incomplete
            }
            Ok(Progress::Complete { consumed }) if consumed < bytes.len() => {
                let status = comparing.status();
                comparing.breach(Rule::End(status), bytes.get(consumed..).unwrap_or_default());
                Came::Broken(Fault::Surplus)
            }
            Ok(Progress::Complete { .. }) => Came::Complete,
            Err(error) => {
                self.note(error, bytes, comparing);
                Came::Broken(Fault::Answer(error))
            }
        }
    }

    /// Notes bytes that are no answer, from where they are not.
    #[cold]
    fn note(&self, error: DecodeError, bytes: &[u8], comparing: &mut Comparing<'_>) {
        let before = self.reused.then(|| comparing.status());
        let from = match self.decoder.partial_head() {
            [] => bytes.get(self.decoder.stopped_at()..).unwrap_or(bytes),
            head => head,
        };
        let from = if error == DecodeError::Header { bad_line(from) } else { from };
        comparing.breach(Rule::Answer(error, before), from);
    }

    /// The server sends no more, which may be the end of an answer.
    pub(crate) fn end(&mut self) -> Came {
        self.decoder.finish().map_or_else(|error| Came::Broken(Fault::Answer(error)), |()| Came::Complete)
    }

    /// An answer is complete: whether the connection may carry another request.
    pub(crate) fn is_kept(&mut self) -> bool {
        self.reused = true;
        self.decoder.is_reusable()
    }

    /// Whether the server may have closed between two answers, before the present request came to it.
    ///
    /// A request that meets a closed socket is not acknowledged by its end of file, and is answered with a reset, as is one
    /// that is left unread. Otherwise the end came from a peer that had read everything: a worker that died over this very
    /// request, say. The reset may come a little after the end of file, so it is waited for, on this rare path alone. A peer
    /// that ends its side first and still takes what comes (a lingering close) looks like such a worker where our request came
    /// to it before its end was seen here.
    pub(crate) fn was_closed_between(&self, fault: Fault, is_untaken: impl FnOnce() -> bool) -> bool {
        self.reused
            && !self.answering
            && fault.is_closed_by_peer()
            && (fault != Fault::Answer(DecodeError::Truncated) || is_untaken())
    }
}
