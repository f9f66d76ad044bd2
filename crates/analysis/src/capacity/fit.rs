//! At which rate a share of requests reaches what is allowed, from the shares that were counted at several rates.
//!
//! The logarithm of the share of requests that take longer than a limit is taken for linear in their rate. In a queue with one
//! server and exponential times it is: the share is exp(-(capacity - rate) limit). In others the tail decays with a rate that
//! falls to nothing at the capacity, smoothly (Asmussen, "Applied Probability and Queues", 2003, chapter XIII), so that a line
//! does near the root; what lies further away counts less.
//!
//! The line is that of a regression of counts with a logarithmic link whose variance is a multiple of the mean, since slow
//! requests come in bursts (McCullagh and Nelder, "Generalized Linear Models", 1989, sections 6.2 and 9.2). Logarithms of
//! counted shares would be biased: they are the lower the fewer there are.

use stampede_stats::t_quantile_above;

/// What was counted at a rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// Requests a second.
    pub(crate) rate: f64,
    /// Requests beyond the objective.
    pub(crate) beyond: f64,
    /// How many may be, of those that were counted.
    pub(crate) allowed: f64,
    /// The variance of `beyond`, as a multiple of its mean.
    pub(crate) burst: f64,
}

/// By how much the line may be wrong, as a share of the distance of a logarithm from the root.
const BENT: f64 = 0.25;

/// Each step halves what is left, mostly.
const STEPS: usize = 60;

/// A rate with its standard error, and the degrees of freedom of that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Root {
    pub(crate) rate: f64,
    pub(crate) error: f64,
    pub(crate) degrees: f64,
}

impl Root {
    /// The half width of an interval that holds the rate in 95 of 100 fits.
    pub(crate) fn half(&self) -> f64 {
        t_quantile_above(0.025, self.degrees).map_or(f64::INFINITY, |quantile| quantile * self.error)
    }
}

/// A line through weighted points: its level at their centre.
struct Line {
    centre: f64,
    level: f64,
    slope: f64,
    weight: f64,
    spread: f64,
    /// Weighted squares of what it leaves.
    left: f64,
}

impl Line {
    fn through(points: impl Iterator<Item = (f64, f64, f64)> + Clone) -> Self {
        let weight: f64 = points.clone().map(|(.., weight)| weight).sum();
        let mean =
            |of: fn((f64, f64, f64)) -> f64| points.clone().map(|point| point.2 * of(point)).sum::<f64>() / weight;
        let (centre, level) = (mean(|(x, ..)| x), mean(|(_, y, _)| y));
        let spread: f64 = points.clone().map(|(x, _, weight)| weight * (x - centre).powi(2)).sum();
        let rise: f64 = points.clone().map(|(x, y, weight)| weight * (x - centre) * (y - level)).sum();
        let slope = rise / spread;
        let left = points.map(|(x, y, weight)| weight * (y - level - slope * (x - centre)).powi(2)).sum();
        Self { centre, level, slope, weight, spread, left }
    }

    fn at(&self, x: f64) -> f64 {
        self.level + self.slope * (x - self.centre)
    }
}

/// Where the line meets what is allowed; nothing where it does not rise.
pub(crate) fn root(counted: &[Counted]) -> Option<Root> {
    let bursts: f64 = counted.iter().map(|seen| near(seen) * seen.burst).sum::<f64>();
    let burst = (bursts / counted.iter().map(near).sum::<f64>()).max(1.0);
    let half = |seen: &Counted| ((seen.beyond + 0.5) / (seen.allowed + 0.5)).ln();
    let weight = |seen: &Counted, excess: f64| {
        let expected = seen.allowed * excess.exp();
        1.0 / (burst / expected.max(0.5) + (BENT * excess).powi(2))
    };
    let first = |seen: &Counted| (seen.rate, half(seen), weight(seen, half(seen)));
    let mut line = Line::through(counted.iter().map(first));
    for _ in 0..STEPS {
        let point = |seen: &Counted| {
            let excess = line.at(seen.rate).clamp(-20.0, 20.0);
            let expected = seen.allowed * excess.exp();
            let away = ((seen.beyond - expected) / expected).clamp(-1.0, 1.0);
            (seen.rate, excess + away / 2.0, weight(seen, excess))
        };
        let next = Line::through(counted.iter().map(point));
        if !next.slope.is_finite() {
            return None;
        }
        line = next;
    }
    if line.slope <= 0.0 || counted.len() < 2 {
        return None;
    }
    let rate = line.centre - line.level / line.slope;
    // Points further from the line than bursts take them scatter between trials (Birge, Physical Review 40, 1932).
    let degrees = counted.len().saturating_sub(2).max(1) as f64;
    let scatter = (line.left / degrees).max(1.0);
    let variance = scatter * (1.0 / line.weight + (rate - line.centre).powi(2) / line.spread) / line.slope.powi(2);
    (rate.is_finite() && variance.is_finite()).then(|| Root { rate, error: variance.sqrt(), degrees })
}

/// How much bursts at a rate say about those at the root.
fn near(seen: &Counted) -> f64 {
    let excess = ((seen.beyond + 0.5) / (seen.allowed + 0.5)).ln();
    1.0 / (1.0 + excess * excess)
}
