//! Puts messages together from what a stream brings, however it is cut. No I/O.

use std::collections::{BTreeMap, VecDeque};

use crate::frame::{HEADER, Header};
use crate::line_error::LineError;
use crate::preamble::{Preamble, Side};

/// Bytes of all messages together that are not complete or not taken.
const MOST_BYTES: usize = 256 << 20;

/// Messages that are not complete at once.
const MOST_MESSAGES: usize = 4096;

/// Reads a preamble, and then messages. What has failed once fails for ever.
#[derive(Debug)]
pub struct MessageReader {
    state: State,
    /// Messages by their numbers, as far as they have come.
    parts: BTreeMap<u64, Vec<u8>>,
    complete: VecDeque<Vec<u8>>,
    /// Bytes of both.
    held: usize,
}

#[derive(Debug)]
enum State {
    /// Waits for the preamble of a side: what came so far, and where it cannot begin any more.
    Preamble {
        from: Side,
        ours: Preamble,
        came: Vec<u8>,
        searched: usize,
    },
    /// Within a header.
    Header {
        bytes: [u8; HEADER],
        came: usize,
    },
    /// Within a frame that has so many bytes to come.
    Payload {
        header: Header,
        left: usize,
    },
    Failed(LineError),
}

const HEADER_BEGINS: State = State::Header { bytes: [0; HEADER], came: 0 };

impl MessageReader {
    /// Reads what this side sends, to whom that has `ours`.
    pub fn new(from: Side, ours: Preamble) -> Self {
        let state = State::Preamble { from, ours, came: Vec::new(), searched: 0 };
        Self { state, parts: BTreeMap::new(), complete: VecDeque::new(), held: 0 }
    }

    /// Whether the preamble has come.
    pub fn has_begun(&self) -> bool {
        matches!(self.state, State::Header { .. } | State::Payload { .. })
    }

    /// Takes in what came.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), LineError> {
        let fed = self.take_in(bytes);
        if let Err(error) = &fed {
            self.state = State::Failed(error.clone());
        }
        fed
    }

    /// The next message that is complete.
    pub fn next_message(&mut self) -> Option<Vec<u8>> {
        let message = self.complete.pop_front()?;
        self.held -= message.len();
        Some(message)
    }

    /// What the end of the stream means now.
    pub fn ended(&self) -> LineError {
        match &self.state {
            State::Preamble { came, .. } => Preamble::missing(came),
            State::Header { came: 0, .. } if self.parts.is_empty() => LineError::Ended,
            State::Header { .. } | State::Payload { .. } => LineError::Truncated,
            State::Failed(error) => error.clone(),
        }
    }

    fn take_in(&mut self, mut bytes: &[u8]) -> Result<(), LineError> {
        while !bytes.is_empty() {
            match &mut self.state {
                State::Failed(error) => return Err(error.clone()),
                State::Preamble { from, ours, came, searched } => {
                    let known = came.len();
                    came.extend_from_slice(bytes);
                    let Some((theirs, end)) = Preamble::find(came, *from, searched)? else { return Ok(()) };
                    if theirs != *ours {
                        return Err(LineError::OtherVersion { theirs, ours: ours.clone() });
                    }
                    bytes = &bytes[end - known..];
                    self.state = HEADER_BEGINS;
                }
                State::Header { bytes: header, came } => {
                    let taken = bytes.len().min(HEADER - *came);
                    header[*came..*came + taken].copy_from_slice(&bytes[..taken]);
                    *came += taken;
                    bytes = &bytes[taken..];
                    if *came == HEADER {
                        let header = Header::read(header)?;
                        self.begin(header)?;
                    }
                }
                State::Payload { header, left } => {
                    let taken = bytes.len().min(*left);
                    *left -= taken;
                    let (header, is_over) = (*header, *left == 0);
                    self.parts.entry(header.message).or_default().extend_from_slice(&bytes[..taken]);
                    bytes = &bytes[taken..];
                    if is_over {
                        self.end(header);
                    }
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, header: Header) -> Result<(), LineError> {
        self.held += header.length;
        if self.held > MOST_BYTES {
            return Err(LineError::MessageTooLarge { most: MOST_BYTES });
        }
        self.parts.entry(header.message).or_default();
        if self.parts.len() > MOST_MESSAGES {
            return Err(LineError::TooManyMessages { most: MOST_MESSAGES });
        }
        self.state = State::Payload { header, left: header.length };
        if header.length == 0 {
            self.end(header);
        }
        Ok(())
    }

    fn end(&mut self, header: Header) {
        self.state = HEADER_BEGINS;
        if header.is_last {
            self.complete.extend(self.parts.remove(&header.message));
        }
    }
}

#[cfg(test)]
mod tests;
