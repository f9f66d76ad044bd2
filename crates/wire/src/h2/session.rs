//! One connection, for its owner.

use super::connection::Connection;
use super::fault::{Refused, SessionError};
use super::frame;
use super::frame_reader::FrameReader;
use super::request_head::RequestHead;
use super::stream_visitor::{GoAway, StreamVisitor};

/// One connection, the client's side of it.
///
/// Every method that has something to say to the server appends it to `out`. The owner sends all of it in order and then
/// empties `out`; a server that does not read is found out by what gathers there.
///
/// Requests are told apart by keys: small dense numbers of the owner's, each with one request at a time. Memory is kept
/// and used again: requests and answers of the kind that was there before allocate nothing.
#[derive(Debug)]
pub struct Session {
    reader: FrameReader,
    connection: Connection,
}

impl Session {
    /// The client's side of a connection that is open, with prior knowledge or by ALPN. Appends its preface (RFC 9113,
    /// section 3.4); requests may follow at once.
    pub fn new(out: &mut Vec<u8>) -> Self {
        Self { reader: FrameReader::default(), connection: Connection::new(out) }
    }

    /// Starts a request for the slot `key`. What the server's windows do not let through of `body` is kept and sent when
    /// they open.
    ///
    /// # Errors
    ///
    /// When it cannot be started now, or ever; nothing was appended then.
    pub fn request(&mut self, key: u32, head: &RequestHead, body: &[u8], out: &mut Vec<u8>) -> Result<(), Refused> {
        self.connection.request(key, head, body, out)
    }

    /// Whether one more request could be started now, in a free slot.
    pub fn can_start(&self) -> bool {
        self.connection.room().is_ok()
    }

    /// How many requests are under way.
    pub fn in_flight(&self) -> usize {
        self.connection.in_flight()
    }

    /// What the server said when it said that it takes no more requests. Requests under way may still be answered; once
    /// there are none, the connection is to be closed.
    pub fn going_away(&self) -> Option<GoAway> {
        self.connection.going_away()
    }

    /// Gives up the request of this slot, if one is under way. The slot is free, and the visitor hears no more of it.
    pub fn cancel(&mut self, key: u32, out: &mut Vec<u8>) {
        self.connection.cancel(key, out);
    }

    /// Reads the next bytes of the connection.
    ///
    /// How the bytes are cut has no influence on what the visitor is told, but for how bodies are cut.
    ///
    /// # Errors
    ///
    /// When the connection is of no more use. What is in `out` tells the server why and may still be sent; then the
    /// connection is to be closed. Requests under way have failed with it, which the visitor is not told.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        visitor: &mut impl StreamVisitor,
    ) -> Result<(), SessionError> {
        let fed = self.read(bytes, out, visitor);
        if let Err(error) = fed {
            frame::write_goaway(error.code(), out);
        }
        fed
    }

    fn read(&mut self, bytes: &[u8], out: &mut Vec<u8>, visitor: &mut impl StreamVisitor) -> Result<(), SessionError> {
        if out.is_empty() {
            self.connection.flushed();
        }
        let mut rest = bytes;
        while let Some(event) = self.reader.next(&mut rest)? {
            self.connection.handle(event, out, visitor)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
