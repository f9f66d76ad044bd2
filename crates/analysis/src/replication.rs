//! A published experiment beside what was measured here: which of its differences and claims hold.
//!
//! Pairs of a table are judged together, as those of every study are; each claim is one question of its own, with a 95 %
//! interval of its own. Nothing is compared across studies.

use stampede_core::{
    CaseId, Claim, ClaimTest, Estimate, Finding, Outcome, PublishedTable, Severity, Study, Trial, Verdict, VerdictWord,
};
use stampede_stats::{Confidence, mean, mean_interval};

use crate::analysis::Analysis;
use crate::metric::{Better, Metric, metric};
use crate::record::Record;
use crate::verdicts::judge;

/// Rows whose published figures are no further apart than this are not compared: nobody claims that they differ.
pub const NEAR: f64 = 1.2;

/// What became of a published difference or claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It holds here too.
    Confirmed,
    /// It does not hold here: the opposite does, or there is no difference.
    Refuted,
    /// The data do not say.
    Undecided,
    /// It was not measured.
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
    /// Each two rows whose first published figures differ by more than [`NEAR`].
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
    /// The better one, as published.
    pub a: CaseId,
    /// The other.
    pub b: CaseId,
    /// The published figure of `a` over that of `b`.
    pub published: f64,
    /// What was found here; `a` is the published better one.
    pub verdict: Option<Verdict>,
    /// What that means for the published difference.
    pub standing: Standing,
    /// Where it was measured and not confirmed: what was found in one of the two and not in the other, or is a warning. Empty is
    /// unexplained.
    pub because: Vec<String>,
}

/// A claim beside what was measured.
#[derive(Clone, Debug)]
pub struct CheckedClaim<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// What became of it.
    pub standing: Standing,
    /// The metric that it is about.
    pub metric: Option<&'static Metric>,
    /// The ratio or figure that was found here.
    pub found: Option<Estimate>,
    /// Where it was measured and not confirmed: as for a pair. Empty is unexplained.
    pub because: Vec<String>,
    /// Why it is not tested.
    pub problem: Option<String>,
}

/// Puts a table beside its study.
pub fn replicate(run: &TableRun<'_>) -> Replication {
    let table = run.table;
    let baseline = baseline(run);
    let verdicts = first_metric(table).map(|metric| verdicts(run, metric)).unwrap_or_default();
    let rows = table.rows.iter().map(|row| {
        let figures: Vec<_> = table.columns.iter().map(|column| run.figure(&column.metric, &row.case)).collect();
        let ratios = (0..table.columns.len()).map(|column| ratios(run, &baseline, &row.case, column)).collect();
        let verdict = baseline.as_ref().and_then(|baseline| against(&verdicts, &row.case, baseline));
        ReplicatedRow { case: row.case.clone(), figures, ratios, verdict, problem: run.problem(&row.case) }
    });
    Replication { rows: rows.collect(), pairs: pairs(run, &verdicts), baseline }
}

/// Holds a claim against the studies of its publication.
pub fn check<'a>(claim: &'a Claim, runs: &[TableRun<'_>]) -> CheckedClaim<'a> {
    let run_of = |id: &str| runs.iter().find(|run| run.table.id == *id);
    let untested = |metric, problem: String| CheckedClaim {
        claim,
        standing: Standing::Untested,
        metric,
        found: None,
        because: Vec::new(),
        problem: Some(problem),
    };
    match &claim.test {
        ClaimTest::Untested { because } => untested(None, because.clone()),
        ClaimTest::Ratio { table, metric: key, of, to, within } => {
            let Some(run) = run_of(table) else { return untested(None, format!("there is no table {table}")) };
            let key = key.as_deref().or(run.table.columns.first().map(|column| column.metric.as_str()));
            let metric = key.and_then(metric);
            if let Some(case) = [of, to].into_iter().find(|case| run.left_out(case).is_some()) {
                return untested(metric, format!("{case} could not run"));
            }
            let verdict = metric.zip(run.study).and_then(|(metric, study)| {
                let records = [of, to].map(|case| run.record(study, case));
                let [Some(of), Some(to)] = records else { return None };
                judge(metric, study, run.trials, &[of, to]).verdicts.pop()
            });
            let found = verdict.as_ref().map(|verdict| verdict.ratio);
            let same = verdict.is_some_and(|verdict| verdict.verdict == VerdictWord::Equivalent)
                && !(within.from.is_none_or(|from| from < 1.0) && within.to.is_none_or(|to| to > 1.0));
            let standing = match found.and_then(|ratio| ratio.low.zip(ratio.high)) {
                _ if same => Standing::Refuted,
                Some((low, high)) if within.hold(low, high) => Standing::Confirmed,
                Some((low, high)) if within.exclude(low, high) => Standing::Refuted,
                _ => Standing::Undecided,
            };
            let problem = found.is_none().then(|| [of, to].into_iter().find_map(|case| run.problem(case))).flatten();
            let because = if is_open(standing, found) { causes(run, of, to) } else { Vec::new() };
            CheckedClaim { claim, standing, metric, found, because, problem }
        }
        ClaimTest::Figure { table, metric: key, of, within } => {
            let Some(run) = run_of(table) else { return untested(None, format!("there is no table {table}")) };
            if run.left_out(of).is_some() {
                return untested(metric(key), format!("{of} could not run"));
            }
            let found = run.figure(key, of).map(|figure| figure.estimate);
            let standing = match found.and_then(|found| found.low.zip(found.high)) {
                Some((low, high)) if within.hold(low, high) => Standing::Confirmed,
                Some((low, high)) if within.exclude(low, high) => Standing::Refuted,
                _ => Standing::Undecided,
            };
            let problem = if found.is_none() { run.problem(of) } else { None };
            let because = if is_open(standing, found) { found_in(run, of) } else { Vec::new() };
            CheckedClaim { claim, standing, metric: metric(key), found, because, problem }
        }
    }
}

impl TableRun<'_> {
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
        // A trial in which many requests failed does not count, but its share of failures is what is asked for.
        let of_all = ["failed_share", "unanswered_share"].contains(&key) || !some_count;
        let trials = of_case().filter(|trial| of_all || is_measured(trial)).filter(|trial| trial.measurement.is_some());
        let values: Vec<f64> = trials.map(metric.reader).collect::<Option<_>>()?;
        let interval = mean_interval(&values, Confidence::P95).ok();
        let estimate = Estimate {
            value: mean(&values)?,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            n: values.len() as u32,
        };
        Some(OurFigure { estimate, counts: some_count })
    }
}

fn first_metric(table: &PublishedTable) -> Option<&'static Metric> {
    table.columns.first().and_then(|column| metric(&column.metric))
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

/// What is said of `a` against `b`, whichever of the two was judged against the other.
fn against(verdicts: &[Verdict], a: &CaseId, b: &CaseId) -> Option<Verdict> {
    verdicts.iter().find_map(|verdict| match (&verdict.a, &verdict.b) {
        (of, to) if (of, to) == (a, b) => Some(verdict.clone()),
        (of, to) if (of, to) == (b, a) => Some(turned(verdict)),
        _ => None,
    })
}

fn turned(verdict: &Verdict) -> Verdict {
    let Verdict { metric, a, b, ratio, verdict, slight, blocks_to_decide } = verdict.clone();
    let Estimate { value, low, high, n } = ratio;
    let inverse = |value: f64| 1.0 / value;
    Verdict {
        metric,
        a: b,
        b: a,
        ratio: Estimate { value: inverse(value), low: high.map(inverse), high: low.map(inverse), n },
        verdict: match verdict {
            VerdictWord::Faster => VerdictWord::Slower,
            VerdictWord::Slower => VerdictWord::Faster,
            same => same,
        },
        slight,
        blocks_to_decide,
    }
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

fn pairs(run: &TableRun<'_>, verdicts: &[Verdict]) -> Vec<ReplicatedPair> {
    let Some(metric) = first_metric(run.table) else { return Vec::new() };
    let rows: Vec<_> =
        run.table.rows.iter().filter_map(|row| Some((&row.case, published(run.table, &row.case, 0)?))).collect();
    let mut pairs = Vec::new();
    for (place, first) in rows.iter().enumerate() {
        for second in &rows[place + 1..] {
            let first_is_better = (first.1 > second.1) == (metric.better != Better::Lower);
            let (a, b) = if first_is_better { (first, second) } else { (second, first) };
            let published = a.1 / b.1;
            if published.max(1.0 / published) <= NEAR {
                continue;
            }
            let (a, b) = (a.0, b.0);
            let verdict = against(verdicts, a, b);
            let standing = match verdict.as_ref().map(|verdict| verdict.verdict) {
                _ if [a, b].into_iter().any(|case| run.left_out(case).is_some()) => Standing::Untested,
                Some(VerdictWord::Faster) => Standing::Confirmed,
                Some(VerdictWord::Slower | VerdictWord::Equivalent) => Standing::Refuted,
                Some(VerdictWord::Undecided) | None => Standing::Undecided,
            };
            let ratio = verdict.as_ref().map(|verdict| verdict.ratio);
            let because = if is_open(standing, ratio) { causes(run, a, b) } else { Vec::new() };
            pairs.push(ReplicatedPair { a: a.clone(), b: b.clone(), published, verdict, standing, because });
        }
    }
    pairs
}

/// Whether something that was measured asks for an explanation.
fn is_open(standing: Standing, found: Option<Estimate>) -> bool {
    matches!(standing, Standing::Refuted | Standing::Undecided) && found.is_some()
}

fn findings<'a>(run: &TableRun<'a>, case: &CaseId) -> &'a [Finding] {
    run.analysis.and_then(|analysis| analysis.case(case)).map_or(&[], |summary| &summary.findings)
}

/// All that was found in a case.
fn found_in(run: &TableRun<'_>, case: &CaseId) -> Vec<String> {
    findings(run, case).iter().map(|finding| format!("{case}: {}", finding.text)).collect()
}

/// What was found in one of two cases and not in the other, and warnings of either.
fn causes(run: &TableRun<'_>, a: &CaseId, b: &CaseId) -> Vec<String> {
    let mut causes = Vec::new();
    for (case, other) in [(a, b), (b, a)] {
        for finding in findings(run, case) {
            let shared = findings(run, other).iter().any(|known| known.id == finding.id);
            if finding.severity > Severity::Info || !shared {
                causes.push(format!("{case}: {}", finding.text));
            }
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stampede_core::{Bounds, Failures, PublishedColumn, PublishedFigure, PublishedRow, PublishedUnit};

    use super::*;
    use crate::analysis::analyse;
    use crate::samples;

    fn table(rows: &[(&str, f64)]) -> PublishedTable {
        PublishedTable {
            id: "t".to_owned(),
            title: "A table".to_owned(),
            failures: Failures::Faults,
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
            assert_eq!(standing["twice base"], Standing::Confirmed);
            assert_eq!(standing["turned twice"], Standing::Refuted);
            assert_eq!(standing["turned base"], Standing::Refuted);
            assert!(matches!(standing["base same"], Standing::Refuted | Standing::Undecided), "{standing:?}");
            assert_eq!(standing["base missing"], Standing::Untested);
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
    fn claims_are_held_against_their_intervals() {
        let rows = [("a", 1.0, Some(400.0)), ("b", 1.0, Some(200.0)), ("c", 1.0, Some(399.9)), ("d", 1.0, None)];
        let ratio = |of: &str, to: &str, from, to_bound| ClaimTest::Ratio {
            table: "t".to_owned(),
            metric: None,
            of: CaseId::new(of),
            to: CaseId::new(to),
            within: Bounds { from, to: to_bound },
        };
        let figure = |of: &str, metric: &str, from, to| ClaimTest::Figure {
            table: "t".to_owned(),
            metric: metric.to_owned(),
            of: CaseId::new(of),
            within: Bounds { from, to },
        };
        for (says, test, standing) in [
            ("faster", ratio("a", "b", Some(1.0), None), Standing::Confirmed),
            ("faster, turned", ratio("b", "a", Some(1.0), None), Standing::Refuted),
            ("about twice", ratio("a", "b", Some(1.6), Some(2.5)), Standing::Confirmed),
            ("thrice", ratio("a", "b", Some(2.5), Some(3.5)), Standing::Refuted),
            ("exactly twice", ratio("a", "b", Some(1.999), Some(2.001)), Standing::Undecided),
            ("the same", ratio("a", "c", Some(0.9), Some(1.1)), Standing::Confirmed),
            ("not there", ratio("a", "d", Some(1.0), None), Standing::Untested),
            ("no failures", figure("a", "failed_share", None, Some(0.001)), Standing::Confirmed),
            ("failures", figure("a", "failed_share", Some(0.3), None), Standing::Refuted),
            ("no such table", ClaimTest::Untested { because: "nobody can".to_owned() }, Standing::Untested),
        ] {
            let claim = Claim { says: says.to_owned(), test };
            let found = with_run(&rows, |run| check(&claim, &[*run]).standing);
            assert_eq!(found, standing, "{says}");
        }
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
        let none = run(&trials[..2]);
        assert!(!none.figure("throughput_rps", &case).unwrap().counts);
        assert_eq!(none.problem(&case).unwrap(), "its trials do not count: half of it broke off");
    }
}
