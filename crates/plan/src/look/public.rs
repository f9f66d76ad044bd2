//! The public folder of an application of no known framework.

use std::fs;
use std::path::{Path, PathBuf};

use super::composer::Composer;
use super::framework::Entrance;
use crate::site::FallbackEntry;

/// Where public folders are, most likely first; the application's own folder last, as many a framework keeps an `index.php` there that
/// only leads to the public one.
const ROOTS: [&str; 9] = ["public", "web", "webroot", "pub", "public_html", "htdocs", "docroot", "www", "."];
const INDEX: &str = "index.php";

/// Scripts beside a front controller that do not make it a site of several: for tests, for developers, for `php -S`, for workers.
const UNSERVED: [&str; 8] = [
    "index-test.php",
    "index_test.php",
    "index_dev.php",
    "app_dev.php",
    "preview.php",
    "router.php",
    "frankenphp-worker.php",
    "worker.php",
];

/// All folders with an `index.php`, most likely first.
pub(super) fn entrances(folder: &Path, composer: &Composer) -> Vec<Entrance> {
    let named = composer.extra(&["public-dir"]);
    let mut found: Vec<Entrance> = Vec::new();
    for root in named.into_iter().chain(ROOTS.map(PathBuf::from)) {
        found.extend(Entrance::find(folder, &root, INDEX).filter(|entrance| !found.contains(entrance)));
    }
    found
}

/// Scripts in the public folder beside its front controller, by name.
pub(super) fn scripts(folder: &Path, entrance: &Entrance, unserved: &[&str]) -> Vec<String> {
    let entries = fs::read_dir(folder.join(&entrance.root)).into_iter().flatten().filter_map(Result::ok);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_front = |name: &str| entrance.front.file_name().is_some_and(|front| front == name);
    let is_unserved = |name: &str| unserved.contains(&name) || UNSERVED.contains(&name) || name.starts_with('.');
    let mut scripts: Vec<_> =
        names.filter(|name| name.ends_with(".php") && !is_front(name) && !is_unserved(name)).collect();
    scripts.sort();
    scripts
}

/// Who answers what is no file by the `.htaccess` of a public folder; nobody is named where it has no rule that leads to the front
/// controller. <https://httpd.apache.org/docs/2.4/mod/mod_rewrite.html#rewriterule>,
/// <https://httpd.apache.org/docs/2.4/mod/mod_dir.html#fallbackresource>
pub(super) fn fallback(folder: &Path, entrance: &Entrance) -> Option<FallbackEntry> {
    let text = fs::read_to_string(folder.join(&entrance.root).join(".htaccess")).ok()?;
    let front = entrance.front.file_name()?.to_str()?;
    let leads = text.lines().map(str::trim).filter(|line| {
        let line = line.to_ascii_lowercase();
        line.starts_with("rewriterule") || line.starts_with("fallbackresource")
    });
    let mut targets = leads.flat_map(|line| line.split_whitespace().skip(1)).filter_map(|word| word.split_once(front));
    // A pattern may name the script too, as in `^index\.php$ - [L]`; a target has no backslash.
    targets.find_map(|(before, after)| match after {
        _ if before.contains('^') => None,
        "" => Some(FallbackEntry::Front),
        after if after.starts_with('?') => Some(FallbackEntry::Front),
        after if after.starts_with("/$") || after.starts_with("/%") => Some(FallbackEntry::PathInfo),
        _ => None,
    })
}
