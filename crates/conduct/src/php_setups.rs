//! Says what is taken of the configuration of PHP's owner, before anything is measured.

use std::collections::{BTreeMap, BTreeSet};

use stampede_core::{PhpBuild, PhpSetup};
use stampede_harness::Prepared;

/// Settings that a reader wants to see if the owner has set them: they limit, or change, what the application can do.
const SHOWN: [&str; 5] =
    ["memory_limit", "disable_functions", "auto_prepend_file", "session.save_handler", "max_execution_time"];

/// A line for each configuration with the cases that have it, and one for what differs between them.
pub(crate) fn lines(prepared: &[Prepared]) -> Vec<String> {
    let rows = prepared.iter().filter_map(|prepared| Some((prepared.case.id.as_str(), prepared.case.php.as_ref()?)));
    told(&rows.collect::<Vec<_>>())
}

fn told(rows: &[(&str, &PhpBuild)]) -> Vec<String> {
    let mut groups: Vec<(Vec<&str>, &PhpSetup)> = Vec::new();
    for (case, build) in rows {
        let Some(setup) = build.setup.as_deref().filter(|setup| !setup.source.is_empty()) else { continue };
        match groups.iter_mut().find(|(_, known)| *known == setup) {
            Some((cases, _)) => cases.push(case),
            None => groups.push((vec![case], setup)),
        }
    }
    let mut lines: Vec<String> = groups.iter().map(|(cases, setup)| line(cases, setup)).collect();
    lines.extend(difference(rows));
    lines
}

fn line(cases: &[&str], setup: &PhpSetup) -> String {
    let PhpSetup { source, modules, left_out, settings, not_taken: _ } = setup;
    let number = |count: usize, of: &str| format!("{count} {of}{}", if count == 1 { "" } else { "s" });
    let shown: Vec<String> =
        SHOWN.iter().filter_map(|name| Some(format!("{name} = {}", settings.get(*name)?))).collect();
    let shown = if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) };
    let mut line = format!(
        "PHP for {}: settings and extensions of {source} ({} and {}){shown}",
        cases.join(", "),
        number(modules.len(), "extension"),
        number(settings.len(), "setting"),
    );
    for (name, why) in left_out {
        line.push_str(&format!("; without {name} ({why})"));
    }
    line
}

/// What some have and others lack.
fn difference(rows: &[(&str, &PhpBuild)]) -> Option<String> {
    let sets: Vec<(&str, BTreeSet<&str>)> =
        rows.iter().filter_map(|(case, build)| Some((*case, build.comparable_extensions()?))).collect();
    let all: BTreeSet<&str> = sets.iter().flat_map(|(_, set)| set).copied().collect();
    let common: BTreeSet<&str> =
        all.iter().filter(|name| sets.iter().all(|(_, set)| set.contains(*name))).copied().collect();
    let mut by_names: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (case, set) in &sets {
        let [more, less]: [Vec<&str>; 2] =
            [set.difference(&common).copied().collect(), all.difference(set).copied().collect()];
        // What says it in fewer words.
        let names = match (more.len(), less.len()) {
            (0, 0) => continue,
            (_, 0) => "all".to_owned(),
            (0, _) => "none".to_owned(),
            (more_names, fewer_names) if more_names <= fewer_names => more.join(", "),
            _ => format!("all but {}", less.join(", ")),
        };
        by_names.entry(names).or_default().push(case);
    }
    let of: Vec<&str> = all.difference(&common).copied().collect();
    let told: Vec<String> =
        by_names.into_iter().map(|(names, cases)| format!("{}: {names}", cases.join(" and "))).collect();
    (!told.is_empty()).then(|| format!("extensions differ ({}). {}", of.join(", "), told.join("; ")))
}

#[cfg(test)]
mod tests {
    use stampede_core::PhpModule;

    use super::*;

    fn build(built_in: &[&str], source: &str, modules: &[&str]) -> PhpBuild {
        let modules = modules.iter().map(|name| PhpModule::named(name)).collect();
        PhpBuild {
            version: "8.2.29".to_owned(),
            thread_safe: false,
            debug: false,
            libc: String::new(),
            configure: String::new(),
            extension_dir: Default::default(),
            built_in: built_in.iter().map(|name| (*name).to_owned()).collect(),
            loadable: Vec::new(),
            setup: Some(Box::new(PhpSetup { source: source.to_owned(), modules, ..PhpSetup::default() })),
        }
    }

    #[test]
    fn each_configuration_is_told_once_and_what_differs() {
        let mut fpm = build(&["json", "cgi-fcgi"], "/etc/php/8.2/fpm", &["pdo", "intl"]);
        if let Some(setup) = &mut fpm.setup {
            setup.settings.insert("memory_limit".to_owned(), "256M".to_owned());
            setup.left_out.insert("xdebug".to_owned(), "a debugger".to_owned());
        }
        let cli = build(&["json", "pcntl"], "/etc/php/8.2/cli", &["pdo", "event", "intl"]);
        let swoole = build(&["json"], "/etc/php/8.2/cli", &["pdo", "swoole"]);
        let lines = told(&[("nginx-fpm", &fpm), ("apache-fpm", &fpm), ("workerman", &cli), ("swoole", &swoole)]);
        let expected = [
            "PHP for nginx-fpm, apache-fpm: settings and extensions of /etc/php/8.2/fpm (2 extensions and 1 setting) \
             (memory_limit = 256M); without xdebug (a debugger)",
            "PHP for workerman: settings and extensions of /etc/php/8.2/cli (3 extensions and 0 settings)",
            "PHP for swoole: settings and extensions of /etc/php/8.2/cli (2 extensions and 0 settings)",
            "extensions differ (event, intl). workerman: all; nginx-fpm and apache-fpm: intl; swoole: none",
        ];
        assert_eq!(lines, expected);
        assert_eq!(told(&[("a", &cli), ("b", &cli)]).len(), 1);
    }
}
