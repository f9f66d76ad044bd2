//! A published experiment beside what was measured here: which of its differences and claims hold.
//!
//! Pairs of a table are judged together by its first figure, as those of every study are, and by all its further figures in a
//! second family; each claim is one question of its own, with a 95 % interval of its own. Nothing is compared across studies.

use std::fmt;

use stampede_core::{
    CaseId, Claim, ClaimTest, Estimate, Finding, Outcome, PublishedColumn, PublishedTable, Severity, Study, Trial,
    Verdict, VerdictWord,
};
use stampede_stats::{Confidence, mean, mean_interval, share_of_none};

use crate::analysis::Analysis;
use crate::metric::{Better, Metric, metric};
use crate::record::Record;
use crate::rules::PHP_BUILDS_DIFFER;
use crate::verdict::{against, contrast, is_complete, judge, judge_together};

/// Rows whose published figures are no further apart than this are not compared: they are not claimed to differ. Rows that are shown to
/// be no further apart here do not differ as those that are compared are said to.
pub const NEAR: f64 = 1.2;

/// Shares of requests that went wrong. Trials in which many did have them too; and where none did, that nothing scatters does not
/// tell how rare it is, while the number of requests does.
const FAILURES: [&str; 3] = ["failed_share", "unanswered_share", "gateway_error_share"];

/// What became of a published difference or claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplicationVerdict {
    /// It holds here too.
    Confirmed,
    /// It does not hold here: the opposite does, or there is no difference that would count.
    Refuted,
    /// The data do not say.
    Undecided,
    /// Nothing was measured of it: it could not run, or all its trials failed.
    Untested,
}

/// A table of a publication with the study that repeats it.
#[derive(Clone, Copy, Debug)]
pub struct TableRun<'a> {
    /// What was published.
    pub table: &'a PublishedTable,
    /// Its study; none where no row could run.
    pub study: Option<&'a Study>,
    /// The study's trials.
    pub trials: &'a [Trial],
    /// What they say by themselves.
    pub analysis: Option<&'a Analysis>,
    /// Rows that could not run, each with why and what to do.
    pub left_out: &'a [(CaseId, String)],
}

/// A table beside ours.
#[derive(Clone, Debug)]
pub struct Replication {
    /// The row that ratios are given to: the published baseline, or the first row with figures where that has none.
    pub baseline: Option<CaseId>,
    /// The rows, in their published order.
    pub rows: Vec<ReplicatedRow>,
    /// Each two rows of which a published figure differs by more than [`NEAR`], once for each such figure, in the order of the
    /// columns. A figure of zero has no ratio and makes no pair.
    pub pairs: Vec<ReplicatedPair>,
}

/// A row beside ours.
#[derive(Clone, Debug)]
pub struct ReplicatedRow {
    /// The case.
    pub case: CaseId,
    /// Our figure for each column, where there is one.
    pub figures: Vec<Option<OurFigure>>,
    /// Published and our ratio to the baseline, for each column, where both are known.
    pub ratios: Vec<Ratios>,
    /// What is said of it against the baseline; `a` is this row.
    pub verdict: Option<Verdict>,
    /// Why it has no figures that count.
    pub problem: Option<String>,
}

/// A row's ratios to the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ratios {
    /// As published.
    pub published: Option<f64>,
    /// Of our means.
    pub ours: Option<f64>,
}

/// A figure that was measured here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OurFigure {
    /// Its mean over trials.
    pub estimate: Estimate,
    /// Whether the trials count. Those that were cut off or answered wrongly do not, and their figures are shown for what
    /// they are.
    pub counts: bool,
}

/// Two rows that differ as published.
#[derive(Clone, Debug)]
pub struct ReplicatedPair {
    /// The place of the figure among the table's columns.
    pub column: usize,
    /// The better one, as published.
    pub a: CaseId,
    /// The other.
    pub b: CaseId,
    /// The published figure of `a` over that of `b`.
    pub published: f64,
    /// What was found here; `a` is the published better one.
    pub verdict: Option<Verdict>,
    /// What that means for the published difference.
    pub standing: ReplicationVerdict,
    /// Where it was measured and not confirmed: what was found in one of the two and not in the other, or is a warning. Empty is
    /// unexplained.
    pub because: Vec<PossibleCause>,
}

/// What was found beside something that was measured and not confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PossibleCause {
    /// The case that it was found in, or the table where it is about all of its cases.
    pub of: String,
    /// What was found.
    pub text: String,
}

impl fmt::Display for PossibleCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.of, self.text)
    }
}

/// A claim beside what was measured.
#[derive(Clone, Debug)]
pub struct CheckedClaim<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// What became of it.
    pub standing: ReplicationVerdict,
    /// The metric that it is about.
    pub metric: Option<&'static Metric>,
    /// The ratio or figure that was found here.
    pub found: Option<Estimate>,
    /// Where it was measured and not confirmed: as for a pair. Empty is unexplained.
    pub because: Vec<PossibleCause>,
    /// Why it is not tested.
    pub problem: Option<String>,
}

/// Puts a table beside its study.
pub fn replicate(run: &TableRun<'_>) -> Replication {
    let table = run.table;
    let baseline = baseline(run);
    let first = table.columns.first().and_then(|column| metric(&column.metric));
    let verdicts = first.map(|metric| verdicts(run, metric)).unwrap_or_default();
    let rows = table.rows.iter().map(|row| {
        let figures: Vec<_> = table.columns.iter().map(|column| run.figure(&column.metric, &row.case)).collect();
        let ratios = (0..table.columns.len()).map(|column| ratios(run, &baseline, &row.case, column)).collect();
        let baseline = first.zip(baseline.as_ref());
        let verdict = baseline.and_then(|(first, baseline)| against(&verdicts, first.key, &row.case, baseline));
        ReplicatedRow { case: row.case.clone(), figures, ratios, verdict, problem: run.problem(&row.case) }
    });
    Replication { rows: rows.collect(), pairs: pairs(run, verdicts), baseline }
}

/// Holds a claim against the studies of its publication.
pub fn check<'a>(claim: &'a Claim, runs: &[TableRun<'_>]) -> CheckedClaim<'a> {
    let run_of = |id: &str| runs.iter().find(|run| run.table.id == *id);
    let untested = |metric, problem: String| CheckedClaim {
        claim,
        standing: ReplicationVerdict::Untested,
        metric,
        found: None,
        because: Vec::new(),
        problem: Some(problem),
    };
    match &claim.test {
        ClaimTest::Untested { because } => untested(None, because.clone()),
        ClaimTest::Ratio { table, metric: key, of, to, against, within } => {
            let Some(run) = run_of(table) else { return untested(None, format!("there is no table {table}")) };
            let key = key.as_deref().or(run.table.columns.first().map(|column| column.metric.as_str()));
            let metric = key.and_then(metric);
            let cases = || [of, to].into_iter().chain(against.iter().flat_map(|(of, to)| [of, to]));
            if let Some(case) = cases().find(|case| run.left_out(case).is_some()) {
                return untested(metric, format!("{case} could not run"));
            }
            let found = metric.zip(run.study).and_then(|(metric, study)| {
                let of_cases = |[of, to]: [&CaseId; 2]| Some([run.record(study, of)?, run.record(study, to)?]);
                let [of, to] = of_cases([of, to])?;
                match against {
                    Some((below_of, below_to)) => {
                        let [below_of, below_to] = of_cases([below_of, below_to])?;
                        contrast(metric, study, &[of, to, below_of, below_to])
                    }
                    None => {
                        let verdict = judge(metric, study, run.trials, &[of, to]).verdicts.pop()?;
                        Some((verdict.ratio, verdict.verdict == VerdictWord::Equivalent))
                    }
                }
            });
            // Who says more, or less, is wrong where it is the same; who says as much or more has a bound beyond 1.
            let same = found.is_some_and(|(_, is_equivalent)| is_equivalent)
                && !(within.from.is_none_or(|from| from < 1.0) && within.to.is_none_or(|to| to > 1.0));
            let found = found.map(|(ratio, _)| ratio);
            let standing = match found.and_then(|ratio| ratio.low.zip(ratio.high)) {
                _ if !run.is_finished() => ReplicationVerdict::Undecided,
                _ if same => ReplicationVerdict::Refuted,
                None if cases().any(|case| run.failed_always(case)) => ReplicationVerdict::Untested,
                Some((low, high)) if within.hold(low, high) => ReplicationVerdict::Confirmed,
                Some((low, high)) if within.exclude(low, high) => ReplicationVerdict::Refuted,
                _ => ReplicationVerdict::Undecided,
            };
            let problem = found.is_none().then(|| cases().find_map(|case| run.problem(case))).flatten();
            let because = run.because(standing, found, || {
                let pairs = std::iter::once((of, to)).chain(against.iter().map(|(of, to)| (of, to)));
                pairs.flat_map(|(of, to)| causes(run, of, to)).collect()
            });
            CheckedClaim { claim, standing, metric, found, because, problem }
        }
        ClaimTest::Figure { table, metric: key, of, within } => {
            let Some(run) = run_of(table) else { return untested(None, format!("there is no table {table}")) };
            if run.left_out(of).is_some() {
                return untested(metric(key), format!("{of} could not run"));
            }
            let found = run.figure(key, of).map(|figure| figure.estimate);
            let standing = match found.and_then(|found| found.low.zip(found.high)) {
                _ if !run.is_finished() => ReplicationVerdict::Undecided,
                None if run.failed_always(of) => ReplicationVerdict::Untested,
                Some((low, high)) if within.hold(low, high) => ReplicationVerdict::Confirmed,
                Some((low, high)) if within.exclude(low, high) => ReplicationVerdict::Refuted,
                _ => ReplicationVerdict::Undecided,
            };
            let problem = if found.is_none() { run.problem(of) } else { None };
            let because = run.because(standing, found, || found_in(run, of));
            CheckedClaim { claim, standing, metric: metric(key), found, because, problem }
        }
    }
}

impl TableRun<'_> {
    /// Whether its study has all its blocks. One that was interrupted decides nothing.
    fn is_finished(&self) -> bool {
        self.study.is_some_and(|study| is_complete(study, self.trials))
    }

    /// What explains something that was measured and not confirmed.
    fn because(
        &self,
        standing: ReplicationVerdict,
        found: Option<Estimate>,
        causes: impl FnOnce() -> Vec<PossibleCause>,
    ) -> Vec<PossibleCause> {
        if found.is_none() || !matches!(standing, ReplicationVerdict::Refuted | ReplicationVerdict::Undecided) {
            Vec::new()
        } else if self.is_finished() {
            causes()
        } else {
            let text = "It was not completed, so it has no verdict.".to_owned();
            vec![PossibleCause { of: self.table.id.clone(), text }]
        }
    }

    /// Why a row could not run.
    fn left_out(&self, case: &CaseId) -> Option<String> {
        let left_out = self.left_out.iter().find(|(left_out, _)| left_out == case);
        left_out.map(|(_, why)| why.clone()).or_else(|| self.study.is_none().then(|| "it was not run".to_owned()))
    }

    /// Why a row has no figures that count: it could not run, or this is the reason of its last trial.
    fn problem(&self, case: &CaseId) -> Option<String> {
        if let Some(why) = self.left_out(case) {
            return Some(why);
        }
        let mut trials = self.trials.iter().filter(|trial| trial.case == *case);
        if trials.clone().any(|trial| trial.outcome == Outcome::Measured) {
            return None;
        }
        Some(match trials.next_back().map(|trial| &trial.outcome) {
            Some(Outcome::Invalid(reason)) => format!("its trials do not count: {reason}"),
            Some(Outcome::Failed(reason)) => format!("its trials failed: {reason}"),
            Some(Outcome::Measured) | None => "it was not measured".to_owned(),
        })
    }

    /// Whether all trials of a row failed, so that nothing was measured of it.
    fn failed_always(&self, case: &CaseId) -> bool {
        let mut trials = self.trials.iter().filter(|trial| trial.case == *case).peekable();
        trials.peek().is_some() && trials.all(|trial| matches!(trial.outcome, Outcome::Failed(_)))
    }

    fn record<'b>(&'b self, study: &'b Study, case: &CaseId) -> Option<Record<'b>> {
        let case = study.cases.iter().find(|known| known.id == *case)?;
        Some(Record::new(study, case, self.trials))
    }

    /// A figure of a case: over the trials that count, or, where none does, over those that came to a measurement.
    fn figure(&self, key: &str, case: &CaseId) -> Option<OurFigure> {
        let metric = metric(key)?;
        let of_case = || self.trials.iter().filter(|trial| trial.case == *case);
        let is_measured = |trial: &&Trial| trial.outcome == Outcome::Measured;
        let some_count = of_case().any(|trial| is_measured(&trial));
        // A trial in which many requests failed does not count, but its share of failures is the figure that is wanted.
        let is_failures = FAILURES.contains(&key);
        let of_all = is_failures || !some_count;
        let trials = of_case().filter(|trial| of_all || is_measured(trial)).filter(|trial| trial.measurement.is_some());
        let values: Vec<f64> = trials.clone().map(metric.reader).collect::<Option<_>>()?;
        let mut interval = mean_interval(&values, Confidence::P95).ok();
        if let Some(interval) = &mut interval {
            // No metric is below zero.
            interval.low = interval.low.max(0.0);
            if is_failures {
                interval.high = interval.high.min(1.0);
                if interval.high == 0.0 {
                    let answered = trials.filter_map(|trial| trial.measurement.as_ref());
                    let answered = answered.map(|measured| measured.requests.ok + measured.requests.failed).sum();
                    interval.high = share_of_none(answered, Confidence::P95);
                }
            }
        }
        let estimate = Estimate {
            value: mean(&values)?,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            n: values.len() as u32,
        };
        Some(OurFigure { estimate, counts: some_count })
    }
}

fn baseline(run: &TableRun<'_>) -> Option<CaseId> {
    let key = &run.table.columns.first()?.metric;
    let has_figures = |case: &&CaseId| run.figure(key, case).is_some_and(|figure| figure.counts);
    let rows = run.table.rows.iter().filter(|row| row.figures.first().is_some_and(Option::is_some));
    std::iter::once(&run.table.baseline).chain(rows.map(|row| &row.case)).find(has_figures).cloned()
}

/// Every pair of a table, judged together.
fn verdicts(run: &TableRun<'_>, metric: &Metric) -> Vec<Verdict> {
    let Some(study) = run.study else { return Vec::new() };
    let records: Vec<_> = study.cases.iter().map(|case| Record::new(study, case, run.trials)).collect();
    judge(metric, study, run.trials, &records).verdicts
}

fn ratios(run: &TableRun<'_>, baseline: &Option<CaseId>, case: &CaseId, column: usize) -> Ratios {
    let Some(baseline) = baseline else { return Ratios::default() };
    let published = |case: &CaseId| published(run.table, case, column);
    let key = &run.table.columns[column].metric;
    let ours = |case: &CaseId| run.figure(key, case).filter(|figure| figure.counts).map(|figure| figure.estimate.value);
    let quotient = |(of, to): (f64, f64)| (to > 0.0).then(|| of / to);
    Ratios {
        published: published(case).zip(published(baseline)).and_then(quotient),
        ours: ours(case).zip(ours(baseline)).and_then(quotient),
    }
}

fn published(table: &PublishedTable, case: &CaseId, column: usize) -> Option<f64> {
    let row = table.rows.iter().find(|row| row.case == *case)?;
    row.figures.get(column)?.map(|figure| figure.middle())
}

/// Two rows of which a published figure differs.
struct Asked<'a> {
    column: usize,
    metric: &'static Metric,
    /// The better one, as published.
    a: &'a CaseId,
    b: &'a CaseId,
    published: f64,
}

/// What asks for a verdict: in each column, each two rows whose figures, or the nearest ends of whose ranges, are far enough apart.
fn asked(table: &PublishedTable) -> Vec<Asked<'_>> {
    let mut asked = Vec::new();
    for (column, PublishedColumn { metric: key, .. }) in table.columns.iter().enumerate() {
        let Some(metric) = metric(key) else { continue };
        let figures = table.rows.iter().filter_map(|row| Some((&row.case, row.figures[column]?)));
        let figures: Vec<_> = figures.filter(|(_, figure)| figure.low > 0.0).collect();
        for (place, first) in figures.iter().enumerate() {
            for second in &figures[place + 1..] {
                let times = first.1.over(&second.1);
                if times.max(1.0 / times) <= NEAR {
                    continue;
                }
                let first_is_better = (times > 1.0) == (metric.better != Better::Lower);
                let (a, b) = if first_is_better { (first, second) } else { (second, first) };
                asked.push(Asked { column, metric, a: a.0, b: b.0, published: a.1.middle() / b.1.middle() });
            }
        }
    }
    asked
}

/// The published differences. Those of the first figure have the verdicts of the study; those of all others are one more family.
fn pairs(run: &TableRun<'_>, mut verdicts: Vec<Verdict>) -> Vec<ReplicatedPair> {
    let asked = asked(run.table);
    if let Some(study) = run.study {
        let further = asked.iter().filter(|asked| asked.column > 0);
        let further = further
            .filter_map(|Asked { metric, a, b, .. }| Some((*metric, [run.record(study, a)?, run.record(study, b)?])));
        verdicts.extend(judge_together(study, run.trials, &further.collect::<Vec<_>>()));
    }
    let pair = |Asked { column, metric, a, b, published }| {
        let verdict = against(&verdicts, metric.key, a, b);
        let has_nothing =
            |case: &CaseId| run.left_out(case).is_some() || (run.is_finished() && run.failed_always(case));
        let standing = match verdict.as_ref().map(|verdict| verdict.verdict) {
            _ if [a, b].into_iter().any(has_nothing) => ReplicationVerdict::Untested,
            Some(VerdictWord::Faster) => ReplicationVerdict::Confirmed,
            Some(VerdictWord::Slower | VerdictWord::Equivalent) => ReplicationVerdict::Refuted,
            // Rows this near would not have been asked about.
            Some(VerdictWord::Undecided) if run.is_finished() && verdict.as_ref().is_some_and(is_near) => {
                ReplicationVerdict::Refuted
            }
            Some(VerdictWord::Undecided) | None => ReplicationVerdict::Undecided,
        };
        let ratio = verdict.as_ref().map(|verdict| verdict.ratio);
        let because = run.because(standing, ratio, || causes(run, a, b));
        ReplicatedPair { column, a: a.clone(), b: b.clone(), published, verdict, standing, because }
    };
    asked.into_iter().map(pair).collect()
}

/// Whether the interval of a pair is of ratios that do not differ by more than [`NEAR`].
fn is_near(verdict: &Verdict) -> bool {
    verdict.ratio.low.zip(verdict.ratio.high).is_some_and(|(low, high)| low >= 1.0 / NEAR && high <= NEAR)
}

fn findings<'a>(run: &TableRun<'a>, case: &CaseId) -> &'a [Finding] {
    run.analysis.and_then(|analysis| analysis.case(case)).map_or(&[], |summary| &summary.findings)
}

/// All that was found in a case by itself.
fn found_in(run: &TableRun<'_>, case: &CaseId) -> Vec<PossibleCause> {
    let found = findings(run, case).iter().filter(|finding| finding.id != PHP_BUILDS_DIFFER);
    found.map(|finding| cause(case, finding)).collect()
}

/// What was found in one of two cases and not in the other, and warnings of either. Which PHP they run says nothing of two that
/// run the same.
fn causes(run: &TableRun<'_>, a: &CaseId, b: &CaseId) -> Vec<PossibleCause> {
    let mut causes = Vec::new();
    for (case, other) in [(a, b), (b, a)] {
        for finding in findings(run, case) {
            let shared = findings(run, other).iter().find(|known| known.id == finding.id);
            let same_php = finding.id == PHP_BUILDS_DIFFER && shared.is_some_and(|known| known.text == finding.text);
            if (finding.severity > Severity::Info || shared.is_none()) && !same_php {
                causes.push(cause(case, finding));
            }
        }
    }
    causes
}

fn cause(case: &CaseId, finding: &Finding) -> PossibleCause {
    PossibleCause { of: case.to_string(), text: finding.text.clone() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stampede_core::{Bounds, Failures, PublishedFigure, PublishedRow, PublishedUnit, Rounds};

    use super::*;
    use crate::analysis::analyse;
    use crate::samples;

    fn table(rows: &[(&str, f64)]) -> PublishedTable {
        PublishedTable {
            id: "t".to_owned(),
            title: "A table".to_owned(),
            failures: Failures::Faults,
            timeout: None,
            columns: vec![PublishedColumn { metric: "throughput_rps".to_owned(), unit: PublishedUnit::PerSecond }],
            baseline: CaseId::new(rows[0].0),
            rows: rows
                .iter()
                .map(|(case, value)| PublishedRow {
                    case: CaseId::new(*case),
                    title: (*case).to_owned(),
                    figures: vec![Some(PublishedFigure { low: *value, high: *value })],
                    unlike: None,
                })
                .collect(),
        }
    }

    /// Cases with a throughput in each of five blocks, a per cent or two apart.
    fn trials(cases: &[(&str, f64)]) -> Vec<Trial> {
        const NOISE: [f64; 5] = [1.0, 1.013, 0.991, 1.004, 0.987];
        let of_case = |(place, (case, value)): (usize, &(&str, f64))| {
            let noise = (0..5).map(move |block| NOISE[(block + 2 * place) % 5]);
            let trials = (1..).zip(noise).map(|(block, noise)| samples::measured(case, block, value * noise));
            trials.collect::<Vec<_>>()
        };
        cases.iter().enumerate().flat_map(of_case).collect()
    }

    /// Runs the test on a table whose rows have these published figures and, where they ran, these of ours.
    fn with_run<T>(rows: &[(&str, f64, Option<f64>)], test: impl Fn(&TableRun<'_>) -> T) -> T {
        let published: Vec<_> = rows.iter().map(|(case, value, _)| (*case, *value)).collect();
        let ours: Vec<_> = rows.iter().filter_map(|(case, _, ours)| Some((*case, (*ours)?))).collect();
        let study = samples::study(&ours.iter().map(|(case, _)| *case).collect::<Vec<_>>());
        let trials = trials(&ours);
        let analysis = analyse(&study, &trials);
        let missing = rows.iter().filter(|(.., ours)| ours.is_none());
        let left_out: Vec<_> = missing.map(|(case, ..)| (CaseId::new(*case), "needs a thing".to_owned())).collect();
        test(&TableRun {
            table: &table(&published),
            study: Some(&study),
            trials: &trials,
            analysis: Some(&analysis),
            left_out: &left_out,
        })
    }

    #[test]
    fn each_published_difference_is_confirmed_refuted_undecided_or_untested() {
        let rows = [
            ("base", 100.0, Some(400.0)),
            ("twice", 200.0, Some(790.0)),
            ("near", 110.0, Some(300.0)),
            ("turned", 300.0, Some(200.0)),
            ("same", 60.0, Some(401.0)),
            ("missing", 50.0, None),
        ];
        with_run(&rows, |run| {
            let replication = replicate(run);
            let standing: BTreeMap<_, _> =
                replication.pairs.iter().map(|pair| (format!("{} {}", pair.a, pair.b), pair.standing)).collect();
            assert_eq!(standing["twice base"], ReplicationVerdict::Confirmed);
            assert_eq!(standing["turned twice"], ReplicationVerdict::Refuted);
            assert_eq!(standing["turned base"], ReplicationVerdict::Refuted);
            assert!(
                matches!(standing["base same"], ReplicationVerdict::Refuted | ReplicationVerdict::Undecided),
                "{standing:?}"
            );
            assert_eq!(standing["base missing"], ReplicationVerdict::Untested);
            assert!(!standing.keys().any(|pair| pair == "near base"), "10 % is no difference");
            let missing = &replication.rows[5];
            assert_eq!((missing.problem.as_deref(), missing.ratios[0].published), (Some("needs a thing"), Some(0.5)));
            let ours = replication.rows[1].ratios[0].ours.unwrap();
            assert!((ours - 1.975).abs() < 0.01, "{ours}");
            assert_eq!(replication.rows[1].verdict.as_ref().unwrap().verdict, VerdictWord::Faster);
        });
    }

    #[test]
    fn the_first_row_with_figures_takes_the_place_of_a_baseline_without() {
        with_run(&[("base", 100.0, None), ("b", 200.0, Some(20.0)), ("c", 400.0, Some(40.0))], |run| {
            let replication = replicate(run);
            assert_eq!(replication.baseline, Some(CaseId::new("b")));
            assert_eq!(replication.rows[2].ratios[0].published, Some(2.0));
        });
    }

    #[test]
    fn a_php_build_explains_nothing_of_two_that_have_it() {
        let rows = [("base", 100.0, Some(400.0)), ("same", 200.0, Some(401.0)), ("other", 200.0, Some(402.0))];
        with_run(&rows, |run| {
            let mut study = run.study.unwrap().clone();
            for (case, php) in study.cases.iter_mut().zip(["8.2", "8.2", "8.3"]) {
                case.runtime_version = format!("PHP {php} NTS");
            }
            let analysis = analyse(&study, run.trials);
            let replication = replicate(&TableRun { study: Some(&study), analysis: Some(&analysis), ..*run });
            let because = |a: &str, b: &str| {
                let pair = replication.pairs.iter().find(|pair| pair.a.as_str() == a && pair.b.as_str() == b).unwrap();
                let builds = pair.because.iter().filter(|cause| cause.text.starts_with("It runs PHP"));
                builds.map(|cause| cause.of.clone()).collect::<Vec<_>>()
            };
            assert_eq!(because("same", "base"), [""; 0]);
            assert_eq!(because("other", "base"), ["other", "base"]);
        });
    }

    #[test]
    fn what_was_not_measured_to_its_end_decides_nothing() {
        with_run(&[("base", 100.0, Some(400.0)), ("twice", 200.0, Some(800.0))], |run| {
            let [of, to] = ["twice", "base"].map(CaseId::new);
            let within = Bounds { from: Some(1.5), to: None };
            let table = || "t".to_owned();
            let ratio = ClaimTest::Ratio { table: table(), metric: None, of: of.clone(), to, against: None, within };
            let figure = |from| ClaimTest::Figure {
                table: table(),
                metric: "throughput_rps".to_owned(),
                of: of.clone(),
                within: Bounds { from: Some(from), to: None },
            };
            let tests = [ratio, figure(100.0), figure(10_000.0)];
            let claims = tests.map(|test| Claim { says: "so".to_owned(), test });
            let standings = |run: TableRun<'_>| claims.each_ref().map(|claim| check(claim, &[run]).standing);
            use ReplicationVerdict::{Confirmed, Refuted, Undecided};
            assert_eq!(standings(*run), [Confirmed, Confirmed, Refuted]);
            let study = Study { rounds: Rounds::Fixed(6), ..run.study.unwrap().clone() };
            let unfinished = TableRun { study: Some(&study), ..*run };
            assert_eq!(standings(unfinished), [Undecided; 3]);
            let pair = &replicate(&unfinished).pairs[0];
            assert_eq!((pair.standing, pair.because.len()), (Undecided, 1));
            assert!(pair.because[0].text.contains("not completed"), "{:?}", pair.because);
        });
    }

    #[test]
    fn a_row_that_failed_each_time_is_not_tested() {
        with_run(&[("base", 100.0, Some(400.0)), ("killed", 50.0, Some(200.0))], |run| {
            let [of, to] = ["killed", "base"].map(CaseId::new);
            let within = Bounds { from: None, to: Some(0.8) };
            let table = || "t".to_owned();
            let ratio = ClaimTest::Ratio { table: table(), metric: None, of: of.clone(), to, against: None, within };
            let figure = ClaimTest::Figure {
                table: table(),
                metric: "throughput_rps".to_owned(),
                of: of.clone(),
                within: Bounds { from: Some(100.0), to: None },
            };
            let claims = [ratio, figure].map(|test| Claim { says: "so".to_owned(), test });
            let mut trials = run.trials.to_vec();
            let fail = |trial: &mut Trial| {
                trial.outcome = Outcome::Failed("a worker was killed".to_owned());
                trial.measurement = None;
            };
            trials.iter_mut().filter(|trial| trial.case == of).for_each(fail);
            let killed = TableRun { trials: &trials, ..*run };
            for claim in &claims {
                let checked = check(claim, &[killed]);
                assert_eq!(checked.standing, ReplicationVerdict::Untested);
                assert_eq!(checked.problem.as_deref(), Some("its trials failed: a worker was killed"));
            }
            assert_eq!(replicate(&killed).pairs[0].standing, ReplicationVerdict::Untested);
            // Once was enough to have a figure, though not one that decides.
            let first = trials.iter().position(|trial| trial.case == of).unwrap();
            trials[first] = run.trials[first].clone();
            let once = TableRun { trials: &trials, ..*run };
            assert_eq!(replicate(&once).pairs[0].standing, ReplicationVerdict::Undecided);
        });
    }

    #[test]
    fn claims_are_held_against_their_intervals() {
        let rows = [("a", 1.0, Some(400.0)), ("b", 1.0, Some(200.0)), ("c", 1.0, Some(399.9)), ("d", 1.0, None)];
        let ratio = |of: &str, to: &str, from, to_bound| ClaimTest::Ratio {
            table: "t".to_owned(),
            metric: None,
            of: CaseId::new(of),
            to: CaseId::new(to),
            against: None,
            within: Bounds { from, to: to_bound },
        };
        let against = |[of, to]: [&str; 2], below: [&str; 2], from, to_bound| {
            let [below_of, below_to] = below.map(CaseId::new);
            match ratio(of, to, from, to_bound) {
                ClaimTest::Ratio { table, metric, of, to, within, .. } => {
                    ClaimTest::Ratio { table, metric, of, to, against: Some((below_of, below_to)), within }
                }
                other => other,
            }
        };
        let figure = |of: &str, metric: &str, from, to| ClaimTest::Figure {
            table: "t".to_owned(),
            metric: metric.to_owned(),
            of: CaseId::new(of),
            within: Bounds { from, to },
        };
        for (says, test, standing) in [
            ("faster", ratio("a", "b", Some(1.0), None), ReplicationVerdict::Confirmed),
            ("faster, turned", ratio("b", "a", Some(1.0), None), ReplicationVerdict::Refuted),
            ("about twice", ratio("a", "b", Some(1.6), Some(2.5)), ReplicationVerdict::Confirmed),
            ("thrice", ratio("a", "b", Some(2.5), Some(3.5)), ReplicationVerdict::Refuted),
            ("exactly twice", ratio("a", "b", Some(1.999), Some(2.001)), ReplicationVerdict::Undecided),
            ("the same", ratio("a", "c", Some(0.9), Some(1.1)), ReplicationVerdict::Confirmed),
            ("more, of the same", ratio("c", "a", Some(1.0), None), ReplicationVerdict::Refuted),
            ("as much or more", ratio("c", "a", Some(0.97), None), ReplicationVerdict::Confirmed),
            ("not there", ratio("a", "d", Some(1.0), None), ReplicationVerdict::Untested),
            ("more than another ratio", against(["a", "b"], ["c", "b"], Some(1.5), None), ReplicationVerdict::Refuted),
            ("as another ratio", against(["a", "b"], ["c", "b"], Some(0.9), Some(1.1)), ReplicationVerdict::Confirmed),
            (
                "twice another ratio",
                against(["a", "b"], ["a", "c"], Some(1.8), Some(2.2)),
                ReplicationVerdict::Confirmed,
            ),
            (
                "another ratio, not there",
                against(["a", "b"], ["d", "b"], None, Some(1.0)),
                ReplicationVerdict::Untested,
            ),
            ("no failures", figure("a", "failed_share", None, Some(0.001)), ReplicationVerdict::Confirmed),
            ("failures", figure("a", "failed_share", Some(0.3), None), ReplicationVerdict::Refuted),
            ("no such table", ClaimTest::Untested { because: "nobody can".to_owned() }, ReplicationVerdict::Untested),
        ] {
            let claim = Claim { says: says.to_owned(), test };
            let found = with_run(&rows, |run| check(&claim, &[*run]).standing);
            assert_eq!(found, standing, "{says}");
        }
    }

    /// Of two cases with this many answers 201 in each block.
    fn created(a: [u64; 3], b: [u64; 3], test: impl Fn(&TableRun<'_>)) {
        let study = samples::study(&["a", "b"]);
        let mut table = table(&[("a", 100.0), ("b", 50.0)]);
        table.columns[0] = PublishedColumn { metric: "created_count".to_owned(), unit: PublishedUnit::Count };
        let trial = |case: &str, block: u32, count: u64| {
            let mut trial = samples::measured(case, block, 1_000.0);
            trial.measurement.as_mut().unwrap().status.insert(201, count);
            trial
        };
        let of_case =
            |case: &'static str, counts: [u64; 3]| (1..).zip(counts).map(move |(n, count)| trial(case, n, count));
        let trials: Vec<Trial> = of_case("a", a).chain(of_case("b", b)).collect();
        test(&TableRun { table: &table, study: Some(&study), trials: &trials, analysis: None, left_out: &[] });
    }

    #[test]
    fn counts_that_are_the_same_in_every_block_are_exact() {
        let claim = |from: f64, to: f64| {
            let [of, to_case] = ["a", "b"].map(CaseId::new);
            let (table, within) = ("t".to_owned(), Bounds { from: Some(from), to: Some(to) });
            let test = ClaimTest::Ratio { table, metric: None, of, to: to_case, against: None, within };
            Claim { says: "so".to_owned(), test }
        };
        for (name, a, b, [from, to], of_claim, of_pair) in [
            ("the same", [7; 3], [7; 3], [0.99, 1.01], ReplicationVerdict::Confirmed, ReplicationVerdict::Refuted),
            ("less is said", [7; 3], [7; 3], [0.5, 1.0], ReplicationVerdict::Refuted, ReplicationVerdict::Refuted),
            ("thrice", [9; 3], [3; 3], [3.0, 3.0], ReplicationVerdict::Confirmed, ReplicationVerdict::Confirmed),
            ("a tenth more", [11; 3], [10; 3], [1.2, 2.0], ReplicationVerdict::Refuted, ReplicationVerdict::Confirmed),
            ("near", [100, 104, 98], [100; 3], [1.5, 3.0], ReplicationVerdict::Refuted, ReplicationVerdict::Refuted),
            ("not always", [9, 9, 3], [3; 3], [1.0, 3.0], ReplicationVerdict::Undecided, ReplicationVerdict::Undecided),
        ] {
            created(a, b, |run| {
                assert_eq!(check(&claim(from, to), &[*run]).standing, of_claim, "{name}");
                assert_eq!(replicate(run).pairs[0].standing, of_pair, "{name}");
            });
        }
    }

    #[test]
    fn each_figure_has_pairs_of_its_own_and_ranges_that_touch_are_none() {
        let study = samples::study(&["a", "b", "c"]);
        let trials = trials(&[("a", 400.0), ("b", 200.0), ("c", 100.0)]);
        let mut table = table(&[("a", 400.0), ("b", 200.0), ("c", 100.0)]);
        table.columns.push(PublishedColumn { metric: "cpu_us_per_request".to_owned(), unit: PublishedUnit::Count });
        let figure = |low, high| Some(PublishedFigure { low, high });
        for (row, second) in table.rows.iter_mut().zip([figure(0.0, 0.0), figure(10.0, 20.0), figure(8.0, 9.0)]) {
            row.figures.push(second);
        }
        table.rows[1].figures[0] = figure(200.0, 380.0);
        let pairs =
            replicate(&TableRun { table: &table, study: Some(&study), trials: &trials, analysis: None, left_out: &[] });
        let pairs: Vec<_> =
            pairs.pairs.iter().map(|pair| (pair.column, pair.a.as_str(), pair.b.as_str(), pair.standing)).collect();
        // 400 is near to the end of 200 to 380, 9 to that of 10 to 20, and 0 has no ratio.
        assert_eq!(pairs, [(0, "a", "c", ReplicationVerdict::Confirmed), (0, "b", "c", ReplicationVerdict::Confirmed)]);
        table.rows[2].figures[1] = figure(40.0, 40.0);
        let run = TableRun { table: &table, study: Some(&study), trials: &trials, analysis: None, left_out: &[] };
        let pair = &replicate(&run).pairs[2];
        assert_eq!((pair.column, pair.a.as_str(), pair.standing), (1, "b", ReplicationVerdict::Confirmed), "{pair:?}");
        assert_eq!(pair.verdict.as_ref().unwrap().metric, "cpu_us_per_request");
    }

    #[test]
    fn figures_of_trials_that_do_not_count_are_marked_and_failures_are_counted_in_all() {
        let study = samples::study(&["a"]);
        let mut trials = trials(&[("a", 100.0)]);
        for trial in &mut trials[..2] {
            trial.outcome = Outcome::Invalid("half of it broke off".to_owned());
            let requests = &mut trial.measurement.as_mut().unwrap().requests;
            requests.failed = requests.ok;
        }
        let table = table(&[("a", 1.0)]);
        let run = |trials| TableRun { table: &table, study: Some(&study), trials, analysis: None, left_out: &[] };
        let case = CaseId::new("a");
        let some = run(&trials);
        assert_eq!(some.figure("throughput_rps", &case).unwrap().estimate.n, 3);
        let failed = some.figure("failed_share", &case).unwrap();
        assert_eq!((failed.estimate.value, failed.estimate.n, failed.counts), (0.2, 5, true));
        let [low, high] = [failed.estimate.low, failed.estimate.high].map(Option::unwrap);
        assert!(low == 0.0 && high > 0.4, "{low} to {high}");
        let without = run(&trials[2..]).figure("failed_share", &case).unwrap().estimate;
        let answered: u64 = trials[2..].iter().map(|trial| trial.measurement.as_ref().unwrap().requests.ok).sum();
        assert_eq!(
            (without.value, without.low, without.high),
            (0.0, Some(0.0), Some(share_of_none(answered, Confidence::P95)))
        );
        let mut lost = trials.clone();
        for (trial, right) in lost.iter_mut().zip([0, 20, 0, 0, 10]) {
            let requests = &mut trial.measurement.as_mut().unwrap().requests;
            (requests.ok, requests.failed) = (right, 1_000);
        }
        let most = run(&lost).figure("failed_share", &case).unwrap().estimate;
        assert!(most.value > 0.99 && most.high == Some(1.0), "no share is above 1: {most:?}");
        let none = run(&trials[..2]);
        assert!(!none.figure("throughput_rps", &case).unwrap().counts);
        assert_eq!(none.problem(&case).unwrap(), "its trials do not count: half of it broke off");
    }
}
