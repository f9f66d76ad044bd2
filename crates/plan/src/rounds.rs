//! How many rounds a study has, and how sure it must be.

use std::time::Duration;

use stampede_core::{Rounds, short_time};

use crate::mistake::Gathered;
use crate::quantity::{read_share, read_time};
use crate::warm_up::{LEAST_PILOTED_WINDOW, LEAST_ROUNDS};

pub(crate) const MOST_ROUNDS: u32 = 1000;
pub(crate) const DEFAULT_MAX_TIME: Duration = Duration::from_secs(600);
const LEAST_MAX_TIME: Duration = Duration::from_secs(1);
const DEFAULT_PRECISION: f64 = 0.03;

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
    let read = |typed: &str| typed.parse().ok().filter(|rounds| (1..=MOST_ROUNDS).contains(rounds)).map(Rounds::Fixed);
    let problem = format!("is not auto, or a number of rounds from 1 to {MOST_ROUNDS}");
    let fix = "for example --rounds 5 (fewer than 3 give no verdict)";
    mistakes.value(("--rounds", Some(typed)), auto, read, problem, fix)
}

/// What the least number of rounds takes at least.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeastTime {
    /// How many cases a round measures.
    pub(crate) cases: usize,
    /// How long each is loaded in a round.
    pub(crate) each: Duration,
    /// Whether each has a pilot before them.
    pub(crate) pilots: bool,
    /// Whether an open part follows, which has as much time as what comes before it: all cases at one rate, and all but the slowest at
    /// their own.
    pub(crate) open_part: bool,
}

impl LeastTime {
    fn whole(self) -> Duration {
        let pilot = if self.pilots { Rounds::LEAST_PILOT } else { Duration::ZERO };
        let rounds = (self.each + BESIDE_LOAD) * LEAST_ROUNDS;
        let closed = (rounds + pilot) * self.cases as u32;
        let open = rounds * (2 * self.cases as u32).saturating_sub(1);
        if self.open_part { closed.max(open) * 2 } else { closed }
    }
}

/// Gives a study that finds its rounds out the time for the least of them. A time that was asked for and is too short for that is a
/// mistake.
pub(crate) fn make_room(rounds: Rounds, asked: Option<Duration>, needed: LeastTime, mistakes: &mut Gathered) -> Rounds {
    let Rounds::Auto { max_time } = rounds else { return rounds };
    let least = needed.whole();
    if let Some(asked) = asked.filter(|asked| *asked < least) {
        let least = short_time(Duration::from_secs(least.as_secs() + 1));
        let measured = if needed.cases == 1 { "1 case".to_owned() } else { format!("{} cases", needed.cases) };
        let twice = if needed.open_part { ", in each half" } else { "" };
        let (pilots, fix) = if needed.pilots {
            (" and their pilots", "a --warm-up in place of pilots")
        } else {
            ("", "a shorter --duration or fewer runtimes")
        };
        mistakes.add(
            format!("--max-time {}", short_time(asked)),
            format!("is too short: a verdict takes {LEAST_ROUNDS} rounds of {measured}{pilots}{twice}, about {least}"),
            format!("use more than --max-time {least}, {fix}"),
        );
    }
    let default = if needed.open_part { max_time * 2 } else { max_time };
    Rounds::Auto { max_time: asked.unwrap_or(default.max(least * 2)) }
}

/// Whether the time that was asked for has room for pilots that were not: a fifth of it is enough. The default grows by them.
pub(crate) fn has_room_for_pilots(asked: Option<Duration>, cases: usize) -> bool {
    asked.is_none_or(|asked| asked >= Rounds::LEAST_PILOT * 5 * cases as u32)
}

/// The windows that a time for rounds is cut into.
const WINDOWS: [Duration; 4] =
    [Duration::from_secs(8), Duration::from_secs(4), Duration::from_secs(2), Duration::from_secs(1)];

/// With so many rounds of two cases, a verdict is at most a quarter further off than with any number (t.975 of 5 degrees of freedom is
/// 2.57, of 2 it is 4.30).
const ENOUGH_ROUNDS: u32 = 6;

/// What a trial takes beside its load, about: launch, verification, drain, stop and its part in the reading of the reference server.
const BESIDE_LOAD: Duration = Duration::from_secs(2);

/// The longest window of which a time that was asked for has room for enough rounds of so many cases. An open part measures all of them
/// at one rate and all but the slowest at their own, in half of the time.
pub(crate) fn window_within(max_time: Duration, warm_up: Duration, cases: usize, open_part: bool) -> Duration {
    let time = if open_part { max_time / 2 } else { max_time };
    let loads = if open_part { 2 * cases - 1 } else { cases } as u32;
    // Many cases cannot have as many rounds; one more than a verdict takes may be lost to a slow start.
    let rounds = if cases <= 2 { ENOUGH_ROUNDS } else { LEAST_ROUNDS + 1 };
    let fits = |window: &Duration| {
        let round = (*window + warm_up + BESIDE_LOAD) * loads;
        let pilots = *window >= LEAST_PILOTED_WINDOW && has_room_for_pilots(Some(time), cases);
        let pilots = if pilots { Rounds::LEAST_PILOT * cases as u32 } else { Duration::ZERO };
        round * rounds <= time && round * LEAST_ROUNDS + pilots <= time
    };
    WINDOWS.into_iter().find(fits).unwrap_or(WINDOWS[WINDOWS.len() - 1])
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
        let closed = LeastTime { cases: 4, each: Duration::from_secs(10), pilots: false, open_part: false };
        let of = |cases| LeastTime { cases, ..closed };
        let with_pilots = |cases| LeastTime { pilots: true, ..of(cases) };
        let with_open_part = |cases| LeastTime { open_part: true, ..of(cases) };
        for (name, rounds, asked, needed, expected, mistakes) in [
            ("room enough", auto(600), None, of(4), auto(600), &[][..]),
            ("the default grows", auto(600), None, of(20), auto(1440), &[]),
            ("with pilots more", auto(600), None, with_pilots(20), auto(1760), &[]),
            ("what was asked for does not", auto(60), Some(60), of(4), auto(60), &["--max-time 1m"]),
            ("pilots count", auto(70), Some(70), with_pilots(2), auto(70), &["--max-time 1m10s"]),
            ("and may fit", auto(90), Some(90), with_pilots(2), auto(90), &[]),
            ("a number needs no time", Rounds::Fixed(3), None, with_pilots(100), Rounds::Fixed(3), &[]),
            ("an open part has as much", auto(600), None, with_open_part(4), auto(1200), &[]),
            ("both grow", auto(600), None, with_open_part(20), auto(5616), &[]),
            ("both take their time", auto(300), Some(300), with_open_part(4), auto(300), &["--max-time 5m"]),
        ] {
            let mut gathered = Gathered::default();
            let asked = asked.map(Duration::from_secs);
            let made = make_room(rounds, asked, needed, &mut gathered);
            assert_eq!((made, told(gathered)), (expected, mistakes.iter().map(|&m| m.to_owned()).collect()), "{name}");
        }
    }

    #[test]
    fn a_time_is_cut_into_windows_of_which_six_rounds_fit() {
        for (seconds, cases, open_part, window) in [
            (600, 2, false, 8),
            (132, 2, false, 8),
            (131, 2, false, 4),
            (84, 2, false, 4),
            (60, 2, false, 2),
            (48, 2, false, 1),
            (10, 2, false, 1),
            (300, 13, false, 2),
            (120, 5, false, 2),
            (140, 5, false, 4),
            (60, 5, false, 1),
            (600, 2, true, 8),
            (600, 7, true, 2),
            (600, 9, true, 1),
            (1500, 9, true, 8),
        ] {
            let found = window_within(Duration::from_secs(seconds), Duration::from_secs(1), cases, open_part);
            assert_eq!(
                found,
                Duration::from_secs(window),
                "{seconds} s, {cases} cases, with an open part: {open_part}"
            );
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
