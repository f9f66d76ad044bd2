//! Services that a workload is made for, as `workload.yaml` writes them.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use stampede_core::{InitScript, ServiceKind, ServiceNeed};

use crate::document::{Place, Text};
use crate::mistake::Gathered;

/// More SQL than that is a dump, which a service takes minutes to load.
const MOST_BYTES: u64 = 64 << 20;

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
}

/// A service.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NeedEntry {
    /// A file with SQL that the service starts with. Each trial begins with what it made.
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

/// A service that is only named (`postgres:`) is one with its defaults.
fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NeedEntry>, D::Error> {
    Ok(Some(Option::<NeedEntry>::deserialize(deserializer)?.unwrap_or_default()))
}

impl NeedsEntry {
    /// Reads them with their scripts, whose paths are relative to a folder.
    pub(crate) fn read(self, folder: &Path, place: &Place<'_>, mistakes: &mut Gathered) -> Vec<ServiceNeed> {
        let Self { postgres, mariadb } = self;
        let entries = [(ServiceKind::Postgres, postgres), (ServiceKind::Mariadb, mariadb)];
        let named = entries.into_iter().filter_map(|(kind, entry)| Some((kind, entry?)));
        let read = |(kind, NeedEntry { init, at_least, optional, extensions }): (ServiceKind, NeedEntry)| {
            let place = place.key(kind.id());
            let at_least = at_least.map_or_else(Vec::new, |Text(version)| {
                version.split('.').map(str::parse).collect::<Result<Vec<u32>, _>>().unwrap_or_else(|_| {
                    mistakes.add(place.key("at_least"), "is no version", "for example at_least: 14");
                    Vec::new()
                })
            });
            let init = init.and_then(|file| read_init(folder, &file, &place.key("init").to_string(), mistakes));
            ServiceNeed { kind, always: !optional, at_least, init, extensions }
        };
        named.map(read).collect()
    }
}

/// Reads a script.
pub(crate) fn read_init(folder: &Path, file: &Path, place: &str, mistakes: &mut Gathered) -> Option<InitScript> {
    let shown = file.display();
    let path = folder.join(file);
    let mut add = |problem: String, fix: &str| mistakes.add(place, problem, fix);
    match fs::metadata(&path) {
        Ok(found) if found.len() > MOST_BYTES => {
            let fix = "make the rows in SQL (generate_series), or let prepare make them";
            add(format!("names {shown} as init, which is larger than 64 MiB"), fix);
            return None;
        }
        _ => {}
    }
    match fs::read_to_string(&path) {
        Ok(sql) => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            Some(InitScript { name, sql })
        }
        Err(error) => {
            add(format!("names {shown} as init, which cannot be read: {error}"), "correct the path");
            None
        }
    }
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
        let init = InitScript { name: "schema.sql".to_owned(), sql: "SELECT 1;".to_owned() };
        assert_eq!(postgres.init, Some(init));
        assert_eq!((mariadb.kind, mariadb.always, mariadb.oldest()), (ServiceKind::Mariadb, false, "10.6".to_owned()));
        assert!(read("{postgres: }").unwrap()[0].always);
    }

    #[test]
    fn mistakes_in_needs_are_told() {
        for (yaml, told) in [
            (
                "{postgres: {init: none.sql}}",
                "w:1:19 postgres.init none.sql names none.sql as init, which cannot be read: No such file",
            ),
            (
                "{postgres: {init: latin.sql}}",
                "w:1:19 postgres.init latin.sql names latin.sql as init, which cannot be read: stream did not contain",
            ),
            ("{postgres: {at_least: new}}", "w:1:23 postgres.at_least new is no version"),
            ("{redis: {}}", "w:1:2 redis is not known; use mariadb, postgres"),
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
