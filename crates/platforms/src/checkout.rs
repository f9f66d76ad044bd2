//! A revision of the git repository around the current folder, in a work tree of its own.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

/// Why a revision is not there.
#[derive(Debug, Error)]
pub enum CheckoutError {
    /// The current folder is in no repository.
    #[error(
        "{revision} is neither a folder nor a git revision: this folder is not in a git repository ({told})\n  name a folder, or go into \
         the repository"
    )]
    NoRepository {
        /// What was named.
        revision: String,
        /// What git printed.
        told: String,
    },
    /// The repository does not have it.
    #[error(
        "{0} is neither a folder nor a revision of this git repository\n  git branch --all and git tag list their names; in a \
         shallow clone, git fetch the revision first"
    )]
    NoRevision(String),
    /// The current folder was not there then.
    #[error("{revision} has no folder {folder}\n  go into a folder that it has")]
    NoFolder {
        /// What was named.
        revision: String,
        /// The current folder.
        folder: String,
    },
    /// Its files could not be written.
    #[error("cannot check {revision} out beside this work tree: {told}")]
    NotWritten {
        /// What was named.
        revision: String,
        /// What git printed.
        told: String,
    },
}

/// A folder with a revision's files, removed with this.
#[derive(Debug)]
pub struct Checkout {
    /// The current folder as it was then.
    pub folder: PathBuf,
    _tree: WorkTree,
}

impl Checkout {
    /// Checks a revision out. `warn` hears of a work tree that cannot be removed in the end.
    ///
    /// # Errors
    ///
    /// When git does not have it.
    pub fn of(revision: &str, warn: fn(&str)) -> Result<Self, CheckoutError> {
        let named = || revision.to_owned();
        let prefix = git(Path::new("."), &["rev-parse", "--show-prefix"])
            .map_err(|told| CheckoutError::NoRepository { revision: named(), told })?;
        // What begins with a dash would be read as an option.
        let commit = format!("{revision}^{{commit}}");
        let commit = git(Path::new("."), &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])
            .map_err(|_| CheckoutError::NoRevision(named()))?;
        let tree = WorkTree::add(&commit, &repository_name(), warn)
            .map_err(|told| CheckoutError::NotWritten { revision: named(), told })?;
        let folder = tree.path.join(&prefix);
        if !folder.is_dir() {
            return Err(CheckoutError::NoFolder { revision: named(), folder: prefix });
        }
        Ok(Self { folder, _tree: tree })
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
    warn: fn(&str),
}

impl WorkTree {
    fn add(commit: &str, name: &str, warn: fn(&str)) -> Result<Self, String> {
        let repository = env::current_dir().map_err(|error| error.to_string())?;
        let temporary = temporary(commit).map_err(|error| error.to_string())?;
        // From here on it is removed, whatever happens.
        let tree = Self { path: temporary.join(name), temporary, repository, warn };
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
            (self.warn)(&format!("cannot remove {temporary}; remove it and run git worktree prune"));
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
