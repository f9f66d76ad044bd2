//! What stands around a runtime: copies of it behind a balancer, services beside them, and the way of the client to them.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Cpus, Limits};

/// How a deployment is built up from a runtime's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Topology {
    /// Copies of the runtime; more than one need a balancer.
    pub replicas: u32,
    /// What stands in front of them.
    pub balancer: Option<Balancer>,
    /// What the application uses beside itself, each at most once.
    pub services: Vec<Service>,
    /// What each replica may use of the whole; without it, what the others leave.
    pub replica_share: Option<Limits>,
    /// When load may begin.
    pub ready: ReadyBy,
    /// What happens when a unit ends by itself.
    pub restart: Restart,
    /// The way between client and front.
    pub link: Option<ClientLink>,
    /// Whether clients keep a connection for their next request; otherwise each asks the server to close it.
    pub keep_alive: bool,
}

impl Default for Topology {
    /// One copy, met directly.
    fn default() -> Self {
        Self {
            replicas: 1,
            balancer: None,
            services: Vec::new(),
            replica_share: None,
            ready: ReadyBy::Request,
            restart: Restart::Never,
            link: None,
            keep_alive: true,
        }
    }
}

/// What stands in front of the replicas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balancer {
    /// Which program.
    pub kind: BalancerKind,
    /// To which replica a request goes.
    pub balance: Balance,
    /// How many idle connections to replicas are kept in all; 0 for a new one for each request.
    pub upstream_keepalive: u32,
    /// Whether clients speak TLS to it.
    pub tls: bool,
    /// What it may use of the whole.
    pub share: Option<Limits>,
}

/// A program that balances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BalancerKind {
    /// nginx.
    Nginx,
    /// HAProxy.
    Haproxy,
}

/// To which replica a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// To each in turn.
    RoundRobin,
    /// To the one with the fewest connections in use.
    LeastConnections,
}

/// Something that the application uses beside itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Which.
    pub kind: ServiceKind,
    /// Settings that were asked for, as its own configuration writes them.
    pub settings: BTreeMap<String, String>,
    /// What it may use of the whole.
    pub share: Option<Limits>,
    /// The image that it is, in a cluster; elsewhere it is a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// A service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceKind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    Mariadb,
    /// PgBouncer, a pool of connections in front of PostgreSQL.
    Pgbouncer,
    /// Redis, or Valkey.
    Redis,
}

/// When load may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadyBy {
    /// When something listens at the front, as a port check has it.
    Port,
    /// When each replica, and then the front, has answered a real request.
    Request,
}

/// What happens when a unit ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// The trial fails.
    Never,
    /// It is started again, unless it ended with status 0 or ends again and again.
    OnFailure,
}

/// A way with a length and a width, the same for all connections together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientLink {
    /// From sending a byte to the other end's answer to it, at the least.
    pub rtt: Duration,
    /// Bits a second in each direction.
    pub bits_per_second: Option<u64>,
}

impl BalancerKind {
    /// All.
    pub const ALL: [Self; 2] = [Self::Nginx, Self::Haproxy];

    /// Its name.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
        }
    }
}

impl Balance {
    /// Its name.
    pub const fn id(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::LeastConnections => "least-connections",
        }
    }
}

impl ServiceKind {
    /// All, each after those that it needs.
    pub const ALL: [Self; 4] = [Self::Postgres, Self::Mariadb, Self::Pgbouncer, Self::Redis];

    /// Its name: that of its unit and of its address.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
            Self::Pgbouncer => "pgbouncer",
            Self::Redis => "redis",
        }
    }

    /// The image of its makers, for the services that are run as images.
    pub const fn image(self) -> Option<&'static str> {
        match self {
            // https://hub.docker.com/_/postgres
            Self::Postgres => Some("postgres:18"),
            // https://hub.docker.com/_/mariadb
            Self::Mariadb => Some("mariadb:11.8"),
            Self::Pgbouncer | Self::Redis => None,
        }
    }

    /// Whether it is a database that SQL fills.
    pub const fn holds_rows(self) -> bool {
        match self {
            Self::Postgres | Self::Mariadb => true,
            Self::Pgbouncer | Self::Redis => false,
        }
    }

    /// The smallest `max_connections` that it has: MariaDB raises a smaller one to that, PostgreSQL does not start with one that is
    /// not above what it reserves for administrators.
    /// <https://mariadb.com/docs/server/server-management/variables-and-modes/server-system-variables#max_connections>
    pub fn fewest_connections(self) -> u64 {
        match self {
            Self::Postgres => 4,
            Self::Mariadb => 10,
            Self::Pgbouncer | Self::Redis => 0,
        }
    }

    /// Whether a setting says where the service lives and who may come in, which is not to be chosen.
    pub fn sets_itself(self, setting: &str) -> bool {
        let own: &[&str] = match self {
            Self::Postgres => &[
                "config_file",
                "data_directory",
                "hba_file",
                "ident_file",
                "listen_addresses",
                "port",
                "unix_socket_directories",
            ],
            Self::Mariadb => &["bind_address", "datadir", "init_file", "pid_file", "port", "socket", "tmpdir"],
            Self::Pgbouncer => &[
                "admin_users",
                "auth_file",
                "auth_type",
                "listen_addr",
                "listen_port",
                "logfile",
                "pidfile",
                "unix_socket_dir",
            ],
            Self::Redis => &[
                "aclfile",
                "bind",
                "daemonize",
                "dir",
                "include",
                "logfile",
                "pidfile",
                "port",
                "replicaof",
                "requirepass",
                "supervised",
                "tls-port",
                "unixsocket",
            ],
        };
        own.contains(&setting)
    }
}

/// What the parts of a topology are called, and what each may use of the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartShare {
    /// `balancer`, `replica-1`, `postgres`.
    pub name: String,
    /// Its own limits, if it has some.
    pub share: Option<Limits>,
}

impl Topology {
    /// Whether a runtime's deployment stands alone and is run as it is.
    pub fn is_single(&self) -> bool {
        self.balancer.is_none()
            && self.services.is_empty()
            && self.replica_share.is_none()
            && self.restart == Restart::Never
    }

    /// Whether it is what a case has that says nothing of it.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether clients speak TLS to the front.
    pub fn has_tls(&self) -> bool {
        self.balancer.as_ref().is_some_and(|balancer| balancer.tls)
    }

    /// The name of a replica's part, from 1.
    pub fn replica_name(number: u32) -> String {
        format!("replica-{number}")
    }

    /// Whether a part is a replica.
    pub fn is_replica(part: &str) -> bool {
        part.starts_with("replica-")
    }

    /// All parts: services, replicas, balancer, in the order of their start.
    pub fn parts(&self) -> Vec<PartShare> {
        let services = self.services.iter().map(|service| (service.kind.id().to_owned(), service.share));
        let replicas = (1..=self.replicas).map(|number| (Self::replica_name(number), self.replica_share));
        let balancer = self.balancer.iter().map(|balancer| ("balancer".to_owned(), balancer.share));
        services.chain(replicas).chain(balancer).map(|(name, share)| PartShare { name, share }).collect()
    }

    /// The shares of all parts that have one, added up.
    pub fn shared_out(&self) -> (Cpus, Bytes) {
        let shares: Vec<Limits> = self.parts().into_iter().filter_map(|part| part.share).collect();
        let millis = shares.iter().fold(0u32, |sum, share| sum.saturating_add(share.cpus.millis()));
        let bytes = shares.iter().fold(0u64, |sum, share| sum.saturating_add(share.memory.get()));
        (Cpus::from_millis(millis), Bytes::new(bytes))
    }

    /// What a replica's settings are chosen for: its own share, or an equal part of what the others' shares leave.
    pub fn replica_limits(&self, total: &Limits) -> Limits {
        if let Some(share) = self.replica_share {
            return share;
        }
        let (cpus, memory) = self.shared_out();
        Limits {
            cpus: Cpus::from_millis((total.cpus.millis().saturating_sub(cpus.millis()) / self.replicas.max(1)).max(1)),
            memory: Bytes::new(
                (total.memory.get().saturating_sub(memory.get()) / u64::from(self.replicas.max(1))).max(1),
            ),
        }
    }
}

impl fmt::Display for Topology {
    /// `2 replicas behind nginx (round-robin, TLS), postgres (0.35 CPUs, 600Mi)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { replicas, balancer, services, replica_share, ready, restart, link, keep_alive } = self;
        let shared = |share: &Option<Limits>| match share {
            Some(Limits { cpus, memory }) => format!("{cpus} CPUs, {memory}"),
            None => String::new(),
        };
        let described = |words: Vec<String>| {
            let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
            if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
        };
        let plural = if *replicas == 1 { "replica" } else { "replicas" };
        let each = if *replicas > 1 && replica_share.is_some() { " each" } else { "" };
        write!(f, "{replicas} {plural}{}", described(vec![format!("{}{each}", shared(replica_share))]))?;
        if let Some(Balancer { kind, balance, upstream_keepalive, tls, share }) = balancer {
            let kept = match upstream_keepalive {
                0 => "no kept connections".to_owned(),
                kept => format!("{kept} kept connections"),
            };
            let tls = if *tls { "TLS".to_owned() } else { String::new() };
            write!(f, " behind {}{}", kind.id(), described(vec![balance.id().to_owned(), kept, tls, shared(share)]))?;
        }
        for Service { kind, settings, share, image } in services {
            let settings = settings.iter().map(|(name, value)| format!("{name}={value}"));
            let words = image.iter().map(|image| format!("image {image}")).chain(settings).chain([shared(share)]);
            write!(f, ", {}{}", kind.id(), described(words.collect()))?;
        }
        if *ready == ReadyBy::Port {
            f.write_str(", ready by port")?;
        }
        if *restart == Restart::OnFailure {
            f.write_str(", restarted on failure")?;
        }
        if let Some(link) = link {
            write!(f, ", client {link}")?;
        }
        if !keep_alive {
            f.write_str(", a connection for each request")?;
        }
        Ok(())
    }
}

impl fmt::Display for ClientLink {
    /// `20ms away`, `20ms away at 100mbit`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1_000_000_000, "gbit"), (1_000_000, "mbit"), (1_000, "kbit")];
        write!(f, "{} away", humantime::format_duration(self.rtt))?;
        let Some(bits) = self.bits_per_second else { return Ok(()) };
        let unit = UNITS.iter().find(|(size, _)| bits.is_multiple_of(*size));
        match unit {
            Some((size, unit)) => write!(f, " at {}{unit}", bits / size),
            None => write!(f, " at {bits}bit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(millis: u32, mib: u64) -> Limits {
        Limits { cpus: Cpus::from_millis(millis), memory: Bytes::from_mib(mib) }
    }

    fn full() -> Topology {
        Topology {
            replicas: 2,
            balancer: Some(Balancer {
                kind: BalancerKind::Nginx,
                balance: Balance::RoundRobin,
                upstream_keepalive: 32,
                tls: true,
                share: None,
            }),
            services: vec![Service {
                kind: ServiceKind::Postgres,
                settings: [("max_connections".to_owned(), "50".to_owned())].into(),
                share: Some(limits(350, 600)),
                image: None,
            }],
            link: Some(ClientLink { rtt: Duration::from_millis(20), bits_per_second: Some(100_000_000) }),
            ..Topology::default()
        }
    }

    #[test]
    fn a_topology_prints_on_one_line() {
        assert_eq!(Topology::default().to_string(), "1 replica");
        assert_eq!(
            full().to_string(),
            "2 replicas behind nginx (round-robin, 32 kept connections, TLS), \
             postgres (max_connections=50, 0.35 CPUs, 600Mi), client 20ms away at 100mbit"
        );
    }

    #[test]
    fn replicas_share_what_is_left() {
        let total = limits(1500, 1000);
        assert_eq!(full().replica_limits(&total), limits(575, 200));
        let own = Topology { replica_share: Some(limits(400, 100)), ..full() };
        assert_eq!(own.replica_limits(&total), limits(400, 100));
        assert_eq!(own.shared_out(), (Cpus::from_millis(1150), Bytes::from_mib(800)));
        assert_eq!(Topology::default().replica_limits(&total), total);
    }

    #[test]
    fn parts_are_named_in_the_order_of_their_start() {
        let names: Vec<String> = full().parts().into_iter().map(|part| part.name).collect();
        assert_eq!(names, ["postgres", "replica-1", "replica-2", "balancer"]);
    }

    #[test]
    fn a_stored_topology_reads_as_it_was_and_an_empty_one_as_single() {
        let text = serde_json::to_string(&full()).unwrap();
        assert_eq!(serde_json::from_str::<Topology>(&text).unwrap(), full());
        assert!(serde_json::from_str::<Topology>("{}").unwrap().is_single());
    }
}
