//! The versioned schema: which files are a store, and how an older one is brought up to date.

use rusqlite::{Connection, TransactionBehavior};

/// "Stmp": tells a store from the files of other programs that use SQLite (https://sqlite.org/pragma.html,
/// `application_id`).
const APPLICATION_ID: i32 = 0x5374_6d70;

/// Every change of the schema, oldest first. Entries are never edited: the version that a file carries (`user_version`)
/// is how many of them it has seen.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/001_studies.sql"),
    include_str!("migrations/002_rounds.sql"),
    include_str!("migrations/003_sending.sql"),
    include_str!("migrations/004_php.sql"),
    include_str!("migrations/005_sampling.sql"),
    include_str!("migrations/006_topology.sql"),
    include_str!("migrations/007_trust.sql"),
    include_str!("migrations/008_scenarios.sql"),
    include_str!("migrations/009_metric.sql"),
    include_str!("migrations/010_slo.sql"),
    include_str!("migrations/011_slo_seconds.sql"),
    include_str!("migrations/012_scaling.sql"),
    include_str!("migrations/013_imports.sql"),
    include_str!("migrations/014_revisions.sql"),
    include_str!("migrations/015_base_images.sql"),
    include_str!("migrations/016_load_seconds.sql"),
    include_str!("migrations/017_queries.sql"),
    include_str!("migrations/018_sites.sql"),
    include_str!("migrations/019_errors.sql"),
    include_str!("migrations/020_turns.sql"),
    include_str!("migrations/021_roles.sql"),
    include_str!("migrations/022_time_over.sql"),
    include_str!("migrations/023_windows_from.sql"),
    include_str!("migrations/024_autoloaders.sql"),
    include_str!("migrations/025_inside.sql"),
    include_str!("migrations/026_chosen_by_flags.sql"),
    include_str!("migrations/027_scale_decisions.sql"),
];

/// The version that this program writes.
pub const VERSION: i64 = MIGRATIONS.len() as i64;

/// What a file is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A store of this version, 0 when nothing was written to it yet.
    Store(i64),
    /// Another program's.
    Foreign,
}

/// What the opened file is. Changes nothing.
pub(crate) fn kind(connection: &Connection) -> rusqlite::Result<Kind> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let application = pragma("application_id")?;
    let version = pragma("user_version")?;
    if application == i64::from(APPLICATION_ID) {
        Ok(Kind::Store(version))
    } else if tables == 0 && version == 0 && application == 0 {
        Ok(Kind::Store(0))
    } else {
        Ok(Kind::Foreign)
    }
}

/// Brings a store up to date. All changes are made or none.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    migrate_by(connection, MIGRATIONS)
}

/// Makes a store as the Stampede of a version, from 1 to [`VERSION`], made it.
pub(crate) fn migrate_to(connection: &mut Connection, version: i64) -> rusqlite::Result<()> {
    migrate_by(connection, &MIGRATIONS[..version.clamp(0, VERSION) as usize])
}

fn migrate_by(connection: &mut Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    // Immediate: of two processes that open a store for the first time, the second waits and then finds nothing to do.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let seen: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for migration in migrations.iter().skip(seen.max(0) as usize) {
        transaction.execute_batch(migration)?;
    }
    if seen < migrations.len() as i64 {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", migrations.len() as i64)?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_run_once_and_in_order_from_every_version() {
        let steps = [
            "CREATE TABLE one (a INTEGER)",
            "ALTER TABLE one ADD COLUMN b INTEGER; INSERT INTO one VALUES (1, 2)",
            "UPDATE one SET b = b + 1",
        ];
        for first in 0..=steps.len() {
            let mut connection = Connection::open_in_memory().unwrap();
            migrate_by(&mut connection, &steps[..first]).unwrap();
            migrate_by(&mut connection, &steps).unwrap();
            migrate_by(&mut connection, &steps).unwrap();
            let b: i64 = connection.query_row("SELECT b FROM one", [], |row| row.get(0)).unwrap();
            assert_eq!((b, kind(&connection).unwrap()), (3, Kind::Store(3)), "from version {first}");
        }
    }

    #[test]
    fn a_migration_that_fails_leaves_the_store_as_it_was() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate_by(&mut connection, &["CREATE TABLE one (a INTEGER)"]).unwrap();
        let steps = ["", "CREATE TABLE two (a INTEGER)", "no SQL"];
        assert!(migrate_by(&mut connection, &steps).is_err());
        assert_eq!(kind(&connection).unwrap(), Kind::Store(1));
        assert!(connection.prepare("SELECT * FROM two").is_err());
    }

    #[test]
    fn every_version_that_was_ever_written_is_brought_up_to_date() {
        for first in 0..=MIGRATIONS.len() {
            let mut connection = Connection::open_in_memory().unwrap();
            migrate_by(&mut connection, &MIGRATIONS[..first]).unwrap();
            migrate(&mut connection).unwrap();
            assert_eq!(kind(&connection).unwrap(), Kind::Store(VERSION));
        }
    }

    #[test]
    fn a_file_of_another_program_is_told_apart() {
        let connection = Connection::open_in_memory().unwrap();
        assert_eq!(kind(&connection).unwrap(), Kind::Store(0));
        connection.execute_batch("CREATE TABLE other (a)").unwrap();
        assert_eq!(kind(&connection).unwrap(), Kind::Foreign);
    }
}
