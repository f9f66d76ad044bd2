//! An application under test, as its author sees it: it says what kind it is and never which runtime serves it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::{Command, ImageApp, PhpBase, Requirement, Site};

/// What kind of program an application is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppKind {
    /// A PHP script that answers every request and keeps no state between two.
    FrontController {
        /// The script, relative to the application's folder.
        index: PathBuf,
    },
    /// PHP scripts in the public folder, each of which answers the requests for its own path, beside one that may answer the
    /// rest ([`Site::fallback`]).
    Scripts {
        /// The script that answers `/`, relative to the application's folder.
        index: PathBuf,
    },
    /// A PHP script that returns a handler, loaded once and asked again and again: an object of PSR-15's
    /// `RequestHandlerInterface`, or a callable that takes a PSR-7 server request and returns a PSR-7 response.
    /// <https://www.php-fig.org/psr/psr-15/>
    Psr15Handler {
        /// The script, relative to the application's folder.
        handler: PathBuf,
    },
    /// A Symfony application. Its `public/index.php` answers one request; a worker keeps its kernel.
    /// <https://symfony.com/doc/current/reference/configuration/kernel.html>
    Symfony {
        /// The kernel's class: `App\Kernel`.
        kernel: String,
        /// The script that makes its classes known, relative to the application's folder.
        autoload: PathBuf,
    },
    /// A Laravel application. Its `public/index.php` answers one request; `bootstrap/app.php` makes the application.
    /// <https://laravel.com/docs/8.x/lifecycle>
    Laravel {
        /// The script that makes its classes known, relative to the application's folder.
        autoload: PathBuf,
    },
    /// A PHP function under the contract of the functions framework: a PSR-7 server request in, a string or a PSR-7
    /// response out. <https://github.com/GoogleCloudPlatform/functions-framework-php>
    PhpFunction {
        /// The script that defines it, relative to the application's folder.
        script: PathBuf,
        /// Its name.
        function: String,
    },
    /// An application inside a FrankenPHP binary. <https://frankenphp.dev/docs/embed/>
    EmbeddedPhp {
        /// The binary, relative to the application's folder.
        binary: PathBuf,
        /// The script in the binary that answers every request.
        index: PathBuf,
        /// The script in the binary that is FrankenPHP's worker, where it has one.
        worker: Option<PathBuf>,
    },
    /// A Go program that listens on the address in the environment variable `LISTEN` (`127.0.0.1:8080`).
    GoProgram,
    /// A Go function under the contract of the functions framework: `func(http.ResponseWriter, *http.Request)`.
    /// <https://github.com/GoogleCloudPlatform/functions-framework-go>
    GoFunction {
        /// The module's path, as its `go.mod` says.
        module: String,
        /// The import path of the package that exports it.
        package: String,
        /// The function's name.
        function: String,
    },
    /// Any program that listens on the port in the environment variable `PORT`.
    Command(Command),
    /// An image of a container, which brings the application and what serves it.
    Image(ImageApp),
}

impl AppKind {
    /// The script that answers one request and ends, relative to the application's folder; none where there is none.
    pub fn index(&self) -> Option<&Path> {
        match self {
            Self::FrontController { index } | Self::Scripts { index } => Some(index),
            Self::Symfony { .. } | Self::Laravel { .. } => Some(Path::new("public/index.php")),
            Self::Psr15Handler { .. }
            | Self::PhpFunction { .. }
            | Self::EmbeddedPhp { .. }
            | Self::GoProgram
            | Self::GoFunction { .. }
            | Self::Command(_)
            | Self::Image(_) => None,
        }
    }
}

/// An application: its kind, its source and what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// Its name among the applications of its workload; several forms of one application share it.
    pub name: String,
    /// What kind of program it is.
    pub kind: AppKind,
    /// Its folder. It is copied into each run and never served from here. Empty where it has none, as an image.
    pub source: PathBuf,
    /// What a web server shows of it.
    pub site: Site,
    /// PHP extensions that it needs, lower case.
    pub extensions: Vec<String>,
    /// What is taken of the configuration of PHP's owner; [`PhpBase::default`] takes nothing.
    pub php: PhpBase,
    /// PHP's settings that it wants otherwise than they are for all.
    pub ini: BTreeMap<String, String>,
    /// Environment variables that it is given.
    pub env: BTreeMap<String, String>,
    /// Libraries and files that it needs.
    pub needs: Vec<Requirement>,
    /// Commands, each a program with its arguments, that make a copy of it ready to be served: `bin/console
    /// cache:warmup`. They are run once a study, in the copy.
    pub prepare: Vec<Vec<String>>,
    /// Files that it logs to by itself, relative to its folder; `DATE` in a name stands for a date, `*` for anything.
    pub logs: Vec<PathBuf>,
}

impl App {
    /// One of a kind that has no files and needs nothing.
    pub fn new(name: &str, kind: AppKind) -> Self {
        Self {
            name: name.to_owned(),
            site: Site::of(&kind),
            kind,
            source: PathBuf::new(),
            extensions: Vec::new(),
            php: PhpBase::default(),
            ini: BTreeMap::new(),
            env: BTreeMap::new(),
            needs: Vec::new(),
            prepare: Vec::new(),
            logs: Vec::new(),
        }
    }
}
