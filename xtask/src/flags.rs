//! Flags: each long name is declared once, in a group that every command with that flag flattens.
//!
//! It reads attributes and no syntax tree: `#[arg(..)]` with `long`, and the field below it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::files;

/// Where command lines are declared.
const CRATES: [&str; 2] = ["crates/plan/src", "crates/stampede/src"];

/// Flags that share no more than their name with those of other commands, and the file of the command that they belong to.
const OWN: [(&str, &[&str]); 14] = [
    ("crates/plan/src/ladder.rs", &["against"]),
    ("crates/stampede/src/init/args.rs", &["force"]),
    ("crates/stampede/src/doctor/args.rs", &["json"]),
    ("crates/stampede/src/export/args.rs", &["case", "image", "listen", "output", "study"]),
    (
        // A simulation: of many values at once, and with times of its own.
        "crates/plan/src/forecast.rs",
        &["client-rtt", "cpus", "duration", "load", "memory", "rounds", "seed", "warm-up"],
    ),
    // With a report of its own.
    ("crates/stampede/src/forecast/args.rs", &["html", "json", "markdown"]),
    // Of processes that run, and not of a load.
    ("crates/stampede/src/inside/args.rs", &["duration", "rate"]),
    // Reports on a change.
    ("crates/stampede/src/gate/args.rs", &["csv", "html", "markdown"]),
    (
        // The load engine alone, which serves nothing and has short names for many.
        "crates/plan/src/load.rs",
        &["duration", "feeder", "load", "no-keepalive", "seed"],
    ),
    // What is cleaned.
    ("crates/stampede/src/kubernetes/args.rs", &["platform"]),
    ("crates/stampede/src/load/args.rs", &["json"]),
    ("crates/stampede/src/report/args.rs", &["output"]),
    ("crates/plan/src/scale.rs", &["against"]),
    // Many values at once, and limits for each.
    ("crates/plan/src/size.rs", &["replicas"]),
];

pub(crate) fn check(root: &Path) -> Vec<String> {
    let sources = files::tracked(root).into_iter().filter(|file| {
        CRATES.iter().any(|folder| file.starts_with(folder)) && file.extension().is_some_and(|ending| ending == "rs")
    });
    let declared = sources.flat_map(|file| {
        let text = fs::read_to_string(root.join(&file)).unwrap_or_default();
        declared(&text).into_iter().map(|name| (file.display().to_string(), name)).collect::<Vec<_>>()
    });
    problems(&declared.collect::<Vec<_>>(), &OWN)
}

/// What is wrong with flags, each with the file that declares it.
fn problems(declared: &[(String, String)], own: &[(&str, &[&str])]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut unseen: BTreeSet<(&str, &str)> =
        own.iter().flat_map(|(file, names)| names.iter().map(|name| (*file, *name))).collect();
    for (file, name) in declared {
        if !unseen.remove(&(file, name)) {
            files.entry(name).or_default().push(file);
        }
    }
    for (name, files) in files.iter().filter(|(_, files)| files.len() > 1) {
        problems.push(format!(
            "--{name} is declared in {}: declare it in a group, and flatten that into each command",
            files.join(" and ")
        ));
    }
    problems.extend(
        unseen
            .into_iter()
            .map(|(file, name)| format!("{file} declares no --{name} any more: take it out of xtask/src/flags.rs")),
    );
    problems
}

/// The long names that a file declares.
fn declared(text: &str) -> Vec<String> {
    text.split("#[arg(").skip(1).filter_map(long).collect()
}

/// The long name that the attribute says whose arguments these are, with what follows it; none where it has none.
fn long(from: &str) -> Option<String> {
    let (arguments, field) = from.split_once(")]\n")?;
    let mut long = arguments.split(',').map(str::trim).filter(|argument| {
        let (name, _) = argument.split_once('=').unwrap_or((argument, ""));
        name.trim() == "long"
    });
    match long.next()?.split_once('=') {
        Some((_, name)) => Some(name.trim().trim_matches('"').to_owned()),
        None => Some(field.split_once(": ")?.0.rsplit(char::is_whitespace).next()?.replace('_', "-")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"
pub struct SeedFlag {
    /// Seed: the same one, the same order
    #[arg(long, value_name = "N", help_heading = "Study")]
    pub seed: Option<String>,
}
pub(crate) struct Args {
    #[arg(value_name = "DIR")]
    pub(crate) subject: String,
    #[arg(long = "feeder", value_name = "NAME=FILE")]
    pub(crate) feeders: Vec<String>,
    #[arg(
        long,
        short = 'n',
    )]
    pub(crate) max_time: Option<String>,
}
"#;

    #[test]
    fn flags_are_called_as_they_say_or_after_their_field() {
        assert_eq!(declared(PLAN), ["seed", "feeder", "max-time"]);
    }

    #[test]
    fn a_flag_is_declared_once_outside_of_commands_with_one_of_their_own() {
        let declared = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            all.iter().map(|(file, name)| ((*file).to_owned(), (*name).to_owned())).collect()
        };
        let own: &[(&str, &[&str])] = &[("load.rs", &["seed"])];
        let twice = [("flags.rs", "seed"), ("load.rs", "seed"), ("flags.rs", "load")];
        assert_eq!(problems(&declared(&twice), own), Vec::<String>::new());
        for (also, told) in [
            (("gate.rs", "load"), "--load is declared in flags.rs and gate.rs: declare it in a group"),
            (("load.rs", "seed"), "--seed is declared in flags.rs and load.rs: declare it in a group"),
        ] {
            let told_of = problems(&declared(&[&twice[..], &[also]].concat()), own);
            assert!(matches!(&told_of[..], [problem] if problem.starts_with(told)), "{told_of:?}");
        }
        assert_eq!(
            problems(&declared(&[("flags.rs", "seed")]), own),
            ["load.rs declares no --seed any more: take it out of xtask/src/flags.rs"]
        );
    }
}
