//! A whole study, analysed.

use std::time::Duration;

use stampede_core::{CaseId, Finding, OpenPart, Study, Trial, Verdict};
use stampede_stats::rank_sets;

use crate::activity;
use crate::case_summary::CaseSummary;
use crate::inside::InsideProfile;
use crate::metric::{Better, METRICS, Metric, primary_of};
use crate::pace::trial_time;
use crate::record::{Record, estimate};
use crate::rules;
use crate::verdict::{Recommendation, Verdicts, adjusted_means, judge, recommend};

/// What the records of a study say.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The metric that ranks the cases and decides the verdicts.
    pub primary: &'static Metric,
    /// Every case of the study, the best first; those that lack the primary metric in a trial that counts, or were never
    /// measured, last. The first was not shown to be worse than another one, unless all were.
    pub cases: Vec<CaseSummary>,
    /// Every pair of cases that shares a block; `a` is the one that ranks higher.
    pub verdicts: Vec<Verdict>,
    /// Whether the data were looked at for verdicts: those of a fixed number of rounds when all are measured, others when the
    /// first look is due. Until then every pair is undecided, since each look has a part of the error.
    pub looked_at: bool,
    /// How long a block of all cases takes, from the starts of its trials; `None` where fewer than two are known.
    pub block_time: Option<Duration>,
    /// The smallest difference, as a share, that the comparisons with the best case would have shown 9 times of 10: the median
    /// over them, each by itself.
    pub detectable: Option<f64>,
    /// Which case to take; absent where the study does not ask.
    pub recommendation: Option<Recommendation>,
}

impl Analysis {
    /// The summary of a case.
    pub fn case(&self, id: &CaseId) -> Option<&CaseSummary> {
        self.cases.iter().find(|summary| summary.case == *id)
    }
}

/// Analyses a study. Only measured trials enter summaries and verdicts; findings are looked for in all.
///
/// The primary metric follows from the load, which all cases of a study share.
pub fn analyse(study: &Study, trials: &[Trial]) -> Analysis {
    analyse_parts(study, trials, None)
}

/// The same of a comparison with its open part, if it has one: that decides which cases keep the limits of the SLO on response times,
/// since a closed load has each client wait for the others.
pub fn analyse_parts(study: &Study, trials: &[Trial], open: Option<&OpenPart>) -> Analysis {
    let primary = primary_of(study);
    let mut ranked: Vec<(Record<'_>, CaseSummary)> = study
        .cases
        .iter()
        .map(|case| {
            let record = Record::new(study, case, trials);
            let summary = summarise(&record);
            (record, summary)
        })
        .collect();
    let has_metric = |summary: &CaseSummary| summary.summary.contains_key(primary.key);
    let standing = adjusted_means::of(primary, &ranked.iter().map(|(record, _)| record).collect::<Vec<_>>());
    let rank = |summary: &CaseSummary| {
        let standing = standing.get(&summary.case).filter(|_| has_metric(summary));
        standing.map_or(f64::NEG_INFINITY, |standing| match primary.better {
            Better::Lower => -standing,
            Better::Higher | Better::Neither => *standing,
        })
    };
    ranked.sort_by(|(_, a), (_, b)| rank(b).total_cmp(&rank(a)));

    let (mut records, mut cases): (Vec<_>, Vec<_>) = ranked.into_iter().unzip();
    // Cases without the metric come last, so that the places of the others are their own.
    let placed = cases.iter().take_while(|case| has_metric(case)).count();
    let mut judged = judge(primary, study, trials, &records);
    let mut ranks = rank_sets(placed, &among(placed, &judged.shown));
    // Where two cases share few blocks, what those show may contradict the order over all of them.
    if let Some(best) = ranks.iter().position(|ranks| *ranks.start() == 1).filter(|best| *best > 0) {
        records[..=best].rotate_right(1);
        cases[..=best].rotate_right(1);
        judged = judge(primary, study, trials, &records);
        ranks = rank_sets(placed, &among(placed, &judged.shown));
    }
    for (case, ranks) in cases.iter_mut().zip(ranks) {
        case.ranks = Some(ranks);
    }
    let Verdicts { verdicts, shown: _, looked_at, looks, detectable } = judged;
    let found: Vec<&[Finding]> = cases.iter().map(|case| &case.findings[..]).collect();
    let beside = rules::beside_others(&records, &verdicts, &found);
    for (case, finding) in cases.iter_mut().zip(beside) {
        case.findings.extend(finding);
        rules::sort(&mut case.findings);
    }
    let ranked: Vec<(&Record<'_>, &CaseSummary)> = records.iter().zip(&cases).collect();
    let recommendation = recommend(primary, study, trials, open, &looks, looked_at, &ranked);
    Analysis {
        primary,
        cases,
        verdicts,
        looked_at,
        block_time: trial_time(study, &trials.iter().collect::<Vec<_>>()).map(|each| each * study.cases.len() as u32),
        detectable,
        recommendation,
    }
}

/// The pairs of the first so many places.
fn among(places: usize, shown: &[(usize, usize)]) -> Vec<(usize, usize)> {
    shown.iter().copied().filter(|(better, worse)| *better < places && *worse < places).collect()
}

/// The findings of one case, most severe first, as [`analyse`] has them.
pub fn findings(study: &Study, case: &CaseId, trials: &[Trial]) -> Vec<Finding> {
    let case = study.cases.iter().find(|known| known.id == *case);
    case.map(|case| rules::findings(&Record::new(study, case, trials))).unwrap_or_default()
}

fn summarise(record: &Record<'_>) -> CaseSummary {
    let summary = METRICS.iter().filter_map(|metric| Some((metric.key, estimate(metric, record)?))).collect();
    let activity = activity::of(record);
    let findings = rules::findings(record);
    let inside = InsideProfile::of(record).map(Box::new);
    // What made all trials invalid is told by their reasons; what a generator did in them limits no rate that counts.
    let is_measured = record.measured().next().is_some();
    let bottleneck = rules::bottleneck(&findings).filter(|found| is_measured || found.finding != rules::GENERATOR_BUSY);
    CaseSummary { case: record.case.id.clone(), summary, ranks: None, findings, bottleneck, activity, inside }
}

#[cfg(test)]
mod tests {
    use stampede_core::{Outcome, VerdictWord};

    use super::*;
    use crate::samples;

    fn ranking(analysis: &Analysis) -> Vec<&str> {
        analysis.cases.iter().map(|summary| summary.case.as_str()).collect()
    }

    #[test]
    fn cases_are_ranked_and_every_pair_of_them_is_judged_once() {
        let study = samples::study(&["slow", "broken", "fast", "middle"]);
        let trials: Vec<_> = (1..=3)
            .flat_map(|block| {
                let noise = f64::from(block);
                [
                    samples::measured("slow", block, 100.0 + noise),
                    samples::failed("broken", block),
                    samples::measured("fast", block, 1_200.0 + noise),
                    samples::measured("middle", block, 500.0 + noise),
                ]
            })
            .collect();
        let analysis = analyse(&study, &trials);
        assert_eq!(ranking(&analysis), ["fast", "middle", "slow", "broken"]);
        let judged: Vec<_> =
            analysis.verdicts.iter().map(|verdict| (verdict.a.as_str(), verdict.b.as_str(), verdict.verdict)).collect();
        assert_eq!(
            judged,
            [
                ("fast", "middle", VerdictWord::Faster),
                ("fast", "slow", VerdictWord::Faster),
                ("middle", "slow", VerdictWord::Faster),
            ]
        );
        let fast = analysis.case(&CaseId::new("fast")).unwrap();
        let throughput = fast.summary["throughput_rps"];
        assert_eq!((throughput.value, throughput.n), (1_202.0, 3));
        assert!(throughput.low.unwrap() < 1_202.0 && throughput.high.unwrap() > 1_202.0);
        assert!(analysis.cases[3].summary.is_empty());
        let ranks: Vec<_> = analysis.cases.iter().map(|case| case.ranks.clone()).collect();
        assert_eq!(ranks, [Some(1..=1), Some(2..=2), Some(3..=3), None]);
    }

    #[test]
    fn a_case_that_lacks_the_metric_in_one_trial_has_no_rank_and_moves_no_other() {
        // Throughput of 20 has no p99 in the samples: fewer than 5,000 requests.
        let study = Study { metric: Some("response_p99_us".to_owned()), ..samples::study(&["a", "b", "gap"]) };
        let trials: Vec<_> = (1..=4)
            .flat_map(|block| {
                let noise = f64::from(block);
                let gap = if block == 4 { 20.0 } else { 3_000.0 + noise };
                [
                    samples::measured("a", block, 1_100.0 + noise),
                    samples::measured("b", block, 2_000.0 + noise),
                    samples::measured("gap", block, gap),
                ]
            })
            .collect();
        let analysis = analyse(&study, &trials);
        let ranks: Vec<_> = analysis.cases.iter().map(|case| (case.case.as_str(), case.ranks.clone())).collect();
        assert_eq!(analysis.verdicts.len(), 3);
        assert_eq!(ranks[2], ("gap", None), "{ranks:?}");
        for (case, ranks) in &ranks[..2] {
            let ranks = ranks.as_ref().unwrap();
            assert!(ranks.start() <= ranks.end() && *ranks.end() <= 2, "{case} {ranks:?}");
        }
    }

    #[test]
    fn cases_are_ranked_by_what_they_share_and_not_by_when_they_left() {
        // The machine halves after the fourth block, and C leaves then: its mean is the highest.
        let study = samples::study(&["a", "b", "c"]);
        let mut trials = Vec::new();
        for block in 1..=12 {
            let wobble = f64::from(block % 3);
            let machine = if block <= 4 { 1.0 } else { 0.5 };
            trials.push(samples::measured("a", block, machine * (1_000.0 + wobble)));
            trials.push(samples::measured("b", block, machine * (1_002.0 - wobble)));
            if block <= 4 {
                trials.push(samples::measured("c", block, 900.0 + 2.0 * wobble));
            }
        }
        let analysis = analyse(&study, &trials);
        assert_eq!(analysis.cases[2].case.as_str(), "c", "{:?}", ranking(&analysis));
        assert_eq!(analysis.cases[2].ranks, Some(3..=3));
        assert!(analysis.cases[0].summary["throughput_rps"].value < 700.0);
    }

    #[test]
    fn who_was_shown_to_be_worse_is_not_the_best() {
        // Over all blocks c stands above a; in those that both have, a is shown to be faster.
        let study = samples::study(&["a", "b", "c"]);
        let mut trials = Vec::new();
        for block in 1..=12 {
            let wobble = f64::from(block % 3);
            trials.push(samples::measured("b", block, if block <= 4 { 1_000.0 } else { 2_000.0 } + wobble));
            if block <= 4 {
                trials.push(samples::measured("a", block, 1_000.0 + 2.0 * wobble));
                trials.push(samples::measured("c", block, 950.0 - wobble));
            } else {
                trials.push(samples::measured("c", block, 2_600.0 + 50.0 * wobble));
            }
        }
        let analysis = analyse(&study, &trials);
        let first = &analysis.cases[0];
        assert_eq!(*first.ranks.as_ref().unwrap().start(), 1, "{:?}", analysis.cases);
        let second = analysis.verdicts.iter().find(|verdict| verdict.b == first.case);
        assert!(second.is_none(), "the best case is the first of its pairs: {second:?}");
    }

    #[test]
    fn a_study_that_is_not_finished_claims_nothing() {
        let study = Study { rounds: stampede_core::Rounds::Fixed(5), ..samples::study(&["a", "b"]) };
        let trials: Vec<_> = (1..=5)
            .flat_map(|block| {
                let noise = f64::from(block);
                [samples::measured("a", block, 1_000.0 + noise), samples::measured("b", block, 500.0 - noise)]
            })
            .collect();
        for (known, looked_at, word) in [(8, false, VerdictWord::Undecided), (10, true, VerdictWord::Faster)] {
            let analysis = analyse(&study, &trials[..known]);
            assert_eq!((analysis.looked_at, analysis.verdicts[0].verdict), (looked_at, word), "{known} trials");
        }
    }

    #[test]
    fn only_measured_trials_enter() {
        let study = samples::study(&["a"]);
        let mut trials = vec![samples::measured("a", 1, 100.0), samples::measured("a", 2, 900.0)];
        trials[1].outcome = Outcome::Invalid("limits not enforced".to_owned());
        let throughput = analyse(&study, &trials).cases[0].summary["throughput_rps"];
        assert_eq!((throughput.value, throughput.low, throughput.n), (100.0, None, 1));
    }

    #[test]
    fn a_percentile_that_one_trial_lacks_is_absent() {
        let study = samples::study(&["a"]);
        let trials = [samples::measured("a", 1, 1_100.0), samples::measured("a", 2, 900.0)];
        let analysis = analyse(&study, &trials);
        let summary = &analysis.cases[0].summary;
        assert!(summary.contains_key("response_p95_us"));
        assert!(!summary.contains_key("response_p99_us"), "4,500 requests have no p99");
    }

    #[test]
    fn a_study_without_trials_or_cases_says_nothing() {
        let analysis = analyse(&samples::study(&["a", "b"]), &[]);
        assert_eq!((analysis.cases.len(), analysis.verdicts.len()), (2, 0));
        assert!(analyse(&samples::study(&[]), &[]).cases.is_empty());
    }
}
