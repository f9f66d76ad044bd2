//! PHP: which build is wanted, what a build is, and what a running process says of itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Autoloader, PhpSetup, php_extension};

/// Which build of PHP a case is to run on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PhpChoice {
    /// One of a series, such as 8.4.
    Series {
        /// 8 of 8.4.
        major: u32,
        /// 4 of 8.4.
        minor: u32,
    },
    /// The build that this command line program is of.
    Program(PathBuf),
}

impl fmt::Display for PhpChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Series { major, minor } => write!(f, "{major}.{minor}"),
            Self::Program(path) => path.display().fmt(f),
        }
    }
}

/// A build of PHP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhpBuild {
    /// `8.2.29`.
    pub version: String,
    /// Whether it is thread safe (ZTS).
    pub thread_safe: bool,
    /// Whether it was built for debugging, which is slower.
    pub debug: bool,
    /// The C library: `glibc`, `musl`, or empty where the program does not tell.
    pub libc: String,
    /// The options that it was configured with.
    pub configure: String,
    /// Where its loadable extensions are.
    pub extension_dir: PathBuf,
    /// Extensions that are compiled in, lower case; the opcode cache is `opcache`, not `zend opcache`.
    pub built_in: Vec<String>,
    /// Extensions that can be loaded, lower case, without `.so`.
    pub loadable: Vec<String>,
    /// How it is set up, where that is not by the application's and its server's words alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Box<PhpSetup>>,
}

impl PhpBuild {
    /// Whether an extension is compiled in.
    pub fn has_built_in(&self, extension: &str) -> bool {
        self.built_in.iter().any(|name| name == extension)
    }

    /// The extensions that are loaded where it is set up as its owner has it, but for those that only one form of PHP can have, so
    /// that builds can be compared by them.
    pub fn comparable_extensions(&self) -> Option<BTreeSet<&str>> {
        let modules = self.setup.as_ref()?.modules.iter().map(|module| module.name.as_str());
        let all = self.built_in.iter().map(String::as_str).chain(modules);
        Some(all.filter(|name| !php_extension::is_of_one_form(name)).collect())
    }

    /// Those of these extensions that it has.
    pub fn having<'a>(&self, extensions: &[&'a str]) -> Vec<&'a str> {
        extensions.iter().filter(|name| self.has(name)).copied().collect()
    }

    /// Whether it has an extension, compiled in or as a file.
    pub fn has(&self, extension: &str) -> bool {
        self.has_built_in(extension) || self.loadable.iter().any(|name| name == extension)
    }
}

impl fmt::Display for PhpBuild {
    /// What tells it from others: `8.2.29 NTS`, `8.4.1 ZTS debug, musl`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, thread_safe, debug, libc, .. } = self;
        write!(f, "{version} {}", if *thread_safe { "ZTS" } else { "NTS" })?;
        if *debug {
            f.write_str(" debug")?;
        }
        if libc == "musl" {
            f.write_str(", musl")?;
        }
        Ok(())
    }
}

/// What a process that serves says of its PHP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhpReadBack {
    /// `8.2.29`.
    pub version: String,
    /// Whether it is thread safe (ZTS).
    pub thread_safe: bool,
    /// Whether it was built for debugging.
    pub debug: bool,
    /// The server interface: `fpm-fcgi`, `cli`, `frankenphp`.
    pub sapi: String,
    /// Loaded extensions with their versions, lower case; the opcode cache is `opcache`.
    pub extensions: BTreeMap<String, String>,
    /// Settings in force, as PHP tells them.
    pub settings: BTreeMap<String, String>,
    /// Whether the opcode cache works.
    pub opcache: bool,
    /// Whether the just-in-time compiler works. Since PHP 8.4 a buffer alone leaves it off.
    pub jit: bool,
    /// What the opcode cache holds after every exchange was answered; absent where nobody told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<OpcodeCache>,
    /// `APP_ENV`, `APP_DEBUG` and `XDEBUG_MODE`, as the application finds them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// What Composer's autoloader of the application is; absent where there is none, or nobody told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoloader: Option<Autoloader>,
}

/// How full an opcode cache is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpcodeCache {
    /// Whether there is no room for another script.
    pub full: bool,
    /// Scripts in it.
    pub scripts: u64,
    /// How often it was emptied for want of room.
    pub restarts: u64,
}

impl PhpReadBack {
    /// What is not as it was asked for, one sentence each.
    pub fn problems(&self, asked: &PhpAsked) -> Vec<String> {
        let PhpAsked { version, thread_safe, extensions, settings } = asked;
        let mut problems = Vec::new();
        let threads = |safe: bool| if safe { "ZTS" } else { "NTS" };
        if (version, thread_safe) != (&self.version, &self.thread_safe) {
            problems.push(format!(
                "PHP {} {} serves, not {version} {}",
                self.version,
                threads(self.thread_safe),
                threads(*thread_safe)
            ));
        }
        for extension in extensions.iter().filter(|name| !self.extensions.contains_key(*name)) {
            problems.push(format!("the PHP extension {extension} was asked for and is not loaded"));
        }
        for (name, value) in settings {
            match self.settings.get(name) {
                Some(actual) if actual == value => {}
                Some(actual) => problems.push(format!("{name} = {value} was asked for, and {actual:?} is in effect")),
                // What is not there is not on either.
                None if name.starts_with("opcache.jit") => {}
                None => problems.push(format!("{name} = {value} was asked for, and this PHP does not have it")),
            }
        }
        let asks = |name: &str| settings.get(name).map(String::as_str);
        if asks("opcache.enable") == Some("1") && !self.opcache {
            problems.push("the opcode cache was asked for and does not work".to_owned());
        }
        // https://www.php.net/manual/en/opcache.configuration.php#ini.opcache.jit
        let jit = !matches!(asks("opcache.jit"), None | Some("disable" | "off" | "0" | ""))
            && asks("opcache.jit_buffer_size")
                .is_some_and(|size| size.starts_with(|first| ('1'..='9').contains(&first)));
        if jit != self.jit {
            let word = |on: bool| if on { "on" } else { "off" };
            problems.push(format!("JIT is {}, and was to be {}", word(self.jit), word(jit)));
        }
        problems
    }
}

/// What was asked of PHP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhpAsked {
    /// The version that was found.
    pub version: String,
    /// Whether what was found is thread safe.
    pub thread_safe: bool,
    /// Extensions that must be loaded, lower case.
    pub extensions: Vec<String>,
    /// Settings, with the values that PHP tells when they are in force.
    pub settings: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(rows: &[(&str, &str)]) -> BTreeMap<String, String> {
        rows.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn read_back(settings: &[(&str, &str)], opcache: bool, jit: bool) -> PhpReadBack {
        PhpReadBack {
            version: "8.4.1".to_owned(),
            extensions: texts(&[("mbstring", "8.4.1")]),
            settings: texts(settings),
            opcache,
            jit,
            ..PhpReadBack::default()
        }
    }

    #[test]
    fn what_was_asked_for_and_is_not_in_effect_is_told() {
        let off = [("opcache.enable", "1"), ("opcache.jit", "disable"), ("opcache.jit_buffer_size", "64M")];
        let on = [("opcache.enable", "1"), ("opcache.jit", "tracing"), ("opcache.jit_buffer_size", "64M")];
        let memory = [("memory_limit", "128M")];
        for (name, asked, found, told) in [
            ("all as asked", &off[..], read_back(&off, true, false), vec![]),
            ("JIT as asked", &on[..], read_back(&on, true, true), vec![]),
            (
                "a JIT buffer alone (PHP 8.4)",
                &on[..],
                read_back(&on, true, false),
                vec!["JIT is off, and was to be on"],
            ),
            ("JIT that nobody asked for", &off[..], read_back(&off, true, true), vec!["JIT is on, and was to be off"]),
            ("no cache", &off[..], read_back(&off, false, false), vec!["the opcode cache was asked for"]),
            (
                "another value",
                &memory[..],
                read_back(&[("memory_limit", "1G")], true, false),
                vec!["\"1G\" is in effect"],
            ),
            ("unknown", &memory[..], read_back(&[], true, false), vec!["this PHP does not have it"]),
        ] {
            let asked = PhpAsked {
                version: "8.4.1".to_owned(),
                thread_safe: false,
                extensions: vec!["mbstring".to_owned()],
                settings: texts(asked),
            };
            let problems = found.problems(&asked);
            assert_eq!(problems.len(), told.len(), "{name}: {problems:?}");
            for (problem, told) in problems.iter().zip(told) {
                assert!(problem.contains(told), "{name}: {problem}");
            }
            let other = PhpAsked { version: "8.2.1".to_owned(), extensions: vec!["intl".to_owned()], ..asked };
            let problems = found.problems(&other).join("; ");
            assert!(problems.contains("PHP 8.4.1 NTS serves, not 8.2.1 NTS"), "{problems}");
            assert!(problems.contains("the PHP extension intl was asked for"), "{problems}");
        }
    }
}
