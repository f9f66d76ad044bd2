//! Says what is taken of the configuration of PHP's owner, before anything is measured.

use std::collections::{BTreeMap, BTreeSet};

use stampede_core::{PhpSetup, php_extension};
use stampede_harness::Prepared;

/// Settings that a reader wants to see if the owner has set them: they limit, or change, what the application can do.
const SHOWN: [&str; 5] =
    ["memory_limit", "disable_functions", "auto_prepend_file", "session.save_handler", "max_execution_time"];

/// A line for each configuration with the cases that have it, and one for what differs between them.
pub(crate) fn lines(prepared: &[Prepared]) -> Vec<String> {
    let rows = prepared.iter().filter_map(|prepared| {
        let setup = prepared.case.php.as_ref()?.setup.as_deref().filter(|setup| !setup.source.is_empty())?;
        Some((prepared.case.id.to_string(), setup))
    });
    told(&rows.collect::<Vec<_>>())
}

fn told(rows: &[(String, &PhpSetup)]) -> Vec<String> {
    let mut groups: Vec<(Vec<&str>, &PhpSetup)> = Vec::new();
    for (case, setup) in rows {
        match groups.iter_mut().find(|(_, known)| known == setup) {
            Some((cases, _)) => cases.push(case),
            None => groups.push((vec![case], setup)),
        }
    }
    let mut lines: Vec<String> = groups.iter().map(|(cases, setup)| line(cases, setup)).collect();
    lines.extend(difference(&groups));
    lines
}

fn line(cases: &[&str], setup: &PhpSetup) -> String {
    let PhpSetup { source, modules, left_out, settings, not_taken: _ } = setup;
    let number = |count: usize, of: &str| format!("{count} {of}{}", if count == 1 { "" } else { "s" });
    let shown: Vec<String> =
        SHOWN.iter().filter_map(|name| Some(format!("{name} = {}", settings.get(*name)?))).collect();
    let shown = if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) };
    let mut line = format!(
        "PHP for {}, as in {source}: {} and {}{shown}",
        cases.join(", "),
        number(modules.len(), "loaded extension"),
        number(settings.len(), "setting"),
    );
    for (name, why) in left_out {
        line.push_str(&format!("; without {name} ({why})"));
    }
    line
}

/// What some have and others lack.
fn difference(groups: &[(Vec<&str>, &PhpSetup)]) -> Option<String> {
    let names = |setup: &PhpSetup| -> BTreeSet<String> {
        let all = setup.modules.iter().map(|module| module.name.clone());
        all.filter(|name| !php_extension::is_server(name)).collect()
    };
    let sets: Vec<BTreeSet<String>> = groups.iter().map(|(_, setup)| names(setup)).collect();
    let common: BTreeSet<&String> =
        sets.first()?.iter().filter(|name| sets.iter().all(|set| set.contains(*name))).collect();
    let mut by_names: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for ((cases, _), set) in groups.iter().zip(&sets) {
        let own: Vec<&str> = set.iter().filter(|name| !common.contains(name)).map(String::as_str).collect();
        if !own.is_empty() {
            by_names.entry(own.join(", ")).or_default().extend(cases);
        }
    }
    let told: Vec<String> =
        by_names.into_iter().map(|(names, cases)| format!("{} with {names}", cases.join(", "))).collect();
    (!told.is_empty()).then(|| format!("extensions differ: {}", told.join("; ")))
}

#[cfg(test)]
mod tests {
    use stampede_core::PhpModule;

    use super::*;

    fn setup(source: &str, modules: &[&str]) -> PhpSetup {
        let modules = modules.iter().map(|name| PhpModule::named(name)).collect();
        PhpSetup { source: source.to_owned(), modules, ..PhpSetup::default() }
    }

    #[test]
    fn each_configuration_is_told_once_and_what_differs() {
        let mut fpm = setup("/etc/php/8.2/fpm", &["pdo", "intl"]);
        fpm.settings.insert("memory_limit".to_owned(), "256M".to_owned());
        fpm.left_out.insert("xdebug".to_owned(), "a debugger: it would be measured with the application".to_owned());
        let cli = setup("/etc/php/8.2/cli", &["pdo", "event"]);
        let swoole = setup("/etc/php/8.2/cli", &["pdo", "swoole"]);
        let rows = [("nginx-fpm", &fpm), ("apache-fpm", &fpm), ("workerman", &cli), ("swoole", &swoole)];
        let lines = told(&rows.map(|(name, setup)| (name.to_owned(), setup)));
        let expected = [
            "PHP for nginx-fpm, apache-fpm, as in /etc/php/8.2/fpm: 2 loaded extensions and 1 setting (memory_limit = 256M); \
             without xdebug (a debugger: it would be measured with the application)",
            "PHP for workerman, as in /etc/php/8.2/cli: 2 loaded extensions and 0 settings",
            "PHP for swoole, as in /etc/php/8.2/cli: 2 loaded extensions and 0 settings",
            "extensions differ: workerman with event; nginx-fpm, apache-fpm with intl",
        ];
        assert_eq!(lines, expected);
        assert_eq!(told(&[("a".to_owned(), &cli), ("b".to_owned(), &cli)]).len(), 1);
    }
}
