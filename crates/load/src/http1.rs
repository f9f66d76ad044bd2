//! A connection that carries one request at a time, or several that are sent together (RFC 9112).

use stampede_seam::BreakPoint;
use stampede_wire::response::{AnswerStage, DecodeError, Decoder, ReadProgress, Visitor};

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
    /// Answers that are to come, the present one among them.
    left: u32,
    /// Whether answers are read one by one.
    one_by_one: bool,
    to_head_request: bool,
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

    /// Is sent so many requests together, the answers of which someone may want to read.
    pub(crate) fn expect_answers(&mut self, to_head_request: bool, answers: u32, are_read: bool) {
        self.expect_answer(to_head_request);
        self.left = answers;
        self.one_by_one = are_read || answers > 1;
        self.to_head_request = to_head_request;
    }

    /// Goes on to the next answer; `false` when none will come, since this one was the connection's last.
    pub(crate) fn expect_next(&mut self) -> bool {
        let comes = self.decoder.is_reusable();
        self.decoder.expect_answer(self.to_head_request);
        self.left -= 1;
        comes
    }

    /// Answers that are to come, the present one among them.
    pub(crate) fn answers_left(&self) -> u32 {
        self.left
    }

    /// Whether answers are read by [`Http1::read_next`].
    pub(crate) fn reads_one_by_one(&self) -> bool {
        self.one_by_one
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
            Ok(ReadProgress::Incomplete) => {
                // What came may have been interim answers alone.
                self.answering_finally = self.decoder.stage() != AnswerStage::Nothing;
                Came::Incomplete
            }
            Ok(ReadProgress::Complete { consumed }) if consumed < bytes.len() => {
                let status = comparing.status();
                comparing.breach(Rule::End(status), bytes.get(consumed..).unwrap_or_default());
                Came::Broken(Fault::Surplus)
            }
            Ok(ReadProgress::Complete { .. }) => Came::Complete,
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

    /// Reads up to the end of the present answer: how many bytes belong to it, when it is complete.
    pub(crate) fn read_next(&mut self, bytes: &[u8], visitor: &mut impl Visitor) -> Result<Option<usize>, Fault> {
        if bytes.is_empty() {
            return Ok(None);
        }
        self.answering = true;
        self.answering_finally = true;
        match self.decoder.feed(bytes, visitor) {
            Ok(ReadProgress::Incomplete) => {
                self.answering_finally = self.decoder.stage() != AnswerStage::Nothing;
                Ok(None)
            }
            Ok(ReadProgress::Complete { consumed }) => Ok(Some(consumed)),
            Err(error) => Err(Fault::Answer(error)),
        }
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
