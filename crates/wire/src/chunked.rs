//! The chunked transfer coding (RFC 9112, section 7.1), read as it comes.

use crate::decode_error::{DecodeError, HEAD_LIMIT};

/// Reads one chunked body. Extensions and trailers are skipped.
#[derive(Debug)]
pub(crate) struct Chunked {
    state: State,
    /// Bytes of the present size line, or of all trailers.
    line: usize,
    /// Where it stopped in bytes that are no chunks.
    stopped_at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Before the first digit of a size.
    SizeStart,
    Size(u64),
    Extension(u64),
    SizeLf(u64),
    /// This many bytes of the chunk are still to come, at least one.
    Data(u64),
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
    End,
}

impl Chunked {
    pub(crate) fn new() -> Self {
        Self { state: State::SizeStart, line: 0, stopped_at: 0 }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.state == State::End
    }

    /// Where it stopped in the bytes that were fed last, after an error.
    pub(crate) fn stopped_at(&self) -> usize {
        self.stopped_at
    }

    /// Reads some bytes of the coding, gives those of the body to `body`, and returns how many were read: all, unless
    /// the body ends before.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut body: impl FnMut(&[u8])) -> Result<usize, DecodeError> {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            match self.state {
                State::Data(left) => {
                    let here = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                    let (data, after) = rest.split_at(here);
                    body(data);
                    rest = after;
                    self.state = match left - here as u64 {
                        0 => State::DataCr,
                        left => State::Data(left),
                    };
                }
                State::End => break,
                state => {
                    self.state = match self.step(state, byte) {
                        Ok(next) => next,
                        Err(error) => {
                            self.stopped_at = bytes.len() - rest.len();
                            return Err(error);
                        }
                    };
                    rest = after;
                }
            }
        }
        Ok(bytes.len() - rest.len())
    }

    fn step(&mut self, state: State, byte: u8) -> Result<State, DecodeError> {
        self.line += 1;
        if self.line > HEAD_LIMIT {
            return Err(DecodeError::Chunk);
        }
        let next = match (state, byte) {
            (State::SizeStart, _) => State::Size(hex(byte).ok_or(DecodeError::Chunk)?),
            (State::Size(size), b'\r') | (State::Extension(size), b'\r') => State::SizeLf(size),
            (State::Size(size), b';' | b' ' | b'\t') => State::Extension(size),
            (State::Size(size), _) => {
                let digit = hex(byte).ok_or(DecodeError::Chunk)?;
                let size = size.checked_mul(16).ok_or(DecodeError::Chunk)?;
                State::Size(size | digit)
            }
            (State::Extension(_), b'\n') => return Err(DecodeError::Chunk),
            (State::Extension(size), _) => State::Extension(size),
            (State::SizeLf(0), b'\n') => State::TrailerStart,
            (State::SizeLf(size), b'\n') => State::Data(size),
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::SizeStart,
            (State::TrailerStart, b'\r') => State::EndLf,
            (State::Trailer, b'\r') => State::TrailerLf,
            (State::TrailerStart | State::Trailer, b'\n') => return Err(DecodeError::Chunk),
            (State::TrailerStart | State::Trailer, _) => State::Trailer,
            (State::TrailerLf, b'\n') => State::TrailerStart,
            (State::EndLf, b'\n') => State::End,
            _ => return Err(DecodeError::Chunk),
        };
        if matches!(next, State::Data(_) | State::SizeStart) {
            self.line = 0;
        }
        Ok(next)
    }
}

fn hex(byte: u8) -> Option<u64> {
    char::from(byte).to_digit(16).map(u64::from)
}
