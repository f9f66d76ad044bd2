//! Samples over a measuring window, by columns.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{AddressId, Gauge, InsideRecord, UnitId};

/// Who tells the figures of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesSource {
    /// The kernel, of the deployment's control group.
    Group,
    /// The kernel, of the whole machine: what other programs do is in it too.
    Machine,
    /// The kernel, of the sockets that listen on an address.
    Listener(AddressId),
    /// A unit, of itself.
    Unit(UnitId),
    /// The kernel, of one process.
    Process(ProcessId),
}

/// A process of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number where it runs.
    pub pid: u32,
    /// The number of the process that started it.
    pub parent: u32,
    /// The title that it gave itself (`php-fpm: pool www`), or the name of its program. Workers of one pool have one name.
    pub name: String,
    /// The part of the deployment that it belongs to (`replica-1`); absent where that has no parts, and in old records.
    #[serde(default)]
    pub part: Option<String>,
}

/// Everything that was sampled in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// A series for each source.
    pub series: Vec<Series>,
    /// CPU time that sampling took, of the generator's cores.
    pub cpu: Duration,
    /// The queries that databases were seen to work on, those seen most often first.
    #[serde(default)]
    pub queries: Vec<QuerySeen>,
    /// What was seen of PHP's stacks; absent where they were not sampled.
    #[serde(default)]
    pub inside: Option<Box<InsideRecord>>,
}

impl Sampling {
    /// Continues with what was sampled in a window that began when this one had lasted `after`, as if nothing had been between them.
    pub fn go_on(&mut self, later: &Self, after: Duration) {
        for series in &later.series {
            match self.series.iter_mut().find(|known| known.source == series.source) {
                Some(known) => known.go_on(series, after),
                None => {
                    let mut new = Series::new(series.source.clone());
                    new.go_on(series, after);
                    self.series.push(new);
                }
            }
        }
        self.cpu += later.cpu;
        for query in &later.queries {
            match self.queries.iter_mut().find(|known| (&known.unit, &known.text) == (&query.unit, &query.text)) {
                Some(known) => (known.seen, known.locked) = (known.seen + query.seen, known.locked + query.locked),
                None => self.queries.push(query.clone()),
            }
        }
        self.queries.sort_by_key(|query| std::cmp::Reverse(query.seen));
        match (&mut self.inside, &later.inside) {
            (Some(inside), Some(later)) => inside.go_on(later, after),
            (inside @ None, Some(later)) => {
                let mut new = InsideRecord::default();
                new.go_on(later, after);
                *inside = Some(Box::new(new));
            }
            (_, None) => {}
        }
    }
}

/// In how many samples a database was seen to work on a query; on two connections at once counts twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuerySeen {
    /// The database.
    pub unit: UnitId,
    /// Its beginning, as the client sent it.
    pub text: String,
    /// How often it was seen at work or waiting.
    pub seen: u64,
    /// How often it waited for a lock.
    pub locked: u64,
}

/// Figures of one source, sampled again and again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Who tells them.
    pub source: SeriesSource,
    /// When each sample was taken: microseconds since the window opened.
    pub at_us: Vec<u64>,
    /// A column for each figure that was ever told, as long as `at_us`. What a sample lacks is absent, never zero.
    pub columns: BTreeMap<Gauge, Vec<Option<u64>>>,
}

impl Series {
    /// A series without samples.
    pub fn new(source: SeriesSource) -> Self {
        Self { source, at_us: Vec::new(), columns: BTreeMap::new() }
    }

    /// Adds a sample. One without figures says that there was no answer.
    pub fn push(&mut self, at: Duration, figures: &[(Gauge, u64)]) {
        let before = self.at_us.len();
        self.at_us.push(u64::try_from(at.as_micros()).unwrap_or(u64::MAX));
        for (gauge, value) in figures {
            let column = self.columns.entry(*gauge).or_insert_with(|| vec![None; before]);
            column.resize(before, None);
            column.push(Some(*value));
        }
        for column in self.columns.values_mut() {
            column.resize(before + 1, None);
        }
    }

    /// Continues with a series of the same source from a window that began when this one had lasted `after`: what a counter grew
    /// between the two is left out.
    fn go_on(&mut self, later: &Self, after: Duration) {
        let (before, after) = (self.len(), u64::try_from(after.as_micros()).unwrap_or(u64::MAX));
        self.at_us.extend(later.at_us.iter().map(|at| at.saturating_add(after)));
        for (gauge, values) in &later.columns {
            let column = self.columns.entry(*gauge).or_insert_with(|| vec![None; before]);
            let told = |values: &[Option<u64>]| values.iter().rev().copied().flatten().next();
            let base = told(column).zip(values.iter().copied().flatten().next()).filter(|_| gauge.is_counter());
            // One that restarted stays below where it was, so that its growth is unknown.
            let moved = |value: u64| base.map_or(value, |(from, first)| (from + value).saturating_sub(first));
            column.extend(values.iter().map(|value| value.map(moved)));
        }
        for column in self.columns.values_mut() {
            column.resize(self.at_us.len(), None);
        }
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.at_us.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.at_us.is_empty()
    }

    /// How many samples have no figure at all: the source did not answer in time.
    pub fn unanswered(&self) -> usize {
        (0..self.len()).filter(|&row| self.columns.values().all(|column| column[row].is_none())).count()
    }

    /// The values of a figure, in the order of time, without those that are absent.
    pub fn values(&self, gauge: Gauge) -> impl Iterator<Item = u64> {
        self.columns.get(&gauge).into_iter().flatten().copied().flatten()
    }

    /// By how much a counter grew from its first sample to its last; absent where it was not told twice. A server that
    /// restarted counts from zero: then the growth is unknown.
    pub fn growth(&self, gauge: Gauge) -> Option<u64> {
        let mut values = self.values(gauge);
        let first = values.next()?;
        values.last()?.checked_sub(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(samples: &[&[(Gauge, u64)]]) -> Series {
        let mut series = Series::new(SeriesSource::Machine);
        for (tick, figures) in (0..).zip(samples) {
            series.push(Duration::from_millis(tick * 100), figures);
        }
        series
    }

    #[test]
    fn what_a_sample_lacks_is_absent() {
        let (busy, idle) = (Gauge::BusyWorkers, Gauge::IdleWorkers);
        let series = series(&[&[(busy, 3)], &[], &[(idle, 0), (busy, 4)]]);
        assert_eq!(series.at_us, [0, 100_000, 200_000]);
        assert_eq!(series.columns[&busy], [Some(3), None, Some(4)]);
        assert_eq!(series.columns[&idle], [None, None, Some(0)]);
        assert_eq!((series.len(), series.unanswered()), (3, 1));
        assert_eq!(series.values(busy).collect::<Vec<_>>(), [3, 4]);
        let stored = serde_json::to_string(&series).unwrap();
        assert_eq!(serde_json::from_str::<Series>(&stored).unwrap(), series);
    }

    #[test]
    fn windows_that_follow_each_other_are_one_without_what_a_counter_grew_between_them() {
        let (busy, cpu) = (Gauge::BusyWorkers, Gauge::CpuUs);
        let of = |samples: &[&[(Gauge, u64)]]| Sampling { series: vec![series(samples)], ..Sampling::default() };
        let mut all = of(&[&[(busy, 3), (cpu, 100)], &[(busy, 4), (cpu, 130)]]);
        all.go_on(&of(&[&[(cpu, 700)], &[(busy, 5), (cpu, 750)]]), Duration::from_secs(1));
        let whole = &all.series[0];
        assert_eq!(whole.at_us, [0, 100_000, 1_000_000, 1_100_000]);
        assert_eq!(whole.columns[&busy], [Some(3), Some(4), None, Some(5)]);
        assert_eq!(
            (whole.columns[&cpu].as_slice(), whole.growth(cpu)),
            (&[100, 130, 130, 180].map(Some)[..], Some(80))
        );
    }

    #[test]
    fn growth_is_of_counters_that_were_told_twice_and_did_not_start_anew() {
        let gauge = Gauge::Restarts;
        for (values, growth) in [
            (vec![], None),
            (vec![Some(7)], None),
            (vec![Some(7), Some(7)], Some(0)),
            (vec![None, Some(7), None, Some(9)], Some(2)),
            (vec![Some(7), Some(2)], None),
        ] {
            let samples: Vec<Vec<_>> =
                values.iter().map(|value| value.iter().map(|value| (gauge, *value)).collect()).collect();
            let samples: Vec<&[_]> = samples.iter().map(Vec::as_slice).collect();
            assert_eq!(series(&samples).growth(gauge), growth, "{values:?}");
        }
    }
}
