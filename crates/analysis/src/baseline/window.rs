//! How long windows are, by what pilots show: so that a study of a given time knows its ratios best.

use std::time::Duration;

/// The windows that there are to choose from.
const GRID: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8)];

/// By how much the rate of a lifetime differs from that of the next, whatever the length of its window: 0.7 to 2.2 % were seen of four
/// runtimes on quiet machines (docs/adr/0040-turns-that-hold.md).
const BETWEEN_LIFETIMES: f64 = 0.0175;

/// So many requests in a window have a p99, which every report shows.
const REQUESTS: f64 = 5_000.0;

/// Bins that are taken together, so that what one has from the one before counts.
const BATCH: usize = 2;

/// What the pilot of a case showed of its lifetimes.
#[derive(Clone, Debug, PartialEq)]
pub struct LifetimeCost {
    /// What a lifetime takes beside its window: launch, verification, warm-up and stop.
    pub beside: Duration,
    /// Right answers a second in each piece of the time at rest.
    pub rates: Vec<f64>,
    /// How long such a piece is.
    pub piece: Duration,
}

impl LifetimeCost {
    /// The variance of the logarithm of the rate of a window of a second.
    fn variance(&self) -> Option<f64> {
        let batch = |rates: &[f64]| (rates.iter().sum::<f64>() / BATCH as f64).max(f64::MIN_POSITIVE).ln();
        let logs: Vec<f64> = self.rates.chunks_exact(BATCH).map(batch).collect();
        let (n, mean) = (logs.len() as f64, logs.iter().sum::<f64>() / logs.len() as f64);
        if logs.len() < BATCH {
            return None;
        }
        let spread = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Some(spread * self.piece.as_secs_f64() * BATCH as f64)
    }

    fn rate(&self) -> f64 {
        self.rates.iter().sum::<f64>() / self.rates.len() as f64
    }
}

/// The window of which a study of a given time knows its ratios best, with the reason. A lifetime that takes c seconds beside a window
/// of w has a variance of v / w + s²; that times c + w is least where w is √(c v / s²). A window has a p99 of the slowest case, as far as
/// the longest window has. `None` where no pilot came to rest.
pub fn window(costs: &[LifetimeCost]) -> Option<(Duration, String)> {
    let known: Vec<(&LifetimeCost, f64)> = costs.iter().filter_map(|cost| Some((cost, cost.variance()?))).collect();
    let mean = |value: &dyn Fn(&(&LifetimeCost, f64)) -> f64| known.iter().map(value).sum::<f64>() / known.len() as f64;
    if known.is_empty() {
        return None;
    }
    let (beside, variance) = (mean(&|(cost, _)| cost.beside.as_secs_f64()), mean(&|(_, variance)| *variance));
    let best = (beside * variance).sqrt() / BETWEEN_LIFETIMES;
    let off = |window: &Duration| (window.as_secs_f64() / best.max(f64::MIN_POSITIVE)).ln().abs();
    let nearest = GRID.into_iter().min_by(|a, b| off(a).total_cmp(&off(b)))?;
    let slowest = known.iter().map(|(cost, _)| cost.rate()).fold(f64::INFINITY, f64::min);
    let needed = REQUESTS / slowest;
    let enough = GRID.into_iter().find(|window| window.as_secs_f64() >= needed).unwrap_or(GRID[GRID.len() - 1]);
    let why = if enough > nearest {
        format!("a p99 needs {REQUESTS:.0} requests, and the slowest case answers {slowest:.0} a second")
    } else {
        format!(
            "a trial takes {beside:.1} s beside its window, and its rate scatters by {:.1} % from second to second",
            variance.sqrt() * 100.0
        )
    };
    Some((nearest.max(enough), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates about this one, whose means of two pieces of half a second have this standard deviation.
    fn cost(beside_ms: u64, rate: f64, scatter: f64) -> LifetimeCost {
        // Four batches above the mean and four below: a standard deviation of √(8 / 7).
        let off = scatter * (7.0_f64 / 8.0).sqrt();
        let rates = (0..16).map(|piece| rate * (if piece / 2 % 2 == 0 { off } else { -off }).exp()).collect();
        LifetimeCost { beside: Duration::from_millis(beside_ms), rates, piece: Duration::from_millis(500) }
    }

    #[test]
    fn a_window_is_as_long_as_pays() {
        for (name, costs, seconds, why) in [
            // √(3 s × 0.02² s) / 0.0175 = 1.98 s.
            ("as lifetimes differ", vec![cost(3000, 9000.0, 0.02)], 2, "a trial takes 3.0 s beside its window"),
            ("costly starts", vec![cost(20_000, 9000.0, 0.02), cost(10_000, 9000.0, 0.02)], 4, "a trial takes 15.0 s"),
            ("a restless machine", vec![cost(3000, 9000.0, 0.2)], 8, "a trial takes 3.0 s"),
            ("all is still", vec![cost(3000, 9000.0, 0.0)], 1, "a trial takes 3.0 s"),
            ("a slow one", vec![cost(3000, 9000.0, 0.0), cost(3000, 1300.0, 0.0)], 4, "a p99 needs 5000 requests"),
            ("too slow for a p99", vec![cost(3000, 30.0, 0.0)], 8, "a p99 needs 5000 requests"),
        ] {
            let (window, told) = window(&costs).unwrap();
            assert_eq!(window, Duration::from_secs(seconds), "{name}: {told}");
            assert!(told.starts_with(why), "{name}: {told}");
        }
        assert_eq!(window(&[]), None);
        assert_eq!(window(&[LifetimeCost { rates: Vec::new(), ..cost(1000, 1.0, 0.0) }]), None);
    }
}
