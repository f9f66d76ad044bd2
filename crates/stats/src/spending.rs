//! How much error each look at unfinished data may spend.

use thiserror::Error;

use crate::normal::{above, density, nodes, quantile_above};

/// A look at the data so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterimLook {
    /// The share of the budget that is used up, above 0 and up to 1, whichever budget limits the study: time or blocks. At 1
    /// all error is spent.
    pub spent: f64,
    /// What is known, in any unit that grows as the variance of the estimate shrinks: the number of blocks.
    pub information: f64,
}

/// More looks cost power and gain little time (Pocock 1982).
pub const MOST_LOOKS: usize = 5;

/// How the error is spread over the looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spending {
    /// Little at first, and nearly all of it at the last look: Lan and DeMets, "Discrete sequential boundaries for clinical trials",
    /// Biometrika 70 (1983), in the manner of O'Brien and Fleming: on each side 2 - 2 Phi(z / sqrt(spent)) where z is exceeded with
    /// probability `error` / 4. Of a small share of an error it leaves the first looks next to nothing: at 40 % of the budget, 2.6e-8
    /// of 0.05 / 78.
    Late,
    /// In step with the budget: Kim and DeMets, "Design and analysis of group sequential tests based on the type I error spending
    /// rate function", Biometrika 74 (1987), power family with exponent 1.
    Even,
}

impl Spending {
    /// The two-sided error that may be spent by the time that this share of the budget is.
    fn cumulative(self, error: f64, spent: f64) -> f64 {
        match self {
            Self::Late => 4.0 * above(quantile_above(error / 4.0) / spent.sqrt()),
            Self::Even => error * spent,
        }
    }
}

/// The two-sided critical value of a standard normal statistic at each of the looks so far, such that under the null
/// hypothesis the probability to exceed any of them, in either direction, is `error` once all is spent.
///
/// Neither the number of looks nor their times must be known beforehand, as long as they do not depend on the estimate; `spending`
/// must be. What of it each look leaves over follows from recursive integration (Armitage, McPherson and Rowe
/// 1969; Jennison and Turnbull 2000, chapter 19). A look that may spend nothing that a number could hold has an
/// infinite boundary.
///
/// # Errors
///
/// When there are no looks or more than five, they do not follow each other in budget and information, or the error does not
/// lie between 0 and 1.
pub fn boundaries(spending: Spending, error: f64, looks: &[InterimLook]) -> Result<Vec<f64>, SequentialError> {
    check(error, looks)?;
    let mut boundaries = Vec::with_capacity(looks.len());
    // The density of the statistic at the last look, with no boundary crossed so far: (statistic, density * weight).
    let mut continuing = vec![(0.0, 1.0)];
    let mut before = InterimLook { spent: 0.0, information: 0.0 };
    for (place, &look) in looks.iter().enumerate() {
        let step = Step::new(before.information, look.information);
        let target = spending.cumulative(error, look.spent) - spending.cumulative(error, before.spent);
        let boundary = step.boundary(&continuing, target);
        boundaries.push(boundary);
        if let Some(next) = looks.get(place + 1) {
            continuing = step.continuing(&continuing, boundary, Step::new(look.information, next.information).grain());
        }
        before = look;
    }
    Ok(boundaries)
}

fn check(error: f64, looks: &[InterimLook]) -> Result<(), SequentialError> {
    if !(error > 0.0 && error < 1.0) {
        return Err(SequentialError::ErrorRate { error });
    }
    if looks.is_empty() || looks.len() > MOST_LOOKS {
        return Err(SequentialError::Looks { looks: looks.len() });
    }
    let mut before = InterimLook { spent: 0.0, information: 0.0 };
    for (place, look) in (1..).zip(looks) {
        let follows = look.spent > before.spent && look.information > before.information;
        if !follows || look.spent > 1.0 || !look.information.is_finite() {
            return Err(SequentialError::Order { place });
        }
        before = *look;
    }
    Ok(())
}

/// From one look to the next: the new statistic is kept * old + fresh * noise.
struct Step {
    kept: f64,
    fresh: f64,
}

/// Nothing happens further out than this: the tail beyond is 6e-16.
const FARTHEST: f64 = 8.0;

impl Step {
    fn new(before: f64, now: f64) -> Self {
        let share = before / now;
        Self { kept: share.sqrt(), fresh: (1.0 - share).sqrt() }
    }

    /// How finely the density must be known for this step to be computed from it.
    fn grain(&self) -> f64 {
        (self.fresh / self.kept / 4.0).clamp(0.002, 0.1)
    }

    /// The value that the statistic exceeds, on either side, with this probability.
    ///
    /// By Newton's method on the logarithm of that probability, which is concave, as the density is: each step but the first ends at
    /// or above the value that is sought. Where rounding would lead a step elsewhere, it halves what is left.
    fn boundary(&self, continuing: &[(f64, f64)], probability: f64) -> f64 {
        let scaled = |boundary: f64, old: f64| (boundary - self.kept * old) / self.fresh;
        let exceeds = |boundary: f64| -> f64 {
            2.0 * continuing.iter().map(|(old, weight)| weight * above(scaled(boundary, *old))).sum::<f64>()
        };
        let falls = |boundary: f64| -> f64 {
            let density = |old: f64| density(scaled(boundary, old)) / self.fresh;
            2.0 * continuing.iter().map(|(old, weight)| weight * density(*old)).sum::<f64>()
        };
        let (mut low, mut high) = (0.0, 38.0);
        if probability <= exceeds(high) {
            return f64::INFINITY;
        }
        // Where it would be if no look had gone before.
        let mut at = quantile_above((probability / 2.0).min(0.5)).clamp(low, high);
        while high - low > 1e-10 {
            let there = exceeds(at);
            if there > probability {
                low = at
            } else {
                high = at
            }
            let next = at + (there / probability).ln() * there / falls(at);
            if (next - at).abs() < 1e-11 {
                return next;
            }
            at = if next > low && next < high { next } else { f64::midpoint(low, high) };
        }
        high
    }

    fn continuing(&self, before: &[(f64, f64)], boundary: f64, grain: f64) -> Vec<(f64, f64)> {
        let end = boundary.min(FARTHEST);
        let steps = 2 * (end / grain).ceil() as usize;
        nodes(-end, end, steps)
            .map(|(new, weight)| {
                let density = |old: f64| density((new - self.kept * old) / self.fresh) / self.fresh;
                let sum: f64 = before.iter().map(|(old, mass)| mass * density(*old)).sum();
                (new, weight * sum)
            })
            .collect()
    }
}

/// Why there are no boundaries.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SequentialError {
    /// Not a probability.
    #[error("spend an error of {error}: it lies between 0 and 1")]
    ErrorRate {
        /// As it was given.
        error: f64,
    },
    /// None, or more than are paid for.
    #[error("look {looks} times: once to {MOST_LOOKS} times are possible")]
    Looks {
        /// How many were given.
        looks: usize,
    },
    /// A look does not come after the one before it.
    #[error(
        "look for time {place}: it must come after the one before in budget and information, and within the budget"
    )]
    Order {
        /// Which look, from 1.
        place: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_look_at_the_end_is_no_sequence() {
        let only = [InterimLook { spent: 1.0, information: 12.0 }];
        for spending in [Spending::Late, Spending::Even] {
            assert!((boundaries(spending, 0.05, &only).unwrap()[0] - quantile_above(0.025)).abs() < 1e-6);
        }
    }

    /// Reference: SciPy 1.17.1, the second boundary as the root of the probability to pass it and not the first, by `quad` over the first
    /// statistic.
    #[test]
    fn even_spending_is_that_of_two_correlated_statistics() {
        for (error, looks, expected) in [
            (0.05, [(0.5, 1.0), (1.0, 2.0)], [2.241_402_727_604_945, 2.125_118_789_755_581]),
            (0.05, [(0.4, 4.0), (1.0, 20.0)], [2.326_347_874_040_840_8, 2.132_191_499_517_444_5]),
            (0.05 / 78.0, [(0.4, 4.0), (1.0, 20.0)], [3.655_770_917_186_206_5, 3.546_466_948_531_892_7]),
        ] {
            let looks = looks.map(|(spent, information)| InterimLook { spent, information });
            let found = boundaries(Spending::Even, error, &looks).unwrap();
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 2e-6), "{error}: {found:?}");
        }
    }

    #[test]
    fn a_look_at_nothing_much_stops_nothing() {
        let looks = [(0.001, 1.0), (1.0, 20.0)].map(|(spent, information)| InterimLook { spent, information });
        let found = boundaries(Spending::Late, 0.05, &looks).unwrap();
        assert_eq!(found[0], f64::INFINITY);
        assert!((found[1] - quantile_above(0.025)).abs() < 1e-6);
    }

    #[test]
    fn looks_out_of_order_are_refused() {
        let look = |spent, information| InterimLook { spent, information };
        for (name, error, looks, expected) in [
            ("none", 0.05, vec![], SequentialError::Looks { looks: 0 }),
            (
                "six",
                0.05,
                (1..=6).map(|i| look(f64::from(i) / 6.0, f64::from(i))).collect(),
                SequentialError::Looks { looks: 6 },
            ),
            ("back in budget", 0.05, vec![look(0.5, 3.0), look(0.4, 6.0)], SequentialError::Order { place: 2 }),
            ("nothing new", 0.05, vec![look(0.5, 3.0), look(0.6, 3.0)], SequentialError::Order { place: 2 }),
            ("over budget", 0.05, vec![look(1.1, 3.0)], SequentialError::Order { place: 1 }),
            ("not a number", 0.05, vec![look(f64::NAN, 3.0)], SequentialError::Order { place: 1 }),
            ("no error to spend", 0.0, vec![look(1.0, 3.0)], SequentialError::ErrorRate { error: 0.0 }),
        ] {
            assert_eq!(boundaries(Spending::Late, error, &looks), Err(expected), "{name}");
        }
    }
}
