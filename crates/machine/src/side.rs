//! The sides of a change, as they are typed, and where their files are on this machine.

use std::path::{Path, PathBuf};

use stampede_conduct::Failure;
use stampede_plan::GateSide;
use stampede_platforms::{Checkout, CheckoutError};

use crate::onlooker::Onlooker;

/// A side as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedSide {
    /// A folder with a plan or an application.
    Folder(PathBuf),
    /// A revision of the git repository around the current folder.
    Revision(String),
    /// An image that serves by itself.
    Image(String),
    /// A stored study.
    Study(String),
}

impl TypedSide {
    /// What was meant: a folder comes before a revision of the same name.
    #[must_use]
    pub fn read(typed: &str) -> Self {
        if let Some(name) = typed.strip_prefix("image:") {
            return Self::Image(name.to_owned());
        }
        match (typed.strip_prefix("study:"), typed.strip_prefix("git:")) {
            (Some(name), _) => Self::Study(name.to_owned()),
            (None, Some(name)) => Self::Revision(name.to_owned()),
            (None, None) if Path::new(typed).is_dir() => Self::Folder(PathBuf::from(typed)),
            (None, None) => Self::Revision(typed.to_owned()),
        }
    }

    /// What results call a side that was typed like this: the whole name of a commit, which continuous integration gives, by its first
    /// ten digits, anything else as it is.
    #[must_use]
    pub fn short(typed: &str) -> &str {
        let is_commit = matches!(typed.len(), 40 | 64) && typed.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_commit { &typed[..10] } else { typed }
    }

    /// The folder that holds it; of a revision, the current folder as it was then.
    ///
    /// # Errors
    ///
    /// When the repository does not have the revision, its files cannot be written, or it is a stored study.
    pub fn check_out(&self, onlooker: Onlooker<'_>) -> Result<SideFiles, Failure> {
        match self {
            Self::Folder(folder) => Ok(SideFiles::Here(folder.clone())),
            Self::Image(name) => Ok(SideFiles::Inside(name.clone())),
            Self::Revision(revision) => match Checkout::of(revision, onlooker.warn) {
                Err(error @ CheckoutError::NotWritten { .. }) => Err(Failure::missing(error)),
                checked_out => checked_out.map(SideFiles::CheckedOut).map_err(Failure::usage),
            },
            Self::Study(name) => Err(Failure::usage(format!(
                "study:{name} is stored and can only be compared with another stored study\n  give study:NAME for both"
            ))),
        }
    }
}

/// Where a side's files are.
#[derive(Debug)]
pub enum SideFiles {
    /// In this folder.
    Here(PathBuf),
    /// In a folder that is removed with this.
    CheckedOut(Checkout),
    /// In an image.
    Inside(String),
}

impl SideFiles {
    /// The side, as a plan of it is read.
    #[must_use]
    pub fn side(&self) -> GateSide<'_> {
        match self {
            Self::Here(folder) => GateSide::Folder(folder),
            Self::CheckedOut(checkout) => GateSide::Folder(&checkout.folder),
            Self::Inside(name) => GateSide::Image(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_comes_before_a_revision() {
        for (typed, expected) in [
            (".", TypedSide::Folder(PathBuf::from("."))),
            ("src", TypedSide::Folder(PathBuf::from("src"))),
            ("git:src", TypedSide::Revision("src".to_owned())),
            ("HEAD~1", TypedSide::Revision("HEAD~1".to_owned())),
            ("study:latest", TypedSide::Study("latest".to_owned())),
            ("image:my/app:1", TypedSide::Image("my/app:1".to_owned())),
        ] {
            assert_eq!(TypedSide::read(typed), expected);
        }
    }

    #[test]
    fn a_commit_is_called_by_its_first_digits() {
        let commit = "16f0f42d9ff5bead71406b5984966c345aaa7336";
        for (typed, short) in [(commit, "16f0f42d9f"), ("main", "main"), (&commit[1..], &commit[1..]), ("./a", "./a")] {
            assert_eq!(TypedSide::short(typed), short);
        }
    }
}
