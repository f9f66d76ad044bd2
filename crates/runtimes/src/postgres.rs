//! PostgreSQL with a cluster of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    AddressId, BuildStep, Bytes, ComposeContext, DatabaseLogin, Found, GracefulStop, InitScript, Makes, PlanError,
    Program, ReadBack, Ready, Requirement, RunFile, Service, ServiceKind, StatusFormat, StatusSource, StatusTransport,
    StopSignal, Unit,
};

use crate::service::{PASSWORD, Rendered, USER, file, found, init_program, needs, program, quoted, settings};
use crate::template::{Template, template};

const KIND: ServiceKind = ServiceKind::Postgres;
pub(crate) const POSTGRES: &str = "postgres";
const INITDB: &str = "initdb";
pub(crate) const PSQL: &str = "psql";
pub(crate) const DUMP: &str = "pg_dump";
const PREFIX: &str = "(PostgreSQL) ";
pub(crate) const PAGE: &str = "https://www.postgresql.org/download/";

/// The database that every cluster has.
pub(crate) const DATABASE: &str = "postgres";

/// A fast shutdown: clients are gone by then. <https://www.postgresql.org/docs/current/server-shutdown.html>
pub(crate) const STOP: GracefulStop = GracefulStop { signal: StopSignal::Int, grace: Duration::from_secs(10) };

/// What its makers' image makes a cluster by, and the port that all programs in it take. <https://hub.docker.com/_/postgres>
pub(crate) const IMAGE: [(&str, &str); 5] = [
    ("POSTGRES_USER", USER),
    ("POSTGRES_PASSWORD", PASSWORD),
    ("POSTGRES_DB", DATABASE),
    ("POSTGRES_INITDB_ARGS", "--encoding=UTF8 --locale=C.UTF-8"),
    ("PGPORT", "@{postgres.port}"),
];

const CONF: Template = template!("services/postgresql.conf.j2");

/// Who may come in: whoever is at the server's own address.
const HBA: &str = "local all all scram-sha-256\nhost all all @{postgres.host}/32 scram-sha-256\n";

/// What the connections of clients do, but for the one that asks. What a query begins with tells it from others.
/// <https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ACTIVITY-VIEW>
const ACTIVITY: &str = "SELECT state, wait_event_type, left(query, 200), count(*) FROM pg_stat_activity \
                        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() GROUP BY 1, 2, 3";

/// Makes a cluster and loads it.
const INIT: &str = include_str!("../templates/services/postgres_init.sh");

pub(crate) fn requires() -> Vec<Requirement> {
    vec![needs(&[POSTGRES], PREFIX, "postgresql", PAGE), needs(&[INITDB], PREFIX, "postgresql", PAGE), client()]
}

pub(crate) fn client() -> Requirement {
    needs(&[PSQL], PREFIX, "postgresql-client", PAGE)
}

/// For libpq (`PG*`), for Symfony (`DATABASE_URL`) and for Laravel (`DB_*`).
/// <https://www.postgresql.org/docs/current/libpq-envars.html>
pub(crate) fn environment(address: &str) -> Vec<(&'static str, String)> {
    let (host, port) = (format!("@{{{address}.host}}"), format!("@{{{address}.port}}"));
    vec![
        ("DATABASE_URL", format!("postgresql://{USER}:{PASSWORD}@{host}:{port}/{DATABASE}")),
        ("PGHOST", host.clone()),
        ("PGPORT", port.clone()),
        ("PGUSER", USER.to_owned()),
        ("PGPASSWORD", PASSWORD.to_owned()),
        ("PGDATABASE", DATABASE.to_owned()),
        ("DB_CONNECTION", "pgsql".to_owned()),
        ("DB_HOST", host),
        ("DB_PORT", port),
        ("DB_DATABASE", DATABASE.to_owned()),
        ("DB_USERNAME", USER.to_owned()),
        ("DB_PASSWORD", PASSWORD.to_owned()),
    ]
}

pub(crate) fn dumper() -> Requirement {
    needs(&[DUMP], PREFIX, "postgresql-client", PAGE)
}

/// The application's database as SQL that belongs to whoever runs it.
/// <https://www.postgresql.org/docs/current/app-pgdump.html>
pub(crate) fn dump(dump: &Found) -> Program {
    program(
        dump,
        &["--no-owner", "--no-privileges", DATABASE],
        &[
            ("PGHOST", "@{postgres.host}"),
            ("PGPORT", "@{postgres.port}"),
            ("PGUSER", USER),
            ("PGPASSWORD", PASSWORD),
            ("PGCONNECT_TIMEOUT", "5"),
        ],
    )
}

/// A question to a server that speaks PostgreSQL's protocol; the answer's columns have tabs between them.
pub(crate) fn ask(psql: &Found, address: &str, database: &str, question: &str) -> Program {
    client_of(psql, address, &["-X", "-q", "-A", "-t", "-F", "\t", "-d", database, "-c", question])
}

/// psql with these words, for a server at an address.
pub(crate) fn client_of(psql: &Found, address: &str, words: &[&str]) -> Program {
    let (host, port) = (format!("@{{{address}.host}}"), format!("@{{{address}.port}}"));
    let env =
        [("PGHOST", &*host), ("PGPORT", &port), ("PGUSER", USER), ("PGPASSWORD", PASSWORD), ("PGCONNECT_TIMEOUT", "5")];
    program(psql, words, &env)
}

/// A question about settings: name, value and unit of each.
pub(crate) fn read(psql: &Found, settings: &BTreeMap<String, String>) -> Program {
    let question =
        format!("SELECT name, setting, coalesce(unit, '') FROM pg_settings WHERE name IN ({})", quoted(settings));
    ask(psql, KIND.id(), DATABASE, &question)
}

/// Its settings: what was asked for over the defaults.
pub(crate) fn settings_of(service: &Service) -> BTreeMap<String, String> {
    settings(service, &defaults(service))
}

pub(crate) fn render(service: &Service, cx: &ComposeContext<'_>) -> Result<Rendered, PlanError> {
    let postgres = found(KIND, POSTGRES, cx)?;
    let psql = found(KIND, PSQL, cx)?;
    let settings = settings_of(service);
    let lines: Vec<String> =
        settings.iter().map(|(name, value)| format!("{name} = '{}'", value.replace('\'', "''"))).collect();
    let conf = CONF.fill(context! { settings => lines })?;
    let server = program(postgres, &["-c", "config_file=@{run}/postgres/postgresql.conf"], &[("LC_ALL", "C.UTF-8")]);
    let unit = Unit {
        build: Some(cluster([found(KIND, INITDB, cx)?, postgres, psql], cx.init.get(&KIND))),
        files: vec![
            file(KIND, "postgresql.conf", conf),
            // Applications sign in with their password, also over the socket.
            file(KIND, "pg_hba.conf", HBA),
        ],
        folders: vec![PathBuf::from("postgres/socket")],
        ready: Ready::Program(ask(psql, KIND.id(), DATABASE, "SELECT 1")),
        statuses: vec![StatusSource {
            address: AddressId::new(KIND.id()),
            transport: StatusTransport::Postgres {
                login: DatabaseLogin { user: USER.into(), password: PASSWORD.into(), database: DATABASE.into() },
                question: ACTIVITY.into(),
            },
            format: StatusFormat::PostgresActivity,
        }],
        ..Unit::new(KIND.id(), server, STOP)
    };
    let read_back = ReadBack { program: read(psql, &settings), asked: settings };
    Ok(Rendered { unit, read_back })
}

/// The sizes that PostgreSQL cannot choose by itself.
fn defaults(service: &Service) -> Vec<(&'static str, String)> {
    const OWN: Bytes = Bytes::from_mib(128);
    // "a reasonable starting value for shared_buffers is 25% of the memory in your system"
    // https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-SHARED-BUFFERS
    let buffers = service.share.map_or(OWN, |share| Bytes::new(share.memory.get() / 4));
    vec![("shared_buffers", format!("{}kB", buffers.get() >> 10)), ("max_connections", "100".to_owned())]
}

/// An empty cluster, or one that was loaded.
fn cluster([initdb, postgres, psql]: [&Found; 3], init: Option<&InitScript>) -> BuildStep {
    let options = [
        "--username=stampede",
        "--pwfile=password",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
        "--no-sync",
    ];
    let env = [("LC_ALL", "C.UTF-8"), ("TZ", "UTC"), ("PATH", "/usr/bin:/bin")];
    let mut files = vec![RunFile { path: PathBuf::from("password"), text: format!("{PASSWORD}\n") }];
    let program = match init {
        None => program(initdb, &[&["--pgdata=@{output}"], &options[..]].concat(), &env),
        Some(InitScript { name, sql, changes: _ }) => {
            files.push(RunFile { path: PathBuf::from(name), text: sql.clone() });
            init_program(INIT, [initdb, postgres, psql], name, &options, &env)
        }
    };
    BuildStep {
        program,
        files,
        output: PathBuf::from("postgres/data"),
        makes: Makes::Folder,
        toolchain: initdb.version.clone(),
    }
}
