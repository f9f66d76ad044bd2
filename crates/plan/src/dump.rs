//! A dump of a database, made fit for one of Stampede's own: another server, another user, another name.

use std::io::Read;
use std::sync::LazyLock;

use regex::Regex;
use stampede_core::{ServiceKind, unpacked};

/// More SQL than that takes a service minutes to load.
const MOST_BYTES: u64 = 64 << 20;

/// So many bytes at the beginning say who wrote it.
const HEAD: usize = 4096;

/// What is no SQL, by its first bytes, and what to do.
const NOT_SQL: [(&[u8], &str, &str); 3] = [
    (b"PGDMP", "is in pg_dump's custom format", "make SQL of it: pg_restore --no-owner -f dump.sql FILE"),
    (b"SQLite format 3\0", "is a database of SQLite", "put it where the application looks for it"),
    (b"PK\x03\x04", "is a zip archive", "unpack it"),
];

/// SQL that a database is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dump {
    /// The database that it was dumped from; none where it does not say so.
    pub(crate) kind: Option<ServiceKind>,
    /// SQL that a fresh database takes.
    pub(crate) sql: String,
    /// What was changed for that: `3 owners left out`.
    pub(crate) changes: Vec<String>,
}

/// Why a file holds no SQL that could be run, as the end of a sentence that begins with the file, and what to do.
pub(crate) type Unusable = (String, &'static str);

impl Dump {
    /// Reads SQL, unpacked where gzip has packed it. Only what mysqldump, mariadb-dump, phpMyAdmin or pg_dump wrote is changed.
    ///
    /// # Errors
    ///
    /// Why it cannot be run.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Unusable> {
        let mut text = Vec::new();
        let read = unpacked(bytes).and_then(|bytes| bytes.take(MOST_BYTES + 1).read_to_end(&mut text));
        read.map_err(|error| (format!("is damaged: {error}"), "pack it again with gzip"))?;
        let bytes = text.as_slice();
        if let Some((_, problem, fix)) = NOT_SQL.iter().find(|(first, ..)| bytes.starts_with(first)) {
            return Err(((*problem).to_owned(), fix));
        }
        if bytes.len() as u64 > MOST_BYTES {
            let fix = "leave out rows that no page needs (mysqldump --ignore-table, pg_dump --exclude-table-data), or make rows in SQL \
                       (generate_series)";
            return Err(("holds more than 64 MiB of SQL".to_owned(), fix));
        }
        let Ok(sql) = std::str::from_utf8(bytes) else {
            let fix = "write it in UTF-8; mysqldump needs --hex-blob where rows hold bytes";
            return Err(("is not UTF-8".to_owned(), fix));
        };
        let kind = writer(sql);
        let (sql, changes) = match kind {
            Some(ServiceKind::Mariadb) => of_mysql(sql),
            Some(ServiceKind::Postgres) => of_postgres(sql),
            Some(ServiceKind::Pgbouncer | ServiceKind::Redis) | None => (sql.to_owned(), Vec::new()),
        };
        Ok(Self { kind, sql, changes })
    }
}

/// Which database a program dumped, by what it writes at the beginning.
fn writer(sql: &str) -> Option<ServiceKind> {
    const SIGNS: [(&str, ServiceKind); 4] = [
        ("-- MySQL dump", ServiceKind::Mariadb),
        ("-- MariaDB dump", ServiceKind::Mariadb),
        ("-- phpMyAdmin SQL Dump", ServiceKind::Mariadb),
        ("-- PostgreSQL database dump", ServiceKind::Postgres),
    ];
    let head = &sql.as_bytes()[..sql.len().min(HEAD)];
    let signs = SIGNS.iter().find(|(sign, _)| head.windows(sign.len()).any(|found| found == sign.as_bytes()));
    signs.map(|(_, kind)| *kind)
}

/// How often something was changed.
#[derive(Default)]
struct Changes(Vec<(&'static str, usize)>);

impl Changes {
    fn add(&mut self, what: &'static str, times: usize) {
        match self.0.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += times,
            None if times > 0 => self.0.push((what, times)),
            None => {}
        }
    }

    fn finish(self) -> Vec<String> {
        self.0.into_iter().map(|(what, count)| format!("{what} ({count})")).collect()
    }
}

const NAMES: &str = "names of databases left out";
const OWNERS: &str = "owners left out";
const RIGHTS: &str = "rights left out";
const SERVER: &str = "settings of the server left out";
const COLLATIONS: &str = "collations of MySQL 8 replaced";

/// MariaDB has no `utf8mb4_0900_ai_ci`: the nearest of its own is that of an earlier Unicode. What tells letters from their accents or
/// capitals apart becomes binary. <https://mariadb.com/docs/release-notes/community-server/about/compatibility-and-differences>
fn collation(mysql: &str) -> &'static str {
    if mysql.ends_with("_ci") { "utf8mb4_unicode_520_ci" } else { "utf8mb4_bin" }
}

/// A dump for the database `stampede` of a MariaDB, in which nobody has the names of the one that was dumped.
fn of_mysql(sql: &str) -> (String, Vec<String>) {
    static DEFINER: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"DEFINER\s*=\s*(?:`[^`]*`|\S+?)@(?:`[^`]*`|[^\s*]+) ?").ok());
    static COLLATION: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\butf8mb4_(?:[a-z]+_)*0900_[a-z_]+").ok());
    let (mut text, mut changes) = (String::with_capacity(sql.len()), Changes::default());
    let mut is_in_dropped = false;
    for line in sql.split_inclusive('\n') {
        let ends = line.trim_end().ends_with(';');
        if is_in_dropped {
            is_in_dropped = !ends;
            continue;
        }
        let begins = |any: &[&str]| any.iter().any(|word| line.starts_with(word));
        // Rows: what they hold is nobody's business.
        if begins(&["INSERT ", "REPLACE ", "("]) {
            text.push_str(line);
        } else if begins(&["USE `", "CREATE DATABASE ", "DROP DATABASE ", "/*!40000 DROP DATABASE "]) {
            changes.add(NAMES, 1);
        } else if begins(&["SET @@GLOBAL.GTID_PURGED", "SET @@SESSION.SQL_LOG_BIN", "SET @MYSQLDUMP_TEMP_LOG_BIN"]) {
            changes.add(SERVER, 1);
            is_in_dropped = !ends;
        } else if begins(&["/*M!999999\\- enable the sandbox mode"]) {
            // Clients that do not know it stop there.
        } else {
            let mut line = line.to_owned();
            if let (Some(definer), true) = (DEFINER.as_ref(), line.starts_with("CREATE ") || line.starts_with("/*!")) {
                changes.add(OWNERS, definer.find_iter(&line).count());
                line = definer.replace_all(&line, "").into_owned();
            }
            if let (Some(known), true) = (COLLATION.as_ref(), line.contains("0900_")) {
                changes.add(COLLATIONS, known.find_iter(&line).count());
                line = known.replace_all(&line, |found: &regex::Captures<'_>| collation(&found[0])).into_owned();
            }
            text.push_str(&line);
        }
    }
    (text, changes.finish())
}

/// A dump for the database of a PostgreSQL whose only role is another one.
fn of_postgres(sql: &str) -> (String, Vec<String>) {
    let (mut text, mut changes) = (String::with_capacity(sql.len()), Changes::default());
    let (mut are_rows, mut is_in_value) = (false, false);
    for line in sql.split_inclusive('\n') {
        let trimmed = line.trim_end();
        // A value of several lines, of --inserts: quotes in it are doubled.
        if is_in_value || trimmed.starts_with("INSERT INTO ") {
            is_in_value ^= trimmed.matches('\'').count() % 2 == 1;
            text.push_str(line);
            continue;
        }
        if are_rows {
            are_rows = trimmed != "\\.";
            text.push_str(line);
            continue;
        }
        let begins = |any: &[&str]| any.iter().any(|word| trimmed.starts_with(word));
        let is_whole = trimmed.ends_with(';');
        if trimmed.starts_with("COPY ") && trimmed.ends_with(" FROM stdin;") {
            are_rows = true;
        }
        if is_whole && trimmed.starts_with("ALTER ") && trimmed.contains(" OWNER TO ") {
            changes.add(OWNERS, 1);
        } else if is_whole && begins(&["GRANT ", "REVOKE ", "ALTER DEFAULT PRIVILEGES "]) {
            changes.add(RIGHTS, 1);
        } else if begins(&["\\connect ", "\\c "])
            || (is_whole && begins(&["CREATE DATABASE ", "DROP DATABASE ", "ALTER DATABASE "]))
        {
            changes.add(NAMES, 1);
        } else if begins(&["\\restrict ", "\\unrestrict "]) {
            // Clients that do not know them stop there.
        } else if is_whole && begins(&["SET transaction_timeout "]) {
            // Servers before 17 have none.
            changes.add(SERVER, 1);
        } else if trimmed == "CREATE SCHEMA public;" {
            text.push_str("CREATE SCHEMA IF NOT EXISTS public;\n");
        } else {
            text.push_str(line);
        }
    }
    (text, changes.finish())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_dump_of_mysql_loses_what_another_server_does_not_have() {
        let sql = "-- MySQL dump 10.13  Distrib 8.4.0, for Linux (x86_64)\n\
            SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1-2,\nb:1-3';\n\
            CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop`;\nUSE `shop`;\n\
            CREATE TABLE `t` (\n  `a` varchar(9) COLLATE utf8mb4_0900_as_cs,\n  `b` text COLLATE utf8mb4_de_pb_0900_ai_ci\n) \
            ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;\n\
            INSERT INTO `t` VALUES ('DEFINER=`a`@`b` utf8mb4_0900_ai_ci','USE `shop`;');\n\
            ('USE `x`;','utf8mb4_0900_ai_ci');\n\
            /*!50003 CREATE*/ /*!50017 DEFINER=`shop`@`10.0.%`*/ /*!50003 TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET @a=1 */;;\n\
            CREATE DEFINER=shop@localhost PROCEDURE `p`()\n\
            /*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */\n";
        let Dump { kind, sql, changes } = Dump::read(sql.as_bytes()).unwrap();
        assert_eq!(kind, Some(ServiceKind::Mariadb));
        assert_eq!(
            sql,
            "-- MySQL dump 10.13  Distrib 8.4.0, for Linux (x86_64)\n\
            CREATE TABLE `t` (\n  `a` varchar(9) COLLATE utf8mb4_bin,\n  `b` text COLLATE utf8mb4_unicode_520_ci\n) \
            ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;\n\
            INSERT INTO `t` VALUES ('DEFINER=`a`@`b` utf8mb4_0900_ai_ci','USE `shop`;');\n\
            ('USE `x`;','utf8mb4_0900_ai_ci');\n\
            /*!50003 CREATE*/ /*!50017 */ /*!50003 TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET @a=1 */;;\n\
            CREATE PROCEDURE `p`()\n\
            /*!50013 SQL SECURITY DEFINER */\n"
        );
        assert_eq!(
            changes,
            [
                "settings of the server left out (1)",
                "names of databases left out (2)",
                "collations of MySQL 8 replaced (3)",
                "owners left out (3)"
            ]
        );
    }

    #[test]
    fn a_dump_of_postgresql_loses_roles_that_are_not_there() {
        let sql = "--\n-- PostgreSQL database dump\n--\n\\restrict x\nSET transaction_timeout = 0;\nCREATE SCHEMA public;\n\
            \\connect shop\nALTER TABLE public.t OWNER TO shop;\nCOPY public.t (a) FROM stdin;\nGRANT ALL ON t TO x;\n\\.\n\
            INSERT INTO public.t VALUES ('it''s:\nGRANT ALL ON t TO x;\nend');\nGRANT ALL ON TABLE public.t TO reader;\nSELECT 1;\n\\unrestrict x\n";
        let Dump { kind, sql, changes } = Dump::read(sql.as_bytes()).unwrap();
        assert_eq!(kind, Some(ServiceKind::Postgres));
        assert_eq!(
            sql,
            "--\n-- PostgreSQL database dump\n--\nCREATE SCHEMA IF NOT EXISTS public;\n\
            COPY public.t (a) FROM stdin;\nGRANT ALL ON t TO x;\n\\.\n\
            INSERT INTO public.t VALUES ('it''s:\nGRANT ALL ON t TO x;\nend');\nSELECT 1;\n"
        );
        assert_eq!(
            changes,
            [
                "settings of the server left out (1)",
                "names of databases left out (1)",
                "owners left out (1)",
                "rights left out (1)"
            ]
        );
    }

    #[test]
    fn sql_of_one_s_own_is_run_as_it_is_packed_or_not() {
        let sql = "USE `mine`;\nCREATE TABLE t (a int) COLLATE utf8mb4_0900_ai_ci;\n";
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(sql.as_bytes()).unwrap();
        let own = Dump { kind: None, sql: sql.to_owned(), changes: Vec::new() };
        assert_eq!(Dump::read(sql.as_bytes()).unwrap(), own);
        assert_eq!(Dump::read(&packed.finish().unwrap()).unwrap(), own);
    }

    #[test]
    fn what_is_no_sql_is_named_with_what_to_do() {
        for (bytes, problem, fix) in [
            (&b"PGDMP\x01"[..], "pg_dump's custom format", "pg_restore --no-owner"),
            (b"SQLite format 3\0", "a database of SQLite", "put it where"),
            (b"PK\x03\x04x", "a zip archive", "unpack it"),
            (b"\x1f\x8b\x08x", "is damaged", "gzip"),
            (b"SELECT '\xe9'", "is not UTF-8", "--hex-blob"),
        ] {
            let (told, todo) = Dump::read(bytes).unwrap_err();
            assert!(told.contains(problem) && todo.contains(fix), "{told}; {todo}");
        }
    }
}
