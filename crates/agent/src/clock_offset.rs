//! How far an agent's clock is ahead of ours.
//!
//! A ping brings the agent's time between two of ours; its offset is that of their middle and off by half of the round trip at
//! most (Cristian 1989). Of several the offset lies where their intervals overlap: one may have been quick there, another one back, so
//! that the least delay of each way counts. Two clocks drift apart, so that what was known becomes less certain with its age.

use std::time::Duration;

use stampede_seam::Moment;

/// How far two quartz clocks may drift apart in a second: 50 millionths each.
const DRIFT: f64 = 100e-6;

/// An offset of two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// The agent's time minus ours, in nanoseconds since each clock's beginning.
    pub ns: i64,
    /// By how much it is off at most.
    pub bound: Duration,
}

impl ClockOffset {
    /// What a ping says that was sent and answered at these times of ours.
    pub(crate) fn of_ping(sent: Duration, at: Moment, received: Duration) -> Self {
        let trip = received.saturating_sub(sent);
        let middle = sent + trip / 2;
        // Half a nanosecond was rounded off, and the answer is from some time within the trip.
        let bound = trip / 2 + trip.mul_f64(DRIFT) + Duration::from_nanos(1);
        Self { ns: nanos(at.since_start()) - nanos(middle), bound }
    }

    /// Where this and a later offset overlap; the later one where they do not, since a clock has jumped.
    pub(crate) fn narrowed_by(self, later: Self) -> Self {
        let low = self.low().max(later.low());
        let high = self.high().min(later.high());
        if low > high {
            return later;
        }
        let width = high.abs_diff(low);
        Self { ns: low + (width / 2) as i64, bound: Duration::from_nanos(width.div_ceil(2)) }
    }

    fn low(&self) -> i64 {
        self.ns.saturating_sub(nanos(self.bound))
    }

    fn high(&self) -> i64 {
        self.ns.saturating_add(nanos(self.bound))
    }

    /// The agent's moment at a time of ours.
    pub(crate) fn there(&self, here: Duration) -> Moment {
        let ns = nanos(here).saturating_add(self.ns);
        Moment::new(Duration::from_nanos(u64::try_from(ns).unwrap_or(0)))
    }

    /// Our time at a moment of the agent's.
    pub(crate) fn here(&self, there: Moment) -> Duration {
        let ns = nanos(there.since_start()).saturating_sub(self.ns);
        Duration::from_nanos(u64::try_from(ns).unwrap_or(0))
    }
}

/// An agent's clock, measured at the beginning and again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockCheck {
    /// What was measured when the line began.
    pub first: ClockOffset,
    /// What was measured now.
    pub last: ClockOffset,
}

impl ClockCheck {
    /// By how much the clocks have moved against each other, to within the sum of both bounds.
    pub fn drift(&self) -> Duration {
        Duration::from_nanos(self.last.ns.abs_diff(self.first.ns))
    }
}

/// What is known of an offset, ping after ping.
#[derive(Debug)]
pub(crate) struct OffsetEstimate {
    offset: ClockOffset,
    /// When it was measured.
    at: Duration,
}

impl OffsetEstimate {
    pub(crate) fn new(offset: ClockOffset, at: Duration) -> Self {
        Self { offset, at }
    }

    /// The offset, as certain as it is now.
    pub(crate) fn offset(&self, now: Duration) -> ClockOffset {
        let bound = self.offset.bound + now.saturating_sub(self.at).mul_f64(DRIFT);
        ClockOffset { bound, ..self.offset }
    }

    /// Takes in what a ping says.
    pub(crate) fn add(&mut self, offset: ClockOffset, now: Duration) {
        *self = Self::new(self.offset(now).narrowed_by(offset), now);
    }
}

/// The fewest and the most pings of one measurement.
pub(crate) const FEWEST_PINGS: usize = 16;
const MOST_PINGS: usize = 160;

/// How far the least delay that was met each way should be from the least that there is.
const PRECISION: Duration = Duration::from_micros(100);

/// How many pings a measurement needs that began with these. Of `n` delays that are spread evenly over a width, the least is an
/// `n`-th of it above the bottom, on average.
pub(crate) fn pings_needed(first: &[ClockOffset]) -> usize {
    let mut bounds: Vec<Duration> = first.iter().map(|offset| offset.bound).collect();
    bounds.sort_unstable();
    let (Some(least), Some(median)) = (bounds.first(), bounds.get(bounds.len() / 2)) else { return FEWEST_PINGS };
    // A bound is half of both ways, whose widths the median is above the least.
    let width = (*median - *least) * 2;
    (width.div_duration_f64(PRECISION) as usize).clamp(FEWEST_PINGS, MOST_PINGS)
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn what_pings_agree_on_is_kept_until_it_is_too_old() {
        let ping = |sent: u32, trip: u32| ClockOffset::of_ping(MS * sent, Moment::new(MS * 500), MS * (sent + trip));
        let quick = ping(100, 2);
        assert_eq!((quick.ns, quick.bound), (399_000_000, MS + Duration::from_nanos(201)));
        let mut known = OffsetEstimate::new(quick, MS * 102);
        known.add(ping(100, 40), MS * 140);
        // It has drifted by 3.8 us at most.
        let offset = known.offset(MS * 140);
        assert!(offset.ns.abs_diff(quick.ns) < 4_000, "{known:?}");
        assert!(offset.bound < MS + Duration::from_micros(5), "{known:?}");
        // After 400 s it may be off by 40 ms more.
        let (slow, later) = (ping(100, 40), MS * 400_140);
        known.add(slow, later);
        assert!(known.offset(later).ns.abs_diff(slow.ns) < 10_000, "{known:?} {slow:?}");
    }

    #[test]
    fn delays_that_vary_take_more_pings() {
        let ping = |trip: Duration| ClockOffset::of_ping(MS * 100, Moment::new(MS * 500), MS * 100 + trip);
        for (name, trips, needed) in [
            ("none", vec![], 16),
            ("a quiet line", vec![MS; 16], 16),
            ("one that was held up", [vec![MS; 15], vec![MS * 300]].concat(), 16),
            ("5 ms to and fro", (0..16).map(|number| MS * 20 + MS * number * 10 / 16).collect(), 50),
            ("a wild line", (0..16).map(|number| MS * 100 + MS * number * 5).collect(), 160),
        ] {
            let first: Vec<_> = trips.into_iter().map(ping).collect();
            assert_eq!(pings_needed(&first), needed, "{name}");
        }
    }

    #[test]
    fn pings_that_were_quick_one_way_each_are_better_than_either() {
        // The clocks are alike: 1 ms there and 11 ms back, and the other way round.
        let there = ClockOffset::of_ping(MS * 100, Moment::new(MS * 101), MS * 112);
        let back = ClockOffset::of_ping(MS * 200, Moment::new(MS * 211), MS * 212);
        assert_eq!((there.ns, back.ns), (-5_000_000, 5_000_000));
        let both = there.narrowed_by(back);
        assert!(both.ns.abs_diff(0) <= 1 && both.bound < MS + Duration::from_micros(2), "{both:?}");
        // A clock that jumped by a second.
        let jumped = ClockOffset { ns: 1_000_000_000, bound: MS };
        assert_eq!(both.narrowed_by(jumped), jumped);
    }

    proptest! {
        /// Whatever part of a round trip each way takes, the offset is right to within its bound.
        #[test]
        fn the_bound_holds(there in 0..1_000_000_000_u64, back in 0..1_000_000_000_u64, ahead in -5_000_000_000..5_000_000_000_i64) {
            let sent = Duration::from_secs(10);
            let at = Duration::from_nanos((10_000_000_000 + there as i64 + ahead) as u64);
            let offset = ClockOffset::of_ping(sent, Moment::new(at), sent + Duration::from_nanos(there + back));
            prop_assert!(u128::from(offset.ns.abs_diff(ahead)) <= offset.bound.as_nanos());
            prop_assert_eq!(offset.here(offset.there(sent)), sent);
        }
    }
}
