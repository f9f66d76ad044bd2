//! A public folder with its scripts, in the words of web servers: what they answer with a file, and what they hand to PHP.
//!
//! The same for every server: a path that is a file of the public folder is answered by the server itself, PHP sources, names
//! that begin with a dot (but `/.well-known/`) and what the application denies are none of them, and everything else goes to the
//! front controller or, in a folder of several scripts, to the script of that path. Where servers differ is in `docs/static.md`.

use std::path::Path;

use minijinja::{Value, context};
use stampede_core::{App, AppKind, Denied, Fallback, PlanError};

use crate::lookup::Lookup;

/// What of a path is no file to be sent: a PHP source, with what may follow it, and a name that begins with a dot. Perl's syntax,
/// which nginx, Apache and PHP read.
const SOURCES: &str = r"\.php(/|$)";
const HIDDEN: &str = r"/\.(?!well-known/)";

/// The places of a public folder in the copy of the application.
pub(crate) struct WebRoot {
    /// The folder that the web server calls its document root.
    pub(crate) root: String,
    /// The front controller's file.
    pub(crate) script: String,
    /// Its path in URLs.
    pub(crate) name: String,
    /// Whether the server answers with files.
    pub(crate) files: bool,
    scripts: bool,
    fallback: Fallback,
    denied: Vec<Denied>,
    hidden: Vec<Denied>,
    htaccess: bool,
    https: bool,
}

impl WebRoot {
    /// That of an application with a script for each request.
    pub(crate) fn of(lookup: &Lookup<'_>) -> Result<Self, PlanError> {
        Ok(Self::with_script(lookup.app(), lookup.index()?))
    }

    /// The same, with the script as it is named.
    pub(crate) fn with_script(app: &App, index: &Path) -> Self {
        let site = &app.site;
        let parent = index.parent().unwrap_or(Path::new(""));
        let root = site.root.as_deref().filter(|root| index.starts_with(root)).unwrap_or(parent);
        let name = index.strip_prefix(root).unwrap_or(index);
        let root = place(root);
        Self {
            script: format!("{root}/{}", name.display()),
            name: format!("/{}", name.display()),
            root,
            files: site.files,
            scripts: matches!(app.kind, AppKind::Scripts { .. }),
            fallback: site.fallback,
            denied: site.denied.clone(),
            hidden: site.hidden.clone(),
            htaccess: site.htaccess,
            https: site.https,
        }
    }

    /// What templates are filled with.
    pub(crate) fn values(&self) -> Value {
        let Self { root, script, name, files, scripts, fallback, denied: _, hidden: _, htaccess, https } = self;
        let fallback = match fallback {
            Fallback::Front => "front",
            Fallback::PathInfo => "path-info",
            Fallback::NotFound => "none",
        };
        context! {
            root, script, name, files, scripts, fallback, htaccess, https,
            // What the front controller's name is in a regular expression.
            self_pattern => name.replace('.', r"\."),
            hidden => self.hidden(),
            unsent => format!("{SOURCES}|{}", self.hidden()),
            denied => self.denied_pattern(),
        }
    }

    /// Paths of which no file is sent and no script is run.
    fn hidden(&self) -> String {
        std::iter::once(HIDDEN.to_owned()).chain(self.denied_pattern()).collect::<Vec<_>>().join("|")
    }

    /// Paths that the application denies, in a syntax that Go's regular expressions have too.
    fn denied_pattern(&self) -> Option<String> {
        let named = |wanted: fn(&Denied) -> Option<&String>| {
            let names: Vec<String> =
                self.denied.iter().filter_map(wanted).map(|name| name.replace('.', r"\.")).collect();
            (!names.is_empty()).then(|| names.join("|"))
        };
        let folders = named(|denied| if let Denied::Folder(folder) = denied { Some(folder) } else { None });
        let names = named(|denied| if let Denied::Name(name) = denied { Some(name) } else { None });
        let endings = named(|denied| if let Denied::Ending(ending) = denied { Some(ending) } else { None });
        let all: Vec<String> = [
            folders.map(|folders| format!("^/({folders})(/|$)")),
            names.map(|names| format!("/({names})$")),
            endings.map(|endings| format!(r"\.({endings})$")),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!all.is_empty()).then(|| all.join("|"))
    }

    /// The public folder of an application that a worker keeps, none where nothing is sent of it.
    pub(crate) fn beside(app: &App) -> Option<Self> {
        let root = app.site.root.as_deref().filter(|_| app.site.files)?;
        Some(Self::with_script(app, &root.join("index.php")))
    }

    /// Endings of names that are no files to be sent, for a server that knows endings alone.
    pub(crate) fn unsent_endings(&self) -> Vec<String> {
        let mut endings = [".php", ".htaccess", ".htpasswd", ".env"].map(str::to_owned).to_vec();
        endings.extend(self.unsent().filter_map(|denied| match denied {
            Denied::Ending(ending) => Some(format!(".{ending}")),
            Denied::Name(name) => is_ending(name).then(|| name.clone()),
            Denied::Folder(_) => None,
        }));
        endings.dedup();
        endings
    }

    /// Whether endings tell all that is sent from what is not.
    pub(crate) fn is_told_by_endings(&self) -> bool {
        self.unsent().all(|denied| match denied {
            Denied::Ending(_) => true,
            Denied::Name(name) => is_ending(name),
            Denied::Folder(_) => false,
        })
    }

    /// Whether a server may send whatever has an ending with a type, as PHP sources and names such as `.htaccess` do not.
    pub(crate) fn is_told_by_types(&self) -> bool {
        self.unsent().all(|denied| matches!(denied, Denied::Name(name) if is_ending(name)))
    }

    fn unsent(&self) -> impl Iterator<Item = &Denied> {
        self.denied.iter().chain(&self.hidden)
    }
}

/// Whether a name is nothing but its ending: `.htaccess`.
fn is_ending(name: &str) -> bool {
    name.rfind('.') == Some(0)
}

fn place(root: &Path) -> String {
    match root.as_os_str().is_empty() {
        true => "@{app}".to_owned(),
        false => format!("@{{app}}/{}", root.display()),
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::Site;

    use super::*;

    #[test]
    fn the_document_root_is_the_public_folder() {
        for (index, root, place, script, name) in [
            ("public/index.php", "public", "@{app}/public", "@{app}/public/index.php", "/index.php"),
            ("app.php", "", "@{app}", "@{app}/app.php", "/app.php"),
            ("web/front/index.php", "web", "@{app}/web", "@{app}/web/front/index.php", "/front/index.php"),
        ] {
            let mut app = App::new("plain", AppKind::FrontController { index: index.into() });
            app.site.root = Some(root.into());
            let front = WebRoot::with_script(&app, Path::new(index));
            assert_eq!((front.root.as_str(), front.script.as_str(), front.name.as_str()), (place, script, name));
        }
    }

    #[test]
    fn what_is_denied_is_one_pattern() {
        let mut app = App::new("plain", AppKind::FrontController { index: "index.php".into() });
        let denied = |app: &App| WebRoot::with_script(app, Path::new("index.php")).denied_pattern();
        assert_eq!(denied(&app), None);
        app.site = Site {
            denied: vec![
                Denied::Folder("application".to_owned()),
                Denied::Name("composer.json".to_owned()),
                Denied::Folder("system".to_owned()),
                Denied::Ending("yml".to_owned()),
            ],
            ..app.site
        };
        let pattern = r"^/(application|system)(/|$)|/(composer\.json)$|\.(yml)$";
        assert_eq!(denied(&app).as_deref(), Some(pattern));
    }
}
