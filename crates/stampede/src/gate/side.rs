//! One side of a gate: a folder, a revision of a git repository, or a stored study.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exit::Failure;
use crate::screen;

/// A side as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Folder(PathBuf),
    Revision(String),
    Study(String),
}

impl Side {
    /// What was meant: a folder comes before a revision of the same name.
    pub(super) fn read(typed: &str) -> Self {
        match (typed.strip_prefix("study:"), typed.strip_prefix("git:")) {
            (Some(name), _) => Self::Study(name.to_owned()),
            (None, Some(name)) => Self::Revision(name.to_owned()),
            (None, None) if Path::new(typed).is_dir() => Self::Folder(PathBuf::from(typed)),
            (None, None) => Self::Revision(typed.to_owned()),
        }
    }

    /// The folder that holds it; of a revision, the current folder as it was then.
    pub(super) fn check_out(&self) -> Result<CheckedOut, Failure> {
        match self {
            Self::Folder(folder) => Ok(CheckedOut { folder: folder.clone(), _tree: None }),
            Self::Revision(revision) => CheckedOut::of(revision),
            Self::Study(name) => Err(Failure::usage(format!(
                "study:{name} is stored and can only be held against another stored study\n  give study:NAME for both"
            ))),
        }
    }
}

/// A folder with a side's files.
#[derive(Debug)]
pub(super) struct CheckedOut {
    pub(super) folder: PathBuf,
    /// Removed with this.
    _tree: Option<WorkTree>,
}

impl CheckedOut {
    fn of(revision: &str) -> Result<Self, Failure> {
        let prefix = git(Path::new("."), &["rev-parse", "--show-prefix"]).map_err(|told| {
            Failure::usage(format!(
                "{revision} is no folder here, and no revision: this folder is in no git repository ({told})\n  \
                 name a folder, or go into the repository"
            ))
        })?;
        // What begins with a dash would be read as an option.
        let commit = format!("{revision}^{{commit}}");
        let commit = git(Path::new("."), &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]);
        let commit = commit.map_err(|_| {
            Failure::usage(format!(
                "{revision} is no folder here, and no revision of this git repository\n  \
                 git branch --all and git tag list their names; in a shallow clone, git fetch the revision first"
            ))
        })?;
        let tree = WorkTree::add(&commit, &repository_name())
            .map_err(|told| Failure::missing(format!("cannot check {revision} out beside this work tree: {told}")))?;
        let folder = tree.path.join(&prefix);
        if !folder.is_dir() {
            return Err(Failure::usage(format!("{revision} has no folder {prefix}\n  go into a folder that it has")));
        }
        Ok(Self { folder, _tree: Some(tree) })
    }
}

/// A work tree beside the repository's own, in a temporary folder.
#[derive(Debug)]
struct WorkTree {
    /// A folder of our own that holds nothing else.
    temporary: PathBuf,
    /// Where it is: there, under the repository's own name, which becomes that of the application.
    path: PathBuf,
    /// Where the repository is.
    repository: PathBuf,
}

impl WorkTree {
    fn add(commit: &str, name: &str) -> Result<Self, String> {
        let repository = env::current_dir().map_err(|error| error.to_string())?;
        let temporary = temporary(commit).map_err(|error| error.to_string())?;
        // From here on it is removed, whatever happens.
        let tree = Self { path: temporary.join(name), temporary, repository };
        let path = tree.path.to_string_lossy().into_owned();
        git(&tree.repository, &["worktree", "add", "--detach", "--quiet", "--force", &path, commit])?;
        Ok(tree)
    }
}

impl Drop for WorkTree {
    fn drop(&mut self) {
        let path = self.path.to_string_lossy().into_owned();
        // Where it was never added, its folder is all there is.
        let _ = git(&self.repository, &["worktree", "remove", "--force", &path]);
        if fs::remove_dir_all(&self.temporary).is_err() && self.temporary.exists() {
            let temporary = self.temporary.display();
            screen::warning(&format!("cannot remove {temporary}; remove it and run git worktree prune"));
        }
    }
}

/// What the folder of the repository around the current folder is called.
fn repository_name() -> String {
    let top = git(Path::new("."), &["rev-parse", "--show-toplevel"]).unwrap_or_default();
    Path::new(&top).file_name().map_or_else(|| "application".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// An empty folder of our own.
fn temporary(commit: &str) -> io::Result<PathBuf> {
    let short: String = commit.chars().take(12).collect();
    for number in 0..100 {
        let path = env::temp_dir().join(format!("stampede-gate-{}-{short}-{number}", std::process::id()));
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| path),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// What git prints, or the first line of what it says is wrong.
fn git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output();
    let output = output.map_err(|error| format!("git cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(told.lines().next().unwrap_or("it said nothing").trim_start_matches("fatal: ").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_comes_before_a_revision() {
        for (typed, expected) in [
            (".", Side::Folder(PathBuf::from("."))),
            ("src", Side::Folder(PathBuf::from("src"))),
            ("git:src", Side::Revision("src".to_owned())),
            ("HEAD~1", Side::Revision("HEAD~1".to_owned())),
            ("study:latest", Side::Study("latest".to_owned())),
        ] {
            assert_eq!(Side::read(typed), expected);
        }
    }
}
