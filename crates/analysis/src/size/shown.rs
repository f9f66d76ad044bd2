//! What bad trials of a size show of others. A single one may be bad for a reason of its lifetime, or of what else the machine did: it
//! rules out nothing until the size was tried again.

use super::grid::{SizeGrid, SizeOutcome, SizeReading, SizeRole};
use super::question::SizeQuestion;

/// A size that missed by this much says that a smaller one misses too.
const FAR: f64 = 1.3;

/// Trials of a search that a size has at most: one that says nothing, as the generator was late, is not repeated without end.
const MOST_TRIALS: usize = 3;

/// What trials of a size show together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// It misses the objective by far, with most of several trials.
    Misses,
    /// It does not start, or does not live.
    Fails,
    /// One bad trial alone says either.
    Doubtful,
}

impl Shown {
    /// What trials show of each size that has bad ones.
    pub(super) fn all(question: &SizeQuestion, grid: &SizeGrid, readings: &[SizeReading]) -> Vec<(usize, Self)> {
        let mut all: Vec<(usize, Self)> = Vec::new();
        for reading in readings.iter().filter(|reading| is_bad(&reading.outcome)) {
            if all.iter().all(|(place, _)| *place != reading.cell)
                && let Some(shown) = Self::of(reading.cell, question, grid, readings)
            {
                all.push((reading.cell, shown));
            }
        }
        all
    }

    fn of(place: usize, question: &SizeQuestion, grid: &SizeGrid, readings: &[SizeReading]) -> Option<Self> {
        let cell = grid.cells().get(place)?;
        let (mut all, mut failed, mut far) = (0_usize, Vec::new(), 0);
        for reading in readings.iter().filter(|reading| reading.cell == place) {
            match &reading.outcome {
                SizeOutcome::Failed(reason) => failed.push(reason),
                // At a lower rate it has room that it has not at the other.
                SizeOutcome::Served(_) if !question.is_hardest(cell, reading.role) => continue,
                SizeOutcome::Served(figures) => far += usize::from(figures.times >= FAR),
                SizeOutcome::Unusable(_) => continue,
            }
            all += 1;
        }
        // Other sizes of the runtime failed in the same way: that is not of one lifetime.
        let failed_elsewhere = |reason: &String| {
            let others = readings.iter().filter(|other| other.cell != place);
            others
                .filter(|other| grid.cells().get(other.cell).is_some_and(|other| other.runtime == cell.runtime))
                .any(|other| matches!(&other.outcome, SizeOutcome::Failed(of_other) if of_other == reason))
        };
        let is_certain = failed.len() > 1 || failed.iter().any(|reason| failed_elsewhere(reason));
        match (failed.len(), far) {
            (fails, _) if 2 * fails > all && is_certain => Some(Self::Fails),
            (fails, far) if 2 * (fails + far) > all && fails + far > 1 => Some(Self::Misses),
            (fails, far) if fails + far == 1 && all == 1 => Some(Self::Doubtful),
            _ => None,
        }
    }
}

/// Whether a trial says that smaller sizes miss too.
fn is_bad(outcome: &SizeOutcome) -> bool {
    match outcome {
        SizeOutcome::Served(figures) => figures.times >= FAR,
        SizeOutcome::Failed(_) => true,
        SizeOutcome::Unusable(_) => false,
    }
}

/// Whether a size may be tried again.
pub(super) fn may_repeat(place: usize, readings: &[SizeReading]) -> bool {
    let ours = readings.iter().filter(|reading| reading.cell == place && reading.role == SizeRole::Search);
    ours.count() < MOST_TRIALS
}

/// The trial of a search that counts for a size, of these of it: one that served before one that did not, and of several the quickest,
/// as whatever else a machine does makes it slower.
pub(super) fn best_trial<'a>(readings: &[&'a SizeReading]) -> Option<&'a SizeReading> {
    let rank = |reading: &SizeReading| match &reading.outcome {
        SizeOutcome::Served(figures) => (0, figures.times),
        SizeOutcome::Failed(_) => (1, 0.0),
        SizeOutcome::Unusable(_) => (2, 0.0),
    };
    let trials = readings.iter().copied().filter(|reading| reading.role == SizeRole::Search);
    trials.min_by(|a, b| {
        let ((a, of_a), (b, of_b)) = (rank(a), rank(b));
        a.cmp(&b).then(of_a.total_cmp(&of_b))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Bytes, Cpus};

    use super::super::grid::{SizeCell, SizeFigures};
    use super::*;

    fn served(times: f64) -> SizeOutcome {
        SizeOutcome::Served(SizeFigures {
            times,
            over: times,
            failed: 0,
            requests: 1_000,
            work: None,
            median: Duration::from_millis(1),
            mean: None,
            memory_peak: None,
            throttled: 0.0,
            growth: None,
            workers: None,
        })
    }

    fn failed(reason: &str) -> SizeOutcome {
        SizeOutcome::Failed(reason.to_owned())
    }

    #[test]
    fn one_bad_trial_is_doubtful_and_two_of_three_are_not() {
        let cell = |runtime, mib| SizeCell {
            runtime,
            replicas: 1,
            spare: 0,
            cpus: Cpus::from_millis(500),
            memory: Bytes::from_mib(mib),
            workers: 2,
            price: mib as f64,
        };
        let grid = SizeGrid::new(vec![cell(0, 64), cell(0, 128), cell(1, 256)]);
        let question = SizeQuestion {
            rate: 100.0,
            headroom: 0.2,
            beyond: 0.01,
            below: 0.2,
            errors: None,
            most_cells: 9,
            recycles: Vec::new(),
        };
        use SizeRole::{Headroom, Load, Search};
        let late = || SizeOutcome::Unusable("the generator was late".to_owned());
        for (name, trials, expected) in [
            ("one that misses by far", vec![(1, Search, served(4.5))], Some(Shown::Doubtful)),
            ("by little", vec![(1, Search, served(1.2))], None),
            ("again by far", vec![(1, Search, served(4.5)), (1, Search, served(1.5))], Some(Shown::Misses)),
            ("it holds at another time", vec![(1, Search, served(4.5)), (1, Search, served(0.56))], None),
            (
                "what says nothing is no second one",
                vec![(1, Search, served(4.5)), (1, Search, late())],
                Some(Shown::Doubtful),
            ),
            ("one that did not live", vec![(1, Search, failed("port in use"))], Some(Shown::Doubtful)),
            ("twice", vec![(1, Search, failed("signal 9")), (1, Search, failed("signal 11"))], Some(Shown::Fails)),
            ("once of two", vec![(1, Search, failed("port in use")), (1, Search, served(0.5))], None),
            (
                "as another of the runtime",
                vec![(0, Search, failed("no memory")), (1, Search, failed("no memory"))],
                Some(Shown::Fails),
            ),
            (
                "as one of another runtime",
                vec![(2, Search, failed("no memory")), (1, Search, failed("no memory"))],
                Some(Shown::Doubtful),
            ),
            (
                "most blocks of a confirmation",
                vec![
                    (1, Load, served(0.4)),
                    (1, Headroom, served(1.4)),
                    (1, Load, served(0.4)),
                    (1, Headroom, served(1.2)),
                    (1, Headroom, served(1.5)),
                ],
                Some(Shown::Misses),
            ),
            (
                "one of the blocks",
                vec![(1, Headroom, served(0.9)), (1, Headroom, served(1.4)), (1, Headroom, served(0.8))],
                None,
            ),
        ] {
            let reading = |(cell, role, outcome)| SizeReading { cell, role, outcome };
            let readings: Vec<SizeReading> = trials.into_iter().map(reading).collect();
            let all = Shown::all(&question, &grid, &readings);
            let shown = all.iter().find(|(place, _)| *place == 1).map(|(_, shown)| *shown);
            assert_eq!(shown, expected, "{name}");
        }
    }

    #[test]
    fn of_several_trials_the_quickest_that_served_counts() {
        let reading = |outcome| SizeReading { cell: 0, role: SizeRole::Search, outcome };
        let readings = [failed("port in use"), served(4.5), served(0.56)].map(reading);
        let best = best_trial(&readings.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(best.outcome, served(0.56));
        let first = best_trial(&[&readings[0]]).unwrap();
        assert_eq!(first.outcome, failed("port in use"));
        assert!(may_repeat(0, &readings[..2]) && !may_repeat(0, &readings));
    }
}
