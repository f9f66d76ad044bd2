//! The settings of PHP-FPM's process manager: which there are in each mode, their defaults, and which contradict each
//! other. <https://www.php.net/manual/en/install.fpm.configuration.php>

use stampede_core::{DefaultsContext, Documented, Role, Tunable, Tuning, TuningProblem};

use crate::pool;

const MOST_CHILDREN: u64 = 10_000;

/// The tunables, in the order of the manual.
pub(crate) const TUNABLES: [Tunable; 9] = [
    Tunable::choice("listen", Role::Transport, &["unix", "tcp"])
        .does("whether the web server reaches the pool over a unix socket or a TCP port")
        .manual("https://www.php.net/manual/en/install.fpm.configuration.php#listen"),
    Tunable::count("listen.backlog", Role::Backlog, 1, 65_535)
        .does("requests that the kernel queues for the pool; beyond it the web server answers 502 or 503")
        .manual("https://www.php.net/manual/en/install.fpm.configuration.php#listen-backlog"),
    Tunable::choice("pm", Role::PoolMode, &["static", "dynamic", "ondemand"])
        .does("whether workers are there from the start, kept in reserve, or started when needed")
        .manual("https://www.php.net/manual/en/install.fpm.configuration.php#pm"),
    Tunable::count("pm.max_children", Role::PoolSize, 1, MOST_CHILDREN)
        .does("the most requests that are worked on at once")
        .manual("https://www.php.net/manual/en/install.fpm.configuration.php#pm.max-children"),
    Tunable::count("pm.start_servers", Role::PoolSpare, 1, MOST_CHILDREN)
        .does("workers at the start (dynamic)")
        .manual("https://www.php.net/manual/en/install.fpm.configuration.php#pm.start-servers"),
    Tunable::count("pm.min_spare_servers", Role::PoolSpare, 1, MOST_CHILDREN)
        .does("idle workers below which more are started (dynamic)")
        .manual("https://www.php.net/manual/en/install.fpm.configuration.php#pm.min-spare-servers"),
    Tunable::count("pm.max_spare_servers", Role::PoolSpare, 1, MOST_CHILDREN)
        .does("idle workers above which some are ended (dynamic)")
        .manual("https://www.php.net/manual/en/install.fpm.configuration.php#pm.max-spare-servers"),
    Tunable::count("pm.process_idle_timeout", Role::PoolMode, 1, 86_400)
        .does("seconds after which an idle worker is ended (ondemand)")
        .manual("https://www.php.net/manual/en/install.fpm.configuration.php#pm.process-idle-timeout"),
    Tunable::count("pm.max_requests", Role::Recycle, 0, 1_000_000_000)
        .does("requests after which a worker is replaced, 0 for never")
        .manual("https://www.php.net/manual/en/install.fpm.configuration.php#pm.max-requests"),
];

/// A web server's own tunables before those of the pool behind it.
pub(crate) const fn behind<const N: usize>(front: &[Tunable]) -> [Tunable; N] {
    let mut all = [TUNABLES[0]; N];
    let mut row = 0;
    while row < N {
        all[row] = if row < front.len() { front[row] } else { TUNABLES[row - front.len()] };
        row += 1;
    }
    all
}

const DYNAMIC: [&str; 3] = ["pm.start_servers", "pm.min_spare_servers", "pm.max_spare_servers"];
const ON_DEMAND: [&str; 1] = ["pm.process_idle_timeout"];

/// The settings that a mode has beside those of every mode.
pub(crate) fn settings_of(mode: &str) -> &'static [&'static str] {
    match mode {
        "dynamic" => &DYNAMIC,
        "ondemand" => &ON_DEMAND,
        _ => &[],
    }
}

/// The mode of a tuning; `static` where it names none.
fn mode(tuning: &Tuning) -> &str {
    tuning.get("pm").unwrap_or("static")
}

/// Defaults for every setting that the given mode has.
pub(crate) fn defaults(cx: &DefaultsContext<'_>) -> Tuning {
    let pool = pool::for_cores(cx.limits, cx.load);
    let backlog = u64::from(cx.load.connections()).max(511);
    let common = Tuning::new()
        .with_default("listen", "unix", "on one machine a unix socket is cheaper than TCP")
        .with_default(
            "listen.backlog",
            backlog,
            "PHP's default, or the number of connections if that is larger, so that none is refused",
        )
        .with_default("pm", "static", "no worker starts or stops while measuring")
        .with_default("pm.max_children", pool.workers, pool.reason)
        .with_default("pm.max_requests", 0, "workers are not replaced while measuring");
    let children = cx.given.count("pm.max_children").unwrap_or(pool.workers).max(1);
    match mode(cx.given) {
        "dynamic" => with_spare(common, children, cx.given),
        "ondemand" => common.with_default("pm.process_idle_timeout", 10, "PHP's own default"),
        _ => common,
    }
}

/// The pool that PHP comes with, which most installations never change.
pub(crate) fn documented() -> Documented {
    let mut settings = Tuning::new();
    for (name, value) in [
        ("pm", "dynamic"),
        ("pm.max_children", "5"),
        ("pm.start_servers", "2"),
        ("pm.min_spare_servers", "1"),
        ("pm.max_spare_servers", "3"),
    ] {
        settings.give(name, value);
    }
    Documented { settings, source: "https://github.com/php/php-src/blob/master/sapi/fpm/www.conf.in" }
}

/// Spare workers that fit to the number of children, around those that are given.
fn with_spare(tuning: Tuning, children: u64, given: &Tuning) -> Tuning {
    let most = given.count("pm.max_spare_servers");
    let least =
        given.count("pm.min_spare_servers").unwrap_or_else(|| (children / 4).clamp(1, most.unwrap_or(children).max(1)));
    let most = most.unwrap_or_else(|| (children / 2).max(least));
    tuning
        .with_default(
            "pm.start_servers",
            least + most.saturating_sub(least) / 2,
            "PHP's own default: half way between the fewest and the most spare workers",
        )
        .with_default("pm.min_spare_servers", least, "a quarter of pm.max_children")
        .with_default("pm.max_spare_servers", most, "half of pm.max_children")
}

/// What PHP-FPM would refuse, and settings that the mode does not have.
pub(crate) fn problems(tuning: &Tuning) -> Vec<TuningProblem> {
    let mode = mode(tuning);
    let mut problems = Vec::new();
    for (modes_name, settings) in [("dynamic", &DYNAMIC[..]), ("ondemand", &ON_DEMAND[..])] {
        if modes_name == mode {
            continue;
        }
        for name in settings.iter().filter(|name| tuning.get(name).is_some()) {
            let fix = format!("leave it out, or set pm = {modes_name}");
            problems.push(TuningProblem::new(name, format!("pm = {mode} does not have {name}"), fix));
        }
    }
    if mode == "dynamic" {
        problems.extend(contradictions(tuning));
    }
    problems
}

/// The order that PHP-FPM demands: min_spare <= start <= max_spare <= max_children.
fn contradictions(tuning: &Tuning) -> Vec<TuningProblem> {
    const ORDER: [(&str, &str); 4] = [
        ("pm.min_spare_servers", "pm.max_spare_servers"),
        ("pm.min_spare_servers", "pm.start_servers"),
        ("pm.start_servers", "pm.max_spare_servers"),
        ("pm.max_spare_servers", "pm.max_children"),
    ];
    ORDER.iter().filter_map(|(smaller, larger)| pool::out_of_order(tuning, smaller, "more than", larger)).collect()
}

#[cfg(test)]
mod tests {
    use stampede_core::{App, AppKind, Bytes, Cpus, Limits, Load};

    use super::*;

    fn tuning(settings: &[(&str, &str)]) -> Tuning {
        let mut tuning = Tuning::new();
        for (name, value) in settings {
            tuning.give(name, value);
        }
        tuning
    }

    fn defaults_under(given: &[(&str, &str)], cpus: u32) -> Tuning {
        defaults(&DefaultsContext {
            app: &App { source: "app".into(), ..App::new("plain", AppKind::GoProgram) },
            limits: &Limits { cpus: Cpus::from_millis(cpus), memory: Bytes::from_mib(1024) },
            load: &Load::Closed { connections: 64 },
            given: &tuning(given),
        })
    }

    #[test]
    fn each_mode_gets_its_own_settings_and_no_others() {
        let names = |given: &[(&str, &str)]| -> Vec<String> {
            defaults_under(given, 1000).iter().map(|(name, _)| name.to_owned()).collect()
        };
        let common = ["listen", "listen.backlog", "pm", "pm.max_children", "pm.max_requests"];
        assert_eq!(names(&[]), common);
        assert_eq!(
            names(&[("pm", "ondemand")]),
            ["listen", "listen.backlog", "pm", "pm.max_children", "pm.max_requests", "pm.process_idle_timeout"]
        );
        assert_eq!(
            names(&[("pm", "dynamic")]),
            [
                "listen",
                "listen.backlog",
                "pm",
                "pm.max_children",
                "pm.max_requests",
                "pm.max_spare_servers",
                "pm.min_spare_servers",
                "pm.start_servers"
            ]
        );
    }

    #[test]
    fn defaults_of_a_dynamic_pool_never_contradict_what_is_given() {
        for given in [
            vec![],
            vec![("pm.max_children", "1")],
            vec![("pm.max_children", "3")],
            vec![("pm.max_children", "25")],
            vec![("pm.min_spare_servers", "3")],
            vec![("pm.max_spare_servers", "1")],
            vec![("pm.max_children", "40"), ("pm.max_spare_servers", "2")],
            vec![("pm.max_children", "40"), ("pm.min_spare_servers", "40")],
            vec![("pm.min_spare_servers", "2"), ("pm.max_spare_servers", "4")],
        ] {
            let mut given = given;
            given.push(("pm", "dynamic"));
            for cpus in [100, 1000, 4000] {
                let all = defaults_under(&given, cpus).overlaid_with(&tuning(&given));
                assert_eq!(problems(&all), [], "{given:?} at {cpus}m: {all:?}");
            }
        }
    }

    #[test]
    fn what_fpm_would_refuse_is_named() {
        for (settings, tunable) in [
            (vec![("pm.max_spare_servers", "3")], "pm.max_spare_servers"),
            (vec![("pm", "ondemand"), ("pm.start_servers", "3")], "pm.start_servers"),
            (vec![("pm", "dynamic"), ("pm.process_idle_timeout", "3")], "pm.process_idle_timeout"),
            (
                vec![("pm", "dynamic"), ("pm.min_spare_servers", "5"), ("pm.max_spare_servers", "4")],
                "pm.min_spare_servers",
            ),
            (vec![("pm", "dynamic"), ("pm.start_servers", "1"), ("pm.min_spare_servers", "2")], "pm.min_spare_servers"),
            (vec![("pm", "dynamic"), ("pm.start_servers", "9"), ("pm.max_spare_servers", "8")], "pm.start_servers"),
            (vec![("pm", "dynamic"), ("pm.max_spare_servers", "9"), ("pm.max_children", "8")], "pm.max_spare_servers"),
        ] {
            let found: Vec<String> = problems(&tuning(&settings)).into_iter().map(|problem| problem.tunable).collect();
            assert_eq!(found, [tunable], "{settings:?}");
        }
    }
}
