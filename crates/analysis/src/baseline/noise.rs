//! What a calibration says: by how much a case seems to differ from itself on a machine.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{Case, Floor, Load, NoiseFloor, Rounds, Study, StudyKind, Trial};
use stampede_stats::{minimal_detectable_effect, noise_floor as floor_of};

use crate::metric::{Better, METRICS, Metric, primary_of};
use crate::pace::share_of_block;
use crate::record::Record;
use crate::verdict::{Family, MIN_BLOCKS, margins};

/// A floor above this says that the machine was busy with something else while it was calibrated. It bounds what is claimed all
/// the same: without it, studies would claim more on a machine that disturbs them most.
pub const BUSY: f64 = 0.25;

/// What a trial takes beside its load where nothing tells: launch, verification, drain, stop and its part in the reading of the
/// reference server. That is more than the trials of most runtimes take, so that too few rounds are promised rather than too many.
const BESIDE_LOAD: Duration = Duration::from_secs(5);

/// The floor of each metric that the two cases of a calibration have in three blocks or more, however large; nothing where the
/// primary metric has none.
pub fn noise_floor(calibration: &Study, trials: &[Trial]) -> Option<NoiseFloor> {
    let records: Vec<_> = calibration.cases.iter().map(|case| Record::new(calibration, case, trials)).collect();
    let floor = |metric: &'static Metric| {
        let family = Family::new(metric, &records, margins(calibration));
        let pair = family.pairs.first()?;
        let share = floor_of(&pair.logs()).ok()?;
        let deviation = pair.ratios()?.spread().deviation;
        Some((metric.key.to_owned(), Floor { share, deviation, pairs: pair.blocks() as u32 }))
    };
    let compared = METRICS.iter().filter(|metric| metric.better != Better::Neither);
    let metrics = compared.filter_map(floor).collect::<BTreeMap<_, _>>();
    metrics
        .contains_key(primary_of(calibration).key)
        .then(|| NoiseFloor { calibration: calibration.id.clone(), metrics })
}

/// How many rounds the time of a study has room for at most, and the smallest difference that they find 9 times of 10 when they
/// scatter as the calibration did; nothing without one. `trials` are those that the study has already; the study and the trials
/// of the calibration tell how long trials take here beside their load.
pub fn within_budget(study: &Study, trials: &[Trial], calibration: Option<(&Study, &[Trial])>) -> Option<(u32, f64)> {
    let floor = study.groundwork.floor.as_ref()?.metrics.get(primary_of(study).key)?;
    let rounds = match study.rounds {
        Rounds::Fixed(rounds) => rounds,
        Rounds::Auto { max_time } => {
            let block = block_time(study, trials, calibration);
            // So many are measured in any case.
            ((max_time.as_secs_f64() / block.as_secs_f64()) as u32).max(MIN_BLOCKS as u32)
        }
    };
    let effect = minimal_detectable_effect(rounds as usize, floor.deviation)?;
    Some((rounds, (floor.share.ln_1p() + effect).exp_m1()))
}

/// How long a block of a study takes: as its blocks took, where it has some; otherwise the load of each case and, for each, what
/// trials of the calibration took beside their load.
fn block_time(study: &Study, trials: &[Trial], calibration: Option<(&Study, &[Trial])>) -> Duration {
    if let Some(each) = share_of_block(study, trials).filter(|each| !each.is_zero()) {
        return each * study.cases.len() as u32;
    }
    let beside_load = |(calibration, trials): (&Study, &[Trial])| {
        let each = share_of_block(calibration, trials)?;
        Some(each.saturating_sub(load_time(calibration) / calibration.cases.len() as u32))
    };
    let beside = calibration.and_then(beside_load).unwrap_or(BESIDE_LOAD);
    load_time(study) + beside * study.cases.len() as u32
}

/// For how long the cases of a study are loaded in a block, together.
fn load_time(study: &Study) -> Duration {
    study.cases.iter().map(|case| study.warm_up_of(&case.id) + study.duration).sum()
}

/// Whether a calibration says something about a study: it was made on this machine, on the same platform and cores, under the
/// same limits and under the same model of load, and its trials shared their blocks in the same way.
pub fn calibrates(calibration: &Study, study: &Study) -> bool {
    let conditions = |case: &Case| (case.platform.clone(), case.limits, case.pinning.clone(), is_open(&case.load));
    calibration.kind == StudyKind::Calibrate
        && calibration.machine == study.machine
        && calibration.order == study.order
        && calibration.cases.first().map(conditions) == study.cases.first().map(conditions)
}

fn is_open(load: &Load) -> bool {
    matches!(load, Load::Open { .. })
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use stampede_core::{CaseId, CgroupSupport, Cpus, Machine, Pilot, VerdictWord, WarmUp};

    use super::*;
    use crate::analysis::analyse;
    use crate::samples;

    fn calibration() -> (Study, Vec<Trial>) {
        let study = Study { kind: StudyKind::Calibrate, ..samples::study(&["a", "again"]) };
        let rates = [(1000.0, 1010.0), (1005.0, 1000.0), (990.0, 1000.0), (1000.0, 1004.0), (1010.0, 1001.0)];
        let trials = (1..)
            .zip(rates)
            .flat_map(|(block, (a, b))| [samples::measured("a", block, a), samples::measured("again", block, b)]);
        let trials = trials.collect();
        (study, trials)
    }

    #[test]
    fn a_calibration_bounds_what_is_claimed() {
        let (calibration, trials) = calibration();
        let floor = noise_floor(&calibration, &trials).unwrap();
        let throughput = floor.metrics["throughput_rps"];
        assert_eq!(throughput.pairs, 5);
        // The 90 % interval of the five logarithms of ratios, by R: t.test(log(a / b), conf.level = 0.9).
        assert!((0.005..0.015).contains(&throughput.share), "{throughput:?}");
        assert!(!floor.metrics.contains_key("throttled_share"), "nothing is better than something else there");

        let steady = [(1_008.0, 1_000.0), (1_009.0, 1_001.0), (1_010.5, 1_002.0)];
        let trials: Vec<Trial> = (1..)
            .zip(steady)
            .flat_map(|(block, (a, b))| [samples::measured("a", block, a), samples::measured("b", block, b)])
            .collect();
        let mut study = samples::study(&["a", "b"]);
        let word = |study: &Study| analyse(study, &trials).verdicts[0].verdict;
        assert_eq!(word(&study), VerdictWord::Faster, "0.8 % apart");
        let without = analyse(&study, &trials).detectable.unwrap();
        study.groundwork.floor = Some(floor);
        assert_eq!(word(&study), VerdictWord::Equivalent, "less than the machine's bias may be");
        let tight = Study { precision: throughput.share, ..study.clone() };
        assert_eq!(word(&tight), VerdictWord::Undecided, "a bias as large as the precision may hide as much");
        let with = analyse(&study, &trials).detectable.unwrap();
        assert!((with / (without + throughput.share) - 1.0).abs() < 0.02, "{without} {with}");
    }

    /// Trials of these cases, so many seconds from the start of one to that of the next, and `between` more between blocks.
    fn paced(cases: &[&str], blocks: u32, each: i64, between: i64) -> Vec<Trial> {
        let per_block = each * cases.len() as i64 + between;
        let of_block = |block: u32| {
            (0..).zip(cases).map(move |(place, case)| Trial {
                started_at: Timestamp::UNIX_EPOCH
                    + SignedDuration::from_secs(i64::from(block) * per_block + place * each),
                ..samples::measured(case, block, 1_000.0)
            })
        };
        (1..=blocks).flat_map(of_block).collect()
    }

    #[test]
    fn a_budget_says_what_it_can_find() {
        let floor = Floor { share: 0.01, deviation: 0.04, pairs: 10 };
        let mut study = Study {
            rounds: Rounds::Auto { max_time: Duration::from_secs(600) },
            warm_up: Duration::from_secs(1),
            duration: Duration::from_secs(9),
            ..samples::study(&["a", "b"])
        };
        assert_eq!(within_budget(&study, &[], None), None);
        let metrics = BTreeMap::from([("throughput_rps".to_owned(), floor)]);
        study.groundwork.floor = Some(NoiseFloor { calibration: study.id.clone(), metrics });
        // 10 s of load and 5 s beside it, for each of two cases.
        let (rounds, effect) = within_budget(&study, &[], None).unwrap();
        assert_eq!(rounds, 20);
        // qt(.975, 19) + qt(.9, 19) is 3.421; that by 0.04 / sqrt(20) is 0.03060.
        assert!((effect / 0.0414 - 1.0).abs() < 0.01, "{effect}");

        let calibration = Study { kind: StudyKind::Calibrate, ..samples::study(&["a-a", "a-b"]) };
        let known = paced(&["a-a", "a-b"], 5, 7, 4);
        let of_calibration = Some((&calibration, &known[..]));
        // Its blocks took 18 s, of which 12 were load: 3 s for each trial.
        assert_eq!(within_budget(&study, &[], of_calibration).unwrap().0, 600 / 26);
        assert_eq!(
            within_budget(&study, &[], Some((&calibration, &known[..2]))).unwrap().0,
            20,
            "one block tells nothing"
        );
        let own = paced(&["a", "b"], 2, 14, 2);
        assert_eq!(within_budget(&study, &own, of_calibration).unwrap().0, 600 / 30, "what its own took comes first");

        let warm_up = WarmUp { length: Duration::from_secs(20), pilot: Pilot::Unsteady { watched: Duration::ZERO } };
        study.groundwork.warm_ups =
            [("a", warm_up.clone()), ("b", warm_up)].map(|(id, of)| (CaseId::new(id), of)).into();
        assert_eq!(within_budget(&study, &[], of_calibration).unwrap().0, 600 / 64);
        study.rounds = Rounds::Auto { max_time: Duration::from_secs(60) };
        assert_eq!(within_budget(&study, &[], of_calibration).unwrap().0, 3, "so many are measured in any case");
    }

    #[test]
    fn too_little_calibrates_nothing() {
        let (study, trials) = calibration();
        assert_eq!(noise_floor(&study, &trials[..4]), None, "two blocks");
        assert_eq!(noise_floor(&study, &[]), None);
        let busy = (1..=5).flat_map(|block| {
            let disturbed = if block % 2 == 0 { 300.0 } else { 1_000.0 };
            [samples::measured("a", block, 1_000.0 + f64::from(block)), samples::measured("again", block, disturbed)]
        });
        let floor = noise_floor(&study, &busy.collect::<Vec<_>>()).expect("a busy machine bounds claims all the same");
        assert!(floor.metrics["throughput_rps"].share > BUSY, "{floor:?}");
    }

    #[test]
    fn a_calibration_is_of_one_machine_platform_limits_and_model_of_load() {
        let (calibration, _) = calibration();
        let study = samples::study(&["x", "y", "z"]);
        assert!(calibrates(&calibration, &study));
        let machine = Machine { cgroup: CgroupSupport::V1, ..study.machine.clone() };
        assert!(!calibrates(&calibration, &Study { machine, ..study.clone() }));
        for change in [
            (|case: &mut Case| case.limits.cpus = Cpus::from_millis(1000)) as fn(&mut Case),
            |case| case.load = "open:500".parse().unwrap(),
            |case| case.pinning.server = vec![0, 1],
            |case| case.platform = "docker".to_owned(),
        ] {
            let mut other = study.clone();
            change(&mut other.cases[0]);
            assert!(!calibrates(&calibration, &other), "{:?}", other.cases[0]);
        }
        let mut more = study.clone();
        more.cases[0].load = Load::Closed { connections: 64 };
        assert!(calibrates(&calibration, &more), "another number of connections is no other model");
        assert!(!calibrates(&study, &study), "a comparison is no calibration");
    }
}
