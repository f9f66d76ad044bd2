//! What the fields of an answer mean to a client (RFC 9113, section 8).

use super::fault::StreamFault;
use super::hpack::ENTRY_OVERHEAD;
use crate::decode_error::{HEAD_LIMIT, HEADER_LIMIT, parse_length};

/// What one field means, found out once for each field that a server has in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Status(u16),
    ContentLength(u64),
    /// Nothing to the session.
    Other,
    /// The answer that has it is malformed.
    Faulty(StreamFault),
}

impl Meaning {
    pub(super) fn of(name: &[u8], value: &[u8]) -> Self {
        if let Some(pseudo) = name.strip_prefix(b":") {
            return match status(value) {
                Some(status) if pseudo == b"status" => Self::Status(status),
                _ => Self::Faulty(StreamFault::Status),
            };
        }
        // Blank space around a value is malformed too, but PHP applications do send it, and clients do read it.
        if name.is_empty() || !name.iter().all(|byte| is_name(*byte)) || !value.iter().all(|byte| is_value(*byte)) {
            return Self::Faulty(StreamFault::Field);
        }
        match name {
            b"content-length" => {
                parse_length(value).map_or(Self::Faulty(StreamFault::ContentLength), Self::ContentLength)
            }
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => {
                Self::Faulty(StreamFault::ConnectionField)
            }
            _ => Self::Other,
        }
    }
}

fn status(value: &[u8]) -> Option<u16> {
    let digits: &[u8; 3] = value.try_into().ok()?;
    let status = digits.iter().try_fold(0, |status, digit| Some(status * 10 + char::from(*digit).to_digit(10)?))?;
    // There is no switching of protocols in HTTP/2 (RFC 9113, section 8.6).
    u16::try_from(status).ok().filter(|status| *status >= 100 && *status != 101)
}

/// A token without upper case (RFC 9110, section 5.6.2, and RFC 9113, section 8.2.1).
fn is_name(byte: u8) -> bool {
    const ALLOWED: [bool; 256] = {
        let mut allowed = [false; 256];
        let token = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
        let mut place = 0;
        while place < token.len() {
            allowed[token[place] as usize] = true;
            place += 1;
        }
        allowed
    };
    ALLOWED[usize::from(byte)]
}

fn is_value(byte: u8) -> bool {
    !matches!(byte, 0 | b'\r' | b'\n')
}

/// The fields of one header block, kept within limits. Its memory serves block after block.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    /// Names and values, each right after the one before.
    text: Vec<u8>,
    /// Where each name and each value ends.
    ends: Vec<(usize, usize)>,
    /// As RFC 9113, section 6.5.2, counts.
    size: usize,
    pub(super) status: Option<u16>,
    pub(super) content_length: Option<u64>,
    /// The first thing that is wrong.
    pub(super) fault: Option<StreamFault>,
}

impl Fields {
    pub(super) fn clear(&mut self) {
        let Self { text, ends, size, status, content_length, fault } = self;
        text.clear();
        ends.clear();
        (*size, *status, *content_length, *fault) = (0, None, None, None);
    }

    #[inline]
    pub(super) fn push(&mut self, name: &[u8], value: &[u8], meaning: Meaning) {
        if self.fault.is_some() {
            return;
        }
        self.size += name.len() + value.len() + ENTRY_OVERHEAD;
        self.fault = if self.size > HEAD_LIMIT {
            Some(StreamFault::HeadTooLong)
        } else if self.ends.len() == HEADER_LIMIT {
            Some(StreamFault::TooManyHeaders)
        } else {
            self.add(name, value, meaning).err()
        };
    }

    fn add(&mut self, name: &[u8], value: &[u8], meaning: Meaning) -> Result<(), StreamFault> {
        match meaning {
            // Once, and before all others (RFC 9113, section 8.3).
            Meaning::Status(status) if self.status.is_none() && self.ends.is_empty() => {
                self.status = Some(status);
                return Ok(());
            }
            Meaning::Status(_) => return Err(StreamFault::Status),
            Meaning::ContentLength(length) => {
                // A repeated length must be the same (RFC 9110, section 8.6).
                if self.content_length.is_some_and(|before| before != length) {
                    return Err(StreamFault::ContentLength);
                }
                self.content_length = Some(length);
            }
            Meaning::Other => {}
            Meaning::Faulty(fault) => return Err(fault),
        }
        self.text.extend_from_slice(name);
        let name_end = self.text.len();
        self.text.extend_from_slice(value);
        self.ends.push((name_end, self.text.len()));
        Ok(())
    }

    /// Names and values, without `:status`.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |(name_end, end)| {
            let (name, value) = (&self.text[start..*name_end], &self.text[*name_end..*end]);
            start = *end;
            // A name that is kept is a token.
            (str::from_utf8(name).unwrap_or_default(), value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_mean_what_the_rfc_says() {
        use Meaning::*;
        let cases: [(&[u8], &[u8], Meaning); 22] = [
            (b":status", b"200", Status(200)),
            (b":status", b"999", Status(999)),
            (b":status", b"099", Faulty(StreamFault::Status)),
            (b":status", b"101", Faulty(StreamFault::Status)),
            (b":status", b"20", Faulty(StreamFault::Status)),
            (b":status", b"2000", Faulty(StreamFault::Status)),
            (b":status", b"+20", Faulty(StreamFault::Status)),
            (b":path", b"/", Faulty(StreamFault::Status)),
            (b":", b"200", Faulty(StreamFault::Status)),
            (b"", b"x", Faulty(StreamFault::Field)),
            (b"X", b"x", Faulty(StreamFault::Field)),
            (b"a b", b"x", Faulty(StreamFault::Field)),
            (b"a:", b"x", Faulty(StreamFault::Field)),
            (b"a\xc3\xa4", b"x", Faulty(StreamFault::Field)),
            (b"a", b"x\r\nb: c", Faulty(StreamFault::Field)),
            (b"a", b"\0", Faulty(StreamFault::Field)),
            (b"a", b" \xff ", Other),
            (b"content-length", b"18446744073709551615", ContentLength(u64::MAX)),
            (b"content-length", b"18446744073709551616", Faulty(StreamFault::ContentLength)),
            (b"content-length", b"", Faulty(StreamFault::ContentLength)),
            (b"transfer-encoding", b"chunked", Faulty(StreamFault::ConnectionField)),
            (b"connection", b"close", Faulty(StreamFault::ConnectionField)),
        ];
        for (name, value, meaning) in cases {
            assert_eq!(Meaning::of(name, value), meaning, "{name:?}: {value:?}");
        }
    }
}
