//! Services that a workload is made for, as `workload.yaml` writes them.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use stampede_core::{InitScript, ServiceKind, ServiceNeed};

use crate::document::{Place, Text, named};
use crate::dump::{Dump, Unusable};
use crate::mistake::Gathered;

/// Services by name; an empty one takes the defaults.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NeedsEntry {
    /// PostgreSQL.
    #[serde(default, deserialize_with = "named")]
    #[schemars(extend("examples" = ["{init: schema.sql}"]))]
    postgres: Option<NeedEntry>,
    /// MariaDB.
    #[serde(default, deserialize_with = "named")]
    #[schemars(extend("examples" = ["{init: schema.sql}"]))]
    mariadb: Option<NeedEntry>,
    /// Redis, or Valkey. It has no init.
    #[serde(default, deserialize_with = "named")]
    #[schemars(extend("examples" = ["{extensions: [redis]}"]))]
    redis: Option<NeedEntry>,
}

/// A service.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NeedEntry {
    /// A file with SQL that the service starts with, packed by gzip or not; a dump too. Each trial begins with what it made.
    #[schemars(extend("examples" = ["schema.sql"]))]
    init: Option<PathBuf>,
    /// The oldest version that works.
    #[schemars(extend("examples" = [14, "10.6"]))]
    at_least: Option<Text>,
    /// Whether it runs only with --services or where a plan names it.
    #[serde(default)]
    optional: bool,
    /// PHP extensions that all applications need to reach it.
    #[serde(default)]
    #[schemars(extend("examples" = ["[pdo_pgsql]"]))]
    extensions: Vec<String>,
}

impl NeedsEntry {
    /// Reads them with their scripts, whose paths are relative to a folder.
    pub(crate) fn read(self, folder: &Path, place: &Place<'_>, mistakes: &mut Gathered) -> Vec<ServiceNeed> {
        let Self { postgres, mariadb, redis } = self;
        let entries = [(ServiceKind::Postgres, postgres), (ServiceKind::Mariadb, mariadb), (ServiceKind::Redis, redis)];
        let named = entries.into_iter().filter_map(|(kind, entry)| Some((kind, entry?)));
        let read = |(kind, NeedEntry { init, at_least, optional, extensions }): (ServiceKind, NeedEntry)| {
            let place = place.key(kind.id());
            let at_least = at_least.map_or_else(Vec::new, |Text(version)| {
                version.split('.').map(str::parse).collect::<Result<Vec<u32>, _>>().unwrap_or_else(|_| {
                    mistakes.add(place.key("at_least"), "is no version", "for example at_least: 14");
                    Vec::new()
                })
            });
            let init = init.and_then(|file| {
                let place = place.key("init").to_string();
                if !kind.holds_rows() {
                    mistakes.add(place, "is SQL, which does not fill it", "leave it out");
                    return None;
                }
                read_init(folder, &file, kind, &place, mistakes)
            });
            ServiceNeed { kind, always: !optional, at_least, init, extensions }
        };
        named.map(read).collect()
    }
}

/// Reads a script for a service.
pub(crate) fn read_init(
    folder: &Path,
    file: &Path,
    kind: ServiceKind,
    place: &str,
    mistakes: &mut Gathered,
) -> Option<InitScript> {
    let dump = match read_dump(&folder.join(file)) {
        Ok(dump) => dump,
        Err((problem, fix)) => {
            mistakes.add(place, format!("names {}, which {problem}", file.display()), fix);
            return None;
        }
    };
    if let Some(of) = dump.kind.filter(|of| *of != kind) {
        let problem = format!("names {} as init, which is a dump of {}", file.display(), of.id());
        mistakes.add(place, problem, format!("give it to {}", of.id()));
        return None;
    }
    Some(script(file, dump))
}

/// Reads a file of SQL.
pub(crate) fn read_dump(path: &Path) -> Result<Dump, Unusable> {
    let bytes = fs::read(path).map_err(|error| (format!("cannot be read: {error}"), "correct the path"))?;
    Dump::read(&bytes)
}

/// The script that a dump is.
pub(crate) fn script(file: &Path, Dump { kind: _, sql, changes }: Dump) -> InitScript {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // What it was packed by is undone.
    let name = name.strip_suffix(".gz").unwrap_or(&name).to_owned();
    InitScript { name, sql, changes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{self, Grammar};
    use crate::mistake::Mistakes;

    fn read(yaml: &str) -> Result<Vec<ServiceNeed>, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("schema.sql"), "SELECT 1;").unwrap();
        fs::write(folder.path().join("latin.sql"), b"SELECT '\xe9';").unwrap();
        fs::write(folder.path().join("pg.sql"), "-- PostgreSQL database dump\n").unwrap();
        let schema = schemars::schema_for!(NeedsEntry).to_value();
        let grammar = Grammar { schema, is: "services", begin: "" };
        let read = document::read::<NeedsEntry>(yaml, "w", &grammar);
        let (entry, document) = read.map_err(|mistakes| mistakes.to_string())?;
        let mut mistakes = Gathered::default();
        let needs = entry.read(folder.path(), &document.place(), &mut mistakes);
        mistakes.finish(Ok(needs)).map_err(|mistakes: Mistakes| mistakes.to_string())
    }

    #[test]
    fn needs_are_read_with_their_scripts() {
        let needs = read("{postgres: {init: schema.sql, at_least: 14}, mariadb: {optional: true, at_least: '10.6'}}");
        let [postgres, mariadb] = &needs.unwrap()[..] else { panic!() };
        assert_eq!((postgres.kind, postgres.always, &postgres.at_least[..]), (ServiceKind::Postgres, true, &[14][..]));
        let init = InitScript { name: "schema.sql".to_owned(), sql: "SELECT 1;".to_owned(), changes: Vec::new() };
        assert_eq!(postgres.init, Some(init));
        assert_eq!((mariadb.kind, mariadb.always, mariadb.oldest()), (ServiceKind::Mariadb, false, "10.6".to_owned()));
        assert!(read("{postgres: }").unwrap()[0].always);
    }

    #[test]
    fn mistakes_in_needs_are_told() {
        for (yaml, told) in [
            (
                "{postgres: {init: none.sql}}",
                "w:1:19 postgres.init none.sql names none.sql, which cannot be read: No such file",
            ),
            (
                "{postgres: {init: latin.sql}}",
                "w:1:19 postgres.init latin.sql names latin.sql, which is not UTF-8; write it in UTF-8",
            ),
            (
                "{mariadb: {init: pg.sql}}",
                "mariadb.init pg.sql names pg.sql as init, which is a dump of postgres; give it to",
            ),
            ("{postgres: {at_least: new}}", "w:1:23 postgres.at_least new is no version"),
            ("{memcached: {}}", "w:1:2 memcached is not known; use mariadb, postgres, redis"),
            ("{redis: {init: schema.sql}}", "redis.init schema.sql is SQL, which does not fill it; leave it out"),
            (
                "{postgres: {schema: x}}",
                "w:1:13 postgres.schema is not known; use at_least, extensions, init, optional",
            ),
        ] {
            let problem = read(yaml).unwrap_err();
            assert!(problem.contains(told), "{yaml}: {problem}");
        }
    }
}
