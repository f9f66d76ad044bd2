//! What a web server shows of an application: the files of its public folder, and what answers every other path.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::AppKind;

/// What a web server shows of an application, and the address that visitors have of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The public folder (document root), relative to the application's folder; empty where it is that folder itself. `None`: it
    /// has none, and every request goes to the application.
    pub root: Option<PathBuf>,
    /// Whether the web server itself answers with the files of the public folder.
    pub files: bool,
    /// Who answers a path that is no file.
    pub fallback: Fallback,
    /// What in the public folder is never shown, beside PHP sources and names that begin with a dot.
    pub denied: Vec<Denied>,
    /// Names that begin with a dot in the public folder as it was found: folders, and names of files in whatever folder. For
    /// servers that know no patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<Denied>,
    /// Whether the application brings `.htaccess` files, which Apache then heeds.
    pub htaccess: bool,
    /// The name that requests ask it by in `Host`, with its port where it has one. `None`: the address that it is served at.
    #[serde(default)]
    pub host: Option<String>,
    /// Whether visitors reach it by https, which a proxy before its servers ends: requests say so, and so do the servers to PHP.
    #[serde(default)]
    pub https: bool,
}

impl Site {
    /// That of an application of which nothing more is said: the public folder is the folder of its script.
    pub fn of(kind: &AppKind) -> Self {
        let index = match kind {
            // Inside the binary.
            AppKind::EmbeddedPhp { index, .. } => Some(index.as_path()),
            kind => kind.index(),
        };
        let root = index.map(|index| index.parent().unwrap_or(Path::new("")).to_owned());
        Self { files: root.is_some(), root, ..Self::default() }
    }

    /// Whether anything is known of it that a record must have.
    pub fn is_told(&self) -> bool {
        self.root.is_some() || self.host.is_some() || self.https
    }
}

/// `public: its files, the rest to the front controller`.
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { root, files, fallback, denied: _, hidden: _, htaccess, host, https } = self;
        match root.as_deref() {
            None => f.write_str("none")?,
            Some(root) if root.as_os_str().is_empty() => f.write_str("the application's folder")?,
            Some(root) => write!(f, "{}", root.display())?,
        }
        if root.is_some() {
            f.write_str(if *files { ": its files, " } else { ": no files, " })?;
            f.write_str(match fallback {
                Fallback::Front => "the rest to the front controller",
                Fallback::PathInfo => "the rest to the front controller as PATH_INFO",
                Fallback::NotFound => "404 for the rest",
            })?;
            f.write_str(if *htaccess { ", .htaccess files on Apache" } else { "" })?;
        }
        match (host, https) {
            (None, false) => Ok(()),
            (None, true) => f.write_str("; reached by https"),
            (Some(host), https) => write!(f, "; reached at {}://{host}", if *https { "https" } else { "http" }),
        }
    }
}

/// Who answers a path that is no file of the public folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fallback {
    /// The front controller, which finds the path in `REQUEST_URI`.
    #[default]
    Front,
    /// The front controller, with the path as its `PATH_INFO`: `index.php/path`.
    PathInfo,
    /// Nobody: 404.
    NotFound,
}

/// What in a public folder is never shown. Paths are relative to it, with `/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Denied {
    /// A folder with everything in it: `application`.
    Folder(String),
    /// A file name, in every folder: `composer.json`.
    Name(String),
    /// An ending of file names, without its dot: `yml`.
    Ending(String),
}

/// As plans write it: `application/`, `composer.json`, `*.yml`.
impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{folder}/"),
            Self::Name(name) => f.write_str(name),
            Self::Ending(ending) => write!(f, "*.{ending}"),
        }
    }
}
