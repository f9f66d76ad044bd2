//! What each side begins with.
//!
//! It is found behind whatever a shell prints before the program runs, and it stays readable for all versions to come: a mark, two
//! numbers in digits, a line end.

use std::fmt;

use crate::line_error::LineError;

/// What may come before a preamble: a shell's greeting is shorter.
pub const MOST_BEFORE: usize = 64 << 10;

/// What an error shows of what came instead.
const SHOWN: usize = 300;

/// The longest text behind a mark.
const MOST_TEXT: usize = 100;

/// The version of frames and messages. Both sides have the same.
const PROTOCOL: u32 = 2;

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Who asks.
    Client,
    /// Who serves.
    Agent,
}

impl Side {
    /// No text has NUL bytes, and an echo of the one is not taken for the other.
    fn mark(self) -> &'static [u8] {
        match self {
            Self::Client => b"\0stampede-client\0",
            Self::Agent => b"\0stampede-agent\0",
        }
    }
}

/// What a side is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preamble {
    /// The version of frames and messages.
    pub protocol: u32,
    /// The version of the program.
    pub program: String,
}

impl Preamble {
    /// That of this program.
    pub fn ours() -> Self {
        Self { protocol: PROTOCOL, program: env!("CARGO_PKG_VERSION").to_owned() }
    }

    /// What a side begins with.
    pub fn to_bytes(&self, side: Side) -> Vec<u8> {
        let mut bytes = side.mark().to_vec();
        bytes.extend_from_slice(format!("{} {}\n", self.protocol, self.program).as_bytes());
        bytes
    }

    /// Looks for that of a side, and gives it with the number of bytes up to its end; nothing as long as it may still come. It does
    /// not begin before `searched`.
    pub(crate) fn find(bytes: &[u8], from: Side, searched: &mut usize) -> Result<Option<(Self, usize)>, LineError> {
        let mark = from.mark();
        let found = bytes[*searched..].windows(mark.len()).position(|window| window == mark);
        let found = found.map(|place| *searched + place);
        *searched = found.unwrap_or((bytes.len() + 1).saturating_sub(mark.len()).max(*searched));
        let Some(place) = found else {
            return if bytes.len() < MOST_BEFORE + mark.len() { Ok(None) } else { Err(Self::missing(bytes)) };
        };
        if place > MOST_BEFORE {
            return Err(Self::missing(bytes));
        }
        let text = &bytes[place + mark.len()..];
        let Some(length) = text.iter().take(MOST_TEXT).position(|byte| *byte == b'\n') else {
            return if text.len() < MOST_TEXT { Ok(None) } else { Err(Self::missing(bytes)) };
        };
        let line = String::from_utf8_lossy(&text[..length]);
        if line.ends_with('\r') {
            return Err(LineError::Terminal);
        }
        let read =
            line.split_once(' ').and_then(|(protocol, program)| Some((protocol.parse().ok()?, program.to_owned())));
        let (protocol, program) = read.ok_or_else(|| Self::missing(bytes))?;
        Ok(Some((Self { protocol, program }, place + mark.len() + length + 1)))
    }

    /// What is wrong when a line ends before one came.
    pub(crate) fn missing(bytes: &[u8]) -> LineError {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]);
        LineError::NotStampede { came: text.trim().to_owned() }
    }
}

impl fmt::Display for Preamble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stampede {} with protocol {}", self.program, self.protocol)
    }
}
