//! What must be present on the machine, and what was found.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{ImageSource, PhpBuild, PhpChoice, PhpWants};

/// How a program's version is read: run it with `args` and take the word after `prefix` in what it prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionProbe {
    /// Arguments that make the program print its version.
    pub args: &'static [&'static str],
    /// What stands right before the version.
    pub prefix: &'static str,
}

/// How to get something that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Install {
    /// Debian's and Ubuntu's package, where there is one.
    pub package: Option<String>,
    /// The makers' page.
    pub page: String,
}

impl Install {
    /// By a package, or as a page says.
    pub fn package(package: &str, page: &str) -> Self {
        Self { package: Some(package.to_owned()), page: page.to_owned() }
    }
}

impl fmt::Display for Install {
    /// What to do, as the end of a sentence: `apt-get install nginx, or https://nginx.org/en/download.html`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(package) = &self.package {
            write!(f, "apt-get install {package}, or ")?;
        }
        f.write_str(&self.page)
    }
}

/// Which of PHP's server interfaces is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PhpSapi {
    /// The command line program, which also holds the built-in server.
    Cli,
    /// The FastCGI process manager.
    Fpm,
    /// Apache's module.
    ApacheModule,
    /// The library that other programs embed.
    Embed,
}

/// Something that must be present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// A program.
    Program {
        /// The name under which it is found in [`Programs`].
        key: &'static str,
        /// Names to look for on the search path (and in `/usr/sbin`), the first found is taken.
        names: &'static [&'static str],
        /// How to read its version.
        version: VersionProbe,
        /// How to get it.
        install: Install,
    },
    /// A program that builds others before anything is started. It is not part of what runs, so it is looked for on this
    /// machine wherever deployments run.
    Builder {
        /// The name under which it is found in [`Programs`].
        key: &'static str,
        /// Its name on the search path.
        name: &'static str,
        /// How to read its version.
        version: VersionProbe,
        /// How to get it.
        install: Install,
    },
    /// A program that an application names.
    Command {
        /// The name under which it is found in [`Programs`].
        key: &'static str,
        /// Its name on the search path.
        name: String,
    },
    /// A build of PHP with one server interface.
    Php {
        /// The name under which it is found in [`Programs`].
        key: &'static str,
        /// Which interface.
        sapi: PhpSapi,
        /// Which build, where one was chosen.
        build: Option<PhpChoice>,
        /// What it must be able to load, and how it is set up.
        wants: PhpWants,
        /// How to get it.
        install: Install,
    },
    /// FrankenPHP, which has a PHP of its own inside.
    FrankenPhp {
        /// The name under which it is found in [`Programs`].
        key: &'static str,
        /// The binary, where it is an application's own; otherwise `frankenphp` is looked for on the search path.
        binary: Option<PathBuf>,
        /// Which build of PHP must be inside, where one was chosen.
        build: Option<PhpChoice>,
        /// What its PHP must be able to load, and how it is set up.
        wants: PhpWants,
        /// How to get it.
        install: Install,
    },
    /// An extension of the `php` on the search path that is a server by itself, so that its version matters.
    PhpExtension {
        /// The name under which it is found in [`Programs`].
        key: &'static str,
        /// Which build of PHP it must be of, where one was chosen.
        build: Option<PhpChoice>,
        /// Its name, lower case.
        extension: &'static str,
        /// How to get it.
        install: Install,
    },
    /// A PHP package that Composer installed with the application.
    PhpPackage {
        /// The name under which it is found in [`Programs`].
        key: &'static str,
        /// Its name: `spiral/roadrunner-http`.
        package: &'static str,
        /// The application's folder, which holds `vendor`.
        app: PathBuf,
        /// How to get it.
        install: Install,
    },
    /// An image that an engine of containers must have. What is found has its name in place of a path, and its id as the version.
    Image {
        /// The name under which it is found in [`Programs`].
        key: &'static str,
        /// Which image.
        source: ImageSource,
    },
    /// One of several files, absolute or relative to the application.
    AnyFile {
        /// The name under which it is found in [`Programs`]; none where nobody asks for its path.
        key: Option<&'static str>,
        /// What it is, for messages: `the Parsedown library`.
        name: String,
        /// Where it can be.
        paths: Vec<PathBuf>,
        /// How to get it.
        install: Install,
    },
}

impl Requirement {
    /// The name under which it is found in [`Programs`].
    pub fn key(&self) -> Option<&'static str> {
        match self {
            Self::Program { key, .. }
            | Self::Builder { key, .. }
            | Self::Command { key, .. }
            | Self::Php { key, .. }
            | Self::FrankenPhp { key, .. }
            | Self::PhpExtension { key, .. }
            | Self::PhpPackage { key, .. }
            | Self::Image { key, .. } => Some(key),
            Self::AnyFile { key, .. } => *key,
        }
    }

    /// Whether it is PHP, in one of its forms.
    pub fn is_php(&self) -> bool {
        matches!(self, Self::Php { .. } | Self::FrankenPhp { .. } | Self::PhpExtension { .. })
    }

    /// The same of a chosen build, where it is PHP.
    #[must_use]
    pub fn of_build(mut self, choice: &PhpChoice) -> Self {
        if let Self::Php { build, .. } | Self::FrankenPhp { build, .. } | Self::PhpExtension { build, .. } = &mut self {
            *build = Some(choice.clone());
        }
        self
    }
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The program or module.
    pub path: PathBuf,
    /// Its version.
    pub version: String,
    /// For PHP: what kind of build it is.
    pub php: Option<PhpBuild>,
}

/// Whether a requirement is met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Availability {
    /// It is there.
    Found(Found),
    /// It is not.
    Missing {
        /// What is missing, and what was found instead where that explains it.
        what: String,
        /// How to get it.
        install: Install,
    },
}

/// What was found for a runtime's requirements, by key.
pub type Programs = BTreeMap<String, Found>;
