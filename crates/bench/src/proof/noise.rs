//! What scatters from trial to trial in a simulated study: as it was recorded, or normal.

use stampede_stats::SplitMix64;

use crate::draws::{heavy, normal};
use crate::trials::TrialRow;

/// Noise of the logarithm of a trial's figure.
#[derive(Clone, Debug)]
pub(crate) enum Noise {
    /// Normal and without a memory, of this standard deviation between the two trials of a pair.
    Normal { paired: f64 },
    /// Runs of trials as they followed each other on a real machine. A study follows one run from any place to its end and then
    /// goes on somewhere in another of the same setting, which is a harder break than any that was recorded.
    Recorded(Vec<Setting>),
    /// Pieces of runs, each as long as a study.
    Pieces(Vec<Setting>),
    /// What blocks do to all their cases, and what is left.
    Residuals(Residuals),
}

/// What is left of a trial's figure beside its case and its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Residuals {
    /// Normal.
    Alike,
    /// Five times as large for the first case.
    OneWild,
    /// With far outliers: Student's t with 3 degrees of freedom, to the same standard deviation.
    Heavy,
    /// Half of the variance is shared by every other case, and half by none.
    TwoKinds,
}

impl Residuals {
    /// The standard deviation of a case that is not wild.
    pub(crate) const DEVIATION: f64 = 0.03;
    const OF_BLOCKS: f64 = 0.2;

    fn of(self, case: usize, of_kinds: [f64; 2], random: &mut SplitMix64) -> f64 {
        Self::DEVIATION
            * match self {
                Self::Alike => normal(random),
                Self::OneWild => normal(random) * if case == 0 { 5.0 } else { 1.0 },
                Self::Heavy => heavy(random),
                Self::TwoKinds => (normal(random) + of_kinds[case % 2]) / 2.0_f64.sqrt(),
            }
    }
}

/// All runs under one setting: what is left of the logarithm of each trial's figure when the median of all is taken off.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) runs: Vec<Vec<f64>>,
}

impl Noise {
    /// The noise of recorded trials, by setting. Those of a piece are a run.
    pub(crate) fn recorded(rows: &[&TrialRow]) -> Self {
        let mut settings: Vec<Setting> = Vec::new();
        for name in rows.iter().map(|row| row.setting.name) {
            if settings.iter().any(|known| known.name == name) {
                continue;
            }
            let of: Vec<&&TrialRow> = rows.iter().filter(|row| row.setting.name == name).collect();
            let runs = of.chunk_by(|a, b| a.piece == b.piece);
            let mut runs: Vec<Vec<f64>> =
                runs.map(|run| run.iter().filter_map(|row| Some(row.value()?.ln())).collect()).collect();
            runs.retain(|run: &Vec<f64>| run.len() > 1);
            let all: Vec<f64> = runs.iter().flatten().copied().collect();
            let Some(middle) = stampede_stats::median(&all) else { continue };
            runs.iter_mut().flatten().for_each(|log| *log -= middle);
            settings.push(Setting { name, runs });
        }
        Self::Recorded(settings)
    }

    /// The same noise, each setting grown or shrunk so that trials that follow each other differ by this standard deviation.
    pub(crate) fn scaled(&self, paired: f64) -> Self {
        match self {
            Self::Normal { .. } => Self::Normal { paired },
            Self::Pieces(_) | Self::Residuals(_) => self.clone(),
            Self::Recorded(settings) => Self::Recorded(
                settings
                    .iter()
                    .map(|setting| {
                        let factor = paired / setting.paired();
                        let scale = |run: &Vec<f64>| run.iter().map(|log| log * factor).collect();
                        Setting { name: setting.name, runs: setting.runs.iter().map(scale).collect() }
                    })
                    .collect(),
            ),
        }
    }

    /// Pieces of recorded runs of so many trials, which begin with a block of four.
    pub(crate) fn whole(&self, trials: usize) -> Self {
        let Self::Recorded(settings) = self else { return self.clone() };
        let pieces = |run: &Vec<f64>| run.windows(trials).step_by(4).map(<[f64]>::to_vec).collect::<Vec<_>>();
        let of =
            |setting: &Setting| Setting { name: setting.name, runs: setting.runs.iter().flat_map(pieces).collect() };
        Self::Pieces(settings.iter().map(of).filter(|setting| !setting.runs.is_empty()).collect())
    }

    /// The noise of one study, trial after trial.
    pub(crate) fn begin<'a>(&'a self, random: &mut SplitMix64) -> Source<'a> {
        match self {
            Self::Normal { paired } => Source::Normal { deviation: paired / 2.0_f64.sqrt() },
            Self::Recorded(settings) => {
                let runs = &settings[random.index(settings.len())].runs;
                Source::Recorded { runs, rest: &[] }
            }
            Self::Pieces(settings) => {
                let runs = &settings[random.index(settings.len())].runs;
                Source::Recorded { runs, rest: &runs[random.index(runs.len())] }
            }
            Self::Residuals(residuals) => {
                Source::Residuals { residuals: *residuals, block: 0, of_block: 0.0, of_kinds: [0.0; 2] }
            }
        }
    }
}

impl Setting {
    /// The standard deviation between trials that follow each other.
    pub(crate) fn paired(&self) -> f64 {
        let pairs = self.runs.iter().flat_map(|run| run.windows(2).map(|pair| pair[1] - pair[0]));
        let (n, squares) = pairs.fold((0, 0.0), |(n, squares), pair| (n + 1, squares + pair * pair));
        (squares / f64::from(n)).sqrt()
    }

    /// How much of the noise of a trial is still there in the next: its autocorrelation within runs.
    pub(crate) fn memory(&self) -> f64 {
        let (mut products, mut squares) = (0.0, 0.0);
        for run in &self.runs {
            let mean = run.iter().sum::<f64>() / run.len() as f64;
            products += run.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
            squares += run.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
        }
        products / squares
    }

    /// How far apart trials are at most, as a share.
    pub(crate) fn range(&self) -> f64 {
        let ends = |fold: fn(f64, f64) -> f64, from| self.runs.iter().flatten().copied().fold(from, fold);
        (ends(f64::max, f64::NEG_INFINITY) - ends(f64::min, f64::INFINITY)).exp_m1()
    }

    pub(crate) fn trials(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }
}

/// The noise of one study.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    Normal { deviation: f64 },
    Recorded { runs: &'a [Vec<f64>], rest: &'a [f64] },
    Residuals { residuals: Residuals, block: u32, of_block: f64, of_kinds: [f64; 2] },
}

impl Source<'_> {
    /// That of the next trial, of this case in this block.
    pub(crate) fn next(&mut self, case: usize, in_block: u32, random: &mut SplitMix64) -> f64 {
        match self {
            Self::Normal { deviation } => *deviation * normal(random),
            Self::Recorded { runs, rest } => {
                if rest.is_empty() {
                    let run = &runs[random.index(runs.len())];
                    *rest = &run[random.index(run.len())..];
                }
                let (first, after) = rest.split_first().unwrap_or((&0.0, &[]));
                *rest = after;
                *first
            }
            Self::Residuals { residuals, block, of_block, of_kinds } => {
                if *block != in_block {
                    (*block, *of_block) = (in_block, Residuals::OF_BLOCKS * normal(random));
                    *of_kinds = [normal(random), normal(random)];
                }
                *of_block + residuals.of(case, *of_kinds, random)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trials::SETTINGS;

    fn row(piece: u32, throughput_rps: f64) -> TrialRow {
        TrialRow {
            piece,
            setting: &SETTINGS[0],
            block: 1,
            position: 1,
            start_s: 0.0,
            throughput_rps,
            cpu_us_per_request: None,
            response_p99_us: None,
        }
    }

    #[test]
    fn runs_keep_their_order_and_lose_their_level() {
        let rows = [row(1, 100.0), row(1, 110.0), row(1, 121.0), row(3, 110.0), row(3, 133.1)];
        let Noise::Recorded(settings) = Noise::recorded(&rows.iter().collect::<Vec<_>>()) else { panic!("recorded") };
        let [setting] = &settings[..] else { panic!("one setting") };
        let step = 1.1_f64.ln();
        for (run, expected) in setting.runs.iter().zip([&[-step, 0.0, step][..], &[0.0, 2.0 * step]]) {
            assert!(run.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{run:?}");
        }
        assert!((setting.paired() - (2.0 * step * step).sqrt()).abs() < 1e-12);
        assert!((setting.range() - (1.331 - 1.0)).abs() < 1e-12);
        let Noise::Recorded(scaled) = Noise::Recorded(settings).scaled(0.04) else { panic!("recorded") };
        assert!((scaled[0].paired() - 0.04).abs() < 1e-12);
    }

    #[test]
    fn a_study_follows_runs_to_their_ends() {
        let runs = vec![vec![1.0, 2.0, 3.0], vec![5.0, 6.0]];
        let noise = Noise::Recorded(vec![Setting { name: "a", runs }]);
        let mut random = SplitMix64::new(1);
        let mut source = noise.begin(&mut random);
        let drawn: Vec<f64> = (0..200).map(|_| source.next(0, 1, &mut random)).collect();
        for pair in drawn.windows(2).filter(|pair| pair[0] != 3.0 && pair[0] != 6.0) {
            assert!((pair[1] - pair[0] - 1.0).abs() < 1e-12, "{pair:?}");
        }
    }
}
