//! The folder that is written: whole or not at all.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf, absolute};

use stampede_core::BuildStep;
use stampede_export::{Bundle, BundleFile};

use crate::exit::Failure;

/// The flag of `stampede export`, which has `--force` beside it.
pub(super) const OUTPUT: &str = "--output";

/// A folder that may be written.
pub(super) struct Folder {
    /// Absolute.
    path: PathBuf,
    /// The flag that names it.
    flag: &'static str,
}

impl Folder {
    /// Sees that nothing is lost by it.
    pub(super) fn new(flag: &'static str, path: &Path, force: bool) -> Result<Self, Failure> {
        let problem = |error: io::Error| Failure::usage(format!("{flag} {}: {error}", path.display()));
        match fs::read_dir(path) {
            Ok(mut entries) => {
                if entries.next().is_some() && !force {
                    return Err(Failure::usage(format!(
                        "{flag} {} is not empty\n  name a folder that is not there yet{}",
                        path.display(),
                        if flag == OUTPUT { ", or give --force" } else { "" }
                    )));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(problem(error)),
        }
        // What is there is known by its real path; what is not, by that of the nearest folder that is.
        let whole = absolute(path).map_err(problem)?;
        let there = whole.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
        let real = fs::canonicalize(there).map_err(problem)?;
        let rest = whole.strip_prefix(there).unwrap_or(Path::new(""));
        Ok(Self { path: if rest == Path::new("") { real } else { real.join(rest) }, flag })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// That neither is the application within it nor it within the application, which is copied.
    pub(super) fn apart_from(&self, app: &Path) -> Result<(), Failure> {
        let app = fs::canonicalize(app).map_err(|error| Failure::usage(format!("{}: {error}", app.display())))?;
        if self.path.starts_with(&app) || app.starts_with(&self.path) {
            return Err(Failure::usage(format!(
                "{} {} and the application {} are in one another\n  name a folder beside the application",
                self.flag,
                self.path.display(),
                app.display()
            )));
        }
        Ok(())
    }

    /// Writes files, a copy of the application and what was built, beside the folder or below it first and then into it.
    pub(super) fn fill(&self, bundle: &Bundle, app: &Path, built: &[(&BuildStep, PathBuf)]) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::missing(format!("cannot write {}: {error}", self.path.display()));
        let parent =
            if self.path.is_dir() { self.path.as_path() } else { self.path.parent().unwrap_or(Path::new("/")) };
        fs::create_dir_all(parent).map_err(failed)?;
        let beside = tempfile::Builder::new().prefix(".stampede-").tempdir_in(parent).map_err(failed)?;
        // Other users' servers must get in.
        fs::set_permissions(beside.path(), fs::Permissions::from_mode(0o755)).map_err(failed)?;
        let copy = beside.path().join(&bundle.app);
        copy.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
        stampede_platforms::copy_app(app, &copy).map_err(Failure::missing)?;
        for replacement in &bundle.replacements {
            stampede_platforms::replace(&copy, replacement).map_err(Failure::missing)?;
        }
        for BundleFile { path, text, executable } in &bundle.files {
            put(&beside.path().join(path), text.as_bytes(), *executable).map_err(failed)?;
        }
        for (step, result) in built {
            let path = beside.path().join(&bundle.run).join(&step.output);
            put(&path, &fs::read(result).map_err(failed)?, true).map_err(failed)?;
        }
        self.take(&beside.keep()).map_err(failed)
    }

    /// Moves everything from a folder into this one, in place of what has the same name.
    fn take(&self, from: &Path) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let to = self.path.join(entry.file_name());
            match fs::symlink_metadata(&to) {
                Ok(old) if old.is_dir() => fs::remove_dir_all(&to)?,
                Ok(_) => fs::remove_file(&to)?,
                Err(_) => {}
            }
            fs::rename(entry.path(), to)?;
        }
        fs::remove_dir(from)
    }
}

fn put(path: &Path, content: &[u8], executable: bool) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, content)?;
    fs::set_permissions(path, fs::Permissions::from_mode(if executable { 0o755 } else { 0o644 }))
}
