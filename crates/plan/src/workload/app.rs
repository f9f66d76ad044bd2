//! An application, as plans and workloads write it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use stampede_core::{App, AppKind, Install, PhpBase, Requirement};

use super::request::RequestSection;
use crate::command::{self, CommandEntry};
use crate::document::{Place, Text, texts};
use crate::mistake::Gathered;
use crate::php_base::{ExtensionsEntry, IniEntry};
use crate::site::{FallbackEntry, SchemeEntry, SiteEntry};

/// What kind of application it is.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KindEntry {
    #[default]
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
            Self::EmbeddedPhp => &["binary", "index", "worker", "static", "deny"],
            Self::GoProgram => &[],
            Self::GoFunction => &["package", "function"],
            Self::Command => &["command"],
        }
    }
}

/// All keys that only some kinds have.
const OF_KINDS: [&str; 14] = [
    "index", "root", "static", "fallback", "deny", "handler", "kernel", "autoload", "script", "function", "binary",
    "worker", "package", "command",
];

/// An application.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AppSection {
    /// Its name, by which --app chooses. plain by default. Several may share one: each runtime serves the first that it can.
    #[schemars(extend("examples" = ["symfony"]))]
    pub(crate) name: Option<Text>,
    /// Its folder; a relative path begins at the folder of this file. It is copied into each run and never served from there.
    #[schemars(extend("examples" = ["."]))]
    pub(crate) dir: Text,
    /// What kind of application it is. By default Stampede finds out by looking at the folder.
    #[schemars(extend("examples" = ["front-controller"]))]
    pub(crate) kind: Option<KindEntry>,
    /// Of a front-controller or embedded-php: the script that answers every request. Of scripts: the one that answers /.
    #[schemars(extend("examples" = ["public/index.php"]))]
    pub(crate) index: Option<PathBuf>,
    /// The public folder (document root). By default the folder of index; of a psr-15-handler the folder public, if there is one.
    #[schemars(extend("examples" = ["public"]))]
    pub(crate) root: Option<PathBuf>,
    /// Whether the web server answers with the files of the public folder itself. True by default.
    #[serde(rename = "static")]
    pub(crate) files: Option<bool>,
    /// Who answers a path that is no file of the public folder: the front controller by default.
    pub(crate) fallback: Option<FallbackEntry>,
    /// What in the public folder is never sent, beside PHP sources and names that begin with a dot: a folder (application/), an
    /// ending (*.yml) or a file name (composer.json).
    #[schemars(extend("examples" = ["[application/, '*.yml']"]))]
    pub(crate) deny: Option<Vec<String>>,
    /// The host that every request names, with a port where it has one. By default the address that it is served at.
    #[schemars(extend("examples" = ["shop.example"]))]
    pub(crate) host: Option<Text>,
    /// How visitors reach it: http by default. With https its servers run behind a proxy that ends TLS: requests carry
    /// X-Forwarded-Proto: https, and PHP has HTTPS=on.
    #[serde(default)]
    #[schemars(extend("examples" = ["https"]))]
    pub(crate) scheme: SchemeEntry,
    /// Of a psr-15-handler: the script that returns the handler.
    pub(crate) handler: Option<PathBuf>,
    /// Of symfony: the class of its kernel. App\Kernel by default.
    #[schemars(extend("examples" = ["App\\Kernel"]))]
    pub(crate) kernel: Option<Text>,
    /// Of symfony or laravel: the script that loads its classes. vendor/autoload.php by default.
    #[schemars(extend("examples" = ["vendor/autoload.php"]))]
    pub(crate) autoload: Option<PathBuf>,
    /// Of a php-function: the script that defines it.
    pub(crate) script: Option<PathBuf>,
    /// Of a php-function or go-function: its name.
    pub(crate) function: Option<Text>,
    /// Of embedded-php: the FrankenPHP binary.
    pub(crate) binary: Option<PathBuf>,
    /// Of embedded-php: the script that is FrankenPHP's worker.
    pub(crate) worker: Option<PathBuf>,
    /// Of a go-function: the package in the module.
    pub(crate) package: Option<PathBuf>,
    /// Of a command: how it is run.
    pub(crate) command: Option<CommandEntry>,
    /// PHP extensions that it needs beside those that your PHP has enabled for each server. minimal, or the word in the list:
    /// only those that are named. A workload is always served with those alone.
    #[schemars(extend("examples" = ["[mbstring, intl]", "minimal", "[minimal, mbstring]"]))]
    pub(crate) extensions: Option<ExtensionsEntry>,
    /// Settings of php.ini that it needs, over those of your PHP. minimal, or minimal: true among them: none of your PHP's. A
    /// workload is always served with those alone.
    #[serde(default)]
    #[schemars(extend("examples" = ["{memory_limit: 256M}", "minimal"]))]
    pub(crate) ini: IniEntry,
    /// Environment variables for the application and for its commands in prepare.
    #[serde(default)]
    #[schemars(extend("examples" = ["{APP_ENV: prod}"]))]
    pub(crate) env: BTreeMap<String, Text>,
    /// Libraries that must be installed. Without one, the runtimes that would serve this application are skipped.
    #[serde(default)]
    #[schemars(extend("examples" = ["[{name: Twig, any_of: [vendor/twig], page: 'https://twig.symfony.com'}]"]))]
    pub(crate) needs: Vec<LibrarySection>,
    /// Commands that run once a study in a copy of the folder, as the servers' user; all trials are copies of that.
    #[schemars(extend("examples" = ["[[php, bin/console, 'cache:warmup']]"]))]
    pub(crate) prepare: Option<Vec<Vec<Text>>>,
    /// Requests. GET / by default.
    #[serde(default)]
    #[schemars(extend("examples" = ["[{path: /}]"]))]
    pub(crate) requests: Vec<RequestSection>,
    /// Whether visitors keep their cookies under load: each connection is a visitor with a jar of its own. False by default: then
    /// every request is a new visitor.
    #[serde(default)]
    pub(crate) cookies: bool,
    /// A scenario that is the load, in place of requests, which are verified alone.
    #[schemars(extend("examples" = ["scenario.yaml"]))]
    pub(crate) scenario: Option<PathBuf>,
}

/// A library that must be installed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LibrarySection {
    /// Its name, for messages.
    #[schemars(extend("examples" = ["Twig"]))]
    name: Text,
    /// Files or folders, from the application's folder; one of them must exist.
    #[schemars(extend("examples" = ["[vendor/twig/twig, /usr/share/php/Twig]"]))]
    any_of: Vec<PathBuf>,
    /// The package of Debian that has it.
    #[schemars(extend("examples" = ["php-twig"]))]
    package: Option<String>,
    /// The page that explains how to install it.
    #[schemars(extend("examples" = ["https://twig.symfony.com/doc/3.x/installation.html"]))]
    page: String,
}

/// The name of an application that is given none.
const PLAIN: &str = "plain";

/// Packages of an application and the PHP extension that each uses wherever Composer's autoloader is read, without a word of it
/// among its requirements. webman's helpers ask `Phar` whether they run from an archive.
const ASKED_BY_AUTOLOADERS: [(&str, &str); 1] = [("vendor/workerman/webman-framework", "phar")];

impl AppSection {
    /// The application; its folder begins at `folder`. None where something is mistaken without which it is none.
    pub(crate) fn read(self, folder: &Path, place: &Place<'_>, mistakes: &mut Gathered) -> Option<App> {
        let Self {
            name,
            dir: Text(dir),
            kind,
            index,
            root,
            files,
            fallback,
            deny,
            host,
            scheme,
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
            requests: _,
            cookies: _,
            scenario: _,
        } = self;
        // Without the dots of `./.`, which messages would show.
        let source: PathBuf = folder.join(&dir).components().collect();
        let is_there = source.is_dir();
        if !is_there {
            mistakes.add(place.key("dir"), "is no folder", "correct it; it begins at the folder of this file");
        }
        let name = name.map_or_else(|| PLAIN.to_owned(), |Text(name)| name);
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            mistakes.add(place.key("name"), "is no name of an app", "use letters, digits and -");
        }
        let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_.-/".contains(c));
        // A script of the copy, such as one that is preloaded.
        let is_value = |text: &str| plain(text.strip_prefix("@{app}/").unwrap_or(text));
        for (setting, _) in ini.settings.iter().filter(|(setting, value)| !plain(setting) || !is_value(value)) {
            let problem = "has characters that mean something else in php.ini";
            mistakes.add(place.key("ini").key(setting), problem, "use letters, digits and _ . - / only");
        }
        for (index, _) in prepare.iter().flatten().enumerate().filter(|(_, command)| command.is_empty()) {
            mistakes.add(place.key("prepare").item(index), "is an empty command", "remove it");
        }
        let kind = kind?;
        for place in OF_KINDS.iter().filter(|key| !kind.fields().contains(key)).filter_map(|key| place.get(key)) {
            mistakes.add(place, format!("is no key of a {}", kind.name()), "remove it");
        }
        if !is_there {
            return None;
        }
        let env = texts(env);
        let installs = prepare.iter().flatten().any(|command| command.first().is_some_and(|word| word.0 == "composer"));
        let fields = Fields { place, kind: kind.name(), dir: &dir, source: &source, installs };
        let kind = match kind {
            KindEntry::FrontController => {
                AppKind::FrontController { index: fields.file("index", "public/index.php", index, mistakes)? }
            }
            KindEntry::Scripts => AppKind::Scripts { index: fields.file("index", "index.php", index, mistakes)? },
            KindEntry::Psr15Handler => {
                AppKind::Psr15Handler { handler: fields.file("handler", "handler.php", handler, mistakes)? }
            }
            KindEntry::Symfony => {
                let kernel = kernel.map_or_else(|| "App\\Kernel".to_owned(), |Text(class)| class);
                if kernel.is_empty() || !kernel.chars().all(|c| c.is_alphanumeric() || "_\\".contains(c)) {
                    mistakes.add(place.key("kernel"), "names no class", "for example kernel: App\\Kernel");
                }
                AppKind::Symfony { kernel, autoload: fields.framework(autoload, mistakes)? }
            }
            KindEntry::Laravel => AppKind::Laravel { autoload: fields.framework(autoload, mistakes)? },
            KindEntry::PhpFunction => {
                let script = fields.file("script", "index.php", script, mistakes);
                let function = fields.needed("function", "hello", function, mistakes);
                AppKind::PhpFunction { script: script?, function: function?.0 }
            }
            KindEntry::EmbeddedPhp => {
                let binary = fields.file("binary", "my-app", binary, mistakes);
                let index = fields.needed("index", "public/index.php", index, mistakes);
                AppKind::EmbeddedPhp { binary: binary?, index: index?, worker }
            }
            KindEntry::GoProgram => AppKind::GoProgram,
            KindEntry::GoFunction => {
                let module = go_module(&source, place, mistakes);
                let function = fields.needed("function", "Serve", function, mistakes);
                let module = module?;
                let package = match package {
                    Some(folder) => format!("{module}/{}", folder.display()),
                    None => module.clone(),
                };
                AppKind::GoFunction { module, package, function: function?.0 }
            }
            KindEntry::Command => {
                let entry = fields.needed("command", "{run: [./server]}", command, mistakes)?;
                AppKind::Command(command::read(entry, &source, &env, &place.key("command"), mistakes))
            }
        };
        let needs = needs
            .into_iter()
            .map(|LibrarySection { name: Text(name), any_of, package, page }| Requirement::AnyFile {
                key: None,
                name,
                paths: any_of.into_iter().map(|path| source.join(path)).collect(),
                install: Install { package, page },
            })
            .collect();
        let ExtensionsEntry { origin, names } = extensions.unwrap_or_default();
        let php = PhpBase { extensions: origin, ini: ini.origin };
        let mut extensions = names.unwrap_or_default();
        for (package, extension) in ASKED_BY_AUTOLOADERS {
            if source.join(package).is_dir() && !extensions.iter().any(|named| named == extension) {
                extensions.push(extension.to_owned());
            }
        }
        let host = host.map(|Text(host)| host);
        let site = SiteEntry { host, scheme, root, files, fallback, deny: deny.unwrap_or_default() };
        let site = site.read(&kind, &source, place, mistakes);
        let prepare = prepare.into_iter().flatten().map(|command| command.into_iter().map(|Text(word)| word).collect());
        let (ini, prepare, logs) = (ini.settings, prepare.collect(), Vec::new());
        Some(App { name, kind, source, site, extensions, php, ini, env, needs, prepare, logs })
    }
}

/// The fields of an application that depend on its kind.
struct Fields<'a> {
    place: &'a Place<'a>,
    kind: &'a str,
    dir: &'a str,
    source: &'a Path,
    /// Whether Composer makes its `vendor` in the copies that are served.
    installs: bool,
}

impl Fields<'_> {
    /// The value of a field that this kind of application must have.
    fn needed<T>(&self, name: &str, example: &str, value: Option<T>, mistakes: &mut Gathered) -> Option<T> {
        if value.is_none() {
            mistakes.add(self.place, format!("is a {} without {name}", self.kind), format!("add {name}: {example}"));
        }
        value
    }

    /// The same for one that names a file of the application.
    fn file(&self, name: &str, example: &str, value: Option<PathBuf>, mistakes: &mut Gathered) -> Option<PathBuf> {
        let file = self.needed(name, example, value, mistakes)?;
        if !self.source.join(&file).is_file() {
            match self.place.get(name) {
                Some(place) => mistakes.add(place, format!("is no file in {}", self.dir), "correct it"),
                None => {
                    let problem = format!("needs the file {}, which is not in {}", file.display(), self.dir);
                    mistakes.add(self.place, problem, "add it, or correct dir or kind");
                }
            }
        }
        Some(file)
    }

    /// What makes the classes of a framework's application known; Composer's own by default. The framework serves through
    /// `public/index.php`.
    fn framework(&self, autoload: Option<PathBuf>, mistakes: &mut Gathered) -> Option<PathBuf> {
        self.file("index", "public/index.php", Some("public/index.php".into()), mistakes);
        let autoload = autoload.unwrap_or_else(|| "vendor/autoload.php".into());
        match self.installs {
            true => Some(autoload),
            false => self.file("autoload", "autoload.php", Some(autoload), mistakes),
        }
    }
}

/// The path of the Go module in a folder. <https://go.dev/ref/mod#go-mod-file-module>
fn go_module(source: &Path, place: &Place<'_>, mistakes: &mut Gathered) -> Option<String> {
    let text = fs::read_to_string(source.join("go.mod")).unwrap_or_default();
    let module = text.lines().find_map(|line| line.trim().strip_prefix("module ")).map(|path| path.trim().to_owned());
    if module.is_none() {
        mistakes.add(place, "is a go-function without a go.mod that names its module", "run go mod init");
    }
    module
}
