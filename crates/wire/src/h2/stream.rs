//! The requests under way on a connection.

use super::window::{ReceiveWindow, SendWindow};

/// A request, and as much of its answer as decides what may follow.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) is_head_request: bool,
    pub(super) progress: ReadProgress,
    pub(super) send_window: SendWindow,
    pub(super) receive_window: ReceiveWindow,
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadProgress {
    /// There was no final head yet.
    Waiting,
    /// There was, and this much of the body.
    Body { stated: Option<u64>, received: u64 },
}

/// Where a caller's requests go, one at a time.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) stream: Option<Stream>,
    pub(super) unsent: Unsent,
}

/// The part of a request's body that windows hold up. Its memory is kept for the next request.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    bytes: Vec<u8>,
    sent: usize,
}

impl Unsent {
    /// Keeps these bytes instead of any others.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.sent = 0;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.sent += count;
    }
}

/// Streams by their callers' keys and by their identifiers.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// By key.
    slots: Vec<Slot>,
    /// Identifiers of open streams, ascending as they were opened, with their keys.
    open: Vec<(u32, u32)>,
}

impl Streams {
    pub(super) fn open_count(&self) -> usize {
        self.open.len()
    }

    pub(super) fn is_open(&self, key: u32) -> bool {
        self.slots.get(key as usize).is_some_and(|slot| slot.stream.is_some())
    }

    /// Opens a stream whose identifier is higher than any before.
    pub(super) fn open(&mut self, key: u32, stream: Stream) -> &mut Slot {
        let place = key as usize;
        if place >= self.slots.len() {
            self.slots.resize_with(place + 1, Slot::default);
        }
        self.open.push((stream.id, key));
        let slot = &mut self.slots[place];
        slot.stream = Some(stream);
        slot
    }

    /// The key of an open stream.
    #[inline]
    pub(super) fn key(&self, id: u32) -> Option<u32> {
        let place = self.open.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.open[place].1)
    }

    #[inline]
    pub(super) fn slot(&mut self, key: u32) -> Option<&mut Slot> {
        self.slots.get_mut(key as usize)
    }

    #[inline]
    pub(super) fn stream(&mut self, key: u32) -> Option<&mut Stream> {
        self.slot(key)?.stream.as_mut()
    }

    /// Closes the stream of this key.
    pub(super) fn close(&mut self, key: u32) -> Option<Stream> {
        let stream = self.slot(key)?.stream.take()?;
        if let Ok(place) = self.open.binary_search_by_key(&stream.id, |(id, _)| *id) {
            self.open.remove(place);
        }
        Some(stream)
    }

    /// The key of the youngest open stream, if its identifier is higher than `last`.
    pub(super) fn youngest_above(&self, last: u32) -> Option<u32> {
        self.open.last().filter(|(id, _)| *id > last).map(|(_, key)| *key)
    }

    /// The slots of all open streams, the oldest first.
    pub(super) fn for_each(&mut self, mut visit: impl FnMut(&mut Stream, &mut Unsent)) {
        for (_, key) in &self.open {
            if let Some(Slot { stream: Some(stream), unsent }) = self.slots.get_mut(*key as usize) {
                visit(stream, unsent);
            }
        }
    }
}
