//! What a workload's load must have made, as `workload.yaml` writes it.

use schemars::JsonSchema;
use serde::Deserialize;
use stampede_core::{Audit, AuditQuery, ServiceKind, ServiceNeed};

use crate::document::{Place, Text};
use crate::mistake::Gathered;

/// Something that the load must have made, counted before and after it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AuditEntry {
    /// What it is.
    #[schemars(extend("examples" = ["people"]))]
    name: Text,
    /// The answers that each make one more.
    #[schemars(extend("examples" = ["{step: create/create, status: 201}"]))]
    answers: AnswersEntry,
    /// The path that every replica answers with the number.
    #[schemars(extend("examples" = ["/count"]))]
    path: Option<String>,
    /// A query that a service answers with the number.
    #[schemars(extend("examples" = ["{service: postgres, sql: SELECT count(*) FROM people}"]))]
    query: Option<QueryEntry>,
}

/// Answers of a step of the scenario.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswersEntry {
    /// The step, with its flow.
    #[schemars(extend("examples" = ["create/create"]))]
    step: Text,
    /// The status of these answers.
    #[schemars(extend("examples" = [201]))]
    status: u16,
}

/// A query.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QueryEntry {
    /// The service, one of services.
    #[schemars(extend("examples" = ["postgres"]))]
    service: ServiceEntry,
    /// SQL whose result is one number.
    #[schemars(extend("examples" = ["SELECT count(*) FROM people"]))]
    sql: Text,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ServiceEntry {
    Postgres,
    Mariadb,
}

impl AuditEntry {
    /// Reads one that can be asked of these services.
    pub(crate) fn read(self, services: &[ServiceNeed], place: &Place<'_>, mistakes: &mut Gathered) -> Audit {
        let Self { name: Text(name), answers: AnswersEntry { step: Text(step), status }, path, query } = self;
        if path.is_none() && query.is_none() {
            let fix = "add path: /count, or query: {service: postgres, sql: SELECT count(*) FROM t}";
            mistakes.add(place, format!("does not say who counts {name}"), fix);
        }
        if path.as_ref().is_some_and(|path| !path.starts_with('/')) {
            mistakes.add(place.key("path"), "does not begin with /", "write an absolute path");
        }
        let query = query.map(|QueryEntry { service, sql: Text(sql) }| {
            let service = match service {
                ServiceEntry::Postgres => ServiceKind::Postgres,
                ServiceEntry::Mariadb => ServiceKind::Mariadb,
            };
            if !services.iter().any(|need| need.kind == service) {
                let fix = format!("add services: {{{}: {{}}}}", service.id());
                mistakes.add(place.key("query").key("service"), "is not among its services", fix);
            }
            AuditQuery { service, sql }
        });
        Audit { name, step, status, path, query }
    }
}
