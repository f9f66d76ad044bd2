//! A search for the settings of one runtime that serve an objective best.
//!
//! Pure: from the results of the settings that were tried it says which to try next. Settings race in blocks, each against the
//! best one so far; what is shown to be worse leaves the race.

mod ladder;
mod objective;
mod race;
mod search;
mod space;
mod step;
mod surrogate;

use std::collections::BTreeMap;

use stampede_core::{CaseId, Outcome, Study, Trial};

pub use self::ladder::{Move, Proposal, Reached, Room, proposals};
pub use self::objective::{Shortfall, is_miss, missed, objective_metric, score, shortfalls};
pub(crate) use self::race::survivors;
pub use self::search::{Search, best};
pub use self::space::{Knob, Point, Space, Tried};
pub use self::step::{FIRST, LAST, LadderStep};

/// What came of a race.
#[derive(Clone, Debug, PartialEq)]
pub struct RaceScores {
    /// The first of its cases that worked, if one did.
    pub reference: Option<CaseId>,
    /// The score of each case beside that of the reference, in the blocks that measured both.
    pub beside: BTreeMap<CaseId, Option<f64>>,
    /// The mean score of the reference by itself.
    pub alone: Option<f64>,
}

impl RaceScores {
    /// From the records of a race; the reference is one of these cases where any of them worked.
    pub fn of(study: &Study, trials: &[Trial], preferred: &[CaseId]) -> Self {
        let of = |case: &CaseId| -> BTreeMap<u32, f64> {
            let of_case = || trials.iter().filter(|trial| trial.case == *case);
            if of_case().any(|trial| matches!(trial.outcome, Outcome::Failed(_))) {
                return BTreeMap::new();
            }
            let measured = of_case().filter(|trial| trial.outcome == Outcome::Measured);
            measured.filter_map(|trial| Some((trial.block, score(study, trial)?))).collect()
        };
        let scores: BTreeMap<&CaseId, _> = study.cases.iter().map(|case| (&case.id, of(&case.id))).collect();
        let worked = || study.cases.iter().map(|case| &case.id).filter(|case| !scores[case].is_empty());
        let reference = worked().find(|case| preferred.contains(case)).or_else(|| worked().next());
        let mean = |all: &[f64]| (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64);
        let beside = |own: &BTreeMap<u32, f64>| {
            let of_reference = scores.get(reference?)?;
            let pairs: Vec<f64> =
                own.iter().filter_map(|(block, score)| Some(score - of_reference.get(block)?)).collect();
            mean(&pairs)
        };
        let beside = scores.iter().map(|(case, own)| ((*case).clone(), beside(own))).collect();
        let alone = reference.and_then(|case| mean(&scores[case].values().copied().collect::<Vec<_>>()));
        Self { reference: reference.cloned(), beside, alone }
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::StudyKind;

    use super::*;
    use crate::samples;

    #[test]
    fn a_race_is_scored_by_what_shared_blocks_say() {
        let study = Study { kind: StudyKind::Tune, ..samples::study(&["best", "other", "gone", "broken"]) };
        let trials = [
            samples::measured("best", 1, 100.0),
            samples::measured("best", 2, 200.0),
            samples::measured("other", 1, 150.0),
            samples::measured("other", 2, 300.0),
            samples::measured("gone", 1, 50.0),
            samples::failed("broken", 1),
        ];
        let scores = RaceScores::of(&study, &trials, &[]);
        assert_eq!(scores.reference, Some(CaseId::new("best")));
        assert_eq!(RaceScores::of(&study, &trials, &[CaseId::new("gone")]).reference, Some(CaseId::new("gone")));
        let of = |case: &str| scores.beside[&CaseId::new(case)];
        assert_eq!((of("best"), of("broken")), (Some(0.0), None));
        assert!((of("other").unwrap() - 1.5_f64.ln()).abs() < 1e-9);
        assert!((of("gone").unwrap() - 0.5_f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn where_the_first_case_fails_the_others_are_held_against_the_next() {
        let study = Study { kind: StudyKind::Tune, ..samples::study(&["broken", "one", "two"]) };
        let trials =
            [samples::failed("broken", 1), samples::measured("one", 1, 100.0), samples::measured("two", 1, 200.0)];
        let RaceScores { reference, beside, alone } = RaceScores::of(&study, &trials, &[CaseId::new("broken")]);
        assert_eq!(reference, Some(CaseId::new("one")));
        assert!((alone.unwrap() - 100.0_f64.ln()).abs() < 1e-9);
        let of = |case: &str| beside[&CaseId::new(case)];
        assert_eq!((of("broken"), of("one")), (None, Some(0.0)));
        assert!((of("two").unwrap() - 2.0_f64.ln()).abs() < 1e-9);
        let nothing = RaceScores::of(&study, &trials[..1], &[]);
        assert_eq!((nothing.reference, nothing.beside.values().flatten().count()), (None, 0));
    }
}
