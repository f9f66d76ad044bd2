//! What a plan file says of the topology: it counts where no flag says otherwise, and mistakes in it are told with its
//! places and keys.

use stampede_core::{ServiceKind, ServiceNeed, Topology};

use super::{give_init, give_setting, give_share};
use crate::document::Text;
use crate::flags::TopologyFlags;
use crate::mistake::{Gathered, Mistake};
use crate::need::read_init;
use crate::plan_file::{ClientSection, PlanFile, ServiceSection, ServicesSection, ShareSection, TopologySection};

/// What flags are called below `topology`.
const KEYS: [(&str, &str); 10] = [
    ("--replicas", "replicas"),
    ("--balancer", "balancer"),
    ("--balance", "balance"),
    ("--upstream-keepalive", "upstream_keepalive"),
    ("--tls", "tls"),
    ("--services", "services"),
    ("--ready", "ready"),
    ("--restart", "restart"),
    ("--client-rtt", "client.rtt"),
    ("--client-bandwidth", "client.bandwidth"),
];

/// A file's topology, where there is one.
#[derive(Clone, Copy)]
pub(super) struct Written<'a>(Option<(&'a PlanFile, &'a TopologySection)>);

/// What mistakes call a flag whose value is the file's.
pub(super) struct Told {
    flag: &'static str,
    place: String,
}

impl<'a> Written<'a> {
    pub(super) fn new(file: Option<&'a PlanFile>) -> Self {
        Self(file.and_then(|file| Some((file, file.sections.topology.as_ref()?))))
    }

    /// Fills in flags that were not typed.
    pub(super) fn fill(self, flags: &mut TopologyFlags) -> Vec<Told> {
        let Some((file, section)) = self.0 else { return Vec::new() };
        let TopologySection {
            replicas,
            balancer,
            balance,
            upstream_keepalive,
            tls,
            services,
            share: _,
            ready,
            restart,
            client,
        } = section;
        let (rtt, bandwidth) = match client {
            Some(ClientSection { rtt, bandwidth, keep_alive }) => {
                flags.no_keepalive |= *keep_alive == Some(false);
                (rtt.as_ref(), bandwidth.as_ref())
            }
            None => (None, None),
        };
        let mut told = Vec::new();
        for (flag, typed, written) in [
            ("--replicas", &mut flags.replicas, replicas.as_ref()),
            ("--balancer", &mut flags.balancer, balancer.as_ref()),
            ("--balance", &mut flags.balance, balance.as_ref()),
            ("--upstream-keepalive", &mut flags.upstream_keepalive, upstream_keepalive.as_ref()),
            ("--ready", &mut flags.ready.ready, ready.as_ref()),
            ("--restart", &mut flags.restart, restart.as_ref()),
            ("--client-rtt", &mut flags.client_rtt.client_rtt, rtt),
            ("--client-bandwidth", &mut flags.client_bandwidth, bandwidth),
        ] {
            if let (None, Some(Text(text))) = (&typed, written) {
                told.push(Told { flag, place: file.place(&format!("topology.{}", key(flag))).to_string() });
                *typed = Some(text.clone());
            }
        }
        if let (false, Some(true)) = (flags.tls, tls) {
            told.push(Told { flag: "--tls", place: file.place("topology.tls").to_string() });
            flags.tls = true;
        }
        if let (None, Some(services)) = (&flags.databases.services, services) {
            let names: Vec<&str> = services.named().map(|(kind, _)| kind.id()).collect();
            if !names.is_empty() {
                let place = format!("{} {}", file.place("topology.services"), names.join(", "));
                told.push(Told { flag: "--services", place });
                flags.databases.services = Some(names.join(","));
            }
        }
        told
    }

    /// Reads the shares of parts that have none by flag.
    pub(super) fn read_shares(self, by_flag: &[String], topology: &mut Topology, mistakes: &mut Gathered) {
        let Some((file, section)) = self.0 else { return };
        let is_typed =
            |part: &str| by_flag.iter().any(|typed| typed.split_once('=').is_some_and(|(typed, _)| typed == part));
        let shares = section.share.iter();
        let parts = shares.flat_map(|shares| [("replica", &shares.replica), ("balancer", &shares.balancer)]);
        for (part, share) in parts.filter(|(part, _)| !is_typed(part)) {
            if let Some(ShareSection { cpus: Text(cpus), memory: Text(memory) }) = share {
                let place = file.place("topology.share").key(part).to_string();
                give_share(part, [cpus, memory], &place, "for example {cpus: 0.4, memory: 128Mi}", topology, mistakes);
            }
        }
        for (kind, service) in section.services.iter().flat_map(ServicesSection::named) {
            let part = kind.id();
            if is_typed(part) || !topology.services.iter().any(|service| service.kind == kind) {
                continue;
            }
            let place = file.place("topology.services").key(part).to_string();
            let ServiceSection { cpus, memory, set: _, init: _, image: _ } = service;
            match (cpus, memory) {
                (Some(Text(cpus)), Some(Text(memory))) => {
                    let example = "for example {cpus: 0.35, memory: 256Mi}";
                    give_share(part, [cpus, memory], &place, example, topology, mistakes);
                }
                (Some(_), None) => mistakes.add(place, "has cpus without memory", "add memory: 256Mi"),
                (None, Some(_)) => mistakes.add(place, "has memory without cpus", "add cpus: 0.35"),
                (None, None) => {}
            }
        }
    }

    /// Reads settings of the services that are used.
    pub(super) fn read_settings(self, topology: &mut Topology, mistakes: &mut Gathered) {
        let Some((file, section)) = self.0 else { return };
        for (kind, service) in section.services.iter().flat_map(ServicesSection::named) {
            let Some(used) = topology.services.iter_mut().find(|used| used.kind == kind) else { continue };
            let place = file.place("topology.services").key(kind.id()).key("set");
            for (setting, Text(value)) in &service.set {
                give_setting(used, setting, value, place.key(setting).to_string(), mistakes);
            }
        }
    }

    /// The image that a service is to be, and where that is written.
    pub(super) fn image(self, kind: ServiceKind) -> Option<(String, &'a str)> {
        let (file, section) = self.0?;
        let (_, service) =
            section.services.iter().flat_map(ServicesSection::named).find(|(named, _)| *named == kind)?;
        let place = file.place("topology.services").key(kind.id()).key("image").to_string();
        service.image.as_ref().map(|Text(image)| (place, image.as_str()))
    }

    /// Reads what services are made with, in place of what the workload says.
    pub(super) fn read_init(self, topology: &Topology, services: &mut Vec<ServiceNeed>, mistakes: &mut Gathered) {
        let Some((file, section)) = self.0 else { return };
        for (kind, service) in section.services.iter().flat_map(ServicesSection::named) {
            let Some(init) = service.init.as_ref().filter(|_| topology.services.iter().any(|used| used.kind == kind))
            else {
                continue;
            };
            let place = file.place("topology.services").key(kind.id()).to_string();
            if !kind.holds_rows() {
                mistakes.add(place, "has an init, and SQL does not fill it", "give it to postgres or mariadb");
                continue;
            }
            let init = read_init(&file.folder, init, kind, &place, mistakes);
            give_init(services, kind, init);
        }
    }

    /// What the shares of a topology are called together.
    pub(super) fn shares(self) -> String {
        let gives_some = |section: &TopologySection| {
            let mut services = section.services.iter().flat_map(ServicesSection::named);
            section.share.is_some() || services.any(|(_, service)| service.cpus.is_some())
        };
        match self.0 {
            Some((file, section)) if gives_some(section) => file.place("topology").to_string(),
            _ => "--share".to_owned(),
        }
    }
}

/// Tells mistakes in values of the file with its places, and what to do with its keys.
pub(super) fn retell(told: &[Told], mistakes: &mut Gathered) {
    mistakes.retell(|mistake| {
        let flag = mistake.place.split(' ').next().unwrap_or_default();
        match told.iter().find(|told| told.flag == flag) {
            Some(Told { place, .. }) => {
                let in_keys = |fix: String, (flag, key): (&str, &str)| {
                    let key = key.rsplit('.').next().unwrap_or(key);
                    fix.replace(&format!("{flag} "), &format!("{key}: "))
                };
                let fix = KEYS.into_iter().fold(mistake.fix, in_keys);
                Mistake { place: place.clone(), problem: mistake.problem, fix }
            }
            None => mistake,
        }
    });
}

fn key(flag: &str) -> &'static str {
    KEYS.iter().find(|(known, _)| *known == flag).map(|(_, key)| *key).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use stampede_core::{Bytes, Cpus, Limits};

    use super::super::{Around, read};
    use super::*;
    use crate::flags::{ClientRttFlag, DatabaseFlags, DumpFlag, ReadyFlag};
    use crate::mistake::Mistakes;

    /// What is read of `topology: {yaml}` beside flags and `--set`.
    fn read_all(yaml: &str, flags: &TopologyFlags, set: &[&str]) -> Result<String, Vec<String>> {
        let total = Limits { cpus: Cpus::from_millis(1500), memory: Bytes::from_mib(1024) };
        let file = PlanFile::parse(&format!("topology: {yaml}"), "p", Path::new(""));
        let file = file.map_err(|error| vec![error.to_string()])?;
        let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
        let mut mistakes = Gathered::default();
        let Around { topology, set, .. } = read(flags, &set, Some(&file), (&total, false), &[], &mut mistakes);
        assert!(set.is_empty(), "{set:?}");
        let told = |Mistakes(all): Mistakes| all.iter().map(ToString::to_string).collect();
        mistakes.finish(Ok(topology.to_string())).map_err(told)
    }

    fn none() -> TopologyFlags {
        TopologyFlags::default()
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    const FULL: &str = "{replicas: 2, balancer: haproxy, balance: least-connections, upstream_keepalive: off, \
        tls: true, \
        services: {pgbouncer: {set: {pool_mode: transaction}}, \
        postgres: {cpus: 0.35, memory: 512Mi, set: {max_connections: 50, fsync: off}}}, \
        share: {replica: {cpus: 0.4, memory: 200Mi}, balancer: {cpus: 0.1, memory: 64Mi}}, \
        ready: port, restart: on-failure, client: {rtt: 20ms, bandwidth: 100mbit, keep_alive: false}}";

    #[test]
    fn a_file_gives_what_flags_give_and_flags_override_single_keys() {
        let rows: [(&str, &str, TopologyFlags, &[&str], &str); 7] = [
            (
                "the file alone",
                FULL,
                none(),
                &[],
                "2 replicas (0.4 CPUs, 200Mi each) behind haproxy (least-connections, no kept connections, TLS, \
                 0.1 CPUs, 64Mi), postgres (fsync=off, max_connections=50, 0.35 CPUs, 512Mi), \
                 pgbouncer (pool_mode=transaction), ready by port, restarted on failure, client 20ms away at 100mbit, \
                 a connection for each request",
            ),
            (
                "flags beside it",
                FULL,
                TopologyFlags {
                    balancer: some("nginx"),
                    upstream_keepalive: some("8"),
                    share: vec!["replica=0.3,100Mi".to_owned(), "postgres=0.2,256Mi".to_owned()],
                    client_rtt: ClientRttFlag { client_rtt: some("5ms") },
                    ready: ReadyFlag { ready: some("request") },
                    restart: some("never"),
                    ..none()
                },
                &["postgres.max_connections=7", "pgbouncer.default_pool_size=3"],
                "2 replicas (0.3 CPUs, 100Mi each) behind nginx (least-connections, 8 kept connections, TLS, \
                 0.1 CPUs, 64Mi), postgres (fsync=off, max_connections=7, 0.2 CPUs, 256Mi), \
                 pgbouncer (default_pool_size=3, pool_mode=transaction), client 5ms away at 100mbit, \
                 a connection for each request",
            ),
            (
                "services by flag",
                "{services: {postgres: {cpus: 0.2, memory: 64Mi, set: {fsync: off}}, mariadb: }}",
                TopologyFlags {
                    databases: DatabaseFlags { services: some("mariadb"), dump: DumpFlag::default() },
                    ..none()
                },
                &[],
                "1 replica, mariadb",
            ),
            (
                "a service that is only named",
                "{services: {postgres: , mariadb: {}}}",
                none(),
                &[],
                "1 replica, postgres, mariadb",
            ),
            (
                "tls by flag",
                "{balancer: nginx, tls: false}",
                TopologyFlags { tls: true, ..none() },
                &[],
                "1 replica behind nginx (round-robin, 32 kept connections, TLS)",
            ),
            (
                "connections by flag",
                "{client: {keep_alive: true}}",
                TopologyFlags { no_keepalive: true, ..none() },
                &[],
                "1 replica, a connection for each request",
            ),
            ("nothing", "{}", none(), &[], "1 replica"),
        ];
        for (what, yaml, flags, set, read) in rows {
            assert_eq!(read_all(yaml, &flags, set), Ok(read.to_owned()), "{what}");
        }
    }

    #[test]
    fn mistakes_are_told_with_the_places_and_keys_of_the_file() {
        let rows: [(&str, TopologyFlags, &[&str]); 11] = [
            (
                "{replicas: 2}",
                none(),
                &["p:1:22 topology.replicas 2 needs a balancer in front; add balancer: nginx or balancer: haproxy"],
            ),
            (
                "{replicas: 99, balancer: nginx, upstream_keepalive: 0, client: {rtt: 1h, bandwidth: fast}}",
                none(),
                &[
                    "p:1:22 topology.replicas 99 is not a number of replicas from 1 to 64; for example replicas: 2",
                    "p:1:63 topology.upstream_keepalive 0 is not a number of connections from 1 to 100000, or off; \
for example upstream_keepalive: 32",
                    "p:1:80 topology.client.rtt 1h is not a time up to 10s; for example rtt: 20ms",
                    "p:1:95 topology.client.bandwidth fast is not a rate of bits a second from 1kbit on; \
for example bandwidth: 100mbit",
                ],
            ),
            (
                "{balance: round-robin, tls: true}",
                none(),
                &[
                    "p:1:39 topology.tls true needs a balancer, which speaks it; \
                     add balancer: nginx or balancer: haproxy",
                    "p:1:21 topology.balance round-robin is a balancer's setting; \
                     add balancer: nginx or balancer: haproxy",
                ],
            ),
            (
                "{services: {pgbouncer: {}}}",
                none(),
                &["p:1:22 topology.services pgbouncer has no database behind it; add postgres"],
            ),
            (
                "{services: {mariadb: {cpus: 0.2}, postgres: {memory: 64Mi}}}",
                none(),
                &[
                    "p:1:55 topology.services.postgres has memory without cpus; add cpus: 0.35",
                    "p:1:32 topology.services.mariadb has cpus without memory; add memory: 256Mi",
                ],
            ),
            (
                "{share: {balancer: {cpus: 0.2, memory: 64Mi}, replica: {cpus: a, memory: 64Mi}}}",
                none(),
                &[
                    "p:1:66 topology.share.replica has CPUs a, which is not a number of CPUs such as 0.5, 2 or 500m \
(thousandths); for example {cpus: 0.4, memory: 128Mi}",
                    "p:1:30 topology.share.balancer names balancer, which is no part here; use replica",
                ],
            ),
            (
                "{services: {postgres: {cpus: 1, memory: 512Mi}}, share: {replica: {cpus: 1, memory: 64Mi}}}",
                none(),
                &["p:1:11 topology (postgres 1 CPUs, 512Mi; replica-1 1 CPUs, 64Mi) gives out 2 of 1.5 CPUs; \
raise --cpus, or lower the shares"],
            ),
            (
                "{replicas: 1}",
                TopologyFlags { share: vec!["replica=2,64Mi".to_owned()], ..none() },
                &["--share (replica-1 2 CPUs, 64Mi) gives out 2 of 1.5 CPUs; raise --cpus, or lower the shares"],
            ),
            (
                "{services: {postgres: {set: {port: 1, a=b: 2}}}}",
                none(),
                &[
                    "p:1:54 topology.services.postgres.set.a=b 2 names a=b, which is no setting's name: small letters, \
                     digits and _; leave it out, or write it as the service's manual does",
                    "p:1:46 topology.services.postgres.set.port 1 sets port, which is where the service lives; \
leave it out, or write it as the service's manual does",
                ],
            ),
            ("{balancer: 5}", none(), &["p:1:22 topology.balancer 5 is not known; use nginx or haproxy"]),
            (
                "{replicas: 0}",
                TopologyFlags { replicas: some("x"), ..none() },
                &["--replicas x is not a number of replicas from 1 to 64; for example --replicas 2"],
            ),
        ];
        for (yaml, flags, told) in rows {
            let told = told.iter().map(|told| (*told).to_owned()).collect();
            assert_eq!(read_all(yaml, &flags, &[]), Err(told), "{yaml}");
        }
    }
}
