//! What answers say of their server, and the first of them that breaks the protocol. All memory is taken when it is made.

use std::collections::BTreeMap;

use stampede_seam::Breach;
use stampede_wire::response::{DecodeError, Head};

/// The most bytes that are kept of an answer that breaks the protocol.
const BREACH_BYTES: usize = 512;

/// The most bytes that are kept of a server's name.
const SERVER_BYTES: usize = 128;

/// Statuses of interim answers, from 100 on.
const INTERIM: usize = 100;

/// What one thread has noted.
#[derive(Debug)]
pub(crate) struct ProtocolNotes {
    /// Whether an answer has come.
    is_answered: bool,
    server: Vec<u8>,
    interim: Vec<u64>,
    breach: Option<(usize, Rule)>,
    bytes: Vec<u8>,
}

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The bytes are no answer. The status is that of the answer before it on the same connection.
    Answer(DecodeError, Option<u16>),
    /// Something follows an answer of this status.
    End(u16),
}

impl ProtocolNotes {
    pub(crate) fn new() -> Self {
        Self {
            is_answered: false,
            server: Vec::with_capacity(SERVER_BYTES),
            interim: vec![0; INTERIM],
            breach: None,
            bytes: Vec::with_capacity(BREACH_BYTES),
        }
    }

    /// Notes the first answer's server.
    #[inline]
    pub(crate) fn head(&mut self, head: &Head<'_>) {
        if !self.is_answered {
            self.first(head);
        }
    }

    #[cold]
    fn first(&mut self, head: &Head<'_>) {
        self.is_answered = true;
        let server = head.headers().find(|(name, _)| name.eq_ignore_ascii_case("server")).map(|(_, value)| value);
        self.server.extend(server.into_iter().flatten().take(SERVER_BYTES));
    }

    /// Counts an interim answer.
    pub(crate) fn interim(&mut self, status: u16) {
        let place = usize::from(status).checked_sub(INTERIM);
        if let Some(count) = place.and_then(|place| self.interim.get_mut(place)) {
            *count += 1;
        }
    }

    /// Keeps the first answer that breaks a rule, from where it does.
    #[cold]
    pub(crate) fn breach(&mut self, step: usize, rule: Rule, bytes: &[u8]) {
        // Nothing of it has come, or all was right so far.
        if self.breach.is_none() && !matches!(rule, Rule::Answer(DecodeError::Truncated, _)) {
            self.breach = Some((step, rule));
            self.bytes.extend(bytes.iter().take(BREACH_BYTES));
        }
    }

    /// Adds what another thread has noted.
    pub(crate) fn merge(&mut self, other: Self) {
        let Self { is_answered, server, interim, breach, bytes } = other;
        if !self.is_answered {
            (self.is_answered, self.server) = (is_answered, server);
        }
        self.interim.iter_mut().zip(interim).for_each(|(sum, count)| *sum += count);
        if self.breach.is_none() {
            (self.breach, self.bytes) = (breach, bytes);
        }
    }

    /// The server's name, interim answers by status, and the breach in words.
    pub(crate) fn into_parts(self) -> (Option<String>, BTreeMap<u16, u64>, Option<Breach>) {
        let Self { is_answered: _, server, interim, breach, bytes } = self;
        let server = (!server.is_empty()).then(|| String::from_utf8_lossy(&server).into_owned());
        let interim = (100..).zip(interim).filter(|(_, count)| *count > 0).collect();
        (server, interim, breach.map(|(step, rule)| Breach { step, rule: rule.words(&bytes), bytes }))
    }
}

impl Rule {
    /// The rule that these bytes break. Sections are those of RFC 9112.
    fn words(self, bytes: &[u8]) -> String {
        let (error, before) = match self {
            Self::Answer(error, before) => (error, before),
            Self::End(status) => (DecodeError::StatusLine, Some(status)),
        };
        let text = match error {
            DecodeError::StatusLine if is_chunk_end(bytes) => {
                "the end of a chunked body comes where an answer begins: the one before was not chunked, or had ended (section 7.1)"
            }
            DecodeError::StatusLine => match (self, before) {
                (_, Some(status @ (204 | 304))) => {
                    return format!("a body follows an answer with status {status}, which has none (section 6.3)");
                }
                (Self::End(_), _) if bytes.starts_with(b"HTTP/") => "a second answer follows one request (section 9.2)",
                (Self::End(_), _) => "bytes follow the end of an answer, as its head states it (section 6.3)",
                (Self::Answer(..), _) => "it does not begin with a status line of HTTP/1.0 or HTTP/1.1 (section 4)",
            },
            DecodeError::Header if bytes.starts_with(b"\"") => {
                "a header line is in quotation marks, which its name may not have (section 5.1)"
            }
            DecodeError::Header => "a header line is not a name, a colon and a value (section 5)",
            DecodeError::HeadTooLong | DecodeError::TooManyHeaders => {
                "its head is larger than is read here (section 5)"
            }
            DecodeError::Status => "its status is below 100 (section 4)",
            DecodeError::ContentLength => "its Content-Length is not one whole number (section 6.3)",
            DecodeError::TransferCoding => {
                "its Transfer-Encoding is not chunked, which alone was asked for (section 6.1)"
            }
            DecodeError::Chunk => "a chunk is not its size, a line break, its bytes and a line break (section 7.1)",
            DecodeError::Truncated => "the connection was closed before its end (section 8)",
        };
        text.to_owned()
    }
}

/// Whether bytes are what ends a chunked body: `0`, maybe with more zeros, and two line breaks; the line break of the last chunk may
/// come before.
fn is_chunk_end(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\r\n").unwrap_or(bytes);
    let zeros = bytes.iter().take_while(|byte| **byte == b'0').count();
    zeros > 0 && bytes.get(zeros..).is_some_and(|rest| rest.starts_with(b"\r\n"))
}

/// The line of a head that is not a header, with what follows it; the whole head when there is none.
pub(crate) fn bad_line(head: &[u8]) -> &[u8] {
    // A token of RFC 9110, section 5.6.2.
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let mut rest = head;
    let mut is_first = true;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = rest.get(..end).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let name = line.iter().take_while(|byte| **byte != b':').count();
        let (name, value) = line.split_at(name);
        let is_right =
            !name.is_empty() && name.iter().all(is_token) && !value.iter().any(|byte| *byte == 0 || *byte == b'\r');
        if !is_first && (!is_right || value.is_empty()) {
            return rest;
        }
        is_first = false;
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    // The last line has not ended yet.
    if is_first { head } else { rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_is_named() {
        use DecodeError::{Chunk, Header, StatusLine};
        for (rule, bytes, words) in [
            (Rule::Answer(Header, None), "\"X-A: b\"\r\n", "a header line is in quotation marks"),
            (Rule::Answer(Header, None), "X A: b\r\n", "a header line is not a name, a colon and a value"),
            (Rule::Answer(StatusLine, Some(200)), "0\r\n\r\nHTTP/1.1 200 OK", "the end of a chunked body comes where"),
            (Rule::Answer(StatusLine, Some(204)), "hello", "a body follows an answer with status 204"),
            (Rule::Answer(StatusLine, None), "SSH-2.0", "it does not begin with a status line"),
            (Rule::End(304), "hello", "a body follows an answer with status 304"),
            (Rule::End(200), "\r\n0\r\n\r\n", "the end of a chunked body comes where"),
            (Rule::End(200), "HTTP/1.1 200 OK\r\n", "a second answer follows one request"),
            (Rule::End(200), "hello", "bytes follow the end of an answer"),
            (Rule::Answer(Chunk, None), "zz\r\n", "a chunk is not its size"),
        ] {
            let mut notes = ProtocolNotes::new();
            notes.breach(3, rule, bytes.as_bytes());
            notes.breach(4, Rule::End(200), b"later");
            let (_, _, breach) = notes.into_parts();
            let Breach { step, rule: found, bytes: kept } = breach.unwrap();
            assert!(found.starts_with(words) && found.contains("(section "), "{found}");
            assert_eq!((step, kept.as_slice()), (3, bytes.as_bytes()));
        }
    }

    #[test]
    fn the_line_that_is_no_header_is_found() {
        for (head, line) in [
            ("HTTP/1.1 200 OK\r\nA: b\r\n\"C: d\"\r\n\r\n", "\"C: d\"\r\n\r\n"),
            ("HTTP/1.1 200 OK\r\nA\r\nB: c\r\n\r\n", "A\r\nB: c\r\n\r\n"),
            ("HTTP/1.1 200 OK\r\nA: b\r\n C: d\r\n\r\n", " C: d\r\n\r\n"),
            ("HTTP/1.1 200 OK\r\nA: b\r\nX Y", "X Y"),
            ("SSH", "SSH"),
        ] {
            assert_eq!(bad_line(head.as_bytes()), line.as_bytes(), "{head:?}");
        }
    }

    #[test]
    fn notes_are_bounded_and_the_first_ones_stay() {
        let mut notes = ProtocolNotes::new();
        notes.breach(0, Rule::End(200), &[b'x'; 2 * BREACH_BYTES]);
        notes.interim(103);
        let mut other = ProtocolNotes::new();
        other.interim(103);
        other.interim(102);
        // No status of an interim answer.
        other.interim(7);
        other.interim(999);
        notes.merge(other);
        let (server, interim, breach) = notes.into_parts();
        assert_eq!((server, interim), (None, [(102, 1), (103, 2)].into()));
        assert_eq!(breach.unwrap().bytes.len(), BREACH_BYTES);
    }
}
