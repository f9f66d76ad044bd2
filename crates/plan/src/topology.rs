//! What stands around each runtime: replicas, a balancer, services, their shares, and the way of the client to them.

mod written;

use std::time::Duration;

use stampede_core::{
    Balance, Balancer, BalancerKind, Bytes, ClientLink, Cpus, InitScript, Limits, ReadyBy, Restart, Service,
    ServiceKind, ServiceNeed, Topology,
};

use crate::cluster;
use crate::flags::{ClientRttFlag, DatabaseFlags, ReadyFlag, TopologyFlags};
use crate::mistake::Gathered;
use crate::need::{read_dump, script};
use crate::plan_file::PlanFile;
use crate::suggestion::suggest;
use crate::topology::written::Written;

/// More replicas than that are more processes than one machine is asked to compare.
pub(crate) const MOST_REPLICAS: u32 = 64;
/// Idle connections to replicas: nginx's manual has 16 and 32 in its examples, and 32 since 1.29.7 as its default.
/// <https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive>
pub(crate) const KEPT: u32 = 32;
const MOST_KEPT: u32 = 100_000;
/// What a part without a share of its own must be left with: what the kernel can enforce, and less than any program needs.
const LEAST_LEFT: Limits = Limits { cpus: Cpus::from_millis(10), memory: Bytes::from_mib(16) };
const LONGEST_RTT: Duration = Duration::from_secs(10);
const LEAST_BITS: u64 = 1_000;

/// What stands around each runtime.
#[derive(Debug)]
pub(crate) struct Around {
    pub(crate) topology: Topology,
    /// What is said of the services in it beside their settings.
    pub(crate) services: Vec<ServiceNeed>,
    /// Those of `set` that are not for services.
    pub(crate) set: Vec<String>,
}

/// Reads a topology under its total limits, by flags and, where no flag gives a value, by the plan file. Services that the
/// workload always needs are there without being asked for. In a cluster load is spread over the replicas, so that nothing need stand before
/// them, and services are images.
pub(crate) fn read(
    flags: &TopologyFlags,
    set: &[String],
    file: Option<&PlanFile>,
    (total, is_spread): (&Limits, bool),
    needs: &[ServiceNeed],
    mistakes: &mut Gathered,
) -> Around {
    let written = Written::new(file);
    let mut flags = flags.clone();
    let told = written.fill(&mut flags);
    let database = read_database(&mut flags.databases, mistakes);
    let mut topology = read_flags(&flags, is_spread, needs, mistakes);
    written.read_shares(&flags.share, &mut topology, mistakes);
    if mistakes.is_empty() {
        check_sum(&topology, total, &written.shares(), mistakes);
    }
    written.read_settings(&mut topology, mistakes);
    let set = take_settings(set, &mut topology, mistakes);
    cluster::give_images(&mut topology, |kind| written.image(kind), is_spread, mistakes);
    written::retell(&told, mistakes);
    let used = |need: &&ServiceNeed| topology.services.iter().any(|service| service.kind == need.kind);
    let mut services: Vec<ServiceNeed> = needs.iter().filter(used).cloned().collect();
    written.read_init(&topology, &mut services, mistakes);
    if let Some((kind, init)) = database {
        give_init(&mut services, kind, Some(init));
    }
    Around { topology, services, set }
}

/// The services that hold rows.
const DATABASES: [ServiceKind; 2] = [ServiceKind::Postgres, ServiceKind::Mariadb];

/// Reads the dump that was named, for the database that it is of; that is there without being asked for.
fn read_database(flags: &mut DatabaseFlags, mistakes: &mut Gathered) -> Option<(ServiceKind, InitScript)> {
    let file = flags.dump.database.as_deref()?;
    let place = format!("--database {}", file.display());
    let dump = match read_dump(file) {
        Ok(dump) => dump,
        Err((problem, fix)) => {
            mistakes.add(place, problem, fix);
            return None;
        }
    };
    let services: Vec<&str> = flags.services.iter().flat_map(|typed| typed.split(',')).map(str::trim).collect();
    let asked: Vec<ServiceKind> = DATABASES.into_iter().filter(|kind| services.contains(&kind.id())).collect();
    let kind = match (dump.kind, &asked[..]) {
        (Some(of), asked) if asked.is_empty() || asked.contains(&of) => of,
        (None, [one]) => *one,
        (Some(of), _) => {
            let problem = format!("is a dump of {}, which is not among the services", of.id());
            mistakes.add(place, problem, format!("add --services {}", of.id()));
            return None;
        }
        (None, _) => {
            let fix = "add --services mariadb or --services postgres, the one that it is for";
            mistakes.add(place, "does not say which database it is for", fix);
            return None;
        }
    };
    let init = script(file, dump);
    if asked.is_empty() {
        flags.services = Some([services, vec![kind.id()]].concat().join(","));
    }
    Some((kind, init))
}

/// Gives a service what it begins with.
fn give_init(services: &mut Vec<ServiceNeed>, kind: ServiceKind, init: Option<InitScript>) {
    match services.iter_mut().find(|need| need.kind == kind) {
        Some(need) => need.init = init,
        None => {
            services.push(ServiceNeed { kind, always: false, at_least: Vec::new(), init, extensions: Vec::new() });
        }
    }
}

fn read_flags(flags: &TopologyFlags, is_spread: bool, needs: &[ServiceNeed], mistakes: &mut Gathered) -> Topology {
    let TopologyFlags {
        replicas,
        balancer,
        balance,
        upstream_keepalive,
        tls,
        databases: DatabaseFlags { services, dump: _ },
        share,
        ready: ReadyFlag { ready },
        restart,
        client_rtt: ClientRttFlag { client_rtt },
        client_bandwidth,
        no_keepalive,
    } = flags;
    let mut topology = Topology {
        replicas: read_replicas(replicas.as_deref(), "for example --replicas 2", mistakes),
        balancer: read_balancer(balancer.as_deref(), balance.as_deref(), upstream_keepalive.as_deref(), *tls, mistakes),
        services: read_services(services.as_deref(), needs, mistakes),
        replica_share: None,
        ready: one_of("--ready", ready.as_deref(), &READY, ReadyBy::Request, mistakes),
        restart: one_of("--restart", restart.as_deref(), &RESTART, Restart::Never, mistakes),
        link: read_link(client_rtt.as_deref(), client_bandwidth.as_deref(), mistakes),
        keep_alive: !no_keepalive,
    };
    if balancer.is_none() {
        need_balancer(flags, topology.replicas > 1 && !is_spread, &topology, mistakes);
    }
    for share in share {
        read_share(share, &mut topology, mistakes);
    }
    topology
}

pub(crate) const READY: [(&str, ReadyBy); 2] = [("port", ReadyBy::Port), ("request", ReadyBy::Request)];
pub(crate) const RESTART: [(&str, Restart); 2] = [("never", Restart::Never), ("on-failure", Restart::OnFailure)];
pub(crate) const BALANCE: [(&str, Balance); 2] =
    [("round-robin", Balance::RoundRobin), ("least-connections", Balance::LeastConnections)];

fn one_of<T: Copy>(flag: &str, typed: Option<&str>, words: &[(&str, T)], default: T, mistakes: &mut Gathered) -> T {
    let Some(typed) = typed else { return default };
    match words.iter().find(|(word, _)| *word == typed) {
        Some((_, value)) => *value,
        None => {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            mistakes.add(format!("{flag} {typed}"), "is not known", format!("use {}", known.join(" or ")));
            default
        }
    }
}

pub(crate) fn read_replicas(typed: Option<&str>, example: &str, mistakes: &mut Gathered) -> u32 {
    let read = |typed: &str| typed.parse().ok().filter(|replicas| (1..=MOST_REPLICAS).contains(replicas));
    let problem = format!("is not a number of replicas from 1 to {MOST_REPLICAS}");
    mistakes.value(("--replicas", typed), 1, read, problem, example)
}

fn read_balancer(
    kind: Option<&str>,
    balance: Option<&str>,
    kept: Option<&str>,
    tls: bool,
    mistakes: &mut Gathered,
) -> Option<Balancer> {
    let kinds = BalancerKind::ALL.map(|kind| (kind.id(), kind));
    let read_kept = |typed: &str| match typed {
        "off" => Some(0),
        typed => typed.parse().ok().filter(|kept| (1..=MOST_KEPT).contains(kept)),
    };
    let problem = format!("is not a number of connections from 1 to {MOST_KEPT}, or off");
    let example = "for example --upstream-keepalive 32";
    Some(Balancer {
        kind: one_of("--balancer", Some(kind?), &kinds, BalancerKind::Nginx, mistakes),
        balance: one_of("--balance", balance, &BALANCE, Balance::RoundRobin, mistakes),
        upstream_keepalive: mistakes.value(("--upstream-keepalive", kept), KEPT, read_kept, problem, example),
        tls,
        share: None,
    })
}

/// What was typed that only a balancer can do.
fn need_balancer(flags: &TopologyFlags, is_needed: bool, topology: &Topology, mistakes: &mut Gathered) {
    let kinds = BalancerKind::ALL.map(BalancerKind::id).join(" or --balancer ");
    let fix = format!("add --balancer {kinds}");
    if is_needed {
        mistakes.add(format!("--replicas {}", topology.replicas), "needs a balancer in front", fix.clone());
    }
    if flags.tls {
        mistakes.add("--tls", "needs a balancer, which speaks it", fix.clone());
    }
    for (flag, typed) in [("--balance", &flags.balance), ("--upstream-keepalive", &flags.upstream_keepalive)] {
        if let Some(typed) = typed {
            mistakes.add(format!("{flag} {typed}"), "is a balancer's setting", fix.clone());
        }
    }
}

fn read_services(typed: Option<&str>, needs: &[ServiceNeed], mistakes: &mut Gathered) -> Vec<Service> {
    let mut kinds = Vec::new();
    for name in typed.into_iter().flat_map(|typed| typed.split(',')).map(str::trim) {
        let place = format!("--services {name}");
        match ServiceKind::ALL.into_iter().find(|kind| kind.id() == name) {
            Some(kind) if kinds.contains(&kind) => mistakes.add(place, "is named twice", "name each service once"),
            Some(kind) => kinds.push(kind),
            None => mistakes.add(place, "is not a service", suggest(name, ServiceKind::ALL.map(ServiceKind::id))),
        }
    }
    let needed = needs.iter().filter(|need| need.always).map(|need| need.kind);
    kinds.extend(needed.filter(|kind| !kinds.contains(kind)).collect::<Vec<_>>());
    if kinds.contains(&ServiceKind::Pgbouncer) && !kinds.contains(&ServiceKind::Postgres) {
        mistakes.add("--services pgbouncer", "has no database behind it", "add postgres");
    }
    kinds.sort();
    kinds.into_iter().map(|kind| Service { kind, settings: Default::default(), share: None, image: None }).collect()
}

fn read_share(typed: &str, topology: &mut Topology, mistakes: &mut Gathered) {
    let place = format!("--share {typed}");
    let example = "for example --share replica=0.4,128Mi";
    match typed.split_once('=').and_then(|(part, amounts)| Some((part, amounts.split_once(',')?))) {
        Some((part, (cpus, memory))) => {
            give_share(part, [cpus.trim(), memory.trim()], &place, example, topology, mistakes);
        }
        None => mistakes.add(place, "is not PART=CPUS,MEMORY", example),
    }
}

/// Gives a part its share.
fn give_share(
    part: &str,
    [cpus, memory]: [&str; 2],
    place: &str,
    example: &str,
    topology: &mut Topology,
    mistakes: &mut Gathered,
) {
    let read = || -> Result<Limits, String> {
        let cpus: Cpus = cpus.parse().map_err(|error| format!("has CPUs {cpus}, which {error}"))?;
        let memory: Bytes = memory.parse().map_err(|error| format!("has a memory of {memory}, which {error}"))?;
        Ok(Limits { cpus, memory })
    };
    let share = match read() {
        Ok(share) if share.cpus < LEAST_LEFT.cpus => {
            mistakes.add(place, "is less CPU time than the kernel can enforce", "use at least 0.01 CPUs");
            return;
        }
        Ok(share) => share,
        Err(problem) => {
            mistakes.add(place, problem, example);
            return;
        }
    };
    let mut names = vec!["replica"];
    names.extend(topology.balancer.iter().map(|_| "balancer"));
    names.extend(topology.services.iter().map(|service| service.kind.id()));
    let slot = match part {
        "replica" => Some(&mut topology.replica_share),
        "balancer" => topology.balancer.as_mut().map(|balancer| &mut balancer.share),
        _ => topology.services.iter_mut().find(|service| service.kind.id() == part).map(|service| &mut service.share),
    };
    match slot {
        Some(slot) if slot.is_none() => *slot = Some(share),
        Some(_) => mistakes.add(place, "is the second share of that part", "leave one out"),
        None => {
            mistakes.add(place, format!("names {part}, which is no part here"), format!("use {}", names.join(", ")))
        }
    }
}

/// Sees that the shares are no more than there is, and leave something to the parts without one.
pub(crate) fn check_sum(topology: &Topology, total: &Limits, place: &str, mistakes: &mut Gathered) {
    let parts = topology.parts();
    let (cpus, memory) = topology.shared_out();
    let without = parts.iter().filter(|part| part.share.is_none()).count() as u64;
    let sum: Vec<String> = parts
        .iter()
        .filter_map(|part| part.share.map(|Limits { cpus, memory }| format!("{} {cpus} CPUs, {memory}", part.name)))
        .collect();
    if sum.is_empty() {
        return;
    }
    let place = format!("{place} ({})", sum.join("; "));
    let left = |least: u64| least * without;
    if u64::from(cpus.millis()) + left(u64::from(LEAST_LEFT.cpus.millis())) > u64::from(total.cpus.millis()) {
        mistakes.add(place.clone(), over("CPUs", &cpus, &total.cpus, without), "raise --cpus, or lower the shares");
    }
    if memory.get() + left(LEAST_LEFT.memory.get()) > total.memory.get() {
        mistakes.add(place, over("memory", &memory, &total.memory, without), "raise --memory, or lower the shares");
    }
}

fn over(what: &str, sum: &dyn std::fmt::Display, total: &dyn std::fmt::Display, without: u64) -> String {
    let others = match without {
        0 => String::new(),
        1 => ", and one part without a share needs some".to_owned(),
        _ => format!(", and {without} parts without a share need some"),
    };
    format!("gives out {sum} of {total} {what}{others}")
}

fn read_link(rtt: Option<&str>, bandwidth: Option<&str>, mistakes: &mut Gathered) -> Option<ClientLink> {
    if rtt.is_none() && bandwidth.is_none() {
        return None;
    }
    let rtt = read_rtt(rtt, mistakes);
    let problem = "is not a rate of bits a second from 1kbit on";
    let fix = "for example --client-bandwidth 100mbit";
    let read = |typed: &str| read_bits(typed).map(Some);
    let bits_per_second = mistakes.value(("--client-bandwidth", bandwidth), None, read, problem, fix);
    Some(ClientLink { rtt, bits_per_second })
}

pub(crate) fn read_rtt(typed: Option<&str>, mistakes: &mut Gathered) -> Duration {
    let read = |typed: &str| humantime::parse_duration(typed).ok().filter(|rtt| *rtt <= LONGEST_RTT);
    let fix = "for example --client-rtt 20ms";
    mistakes.value(("--client-rtt", typed), Duration::ZERO, read, "is not a time up to 10s", fix)
}

/// Reads a rate as tc(8) writes it: `100mbit`.
fn read_bits(typed: &str) -> Option<u64> {
    const UNITS: [(&str, f64); 4] = [("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("bit", 1.0)];
    let lower = typed.to_ascii_lowercase();
    let (number, unit) = UNITS.iter().find_map(|(name, size)| Some((lower.strip_suffix(name)?, size)))?;
    let bits = number.trim().parse::<f64>().ok()? * unit;
    (bits.is_finite() && bits >= LEAST_BITS as f64 && bits <= 1e12).then_some(bits as u64)
}

/// Takes the settings of services out of `--set NAME.SETTING=VALUE`, and leaves the others.
fn take_settings(typed: &[String], topology: &mut Topology, mistakes: &mut Gathered) -> Vec<String> {
    let mut others = Vec::new();
    for set in typed {
        let parts = set.split_once('=').and_then(|(name, value)| Some((name.split_once('.')?, value)));
        let kind = parts.and_then(|((name, _), _)| ServiceKind::ALL.into_iter().find(|kind| kind.id() == name));
        let (Some(((_, setting), value)), Some(kind)) = (parts, kind) else {
            others.push(set.clone());
            continue;
        };
        let place = format!("--set {set}");
        let Some(service) = topology.services.iter_mut().find(|service| service.kind == kind) else {
            mistakes.add(place, "is for a service that is not used", format!("add --services {}", kind.id()));
            continue;
        };
        give_setting(service, setting, value, place, mistakes);
    }
    others
}

/// Gives a service a setting, in place of the one that it may have had.
fn give_setting(service: &mut Service, setting: &str, value: &str, place: String, mistakes: &mut Gathered) {
    match check_setting(service.kind, setting, value) {
        Ok(()) => drop(service.settings.insert(setting.to_owned(), value.to_owned())),
        Err(problem) => mistakes.add(place, problem, "leave it out, or write it as the service's manual does"),
    }
}

/// Whether a setting can stand in a configuration file; the service itself knows whether it has it.
fn check_setting(kind: ServiceKind, setting: &str, value: &str) -> Result<(), String> {
    // As each service's own manual writes them: max_connections, maxmemory-policy.
    let joint = if kind == ServiceKind::Redis { '-' } else { '_' };
    let is_name = setting.starts_with(|first: char| first.is_ascii_lowercase())
        && setting.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == joint);
    if !is_name {
        return Err(format!("names {setting}, which is no setting's name: small letters, digits and {joint}"));
    }
    if value.is_empty() || value.chars().any(char::is_control) {
        return Err("has no value, or one of several lines".to_owned());
    }
    let fewest =
        value.parse::<u64>().ok().filter(|most| setting == "max_connections" && *most < kind.fewest_connections());
    if let Some(most) = fewest {
        return Err(format!(
            "gives it {most} connections, and {} has {} at least",
            kind.id(),
            kind.fewest_connections()
        ));
    }
    if kind.sets_itself(setting) {
        return Err(format!("sets {setting}, which is where the service lives"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::DumpFlag;
    use crate::mistake::Mistakes;

    const TOTAL: Limits = Limits { cpus: Cpus::from_millis(1500), memory: Bytes::from_mib(1024) };

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn read_all(flags: &TopologyFlags, set: &[&str]) -> Result<Topology, Vec<String>> {
        let mut mistakes = Gathered::default();
        let Around { topology, set, services } = read(flags, &strings(set), None, (&TOTAL, false), &[], &mut mistakes);
        assert!(set.is_empty() && services.is_empty(), "{set:?}");
        mistakes.finish(Ok(topology)).map_err(|Mistakes(all)| all.iter().map(ToString::to_string).collect())
    }

    fn services(typed: &str) -> DatabaseFlags {
        DatabaseFlags { services: some(typed), dump: DumpFlag::default() }
    }

    fn full() -> TopologyFlags {
        TopologyFlags {
            replicas: some("2"),
            balancer: some("haproxy"),
            balance: some("least-connections"),
            upstream_keepalive: some("off"),
            tls: true,
            databases: services("pgbouncer, postgres"),
            share: strings(&["replica=0.4,200Mi", "postgres=0.35,512Mi"]),
            ready: ReadyFlag { ready: some("port") },
            restart: some("on-failure"),
            client_rtt: ClientRttFlag { client_rtt: some("20ms") },
            client_bandwidth: some("100Mbit"),
            no_keepalive: true,
        }
    }

    #[test]
    fn a_topology_is_read_whole() {
        let topology = read_all(&full(), &["postgres.max_connections=50", "pgbouncer.pool_mode=transaction"]).unwrap();
        assert_eq!(
            topology.to_string(),
            "2 replicas (0.4 CPUs, 200Mi each) behind haproxy (least-connections, no kept connections, TLS), \
             postgres (max_connections=50, 0.35 CPUs, 512Mi), pgbouncer (pool_mode=transaction), ready by port, \
             restarted on failure, client 20ms away at 100mbit, a connection for each request"
        );
        assert!(read_all(&TopologyFlags::default(), &[]).unwrap().is_default());
    }

    #[test]
    fn replicas_over_which_load_is_spread_need_no_balancer() {
        let replicas = TopologyFlags { replicas: some("2"), ..TopologyFlags::default() };
        let tls = TopologyFlags { tls: true, ..replicas.clone() };
        for (flags, is_spread, mistakes) in [(&replicas, true, 0), (&replicas, false, 1), (&tls, true, 1)] {
            let mut found = Gathered::default();
            read(flags, &[], None, (&TOTAL, is_spread), &[], &mut found);
            let told = found.finish(Ok(())).err().map_or(0, |Mistakes(all)| all.len());
            assert_eq!(told, mistakes, "{flags:?}");
        }
    }

    #[test]
    fn a_workload_brings_its_services() {
        let need =
            |kind, always| ServiceNeed { kind, always, at_least: Vec::new(), init: None, extensions: Vec::new() };
        let needs = [need(ServiceKind::Postgres, true), need(ServiceKind::Mariadb, false)];
        for (typed, used, told) in [
            (None, "1 replica, postgres", 1),
            (some("mariadb"), "1 replica, postgres, mariadb", 2),
            (some("pgbouncer"), "1 replica, postgres, pgbouncer", 1),
            (some("postgres"), "1 replica, postgres", 1),
        ] {
            let flags = TopologyFlags {
                databases: DatabaseFlags { services: typed, dump: DumpFlag::default() },
                ..TopologyFlags::default()
            };
            let mut mistakes = Gathered::default();
            let Around { topology, services, .. } = read(&flags, &[], None, (&TOTAL, false), &needs, &mut mistakes);
            assert!(mistakes.is_empty());
            assert_eq!((topology.to_string().as_str(), services.len()), (used, told));
        }
    }

    #[test]
    fn a_dump_is_for_the_database_that_it_is_of() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name)
        };
        let mysql = file("shop.sql", "-- MariaDB dump 10.19\nUSE `shop`;\nSELECT 1;\n");
        let own = file("own.sql", "SELECT 1;");
        let read = |services: Option<&str>, database: &std::path::Path| {
            let databases = DatabaseFlags {
                services: services.map(str::to_owned),
                dump: DumpFlag { database: Some(database.to_owned()) },
            };
            let flags = TopologyFlags { databases, ..TopologyFlags::default() };
            let mut mistakes = Gathered::default();
            let Around { topology, services, .. } = super::read(&flags, &[], None, (&TOTAL, false), &[], &mut mistakes);
            let told = services.into_iter().map(|need| (need.kind, need.init)).collect::<Vec<_>>();
            mistakes.finish(Ok((topology.to_string(), told))).map_err(|mistakes| mistakes.to_string())
        };
        let init = |name: &str, changes: &[&str]| {
            let changes = changes.iter().map(|change| (*change).to_owned()).collect();
            Some(InitScript { name: name.to_owned(), sql: "SELECT 1;".to_owned(), changes })
        };
        let (topology, services) = read(None, &mysql).unwrap();
        let [(ServiceKind::Mariadb, Some(InitScript { changes, .. }))] = &services[..] else { panic!("{services:?}") };
        assert_eq!(
            (&*topology, &changes[..]),
            ("1 replica, mariadb", &["names of databases left out (1)".to_owned()][..])
        );
        let told = ("1 replica, postgres, pgbouncer".to_owned(), vec![(ServiceKind::Postgres, init("own.sql", &[]))]);
        assert_eq!(read(Some("postgres, pgbouncer"), &own), Ok(told));
        for (services, database, problem) in [
            (Some("postgres"), &mysql, "is a dump of mariadb, which is not among the services; add --services mariadb"),
            (None, &own, "does not say which database it is for; add --services mariadb or --services postgres"),
            (None, &folder.path().join("none.sql"), "cannot be read: No such file"),
        ] {
            let told = read(services, database).unwrap_err();
            assert!(told.contains(problem), "{told}");
        }
    }

    #[test]
    fn each_mistake_is_told_with_its_figures() {
        let with = |change: &dyn Fn(&mut TopologyFlags)| {
            let mut flags = full();
            change(&mut flags);
            flags
        };
        for (flags, set, told) in [
            (with(&|f| f.replicas = some("0")), "", "--replicas 0 is not a number of replicas from 1 to 64"),
            (with(&|f| f.balancer = None), "", "--replicas 2 needs a balancer in front; add --balancer nginx or"),
            (with(&|f| f.balancer = None), "", "--tls needs a balancer"),
            (with(&|f| f.balancer = some("envoy")), "", "--balancer envoy is not known; use nginx or haproxy"),
            (with(&|f| f.balance = some("random")), "", "--balance random is not known"),
            (with(&|f| f.upstream_keepalive = some("-1")), "", "--upstream-keepalive -1 is not a number"),
            (with(&|f| f.databases = services("postgers,pgbouncer")), "", "did you mean postgres?"),
            (with(&|f| f.databases = services("pgbouncer")), "", "has no database behind it; add postgres"),
            (with(&|f| f.share = strings(&["replica"])), "", "--share replica is not PART=CPUS,MEMORY"),
            (with(&|f| f.share = strings(&["replica=x,1Mi"])), "", "has CPUs x, which is not a number of CPUs"),
            (
                with(&|f| f.share = strings(&["redis=1,1Mi"])),
                "",
                "names redis, which is no part here; use replica, bal",
            ),
            (with(&|f| f.share = strings(&["replica=0.001,1Mi"])), "", "less CPU time than the kernel can enforce"),
            (
                with(&|f| f.share = strings(&["replica=0.6,200Mi", "postgres=0.35,512Mi"])),
                "",
                "(postgres 0.35 CPUs, 512Mi; replica-1 0.6 CPUs, 200Mi; replica-2 0.6 CPUs, 200Mi) gives out 1.55 of 1.5 \
                 CPUs, and 2 parts without a share need some; raise --cpus",
            ),
            (
                with(&|f| f.share = strings(&["replica=0.4,512Mi", "postgres=0.35,512Mi"])),
                "",
                "gives out 1536Mi of 1Gi memory",
            ),
            (with(&|f| f.ready.ready = some("maybe")), "", "--ready maybe is not known; use port or request"),
            (with(&|f| f.client_rtt.client_rtt = some("1h")), "", "--client-rtt 1h is not a time up to 10s"),
            (with(&|f| f.client_bandwidth = some("fast")), "", "--client-bandwidth fast is not a rate"),
            (full(), "mariadb.max_connections=5", "is for a service that is not used; add --services mariadb"),
            (
                with(&|f| f.databases = services("mariadb")),
                "mariadb.max_connections=5",
                "gives it 5 connections, and mariadb has 10 at least",
            ),
            (full(), "postgres.max_connections=3", "gives it 3 connections, and postgres has 4 at least"),
            (full(), "postgres.port=5432", "sets port, which is where the service lives"),
            (full(), "postgres.Max=5", "names Max, which is no setting's name"),
            (full(), "postgres.work_mem=", "has no value"),
        ] {
            let set: Vec<&str> = if set.is_empty() { Vec::new() } else { vec![set] };
            let mistakes = read_all(&flags, &set).unwrap_err();
            assert!(mistakes.iter().any(|mistake| mistake.contains(told)), "{told}: {mistakes:#?}");
        }
    }
}
