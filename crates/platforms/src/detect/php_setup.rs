//! Which extensions a build of PHP loads for an application, tried by loading them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stampede_core::{PhpBuild, PhpModule, PhpOrigin, PhpSapi, PhpSetup, PhpWants, php_extension};
use tokio::process::Command;

use super::php_conf::Conf;
use crate::output::{Output, OutputError, collect};

const LIMIT: Duration = Duration::from_secs(20);

/// How often a set is changed and tried again, which is more often than any set needs.
const TRIES: usize = 60;

/// Settings under which PHP prints what it cannot load, whatever its form.
const LOUD: &str = "display_startup_errors = 1\ndisplay_errors = stderr\nlog_errors = 0\nhtml_errors = 0\n";

/// How a program that is PHP is made to load a `php.ini` and to print its extensions.
#[derive(Clone, Debug)]
pub(crate) enum Loader {
    /// `php`, `php-fpm`.
    Php(PathBuf),
    /// FrankenPHP, which has none of PHP's own flags.
    FrankenPhp(PathBuf),
}

/// An extension that is needed and cannot be loaded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unloadable {
    pub(crate) extension: String,
    pub(crate) why: String,
}

/// How a build is set up; none where it is by what is needed alone, in the usual order.
///
/// # Errors
///
/// An extension that is needed and cannot be loaded.
pub(crate) async fn set_up(
    build: &PhpBuild,
    sapi: PhpSapi,
    wants: &PhpWants,
    conf: Conf,
    loader: &Loader,
) -> Result<Option<PhpSetup>, Unloadable> {
    let needed = needed(build, sapi, wants);
    let (modules, mut left_out) = compose(build, &needed, wants.base.extensions, conf.modules);
    let mut set = Set { modules: modules.clone(), tried: Vec::new() };
    for _ in 0..TRIES {
        match set.try_to_load(loader).await {
            Ok(None) => break,
            Ok(Some(problem)) => {
                if let Some(bad) = set.mend(problem, build) {
                    let is_optional =
                        wants.optional.contains(&bad.extension) && !php_extension::is_server(&bad.extension);
                    if needed.contains(&bad.extension) && !is_optional {
                        return Err(bad);
                    }
                    left_out.insert(bad.extension, bad.why);
                }
            }
            // Who cannot be tried is not accused; the start tells.
            Err(_) => break,
        }
    }
    let is_usual = set.modules == modules;
    let (mut settings, mut not_taken, mut source) = (conf.settings, conf.not_taken, conf.source);
    if wants.base.ini == PhpOrigin::Minimal {
        settings = BTreeMap::new();
        not_taken = BTreeMap::new();
    }
    if wants.base == Default::default() {
        if is_usual {
            return Ok(None);
        }
        source = String::new();
    }
    Ok(Some(PhpSetup { source, modules: set.modules, left_out, settings, not_taken }))
}

/// What must be loaded, in the given order: without what this form of PHP cannot have.
pub(crate) fn needed(build: &PhpBuild, sapi: PhpSapi, wants: &PhpWants) -> Vec<String> {
    let PhpWants { extensions, optional, base: _ } = wants;
    let cannot = |name: &String| sapi != PhpSapi::Cli && php_extension::is_for_command_line(name) && !build.has(name);
    let optional = optional.iter().filter(|name| build.has(name));
    extensions.iter().filter(|name| !cannot(name)).chain(optional).cloned().collect()
}

/// The extensions in the order in which they are to be loaded, and what is left out of the owner's with the reason.
fn compose(
    build: &PhpBuild,
    needed: &[String],
    origin: PhpOrigin,
    owned: Vec<PhpModule>,
) -> (Vec<PhpModule>, BTreeMap<String, String>) {
    let mut left_out = BTreeMap::new();
    let owned: Vec<PhpModule> = match origin {
        PhpOrigin::Minimal => Vec::new(),
        PhpOrigin::Owner => owned.into_iter().filter(|module| is_kept(module, needed, &mut left_out)).collect(),
    };
    let names: Vec<&str> =
        owned.iter().map(|module| module.name.as_str()).chain(needed.iter().map(String::as_str)).collect();
    let is_there = |name: &str| name == "opcache" || build.has_built_in(name);
    let as_owned = |name: &str| owned.iter().find(|module| module.name == name).cloned();
    let ordered = php_extension::in_order(&names, is_there);
    (ordered.into_iter().map(|name| as_owned(name).unwrap_or_else(|| PhpModule::named(name))).collect(), left_out)
}

/// Whether an extension of the owner's is loaded.
fn is_kept(module: &PhpModule, needed: &[String], left_out: &mut BTreeMap<String, String>) -> bool {
    if needed.contains(&module.name) {
        return true;
    }
    let why = if let Some(what) = php_extension::watches(&module.name) {
        format!("{what}: it would be measured with the application")
    } else if php_extension::is_server(&module.name) {
        "a server of its own, which another server does not load".to_owned()
    } else {
        return true;
    };
    left_out.insert(module.name.clone(), why);
    false
}

/// What PHP says of an extension that it does not load.
#[derive(Debug, PartialEq, Eq)]
enum Problem {
    /// It names something that another one must have.
    Symbol { extension: String, symbol: String },
    /// It asks for another one by its name.
    Requires { extension: String, other: String },
    /// Anything else.
    Other { extension: String, why: String },
}

/// Extensions that are tried together.
struct Set {
    modules: Vec<PhpModule>,
    /// Who was put before whom already.
    tried: Vec<(String, String)>,
}

impl Set {
    /// The first problem with the set.
    async fn try_to_load(&self, loader: &Loader) -> Result<Option<Problem>, OutputError> {
        let output = load(loader, &self.modules).await?;
        if let Some(signal) = output.status.signal() {
            return self.crashed(loader, signal).await;
        }
        Ok(String::from_utf8_lossy(&output.all()).lines().find_map(problem))
    }

    /// The extension with which the beginning of the set crashes.
    async fn crashed(&self, loader: &Loader, signal: i32) -> Result<Option<Problem>, OutputError> {
        for end in 1..=self.modules.len() {
            if load(loader, &self.modules[..end]).await?.status.signal().is_some() {
                let extension = self.modules[end - 1].name.clone();
                let why = format!("PHP crashes when it is loaded (signal {signal})");
                return Ok(Some(Problem::Other { extension, why }));
            }
        }
        Ok(None)
    }

    /// Changes the set after a problem: what is missing is put before who misses it, and who cannot be helped is taken out and
    /// returned.
    fn mend(&mut self, problem: Problem, build: &PhpBuild) -> Option<Unloadable> {
        let (extension, candidates, why) = match problem {
            Problem::Requires { extension, other } => {
                let why = format!("it requires the extension {other}, which this PHP cannot load");
                (extension, vec![other], why)
            }
            Problem::Symbol { extension, symbol } => {
                let why = format!("no extension of this PHP has its symbol {symbol}");
                let candidates = with_symbol(build, &symbol);
                (extension, candidates, why)
            }
            Problem::Other { extension, why } => (extension, Vec::new(), why),
        };
        let at = self.modules.iter().position(|module| module.name == extension);
        let is_new = |name: &&String| {
            **name != extension
                && build.loadable.contains(*name)
                && !self.tried.iter().any(|(before, after)| (before, after) == (*name, &extension))
                && !at.is_some_and(|at| self.modules[..at].iter().any(|module| module.name == **name))
        };
        match (at, candidates.iter().find(is_new).cloned()) {
            (Some(at), Some(before)) => {
                let known = self.modules.iter().position(|module| module.name == before);
                let module = known.map_or_else(|| PhpModule::named(&before), |known| self.modules.remove(known));
                self.modules.insert(at, module);
                self.tried.push((before, extension));
                None
            }
            _ => {
                self.modules.retain(|module| module.name != extension);
                Some(Unloadable { extension, why })
            }
        }
    }
}

/// Extensions that have a symbol's name in their file: those whose own name the symbol begins with first.
fn with_symbol(build: &PhpBuild, symbol: &str) -> Vec<String> {
    let stem = |name: &str| name.trim_end_matches('s').to_owned();
    let mut found: Vec<String> = build
        .loadable
        .iter()
        .filter(|name| {
            let bytes = fs::read(build.extension_dir.join(format!("{name}.so"))).unwrap_or_default();
            let needle = [b"\0", symbol.as_bytes(), b"\0"].concat();
            bytes.windows(needle.len()).any(|window| window == needle)
        })
        .cloned()
        .collect();
    found.sort_by_key(|name| !symbol.trim_start_matches("php_").starts_with(&stem(name)));
    found
}

/// Has PHP load these extensions and print what it has.
async fn load(loader: &Loader, modules: &[PhpModule]) -> Result<Output, OutputError> {
    let scratch = tempfile::tempdir()?;
    let ini = scratch.path().join("php.ini");
    let lines: String = modules
        .iter()
        .map(|PhpModule { name: _, file, is_zend }| {
            let key = if *is_zend { "zend_extension" } else { "extension" };
            format!("{key} = {file}\n")
        })
        .collect();
    fs::write(&ini, format!("{lines}{LOUD}"))?;
    let mut command = match loader {
        Loader::Php(program) => {
            let mut command = Command::new(program);
            command.arg("-c").arg(&ini).arg("-m");
            command
        }
        Loader::FrankenPhp(program) => {
            let script = scratch.path().join("nothing.php");
            fs::write(&script, "")?;
            let mut command = Command::new(program);
            command.arg("php-cli").arg(&script).env("PHPRC", scratch.path()).env("TMPDIR", scratch.path());
            command
        }
    };
    command.env("PHP_INI_SCAN_DIR", "").env("LC_ALL", "C");
    collect(command, LIMIT).await
}

/// Reads a line such as `Warning: PHP Startup: Unable to load dynamic library 'mysqli' (tried: ... undefined symbol: x))` or
/// `Cannot load module "pdo_mysql" because required module "mysqlnd" is not loaded`.
fn problem(line: &str) -> Option<Problem> {
    let between = |begin: &str, end: char| Some(line.split_once(begin)?.1.split(end).next()?.to_owned());
    if let (Some(extension), Some(other)) =
        (between("Cannot load module \"", '"'), between("because required module \"", '"'))
    {
        return Some(Problem::Requires { extension: extension.to_lowercase(), other: other.to_lowercase() });
    }
    let named = between("Unable to load dynamic library '", '\'').or_else(|| between("Failed loading ", ':'))?;
    let file = Path::new(named.trim()).file_name()?.to_string_lossy().to_lowercase();
    let extension = file.strip_suffix(".so").unwrap_or(&file).to_owned();
    if let Some(rest) = line.split_once("undefined symbol: ").map(|(_, rest)| rest) {
        let symbol = rest.split([')', ' ', ',']).next().unwrap_or_default().to_owned();
        return Some(Problem::Symbol { extension, symbol });
    }
    let reason = line.rsplit_once(".so: ").map_or(line, |(_, rest)| rest);
    let reason = reason.split("))").next().unwrap_or(reason).trim();
    Some(Problem::Other { extension, why: format!("PHP cannot load it: {reason}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(built_in: &[&str], loadable: &[&str]) -> PhpBuild {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        PhpBuild {
            version: "8.2.29".to_owned(),
            thread_safe: false,
            debug: false,
            libc: String::new(),
            configure: String::new(),
            extension_dir: PathBuf::new(),
            built_in: owned(built_in),
            loadable: owned(loadable),
            setup: None,
        }
    }

    fn names(modules: &[PhpModule]) -> String {
        modules.iter().map(|module| module.name.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_set_is_the_owners_without_what_distorts_and_with_what_is_needed() {
        let build = build(&["json", "pcntl"], &["intl", "mysqlnd", "swoole"]);
        for (name, origin, owned, needed, set, left_out) in [
            (
                "minimal",
                PhpOrigin::Minimal,
                "intl swoole",
                "json mbstring pdo_mysql",
                "mbstring pdo mysqlnd pdo_mysql",
                "",
            ),
            ("the owner's", PhpOrigin::Owner, "opcache json redis igbinary", "", "igbinary redis", ""),
            ("both", PhpOrigin::Owner, "intl xdebug", "mbstring intl", "intl mbstring", "xdebug"),
            ("another server", PhpOrigin::Owner, "curl swoole", "", "curl", "swoole"),
            ("its server", PhpOrigin::Owner, "swoole curl", "swoole", "curl swoole", ""),
            ("a profiler by name", PhpOrigin::Owner, "pcov", "pcov", "pcov", ""),
        ] {
            let owned = owned.split_whitespace().map(PhpModule::named).collect();
            let needed: Vec<String> = needed.split_whitespace().map(str::to_owned).collect();
            let (modules, out) = compose(&build, &needed, origin, owned);
            let out = out.keys().map(String::as_str).collect::<Vec<_>>().join(" ");
            assert_eq!((names(&modules).as_str(), out.as_str()), (set, left_out), "{name}");
        }
    }

    #[test]
    fn only_the_command_line_program_is_asked_for_what_it_alone_has() {
        let wants = PhpWants { extensions: vec!["pcntl".into(), "intl".into()], ..PhpWants::default() };
        for (sapi, built_in, asked) in
            [(PhpSapi::Cli, "", "pcntl intl"), (PhpSapi::Fpm, "", "intl"), (PhpSapi::Fpm, "pcntl", "pcntl intl")]
        {
            assert_eq!(needed(&build(&[built_in], &[]), sapi, &wants).join(" "), asked, "{sapi:?} {built_in}");
        }
    }

    #[test]
    fn what_php_says_is_read() {
        let tried =
            "(tried: /e/x (/e/x: cannot open shared object file: No such file or directory), /e/x.so (/e/x.so: ";
        let text = |text: &str| text.to_owned();
        for (line, read) in [
            (
                format!(
                    "Warning: PHP Startup: Unable to load dynamic library 'x' {tried}undefined symbol: curl_ce)) in U"
                ),
                Some(Problem::Symbol { extension: text("x"), symbol: text("curl_ce") }),
            ),
            (
                format!(
                    "PHP Warning:  PHP Startup: Unable to load dynamic library '/e/X.so' {tried}invalid ELF header)) in U"
                ),
                Some(Problem::Other { extension: text("x"), why: text("PHP cannot load it: invalid ELF header") }),
            ),
            (
                text(
                    "Warning: Cannot load module \"pdo_mysql\" because required module \"mysqlnd\" is not loaded in U",
                ),
                Some(Problem::Requires { extension: text("pdo_mysql"), other: text("mysqlnd") }),
            ),
            (
                text("Failed loading /e/ioncube.so:  /e/ioncube.so: cannot open shared object file"),
                Some(Problem::Other {
                    extension: text("ioncube"),
                    why: text("PHP cannot load it: cannot open shared object file"),
                }),
            ),
            (text("mbstring"), None),
        ] {
            assert_eq!(problem(&line), read, "{line}");
        }
    }

    #[test]
    fn what_is_missing_is_put_before_who_misses_it_and_who_cannot_be_helped_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("zeta.so"), b"\0other\0socket_ce\0").unwrap();
        fs::write(folder.path().join("sockets.so"), b"\0socket_ce\0").unwrap();
        let build = PhpBuild { extension_dir: folder.path().to_owned(), ..build(&[], &["event", "sockets", "zeta"]) };
        let mut set = Set { modules: ["event", "sockets"].map(PhpModule::named).into(), tried: Vec::new() };
        let symbol = || Problem::Symbol { extension: "event".into(), symbol: "socket_ce".into() };
        assert_eq!(set.mend(symbol(), &build), None);
        assert_eq!(names(&set.modules), "sockets event");
        assert_eq!(set.mend(symbol(), &build), None);
        assert_eq!(names(&set.modules), "sockets zeta event");
        let bad = set.mend(symbol(), &build).unwrap();
        assert_eq!((bad.extension.as_str(), names(&set.modules).as_str()), ("event", "sockets zeta"));
        let requires = Problem::Requires { extension: "zeta".into(), other: "mysqlnd".into() };
        assert!(set.mend(requires, &build).unwrap().why.contains("requires the extension mysqlnd"));
    }

    #[tokio::test]
    async fn one_that_crashes_php_is_left_out_or_named_as_what_is_needed() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("php");
        fs::write(&program, "#!/bin/sh\ngrep -q bad \"$2\" && kill -SEGV $$\nexit 0\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let loader = Loader::Php(program);
        let build = build(&[], &["intl", "bad", "gd"]);
        let owned = || Conf { modules: ["intl", "bad", "gd"].map(PhpModule::named).into(), ..Conf::default() };
        let wants = |names: &[&str]| PhpWants {
            extensions: names.iter().map(|name| (*name).to_owned()).collect(),
            base: stampede_core::PhpBase::OWNER,
            ..PhpWants::default()
        };
        let set = set_up(&build, PhpSapi::Cli, &wants(&["intl"]), owned(), &loader).await.unwrap().unwrap();
        assert_eq!(names(&set.modules), "intl gd");
        assert_eq!(set.left_out["bad"], "PHP crashes when it is loaded (signal 11)");
        let bad = set_up(&build, PhpSapi::Cli, &wants(&["bad"]), owned(), &loader).await.unwrap_err();
        assert_eq!(bad.extension, "bad");
    }
}
