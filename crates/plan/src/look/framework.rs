//! A framework as a row of a table: what gives it away, and how it is served.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::composer::Composer;
use crate::site::FallbackEntry;
use crate::workload::KindEntry;

/// What is known of a framework. A row is a sign with everything that follows from it.
#[derive(Debug)]
pub(super) struct Framework {
    /// What programs call it: `laravel`.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Packages of which any gives it away.
    pub(super) packages: &'static [&'static str],
    /// Packages whose versions are told beside theirs.
    pub(super) beside: &'static [&'static str],
    /// Files and folders that give it away where all are there; no sign where there is none.
    pub(super) files: &'static [&'static str],
    /// Folders that may be its public one, most likely first; `.` is the application's own.
    pub(super) roots: &'static [&'static str],
    /// Where composer.json names its public folder, which then comes first.
    pub(super) extra: Option<Extra>,
    /// Names of the script that answers what is no file, most likely first.
    pub(super) fronts: &'static [&'static str],
    /// How it is served where nothing stands against it. Only a kind of worker keeps it between requests.
    pub(super) kind: KindEntry,
    /// Scripts beside its front controller that no request is meant for.
    pub(super) unserved: &'static [&'static str],
    pub(super) fallback: FallbackEntry,
    /// What its public folder holds and its maker's rules never send, as plans write it.
    pub(super) deny: &'static [&'static str],
    /// What makes it what it is in production.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// Other variables of the environment that it reads.
    pub(super) keys: &'static [&'static str],
    /// Files that it logs to. `DATE` stands for a date.
    pub(super) logs: &'static [&'static str],
    /// Folders that it writes to.
    pub(super) writable: &'static [&'static str],
    /// Extensions that it needs, but for those that no build of PHP lacks.
    pub(super) extensions: &'static [&'static str],
    /// Commands that prepare it where it is served through a script, each with the file that it needs; a framework's kind prepares
    /// itself.
    pub(super) prepare: &'static [(&'static str, &'static [&'static str])],
    /// Commands that make its tables and their first rows, in their order.
    pub(super) migrations: &'static [Migration],
    /// Which server of databases it always needs.
    pub(super) wants: Option<&'static str>,
    /// How a file of its own is made to take the database's address from the environment in the copies, where it would not: the file and
    /// the command.
    pub(super) database: Option<(&'static str, &'static [&'static str])>,
    /// What makes its front controller, where that is not part of its folder from the start.
    pub(super) made_by: Option<&'static str>,
    pub(super) remarks: &'static [Remark],
}

/// A key below `extra` in composer.json. <https://getcomposer.org/doc/04-schema.md#extra>
#[derive(Debug)]
pub(super) struct Extra {
    pub(super) keys: &'static [&'static str],
    /// Whether it names a folder in the public one, not that itself.
    pub(super) is_below: bool,
}

/// A command that writes to an application's database, and what must be there for it.
#[derive(Debug)]
pub(super) struct Migration {
    /// A package that has the command.
    pub(super) package: &'static str,
    /// A file or folder, from the application's.
    pub(super) path: &'static str,
    /// What that may not use, unless this is there: rows that are made up need a package that is left out of production.
    pub(super) made_up: Option<MadeUp>,
    pub(super) command: &'static [&'static str],
}

/// Rows that are made up: files of a folder with this word, which needs that folder.
#[derive(Debug)]
pub(super) struct MadeUp {
    pub(super) folder: &'static str,
    pub(super) word: &'static str,
    pub(super) needs: &'static str,
}

impl Migration {
    /// Whether an application in this folder with these packages has what the command needs.
    pub(super) fn fits(&self, folder: &Path, has_package: impl Fn(&str) -> bool) -> bool {
        has_package(self.package)
            && folder.join(self.path).exists()
            && !self.made_up.iter().any(|rows| rows.lack(folder))
    }
}

impl MadeUp {
    fn lack(&self, folder: &Path) -> bool {
        let Self { folder: of, word, needs } = self;
        let files = fs::read_dir(folder.join(of)).into_iter().flatten().flatten();
        let mut texts = files.map(|file| fs::read_to_string(file.path()).unwrap_or_default());
        !folder.join(needs).exists() && texts.any(|text| text.contains(word))
    }
}

/// What a reader should know, and when.
#[derive(Debug)]
pub(super) enum Remark {
    Always(&'static str),
    /// Where this file or folder is there.
    With(&'static str, &'static str),
    /// Where it is not.
    Without(&'static str, &'static str),
    /// Where this file has this text in it.
    Holding(&'static str, &'static str, &'static str),
}

/// Where an application is answered from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entrance {
    /// The public folder; empty where it is the application's own.
    pub(super) root: PathBuf,
    /// The script that answers what is no file, from the application's folder.
    pub(super) front: PathBuf,
}

impl Entrance {
    /// The script in this folder, where it is there.
    pub(super) fn find(folder: &Path, root: &Path, front: &str) -> Option<Self> {
        let root = normal(root);
        let front = root.join(front);
        folder.join(&front).is_file().then_some(Self { root, front })
    }

    /// `public`, `the folder itself`.
    pub(super) fn place(&self) -> String {
        if self.root == Path::new("") { "the folder itself".to_owned() } else { self.root.display().to_string() }
    }
}

impl Framework {
    pub(super) fn has_package(&self, composer: &Composer) -> bool {
        self.packages.iter().any(|name| composer.versions.contains_key(*name))
    }

    pub(super) fn has_files(&self, folder: &Path) -> bool {
        !self.files.is_empty() && self.files.iter().all(|name| folder.join(name).exists())
    }

    /// All places where it may be answered from, most likely first.
    pub(super) fn entrances(&self, folder: &Path, composer: &Composer) -> Vec<Entrance> {
        let named = self.extra.as_ref().and_then(|Extra { keys, is_below }| {
            let named = composer.extra(keys)?;
            if *is_below { named.parent().map(Path::to_owned) } else { Some(named) }
        });
        let roots = named.into_iter().chain(self.roots.iter().map(PathBuf::from));
        let mut found: Vec<Entrance> = Vec::new();
        for root in roots {
            let entrance = self.fronts.iter().find_map(|front| Entrance::find(folder, &root, front));
            found.extend(entrance.filter(|entrance| !found.contains(entrance)));
        }
        found
    }
}

impl Remark {
    /// Its text, where it holds for an application in a folder with this public folder in it. Files are looked for in both.
    pub(super) fn of(&self, folder: &Path, root: &Path) -> Option<&'static str> {
        let paths = |name: &str| [folder.join(name), folder.join(root).join(name)];
        let is_there = |name: &str| paths(name).iter().any(|path| path.exists());
        match *self {
            Self::Always(text) => Some(text),
            Self::With(name, text) => is_there(name).then_some(text),
            Self::Without(name, text) => (!is_there(name)).then_some(text),
            Self::Holding(name, part, text) => {
                let holds = |path: &PathBuf| fs::read_to_string(path).is_ok_and(|whole| whole.contains(part));
                paths(name).iter().any(holds).then_some(text)
            }
        }
    }
}

/// A path without `.` and without a slash at its end.
pub(super) fn normal(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}
