//! A row's case as its file has it: the flags of a comparison, by name.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::builds::Builds;
use crate::compare::CompareFlags;
use crate::document::{Text, texts};
use crate::flags::{
    AppFlag, ClientRttFlag, DatabaseFlags, DeploymentFlags, DumpFlag, LoadFlag, PhpFlag, ReadyFlag, RuntimesFlag,
    TopologyFlags,
};
use crate::mistake::Mistakes;
use crate::scale::InstancesAsked;

/// Flags of `stampede compare`, and what an application is given beside its own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CaseKeys {
    pub(super) runtime: Option<Text>,
    app: Option<Text>,
    php: Option<Text>,
    /// Tunables of the runtime.
    set: BTreeMap<String, Text>,
    /// Settings of services: `postgres.max_connections`.
    set_service: BTreeMap<String, Text>,
    /// Environment of the application.
    env: BTreeMap<String, Text>,
    /// Settings of PHP.
    ini: BTreeMap<String, Text>,
    /// Extensions of PHP beside the application's own.
    extensions: Vec<String>,
    cpus: Option<Text>,
    memory: Option<Text>,
    pub(super) load: Option<Text>,
    keep_alive: Option<bool>,
    replicas: Option<Text>,
    balancer: Option<Text>,
    balance: Option<Text>,
    upstream_keepalive: Option<Text>,
    tls: Option<bool>,
    services: Option<Text>,
    /// Shares by part: `replica: '0.4,128Mi'`.
    share: BTreeMap<String, Text>,
    ready: Option<Text>,
    restart: Option<Text>,
    client_rtt: Option<Text>,
    client_bandwidth: Option<Text>,
    /// Instances that are started and stopped as requests come, by the rules of Cloud Run, of which each is given so many at once.
    concurrency: Option<u32>,
    min_instances: Option<u32>,
    max_instances: Option<u32>,
    /// How many processors all of them share.
    total_cpus: Option<u32>,
}

/// What a case says of its instances, where they are started and stopped as requests come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScaledRow {
    /// The most requests that an instance is given at once, as asked for.
    pub(super) concurrency: u32,
    /// How many there may be.
    pub(super) instances: InstancesAsked,
}

impl CaseKeys {
    /// Its instances; nothing where they are a fixed number.
    pub(super) fn scaled(&self) -> Option<ScaledRow> {
        let Self { concurrency, min_instances, max_instances, total_cpus, .. } = self;
        Some(ScaledRow {
            concurrency: (*concurrency)?,
            instances: InstancesAsked {
                least: min_instances.unwrap_or(0),
                most: *max_instances,
                total_cpus: *total_cpus,
            },
        })
    }

    /// Whether it says something of instances, and not how many requests each is given.
    pub(super) fn has_instances_alone(&self) -> bool {
        let Self { concurrency, min_instances, max_instances, total_cpus, .. } = self;
        concurrency.is_none() && [min_instances, max_instances, total_cpus].into_iter().any(Option::is_some)
    }

    /// These, and those of a table where these say nothing. What belongs to a runtime is not taken over by another one.
    pub(super) fn over(self, table: &Self) -> Self {
        let table = table.clone();
        let both = |mut of_table: BTreeMap<String, Text>, own: BTreeMap<String, Text>| {
            of_table.extend(own);
            of_table
        };
        let set = if self.runtime.is_none() { both(table.set, self.set) } else { self.set };
        Self {
            runtime: self.runtime.or(table.runtime),
            app: self.app.or(table.app),
            php: self.php.or(table.php),
            set,
            set_service: both(table.set_service, self.set_service),
            env: both(table.env, self.env),
            ini: both(table.ini, self.ini),
            extensions: table.extensions.into_iter().chain(self.extensions).collect(),
            cpus: self.cpus.or(table.cpus),
            memory: self.memory.or(table.memory),
            load: self.load.or(table.load),
            keep_alive: self.keep_alive.or(table.keep_alive),
            replicas: self.replicas.or(table.replicas),
            balancer: self.balancer.or(table.balancer),
            balance: self.balance.or(table.balance),
            upstream_keepalive: self.upstream_keepalive.or(table.upstream_keepalive),
            tls: self.tls.or(table.tls),
            services: self.services.or(table.services),
            share: both(table.share, self.share),
            ready: self.ready.or(table.ready),
            restart: self.restart.or(table.restart),
            client_rtt: self.client_rtt.or(table.client_rtt),
            client_bandwidth: self.client_bandwidth.or(table.client_bandwidth),
            concurrency: self.concurrency.or(table.concurrency),
            min_instances: self.min_instances.or(table.min_instances),
            max_instances: self.max_instances.or(table.max_instances),
            total_cpus: self.total_cpus.or(table.total_cpus),
        }
    }

    pub(super) fn env(&self) -> BTreeMap<String, String> {
        texts(self.env.clone())
    }

    pub(super) fn ini(&self) -> BTreeMap<String, String> {
        texts(self.ini.clone())
    }

    /// Extensions of PHP beside those that the application has.
    pub(super) fn extensions(&self) -> &[String] {
        &self.extensions
    }

    /// The same with its build of PHP at the place that the command line gives.
    ///
    /// # Errors
    ///
    /// That the command line does not give it.
    pub(super) fn at(self, builds: &Builds) -> Result<Self, Mistakes> {
        let php = self.php.map(|Text(build)| builds.place_of(build).map(Text)).transpose()?;
        Ok(Self { php, ..self })
    }

    /// The same as flags.
    pub(super) fn flags(self) -> CompareFlags {
        let Self {
            runtime,
            app,
            php,
            set,
            set_service,
            env: _,
            ini: _,
            extensions: _,
            cpus,
            memory,
            load,
            keep_alive,
            replicas,
            balancer,
            balance,
            upstream_keepalive,
            tls,
            services,
            share,
            ready,
            restart,
            client_rtt,
            client_bandwidth,
            concurrency: _,
            min_instances: _,
            max_instances: _,
            total_cpus: _,
        } = self;
        let text = |typed: Option<Text>| typed.map(|Text(text)| text);
        let runtime = text(runtime);
        let own =
            set.iter().map(|(name, Text(value))| format!("{}.{name}={value}", runtime.as_deref().unwrap_or_default()));
        let of_services = set_service.iter().map(|(name, Text(value))| format!("{name}={value}"));
        let set = own.chain(of_services).collect();
        CompareFlags {
            runtimes: RuntimesFlag { runtimes: runtime },
            app: AppFlag { app: text(app) },
            php: PhpFlag { php: text(php) },
            deployment: DeploymentFlags { set, cpus: text(cpus), memory: text(memory) },
            load: LoadFlag { load: text(load) },
            topology: TopologyFlags {
                replicas: text(replicas),
                balancer: text(balancer),
                balance: text(balance),
                upstream_keepalive: text(upstream_keepalive),
                tls: tls == Some(true),
                databases: DatabaseFlags { services: text(services), dump: DumpFlag::default() },
                share: share.into_iter().map(|(part, Text(share))| format!("{part}={share}")).collect(),
                ready: ReadyFlag { ready: text(ready) },
                restart: text(restart),
                client_rtt: ClientRttFlag { client_rtt: text(client_rtt) },
                client_bandwidth: text(client_bandwidth),
                no_keepalive: keep_alive == Some(false),
            },
            ..CompareFlags::default()
        }
    }
}
