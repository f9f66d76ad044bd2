//! A search for the settings of one runtime that serve an objective best.
//!
//! Pure: told what came of the settings that were tried, it says which to try next. Settings race in blocks, each against the
//! best one so far; what is shown to be worse leaves the race.

mod objective;
mod race;
mod search;
mod space;

use std::collections::BTreeMap;

use stampede_core::{CaseId, Outcome, Study, Trial};

pub use self::objective::{Shortfall, objective_metric, score, shortfalls};
pub(crate) use self::race::survivors;
pub use self::search::{Search, Tried, best};
pub use self::space::{Knob, Point, Space};

/// What came of a race: the score of each of its cases beside that of its first one, in the blocks that measured both.
pub fn race_scores(study: &Study, trials: &[Trial]) -> BTreeMap<CaseId, Option<f64>> {
    let of = |case: &CaseId| -> BTreeMap<u32, f64> {
        let measured = trials.iter().filter(|trial| trial.case == *case && trial.outcome == Outcome::Measured);
        measured.filter_map(|trial| Some((trial.block, score(study, trial)?))).collect()
    };
    let first = study.cases.first().map_or_else(BTreeMap::new, |case| of(&case.id));
    let beside = |case: &CaseId| {
        let own = of(case);
        let pairs: Vec<f64> = own.iter().filter_map(|(block, score)| Some(score - first.get(block)?)).collect();
        let failed = |trial: &Trial| trial.case == *case && matches!(trial.outcome, Outcome::Failed(_));
        (!trials.iter().any(failed) && !pairs.is_empty()).then(|| pairs.iter().sum::<f64>() / pairs.len() as f64)
    };
    study.cases.iter().map(|case| (case.id.clone(), beside(&case.id))).collect()
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
        let scores = race_scores(&study, &trials);
        let of = |case: &str| scores[&CaseId::new(case)];
        assert_eq!((of("best"), of("broken")), (Some(0.0), None));
        assert!((of("other").unwrap() - 1.5_f64.ln()).abs() < 1e-9);
        assert!((of("gone").unwrap() - 0.5_f64.ln()).abs() < 1e-9);
    }
}
