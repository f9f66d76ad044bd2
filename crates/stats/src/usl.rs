//! The Universal Scalability Law.

use crate::student::t_quantile_above;

/// How throughput grows with concurrency N: lambda N / (1 + sigma (N - 1) + kappa N (N - 1)), with sigma for what is done one
/// after the other and kappa for what each does with every other (Gunther, "Guerrilla Capacity Planning", Springer 2007).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// Throughput of one.
    pub lambda: f64,
    /// Contention, from 0.
    pub sigma: f64,
    /// Coherency, from 0.
    pub kappa: f64,
}

/// A law with how sure its coefficients are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UslFit {
    /// The law.
    pub law: Usl,
    /// The interval of lambda that holds it in 95 of 100 fits.
    pub lambda: (f64, f64),
    /// The same of sigma.
    pub sigma: (f64, f64),
    /// The same of kappa.
    pub kappa: (f64, f64),
    /// The standard deviation of the points around the law, as a share of it.
    pub residual: f64,
}

/// Points may lie this share around a law that describes them: more than trials of one load scatter.
const MOST_RESIDUAL: f64 = 0.1;

/// Three coefficients and something that is left over.
const LEAST_POINTS: usize = 4;

/// Linearised steps; each leaves less than a tenth of the one before.
const STEPS: usize = 30;

impl Usl {
    /// Throughput at a concurrency.
    pub fn at(&self, n: f64) -> f64 {
        self.lambda * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }

    /// The concurrency of the most throughput; none where it never falls.
    pub fn knee(&self) -> Option<f64> {
        (self.kappa > 0.0 && self.sigma < 1.0).then(|| ((1.0 - self.sigma) / self.kappa).sqrt())
    }
}

impl UslFit {
    /// Whether the points follow the law.
    pub fn holds(&self) -> bool {
        self.residual <= MOST_RESIDUAL
    }

    /// Fits the law to throughputs at concurrencies, by the least squares of logarithms, with coefficients that are not
    /// negative. Intervals are those of the profile likelihood (Bates and Watts, "Nonlinear Regression Analysis and Its
    /// Applications", 1988, section 6.1). Nothing where fewer than four points or three concurrencies are known, or one of the
    /// numbers is not above 0.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let usable = |number: f64| number.is_finite() && number > 0.0;
        let mut distinct: Vec<f64> = points.iter().map(|(n, _)| *n).collect();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        if points.len() < LEAST_POINTS || distinct.len() < 3 || points.iter().any(|(n, x)| !usable(*n) || !usable(*x)) {
            return None;
        }
        let free = fit(points, |n| vec![1.0, n - 1.0, n * (n - 1.0)])?;
        let [a, b, c] = free.coefficients[..] else { return None };
        let law = Usl { lambda: 1.0 / a, sigma: b / a, kappa: c / a };
        let degrees = (points.len() - 3) as f64;
        let quantile = t_quantile_above(0.025, degrees)?;
        // Beyond this sum of squares a coefficient is out of its interval. What fits exactly has rounding alone.
        let most = free.squares * (1.0 + quantile * quantile / degrees) + 1e-18;
        let scale = points.iter().map(|(n, _)| *n).fold(1.0, f64::max);
        let profile = |squares: &dyn Fn(f64) -> f64, at: f64, step: f64| {
            let inside = |value: f64| squares(value) <= most;
            (edge(&inside, at, 0.0, step), edge(&inside, at, f64::INFINITY, step))
        };
        let squares = |fit: Option<Fit>| fit.map_or(f64::INFINITY, |fit| fit.squares);
        let of_sigma = |sigma: f64| squares(fit(points, |n| vec![1.0 + sigma * (n - 1.0), n * (n - 1.0)]));
        let of_kappa = |kappa: f64| squares(fit(points, |n| vec![1.0 + kappa * n * (n - 1.0), n - 1.0]));
        let of_lambda = |lambda: f64| {
            let of = |n: f64| vec![n - 1.0, n * (n - 1.0)];
            squares(fit_beside(points, 1.0 / lambda, of))
        };
        Some(Self {
            law,
            lambda: profile(&of_lambda, law.lambda, 0.01 * law.lambda),
            sigma: profile(&of_sigma, law.sigma, 1e-3),
            kappa: profile(&of_kappa, law.kappa, 1e-3 / scale),
            residual: (free.squares / degrees).sqrt(),
        })
    }
}

/// The last value from `at` on, towards `end`, that is inside.
fn edge(inside: &dyn Fn(f64) -> bool, at: f64, end: f64, step: f64) -> f64 {
    let towards = if end < at { -1.0 } else { 1.0 };
    let (mut good, mut stride) = (at, step);
    let mut bad = None;
    for _ in 0..60 {
        let next = at + towards * stride;
        if towards < 0.0 && next <= end {
            if inside(end) {
                return end;
            }
            bad = Some(end);
            break;
        }
        if !inside(next) {
            bad = Some(next);
            break;
        }
        good = next;
        stride *= 2.0;
    }
    let Some(mut bad) = bad else { return f64::INFINITY };
    for _ in 0..60 {
        let middle = f64::midpoint(good, bad);
        if inside(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

/// Coefficients, none negative, and what they leave.
struct Fit {
    coefficients: Vec<f64>,
    squares: f64,
}

/// N / X is linear in 1 / lambda, sigma / lambda and kappa / lambda.
fn fit(points: &[(f64, f64)], columns: impl Fn(f64) -> Vec<f64>) -> Option<Fit> {
    fit_beside(points, 0.0, columns)
}

/// The same beside a part that is given.
fn fit_beside(points: &[(f64, f64)], given: f64, columns: impl Fn(f64) -> Vec<f64>) -> Option<Fit> {
    let rows: Vec<(Vec<f64>, f64)> = points.iter().map(|(n, x)| (columns(*n), n / x)).collect();
    let mut modelled: Vec<f64> = rows.iter().map(|(_, y)| *y).collect();
    let mut coefficients = Vec::new();
    for _ in 0..STEPS {
        // ln y is approached by the line through what was modelled.
        let weighted: Vec<(Vec<f64>, f64)> = rows
            .iter()
            .zip(&modelled)
            .map(|((columns, y), at)| {
                let wanted = at * (1.0 + (y / at).ln()) - given;
                (columns.iter().map(|column| column / at).collect(), wanted / at)
            })
            .collect();
        coefficients = not_negative(&weighted)?;
        for ((columns, y), at) in rows.iter().zip(&mut modelled) {
            let value = given + dot(columns, &coefficients);
            // Far from the points a line is no guide to a logarithm.
            *at = value.clamp(*at / 4.0, *at * 4.0).max(y * 1e-6);
        }
    }
    let left = rows.iter().map(|(columns, y)| (y / (given + dot(columns, &coefficients))).ln().powi(2));
    let squares: f64 = left.sum();
    squares.is_finite().then_some(Fit { coefficients, squares })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Least squares with coefficients that are not negative: the best of all ways to hold some of them at 0.
fn not_negative(rows: &[(Vec<f64>, f64)]) -> Option<Vec<f64>> {
    let width = rows.first()?.0.len();
    let solutions = (1..1_u32 << width).filter_map(|used| {
        let kept: Vec<usize> = (0..width).filter(|column| used >> column & 1 == 1).collect();
        let product = |a: usize, b: usize| rows.iter().map(|(row, _)| row[a] * row[b]).sum::<f64>();
        let matrix = kept.iter().map(|a| kept.iter().map(|b| product(*a, *b)).collect()).collect();
        let right = kept.iter().map(|a| rows.iter().map(|(row, y)| row[*a] * y).sum()).collect();
        let solved = solve(matrix, right)?;
        let mut coefficients = vec![0.0; width];
        kept.iter().zip(solved).for_each(|(column, value)| coefficients[*column] = value);
        let left: f64 = rows.iter().map(|(row, y)| (y - dot(row, &coefficients)).powi(2)).sum();
        coefficients.iter().all(|value| *value >= 0.0).then_some((left, coefficients))
    });
    solutions.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, coefficients)| coefficients)
}

/// Solves a few linear equations by elimination, the largest element of a column first.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    for column in 0..n {
        let pivot = (column..n).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        if matrix[column][column].abs() < f64::MIN_POSITIVE {
            return None;
        }
        let (done, left) = matrix.split_at_mut(column + 1);
        let (pivot, known) = (&done[column], right[column]);
        for (row, value) in left.iter_mut().zip(&mut right[column + 1..]) {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(pivot).for_each(|(element, above)| *element -= factor * above);
            *value -= factor * known;
        }
    }
    for column in (0..n).rev() {
        let known: f64 = (column + 1..n).map(|place| matrix[column][place] * right[place]).sum();
        right[column] = (right[column] - known) / matrix[column][column];
    }
    right.iter().all(|value| value.is_finite()).then_some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONCURRENCIES: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

    #[test]
    fn a_law_is_found_again_in_what_it_says() {
        for (sigma, kappa) in [(0.02, 0.0005), (0.0, 0.001), (0.1, 0.0), (0.0, 0.0)] {
            let law = Usl { lambda: 995.6, sigma, kappa };
            let points = CONCURRENCIES.map(|n| (n, law.at(n)));
            let fit = UslFit::of(&points).unwrap();
            assert!((fit.law.lambda / law.lambda - 1.0).abs() < 1e-6, "{fit:?}");
            assert!((fit.law.sigma - sigma).abs() < 1e-6 && (fit.law.kappa - kappa).abs() < 1e-8, "{fit:?}");
            assert!(fit.holds() && fit.residual < 1e-6, "{fit:?}");
            assert_eq!(fit.law.knee().is_some(), fit.law.kappa > 0.0);
        }
        let knee = Usl { lambda: 1.0, sigma: 0.02, kappa: 0.0005 }.knee().unwrap();
        assert!((knee - (0.98_f64 / 0.0005).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn what_follows_no_law_is_rejected_and_what_is_too_little_is_not_fitted() {
        // Throughput that falls to a fifth and comes back.
        let points = [(1.0, 100.0), (2.0, 200.0), (4.0, 40.0), (8.0, 700.0), (16.0, 100.0), (32.0, 800.0)];
        assert!(!UslFit::of(&points).unwrap().holds());
        for points in [
            &[][..],
            &[(1.0, 1.0), (2.0, 2.0), (4.0, 3.0)],
            &[(1.0, 1.0), (1.0, 1.0), (2.0, 2.0), (2.0, 2.0)],
            &[(1.0, 0.0), (2.0, 2.0), (4.0, 3.0), (8.0, 4.0)],
        ] {
            assert_eq!(UslFit::of(points), None, "{points:?}");
        }
    }
}
