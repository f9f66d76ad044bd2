//! Bytes, however they are cut, to frames: lengths, padding and the order of header blocks are looked at here, what a
//! frame does to a stream is not.

use super::fault::{ErrorCode, SessionError};
use super::frame::{FrameHead, HEAD_LEN, LARGEST_31, PAYLOAD_LIMIT, flag, kind};
use crate::decode_error::HEAD_LIMIT;

/// What a server says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    Data(Data<'a>),
    /// A whole header block.
    Headers {
        stream: u32,
        block: &'a [u8],
        end_stream: bool,
    },
    Reset {
        stream: u32,
        code: ErrorCode,
    },
    /// Entries of six bytes each.
    Settings(&'a [u8]),
    Ping(&'a [u8]),
    GoAway {
        last_stream: u32,
        code: ErrorCode,
    },
    WindowUpdate {
        stream: u32,
        increment: u32,
    },
    /// Nothing that matters to a client.
    Ignored,
}

/// A piece of a DATA frame, or the whole.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Data<'a> {
    pub(super) stream: u32,
    /// The frame that begins here.
    pub(super) begins: Option<DataSize>,
    pub(super) bytes: &'a [u8],
    /// The answer's body ends here.
    pub(super) end_stream: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataSize {
    /// What counts against windows: padding too.
    pub(super) payload: u32,
    /// What is body.
    pub(super) body: u32,
}

/// Reads the frames of a server.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    /// Start of a frame that came in pieces.
    partial: Vec<u8>,
    /// The partial frame is complete and has been passed on.
    is_spent: bool,
    /// The rest of a DATA frame, which is passed on as it comes.
    data: Option<DataRest>,
    blocks: Blocks,
    /// The server has begun as it must.
    has_begun: bool,
}

#[derive(Clone, Copy, Debug)]
struct DataRest {
    stream: u32,
    body: usize,
    padding: usize,
    end_stream: bool,
}

impl FrameReader {
    /// Takes the next event from `input`; none when all of it has been taken.
    #[inline]
    pub(super) fn next<'s, 'a: 's>(&'s mut self, input: &mut &'a [u8]) -> Result<Option<Event<'s>>, SessionError> {
        if self.data.is_some()
            && let Some(event) = self.continue_data(input)
        {
            return Ok(Some(event));
        }
        if self.is_spent {
            self.is_spent = false;
            self.partial.clear();
        }
        if self.partial.is_empty()
            && let Some((first, rest)) = input.split_first_chunk::<HEAD_LEN>()
        {
            let head = FrameHead::parse(first);
            self.check(head)?;
            if let Some((payload, rest)) = rest.split_at_checked(gathered_len(head)) {
                *input = rest;
                return match head.kind {
                    kind::DATA => self.begin_data(head, payload.first().copied(), input).map(Some),
                    _ => self.blocks.event(head, payload).map(Some),
                };
            }
        }
        self.gather(input)
    }

    /// Puts together what must be in one piece.
    fn gather<'s, 'a: 's>(&'s mut self, input: &mut &'a [u8]) -> Result<Option<Event<'s>>, SessionError> {
        self.fill(HEAD_LEN, input);
        let Some(first) = self.partial.first_chunk::<HEAD_LEN>() else {
            return Ok(None);
        };
        let head = FrameHead::parse(first);
        self.check(head)?;
        let len = HEAD_LEN + gathered_len(head);
        self.fill(len, input);
        if self.partial.len() < len {
            return Ok(None);
        }
        self.is_spent = true;
        if head.kind == kind::DATA {
            let pad_length = self.partial.get(HEAD_LEN).copied();
            return self.begin_data(head, pad_length, input).map(Some);
        }
        self.blocks.event(head, &self.partial[HEAD_LEN..]).map(Some)
    }

    /// Takes bytes until there are `len` in the partial frame.
    fn fill(&mut self, len: usize, input: &mut &[u8]) {
        let missing = len.saturating_sub(self.partial.len());
        let (taken, rest) = input.split_at(missing.min(input.len()));
        self.partial.extend_from_slice(taken);
        *input = rest;
    }

    /// Refuses a frame that may not come here, or not with this length.
    #[inline]
    fn check(&mut self, head: FrameHead) -> Result<(), SessionError> {
        if !self.has_begun {
            if head.kind != kind::SETTINGS || head.has(flag::ACK) || head.stream != 0 {
                return Err(SessionError::Preface);
            }
            self.has_begun = true;
        }
        if head.len > PAYLOAD_LIMIT {
            return Err(SessionError::FrameSize);
        }
        self.blocks.check(head)?;
        let (len_is_right, on_stream) = match head.kind {
            kind::DATA => (head.len >= gathered_len(head), Some(true)),
            kind::HEADERS | kind::CONTINUATION => (true, Some(true)),
            kind::PRIORITY => (head.len == 5, Some(true)),
            kind::RST_STREAM => (head.len == 4, Some(true)),
            kind::SETTINGS if head.has(flag::ACK) => (head.len == 0, Some(false)),
            kind::SETTINGS => (head.len.is_multiple_of(6), Some(false)),
            kind::PUSH_PROMISE => return Err(SessionError::Push),
            kind::PING => (head.len == 8, Some(false)),
            kind::GOAWAY => (head.len >= 8, Some(false)),
            kind::WINDOW_UPDATE => (head.len == 4, None),
            _ => (true, None),
        };
        if on_stream.is_some_and(|on_stream| on_stream == (head.stream == 0)) {
            return Err(SessionError::StreamZero);
        }
        if len_is_right { Ok(()) } else { Err(SessionError::FrameSize) }
    }

    fn begin_data<'a>(
        &mut self,
        head: FrameHead,
        pad_length: Option<u8>,
        input: &mut &'a [u8],
    ) -> Result<Event<'a>, SessionError> {
        let padding = pad_length.map_or(0, usize::from);
        let body = head.len.checked_sub(gathered_len(head) + padding).ok_or(SessionError::Padding)?;
        let size = DataSize { payload: head.len as u32, body: body as u32 };
        let rest = DataRest { stream: head.stream, body, padding, end_stream: head.has(flag::END_STREAM) };
        Ok(Event::Data(self.take_data(rest, Some(size), input)))
    }

    fn continue_data<'a>(&mut self, input: &mut &'a [u8]) -> Option<Event<'a>> {
        let rest = self.data.take()?;
        if rest.body == 0 {
            // The body, and with it perhaps the answer, has been passed on.
            self.skip_padding(rest, input);
            return None;
        }
        if input.is_empty() {
            self.data = Some(rest);
            return None;
        }
        Some(Event::Data(self.take_data(rest, None, input)))
    }

    fn take_data<'a>(&mut self, rest: DataRest, begins: Option<DataSize>, input: &mut &'a [u8]) -> Data<'a> {
        let (bytes, after) = input.split_at(rest.body.min(input.len()));
        *input = after;
        let rest = DataRest { body: rest.body - bytes.len(), ..rest };
        if rest.body == 0 {
            self.skip_padding(rest, input);
        } else {
            self.data = Some(rest);
        }
        Data { stream: rest.stream, begins, bytes, end_stream: rest.end_stream && rest.body == 0 }
    }

    fn skip_padding(&mut self, rest: DataRest, input: &mut &[u8]) {
        let skipped = rest.padding.min(input.len());
        *input = &input[skipped..];
        let padding = rest.padding - skipped;
        self.data = (padding > 0).then_some(DataRest { padding, ..rest });
    }
}

/// How much of a payload must be there at once: of DATA, the length of its padding.
fn gathered_len(head: FrameHead) -> usize {
    match head.kind {
        kind::DATA => usize::from(head.has(flag::PADDED)),
        _ => head.len,
    }
}

/// Puts header blocks together, and tells what all frames but DATA mean.
#[derive(Debug, Default)]
struct Blocks {
    /// A header block that goes on in CONTINUATION.
    open: Option<OpenBlock>,
    /// Blocks of more than one frame are put together here.
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct OpenBlock {
    stream: u32,
    end_stream: bool,
    /// Bytes of its frames, heads included, so that empty ones are bounded too.
    size: usize,
}

impl Blocks {
    /// A block may not be interrupted (RFC 9113, section 4.3).
    #[inline]
    fn check(&self, head: FrameHead) -> Result<(), SessionError> {
        match &self.open {
            None if head.kind == kind::CONTINUATION => Err(SessionError::Continuation),
            Some(open) if head.kind != kind::CONTINUATION || head.stream != open.stream => {
                Err(SessionError::Continuation)
            }
            Some(open) if open.size + HEAD_LEN + head.len > HEAD_LIMIT => Err(SessionError::BlockTooLong),
            _ => Ok(()),
        }
    }

    /// What a checked frame says.
    #[inline]
    fn event<'s>(&'s mut self, head: FrameHead, payload: &'s [u8]) -> Result<Event<'s>, SessionError> {
        let stream = head.stream;
        Ok(match head.kind {
            kind::HEADERS => {
                let block = fragment(head, payload)?;
                let end_stream = head.has(flag::END_STREAM);
                if head.has(flag::END_HEADERS) {
                    return Ok(Event::Headers { stream, block, end_stream });
                }
                self.open = Some(OpenBlock { stream, end_stream, size: HEAD_LEN + head.len });
                self.bytes.clear();
                self.bytes.extend_from_slice(block);
                Event::Ignored
            }
            kind::CONTINUATION => {
                self.bytes.extend_from_slice(payload);
                match self.open.take() {
                    Some(open) if head.has(flag::END_HEADERS) => {
                        Event::Headers { stream, block: &self.bytes, end_stream: open.end_stream }
                    }
                    open => {
                        self.open = open.map(|open| OpenBlock { size: open.size + HEAD_LEN + head.len, ..open });
                        Event::Ignored
                    }
                }
            }
            kind::RST_STREAM => Event::Reset { stream, code: ErrorCode(word(payload, 0)) },
            kind::SETTINGS if !head.has(flag::ACK) => Event::Settings(payload),
            kind::PING if !head.has(flag::ACK) => Event::Ping(payload),
            kind::GOAWAY => {
                Event::GoAway { last_stream: word(payload, 0) & LARGEST_31, code: ErrorCode(word(payload, 4)) }
            }
            kind::WINDOW_UPDATE => Event::WindowUpdate { stream, increment: word(payload, 0) & LARGEST_31 },
            // Acknowledgements and PRIORITY say nothing to a client, nor do types that are unknown (RFC 9113, section 5.5).
            _ => Event::Ignored,
        })
    }
}

/// The part of a HEADERS frame that belongs to the header block (RFC 9113, section 6.2).
fn fragment(head: FrameHead, payload: &[u8]) -> Result<&[u8], SessionError> {
    let mut fragment = payload;
    let mut padding = 0;
    if head.has(flag::PADDED) {
        let (len, rest) = fragment.split_first().ok_or(SessionError::FrameSize)?;
        (padding, fragment) = (usize::from(*len), rest);
    }
    if head.has(flag::PRIORITY) {
        fragment = fragment.get(5..).ok_or(SessionError::FrameSize)?;
    }
    let len = fragment.len().checked_sub(padding).ok_or(SessionError::Padding)?;
    Ok(&fragment[..len])
}

/// The 32-bit number at a place of a payload whose length has been checked.
fn word(payload: &[u8], place: usize) -> u32 {
    payload[place..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
