//! PgBouncer in front of PostgreSQL.

use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    ComposeContext, GracefulStop, PlanError, ReadBack, Ready, Requirement, Service, ServiceKind, StopSignal, Unit,
};

use crate::postgres;
use crate::service::{PASSWORD, Rendered, USER, file, found, needs, plain_lines, program, settings};
use crate::template::{Template, template};

const KIND: ServiceKind = ServiceKind::Pgbouncer;
pub(crate) const PGBOUNCER: &str = "pgbouncer";
pub(crate) const PAGE: &str = "https://www.pgbouncer.org/install.html";

const CONF: Template = template!("services/pgbouncer.ini.j2");

pub(crate) fn requires() -> Vec<Requirement> {
    vec![needs(&[PGBOUNCER], "PgBouncer ", "pgbouncer", PAGE), postgres::client()]
}

pub(crate) fn render(service: &Service, cx: &ComposeContext<'_>) -> Result<Rendered, PlanError> {
    let psql = found(KIND, postgres::PSQL, cx)?;
    // Its own defaults. https://www.pgbouncer.org/config.html
    let defaults = [("pool_mode", "session"), ("default_pool_size", "20"), ("max_client_conn", "100")];
    let settings = settings(service, &defaults.map(|(name, value)| (name, value.to_owned())));
    let conf = CONF.fill(context! { settings => plain_lines(&settings) })?;
    let ask = |database: &str, question: &str| postgres::ask(psql, KIND.id(), database, question);
    // It waits for its clients, which are gone by then. https://www.pgbouncer.org/usage.html#signals
    let stop = GracefulStop { signal: StopSignal::Int, grace: Duration::from_secs(5) };
    let server = program(found(KIND, PGBOUNCER, cx)?, &["@{run}/pgbouncer/pgbouncer.ini"], &[]);
    let unit = Unit {
        files: vec![
            file(KIND, "pgbouncer.ini", conf),
            file(KIND, "userlist.txt", format!("\"{USER}\" \"{PASSWORD}\"\n")),
        ],
        folders: vec![PathBuf::from(PGBOUNCER)],
        ready: Ready::Program(ask("postgres", "SELECT 1")),
        ..Unit::new(KIND.id(), server, stop)
    };
    let read_back = ReadBack { program: ask(PGBOUNCER, "SHOW CONFIG"), asked: settings };
    Ok(Rendered { unit, read_back })
}
