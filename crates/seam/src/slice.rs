//! What happens in each second of a load's window.

use serde::{Deserialize, Serialize};
use stampede_core::Latencies;

/// What has happened to the window's requests within a second, by when it happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Its beginning, in whole seconds from the window's.
    pub second: u64,
    /// Requests that were begun.
    pub sent: u64,
    /// Right answers that came.
    pub ok: u64,
    /// Requests that failed.
    pub failed: u64,
    /// From when a request was sent to the end of its answer, at 2 significant digits.
    pub service: Latencies,
    /// From when a request was due to the end of its answer, or to its time-out, at 2 significant digits.
    pub response: Latencies,
    /// Bytes that were sent on connections.
    pub bytes_sent: u64,
    /// Bytes that came.
    pub bytes_received: u64,
}

impl Slice {
    /// An empty one.
    pub fn new(second: u64) -> Self {
        Self {
            second,
            sent: 0,
            ok: 0,
            failed: 0,
            service: Latencies::coarse(),
            response: Latencies::coarse(),
            bytes_sent: 0,
            bytes_received: 0,
        }
    }

    /// Empties it for another second. Does not allocate.
    pub fn begin(&mut self, from: u64) {
        let Self { second, sent, ok, failed, service, response, bytes_sent, bytes_received } = self;
        *second = from;
        (*sent, *ok, *failed, *bytes_sent, *bytes_received) = (0, 0, 0, 0, 0);
        service.clear();
        response.clear();
    }

    /// Adds what happened in the same second elsewhere. Does not allocate.
    pub fn merge(&mut self, other: &Self) {
        let Self { second: _, sent, ok, failed, service, response, bytes_sent, bytes_received } = other;
        self.sent += sent;
        self.ok += ok;
        self.failed += failed;
        self.service.merge(service);
        self.response.merge(response);
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
    }
}
