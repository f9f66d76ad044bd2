//! Which request a connection sends next.

use std::time::Instant;

use crate::arrivals::Arrivals;
use crate::ramp::Ramp;

/// Says when the requests of one thread are due. It reads no clock.
#[derive(Debug)]
pub(crate) enum Pacer {
    /// The closed model: a connection's next request is due with its previous answer.
    Closed {
        /// Requests of the window that may still be begun.
        left: u64,
        /// Who is there, where that changes.
        ramp: Option<Box<Ramp>>,
    },
    /// The open model: due times are given, and connections take what is due.
    Open(Box<Arrivals>),
}

impl Pacer {
    /// When the next request of an open load is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        match self {
            Self::Closed { .. } => None,
            Self::Open(arrivals) => arrivals.next().map(|arrival| arrival.due),
        }
    }
}
