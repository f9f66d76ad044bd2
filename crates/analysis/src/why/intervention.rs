//! One change to a case that moves one of its limits alone.
//!
//! A limit is raised by half. Where it cannot be raised (a quota that is all of the cores, workers that memory would not hold)
//! it is lowered by a fifth; then what shows that it is the limit is a loss.

use stampede_core::{Bytes, Case, CaseId, Cpus, Load, Role, ServiceKind, Study, Trial};

use crate::record::Record;
use crate::rules;

/// Names of the change that is of the application's PHP settings, which a case does not hold.
const OPCACHE: &str = "opcache=on";

/// Idle connections to replicas that a balancer without any is given: nginx's own example
/// (<https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive>).
const KEPT: u32 = 32;

/// From this share of the memory limit on, more memory is worth a try.
const MUCH_MEMORY: f64 = 0.5;

/// The share of the memory limit that more workers may fill.
const MOST_MEMORY: f64 = 0.9;

/// What is raised, or lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lever {
    /// The CPU quota of the whole deployment.
    Cpus,
    /// The memory limit of the whole deployment.
    Memory,
    /// Settings of the runtime that are for this.
    Setting(Role),
    /// Idle connections that the balancer keeps to replicas.
    UpstreamKeepalive,
    /// A part's share of the CPU quota.
    Share,
    /// A setting of a service: how many connections it takes or keeps.
    Service(ServiceKind),
    /// PHP's opcode cache.
    Opcache,
}

/// What differs between a case and one of its interventions.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervention {
    /// What was moved.
    pub lever: Lever,
    /// Its name, as the runtime's or service's manual has it, or in words: `pm.max_children`, `CPU quota`.
    pub name: String,
    /// What it is in the case.
    pub from: String,
    /// What it is in the intervention.
    pub to: String,
    /// By how much it was multiplied; absent where it was switched.
    pub factor: Option<f64>,
}

impl Intervention {
    /// How an intervention differs from its case; nothing where it does not.
    pub fn between(base: &Case, changed: &Case) -> Option<Self> {
        let new = |lever, name: &str, from: String, to: String, factor| {
            Some(Self { lever, name: name.to_owned(), from, to, factor })
        };
        let ratio = |from: f64, to: f64| (from > 0.0 && to > 0.0).then(|| to / from);
        let (before, after) = (&base.limits, &changed.limits);
        if before.cpus != after.cpus {
            let factor = ratio(before.cpus.cores(), after.cpus.cores());
            return new(Lever::Cpus, "CPU quota", before.cpus.to_string(), after.cpus.to_string(), factor);
        }
        if before.memory != after.memory {
            let factor = ratio(before.memory.mib(), after.memory.mib());
            return new(Lever::Memory, "memory limit", before.memory.to_string(), after.memory.to_string(), factor);
        }
        let settings = changed.tuning.iter().filter_map(|(name, setting)| {
            let from = base.tuning.get(name).filter(|from| *from != setting.value)?;
            Some((name, setting.role?, from, setting.value.as_str()))
        });
        // What follows from another setting is not what was moved.
        if let Some((name, role, from, to)) = settings.min_by_key(|(_, role, ..)| *role == Role::PoolSpare) {
            let factor = from.parse().ok().zip(to.parse().ok()).and_then(|(from, to)| ratio(from, to));
            return new(Lever::Setting(role), name, from.to_owned(), to.to_owned(), factor);
        }
        let kept = |case: &Case| case.topology.balancer.as_ref().map(|balancer| balancer.upstream_keepalive);
        if let (Some(from), Some(to)) = (kept(base), kept(changed))
            && from != to
        {
            let factor = ratio(f64::from(from), f64::from(to));
            return new(Lever::UpstreamKeepalive, "upstream keep-alive", from.to_string(), to.to_string(), factor);
        }
        for (service, other) in base.topology.services.iter().zip(&changed.topology.services) {
            for (name, from) in &service.settings {
                if let Some(to) = other.settings.get(name).filter(|to| *to != from) {
                    let factor = from.parse().ok().zip(to.parse().ok()).and_then(|(from, to)| ratio(from, to));
                    let name = format!("{}.{name}", service.kind.id());
                    return new(Lever::Service(service.kind), &name, from.clone(), to.clone(), factor);
                }
            }
        }
        for (part, other) in base.topology.parts().into_iter().zip(changed.topology.parts()) {
            if let (Some(from), Some(to)) = (part.share, other.share)
                && from.cpus != to.cpus
            {
                let factor = ratio(from.cpus.cores(), to.cpus.cores());
                let name = format!("CPU share of {}", part.name);
                return new(Lever::Share, &name, from.cpus.to_string(), to.cpus.to_string(), factor);
            }
        }
        if changed.id.as_str() == OPCACHE {
            return new(Lever::Opcache, "opcode cache", "off".to_owned(), "on".to_owned(), None);
        }
        None
    }

    /// Whether the limit was lowered.
    pub fn lowers(&self) -> bool {
        self.factor.is_some_and(|factor| factor < 1.0)
    }
}

/// The settings of PHP that an intervention puts over the application's own.
pub fn php_settings(intervention: &CaseId) -> &'static [(&'static str, &'static str)] {
    if intervention.as_str() == OPCACHE {
        &[("opcache.enable", "1"), ("opcache.enable_cli", "1"), ("opcache.file_cache_only", "0")]
    } else {
        &[]
    }
}

/// What to try in order to learn what holds a case back, as its records suggest: each is the case with one change.
pub fn interventions(study: &Study, trials: &[Trial], case: &Case) -> Vec<Case> {
    let record = Record::new(study, case, trials);
    let findings = rules::findings(&record);
    let found = |id: &str| findings.iter().any(|finding| finding.id == id);
    let peak = record.measurements().filter_map(|measured| Some(measured.resources?.memory_peak)).max();
    let mut all = vec![quota(case)];
    all.extend(pool(case, peak));
    if found("oom-kills") || peak.is_some_and(|peak| peak as f64 >= MUCH_MEMORY * case.limits.memory.get() as f64) {
        all.push(memory(case));
    }
    if found("opcache-off") {
        all.push(changed(case, OPCACHE, |_| ()));
    }
    if found("backlog-full") {
        all.extend(counted(case, Role::Backlog, |value| Some(raised(value))));
    }
    if found("worker-restarts") {
        all.extend(counted(case, Role::Recycle, |value| (value > 0).then_some(0)));
    }
    if found("access-log") {
        let log = case.tuning.of_role(Role::AccessLog).find(|(_, value)| *value != "off");
        all.extend(log.map(|(name, _)| set(case, &[(name, "off".to_owned())])));
    }
    let cores = (case.limits.cpus.cores().ceil() as u64).max(1);
    for role in [Role::Processors, Role::FrontWorkers] {
        all.extend(counted(case, role, |value| (found("sized-beyond-quota") || value < cores).then_some(cores)));
    }
    all.extend(counted(case, Role::Tasks, |value| (value > 0).then(|| raised(value))));
    all.extend(keepalive(case));
    all.extend(connections(case));
    all.extend(shares(case));
    all
}

/// The case with a change, under a name of its own.
fn changed(case: &Case, id: &str, change: impl FnOnce(&mut Case)) -> Case {
    let mut changed = Case { id: CaseId::new(id), ..case.clone() };
    change(&mut changed);
    changed
}

/// A count raised by half, and by one at the least.
fn raised(value: u64) -> u64 {
    value + value.div_ceil(2).max(1)
}

/// A count lowered by a fifth, and by one at the least; nothing below 1.
fn lowered(value: u64) -> Option<u64> {
    Some(value - value.div_ceil(5)).filter(|value| *value > 0)
}

fn more(cpus: Cpus) -> Cpus {
    Cpus::from_millis(cpus.millis() + cpus.millis() / 2)
}

fn less(cpus: Cpus) -> Cpus {
    Cpus::from_millis(cpus.millis() - cpus.millis() / 5)
}

fn quota(case: &Case) -> Case {
    let cores = case.pinning.server.len() as f64;
    let more = more(case.limits.cpus);
    let cpus = if more.cores() <= cores { more } else { less(case.limits.cpus) };
    changed(case, &format!("cpus={cpus}"), |case| case.limits.cpus = cpus)
}

fn memory(case: &Case) -> Case {
    let memory = Bytes::new(case.limits.memory.get() + case.limits.memory.get() / 2);
    changed(case, &format!("memory={memory}"), |case| case.limits.memory = memory)
}

/// Settings with their new values, under the name of the first.
fn set(case: &Case, settings: &[(&str, String)]) -> Case {
    let id = settings.first().map_or_else(String::new, |(name, value)| format!("{name}={value}"));
    changed(case, &id, |case| settings.iter().for_each(|(name, value)| case.tuning.change(name, value)))
}

/// The first setting of a role that is a number which the function changes.
fn counted(case: &Case, role: Role, change: impl Fn(u64) -> Option<u64>) -> Option<Case> {
    case.tuning.of_role(role).find_map(|(name, value)| {
        let value = value.parse().ok()?;
        let other = change(value).filter(|other| *other != value)?;
        Some(set(case, &[(name, other.to_string())]))
    })
}

/// All that say how many workers there are, by the same factor: more, unless memory would not hold them. Nothing where every
/// connection of a closed load has a worker, with more and with less.
fn pool(case: &Case, peak: Option<u64>) -> Option<Case> {
    let sizes: Vec<(&str, u64)> =
        case.tuning.of_role(Role::PoolSize).filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect();
    let most = sizes.iter().map(|(_, size)| *size).max()?;
    let demand = match case.load {
        // Each replica has a pool.
        Load::Closed { connections } => u64::from(connections.div_ceil(case.topology.replicas.max(1))),
        Load::Ramped { .. } | Load::Open { .. } => u64::MAX,
    };
    let each = peak.map_or(0.0, |peak| peak as f64 / most as f64);
    let fits = each * raised(most) as f64 <= MOST_MEMORY * case.limits.memory.get() as f64;
    let more = fits && most < demand;
    if !more && lowered(most)? >= demand {
        return None;
    }
    let other = |size| if more { Some(raised(size)) } else { lowered(size) };
    let mut settings =
        sizes.iter().map(|(name, size)| Some((*name, other(*size)?.to_string()))).collect::<Option<Vec<_>>>()?;
    // The most that a pool may grow to follows it.
    let follows = case.tuning.of_role(Role::PoolSpare).filter_map(|(name, value)| {
        let value: u64 = value.parse().ok()?;
        let other = other(value).filter(|_| value >= most)?;
        Some((name, other.to_string()))
    });
    settings.extend(follows);
    Some(set(case, &settings))
}

fn keepalive(case: &Case) -> Option<Case> {
    let kept = case.topology.balancer.as_ref()?.upstream_keepalive;
    let more = if kept == 0 { KEPT } else { kept + kept.div_ceil(2) };
    let change = |case: &mut Case| case.topology.balancer.iter_mut().for_each(|b| b.upstream_keepalive = more);
    Some(changed(case, &format!("keepalive={more}"), change))
}

/// How many connections a database, or the pool in front of one, takes.
fn connections(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    for (place, service) in case.topology.services.iter().enumerate() {
        let name = match service.kind {
            ServiceKind::Postgres | ServiceKind::Mariadb => "max_connections",
            ServiceKind::Pgbouncer => "default_pool_size",
            ServiceKind::Redis => "maxclients",
        };
        let value = service.settings.get(name).and_then(|value| value.parse().ok()).map(raised);
        all.extend(value.map(|value| {
            changed(case, &format!("{}.{name}={value}", service.kind.id()), |case| {
                case.topology.services[place].settings.insert(name.to_owned(), value.to_string());
            })
        }));
    }
    all
}

/// Each part's own share of the CPU quota: more of it as far as the whole allows, otherwise less.
fn shares(case: &Case) -> Vec<Case> {
    let left = case.limits.cpus.millis().saturating_sub(case.topology.shared_out().0.millis());
    let other = |cpus: Cpus, count: u32| {
        let more = more(cpus);
        if (more.millis() - cpus.millis()) * count <= left { more } else { less(cpus) }
    };
    let mut all = Vec::new();
    let topology = &case.topology;
    if let Some(share) = topology.replica_share {
        let cpus = other(share.cpus, topology.replicas);
        all.push(changed(case, &format!("replica.cpus={cpus}"), |case| {
            case.topology.replica_share.iter_mut().for_each(|share| share.cpus = cpus);
        }));
    }
    if let Some(share) = topology.balancer.as_ref().and_then(|balancer| balancer.share) {
        let cpus = other(share.cpus, 1);
        all.push(changed(case, &format!("balancer.cpus={cpus}"), |case| {
            let balancer = case.topology.balancer.iter_mut();
            balancer.filter_map(|balancer| balancer.share.as_mut()).for_each(|share| share.cpus = cpus);
        }));
    }
    for (place, service) in topology.services.iter().enumerate() {
        if let Some(share) = service.share {
            let cpus = other(share.cpus, 1);
            all.push(changed(case, &format!("{}.cpus={cpus}", service.kind.id()), |case| {
                case.topology.services[place].share.iter_mut().for_each(|share| share.cpus = cpus);
            }));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use stampede_core::{Balance, Balancer, BalancerKind, Limits, Service, Tunable, TunableKind, Tuning};

    use super::*;
    use crate::samples;

    fn tuned(settings: &[(&'static str, Role, &str)]) -> Tuning {
        let mut tuning = Tuning::new();
        let kind = TunableKind::Count { min: 0, max: 10_000 };
        let mut tunables = Vec::new();
        for (name, role, value) in settings {
            tuning.give(name, value);
            tunables.push(Tunable { name, role: *role, kind, summary: "", manual: "" });
        }
        tuning.with_roles(&tunables)
    }

    fn tried(case: &Case, peak: u64) -> Vec<String> {
        let mut study = samples::study(&["a"]);
        study.cases = vec![case.clone()];
        let mut trial = samples::measured("a", 1, 1_000.0);
        trial.measurement.as_mut().unwrap().resources.as_mut().unwrap().memory_peak = peak;
        let all = interventions(&study, &[trial], case);
        let described = all.iter().map(|changed| {
            let Intervention { name, from, to, .. } = Intervention::between(case, changed).unwrap();
            format!("{}: {name} {from} -> {to}", changed.id)
        });
        described.collect()
    }

    #[test]
    fn each_limit_is_raised_by_half_or_lowered_by_a_fifth_and_alone() {
        let case = samples::study(&["a"]).cases.remove(0);
        let pool = |size| tuned(&[("pm.max_children", Role::PoolSize, size)]);
        let small = 20 << 20;
        type Row<'a> = (&'a str, Case, u64, &'a [&'a str]);
        let mut full = case.clone();
        full.limits.cpus = Cpus::from_millis(1000);
        let mut threads = case.clone();
        threads.tuning = tuned(&[
            ("num_threads", Role::PoolSize, "4"),
            ("worker.num", Role::PoolSize, "3"),
            ("max_threads", Role::PoolSpare, "4"),
        ]);
        let rows: [Row<'_>; 7] = [
            ("no setting", case.clone(), small, &["cpus=0.75: CPU quota 0.5 -> 0.75"]),
            ("all of the cores", full, small, &["cpus=0.8: CPU quota 1 -> 0.8"]),
            (
                "one worker",
                Case { tuning: pool("1"), ..case.clone() },
                small,
                &["cpus=0.75: CPU quota 0.5 -> 0.75", "pm.max_children=2: pm.max_children 1 -> 2"],
            ),
            (
                "workers that memory would not hold in a larger number",
                Case { tuning: pool("8"), ..case.clone() },
                200 << 20,
                &[
                    "cpus=0.75: CPU quota 0.5 -> 0.75",
                    "pm.max_children=6: pm.max_children 8 -> 6",
                    "memory=384Mi: memory limit 256Mi -> 384Mi",
                ],
            ),
            (
                "more workers than connections",
                Case { tuning: pool("32"), ..case.clone() },
                small,
                &["cpus=0.75: CPU quota 0.5 -> 0.75"],
            ),
            (
                "settings that go together",
                threads,
                small,
                &["cpus=0.75: CPU quota 0.5 -> 0.75", "num_threads=6: num_threads 4 -> 6"],
            ),
            (
                "a log of requests",
                Case { tuning: tuned(&[("access_log", Role::AccessLog, "on")]), ..case.clone() },
                small,
                &["cpus=0.75: CPU quota 0.5 -> 0.75", "access_log=off: access_log on -> off"],
            ),
        ];
        for (name, case, peak, expected) in rows {
            assert_eq!(tried(&case, peak), expected, "{name}");
        }
    }

    #[test]
    fn settings_that_go_together_are_raised_together() {
        let mut case = samples::study(&["a"]).cases.remove(0);
        case.tuning = tuned(&[
            ("num_threads", Role::PoolSize, "4"),
            ("worker.num", Role::PoolSize, "3"),
            ("max_threads", Role::PoolSpare, "4"),
            ("min_spare", Role::PoolSpare, "1"),
        ]);
        let pool = pool(&case, None).unwrap();
        let values = ["num_threads", "worker.num", "max_threads", "min_spare"].map(|name| pool.tuning.get(name));
        assert_eq!(values, [Some("6"), Some("5"), Some("6"), Some("1")]);
    }

    #[test]
    fn what_stands_around_the_runtime_has_limits_too() {
        let mut case = samples::study(&["a"]).cases.remove(0);
        let share = |millis| Some(Limits { cpus: Cpus::from_millis(millis), memory: Bytes::from_mib(64) });
        case.topology.balancer = Some(Balancer {
            kind: BalancerKind::Nginx,
            balance: Balance::RoundRobin,
            upstream_keepalive: 0,
            tls: false,
            share: share(100),
        });
        case.topology.services = vec![Service {
            kind: ServiceKind::Postgres,
            settings: [("max_connections".to_owned(), "20".to_owned())].into(),
            share: share(300),
            image: None,
        }];
        assert_eq!(
            tried(&case, 20 << 20),
            [
                "cpus=0.75: CPU quota 0.5 -> 0.75",
                "keepalive=32: upstream keep-alive 0 -> 32",
                "postgres.max_connections=30: postgres.max_connections 20 -> 30",
                "balancer.cpus=0.15: CPU share of balancer 0.1 -> 0.15",
                "postgres.cpus=0.24: CPU share of postgres 0.3 -> 0.24",
            ]
        );
    }
}
