//! What holds a case back: suspected from its records, and shown by changing one limit at a time.

mod intervention;

use stampede_core::{Case, CaseId, Estimate, Role, Study, Verdict, VerdictWord};

pub use self::intervention::{Intervention, Lever, interventions, php_settings};
use crate::analysis::Analysis;
use crate::metric::Better;
use crate::rules::Bottleneck;

/// What switching something is counted as, beside limits that were raised by half.
const SWITCHED: f64 = 1.5;

/// What a study of kind why says of its first case.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The case.
    pub base: CaseId,
    /// What its records suggest.
    pub suspected: Option<Bottleneck>,
    /// What each change did: the one with the largest effect first, those that could not be measured last.
    pub tests: Vec<Test>,
    /// What follows.
    pub outcome: Explained,
}

/// What follows from the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explained {
    /// The first test moved the primary metric beyond the floor.
    Confirmed,
    /// The records suggest something, and no change showed it.
    SuspectedOnly,
    /// Neither records nor changes say what it is.
    Unexplained,
}

/// A change to the case, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The changed case.
    pub case: CaseId,
    /// What was changed.
    pub intervention: Intervention,
    /// The primary metric with the change over that without it, paired by block; absent where no block measured both.
    pub ratio: Option<Estimate>,
    /// What it did.
    pub effect: Effect,
    /// How much of the change arrived in the metric: 1 when raising a limit by half raises the rate by half, 0 when it does
    /// nothing, below 0 when more of it makes the case worse. What is switched, or was too much, counts as a change by half.
    pub arrived: Option<f64>,
    /// The upper end of `arrived`, where there is an interval.
    pub most: Option<f64>,
}

/// What a change did to the primary metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// More of the limit makes the case better, or less of it makes it worse.
    Limits,
    /// Less of it makes the case better.
    TooMuch,
    /// More of it makes the case worse.
    Harms,
    /// It moves the metric by less than the precision.
    Nothing,
    /// The data do not say.
    Unknown,
}

/// Explains the first case of a study of kind why.
pub fn explain(study: &Study, analysis: &Analysis) -> Option<Explanation> {
    let (base, changed) = study.cases.split_first()?;
    let suspected = analysis.case(&base.id).and_then(|summary| summary.bottleneck.clone());
    let mut tests: Vec<Test> = changed.iter().filter_map(|case| test(base, case, analysis)).collect();
    let rank = |test: &Test| match test.effect {
        Effect::Limits | Effect::TooMuch => 0,
        Effect::Harms | Effect::Nothing | Effect::Unknown => 1,
    };
    let arrived = |test: &Test| test.arrived.unwrap_or(f64::NEG_INFINITY);
    tests.sort_by(|a, b| rank(a).cmp(&rank(b)).then(arrived(b).total_cmp(&arrived(a))));
    let outcome = match tests.first() {
        Some(first) if rank(first) == 0 => Explained::Confirmed,
        _ if suspected.is_some() => Explained::SuspectedOnly,
        _ => Explained::Unexplained,
    };
    Some(Explanation { base: base.id.clone(), suspected, tests, outcome })
}

impl Explanation {
    /// The change that is confirmed as the bottleneck.
    pub fn confirmed(&self) -> Option<&Test> {
        self.tests.first().filter(|_| self.outcome == Explained::Confirmed)
    }

    /// Other changes that may have moved the metric as much as the one that was confirmed, for their size.
    pub fn rivals(&self) -> impl Iterator<Item = &Test> {
        let confirmed = self.confirmed().and_then(|test| test.arrived);
        self.tests
            .iter()
            .skip(1)
            .filter(move |test| test.most.zip(confirmed).is_some_and(|(most, first)| most >= first))
    }
}

fn test(base: &Case, case: &Case, analysis: &Analysis) -> Option<Test> {
    let intervention = Intervention::between(base, case)?;
    let verdict = analysis.verdicts.iter().find(|verdict| verdict.a == case.id || verdict.b == case.id);
    let ratio = verdict.map(|verdict| over(base, verdict));
    let better = analysis.primary.better;
    // By how many times the case became better, as a logarithm, and by how many at most.
    let gain = ratio.map(|ratio| if better == Better::Lower { -ratio.value.ln() } else { ratio.value.ln() });
    let most =
        ratio.and_then(|ratio| if better == Better::Lower { Some(-ratio.low?.ln()) } else { Some(ratio.high?.ln()) });
    let least =
        ratio.and_then(|ratio| if better == Better::Lower { Some(-ratio.high?.ln()) } else { Some(ratio.low?.ln()) });
    let is_too_much = intervention.lowers() && gain.is_some_and(|gain| gain > 0.0);
    let size = intervention.factor.filter(|_| !is_too_much).unwrap_or(SWITCHED).ln();
    let arrived = gain.map(|gain| gain / size);
    let most = if size < 0.0 { least } else { most }.map(|gain| gain / size);
    let effect = match verdict.map(|verdict| (verdict.verdict, verdict.slight)) {
        None | Some((VerdictWord::Undecided, _)) => Effect::Unknown,
        Some((VerdictWord::Equivalent, _) | (_, true)) => Effect::Nothing,
        Some((VerdictWord::Faster | VerdictWord::Slower, false)) if is_too_much => Effect::TooMuch,
        Some((VerdictWord::Faster | VerdictWord::Slower, false)) if arrived.is_some_and(|arrived| arrived > 0.0) => {
            Effect::Limits
        }
        Some((VerdictWord::Faster | VerdictWord::Slower, false)) => Effect::Harms,
    };
    Some(Test { case: case.id.clone(), intervention, ratio, effect, arrived, most })
}

/// A verdict's ratio as that of the change over the case.
fn over(base: &Case, verdict: &Verdict) -> Estimate {
    let Estimate { value, low, high, n } = verdict.ratio;
    if verdict.b == base.id {
        return verdict.ratio;
    }
    Estimate { value: 1.0 / value, low: high.map(f64::recip), high: low.map(f64::recip), n }
}

impl Bottleneck {
    /// What settings must be for to be about this.
    pub fn role(&self) -> Option<Role> {
        match self.finding.as_str() {
            "connections-hold-workers" | "pool-full" => Some(Role::PoolSize),
            "backlog-full" => Some(Role::Backlog),
            "worker-restarts" => Some(Role::Recycle),
            "cpu-throttled" => Some(Role::Processors),
            _ => None,
        }
    }

    /// Whether a change of this is what would show it.
    pub fn is_tested_by(&self, lever: Lever) -> bool {
        match self.finding.as_str() {
            "oom-kills" => lever == Lever::Memory,
            "opcache-off" => lever == Lever::Opcache,
            "backlog-full" => lever == Lever::Setting(Role::Backlog),
            "worker-restarts" => lever == Lever::Setting(Role::Recycle),
            "upstream-keepalive-off" => lever == Lever::UpstreamKeepalive,
            "part-throttled" => lever == Lever::Share,
            "connections-hold-workers" | "pool-full" => lever == Lever::Setting(Role::PoolSize),
            "cpu-throttled" => lever == Lever::Cpus,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Cpus, StudyKind, Trial, Tunable, TunableKind};

    use super::*;
    use crate::analysis::analyse;
    use crate::samples;

    /// A case with one worker under half a CPU, a change to each, and the throughput of the three in every block.
    fn explained(base: f64, more_cpu: f64, more_workers: f64, throttled: u64) -> Explanation {
        with_workers(["1", "1", "2"], [base, more_cpu, more_workers], throttled)
    }

    fn with_workers(workers: [&str; 3], rates: [f64; 3], throttled: u64) -> Explanation {
        let [base, more_cpu, more_workers] = rates;
        let mut study = Study { kind: StudyKind::Why, ..samples::study(&["base", "cpus=0.75", "workers=2"]) };
        let tunable = Tunable {
            name: "workers",
            role: Role::PoolSize,
            kind: TunableKind::Count { min: 1, max: 10 },
            summary: "",
            manual: "",
        };
        for (case, workers) in study.cases.iter_mut().zip(workers) {
            case.tuning.give("workers", workers);
            case.tuning = case.tuning.clone().with_roles(&[tunable]);
        }
        study.cases[1].limits.cpus = Cpus::from_millis(750);
        let noise = [1.0, 1.01, 0.995, 1.004, 0.99];
        let trials: Vec<Trial> = (1..)
            .zip(noise)
            .flat_map(|(block, noise)| {
                let wobble = 1.0 + (noise - 1.0) * 0.3;
                [
                    samples::measured("base", block, base * noise),
                    samples::measured("cpus=0.75", block, more_cpu * wobble),
                    samples::measured("workers=2", block, more_workers * noise * wobble),
                ]
            })
            .map(|mut trial| {
                let resources = trial.measurement.as_mut().unwrap().resources.as_mut().unwrap();
                resources.throttled_periods = throttled;
                resources.cpu = Duration::from_millis(2_480);
                trial
            })
            .collect();
        let analysis = analyse(&study, &trials);
        assert_eq!(analysis.verdicts.len(), 2, "changes are compared with the case alone");
        explain(&study, &analysis).unwrap()
    }

    #[test]
    fn what_moves_the_rate_most_for_what_was_changed_is_confirmed() {
        for (name, rates, throttled, outcome, first, effects) in [
            ("the pool", [100.0, 104.9, 195.0], 0, Explained::Confirmed, "workers=2", [Effect::Limits, Effect::Limits]),
            (
                "the quota",
                [100.0, 148.0, 100.1],
                50,
                Explained::Confirmed,
                "cpus=0.75",
                [Effect::Limits, Effect::Nothing],
            ),
            (
                "more workers than are good",
                [100.0, 148.0, 80.0],
                50,
                Explained::Confirmed,
                "cpus=0.75",
                [Effect::Limits, Effect::Harms],
            ),
            (
                "suspected and not shown",
                [100.0, 100.2, 100.0],
                50,
                Explained::SuspectedOnly,
                "cpus=0.75",
                [Effect::Nothing, Effect::Nothing],
            ),
            (
                "nothing does anything",
                [100.0, 100.2, 100.0],
                0,
                Explained::Unexplained,
                "cpus=0.75",
                [Effect::Nothing, Effect::Nothing],
            ),
        ] {
            let [base, more_cpu, more_workers] = rates;
            let explained = explained(base, more_cpu, more_workers, throttled);
            assert_eq!(explained.outcome, outcome, "{name}: {explained:?}");
            assert_eq!(explained.tests[0].case.as_str(), first, "{name}: {explained:?}");
            assert_eq!([explained.tests[0].effect, explained.tests[1].effect], effects, "{name}: {explained:?}");
            assert_eq!(explained.suspected.is_some(), throttled > 0, "{name}");
            assert_eq!(explained.confirmed().is_some(), outcome == Explained::Confirmed, "{name}");
        }
    }

    #[test]
    fn what_is_too_much_is_confirmed_by_less_of_it() {
        let explained = with_workers(["9", "9", "2"], [100.0, 100.2, 125.0], 0);
        let first = explained.confirmed().unwrap();
        assert_eq!((first.case.as_str(), first.effect), ("workers=2", Effect::TooMuch), "{explained:?}");
        assert!((first.arrived.unwrap() - 1.25_f64.ln() / 1.5_f64.ln()).abs() < 0.02);
        assert_eq!(explained.rivals().count(), 0, "{explained:?}");
    }

    #[test]
    fn what_may_have_moved_it_as_much_is_a_rival() {
        let rivals = |rates: [f64; 3]| {
            let explained = with_workers(["2", "2", "3"], rates, 0);
            explained.rivals().map(|test| test.case.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(rivals([100.0, 122.0, 122.3]), ["cpus=0.75"]);
        assert_eq!(rivals([100.0, 105.0, 130.0]), [] as [&str; 0]);
    }

    #[test]
    fn a_ratio_is_that_of_the_change_over_the_case() {
        let explained = explained(100.0, 148.0, 80.0, 0);
        let of = |case: &str| explained.tests.iter().find(|test| test.case.as_str() == case).unwrap();
        let more_cpu = of("cpus=0.75").ratio.unwrap();
        assert!((1.45..1.52).contains(&more_cpu.value) && more_cpu.low.unwrap() < more_cpu.value, "{more_cpu:?}");
        let workers = of("workers=2").ratio.unwrap();
        assert!((0.78..0.82).contains(&workers.value) && workers.low.unwrap() < workers.high.unwrap(), "{workers:?}");
        // ln(1.48) / ln(1.5) is 0.967.
        assert!((of("cpus=0.75").arrived.unwrap() - 0.967).abs() < 0.02);
    }

    #[test]
    fn a_suspicion_names_what_would_show_it() {
        let suspected = |finding: &str| Bottleneck { finding: finding.to_owned(), what: "" };
        assert!(suspected("pool-full").is_tested_by(Lever::Setting(Role::PoolSize)));
        assert!(!suspected("pool-full").is_tested_by(Lever::Cpus));
        assert!(!suspected("slow-extension").is_tested_by(Lever::Opcache));
    }
}
