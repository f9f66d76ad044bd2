//! Messages that are to be sent, cut into frames.

use std::collections::VecDeque;

use crate::frame::{HEADER, Header, MOST_PAYLOAD};

/// Messages take turns, a frame each, so that a short one does not wait for a long one.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    next: u64,
    messages: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    bytes: Vec<u8>,
    sent: usize,
}

impl Outbox {
    pub(crate) fn push(&mut self, bytes: Vec<u8>) {
        self.messages.push_back(Waiting { number: self.next, bytes, sent: 0 });
        self.next += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The next frame.
    pub(crate) fn next_frame(&mut self) -> Option<Vec<u8>> {
        let mut waiting = self.messages.pop_front()?;
        let end = waiting.bytes.len().min(waiting.sent + MOST_PAYLOAD);
        let part = &waiting.bytes[waiting.sent..end];
        let header = Header { message: waiting.number, length: part.len(), is_last: end == waiting.bytes.len() };
        let mut frame = Vec::with_capacity(HEADER + part.len());
        frame.extend_from_slice(&header.to_bytes());
        frame.extend_from_slice(part);
        if !header.is_last {
            waiting.sent = end;
            self.messages.push_back(waiting);
        }
        Some(frame)
    }
}
