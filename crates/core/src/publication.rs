//! An experiment that somebody published, as data: what was measured there, and what its author said of it.

use std::fmt;
use std::time::Duration;

use crate::{CaseId, Failures};

/// A published experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Publication {
    /// Its name: `symfony-blog`.
    pub name: String,
    /// One line: what it is about.
    pub title: String,
    /// Where its figures come from, and how they were measured there.
    pub source: String,
    /// How all that is measured here differs from that, one sentence each.
    pub unlike: Vec<String>,
    /// Its tables, each a study here.
    pub tables: Vec<PublishedTable>,
    /// What its author said, in an order of its own.
    pub claims: Vec<Claim>,
}

/// A table of a published experiment: rows under one model of load.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedTable {
    /// Its name within the experiment.
    pub id: String,
    /// One line: what it shows.
    pub title: String,
    /// Whether requests without the right answer are a part of what it shows.
    pub failures: Failures,
    /// How long a client waits for an answer before it gives the request up, times as published. It is ours: none of the
    /// publications says it. Without it, until the drain is over.
    pub timeout: Option<Duration>,
    /// The figures that its rows have; the first decides how rows compare. Never empty.
    pub columns: Vec<PublishedColumn>,
    /// The row that ratios are given to.
    pub baseline: CaseId,
    /// Its rows, in their published order.
    pub rows: Vec<PublishedRow>,
}

/// A figure that the rows of a table have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedColumn {
    /// The key of our metric for the same.
    pub metric: String,
    /// What the published figures are counted in.
    pub unit: PublishedUnit,
}

/// What a published figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishedUnit {
    /// Requests in a second.
    PerSecond,
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Per cent.
    Percent,
    /// Mebibytes.
    Mebibytes,
    /// How many.
    Count,
}

/// A row of a table, and a case of the study.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedRow {
    /// The case.
    pub case: CaseId,
    /// What the row is called.
    pub title: String,
    /// A figure for each column, where one was published.
    pub figures: Vec<Option<PublishedFigure>>,
    /// How the case differs from what was published, beyond what all do.
    pub unlike: Option<String>,
}

/// A published figure, in its own unit: one number, or the range that the author gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedFigure {
    /// The lower end.
    pub low: f64,
    /// The upper end; the same as the lower one of a single number.
    pub high: f64,
}

/// Something that an author said, and what would show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// It, in words.
    pub says: String,
    /// What shows it.
    pub test: ClaimTest,
}

/// What shows a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimTest {
    /// A metric of one case over that of another, both of one table.
    Ratio {
        /// The table.
        table: String,
        /// The metric's key; the table's first where none is given.
        metric: Option<String>,
        /// The case above the line.
        of: CaseId,
        /// The case below the line.
        to: CaseId,
        /// Two more cases, above and below a line: then the ratio is that of both ratios.
        against: Option<(CaseId, CaseId)>,
        /// Where the ratio must lie.
        within: Bounds,
    },
    /// A metric of one case.
    Figure {
        /// The table.
        table: String,
        /// The metric's key.
        metric: String,
        /// The case.
        of: CaseId,
        /// Where the figure must lie, in the metric's own unit.
        within: Bounds,
    },
    /// Nothing does here.
    Untested {
        /// Why.
        because: String,
    },
}

/// Where a value must lie, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The lower end; absent where there is none.
    pub from: Option<f64>,
    /// The upper end; absent where there is none.
    pub to: Option<f64>,
}

impl PublishedTable {
    /// [`PublishedTable::timeout`] where published times are multiplied with this; a second at the least.
    pub fn client_timeout(&self, scale: f64) -> Option<Duration> {
        self.timeout.map(|timeout| timeout.mul_f64(scale).max(Duration::from_secs(1)))
    }
}

impl ClaimTest {
    /// The table that it is about.
    pub fn table(&self) -> Option<&str> {
        match self {
            Self::Ratio { table, .. } | Self::Figure { table, .. } => Some(table),
            Self::Untested { .. } => None,
        }
    }
}

impl PublishedFigure {
    /// The number, or the geometric middle of the range, which is as many times its lower end as the upper end is times it.
    pub fn middle(&self) -> f64 {
        if self.low == self.high { self.low } else { (self.low * self.high).sqrt() }
    }

    /// How many times the other one this is at their nearest ends: 1 where the ranges overlap.
    pub fn over(&self, other: &Self) -> f64 {
        if self.low > other.high {
            self.low / other.high
        } else if self.high < other.low {
            self.high / other.low
        } else {
            1.0
        }
    }
}

impl PublishedUnit {
    /// All, with their words.
    pub const ALL: [(&'static str, Self); 6] = [
        ("req/s", Self::PerSecond),
        ("s", Self::Seconds),
        ("ms", Self::Milliseconds),
        ("%", Self::Percent),
        ("MiB", Self::Mebibytes),
        ("number", Self::Count),
    ];

    /// What a figure in this unit is multiplied with to be one of our metric: microseconds, shares, bytes,
    /// requests a second.
    pub const fn factor(self) -> f64 {
        match self {
            Self::PerSecond | Self::Count => 1.0,
            Self::Seconds => 1e6,
            Self::Milliseconds => 1e3,
            Self::Percent => 0.01,
            Self::Mebibytes => 1_048_576.0,
        }
    }
}

impl fmt::Display for PublishedUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::ALL.iter().find(|(_, unit)| unit == self).map_or("", |(word, _)| word);
        f.write_str(word)
    }
}

impl Bounds {
    /// Whether all of an interval lies within.
    pub fn hold(&self, low: f64, high: f64) -> bool {
        self.from.is_none_or(|from| low >= from) && self.to.is_none_or(|to| high <= to)
    }

    /// Whether all of an interval lies outside.
    pub fn exclude(&self, low: f64, high: f64) -> bool {
        self.from.is_some_and(|from| high < from) || self.to.is_some_and(|to| low > to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_within_bounds_outside_or_over_an_end() {
        let both = Bounds { from: Some(0.9), to: Some(1.1) };
        let above = Bounds { from: Some(1.0), to: None };
        for (bounds, low, high, hold, exclude) in [
            (both, 0.95, 1.05, true, false),
            (both, 0.85, 1.05, false, false),
            (both, 1.2, 1.3, false, true),
            (both, 0.5, 0.8, false, true),
            (above, 1.0, 50.0, true, false),
            (above, 0.5, 0.9, false, true),
        ] {
            assert_eq!((bounds.hold(low, high), bounds.exclude(low, high)), (hold, exclude), "{low} to {high}");
        }
    }

    #[test]
    fn the_middle_of_a_range_is_geometric_and_a_unit_prints_as_it_is_written() {
        assert!((PublishedFigure { low: 10e3, high: 40e3 }.middle() - 20e3).abs() < 1e-9);
        assert_eq!(PublishedFigure { low: 0.0, high: 0.0 }.middle(), 0.0);
        for (word, unit) in PublishedUnit::ALL {
            assert_eq!(unit.to_string(), word);
        }
    }

    #[test]
    fn ranges_are_as_far_apart_as_their_nearest_ends() {
        let range = |low, high| PublishedFigure { low, high };
        for (name, a, b, times) in [
            ("numbers", range(20.0, 20.0), range(10.0, 10.0), 2.0),
            ("turned", range(10.0, 10.0), range(20.0, 20.0), 0.5),
            ("ranges", range(80.0, 160.0), range(10.0, 40.0), 2.0),
            ("a range that begins at a number", range(10.0, 20.0), range(10.0, 10.0), 1.0),
            ("an overlap", range(10.0, 20.0), range(15.0, 40.0), 1.0),
            ("nothing", range(0.0, 0.0), range(0.0, 0.0), 1.0),
        ] {
            assert_eq!(a.over(&b), times, "{name}");
        }
    }
}
