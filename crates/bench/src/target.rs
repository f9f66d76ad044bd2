//! What the load engine is to reach, and whether it does.

use crate::race::{Lane, Sample};
use crate::spread::Spread;

/// Something to reach, and what was seen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) what: String,
    pub(crate) wanted: String,
    pub(crate) seen: String,
    /// `None` when it was not measured.
    pub(crate) met: Option<bool>,
}

/// The side of a bound on which a value is right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
    Under(f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(bound) => value <= bound,
            Self::AtLeast(bound) => value >= bound,
            Self::Under(bound) => value < bound,
        }
    }

    fn show(self, digits: usize, unit: &str) -> String {
        match self {
            Self::AtMost(bound) => format!("at most {bound:.digits$}{unit}"),
            Self::AtLeast(bound) => format!("at least {bound:.digits$}{unit}"),
            Self::Under(bound) => format!("under {bound:.digits$}{unit}"),
        }
    }
}

impl Target {
    /// The median of several rounds against a bound.
    pub(crate) fn median(what: impl Into<String>, bound: Bound, seen: Option<Spread>, unit: &str) -> Self {
        let digits = if unit.is_empty() { 2 } else { 0 };
        Self {
            what: what.into(),
            wanted: bound.show(digits, unit),
            seen: seen.map_or_else(|| "not measured".to_owned(), |seen| format!("{}{unit}", seen.show(digits))),
            met: seen.map(|seen| bound.holds(seen.median)),
        }
    }

    /// A lane's measure as a ratio to another lane's, within each round.
    pub(crate) fn ratio(
        what: impl Into<String>,
        bound: Bound,
        ours: Option<&Lane>,
        base: Option<&Lane>,
        measure: impl Fn(&Sample) -> f64,
    ) -> Self {
        let seen = ours.zip(base).and_then(|(ours, base)| ours.ratio(base, measure));
        let mut target = Self::median(what, bound, seen, "");
        if let (Some(ours), Some(_)) = (ours, seen) {
            target.seen = format!("{} {}", target.seen, ours.label);
        }
        target
    }

    /// One value against a bound.
    pub(crate) fn value(what: impl Into<String>, bound: Bound, seen: Option<f64>, digits: usize, unit: &str) -> Self {
        Self {
            what: what.into(),
            wanted: bound.show(digits, unit),
            seen: seen.map_or_else(|| "not measured".to_owned(), |seen| format!("{seen:.digits$}{unit}")),
            met: seen.map(|seen| bound.holds(seen)),
        }
    }

    pub(crate) fn verdict(&self) -> &'static str {
        match self.met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "not measured",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_on_their_side() {
        for (name, bound, value, met) in [
            ("at most, equal", Bound::AtMost(1.05), 1.05, true),
            ("at most, above", Bound::AtMost(1.05), 1.06, false),
            ("at least, below", Bound::AtLeast(0.97), 0.96, false),
            ("at least, equal", Bound::AtLeast(0.97), 0.97, true),
            ("under, equal", Bound::Under(20.0), 20.0, false),
            ("no number", Bound::AtMost(1.0), f64::NAN, false),
        ] {
            assert_eq!(Target::value("x", bound, Some(value), 2, "").met, Some(met), "{name}");
        }
        assert_eq!(Target::value("x", Bound::AtMost(1.0), None, 2, "").verdict(), "not measured");
    }
}
