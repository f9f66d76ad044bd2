//! Answers, read from bytes as they come (RFC 9112).
//!
//! A [`Decoder`] is told each piece that a connection delivers, however it is cut, and passes the status and the body on
//! without keeping them. After [`Decoder::new`] it allocates only for heads that come in pieces and are longer than most:
//! room for the longest of them, which it keeps.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};

use crate::chunked::Chunked;
use crate::decode_error::parse_length;
pub use crate::decode_error::{DecodeError, HEAD_LIMIT, HEADER_LIMIT};
use crate::h2::Fields;

/// Room for a head that comes in pieces: at first, which is enough for most, and what is added at a time.
const HEAD_STEP: usize = 512;

/// Takes what a [`Decoder`] reads.
pub trait Visitor {
    /// The final status with its headers; called once for each answer, before its body.
    fn head(&mut self, head: &Head<'_>);

    /// The next bytes of the body, transfer coding removed.
    fn body(&mut self, bytes: &[u8]);

    /// The status of an interim answer (1xx), which comes before the final one.
    fn interim(&mut self, _status: u16) {}
}

/// Status and headers of an answer.
#[derive(Debug)]
pub struct Head<'a> {
    /// The status, from 100 to 999.
    pub status: u16,
    headers: Headers<'a>,
}

#[derive(Debug)]
enum Headers<'a> {
    Http1(&'a [Header<'a>]),
    Http2(&'a Fields),
}

impl<'a> Head<'a> {
    pub(crate) fn of_http2(status: u16, fields: &'a Fields) -> Self {
        Self { status, headers: Headers::Http2(fields) }
    }

    /// Names, as the server wrote them, and values.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let (lines, fields) = match self.headers {
            Headers::Http1(lines) => (lines, None),
            Headers::Http2(fields) => (&[][..], Some(fields)),
        };
        let lines = lines.iter().map(|header| (header.name, header.value));
        lines.chain(fields.into_iter().flat_map(Fields::iter))
    }
}

/// How far an answer has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadProgress {
    /// More bytes must come, or the connection's end.
    Incomplete,
    /// The answer is complete.
    Complete {
        /// How many of the bytes belong to it.
        consumed: usize,
    },
}

/// Reads answers one after the other.
#[derive(Debug)]
pub struct Decoder {
    state: State,
    /// Start of a head that came in pieces.
    partial_head: Vec<u8>,
    body_expected: bool,
    reusable: bool,
    /// Where it stopped in the bytes that were no answer.
    stopped_at: usize,
}

/// How far the present answer is, interim ones left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerStage {
    /// Nothing of it has come.
    Nothing,
    /// A part of its head has.
    Head,
    /// Its head has.
    Body,
}

#[derive(Debug)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    Complete,
}

impl Decoder {
    /// A decoder for the answer to a request that is not `HEAD`. Holds half a KiB, since there may be tens of thousands.
    pub fn new() -> Self {
        Self {
            state: State::Head,
            partial_head: Vec::with_capacity(HEAD_STEP),
            body_expected: true,
            reusable: false,
            stopped_at: 0,
        }
    }

    /// How far the present answer is.
    pub fn stage(&self) -> AnswerStage {
        match self.state {
            State::Head if self.partial_head.is_empty() => AnswerStage::Nothing,
            State::Head => AnswerStage::Head,
            State::Length(_) | State::Chunked(_) | State::UntilClose | State::Complete => AnswerStage::Body,
        }
    }

    /// The beginning of a head that came in pieces and has not ended, or is none.
    pub fn partial_head(&self) -> &[u8] {
        &self.partial_head
    }

    /// Where the bytes that were fed last stopped being an answer, after an error: at the head, or at the byte of a chunk.
    pub fn stopped_at(&self) -> usize {
        self.stopped_at
    }

    /// Makes ready for the next answer. The answer to a `HEAD` request has no body, whatever its headers say.
    pub fn expect_answer(&mut self, to_head_request: bool) {
        self.state = State::Head;
        self.partial_head.clear();
        self.body_expected = !to_head_request;
        self.reusable = false;
    }

    /// Whether the connection may carry another request; meaningful when the answer is complete.
    pub fn is_reusable(&self) -> bool {
        self.reusable
    }

    /// Reads the next bytes of the answer. Interim answers (1xx) are skipped.
    ///
    /// # Errors
    ///
    /// When the bytes are not an answer. How the bytes are cut has no influence on the result.
    pub fn feed(&mut self, bytes: &[u8], visitor: &mut impl Visitor) -> Result<ReadProgress, DecodeError> {
        let mut rest = bytes;
        loop {
            if matches!(self.state, State::Complete) {
                return Ok(ReadProgress::Complete { consumed: bytes.len() - rest.len() });
            }
            if rest.is_empty() {
                return Ok(ReadProgress::Incomplete);
            }
            let used = match &mut self.state {
                State::Head => match self.feed_head(rest, visitor) {
                    Ok(used) => used,
                    Err(error) => {
                        self.stopped_at = bytes.len() - rest.len();
                        return Err(error);
                    }
                },
                State::Length(left) => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    visitor.body(&rest[..here]);
                    *left -= here as u64;
                    if *left == 0 {
                        self.state = State::Complete;
                    }
                    here
                }
                State::Chunked(chunked) => {
                    let used = match chunked.feed(rest, |data| visitor.body(data)) {
                        Ok(used) => used,
                        Err(error) => {
                            self.stopped_at = bytes.len() - rest.len() + chunked.stopped_at();
                            return Err(error);
                        }
                    };
                    if chunked.is_complete() {
                        self.state = State::Complete;
                    }
                    used
                }
                State::UntilClose => {
                    visitor.body(rest);
                    rest.len()
                }
                State::Complete => 0,
            };
            rest = &rest[used..];
        }
    }

    /// Says that the server has closed the connection, which ends an answer without a stated length.
    ///
    /// # Errors
    ///
    /// When the answer is not complete.
    pub fn finish(&mut self) -> Result<(), DecodeError> {
        match self.state {
            State::UntilClose | State::Complete => {
                self.state = State::Complete;
                Ok(())
            }
            State::Head | State::Length(_) | State::Chunked(_) => Err(DecodeError::Truncated),
        }
    }

    /// Reads a head, directly from `bytes` when it is there as a whole; returns how many bytes were used.
    fn feed_head(&mut self, bytes: &[u8], visitor: &mut impl Visitor) -> Result<usize, DecodeError> {
        let kept = self.partial_head.len();
        let taken = bytes.len().min(HEAD_LIMIT - kept);
        let piece = &bytes[..taken];
        let parsed = if kept == 0 {
            parse_head(piece, self.body_expected, visitor)?
        } else {
            self.keep(piece);
            parse_head(&self.partial_head, self.body_expected, visitor)?
        };
        match parsed {
            Some(head) => {
                self.partial_head.clear();
                self.state = head.state;
                self.reusable = head.reusable;
                Ok(head.len - kept)
            }
            None if kept + taken == HEAD_LIMIT => Err(DecodeError::HeadTooLong),
            None => {
                if kept == 0 {
                    self.keep(piece);
                }
                Ok(taken)
            }
        }
    }

    /// Adds to the head that comes in pieces. Memory grows by small steps, not to twice what there is.
    fn keep(&mut self, piece: &[u8]) {
        let len = self.partial_head.len() + piece.len();
        if len > self.partial_head.capacity() {
            self.partial_head.reserve_exact(len.next_multiple_of(HEAD_STEP) - self.partial_head.len());
        }
        self.partial_head.extend_from_slice(piece);
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

struct ParsedHead {
    len: usize,
    /// What follows the head.
    state: State,
    reusable: bool,
}

fn parse_head(
    bytes: &[u8],
    body_expected: bool,
    visitor: &mut impl Visitor,
) -> Result<Option<ParsedHead>, DecodeError> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADER_LIMIT];
    let mut response = Response::new(&mut []);
    let parsed = ParserConfig::default()
        .parse_response_with_uninit_headers(&mut response, bytes, &mut headers)
        .map_err(DecodeError::from)?;
    let (Status::Complete(len), Some(version), Some(status)) = (parsed, response.version, response.code) else {
        return Ok(None);
    };
    // 101 is final: the connection speaks another protocol from here on.
    if matches!(status, 100..=199) && status != 101 {
        visitor.interim(status);
        return Ok(Some(ParsedHead { len, state: State::Head, reusable: false }));
    }
    if status < 100 {
        return Err(DecodeError::Status);
    }
    let framing = Framing::read(response.headers)?;
    let body_expected = body_expected && !matches!(status, 101 | 204 | 304);
    let state = match (&framing, body_expected) {
        (_, false) => State::Complete,
        (Framing { chunked: true, .. }, true) => State::Chunked(Chunked::new()),
        (Framing { length: Some(0), .. }, true) => State::Complete,
        (Framing { length: Some(length), .. }, true) => State::Length(*length),
        (Framing { length: None, .. }, true) => State::UntilClose,
    };
    // RFC 9112, section 9.3. A transfer coding in HTTP/1.0 is faulty framing (section 6.1).
    let persistent = match version {
        0 => framing.keep_alive && !framing.chunked,
        _ => true,
    };
    visitor.head(&Head { status, headers: Headers::Http1(response.headers) });
    Ok(Some(ParsedHead {
        len,
        reusable: persistent && !framing.close && status != 101 && !matches!(state, State::UntilClose),
        state,
    }))
}

/// The headers that say where a body ends and whether the connection lives on.
#[derive(Debug, Default)]
struct Framing {
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

impl Framing {
    fn read(headers: &[Header<'_>]) -> Result<Self, DecodeError> {
        let mut framing = Self::default();
        // Nearly always a value is one item without blanks, which is read without looking for others.
        for Header { name, value } in headers {
            match name.len() {
                14 if name.eq_ignore_ascii_case("content-length") => {
                    if framing.length.is_none()
                        && let Some(length) = parse_length(value)
                    {
                        framing.length = Some(length);
                        continue;
                    }
                    for item in items(value) {
                        let length = parse_length(item).ok_or(DecodeError::ContentLength)?;
                        // A repeated length must be the same (RFC 9110, section 8.6).
                        if framing.length.is_some_and(|before| before != length) {
                            return Err(DecodeError::ContentLength);
                        }
                        framing.length = Some(length);
                    }
                }
                17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                    for item in items(value) {
                        if framing.chunked || !item.eq_ignore_ascii_case(b"chunked") {
                            return Err(DecodeError::TransferCoding);
                        }
                        framing.chunked = true;
                    }
                }
                10 if name.eq_ignore_ascii_case("connection") => {
                    if *value == b"keep-alive" {
                        framing.keep_alive = true;
                        continue;
                    }
                    for item in items(value) {
                        framing.close |= item.eq_ignore_ascii_case(b"close");
                        framing.keep_alive |= item.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                _ => {}
            }
        }
        Ok(framing)
    }
}

/// The items of a list such as `a, b`.
fn items(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests;
