//! The commands that a soak is made of.

/// A command of Stampede, on a workload of its own.
#[derive(Debug)]
pub(super) struct SoakCommand {
    pub(super) name: &'static str,
    /// What is run to its end first, for what asks about a study.
    pub(super) before: Option<&'static [&'static str]>,
    pub(super) line: &'static [&'static str],
    /// Whether it may be taken up with `--resume`.
    pub(super) can_resume: bool,
    /// Whether it tells of each trial in a line of its own.
    pub(super) tells_trials: bool,
    pub(super) needs_engine: bool,
}

const fn plain(name: &'static str, line: &'static [&'static str]) -> SoakCommand {
    SoakCommand { name, before: None, line, can_resume: true, tells_trials: true, needs_engine: false }
}

const COMPARE: &[&str] = &[
    "compare",
    "hello",
    "--runtimes",
    "nginx-fpm,php-cli-server",
    "--rounds",
    "3",
    "--duration",
    "1s",
    "--warm-up",
    "500ms",
];

/// All of them; short, so that an hour has hundreds.
pub(super) const COMMANDS: &[SoakCommand] = &[
    plain("compare", COMPARE),
    plain(
        "compare, in turns",
        &[
            "compare",
            "hello",
            "--runtimes",
            "nginx-fpm,php-cli-server",
            "--rounds",
            "3",
            "--duration",
            "2s",
            "--warm-up",
            "500ms",
            "--order",
            "turns",
        ],
    ),
    plain(
        "compare, with replicas and a database",
        &[
            "compare",
            "random-row",
            "--runtimes",
            "nginx-fpm",
            "--replicas",
            "2",
            "--balancer",
            "nginx",
            "--rounds",
            "2",
            "--duration",
            "1s",
            "--warm-up",
            "500ms",
        ],
    ),
    plain(
        "compare, then at 70 %",
        &[
            "compare",
            "hello",
            "--runtimes",
            "nginx-fpm,php-cli-server",
            "--rounds",
            "2",
            "--duration",
            "1s",
            "--warm-up",
            "500ms",
            "--at",
            "70%",
        ],
    ),
    SoakCommand {
        before: Some(COMPARE),
        tells_trials: false,
        ..plain("why", &["why", "--duration", "1s", "--rounds", "3"])
    },
    SoakCommand {
        tells_trials: false,
        ..plain("tune", &["tune", "nginx-fpm", "hello", "--budget", "60s", "--duration", "1s"])
    },
    SoakCommand {
        tells_trials: false,
        ..plain(
            "capacity",
            &["capacity", "nginx-fpm", "hello", "--slo", "p90<100ms", "--duration", "2s", "--warm-up", "500ms"],
        )
    },
    SoakCommand {
        tells_trials: false,
        ..plain(
            "scale",
            &["scale", "php-cli-server", "hello", "--max-instances", "3", "--load", "open:5..50/6s", "--rounds", "2"],
        )
    },
    SoakCommand {
        tells_trials: false,
        ..plain("reproduce", &["reproduce", "apache-to-nginx", "--scale", "0.01", "--rounds", "1"])
    },
    SoakCommand {
        needs_engine: true,
        ..plain(
            "compare, in containers",
            &[
                "compare",
                "hello",
                "--runtimes",
                "nginx-fpm,php-cli-server",
                "--rounds",
                "2",
                "--duration",
                "1s",
                "--warm-up",
                "500ms",
                "--platform",
                "docker",
            ],
        )
    },
];
