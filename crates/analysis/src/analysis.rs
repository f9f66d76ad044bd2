//! A whole study, analysed.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use stampede_core::{CaseId, Estimate, Finding, Study, Trial, Verdict};
use stampede_stats::{Confidence, mean, mean_interval, rank_sets};

use crate::activity::{self, Activity};
use crate::metric::{Better, METRICS, Metric, primary_of};
use crate::pace::trial_time;
use crate::record::Record;
use crate::rules::{self, Bottleneck};
use crate::verdicts::{Verdicts, judge};

/// What the records of a study say.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The metric that ranks the cases and decides the verdicts.
    pub primary: &'static Metric,
    /// Every case of the study, the best first; those that were never measured last.
    pub cases: Vec<CaseSummary>,
    /// Every pair of cases that shares a block; `a` is the one that ranks higher.
    pub verdicts: Vec<Verdict>,
    /// How long a block of all cases takes, from the starts of its trials; `None` where fewer than two are known.
    pub block_time: Option<Duration>,
    /// The smallest difference, as a share, that the comparisons with the best case would have shown 9 times of 10: the median
    /// over them, each by itself.
    pub detectable: Option<f64>,
}

/// What the records say about one case.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseSummary {
    /// The case.
    pub case: CaseId,
    /// Means over its measured trials, by key of the metric, with t intervals at 95 %. A metric that some measured trial
    /// does not have is absent: a mean over the others would favour the case that answered more.
    pub summary: BTreeMap<&'static str, Estimate>,
    /// The ranks that it may have: from 1 + the number of cases that were shown to be better, to the number of all minus those
    /// that were shown to be worse. They hold for all cases at once in 95 % of studies. Absent where it was not measured.
    pub ranks: Option<RangeInclusive<usize>>,
    /// What was found, the gravest first.
    pub findings: Vec<Finding>,
    /// What its rate probably hangs on.
    pub bottleneck: Option<Bottleneck>,
    /// What its servers and the kernel said while it ran; absent where nothing was sampled.
    pub activity: Option<Activity>,
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
    let rank = |summary: &CaseSummary| {
        let estimate = summary.summary.get(primary.key);
        estimate.map_or(f64::NEG_INFINITY, |estimate| match primary.better {
            Better::Lower => -estimate.value,
            Better::Higher | Better::Neither => estimate.value,
        })
    };
    ranked.sort_by(|(_, a), (_, b)| rank(b).total_cmp(&rank(a)));

    let (records, mut cases): (Vec<_>, Vec<_>) = ranked.into_iter().unzip();
    let Verdicts { verdicts, shown, detectable } = judge(primary, study, trials, &records);
    // Cases without the metric come last, so that the places of the others are their own.
    let measured = cases.iter().take_while(|case| case.summary.contains_key(primary.key)).count();
    for (case, ranks) in cases.iter_mut().zip(rank_sets(measured, &shown)) {
        case.ranks = Some(ranks);
    }
    Analysis {
        primary,
        cases,
        verdicts,
        block_time: trial_time(study, &trials.iter().collect::<Vec<_>>()).map(|each| each * study.cases.len() as u32),
        detectable,
    }
}

/// What is found of one case, the gravest first, as [`analyse`] finds it.
pub fn findings(study: &Study, case: &CaseId, trials: &[Trial]) -> Vec<Finding> {
    let case = study.cases.iter().find(|known| known.id == *case);
    case.map(|case| rules::findings(&Record::new(study, case, trials))).unwrap_or_default()
}

fn summarise(record: &Record<'_>) -> CaseSummary {
    let summary = METRICS.iter().filter_map(|metric| Some((metric.key, estimate(metric, record)?))).collect();
    let activity = activity::of(record);
    let findings = rules::findings(record);
    let bottleneck = rules::bottleneck(&findings);
    CaseSummary { case: record.case.id.clone(), summary, ranks: None, findings, bottleneck, activity }
}

pub(crate) fn estimate(metric: &Metric, record: &Record<'_>) -> Option<Estimate> {
    let values: Vec<f64> = record.measured().map(metric.reader).collect::<Option<_>>()?;
    let interval = mean_interval(&values, Confidence::P95).ok();
    Some(Estimate {
        value: mean(&values)?,
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        n: values.len() as u32,
    })
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
