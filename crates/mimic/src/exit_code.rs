//! The exit codes of the tools, which scripts around them look at. Each was tried on hey 0.1.4, ab 2.3 and wrk 4.1; the table stands in
//! docs/other-tools.md.

use std::fmt;

use stampede_core::ErrorClass;
use stampede_plan::Mistakes;
use stampede_seam::LoadResult;

use crate::Tool;
use crate::figures::{answered, lost};

/// What ab ends with where its command line is wrong: `EINVAL`.
const INVALID: u8 = 22;

/// `ECONNREFUSED`, as Linux has it.
const REFUSED: u8 = 111;

/// `ECONNRESET`, as Linux has it.
const RESET: u8 = 104;

/// What is left of APR's 70007, `APR_TIMEUP`, in an exit code.
const TIME_IS_UP: u8 = 119;

/// What is left of APR's 670002, `EAI_NONAME`, in an exit code.
const NO_NAME: u8 = 50;

/// A command line that is not understood.
#[derive(Debug)]
pub struct Misuse {
    /// What is wrong with it.
    pub mistakes: Mistakes,
    /// What the tool would end with.
    pub exit_code: u8,
}

impl fmt::Display for Misuse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mistakes.fmt(out)
    }
}

impl Tool {
    /// What it ends with where something else keeps it from its load.
    pub const fn failure(self) -> u8 {
        1
    }

    /// What it ends with where its command line asks for what may not be.
    pub const fn refusal(self) -> u8 {
        match self {
            Self::Hey | Self::Wrk => 1,
            Self::Ab => INVALID,
        }
    }

    /// What it ends with where the URL's host has no address. hey goes on, and ends with 0 after so many failures.
    pub const fn unknown_host(self) -> u8 {
        match self {
            Self::Hey | Self::Wrk => 1,
            Self::Ab => NO_NAME,
        }
    }
}

/// hey's code for these mistakes: Go's package `flag` ends with 2 before hey looks at what was understood.
pub(crate) fn of_hey(mistakes: Mistakes, is_unreadable: bool) -> Misuse {
    Misuse { mistakes, exit_code: if is_unreadable { 2 } else { 1 } }
}

/// ab's code for these mistakes: it prints its usage and ends with 22, but for some that it words by themselves.
pub(crate) fn of_ab(mistakes: Mistakes) -> Misuse {
    const WORDED: [&str; 6] = ["-p ", "-u ", "-E ", "-Z ", "-n 0", "-i"];
    let is_worded = |place: &str| WORDED.iter().any(|begin| place.starts_with(begin)) || place == "-m";
    let exit_code = if mistakes.0.iter().all(|mistake| is_worded(&mistake.place)) { 1 } else { INVALID };
    Misuse { mistakes, exit_code }
}

/// ab's code for a load that is over. It ends with the first time-out; with other failures, unless it is told to go on.
pub(crate) fn after_ab(result: &LoadResult, goes_on: bool, interrupted: bool) -> u8 {
    let had = |wanted: ErrorClass| lost(result).any(|(class, count)| class == wanted && count > 0);
    if interrupted {
        1
    } else if had(ErrorClass::TimedOut) {
        TIME_IS_UP
    } else if goes_on {
        0
    } else if had(ErrorClass::Refused) {
        REFUSED
    } else if had(ErrorClass::Reset) {
        RESET
    } else if had(ErrorClass::Exhausted) || had(ErrorClass::Io) {
        result.first_failure.as_ref().and_then(|first| errno(&first.detail)).unwrap_or(1)
    } else {
        0
    }
}

/// wrk's code for a load that is over: before the load it sees whether anybody listens.
pub(crate) fn after_wrk(result: &LoadResult) -> u8 {
    let is_refused = |(class, count): (ErrorClass, u64)| class == ErrorClass::Refused || count == 0;
    let (any, all) = (lost(result).any(|(_, count)| count > 0), lost(result).all(is_refused));
    u8::from(answered(result) == 0 && any && all)
}

/// The number in what the kernel's errors read as: `(os error 99)`.
fn errno(words: &str) -> Option<u8> {
    let (_, number) = words.split_once("(os error ")?;
    number.split_once(')')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::CommandLine;
    use crate::sample::{SURROUNDINGS, bad, good, none};

    #[test]
    fn a_load_ends_as_with_the_tool() {
        for (tool, line, expected) in [
            (Tool::Hey, "u", [0, 0, 0, 0]),
            (Tool::Ab, "u", [0, 119, 111, 1]),
            (Tool::Ab, "-r u", [0, 119, 0, 1]),
            (Tool::Wrk, "u", [0, 0, 1, 0]),
        ] {
            let args: Vec<_> = line.replace('u', "http://h/").split(' ').map(str::to_owned).collect();
            let Ok(CommandLine::Run(_, layout)) = CommandLine::read(tool, &args, SURROUNDINGS) else {
                panic!("{tool:?} {line}")
            };
            let codes = [(good(), false), (bad(), false), (none(), false), (good(), true)]
                .map(|(result, interrupted)| layout.exit_code(&result, interrupted));
            assert_eq!(codes, expected, "{tool:?} {line}");
        }
    }

    #[test]
    fn ab_ends_with_the_kernels_number() {
        let mut result = good();
        for (class, expected) in [
            (ErrorClass::Reset, 104),
            (ErrorClass::ClosedEarly, 0),
            (ErrorClass::Tls, 0),
            (ErrorClass::WrongStatus, 0),
            (ErrorClass::Exhausted, 1),
        ] {
            result.total.errors = BTreeMap::from([(class, 3)]);
            assert_eq!(after_ab(&result, false, false), expected, "{class:?}");
            assert_eq!(after_ab(&result, true, false), 0, "{class:?}");
        }
        assert_eq!(errno("connect: Cannot assign requested address (os error 99)"), Some(99));
        assert_eq!(errno("connect: none"), None);
    }

    #[test]
    fn mistakes_end_as_with_the_tool() {
        for (tool, line, expected) in [
            (Tool::Hey, "", 1),
            (Tool::Hey, "-c 0 u", 1),
            (Tool::Hey, "-n 1 -c 3 u", 1),
            (Tool::Hey, "-Q u", 2),
            (Tool::Hey, "-n x u", 2),
            (Tool::Hey, "-z 5 u", 2),
            (Tool::Hey, "-T", 2),
            (Tool::Hey, "-H x u", 1),
            (Tool::Hey, "-D none u", 1),
            (Tool::Ab, "", 22),
            (Tool::Ab, "-n 0 u", 1),
            (Tool::Ab, "-n 1 -c 3 u", 22),
            (Tool::Ab, "-c 0 u", 22),
            (Tool::Ab, "-p none u", 1),
            (Tool::Ab, "-i -p body u", 1),
            (Tool::Ab, "-p none -Q u", 22),
            (Tool::Wrk, "", 1),
            (Tool::Wrk, "-Q u", 1),
            (Tool::Wrk, "-c 2x u", 1),
        ] {
            let args: Vec<_> = line.split_whitespace().map(|word| word.replace('u', "http://h/")).collect();
            let misuse = CommandLine::read(tool, &args, SURROUNDINGS).unwrap_err();
            assert_eq!(misuse.exit_code, expected, "{tool:?} {line}: {misuse}");
        }
    }
}
