//! Databases that take fewer connections than workers open.

use stampede_core::{Finding, Role, ServiceKind, Severity};

use super::finding;
use crate::record::Record;

/// What PostgreSQL keeps for administrators (`superuser_reserved_connections`), its default.
/// <https://www.postgresql.org/docs/current/runtime-config-connection.html>
const RESERVED: u64 = 3;

/// More workers than the database has connections for, and requests that failed.
pub(super) fn connections(record: &Record<'_>) -> Option<Finding> {
    let failed: u64 = record.measurements().map(|measured| measured.requests.failed).sum();
    let services = &record.case.topology.services;
    // A pool in front is there to share few connections among many workers.
    if failed == 0 || services.iter().any(|service| service.kind == ServiceKind::Pgbouncer) {
        return None;
    }
    let (kind, most) = services.iter().find_map(|service| {
        let given: u64 = service.settings.get("max_connections")?.parse().ok()?;
        match service.kind {
            ServiceKind::Postgres => Some((service.kind, given.saturating_sub(RESERVED))),
            ServiceKind::Mariadb => Some((service.kind, given)),
            ServiceKind::Pgbouncer => None,
        }
    })?;
    let workers: u64 = record.case.tuning.of_role(Role::PoolSize).find_map(|(_, value)| value.parse().ok())?;
    let workers = workers * u64::from(record.case.topology.replicas);
    (workers > most).then(|| {
        finding(
            "database-connections",
            Severity::Warning,
            format!(
                "{workers} workers may open a connection each, {} takes {most}, and {failed} requests failed.",
                kind.id()
            ),
            [("workers", workers as f64), ("database_connections", most as f64), ("failed", failed as f64)],
            format!(
                "Raise {}.max_connections, lower the number of workers, or put a connection pool in front.",
                kind.id()
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stampede_core::{Service, Tunable, TunableKind};

    use super::*;
    use crate::samples;

    #[test]
    fn a_database_that_takes_too_few_connections_is_told_where_requests_failed() {
        let pool = Tunable {
            name: "workers",
            role: Role::PoolSize,
            kind: TunableKind::Count { min: 1, max: 99 },
            summary: "",
            manual: "",
        };
        for (name, kind, most, pooled, failed, told) in [
            (
                "PostgreSQL",
                ServiceKind::Postgres,
                "10",
                false,
                5,
                Some("16 workers may open a connection each, postgres takes 7"),
            ),
            (
                "MariaDB",
                ServiceKind::Mariadb,
                "15",
                false,
                5,
                Some("16 workers may open a connection each, mariadb takes 15"),
            ),
            ("enough of them", ServiceKind::Mariadb, "16", false, 5, None),
            ("nothing failed", ServiceKind::Postgres, "10", false, 0, None),
            ("a pool in front", ServiceKind::Postgres, "10", true, 5, None),
        ] {
            let mut study = samples::study(&["a"]);
            study.cases[0].tuning.give("workers", "16");
            study.cases[0].tuning = study.cases[0].tuning.clone().with_roles(&[pool]);
            let settings = BTreeMap::from([("max_connections".to_owned(), most.to_owned())]);
            study.cases[0].topology.services = vec![Service { kind, settings, share: None }];
            if pooled {
                let pool = Service { kind: ServiceKind::Pgbouncer, settings: BTreeMap::new(), share: None };
                study.cases[0].topology.services.push(pool);
            }
            let mut trial = samples::measured("a", 1, 1_000.0);
            trial.measurement.as_mut().unwrap().requests.failed = failed;
            let trials = [trial];
            let finding = connections(&Record::new(&study, &study.cases[0], &trials));
            assert_eq!(finding.is_some(), told.is_some(), "{name}: {finding:?}");
            assert!(finding.is_none_or(|finding| finding.text.starts_with(told.unwrap())), "{name}");
        }
    }
}
