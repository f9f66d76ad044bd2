//! What an application uses beside itself: how each service is found, run, asked and read back.

use std::collections::BTreeMap;

use stampede_core::{
    Address, AddressId, AddressKind, ComposeContext, Found, Install, PlanError, Program, Programs, ReadBack,
    Requirement, RunFile, RuntimeId, Service, ServiceKind, Unit, VersionProbe,
};

use crate::{lookup, mariadb, pgbouncer, postgres, redis, service_image};

/// The user of every service, its password, and its database where the service makes one by itself.
pub(crate) const USER: &str = "stampede";
pub(crate) const PASSWORD: &str = "stampede";

/// A service that can be started.
pub(crate) struct Rendered {
    pub(crate) unit: Unit,
    pub(crate) read_back: ReadBack,
}

pub(crate) fn title(kind: ServiceKind) -> &'static str {
    match kind {
        ServiceKind::Postgres => "PostgreSQL: a cluster of its own in the run's folder",
        ServiceKind::Mariadb => "MariaDB: a data folder of its own in the run's folder",
        ServiceKind::Pgbouncer => "PgBouncer: a pool of connections in front of postgres",
        ServiceKind::Redis => "Redis or Valkey: empty and in memory, for each trial",
    }
}

/// What a service of a topology needs.
pub(crate) fn requires_of(service: &Service) -> Vec<Requirement> {
    service
        .image
        .as_deref()
        .map_or_else(|| requires(service.kind), |image| service_image::requires(service.kind, image))
}

pub(crate) fn requires(kind: ServiceKind) -> Vec<Requirement> {
    match kind {
        ServiceKind::Postgres => postgres::requires(),
        ServiceKind::Mariadb => mariadb::requires(),
        ServiceKind::Pgbouncer => pgbouncer::requires(),
        ServiceKind::Redis => redis::requires(),
    }
}

/// What the application finds in its environment.
pub(crate) fn environment(kind: ServiceKind) -> Vec<(&'static str, String)> {
    match kind {
        ServiceKind::Postgres => postgres::environment("postgres"),
        ServiceKind::Mariadb => mariadb::environment(),
        ServiceKind::Pgbouncer => postgres::environment("pgbouncer"),
        ServiceKind::Redis => redis::environment(),
    }
}

pub(crate) fn render(service: &Service, cx: &ComposeContext<'_>) -> Result<Rendered, PlanError> {
    match service.kind {
        _ if service.image.is_some() => service_image::render(service, cx),
        ServiceKind::Postgres => postgres::render(service, cx),
        ServiceKind::Mariadb => mariadb::render(service, cx),
        ServiceKind::Pgbouncer => pgbouncer::render(service, cx),
        ServiceKind::Redis => redis::render(service, cx),
    }
}

pub(crate) fn address(kind: ServiceKind) -> Address {
    Address { id: AddressId::new(kind.id()), kind: AddressKind::Tcp }
}

/// A program that asks a service in SQL.
pub(crate) fn ask(kind: ServiceKind, sql: &str, programs: &Programs) -> Result<Program, PlanError> {
    let find = |key: &'static str| {
        let found = service_image::program_in(kind, key, programs).or_else(|| programs.get(key).cloned());
        found.ok_or_else(|| missing(kind, key))
    };
    match kind {
        ServiceKind::Postgres => Ok(postgres::ask(&find(postgres::PSQL)?, kind.id(), postgres::DATABASE, sql)),
        ServiceKind::Mariadb => Ok(mariadb::ask_database(&find(mariadb::CLIENT)?, sql)),
        ServiceKind::Pgbouncer => Ok(postgres::ask(&find(postgres::PSQL)?, kind.id(), postgres::DATABASE, sql)),
        ServiceKind::Redis => Err(PlanError::NoSql(kind)),
    }
}

/// The program that dumps a service that holds rows.
pub(crate) fn dumper(kind: ServiceKind) -> Option<Requirement> {
    match kind {
        ServiceKind::Postgres => Some(postgres::dumper()),
        ServiceKind::Mariadb => Some(mariadb::dumper()),
        ServiceKind::Pgbouncer | ServiceKind::Redis => None,
    }
}

/// The application's database as SQL.
pub(crate) fn dump(kind: ServiceKind, programs: &Programs) -> Result<Option<Program>, PlanError> {
    let find = |key| programs.get(key).ok_or_else(|| missing(kind, key));
    match kind {
        ServiceKind::Postgres => Ok(Some(postgres::dump(find(postgres::DUMP)?))),
        ServiceKind::Mariadb => Ok(Some(mariadb::dump(find(mariadb::DUMP)?))),
        ServiceKind::Pgbouncer | ServiceKind::Redis => Ok(None),
    }
}

/// The program by whose version a service is known.
pub(crate) fn server(kind: ServiceKind) -> &'static str {
    match kind {
        ServiceKind::Postgres => postgres::POSTGRES,
        ServiceKind::Mariadb => mariadb::SERVER,
        ServiceKind::Pgbouncer => pgbouncer::PGBOUNCER,
        ServiceKind::Redis => redis::SERVER,
    }
}

/// How to get a service.
pub(crate) fn install(kind: ServiceKind) -> Install {
    let (package, page) = match kind {
        ServiceKind::Postgres => ("postgresql", postgres::PAGE),
        ServiceKind::Mariadb => ("mariadb-server", mariadb::PAGE),
        ServiceKind::Pgbouncer => ("pgbouncer", pgbouncer::PAGE),
        ServiceKind::Redis => ("redis-server", redis::PAGE),
    };
    Install::package(package, page)
}

/// A shell script that makes a folder with the first of three programs, starts the second on it and has the third run a
/// file of SQL.
pub(crate) fn init_program(
    script: &str,
    programs: [&Found; 3],
    file: &str,
    options: &[&str],
    env: &[(&str, &str)],
) -> Program {
    let [make, start, run] = programs.map(|found| found.path.display().to_string());
    let args = [&["-c", script, "init", "@{output}", &make, &start, &run, file], options].concat();
    Program::new("/bin/sh", &args, owned(env))
}

/// A program whose version stands after a word.
pub(crate) fn needs(names: &'static [&'static str], prefix: &'static str, package: &str, page: &str) -> Requirement {
    lookup::program(names, VersionProbe { args: &["--version"], prefix }, Install::package(package, page))
}

/// What was found for a requirement of a service.
pub(crate) fn found<'a>(
    kind: ServiceKind,
    key: &'static str,
    cx: &'a ComposeContext<'_>,
) -> Result<&'a Found, PlanError> {
    cx.programs.get(key).ok_or_else(|| missing(kind, key))
}

fn missing(kind: ServiceKind, key: &'static str) -> PlanError {
    PlanError::Program { runtime: RuntimeId::new(kind.id()), program: key }
}

pub(crate) fn program(found: &Found, args: &[&str], env: &[(&str, &str)]) -> Program {
    Program::new(found.path.display().to_string(), args, owned(env))
}

fn owned(env: &[(&str, &str)]) -> BTreeMap<String, String> {
    env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(crate) fn file(kind: ServiceKind, name: &str, text: impl Into<String>) -> RunFile {
    RunFile { path: std::path::Path::new(kind.id()).join(name), text: text.into() }
}

/// Defaults with what was asked for over them.
pub(crate) fn settings(service: &Service, defaults: &[(&str, String)]) -> BTreeMap<String, String> {
    let mut settings: BTreeMap<String, String> =
        defaults.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    settings.extend(service.settings.clone());
    settings
}

/// Names of settings as SQL writes a list of texts. They hold letters, digits, `_` and `.` alone.
pub(crate) fn quoted(settings: &BTreeMap<String, String>) -> String {
    settings.keys().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

/// Settings as `name = value`, a line each.
pub(crate) fn plain_lines(settings: &BTreeMap<String, String>) -> Vec<String> {
    settings.iter().map(|(name, value)| format!("{name} = {value}")).collect()
}
