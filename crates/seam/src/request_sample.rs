//! One request of a load, as it is kept where every request is to be seen.

use stampede_core::ErrorClass;

/// One request. Times are nanoseconds; moments count from the begin of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSample {
    /// When it was due.
    pub due_ns: u64,
    /// When it was sent, if it was.
    pub sent_ns: Option<u64>,
    /// How long it waited for a connection that was opened for it, encryption included; 0 where one was open.
    pub connect_ns: u64,
    /// From when it was sent until the kernel had all of it; 0 where it took all at once, and where that is not seen: TLS and HTTP/2.
    pub written_ns: u64,
    /// From when it was sent to the first byte of its answer, if one came. Interim answers do not count.
    pub first_byte_ns: Option<u64>,
    /// From when it was due to its end.
    pub total_ns: u64,
    /// Bytes of the answer's body, transfer coding removed.
    pub bytes: u64,
    /// Number of its step in [`LoadResult::steps`](crate::LoadResult::steps).
    pub step: u32,
    /// Status of a complete answer.
    pub status: Option<u16>,
    /// How it ended.
    pub end: SampleEnd,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleEnd {
    /// With a right answer.
    Ok,
    /// With a wrong answer, or without one.
    Failed(ErrorClass),
    /// It had no end when the load was over.
    Unfinished,
}
