//! `workload.yaml`: an application with its requests and the answers that it must give.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use stampede_core::{App, AppKind, Body, Exchange, Expectation, Install, Request, Requirement, Workload, WorkloadId};

use crate::mistake::{Gathered, Mistakes};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadFile {
    title: String,
    apps: Vec<AppEntry>,
    exchanges: Vec<ExchangeEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KindEntry {
    FrontController,
    GoProgram,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AppEntry {
    kind: KindEntry,
    dir: PathBuf,
    index: Option<PathBuf>,
    #[serde(default)]
    extensions: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    needs: Vec<NeedEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NeedEntry {
    name: String,
    any_of: Vec<PathBuf>,
    package: Option<String>,
    page: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExchangeEntry {
    name: String,
    #[serde(default)]
    load: bool,
    request: RequestEntry,
    expect: ExpectEntry,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestEntry {
    method: String,
    path: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    body_file: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectEntry {
    status: u16,
    body: Option<String>,
    body_file: Option<PathBuf>,
    json_html: Option<JsonHtmlEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonHtmlEntry {
    field: String,
    file: PathBuf,
}

/// Reads the workload in a folder.
///
/// # Errors
///
/// Every mistake in the file: YAML errors with line and column, missing files, contradictions.
pub fn read(folder: &Path) -> Result<Workload, Mistakes> {
    let file = folder.join("workload.yaml");
    let place = file.display().to_string();
    let text = fs::read_to_string(&file).map_err(|error| {
        Mistakes::one(&place, format!("cannot be read: {error}"), "name a folder that holds a workload.yaml")
    })?;
    let parsed: WorkloadFile = serde_saphyr::from_str(&text).map_err(|error| {
        Mistakes::one(&place, format!("is not a workload: {error}"), "correct the line that the message names")
    })?;
    let mut mistakes = Gathered::default();
    let WorkloadFile { title, apps, exchanges } = parsed;
    let reader = Reader { folder, place };
    let apps = apps.into_iter().filter_map(|entry| reader.app(entry, &mut mistakes)).collect::<Vec<_>>();
    let exchanges = exchanges.into_iter().filter_map(|entry| reader.exchange(entry, &mut mistakes)).collect::<Vec<_>>();
    if apps.is_empty() {
        mistakes.add(&reader.place, "has no app", "add at least one entry under apps");
    }
    if !exchanges.iter().any(|exchange| exchange.in_load) {
        mistakes.add(&reader.place, "has no request for the load", "mark at least one exchange with load: true");
    }
    let name = folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let id = WorkloadId::new(name.unwrap_or_else(|| "workload".to_owned()));
    mistakes.finish(Ok(Workload { id, title, apps, exchanges }))
}

struct Reader<'a> {
    folder: &'a Path,
    place: String,
}

impl Reader<'_> {
    fn app(&self, entry: AppEntry, mistakes: &mut Gathered) -> Option<App> {
        let AppEntry { kind, dir, index, extensions, env, needs } = entry;
        let source = self.folder.join(&dir);
        if !source.is_dir() {
            mistakes.add(&self.place, format!("names the folder {}, which is not there", dir.display()), "correct dir");
        }
        let kind = match (kind, index) {
            (KindEntry::FrontController, Some(index)) => {
                if !source.join(&index).is_file() {
                    let problem = format!("names the script {}, which is not in {}", index.display(), dir.display());
                    mistakes.add(&self.place, problem, "correct index");
                }
                AppKind::FrontController { index }
            }
            (KindEntry::FrontController, None) => {
                mistakes.add(&self.place, "has a front-controller without index", "add index: public/index.php");
                return None;
            }
            (KindEntry::GoProgram, None) => AppKind::GoProgram,
            (KindEntry::GoProgram, Some(_)) => {
                mistakes.add(&self.place, "gives a go-program an index", "remove index");
                return None;
            }
        };
        let needs = needs
            .into_iter()
            .map(|NeedEntry { name, any_of, package, page }| Requirement::AnyFile {
                name,
                paths: any_of.into_iter().map(|path| source.join(path)).collect(),
                install: Install { package, page },
            })
            .collect();
        Some(App { kind, source, extensions, env, needs })
    }

    fn exchange(&self, entry: ExchangeEntry, mistakes: &mut Gathered) -> Option<Exchange> {
        let ExchangeEntry { name, load, request, expect } = entry;
        let RequestEntry { method, path, headers, body, body_file } = request;
        let ExpectEntry { status, body: expected, body_file: expected_file, json_html } = expect;
        let body = self.one_body(&name, "request", body, body_file, mistakes)?;
        let expected = match (json_html, expected, expected_file) {
            (Some(JsonHtmlEntry { field, file }), None, None) => {
                let html = String::from_utf8(self.file(&name, &file, mistakes)?);
                match html {
                    Ok(html) => Body::JsonHtml { field, html },
                    Err(_) => {
                        mistakes.add(
                            &self.place,
                            format!("names {}, which is not UTF-8", file.display()),
                            "correct it",
                        );
                        return None;
                    }
                }
            }
            (None, None, None) => Body::Any,
            (None, text, file) => Body::Bytes(self.one_body(&name, "expect", text, file, mistakes)?),
            (Some(_), _, _) => {
                mistakes.add(&self.place, format!("expects two bodies in {name}"), "keep json_html or body, not both");
                return None;
            }
        };
        if !path.starts_with('/') {
            mistakes.add(&self.place, format!("has a path without a leading / in {name}"), "write an absolute path");
        }
        if !(100..600).contains(&status) {
            mistakes.add(&self.place, format!("expects status {status} in {name}"), "expect a status from 100 to 599");
        }
        let request = Request { method, path, headers, body };
        Some(Exchange { name, request, expect: Expectation { status, body: expected }, in_load: load })
    }

    fn one_body(
        &self,
        name: &str,
        part: &str,
        text: Option<String>,
        file: Option<PathBuf>,
        mistakes: &mut Gathered,
    ) -> Option<Vec<u8>> {
        match (text, file) {
            (Some(_), Some(_)) => {
                let problem = format!("gives body and body_file in {part} of {name}");
                mistakes.add(&self.place, problem, "keep one of the two");
                None
            }
            (Some(text), None) => Some(text.into_bytes()),
            (None, Some(file)) => self.file(name, &file, mistakes),
            (None, None) => Some(Vec::new()),
        }
    }

    fn file(&self, name: &str, file: &Path, mistakes: &mut Gathered) -> Option<Vec<u8>> {
        fs::read(self.folder.join(file))
            .map_err(|error| {
                let problem = format!("names {} in {name}, which cannot be read: {error}", file.display());
                mistakes.add(&self.place, problem, "correct the path");
            })
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(yaml: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("php")).unwrap();
        fs::write(folder.path().join("php/index.php"), "<?php").unwrap();
        fs::write(folder.path().join("workload.yaml"), yaml).unwrap();
        folder
    }

    #[test]
    fn all_mistakes_of_a_workload_are_told_at_once() {
        let folder = folder(
            "title: t\n\
             apps: [{kind: front-controller, dir: php}, {kind: go-program, dir: nowhere}]\n\
             exchanges:\n\
             - {name: a, request: {method: GET, path: x}, expect: {status: 99, body_file: none.txt}}\n",
        );
        let Mistakes(mistakes) = read(folder.path()).unwrap_err();
        let problems = mistakes.iter().map(|mistake| mistake.problem.as_str()).collect::<Vec<_>>().join("\n");
        for part in ["without index", "nowhere", "none.txt", "no request for the load"] {
            assert!(problems.contains(part), "{part} in {problems}");
        }
    }

    #[test]
    fn an_unknown_key_is_told_with_its_line() {
        let folder = folder("title: t\nspeed: 11\napps: []\nexchanges: []\n");
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("speed") && error.contains('2'), "{error}");
    }

    #[test]
    fn a_complete_workload_is_read() {
        let folder = folder(
            "title: t\n\
             apps: [{kind: front-controller, dir: php, index: index.php, extensions: [mbstring]}]\n\
             exchanges:\n\
             - {name: a, load: true, request: {method: GET, path: /}, expect: {status: 200, body: hi}}\n",
        );
        let workload = read(folder.path()).unwrap();
        assert_eq!(workload.load_mix().map(|exchange| exchange.name.as_str()).collect::<Vec<_>>(), ["a"]);
        assert_eq!(workload.exchanges[0].expect.body, Body::Bytes(b"hi".to_vec()));
        assert_eq!(workload.apps[0].extensions, ["mbstring"]);
    }
}
