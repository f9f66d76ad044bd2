//! A workload: applications with their requests and the answers that they must give. `workload.yaml` holds a whole one; a
//! `stampede.yaml` has one application in the same words.

mod app;
mod request;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use stampede_core::{App, PhpBase, Play, Workload, WorkloadId};

pub(crate) use self::app::{AppSection, KindEntry};
use self::request::ExchangeSection;
pub(crate) use self::request::{RequestSection, Rules};
use crate::audit::AuditEntry;
use crate::document::{self, Document, Grammar, Text, adapt};
use crate::mistake::{Gathered, Mistakes};
use crate::need::NeedsEntry;

/// The name of a workload's file.
pub(crate) const WORKLOAD_FILE: &str = "workload.yaml";

/// A workload: an application in several forms, its requests, and the answers that must come.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WorkloadSections {
    /// What it is, in one line.
    #[schemars(extend("examples" = ["My API"]))]
    title: Text,
    /// Services that the applications use. One that is named runs in each deployment, with or without --services.
    #[serde(default)]
    #[schemars(extend("examples" = ["{postgres: {init: schema.sql, at_least: 14}}"]))]
    services: NeedsEntry,
    /// The application in its forms. By default each runtime serves the first that it can.
    #[schemars(extend("examples" = ["[{kind: front-controller, dir: app, index: public/index.php}]"]))]
    apps: Vec<AppSection>,
    /// Requests with their answers. All are verified before anything is timed.
    #[serde(default)]
    #[schemars(extend("examples" = ["[{name: home, path: /, expect: {status: 200, body: hello}}]"]))]
    requests: Vec<RequestSection>,
    /// The older form of requests: what is sent stands under a key of its own, and load is false by default.
    #[serde(default)]
    #[schemars(extend("deprecated" = true))]
    exchanges: Vec<ExchangeSection>,
    /// Whether visitors keep their cookies under load: each connection is a visitor with a jar of its own. False by default: then
    /// every request is a new visitor.
    #[serde(default)]
    cookies: bool,
    /// A scenario that is the load, in place of requests.
    #[schemars(extend("examples" = ["scenario.yaml"]))]
    scenario: Option<PathBuf>,
    /// A command that writes the scenario's feeders into the folder that is its last argument.
    #[serde(default)]
    #[schemars(extend("examples" = ["[php, generate.php]"]))]
    generate: Vec<Text>,
    /// What the scenario must have made, asked for before and after each load.
    #[serde(default)]
    #[schemars(extend("examples" = ["[{name: people, answers: {step: create/create, status: 201}, path: /count}]"]))]
    after: Vec<AuditEntry>,
}

/// Reads the workload in a folder.
///
/// # Errors
///
/// That the file cannot be read, the first error of its YAML, all keys and types that are wrong, or all other mistakes: missing
/// files, contradictions.
pub fn read(folder: &Path) -> Result<Workload, Mistakes> {
    let path = folder.join(WORKLOAD_FILE);
    let name = path.display().to_string();
    let text = document::text(&path).map_err(|error| {
        Mistakes::one(&name, format!("cannot be read: {error}"), "name a folder that holds a workload.yaml")
    })?;
    let (sections, document) = parse(&text, &name)?;
    let WorkloadSections {
        title: Text(title),
        services,
        apps,
        requests,
        exchanges,
        cookies,
        scenario,
        generate,
        after,
    } = sections;
    let place = document.place();
    let mut mistakes = Gathered::default();
    if apps.is_empty() {
        mistakes.add(place.key("apps"), "has no app", "add at least one");
    }
    let apps = apps.into_iter().enumerate();
    let apps = apps.filter_map(|(index, app)| app.read(folder, &place.key("apps").item(index), &mut mistakes));
    // A workload names what it needs, so that its figures do not depend on what this machine's PHP has enabled.
    let apps = apps.map(|app| App { php: PhpBase::default(), ..app });
    let apps: Vec<_> = apps.collect();
    let (requests, list) = match exchanges.is_empty() {
        true => (requests, "requests"),
        false if requests.is_empty() => (exchanges.into_iter().map(RequestSection::from).collect(), "exchanges"),
        false => {
            let fix =
                "move them to requests, with the keys of request beside name, and load: false where load is missing";
            mistakes.add(place.key("exchanges"), "stands beside requests", fix);
            (requests, "requests")
        }
    };
    let rules = Rules { folder, has_scenario: scenario.is_some(), needs_body: true };
    let (exchanges, _) = rules.read(requests, &place.key(list), &mut mistakes);
    if scenario.is_some() && exchanges.iter().all(|exchange| exchange.once) {
        let fix = "add one: Stampede sends the first until the server answers it";
        mistakes.add(place.key(list), "has no request that may be sent again beside the scenario", fix);
    }
    for key in ["generate", "after"].iter().filter(|_| scenario.is_none()) {
        if let Some(place) = place.get(key) {
            mistakes.add(place, "stands without a scenario", "remove it, or add scenario: scenario.yaml");
        }
    }
    let services = services.read(folder, &place.key("services"), &mut mistakes);
    let audits = after.into_iter().enumerate();
    let audits = audits.map(|(index, entry)| entry.read(&services, &place.key("after").item(index), &mut mistakes));
    let audits = audits.collect();
    let generate = generate.into_iter().map(|Text(word)| word).collect();
    let play = scenario.map(|scenario| Play { folder: folder.to_owned(), scenario, generate });
    mistakes.finish(Ok(Workload {
        id: id(folder, "workload"),
        title,
        apps,
        exchanges,
        cookies,
        services,
        play,
        audits,
    }))
}

/// Reads the text of a workload, whose values are still to be read; `name` is what mistakes call its file.
fn parse(text: &str, name: &str) -> Result<(WorkloadSections, Document), Mistakes> {
    let begin = "begin with title: My API, apps: and requests:";
    document::read(text, name, &Grammar { schema: schema_value(), is: "a workload", begin })
}

/// The name of what is in a folder.
pub(crate) fn id(folder: &Path, default: &str) -> WorkloadId {
    let name = folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    WorkloadId::new(name.unwrap_or_else(|| default.to_owned()))
}

/// The JSON Schema of workloads (draft 2020-12), as text.
pub fn schema() -> String {
    format!("{:#}\n", schema_value())
}

fn schema_value() -> serde_json::Value {
    let mut schema = schemars::schema_for!(WorkloadSections).to_value();
    schema["title"] = "Stampede workload".into();
    adapt(&mut schema, "AppSection", &["requests", "cookies", "scenario"], &["kind"]);
    let sent = schema["$defs"]["RequestSection"].clone();
    schema["$defs"]["SentSection"] = sent;
    schema["$defs"]["ExchangeSection"]["properties"]["request"]["$ref"] = "#/$defs/SentSection".into();
    adapt(&mut schema, "SentSection", &["name", "load", "once", "optional", "expect"], &[]);
    adapt(&mut schema, "RequestSection", &[], &["expect"]);
    schema
}

#[cfg(test)]
mod tests;
