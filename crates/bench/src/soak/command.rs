//! The commands that a soak is made of.

/// A command of Stampede, on a workload of its own.
#[derive(Debug)]
pub(super) struct SoakCommand {
    pub(super) name: &'static str,
    /// What is run to its end first, for what asks about a study.
    pub(super) before: Option<&'static str>,
    /// What follows the program's name, in words between blanks.
    pub(super) line: &'static str,
    /// Whether it tells of each trial in a line of its own.
    pub(super) tells_trials: bool,
    pub(super) needs_engine: bool,
}

const fn telling(name: &'static str, line: &'static str) -> SoakCommand {
    SoakCommand { name, before: None, line, tells_trials: true, needs_engine: false }
}

const fn silent(name: &'static str, line: &'static str) -> SoakCommand {
    SoakCommand { tells_trials: false, ..telling(name, line) }
}

const COMPARE: &str = "compare hello --runtimes nginx-fpm,php-cli-server --rounds 3 --duration 1s --warm-up 500ms";

/// All of them, each of which may be taken up with `--resume`. They are short, so that an hour has hundreds, but for one, which shows
/// what a long study gathers.
pub(super) const COMMANDS: &[SoakCommand] = &[
    telling("compare", COMPARE),
    telling(
        "compare, in turns",
        "compare hello --runtimes nginx-fpm,php-cli-server --rounds 3 --duration 2s --warm-up 500ms --order turns",
    ),
    telling(
        "compare, with replicas and a database",
        "compare random-row --runtimes nginx-fpm --replicas 2 --balancer nginx --rounds 2 --duration 1s --warm-up 500ms",
    ),
    telling(
        "compare, then at 70 %",
        "compare hello --runtimes nginx-fpm,php-cli-server --rounds 2 --duration 1s --warm-up 500ms --at 70%",
    ),
    telling(
        "compare, of 40 rounds",
        "compare hello --runtimes nginx-fpm,php-cli-server --rounds 40 --duration 1s --warm-up 100ms",
    ),
    SoakCommand { before: Some(COMPARE), ..silent("why", "why --duration 1s --rounds 3") },
    silent("tune", "tune nginx-fpm hello --budget 60s --duration 1s"),
    silent("capacity", "capacity nginx-fpm hello --slo p90<100ms --duration 2s --warm-up 500ms"),
    silent("scale", "scale php-cli-server hello --max-instances 3 --load open:5..50/6s --rounds 2"),
    silent("reproduce", "reproduce apache-to-nginx --scale 0.01 --rounds 1"),
    SoakCommand {
        needs_engine: true,
        ..telling(
            "compare, in containers",
            "compare hello --runtimes nginx-fpm,php-cli-server --rounds 2 --duration 1s --warm-up 500ms --platform docker",
        )
    },
];
