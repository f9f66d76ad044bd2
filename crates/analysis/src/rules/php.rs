//! What the PHP that served said of itself, where that makes it slow.

use std::collections::BTreeMap;

use stampede_core::{Autoloader, Finding, PhpReadBack, Severity};

use super::{CPU_EACH, cpu_each, finding};
use crate::record::Record;

/// Extensions that look into every function call, and what they are for.
const SLOW: [(&str, &str); 7] = [
    ("xdebug", "a debugger"),
    ("pcov", "which measures test coverage"),
    ("uopz", "a tool for tests"),
    ("tideways", "a profiler"),
    ("tideways_xhprof", "a profiler"),
    ("xhprof", "a profiler"),
    ("blackfire", "a profiler"),
];

/// An extension that does nothing of what it could do.
const OFF: &str = "off";

/// Evidence that time stamps are looked at for each request, and not every few seconds.
const EACH_REQUEST: &str = "each_request";

/// Evidence of how many scripts the cache holds.
const SCRIPTS: &str = "cached_scripts";

/// What looking at the time stamp of a script takes, in microseconds: in six trials each, requests that needed the 600 scripts of
/// `make bench-findings` took 1.5 ms more of CPU with it than without on nginx with PHP-FPM 8.2, and 1.3 ms on Apache's module.
const STAT_US: f64 = 2.2;

/// From this share of a request's CPU time on it may be what limits its rate.
const FELT: f64 = 0.1;

/// Whether time stamps are looked at for each request, and so many that it is felt; an unknown number may be.
pub(super) fn validation_weighs(finding: &Finding) -> bool {
    let of = |name: &str| finding.evidence.get(name);
    let each = of(EACH_REQUEST).is_some_and(|each| *each > 0.0);
    each && of(SCRIPTS).zip(of(CPU_EACH)).is_none_or(|(scripts, cpu)| scripts * STAT_US >= FELT * cpu)
}

/// The opcode cache does not work, so that each request compiles its scripts.
pub(super) fn no_opcode_cache(record: &Record<'_>) -> Option<Finding> {
    let php = read_back(record).find(|php| !php.opcache)?;
    let missing = !php.extensions.contains_key("opcache");
    Some(finding(
        "opcache-off",
        Severity::Warning,
        format!(
            "The opcode cache is off in {}: every request compiles its scripts again, unless its worker keeps them.",
            php.sapi
        ),
        [("opcache_loaded", f64::from(u8::from(!missing)))],
        if missing {
            "Install and load the opcache extension.".to_owned()
        } else if php.sapi == "cli" {
            "Set opcache.enable=1 and opcache.enable_cli=1: this server runs under PHP's command line program."
                .to_owned()
        } else {
            "Set opcache.enable=1.".to_owned()
        },
    ))
}

/// The opcode cache has no room for all scripts.
pub(super) fn cache_full(record: &Record<'_>) -> Option<Finding> {
    let told = read_back(record).filter_map(|php| Some((php, php.cache.as_ref()?)));
    let (php, cache) = told.into_iter().find(|(_, cache)| cache.full || cache.restarts > 0)?;
    let setting = |name: &str| php.settings.get(name).map_or("unknown", String::as_str);
    Some(finding(
        "opcache-full",
        Severity::Warning,
        match cache.full {
            true => format!(
                "The opcode cache is full with {} scripts: the others are compiled again for every request.",
                cache.scripts
            ),
            false => format!(
                "The opcode cache was full and was emptied {} times: all scripts were compiled again each time.",
                cache.restarts
            ),
        },
        [(SCRIPTS, cache.scripts as f64), ("cache_restarts", cache.restarts as f64)],
        format!(
            "Raise opcache.max_accelerated_files (now {}) and opcache.memory_consumption (now {} MB).",
            setting("opcache.max_accelerated_files"),
            setting("opcache.memory_consumption"),
        ),
    ))
}

/// The application, or PHP, is set up for developers.
pub(super) fn dev_mode(record: &Record<'_>) -> Option<Finding> {
    let on = |value: &str| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "on" | "yes");
    let development = |name: &str, value: &str| match name {
        "APP_ENV" => matches!(value, "dev" | "development" | "local" | "test"),
        "APP_DEBUG" | "zend.assertions" => on(value),
        _ => false,
    };
    let said = read_back(record).find_map(|php| {
        let mut all = php.environment.iter().chain(&php.settings);
        all.find(|(name, value)| development(name, value)).map(|(name, value)| format!("{name}={value}"))
    })?;
    Some(Finding {
        id: "dev-mode".to_owned(),
        severity: Severity::Warning,
        text: format!(
            "It runs in development mode ({said}): frameworks then check files for changes and collect debugging data."
        ),
        evidence: BTreeMap::new(),
        advice: "Measure and deploy it with APP_ENV=prod (Laravel: production), APP_DEBUG=0 and zend.assertions=-1."
            .to_owned(),
    })
}

/// Composer's autoloader is that of a developer.
pub(super) fn autoloader(record: &Record<'_>) -> Option<Finding> {
    let Autoloader { developers, class_map } = read_back(record).find_map(|php| php.autoloader.as_ref())?;
    let text = match (*developers, class_map) {
        (0, true) => return None,
        (0, false) => "Composer's autoloader has no class map: it searches the disk for each class.".to_owned(),
        (1, _) => "Composer's autoloader has 1 package for development, whose files it may load as well.".to_owned(),
        (number, _) => {
            format!("Composer's autoloader has {number} packages for development, whose files it may load as well.")
        }
    };
    Some(Finding {
        id: "autoloader-for-development".to_owned(),
        severity: Severity::Warning,
        text,
        evidence: BTreeMap::from([
            ("development_packages".to_owned(), *developers as f64),
            ("class_map".to_owned(), f64::from(u8::from(*class_map))),
        ]),
        advice: "Run composer install --no-dev -o as in production, or have it done in the copies: \
                 prepare: [[composer, dump-autoload, --no-dev, -o]] in the plan ([[composer, install, --no-dev, -o]] for Laravel)."
            .to_owned(),
    })
}

/// The opcode cache asks the file system about each script again and again.
pub(super) fn timestamps(record: &Record<'_>) -> Option<Finding> {
    let is = |php: &PhpReadBack, name: &str, value| php.settings.get(name).is_some_and(|told| told == value);
    let php = read_back(record).find(|php| php.opcache && is(php, "opcache.validate_timestamps", "1"))?;
    let each = is(php, "opcache.revalidate_freq", "0");
    Some(finding(
        "opcache-validates",
        Severity::Info,
        match each {
            true => "The opcode cache checks the time stamp of every script for every request.",
            false => "The opcode cache checks time stamps of scripts while it serves.",
        }
        .to_owned(),
        [(EACH_REQUEST, f64::from(u8::from(each)))]
            .into_iter()
            .chain(php.cache.as_ref().map(|cache| (SCRIPTS, cache.scripts as f64)))
            .chain(cpu_each(record)),
        "In production set opcache.validate_timestamps=0, and restart or reset the cache when you deploy.",
    ))
}

/// An extension for development is loaded.
pub(super) fn slow_extension(record: &Record<'_>) -> Option<Finding> {
    let loaded = |php: &PhpReadBack| {
        let here = SLOW.into_iter().filter(|(extension, _)| php.extensions.contains_key(*extension));
        let state = here.map(|(extension, purpose)| (extension, purpose, mode(php, extension)));
        state.min_by_key(|(_, _, mode)| mode.as_deref() == Some(OFF))
    };
    let (name, purpose, mode) = read_back(record).find_map(loaded)?;
    let (severity, text) = match mode {
        Some(mode) if mode == OFF => {
            (Severity::Info, format!("The PHP extension {name}, {purpose}, is loaded and switched off."))
        }
        mode => {
            let mode = mode.map_or_else(String::new, |mode| format!(" (mode {mode})"));
            let text =
                format!("The PHP extension {name}, {purpose}, is loaded{mode}: it slows down every function call.");
            (Severity::Warning, text)
        }
    };
    Some(Finding {
        id: "slow-extension".to_owned(),
        severity,
        text,
        evidence: BTreeMap::new(),
        advice: format!("Unload {name} in production."),
    })
}

/// What the extension is to do, where it says so; [`OFF`] where that is nothing.
fn mode(php: &PhpReadBack, extension: &str) -> Option<String> {
    let setting = |name: &str| php.settings.get(name).cloned();
    match extension {
        // The variable takes precedence: <https://xdebug.org/docs/all_settings#mode>. PHP reads `off` in a file as nothing.
        "xdebug" => {
            let mode = php.environment.get("XDEBUG_MODE").filter(|mode| !mode.is_empty()).cloned();
            let mode = mode.or_else(|| setting("xdebug.mode"))?;
            Some(if mode.is_empty() { OFF.to_owned() } else { mode })
        }
        "pcov" => setting("pcov.enabled").filter(|value| value == "0" || value.is_empty()).map(|_| OFF.to_owned()),
        _ => None,
    }
}

/// Whether an extension does what it is there for.
pub(super) fn is_switched_on(finding: &Finding) -> bool {
    finding.severity == Severity::Warning
}

/// PHP was built for debugging.
pub(super) fn debug_build(record: &Record<'_>) -> Option<Finding> {
    read_back(record).find(|php| php.debug)?;
    Some(Finding {
        id: "php-debug-build".to_owned(),
        severity: Severity::Warning,
        text: "Its PHP is a debug build (--enable-debug), which checks memory all the time.".to_owned(),
        evidence: BTreeMap::new(),
        advice: "Measure and deploy a build without --enable-debug.".to_owned(),
    })
}

fn read_back<'a>(record: &Record<'a>) -> impl Iterator<Item = &'a PhpReadBack> {
    record.trials.iter().filter(|trial| trial.measurement.is_some()).filter_map(|trial| trial.php.as_ref())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::OpcodeCache;

    use super::*;
    use crate::rules::Rule;
    use crate::rules::tests::found;

    #[test]
    fn an_extension_that_is_switched_off_is_told_and_not_suspected() {
        let map =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let told = |extensions: &[(&str, &str)], settings: &[(&str, &str)], environment: &[(&str, &str)]| {
            let php = PhpReadBack {
                extensions: map(extensions),
                settings: map(settings),
                environment: map(environment),
                ..PhpReadBack::default()
            };
            let finding = found(slow_extension, |trial| trial.php = Some(php.clone())).unwrap();
            (is_switched_on(&finding), finding.text)
        };
        let slows = |what: &str| (true, format!("The PHP extension {what}: it slows down every function call."));
        let off = |what: &str| (false, format!("The PHP extension {what}, is loaded and switched off."));
        let xdebug = [("xdebug", "3.2.0")];
        assert_eq!(told(&xdebug, &[], &[]), slows("xdebug, a debugger, is loaded"));
        assert_eq!(
            told(&xdebug, &[("xdebug.mode", "develop")], &[]),
            slows("xdebug, a debugger, is loaded (mode develop)")
        );
        // PHP reads `xdebug.mode = off` as nothing.
        assert_eq!(told(&xdebug, &[("xdebug.mode", "")], &[]), off("xdebug, a debugger"));
        assert_eq!(told(&xdebug, &[("xdebug.mode", "develop")], &[("XDEBUG_MODE", "off")]), off("xdebug, a debugger"));
        let by_variable = told(&xdebug, &[("xdebug.mode", "")], &[("XDEBUG_MODE", "coverage")]);
        assert_eq!(by_variable, slows("xdebug, a debugger, is loaded (mode coverage)"));
        let pcov = "pcov, which measures test coverage";
        assert_eq!(told(&[("pcov", "1")], &[("pcov.enabled", "0")], &[]), off(pcov));
        assert_eq!(told(&[("pcov", "1")], &[("pcov.enabled", "1")], &[]), slows(&format!("{pcov}, is loaded")));
        let both = [("pcov", "1"), ("xdebug", "3.2.0")];
        let one_on = told(&both, &[("pcov.enabled", "1"), ("xdebug.mode", "")], &[]);
        assert_eq!(one_on, slows(&format!("{pcov}, is loaded")));
    }

    #[test]
    fn time_stamps_weigh_where_each_request_looks_at_many() {
        // 5,000 requests in a trial.
        for (name, freq, scripts, cpu_ms, weighty) in [
            ("many scripts", "0", Some(300), 5_000, true),
            ("few scripts", "0", Some(10), 5_000, false),
            ("nobody told how many", "0", None, 5_000, true),
            ("now and then", "2", Some(300), 5_000, false),
            ("requests that cost more", "0", Some(300), 50_000, false),
        ] {
            let finding = found(timestamps, |trial| {
                let set = [("opcache.validate_timestamps", "1"), ("opcache.revalidate_freq", freq)];
                trial.php = Some(PhpReadBack {
                    settings: set.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
                    opcache: true,
                    cache: scripts.map(|scripts| OpcodeCache { full: false, scripts, restarts: 0 }),
                    ..PhpReadBack::default()
                });
                let measurement = trial.measurement.as_mut().unwrap();
                measurement.resources.as_mut().unwrap().cpu = Duration::from_millis(cpu_ms);
            });
            assert_eq!(finding.as_ref().is_some_and(validation_weighs), weighty, "{name}: {finding:?}");
        }
    }

    #[test]
    fn what_slows_php_down_is_found() {
        let text = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let good = PhpReadBack {
            sapi: "fpm-fcgi".to_owned(),
            extensions: text("opcache", "8.2"),
            settings: text("opcache.validate_timestamps", "0"),
            opcache: true,
            ..PhpReadBack::default()
        };
        let off = PhpReadBack { opcache: false, ..good.clone() };
        let cache = |full, restarts| Some(OpcodeCache { full, scripts: 223, restarts });
        let loader = |developers, class_map| PhpReadBack {
            autoloader: Some(Autoloader { developers, class_map }),
            ..good.clone()
        };
        let rows: [(&str, Rule, PhpReadBack, Option<&str>); 20] = [
            ("room in the cache", cache_full, PhpReadBack { cache: cache(false, 0), ..good.clone() }, None),
            ("a full cache", cache_full, PhpReadBack { cache: cache(true, 0), ..good.clone() }, Some("(now unknown)")),
            ("an emptied cache", cache_full, PhpReadBack { cache: cache(false, 2), ..good.clone() }, Some("Raise")),
            ("production", dev_mode, PhpReadBack { environment: text("APP_ENV", "prod"), ..good.clone() }, None),
            (
                "development",
                dev_mode,
                PhpReadBack { environment: text("APP_ENV", "dev"), ..good.clone() },
                Some("prod"),
            ),
            (
                "debugging",
                dev_mode,
                PhpReadBack { environment: text("APP_DEBUG", "true"), ..good.clone() },
                Some("prod"),
            ),
            (
                "assertions",
                dev_mode,
                PhpReadBack { settings: text("zend.assertions", "1"), ..good.clone() },
                Some("prod"),
            ),
            ("cache on", no_opcode_cache, good.clone(), None),
            ("cache off", no_opcode_cache, off.clone(), Some("opcache.enable=1.")),
            (
                "off under the CLI",
                no_opcode_cache,
                PhpReadBack { sapi: "cli".to_owned(), ..off.clone() },
                Some("enable_cli"),
            ),
            ("no extension", no_opcode_cache, PhpReadBack { extensions: BTreeMap::new(), ..off }, Some("Install")),
            ("no time stamps", timestamps, good.clone(), None),
            (
                "time stamps",
                timestamps,
                PhpReadBack { settings: text("opcache.validate_timestamps", "1"), ..good.clone() },
                Some("restart"),
            ),
            ("no debugger", slow_extension, good.clone(), None),
            (
                "a debugger",
                slow_extension,
                PhpReadBack { extensions: text("xdebug", "3"), ..good.clone() },
                Some("xdebug"),
            ),
            (
                "a debugger that is off",
                slow_extension,
                PhpReadBack { extensions: text("xdebug", "3"), settings: text("xdebug.mode", ""), ..good.clone() },
                Some("xdebug"),
            ),
            ("production's autoloader", autoloader, loader(0, true), None),
            ("a developer's autoloader", autoloader, loader(2, true), Some("--no-dev -o")),
            ("no class map", autoloader, loader(0, false), Some("dump-autoload")),
            ("debug build", debug_build, PhpReadBack { debug: true, ..good }, Some("without --enable-debug")),
        ];
        for (name, rule, php, advice) in rows {
            let finding = found(rule, |trial| trial.php = Some(php.clone()));
            assert_eq!(finding.is_some(), advice.is_some(), "{name}: {finding:?}");
            assert!(finding.is_none_or(|finding| finding.advice.contains(advice.unwrap())), "{name}");
        }
    }
}
