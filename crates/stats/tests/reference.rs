//! Known answers: published tables, and what R and Python say (`fixtures/` holds their output and the scripts).

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use stampede_stats::{
    BlockRatios, Confidence, InterimLook, Noise, Spending, UslFit, boundaries, change_penalty, change_points,
    mann_kendall, minimal_detectable_effect, power, step_down,
};

const R: &str = include_str!("fixtures/r.txt");
const PYTHON: &str = include_str!("fixtures/python.txt");

/// The numbers of one line, by its name.
fn reference(source: &str, name: &str) -> Vec<f64> {
    let line = source.lines().find_map(|line| {
        line.split('\t').collect::<Vec<_>>().split_first().and_then(|(key, rest)| (*key == name).then(|| rest.join("")))
    });
    let line = line.unwrap_or_else(|| panic!("no line {name}"));
    line.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

fn assert_close(name: &str, got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{name}: {got:?} is not {expected:?}");
    for (a, b) in got.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{name}: {got:?} is not {expected:?}");
    }
}

fn looks(fractions: &[f64]) -> Vec<InterimLook> {
    fractions.iter().map(|&fraction| InterimLook { spent: fraction, information: 40.0 * fraction }).collect()
}

#[test]
fn boundaries_are_those_of_rpact() {
    for (name, fractions, error) in [
        ("bounds five 0.05", vec![0.2, 0.4, 0.6, 0.8, 1.0], 0.05),
        ("bounds four 0.10", vec![0.25, 0.5, 0.75, 1.0], 0.10),
        ("bounds uneven 0.05", vec![0.15, 0.5, 0.55, 0.9, 1.0], 0.05),
        ("bounds small 0.005", vec![0.3, 0.6, 0.8, 1.0], 0.005),
    ] {
        assert_close(name, &boundaries(Spending::Late, error, &looks(&fractions)).unwrap(), &reference(R, name), 2e-6);
    }
}

/// Five equal looks, two-sided 5 %, as the programs of Reboussin, DeMets, Kim and Lan (2000) print them.
#[test]
fn boundaries_are_those_of_the_published_table() {
    let published = [4.877, 3.357, 2.680, 2.290, 2.031];
    let got = boundaries(Spending::Late, 0.05, &looks(&[0.2, 0.4, 0.6, 0.8, 1.0])).unwrap();
    assert_close("five", &got, &published, 5e-4);
}

#[test]
fn power_is_that_of_r_and_scipy() {
    for (blocks, effect, confidence, name) in [
        (10, 0.05, Confidence::P95, "power 10 0.05 0.04 0.05"),
        (3, 0.05, Confidence::P95, "power 3 0.05 0.04 0.05"),
        (2, 0.05, Confidence::P90, "power 2 0.05 0.04 0.10"),
        (40, 0.01, Confidence::P95, "power 40 0.01 0.04 0.05"),
    ] {
        assert_close(name, &[power(blocks, effect, 0.04, confidence).unwrap()], &reference(R, name), 2e-5);
    }
    let name = "mde 10 0.04";
    assert_close(name, &[minimal_detectable_effect(10, 0.04).unwrap()], &reference(PYTHON, name), 1e-9);
}

/// Two bootstraps with different random numbers: their ends scatter by about 2 % of the width at 1,999 resamples.
#[test]
fn the_studentised_bootstrap_is_that_of_boot() {
    let logs = [0.021, 0.034, 0.028, 0.055, 0.019, 0.024, 0.041, 0.112, 0.026, 0.033, 0.030, 0.022];
    let ratios = BlockRatios::of_logs(logs.to_vec()).unwrap();
    let expected = reference(R, "studentised bootstrap");
    let width = expected[1] - expected[0];
    for seed in 0..5 {
        let got = ratios.bootstrap_interval(Confidence::P95, seed).unwrap();
        assert!((got.low - expected[0]).abs() < 0.06 * width, "{got:?} is not {expected:?}");
        assert!((got.high - expected[1]).abs() < 0.12 * width, "{got:?} is not {expected:?}");
        assert_eq!(Some(got), ratios.bootstrap_interval(Confidence::P95, seed));
    }
}

#[test]
fn holm_is_that_of_r() {
    let holm =
        |p_values: &[f64]| step_down(0.05, &vec![false; p_values.len()], |place, share| p_values[place] <= share);
    let rejected = holm(&[0.011, 0.02, 0.012, 0.3, 0.001]);
    let rejected: Vec<f64> = rejected.into_iter().map(|rejected| f64::from(u8::from(rejected))).collect();
    assert_eq!(rejected, reference(R, "holm"));
    assert_eq!(holm(&[0.04, 0.03]), [false, false]);
    assert_eq!(holm(&[f64::NAN, 0.01]), [false, true]);
}

#[test]
fn change_points_are_those_of_decafs() {
    for (name, autocorrelation, drift) in [
        ("short 0.1 0", 0.1, 1e-3_f64),
        ("ar 0.5 0", 0.5, 1e-3),
        ("drift 0.3 0.5", 0.3, 0.5),
        ("none 0.6 0", 0.6, 1e-3),
    ] {
        let series = reference(R, &format!("series {name}"));
        let noise = Noise { autocorrelation, innovation: 4.0, drift: drift * drift };
        let found = change_points(&series, &noise, change_penalty(series.len())).unwrap();
        let found: Vec<f64> = found.into_iter().map(|index| index as f64).collect();
        assert_eq!(found, reference(R, &format!("changes {name}")), "{name}");
    }
}

#[test]
fn trends_are_those_of_pymannkendall_and_scipy() {
    for name in ["positive", "white", "ties"] {
        let series = reference(PYTHON, &format!("trend {name} series"));
        let trend = mann_kendall(&series, Confidence::P95).unwrap();
        let expected = reference(PYTHON, &format!("trend {name}"));
        assert_close(name, &[trend.tau, trend.p_value, trend.slope.value], &expected[..3], 1e-9);
        if expected[3] == 1.0 {
            let slopes = reference(PYTHON, &format!("slopes {name}"));
            assert_close(name, &[trend.slope.low, trend.slope.high], &slopes, 1e-9);
        }
    }
}

/// The upper end of sigma's interval is that of a profile whose inner minima R finds by a search.
#[test]
fn scalability_laws_are_those_of_nls() {
    for name in ["usl coherent", "usl contended", "usl twice"] {
        let points: Vec<(f64, f64)> =
            reference(R, &format!("{name} points")).chunks(2).map(|point| (point[0], point[1])).collect();
        let fit = UslFit::of(&points).unwrap();
        let expected = reference(R, name);
        let got = [fit.law.lambda, fit.law.sigma, fit.law.kappa, fit.residual];
        assert_close(name, &got, &expected[..4], 1e-6);
        assert!((fit.sigma.1 - expected[4]).abs() < 1e-4, "{name}: {fit:?} is not {expected:?}");
        assert!(fit.sigma.0 <= fit.law.sigma && fit.kappa.0 <= fit.law.kappa && fit.holds(), "{fit:?}");
    }
}
