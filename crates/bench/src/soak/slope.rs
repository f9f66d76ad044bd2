//! Whether figures grow: a line through them, and how steep it may be.

use stampede_stats::t_quantile_above;

/// Of a line by least squares: its slope, and the upper end of the slope's one-sided 95 % interval (errors independent and normal).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slope {
    pub(super) mean: f64,
    pub(super) at_most: f64,
}

/// Of points of which at least three lie at different places.
pub(super) fn slope(points: &[(f64, f64)]) -> Option<Slope> {
    let n = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let of_x: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    if of_x <= 0.0 {
        return None;
    }
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / of_x;
    let left: f64 = points.iter().map(|point| (point.1 - y - slope * (point.0 - x)).powi(2)).sum();
    let error = (left / (n - 2.0) / of_x).sqrt();
    let t = t_quantile_above(0.05, n - 2.0)?;
    Some(Slope { mean: slope, at_most: slope + t * error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_scipy() {
        // scipy.stats.linregress: slope 1.95, stderr 0.1161895; with t.ppf(0.95, 2) the upper end is 2.2892717.
        let found = slope(&[(1.0, 2.1), (2.0, 3.9), (3.0, 6.3), (4.0, 7.8)]).unwrap();
        assert!((found.mean - 1.95).abs() < 1e-9 && (found.at_most - 2.289_271_7).abs() < 1e-6, "{found:?}");
        let even = slope(&[(0.0, 5.0), (1.0, 5.0), (2.0, 5.0)]).unwrap();
        assert_eq!((even.mean, even.at_most), (0.0, 0.0));
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(slope(&[(1.0, 1.0), (2.0, 2.0)]), None);
    }
}
