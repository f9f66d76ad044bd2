//! Asks git which state of its source an application's folder holds.

use std::path::Path;
use std::time::Duration;

use stampede_core::Revision;
use tokio::process::Command;

use crate::output::{Output, collect};

/// It must not hold up a study: on a slow disk the state of a large work tree takes seconds.
const LIMIT: Duration = Duration::from_secs(5);

/// The commit that a folder is checked out from; none where git is missing or takes too long, and where the folder is in no
/// work tree or in none of its commits, as one that is ignored.
pub async fn revision(folder: &Path) -> Option<Revision> {
    // The second name stands for the folder in that commit.
    let named = ask(folder, &["rev-parse", "HEAD", "HEAD:./"]).await.filter(|output| output.status.success())?;
    let commit = String::from_utf8_lossy(&named.stdout).lines().next()?.to_owned();
    let is_name = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let compared = ask(folder, &["diff", "--quiet", "--no-ext-diff", "--no-textconv", "HEAD", "--", "."]).await?;
    let is_dirty = match compared.status.code()? {
        0 => false,
        1 => true,
        _ => return None,
    };
    is_name.then_some(Revision { commit, is_dirty })
}

async fn ask(folder: &Path, arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new("git");
    // Nothing is written into the repository, and no program of its own is started.
    command.arg("-C").arg(folder).args(["--no-optional-locks", "-c", "core.fsmonitor=false"]).args(arguments);
    // In a hook these name the repository that the hook is of.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    collect(command, LIMIT).await.ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) -> String {
        let author = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
        let output = std::process::Command::new("git").arg("-C").arg(folder).args(author).args(arguments).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[tokio::test]
    async fn a_folder_has_the_revision_that_git_knows_of_it() {
        if std::process::Command::new("git").arg("--version").output().is_err() {
            let _ = writeln!(std::io::stderr(), "SKIP a_folder_has_the_revision_that_git_knows_of_it: needs git");
            return;
        }
        let repository = tempfile::tempdir().unwrap();
        let [app, beside] = ["app", "beside"].map(|name| repository.path().join(name));
        for folder in [&app, &beside] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("index.php"), "<?php").unwrap();
        }
        assert_eq!(revision(&app).await, None, "in no repository");
        git(repository.path(), &["init", "--quiet"]);
        assert_eq!(revision(&app).await, None, "without a commit");
        git(repository.path(), &["add", "app"]);
        git(repository.path(), &["commit", "--quiet", "--message", "one"]);

        let commit = git(repository.path(), &["rev-parse", "HEAD"]);
        let clean = Some(Revision { commit: commit.clone(), is_dirty: false });
        assert_eq!(revision(&app).await, clean);
        assert_eq!(revision(repository.path()).await, clean);
        assert_eq!(revision(&beside).await, None, "not tracked");
        // Only the file's time.
        fs::write(app.join("index.php"), "<?php").unwrap();
        fs::write(app.join("cache"), "made while it ran").unwrap();
        assert_eq!(revision(&app).await, clean, "what git does not track");
        fs::write(app.join("index.php"), "<?php // changed").unwrap();
        assert_eq!(revision(&app).await, Some(Revision { commit, is_dirty: true }));
        assert_eq!(revision(&repository.path().join("no such folder")).await, None);
    }
}
