//! What an interval allows to say.

use crate::interval::Interval;

/// How two things compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The ratio is above 1, beyond the noise floor.
    Above(Extent),
    /// The ratio is below 1, beyond the noise floor.
    Below(Extent),
    /// The ratio differs from 1 by less than the precision, in either direction.
    Equivalent,
    /// Neither is shown yet.
    Undecided,
}

/// Whether a difference that is shown is also shown to be small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It may matter.
    Open,
    /// It is under the precision: "faster, by under 3 %".
    UnderPrecision,
}

/// What shares of the ratio count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins {
    /// Differences up to this share are not told from this machine's bias: see [`crate::noise_floor`].
    pub floor: f64,
    /// Differences below this share do not matter: 0.03 is 3 %.
    pub precision: f64,
}

/// Decides from two intervals of the logarithm of a ratio, which may be simple, repeated or simultaneous ones.
///
/// `difference` (commonly 95 %) must clear the floor; `equivalence` (commonly 90 %: two one-sided tests at 5 %, Schuirmann
/// 1987) must lie within the precision. Both can hold at once. A precision of 0 is met by nothing.
pub fn decide(difference: &Interval, equivalence: &Interval, margins: Margins) -> Decision {
    let [floor, precision] = [margins.floor, margins.precision].map(f64::ln_1p);
    let equivalent = -precision < equivalence.low && equivalence.high < precision;
    let extent = if equivalent { Extent::UnderPrecision } else { Extent::Open };
    if difference.low > floor {
        Decision::Above(extent)
    } else if difference.high < -floor {
        Decision::Below(extent)
    } else if equivalent {
        Decision::Equivalent
    } else {
        Decision::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_follow_from_where_the_intervals_lie() {
        let margins = Margins { floor: 0.005, precision: 0.03 };
        for (name, [low, high], [low90, high90], margins, expected) in [
            ("clear", [0.02, 0.08], [0.03, 0.07], margins, Decision::Above(Extent::Open)),
            ("clear, below", [-0.08, -0.02], [-0.07, -0.03], margins, Decision::Below(Extent::Open)),
            ("clear and small", [0.006, 0.028], [0.01, 0.025], margins, Decision::Above(Extent::UnderPrecision)),
            ("small, below", [-0.028, -0.006], [-0.02, -0.01], margins, Decision::Below(Extent::UnderPrecision)),
            ("not above the floor", [0.004, 0.028], [0.005, 0.025], margins, Decision::Equivalent),
            ("around 1", [-0.01, 0.012], [-0.008, 0.01], margins, Decision::Equivalent),
            ("wide", [-0.10, 0.12], [-0.08, 0.10], margins, Decision::Undecided),
            (
                "no look yet",
                [f64::NEG_INFINITY, f64::INFINITY],
                [f64::NEG_INFINITY, f64::INFINITY],
                margins,
                Decision::Undecided,
            ),
            (
                "nothing is precise",
                [-1e-9, 1e-9],
                [-1e-9, 1e-9],
                Margins { floor: 0.0, precision: 0.0 },
                Decision::Undecided,
            ),
        ] {
            let [difference, equivalence] = [(low, high), (low90, high90)].map(|(low, high)| Interval {
                value: f64::midpoint(low, high),
                low,
                high,
            });
            assert_eq!(decide(&difference, &equivalence, margins), expected, "{name}");
        }
    }
}
