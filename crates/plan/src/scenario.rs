//! `scenario.yaml`: who puts load on a server, and what they do there.

mod events;
mod file;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_saphyr::Spanned;
use stampede_core::Load;
use stampede_scenario::{Choice, Crowd, Feeder, FeederFormat, Flow, Pause, RowOrder, Scenario, Table};

use self::file::{CrowdEntry, FeederEntry, FlowEntry, RequestEntry, ScenarioFile, StepEntry};
use self::step::FlowReader;
use crate::document;
use crate::machine_size::MachineSize;
use crate::mistake::{Gathered, Mistakes};
use crate::quantity::{NO_PAUSE, RANDOM_TWICE, is_random_twice, read_pause};

/// The most sets of cookies that a user may have.
const MOST_IDENTITIES: u32 = 1000;

/// Reads a scenario and the tables that it names, whose paths are relative to its folder. Feeders in `replaced` have another
/// file than the scenario says.
///
/// # Errors
///
/// Every mistake in the file, with its line: those that leave no scenario to look at alone, all others together.
pub(crate) fn read(
    file: &Path,
    machine: MachineSize,
    replaced: &BTreeMap<String, PathBuf>,
) -> Result<Scenario, Mistakes> {
    let place = file.display().to_string();
    let text = fs::read_to_string(file).map_err(|error| {
        Mistakes::one(&place, format!("cannot be read: {error}"), "name a file that holds a scenario")
    })?;
    let folder = file.parent().unwrap_or(Path::new(""));
    parse(&text, &place, machine, replaced, &|path| fs::read(folder.join(path)))
}

/// Reads the text of a scenario; `place` is what mistakes call its file, and `files` reads the tables that it names.
///
/// # Errors
///
/// As those of [`read`].
pub fn parse(
    text: &str,
    place: &str,
    machine: MachineSize,
    replaced: &BTreeMap<String, PathBuf>,
    files: &dyn Fn(&Path) -> io::Result<Vec<u8>>,
) -> Result<Scenario, Mistakes> {
    let parsed: ScenarioFile = document::deserialize(text, serde_saphyr::Options::default()).map_err(|error| {
        Mistakes::one(place, format!("is not a scenario: {error}"), "correct the line that the message names")
    })?;
    let ScenarioFile { feeders, crowds } = parsed;
    let mut reader = Reader { place, replaced, files, mistakes: Gathered::default() };
    for (name, file) in replaced.iter().filter(|(name, _)| !feeders.contains_key(*name)) {
        let fix = match feeders.len() {
            0 => "leave it out: the scenario has none".to_owned(),
            _ => format!("the scenario has {}", feeders.keys().cloned().collect::<Vec<_>>().join(", ")),
        };
        reader.mistakes.add(format!("--feeder {name}={}", file.display()), "names no feeder of the scenario", fix);
    }
    // A feeder that cannot be read is told once, not again by each template that uses it.
    let missing: Vec<_> = feeders.keys().cloned().collect();
    let feeders: Vec<_> = feeders.into_iter().filter_map(|(name, entry)| reader.feeder(name, entry)).collect();
    let missing: Vec<_> =
        missing.into_iter().filter(|name| !feeders.iter().any(|feeder| feeder.name == *name)).collect();
    if crowds.value.is_empty() {
        reader.add(&crowds, "crowds", "", "are none", "add at least one crowd with a load and flows or requests");
    }
    let mut names = BTreeSet::new();
    let crowds: Vec<_> =
        crowds.value.into_iter().filter_map(|crowd| reader.crowd(crowd, &feeders, &missing, &mut names)).collect();
    let connections = crowds.iter().map(|crowd| u64::from(crowd.load.connections())).sum::<u64>();
    if connections > u64::from(machine.connections) {
        let problem = format!("opens {connections} connections in all, more than one process may");
        let fix = format!(
            "let the loads have at most {} together (open:500@64), or raise the limit of open files (ulimit -n)",
            machine.connections
        );
        reader.mistakes.add(place, problem, fix);
    }
    reader.mistakes.finish(Ok(Scenario { feeders, crowds }))
}

struct Reader<'a> {
    place: &'a str,
    replaced: &'a BTreeMap<String, PathBuf>,
    files: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
    mistakes: Gathered,
}

impl Reader<'_> {
    /// Adds a mistake with its file, line, key and value.
    fn add<T>(&mut self, at: &Spanned<T>, key: &str, value: &str, problem: impl Display, fix: impl Into<String>) {
        /// The most characters of a value that are shown.
        const SHOWN: usize = 60;
        let mut shown: String = value.chars().take(SHOWN).flat_map(char::escape_debug).collect();
        if value.chars().count() > SHOWN {
            shown.push_str("...");
        }
        let space = if shown.is_empty() { "" } else { " " };
        self.mistakes.add(format!("{}:{} {key}{space}{shown}", self.place, at.referenced.line()), problem, fix);
    }

    /// Whether this is a name that templates can tell from others.
    fn name<T>(&mut self, at: &Spanned<T>, key: &str, name: &str) -> bool {
        let known = |character: char| character.is_alphanumeric() || "_-".contains(character);
        let is_name = !name.is_empty() && name.chars().all(known);
        if !is_name {
            self.add(at, key, name, "is not a name", "use letters, digits, _ and -");
        }
        is_name
    }

    fn feeder(&mut self, name: String, entry: FeederEntry) -> Option<Feeder> {
        let FeederEntry { file, env, mut format, order } = entry;
        let mut file = match (file, env, self.replaced.get(&name)) {
            (Some(file), None, _) => file,
            (None, Some(env), Some(other)) => Spanned::new(other.clone(), env.referenced, env.defined),
            (None, Some(env), None) => return self.feeder_of_env(name, &env, order),
            (Some(_), Some(env), _) => {
                self.add(&env, "env", "", "stands beside file", "leave one of them out");
                return None;
            }
            (None, None, _) => {
                let place = format!("{} feeder {name}", self.place);
                self.mistakes.add(place, "has no values", "add file: people.csv, or env: {password: [PASSWORD]}");
                return None;
            }
        };
        if let Some(other) = self.replaced.get(&name) {
            file.value.clone_from(other);
            // What was said of the file is not true of another one, unless its own name says nothing.
            format = format.filter(|_| format_of(other).is_none());
        }
        let shown = file.value.display().to_string();
        let Some(format) = format.or_else(|| format_of(&file.value)) else {
            self.add(&file, "file", &shown, "has a name that tells no format", "add format: csv, tsv or jsonl");
            return None;
        };
        let named = self.name(&file, "feeder", &name);
        let bytes = match (self.files)(&file.value) {
            Ok(bytes) => bytes,
            Err(error) => {
                let problem = format!("cannot be read: {error}");
                self.add(&file, "file", &shown, problem, "correct the path, which begins at the scenario's folder");
                return None;
            }
        };
        match Table::parse(format, &bytes) {
            Ok(table) => named.then_some(Feeder { name, table, order }),
            Err(error) => {
                self.add(&file, "file", &shown, format!("is not a table: {error}"), "correct that line");
                None
            }
        }
    }

    /// Values that no file may hold: each column's, by the names of the environment variables that have them.
    fn feeder_of_env(
        &mut self,
        name: String,
        columns: &Spanned<BTreeMap<String, Vec<String>>>,
        order: RowOrder,
    ) -> Option<Feeder> {
        let mut is_complete = self.name(columns, "feeder", &name);
        let mut read = Vec::new();
        for (column, variables) in &columns.value {
            let mut values = Vec::new();
            for variable in variables {
                match std::env::var(variable) {
                    Ok(value) => values.push(value),
                    Err(_) => {
                        is_complete = false;
                        let fix = format!("set it before: export {variable}=...");
                        self.add(columns, "env", variable, "is not set in the environment, or is no text", fix);
                    }
                }
            }
            read.push((column.clone(), values));
        }
        if !is_complete {
            return None;
        }
        let table = Table::of_columns(read);
        if table.is_none() {
            let fix = "give each column a variable for each row";
            self.add(columns, "env", "", "has columns of different lengths, or none", fix);
        }
        Some(Feeder { name, table: table?, order })
    }

    fn crowd(
        &mut self,
        entry: CrowdEntry,
        feeders: &[Feeder],
        missing: &[String],
        names: &mut BTreeSet<String>,
    ) -> Option<Crowd> {
        let CrowdEntry { load, think, flows, requests } = entry;
        let think = think.map(|think| (self.pause("think", &think), think));
        let entries: Vec<_> = match (flows.is_empty(), requests.is_empty()) {
            (false, true) => flows,
            (true, false) => requests.into_iter().map(into_flow).collect(),
            (true, true) => {
                self.add(&load, "load", &load.value, "has no flow", "add flows or requests beside it");
                Vec::new()
            }
            (false, false) => {
                self.add(&load, "load", &load.value, "has flows and requests", "make a flow of each request");
                Vec::new()
            }
        };
        let weighted = entries.iter().any(|flow| flow.weight.is_some());
        if weighted && entries.iter().all(|flow| flow.weight.as_ref().is_some_and(|weight| weight.value == 0)) {
            self.add(&load, "load", &load.value, "has flows that all weigh 0", "give one of them a weight");
        }
        let load = self.load(&load);
        if let (Some((_, think)), Some(Load::Open { .. })) = (&think, &load) {
            let fix = "leave it out: the rate says when flows begin";
            self.add(think, "think", &think.value, "belongs to a closed load", fix);
        }
        let think = think.map_or_else(|| Some(Pause::default()), |(think, _)| think);
        let mut read = Vec::new();
        for entry in entries {
            let FlowEntry { name, weight, cookies, identities, steps } = entry;
            if !names.insert(name.value.clone()) {
                self.add(&name, "name", &name.value, "is the name of two flows", "name each flow differently");
            }
            if steps.is_empty() {
                self.add(&name, "name", &name.value, "names a flow without steps", "add steps");
            }
            let cookies = cookies.unwrap_or(identities.is_some());
            if let Some(identities) = &identities {
                let typed = identities.value.to_string();
                if !(1..=MOST_IDENTITIES).contains(&identities.value) {
                    let problem = format!("is not a number of identities from 1 to {MOST_IDENTITIES}");
                    self.add(identities, "identities", &typed, problem, "for example identities: 2");
                } else if !cookies {
                    let fix = "leave out cookies: false, or identities";
                    self.add(identities, "identities", &typed, "tells apart nothing without cookies", fix);
                }
            }
            let mut flow = FlowReader::new(self, feeders, missing, cookies);
            let steps = steps.into_iter().filter_map(|step| flow.step(step)).collect();
            let captures = flow.into_captures();
            read.push(Flow {
                name: name.value,
                weight: weight.map_or(1, |weight| weight.value),
                cookies,
                identities: identities.map_or(1, |identities| identities.value),
                captures,
                steps,
            });
        }
        Some(Crowd {
            load: load?,
            think: think?,
            flows: read,
            choice: if weighted { Choice::Weighted } else { Choice::InTurn },
        })
    }

    /// `10ms` or `1ms..30ms`.
    fn pause(&mut self, key: &str, typed: &Spanned<String>) -> Option<Pause> {
        let pause = read_pause(&typed.value);
        if pause.is_none() {
            let fix = format!("for example {key}: 10ms or {key}: 1ms..30ms");
            self.add(typed, key, &typed.value, NO_PAUSE, fix);
        }
        pause
    }

    fn load(&mut self, typed: &Spanned<String>) -> Option<Load> {
        match typed.value.parse() {
            Ok(load) if is_random_twice(&load) => {
                self.add(typed, "load", &typed.value, RANDOM_TWICE, "leave out poisson: or random:");
                None
            }
            Ok(load) => Some(load),
            Err(problem) => {
                self.add(typed, "load", &typed.value, problem, "for example load: closed:16 or load: open:500");
                None
            }
        }
    }
}

/// What the ending of a file's name says.
fn format_of(file: &Path) -> Option<FeederFormat> {
    match file.extension()?.to_string_lossy().to_lowercase().as_str() {
        "csv" => Some(FeederFormat::Csv),
        "tsv" => Some(FeederFormat::Tsv),
        "jsonl" | "ndjson" => Some(FeederFormat::JsonLines),
        _ => None,
    }
}

/// The short form of a flow. Without a name it is called after what it asks for.
fn into_flow(entry: RequestEntry) -> FlowEntry {
    let RequestEntry { name, weight, method, path, headers, body, check, events } = entry;
    let name = name.unwrap_or_else(|| {
        let method = method.as_ref().map_or(step::default_method(body.is_some()), |method| method.value.as_str());
        Spanned::new(format!("{method} {}", path.value), path.referenced, path.defined)
    });
    let step = StepEntry {
        name: name.clone(),
        when: None,
        pause: None,
        method,
        path,
        headers,
        body,
        form: None,
        check,
        capture: Default::default(),
        events,
    };
    FlowEntry { name, weight, cookies: None, identities: None, steps: vec![step] }
}

#[cfg(test)]
mod tests;
