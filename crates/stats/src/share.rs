//! A share of events: of those that come in bursts, and of those that never came.

use crate::Confidence;
use crate::batch::BatchMeans;
use crate::student::t_quantile_above;

/// In how many of all events something held, counted in bins of equal time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstyShare {
    /// The share.
    pub share: f64,
    /// The standard error of its logarithm; infinite where it never held.
    pub log_error: f64,
    /// Degrees of freedom of that.
    pub degrees: f64,
    /// The variance of the count, as a multiple of that of independent events.
    pub burst: f64,
}

impl BurstyShare {
    /// The share of `held` among `all`, which the bins count as pairs in the same order. What bins leave out is without
    /// memory.
    ///
    /// Slow requests come together, so that there are fewer independent ones than counted. The ratio is linearised, and the
    /// variance of its mean is that of overlapping batches of bins, with half as many degrees of freedom again as batches that
    /// do not overlap (Meketon and Schmeiser, "Overlapping batch means: something for nothing?", Winter Simulation Conference
    /// 1984), or that of independent events where it is greater. With fewer than 16 bins each is taken for a batch of its own.
    pub fn of(held: u64, all: u64, bins: &[(u64, u64)]) -> Self {
        let (held, all) = (held as f64, all as f64);
        let share = if all > 0.0 { held / all } else { 0.0 };
        let residuals: Vec<f64> = bins.iter().map(|(held, all)| *held as f64 - share * *all as f64).collect();
        let counted = bins.len() as f64;
        let (sum, batches) = match BatchMeans::of(&residuals) {
            Ok(batches) => (batches.long_run_variance * counted, (bins.len() / bins.len().isqrt()) as f64),
            Err(_) => (residuals.iter().map(|residual| residual * residual).sum(), counted),
        };
        let alone = (held * (1.0 - share)).max(1.0);
        let error = if held > 0.0 { (sum.max(alone)).sqrt() / held } else { f64::INFINITY };
        Self { share, log_error: error, degrees: (1.5 * (batches - 1.0)).max(1.0), burst: (sum / alone).max(1.0) }
    }

    /// Whether the share is above a limit, with an error of 5 %.
    pub fn is_above(&self, limit: f64) -> bool {
        const ERROR: f64 = 0.05;
        let half = t_quantile_above(ERROR, self.degrees).map_or(f64::INFINITY, |quantile| quantile * self.log_error);
        self.share > 0.0 && (self.share / limit).ln() > half
    }
}

/// The largest share that something may have which held in none of so many events: the upper end of the exact interval of Clopper
/// and Pearson ("The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26, 1934), for events
/// that are independent. 1 without events.
pub fn share_of_none(events: u64, confidence: Confidence) -> f64 {
    if events == 0 { 1.0 } else { 1.0 - (confidence.error() / 2.0).powf(1.0 / events as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against `scipy.stats.binomtest(0, n).proportion_ci(level, "exact").high` of SciPy 1.17.1.
    #[test]
    fn what_never_came_may_have_a_share_all_the_same() {
        let near = |events, confidence, wanted: f64| {
            let share = share_of_none(events, confidence);
            assert!((share / wanted - 1.0).abs() < 1e-9, "{events}: {share} instead of {wanted}");
        };
        near(1, Confidence::P95, 0.975);
        near(10, Confidence::P95, 0.308_497_107_818_762_94);
        near(46_200, Confidence::P95, 7.984_268_803_387_725e-5);
        near(1_000, Confidence::P95, 0.003_682_083_896_639_526);
        assert_eq!(share_of_none(0, Confidence::P95), 1.0);
    }

    #[test]
    fn what_comes_together_tells_less_than_as_many_that_come_alone() {
        let alone: Vec<(u64, u64)> = (0..400).map(|_| (2, 100)).collect();
        // As many slow requests, all of them in every twentieth bin, four bins long.
        let bursts: Vec<(u64, u64)> = (0..400).map(|bin| (if bin % 80 < 4 { 40 } else { 0 }, 100)).collect();
        let of = |bins: &[(u64, u64)]| BurstyShare::of(bins.iter().map(|bin| bin.0).sum(), 40_000, bins);
        let (alone, bursts) = (of(&alone), of(&bursts));
        assert_eq!((alone.share, bursts.share), (0.02, 0.02));
        assert!(alone.is_above(0.018) && !bursts.is_above(0.018), "{alone:?} {bursts:?}");
        assert!(alone.is_above(0.005) && bursts.is_above(0.005), "{alone:?} {bursts:?}");
        assert!(!alone.is_above(0.0201));
        assert!(!BurstyShare::of(0, 1_000, &[]).is_above(1e-9));
    }
}
