//! How much worse a change may be.

use crate::mistake::{Gathered, Mistakes};
use crate::quantity::read_share;

const DEFAULT: f64 = 0.05;

/// `--threshold`: a share, 5 % where nothing was typed.
///
/// # Errors
///
/// When it is none above 0 and below 100 %.
pub fn read_threshold(typed: Option<&str>) -> Result<f64, Mistakes> {
    let mut mistakes = Gathered::default();
    let zero = "lets no change pass: no data show that nothing at all differs";
    let share = read_share("--threshold", typed, DEFAULT, zero, &mut mistakes);
    mistakes.finish(Ok(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_a_share() {
        for (typed, expected) in [(None, Some(0.05)), (Some("2.5%"), Some(0.025)), (Some("0.1"), Some(0.1))] {
            assert_eq!(read_threshold(typed).ok(), expected, "{typed:?}");
        }
        for typed in ["0", "0%", "100%", "-1%", "much"] {
            let Mistakes(mistakes) = read_threshold(Some(typed)).unwrap_err();
            assert_eq!(mistakes[0].place, format!("--threshold {typed}"));
        }
    }
}
