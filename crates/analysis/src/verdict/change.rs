//! Whether a change made something worse: what a gate says.

use std::collections::BTreeSet;

use stampede_core::{Case, CaseId, Estimate, Rounds, Study, Trial};
use stampede_stats::{Confidence, Decision, Interval, difference_interval, mean, step_down};
use thiserror::Error;

use super::change_outcome::{ChangeOutcome, outcome, turned};
use super::margins::{MIN_BLOCKS, margins, noise};
use super::multiple_comparisons::{ERROR, Family, Pair};
use super::stopping_rule::follow;
use crate::metric::{Better, Metric, metric, primary_of};
use crate::record::{Record, estimate};

/// How a change compares with what was before.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What of: a case that both studies have, or the case after the change.
    pub case: CaseId,
    /// Key of the metric.
    pub metric: &'static str,
    /// Which of two values is the better one.
    pub better: Better,
    /// Before the change, over trials.
    pub base: Estimate,
    /// After the change, over trials.
    pub head: Estimate,
    /// The metric after the change over that before it, with the interval that decided: of 95 %, or wider where several cases
    /// share the error of one.
    pub ratio: Estimate,
    /// How much worse it may be: 0.05 is 1.05 times the time for a request, or the throughput divided by 1.05.
    pub threshold: f64,
    /// How much the same thing may seem to differ from itself on this machine, as a calibration found it; 0 without one. A
    /// change that is beyond the threshold and not beyond this is undecided; so is one that seems to pass, where this may hide
    /// as much as may not.
    pub floor: f64,
    /// Whether both were measured in the same blocks, so that what disturbed both cancels.
    pub paired: bool,
    /// By how much the ratio scatters from block to block, as a share: about what two starts of the same thing differed by in this
    /// very run. None where blocks are too few, or not what both were measured in.
    pub scatter: Option<f64>,
    /// How CPU time per request compares, of a change that is undecided by another figure and is shown to be worse than may pass by this:
    /// what neighbours take from a machine is in throughput, and hardly in the CPU time of a request.
    pub cpu_time: Option<Estimate>,
    /// Whether the time was over before more could be measured than this is from.
    pub is_cut_short: bool,
    /// What is said.
    pub outcome: ChangeOutcome,
}

/// A side of which trials do not count. What the others say is no answer to whether the change may pass: a head that fails in most
/// of its trials may be quick in the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The case.
    pub case: CaseId,
    /// How many of its trials failed.
    pub failed: u32,
    /// How many were measured and are not valid.
    pub invalid: u32,
    /// How many trials it had.
    pub trials: u32,
    /// Why the first of them does not count.
    pub reason: String,
}

/// The cases of a study that lost trials, in its order.
pub fn losses(study: &Study, trials: &[Trial]) -> Vec<Loss> {
    let loss = |case: &Case| {
        let mut loss = Loss { case: case.id.clone(), failed: 0, invalid: 0, trials: 0, reason: String::new() };
        for trial in trials.iter().filter(|trial| trial.case == case.id) {
            loss.trials += 1;
            let reason = match &trial.outcome {
                stampede_core::Outcome::Measured => continue,
                stampede_core::Outcome::Failed(reason) => {
                    loss.failed += 1;
                    reason
                }
                stampede_core::Outcome::Invalid(reason) => {
                    loss.invalid += 1;
                    reason
                }
            };
            if loss.reason.is_empty() {
                loss.reason.clone_from(reason);
            }
        }
        (loss.failed + loss.invalid > 0).then_some(loss)
    };
    study.cases.iter().filter_map(loss).collect()
}

impl Change {
    /// Whether it is undecided because of the noise floor: that leaves room for all of what seems to be worse than may pass, or
    /// may hide as much as may not.
    pub fn is_within_floor(&self) -> bool {
        let Some((low, high)) = self.ratio.low.zip(self.ratio.high) else { return false };
        let interval = Interval { value: self.ratio.value.ln(), low: low.ln(), high: high.ln() };
        let with = |floor| outcome(self.better, &interval, self.threshold, floor);
        self.outcome == ChangeOutcome::Undecided
            && with(0.0) != ChangeOutcome::Undecided
            && with(self.floor) == ChangeOutcome::Undecided
    }
}

/// What a study of kind gate says: two cases, the first without the change and the second with it. How much worse it may be is
/// the study's precision.
///
/// # Errors
///
/// When a case was never measured or lacks the metric, or they share fewer than three blocks; of a study whose time was over, none.
pub fn of_gate(study: &Study, trials: &[Trial]) -> Result<Change, ChangeError> {
    let metric = primary_of(study);
    let records: Vec<_> = study.cases.iter().map(|case| Record::new(study, case, trials)).collect();
    let [base, head] = &records[..] else { return Err(ChangeError::Cases { cases: study.cases.len() }) };
    let [base_mean, head_mean] = [mean_of(metric, base)?, mean_of(metric, head)?];
    let mut family = Family::new(metric, &records, margins(study));
    match study.rounds {
        Rounds::Fixed(_) => family.look_once(),
        Rounds::Auto { max_time } => {
            follow(study, trials, max_time, &mut family);
        }
    }
    let is_cut_short = study.time_over_at.is_some();
    let enough = if is_cut_short { 1 } else { MIN_BLOCKS };
    let pair = family.pairs.first().filter(|pair| pair.blocks() >= enough);
    let pair = pair.ok_or_else(|| ChangeError::Blocks {
        blocks: family.pairs.first().map_or(0, Pair::blocks),
        least: MIN_BLOCKS,
    })?;
    let interval = pair.interval().map(turned);
    let value = -mean(&pair.logs()).unwrap_or_default();
    let floor = noise(study, metric);
    let outcome = match (pair.decision, &interval) {
        (Decision::Equivalent, _) => ChangeOutcome::Passed,
        (_, Some(interval)) => outcome(metric.better, interval, study.precision, floor),
        (_, None) => ChangeOutcome::Undecided,
    };
    let cpu_time = match outcome {
        ChangeOutcome::Undecided if metric.key != CPU_TIME => cpu_time(study, &records, &family.looks),
        _ => None,
    };
    Ok(Change {
        case: head.case.id.clone(),
        metric: metric.key,
        better: metric.better,
        base: base_mean,
        head: head_mean,
        ratio: ratio(value, interval, pair.blocks()),
        threshold: study.precision,
        floor,
        paired: true,
        cpu_time,
        scatter: pair.ratios().map(|ratios| ratios.spread().deviation.exp_m1()),
        is_cut_short,
        outcome,
    })
}

/// Key of the figure that tells of more work where throughput does not.
const CPU_TIME: &str = "cpu_us_per_request";

/// How CPU time per request compares where it is shown to be worse than may pass, looked at when the deciding figure was.
fn cpu_time(study: &Study, records: &[Record<'_>], looks: &[(u32, f64)]) -> Option<Estimate> {
    let metric = metric(CPU_TIME)?;
    let mut family = Family::new(metric, records, margins(study));
    match study.rounds {
        Rounds::Fixed(_) => family.look_once(),
        Rounds::Auto { .. } => looks.iter().for_each(|(block, spent)| family.look(*block, *spent)),
    }
    let pair = family.pairs.first()?;
    let interval = turned(pair.interval()?);
    let is_worse = outcome(metric.better, &interval, study.precision, noise(study, metric)) == ChangeOutcome::Failed;
    is_worse.then(|| ratio(interval.value, Some(interval), pair.blocks()))
}

/// What two stored studies say of a metric, that of the first study where none is named: each case that both have, in the order
/// of the first. They were not measured side by side, so
/// that whatever differed between their times counts as the change. Over all cases, a change is called worse wrongly in at most
/// one comparison of studies in twenty (Holm's procedure on the intervals of [`difference_interval`]).
///
/// # Errors
///
/// When the studies have no case in common or were measured under other conditions, or a case was never measured or lacks the
/// metric.
pub fn between_studies(
    metric: Option<&'static Metric>,
    base: (&Study, &[Trial]),
    head: (&Study, &[Trial]),
    threshold: f64,
) -> Result<Vec<Change>, ChangeError> {
    let metric = metric.unwrap_or_else(|| primary_of(base.0));
    let mut compared = Vec::new();
    for case in &base.0.cases {
        let Some(after) = head.0.cases.iter().find(|after| after.id == case.id) else { continue };
        same_conditions(base.0, head.0, case, after)?;
        let [before, after] = [Record::new(base.0, case, base.1), Record::new(head.0, after, head.1)].map(|record| {
            let logs = record.measured().filter_map(metric.reader).filter(|value| *value > 0.0).map(f64::ln);
            mean_of(metric, &record).map(|mean| (mean, logs.collect::<Vec<f64>>()))
        });
        compared.push((case.id.clone(), before?, after?));
    }
    if compared.is_empty() {
        return Err(ChangeError::NothingInCommon);
    }
    let interval = |place: usize, error: f64| {
        let (_, (_, before), (_, after)) = &compared[place];
        difference_interval(after, before, Confidence::with_error(error)?).ok()
    };
    let floor = noise(base.0, metric).max(noise(head.0, metric));
    let mut outcomes = vec![ChangeOutcome::Undecided; compared.len()];
    let mut decided_by = vec![None; compared.len()];
    step_down(ERROR, &vec![false; compared.len()], |place, error| {
        decided_by[place] = interval(place, error);
        if let Some(interval) = &decided_by[place] {
            outcomes[place] = outcome(metric.better, interval, threshold, floor);
        }
        outcomes[place] == ChangeOutcome::Failed
    });
    let change = |(place, (case, (base, before), (head, after)))| {
        let logs = [&after, &before].map(|logs: &Vec<f64>| mean(logs).unwrap_or_default());
        Change {
            case,
            metric: metric.key,
            better: metric.better,
            base,
            head,
            ratio: ratio(logs[0] - logs[1], decided_by[place], before.len().min(after.len())),
            threshold,
            floor,
            paired: false,
            scatter: None,
            cpu_time: None,
            is_cut_short: false,
            outcome: outcomes[place],
        }
    };
    let changes: Vec<(usize, _)> = compared.iter().cloned().enumerate().collect();
    Ok(changes.into_iter().map(change).collect())
}

fn ratio(value: f64, interval: Option<Interval>, n: usize) -> Estimate {
    let interval = interval.map(Interval::exp);
    Estimate {
        value: value.exp(),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        n: n as u32,
    }
}

fn mean_of(metric: &'static Metric, record: &Record<'_>) -> Result<Estimate, ChangeError> {
    let case = record.case.id.clone();
    if record.measured().next().is_none() {
        let reason = record.trials.iter().find_map(|trial| match &trial.outcome {
            stampede_core::Outcome::Invalid(reason) | stampede_core::Outcome::Failed(reason) => Some(reason.clone()),
            stampede_core::Outcome::Measured => None,
        });
        let untried = match record.study.time_over_at {
            Some(_) => "the time was over before; use a longer --max-time",
            None => "it has no trials",
        };
        return Err(ChangeError::NotMeasured { case, reason: reason.unwrap_or_else(|| untried.to_owned()) });
    }
    estimate(metric, record).ok_or(ChangeError::NoMetric { case, metric: metric.title })
}

fn same_conditions(base: &Study, head: &Study, before: &Case, after: &Case) -> Result<(), ChangeError> {
    let other: BTreeSet<&'static str> = [
        (base.workload != head.workload, "workload"),
        (base.machine != head.machine, "machine"),
        (base.duration != head.duration, "duration"),
        (before.limits != after.limits, "limits"),
        (before.load != after.load || before.beside != after.beside, "load"),
        (before.topology != after.topology, "topology"),
        (before.platform != after.platform, "platform"),
    ]
    .into_iter()
    .filter_map(|(differs, what)| differs.then_some(what))
    .collect();
    if other.is_empty() {
        return Ok(());
    }
    let what = other.into_iter().collect::<Vec<_>>().join(", ");
    Err(ChangeError::Conditions { case: before.id.clone(), what })
}

/// Why nothing can be said of a change.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ChangeError {
    /// Only two cases are a before and an after.
    #[error("judge a change: it needs two cases, and the study has {cases}")]
    Cases {
        /// How many there are.
        cases: usize,
    },
    /// No trial of a side counts.
    #[error("judge a change: {case} was never measured: {reason}")]
    NotMeasured {
        /// The side.
        case: CaseId,
        /// Why its first trial does not count.
        reason: String,
    },
    /// A trial of a side does not have the metric.
    #[error("judge a change: {case} has no {metric} in some trial (a percentile needs 50 requests beyond it)")]
    NoMetric {
        /// The side.
        case: CaseId,
        /// What the metric is, in words.
        metric: &'static str,
    },
    /// Too little to say anything of.
    #[error("judge a change: both sides were measured in {blocks} rounds, and it needs {least}")]
    Blocks {
        /// In how many they were.
        blocks: usize,
        /// How many it takes.
        least: usize,
    },
    /// Two studies of other cases.
    #[error("judge a change: the two studies have no case in common")]
    NothingInCommon,
    /// Two studies that do not ask the same.
    #[error("judge a change: {case} was measured under another {what} in the two studies")]
    Conditions {
        /// The case.
        case: CaseId,
        /// What differs.
        what: String,
    },
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Floor, Groundwork, Machine, NoiseFloor, StudyId, StudyKind};

    use super::*;
    use crate::metric::{METRICS, metric};
    use crate::samples;

    fn gate(key: Option<&str>, base: &[f64], head: &[f64]) -> Result<Change, ChangeError> {
        gate_above(0.0, key, base, head)
    }

    /// On a machine with this noise floor.
    fn calibrated(floor: f64, study: Study) -> Study {
        let of = |metric: &Metric| (metric.key.to_owned(), Floor { share: floor, deviation: 0.01, pairs: 10 });
        let floor = NoiseFloor { calibration: StudyId::new("c"), metrics: METRICS.iter().map(of).collect() };
        Study { groundwork: Groundwork { floor: Some(floor), ..Groundwork::default() }, ..study }
    }

    fn gate_above(floor: f64, key: Option<&str>, base: &[f64], head: &[f64]) -> Result<Change, ChangeError> {
        let study = Study {
            kind: StudyKind::Gate,
            precision: 0.05,
            metric: key.map(str::to_owned),
            ..calibrated(floor, samples::study(&["base", "head"]))
        };
        let of = |case: &'static str, values: &[f64]| {
            (1..).zip(values.to_vec()).map(move |(block, value)| samples::measured(case, block, value))
        };
        let trials: Vec<Trial> = of("base", base).chain(of("head", head)).collect();
        of_gate(&study, &trials)
    }

    /// Neighbours are in the throughput of rounds, and not in what a request takes of the CPU.
    #[test]
    fn more_work_is_told_where_throughput_does_not_say() {
        let trial = |case: &str, block: u32, throughput: f64, cpu_us: f64| {
            let mut trial = samples::measured(case, block, throughput);
            let measured = trial.measurement.as_mut().unwrap();
            let cpu = Duration::from_secs_f64(measured.requests.ok as f64 * cpu_us / 1e6);
            measured.resources.as_mut().unwrap().cpu = cpu;
            trial
        };
        let study = Study { kind: StudyKind::Gate, precision: 0.05, ..samples::study(&["base", "head"]) };
        for (name, more, told) in [("40 % more", 1.4, true), ("as much", 1.0, false)] {
            let rates = [(1, 1000.0, 700.0), (2, 600.0, 900.0), (3, 1400.0, 800.0)];
            let trials: Vec<Trial> = rates
                .into_iter()
                .flat_map(|(block, base, head)| {
                    let wobble = 1.0 + 0.01 * f64::from(block);
                    [trial("base", block, base, 400.0), trial("head", block, head, 400.0 * more * wobble)]
                })
                .collect();
            let change = of_gate(&study, &trials).unwrap();
            assert_eq!(change.outcome, ChangeOutcome::Undecided, "{name}: {change:?}");
            assert_eq!(change.cpu_time.is_some(), told, "{name}: {change:?}");
            assert!(change.scatter.is_some_and(|share| share > 0.2), "{name}: {change:?}");
        }
    }

    #[test]
    fn a_change_of_a_study_whose_time_was_over_is_undecided() {
        let study = Study { kind: StudyKind::Gate, ..samples::study(&["base", "head"]) };
        let rounds = Rounds::Auto { max_time: Duration::from_secs(60) };
        let study = Study { rounds, time_over_at: Some(study.started_at), ..study };
        let trials = [samples::measured("base", 1, 1000.0), samples::measured("head", 1, 500.0)];
        let change = of_gate(&study, &trials).unwrap();
        assert_eq!((change.outcome, change.is_cut_short, change.ratio.low), (ChangeOutcome::Undecided, true, None));
        assert!(matches!(of_gate(&study, &trials[..1]), Err(ChangeError::NotMeasured { .. })));
    }

    #[test]
    fn a_change_is_held_against_what_may_pass() {
        let base = [1000.0, 1010.0, 990.0, 1005.0];
        let by = |factor: f64| base.map(|value| value * factor);
        let noisy = [700.0, 1400.0, 900.0, 1200.0];
        let wobbled = |factor: f64| {
            let mut head = by(factor);
            (head[0], head[1]) = (head[0] * 1.002, head[1] * 0.998);
            head
        };
        for (name, key, head, expected) in [
            ("the same", None, wobbled(1.0), ChangeOutcome::Passed),
            ("2 % slower", None, wobbled(0.98), ChangeOutcome::Passed),
            ("10 % slower", None, wobbled(0.90), ChangeOutcome::Failed),
            ("twice as fast", None, wobbled(2.0), ChangeOutcome::Passed),
            ("close to the threshold", None, wobbled(0.953), ChangeOutcome::Undecided),
            ("noise", None, noisy, ChangeOutcome::Undecided),
            ("no variance", None, by(1.0), ChangeOutcome::Undecided),
            // CPU time of a request shrinks as throughput grows: the samples use 0.4 of a core whatever they answer.
            ("CPU time, 10 % more", Some("cpu_us_per_request"), wobbled(0.90), ChangeOutcome::Failed),
            ("CPU time, less", Some("cpu_us_per_request"), wobbled(1.2), ChangeOutcome::Passed),
        ] {
            let change = gate(key, &base, &head).unwrap();
            assert_eq!(change.outcome, expected, "{name}: {change:?}");
            assert_eq!((change.ratio.n, change.paired), (4, true));
        }
        let slower = gate(None, &base, &wobbled(0.5)).unwrap().ratio;
        assert!((slower.value - 0.5).abs() < 1e-3 && slower.low < Some(0.5) && slower.high > Some(0.5), "{slower:?}");
    }

    #[test]
    fn what_the_noise_floor_may_have_made_fails_no_change() {
        let base = [1000.0, 1010.0, 990.0, 1005.0];
        for (name, floor, worse, expected, is_within_floor) in [
            ("beyond both", 0.08, 0.12, ChangeOutcome::Failed, false),
            ("between threshold and floor", 0.08, 0.065, ChangeOutcome::Undecided, true),
            ("across the threshold", 0.08, 0.05, ChangeOutcome::Undecided, false),
            ("under both: the floor may hide what is over", 0.08, 0.01, ChangeOutcome::Undecided, true),
            ("better by more than the floor hides", 0.08, -0.2, ChangeOutcome::Passed, false),
            ("under the threshold, above the floor", 0.03, 0.01, ChangeOutcome::Passed, false),
            ("a floor below the threshold", 0.03, 0.065, ChangeOutcome::Failed, false),
        ] {
            let factors = [1.002, 0.998, 1.0, 1.001];
            let head: Vec<f64> =
                base.iter().zip(factors).map(|(value, wobble)| value / (1.0 + worse) * wobble).collect();
            let change = gate_above(floor, None, &base, &head).unwrap();
            assert_eq!((change.outcome, change.is_within_floor()), (expected, is_within_floor), "{name}: {change:?}");

            // Stored studies have no blocks in common, so that their intervals are wider.
            let of = |worse: f64| -> Vec<Trial> {
                let values = factors.map(|wobble| 1000.0 / (1.0 + worse) * wobble);
                (1..).zip(values).map(|(block, value)| samples::measured("a", block, value)).collect()
            };
            let (before, after) = (of(0.0), of(worse));
            let study = samples::study(&["a"]);
            let changes =
                between_studies(None, (&study, &before), (&calibrated(floor, study.clone()), &after), 0.05).unwrap();
            assert_eq!(changes[0].outcome, expected, "{name}: {changes:?}");
        }
    }

    #[test]
    fn trials_that_do_not_count_are_told() {
        let study = samples::study(&["base", "head"]);
        let mut trials: Vec<Trial> = (1..=3).map(|block| samples::measured("base", block, 100.0)).collect();
        assert_eq!(losses(&study, &trials), []);
        trials.extend((1..=9).map(|block| samples::failed("head", block)));
        trials.push(Trial {
            outcome: stampede_core::Outcome::Invalid("limits".to_owned()),
            ..samples::measured("head", 10, 100.0)
        });
        trials.extend((11..=12).map(|block| samples::measured("head", block, 100.0)));
        let reason = "no answer".to_owned();
        assert_eq!(
            losses(&study, &trials),
            [Loss { case: CaseId::new("head"), failed: 9, invalid: 1, trials: 12, reason }]
        );
    }

    #[test]
    fn what_cannot_be_judged_is_an_error() {
        let base = [1000.0, 1010.0, 990.0];
        let p99 = metric("response_p99_us").unwrap().title;
        for (key, head, expected) in [
            (None, &base[..2], ChangeError::Blocks { blocks: 2, least: 3 }),
            (
                None,
                &[][..],
                ChangeError::NotMeasured { case: CaseId::new("head"), reason: "it has no trials".to_owned() },
            ),
            (
                Some("response_p99_us"),
                &[1000.0, 900.0, 1000.0][..],
                ChangeError::NoMetric { case: CaseId::new("base"), metric: p99 },
            ),
        ] {
            assert_eq!(gate(key, &base, head), Err(expected));
        }
    }

    #[test]
    fn stored_studies_are_compared_case_by_case() {
        let throughput = metric("throughput_rps");
        let study = samples::study(&["a", "b"]);
        let trials = |a: f64, b: f64| -> Vec<Trial> {
            (1..=4)
                .flat_map(|block| {
                    let wobble = 1.0 + 0.002 * f64::from(block);
                    [samples::measured("a", block, a * wobble), samples::measured("b", block, b * wobble)]
                })
                .collect()
        };
        let (before, after) = (trials(1000.0, 1000.0), trials(800.0, 1010.0));
        let changes = between_studies(None, (&study, &before), (&study, &after), 0.05).unwrap();
        let outcomes: Vec<_> = changes.iter().map(|change| (change.case.as_str(), change.outcome)).collect();
        assert_eq!(outcomes, [("a", ChangeOutcome::Failed), ("b", ChangeOutcome::Passed)]);
        assert!((changes[0].ratio.value - 0.8).abs() < 1e-3 && !changes[0].paired, "{changes:?}");
        // The first of two cases is decided by half of the error, and the other, once that is, by all of it.
        let alone = |case: &str, after: &[Trial]| {
            let study = samples::study(&[case]);
            let of = |trials: &[Trial]| -> Vec<Trial> {
                trials.iter().filter(|trial| trial.case.as_str() == case).cloned().collect()
            };
            let changes = between_studies(None, (&study, &of(&before)), (&study, &of(after)), 0.05).unwrap();
            changes[0].ratio.high.unwrap() - changes[0].ratio.low.unwrap()
        };
        let width = |place: usize| changes[place].ratio.high.unwrap() - changes[place].ratio.low.unwrap();
        assert!(width(0) > alone("a", &after) * 1.1, "{changes:?}");
        assert!((width(1) / alone("b", &after) - 1.0).abs() < 1e-9, "{changes:?}");

        let mut crowded = study.clone();
        crowded.cases[0].beside = vec![stampede_core::Load::Closed { connections: 1 }];
        let elsewhere = Study { machine: Machine { cpus: 64, ..study.machine.clone() }, ..study.clone() };
        for (name, head, expected) in [
            ("others", samples::study(&["c"]), ChangeError::NothingInCommon),
            (
                "another machine",
                elsewhere,
                ChangeError::Conditions { case: CaseId::new("a"), what: "machine".to_owned() },
            ),
            (
                "another user class",
                crowded,
                ChangeError::Conditions { case: CaseId::new("a"), what: "load".to_owned() },
            ),
        ] {
            let judged = between_studies(throughput, (&study, &before), (&head, &after), 0.05);
            assert_eq!(judged, Err(expected), "{name}");
        }
    }
}
