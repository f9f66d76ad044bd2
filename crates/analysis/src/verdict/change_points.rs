//! Where a figure came to another level, in a series of studies that measured the same.

use stampede_stats::{Noise, change_penalty, change_points, median, median_absolute_deviation};

/// Shorter series tell too little of how they scatter.
const LEAST_SERIES: usize = 12;

/// How much more a change must lower the cost by than in a long series: how a short one scatters is known so badly that
/// otherwise one is found in a third of those that have none. With this it is one in 15 of 12 values, and fewer in longer ones,
/// in simulated series of normal values (the test below).
const CAUTION: f64 = 3.0;

/// A new level of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelChange {
    /// The place in the series of the first value of the new level.
    pub at: usize,
    /// The median of the level before.
    pub before: f64,
    /// The median of the new one.
    pub after: f64,
}

/// The new levels of a series, the oldest value first; none in one of fewer than 12 values, of which nothing can be
/// said. What is compared are ratios, where there is no value that has none.
pub fn level_changes(values: &[f64]) -> Vec<LevelChange> {
    let have_ratios = values.iter().all(|value| *value > 0.0);
    let samples: Vec<f64> = values.iter().map(|value| if have_ratios { value.ln() } else { *value }).collect();
    let differences: Vec<f64> = samples.iter().zip(samples.iter().skip(1)).map(|(a, b)| b - a).collect();
    let Some(spread) = median_absolute_deviation(&differences).filter(|_| values.len() >= LEAST_SERIES) else {
        return Vec::new();
    };
    // Each study starts everything again, so the noise of one is independent of the other's.
    let noise = Noise { autocorrelation: 0.0, innovation: spread.powi(2) / 2.0, drift: 0.0 };
    let places = change_points(&samples, &noise, CAUTION * change_penalty(samples.len())).unwrap_or_default();
    let ends = places.iter().skip(1).copied().chain([values.len()]);
    let starts = [0].into_iter().chain(places.iter().copied());
    let levels = starts.zip(&places).zip(ends).filter_map(|((start, at), end)| {
        Some(LevelChange { at: *at, before: median(values.get(start..*at)?)?, after: median(values.get(*at..end)?)? })
    });
    levels.collect()
}

#[cfg(test)]
mod tests {
    use stampede_stats::SplitMix64;

    use super::*;

    /// A series of so many values that scatter by so much around 1,000, and from a place on around another level.
    fn series(seed: u64, length: usize, spread: f64, changed: Option<(usize, f64)>) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        // The sum of twelve uniform numbers is nearly normal.
        let mut normal = || (0..12).map(|_| random.next_u64() as f64 / u64::MAX as f64).sum::<f64>() - 6.0;
        let level = |place: usize| changed.filter(|(at, _)| place >= *at).map_or(1_000.0, |(_, level)| level);
        (0..length).map(|place| level(place) * (1.0 + spread * normal())).collect()
    }

    #[test]
    fn a_level_that_changes_is_found_where_it_does() {
        for (name, length, spread, at, level) in [
            ("slower by a fifth", 24, 0.02, 12, 800.0),
            ("faster", 40, 0.01, 30, 1_100.0),
            ("at the end", 20, 0.01, 17, 1_300.0),
        ] {
            let found = level_changes(&series(1, length, spread, Some((at, level))));
            let [change] = found[..] else { panic!("{name}: {found:?}") };
            assert_eq!(change.at, at, "{name}");
            assert!(
                (change.before / 1_000.0 - 1.0).abs() < 0.02 && (change.after / level - 1.0).abs() < 0.02,
                "{name}"
            );
        }
    }

    #[test]
    fn nothing_is_found_in_noise_and_in_what_is_too_short() {
        for length in [12, 20, 40, 100] {
            let wrong = (0..400).filter(|seed| !level_changes(&series(*seed, length, 0.03, None)).is_empty()).count();
            assert!(wrong <= 400 / 15, "{length}: {wrong} of 400");
        }
        assert!(level_changes(&series(1, 11, 0.01, Some((5, 500.0)))).is_empty());
        assert!(level_changes(&[1_000.0; 50]).is_empty());
        assert!(level_changes(&[0.0; 50]).is_empty());
    }
}
