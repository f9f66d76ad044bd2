//! The plan file's topology as it is written. Descriptions here are those that editors show.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use stampede_core::{BalancerKind, ServiceKind};

use crate::document::{Text, named};
use crate::topology::{BALANCE, READY, RESTART};

/// What stands around each runtime, the same around all of them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopologySection {
    /// Copies of the runtime, each with settings for its part of the limits. 1 by default.
    #[schemars(extend("examples" = [2]))]
    pub(crate) replicas: Option<Text>,
    /// What stands in front of them; needed for more than one replica and for TLS.
    #[schemars(extend("examples" = ["nginx"], "enum" = words(BalancerKind::ALL.map(BalancerKind::id))))]
    pub(crate) balancer: Option<Text>,
    /// How the balancer chooses a replica. round-robin by default.
    #[schemars(extend("examples" = ["round-robin"], "enum" = words(BALANCE.map(|(word, _)| word))))]
    pub(crate) balance: Option<Text>,
    /// Idle connections that the balancer keeps to replicas in all, or off. 32 by default.
    #[schemars(extend("examples" = [32]))]
    pub(crate) upstream_keepalive: Option<Text>,
    /// Whether clients speak TLS to the balancer.
    pub(crate) tls: Option<bool>,
    /// What the application uses beside itself.
    #[schemars(extend("examples" = ["{postgres: {cpus: 0.35, memory: 256Mi}}"]))]
    pub(crate) services: Option<ServicesSection>,
    /// What each replica and the balancer are held to. Without it, what the others leave.
    #[schemars(extend("examples" = ["{replica: {cpus: 0.4, memory: 128Mi}}"]))]
    pub(crate) share: Option<SharesSection>,
    /// When load may begin: when something listens at the front, or when each replica and the front have answered a
    /// request. request by default.
    #[schemars(extend("examples" = ["request"], "enum" = words(READY.map(|(word, _)| word))))]
    pub(crate) ready: Option<Text>,
    /// Whether a unit that ends by itself fails the trial, or is started again and counted. never by default.
    #[schemars(extend("examples" = ["on-failure"], "enum" = words(RESTART.map(|(word, _)| word))))]
    pub(crate) restart: Option<Text>,
    /// How far away the client is, and whether it keeps its connections.
    #[schemars(extend("examples" = ["{rtt: 20ms, bandwidth: 100mbit}"]))]
    pub(crate) client: Option<ClientSection>,
}

/// Services by name, each with what it is held to and its settings; an empty one takes the defaults.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServicesSection {
    /// PostgreSQL.
    #[serde(default, deserialize_with = "named")]
    #[schemars(extend("examples" = ["{cpus: 0.35, memory: 256Mi}"]))]
    pub(crate) postgres: Option<ServiceSection>,
    /// MariaDB.
    #[serde(default, deserialize_with = "named")]
    #[schemars(extend("examples" = ["{cpus: 0.35, memory: 256Mi}"]))]
    pub(crate) mariadb: Option<ServiceSection>,
    /// PgBouncer, in front of PostgreSQL.
    #[serde(default, deserialize_with = "named")]
    #[schemars(extend("examples" = ["{set: {pool_mode: transaction}}"]))]
    pub(crate) pgbouncer: Option<ServiceSection>,
    /// Redis, or Valkey.
    #[serde(default, deserialize_with = "named")]
    #[schemars(extend("examples" = ["{set: {maxmemory: 64mb, maxmemory-policy: allkeys-lru}}"]))]
    pub(crate) redis: Option<ServiceSection>,
}

/// A service. Its share takes both cpus and memory.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceSection {
    /// CPUs that it is held to, of those of the whole.
    #[schemars(extend("examples" = [0.35]))]
    pub(crate) cpus: Option<Text>,
    /// Memory that it is held to, of that of the whole.
    #[schemars(extend("examples" = ["256Mi"]))]
    pub(crate) memory: Option<Text>,
    /// Its settings, under the names that its manual uses.
    #[serde(default)]
    #[schemars(extend("examples" = ["{max_connections: 50}"]))]
    pub(crate) set: BTreeMap<String, Text>,
    /// A file with SQL that it is made with, from the plan file's folder. Each trial begins with what it made.
    #[schemars(extend("examples" = ["schema.sql"]))]
    pub(crate) init: Option<PathBuf>,
    /// The image that it is, in a cluster: postgres:18 or mariadb:11.8 by default, or one that is made as its makers' is.
    #[schemars(extend("examples" = ["postgres:17"]))]
    pub(crate) image: Option<Text>,
}

/// What parts other than services are held to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharesSection {
    /// Each replica.
    #[schemars(extend("examples" = ["{cpus: 0.4, memory: 128Mi}"]))]
    pub(crate) replica: Option<ShareSection>,
    /// The balancer.
    #[schemars(extend("examples" = ["{cpus: 0.2, memory: 64Mi}"]))]
    pub(crate) balancer: Option<ShareSection>,
}

/// What a part is held to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShareSection {
    /// CPUs, of those of the whole.
    #[schemars(extend("examples" = [0.4]))]
    pub(crate) cpus: Text,
    /// Memory, of that of the whole.
    #[schemars(extend("examples" = ["128Mi"]))]
    pub(crate) memory: Text,
}

/// The way of the client to the front, and what it does with connections.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientSection {
    /// From sending a byte to the answer to it, at the least.
    #[schemars(extend("examples" = ["20ms"]))]
    pub(crate) rtt: Option<Text>,
    /// Bits a second in each direction, as tc(8) writes them.
    #[schemars(extend("examples" = ["100mbit"]))]
    pub(crate) bandwidth: Option<Text>,
    /// Whether clients keep a connection for their next request. true by default.
    #[schemars(extend("examples" = [false]))]
    pub(crate) keep_alive: Option<bool>,
}

impl ServicesSection {
    /// Those that are named.
    pub(crate) fn named(&self) -> impl Iterator<Item = (ServiceKind, &ServiceSection)> {
        let Self { postgres, mariadb, pgbouncer, redis } = self;
        [
            (ServiceKind::Postgres, postgres),
            (ServiceKind::Mariadb, mariadb),
            (ServiceKind::Pgbouncer, pgbouncer),
            (ServiceKind::Redis, redis),
        ]
        .into_iter()
        .filter_map(|(kind, section)| Some((kind, section.as_ref()?)))
    }
}

/// The words that a key allows, beside nothing at all.
fn words<const N: usize>(words: [&'static str; N]) -> Vec<Option<&'static str>> {
    words.into_iter().map(Some).chain([None]).collect()
}
