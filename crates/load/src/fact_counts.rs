//! Counts of what answers were like, and of how far requests were when they broke off.

use stampede_core::ErrorClass;
use stampede_seam::{BreakCount, BreakPoint};

/// What one thread has counted in its window, or several. Takes no memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FactCounts {
    /// Bytes of the first body.
    pub(crate) first_length: Option<u64>,
    pub(crate) other_lengths: u64,
    pub(crate) body_bytes: u64,
    pub(crate) not_kept: u64,
    breaks: [[u64; BreakPoint::ALL.len()]; ErrorClass::ALL.len()],
}

impl FactCounts {
    /// A complete answer had a body of this length.
    #[inline]
    pub(crate) fn answered(&mut self, length: u64) {
        self.body_bytes += length;
        let first = *self.first_length.get_or_insert(length);
        self.other_lengths += u64::from(first != length);
    }

    /// A request broke off.
    pub(crate) fn broke(&mut self, class: ErrorClass, point: BreakPoint) {
        let place = ErrorClass::ALL.iter().position(|known| *known == class);
        let counts = place.and_then(|place| self.breaks.get_mut(place));
        if let (Some(counts), Some(place)) = (counts, BreakPoint::ALL.iter().position(|known| *known == point))
            && let Some(count) = counts.get_mut(place)
        {
            *count += 1;
        }
    }

    /// Adds what another thread has counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { first_length, other_lengths, body_bytes, not_kept, breaks } = other;
        self.first_length = self.first_length.or(*first_length);
        self.other_lengths += other_lengths;
        self.body_bytes += body_bytes;
        self.not_kept += not_kept;
        let sums = self.breaks.iter_mut().flatten();
        sums.zip(breaks.iter().flatten()).for_each(|(sum, count)| *sum += count);
    }

    /// What broke off, and where.
    pub(crate) fn breaks(&self) -> Vec<BreakCount> {
        let of_class = |(class, counts): (&ErrorClass, &[u64; BreakPoint::ALL.len()])| {
            let points = BreakPoint::ALL.into_iter().zip(*counts).filter(|(_, count)| *count > 0);
            points.map(|(point, count)| BreakCount { class: *class, point, count }).collect::<Vec<_>>()
        };
        ErrorClass::ALL.iter().zip(&self.breaks).flat_map(of_class).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_up() {
        let mut counts = FactCounts::default();
        [5, 5, 6].into_iter().for_each(|length| counts.answered(length));
        counts.broke(ErrorClass::Reset, BreakPoint::Body);
        let mut other = FactCounts::default();
        other.answered(7);
        other.broke(ErrorClass::Reset, BreakPoint::Body);
        other.broke(ErrorClass::Refused, BreakPoint::Connecting);
        counts.merge(&other);
        assert_eq!((counts.first_length, counts.other_lengths, counts.body_bytes), (Some(5), 1, 23));
        let found: Vec<_> = counts.breaks().into_iter().map(|found| (found.class, found.point, found.count)).collect();
        let expected = [(ErrorClass::Refused, BreakPoint::Connecting, 1), (ErrorClass::Reset, BreakPoint::Body, 2)];
        assert_eq!(found, expected);
    }
}
