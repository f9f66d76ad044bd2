//! Laravel Octane: what lets a long-lived worker keep a Laravel application.
//!
//! It is a package of the application's own, and its own scripts are run, so that what is measured is what the application's
//! author would deploy: how a request is made of what the server received, and what is cleared before the next one, is Octane's.
//! Settings that its commands would pass on (workers, task workers, requests until a worker is replaced) are the server's
//! tunables. <https://laravel.com/docs/octane>

use std::collections::BTreeMap;
use std::path::Path;

use minijinja::context;
use stampede_core::{App, AppKind, PlanError, Programs, Requirement, RunFile};

use crate::lookup::Lookup;
use crate::template::{Template, template};
use crate::{bridge, label, php_ini};

const PACKAGE: &str = "laravel/octane";

const CHECK: Template = template!("php/octane_check.php.j2");

/// The first generation that is not known. The parts that are used here are the same in 1.0 and 2.3.
/// <https://github.com/laravel/octane/blob/2.x/CHANGELOG.md>
const UNKNOWN: u32 = 3;

/// Whether Octane is what lets a worker keep an application.
pub(crate) fn drives(kind: &AppKind) -> bool {
    matches!(kind, AppKind::Laravel { .. })
}

/// The package, where it is needed.
pub(crate) fn requirement(app: &App) -> Option<Requirement> {
    drives(&app.kind).then(|| bridge::package(PACKAGE, PACKAGE, app))
}

/// What runs, with the version of Octane where it has a part in it.
pub(crate) fn named(what: String, programs: &Programs) -> String {
    match programs.get(PACKAGE) {
        Some(found) => format!("{what}, Octane {}", found.version),
        None => what,
    }
}

/// Octane in an application.
pub(crate) struct Octane {
    autoload: String,
}

impl Octane {
    /// Octane, in a version that knows a server.
    ///
    /// # Errors
    ///
    /// That it knows it since a later version, or is of a generation that is not known.
    pub(crate) fn new(lookup: &Lookup<'_>, server: &str, since: [u32; 2]) -> Result<Self, PlanError> {
        let AppKind::Laravel { autoload } = lookup.kind() else {
            return Err(lookup.other_kind());
        };
        let version = &lookup.program(PACKAGE)?.version;
        if let Err(range) = fit(version, since) {
            let what = format!("{PACKAGE} {range} for {server}; the application has {version}");
            return Err(lookup.unsuitable(what, bridge::install(PACKAGE)));
        }
        Ok(Self { autoload: place(autoload) })
    }

    /// A script in the bridge's folder under this name, and one that makes the application once.
    pub(crate) fn files(
        &self,
        name: &str,
        script: &Template,
        values: minijinja::Value,
    ) -> Result<Vec<RunFile>, PlanError> {
        let autoload = &self.autoload;
        let script = script.fill(context! { autoload, ..values })?;
        Ok(vec![bridge::server(name, script), bridge::server("check.php", CHECK.fill(context! { autoload })?)])
    }
}

/// What Octane's commands put into the environment of its scripts, beside what every PHP has.
pub(crate) fn environment(app: &App) -> BTreeMap<String, String> {
    let mut env = php_ini::environment(app);
    env.extend(own_environment());
    env
}

/// What Octane's commands add.
pub(crate) fn own_environment() -> BTreeMap<String, String> {
    [("APP_BASE_PATH", "@{app}"), ("LARAVEL_OCTANE", "1")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// Whether a version knows what a server needs; the versions that do, as Composer writes them.
fn fit(version: &str, since: [u32; 2]) -> Result<(), String> {
    let numbers = label::numbers(version);
    if numbers >= since.to_vec() && numbers < vec![UNKNOWN] {
        return Ok(());
    }
    let generations = (since[0]..UNKNOWN).map(|major| match major {
        first if first == since[0] => format!("^{first}.{}", since[1]),
        other => format!("^{other}.0"),
    });
    Err(generations.collect::<Vec<_>>().join(" || "))
}

fn place(path: &Path) -> String {
    format!("@{{app}}/{}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_that_know_a_server_fit() {
        for (version, since, range) in [
            ("1.0.0", [1, 0], None),
            ("1.5.6", [1, 0], None),
            ("2.3.6", [1, 0], None),
            ("3.0.0", [1, 0], Some("^1.0 || ^2.0")),
            ("0.5.0", [1, 0], Some("^1.0 || ^2.0")),
            ("1.5.6", [2, 2], Some("^2.2")),
            ("2.1.2", [2, 2], Some("^2.2")),
            ("2.2.0", [2, 2], None),
            ("dev-master", [1, 0], Some("^1.0 || ^2.0")),
        ] {
            assert_eq!(fit(version, since).err().as_deref(), range, "{version} since {since:?}");
        }
    }
}
