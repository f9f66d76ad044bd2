//! The open part of a comparison: which rates follow from its closed part, and what the studies at these rates say.

use stampede_core::{
    Case, CaseId, CaseRole, LeftOut, Load, LoadShare, OpenPart, Outcome, ParseLoadError, StoredStudy, Study, Trial,
};

use crate::analysis::{Analysis, analyse};

const THROUGHPUT: &str = "throughput_rps";

/// The rates of an open part, from the trials of its closed part.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenRates {
    /// The slowest candidate; of all cases where no candidate was measured.
    pub slowest: CaseId,
    /// The share of its throughput, in requests a second, with three significant digits.
    pub rate: f64,
    /// The cases that take this rate, in the order of the study.
    pub shared: Vec<CaseId>,
    /// The share of a case's own throughput, of those for which it is another rate.
    pub own: Vec<(CaseId, f64)>,
    /// Cases that are not measured at the shared rate, and why.
    pub left_out: Vec<LeftOut>,
}

impl OpenRates {
    /// From the closed part; nothing where no case of it was measured without a failure.
    pub fn of(study: &Study, trials: &[Trial], share: LoadShare) -> Option<Self> {
        let analysis = analyse(study, trials);
        let (mut takes, mut left_out) = (Vec::new(), Vec::new());
        for case in &study.cases {
            match throughput(&analysis, case, trials) {
                Ok(throughput) => takes.push((case, throughput)),
                Err(reason) => left_out.push(LeftOut { case: case.id.clone(), reason: reason.to_owned(), fix: None }),
            }
        }
        let is_candidate = |case: &Case| case.role == CaseRole::Candidate;
        let has_candidate = takes.iter().any(|(case, _)| is_candidate(case));
        let judged = takes.iter().filter(|(case, _)| !has_candidate || is_candidate(case));
        let (slowest, throughput) = judged.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let slowest = slowest.id.clone();
        let rate = rounded(share.share() * throughput);
        let (mut shared, mut own) = (Vec::new(), Vec::new());
        for (case, throughput) in takes {
            // One that is there to compare with need not be as fast as the candidates.
            if is_candidate(case) || case.id == slowest || rate <= throughput * f64::from(LoadShare::MOST) / 100.0 {
                shared.push(case.id.clone());
            } else {
                left_out.push(LeftOut {
                    case: case.id.clone(),
                    reason: format!("answers {} requests a second, too few for {rate}", rounded(throughput)),
                    fix: None,
                });
            }
            let rate_of_own = rounded(share.share() * throughput);
            if rate_of_own != rate {
                own.push((case.id.clone(), rate_of_own));
            }
        }
        Some(Self { slowest, rate, shared, own, left_out })
    }
}

/// What a case answers in a second, or why it has no part in what follows.
fn throughput(analysis: &Analysis, case: &Case, trials: &[Trial]) -> Result<f64, &'static str> {
    let failed = |trial: &Trial| trial.case == case.id && matches!(trial.outcome, Outcome::Failed(_));
    if trials.iter().any(failed) {
        return Err("failed in the closed part");
    }
    let summary = analysis.case(&case.id).and_then(|summary| summary.summary.get(THROUGHPUT));
    summary.map(|mean| mean.value).filter(|mean| *mean > 0.0).ok_or("was not measured in the closed part")
}

/// A rate with three significant digits.
fn rounded(rate: f64) -> f64 {
    format!("{rate:.2e}").parse().unwrap_or(rate)
}

/// Random arrivals at a rate, over as many connections as the closed part had: what a server has by its defaults stays the same.
///
/// # Errors
///
/// When no load has this rate.
pub fn open_load(rate: f64, connections: u32) -> Result<Load, ParseLoadError> {
    format!("open:poisson:{rate}@{connections}").parse()
}

/// An open part, analysed.
#[derive(Clone, Debug)]
pub struct OpenPartAnalysis {
    /// Its studies.
    pub part: OpenPart,
    /// What followed from the closed part.
    pub rates: OpenRates,
    /// What all cases at one rate say.
    pub shared: Analysis,
    /// What each case at its own rate says.
    pub own: Option<Analysis>,
}

impl OpenPartAnalysis {
    /// Of the open part of a study; nothing where that says of no rate.
    pub fn of(study: &Study, trials: &[Trial], part: OpenPart) -> Option<Self> {
        let rates = OpenRates::of(study, trials, part.share)?;
        let analysed = |stored: &StoredStudy| analyse(&stored.study, &stored.trials);
        Some(Self { rates, shared: analysed(&part.shared), own: part.own.as_ref().map(analysed), part })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn study(cases: &[(&str, CaseRole)]) -> Study {
        let names: Vec<&str> = cases.iter().map(|(name, _)| *name).collect();
        let mut study = samples::study(&names);
        for (case, (_, role)) in study.cases.iter_mut().zip(cases) {
            case.role = *role;
        }
        study
    }

    fn rates(cases: &[(&str, CaseRole, Option<f64>)], percent: u8) -> Option<OpenRates> {
        let study = study(&cases.iter().map(|(name, role, _)| (*name, *role)).collect::<Vec<_>>());
        let trials: Vec<Trial> = (1..=3)
            .flat_map(|block| {
                cases.iter().map(move |(name, _, rate)| match rate {
                    Some(rate) => samples::measured(name, block, *rate),
                    None => samples::failed(name, block),
                })
            })
            .collect();
        OpenRates::of(&study, &trials, LoadShare::of_percent(percent).unwrap())
    }

    #[test]
    fn all_have_the_rate_that_the_slowest_candidate_takes() {
        const CANDIDATE: CaseRole = CaseRole::Candidate;
        let rates = rates(
            &[
                ("nginx", CANDIDATE, Some(1234.0)),
                ("apache", CANDIDATE, Some(456.0)),
                ("broken", CANDIDATE, None),
                ("go", CaseRole::Reference, Some(9000.0)),
                ("dev", CaseRole::NotForProduction, Some(300.0)),
            ],
            70,
        )
        .unwrap();
        assert_eq!((rates.slowest.as_str(), rates.rate), ("apache", 319.0));
        let shared: Vec<&str> = rates.shared.iter().map(CaseId::as_str).collect();
        assert_eq!(shared, ["nginx", "apache", "go"]);
        let own: Vec<(&str, f64)> = rates.own.iter().map(|(case, rate)| (case.as_str(), *rate)).collect();
        assert_eq!(own, [("nginx", 864.0), ("go", 6300.0), ("dev", 210.0)]);
        let left_out: Vec<String> =
            rates.left_out.iter().map(|LeftOut { case, reason, .. }| format!("{case} {reason}")).collect();
        assert_eq!(
            left_out,
            ["broken failed in the closed part", "dev answers 300 requests a second, too few for 319"]
        );
    }

    #[test]
    fn where_there_is_no_candidate_all_are_judged() {
        let reference = CaseRole::Reference;
        let rates = rates(&[("a", reference, Some(20.0)), ("b", reference, Some(5.0))], 50).unwrap();
        assert_eq!((rates.slowest.as_str(), rates.rate, rates.shared.len()), ("b", 2.5, 2));
        assert_eq!(open_load(rates.rate, 16).unwrap().to_string(), "open:poisson:2.5@16");
    }

    #[test]
    fn where_nothing_was_measured_there_is_no_rate() {
        assert_eq!(rates(&[("a", CaseRole::Candidate, None)], 70), None);
    }
}
