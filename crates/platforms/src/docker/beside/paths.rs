//! Which files a command needs where it is carried out elsewhere, and which of those that it wrote there come back.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use bollard::models::{ChangeType, FilesystemChange};

/// A plan in the current folder is read where none is named.
const PLAN: &str = "stampede.yaml";

/// The paths that a command line may name, from its current folder: what is a path and what is not is found by looking.
pub(super) fn named(args: &[String], dir: &Path) -> Vec<PathBuf> {
    let value = |arg: &str| match arg.strip_prefix('-') {
        Some(_) => arg.split_once('=').map(|(_, value)| value.to_owned()),
        None => Some(arg.to_owned()),
    };
    let values = args.iter().filter_map(|arg| value(arg)).filter(|value| !value.is_empty() && value != "-");
    let mut paths: Vec<PathBuf> = values.map(|value| plain(&dir.join(value))).collect();
    if dir.join(PLAN).is_file() {
        paths.push(dir.to_owned());
    }
    paths.sort();
    paths.dedup();
    paths
}

/// A path without `.` and `..`, by its letters alone.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
        plain
    })
}

/// What is below one of these folders, or one of them.
pub(super) fn is_below(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// What of these paths is brought: what is there and is not mounted already. What is within another one comes with that.
pub(super) fn to_bring(paths: &[PathBuf], mounted: &[PathBuf]) -> Vec<PathBuf> {
    let is_brought = |path: &&PathBuf| {
        // The whole of a machine is not an application.
        path.parent().is_some() && !is_below(path, mounted) && path.symlink_metadata().is_ok()
    };
    let mut brought: Vec<PathBuf> = Vec::new();
    for path in paths.iter().filter(is_brought) {
        let target = fs::canonicalize(path).ok().filter(|target| target != path);
        for path in [path.clone()].into_iter().chain(target) {
            if !is_below(&path, &brought) {
                brought.push(path);
            }
        }
    }
    brought
}

/// The folders of what is not there yet, so that it can be written where it is measured, too. The current folder is there.
pub(super) fn to_be_there(paths: &[PathBuf], dir: &Path, mounted: &[PathBuf]) -> Vec<PathBuf> {
    let new = paths.iter().filter(|path| path.symlink_metadata().is_err());
    let above = new.filter_map(|path| path.parent()).filter(|above| above.is_dir() && !dir.starts_with(above));
    let folders: BTreeSet<&Path> = above.filter(|above| !is_below(above, mounted)).collect();
    folders.into_iter().map(Path::to_owned).collect()
}

/// What of the changes of a container comes back: files that were named, and whatever is new in a named folder. Nothing that was
/// brought there and is a folder's file already, which a command does not change.
pub(super) fn to_fetch(changes: &[FilesystemChange], named: &[PathBuf], own: &[PathBuf]) -> Vec<PathBuf> {
    let changed: BTreeSet<PathBuf> = changes
        .iter()
        .filter(|change| matches!(change.kind, ChangeType::_0 | ChangeType::_1))
        .map(|change| PathBuf::from(&change.path))
        .collect();
    let is_wanted = |path: &PathBuf| {
        let is_new = || path.symlink_metadata().is_err();
        !is_below(path, own) && (is_below(path, named) && is_new() || named.contains(path) && path.is_file())
    };
    let mut fetched: Vec<PathBuf> = Vec::new();
    for path in changed.into_iter().filter(is_wanted) {
        // A folder that is new comes with all that is in it.
        if !is_below(&path, &fetched) {
            fetched.push(path);
        }
    }
    fetched
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(texts: &[&str]) -> Vec<PathBuf> {
        texts.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn values_of_a_command_line_may_be_paths() {
        let args = ["compare", ".", "--rounds", "3", "--json=out/a.json", "--csv", "-", "--plan=../p.yaml", "/abs"];
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let found = named(&args, Path::new("/nowhere/app"));
        let expected = [
            "/abs",
            "/nowhere/app",
            "/nowhere/app/3",
            "/nowhere/app/compare",
            "/nowhere/app/out/a.json",
            "/nowhere/p.yaml",
        ];
        assert_eq!(found, paths(&expected));
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(named(&[], folder.path()), paths(&[]));
        fs::write(folder.path().join(PLAN), "").unwrap();
        assert_eq!(named(&[], folder.path()), [folder.path()]);
    }

    #[test]
    fn what_is_there_and_not_mounted_is_brought_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("app/src")).unwrap();
        fs::create_dir_all(at("mounted/app")).unwrap();
        fs::write(at("plan.yaml"), "").unwrap();
        std::os::unix::fs::symlink(at("mounted/app"), at("link")).unwrap();
        let given = [at("app"), at("app/src"), at("gone"), at("link"), at("mounted/app"), at("plan.yaml"), "/".into()];
        let expected = [at("app"), at("link"), at("mounted/app"), at("plan.yaml")];
        assert_eq!(to_bring(&given, &[at("elsewhere")]), expected);
        assert_eq!(to_bring(&given[..1], &[at("app")]), paths(&[]));
    }

    #[test]
    fn folders_of_files_to_be_written_are_made_there() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("out/deep")).unwrap();
        fs::create_dir(at("mounted")).unwrap();
        fs::write(at("out/old.json"), "{}").unwrap();
        let named =
            ["out/a.json", "out/b.json", "out/old.json", "out", "none/c.json", "mounted/d.json"].map(at).to_vec();
        assert_eq!(to_be_there(&named, dir.path(), &[at("mounted")]), [at("out")]);
        assert_eq!(to_be_there(&named, &at("out/deep"), &[at("mounted")]), paths(&[]), "where it works is there");
    }

    #[test]
    fn what_is_new_in_named_places_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("app")).unwrap();
        fs::write(at("app/index.php"), "").unwrap();
        fs::write(at("studies.db"), "").unwrap();
        let change = |path: PathBuf, kind| FilesystemChange { path: path.display().to_string(), kind };
        let changes = [
            change(at(""), ChangeType::_0),
            change(at("app"), ChangeType::_1),
            change(at("app/index.php"), ChangeType::_1),
            change(at("app/stampede.yaml"), ChangeType::_1),
            change(at("deploy"), ChangeType::_1),
            change(at("deploy/Dockerfile"), ChangeType::_1),
            change(at("gone.json"), ChangeType::_2),
            change(at("other.json"), ChangeType::_1),
            change(at("report.json"), ChangeType::_1),
            change(at("run/report.json"), ChangeType::_1),
            change(at("studies.db"), ChangeType::_0),
        ];
        let named =
            [at("app"), at("deploy"), at("gone.json"), at("report.json"), at("run/report.json"), at("studies.db")];
        let expected = [at("app/stampede.yaml"), at("deploy"), at("report.json"), at("studies.db")];
        assert_eq!(to_fetch(&changes, &named, &[at("run")]), expected);
    }
}
