//! A study whose trials are made up, decided by the code that decides real ones.

use std::time::Duration;

use stampede_analysis::{Analysis, analyse, course};
use stampede_core::{CaseId, ErrorModel, Load, Rounds, Study, Trial, VerdictWord};
use stampede_stats::SplitMix64;

use super::noise::Noise;
use crate::made_up;

/// From the start of a trial to that of the next: 8 s of window, 1 s of warm-up, start and stop.
pub(crate) const TRIAL: Duration = Duration::from_secs(11);
const WINDOW: Duration = Duration::from_secs(8);
/// The default of `--precision`.
pub(crate) const PRECISION: f64 = 0.03;

/// Studies of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Simulation {
    /// The true figure of each case.
    pub(crate) truths: Vec<f64>,
    pub(crate) rounds: Rounds,
    pub(crate) precision: f64,
    pub(crate) errors: ErrorModel,
}

/// How one of them ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) trials: usize,
    pub(crate) pairs: Vec<Compared>,
}

/// What was said of two cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Compared {
    /// The true ratio of the first to the second.
    pub(crate) truth: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) verdict: VerdictWord,
}

impl Compared {
    /// A direction that is not there, or the wrong one.
    pub(crate) fn is_false(&self) -> bool {
        match self.verdict {
            VerdictWord::Faster => self.truth <= 1.0,
            VerdictWord::Slower => self.truth >= 1.0,
            VerdictWord::Equivalent | VerdictWord::Undecided => false,
        }
    }

    /// The right direction.
    pub(crate) fn is_found(&self) -> bool {
        matches!(self.verdict, VerdictWord::Faster | VerdictWord::Slower) && !self.is_false()
    }

    /// `None` without an interval.
    pub(crate) fn covers(&self) -> Option<bool> {
        Some(self.low? <= self.truth && self.truth <= self.high?)
    }
}

impl Simulation {
    /// Runs one study. Cases take turns in random order within each block, as in a real one.
    pub(crate) fn run(&self, noise: &Noise, random: &mut SplitMix64) -> Ended {
        let Self { truths, rounds, precision, errors } = self;
        let study = study(truths.len(), *rounds, *precision, *errors);
        let mut source = noise.begin(random);
        let mut trials: Vec<Trial> = Vec::new();
        let mut next = course(&study, &trials);
        for block in 1.. {
            if next.open.is_empty() {
                break;
            }
            let mut order: Vec<usize> = (0..truths.len()).collect();
            (1..order.len()).rev().for_each(|last| order.swap(last, random.index(last + 1)));
            for case in order.into_iter().filter(|case| next.open.contains(&study.cases[*case].id)) {
                let figure = truths[case] * source.next(case, block, random).exp();
                trials.push(trial(&study, case, block, trials.len(), figure));
            }
            // Asked after each block, it would say the same until then.
            if block >= next.until {
                next = course(&study, &trials);
            }
        }
        ended(&analyse(&study, &trials), truths, trials.len())
    }
}

/// What is said of these cases after blocks that were fixed before, `figures[block][case]`, of which more is better.
pub(crate) fn decided(figures: &[Vec<f64>], truths: &[f64]) -> Vec<Compared> {
    let study = study(truths.len(), Rounds::Fixed(figures.len() as u32), PRECISION, ErrorModel::AllCases);
    let mut trials: Vec<Trial> = Vec::new();
    for (block, of_block) in (1..).zip(figures) {
        for (case, figure) in of_block.iter().enumerate() {
            trials.push(trial(&study, case, block, trials.len(), *figure));
        }
    }
    ended(&analyse(&study, &trials), truths, trials.len()).pairs
}

fn ended(analysis: &Analysis, truths: &[f64], trials: usize) -> Ended {
    let truth = |id: &CaseId| id.as_str().parse().ok().and_then(|place: usize| truths.get(place));
    let compared = analysis.verdicts.iter().filter_map(|verdict| {
        Some(Compared {
            truth: truth(&verdict.a)? / truth(&verdict.b)?,
            low: verdict.ratio.low,
            high: verdict.ratio.high,
            verdict: verdict.verdict,
        })
    });
    Ended { trials, pairs: compared.collect() }
}

/// A case is named by its place.
fn study(cases: usize, rounds: Rounds, precision: f64, errors: ErrorModel) -> Study {
    let case = |place: usize| made_up::case(place.to_string(), Load::Closed { connections: 16 });
    Study { errors, cases: (0..cases).map(case).collect(), ..made_up::study(rounds, precision, WINDOW) }
}

/// A trial that measured this figure, as throughput: large numbers, so that whole requests do not round it.
fn trial(study: &Study, case: usize, block: u32, before: usize, figure: f64) -> Trial {
    let measurement = made_up::measurement(WINDOW, (figure * 1e9) as u64);
    made_up::trial(&study.cases[case].id, block, TRIAL * before as u32, Some(measurement))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_study_and_a_large_difference_is_found() {
        let rounds = Rounds::Auto { max_time: Duration::from_secs(600) };
        let noise = Noise::Normal { paired: 0.04 };
        let run = |effect: f64, seed| {
            let simulation = Simulation {
                truths: vec![1.0, 1.0 + effect],
                rounds,
                precision: PRECISION,
                errors: ErrorModel::AllCases,
            };
            simulation.run(&noise, &mut SplitMix64::new(seed))
        };
        assert_eq!(run(0.0, 5), run(0.0, 5));
        let clear = run(0.5, 1);
        assert!(clear.pairs[0].is_found() && !clear.pairs[0].is_false(), "{clear:?}");
        assert!(clear.trials < run(0.0, 5).trials, "{clear:?}");
    }

    #[test]
    fn words_are_held_against_the_truth() {
        let compared = |truth, verdict| Compared { truth, low: Some(0.9), high: Some(1.1), verdict };
        for (name, truth, verdict, is_false, is_found) in [
            ("right", 1.05, VerdictWord::Faster, false, true),
            ("wrong", 0.95, VerdictWord::Faster, true, false),
            ("none there", 1.0, VerdictWord::Slower, true, false),
            ("nothing said", 1.05, VerdictWord::Undecided, false, false),
        ] {
            let compared = compared(truth, verdict);
            assert_eq!((compared.is_false(), compared.is_found()), (is_false, is_found), "{name}");
            assert_eq!(compared.covers(), Some(true));
        }
    }
}
