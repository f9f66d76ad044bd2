//! A run's folder: a copy of the application, the rendered files, logs and sockets.
//!
//! The copy is the run's user's own: applications keep caches, logs and sessions in their folders. Nobody keeps what they
//! wrote: the next trial gets a new copy.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

use super::template_folder;
use crate::machine::user::User;

/// What programs take for the user's own folder, relative to the run's: tools keep caches there.
pub(crate) const HOME: &str = "home";

/// Where unix sockets are, relative to the run's folder.
pub(crate) const SOCKETS: &str = "s";

/// A run's folder. Everything in it can be read by the run's user, who may write only where it is said, and by nobody else.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    user: Option<User>,
}

impl Folder {
    /// Makes the folder with its sub-folders for logs and sockets.
    pub(crate) fn create(path: &Path, user: Option<User>) -> Result<Self, FolderError> {
        let folder = Self { path: path.to_owned(), user };
        make_folder(path)?;
        folder.close()?;
        make_folder(&path.join("logs"))?;
        Ok(folder)
    }

    /// Keeps all others out: an application may hold secrets.
    fn close(&self) -> Result<(), FolderError> {
        match self.user {
            Some(User { gid, .. }) => {
                chown(&self.path, None, Some(gid)).map_err(failed("change the group of", &self.path))?;
                set_mode(&self.path, 0o750)
            }
            None => set_mode(&self.path, 0o700),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the copy of the application is.
    pub(crate) fn app(&self) -> PathBuf {
        self.path.join("app")
    }

    /// Where a unix socket is.
    pub(crate) fn socket(&self, name: &str) -> PathBuf {
        self.path.join(SOCKETS).join(format!("{name}.sock"))
    }

    /// Where a unit's standard output and error go.
    pub(crate) fn log(&self, unit: &str) -> PathBuf {
        self.path.join("logs").join(format!("{unit}.log"))
    }

    /// Copies the application for the run's user to do with as it likes. Links stay links as long as they lead nowhere else.
    pub(crate) fn copy_app(&self, source: &Path) -> Result<(), FolderError> {
        copy_tree(source, &self.app(), Path::new(""), self.user)
    }

    /// Writes a file that the run's user may read.
    pub(crate) fn write(&self, relative: &Path, text: &str) -> Result<(), FolderError> {
        let path = self.inside(relative)?;
        if let Some(parent) = path.parent() {
            make_folders(parent)?;
        }
        fs::write(&path, text).map_err(failed("write", &path))?;
        set_mode(&path, 0o644)
    }

    /// Copies a program into the folder.
    pub(crate) fn install(&self, program: &Path, relative: &Path) -> Result<(), FolderError> {
        let path = self.inside(relative)?;
        if let Some(parent) = path.parent() {
            make_folders(parent)?;
        }
        fs::copy(program, &path).map_err(failed("write", &path))?;
        set_mode(&path, 0o755)
    }

    /// Puts a program that was copied already at a second place: one file, as the layers of container images are, so that
    /// its page cache counts once.
    pub(crate) fn share(&self, first: &Path, relative: &Path) -> Result<(), FolderError> {
        let path = self.inside(relative)?;
        if let Some(parent) = path.parent() {
            make_folders(parent)?;
        }
        fs::hard_link(self.inside(first)?, &path).map_err(failed("write", &path))
    }

    /// Copies a folder that the run's user may write to.
    pub(crate) fn install_folder(&self, template: &Path, relative: &Path) -> Result<(), FolderError> {
        let path = self.inside(relative)?;
        if let Some(parent) = path.parent() {
            make_folders(parent)?;
        }
        template_folder::copy(template, &path, self.user).map_err(failed("write", &path))
    }

    /// Makes a folder that the run's user may write to. Nothing is written there afterwards with more rights than the run's
    /// user has: it could have put a link in the way.
    pub(crate) fn make_writable(&self, relative: &Path) -> Result<(), FolderError> {
        let path = self.inside(relative)?;
        make_folders(&path)?;
        if let Some(User { uid, gid }) = self.user {
            chown(&path, Some(uid), Some(gid)).map_err(failed("change the owner of", &path))?;
        }
        Ok(())
    }

    /// Makes a folder, and all that the application brought along in it, the run's user's.
    pub(crate) fn hand_over(&self, relative: &Path) -> Result<(), FolderError> {
        self.make_writable(relative)?;
        match self.user {
            Some(user) => hand_over(&self.inside(relative)?, user),
            None => Ok(()),
        }
    }

    /// The place of a relative path that does not lead out.
    pub(crate) fn inside(&self, relative: &Path) -> Result<PathBuf, FolderError> {
        let stays = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if stays { Ok(self.path.join(relative)) } else { Err(FolderError::LeadsOut(relative.to_owned())) }
    }
}

/// The history of an application's source, which may be larger than all else.
const HISTORY: &str = ".git";

/// Copies an application as it is copied into each run, as this user's own.
///
/// # Errors
///
/// When something cannot be copied: a link that leads out of it, or neither a file nor a folder.
pub fn copy_app(source: &Path, target: &Path) -> Result<(), CopyError> {
    Ok(copy_tree(source, target, Path::new(""), None)?)
}

/// Why an application could not be copied.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct CopyError(#[from] FolderError);

fn hand_over(folder: &Path, user: User) -> Result<(), FolderError> {
    for entry in fs::read_dir(folder).map_err(failed("read", folder))? {
        let path = entry.map_err(failed("read", folder))?.path();
        lchown(&path, Some(user.uid), Some(user.gid)).map_err(failed("change the owner of", &path))?;
        if path.is_dir() && !path.is_symlink() {
            hand_over(&path, user)?;
        }
    }
    Ok(())
}

/// Copies `root/below` to `target`, for a user where one is given.
fn copy_tree(root: &Path, target: &Path, below: &Path, user: Option<User>) -> Result<(), FolderError> {
    let source = root.join(below);
    make_folder(target)?;
    for entry in fs::read_dir(&source).map_err(failed("read", &source))? {
        let entry = entry.map_err(failed("read", &source))?;
        if below == Path::new("") && entry.file_name() == HISTORY {
            continue;
        }
        let (from, to) = (entry.path(), target.join(entry.file_name()));
        let below = below.join(entry.file_name());
        let kind = entry.file_type().map_err(failed("read", &from))?;
        if kind.is_dir() {
            copy_tree(root, &to, &below, user)?;
        } else if kind.is_symlink() {
            let link = fs::read_link(&from).map_err(failed("read", &from))?;
            if !stays_inside(&below, &link) {
                return Err(FolderError::Link { path: from, link });
            }
            symlink(&link, &to).map_err(failed("write", &to))?;
            give(&to, user)?;
        } else if kind.is_file() {
            fs::copy(&from, &to).map_err(failed("copy", &from))?;
            let mode = fs::metadata(&to).map_err(failed("read", &to))?.permissions().mode();
            let executable = if mode & 0o100 == 0 { 0 } else { 0o111 };
            set_mode(&to, 0o644 | executable)?;
            give(&to, user)?;
        } else {
            return Err(FolderError::Special(from));
        }
    }
    // Last: until then nobody else can put anything in the way.
    give(target, user)
}

/// Makes a file, folder or link a user's own.
fn give(path: &Path, user: Option<User>) -> Result<(), FolderError> {
    let Some(User { uid, gid }) = user else { return Ok(()) };
    lchown(path, Some(uid), Some(gid)).map_err(failed("change the owner of", path))
}

/// Whether a link, at a path relative to a folder, leads to a place within that folder.
fn stays_inside(path: &Path, link: &Path) -> bool {
    let mut depth = path.components().count() - 1;
    for part in link.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

/// Makes a folder that others may read, whatever the umask is.
fn make_folder(path: &Path) -> Result<(), FolderError> {
    fs::create_dir(path).map_err(failed("make", path))?;
    set_mode(path, 0o755)
}

/// Makes a folder and those above it, as far as they do not exist.
fn make_folders(path: &Path) -> Result<(), FolderError> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_folders(parent)?;
    }
    make_folder(path)
}

fn set_mode(path: &Path, mode: u32) -> Result<(), FolderError> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed("change the mode of", path))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Io { action, path, source }
}

/// Why a run's folder could not be filled.
#[derive(Debug, Error)]
pub(crate) enum FolderError {
    #[error("{action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("place {}: it leads out of the run's folder", .0.display())]
    LeadsOut(PathBuf),
    #[error("copy the link {}: it leads out of the application, to {}", path.display(), link.display())]
    Link { path: PathBuf, link: PathBuf },
    #[error("copy {}: it is neither a file, a folder nor a link", .0.display())]
    Special(PathBuf),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn an_application_is_copied_readable_with_its_inner_links() {
        let source = tempfile::tempdir().unwrap();
        let root = source.path();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("index.php"), "<?php").unwrap();
        fs::write(root.join("sub/run"), "#!").unwrap();
        set_mode(&root.join("index.php"), 0o600).unwrap();
        set_mode(&root.join("sub/run"), 0o700).unwrap();
        symlink("../index.php", root.join("sub/link")).unwrap();

        let target = tempfile::tempdir().unwrap();
        let folder = Folder::create(&target.path().join("r"), None).unwrap();
        folder.copy_app(root).unwrap();
        assert_eq!(mode(&folder.app().join("index.php")), 0o644);
        assert_eq!(mode(&folder.app().join("sub/run")), 0o755);
        assert_eq!(fs::read_link(folder.app().join("sub/link")).unwrap(), Path::new("../index.php"));
    }

    #[test]
    fn what_leads_out_is_refused() {
        let source = tempfile::tempdir().unwrap();
        let target = tempfile::tempdir().unwrap();
        let folder = Folder::create(&target.path().join("r"), None).unwrap();
        symlink("../../etc/passwd", source.path().join("link")).unwrap();
        assert!(matches!(folder.copy_app(source.path()), Err(FolderError::Link { .. })));
        for path in ["../x", "/x", "a/../../x"] {
            assert!(matches!(folder.write(Path::new(path), ""), Err(FolderError::LeadsOut(_))), "{path}");
        }
        for (path, link, inside) in [
            ("a", "b", true),
            ("a", "../b", false),
            ("d/a", "../b", true),
            ("d/a", "../../b", false),
            ("a", "/b", false),
            ("a", "d/../../b", false),
        ] {
            assert_eq!(stays_inside(Path::new(path), Path::new(link)), inside, "{path} -> {link}");
        }
    }
}
