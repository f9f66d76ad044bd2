//! An application of one's own as a workload: what it is, by its folder or by the plan, and what it is asked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use stampede_core::{App, PhpBase, PhpOrigin, Workload, WorkloadId};

use crate::autoloader;
use crate::look::{Look, look};
use crate::mistake::{Gathered, Mistakes};
use crate::php_base::ExtensionsEntry;
use crate::plan_file::{AppSection, At, ExpectSection, PlanFile, RequestSection, Text};
use crate::workload::{AppEntry, ExchangeEntry, ExpectEntry, Reader, RequestEntry};

/// What is to be served.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) workload: Workload,
    /// Names of the exchanges whose answers are still to be recorded.
    pub(crate) unrecorded: Vec<String>,
    /// What a look at its folder found, where nobody said what it is.
    pub(crate) look: Option<Look>,
}

impl Served {
    /// A workload with all its answers.
    pub(crate) fn complete(workload: Workload) -> Self {
        Self { workload, unrecorded: Vec::new(), look: None }
    }
}

/// The application in a folder, asked for `/`.
///
/// # Errors
///
/// That the folder holds none that is known.
pub(crate) fn in_folder(folder: &Path) -> Result<Served, Mistakes> {
    let place = format!("folder {}", folder.display());
    let look = look(folder).map_err(|problem| {
        Mistakes::one(&place, problem, "name the folder that holds all of it, or say in a stampede.yaml what it is")
    })?;
    let mut mistakes = Gathered::default();
    let reader = Reader { folder, place };
    let section = AppSection::of(Path::new("."));
    let served = serve(&reader, &section, Some(look), folder, &mut mistakes);
    mistakes.finish(served.ok_or(Mistakes(Vec::new())))
}

/// The application of a plan.
pub(crate) fn in_plan(file: &PlanFile, section: &At<AppSection>) -> Result<Served, Mistakes> {
    let mut mistakes = Gathered::default();
    let AppSection { dir, kind, .. } = &section.value;
    let folder = file.folder.join(&dir.value.0);
    let place = format!("{} app.dir {}", file.spot(dir), dir.value.0);
    let mut found = None;
    if !folder.is_dir() {
        return Err(Mistakes::one(place, "is no folder", "correct it; it begins at the plan file's folder"));
    }
    if kind.is_none() {
        match look(&folder) {
            Ok(look) => found = Some(look),
            Err(problem) => return Err(Mistakes::one(place, problem, "correct it, or say what it is with kind")),
        }
    }
    let reader = Reader { folder: &file.folder, place: format!("{} app", file.spot(section)) };
    let served = serve(&reader, &section.value, found, &folder, &mut mistakes);
    mistakes.finish(served.ok_or(Mistakes(Vec::new())))
}

/// Puts what is said over what was found.
fn serve(
    reader: &Reader<'_>,
    section: &AppSection,
    look: Option<Look>,
    folder: &Path,
    mistakes: &mut Gathered,
) -> Option<Served> {
    let mut look = look;
    if let Some(look) = &mut look {
        look.remarks.extend(autoloader::remarks(folder));
    }
    let app = read_app(reader, section, look.as_ref(), mistakes);
    let mut names = BTreeSet::new();
    let (mut exchanges, mut unrecorded) = (Vec::new(), Vec::new());
    let home = At { value: RequestSection::get("/"), line: 0, column: 0 };
    let requests = if section.requests.is_empty() { std::slice::from_ref(&home) } else { &section.requests };
    for request in requests {
        let (entry, is_recorded) = read_request(&request.value);
        if !names.insert(entry.name.clone()) {
            let problem = format!("has two requests named {}", entry.name);
            mistakes.add(&reader.place, problem, "give each a name of its own");
        }
        if !is_recorded {
            unrecorded.push(entry.name.clone());
        }
        exchanges.extend(reader.exchange(entry, mistakes));
    }
    if !exchanges.iter().any(|exchange| exchange.in_load) && !exchanges.is_empty() {
        mistakes.add(&reader.place, "has no request for the load", "leave out load: false from at least one");
    }
    let name = folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let id = WorkloadId::new(name.unwrap_or_else(|| "app".to_owned()));
    let title = look.as_ref().map_or("an application", |look| look.title).to_owned();
    let workload =
        Workload { id, title, apps: vec![app?], exchanges, services: Vec::new(), play: None, audits: Vec::new() };
    Some(Served { workload, unrecorded, look })
}

fn read_app(reader: &Reader<'_>, section: &AppSection, look: Option<&Look>, mistakes: &mut Gathered) -> Option<App> {
    let AppSection {
        dir,
        kind,
        index,
        root,
        files,
        fallback,
        deny,
        handler,
        kernel,
        autoload,
        script,
        function,
        binary,
        worker,
        package,
        command,
        extensions,
        ini,
        env,
        prepare,
        requests: _,
    } = section.clone();
    let kind = kind.map(|kind| kind.value).or(look.map(|look| look.entry))?;
    let (origin, named) =
        extensions.map_or((PhpOrigin::Owner, None), |ExtensionsEntry { origin, names }| (origin, names));
    let words = |command: Vec<Text>| command.into_iter().map(|Text(word)| word).collect();
    let mut environment = look.map(|look| look.env.clone()).unwrap_or_default();
    environment.extend(env.into_iter().map(|(name, Text(value))| (name, value)));
    let entry = AppEntry {
        name: None,
        kind,
        dir: PathBuf::from(dir.value.0),
        index: index.or_else(|| look?.index.clone()),
        root: root.or_else(|| look?.site.root.clone()),
        files: files.or_else(|| look?.site.files),
        fallback: fallback.or_else(|| look?.site.fallback),
        deny: deny.or_else(|| Some(look?.site.deny.clone()).filter(|deny| !deny.is_empty())),
        handler,
        kernel,
        autoload,
        script,
        function,
        binary,
        worker,
        package,
        command,
        extensions: named.or_else(|| Some(look?.extensions.clone())).unwrap_or_default(),
        ini: ini.settings,
        env: environment,
        needs: Vec::new(),
        prepare: prepare
            .map(|commands| commands.into_iter().map(words).collect())
            .or_else(|| Some(look?.prepare.clone()))
            .unwrap_or_default(),
    };
    let php = PhpBase { extensions: origin, ini: ini.origin };
    reader.app(entry, mistakes).map(|app| App { php, ..app })
}

/// A request as a workload has it, and whether its answer is known.
fn read_request(section: &RequestSection) -> (ExchangeEntry, bool) {
    let RequestSection { name, method, path: Text(path), headers, body, body_file, load, once, expect } =
        section.clone();
    let text = |text: Option<Text>| text.map(|Text(text)| text);
    let method = text(method)
        .unwrap_or_else(|| if body.is_some() || body_file.is_some() { "POST".to_owned() } else { "GET".to_owned() });
    let name = text(name).unwrap_or_else(|| format!("{method} {path}"));
    let is_recorded = expect.is_some();
    let ExpectSection { status, body: expected, body_file: file, mask } =
        expect.unwrap_or(ExpectSection { status: 200, body: None, body_file: None, mask: None });
    // Of an application of one's own, an error's status may be all that there is to say.
    let any_body = expected.is_none() && file.is_none();
    let expected = text(expected);
    let expect =
        ExpectEntry { status, body: expected, body_file: file, mask, json_html: None, any_body, encoding: None };
    let headers = headers.into_iter().map(|(name, Text(value))| (name, value)).collect();
    let request = RequestEntry { method, path, headers, body: text(body), body_file };
    (ExchangeEntry { name, load: load.unwrap_or(!once), once, optional: false, request, expect }, is_recorded)
}

impl AppSection {
    /// A folder of which nothing else is said.
    fn of(folder: &Path) -> Self {
        let dir = At { value: Text(folder.display().to_string()), line: 0, column: 0 };
        Self {
            dir,
            kind: None,
            index: None,
            root: None,
            files: None,
            fallback: None,
            deny: None,
            handler: None,
            kernel: None,
            autoload: None,
            script: None,
            function: None,
            binary: None,
            worker: None,
            package: None,
            command: None,
            extensions: None,
            ini: Default::default(),
            env: Default::default(),
            prepare: None,
            requests: Vec::new(),
        }
    }
}

impl RequestSection {
    fn get(path: &str) -> Self {
        Self {
            name: None,
            method: None,
            path: Text(path.to_owned()),
            headers: Default::default(),
            body: None,
            body_file: None,
            load: None,
            once: false,
            expect: None,
        }
    }
}
