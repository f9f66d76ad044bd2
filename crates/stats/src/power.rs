//! What a number of blocks can show.

use statrs::function::gamma::ln_gamma;

use crate::Confidence;
use crate::blocks::BlockRatios;
use crate::decision::Margins;
use crate::normal;
use crate::student::{student_t_quantile, t_quantile_above};

/// The probability that the paired t test of `blocks` logarithms of ratios finds a true difference `effect`, when they
/// scatter by `deviation`: the power of the noncentral t distribution, the wrong direction included as R's
/// `power.t.test(strict = TRUE)` does. `None` below two blocks, and unless the deviation is above 0 and both are finite.
pub fn power(blocks: usize, effect: f64, deviation: f64, confidence: Confidence) -> Option<f64> {
    let quantile = student_t_quantile(confidence, usable(blocks, effect, deviation)?)?;
    let shift = effect / deviation * (blocks as f64).sqrt();
    Some(over_spreads(blocks - 1, |spread| {
        normal::above(quantile * spread - shift) + normal::above(quantile * spread + shift)
    }))
}

/// The minimal detectable effect: the true difference of logarithms that `blocks` find 9 times of 10 at 95 %, when they
/// scatter by `deviation`: (t.975 + t.90) s / sqrt(n), with n - 1 degrees of freedom (Bloom 1995). `None` below two blocks,
/// and unless the deviation is above 0 and finite.
pub fn minimal_detectable_effect(blocks: usize, deviation: f64) -> Option<f64> {
    let degrees = usable(blocks, 0.0, deviation)?;
    let quantiles = student_t_quantile(Confidence::P95, degrees)? + t_quantile_above(0.10, degrees as f64)?;
    Some(quantiles * deviation / (blocks as f64).sqrt())
}

/// How far [`blocks_to_decide`] looks. Nobody waits for more.
const MOST_BLOCKS: usize = 1000;

/// The same of blocks that were measured, by the error that their interval has.
pub fn detectable_effect(ratios: &BlockRatios) -> Option<f64> {
    let quantile = |above| t_quantile_above(above, ratios.spread().degrees);
    Some((quantile(0.025)? + quantile(0.10)?) * ratios.standard_error())
}

/// The smallest number of blocks, those measured included, after which a verdict is likely: with at least this
/// `probability` when the truth is what has been estimated so far. `None` when that takes more than 1,000 blocks, as it
/// does for a difference that is close to a margin.
///
/// The mean of all n blocks is today's mean plus noise of s sqrt(n - m) / n, where m blocks are measured and s is their
/// deviation: conditional power under the current trend (Jennison and Turnbull 2000, chapter 10). A verdict is an
/// interval of this confidence beyond the floor, or a 90 % interval within the precision. Numbers are tried in steps of a
/// sixteenth, and what is between two of them is halved.
pub fn blocks_to_decide(
    ratios: &BlockRatios,
    margins: Margins,
    confidence: Confidence,
    probability: f64,
) -> Option<usize> {
    let [floor, precision] = [margins.floor, margins.precision].map(f64::ln_1p);
    let (measured, deviation) = (ratios.n(), ratios.spread().deviation);
    let is_likely = |blocks: usize| {
        let noise = deviation * ((blocks - measured) as f64).sqrt() / blocks as f64;
        let beyond = |limit: f64| normal::above((limit - ratios.mean()) / noise);
        let different = floor + ratios.half_of(blocks, confidence);
        let equivalent = precision - ratios.half_of(blocks, Confidence::P90);
        let undecided = if equivalent > different {
            0.0
        } else if equivalent > 0.0 {
            (beyond(equivalent) - beyond(different)) + (beyond(-different) - beyond(-equivalent))
        } else {
            beyond(-different) - beyond(different)
        };
        1.0 - undecided >= probability
    };
    let (mut least, mut blocks) = (measured + 1, measured + 1);
    while !is_likely(blocks) {
        least = blocks + 1;
        if least > MOST_BLOCKS {
            return None;
        }
        blocks = (least + blocks / 16).min(MOST_BLOCKS);
    }
    while least < blocks {
        let middle = usize::midpoint(least, blocks);
        if is_likely(middle) {
            blocks = middle;
        } else {
            least = middle + 1;
        }
    }
    Some(blocks)
}

fn usable(blocks: usize, effect: f64, deviation: f64) -> Option<usize> {
    (blocks >= 2 && effect.is_finite() && deviation.is_finite() && deviation > 0.0).then(|| blocks - 1)
}

/// The mean of a function of the estimated standard deviation divided by the true one, over the distribution of that: chi
/// by the square root of its degrees of freedom.
pub(crate) fn over_spreads(degrees: usize, function: impl Fn(f64) -> f64) -> f64 {
    let v = degrees as f64;
    let scale = 2.0_f64.ln() + v / 2.0 * (v / 2.0).ln() - ln_gamma(v / 2.0);
    // Chi is within 1e-15 of normal tails this far out for many degrees, and of its own for one.
    let (from, to) = ((1.0 - 8.0 / v.sqrt()).max(0.0), 1.0 + 8.0 / v.sqrt());
    normal::integrate(from, to, 128, |spread| {
        let log = if degrees == 1 { 0.0 } else { (v - 1.0) * spread.ln() };
        (scale + log - v * spread * spread / 2.0).exp() * function(spread)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probable_verdict_takes_as_many_blocks_as_its_interval_needs() {
        let margins = Margins { floor: 0.0, precision: 0.03 };
        let ratios = |mean: f64, deviation: f64| {
            BlockRatios::of_logs([-1.0, 0.0, 1.0].map(|step| mean + deviation * step).to_vec()).unwrap()
        };
        // At even odds, the interval must be as narrow as the estimate is far from the nearest margin.
        for (name, mean, deviation) in [("different", 0.05, 0.04), ("below", -0.05, 0.04), ("same", 0.0, 0.04)] {
            let blocks = blocks_to_decide(&ratios(mean, deviation), margins, Confidence::P95, 0.5).unwrap();
            let half = |blocks: usize, confidence| {
                student_t_quantile(confidence, blocks - 1).unwrap() * deviation / (blocks as f64).sqrt()
            };
            let decides = |blocks| {
                mean.abs() > half(blocks, Confidence::P95)
                    || mean.abs() + half(blocks, Confidence::P90) < 0.03_f64.ln_1p()
            };
            // An estimate of exactly 0 may leave the margins on either side, so that a little more is needed.
            assert!(decides(blocks) && (mean == 0.0 || !decides(blocks - 1)), "{name}: {blocks}");
            let surer = blocks_to_decide(&ratios(mean, deviation), margins, Confidence::P95, 0.9).unwrap();
            assert!(surer > blocks, "{name}: {surer} {blocks}");
        }
        let never = Margins { floor: 0.03, precision: 0.03 };
        assert_eq!(blocks_to_decide(&ratios(0.03, 0.4), never, Confidence::P95, 0.9), None);
    }

    #[test]
    fn power_grows_with_blocks_and_is_refused_for_nonsense() {
        let power_of = |blocks| power(blocks, 0.03, 0.04, Confidence::P95).unwrap();
        assert!((2..60).map(power_of).is_sorted());
        // Without an effect, what is found is the error.
        assert!((power(7, 0.0, 0.04, Confidence::P95).unwrap() - 0.05).abs() < 1e-6);
        for (blocks, effect, deviation) in [(1, 0.1, 0.1), (5, f64::NAN, 0.1), (5, 0.1, 0.0), (5, 0.1, f64::INFINITY)] {
            assert_eq!(power(blocks, effect, deviation, Confidence::P95), None);
        }
        assert_eq!(minimal_detectable_effect(1, 0.04), None);
    }
}
