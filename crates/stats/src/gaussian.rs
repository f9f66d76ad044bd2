//! Regression by a Gaussian process.

use crate::normal;

/// What noisy values at some places tell of other places, where the covariance of any two places is known (Rasmussen and Williams,
/// "Gaussian Processes for Machine Learning", MIT Press 2006, algorithm 2.1).
#[derive(Clone, Debug)]
pub struct GaussianProcess {
    /// The Cholesky factor of the values' covariance, a lower triangle: row i has i + 1 numbers.
    factor: Vec<Vec<f64>>,
    /// The inverse of that covariance times the values.
    weights: Vec<f64>,
}

impl GaussianProcess {
    /// From values less the mean that is expected anywhere, the covariance of each two of their places, by index, and the variance of
    /// the noise of each value. None where that is no covariance: not positive definite.
    pub fn of(values: &[f64], covariance: impl Fn(usize, usize) -> f64, noise: f64) -> Option<Self> {
        let mut factor: Vec<Vec<f64>> = Vec::with_capacity(values.len());
        for i in 0..values.len() {
            let mut row: Vec<f64> = Vec::with_capacity(i + 1);
            for (j, other) in factor.iter().enumerate() {
                row.push((covariance(i, j) - dot(&row, &other[..j])) / other[j]);
            }
            let left = covariance(i, i) + noise - dot(&row, &row);
            if left.is_nan() || left <= 0.0 {
                return None;
            }
            row.push(left.sqrt());
            factor.push(row);
        }
        let mut weights = forward(&factor, values);
        for i in (0..weights.len()).rev() {
            let below: f64 = (i + 1..weights.len()).map(|k| factor[k][i] * weights[k]).sum();
            weights[i] = (weights[i] - below) / factor[i][i];
        }
        Some(Self { factor, weights })
    }

    /// The mean and the standard deviation of what is there, without noise, at a place with these covariances with the known ones and
    /// this variance before anything was known.
    pub fn at(&self, covariances: &[f64], variance: f64) -> (f64, f64) {
        let told = forward(&self.factor, covariances);
        (dot(covariances, &self.weights), (variance - dot(&told, &told)).max(0.0).sqrt())
    }
}

/// By how much a normal value is above `best` in the mean, counting nothing where it is not (Jones, Schonlau and Welch, "Efficient
/// Global Optimization of Expensive Black-Box Functions", Journal of Global Optimization 13, 1998, equation 15).
pub fn expected_improvement(mean: f64, deviation: f64, best: f64) -> f64 {
    let gain = mean - best;
    if deviation <= 0.0 {
        return gain.max(0.0);
    }
    let z = gain / deviation;
    gain * normal::above(-z) + deviation * normal::density(z)
}

/// The solution x of L x = b.
fn forward(factor: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut x: Vec<f64> = Vec::with_capacity(b.len());
    for (row, b) in factor.iter().zip(b) {
        let place = x.len();
        x.push((b - dot(&row[..place], &x)) / row[place]);
    }
    x
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VARIANCE: f64 = 0.7;

    fn covariance(a: f64, b: f64) -> f64 {
        VARIANCE * (-0.5 * ((a - b) / 1.5).powi(2)).exp()
    }

    /// Reference: scikit-learn 1.9.1, `GaussianProcessRegressor(0.7 * RBF(1.5), alpha=0.04, optimizer=None).fit(x, y)`.
    #[test]
    fn it_tells_what_that_of_scikit_learn_does() {
        let (x, y) = ([0.0, 1.0, 2.5, 4.0, 7.0], [0.3, -0.2, 0.5, 1.1, -0.4]);
        let process = GaussianProcess::of(&y, |a, b| covariance(x[a], x[b]), 0.04).unwrap();
        for (at, mean, deviation) in [
            (0.0, 0.218_116_552_504_676_26, 0.184_247_224_348_110_36),
            (3.2, 0.888_645_784_937_643_7, 0.196_532_467_135_563_66),
            (5.5, 0.331_724_418_840_217_03, 0.478_170_099_424_025_3),
            (40.0, 0.0, 0.836_660_026_534_075_6),
        ] {
            let known = process.at(&x.map(|x| covariance(x, at)), VARIANCE);
            assert!((known.0 - mean).abs() < 1e-9 && (known.1 - deviation).abs() < 1e-9, "{at}: {known:?}");
        }
    }

    #[test]
    fn without_values_it_knows_nothing_and_what_is_no_covariance_is_told() {
        assert_eq!(GaussianProcess::of(&[], |_, _| 1.0, 0.0).unwrap().at(&[], 4.0), (0.0, 2.0));
        assert!(GaussianProcess::of(&[1.0, 2.0], |_, _| 1.0, 0.0).is_none(), "two values of one place without noise");
        assert!(GaussianProcess::of(&[1.0], |_, _| f64::NAN, 0.1).is_none());
    }

    /// Reference: SciPy 1.17.1, `scipy.integrate.quad` over `(v - best) * scipy.stats.norm.pdf(v, mean, deviation)` above the best.
    #[test]
    fn an_improvement_is_that_of_an_integral() {
        for (mean, deviation, best, expected) in
            [(0.3, 0.5, 0.1, 0.315_219_418_473_726_5), (-1.0, 0.4, 0.5, 8.412_345_145_772_367e-6), (2.0, 0.1, 1.0, 1.0)]
        {
            let gain = expected_improvement(mean, deviation, best);
            assert!((gain / expected - 1.0).abs() < 1e-7, "{gain} {expected}");
        }
        assert_eq!([expected_improvement(2.0, 0.0, 1.5), expected_improvement(1.0, 0.0, 1.5)], [0.5, 0.0]);
    }
}
