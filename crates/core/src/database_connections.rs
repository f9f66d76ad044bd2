//! Connections that workers open to a database, and how many that takes.

use crate::{Case, Role, ServiceKind, Topology, Tuning};

/// What PostgreSQL keeps for administrators (`superuser_reserved_connections`), its default.
/// <https://www.postgresql.org/docs/current/runtime-config-connection.html>
const RESERVED: u64 = 3;

/// What a log means in which a database refused a connection for want of one (MariaDB's error 1040, PostgreSQL's 53300).
pub const TOO_MANY_CONNECTIONS: &str = "the database takes no more connections";

/// What a log means in which SQLite gave up waiting for its file's lock (`SQLITE_BUSY`).
pub const SQLITE_LOCKED: &str = "another request held the lock of the SQLite file";

/// How many connections a database takes from an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseConnections {
    /// The database.
    pub service: ServiceKind,
    /// How many it takes at most.
    pub most: u64,
}

/// More workers than a database takes connections, if each of them opens one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionShortage {
    /// The database.
    pub database: DatabaseConnections,
    /// Workers of all replicas.
    pub workers: u64,
}

impl DatabaseConnections {
    /// Those of the database beside a runtime: its `max_connections`, set or by default; nothing without a database, and where a pool
    /// of connections stands in front, which shares few among many workers.
    #[must_use]
    pub fn of(topology: &Topology) -> Option<Self> {
        if topology.services.iter().any(|service| service.kind == ServiceKind::Pgbouncer) {
            return None;
        }
        topology.services.iter().find_map(|service| {
            // https://mariadb.com/docs/server/server-management/variables-and-modes/server-system-variables#max_connections
            let (default, reserved) = match service.kind {
                ServiceKind::Postgres => (100, RESERVED),
                ServiceKind::Mariadb => (151, 0),
                ServiceKind::Pgbouncer | ServiceKind::Redis => return None,
            };
            let given = match service.settings.get("max_connections") {
                Some(given) => given.parse::<u64>().ok()?,
                None => default,
            };
            Some(Self { service: service.kind, most: given.saturating_sub(reserved) })
        })
    }

    /// The `max_connections` with which it would take so many.
    #[must_use]
    pub fn setting_for(&self, workers: u64) -> u64 {
        workers + if self.service == ServiceKind::Postgres { RESERVED } else { 0 }
    }
}

impl ConnectionShortage {
    /// That of a case.
    #[must_use]
    pub fn of(case: &Case) -> Option<Self> {
        let database = DatabaseConnections::of(&case.topology)?;
        let workers = workers(&case.tuning)?.saturating_mul(u64::from(case.topology.replicas));
        (workers > database.most).then_some(Self { database, workers })
    }
}

/// The workers of one replica; nothing where the runtime chooses their number itself.
fn workers(tuning: &Tuning) -> Option<u64> {
    tuning.of_role(Role::PoolSize).find_map(|(_, value)| value.parse().ok()).filter(|workers| *workers > 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Service;

    #[test]
    fn a_database_takes_what_was_set_or_its_default() {
        for (name, services, most) in [
            ("none", vec![], None),
            ("PostgreSQL", vec![(ServiceKind::Postgres, None)], Some(97)),
            ("PostgreSQL with ten", vec![(ServiceKind::Postgres, Some("10"))], Some(7)),
            ("MariaDB", vec![(ServiceKind::Mariadb, None)], Some(151)),
            ("MariaDB with ten", vec![(ServiceKind::Mariadb, Some("10"))], Some(10)),
            ("a pool in front", vec![(ServiceKind::Postgres, Some("10")), (ServiceKind::Pgbouncer, None)], None),
        ] {
            let service = |(kind, most): (ServiceKind, Option<&str>)| {
                let set = most.map(|most| ("max_connections".to_owned(), most.to_owned()));
                Service { kind, settings: set.into_iter().collect::<BTreeMap<_, _>>(), share: None, image: None }
            };
            let topology = Topology { services: services.into_iter().map(service).collect(), ..Topology::default() };
            assert_eq!(DatabaseConnections::of(&topology).map(|database| database.most), most, "{name}");
        }
    }
}
