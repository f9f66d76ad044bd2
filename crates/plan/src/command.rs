//! A command of a workload: any program that listens on `$PORT`.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use stampede_core::{Command, CommandReady, CommandTunable, CommandValues, Places, Stop, StopSignal};

use crate::mistake::Gathered;
use crate::template::scalar;

/// Long enough for a server to answer what it is working on.
const DEFAULT_GRACE: Duration = Duration::from_secs(5);
/// Each trial may wait as long.
const MOST_GRACE: Duration = Duration::from_secs(60);

/// The variable that has the number of workers of an application that was found to bring its server.
const WORKERS: &str = "WORKERS";
/// As many as PHP-FPM's makers have children at most by default. <https://www.php.net/manual/en/install.fpm.configuration.php>
const DEFAULT_WORKERS: &str = "5";
const MOST_WORKERS: u64 = 1024;

/// What a command is told by the bench itself.
const OWN_VARIABLES: [&str; 2] = ["HOST", "PORT"];

#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandEntry {
    run: Vec<String>,
    build: Option<Vec<String>>,
    #[serde(default)]
    ready: ReadyEntry,
    #[serde(default)]
    stop: StopEntry,
    #[serde(default)]
    tunables: BTreeMap<String, TunableEntry>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum ReadyEntry {
    Port,
    #[default]
    Request,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct StopEntry {
    #[serde(default)]
    signal: SignalEntry,
    grace: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum SignalEntry {
    #[default]
    Term,
    Quit,
    Int,
    Winch,
}

#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct TunableEntry {
    min: Option<u64>,
    max: Option<u64>,
    one_of: Option<Vec<String>>,
    default: String,
}

impl SignalEntry {
    /// Its name in files.
    fn name(self) -> &'static str {
        match self {
            Self::Term => "TERM",
            Self::Quit => "QUIT",
            Self::Int => "INT",
            Self::Winch => "WINCH",
        }
    }
}

impl CommandEntry {
    /// One that has its number of workers in the variable `WORKERS`.
    pub(crate) fn with_workers(run: Vec<String>, signal: SignalEntry) -> Self {
        let default = DEFAULT_WORKERS.to_owned();
        let workers = TunableEntry { min: Some(1), max: Some(MOST_WORKERS), one_of: None, default };
        Self {
            run,
            build: None,
            ready: ReadyEntry::default(),
            stop: StopEntry { signal, grace: None },
            tunables: BTreeMap::from([(WORKERS.to_owned(), workers)]),
        }
    }

    /// Its keys below `command` in files, for one that is made with [`Self::with_workers`].
    pub(crate) fn keys(&self) -> Vec<(&'static str, String)> {
        let words: Vec<_> = self.run.iter().map(|word| scalar(word)).collect();
        let workers = format!("{{{WORKERS}: {{min: 1, max: {MOST_WORKERS}, default: '{DEFAULT_WORKERS}'}}}}");
        vec![
            ("run", format!("[{}]", words.join(", "))),
            ("stop", format!("{{signal: {}}}", self.stop.signal.name())),
            ("tunables", workers),
        ]
    }
}

/// Reads a command; `env` is the application's environment.
pub(crate) fn read(
    entry: CommandEntry,
    env: &BTreeMap<String, String>,
    place: &str,
    mistakes: &mut Gathered,
) -> Command {
    let CommandEntry { run, build, ready, stop: StopEntry { signal, grace }, tunables } = entry;
    if run.is_empty() {
        mistakes.add(place, "has a command without run", "add run: [./server]");
    }
    check_places("run", &run, &["app", "run", "front", "front.host", "front.port", "built"], place, mistakes);
    match &build {
        Some(build) => {
            check_places("build", build, &["app", "output"], place, mistakes);
            if !build.iter().any(|word| word.contains("@{output}")) {
                mistakes.add(place, "has a build that does not say what it writes", "name the file as @{output}");
            }
        }
        None if run.iter().any(|word| word.contains("@{built}")) => {
            mistakes.add(place, "runs @{built} without a build", "add build: [cc, -o, '@{output}', server.c]");
        }
        None => {}
    }
    let stop = Stop {
        signal: match signal {
            SignalEntry::Term => StopSignal::Term,
            SignalEntry::Quit => StopSignal::Quit,
            SignalEntry::Int => StopSignal::Int,
            SignalEntry::Winch => StopSignal::Winch,
        },
        grace: grace.map_or(DEFAULT_GRACE, |grace| match humantime::parse_duration(&grace) {
            Ok(grace) if grace <= MOST_GRACE => grace,
            _ => {
                mistakes.add(
                    place,
                    format!("has a grace of {grace}, which is no time up to 1m"),
                    "for example grace: 5s",
                );
                DEFAULT_GRACE
            }
        }),
    };
    let tunables =
        tunables.into_iter().filter_map(|(name, entry)| read_tunable(name, entry, env, place, mistakes)).collect();
    let ready = match ready {
        ReadyEntry::Port => CommandReady::Port,
        ReadyEntry::Request => CommandReady::Request,
    };
    Command { run, build, ready, stop, tunables }
}

/// Sees that words name only places that there are.
fn check_places(key: &str, words: &[String], known: &[&str], place: &str, mistakes: &mut Gathered) {
    let mut places = Places::new();
    known.iter().for_each(|name| places.insert(*name, ""));
    for unknown in words.iter().filter_map(|word| places.resolve(word).err()) {
        let known = known.iter().map(|name| format!("@{{{name}}}")).collect::<Vec<_>>().join(", ");
        mistakes.add(
            place,
            format!("names @{{{}}} in {key}, which is no place there", unknown.0),
            format!("use {known}"),
        );
    }
}

fn read_tunable(
    name: String,
    entry: TunableEntry,
    env: &BTreeMap<String, String>,
    place: &str,
    mistakes: &mut Gathered,
) -> Option<CommandTunable> {
    let TunableEntry { min, max, one_of, default } = entry;
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|each| each.is_ascii_alphanumeric() || each == '_');
    if !is_name {
        mistakes.add(place, format!("has a tunable {name}, which is no environment variable"), "use letters and _");
    }
    if OWN_VARIABLES.contains(&name.as_str()) || env.contains_key(&name) {
        let fix = "give the variable another name, or leave it out of env";
        mistakes.add(place, format!("has a tunable {name}, which is set already"), fix);
    }
    let values = match (min, max, one_of) {
        (Some(min), Some(max), None) if min <= max => CommandValues::Count { min, max },
        (None, None, Some(words)) if !words.is_empty() => CommandValues::Choice(words),
        _ => {
            let problem = format!("does not say which values {name} takes");
            mistakes.add(place, problem, "give it min and max, or one_of, and not both");
            return None;
        }
    };
    if let Err(problem) = values.check(&default) {
        mistakes.add(place, format!("has a default of {name} that {problem}"), "correct default");
    }
    Some(CommandTunable { name, values, default })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mistake::Mistakes;

    fn read_text(yaml: &str) -> Result<Command, Mistakes> {
        let mut mistakes = Gathered::default();
        let env = BTreeMap::from([("TAKEN".to_owned(), "1".to_owned())]);
        let command = read(serde_saphyr::from_str(yaml).unwrap(), &env, "w.yaml", &mut mistakes);
        mistakes.finish(Ok(command))
    }

    #[test]
    fn a_command_is_read_with_its_defaults() {
        let command = read_text("run: [node, server.js]").unwrap();
        assert_eq!(command.run, ["node", "server.js"]);
        assert_eq!((command.ready, command.build), (CommandReady::Request, None));
        assert_eq!(command.stop, Stop { signal: StopSignal::Term, grace: Duration::from_secs(5) });
        let command = read_text(
            "{run: ['@{built}', '@{front.port}'], build: [cc, -o, '@{output}'], ready: port,\n\
             stop: {signal: INT, grace: 500ms},\n\
             tunables: {N: {min: 1, max: 9, default: 4}, MODE: {one_of: [a, b], default: b}}}",
        )
        .unwrap();
        assert_eq!(command.stop, Stop { signal: StopSignal::Int, grace: Duration::from_millis(500) });
        assert_eq!(command.ready, CommandReady::Port);
        let [mode, number] = command.tunables.as_slice() else { panic!("{command:?}") };
        assert_eq!((mode.values.check("a"), number.values.check("9")), (Ok(()), Ok(())));
        assert_eq!(number.values.check("10"), Err("is not a whole number from 1 to 9".to_owned()));
        assert_eq!(mode.values.check("c"), Err("is not one of a, b".to_owned()));
    }

    #[test]
    fn all_mistakes_of_a_command_are_told_at_once() {
        for (yaml, problems) in [
            ("run: []", vec!["a command without run"]),
            ("run: ['@{built}']", vec!["runs @{built} without a build"]),
            ("{run: [./a], build: [make]}", vec!["does not say what it writes"]),
            ("run: [./a, '@{fpm}', '@{prot']", vec!["names @{fpm} in run", "names @{prot} in run"]),
            ("{run: [./a], stop: {grace: 2h}}", vec!["a grace of 2h"]),
            (
                "{run: [./a], tunables: {PORT: {min: 1, max: 2, default: '3'}, TAKEN: {one_of: [], default: a},\n\
                 a-b: {one_of: [a], default: a}, N: {min: 2, max: 1, default: '1'}}}",
                vec![
                    "N takes",
                    "tunable PORT, which is set already",
                    "default of PORT that is not a whole number from 1 to 2",
                    "tunable TAKEN, which is set already",
                    "which values TAKEN takes",
                    "a-b, which is no environment variable",
                ],
            ),
        ] {
            let Mistakes(mistakes) = read_text(yaml).unwrap_err();
            let told = mistakes.iter().map(|mistake| mistake.problem.as_str()).collect::<Vec<_>>();
            assert_eq!(told.len(), problems.len(), "{told:?}");
            for (told, problem) in told.iter().zip(problems) {
                assert!(told.contains(problem), "{problem} in {told}");
            }
        }
    }
}
