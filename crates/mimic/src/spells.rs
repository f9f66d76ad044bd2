//! The parts of a request's time, as other tools divide it.

use stampede_seam::RequestSample;

/// A request that was answered. All in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spells {
    /// When it was begun, its connection asked for first where it needed one; from the begin of the load.
    pub(crate) begun: u64,
    pub(crate) connect: u64,
    pub(crate) write: u64,
    /// From when it was written to the first byte of its answer.
    pub(crate) wait: u64,
    pub(crate) read: u64,
    pub(crate) status: u16,
}

impl Spells {
    /// Of a complete answer; without one they do not exist.
    pub(crate) fn of(sample: &RequestSample) -> Option<Self> {
        let RequestSample { due_ns, sent_ns, connect_ns, written_ns, first_byte_ns, total_ns, status, .. } = *sample;
        let (sent, first_byte, status) = (sent_ns?, first_byte_ns?, status?);
        let write = written_ns.min(first_byte);
        Some(Self {
            begun: sent.saturating_sub(connect_ns),
            connect: connect_ns,
            write,
            wait: first_byte - write,
            read: (due_ns + total_ns).saturating_sub(sent + first_byte),
            status,
        })
    }

    /// From when it was begun to the end of its answer.
    pub(crate) fn total(&self) -> u64 {
        self.connect + self.write + self.wait + self.read
    }
}

#[cfg(test)]
mod tests {
    use stampede_seam::SampleEnd;

    use super::*;

    #[test]
    fn parts_make_the_whole() {
        let sample = RequestSample {
            due_ns: 100,
            sent_ns: Some(150),
            connect_ns: 40,
            written_ns: 5,
            first_byte_ns: Some(25),
            total_ns: 90,
            bytes: 0,
            step: 0,
            status: Some(200),
            end: SampleEnd::Ok,
        };
        let spells = Spells::of(&sample).unwrap();
        assert_eq!(spells, Spells { begun: 110, connect: 40, write: 5, wait: 20, read: 15, status: 200 });
        assert_eq!(spells.total(), 190 - 110);
        assert_eq!(Spells::of(&RequestSample { status: None, ..sample }), None);
    }
}
