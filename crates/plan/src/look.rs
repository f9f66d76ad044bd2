//! What a folder holds: which kind of application, of which framework, and what it needs.
//!
//! A framework is a row of a table: what gives it away, and how it is then served. A row that fits by one of its packages comes before
//! all that fit by files. Without a framework, the public folder is looked for where public folders usually are.

mod composer;
mod framework;
mod public;
mod server;
mod source;
mod table;
mod user_ini;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use self::composer::Composer;
use self::framework::{Entrance, Framework, normal};
use self::server::{Brought, brought};
use self::table::FRAMEWORKS;
use self::user_ini::UserIni;
use crate::command::CommandEntry;
use crate::drivers;
use crate::site::{FallbackEntry, SiteEntry};
use crate::workload::KindEntry;

/// What PHP has unless it is left out when it is built, and some distributions keep in files of their own.
/// <https://www.php.net/manual/en/extensions.membership.php#extensions.membership.bundled>
const BUNDLED: [&str; 4] = ["ctype", "fileinfo", "iconv", "tokenizer"];

/// What makes a framework's classes known to those who load its kernel, and the script that else answers each request.
const AUTOLOAD: &str = "vendor/autoload.php";
const FRONT: &str = "public/index.php";

/// Its own server is that of Octane, which has runtimes.
const OCTANE: &str = "laravel-octane";

const NO_PACKAGES: &str = "without vendor/autoload.php its kernel cannot be kept by a worker: it is served through its front \
                           controller, which starts the framework afresh for each request";
const NO_CLOSURE: &str = "its front controller does not return a closure that makes its kernel (symfony/runtime), so workers do \
                          not keep that: it is served through its front controller";
const OTHER_FRONT: &str = "workers keep it only where public/index.php is its front controller";

/// Folders that hold no application by themselves, beside hidden ones.
const NOT_LOOKED_INTO: [&str; 2] = ["vendor", "node_modules"];
/// So many applications one folder down are named.
const MOST_BELOW: usize = 5;

/// What was found in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// What programs call its framework, or the server that it brings: `symfony`; none where it is of none that is known.
    pub framework: Option<&'static str>,
    /// `Symfony application`.
    pub title: &'static str,
    /// Its kind, as plans write it: `front-controller`.
    pub kind: &'static str,
    /// The script that answers every request, where its kind has one.
    pub index: Option<PathBuf>,
    /// Its public folder, where scripts are served from one.
    pub(crate) root: Option<PathBuf>,
    /// What is known of its public folder beside that.
    pub(crate) site: SiteEntry,
    /// How the server is run that it brings.
    pub(crate) command: Option<CommandEntry>,
    /// Packages of its framework with their versions: `symfony/framework-bundle v7.1.2`.
    pub packages: Vec<String>,
    /// PHP extensions that it needs.
    pub extensions: Vec<String>,
    /// Settings of PHP that lie beside its scripts.
    pub(crate) ini: BTreeMap<String, String>,
    /// Environment that makes it what it is in production.
    pub env: BTreeMap<String, String>,
    /// Other variables of the environment that it reads.
    pub keys: &'static [&'static str],
    /// Files that it logs to, from its folder. `DATE` stands for a date, `*` for anything.
    pub logs: Vec<PathBuf>,
    /// Folders that it writes to, from its folder.
    pub writable: Vec<PathBuf>,
    /// Commands that prepare it.
    pub prepare: Vec<Vec<String>>,
    /// The one before them that installs its packages, where they are not there.
    pub(crate) install: Option<Vec<String>>,
    /// Commands that make the tables of its database.
    pub(crate) migrations: Vec<Vec<String>>,
    /// The server of databases that it needs: `PostgreSQL`.
    pub wants_database: Option<&'static str>,
    /// Whether its configuration keeps something in Redis.
    pub wants_redis: bool,
    /// Variables of its configuration that hold an address of Redis, with that of the one beside it.
    pub(crate) redis: BTreeMap<String, String>,
    /// The one by which a file of its own takes the database's address from the environment, where it would not.
    pub(crate) database: Option<Vec<String>>,
    /// What else a reader should know.
    pub remarks: Vec<String>,
    pub(crate) entry: KindEntry,
}

/// Why a folder cannot be served as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unfit {
    /// What programs call its framework, where it is of one.
    pub(crate) framework: Option<&'static str>,
    /// What is wrong, as the end of a sentence that begins with the folder.
    pub(crate) problem: String,
    /// What to do, where that is known.
    pub(crate) fix: Option<String>,
}

impl Unfit {
    fn new(problem: impl Into<String>) -> Self {
        Self { framework: None, problem: problem.into(), fix: None }
    }

    fn fixed(problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..Self::new(problem) }
    }
}

impl From<String> for Unfit {
    fn from(problem: String) -> Self {
        Self::fixed(problem, "correct it")
    }
}

/// What was recognised.
enum Found {
    Framework {
        row: &'static Framework,
        entrance: Entrance,
    },
    /// PHP of no known framework.
    Plain(Entrance),
    Server(Brought),
    Go,
}

/// Where the packages are that an application requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packages {
    /// In its folder, or nowhere.
    Here,
    /// Installed in copies of it by Composer, where they are not in its folder.
    Installed,
}

/// As production installs them. <https://getcomposer.org/doc/03-cli.md#install-i>
const INSTALL: [&str; 6] =
    ["composer", "install", "--no-dev", "--optimize-autoloader", "--no-interaction", "--no-progress"];

/// Looks at a folder. `index` chooses its front controller among several.
///
/// # Errors
///
/// Why it is nothing that could be served.
pub(crate) fn look(folder: &Path, index: Option<&Path>, packages: Packages) -> Result<Look, Unfit> {
    fs::read_dir(folder).map_err(|error| {
        Unfit::fixed(format!("cannot be read: {error}"), "make it readable for the user that runs Stampede")
    })?;
    let composer = Composer::read(folder)?;
    let index = index.map(|index| chosen(folder, index)).transpose()?;
    let (found, others) = recognise(folder, &composer, index.as_ref()).ok_or_else(|| unknown(folder, &composer))?;
    let mut look = match found {
        Found::Framework { row, entrance } => of_framework(folder, &composer, row, &entrance, packages)?,
        Found::Plain(entrance) => of_plain(folder, &composer, &entrance)?,
        Found::Server(brought) => of_server(
            &brought,
            brought.command(folder).ok_or_else(|| {
                let name = brought.server.name;
                let problem = format!("holds a {}, which brings its server", brought.server.title);
                Unfit { framework: Some(name), ..Unfit::fixed(problem, brought.instructions(folder)) }
            })?,
        ),
        Found::Go => of_go(folder)?,
    };
    look.remarks.splice(0..0, others);
    if composer.needs_packages && !folder.join(&composer.autoload).is_file() {
        let vendor = composer.autoload.parent().unwrap_or(Path::new("")).display();
        let problem = format!("its composer.json names packages and there is no {vendor} folder");
        look.remarks.push(match packages {
            Packages::Here => format!("{problem}: run composer install"),
            Packages::Installed => {
                format!("{problem}: composer install --no-dev makes it, in the copies that are served")
            }
        });
        look.install = (packages == Packages::Installed).then(|| words(&INSTALL));
    }
    look.remarks.extend(composer.php.iter().map(|versions| format!("it asks for PHP {versions}")));
    if let Some(root) = &look.root {
        let UserIni { settings, remark } = user_ini::read(folder, root);
        look.ini = settings;
        look.remarks.extend(remark);
    }
    let values = configuration(folder, &look);
    look.wants_database = look.wants_database.or_else(|| drivers::server(&values));
    look.wants_redis = drivers::asks_for_redis(&values);
    look.redis = drivers::redis_addresses(&values);
    for extension in drivers::extensions(&values, |name| composer.versions.contains_key(name)) {
        if !look.extensions.iter().any(|named| named == extension) {
            look.extensions.push(extension.to_owned());
        }
    }
    look.extensions.sort();
    Ok(look)
}

/// Files that hold an application's environment, a later one over an earlier.
/// <https://symfony.com/doc/current/configuration.html#overriding-environment-values-via-env-local>
const ENV_FILES: [&str; 4] = [".env", ".env.local", ".env.prod", ".env.prod.local"];

/// What a fresh Laravel takes where its environment does not say (`config/database.php` since 11).
const LARAVELS_DATABASE: (&str, &str) = ("DB_CONNECTION", "sqlite");

/// What the application's environment says of its database, its sessions and its cache.
fn configuration(folder: &Path, look: &Look) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    if look.framework.is_some_and(|name| name.starts_with("laravel")) {
        values.extend([LARAVELS_DATABASE].map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
    for file in ENV_FILES {
        values.extend(drivers::env_values(&fs::read_to_string(folder.join(file)).unwrap_or_default()));
    }
    values.extend(look.env.clone());
    values
}

/// The files that the application in a folder logs to, where it is of a framework that is known.
pub(crate) fn logs(folder: &Path) -> Vec<PathBuf> {
    let composer = Composer::read(folder).unwrap_or_default();
    match recognise(folder, &composer, None) {
        Some((Found::Framework { row, .. }, _)) => paths(row.logs),
        Some((Found::Server(brought), _)) => paths(brought.server.logs),
        Some((Found::Plain(_) | Found::Go, _)) | None => Vec::new(),
    }
}

/// The front controller that was named.
fn chosen(folder: &Path, index: &Path) -> Result<Entrance, Unfit> {
    let front = normal(index);
    if front.is_absolute() || front.components().any(|part| part == Component::ParentDir) {
        let problem = format!("cannot be served by {}, which is not a path within it", index.display());
        return Err(Unfit::fixed(problem, "name a script from this folder on, such as web/index.php"));
    }
    if !folder.join(&front).is_file() {
        return Err(Unfit::fixed(format!("has no script {}", index.display()), "name one that is there"));
    }
    Ok(Entrance { root: front.parent().unwrap_or(Path::new("")).to_owned(), front })
}

/// What fits best, and what is to be said of the rest that fits.
fn recognise(folder: &Path, composer: &Composer, index: Option<&Entrance>) -> Option<(Found, Vec<String>)> {
    let rows = rows(folder, composer);
    let mut found: Vec<(Option<&'static Framework>, Entrance)> = Vec::new();
    for row in &rows {
        for entrance in row.entrances(folder, composer) {
            if found.iter().all(|(_, known)| known.front != entrance.front) {
                found.push((Some(row), entrance));
            }
        }
    }
    let by_files = brought(folder, composer, false);
    match by_files {
        Some(brought) if found.is_empty() && index.is_none() && !brought.is_ready() => {
            return Some((Found::Server(brought), Vec::new()));
        }
        _ if found.is_empty() && index.is_none() => {
            found.extend(public::entrances(folder, composer).into_iter().map(|entrance| (None, entrance)));
        }
        _ => {}
    }
    if let Some(index) = index {
        let named = found.into_iter().find(|(_, entrance)| entrance.front == index.front);
        found = vec![named.unwrap_or_else(|| (rows.first().copied(), index.clone()))];
    }
    let mut found = found.into_iter();
    let Some((row, entrance)) = found.next() else {
        let server = brought(folder, composer, true).map(Found::Server);
        return server
            .or_else(|| folder.join("go.mod").is_file().then_some(Found::Go))
            .map(|found| (found, Vec::new()));
    };
    let mut others: Vec<_> = found.map(|(other, rest)| told(row, &entrance, other, &rest)).collect();
    let is_octane = row.is_some_and(|row| row.name == OCTANE);
    others.extend(by_files.filter(|brought| brought.is_ready() && !is_octane).map(|brought| {
        let start = brought.start.display();
        format!("it has a {start} too: its own server is run by kind: command in a stampede.yaml (docs/plan.md)")
    }));
    Some((
        row.map_or_else(|| Found::Plain(entrance.clone()), |row| Found::Framework { row, entrance: entrance.clone() }),
        others,
    ))
}

/// The frameworks that it may be of, most likely first: those by package before those by files.
fn rows(folder: &Path, composer: &Composer) -> Vec<&'static Framework> {
    let by_package = FRAMEWORKS.iter().filter(|row| row.has_package(composer));
    by_package.chain(FRAMEWORKS.iter().filter(|row| row.has_files(folder))).collect()
}

/// Why another place of several was not taken.
fn told(row: Option<&Framework>, taken: &Entrance, other: Option<&Framework>, rest: &Entrance) -> String {
    let (first, choice) = (taken.place(), format!("--index {} chooses it", rest.front.display()));
    match (row, other) {
        (Some(row), Some(other)) if row.name != other.name => {
            format!("{} would be a {}; {} comes first here ({choice})", rest.front.display(), other.title, row.title)
        }
        _ => format!("{} is there too; {first} comes before {} ({choice})", rest.front.display(), rest.place()),
    }
}

/// Says what is missing, or where else to look.
fn unknown(folder: &Path, composer: &Composer) -> Unfit {
    // The files say more exactly than the packages which of the rows with a package it is.
    let rows = rows(folder, composer);
    if let Some(row) = rows.iter().find(|row| row.has_files(folder)).or(rows.first()) {
        let front = Path::new(row.roots.first().unwrap_or(&".")).join(row.fronts.first().unwrap_or(&""));
        let problem = format!("holds a {} without its front controller {}", row.title, normal(&front).display());
        let fix = row.made_by.map_or_else(
            || "name it with --index, or write index in a stampede.yaml".to_owned(),
            |command| format!("run {command} there"),
        );
        return Unfit { framework: Some(row.name), ..Unfit::fixed(problem, fix) };
    }
    let below = below(folder);
    if let Some((first, _)) = below.first() {
        let named = below.iter().take(MOST_BELOW);
        let mut all: Vec<_> = named.map(|(path, title)| format!("{} holds one ({title})", path.display())).collect();
        let more = below.len() - all.len();
        all.extend((more > 0).then(|| format!("and {more} more do")));
        let problem = format!("holds no application itself; {}", all.join(", "));
        return Unfit::fixed(problem, format!("stampede compare {}", first.display()));
    }
    Unfit::new("holds no known application: no index.php, public/index.php, web/index.php or go.mod")
}

/// Applications one folder down, by name.
fn below(folder: &Path) -> Vec<(PathBuf, &'static str)> {
    // Without a second dot in `./.`.
    let folder: PathBuf = folder.components().collect();
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let is_looked_into = |name: &str| !name.starts_with('.') && !NOT_LOOKED_INTO.contains(&name);
    let folders =
        entries.filter(|entry| is_looked_into(&entry.file_name().to_string_lossy())).map(|entry| entry.path());
    let mut folders: Vec<_> = folders.filter(|path| path.is_dir()).collect();
    folders.sort();
    let found = folders.into_iter().filter_map(|path| {
        let composer = Composer::read(&path).unwrap_or_default();
        let title = match recognise(&path, &composer, None)?.0 {
            Found::Framework { row, .. } => row.title,
            Found::Plain(_) => PLAIN,
            Found::Server(brought) => brought.server.title,
            Found::Go => GO,
        };
        Some((path, title))
    });
    found.collect()
}

const PLAIN: &str = "PHP application";
const GO: &str = "Go program";

fn of_framework(
    folder: &Path,
    composer: &Composer,
    row: &'static Framework,
    entrance: &Entrance,
    packages_are: Packages,
) -> Result<Look, Unfit> {
    let Framework {
        name,
        title,
        packages,
        beside,
        files: _,
        roots: _,
        extra: _,
        fronts: _,
        kind,
        unserved,
        fallback,
        deny,
        env,
        keys,
        logs,
        writable,
        extensions,
        prepare,
        migrations,
        wants,
        database,
        made_by: _,
        remarks,
    } = row;
    stays_within(folder, entrance)?;
    let mut told: Vec<_> =
        remarks.iter().filter_map(|remark| remark.of(folder, &entrance.root)).map(str::to_owned).collect();
    let kind = match kind {
        KindEntry::Symfony | KindEntry::Laravel => match not_kept(folder, *kind, entrance, packages_are) {
            Some(reason) => {
                told.push(reason.to_owned());
                KindEntry::FrontController
            }
            None => *kind,
        },
        kind => *kind,
    };
    if kind != KindEntry::Scripts {
        let scripts = public::scripts(folder, entrance, unserved);
        if let [first, ..] = scripts.as_slice() {
            let place = entrance.root.join(first);
            told.push(format!(
                "{} is not served as a script: write kind: scripts where production runs it",
                place.display()
            ));
        }
    }
    let needed: BTreeSet<String> = extensions.iter().chain(&BUNDLED).map(|name| (*name).to_owned()).collect();
    let is_script = matches!(kind, KindEntry::FrontController | KindEntry::Scripts);
    let version = |name: &&str| Some(format!("{name} {}", composer.versions.get(*name)?));
    Ok(Look {
        framework: Some(name),
        packages: packages.iter().chain(*beside).filter_map(version).collect(),
        extensions: needed
            .into_iter()
            .chain(composer.extensions.iter().cloned())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        keys,
        logs: paths(logs),
        writable: paths(writable).into_iter().filter(|path| folder.join(path).exists()).collect(),
        prepare: prepare
            .iter()
            .filter(|(file, _)| is_script && folder.join(file).is_file())
            .map(|(_, command)| words(command))
            .collect(),
        migrations: migrations
            .iter()
            .filter(|migration| migration.fits(folder, |package| composer.versions.contains_key(package)))
            .map(|migration| words(migration.command))
            .collect(),
        wants_database: *wants,
        database: database.filter(|(file, _)| folder.join(file).is_file()).map(|(_, command)| words(command)),
        remarks: told,
        ..scripted(title, kind, entrance, *fallback, deny)
    })
}

fn words(command: &[&str]) -> Vec<String> {
    command.iter().map(|word| (*word).to_owned()).collect()
}

/// PHP of no known framework: one script that answers all, or several.
fn of_plain(folder: &Path, composer: &Composer, entrance: &Entrance) -> Result<Look, Unfit> {
    stays_within(folder, entrance)?;
    let scripts = public::scripts(folder, entrance, &[]);
    let by_rules = public::fallback(folder, entrance);
    let (kind, fallback) = match scripts.is_empty() {
        true => (KindEntry::FrontController, by_rules.unwrap_or(FallbackEntry::Front)),
        false => (KindEntry::Scripts, by_rules.unwrap_or(FallbackEntry::None)),
    };
    let mut extensions: BTreeSet<String> = BUNDLED.map(str::to_owned).into();
    extensions.extend(composer.extensions.iter().cloned());
    if !composer.is_there {
        extensions.extend(source::extensions(folder));
    }
    let mut look = scripted(PLAIN, kind, entrance, fallback, &[]);
    look.extensions = extensions.into_iter().collect();
    if let [first, ..] = scripts.as_slice() {
        let rest = match fallback {
            FallbackEntry::None => "any other path is 404",
            FallbackEntry::Front | FallbackEntry::PathInfo => "its .htaccess leads any other path to it",
        };
        let front = entrance.front.display();
        let first = entrance.root.join(first);
        look.remarks
            .push(format!("{} stands beside {front}, so each script answers its own path; {rest}", first.display()));
    }
    Ok(look)
}

/// What is served through scripts, with nothing said of what it needs.
fn scripted(title: &'static str, kind: KindEntry, entrance: &Entrance, fallback: FallbackEntry, deny: &[&str]) -> Look {
    let has = |field: &str| kind.fields().contains(&field);
    let root = if entrance.root == Path::new("") { PathBuf::from(".") } else { entrance.root.clone() };
    let is_said = fallback != FallbackEntry::Front || kind == KindEntry::Scripts;
    Look {
        index: Some(entrance.front.clone()).filter(|_| has("index")),
        root: Some(entrance.root.clone()),
        site: SiteEntry {
            root: Some(root).filter(|_| has("root")),
            fallback: Some(fallback).filter(|_| is_said && has("fallback")),
            deny: deny.iter().filter(|_| has("deny")).map(|text| (*text).to_owned()).collect(),
            ..SiteEntry::default()
        },
        ..bare(title, kind)
    }
}

/// An application that brings its server, run by this command.
fn of_server(brought: &Brought, command: CommandEntry) -> Look {
    let server = brought.server;
    Look {
        framework: Some(server.name),
        command: Some(command),
        env: server.env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        keys: server.keys,
        logs: paths(server.logs),
        ..bare(server.title, KindEntry::Command)
    }
}

fn of_go(folder: &Path) -> Result<Look, Unfit> {
    if !has_main(folder) {
        return Err(Unfit::new("holds a Go module without a main package"));
    }
    let remark = "it must listen on the address in the environment variable LISTEN".to_owned();
    Ok(Look { remarks: vec![remark], ..bare(GO, KindEntry::GoProgram) })
}

fn bare(title: &'static str, kind: KindEntry) -> Look {
    Look { title, kind: kind.name(), entry: kind, ..Look::default() }
}

/// Why a worker does not keep an application whose row allows it.
fn not_kept(folder: &Path, kind: KindEntry, entrance: &Entrance, packages: Packages) -> Option<&'static str> {
    if entrance.front != Path::new(FRONT) {
        return Some(OTHER_FRONT);
    }
    if packages == Packages::Here && !folder.join(AUTOLOAD).is_file() {
        return Some(NO_PACKAGES);
    }
    // Workers run its closure, and keep what that makes where it is a kernel. A cache around one is none.
    // <https://symfony.com/doc/current/components/runtime.html>
    let makes_kernel = || {
        let text = fs::read_to_string(folder.join(FRONT)).unwrap_or_default();
        ["autoload_runtime.php", "new ", "Kernel("].iter().all(|part| text.contains(part))
            && !text.contains("HttpCache")
    };
    (kind == KindEntry::Symfony && !makes_kernel()).then_some(NO_CLOSURE)
}

/// Sees that the front controller lies within the application, whatever links lead to it.
fn stays_within(folder: &Path, entrance: &Entrance) -> Result<(), Unfit> {
    let (Ok(real), Ok(within)) = (folder.join(&entrance.front).canonicalize(), folder.canonicalize()) else {
        return Ok(());
    };
    if real.starts_with(within) {
        return Ok(());
    }
    let problem =
        format!("has a front controller {} that leads out of it to {}", entrance.front.display(), real.display());
    Err(Unfit::fixed(problem, "name a folder that holds both"))
}

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

/// Whether a Go file in the folder is of the package `main`, which makes a program.
/// <https://go.dev/ref/spec#Program_execution>
fn has_main(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ending| ending == "go")).any(|path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().any(|line| line.trim_end() == "package main")
    })
}

#[cfg(test)]
mod tests;
