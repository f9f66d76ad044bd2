//! Which state of its source an application was measured in.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much of a commit's name is shown where the whole one has no room: what `git` shows of large repositories.
const SHORT: usize = 10;

/// A commit of the git repository that an application's folder lies in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// The commit's whole name.
    pub commit: String,
    /// Whether files of the folder that git tracks were other than in that commit.
    pub is_dirty: bool,
}

impl fmt::Display for Revision {
    /// Short, and as `git describe --dirty` marks it: `3f2a91c0b7-dirty`.
    /// <https://git-scm.com/docs/git-describe>
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short: String = self.commit.chars().take(SHORT).collect();
        f.pad(&format!("{short}{}", if self.is_dirty { "-dirty" } else { "" }))
    }
}
