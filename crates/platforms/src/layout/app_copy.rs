//! Copies of an application: what serving does not need is left out, and links never lead out of the copy.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use stampede_core::{App, Autoloader, Bytes, Replacement, with_causes};
use stampede_seam::{PrepareError, PreparedApp};
use thiserror::Error;

use super::owned::{FolderError, failed, give, hand_over, make_folder, set_mode};
use super::packages::{VENDOR, packages};
use crate::machine::user::User;

/// Histories of the source, and what editors and test tools keep, which may be larger than all else.
const UNNEEDED: [&str; 8] =
    [".git", ".hg", ".svn", ".idea", ".vscode", ".cache", ".phpunit.cache", ".php-cs-fixer.cache"];

/// Packages of JavaScript tools. They are served only where the public folder is the application's own.
const NODE_MODULES: &str = "node_modules";

/// Configurations that a framework has worked out once, with the path of the folder that it did so in: read in a copy, they lead
/// back, to its views, sessions and database. Laravel's <https://laravel.com/docs/12.x/configuration#configuration-caching> and
/// Mezzio's <https://docs.laminas.dev/laminas-config-aggregator/caching/>.
const WORKED_OUT: [&str; 2] = ["bootstrap/cache/config.php", "data/cache/config-cache.php"];

/// How a package calls the folder of its own tests.
const TESTS: [&str; 4] = ["tests", "Tests", "test", "Test"];

/// More files of packages than this are copied once, and shared by all runs: PHP does not write them.
const MANY: usize = 2_000;

/// Beside a copy: a folder a line that belongs to this user, so that runs may link to its files.
const SHARED: &str = "shared-packages";

/// How far links to folders are followed into one another.
const MOST_LINKS: usize = 8;

/// What an application is to those who copy it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// Files that are copied.
    files: usize,
    /// Their bytes.
    bytes: u64,
    packages: usize,
    tests: usize,
    left_out: Vec<String>,
}

impl Survey {
    /// Looks at an application without copying it.
    pub(crate) fn of(source: &Path) -> Result<Self, FolderError> {
        let mut survey = Self::default();
        let walk = Walk::new(source)?;
        walk.folder(source, Path::new(""), 0, &mut |below, entry| {
            match entry {
                Entry::Folder | Entry::Link(_) => {}
                Entry::File(path) => {
                    survey.files += 1;
                    survey.packages += usize::from(walk.packages.iter().any(|package| below.starts_with(package)));
                    survey.bytes += fs::metadata(path).map_err(failed("read", path))?.len();
                }
                Entry::Tests => survey.tests += 1,
                Entry::LeftOut(what) => survey.left_out.push(what),
            }
            Ok(())
        })?;
        Ok(survey)
    }

    /// Whether its packages are worth a copy that the runs of this user link to. Only another user's files are safe from the run's.
    pub(crate) fn is_shared(&self, user: Option<User>) -> bool {
        user.is_some() && self.packages > MANY
    }

    /// What is said of a copy whose packages runs link to, and of the time that its making took.
    pub(crate) fn copied_once(&self, took: Duration) -> String {
        let (files, size, seconds) = (self.files, Bytes::new(self.bytes).mib(), took.as_secs_f64());
        format!(
            "copied the application once, {files} files of {size:.0} MiB, in {seconds:.1} s; each run links to its packages"
        )
    }

    /// What is left out of copies, as the end of a sentence; nothing where that is nothing of note.
    pub(crate) fn left_out(&self) -> Option<String> {
        let tests = match self.tests {
            0 => None,
            1 => Some("the tests of 1 package".to_owned()),
            packages => Some(format!("the tests of {packages} packages")),
        };
        let all: Vec<String> = self.left_out.iter().cloned().chain(tests).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// What of an application is copied into runs, and what is not.
pub(crate) async fn survey(app: &App) -> Result<Survey, PrepareError> {
    let source = app.source.clone();
    let survey = tokio::task::spawn_blocking(move || Survey::of(&source)).await;
    let survey = survey.map_err(|error| PrepareError::Copy(error.to_string()))?;
    survey.map_err(|error| PrepareError::Copy(with_causes(&error)))
}

/// An application in the folder that runs copy it from.
pub(crate) fn prepared(folder: PathBuf, remarks: Vec<String>) -> PreparedApp {
    let composer = folder.join(Autoloader::FOLDER);
    let autoloader =
        Autoloader::of(|name| Some(String::from_utf8_lossy(&fs::read(composer.join(name)).ok()?).into_owned()));
    PreparedApp { folder, autoloader, remarks }
}

/// Copies an application, for a user where one is given. Files of packages are linked to where the source shares them.
pub(crate) fn copy(source: &Path, target: &Path, user: Option<User>) -> Result<(), FolderError> {
    let shared = if user.is_some() { shared_folders(source) } else { Vec::new() };
    let is_shared = |below: &Path| shared.iter().any(|folder| below.starts_with(folder));
    make_folder(target)?;
    let mut folders = vec![target.to_owned()];
    Walk::new(source)?.folder(source, Path::new(""), 0, &mut |below, entry| {
        let to = target.join(below);
        match entry {
            Entry::Folder => {
                make_folder(&to)?;
                folders.push(to);
                Ok(())
            }
            Entry::Link(link) => {
                symlink(&link, &to).map_err(failed("write", &to))?;
                give(&to, user)
            }
            // On another file system there are no such links.
            Entry::File(from) => match is_shared(below) && fs::hard_link(from, &to).is_ok() {
                true => Ok(()),
                false => copy_file(from, &to, user),
            },
            Entry::Tests | Entry::LeftOut(_) => Ok(()),
        }
    })?;
    // Last, and the innermost first: until then nobody else can put anything in the way.
    folders.iter().rev().try_for_each(|folder| give(folder, user))
}

/// Makes the packages of a copy this user's own, so that runs may link to their files and never change them.
pub(crate) fn share_packages(copy: &Path) -> Result<(), FolderError> {
    let me = User { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() };
    let mut shared = String::new();
    for package in packages(copy) {
        let folder = copy.join(&package);
        hand_over(&folder, me)?;
        give(&folder, Some(me))?;
        if let Some(package) = package.to_str() {
            shared.push_str(package);
            shared.push('\n');
        }
    }
    let marker = marker(copy);
    fs::write(&marker, shared).map_err(failed("write", &marker))
}

/// The folders of a copy whose files runs link to.
fn shared_folders(copy: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(marker(copy)).unwrap_or_default();
    text.lines().map(PathBuf::from).collect()
}

/// Replaces a text in a file of a copy, in which no place is named any more.
///
/// # Errors
///
/// When the file is none, or the text is not in it.
pub fn replace(copy: &Path, replacement: &Replacement) -> Result<(), ReplaceError> {
    let Replacement { file, text, with } = replacement;
    let failed = |problem: String| ReplaceError { file: file.clone(), text: text.clone(), problem };
    let path = copy.join(file);
    // The application could have put a link in the way.
    if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return Err(failed("it is no file".to_owned()));
    }
    let content = fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
    if !content.contains(text) {
        return Err(failed("the text is not in it; correct command.replace".to_owned()));
    }
    fs::write(&path, content.replace(text, with)).map_err(|error| failed(error.to_string()))
}

/// Why a text could not be replaced.
#[derive(Debug, Error)]
#[error("replace {text:?} in {}: {problem}", file.display())]
pub struct ReplaceError {
    file: PathBuf,
    text: String,
    problem: String,
}

fn marker(copy: &Path) -> PathBuf {
    copy.with_file_name(SHARED)
}

fn copy_file(from: &Path, to: &Path, user: Option<User>) -> Result<(), FolderError> {
    fs::copy(from, to).map_err(failed("copy", from))?;
    let mode = fs::metadata(to).map_err(failed("read", to))?.mode();
    let executable = if mode & 0o100 == 0 { 0 } else { 0o111 };
    set_mode(to, 0o644 | executable)?;
    give(to, user)
}

/// What is at a path.
enum Entry<'a> {
    Folder,
    /// A file, by its place.
    File(&'a Path),
    /// A link to another path of the application.
    Link(PathBuf),
    /// A folder of a package's own tests, which is left out.
    Tests,
    /// Anything else that is left out, by what it is called.
    LeftOut(String),
}

type Visit<'v> = dyn FnMut(&Path, Entry<'_>) -> Result<(), FolderError> + 'v;

struct Walk {
    /// The application's folder as links may name it: as given and without links in it.
    roots: BTreeSet<PathBuf>,
    keeps_node_modules: bool,
    /// The folders of Composer's packages.
    packages: Vec<PathBuf>,
    /// Files that Composer's autoloader reads at once, as it writes them down.
    read_at_once: String,
}

impl Walk {
    fn new(source: &Path) -> Result<Self, FolderError> {
        let real = fs::canonicalize(source).map_err(failed("read", source))?;
        let read_at_once = fs::read_to_string(source.join("vendor/composer/autoload_files.php")).unwrap_or_default();
        Ok(Self {
            roots: [real, source.to_owned()].into(),
            keeps_node_modules: source.join("index.php").is_file(),
            packages: packages(source),
            read_at_once,
        })
    }

    /// Visits what is in a folder, folders before what they hold, by the paths in the copy.
    fn folder(&self, folder: &Path, below: &Path, links: usize, visit: &mut Visit<'_>) -> Result<(), FolderError> {
        for entry in fs::read_dir(folder).map_err(failed("read", folder))? {
            let entry = entry.map_err(failed("read", folder))?;
            let from = entry.path();
            let below = below.join(entry.file_name());
            let kind = entry.file_type().map_err(failed("read", &from))?;
            if let Some(left_out) = self.unneeded(&below) {
                visit(&below, left_out)?;
            } else if kind.is_dir() {
                visit(&below, Entry::Folder)?;
                self.folder(&from, &below, links, visit)?;
            } else if kind.is_symlink() {
                self.link(&from, &below, links, visit)?;
            } else if kind.is_file() {
                visit(&below, Entry::File(&from))?;
            } else {
                visit(&below, Entry::LeftOut(format!("{} (neither a file nor a folder)", below.display())))?;
            }
        }
        Ok(())
    }

    /// A link stays one where it leads to a path of the application. A package, or all of them, may be a link to elsewhere: a
    /// path repository of Composer, or a folder that releases share.
    fn link(&self, from: &Path, below: &Path, links: usize, visit: &mut Visit<'_>) -> Result<(), FolderError> {
        let link = fs::read_link(from).map_err(failed("read", from))?;
        if let Some(link) = self.within(below, &link) {
            return visit(below, Entry::Link(link));
        }
        let is_package = below.starts_with(VENDOR) && below.components().count() <= 3;
        if is_package && links < MOST_LINKS && from.is_dir() {
            visit(below, Entry::Folder)?;
            return self.folder(from, below, links + 1, visit);
        }
        visit(below, Entry::LeftOut(format!("the link {} (it leads out, to {})", below.display(), link.display())))
    }

    /// The link as it is in the copy, where it leads to a path of the application.
    fn within(&self, below: &Path, link: &Path) -> Option<PathBuf> {
        if let Some(inner) = self.roots.iter().find_map(|root| link.strip_prefix(root).ok()) {
            let up: PathBuf = below.components().skip(1).map(|_| "..").collect();
            let target = up.join(inner);
            return stays_inside(below, &target).then_some(target);
        }
        stays_inside(below, link).then(|| link.to_owned())
    }

    /// What of the application serving does not need.
    fn unneeded(&self, below: &Path) -> Option<Entry<'static>> {
        let name = below.file_name()?.to_str()?;
        if below.components().count() == 1 {
            let is_unneeded = UNNEEDED.contains(&name) || (name == NODE_MODULES && !self.keeps_node_modules);
            return is_unneeded.then(|| Entry::LeftOut(name.to_owned()));
        }
        if WORKED_OUT.iter().any(|worked_out| Path::new(worked_out) == below) {
            return Some(Entry::LeftOut(format!("{} (made for this folder, so made again)", below.display())));
        }
        (TESTS.contains(&name) && self.is_of_package(below) && !self.is_read(below)).then_some(Entry::Tests)
    }

    /// Whether a path is directly in the folder of a package.
    fn is_of_package(&self, below: &Path) -> bool {
        let Some(package) = below.parent() else { return false };
        let is_vendors = package.starts_with(VENDOR) && package.components().count() == 3;
        is_vendors || (package != Path::new(VENDOR) && self.packages.iter().any(|known| known == package))
    }

    /// Whether the autoloader reads a file in a folder of a package at once.
    fn is_read(&self, below: &Path) -> bool {
        let named = below.strip_prefix(VENDOR).unwrap_or(below);
        self.read_at_once.contains(&format!("/{}/", named.display()))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files, each with its own path as its text.
    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        folder
    }

    fn copied(source: &Path) -> (tempfile::TempDir, PathBuf) {
        let target = tempfile::tempdir().unwrap();
        let copy = target.path().join("app");
        super::copy(source, &copy, None).unwrap();
        (target, copy)
    }

    #[test]
    fn what_serving_does_not_need_is_left_out_and_told() {
        let source = folder(&[
            "public/index.php",
            "public/node_modules/a.css",
            ".git/HEAD",
            ".idea/x.xml",
            "node_modules/a/b.js",
            "tests/AppTest.php",
            "bootstrap/cache/config.php",
            "bootstrap/cache/services.php",
            "vendor/acme/lib/src/Lib.php",
            "vendor/acme/lib/tests/LibTest.php",
            "vendor/acme/lib/src/tests/Kept.php",
            "vendor/acme/read/tests/bootstrap.php",
            "vendor/composer/autoload_files.php",
        ]);
        fs::write(
            source.path().join("vendor/composer/autoload_files.php"),
            "return ['x' => $vendorDir . '/acme/read/tests/bootstrap.php'];",
        )
        .unwrap();
        let (_keep, copy) = copied(source.path());
        for (path, is_there) in [
            ("public/index.php", true),
            ("public/node_modules/a.css", true),
            (".git", false),
            (".idea", false),
            ("node_modules", false),
            ("tests/AppTest.php", true),
            ("bootstrap/cache/config.php", false),
            ("bootstrap/cache/services.php", true),
            ("vendor/acme/lib/src/tests/Kept.php", true),
            ("vendor/acme/lib/tests", false),
            ("vendor/acme/read/tests/bootstrap.php", true),
        ] {
            assert_eq!(copy.join(path).exists(), is_there, "{path}");
        }
        let told = Survey::of(source.path()).unwrap().left_out().unwrap();
        for what in [".git", ".idea", "node_modules", "bootstrap/cache/config.php (made", "the tests of 1 package"] {
            assert!(told.contains(what), "{told}");
        }
    }

    #[test]
    fn node_modules_of_a_site_that_is_its_own_public_folder_are_kept() {
        let source = folder(&["index.php", "node_modules/a/b.js"]);
        let (_keep, copy) = copied(source.path());
        assert!(copy.join("node_modules/a/b.js").is_file());
        assert_eq!(Survey::of(source.path()).unwrap().left_out(), None);
    }

    #[test]
    fn links_stay_within_the_copy() {
        let outside = folder(&["rr", "lib/src/Lib.php"]);
        let source = folder(&["public/index.php", "storage/app/public/a.txt", "vendor/acme/x/X.php"]);
        let link = |to: &Path, at: &str| symlink(to, source.path().join(at)).unwrap();
        link(Path::new("../storage/app/public"), "public/relative");
        link(&source.path().join("storage/app/public"), "public/absolute");
        link(&outside.path().join("rr"), "rr");
        link(Path::new("/etc"), "public/etc");
        link(&outside.path().join("lib"), "vendor/acme/lib");
        let (_keep, copy) = copied(source.path());
        for link in ["public/relative", "public/absolute"] {
            assert_eq!(fs::read_link(copy.join(link)).unwrap(), Path::new("../storage/app/public"), "{link}");
        }
        assert!(!copy.join("rr").exists() && !copy.join("public/etc").exists());
        assert!(copy.join("vendor/acme/lib/src/Lib.php").is_file());
        let told = Survey::of(source.path()).unwrap().left_out().unwrap();
        assert!(told.contains("the link rr (it leads out, to /") && told.contains("the link public/etc"), "{told}");
    }

    #[test]
    fn a_link_leads_out_where_any_part_of_it_does() {
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

    #[test]
    fn runs_link_to_packages_that_a_copy_shares() {
        let source = folder(&["public/index.php", "vendor/acme/x/X.php"]);
        let base = tempfile::tempdir().unwrap();
        let base = base.path().join("app");
        let me = User { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() };
        super::copy(source.path(), &base, Some(me)).unwrap();
        share_packages(&base).unwrap();
        let target = tempfile::tempdir().unwrap();
        super::copy(&base, &target.path().join("app"), Some(me)).unwrap();
        let links = |path: &str| fs::metadata(target.path().join("app").join(path)).unwrap().nlink();
        assert_eq!((links("vendor/acme/x/X.php"), links("public/index.php")), (2, 1));
    }

    #[test]
    fn packages_that_are_installed_beside_vendor_are_packages() {
        let source = folder(&[
            "web/index.php",
            "web/core/lib/Drupal.php",
            "web/core/tests/bootstrap.php",
            "web/core/modules/x/tests/kept.php",
            "vendor/acme/x/X.php",
        ]);
        let installed = r#"{"packages": [{"name": "drupal/core", "install-path": "../../web/core"}]}"#;
        fs::create_dir_all(source.path().join("vendor/composer")).unwrap();
        fs::write(source.path().join("vendor/composer/installed.json"), installed).unwrap();
        let base = tempfile::tempdir().unwrap();
        let base = base.path().join("app");
        let me = User { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() };
        super::copy(source.path(), &base, Some(me)).unwrap();
        share_packages(&base).unwrap();
        let target = tempfile::tempdir().unwrap();
        super::copy(&base, &target.path().join("app"), Some(me)).unwrap();
        for (path, links) in [
            ("web/index.php", Some(1)),
            ("web/core/lib/Drupal.php", Some(2)),
            ("web/core/tests/bootstrap.php", None),
            ("web/core/modules/x/tests/kept.php", Some(2)),
            ("vendor/acme/x/X.php", Some(2)),
        ] {
            let found = fs::metadata(target.path().join("app").join(path)).ok().map(|found| found.nlink());
            assert_eq!(found, links, "{path}");
        }
        let survey = Survey::of(source.path()).unwrap();
        assert_eq!((survey.files, survey.packages, survey.tests), (5, 4, 1));
    }
}
