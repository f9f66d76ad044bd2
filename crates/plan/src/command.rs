//! A command of a workload: any program that listens on `$PORT`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use stampede_core::{
    Command, CommandReady, CommandTunable, CommandValues, GracefulStop, Places, Replacement, StopSignal,
};

use crate::document::{Place, Text, scalar};
use crate::mistake::Gathered;

/// Long enough for a server to answer what it is working on.
const DEFAULT_GRACE: Duration = Duration::from_secs(5);
/// Each trial may wait as long.
const MOST_GRACE: Duration = Duration::from_secs(60);

/// The variable that has the number of workers of an application that was found to bring its server.
const WORKERS: &str = "WORKERS";
/// As many as PHP-FPM's makers have children at most by default. <https://www.php.net/manual/en/install.fpm.configuration.php>
const DEFAULT_WORKERS: &str = "5";
const MOST_WORKERS: u64 = 1024;

/// Places of a run that a command can name.
const PLACES: [&str; 5] = ["app", "run", "front", "front.host", "front.port"];

/// What a command is told by the bench itself.
const OWN_VARIABLES: [&str; 2] = ["HOST", "PORT"];

/// A program that listens on the port in PORT.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandEntry {
    /// The command, word by word, without a shell. @{front.port} stands for its port, @{built} for what build wrote.
    #[schemars(extend("examples" = ["[./server]"]))]
    run: Vec<Text>,
    /// A command that builds it into the file @{output}.
    #[schemars(extend("examples" = ["[cc, -o, '@{output}', server.c]"]))]
    build: Option<Vec<Text>>,
    /// Texts that are replaced in files of the copy that is served: an address or a number of workers that stands in its code.
    #[serde(default)]
    #[schemars(extend("examples" = ["[{file: start.php, text: 'http://0.0.0.0:2345', with: 'http://@{front}'}]"]))]
    replace: Vec<ReplaceEntry>,
    /// When load may begin: when something listens on the port, or when it has answered a request. request by default.
    #[serde(default)]
    ready: ReadyEntry,
    /// How it is ended.
    #[serde(default)]
    #[schemars(extend("examples" = ["{signal: INT, grace: 5s}"]))]
    stop: StopEntry,
    /// Environment variables that are its settings.
    #[serde(default)]
    #[schemars(extend("examples" = ["{WORKERS: {min: 1, max: 64, default: 4}}"]))]
    tunables: BTreeMap<String, TunableEntry>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum ReadyEntry {
    Port,
    #[default]
    Request,
}

/// How a command is ended.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct StopEntry {
    /// The signal. TERM by default.
    #[serde(default)]
    signal: SignalEntry,
    /// How long it may take. 5s by default.
    #[schemars(extend("examples" = ["5s"]))]
    grace: Option<Text>,
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

/// A text that is replaced in a file of the copy.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplaceEntry {
    /// The file, from the application's folder.
    #[schemars(extend("examples" = ["start.php"]))]
    pub(crate) file: PathBuf,
    /// The text, wherever it stands in the file.
    #[schemars(extend("examples" = ["0.0.0.0:2345"]))]
    pub(crate) text: Text,
    /// What takes its place. @{front}, @{front.host} and @{front.port} stand for the address to listen on.
    #[schemars(extend("examples" = ["@{front}"]))]
    pub(crate) with: Text,
}

/// A setting: a whole number from min to max, or one of some words.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct TunableEntry {
    /// The least.
    min: Option<u64>,
    /// The most.
    max: Option<u64>,
    /// The words.
    one_of: Option<Vec<Text>>,
    /// Its value by default.
    #[schemars(extend("examples" = [4]))]
    default: Text,
}

impl From<SignalEntry> for StopSignal {
    fn from(entry: SignalEntry) -> Self {
        match entry {
            SignalEntry::Term => Self::Term,
            SignalEntry::Quit => Self::Quit,
            SignalEntry::Int => Self::Int,
            SignalEntry::Winch => Self::Winch,
        }
    }
}

impl CommandEntry {
    /// That of a server that an application brings, with its number of workers in the variable `WORKERS` where it has one.
    pub(crate) fn of_server(
        run: Vec<String>,
        replace: Vec<ReplaceEntry>,
        signal: SignalEntry,
        has_workers: bool,
    ) -> Self {
        let default = Text(DEFAULT_WORKERS.to_owned());
        let workers = TunableEntry { min: Some(1), max: Some(MOST_WORKERS), one_of: None, default };
        Self {
            run: run.into_iter().map(Text).collect(),
            build: None,
            replace,
            ready: ReadyEntry::default(),
            stop: StopEntry { signal, grace: None },
            tunables: has_workers.then(|| (WORKERS.to_owned(), workers)).into_iter().collect(),
        }
    }

    /// Its keys below `command` in files, for one that is made with [`Self::of_server`].
    pub(crate) fn keys(&self) -> Vec<(&'static str, String)> {
        let words: Vec<_> = self.run.iter().map(|Text(word)| scalar(word)).collect();
        let workers = format!("{{{WORKERS}: {{min: 1, max: {MOST_WORKERS}, default: '{DEFAULT_WORKERS}'}}}}");
        let mut keys = vec![("run", format!("[{}]", words.join(", ")))];
        if !self.replace.is_empty() {
            let lines = self.replace.iter().map(|ReplaceEntry { file, text: Text(text), with: Text(with) }| {
                let file = scalar(&file.display().to_string());
                format!("\n      - {{file: {file}, text: {}, with: {}}}", scalar(text), scalar(with))
            });
            keys.push(("replace", lines.collect()));
        }
        keys.push(("stop", format!("{{signal: {}}}", StopSignal::from(self.stop.signal).name())));
        if !self.tunables.is_empty() {
            keys.push(("tunables", workers));
        }
        keys
    }
}

/// Reads a command of the application in the folder `source`, whose environment is `env`.
pub(crate) fn read(
    entry: CommandEntry,
    source: &Path,
    env: &BTreeMap<String, String>,
    place: &Place<'_>,
    mistakes: &mut Gathered,
) -> Command {
    let CommandEntry { run, build, replace, ready, stop: StopEntry { signal, grace }, tunables } = entry;
    let (run, build) = (words(run), build.map(words));
    if run.is_empty() {
        mistakes.add(place.key("run"), "is empty", "for example run: [./server]");
    }
    check_places("run", &run, &[&PLACES[..], &["built"]].concat(), place, mistakes);
    match &build {
        Some(build) => {
            check_places("build", build, &["app", "output"], place, mistakes);
            if !build.iter().any(|word| word.contains("@{output}")) {
                mistakes.add(place.key("build"), "does not say what it writes", "name the file as @{output}");
            }
        }
        None if run.iter().any(|word| word.contains("@{built}")) => {
            mistakes.add(
                place.key("run"),
                "names @{built} without a build",
                "add build: [cc, -o, '@{output}', server.c]",
            );
        }
        None => {}
    }
    let replaced = place.key("replace");
    let replacements = replace
        .into_iter()
        .enumerate()
        .map(|(index, ReplaceEntry { file, text: Text(text), with: Text(with) })| {
            let item = replaced.item(index);
            check_places("with", std::slice::from_ref(&with), &PLACES, &item, mistakes);
            if !file.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
                mistakes.add(item.key("file"), "leads out of the application", "name a file of its folder");
            } else if !fs::read_to_string(source.join(&file)).is_ok_and(|content| content.contains(&text)) {
                mistakes.add(item.key("text"), format!("does not stand in {}", file.display()), "correct file or text");
            }
            Replacement { file, text, with }
        })
        .collect();
    let stop = GracefulStop {
        signal: signal.into(),
        grace: grace.map_or(DEFAULT_GRACE, |Text(grace)| match humantime::parse_duration(&grace) {
            Ok(grace) if grace <= MOST_GRACE => grace,
            _ => {
                mistakes.add(place.key("stop").key("grace"), "is no time up to 1m", "for example grace: 5s");
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
    Command { run, build, replacements, ready, stop, tunables }
}

fn words(words: Vec<Text>) -> Vec<String> {
    words.into_iter().map(|Text(word)| word).collect()
}

/// Sees that words name only places that there are.
fn check_places(key: &str, words: &[String], known: &[&str], place: &Place<'_>, mistakes: &mut Gathered) {
    let mut places = Places::new();
    known.iter().for_each(|name| places.insert(*name, ""));
    for unknown in words.iter().filter_map(|word| places.resolve(word).err()) {
        let known = known.iter().map(|name| format!("@{{{name}}}")).collect::<Vec<_>>().join(", ");
        let problem = format!("names @{{{}}}, which is no place there", unknown.0);
        mistakes.add(place.key(key), problem, format!("use {known}"));
    }
}

fn read_tunable(
    name: String,
    entry: TunableEntry,
    env: &BTreeMap<String, String>,
    place: &Place<'_>,
    mistakes: &mut Gathered,
) -> Option<CommandTunable> {
    let TunableEntry { min, max, one_of, default: Text(default) } = entry;
    let place = place.key("tunables").key(&name);
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|each| each.is_ascii_alphanumeric() || each == '_');
    if !is_name {
        mistakes.add(&place, "is no name of an environment variable", "use letters and _");
    }
    if OWN_VARIABLES.contains(&name.as_str()) || env.contains_key(&name) {
        let fix = "give the variable another name, or leave it out of env";
        mistakes.add(&place, "is set already", fix);
    }
    let values = match (min, max, one_of) {
        (Some(min), Some(max), None) if min <= max => CommandValues::Count { min, max },
        (None, None, Some(words)) if !words.is_empty() => CommandValues::Choice(self::words(words)),
        _ => {
            mistakes.add(&place, "does not say which values it takes", "give it min and max, or one_of, and not both");
            return None;
        }
    };
    if let Err(problem) = values.check(&default) {
        mistakes.add(place.key("default"), problem, "correct it");
    }
    Some(CommandTunable { name, values, default })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{self, Grammar};
    use crate::mistake::Mistakes;

    fn read_text(yaml: &str) -> Result<Command, Mistakes> {
        let mut mistakes = Gathered::default();
        let env = BTreeMap::from([("TAKEN".to_owned(), "1".to_owned())]);
        let schema = schemars::schema_for!(CommandEntry).to_value();
        let (entry, document) = document::read(yaml, "w", &Grammar { schema, is: "a command", begin: "" })?;
        let source = tempfile::tempdir().unwrap();
        fs::write(source.path().join("start.php"), "new Worker('http://0.0.0.0:2345');").unwrap();
        let command = read(entry, source.path(), &env, &document.place(), &mut mistakes);
        mistakes.finish(Ok(command))
    }

    #[test]
    fn a_command_is_read_with_its_defaults() {
        let command = read_text("run: [node, server.js]").unwrap();
        assert_eq!(command.run, ["node", "server.js"]);
        assert_eq!((command.ready, command.build), (CommandReady::Request, None));
        assert_eq!(command.stop, GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(5) });
        let command = read_text(
            "{run: ['@{built}', '@{front.port}'], build: [cc, -o, '@{output}'], ready: port,\n\
             stop: {signal: INT, grace: 500ms},\n\
             tunables: {N: {min: 1, max: 9, default: 4}, MODE: {one_of: [a, b], default: b}}}",
        )
        .unwrap();
        assert_eq!(command.stop, GracefulStop { signal: StopSignal::Int, grace: Duration::from_millis(500) });
        assert_eq!(command.ready, CommandReady::Port);
        let [mode, number] = command.tunables.as_slice() else { panic!("{command:?}") };
        assert_eq!((mode.values.check("a"), number.values.check("9")), (Ok(()), Ok(())));
        assert_eq!(number.values.check("10"), Err("is not a whole number from 1 to 9".to_owned()));
        assert_eq!(mode.values.check("c"), Err("is not one of a, b".to_owned()));
    }

    #[test]
    fn an_address_in_code_is_replaced() {
        let of = |file: &str, text: &str, with: &str| {
            read_text(&format!("{{run: [php], replace: [{{file: {file}, text: '{text}', with: '{with}'}}]}}"))
        };
        let command = of("start.php", "0.0.0.0:2345", "@{front}").unwrap();
        let (file, text, with) = ("start.php".into(), "0.0.0.0:2345".to_owned(), "@{front}".to_owned());
        assert_eq!(command.replacements, [Replacement { file, text, with }]);
        for (file, text, with, problem) in [
            ("start.php", "127.0.0.1:1", "@{front}", "does not stand in start.php"),
            ("none.php", "0.0.0.0", "@{front}", "does not stand in none.php"),
            ("../start.php", "0.0.0.0", "@{front}", "leads out of the application"),
            ("start.php", "0.0.0.0", "@{built}", "@{built}"),
        ] {
            let told = of(file, text, with).unwrap_err().to_string();
            assert!(told.contains(problem), "{told}");
        }
    }

    #[test]
    fn all_mistakes_of_a_command_are_told_at_once() {
        for (yaml, problems) in [
            ("run: []", vec!["w:1:6 run is empty"]),
            ("run: ['@{built}']", vec!["run names @{built} without a build"]),
            ("{run: [./a], build: [make]}", vec!["w:1:21 build does not say what it writes"]),
            ("run: [./a, '@{fpm}', '@{prot']", vec!["w:1:6 run names @{fpm}", "run names @{prot}"]),
            ("{run: [./a], stop: {grace: 2h}}", vec!["w:1:28 stop.grace 2h is no time"]),
            (
                "{run: [./a], tunables: {PORT: {min: 1, max: 2, default: '3'}, TAKEN: {one_of: [], default: a},\n\
                 a-b: {one_of: [a], default: a}, N: {min: 2, max: 1, default: '1'}}}",
                vec![
                    "tunables.N does not say which values it takes",
                    "tunables.PORT is set already",
                    "tunables.PORT.default 3 is not a whole number from 1 to 2",
                    "tunables.TAKEN is set already",
                    "tunables.TAKEN does not say which values it takes",
                    "tunables.a-b is no name of an environment variable",
                ],
            ),
        ] {
            let Mistakes(mistakes) = read_text(yaml).unwrap_err();
            let told = mistakes.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(told.len(), problems.len(), "{told:?}");
            for (told, problem) in told.iter().zip(problems) {
                assert!(told.contains(problem), "{problem} in {told}");
            }
        }
    }
}
