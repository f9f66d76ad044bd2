//! Databases that take fewer connections than workers open, or one writer at a time.

use stampede_core::{ConnectionShortage, Finding, Outcome, SQLITE_LOCKED, Severity, TOO_MANY_CONNECTIONS};

use super::finding;
use crate::record::Record;

/// Requests that failed, where a server logged this failure.
fn failed_by(record: &Record<'_>, means: &str) -> Option<u64> {
    let is_logged = record.trials.iter().any(|trial| match &trial.outcome {
        Outcome::Invalid(reason) | Outcome::Failed(reason) => {
            Outcome::problem_and_fixes(reason).1.iter().any(|fix| fix.starts_with(means))
        }
        Outcome::Measured => false,
    });
    is_logged.then(|| failed(record))
}

fn failed(record: &Record<'_>) -> u64 {
    record.trials.iter().filter_map(|trial| trial.measurement.as_ref()).map(|measured| measured.requests.failed).sum()
}

/// Requests failed since the database took no more connections: a server logged it, or there are more workers than connections.
pub(super) fn connections(record: &Record<'_>) -> Option<Finding> {
    let logged = failed_by(record, TOO_MANY_CONNECTIONS);
    let failed = logged.unwrap_or_else(|| failed(record));
    if failed == 0 {
        return None;
    }
    let shortage = ConnectionShortage::of(record.case);
    let (text, mut evidence, service) = match shortage {
        Some(ConnectionShortage { database, workers }) => {
            let (service, most) = (database.service.id(), database.most);
            let text = format!(
                "{workers} workers may open a connection each, {service} takes {most}, and {failed} requests failed."
            );
            (text, vec![("workers", workers as f64), ("database_connections", most as f64)], Some(service))
        }
        None => {
            logged?;
            (format!("The database took no more connections, and {failed} requests failed."), Vec::new(), None)
        }
    };
    evidence.push(("failed", failed as f64));
    let setting = service.map_or_else(String::new, |service| format!("{service}."));
    Some(finding(
        "database-connections",
        // What was logged is no guess.
        if logged.is_some() { Severity::Error } else { Severity::Warning },
        text,
        evidence,
        format!("Raise {setting}max_connections, lower the number of workers, or put a connection pool in front."),
    ))
}

/// Requests failed since another one held the lock of SQLite's file. <https://www.sqlite.org/rescode.html#busy>
pub(super) fn sqlite_locked(record: &Record<'_>) -> Option<Finding> {
    let failed = failed_by(record, SQLITE_LOCKED).filter(|failed| *failed > 0)?;
    Some(finding(
        "sqlite-locked",
        Severity::Error,
        format!(
            "\"database is locked\": SQLite has one writer at a time, and {failed} requests failed that did not wait."
        ),
        [("failed", failed as f64)],
        "Have connections wait (PRAGMA busy_timeout=5000) and readers not wait for writers (PRAGMA journal_mode=WAL), keep \
         transactions short, or use a database server. More workers make it worse.",
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stampede_core::{Role, Service, ServiceKind, Tunable, TunableKind};

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
            study.cases[0].topology.services = vec![Service { kind, settings, share: None, image: None }];
            if pooled {
                let pool =
                    Service { kind: ServiceKind::Pgbouncer, settings: BTreeMap::new(), share: None, image: None };
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

    #[test]
    fn what_servers_logged_of_their_database_is_told() {
        let of = |rule: fn(&Record<'_>) -> Option<Finding>, means: &str| {
            crate::rules::tests::found(rule, |trial| {
                trial.measurement.as_mut().unwrap().requests.failed = 4;
                trial.outcome = Outcome::Invalid(format!("4 of 9 answers were wrong\nfix: {means}: do so"));
            })
        };
        assert_eq!(of(sqlite_locked, TOO_MANY_CONNECTIONS), None);
        assert_eq!(of(connections, SQLITE_LOCKED), None);
        let finding = of(sqlite_locked, SQLITE_LOCKED).unwrap();
        assert_eq!((finding.severity, finding.evidence["failed"]), (Severity::Error, 12.0));
        let finding = of(connections, TOO_MANY_CONNECTIONS).unwrap();
        assert_eq!(finding.text, "The database took no more connections, and 12 requests failed.");
    }
}
