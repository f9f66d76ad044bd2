//! What a workload's load must have made, as `workload.yaml` writes it.

use serde::Deserialize;
use stampede_core::{Audit, AuditQuery, ServiceKind, ServiceNeed};

use crate::mistake::Gathered;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AuditEntry {
    name: String,
    answers: AnswersEntry,
    path: Option<String>,
    query: Option<QueryEntry>,
}

/// The answers that each make one more.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswersEntry {
    step: String,
    status: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryEntry {
    service: ServiceEntry,
    sql: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ServiceEntry {
    Postgres,
    Mariadb,
}

impl AuditEntry {
    /// Reads one that can be asked of these services.
    pub(crate) fn read(self, services: &[ServiceNeed], place: &str, mistakes: &mut Gathered) -> Audit {
        let Self { name, answers: AnswersEntry { step, status }, path, query } = self;
        if path.is_none() && query.is_none() {
            let problem = format!("asks nobody for {name} under after");
            mistakes.add(
                place,
                problem,
                "add path: /count, or query: {service: postgres, sql: SELECT count(*) FROM t}",
            );
        }
        if path.as_ref().is_some_and(|path| !path.starts_with('/')) {
            mistakes.add(place, format!("has a path without a leading / in {name}"), "write an absolute path");
        }
        let query = query.map(|QueryEntry { service, sql }| {
            let service = match service {
                ServiceEntry::Postgres => ServiceKind::Postgres,
                ServiceEntry::Mariadb => ServiceKind::Mariadb,
            };
            if !services.iter().any(|need| need.kind == service) {
                let problem = format!("asks {} for {name}, which is not among its services", service.id());
                mistakes.add(place, problem, format!("add services: {{{}: {{}}}}", service.id()));
            }
            AuditQuery { service, sql }
        });
        Audit { name, step, status, path, query }
    }
}
