//! How much worse a change may be.

use crate::mistake::{Gathered, Mistakes};

const DEFAULT: f64 = 0.05;

/// `--threshold`: a share, 5 % where nothing was typed.
///
/// # Errors
///
/// When it is none above 0 and below 100 %.
pub fn read_threshold(typed: Option<&str>) -> Result<f64, Mistakes> {
    let Some(typed) = typed else { return Ok(DEFAULT) };
    let share = match typed.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => typed.parse(),
    };
    let mut mistakes = Gathered::default();
    match share {
        Ok(share) if share > 0.0 && share < 1.0 => return mistakes.finish(Ok(share)),
        Ok(0.0) => {
            let problem = "lets no change pass: no data show that nothing at all differs";
            mistakes.add(format!("--threshold {typed}"), problem, "for example --threshold 5%");
        }
        _ => {
            let problem = "is not a share between 0 and 100 %";
            mistakes.add(format!("--threshold {typed}"), problem, "for example --threshold 5%");
        }
    }
    mistakes.finish(Ok(DEFAULT))
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
