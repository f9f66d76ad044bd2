//! How many rounds a study has, and how sure it must be.

use std::time::Duration;

use stampede_core::Rounds;

use crate::mistake::Gathered;
use crate::quantity::{read_share, read_time};

pub(crate) const MOST_ROUNDS: u32 = 1000;
pub(crate) const DEFAULT_MAX_TIME: Duration = Duration::from_secs(600);
const LEAST_MAX_TIME: Duration = Duration::from_secs(1);
const DEFAULT_PRECISION: f64 = 0.03;
/// A verdict takes so many rounds.
pub(crate) const LEAST_ROUNDS: u32 = 3;

/// `--max-time`: how long rounds are found out at most, where that was said.
pub(crate) fn read_max_time(typed: Option<&str>, mistakes: &mut Gathered) -> Option<Duration> {
    typed.map(|typed| read_time("--max-time", Some(typed), DEFAULT_MAX_TIME, LEAST_MAX_TIME, mistakes))
}

/// As many rounds as verdicts take.
pub(crate) const AUTO: &str = "auto";

/// `--rounds`: a number, or `auto`, the default, for as many as verdicts take within a time.
pub(crate) fn read_rounds(rounds: Option<&str>, max_time: Option<Duration>, mistakes: &mut Gathered) -> Rounds {
    let auto = Rounds::Auto { max_time: max_time.unwrap_or(DEFAULT_MAX_TIME) };
    let Some(typed) = rounds.filter(|typed| *typed != AUTO) else {
        return auto;
    };
    if max_time.is_some() {
        mistakes.add(format!("--rounds {typed}"), "leaves --max-time nothing to limit", "use one of the two");
    }
    match typed.parse() {
        Ok(rounds) if (1..=MOST_ROUNDS).contains(&rounds) => Rounds::Fixed(rounds),
        _ => {
            let problem = format!("is not auto, or a number of rounds from 1 to {MOST_ROUNDS}");
            mistakes.add(format!("--rounds {typed}"), problem, "for example --rounds 5 (fewer than 3 give no verdict)");
            auto
        }
    }
}

/// How many trials the least rounds of so many cases are. With an open part they are twice as many as that has: all cases at one
/// rate, and all but the slowest at their own.
fn least_trials(cases: usize, has_open_part: bool) -> u32 {
    let of_round = if has_open_part { 2 * (2 * cases).saturating_sub(1) } else { cases };
    of_round as u32 * LEAST_ROUNDS
}

/// Gives a study that finds its rounds out the time for the least of them, when each of these trials takes at least `each`.
/// A time that was asked for and is too short for that is a mistake.
pub(crate) fn make_room(
    rounds: Rounds,
    asked: Option<Duration>,
    cases: usize,
    has_open_part: bool,
    each: Duration,
    mistakes: &mut Gathered,
) -> Rounds {
    let Rounds::Auto { max_time } = rounds else { return rounds };
    let least = each * least_trials(cases, has_open_part);
    if let Some(asked) = asked.filter(|asked| *asked < least) {
        let written = |time: Duration| humantime::format_duration(time).to_string().replace(' ', "");
        let least = written(Duration::from_secs(least.as_secs() + 1));
        let measured = if cases == 1 { "1 case".to_owned() } else { format!("{cases} cases") };
        let twice = if has_open_part { ", in each half" } else { "" };
        mistakes.add(
            format!("--max-time {}", written(asked)),
            format!("is too short: a verdict takes {LEAST_ROUNDS} rounds of {measured}{twice}, which load for {least}"),
            format!("use more than --max-time {least}, a shorter --duration or fewer runtimes"),
        );
    }
    let default = if has_open_part { max_time * 2 } else { max_time };
    Rounds::Auto { max_time: asked.unwrap_or(default.max(least * 2)) }
}

/// How many rounds a calibration has by default: with ten pairs the floor is the bias and a little over half of a pair's
/// standard deviation.
const CALIBRATION_ROUNDS: u32 = 10;

/// The rounds of a calibration: it is no question that some of them may decide.
pub(crate) fn calibration_rounds(rounds: Rounds, mistakes: &mut Gathered) -> Rounds {
    match rounds {
        Rounds::Fixed(rounds) if rounds < LEAST_ROUNDS => {
            let problem = format!("is too few: a floor takes {LEAST_ROUNDS}");
            mistakes.add(format!("--rounds {rounds}"), problem, "for example --rounds 10");
            Rounds::Fixed(CALIBRATION_ROUNDS)
        }
        Rounds::Fixed(rounds) => Rounds::Fixed(rounds),
        Rounds::Auto { .. } => Rounds::Fixed(CALIBRATION_ROUNDS),
    }
}

/// `--precision`: below which share a difference does not matter.
pub(crate) fn read_precision(typed: Option<&str>, mistakes: &mut Gathered) -> f64 {
    let zero = "is met by no two things, so that nothing would ever be equivalent";
    read_share("--precision", typed, DEFAULT_PRECISION, zero, mistakes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(mistakes: Gathered) -> Vec<String> {
        let read: Result<(), _> = mistakes.finish(Ok(()));
        read.err().map_or_else(Vec::new, |mistakes| mistakes.0.iter().map(|mistake| mistake.place.clone()).collect())
    }

    #[test]
    fn rounds_are_a_number_or_found_out_within_a_time() {
        let auto = |seconds| Rounds::Auto { max_time: Duration::from_secs(seconds) };
        for (rounds, max_time, expected, mistakes) in [
            (None, None, auto(600), &[][..]),
            (Some("auto"), Some("5m"), auto(300), &[]),
            (None, Some("5m"), auto(300), &[]),
            (Some("5"), None, Rounds::Fixed(5), &[]),
            (Some("5"), Some("5m"), Rounds::Fixed(5), &["--rounds 5"]),
            (Some("0"), None, auto(600), &["--rounds 0"]),
            (Some("many"), None, auto(600), &["--rounds many"]),
            (None, Some("soon"), auto(600), &["--max-time soon"]),
        ] {
            let mut gathered = Gathered::default();
            let time = read_max_time(max_time, &mut gathered);
            assert_eq!(read_rounds(rounds, time, &mut gathered), expected, "{rounds:?} {max_time:?}");
            assert_eq!(told(gathered), mistakes, "{rounds:?} {max_time:?}");
        }
    }

    #[test]
    fn the_least_that_a_verdict_takes_is_made_room_for() {
        let auto = |seconds| Rounds::Auto { max_time: Duration::from_secs(seconds) };
        for (name, rounds, asked, (cases, has_open_part), expected, mistakes) in [
            ("room enough", auto(600), None, (4, false), auto(600), &[][..]),
            ("the default grows", auto(600), None, (20, false), auto(1200), &[]),
            ("what was asked for does not", auto(60), Some(60), (4, false), auto(60), &["--max-time 1m"]),
            ("a number needs no time", Rounds::Fixed(3), None, (100, false), Rounds::Fixed(3), &[]),
            ("an open part has as much", auto(600), None, (4, true), auto(1200), &[]),
            ("both grow", auto(600), None, (20, true), auto(4680), &[]),
            ("both take their time", auto(300), Some(300), (4, true), auto(300), &["--max-time 5m"]),
        ] {
            let mut gathered = Gathered::default();
            let asked = asked.map(Duration::from_secs);
            let made = make_room(rounds, asked, cases, has_open_part, Duration::from_secs(10), &mut gathered);
            assert_eq!((made, told(gathered)), (expected, mistakes.iter().map(|&m| m.to_owned()).collect()), "{name}");
        }
    }

    #[test]
    fn a_calibration_has_ten_rounds_or_as_many_as_asked_for() {
        let auto = Rounds::Auto { max_time: Duration::from_secs(600) };
        for (rounds, expected, mistakes) in
            [(auto, 10, &[][..]), (Rounds::Fixed(3), 3, &[]), (Rounds::Fixed(2), 10, &["--rounds 2"])]
        {
            let mut gathered = Gathered::default();
            assert_eq!(calibration_rounds(rounds, &mut gathered), Rounds::Fixed(expected), "{rounds:?}");
            assert_eq!(told(gathered), mistakes, "{rounds:?}");
        }
    }

    #[test]
    fn a_precision_is_a_share() {
        for (typed, expected, mistakes) in [
            (None, 0.03, &[][..]),
            (Some("5%"), 0.05, &[]),
            (Some("1.5 %"), 0.015, &[]),
            (Some("0.02"), 0.02, &[]),
            (Some("0"), 0.03, &["--precision 0"]),
            (Some("100%"), 0.03, &["--precision 100%"]),
            (Some("-3%"), 0.03, &["--precision -3%"]),
            (Some("tight"), 0.03, &["--precision tight"]),
        ] {
            let mut gathered = Gathered::default();
            assert!((read_precision(typed, &mut gathered) - expected).abs() < 1e-12, "{typed:?}");
            assert_eq!(told(gathered), mistakes, "{typed:?}");
        }
    }
}
