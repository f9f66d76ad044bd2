//! How often verdicts are right: `make bench-stats`.
//!
//! Studies whose truth is known are simulated and handed to the code that decides real ones. What scatters in them is drawn
//! from trials of identical cases that were recorded on a real machine. Half of these were not looked at while the methods were
//! chosen: pieces with an even number, a rule that was set before anything was recorded. They score.

mod many;
mod noise;
mod possible;
mod simulation;

use std::path::PathBuf;
use std::time::Duration;

use stampede_core::{ErrorModel, Rounds, VerdictWord};
use stampede_stats::{Confidence, power};

pub(crate) use self::noise::Noise;
pub(crate) use self::simulation::{Compared, decided};
use self::simulation::{Ended, PRECISION, Simulation, TRIAL};
use crate::document::{self, Section};
use crate::draws::draws;
use crate::failure::Failure;
use crate::files;
use crate::progress::tell;
use crate::target::{Bound, Target};
use crate::trials::{self, TrialRow};

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Proof {
    /// Studies of each kind
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) studies: u32,
    /// Seed; the same one gives the same figures
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Recorded trials
    #[arg(long, value_name = "FILE", default_value = "crates/bench/data/identical-trials.csv")]
    pub(crate) data: PathBuf,
    /// The document [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// The time that a study of two cases may take.
const TIME: Duration = Duration::from_secs(600);
/// The noise that power and time are judged at: the standard deviation between the two trials of a pair.
const PAIRED: f64 = 0.04;
/// True differences.
const EFFECTS: [f64; 5] = [0.0, 0.02, 0.05, 0.10, 0.50];
/// The one that is to be found.
const EFFECT: f64 = 0.05;

/// The first piece that was recorded when the methods had their last form: those before it were scored on the way there.
const UNSCORED: u32 = 21;

/// A kind of noise with its name.
struct Kind {
    name: &'static str,
    noise: Noise,
    /// Whether nothing was chosen by it.
    scores: bool,
    /// How many studies of each sort are simulated with it.
    studies: u32,
}

/// Simulates everything, and writes the document.
pub(crate) fn run(proof: &Proof) -> Result<(), Failure> {
    let rows = trials::read(&proof.data)?;
    let (kept_back, seen): (Vec<&TrialRow>, Vec<&TrialRow>) =
        rows.iter().partition(|row| row.piece % 2 == 0 && row.piece >= UNSCORED);
    if seen.is_empty() || kept_back.is_empty() {
        let data = proof.data.display();
        return Err(Failure::Unusable(format!(
            "{data} holds no trials of both halves; stampede-bench record makes them"
        )));
    }
    let fewer = proof.studies.div_ceil(4);
    let kinds = [
        Kind { name: "recorded, kept back", noise: Noise::recorded(&kept_back), scores: true, studies: proof.studies },
        Kind { name: "recorded, looked at", noise: Noise::recorded(&seen), scores: false, studies: fewer },
        Kind { name: "normal", noise: Noise::Normal { paired: PAIRED }, scores: false, studies: fewer },
    ];
    let mut targets = Vec::new();
    tell("the noise");
    let noise = recorded(&kinds);
    tell("identical cases");
    let identical = false_directions(proof, &kinds, &mut targets);
    tell("cases that differ");
    let differing = differing(proof, &kinds, PRECISION);
    let found = found(&kinds, &differing, &mut targets);
    tell("coverage");
    let coverage = coverage(proof, &kinds, &differing, &mut targets);
    tell("time");
    let times = times(proof, &kinds, &differing, &mut targets);
    tell("many cases");
    let many = many::many(proof, &kinds, &mut targets);
    let sections = [noise, identical, many, found, coverage, times, possible::possible()];
    Ok(files::write_or_print(proof.output.as_deref(), &render(proof, &targets, &sections))?)
}

fn render(proof: &Proof, targets: &[Target], sections: &[Section]) -> String {
    let mut summary = Section::default();
    summary.paragraph(&format!(
        "How often `stampede compare` is right, in simulated studies whose truth is known. Their trials are made up; everything \
         else, from when to look to the words of a verdict, is the code that decides real studies. {} studies of each kind, \
         each trial taken to last {} s, precision 3 %; a quarter as many with noise that does not score. `make bench-real` counts the same in real studies.",
        proof.studies,
        TRIAL.as_secs()
    ));
    summary.paragraph(&format!(
        "Made by `stampede-bench stats --studies {} --seed {}` (`make bench-stats`). The same seed gives the same figures.",
        proof.studies, proof.seed
    ));
    summary.paragraph(&format!(
        "What was recorded and kept back are the pieces with an even number from {UNSCORED} on, which were recorded when the methods had \
         their last form, and scored once, here. The others were looked at, or scored on the way there."
    ));
    document::of_targets("How often verdicts are right", &summary, targets, sections)
}

/// What was recorded.
fn recorded(kinds: &[Kind]) -> Section {
    let mut section = Section::new("The noise");
    section.paragraph(
        "Trials of identical cases, recorded on a real machine (crates/bench/data/identical-trials.csv says when, on what, and \
         what else went on). \"Paired\" is the standard deviation between trials that follow each other, \"memory\" their \
         autocorrelation, \"range\" how far the fastest is above the slowest. A simulated study follows such a run from any \
         place; where it ends, it goes on from any place in another, or in the same where a setting has but one: what drifts \
         for longer than a run is not in the noise. Its cases take turns in random order. \"Looked at\" are the pieces that \
         were not kept back.",
    );
    let mut rows = vec![document::head("noise | setting | trials | paired | memory | range")];
    for Kind { name, noise, .. } in kinds {
        match noise {
            Noise::Normal { paired } => {
                let cells = ["any", "any", &percent(*paired), "0.00", "any"];
                rows.push(std::iter::once(*name).chain(cells).map(str::to_owned).collect());
            }
            // Made for single tables.
            Noise::Pieces(_) | Noise::Residuals(_) => {}
            Noise::Recorded(settings) => rows.extend(settings.iter().map(|setting| {
                vec![
                    (*name).to_owned(),
                    setting.name.to_owned(),
                    setting.trials().to_string(),
                    percent(setting.paired()),
                    format!("{:.2}", setting.memory()),
                    percent(setting.range()),
                ]
            })),
        }
    }
    section.table(&rows);
    section
}

/// Identical cases: whether any pair of a study is given a direction.
fn false_directions(proof: &Proof, kinds: &[Kind], targets: &mut Vec<Target>) -> Section {
    const CASES: [usize; 3] = [2, 4, 8];
    let mut section = Section::new("Identical cases");
    section.paragraph(
        "In how many studies of cases that do not differ any pair is given a direction. With `auto`, two cases have 10 minutes, \
         four 20 and eight 40.",
    );
    let mut rows = vec![document::head("noise | rounds | 2 cases | 4 cases | 8 cases")];
    for kind in kinds {
        for fixed in [None, Some(5), Some(12)] {
            let rounds = fixed.map_or_else(|| "auto".to_owned(), |rounds: u32| rounds.to_string());
            let mut row = vec![kind.name.to_owned(), rounds];
            for cases in CASES {
                let auto = Rounds::Auto { max_time: TIME * cases as u32 / 2 };
                let rounds = fixed.map_or(auto, Rounds::Fixed);
                let simulation =
                    Simulation { truths: vec![1.0; cases], rounds, precision: PRECISION, errors: ErrorModel::AllCases };
                let ended = studies(proof, kind.studies, &simulation, &kind.noise);
                let wrong = share(&ended, |study| study.pairs.iter().any(Compared::is_false));
                row.push(percent(wrong));
                if kind.scores && fixed.is_none() {
                    let what = format!("a false direction in a study of {cases} identical cases");
                    targets.push(target(what, Bound::AtMost(6.0), wrong));
                }
            }
            rows.push(row);
        }
    }
    section.table(&rows);
    section
}

/// Studies of two cases, by kind of noise and true difference. The noise is grown or shrunk to the same spread.
fn differing(proof: &Proof, kinds: &[Kind], precision: f64) -> Vec<[Vec<Ended>; EFFECTS.len()]> {
    let of = |kind: &Kind| {
        let noise = kind.noise.scaled(PAIRED);
        EFFECTS.map(|effect| {
            let rounds = Rounds::Auto { max_time: TIME };
            let simulation =
                Simulation { truths: vec![1.0, 1.0 + effect], rounds, precision, errors: ErrorModel::AllCases };
            studies(proof, kind.studies, &simulation, &noise)
        })
    };
    kinds.iter().map(of).collect()
}

/// Two cases that differ: whether that is found.
fn found(kinds: &[Kind], differing: &[[Vec<Ended>; EFFECTS.len()]], targets: &mut Vec<Target>) -> Section {
    let mut section = Section::new("Power");
    section.paragraph(&format!(
        "Two cases, one {} faster, in 10 minutes; the noise is grown or shrunk to a standard deviation of {} between the two \
         trials of a pair.",
        percent(EFFECT),
        percent(PAIRED)
    ));
    let head = document::head("noise | found | wrong direction | undecided | blocks");
    let mut rows = vec![head];
    for (kind, of_effects) in kinds.iter().zip(differing) {
        let Some((_, ended)) = EFFECTS.iter().zip(of_effects).find(|(effect, _)| **effect == EFFECT) else { continue };
        let found = share(ended, |study| study.pairs.iter().all(Compared::is_found));
        rows.push(vec![
            kind.name.to_owned(),
            percent(found),
            percent(share(ended, |study| study.pairs.iter().any(Compared::is_false))),
            percent(said(ended, VerdictWord::Undecided)),
            format!("{:.1}", mean_blocks(ended)),
        ]);
        if kind.is_judged() {
            let what = format!("{} faster is found in 10 minutes, {}", percent(EFFECT), kind.name);
            targets.push(target(what, Bound::AtLeast(90.0), found));
        }
    }
    section.table(&rows);
    section
}

/// Whether intervals hold the truth.
fn coverage(
    proof: &Proof,
    kinds: &[Kind],
    differing: &[[Vec<Ended>; EFFECTS.len()]],
    targets: &mut Vec<Target>,
) -> Section {
    const ROUNDS: [u32; 5] = [3, 5, 9, 10, 20];
    let mut section = Section::new("Coverage");
    section.paragraph(
        "How many 95 % intervals hold the truth: of two cases, after a number of rounds that was set before.",
    );
    let head = std::iter::once("noise".to_owned()).chain(ROUNDS.map(|rounds| format!("{rounds} rounds")));
    let mut rows = vec![head.collect::<Vec<_>>()];
    for kind in kinds {
        let covered = ROUNDS.map(|rounds| {
            let simulation = Simulation {
                truths: vec![1.0; 2],
                rounds: Rounds::Fixed(rounds),
                precision: PRECISION,
                errors: ErrorModel::AllCases,
            };
            covered(&studies(proof, kind.studies, &simulation, &kind.noise))
        });
        rows.push(std::iter::once(kind.name.to_owned()).chain(covered.map(percent)).collect());
        if kind.scores {
            let [least, most] = [f64::min, f64::max].map(|fold| covered.into_iter().fold(covered[0], fold));
            targets.push(Target {
                what: "the interval holds the truth, fixed rounds".to_owned(),
                wanted: "93 to 97 %".to_owned(),
                seen: format!("{} to {}", percent(least), percent(most)),
                met: Some(least >= 0.93 && most <= 0.97),
            });
        }
    }
    section.table(&rows);
    section.paragraph("And where the data decided when to stop (`--rounds auto`, 10 minutes), by the true difference.");
    let head = std::iter::once("noise".to_owned()).chain(EFFECTS.map(percent));
    let mut rows = vec![head.collect::<Vec<_>>()];
    for (kind, of_effects) in kinds.iter().zip(differing) {
        let covered = of_effects.each_ref().map(|ended| covered(ended));
        rows.push(std::iter::once(kind.name.to_owned()).chain(covered.map(percent)).collect());
        if kind.scores {
            let least = covered.into_iter().fold(1.0, f64::min);
            targets.push(target("the interval holds the truth, after stopping", Bound::AtLeast(94.0), least));
        }
    }
    section.table(&rows);
    section
}

/// How long studies take beside those of a fixed length.
fn times(
    proof: &Proof,
    kinds: &[Kind],
    differing_by_default: &[[Vec<Ended>; EFFECTS.len()]],
    targets: &mut Vec<Target>,
) -> Section {
    let finds = |effect: f64| {
        let enough = |blocks: &usize| power(*blocks, effect, PAIRED, Confidence::P95).is_some_and(|power| power >= 0.9);
        (2..1000).find(enough).unwrap_or(1000)
    };
    let fixed = finds(EFFECT.ln_1p());
    let mut section = Section::new("Time");
    section.paragraph(&format!(
        "Blocks of a study of two cases by their true difference, and what is said in the end. A study of fixed length that finds \
         {effect} 9 times of 10 has {fixed} blocks (a paired t test at 5 %, standard deviation {paired}). A study that finds its \
         length out is asked for the same with `--precision {effect}`, and the target is judged there. With the default, \
         `--precision 3%`, it goes on to tell differences below 3 % from none, which takes a study of fixed length more blocks than \
         that; those figures come after.",
        effect = percent(EFFECT),
        paired = percent(PAIRED)
    ));
    let like_for_like = differing(proof, kinds, EFFECT);
    for (precision, differing) in [(EFFECT, &like_for_like[..]), (PRECISION, differing_by_default)] {
        section.text.push_str(&format!("--precision {}\n\n", percent(precision)));
        let head = ["noise", "difference", "blocks", "found", "equivalent", "undecided", "wrong"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for (kind, of_effects) in kinds.iter().zip(differing) {
            for (effect, ended) in EFFECTS.iter().zip(of_effects) {
                rows.push(vec![
                    kind.name.to_owned(),
                    percent(*effect),
                    format!("{:.1}", mean_blocks(ended)),
                    percent(share(ended, |study| study.pairs.iter().any(Compared::is_found))),
                    percent(said(ended, VerdictWord::Equivalent)),
                    percent(said(ended, VerdictWord::Undecided)),
                    percent(share(ended, |study| study.pairs.iter().any(Compared::is_false))),
                ]);
            }
            let mean = of_effects.iter().map(|ended| mean_blocks(ended)).sum::<f64>() / EFFECTS.len() as f64;
            let ratio = mean / fixed as f64;
            rows.push(vec![kind.name.to_owned(), "mean".to_owned(), format!("{mean:.1}"), format!("x {ratio:.2}")]);
            if kind.is_judged() && precision == EFFECT {
                let what = format!("mean time over that of {fixed} fixed blocks, {}", kind.name);
                targets.push(Target::value(what, Bound::AtMost(0.6), Some(ratio), 2, ""));
            }
        }
        section.table(&rows);
    }
    section
}

impl Kind {
    /// Whether it is held against targets beside false directions: what was recorded and kept back, and what textbooks assume.
    fn is_judged(&self) -> bool {
        self.scores || matches!(self.noise, Noise::Normal { .. })
    }
}

/// Runs studies of one kind.
fn studies(proof: &Proof, count: u32, simulation: &Simulation, noise: &Noise) -> Vec<Ended> {
    draws(proof.seed, count, |random| simulation.run(noise, random))
}

fn said(ended: &[Ended], word: VerdictWord) -> f64 {
    share(ended, |study| study.pairs.iter().any(|pair| pair.verdict == word))
}

fn share(ended: &[Ended], test: impl Fn(&Ended) -> bool) -> f64 {
    ended.iter().filter(|study| test(study)).count() as f64 / ended.len() as f64
}

/// Of the intervals that there are.
fn covered(ended: &[Ended]) -> f64 {
    let covers: Vec<bool> = ended.iter().flat_map(|study| &study.pairs).filter_map(Compared::covers).collect();
    covers.iter().filter(|covers| **covers).count() as f64 / covers.len() as f64
}

/// Of two cases.
fn mean_blocks(ended: &[Ended]) -> f64 {
    ended.iter().map(|study| study.trials).sum::<usize>() as f64 / 2.0 / ended.len() as f64
}

/// A share against a bound in per cent.
fn target(what: impl Into<String>, bound: Bound, share: f64) -> Target {
    Target::value(what, bound, Some(100.0 * share), 1, " %")
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent.fract() == 0.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}
