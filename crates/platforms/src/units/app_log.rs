//! Files that an application logs to by itself, in its own folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::layout::folder::Folder;
use crate::layout::owned::FolderError;

/// How paths in the application's folder begin.
pub(crate) const APP: &str = "@{app}";

/// What stands for a part of a name that varies.
const VARYING: [&str; 2] = ["DATE", "*"];

/// The place of a log in a run's folder. It must not lead out.
pub(crate) fn inside(folder: &Folder, log: &Path) -> Result<PathBuf, FolderError> {
    match log.strip_prefix(APP) {
        Ok(of_app) => folder.inside(of_app).map(|_| folder.app().join(of_app)),
        Err(_) => folder.inside(log),
    }
}

/// The files that a log is at the moment, the oldest name first: itself, or those in its folder whose names fit. What an application
/// made of a folder of its own, such as a link to one elsewhere, is none.
pub(crate) fn files(app: &Path, log: &Path) -> Vec<PathBuf> {
    let real = |path: &Path| fs::canonicalize(path).ok();
    let leads_out = || real(app).zip(log.parent().and_then(real)).is_none_or(|(app, folder)| !folder.starts_with(app));
    if log.starts_with(app) && leads_out() {
        return Vec::new();
    }
    let name = log.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((before, after)) = VARYING.iter().find_map(|varying| name.split_once(varying)) else {
        return if log.is_symlink() || log.is_file() { vec![log.to_owned()] } else { Vec::new() };
    };
    let fits = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.len() > before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
    };
    let entries = log.parent().and_then(|folder| fs::read_dir(folder).ok());
    let mut files: Vec<PathBuf> =
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).filter(fits).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_a_file_or_all_whose_names_fit() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["laravel.log", "laravel-2026-11-26.log", "laravel-2026-11-25.log", "laravel-.log", "other.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        for (log, found) in [
            ("laravel.log", &["laravel.log"][..]),
            ("laravel-DATE.log", &["laravel-2026-11-25.log", "laravel-2026-11-26.log"]),
            ("*.txt", &["other.txt"]),
            ("missing.log", &[]),
            ("no/folder/*.log", &[]),
        ] {
            let found: Vec<PathBuf> = found.iter().map(|name| folder.path().join(name)).collect();
            assert_eq!(files(folder.path(), &folder.path().join(log)), found, "{log}");
        }
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("a.log"), "").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("logs")).unwrap();
        for log in ["logs/a.log", "logs/*.log"] {
            assert_eq!(files(folder.path(), &folder.path().join(log)), Vec::<PathBuf>::new(), "{log}");
        }
    }
}
