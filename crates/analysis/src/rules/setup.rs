//! What was taken of the configuration of PHP's owner, and what was not.

use std::collections::BTreeSet;

use stampede_core::{Case, Finding, PhpSetup, Severity, php_extension};

use super::finding;
use crate::record::Record;

/// The PHP of this case loads other extensions than that of some other case.
pub(super) fn extensions_differ(record: &Record<'_>) -> Option<Finding> {
    record.measurements().next()?;
    let own = loaded(record.case)?;
    let others: Vec<BTreeSet<&str>> = record.study.cases.iter().filter_map(loaded).collect();
    let more: BTreeSet<&str> =
        own.iter().filter(|name| others.iter().any(|other| !other.contains(*name))).copied().collect();
    let less: BTreeSet<&str> = others.iter().flatten().filter(|name| !own.contains(*name)).copied().collect();
    let listed = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
    let text = match (more.is_empty(), less.is_empty()) {
        (true, true) => return None,
        (false, true) => format!("Its PHP has extensions that some other cases lack: {}.", listed(&more)),
        (true, false) => format!("Its PHP lacks extensions that some other cases have: {}.", listed(&less)),
        (false, false) => {
            format!("Extensions differ: its PHP has {}; some other cases have {}.", listed(&more), listed(&less))
        }
    };
    Some(finding(
        "php-extensions-differ",
        Severity::Info,
        text,
        [("more", more.len() as f64), ("fewer", less.len() as f64)],
        "Enable the same extensions for all server interfaces (phpenmod), or set extensions: minimal.",
    ))
}

/// The extensions of a case that is set up as its owner has it.
fn loaded(case: &Case) -> Option<BTreeSet<&str>> {
    case.php.as_ref()?.comparable_extensions()
}

/// Its owner has extensions enabled that watch the application.
pub(super) fn left_out(record: &Record<'_>) -> Option<Finding> {
    record.measurements().next()?;
    let setup = setup(record)?;
    let watching: Vec<String> =
        setup.left_out.keys().filter_map(|name| Some(format!("{name}, {}", php_extension::watches(name)?))).collect();
    (!watching.is_empty()).then(|| {
        finding(
            "watched-in-production",
            Severity::Info,
            format!(
                "{} enables {}: here it is measured without, so it is faster here than there.",
                setup.source,
                watching.join("; ")
            ),
            [("left_out", watching.len() as f64)],
            "Disable it in production (phpdismod NAME), or name it under extensions to measure with it.",
        )
    })
}

/// Its owner has other settings that decide how fast PHP is.
pub(super) fn other_speed(record: &Record<'_>) -> Option<Finding> {
    let setup = setup(record)?;
    let php = record.trials.iter().filter(|trial| trial.measurement.is_some()).find_map(|trial| trial.php.as_ref())?;
    let differing: Vec<String> = setup
        .not_taken
        .iter()
        .filter_map(|(name, owners)| {
            let here = php.settings.get(name)?;
            (normal(owners) != normal(here)).then(|| format!("{name} {} (here {})", shown(owners), shown(here)))
        })
        .collect();
    (!differing.is_empty()).then(|| {
        finding(
            "php-speed-settings",
            Severity::Info,
            format!("{} has other settings that affect PHP's speed: {}.", setup.source, differing.join(", ")),
            [("settings", differing.len() as f64)],
            "To measure with them, write them under ini in the plan.",
        )
    })
}

fn setup<'a>(record: &Record<'a>) -> Option<&'a PhpSetup> {
    record.case.php.as_ref()?.setup.as_deref()
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "empty" } else { value }
}

/// A value as it is compared: `php.ini` has words for switches, and sizes with units.
fn normal(value: &str) -> String {
    let value = value.trim_matches(['"', '\'']).to_lowercase();
    let units = [("k", 1_u64 << 10), ("m", 1 << 20), ("g", 1 << 30)];
    let size = units.iter().find_map(|(unit, size)| Some(value.strip_suffix(unit)?.parse::<u64>().ok()? * size));
    match value.as_str() {
        "on" | "yes" | "true" => "1".to_owned(),
        "off" | "no" | "false" | "none" | "disable" | "" => "0".to_owned(),
        _ => size.map_or(value, |size| size.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use stampede_core::{PhpBuild, PhpModule, PhpReadBack, Study};

    use super::*;
    use crate::samples;

    fn build(built_in: &[&str], modules: &[&str], setup: PhpSetup) -> PhpBuild {
        let modules = modules.iter().map(|name| PhpModule::named(name)).collect();
        PhpBuild {
            version: "8.2.29".to_owned(),
            thread_safe: false,
            debug: false,
            libc: String::new(),
            configure: String::new(),
            extension_dir: PathBuf::new(),
            built_in: built_in.iter().map(|name| (*name).to_owned()).collect(),
            loadable: Vec::new(),
            setup: Some(Box::new(PhpSetup { modules, source: "/etc/php/8.2/fpm".to_owned(), ..setup })),
        }
    }

    #[test]
    fn other_extensions_are_told() {
        for (name, fpm, cli, told) in [
            ("the same", &["intl", "pdo"][..], &["pdo", "intl"][..], [None, None]),
            ("more there", &["intl"], &["intl", "event"], [Some("lack: event"), Some("lack: event")]),
            ("both", &["gd"], &["event"], [Some("has gd; some other cases have event"), Some("has event;")]),
        ] {
            let mut study: Study = samples::study(&["a", "b", "go"]);
            study.cases[0].php = Some(build(&["json", "cgi-fcgi"], fpm, PhpSetup::default()));
            study.cases[1].php = Some(build(&["json", "pcntl"], cli, PhpSetup::default()));
            let trials = ["a", "b", "go"].map(|case| samples::measured(case, 1, 1_000.0));
            for (case, told) in told.into_iter().enumerate() {
                let found = extensions_differ(&Record::new(&study, &study.cases[case], &trials));
                match told {
                    Some(told) => {
                        let text = found
                            .unwrap_or_else(|| panic!("{name}"))
                            .text
                            .replace("lacks extensions that some other cases have", "lack");
                        let text = text.replace("has extensions that some other cases lack", "lack");
                        assert!(text.contains(told), "{name}: {text}");
                    }
                    None => assert_eq!(found, None, "{name}"),
                }
            }
        }
    }

    #[test]
    fn what_is_otherwise_in_production_is_told() {
        let texts = |rows: &[(&str, &str)]| -> BTreeMap<String, String> {
            rows.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let setup = PhpSetup {
            left_out: texts(&[("xdebug", "a debugger"), ("swoole", "a server of its own")]),
            not_taken: texts(&[
                ("opcache.memory_consumption", "256"),
                ("opcache.jit", "off"),
                ("realpath_cache_size", "4M"),
                ("open_basedir", "/var/www"),
            ]),
            ..PhpSetup::default()
        };
        let mut study = samples::study(&["a"]);
        study.cases[0].php = Some(build(&[], &[], setup));
        let mut trial = samples::measured("a", 1, 1_000.0);
        let settings = texts(&[
            ("opcache.memory_consumption", "128"),
            ("opcache.jit", "disable"),
            ("realpath_cache_size", "4096K"),
        ]);
        trial.php = Some(PhpReadBack { settings, ..PhpReadBack::default() });
        let trials = [trial];
        let record = Record::new(&study, &study.cases[0], &trials);
        let watched = left_out(&record).unwrap().text;
        assert!(
            watched.starts_with("/etc/php/8.2/fpm enables xdebug, a debugger: here it is measured without"),
            "{watched}"
        );
        let speed = other_speed(&record).unwrap().text;
        assert!(speed.ends_with("speed: opcache.memory_consumption 256 (here 128)."), "{speed}");
    }
}
