//! How often the methods are right on data whose truth is known, with fixed seeds.
//!
//! The limits are those that the nominal rate and the number of repetitions allow at about three standard errors. Longer
//! runs, whose figures stand in `docs/statistics.md`: `cargo test --release -p stampede-stats --test simulation -- --ignored
//! --nocapture`.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use stampede_stats::{
    BlockRatios, Confidence, InterimLook, Spending, SplitMix64, SteadyRule, mann_kendall, nominal_error,
    repeated_interval, steady_state,
};

/// Random numbers.
struct Nature(SplitMix64);

impl Nature {
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Box and Muller 1958.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn normals(&mut self, n: usize, mean: f64, deviation: f64) -> Vec<f64> {
        (0..n).map(|_| mean + deviation * self.normal()).collect()
    }

    /// Noise of deviation 1 in which neighbours correlate.
    fn autocorrelated(&mut self, n: usize, correlation: f64) -> Vec<f64> {
        let mut now = self.normal();
        (0..n)
            .map(|_| {
                now = correlation * now + (1.0 - correlation * correlation).sqrt() * self.normal();
                now
            })
            .collect()
    }
}

/// The share of repetitions in which something happens.
fn share(repetitions: usize, seed: u64, mut happens: impl FnMut(&mut Nature) -> bool) -> f64 {
    let mut nature = Nature(SplitMix64::new(seed));
    (0..repetitions).filter(|_| happens(&mut nature)).count() as f64 / repetitions as f64
}

fn looks(blocks: &[usize]) -> Vec<InterimLook> {
    let all = *blocks.last().unwrap() as f64;
    blocks.iter().map(|&n| InterimLook { spent: n as f64 / all, information: n as f64 }).collect()
}

/// For each look, how far a statistic of that many blocks may be from 0: the half-width of a repeated interval in standard
/// errors, which depends on nothing else.
fn factors(error: f64, blocks: &[usize]) -> Vec<f64> {
    let looks = looks(blocks);
    (0..blocks.len())
        .map(|look| {
            let logs = (0..blocks[look]).map(|block| block as f64).collect();
            let ratios = BlockRatios::of_logs(logs).unwrap();
            let interval = repeated_interval(&ratios, nominal_error(Spending::Late, error, &looks[..=look]).unwrap());
            (interval.high - interval.value) / ratios.standard_error()
        })
        .collect()
}

/// Whether any repeated interval misses the truth, which is 0.
fn misses(nature: &mut Nature, factors: &[f64], blocks: &[usize]) -> bool {
    let logs = nature.normals(*blocks.last().unwrap(), 0.0, 1.0);
    factors.iter().zip(blocks).any(|(factor, &n)| {
        let ratios = BlockRatios::of_logs(logs[..n].to_vec()).unwrap();
        ratios.mean().abs() > factor * ratios.standard_error()
    })
}

const SCHEDULES: [&[usize]; 4] = [&[3, 4, 5, 6, 7], &[3, 6, 9, 12, 15], &[3, 5, 8, 14, 20], &[6, 12, 18, 24, 30]];

#[test]
fn repeated_intervals_keep_their_error_with_few_blocks() {
    for blocks in SCHEDULES {
        let factors = factors(0.05, blocks);
        let missed = share(4000, 1, |nature| misses(nature, &factors, blocks));
        assert!(missed < 0.062, "{blocks:?}: {missed}");
    }
}

#[test]
#[ignore = "half a minute; prints figures for docs/statistics.md"]
fn figures_of_repeated_intervals() {
    for blocks in SCHEDULES {
        for error in [0.05, 0.10, 0.05 / 28.0] {
            let factors = factors(error, blocks);
            let missed = share(40_000, 2, |nature| misses(nature, &factors, blocks));
            println!("{blocks:?}, {error:.4}: some interval misses in {:.2} %", 100.0 * missed);
        }
    }
}

fn skewed(nature: &mut Nature, n: usize) -> BlockRatios {
    // Log-normal noise with its mean taken off: what hiccups that only slow down look like.
    let logs = nature.normals(n, 0.0, 0.6).iter().map(|z| 0.04 * (z.exp() - 0.18_f64.exp())).collect();
    BlockRatios::of_logs(logs).unwrap()
}

#[test]
fn intervals_cover_the_truth() {
    let holds = |ratios: &BlockRatios, seed| {
        let interval = ratios.interval(Confidence::P95, seed);
        interval.low <= 0.0 && 0.0 <= interval.high
    };
    let mut seed = 0;
    for n in [3, 9, 10, 20] {
        let covered = share(1500, 3, |nature| {
            seed += 1;
            holds(&BlockRatios::of_logs(nature.normals(n, 0.0, 0.04)).unwrap(), seed)
        });
        assert!((0.93..0.97).contains(&covered), "{n} blocks: {covered}");
        let covered = share(500, 4, |nature| {
            seed += 1;
            holds(&skewed(nature, n), seed)
        });
        assert!(covered > 0.87, "{n} skewed blocks: {covered}");
    }
}

/// Symmetric noise in which one block of ten is an outlier: a neighbour's load that hits one trial of a pair or the other.
fn with_outliers(nature: &mut Nature, n: usize) -> BlockRatios {
    let log = |nature: &mut Nature| nature.normal() * if nature.uniform() < 0.1 { 0.16 } else { 0.03 };
    BlockRatios::of_logs((0..n).map(|_| log(nature)).collect()).unwrap()
}

#[test]
#[ignore = "half a minute; prints figures for docs/statistics.md"]
fn figures_of_intervals() {
    const REPETITIONS: usize = 5000;
    let normal = |nature: &mut Nature, n| BlockRatios::of_logs(nature.normals(n, 0.0, 0.04)).unwrap();
    type Noise<'a> = (&'a str, &'a dyn Fn(&mut Nature, usize) -> BlockRatios);
    let kinds: [Noise<'_>; 3] = [("normal", &normal), ("skewed", &skewed), ("outliers", &with_outliers)];
    for n in [3, 6, 9, 10, 15, 20, 40] {
        for (name, noise) in kinds {
            let mut nature = Nature(SplitMix64::new(5));
            let mut held = [0; 3];
            for seed in 0..REPETITIONS as u64 {
                let ratios = noise(&mut nature, n);
                let t = ratios.t_interval(Confidence::P95);
                let bootstrap = ratios.bootstrap_interval(Confidence::P95, seed).unwrap_or(t);
                for (held, interval) in held.iter_mut().zip([t, bootstrap, ratios.interval(Confidence::P95, seed)]) {
                    *held += usize::from(interval.low <= 0.0 && 0.0 <= interval.high);
                }
            }
            let [t, bootstrap, used] = held.map(|count| 100.0 * count as f64 / REPETITIONS as f64);
            println!("{n} blocks, {name}: t {t:.1} %, bootstrap {bootstrap:.1} %, interval() {used:.1} %");
        }
    }
}

/// Throughput of 1 that begins lower by `below` in the first `warm_up` bins.
fn bins(nature: &mut Nature, n: usize, correlation: f64, below: f64, warm_up: usize) -> Vec<f64> {
    let noise = nature.autocorrelated(n, correlation);
    (0..n).map(|bin| if bin < warm_up { 1.0 - below } else { 1.0 } + 0.02 * noise[bin]).collect()
}

const RULE: SteadyRule = SteadyRule { tolerance: 0.02, least: 20 };

#[test]
fn a_warm_up_is_found_and_none_is_made_up() {
    for (correlation, most) in [(0.0, 0.10), (0.3, 0.15), (0.6, 0.25)] {
        let invented = share(200, 10, |nature| {
            steady_state(&bins(nature, 60, correlation, 0.0, 0), &RULE).unwrap().warm_up != Some(0)
        });
        assert!(invented < most, "{correlation}: {invented}");
        let found = share(200, 11, |nature| {
            let warm_up = steady_state(&bins(nature, 60, correlation, 0.1, 12), &RULE).unwrap().warm_up;
            warm_up.is_some_and(|warm_up| (10..=14).contains(&warm_up))
        });
        assert!(found > 0.8, "{correlation}: {found}");
    }
}

#[test]
fn what_never_rests_is_said_to() {
    let steady = share(200, 12, |nature| {
        let noise = nature.autocorrelated(60, 0.3);
        let waves: Vec<f64> =
            (0..60).map(|bin| 1.0 + if bin / 8 % 2 == 0 { 0.15 } else { 0.0 } + 0.02 * noise[bin]).collect();
        steady_state(&waves, &RULE).unwrap().warm_up.is_some()
    });
    assert!(steady < 0.05, "{steady}");
}

#[test]
#[ignore = "a few minutes; prints figures for docs/statistics.md"]
fn figures_of_the_steady_state() {
    for n in [40, 60, 120] {
        for correlation in [0.0, 0.3, 0.6, 0.8] {
            let state = |seed, below, warm_up, holds: &dyn Fn(Option<usize>) -> bool| {
                100.0
                    * share(300, seed, |nature| {
                        holds(steady_state(&bins(nature, n, correlation, below, warm_up), &RULE).unwrap().warm_up)
                    })
            };
            let whole = state(13, 0.0, 0, &|warm_up| warm_up == Some(0));
            let never = state(13, 0.0, 0, &|warm_up| warm_up.is_none());
            let found = state(14, 0.1, n / 5, &|warm_up| warm_up.is_some_and(|bin| bin.abs_diff(n / 5) <= 2));
            println!(
                "{n} bins, correlation {correlation}: steady throughout {whole:.1} % (never: {never:.1} %), warm-up of {} bins found within 2 {found:.1} %",
                n / 5
            );
        }
    }
}

#[test]
fn a_trend_is_found_and_none_is_made_up() {
    for (correlation, most) in [(0.0, 0.09), (0.5, 0.17)] {
        let p_value = |nature: &mut Nature, slope: f64| {
            let noise = nature.autocorrelated(60, correlation);
            let series: Vec<f64> = (0..).zip(noise).map(|(bin, noise)| slope * f64::from(bin) + noise).collect();
            mann_kendall(&series, Confidence::P95).unwrap().p_value
        };
        let invented = share(400, 15, |nature| p_value(nature, 0.0) < 0.05);
        assert!(invented < most, "{correlation}: {invented}");
        let found = share(200, 16, |nature| p_value(nature, 0.05) < 0.05);
        assert!(found > 0.85, "{correlation}: {found}");
    }
}

#[test]
#[ignore = "a minute; prints figures for docs/statistics.md"]
fn figures_of_trends() {
    for n in [30, 60, 120] {
        for correlation in [0.0, 0.3, 0.6, 0.8] {
            let rejected = |seed, slope: f64| {
                100.0
                    * share(2000, seed, |nature| {
                        let noise = nature.autocorrelated(n, correlation);
                        let series: Vec<f64> =
                            (0..).zip(noise).map(|(bin, noise)| slope * f64::from(bin) + noise).collect();
                        mann_kendall(&series, Confidence::P95).unwrap().p_value < 0.05
                    })
            };
            println!(
                "{n} bins, correlation {correlation}: trend claimed in {:.1} % without one, {:.1} % with one of 3 deviations",
                rejected(17, 0.0),
                rejected(18, 3.0 / n as f64)
            );
        }
    }
}

#[test]
fn nominal_errors_grow_with_the_error_that_is_shared_out() {
    // What the sequential Holm procedure needs: a raised share never rejects less (Maurer and Bretz 2013).
    for blocks in SCHEDULES {
        for look in 1..=blocks.len() {
            let all = looks(blocks);
            let errors = [28.0, 20.0, 10.0, 6.0, 3.0, 2.0, 1.0]
                .map(|k| nominal_error(Spending::Late, 0.05 / k, &all[..look]).unwrap());
            assert!(errors.is_sorted(), "{blocks:?} look {look}: {errors:?}");
        }
    }
}
