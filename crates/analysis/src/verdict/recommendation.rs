//! Which case to ship.
//!
//! Only candidates are judged here, as a family of their own: what is in a study for reference makes no claim about them less sure.
//! A case that may not be recommended has no part in it. It knows no words.

use stampede_core::{
    CaseId, CaseRole, Estimate, Load, OpenPart, Outcome, Severity, Slo, SloTerm, Study, StudyKind, Trial, Verdict,
    VerdictWord,
};

use super::judge::{look_as, turned, verdict};
use super::margins::margins;
use super::multiple_comparisons::{ERROR, Family, Pair};
use crate::case_summary::CaseSummary;
use crate::metric::{Better, METRICS, Metric, metric};
use crate::record::Record;
use crate::tune::{Shortfall, missed};

/// What decides between cases that are equally good, in the order in which it is looked at.
const TIE_BREAKERS: [&str; 3] = ["memory_peak_bytes", "cpu_us_per_request", "response_p99_us"];

/// Requests that were answered wrongly or not at all, as the finding is called.
const FAILED_REQUESTS: &str = "failed-requests";

/// What a study says about which of its cases to take.
#[derive(Clone, Debug)]
pub struct Recommendation {
    /// Whether it is about what to ship. Otherwise no case is a candidate, or the study asks something else, and all cases are judged.
    pub of_candidates: bool,
    /// What it comes to.
    pub advice: Advice,
    /// The cases that were to be judged and may not be recommended.
    pub unfit: Vec<(CaseId, Unfit)>,
    /// How many pairs share the error of the intervals.
    pub pairs: usize,
}

/// What the judged cases come to. Where there are several, the first is the best by its figure.
#[derive(Clone, Debug)]
pub enum Advice {
    /// This case is shown to be better than each other one, by more than the precision.
    Best {
        /// The case.
        case: CaseId,
        /// What it is ahead of the next one.
        lead: Box<Lead>,
    },
    /// These are equal, or the first is ahead by less than the precision; it is shown to be better than all others.
    Tie {
        /// The cases.
        cases: Vec<CaseId>,
        /// The first against each other one.
        leads: Vec<Lead>,
        /// What else differs between them.
        breakers: Vec<TieBreaker>,
    },
    /// Nothing was shown of the first against some of the others; it is shown to be better than those that are not here.
    Open {
        /// The cases.
        cases: Vec<CaseId>,
        /// The first against each other one.
        leads: Vec<Lead>,
        /// The others against each other.
        beside: Vec<Lead>,
        /// Those that the first is shown to be better than.
        behind: Vec<CaseId>,
    },
    /// There is no other to choose from.
    Alone {
        /// The case.
        case: CaseId,
        /// How it compares with the best of those that are in the study for something else.
        lead: Option<Box<Lead>>,
    },
    /// Each case was shown to be worse than another one.
    Contradiction,
    /// The study has not come to its first look.
    Unfinished,
    /// No two cases have the figure in one block.
    Unmeasured,
    /// No case may be recommended.
    AllUnfit,
}

/// How a case compares with another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Lead {
    /// The verdict of the pair within the judged family. Its interval has the level below.
    pub verdict: Verdict,
    /// The level of the interval: with it, those of all pairs of the family hold together in 95 % of studies. Where only the level at
    /// which the direction was shown tells it from 1, that one.
    pub level: f64,
    /// The pair's own 95 % interval.
    pub own: Estimate,
    /// The mean peak of memory of the case minus that of the other one, in bytes.
    pub memory: Option<f64>,
}

/// What decides between equal cases.
#[derive(Clone, Debug)]
pub struct TieBreaker {
    /// By which figure.
    pub metric: &'static Metric,
    /// The case that is shown to be better than each of the others by it.
    pub case: CaseId,
    /// The other one that comes nearest.
    pub over: CaseId,
    /// The mean of the first and of the other.
    pub values: [f64; 2],
}

/// Why a case may not be recommended.
#[derive(Clone, Debug, PartialEq)]
pub enum Unfit {
    /// No trial of it counts.
    NotMeasured,
    /// In so many lifetimes it did not start or was wrong before anything was measured.
    Failed(usize),
    /// So many requests were answered wrongly or not at all.
    WrongAnswers(u64),
    /// It missed a term of the SLO in most of its trials.
    Slo {
        /// By its median.
        missed: Shortfall,
        /// Requests a second of the open load that it missed it under; none under the load of the study.
        rate: Option<f64>,
    },
    /// A trial of it lacks the figure.
    NoFigure,
    /// A finding says that its figures are not valid.
    Found(String),
}

impl Recommendation {
    /// The case that is recommended, or the first of several.
    pub fn first(&self) -> Option<&CaseId> {
        match &self.advice {
            Advice::Best { case, .. } | Advice::Alone { case, .. } => Some(case),
            Advice::Tie { cases, .. } | Advice::Open { cases, .. } => cases.first(),
            Advice::Contradiction | Advice::Unfinished | Advice::Unmeasured | Advice::AllUnfit => None,
        }
    }
}

impl Advice {
    /// The first case against the one that its figure is given beside.
    pub fn lead(&self) -> Option<&Lead> {
        match self {
            Self::Best { lead, .. } => Some(lead),
            Self::Tie { leads, .. } | Self::Open { leads, .. } => leads.first(),
            Self::Alone { lead, .. } => lead.as_deref(),
            Self::Contradiction | Self::Unfinished | Self::Unmeasured | Self::AllUnfit => None,
        }
    }
}

impl Lead {
    /// Whether the pair by itself, with nothing else in the study, would have shown a difference.
    pub fn is_shown_alone(&self) -> bool {
        matches!((self.own.low, self.own.high), (Some(low), Some(high)) if low > 1.0 || high < 1.0)
    }

    /// Whether the first case of the pair is the better one by its figure.
    pub fn is_ahead(&self) -> bool {
        let is_more = self.verdict.ratio.value > 1.0;
        metric(&self.verdict.metric).is_none_or(|metric| is_more == (metric.better != Better::Lower))
    }

    /// Whether the pair by itself shows that the two differ by less than this factor.
    pub fn is_within(&self, factor: f64) -> bool {
        matches!((self.own.low, self.own.high), (Some(low), Some(high)) if low > factor.recip() && high < factor)
    }
}

/// What a study recommends; nothing where it asks about one case alone, or about what holds a case back.
///
/// The cases come in the order of their rank. The looks are those that the study had.
pub(crate) fn recommend(
    metric: &'static Metric,
    study: &Study,
    trials: &[Trial],
    open: Option<&OpenPart>,
    looks: &[(u32, f64)],
    looked_at: bool,
    ranked: &[(&Record<'_>, &CaseSummary)],
) -> Option<Recommendation> {
    let ships = match study.kind {
        StudyKind::Compare | StudyKind::Tune | StudyKind::Scale => true,
        StudyKind::Gate => false,
        StudyKind::Calibrate | StudyKind::Capacity | StudyKind::Why | StudyKind::OwnRates => return None,
    };
    if ranked.len() < 2 || trials.is_empty() {
        return None;
    }
    let is_candidate = |record: &Record<'_>| record.case.role == CaseRole::Candidate;
    let of_candidates = ships && ranked.iter().any(|(record, _)| is_candidate(record));
    let asked = |record: &Record<'_>| !of_candidates || is_candidate(record);
    // What has had no trial yet may still have one.
    let is_to_come = |record: &Record<'_>| !looked_at && record.trials.is_empty();
    let reason = |record: &Record<'_>, summary: &CaseSummary| {
        if is_to_come(record) { None } else { unfit(metric, study, open, record, summary) }
    };
    let (mut fit, mut others, mut unfit) = (Vec::new(), Vec::new(), Vec::new());
    for (record, summary) in ranked {
        match (asked(record), reason(record, summary)) {
            (true, None) => fit.push((*record, *summary)),
            (true, Some(reason)) => unfit.push((record.case.id.clone(), reason)),
            (false, None) => others.push((*record, *summary)),
            (false, Some(_)) => {}
        }
    }
    let judged = Judged { metric, study, trials, looks };
    let (advice, pairs) = match &fit[..] {
        _ if !looked_at && fit.len() + others.len() > 1 => (Advice::Unfinished, 0),
        [] | [_] if unfit.iter().any(|(_, why)| *why == Unfit::NoFigure) => (Advice::Unmeasured, 0),
        [] => (Advice::AllUnfit, 0),
        [only] => judged.alone(*only, &others),
        _ => judged.among(&fit),
    };
    Some(Recommendation { of_candidates, advice, unfit, pairs })
}

fn unfit(
    metric: &Metric,
    study: &Study,
    open: Option<&OpenPart>,
    record: &Record<'_>,
    summary: &CaseSummary,
) -> Option<Unfit> {
    if record.measured().next().is_none() {
        return Some(Unfit::NotMeasured);
    }
    let failed = record.trials.iter().filter(|trial| matches!(trial.outcome, Outcome::Failed(_))).count();
    if failed > 0 {
        return Some(Unfit::Failed(failed));
    }
    let terms = study.slo.as_ref().map_or(&[][..], |slo| slo.terms());
    let bounds_errors = terms.iter().any(|term| matches!(term, SloTerm::Errors { .. }));
    let wrong = summary.findings.iter().find(|finding| finding.id == FAILED_REQUESTS && !bounds_errors);
    if let Some(wrong) = wrong {
        return Some(Unfit::WrongAnswers(wrong.evidence.get("failed").map_or(0, |failed| *failed as u64)));
    }
    if let Some((missed, rate)) = study.slo.as_ref().and_then(|slo| worst_missed(slo, open, record)) {
        return Some(Unfit::Slo { missed, rate });
    }
    if !summary.summary.contains_key(metric.key) {
        return Some(Unfit::NoFigure);
    }
    let severe = summary.findings.iter().find(|finding| finding.severity == Severity::Error);
    severe.map(|finding| Unfit::Found(finding.id.clone()))
}

/// The term that a case misses by most, and the rate of the open load that it misses it under. Response times are those of the open part
/// where that has some of this case.
fn worst_missed(slo: &Slo, open: Option<&OpenPart>, record: &Record<'_>) -> Option<(Shortfall, Option<f64>)> {
    let is_of_case = |trial: &&Trial| trial.case == record.case.id && trial.outcome == Outcome::Measured;
    let under_open: Vec<&Trial> = open.iter().flat_map(|part| &part.shared.trials).filter(is_of_case).collect();
    let closed: Vec<&Trial> = record.measured().collect();
    let of_closed = missed(slo, &closed).into_iter().map(|missed| (missed, None));
    if under_open.is_empty() {
        return of_closed.take(1).next();
    }
    let rate = open.and_then(|part| part.shared.study.cases.first()).and_then(|case| match &case.load {
        Load::Open { schedule, .. } => Some(schedule.highest_rate().per_second()),
        Load::Closed { .. } | Load::Ramped { .. } => None,
    });
    let of_errors = of_closed.filter(|(missed, _)| matches!(missed.term, SloTerm::Errors { .. }));
    let of_open = missed(slo, &under_open).into_iter().map(|missed| (missed, rate));
    of_errors.chain(of_open).max_by(|(a, _), (b, _)| a.times.total_cmp(&b.times))
}

type Ranked<'a> = (&'a Record<'a>, &'a CaseSummary);

/// What the cases of a family are judged by.
struct Judged<'a> {
    metric: &'static Metric,
    study: &'a Study,
    trials: &'a [Trial],
    looks: &'a [(u32, f64)],
}

impl Judged<'_> {
    /// The only case there is to choose, beside the others.
    fn alone(&self, only: Ranked<'_>, others: &[Ranked<'_>]) -> (Advice, usize) {
        let cases: Vec<Ranked<'_>> = [only].into_iter().chain(others.iter().copied()).collect();
        let pairs = (1..cases.len()).map(|other| (self.metric, (0, other)));
        let leads = self.leads(&cases, pairs.collect());
        let pairs = leads.len();
        let nearest = leads.into_iter().next().map(|(_, lead)| Box::new(lead));
        (Advice::Alone { case: only.0.case.id.clone(), lead: nearest }, pairs)
    }

    fn among(&self, cases: &[Ranked<'_>]) -> (Advice, usize) {
        let all = self.leads(cases, every_pair(self.metric, cases.len()));
        let pairs = all.len();
        if pairs == 0 {
            return (Advice::Unmeasured, 0);
        }
        let id = |place: usize| &cases[place].0.case.id;
        let against = |a: usize, b: usize| {
            all.iter().map(|(_, lead)| lead).find_map(|lead| match (&lead.verdict.a, &lead.verdict.b) {
                (of, to) if (of, to) == (id(a), id(b)) => Some(lead.clone()),
                (of, to) if (of, to) == (id(b), id(a)) => Some(lead.turned()),
                _ => None,
            })
        };
        let others = |best: usize| (0..cases.len()).filter(move |other| *other != best);
        let is_worse = |place: usize| {
            let mut leads = others(place).filter_map(|other| against(place, other));
            leads.any(|lead| lead.verdict.verdict == VerdictWord::Slower)
        };
        let Some(best) = (0..cases.len()).find(|place| !is_worse(*place)) else {
            return (Advice::Contradiction, pairs);
        };
        let (mut near, mut is_open, mut next, mut behind) = (Vec::new(), false, None, Vec::new());
        for other in others(best) {
            let lead = against(best, other);
            match lead.as_ref().map(|lead| (lead.verdict.verdict, lead.verdict.slight)) {
                Some((VerdictWord::Faster, false)) => {
                    behind.push(id(other).clone());
                    next = next.or(lead);
                }
                Some((VerdictWord::Faster | VerdictWord::Equivalent, _)) => near.push((other, lead)),
                Some((VerdictWord::Undecided | VerdictWord::Slower, _)) | None => {
                    is_open = true;
                    near.push((other, lead));
                }
            }
        }
        let places: Vec<usize> = [best].into_iter().chain(near.iter().map(|(place, _)| *place)).collect();
        let ids: Vec<CaseId> = places.iter().map(|place| id(*place).clone()).collect();
        let leads: Vec<Lead> = near.into_iter().filter_map(|(_, lead)| lead).collect();
        let advice = match next {
            _ if is_open => {
                let others = every_pair(self.metric, places.len()).into_iter().filter(|(_, (a, _))| *a > 0);
                let beside = others.filter_map(|(_, (a, b))| against(places[a], places[b])).collect();
                Advice::Open { cases: ids, leads, beside, behind }
            }
            Some(lead) if leads.is_empty() => Advice::Best { case: id(best).clone(), lead: Box::new(lead) },
            _ => {
                let tied: Vec<Ranked<'_>> = places.iter().map(|place| cases[*place]).collect();
                Advice::Tie { cases: ids, leads, breakers: self.breakers(&tied) }
            }
        };
        (advice, pairs)
    }

    /// What else differs between cases that are equally good: all figures and pairs as one family.
    fn breakers(&self, tied: &[Ranked<'_>]) -> Vec<TieBreaker> {
        let others = |metric: &&Metric| TIE_BREAKERS.contains(&metric.key) && metric.key != self.metric.key;
        let metrics: Vec<&'static Metric> = METRICS.iter().filter(others).collect();
        let pairs = metrics.iter().flat_map(|metric| every_pair(metric, tied.len()));
        let judged = self.leads(tied, pairs.collect());
        let breaker = |key: &&str| {
            let metric = metrics.iter().find(|metric| metric.key == *key)?;
            let of_metric = || judged.iter().filter(|(of, _)| of.key == metric.key).map(|(_, lead)| &lead.verdict);
            let beats = |a: &CaseId, b: &CaseId| {
                of_metric().any(|verdict| match verdict.verdict {
                    _ if verdict.slight => false,
                    VerdictWord::Faster => (&verdict.a, &verdict.b) == (a, b),
                    VerdictWord::Slower => (&verdict.b, &verdict.a) == (a, b),
                    VerdictWord::Equivalent | VerdictWord::Undecided => false,
                })
            };
            let id = |place: usize| &tied[place].0.case.id;
            let value = |place: usize| Some(tied[place].1.summary.get(metric.key)?.value);
            let winner = (0..tied.len()).find(|best| {
                let mut others = (0..tied.len()).filter(|other| other != best);
                others.all(|other| beats(id(*best), id(other)))
            })?;
            let own = value(winner)?;
            let distance = |value: f64| (value / own).ln().abs();
            let others = (0..tied.len()).filter(|other| *other != winner);
            let others = others.filter_map(|other| Some((other, value(other)?)));
            let (over, theirs) = others.min_by(|(_, a), (_, b)| distance(*a).total_cmp(&distance(*b)))?;
            Some(TieBreaker { metric, case: id(winner).clone(), over: id(over).clone(), values: [own, theirs] })
        };
        TIE_BREAKERS.iter().filter_map(breaker).collect()
    }

    /// These pairs of cases by these figures, judged together at the looks of the study; those that share no block are left out.
    fn leads(
        &self,
        cases: &[Ranked<'_>],
        asked: Vec<(&'static Metric, (usize, usize))>,
    ) -> Vec<(&'static Metric, Lead)> {
        let records: Vec<&Record<'_>> = cases.iter().map(|(record, _)| *record).collect();
        let (metrics, mut family) = Family::asked(asked, &records, margins(self.study));
        look_as(self.study, self.trials, self.looks, &mut family);
        let memory = |place: usize| Some(cases[place].1.summary.get("memory_peak_bytes")?.value);
        let lead = |(metric, pair): (&'static Metric, &Pair<'_>)| {
            let mut verdict = verdict(metric, &family, pair);
            let own = verdict.ratio;
            // A direction that was shown by what the others left of the error has the interval that showed it.
            let all = ERROR / family.pairs.len() as f64;
            let is_shown =
                |error| pair.interval_at(error).is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0);
            let error = if pair.has_direction() && !is_shown(all) { pair.error } else { all };
            if let Some(interval) = pair.interval_at(error).filter(|_| pair.exact().is_none()) {
                let interval = interval.exp();
                (verdict.ratio.low, verdict.ratio.high) = (Some(interval.low), Some(interval.high));
            }
            let (a, b) = pair.places;
            let memory = memory(a).zip(memory(b)).map(|(a, b)| a - b);
            (metric, Lead { verdict, level: 1.0 - error, own, memory })
        };
        metrics.into_iter().zip(&family.pairs).map(lead).collect()
    }
}

impl Lead {
    /// The same from the other's side.
    pub fn turned(&self) -> Self {
        let Self { verdict, level, own, memory } = self;
        let own = turned(&Verdict { ratio: *own, ..verdict.clone() }).ratio;
        Self { verdict: turned(verdict), level: *level, own, memory: memory.map(|difference| -difference) }
    }
}

fn every_pair(metric: &'static Metric, cases: usize) -> Vec<(&'static Metric, (usize, usize))> {
    (0..cases).flat_map(|a| (a + 1..cases).map(move |b| (metric, (a, b)))).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{LoadShare, Rounds, RuntimeId, StoredStudy};

    use super::*;
    use crate::analysis::{analyse, analyse_parts};
    use crate::samples;

    /// A case, its role, and its throughput in each block; nothing where it failed.
    type Row<'a> = (&'a str, CaseRole, &'a [f64]);

    const CANDIDATE: CaseRole = CaseRole::Candidate;
    const REFERENCE: CaseRole = CaseRole::Reference;
    const DEV: CaseRole = CaseRole::NotForProduction;

    fn records(rows: &[Row<'_>]) -> (Study, Vec<Trial>) {
        let mut study = samples::study(&rows.iter().map(|(case, ..)| *case).collect::<Vec<_>>());
        for (case, (_, role, _)) in study.cases.iter_mut().zip(rows) {
            case.role = *role;
        }
        let trials = rows.iter().flat_map(|(case, _, values)| {
            (1..).zip(*values).map(|(block, value)| match *value {
                0.0 => samples::failed(case, block),
                value => samples::measured(case, block, value),
            })
        });
        let trials = trials.collect();
        let rounds = rows.iter().map(|(.., values)| values.len() as u32).max().unwrap();
        (Study { rounds: Rounds::Fixed(rounds), ..study }, trials)
    }

    fn recommended(rows: &[Row<'_>]) -> Recommendation {
        let (study, trials) = records(rows);
        analyse(&study, &trials).recommendation.unwrap()
    }

    /// What it comes to, in a word and the cases.
    fn told(recommendation: &Recommendation) -> String {
        let joined = |cases: &[CaseId]| cases.iter().map(CaseId::as_str).collect::<Vec<_>>().join(" ");
        match &recommendation.advice {
            Advice::Best { case, lead } => format!("best {case} over {}", lead.verdict.b),
            Advice::Tie { cases, .. } => format!("tie {}", joined(cases)),
            Advice::Open { cases, .. } => format!("open {}", joined(cases)),
            Advice::Alone { case, lead } => match lead {
                Some(lead) => format!("alone {case} beside {}", lead.verdict.b),
                None => format!("alone {case}"),
            },
            other => format!("{other:?}"),
        }
    }

    const FAST: [f64; 4] = [900.0, 910.0, 905.0, 902.0];
    const GOOD: [f64; 4] = [500.0, 504.0, 501.0, 499.0];
    const SAME: [f64; 4] = [499.0, 503.0, 502.0, 500.0];
    const SLOW: [f64; 4] = [250.0, 252.0, 249.0, 251.0];
    const WILD: [f64; 4] = [300.0, 900.0, 450.0, 700.0];

    #[test]
    fn only_candidates_are_recommended() {
        let none = [0.0; 4];
        for (name, rows, expected) in [
            ("two", &[("a", CANDIDATE, &GOOD[..]), ("b", CANDIDATE, &SLOW)][..], "best a over b"),
            (
                "a reference is faster",
                &[("go", REFERENCE, &FAST), ("a", CANDIDATE, &GOOD), ("b", CANDIDATE, &SLOW)],
                "best a over b",
            ),
            (
                "the development server is faster",
                &[("dev", DEV, &FAST), ("a", CANDIDATE, &SLOW), ("b", CANDIDATE, &GOOD)],
                "best b over a",
            ),
            ("equal", &[("a", CANDIDATE, &GOOD), ("b", CANDIDATE, &SAME), ("c", CANDIDATE, &SLOW)], "tie b a"),
            ("open", &[("a", CANDIDATE, &GOOD), ("b", CANDIDATE, &WILD)], "open b a"),
            (
                "open in front, shown behind",
                &[("a", CANDIDATE, &WILD), ("b", CANDIDATE, &[1.0, 2.0, 1.0, 1.5])],
                "best a over b",
            ),
            (
                "one candidate",
                &[("a", CANDIDATE, &GOOD), ("dev", DEV, &SLOW), ("go", REFERENCE, &FAST)],
                "alone a beside go",
            ),
            ("two references", &[("go", REFERENCE, &FAST), ("rust", REFERENCE, &GOOD)], "best go over rust"),
            ("the other one failed", &[("a", CANDIDATE, &SLOW), ("b", CANDIDATE, &none)], "alone a"),
            ("all failed", &[("a", CANDIDATE, &none), ("b", CANDIDATE, &none)], "AllUnfit"),
            ("one block", &[("a", CANDIDATE, &GOOD[..1]), ("b", CANDIDATE, &SLOW[..1])], "open a b"),
        ] {
            let recommendation = recommended(rows);
            assert_eq!(told(&recommendation), expected, "{name}: {recommendation:?}");
            let has_candidate = rows.iter().any(|(_, role, _)| *role == CANDIDATE);
            assert_eq!(recommendation.of_candidates, has_candidate, "{name}");
        }
    }

    #[test]
    fn cases_for_reference_make_no_claim_less_sure() {
        let near = [520.0, 531.0, 515.0, 527.0];
        let rows = [("a", CANDIDATE, &near[..]), ("b", CANDIDATE, &GOOD)];
        let among = |others: usize| {
            let wild: Vec<(String, Vec<f64>)> = (0..others)
                .map(|place| (format!("ref-{place}"), WILD.iter().map(|value| value * (1.0 + place as f64)).collect()))
                .collect();
            let others = wild.iter().map(|(name, values)| (name.as_str(), REFERENCE, &values[..]));
            let rows: Vec<Row<'_>> = rows.iter().copied().chain(others).collect();
            let (study, trials) = records(&rows);
            analyse(&study, &trials)
        };
        let (alone, crowd) = (among(0), among(4));
        let lead = |advice: &Advice| match advice {
            Advice::Best { lead, .. } => (lead.verdict.ratio, lead.level),
            other => panic!("{other:?}"),
        };
        let [of_alone, of_crowd] = [&alone, &crowd].map(|of| of.recommendation.as_ref().unwrap());
        assert_eq!(lead(&of_alone.advice), lead(&of_crowd.advice));
        assert_eq!((of_crowd.pairs, crowd.verdicts.len()), (1, 15));
        let pair = |verdict: &&Verdict| (verdict.a.as_str(), verdict.b.as_str()) == ("a", "b");
        assert_eq!(crowd.verdicts.iter().find(pair).unwrap().verdict, VerdictWord::Undecided);
    }

    #[test]
    fn the_interval_has_the_level_of_all_candidates() {
        let recommendation = recommended(&[
            ("a", CANDIDATE, &GOOD[..]),
            ("b", CANDIDATE, &[240.0, 290.0, 251.0, 248.0]),
            ("c", CANDIDATE, &WILD),
        ]);
        let Advice::Open { leads, .. } = &recommendation.advice else { panic!("{recommendation:?}") };
        let lead = &leads[0];
        assert!((lead.level - (1.0 - 0.05 / 3.0)).abs() < 1e-9, "{lead:?}");
        assert!(lead.verdict.ratio.high >= lead.own.high && lead.verdict.ratio.low <= lead.own.low, "{lead:?}");
    }

    #[test]
    fn what_broke_its_objective_was_wrong_or_not_measured_validly_is_never_recommended() {
        type Change = fn(&mut Trial);
        let slo = "p99<500us".parse().unwrap();
        let slower: Change = |trial| {
            let response = &mut trial.measurement.as_mut().unwrap().response;
            *response = stampede_core::Latencies::new();
            (0..10_000).for_each(|_| response.record_ns(100_000));
        };
        let nothing: Change = |_| {};
        for (name, slo, of_fast, of_other, expected) in [
            ("all is well", None, nothing, nothing, "best fast over other"),
            ("both miss it", Some(&slo), nothing, nothing, "AllUnfit"),
            ("one keeps it", Some(&slo), nothing, slower, "alone other"),
            (
                "wrong answers",
                None,
                |trial| {
                    trial.measurement.as_mut().unwrap().requests.failed = 2;
                    if trial.block == 1 {
                        trial.outcome = Outcome::Invalid("2 answers were wrong".to_owned());
                    }
                },
                nothing,
                "alone other",
            ),
            ("limits not in force", None, |trial| trial.enforced = None, nothing, "alone other"),
        ] {
            let (study, mut trials) = records(&[("fast", CANDIDATE, &FAST), ("other", CANDIDATE, &GOOD)]);
            for trial in &mut trials {
                let change = if trial.case.as_str() == "fast" { of_fast } else { of_other };
                change(trial);
            }
            let study = Study { slo: slo.cloned(), ..study };
            let recommendation = analyse(&study, &trials).recommendation.unwrap();
            assert_eq!(told(&recommendation), expected, "{name}: {recommendation:?}");
        }
    }

    #[test]
    fn limits_on_response_times_are_those_of_the_open_part_where_a_case_has_one() {
        let slow = |trial: &mut Trial| {
            let response = &mut trial.measurement.as_mut().unwrap().response;
            *response = stampede_core::Latencies::new();
            (0..10_000).for_each(|_| response.record_ns(1_000_000));
        };
        let rows: [Row<'_>; 2] = [("a", CANDIDATE, &FAST), ("b", CANDIDATE, &GOOD)];
        for (name, is_slow_closed, is_slow_open, in_open, expected, missed) in [
            ("a queue of clients", ["a", "b"], [""; 2], ["a", "b"], "best a over b", None),
            ("a queue at the rate", [""; 2], ["a"; 2], ["a", "b"], "alone b", Some(("a", Some(490.0)))),
            ("not measured at the rate", ["a"; 2], [""; 2], ["b"; 2], "alone b", Some(("a", None))),
        ] {
            let (study, mut trials) = records(&rows);
            let study = Study { slo: Some("p99<500us".parse().unwrap()), ..study };
            let mut shared = StoredStudy {
                study: study.clone(),
                finished_at: None,
                trials: trials.iter().filter(|trial| in_open.contains(&trial.case.as_str())).cloned().collect(),
                yard_stick: Vec::new(),
            };
            for case in &mut shared.study.cases {
                case.load = "open:poisson:490@16".parse().unwrap();
            }
            for (trials, is_slow) in [(&mut trials, is_slow_closed), (&mut shared.trials, is_slow_open)] {
                for trial in trials {
                    let measured = &mut trial.measurement.as_mut().unwrap().response;
                    *measured = stampede_core::Latencies::new();
                    (0..10_000).for_each(|_| measured.record_ns(100_000));
                    if is_slow.contains(&trial.case.as_str()) {
                        slow(trial);
                    }
                }
            }
            let open = OpenPart { share: LoadShare::of_percent(70).unwrap(), shared, own: None };
            let recommendation = analyse_parts(&study, &trials, Some(&open)).recommendation.unwrap();
            assert_eq!(told(&recommendation), expected, "{name}: {recommendation:?}");
            let unfit = recommendation.unfit.first().map(|(case, why)| match why {
                Unfit::Slo { rate, .. } => (case.as_str(), *rate),
                other => panic!("{name}: {other:?}"),
            });
            assert_eq!(unfit, missed, "{name}");
        }
    }

    #[test]
    fn a_tie_is_broken_by_what_else_is_shown_to_differ() {
        let (study, mut trials) = records(&[("a", CANDIDATE, &GOOD), ("b", CANDIDATE, &SAME)]);
        for trial in &mut trials {
            let memory = if trial.case.as_str() == "a" { 90 } else { 60 };
            let resources = trial.measurement.as_mut().unwrap().resources.as_mut().unwrap();
            resources.memory_peak = (memory << 20) + u64::from(trial.block % 3) * 4_096;
        }
        let recommendation = analyse(&study, &trials).recommendation.unwrap();
        let Advice::Tie { breakers, .. } = &recommendation.advice else { panic!("{recommendation:?}") };
        let told: Vec<_> = breakers.iter().map(|of| (of.metric.key, of.case.as_str(), of.over.as_str())).collect();
        assert_eq!(told, [("memory_peak_bytes", "b", "a")]);
        assert!(breakers[0].values[0] < breakers[0].values[1]);
    }

    #[test]
    fn nothing_is_recommended_before_the_first_look_and_where_it_is_not_asked() {
        let (study, trials) = records(&[("a", CANDIDATE, &GOOD), ("b", CANDIDATE, &SLOW)]);
        let early = analyse(&study, &trials[..6]).recommendation.unwrap();
        assert!(matches!(early.advice, Advice::Unfinished), "{early:?}");
        for (kind, of_candidates) in
            [(StudyKind::Gate, Some(false)), (StudyKind::Why, None), (StudyKind::Calibrate, None)]
        {
            let study = Study { kind, ..study.clone() };
            let asked = analyse(&study, &trials).recommendation;
            assert_eq!(asked.map(|of| of.of_candidates), of_candidates, "{kind:?}");
        }
    }

    #[test]
    fn a_study_of_several_looks_recommends_at_those_looks() {
        let (study, trials) = records(&[("go", REFERENCE, &FAST), ("a", CANDIDATE, &GOOD), ("b", CANDIDATE, &SLOW)]);
        let study = Study { rounds: Rounds::Auto { max_time: Duration::from_secs(3_600) }, ..study };
        let recommendation = analyse(&study, &trials).recommendation.unwrap();
        assert_eq!(told(&recommendation), "best a over b");
        let early: Vec<Trial> = trials.into_iter().filter(|trial| trial.block < 3).collect();
        let early = analyse(&study, &early).recommendation.unwrap();
        assert!(matches!(early.advice, Advice::Unfinished), "{early:?}");
    }

    #[test]
    fn a_role_belongs_to_a_case_and_not_to_its_runtime() {
        let (mut study, trials) = records(&[("a", REFERENCE, &FAST), ("b", CANDIDATE, &SLOW), ("c", CANDIDATE, &GOOD)]);
        for case in &mut study.cases {
            case.runtime = RuntimeId::new("custom");
        }
        assert_eq!(told(&analyse(&study, &trials).recommendation.unwrap()), "best c over b");
    }
}
