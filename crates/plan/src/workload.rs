//! `workload.yaml`: an application with its requests and the answers that it must give.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use stampede_core::{
    App, AppKind, Body, Exchange, Expectation, Install, PhpBase, Play, Request, Requirement, Workload, WorkloadId,
};

use crate::audit::AuditEntry;
use crate::command::{self, CommandEntry};
use crate::mistake::{Gathered, Mistakes};
use crate::need::NeedsEntry;
use crate::site::{FallbackEntry, SiteEntry};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadFile {
    title: String,
    #[serde(default)]
    services: NeedsEntry,
    apps: Vec<AppEntry>,
    exchanges: Vec<ExchangeEntry>,
    scenario: Option<PathBuf>,
    #[serde(default)]
    generate: Vec<String>,
    #[serde(default)]
    after: Vec<AuditEntry>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KindEntry {
    FrontController,
    Scripts,
    #[serde(rename = "psr-15-handler")]
    Psr15Handler,
    Symfony,
    Laravel,
    PhpFunction,
    EmbeddedPhp,
    GoProgram,
    GoFunction,
    Command,
}

impl KindEntry {
    /// Its name in the file.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::FrontController => "front-controller",
            Self::Scripts => "scripts",
            Self::Psr15Handler => "psr-15-handler",
            Self::Symfony => "symfony",
            Self::Laravel => "laravel",
            Self::PhpFunction => "php-function",
            Self::EmbeddedPhp => "embedded-php",
            Self::GoProgram => "go-program",
            Self::GoFunction => "go-function",
            Self::Command => "command",
        }
    }

    /// The fields that it has beside those of every application.
    pub(crate) fn fields(&self) -> &'static [&'static str] {
        match self {
            Self::FrontController | Self::Scripts => &["index", "root", "static", "fallback", "deny"],
            Self::Psr15Handler => &["handler", "root", "static", "deny"],
            Self::Symfony => &["kernel", "autoload", "static"],
            Self::Laravel => &["autoload", "static"],
            Self::PhpFunction => &["script", "function"],
            Self::EmbeddedPhp => &["binary", "index", "worker"],
            Self::GoProgram => &[],
            Self::GoFunction => &["package", "function"],
            Self::Command => &["command"],
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AppEntry {
    pub(crate) name: Option<String>,
    pub(crate) kind: KindEntry,
    pub(crate) dir: PathBuf,
    pub(crate) index: Option<PathBuf>,
    pub(crate) root: Option<PathBuf>,
    #[serde(rename = "static")]
    pub(crate) files: Option<bool>,
    pub(crate) fallback: Option<FallbackEntry>,
    pub(crate) deny: Option<Vec<String>>,
    pub(crate) handler: Option<PathBuf>,
    pub(crate) kernel: Option<String>,
    pub(crate) autoload: Option<PathBuf>,
    pub(crate) script: Option<PathBuf>,
    pub(crate) function: Option<String>,
    pub(crate) binary: Option<PathBuf>,
    pub(crate) worker: Option<PathBuf>,
    pub(crate) package: Option<PathBuf>,
    pub(crate) command: Option<CommandEntry>,
    #[serde(default)]
    pub(crate) extensions: Vec<String>,
    #[serde(default)]
    pub(crate) ini: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) needs: Vec<NeedEntry>,
    #[serde(default)]
    pub(crate) prepare: Vec<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NeedEntry {
    name: String,
    any_of: Vec<PathBuf>,
    package: Option<String>,
    page: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExchangeEntry {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) load: bool,
    #[serde(default)]
    pub(crate) once: bool,
    #[serde(default)]
    pub(crate) optional: bool,
    pub(crate) request: RequestEntry,
    pub(crate) expect: ExpectEntry,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestEntry {
    pub(crate) method: String,
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Option<String>,
    pub(crate) body_file: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectEntry {
    pub(crate) status: u16,
    pub(crate) body: Option<String>,
    pub(crate) body_file: Option<PathBuf>,
    pub(crate) mask: Option<String>,
    pub(crate) json_html: Option<JsonHtmlEntry>,
    /// Said where no body is expected, so that none is forgotten.
    #[serde(default)]
    pub(crate) any_body: bool,
    pub(crate) encoding: Option<EncodingEntry>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EncodingEntry {
    Gzip,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JsonHtmlEntry {
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
    let WorkloadFile { title, services, apps, exchanges, scenario, generate, after } = parsed;
    let reader = Reader { folder, place };
    let apps = apps.into_iter().filter_map(|entry| reader.app(entry, &mut mistakes)).collect::<Vec<_>>();
    let exchanges = exchanges.into_iter().filter_map(|entry| reader.exchange(entry, &mut mistakes)).collect::<Vec<_>>();
    if apps.is_empty() {
        mistakes.add(&reader.place, "has no app", "add at least one entry under apps");
    }
    match &scenario {
        Some(_) => reader.check_play(&exchanges, &mut mistakes),
        None if !exchanges.iter().any(|exchange| exchange.in_load) => {
            let fix = "mark at least one exchange with load: true, or name a scenario";
            mistakes.add(&reader.place, "has no request for the load", fix);
        }
        None => {}
    }
    if scenario.is_none() && !generate.is_empty() {
        mistakes.add(&reader.place, "generates feeders without a scenario", "leave out generate, or name a scenario");
    }
    if scenario.is_none() && !after.is_empty() {
        mistakes.add(&reader.place, "counts steps under after without a scenario", "leave out after");
    }
    let services = services.read(folder, &reader.place, &mut mistakes);
    let audits = after.into_iter().map(|entry| entry.read(&services, &reader.place, &mut mistakes)).collect();
    let play = scenario.map(|scenario| Play { folder: folder.to_owned(), scenario, generate });
    let name = folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let id = WorkloadId::new(name.unwrap_or_else(|| "workload".to_owned()));
    mistakes.finish(Ok(Workload { id, title, apps, exchanges, services, play, audits }))
}

/// The fields of an application that depend on its kind.
struct Fields<'a> {
    place: &'a str,
    kind: &'a str,
    dir: &'a Path,
    source: &'a Path,
}

impl Fields<'_> {
    /// The value of a field that this kind of application must have.
    fn needed<T>(&self, name: &str, example: &str, value: Option<T>, mistakes: &mut Gathered) -> Option<T> {
        if value.is_none() {
            mistakes.add(self.place, format!("has a {} without {name}", self.kind), format!("add {name}: {example}"));
        }
        value
    }

    /// The same for one that names a file of the application.
    fn file(&self, name: &str, example: &str, value: Option<PathBuf>, mistakes: &mut Gathered) -> Option<PathBuf> {
        let file = self.needed(name, example, value, mistakes)?;
        if !self.source.join(&file).is_file() {
            let problem = format!("names the file {}, which is not in {}", file.display(), self.dir.display());
            mistakes.add(self.place, problem, format!("correct {name}"));
        }
        Some(file)
    }

    /// What makes the classes of a framework's application known; Composer's own where nothing else is said. The framework
    /// serves through `public/index.php`.
    fn framework(&self, autoload: Option<PathBuf>, mistakes: &mut Gathered) -> Option<PathBuf> {
        self.file("index", "public/index.php", Some("public/index.php".into()), mistakes);
        self.file("autoload", "autoload.php", Some(autoload.unwrap_or_else(|| "vendor/autoload.php".into())), mistakes)
    }
}

/// The name of an application that is given none.
const PLAIN: &str = "plain";

/// Packages of an application and the PHP extension that each uses wherever Composer's autoloader is read, without a word of it
/// among its requirements. webman's helpers ask `Phar` whether they run from an archive.
const ASKED_BY_AUTOLOADERS: [(&str, &str); 1] = [("vendor/workerman/webman-framework", "phar")];

/// The path of the Go module in a folder. <https://go.dev/ref/mod#go-mod-file-module>
fn go_module(source: &Path, place: &str, mistakes: &mut Gathered) -> Option<String> {
    let text = fs::read_to_string(source.join("go.mod")).unwrap_or_default();
    let module = text.lines().find_map(|line| line.trim().strip_prefix("module ")).map(|path| path.trim().to_owned());
    if module.is_none() {
        mistakes.add(place, "has a go-function without a go.mod that names its module", "run go mod init");
    }
    module
}

pub(crate) struct Reader<'a> {
    pub(crate) folder: &'a Path,
    /// What mistakes call the file, or the place in it.
    pub(crate) place: String,
}

impl Reader<'_> {
    pub(crate) fn app(&self, entry: AppEntry, mistakes: &mut Gathered) -> Option<App> {
        let AppEntry {
            name,
            kind,
            dir,
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
            needs,
            prepare,
        } = entry;
        let source = self.folder.join(&dir);
        if !source.is_dir() {
            mistakes.add(&self.place, format!("names the folder {}, which is not there", dir.display()), "correct dir");
        }
        for (name, given) in [
            ("index", index.is_some()),
            ("root", root.is_some()),
            ("static", files.is_some()),
            ("fallback", fallback.is_some()),
            ("deny", deny.is_some()),
            ("handler", handler.is_some()),
            ("kernel", kernel.is_some()),
            ("autoload", autoload.is_some()),
            ("script", script.is_some()),
            ("function", function.is_some()),
            ("binary", binary.is_some()),
            ("worker", worker.is_some()),
            ("package", package.is_some()),
            ("command", command.is_some()),
        ] {
            if given && !kind.fields().contains(&name) {
                mistakes.add(&self.place, format!("gives a {} a {name}", kind.name()), format!("remove {name}"));
            }
        }
        let fields = Fields { place: &self.place, kind: kind.name(), dir: &dir, source: &source };
        let kind = match kind {
            KindEntry::FrontController => {
                AppKind::FrontController { index: fields.file("index", "public/index.php", index, mistakes)? }
            }
            KindEntry::Scripts => AppKind::Scripts { index: fields.file("index", "index.php", index, mistakes)? },
            KindEntry::Psr15Handler => {
                AppKind::Psr15Handler { handler: fields.file("handler", "handler.php", handler, mistakes)? }
            }
            KindEntry::Symfony => {
                let kernel = kernel.unwrap_or_else(|| "App\\Kernel".to_owned());
                if kernel.is_empty() || !kernel.chars().all(|c| c.is_alphanumeric() || "_\\".contains(c)) {
                    mistakes.add(&self.place, format!("names no class: {kernel:?}"), "write kernel: App\\Kernel");
                }
                AppKind::Symfony { kernel, autoload: fields.framework(autoload, mistakes)? }
            }
            KindEntry::Laravel => AppKind::Laravel { autoload: fields.framework(autoload, mistakes)? },
            KindEntry::PhpFunction => {
                let script = fields.file("script", "index.php", script, mistakes);
                let function = fields.needed("function", "hello", function, mistakes);
                AppKind::PhpFunction { script: script?, function: function? }
            }
            KindEntry::EmbeddedPhp => {
                let binary = fields.file("binary", "my-app", binary, mistakes);
                let index = fields.needed("index", "public/index.php", index, mistakes);
                AppKind::EmbeddedPhp { binary: binary?, index: index?, worker }
            }
            KindEntry::GoProgram => AppKind::GoProgram,
            KindEntry::GoFunction => {
                let module = go_module(&source, &self.place, mistakes);
                let function = fields.needed("function", "Serve", function, mistakes);
                let module = module?;
                let package = match package {
                    Some(folder) => format!("{module}/{}", folder.display()),
                    None => module.clone(),
                };
                AppKind::GoFunction { module, package, function: function? }
            }
            KindEntry::Command => {
                let entry = fields.needed("command", "{run: [./server]}", command, mistakes)?;
                AppKind::Command(command::read(entry, &env, &self.place, mistakes))
            }
        };
        let needs = needs
            .into_iter()
            .map(|NeedEntry { name, any_of, package, page }| Requirement::AnyFile {
                key: None,
                name,
                paths: any_of.into_iter().map(|path| source.join(path)).collect(),
                install: Install { package, page },
            })
            .collect();
        let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_.-/".contains(c));
        for (setting, value) in ini.iter().filter(|(setting, value)| !plain(setting) || !plain(value)) {
            let problem = format!("sets {setting:?} to {value:?} under ini, which php.ini would read otherwise");
            mistakes.add(&self.place, problem, "use letters, digits and _ . - / only");
        }
        let name = name.unwrap_or_else(|| PLAIN.to_owned());
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            mistakes.add(&self.place, format!("names an app {name:?}"), "use letters, digits and -");
        }
        if prepare.iter().any(Vec::is_empty) {
            mistakes.add(&self.place, "has an empty command in prepare", "leave it out");
        }
        let mut extensions = extensions;
        for (package, extension) in ASKED_BY_AUTOLOADERS {
            if source.join(package).is_dir() && !extensions.iter().any(|named| named == extension) {
                extensions.push(extension.to_owned());
            }
        }
        let site = SiteEntry { root, files, fallback, deny: deny.unwrap_or_default() };
        let site = site.read(&kind, &source, &self.place, mistakes);
        // A workload names what it needs, so that its figures do not hang on what this machine's PHP has enabled.
        let php = PhpBase::default();
        Some(App { name, kind, source, site, extensions, php, ini, env, needs, prepare })
    }

    /// Sees that a workload with a scenario leaves the load to it, and can be asked whether it is ready.
    fn check_play(&self, exchanges: &[Exchange], mistakes: &mut Gathered) {
        for exchange in exchanges.iter().filter(|exchange| exchange.in_load) {
            let problem = format!("marks {} with load: true beside a scenario, which is the load", exchange.name);
            mistakes.add(&self.place, problem, "leave out load: true");
        }
        if exchanges.iter().all(|exchange| exchange.once) {
            let fix = "add one: the first shows that a server is ready, and is sent until it does";
            mistakes.add(&self.place, "has a scenario and no exchange that may be sent again", fix);
        }
    }

    pub(crate) fn exchange(&self, entry: ExchangeEntry, mistakes: &mut Gathered) -> Option<Exchange> {
        let ExchangeEntry { name, load, once, optional, request, expect } = entry;
        let RequestEntry { method, path, headers, body, body_file } = request;
        let ExpectEntry { status, body: expected, body_file: expected_file, mask, json_html, any_body, encoding } =
            expect;
        let body = self.one_body(&name, "request", body, body_file, mistakes)?;
        let is_given = json_html.is_some() || expected.is_some() || expected_file.is_some();
        if is_given == any_body {
            let (problem, fix) = match any_body {
                true => ("expects a body and any in", "keep the body or any_body, not both"),
                false => (
                    "expects no body in",
                    "write body, body_file or json_html (body: '' where it is empty), or any_body: true",
                ),
            };
            mistakes.add(&self.place, format!("{problem} {name}"), fix);
        }
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
            (None, text, file) => {
                let bytes = self.one_body(&name, "expect", text, file, mistakes)?;
                mask.as_deref().map_or_else(|| Body::Bytes(bytes.clone()), |mask| masked(&bytes, mask))
            }
            (Some(_), _, _) => {
                mistakes.add(&self.place, format!("expects two bodies in {name}"), "keep json_html or body, not both");
                return None;
            }
        };
        if let (Some(mask), Body::Any | Body::Bytes(_) | Body::JsonHtml { .. }) = (&mask, &expected) {
            let problem = format!("has the mask {mask:?} in {name}, which is not in its body");
            mistakes.add(&self.place, problem, "write it in the body where the answer varies, or leave it out");
        }
        if !path.starts_with('/') {
            mistakes.add(&self.place, format!("has a path without a leading / in {name}"), "write an absolute path");
        }
        if !(100..600).contains(&status) {
            mistakes.add(&self.place, format!("expects status {status} in {name}"), "expect a status from 100 to 599");
        }
        let accepts =
            |(name, value): (&String, &String)| name.eq_ignore_ascii_case("accept-encoding") && value.contains("gzip");
        if encoding.is_some() && !headers.iter().any(accepts) {
            let problem = format!("expects a gzip-coded answer in {name}, which does not accept one");
            mistakes.add(&self.place, problem, "add headers: {Accept-Encoding: gzip}, or leave out encoding");
        }
        if load && optional {
            let problem = format!("has {name} under load, and is optional");
            mistakes.add(&self.place, problem, "leave out load or optional");
        }
        if load && once {
            let problem = format!("sends {name} once and under load, where it is sent again and again");
            mistakes.add(&self.place, problem, "leave out load or once");
        }
        let request = Request { method, path, headers, body };
        let expect = Expectation { status, body: expected, gzip: matches!(encoding, Some(EncodingEntry::Gzip)) };
        Some(Exchange { name, request, expect, in_load: load, once, optional })
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

/// A body in which each occurrence of the mask stands for anything.
fn masked(body: &[u8], mask: &str) -> Body {
    let (mut parts, mut rest) = (Vec::new(), body);
    while let Some(at) = rest.windows(mask.len().max(1)).position(|window| window == mask.as_bytes()) {
        parts.push(rest[..at].to_vec());
        rest = &rest[at + mask.len()..];
    }
    if parts.is_empty() {
        return Body::Bytes(body.to_vec());
    }
    parts.push(rest.to_vec());
    Body::Masked(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(yaml: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("php")).unwrap();
        fs::write(folder.path().join("php/index.php"), "<?php").unwrap();
        fs::create_dir(folder.path().join("php/public")).unwrap();
        fs::write(folder.path().join("php/public/index.php"), "<?php").unwrap();
        fs::write(folder.path().join("php/go.mod"), "module m/n\n\ngo 1.19\n").unwrap();
        fs::write(folder.path().join("workload.yaml"), yaml).unwrap();
        folder
    }

    #[test]
    fn all_mistakes_of_a_workload_are_told_at_once() {
        let folder = folder(
            "title: t\n\
             apps: [{kind: front-controller, dir: php}, {kind: go-program, dir: nowhere, handler: h.php},\n\
             {kind: php-function, dir: php, script: none.php}, {kind: symfony, dir: php, kernel: 'a b'},\n\
             {name: a/b, kind: go-program, dir: php, ini: {memory_limit: '1; x'}}]\n\
             exchanges:\n\
             - {name: a, request: {method: GET, path: x}, expect: {status: 99, body_file: none.txt}}\n\
             - {name: b, request: {method: GET, path: /}, expect: {status: 200}}\n\
             - {name: c, request: {method: GET, path: /}, expect: {status: 200, any_body: true, body: c}}\n\
             - {name: d, request: {method: GET, path: /}, expect: {status: 200, body: d, encoding: gzip}}\n\
             - {name: e, load: true, optional: true, request: {method: GET, path: y}, expect: {status: 200, body: e}}\n",
        );
        let Mistakes(mistakes) = read(folder.path()).unwrap_err();
        let problems = mistakes.iter().map(|mistake| mistake.problem.as_str()).collect::<Vec<_>>().join("\n");
        for part in [
            "a front-controller without index",
            "nowhere",
            "gives a go-program a handler",
            "names the file none.php",
            "a php-function without function",
            "names no class",
            "names the file vendor/autoload.php",
            "names an app \"a/b\"",
            "sets \"memory_limit\" to \"1; x\"",
            "none.txt",
            "expects no body in b",
            "expects a body and any in c",
            "expects a gzip-coded answer in d, which does not accept one",
            "has e under load, and is optional",
        ] {
            assert!(problems.contains(part), "{part} in {problems}");
        }
    }

    #[test]
    fn what_is_sent_once_is_not_part_of_the_load() {
        let text = |more: &str| {
            format!(
                "title: t\napps: [{{kind: go-program, dir: php}}]\nexchanges:\n\
                 - {{name: a, load: true, request: {{method: GET, path: /}}, expect: {{status: 200, body: ''}}}}\n\
                 - {{name: b, once: true{more}, request: {{method: POST, path: /}}, expect: {{status: 201, body: ''}}}}\n"
            )
        };
        let workload = read(folder(&text("")).path()).unwrap();
        assert_eq!(workload.exchanges.iter().map(|exchange| exchange.once).collect::<Vec<_>>(), [false, true]);
        assert_eq!(workload.load_mix().count(), 1);
        let error = read(folder(&text(", load: true")).path()).unwrap_err().to_string();
        assert!(error.contains("sends b once and under load"), "{error}");
    }

    #[test]
    fn an_unknown_key_is_told_with_its_line() {
        let folder = folder("title: t\nspeed: 11\napps: []\nexchanges: []\n");
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("speed") && error.contains('2'), "{error}");
    }

    #[test]
    fn each_kind_of_application_is_read() {
        let exchanges =
            "exchanges: [{name: a, load: true, request: {method: GET, path: /}, expect: {status: 200, body: ''}}]\n";
        let php = PathBuf::from("index.php");
        for (entry, kind) in [
            ("{kind: front-controller, dir: php, index: index.php}", AppKind::FrontController { index: php.clone() }),
            ("{kind: psr-15-handler, dir: php, handler: index.php}", AppKind::Psr15Handler { handler: php.clone() }),
            (
                "{kind: symfony, dir: php, autoload: index.php}",
                AppKind::Symfony { kernel: "App\\Kernel".to_owned(), autoload: php.clone() },
            ),
            ("{kind: laravel, dir: php, autoload: index.php}", AppKind::Laravel { autoload: php.clone() }),
            (
                "{kind: php-function, dir: php, script: index.php, function: hello}",
                AppKind::PhpFunction { script: php.clone(), function: "hello".to_owned() },
            ),
            (
                "{kind: embedded-php, dir: php, binary: index.php, index: public/a.php, worker: w.php}",
                AppKind::EmbeddedPhp { binary: php, index: "public/a.php".into(), worker: Some("w.php".into()) },
            ),
            ("{kind: go-program, dir: php}", AppKind::GoProgram),
            (
                "{kind: go-function, dir: php, package: api, function: Serve}",
                AppKind::GoFunction {
                    module: "m/n".to_owned(),
                    package: "m/n/api".to_owned(),
                    function: "Serve".to_owned(),
                },
            ),
        ] {
            let folder = folder(&format!("title: t\napps: [{entry}]\n{exchanges}"));
            assert_eq!(read(folder.path()).unwrap().apps[0].kind, kind);
        }
    }

    #[test]
    fn a_mask_stands_for_a_part_that_varies() {
        for (body, mask, read) in [
            ("a~b", "~", Body::Masked(vec![b"a".to_vec(), b"b".to_vec()])),
            ("~", "~", Body::Masked(vec![Vec::new(), Vec::new()])),
            ("a~~b~~c", "~~", Body::Masked(vec![b"a".to_vec(), b"b".to_vec(), b"c".to_vec()])),
            ("ab", "~", Body::Bytes(b"ab".to_vec())),
            ("ab", "", Body::Bytes(b"ab".to_vec())),
        ] {
            assert_eq!(masked(body.as_bytes(), mask), read, "{body} {mask}");
        }
    }

    #[test]
    fn a_scenario_stands_in_place_of_exchanges_marked_as_load() {
        let exchanges = |load: bool| {
            format!(
                "exchanges: [{{name: a, load: {load}, request: {{method: GET, path: /}}, expect: {{status: 200, body: ''}}}}]\n"
            )
        };
        let apps = "title: t\napps: [{kind: go-program, dir: php}]\n";
        let after = "after: [{name: n, answers: {step: s, status: 201}, path: /n}]\n";
        let query = "after: [{name: n, answers: {step: s, status: 201}, query: {service: mariadb, sql: S}}]\n";
        for (yaml, told) in [
            (format!("{apps}{}scenario: s.yaml\n{after}", exchanges(false)), None),
            (format!("{apps}{}scenario: s.yaml\n", exchanges(true)), Some("marks a with load: true beside a scenario")),
            (format!("{apps}exchanges: []\nscenario: s.yaml\n"), Some("has a scenario and no exchange")),
            (
                format!("{apps}{}scenario: s.yaml\n", exchanges(false).replace("load: false", "once: true")),
                Some("has a scenario and no exchange that may be sent again"),
            ),
            (format!("{apps}{}{after}", exchanges(true)), Some("counts steps under after without a scenario")),
            (format!("{apps}{}generate: [a]\n", exchanges(true)), Some("generates feeders without a scenario")),
            (format!("{apps}{}scenario: s.yaml\n{query}", exchanges(false)), Some("asks mariadb for n, which is not")),
            (
                format!("{apps}{}scenario: s.yaml\n{}", exchanges(false), after.replace(", path: /n", "")),
                Some("asks nobody for n"),
            ),
        ] {
            let folder = folder(&yaml);
            let problems = read(folder.path()).err().map(|mistakes| mistakes.to_string());
            match (problems, told) {
                (None, None) => {}
                (Some(problems), Some(told)) if problems.contains(told) => {}
                (problems, told) => panic!("{told:?}: {problems:?}\n{yaml}"),
            }
        }
    }

    #[test]
    fn readiness_is_asked_for_by_what_may_be_sent_again() {
        let folder = folder(
            "title: t\napps: [{kind: go-program, dir: php}]\nscenario: s.yaml\nexchanges:\n\
             - {name: a, once: true, request: {method: POST, path: /a}, expect: {status: 201, body: ''}}\n\
             - {name: b, request: {method: GET, path: /b}, expect: {status: 200, body: ''}}\n",
        );
        let workload = read(folder.path()).unwrap();
        assert_eq!(workload.first_request().map(|request| request.path.as_str()), Some("/b"));
    }

    #[test]
    fn a_workload_needs_a_request_for_the_load() {
        let app = "title: t\napps: [{kind: go-program, dir: php}]\n";
        let folder = folder(&format!(
            "{app}exchanges: [{{name: a, request: {{method: GET, path: /}}, expect: {{status: 200, body: ''}}}}]\n"
        ));
        let problem = read(folder.path()).unwrap_err().to_string();
        assert!(problem.contains("has no request for the load"), "{problem}");
    }

    #[test]
    fn a_complete_workload_is_read() {
        let folder = folder(
            "title: t\n\
             apps: [{kind: front-controller, dir: php, index: index.php, extensions: [mbstring]}]\n\
             exchanges:\n\
             - {name: a, load: true, request: {method: GET, path: /}, expect: {status: 200, body: hi}}\n\
             - {name: b, optional: true, request: {method: GET, path: /, headers: {accept-encoding: gzip}},\
                expect: {status: 200, any_body: true, encoding: gzip}}\n",
        );
        let workload = read(folder.path()).unwrap();
        assert_eq!(
            workload.exchanges.iter().map(|it| (it.optional, it.expect.gzip)).collect::<Vec<_>>(),
            [(false, false), (true, true)]
        );
        assert_eq!(workload.exchanges[1].expect.body, Body::Any);
        assert_eq!(workload.load_mix().map(|exchange| exchange.name.as_str()).collect::<Vec<_>>(), ["a"]);
        assert_eq!(workload.exchanges[0].expect.body, Body::Bytes(b"hi".to_vec()));
        assert_eq!(workload.apps[0].extensions, ["mbstring"]);
    }

    #[test]
    fn what_an_autoloader_asks_for_is_given_to_every_runtime() {
        let folder = folder(
            "title: t\n\
             apps: [{kind: front-controller, dir: php, index: index.php}]\n\
             exchanges:\n\
             - {name: a, load: true, request: {method: GET, path: /}, expect: {status: 200, body: hi}}\n",
        );
        let extensions = || read(folder.path()).unwrap().apps[0].extensions.clone();
        assert!(extensions().is_empty());
        fs::create_dir_all(folder.path().join("php/vendor/workerman/webman-framework")).unwrap();
        assert_eq!(extensions(), ["phar"]);
    }
}
