//! What a case's servers and the kernel said while it ran.

use std::collections::BTreeMap;

use stampede_core::{AddressId, Gauge, Sampling, Series, SeriesSource, UnitId};

use crate::metric::ratio;
use crate::record::Record;

/// What was sampled in all measured trials of a case, in short. What was not reported is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// Units that said something of their workers, in the order of their names.
    pub units: Vec<UnitActivity>,
    /// The most connections that waited to be accepted, by address.
    pub accept_queues: BTreeMap<AddressId, u64>,
    /// Connections that the kernel refused because an accept queue was full: those of the whole machine.
    pub listen_overflows: Option<u64>,
    /// Quota periods in which the quota ran out, of those in which something ran.
    pub throttled_share: Option<f64>,
}

/// What a unit said of its workers.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitActivity {
    /// The unit.
    pub unit: UnitId,
    /// Busy workers, the median over samples and the most; absent where it was asked and never answered.
    pub busy: Option<(u64, u64)>,
    /// Workers that could take no other request, since they were busy or bound to a connection between two of its
    /// requests: the median over samples. Absent where no worker was ever bound like that.
    pub taken: Option<u64>,
    /// The most workers that there were.
    pub total: Option<u64>,
    /// Workers that were replaced.
    pub restarts: Option<u64>,
    /// How often its pool was to grow beyond its largest size.
    pub max_children_reached: Option<u64>,
    /// Samples to which it gave no answer in time, of all.
    pub unanswered_share: f64,
}

/// Sums a case's samples up; nothing where none were taken.
pub(crate) fn of(record: &Record<'_>) -> Option<Activity> {
    let samplings: Vec<&Sampling> =
        record.measured().filter_map(|trial| trial.measurement.as_ref()?.sampling.as_ref()).collect();
    if samplings.is_empty() {
        return None;
    }
    let (mut units, mut queues) = (BTreeMap::<&UnitId, Vec<&Series>>::new(), BTreeMap::new());
    let (mut group, mut machine) = (Vec::new(), Vec::new());
    for series in samplings.iter().flat_map(|sampling| &sampling.series) {
        match &series.source {
            SeriesSource::Group => group.push(series),
            SeriesSource::Machine => machine.push(series),
            SeriesSource::Listener(address) => {
                if let Some(most) = series.values(Gauge::AcceptQueue).max() {
                    let known = queues.entry(address.clone()).or_insert(most);
                    *known = most.max(*known);
                }
            }
            SeriesSource::Unit(unit) => units.entry(unit).or_default().push(series),
            SeriesSource::Process(_) => {}
        }
    }
    let throttled = growth(&group, Gauge::ThrottledPeriods).zip(growth(&group, Gauge::Periods));
    Some(Activity {
        units: units.into_iter().filter_map(|(unit, series)| UnitActivity::of(unit, &series)).collect(),
        accept_queues: queues,
        listen_overflows: growth(&machine, Gauge::ListenOverflows),
        throttled_share: throttled.and_then(|(throttled, periods)| ratio(throttled as f64, periods as f64)),
    })
}

impl UnitActivity {
    /// Nothing where a unit answers and has no workers to speak of, as a web server in front.
    fn of(unit: &UnitId, series: &[&Series]) -> Option<Self> {
        let busy = sorted(series.iter().flat_map(|series| series.values(Gauge::BusyWorkers)));
        let samples: usize = series.iter().map(|series| series.len()).sum();
        let unanswered: usize = series.iter().map(|series| series.unanswered()).sum();
        if busy.is_empty() && unanswered < samples {
            return None;
        }
        Some(Self {
            unit: unit.clone(),
            busy: median(&busy).zip(busy.last().copied()),
            taken: taken(series),
            total: series.iter().flat_map(|series| series.values(Gauge::TotalWorkers)).max(),
            restarts: growth(series, Gauge::Restarts),
            max_children_reached: growth(series, Gauge::MaxChildrenReached),
            unanswered_share: ratio(unanswered as f64, samples as f64).unwrap_or_default(),
        })
    }
}

/// Busy and kept workers together, where some were kept.
fn taken(series: &[&Series]) -> Option<u64> {
    let kept = series.iter().flat_map(|series| series.values(Gauge::KeptWorkers)).max()?;
    let both = series.iter().flat_map(|series| {
        let column = |gauge| series.columns.get(&gauge).into_iter().flatten().copied();
        column(Gauge::BusyWorkers).zip(column(Gauge::KeptWorkers)).filter_map(|(busy, kept)| Some(busy? + kept?))
    });
    if kept > 0 { median(&sorted(both)) } else { None }
}

fn sorted(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values
}

fn median(sorted: &[u64]) -> Option<u64> {
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

/// The growth of a counter in all trials together, of those that reported it.
fn growth(series: &[&Series], counter: Gauge) -> Option<u64> {
    series.iter().filter_map(|series| series.growth(counter)).reduce(|sum, growth| sum + growth)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::samples;

    fn series(source: SeriesSource, samples: &[&[(Gauge, u64)]]) -> Series {
        let mut series = Series::new(source);
        for (tick, figures) in (0..).zip(samples) {
            series.push(Duration::from_millis(100 * tick), figures);
        }
        series
    }

    #[test]
    fn samples_of_all_trials_are_put_together() {
        let study = samples::study(&["a"]);
        let unit = |name: &str| SeriesSource::Unit(UnitId::new(name));
        let busy = |busy| [(Gauge::BusyWorkers, busy), (Gauge::TotalWorkers, 4), (Gauge::MaxChildrenReached, busy)];
        let kept = |busy, kept| [(Gauge::BusyWorkers, busy), (Gauge::KeptWorkers, kept), (Gauge::TotalWorkers, 17)];
        let front = || SeriesSource::Listener(AddressId::new("front"));
        let sampled = |samples: [u64; 3], throttled| Sampling {
            inside: None,
            series: vec![
                series(unit("fpm"), &[&busy(samples[0]), &[], &busy(samples[1]), &busy(samples[2])]),
                series(unit("apache"), &[&[], &[]]),
                series(unit("prefork"), &[&kept(samples[0], 3), &[], &kept(samples[1], 4)]),
                series(unit("nginx"), &[&[(Gauge::Requests, 5)]]),
                series(front(), &[&[(Gauge::AcceptQueue, samples[1])]]),
                series(SeriesSource::Machine, &[&[(Gauge::ListenOverflows, 9)], &[(Gauge::ListenOverflows, 11)]]),
                series(
                    SeriesSource::Group,
                    &[
                        &[(Gauge::Periods, 0), (Gauge::ThrottledPeriods, 0)],
                        &[(Gauge::Periods, 10), (Gauge::ThrottledPeriods, throttled)],
                    ],
                ),
            ],
            cpu: Duration::ZERO,
            queries: Vec::new(),
        };
        let mut trials = [samples::measured("a", 1, 100.0), samples::measured("a", 2, 100.0)];
        assert_eq!(of(&Record::new(&study, &study.cases[0], &trials)), None);
        for (trial, sampling) in trials.iter_mut().zip([sampled([0, 1, 4], 5), sampled([2, 3, 3], 0)]) {
            trial.measurement.as_mut().unwrap().sampling = Some(sampling);
        }
        let activity = of(&Record::new(&study, &study.cases[0], &trials)).unwrap();
        let silent = UnitActivity {
            unit: UnitId::new("apache"),
            busy: None,
            taken: None,
            total: None,
            restarts: None,
            max_children_reached: None,
            unanswered_share: 1.0,
        };
        let fpm = UnitActivity {
            unit: UnitId::new("fpm"),
            busy: Some((2, 4)),
            taken: None,
            total: Some(4),
            restarts: None,
            max_children_reached: Some(5),
            unanswered_share: 0.25,
        };
        let prefork = UnitActivity {
            unit: UnitId::new("prefork"),
            busy: Some((1, 3)),
            taken: Some(5),
            total: Some(17),
            restarts: None,
            max_children_reached: None,
            unanswered_share: 2.0 / 6.0,
        };
        assert_eq!(activity.units, [silent, fpm, prefork]);
        assert_eq!(activity.accept_queues, BTreeMap::from([(AddressId::new("front"), 3)]));
        assert_eq!((activity.listen_overflows, activity.throttled_share), (Some(4), Some(0.25)));
    }
}
