//! What keeps the best size of a search from its objective, by the figures of its own trials: so that whoever reads it does not buy
//! more of what was not short.

use std::time::Duration;

use stampede_core::Bytes;
use stampede_stats::Interval;

use super::confirmation::{Confirmation, SizeVerdict};
use super::grid::{SizeCell, SizeFigures, SizeReading};
use super::question::SizeQuestion;
use super::shown::best_trial;
use crate::worker_memory::MEMORY_MARGIN;

/// From this share of its CPU limit on it is used up: response times grow without bound before all of it is.
const USED_UP: f64 = 0.85;

/// The same of periods in which its quota ran out, each of which held requests up.
const THROTTLED: f64 = 0.1;

/// From as many requests at once on, as a share of the workers, some wait for a worker: of random arrivals more than so many are there
/// often enough.
const POOL_BUSY: f64 = 0.5;

/// What keeps a size from its objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeStop {
    /// One of its rounds ended it: it did not live.
    Ended,
    /// It needed so much of its memory, and a tenth more must be left.
    Memory {
        /// What it needed.
        peak: Bytes,
    },
    /// It used up its limit of CPU.
    Cpu {
        /// The share of it that requests took.
        used: f64,
        /// The share of its periods in which the quota ran out.
        throttled: f64,
    },
    /// All of its workers were busy, and requests waited for one.
    Pool {
        /// About how many requests there were at once.
        at_once: f64,
    },
    /// Requests had no right answer.
    Errors {
        /// So many.
        failed: u64,
        /// Of so many.
        requests: u64,
    },
    /// It had room, and the application takes as long.
    Application {
        /// The median response time.
        median: Duration,
        /// CPU time of a request.
        cpu: Option<Duration>,
    },
    /// It held, and there are too few rounds to show that.
    TooFewRounds,
    /// Its rounds are near the limit, or differ too much to show that it holds.
    Scatter {
        /// Multiples of the limit; of the response time, or of the share of slow requests where that is nearer.
        interval: Interval,
    },
}

/// The worst response time of a size as a multiple of its limit, where it has least room: of its blocks, or of its trial.
pub(super) fn times_of(confirmation: Option<&Confirmation>, readings: &[&SizeReading]) -> Option<f64> {
    let blocks = confirmation.and_then(Confirmation::worst);
    blocks.map(|blocks| blocks.value).or_else(|| Some(best_trial(readings)?.outcome.figures()?.times))
}

impl SizeStop {
    /// What keeps this size from its objective, by its blocks and its trials; none where no trial of it served.
    pub(super) fn of(
        cell: &SizeCell,
        question: &SizeQuestion,
        confirmation: Option<&Confirmation>,
        readings: &[&SizeReading],
    ) -> Option<Self> {
        let ours = readings.iter().filter(|reading| question.is_hardest(cell, reading.role));
        let figures = ours.filter_map(|reading| reading.outcome.figures());
        let best = figures.min_by(|a, b| a.times.total_cmp(&b.times))?;
        if confirmation.is_some_and(|confirmation| confirmation.reason.is_some()) {
            return Some(Self::Ended);
        }
        let peaks = readings.iter().filter_map(|reading| reading.outcome.figures()?.memory_peak);
        if let Some(peak) = peaks.max().filter(|peak| peak.get() as f64 * MEMORY_MARGIN > cell.memory.get() as f64) {
            return Some(Self::Memory { peak });
        }
        let (failed, requests) = confirmation.map_or((best.failed, best.requests), |confirmation| confirmation.errors);
        let share = failed as f64 / (requests as f64).max(1.0);
        let errors = question.errors.filter(|allowed| share >= *allowed).map(|_| Self::Errors { failed, requests });
        if times_of(confirmation, readings).is_some_and(|times| times < 1.0) {
            return Some(errors.unwrap_or_else(|| Self::unconfirmed(confirmation, (failed, requests))));
        }
        let resource = Self::used_up(cell, question, best);
        let work = best.work.map(Duration::from_secs_f64);
        Some(resource.or(errors).unwrap_or(Self::Application { median: best.median, cpu: work }))
    }

    /// What a size had too little of.
    fn used_up(cell: &SizeCell, question: &SizeQuestion, figures: &SizeFigures) -> Option<Self> {
        let rate = question.rate_of(cell);
        let answered = 1.0 - figures.failed as f64 / (figures.requests as f64).max(1.0);
        let used = figures.work.map_or(0.0, |work| rate * answered * work / cell.cpus.cores());
        if used >= USED_UP || figures.throttled > THROTTLED {
            return Some(Self::Cpu { used, throttled: figures.throttled });
        }
        // Little's law.
        let at_once = rate * figures.mean.unwrap_or(figures.median).as_secs_f64();
        let is_busy = cell.workers > 0 && at_once >= POOL_BUSY * f64::from(cell.workers);
        is_busy.then_some(Self::Pool { at_once })
    }

    /// Why a size is not confirmed that was below the limit.
    fn unconfirmed(confirmation: Option<&Confirmation>, (failed, requests): (u64, u64)) -> Self {
        let Some(known) = confirmation.filter(|known| known.verdict != SizeVerdict::Open) else {
            return Self::TooFewRounds;
        };
        let sides = [known.load, known.headroom, known.gone, known.over];
        let nearest =
            sides.into_iter().flatten().reduce(|worst, next| if next.high > worst.high { next } else { worst });
        match nearest.filter(|nearest| nearest.high >= 1.0) {
            Some(interval) => Self::Scatter { interval },
            None if failed > 0 => Self::Errors { failed, requests },
            None => Self::TooFewRounds,
        }
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::Cpus;

    use super::super::confirmation::SizeSides;
    use super::super::grid::{SizeOutcome, SizeRole};
    use super::*;

    /// A size of half a core, 128 MiB and 4 workers at 100 requests a second of 2 ms of CPU.
    const FIGURES: SizeFigures = SizeFigures {
        times: 1.8,
        over: 3.0,
        failed: 0,
        requests: 2_000,
        work: Some(0.002),
        median: Duration::from_millis(8),
        mean: None,
        memory_peak: Some(Bytes::from_mib(60)),
        throttled: 0.02,
        growth: None,
        workers: None,
    };

    fn reading(role: SizeRole, figures: SizeFigures) -> SizeReading {
        SizeReading { cell: 0, role, outcome: SizeOutcome::Served(figures) }
    }

    fn stop(readings: &[SizeReading]) -> Option<SizeStop> {
        let cell = SizeCell {
            runtime: 0,
            replicas: 1,
            spare: 0,
            cpus: Cpus::from_millis(500),
            memory: Bytes::from_mib(128),
            workers: 4,
            price: 1.0,
        };
        let question = SizeQuestion {
            rate: 100.0,
            headroom: 0.0,
            beyond: 0.01,
            below: 0.2,
            errors: Some(0.01),
            most_cells: 9,
            recycles: Vec::new(),
        };
        let readings: Vec<&SizeReading> = readings.iter().collect();
        let has_blocks = readings.iter().any(|reading| reading.role.is_block());
        let sides = SizeSides { load: true, headroom: false, gone: false };
        let confirmation = has_blocks.then(|| Confirmation::of(&readings, question.errors, sides));
        SizeStop::of(&cell, &question, confirmation.as_ref(), &readings)
    }

    #[test]
    fn what_was_used_up_stops_a_size() {
        let of = |figures| stop(&[reading(SizeRole::Search, figures)]);
        let ms = Duration::from_millis;
        for (name, figures, expected) in [
            // 100 a second of 2 ms are two fifths of half a core, and 0.8 requests at once.
            ("nothing", FIGURES, SizeStop::Application { median: ms(8), cpu: Some(Duration::from_micros(2_000)) }),
            ("periods", SizeFigures { throttled: 0.4, ..FIGURES }, SizeStop::Cpu { used: 0.4, throttled: 0.4 }),
            ("CPU time", SizeFigures { work: Some(0.0045), ..FIGURES }, SizeStop::Cpu { used: 0.9, throttled: 0.02 }),
            ("workers", SizeFigures { median: ms(30), ..FIGURES }, SizeStop::Pool { at_once: 3.0 }),
            (
                "workers, few of them long",
                SizeFigures { mean: Some(ms(20)), ..FIGURES },
                SizeStop::Pool { at_once: 2.0 },
            ),
            (
                "memory",
                SizeFigures { memory_peak: Some(Bytes::from_mib(120)), ..FIGURES },
                SizeStop::Memory { peak: Bytes::from_mib(120) },
            ),
            ("answers", SizeFigures { failed: 200, ..FIGURES }, SizeStop::Errors { failed: 200, requests: 2_000 }),
        ] {
            let stopped = of(figures);
            match (stopped, expected) {
                (Some(SizeStop::Cpu { used, throttled }), SizeStop::Cpu { used: wanted, throttled: of }) => {
                    assert!((used - wanted).abs() < 1e-9 && (throttled - of).abs() < 1e-9, "{name}: {stopped:?}");
                }
                _ => assert_eq!(stopped, Some(expected), "{name}"),
            }
        }
        let failed = SizeReading { cell: 0, role: SizeRole::Search, outcome: SizeOutcome::Failed("killed".to_owned()) };
        assert_eq!(stop(&[failed]), None);
    }

    #[test]
    fn what_held_and_is_not_confirmed_has_another_reason() {
        let held = |times| SizeFigures { times, over: times, throttled: 0.4, ..FIGURES };
        // One trial at 56 % of the limit: not larger sizes, but rounds.
        assert_eq!(stop(&[reading(SizeRole::Search, held(0.56))]), Some(SizeStop::TooFewRounds));
        let blocks = |times: [f64; 2]| -> Vec<SizeReading> {
            (0..32).map(|block| reading(SizeRole::Load, held(times[block % 2]))).collect()
        };
        let scatter = stop(&blocks([0.3, 1.5]));
        assert!(
            matches!(scatter, Some(SizeStop::Scatter { interval }) if interval.low < 1.0 && interval.high > 1.0),
            "{scatter:?}"
        );
        let wrong: Vec<SizeReading> =
            (0..4).map(|_| reading(SizeRole::Load, SizeFigures { failed: 100, ..held(0.5) })).collect();
        assert_eq!(stop(&wrong), Some(SizeStop::Errors { failed: 400, requests: 8_000 }));
        let mut ended = blocks([0.5, 0.5]);
        ended.push(SizeReading {
            cell: 0,
            role: SizeRole::Load,
            outcome: SizeOutcome::Failed("php ended with signal 11".to_owned()),
        });
        assert_eq!(stop(&ended), Some(SizeStop::Ended));
    }
}
