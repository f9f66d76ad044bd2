//! What the owner of a build of PHP wrote into its configuration: the extensions in the order in which they are loaded, and the
//! settings. <https://www.php.net/manual/en/configuration.file.php>

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use stampede_core::{PhpModule, PhpSapi, php_extension};

/// What was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Conf {
    /// Where: `/etc/php/8.2/fpm`.
    pub(crate) source: String,
    /// Extensions in the order in which they are loaded.
    pub(crate) modules: Vec<PhpModule>,
    /// Settings that decide what answers are, as they are written.
    pub(crate) settings: BTreeMap<String, String>,
    /// Settings that the bench has its own values for, or that hold for the place of the original alone.
    pub(crate) not_taken: BTreeMap<String, String>,
}

/// Settings that decide how fast PHP is: the bench gives all runtimes the same.
const SPEED: [&str; 5] = ["opcache.", "realpath_cache_", "pcre.jit", "apc.shm_size", "zend.enable_gc"];

/// Settings of the place where the owner's own copy of the application is.
const PLACE: [&str; 3] = ["open_basedir", "doc_root", "user_dir"];

/// Settings that name places of a run, decide where errors and mail go, or hand over the environment that the application is
/// given. Those of the bench hold.
const BENCH: [&str; 20] = [
    "error_log",
    "log_errors",
    "display_errors",
    "display_startup_errors",
    "html_errors",
    "ignore_repeated_errors",
    "ignore_repeated_source",
    "report_memleaks",
    "sys_temp_dir",
    "upload_tmp_dir",
    "user_ini.",
    "variables_order",
    "register_argc_argv",
    "auto_globals_jit",
    "expose_php",
    "sendmail_",
    "mail.",
    "smtp",
    "cli_server.",
    "engine",
];

/// Settings that the bench gives another value than PHP does by default.
const BENCH_DIFFERS: [&str; 5] =
    ["output_buffering", "max_input_time", "error_reporting", "zend.assertions", "include_path"];

/// The configuration in force for a program that printed its information (`php -i`), or for a server interface that has a folder
/// of its own beside that program's (Debian's `/etc/php/8.2/apache2`).
pub(crate) fn read(information: &str, sapi: PhpSapi, defaults: &str) -> Conf {
    let beside = match sapi {
        PhpSapi::Cli | PhpSapi::Fpm => None,
        PhpSapi::ApacheModule => beside(information, "apache2"),
        PhpSapi::Embed => beside(information, "embed"),
    };
    let (source, files) = match beside {
        Some(folder) => (folder.display().to_string(), files_in(&folder)),
        None => {
            let source = value(information, "Configuration File (php.ini) Path").unwrap_or_default();
            (source.to_owned(), files_of(information))
        }
    };
    let mut conf = Conf::of(&files, defaults);
    if sapi == PhpSapi::Fpm {
        let pool = pool(Path::new(&source));
        pool.into_iter().for_each(|(name, value)| conf.set(name, value));
    }
    // Where PHP itself keeps sessions is a folder of the bench.
    if conf.settings.get("session.save_handler").is_none_or(|handler| normal(handler) == "files") {
        conf.settings.remove("session.save_path");
    }
    Conf { source, ..conf }
}

impl Conf {
    /// What files hold, read one after the other, without what PHP has by default.
    pub(crate) fn of(files: &[PathBuf], defaults: &str) -> Self {
        let mut conf = Self::default();
        for file in files {
            conf.parse(&fs::read_to_string(file).unwrap_or_default());
        }
        let is_default = |name: &String, text: &String| {
            let default = value(defaults, name).and_then(|both| both.split(" => ").next());
            !BENCH_DIFFERS.contains(&name.as_str()) && default.is_some_and(|default| normal(default) == normal(text))
        };
        conf.settings.retain(|name, text| !is_default(name, text));
        conf.not_taken.retain(|name, text| !is_default(name, text));
        conf
    }

    /// One file's text. What holds for one folder or host alone is left out.
    fn parse(&mut self, text: &str) {
        let mut is_for_all = true;
        for line in text.lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[') {
                let section = section.to_ascii_uppercase();
                is_for_all = !section.starts_with("PATH") && !section.starts_with("HOST");
            } else if is_for_all
                && !line.starts_with([';', '#'])
                && let Some((name, rest)) = line.split_once('=')
            {
                self.entry(name.trim(), without_comment(rest));
            }
        }
    }

    fn entry(&mut self, name: &str, text: &str) {
        let is_zend = name == "zend_extension";
        if !is_zend && name != "extension" {
            self.set(name.to_owned(), text.to_owned());
            return;
        }
        let file = unquoted(text);
        let stem = file.rsplit('/').next().unwrap_or_default();
        let name = stem.strip_suffix(".so").unwrap_or(stem).to_lowercase();
        if !name.is_empty() && !self.modules.iter().any(|module| module.name == name) {
            self.modules.push(PhpModule { name, file: file.to_owned(), is_zend });
        }
    }

    fn set(&mut self, name: String, text: String) {
        let lower = name.to_lowercase();
        let is_one = |names: &[&str]| {
            names.iter().any(|begin| lower == *begin || (begin.ends_with(['.', '_']) && lower.starts_with(begin)))
        };
        let owner = lower.split('.').next().unwrap_or_default();
        if is_one(&BENCH) || php_extension::watches(owner).is_some() {
            return;
        }
        let (of, other) = match is_one(&SPEED) || is_one(&PLACE) {
            true => (&mut self.not_taken, &mut self.settings),
            false => (&mut self.settings, &mut self.not_taken),
        };
        other.remove(&name);
        of.insert(name, text);
    }
}

/// The files that a program read, in the order in which it did.
fn files_of(information: &str) -> Vec<PathBuf> {
    let is_path = |path: &&str| path.starts_with('/');
    let main = value(information, "Loaded Configuration File").filter(is_path);
    let (_, rest) = information.split_once("Additional .ini files parsed => ").unwrap_or_default();
    // One a line, each but the last with a comma.
    let mut goes_on = true;
    let additional = rest.lines().take_while(|line| std::mem::replace(&mut goes_on, line.ends_with(',')));
    let additional = additional.map(|line| line.trim_end_matches(',').trim()).filter(is_path);
    main.into_iter().chain(additional).map(PathBuf::from).collect()
}

/// The files of a server interface's folder.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut additional = listed(&folder.join("conf.d"), |name| name.ends_with(".ini"));
    additional.insert(0, folder.join("php.ini"));
    additional
}

/// The files of a folder with such names, sorted.
fn listed(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<PathBuf> =
        entries.filter(|entry| entry.file_name().to_str().is_some_and(&is_wanted)).map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// The folder of a server interface beside that of the program that was asked.
fn beside(information: &str, sapi: &str) -> Option<PathBuf> {
    let own = PathBuf::from(value(information, "Configuration File (php.ini) Path")?);
    let is_one_of_many = own.file_name().is_some_and(|name| name == "cli" || name == "fpm");
    Some(own.with_file_name(sapi)).filter(|folder| is_one_of_many && folder.is_dir())
}

/// PHP's settings in an FPM pool: the one named `www` or, where there is none, the first.
/// <https://www.php.net/manual/en/install.fpm.configuration.php#install.fpm.configuration.pool>
fn pool(folder: &Path) -> BTreeMap<String, String> {
    let places = [folder.join("php-fpm.conf"), folder.with_file_name("php-fpm.conf")];
    let Some(main) = places.iter().find(|path| path.is_file()) else {
        return BTreeMap::new();
    };
    let text = fs::read_to_string(main).unwrap_or_default();
    let mut texts = vec![text.clone()];
    for line in text.lines() {
        let included = line.split_once('=').filter(|(name, _)| name.trim() == "include");
        if let Some((_, pattern)) = included {
            let pattern = Path::new(unquoted(without_comment(pattern)));
            // PHP's own installation writes it from its prefix: etc/php-fpm.d/*.conf.
            let base = main.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
            let (pattern, ending) =
                (base.join(pattern), pattern.to_string_lossy().rsplit('*').next().unwrap_or_default().to_owned());
            let files = listed(pattern.parent().unwrap_or(base), |name| name.ends_with(&ending));
            texts.extend(files.iter().map(|file| fs::read_to_string(file).unwrap_or_default()));
        }
    }
    let mut pools: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    for line in texts.iter().flat_map(|text| text.lines()).map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            pools.push((name.to_owned(), BTreeMap::new()));
        } else if let Some((name, text)) = line.split_once('=')
            && let Some((_, settings)) = pools.last_mut()
            && let Some(name) = pool_setting(name.trim())
        {
            settings.insert(name.to_owned(), without_comment(text).to_owned());
        }
    }
    pools.retain(|(name, _)| name != "global");
    let chosen = pools.iter().position(|(name, _)| name == "www").unwrap_or(0);
    pools.into_iter().nth(chosen).map(|(_, settings)| settings).unwrap_or_default()
}

/// `memory_limit` of `php_admin_value[memory_limit]`.
fn pool_setting(name: &str) -> Option<&str> {
    let kinds = ["php_value[", "php_flag[", "php_admin_value[", "php_admin_flag["];
    kinds.iter().find_map(|kind| name.strip_prefix(kind)?.strip_suffix(']'))
}

/// What a program's information tells of a key.
fn value<'a>(information: &'a str, key: &str) -> Option<&'a str> {
    information.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" => ")).map(str::trim)
}

/// A value without a comment behind it.
fn without_comment(text: &str) -> &str {
    let mut quote = None;
    let end = text.char_indices().find_map(|(at, letter)| match (quote, letter) {
        (None, ';') => Some(at),
        (None, '"' | '\'') => {
            quote = Some(letter);
            None
        }
        (Some(open), _) if open == letter => {
            quote = None;
            None
        }
        _ => None,
    });
    text[..end.unwrap_or(text.len())].trim()
}

fn unquoted(text: &str) -> &str {
    ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(text)
}

/// A value as it is compared: PHP prints words for switches.
fn normal(text: &str) -> String {
    match unquoted(text.trim()).to_lowercase().as_str() {
        "on" | "yes" | "true" | "1" => "1".to_owned(),
        "off" | "no" | "false" | "none" | "null" | "no value" | "" | "0" => "0".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn information(folder: &Path, sapi: &str, additional: &[&str]) -> String {
        let own = folder.join(sapi);
        let additional: Vec<String> =
            additional.iter().map(|name| own.join("conf.d").join(name).display().to_string()).collect();
        let additional = if additional.is_empty() { "(none)".to_owned() } else { additional.join(",\n") };
        let own = own.display();
        format!(
            "Configuration File (php.ini) Path => {own}\nLoaded Configuration File => {own}/php.ini\n\
             Additional .ini files parsed => {additional}\n\nPHP API => 1\n"
        )
    }

    #[test]
    fn extensions_are_read_in_the_order_of_the_server_interface() {
        let folder = tree(&[
            ("cli/php.ini", "memory_limit = -1\n"),
            ("cli/conf.d/10-pdo.ini", "; comment\nextension=pdo.so\n"),
            ("cli/conf.d/25-swoole.ini", "extension=swoole ; server\n"),
            ("apache2/php.ini", "[PHP]\nmemory_limit = \"256M\" ; more\n[PATH=/var/www/a]\nmemory_limit = 1G\n"),
            ("apache2/conf.d/20-mbstring.ini", "extension=/opt/php/mbstring.so\n"),
            ("apache2/conf.d/10-opcache.ini", "zend_extension=opcache.so\nopcache.jit=off\n"),
        ]);
        let told = information(folder.path(), "cli", &["10-pdo.ini", "25-swoole.ini"]);
        let names = |conf: &Conf| conf.modules.iter().map(|module| module.name.clone()).collect::<Vec<_>>();
        let cli = read(&told, PhpSapi::Cli, "memory_limit => 128M => 128M\n");
        assert_eq!((names(&cli), cli.settings["memory_limit"].as_str()), (vec!["pdo".into(), "swoole".into()], "-1"));
        let apache = read(&told, PhpSapi::ApacheModule, "");
        assert_eq!(names(&apache), ["opcache", "mbstring"]);
        assert_eq!((apache.modules[1].file.as_str(), apache.modules[0].is_zend), ("/opt/php/mbstring.so", true));
        assert_eq!(apache.settings["memory_limit"], "\"256M\"");
        assert_eq!(apache.not_taken["opcache.jit"], "off");
        // No folder of its own: that of the program.
        assert_eq!(names(&read(&told, PhpSapi::Embed, "")), ["pdo", "swoole"]);
        assert_eq!(names(&read(&information(folder.path(), "cli", &[]), PhpSapi::Cli, "")), [""; 0]);
    }

    #[test]
    fn settings_that_decide_answers_are_taken_and_others_not() {
        let text = "upload_max_filesize = 64M\npost_max_size = 8M\nopen_basedir = /var/www\nerror_log = /var/log/php\n\
                    opcache.memory_consumption = 256\nrealpath_cache_size = 8M\nxdebug.mode = debug\n\
                    session.save_handler = files\nsession.save_path = /var/lib/php\nfile_uploads = On\n\
                    output_buffering = Off\nextension = \nerror_reporting = E_ALL & ~E_NOTICE\n";
        let folder = tree(&[("cli/php.ini", text)]);
        let defaults = "post_max_size => 8M => 8M\nfile_uploads => On => On\noutput_buffering => 0 => 0\n\
                        session.save_handler => files => files\n";
        let conf = read(&information(folder.path(), "cli", &[]), PhpSapi::Cli, defaults);
        let names = |of: &BTreeMap<String, String>| of.keys().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(names(&conf.settings), "error_reporting output_buffering upload_max_filesize");
        assert_eq!(names(&conf.not_taken), "opcache.memory_consumption open_basedir realpath_cache_size");
        let redis = "session.save_handler = redis\nsession.save_path = \"tcp://cache:6379\"\n";
        let folder = tree(&[("cli/php.ini", redis)]);
        let conf = read(&information(folder.path(), "cli", &[]), PhpSapi::Cli, defaults);
        assert_eq!(conf.settings["session.save_path"], "\"tcp://cache:6379\"");
    }

    #[test]
    fn a_pools_settings_count_over_those_of_php_ini() {
        for (name, files, limit) in [
            ("no pool", vec![], "128M"),
            (
                "www",
                vec![
                    ("a.conf", "[a]\nphp_value[memory_limit] = 1M\n"),
                    ("www.conf", "[www]\nphp_admin_value[memory_limit] = 512M\n"),
                ],
                "512M",
            ),
            (
                "another",
                vec![("shop.conf", "[shop]\nphp_flag[x] = on\nphp_value[memory_limit] = 64M ; little\n")],
                "64M",
            ),
            ("another ending", vec![("www.conf.old", "[www]\nphp_value[memory_limit] = 1M\n")], "128M"),
        ] {
            let folder = tree(&[("fpm/php.ini", "memory_limit = 128M\n")]);
            let pools = folder.path().join("fpm/pool.d");
            fs::create_dir_all(&pools).unwrap();
            for (file, text) in files {
                fs::write(pools.join(file), text).unwrap();
            }
            let main = format!("[global]\npid = /run/x\ninclude={}/*.conf\n", pools.display());
            fs::write(folder.path().join("fpm/php-fpm.conf"), main).unwrap();
            let conf = read(&information(folder.path(), "fpm", &[]), PhpSapi::Fpm, "");
            assert_eq!(conf.settings["memory_limit"], limit, "{name}");
        }
    }
}
