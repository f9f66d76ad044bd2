//! What the answers of a load were like, beyond their counts and times.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stampede_core::ErrorClass;

/// What the answers of a load were like. Bodies are those of complete answers, transfer coding removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerFacts {
    /// The `Server` header of the first answer of the whole load.
    pub server: Option<String>,
    /// Bytes of the first body in the window; of several threads, the first one's.
    pub first_length: Option<u64>,
    /// Bodies of the window that had another length than the first of their thread.
    pub other_lengths: u64,
    /// Bytes of all bodies in the window.
    pub body_bytes: u64,
    /// Answers of the window after which their connection was not used again.
    pub not_kept: u64,
    /// Interim answers (1xx) of the whole load by status. They are part of no other count.
    pub interim: BTreeMap<u16, u64>,
    /// Requests of the window that the network, the server or a time-out ended, by how far they were.
    pub breaks: Vec<BreakCount>,
    /// The first answer of the whole load that broke the protocol.
    pub breach: Option<Breach>,
}

/// How many requests ended in the same way at the same point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakCount {
    /// How they ended.
    pub class: ErrorClass,
    /// How far they were.
    pub point: BreakPoint,
    /// How many.
    pub count: u64,
}

/// How far a request was when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BreakPoint {
    /// Its connection was being opened.
    Connecting,
    /// Its connection was being encrypted.
    Securing,
    /// It had a connection and had not been sent: the server took no more.
    Queued,
    /// It was sent, and no byte of its answer had come.
    Waiting,
    /// The head of its answer was coming.
    Head,
    /// The body of its answer was coming.
    Body,
}

impl BreakPoint {
    /// All of them, in order.
    pub const ALL: [Self; 6] = [Self::Connecting, Self::Securing, Self::Queued, Self::Waiting, Self::Head, Self::Body];
}

/// An answer that broke the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breach {
    /// Number of the step in [`LoadResult::steps`](crate::LoadResult::steps).
    pub step: usize,
    /// The rule, in words.
    pub rule: String,
    /// The bytes that break it, as far as they are kept.
    pub bytes: Vec<u8>,
}

impl AnswerFacts {
    /// Adds what another generator has seen. What is first is that of the first who had any.
    pub(crate) fn add(&mut self, other: &Self) {
        let Self { server, first_length, other_lengths, body_bytes, not_kept, interim, breaks, breach } = other;
        self.server = self.server.take().or_else(|| server.clone());
        self.first_length = self.first_length.or(*first_length);
        self.other_lengths += other_lengths;
        self.body_bytes += body_bytes;
        self.not_kept += not_kept;
        for (status, count) in interim {
            *self.interim.entry(*status).or_default() += count;
        }
        for BreakCount { class, point, count } in breaks {
            match self.breaks.iter_mut().find(|known| (known.class, known.point) == (*class, *point)) {
                Some(known) => known.count += count,
                None => self.breaks.push(BreakCount { class: *class, point: *point, count: *count }),
            }
        }
        self.breach = self.breach.take().or_else(|| breach.clone());
    }
}
