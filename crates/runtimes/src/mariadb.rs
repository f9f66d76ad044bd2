//! MariaDB with a data folder of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    BuildStep, Bytes, ComposeContext, Found, GracefulStop, InitScript, Makes, PlanError, Program, ReadBack, Ready,
    Requirement, RunFile, Service, ServiceKind, StopSignal, Unit,
};

use crate::service::{
    PASSWORD, Rendered, USER, file, found, init_program, needs, plain_lines, program, quoted, settings,
};
use crate::template::{Template, template};

const KIND: ServiceKind = ServiceKind::Mariadb;
pub(crate) const SERVER: &str = "mariadbd";
const INSTALL: &str = "mariadb-install-db";
pub(crate) const CLIENT: &str = "mariadb";
pub(crate) const DUMP: &str = "mariadb-dump";
pub(crate) const PAGE: &str = "https://mariadb.org/download/";

/// The database that is made for the application.
const DATABASE: &str = "stampede";

/// As long as it may take to write what it holds in memory.
pub(crate) const STOP: GracefulStop = GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(15) };

/// What its makers' image makes a data folder by. <https://hub.docker.com/_/mariadb>
pub(crate) const IMAGE: [(&str, &str); 4] = [
    ("MARIADB_USER", USER),
    ("MARIADB_PASSWORD", PASSWORD),
    ("MARIADB_ROOT_PASSWORD", PASSWORD),
    ("MARIADB_DATABASE", DATABASE),
];

/// Where its clients find it, and as whom: [`USER`].
const CONNECTION: [&str; 5] =
    ["--no-defaults", "--protocol=tcp", "--host=@{mariadb.host}", "--port=@{mariadb.port}", "--user=stampede"];

const CONF: Template = template!("services/mariadb.cnf.j2");

/// Makes a data folder and loads it.
const INIT: &str = include_str!("../templates/services/mariadb_init.sh");

pub(crate) fn requires() -> Vec<Requirement> {
    vec![
        needs(&[SERVER], "Ver ", "mariadb-server", PAGE),
        // A shell script, which tells no version.
        Requirement::Command { key: INSTALL, name: INSTALL.to_owned() },
        needs(&[CLIENT], "Distrib ", "mariadb-client", PAGE),
    ]
}

pub(crate) fn dumper() -> Requirement {
    needs(&[DUMP], "Distrib ", "mariadb-client", PAGE)
}

/// The application's database as SQL, without what differs from one dump of the same rows to the next.
/// <https://mariadb.com/docs/server/clients-and-utilities/backup-restore-and-import-clients/mariadb-dump>
pub(crate) fn dump(dump: &Found) -> Program {
    let args = [
        "--default-character-set=utf8mb4",
        "--single-transaction",
        "--order-by-primary",
        "--routines",
        "--events",
        "--hex-blob",
        "--skip-comments",
        DATABASE,
    ];
    program(dump, &[&CONNECTION[..], &args].concat(), &[("MYSQL_PWD", PASSWORD)])
}

/// Under the names of MariaDB's own container image, for Symfony (`DATABASE_URL`) and for Laravel (`DB_*`).
pub(crate) fn environment() -> Vec<(&'static str, String)> {
    let (host, port) = ("@{mariadb.host}".to_owned(), "@{mariadb.port}".to_owned());
    vec![
        ("DATABASE_URL", format!("mysql://{USER}:{PASSWORD}@{host}:{port}/{DATABASE}")),
        ("MYSQL_HOST", host.clone()),
        ("MYSQL_PORT", port.clone()),
        ("MYSQL_USER", USER.to_owned()),
        ("MYSQL_PASSWORD", PASSWORD.to_owned()),
        ("MYSQL_DATABASE", DATABASE.to_owned()),
        ("DB_CONNECTION", "mysql".to_owned()),
        ("DB_HOST", host),
        ("DB_PORT", port),
        ("DB_DATABASE", DATABASE.to_owned()),
        ("DB_USERNAME", USER.to_owned()),
        ("DB_PASSWORD", PASSWORD.to_owned()),
    ]
}

pub(crate) fn render(service: &Service, cx: &ComposeContext<'_>) -> Result<Rendered, PlanError> {
    let server = found(KIND, SERVER, cx)?;
    let client = found(KIND, CLIENT, cx)?;
    let settings = settings_of(service);
    let conf = CONF.fill(context! { settings => plain_lines(&settings) })?;
    let grants = format!(
        "CREATE DATABASE IF NOT EXISTS {DATABASE};\n\
         CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{PASSWORD}';\n\
         CREATE USER IF NOT EXISTS '{USER}'@'localhost' IDENTIFIED BY '{PASSWORD}';\n\
         GRANT ALL ON *.* TO '{USER}'@'%';\n\
         GRANT ALL ON *.* TO '{USER}'@'localhost';\n"
    );
    let unit = Unit {
        build: Some(data_folder([found(KIND, INSTALL, cx)?, server, client], cx.init.get(&KIND))),
        files: vec![file(KIND, "my.cnf", conf), file(KIND, "init.sql", grants)],
        folders: ["mariadb", "mariadb/tmp"].map(PathBuf::from).into(),
        ready: Ready::Program(ask(client, &[], "SELECT 1")),
        ..Unit::new(KIND.id(), program(server, &["--defaults-file=@{run}/mariadb/my.cnf"], &[]), STOP)
    };
    let read_back = ReadBack { program: read(client, &settings), asked: settings };
    Ok(Rendered { unit, read_back })
}

/// A question about the application's database; the answer's columns have tabs between them.
pub(crate) fn ask_database(client: &Found, question: &str) -> Program {
    ask(client, &[&format!("--database={DATABASE}")], question)
}

fn ask(client: &Found, more: &[&str], question: &str) -> Program {
    let fixed = ["--connect-timeout=5", "--skip-column-names", "--batch"];
    program(client, &[&CONNECTION[..], &fixed, more, &["--execute", question]].concat(), &[("MYSQL_PWD", PASSWORD)])
}

/// Its client, which reads SQL for the application's database.
pub(crate) fn reader(client: &Found) -> Program {
    let more = ["--default-character-set=utf8mb4", DATABASE];
    program(client, &[&CONNECTION[..], &more].concat(), &[("MYSQL_PWD", PASSWORD)])
}

/// A question about settings: name and value of each.
pub(crate) fn read(client: &Found, settings: &BTreeMap<String, String>) -> Program {
    let question = format!(
        "SELECT LOWER(VARIABLE_NAME), VARIABLE_VALUE, '' FROM information_schema.GLOBAL_VARIABLES \
         WHERE LOWER(VARIABLE_NAME) IN ({})",
        quoted(settings)
    );
    ask(client, &[], &question)
}

/// Its settings: what was asked for over the defaults.
pub(crate) fn settings_of(service: &Service) -> BTreeMap<String, String> {
    settings(service, &defaults(service))
}

fn defaults(service: &Service) -> Vec<(&'static str, String)> {
    const OWN: Bytes = Bytes::from_mib(128);
    // In whole MiB, since the server may round to chunks; a quarter leaves room for connections and caches.
    // https://mariadb.com/docs/server/server-usage/storage-engines/innodb/innodb-system-variables#innodb_buffer_pool_size
    let pool =
        service.share.map_or(OWN, |share| Bytes::from_mib((share.memory.get() >> 22).next_multiple_of(2).max(6)));
    vec![("innodb_buffer_pool_size", format!("{}M", pool.get() >> 20)), ("max_connections", "151".to_owned())]
}

/// An empty data folder, or one that was loaded.
fn data_folder([install, server, client]: [&Found; 3], init: Option<&InitScript>) -> BuildStep {
    let env = [("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")];
    let options = ["--auth-root-authentication-method=normal", "--skip-test-db"];
    let mut files = Vec::new();
    let program = match init {
        None => program(install, &[&["--no-defaults", "--datadir=@{output}"], &options[..]].concat(), &env),
        Some(InitScript { name, sql, changes: _ }) => {
            files.push(RunFile { path: PathBuf::from(name), text: sql.clone() });
            init_program(INIT, [install, server, client], name, &options, &env)
        }
    };
    BuildStep {
        program,
        files,
        output: PathBuf::from("mariadb/data"),
        makes: Makes::Folder,
        toolchain: server.version.clone(),
    }
}
