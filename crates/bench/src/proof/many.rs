//! Many cases in few blocks: how often a direction is claimed that is not there, and how often one is found that is.

use std::time::Duration;

use stampede_core::{ErrorModel, Rounds};

use super::noise::{Noise, Residuals};
use super::simulation::{Compared, Ended, PRECISION, Simulation};
use super::{Kind, Proof, percent, share, studies, target};
use crate::document::Section;
use crate::target::{Bound, Target};

const CASES: usize = 13;
/// Each case is so many times as fast as the next.
const STEP: f64 = 1.3;
const TIME: Duration = Duration::from_secs(40 * 60);

const ROUNDS: [Rounds; 4] = [Rounds::Fixed(3), Rounds::Fixed(4), Rounds::Fixed(6), Rounds::Auto { max_time: TIME }];

const MODELS: [(&str, ErrorModel); 2] = [("own pair", ErrorModel::OwnPair), ("all cases", ErrorModel::AllCases)];

const RESIDUALS: [(&str, Residuals); 4] = [
    ("alike", Residuals::Alike),
    ("one wild", Residuals::OneWild),
    ("far outliers", Residuals::Heavy),
    ("two kinds", Residuals::TwoKinds),
];

pub(super) fn many(proof: &Proof, kinds: &[Kind], targets: &mut Vec<Target>) -> Section {
    let mut section = Section::new("Many cases, few blocks");
    section.paragraph(&format!(
        "{CASES} cases in 3, 4 and 6 rounds, and with `auto` in {} minutes. A figure is that of its case, times what the block does to all \
         cases (20 %), times a residual of {}. Residuals are normal (\"alike\"); those of one case five times as large (\"one wild\"); of \
         Student's t with 3 degrees of freedom (\"far outliers\"); or every other case shares half of their variance in each block, and so \
         do the rest (\"two kinds\": a machine that disturbs servers of threads in another way than servers of processes). The error of a \
         pair is found from its own ratios (\"own pair\", as in studies of before), or from all cases while there are fewer than ten blocks \
         (\"all cases\", ADR 33).",
        TIME.as_secs() / 60,
        percent(Residuals::DEVIATION),
    ));
    section.paragraph(&format!(
        "In how many of {} studies of equal cases any pair is given a direction:",
        proof.studies.div_ceil(4)
    ));
    let mut rows = vec![head(&["residuals", "error from"])];
    for (name, residuals) in RESIDUALS {
        for (model, errors) in MODELS {
            let wrong = ROUNDS.map(|rounds| {
                let ended = ended(proof, proof.studies.div_ceil(4), residuals, 1.0, rounds, errors);
                share(&ended, |study| study.pairs.iter().any(Compared::is_false))
            });
            rows.push([name, model].map(str::to_owned).into_iter().chain(wrong.map(percent)).collect());
            if errors == ErrorModel::AllCases {
                let what = format!("a false direction in a study of {CASES} identical cases, {name}");
                targets.push(target(what, Bound::AtMost(5.0), wrong.into_iter().fold(0.0, f64::max)));
            }
        }
    }
    section.table(&rows);
    section.paragraph(&format!(
        "And where each case is {STEP} times as fast as the next, {} studies each: in how many every pair is given its direction, and how \
         many pairs of all; \"trials\" is how many a case has on average with `auto`.",
        proof.studies.div_ceil(16),
    ));
    let mut rows = vec![head(&["residuals", "error from", "of"])];
    rows[0].push("trials".to_owned());
    let fewer = proof.studies.div_ceil(16);
    for (name, residuals) in RESIDUALS {
        for (model, errors) in MODELS {
            let all = ROUNDS.map(|rounds| ended(proof, fewer, residuals, STEP, rounds, errors));
            let every = all.each_ref().map(|ended| share(ended, |study| study.pairs.iter().all(Compared::is_found)));
            let pairs = all.each_ref().map(|ended| of_pairs(ended, Compared::is_found));
            let trials = all[ROUNDS.len() - 1].iter().map(|study| study.trials).sum::<usize>() as f64;
            let trials = format!("{:.1}", trials / f64::from(fewer) / CASES as f64);
            let row = |of: &str, shares: [f64; ROUNDS.len()]| {
                [name, model, of].map(str::to_owned).into_iter().chain(shares.map(percent)).collect::<Vec<_>>()
            };
            rows.push(row("studies", every));
            rows.push([row("pairs", pairs), vec![trials]].concat());
            if (residuals, errors) == (Residuals::Alike, ErrorModel::AllCases) {
                let what = format!("all of {STEP} is found, {CASES} cases, 4 rounds");
                targets.push(target(what, Bound::AtLeast(90.0), every[1]));
            }
        }
    }
    section.table(&rows);
    permuted(proof, kinds, targets, &mut section);
    section
}

fn head(first: &[&str]) -> Vec<String> {
    let rounds = ROUNDS.map(|rounds| match rounds {
        Rounds::Fixed(rounds) => format!("{rounds} rounds"),
        Rounds::Auto { .. } => "auto".to_owned(),
    });
    first.iter().map(|cell| (*cell).to_owned()).chain(rounds).collect()
}

fn ended(
    proof: &Proof,
    studies_of_each: u32,
    residuals: Residuals,
    step: f64,
    rounds: Rounds,
    errors: ErrorModel,
) -> Vec<Ended> {
    let truths = (0..CASES as i32).map(|place| step.powi(-place)).collect();
    let simulation = Simulation { truths, rounds, precision: PRECISION, errors };
    studies(proof, studies_of_each, &simulation, &Noise::Residuals(residuals))
}

fn of_pairs(ended: &[Ended], test: fn(&Compared) -> bool) -> f64 {
    let pairs = ended.iter().flat_map(|study| &study.pairs);
    pairs.clone().filter(|pair| test(pair)).count() as f64 / pairs.count() as f64
}

/// Recorded trials of identical cases, a block's labels drawn again: what a block's trials have in common, and how far out some lie,
/// is as it was.
fn permuted(proof: &Proof, kinds: &[Kind], targets: &mut Vec<Target>, section: &mut Section) {
    const SHAPES: [(usize, u32); 5] = [(4, 3), (4, 4), (4, 6), (8, 3), (8, 4)];
    section.paragraph(
        "And of recorded trials of identical cases, as they followed each other in one piece: of 4 cases, in blocks as they were measured, and \
         of 8, each block two of those. Labels are permuted within blocks. In how many studies any pair is given a direction:",
    );
    let shapes = SHAPES.map(|(cases, rounds)| format!("{cases} cases, {rounds} rounds"));
    let first = ["noise", "error from"].map(str::to_owned);
    let mut rows = vec![first.into_iter().chain(shapes).collect::<Vec<_>>()];
    for kind in kinds.iter().filter(|kind| matches!(kind.noise, Noise::Recorded(_))) {
        for (model, errors) in MODELS {
            let wrong = SHAPES.map(|(cases, rounds)| {
                let simulation = Simulation {
                    truths: vec![1.0; cases],
                    rounds: Rounds::Fixed(rounds),
                    precision: PRECISION,
                    errors,
                };
                let noise = kind.noise.whole(cases * rounds as usize);
                share(&studies(proof, proof.studies, &simulation, &noise), |study| {
                    study.pairs.iter().any(Compared::is_false)
                })
            });
            rows.push([kind.name, model].map(str::to_owned).into_iter().chain(wrong.map(percent)).collect());
            if kind.scores && errors == ErrorModel::AllCases {
                let what = "a false direction, recorded and kept back, labels permuted";
                targets.push(target(what, Bound::AtMost(5.0), wrong.into_iter().fold(0.0, f64::max)));
            }
        }
    }
    section.table(&rows);
}
