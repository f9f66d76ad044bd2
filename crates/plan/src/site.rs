//! What a web server shows of an application, as plans and workloads write it: its public folder, and who answers the rest.

use std::fs;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use stampede_core::{AppKind, Denied, Fallback, Site};

use crate::document::Place;
use crate::mistake::Gathered;

/// Who answers a path that is no file of the public folder.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FallbackEntry {
    /// The front controller, which finds the path in REQUEST_URI.
    Front,
    /// The front controller, with the path as its PATH_INFO: index.php/path.
    PathInfo,
    /// Nobody: 404.
    None,
}

impl FallbackEntry {
    /// Its name in files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Front => "front",
            Self::PathInfo => "path-info",
            Self::None => "none",
        }
    }
}

/// How visitors reach an application.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SchemeEntry {
    /// By http.
    #[default]
    Http,
    /// By https, which a proxy before the servers ends.
    Https,
}

/// What is said of an application's public folder and of its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SiteEntry {
    pub(crate) host: Option<String>,
    pub(crate) scheme: SchemeEntry,
    pub(crate) root: Option<PathBuf>,
    pub(crate) files: Option<bool>,
    pub(crate) fallback: Option<FallbackEntry>,
    pub(crate) deny: Vec<String>,
}

/// The public folder of a PSR-15 application of which nothing is said, where it is there.
const PUBLIC: &str = "public";

/// How deep below the public folder names that begin with a dot are looked for, and folders where none counts.
const DEPTH: usize = 3;
const NOT_LOOKED_INTO: [&str; 3] = ["node_modules", "vendor", ".git"];

/// What begins with a dot and is shown. RFC 8615
const WELL_KNOWN: &str = ".well-known";

impl SiteEntry {
    /// The site of an application in a folder.
    pub(crate) fn read(self, kind: &AppKind, source: &Path, place: &Place<'_>, mistakes: &mut Gathered) -> Site {
        let Self { host, scheme, root, files, fallback, deny } = self;
        if let Some(problem) = host.as_deref().and_then(problem_of_host) {
            mistakes.add(place.key("host"), problem, HOST_FIX);
        }
        let is_public = matches!(kind, AppKind::Psr15Handler { .. }) && source.join(PUBLIC).is_dir();
        let default = if is_public { Some(PUBLIC.into()) } else { Site::of(kind).root };
        let given = root.map(|root| root.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>());
        if let Some(root) = &given {
            check_root(root, kind.index(), source, &place.key("root"), mistakes);
        }
        let denied = deny.iter().enumerate();
        let denied =
            denied.filter_map(|(index, text)| read_denied(text, &place.key("deny").item(index), mistakes)).collect();
        let fallback = fallback.unwrap_or(FallbackEntry::Front);
        if fallback == FallbackEntry::None && !matches!(kind, AppKind::Scripts { .. }) {
            let problem = "has fallback: none, and its front controller answers every request";
            mistakes.add(place.key("fallback"), problem, "remove it, or write kind: scripts");
        }
        let root = given.or(default);
        let mut dotted = Dotted::default();
        if let Some(root) = &root {
            dotted.look_into(&source.join(root), "", DEPTH);
        }
        let Dotted { htaccess, mut hidden } = dotted;
        hidden.sort_by_key(Denied::to_string);
        Site {
            files: root.is_some() && files.unwrap_or(true),
            fallback: match fallback {
                FallbackEntry::Front => Fallback::Front,
                FallbackEntry::PathInfo => Fallback::PathInfo,
                FallbackEntry::None => Fallback::NotFound,
            },
            denied,
            hidden,
            htaccess,
            root,
            host,
            https: scheme == SchemeEntry::Https,
        }
    }
}

/// What to write for a host.
pub(crate) const HOST_FIX: &str = "write a name with or without a port, such as shop.example or shop.example:8080";

/// What is wrong with the name of a host, as it stands in `Host` (RFC 9110, section 7.2).
pub(crate) fn problem_of_host(host: &str) -> Option<&'static str> {
    let (name, port) = host.rsplit_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c));
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    (!is_name || !is_port).then_some("is no host")
}

/// Sees that a public folder is a folder of the application, and that its front controller lies in it.
fn check_root(root: &Path, index: Option<&Path>, source: &Path, place: &Place<'_>, mistakes: &mut Gathered) {
    let named = format!("names the public folder {}", root.display());
    let folder = source.join(root);
    let (Ok(real), Ok(real_source)) = (folder.canonicalize(), source.canonicalize()) else {
        mistakes.add(place, format!("{named}, which is not there"), "correct root");
        return;
    };
    if !real.is_dir() {
        mistakes.add(place, format!("{named}, which is no folder"), "correct root");
    } else if !real.starts_with(&real_source) {
        let problem = format!("{named}, which leads out of the application to {}", real.display());
        mistakes.add(place, problem, "name a folder of the application, or give a dir that holds both");
    } else if let Some(index) = index.filter(|index| !index.starts_with(root)) {
        let problem = format!("{named} and the script {}, which is not in it", index.display());
        mistakes.add(place, problem, "correct root or index");
    }
}

/// `application/`, `*.yml`, `composer.json`.
fn read_denied(text: &str, place: &Place<'_>, mistakes: &mut Gathered) -> Option<Denied> {
    let is_plain = |part: &str, more: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c) || more.contains(c))
    };
    let denied = match (text.strip_prefix("*."), text.strip_suffix('/')) {
        (Some(ending), _) if is_plain(ending, "") => Denied::Ending(ending.to_owned()),
        (None, Some(folder)) if is_plain(folder, "/") => Denied::Folder(folder.to_owned()),
        (None, None) if is_plain(text, "") => Denied::Name(text.to_owned()),
        _ => {
            let fix = "write a folder (application/), an ending (*.yml) or a file name (composer.json)";
            mistakes.add(place, format!("denies {text:?}"), fix);
            return None;
        }
    };
    Some(denied)
}

/// What begins with a dot in a public folder.
#[derive(Default)]
struct Dotted {
    /// Whether there are files of that name.
    htaccess: bool,
    hidden: Vec<Denied>,
}

impl Dotted {
    /// Looks into a folder, whose path in the public folder ends with a slash where it has one.
    fn look_into(&mut self, folder: &Path, path: &str, depth: usize) {
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if NOT_LOOKED_INTO.contains(&&*name) {
                continue;
            }
            self.htaccess |= name == ".htaccess" && !is_folder;
            let is_hidden = name.starts_with('.') && name != WELL_KNOWN;
            if is_hidden {
                let found = if is_folder { Denied::Folder(format!("{path}{name}")) } else { Denied::Name(name) };
                if !self.hidden.contains(&found) {
                    self.hidden.push(found);
                }
            } else if is_folder && depth > 0 {
                self.look_into(&entry.path(), &format!("{path}{name}/"), depth - 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files.
    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
            fs::write(folder.path().join(file), "").unwrap();
        }
        folder
    }

    #[test]
    fn the_public_folder_is_the_scripts_where_nothing_is_said() {
        let app = folder(&["public/index.php", "public/css/.htaccess", "src/a.php"]);
        let front = AppKind::FrontController { index: "public/index.php".into() };
        let handler = AppKind::Psr15Handler { handler: "handler.php".into() };
        for (kind, entry, root, files, htaccess) in [
            (&front, SiteEntry::default(), Some("public"), true, true),
            (&front, SiteEntry { root: Some("./".into()), ..Default::default() }, Some(""), true, true),
            (&front, SiteEntry { files: Some(false), ..Default::default() }, Some("public"), false, true),
            (&handler, SiteEntry::default(), Some("public"), true, true),
            (&handler, SiteEntry { root: Some("src".into()), ..Default::default() }, Some("src"), true, false),
            (&AppKind::GoProgram, SiteEntry::default(), None, false, false),
        ] {
            let mut mistakes = Gathered::default();
            let site = entry.clone().read(kind, app.path(), &Place::of("app"), &mut mistakes);
            mistakes.finish(Ok(())).unwrap();
            let root = root.map(PathBuf::from);
            assert_eq!((site.root, site.files, site.htaccess), (root, files, htaccess), "{kind:?} {entry:?}");
        }
    }

    #[test]
    fn names_that_begin_with_a_dot_are_found() {
        let app = folder(&["public/.well-known/a.txt", "public/a/.b/c.css", "public/.user.ini", "public/a/.user.ini"]);
        let front = AppKind::FrontController { index: "public/index.php".into() };
        let mut mistakes = Gathered::default();
        let site = SiteEntry::default().read(&front, app.path(), &Place::of("app"), &mut mistakes);
        assert_eq!(site.hidden, [Denied::Name(".user.ini".to_owned()), Denied::Folder("a/.b".to_owned())]);
    }

    #[test]
    fn a_host_is_a_name_with_or_without_a_port() {
        for (host, is_right) in [
            ("shop.example", true),
            ("shop.example:8080", true),
            ("127.0.0.1:80", true),
            ("", false),
            (":80", false),
            ("shop.example:", false),
            ("shop.example:0", false),
            ("http://shop.example", false),
            ("shop.example/", false),
            ("a b", false),
        ] {
            assert_eq!(problem_of_host(host).is_none(), is_right, "{host}");
        }
    }

    #[test]
    fn an_address_is_of_the_application() {
        let entry =
            SiteEntry { host: Some("shop.example".to_owned()), scheme: SchemeEntry::Https, ..Default::default() };
        let mut mistakes = Gathered::default();
        let site = entry.read(&AppKind::GoProgram, Path::new("."), &Place::of("app"), &mut mistakes);
        assert_eq!(site.to_string(), "none; reached at https://shop.example");
        assert!(site.is_told());
        let entry = SiteEntry { host: Some("http://shop.example".to_owned()), ..Default::default() };
        entry.read(&AppKind::GoProgram, Path::new("."), &Place::of("app"), &mut mistakes);
        let told = mistakes.finish(Ok(())).unwrap_err().to_string();
        assert!(told.contains("is no host"), "{told}");
    }

    #[test]
    fn a_public_folder_that_leads_out_is_refused() {
        let app = folder(&["public/index.php", "web/a.css"]);
        std::os::unix::fs::symlink("/usr", app.path().join("outside")).unwrap();
        let front = AppKind::FrontController { index: "public/index.php".into() };
        let deny = |text: &str| vec![text.to_owned()];
        for (root, deny, problem) in [
            ("web", vec![], "the script public/index.php, which is not in it"),
            ("nowhere", vec![], "which is not there"),
            ("outside", vec![], "which leads out of the application to /usr"),
            ("public/index.php", vec![], "which is no folder"),
            ("public", deny("a b"), "denies \"a b\""),
            ("public", deny("*.y(ml"), "denies \"*.y(ml\""),
        ] {
            let mut mistakes = Gathered::default();
            let entry = SiteEntry { root: Some(root.into()), deny, ..Default::default() };
            entry.read(&front, app.path(), &Place::of("app"), &mut mistakes);
            let told = mistakes.finish(Ok(())).unwrap_err().to_string();
            assert!(told.contains(problem), "{root}: {told}");
        }
    }

    #[test]
    fn what_is_denied_is_a_folder_a_name_or_an_ending() {
        for (text, denied) in [
            ("application/", Denied::Folder("application".to_owned())),
            ("typo3temp/var/", Denied::Folder("typo3temp/var".to_owned())),
            ("*.yml", Denied::Ending("yml".to_owned())),
            ("composer.json", Denied::Name("composer.json".to_owned())),
        ] {
            let mut mistakes = Gathered::default();
            assert_eq!(read_denied(text, &Place::of("app"), &mut mistakes), Some(denied), "{text}");
        }
    }
}
