//! What to change next in a deployment that is made better step by step.
//!
//! Pure: from the results of a case it proposes changes to it, each with the reason that its records give. Beside settings of the
//! runtime these are what a search over settings leaves alone: PHP's own, the runtime itself, and how the whole is shared out.

use stampede_core::{Case, Cpus, Finding, ProcessModel, Role, RuntimeId, Study, Topology, Trial, Tunable, TunableKind};

use super::score;
use crate::metric::{metric, ratio};
use crate::record::Record;
use crate::rules;
use crate::why::{Intervention, Lever, interventions};

/// A step is kept from this gain on. Single trials of one case lie some per cent apart; what is less than that is left out, so that
/// the end holds nothing that does not matter.
const GAIN: f64 = 1.02;

/// Where a step gains and loses less than that, as it must where a load is answered as a whole, it is kept if the response time that
/// one answer in a hundred exceeds falls by so much, which single trials of one deployment near what it can take do too: a step that
/// does nothing is then kept at times, which harms less than one that helps and is undone,
const SOONER: f64 = 1.25;

/// or if requests cost less CPU by so much, which is what the next increase of the load lives on,
const CHEAPER: f64 = 1.05;

/// unless that response time grows by so much. Requests that queue cost less CPU, as each turn of a worker finds more of them.
const LATER: f64 = 1.25;

/// What switches the opcode cache on.
const OPCACHE: [(&str, &str); 3] =
    [("opcache.enable", "1"), ("opcache.enable_cli", "1"), ("opcache.file_cache_only", "0")];

/// What switches JIT on, in every version (<https://www.php.net/manual/en/migration84.incompatible.php>).
const JIT: [(&str, &str); 2] = [("opcache.jit", "tracing"), ("opcache.jit_buffer_size", "64M")];

/// From this share of the CPU limit on, CPU is what is short.
const SHORT: f64 = 0.8;

/// From this share of throttled periods on, a part's share holds it back: a load that grows fills it only at the end.
const THROTTLED: f64 = 0.2;

/// What of a window's seconds is its busiest part, which shares must be enough for.
const BUSIEST: f64 = 0.2;

/// What a part is given that its share holds back, beside what it had: how much it would use is not known.
const MORE: f64 = 1.5;

/// What the others are left beside what they used, as a multiple of its square root, both in CPUs: requests come unevenly, the more
/// so the fewer they are (square-root staffing: Halfin and Whitt 1981).
const SPARE: f64 = 0.1;

/// Shares are moved in hundredths of a CPU.
const GRAIN: f64 = 10.0;

/// Shares of which one grows by so much go before how often workers take turns, others after it.
const MUCH: f64 = 1.25;

/// Shares that differ by less than this are not worth a step.
const NEARLY: f64 = 0.1;

/// One change to a deployment.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// Settings of `php.ini`, over the application's own.
    Ini(&'static [(&'static str, &'static str)]),
    /// Settings of the runtime.
    Settings(Vec<(String, String)>),
    /// What stands around the runtime, and what part of the whole each has.
    Topology(Topology),
    /// Another runtime under its own defaults.
    Runtime(RuntimeId),
}

/// A change that the records of a case speak for.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// What to change.
    pub change: Move,
    /// Its name, from what to what: `pm.max_children 5 -> 16`.
    pub name: String,
    /// What speaks for it, in a sentence or two.
    pub reason: String,
}

/// What may be changed of a case beside what its records hold.
#[derive(Clone, Copy, Debug)]
pub struct Room<'a> {
    /// What its runtime does with a process between two requests.
    pub model: ProcessModel,
    /// The settings that its runtime has.
    pub tunables: &'a [Tunable],
    /// Other runtimes that may take its place, the first choice first.
    pub others: &'a [(RuntimeId, ProcessModel)],
}

/// How far a deployment came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// As [`score`](super::score) has it.
    pub score: f64,
    /// The response time that one answer in a hundred exceeds, in microseconds; absent where too few were answered.
    pub p99_us: Option<f64>,
    /// CPU time of each request, in microseconds.
    pub cpu_us: Option<f64>,
}

impl Reached {
    /// What a trial came to. None where it was not measured or lacks the figure that decides.
    pub fn of(study: &Study, trial: &Trial) -> Option<Self> {
        let read = |key| metric(key).and_then(|metric| (metric.reader)(trial));
        let (p99_us, cpu_us) = (read("response_p99_us"), read("cpu_us_per_request"));
        score(study, trial).map(|score| Self { score, p99_us, cpu_us })
    }

    /// Whether it is worth keeping instead of what came so far.
    pub fn is_beyond(&self, best: &Self) -> bool {
        let gain = self.score - best.score;
        if gain.abs() >= GAIN.ln() {
            return gain > 0.0;
        }
        let Some(p99) = self.p99_us else { return false };
        let before = best.p99_us.unwrap_or(f64::INFINITY);
        let costs = self.cpu_us.zip(best.cpu_us).and_then(|(cpu, before)| ratio(cpu, before)).unwrap_or(1.0);
        p99 * SOONER <= before || (costs * CHEAPER <= 1.0 && p99 < before * LATER)
    }
}

/// What to change next in a case that was measured, the most promising first: what each request does in vain, what requests wait
/// for while CPU is left, what spends less CPU on each, and where CPU is that another part lacks.
pub fn proposals(study: &Study, trials: &[Trial], case: &Case, room: Room<'_>) -> Vec<Proposal> {
    let record = Record::new(study, case, trials);
    let findings = rules::findings(&record);
    let found = |id: &str| findings.iter().find(|finding| finding.id == id);
    let parts = parts(&record);
    let short = shortage(&record, &parts);
    let mut all = Vec::new();
    all.extend(found("opcache-off").map(|finding| Proposal {
        change: Move::Ini(&OPCACHE),
        name: "opcode cache off -> on".to_owned(),
        reason: finding.text.clone(),
    }));
    all.extend(found("pool-full").and_then(|finding| larger_pool(case, finding)));
    if let Some(short) = &short {
        all.extend(kept_in_memory(case, room, short));
    }
    let (first, later): (Vec<_>, Vec<_>) =
        shared_out(case, &parts, peak(&record)).into_iter().partition(|(growth, _)| *growth >= MUCH);
    all.extend(first.into_iter().map(|(_, shares)| shares));
    all.extend(short.as_deref().and_then(|short| smaller_pool(case, short)));
    if let Some(short) = &short {
        all.extend(other_modes(case, room, short));
    }
    all.extend(later.into_iter().map(|(_, shares)| shares));
    let limits = interventions(study, trials, case);
    all.extend(limits.iter().filter_map(|changed| as_found(case, changed, &findings)));
    if let Some(short) = &short {
        all.extend(compiled(&record, short));
    }
    all
}

/// More workers, as many as the finding advises.
fn larger_pool(case: &Case, finding: &Finding) -> Option<Proposal> {
    let workers = *finding.evidence.get("advised_workers")? as u64;
    resized_pool(case, workers, &finding.text)
}

/// Two workers for each processor, where there are more, and then one.
fn smaller_pool(case: &Case, short: &str) -> Option<Proposal> {
    let cores = case.topology.replica_limits(&case.limits).cpus.cores();
    let (_, size) = pool(case)?;
    let few = [2.0 * cores, cores].into_iter().map(|few| few.ceil() as u64).find(|few| size > *few)?;
    let reason = format!("{short} {size} workers share {cores} CPU, and each switch costs time.");
    resized_pool(case, few, &reason)
}

/// The setting of the number of workers.
fn pool(case: &Case) -> Option<(&str, u64)> {
    case.tuning.of_role(Role::PoolSize).find_map(|(name, value)| Some((name, value.parse().ok()?)))
}

/// The same with so many workers; the most that a pool may grow to follows.
fn resized_pool(case: &Case, workers: u64, reason: &str) -> Option<Proposal> {
    let (name, size) = pool(case)?;
    let spare = |value: u64| (value >= size.min(workers)).then_some(workers);
    let follows = case.tuning.of_role(Role::PoolSpare).filter_map(|(name, value)| {
        let workers = spare(value.parse().ok()?)?;
        Some((name.to_owned(), workers.to_string()))
    });
    let settings = [(name.to_owned(), workers.to_string())].into_iter().chain(follows).collect();
    (workers != size).then(|| Proposal {
        change: Move::Settings(settings),
        name: format!("{name} {size} -> {workers}"),
        reason: reason.to_owned(),
    })
}

/// Runtimes that start the application once, where this one starts it for each request.
fn kept_in_memory(case: &Case, room: Room<'_>, short: &str) -> Vec<Proposal> {
    if room.model != ProcessModel::ProcessPerRequest {
        return Vec::new();
    }
    let keep = room.others.iter().filter(|(_, model)| *model != ProcessModel::ProcessPerRequest);
    let proposed = keep.map(|(other, _)| Proposal {
        change: Move::Runtime(other.clone()),
        name: format!("{} -> {other}", case.runtime),
        reason: format!(
            "{short} {} starts the application again for each request, {other} starts it once.",
            case.runtime
        ),
    });
    proposed.collect()
}

/// The runtime's other modes: what a request passes on its way to a worker, and costs there, is decided by them.
fn other_modes(case: &Case, room: Room<'_>, short: &str) -> Vec<Proposal> {
    let modes = room.tunables.iter().filter(|tunable| tunable.role == Role::Mode);
    let proposed = modes.filter_map(|Tunable { name, kind, summary, .. }| {
        let (TunableKind::Choice(choices), Some(mode)) = (kind, case.tuning.get(name)) else { return None };
        let others = choices.iter().filter(move |other| **other != mode);
        Some(others.map(move |other| Proposal {
            change: Move::Settings(vec![((*name).to_owned(), (*other).to_owned())]),
            name: format!("{name} {mode} -> {other}"),
            reason: format!("{short} The cost of a request on its way depends on {name}: {summary}."),
        }))
    });
    proposed.flatten().collect()
}

/// JIT, where PHP works without it.
fn compiled(record: &Record<'_>, short: &str) -> Option<Proposal> {
    let php = record.trials.iter().find_map(|trial| trial.php.as_ref())?;
    (php.opcache && !php.jit).then(|| Proposal {
        change: Move::Ini(&JIT),
        name: "JIT off -> on".to_owned(),
        reason: format!("{short} JIT, which compiles frequently run code, is off."),
    })
}

/// One of `why`'s changes, where something was found that speaks for it.
fn as_found(case: &Case, changed: &Case, findings: &[Finding]) -> Option<Proposal> {
    let Intervention { lever, name, from, to, .. } = Intervention::between(case, changed)?;
    let id = match lever {
        Lever::Setting(Role::Backlog) => "backlog-full",
        Lever::Setting(Role::Recycle) => "worker-restarts",
        Lever::Setting(Role::AccessLog) => "access-log",
        Lever::Setting(Role::Processors | Role::FrontWorkers) => "sized-beyond-quota",
        Lever::UpstreamKeepalive => "upstream-keepalive-off",
        Lever::Service(_) => "database-connections",
        // The whole is what was asked for; workers, shares and the cache are proposed by what they must come to.
        Lever::Cpus | Lever::Memory | Lever::Share | Lever::Opcache | Lever::Setting(_) => return None,
    };
    let finding = findings.iter().find(|finding| finding.id == id)?;
    let change = if changed.topology == case.topology {
        let differs = changed.tuning.iter().filter(|(name, setting)| case.tuning.get(name) != Some(&setting.value));
        Move::Settings(differs.map(|(name, setting)| (name.to_owned(), setting.value.clone())).collect())
    } else {
        Move::Topology(changed.topology.clone())
    };
    Some(Proposal { change, name: format!("{name} {from} -> {to}"), reason: finding.text.clone() })
}

/// Parts that have the same share: all replicas, or one other.
#[derive(Debug)]
struct Group {
    name: String,
    count: u32,
    /// The share of each, in thousandths of a CPU.
    share: u32,
    /// What each used, in thousandths of a CPU: the mean.
    used: f64,
    /// The largest part of their periods in which the share ran out.
    throttled: f64,
}

impl Group {
    fn is_held_back(&self) -> bool {
        self.throttled >= THROTTLED
    }

    /// What each would use if it could have it.
    fn wants(&self, peak: f64) -> f64 {
        if self.is_held_back() {
            return f64::from(self.share) * MORE;
        }
        let used = self.used * peak / 1e3;
        ((used + SPARE * used.sqrt()) * 1e3).max(GRAIN)
    }
}

/// What the parts with shares of their own used of them.
fn parts(record: &Record<'_>) -> Vec<Group> {
    let topology = &record.case.topology;
    let mut groups: Vec<Group> = Vec::new();
    for part in topology.parts() {
        let Some(share) = part.share else { continue };
        let of_part = record.trials.iter().flat_map(|trial| &trial.parts).filter(|seen| seen.part == part.name);
        let (mut cpu, mut time, mut throttled, mut periods) = (0.0, 0.0, 0, 0);
        for used in of_part.filter_map(|seen| seen.resources.as_ref()) {
            cpu += used.cpu.as_secs_f64();
            time += used.between.as_secs_f64();
            throttled += used.throttled_periods;
            periods += used.periods;
        }
        let Some(cores) = ratio(cpu, time) else { continue };
        let (used, throttled) = (cores * 1e3, ratio(throttled as f64, periods as f64).unwrap_or(0.0));
        let name = if Topology::is_replica(&part.name) { "replica" } else { part.name.as_str() };
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => {
                group.used = group.used * f64::from(group.count) + used;
                group.count += 1;
                group.used /= f64::from(group.count);
                group.throttled = group.throttled.max(throttled);
            }
            None => groups.push(Group { name: name.to_owned(), count: 1, share: share.cpus.millis(), used, throttled }),
        }
    }
    groups
}

/// How many times as busy as all of a window its busiest part is: 1 under a load that stays the same.
fn peak(record: &Record<'_>) -> f64 {
    let mut sent: Vec<f64> = record
        .trials
        .iter()
        .filter_map(|trial| trial.measurement.as_ref())
        .flat_map(|measured| &measured.load_seconds)
        .map(|second| second.sent as f64)
        .collect();
    sent.sort_by(|a, b| b.total_cmp(a));
    let busiest = (sent.len() as f64 * BUSIEST).ceil() as usize;
    let mean = |some: &[f64]| ratio(some.iter().sum(), some.len() as f64);
    mean(&sent[..busiest]).zip(mean(&sent)).and_then(|(most, all)| ratio(most, all)).unwrap_or(1.0)
}

/// What of the CPU is short, as a sentence: a share, or all of it.
fn shortage(record: &Record<'_>, parts: &[Group]) -> Option<String> {
    if let Some(part) = parts.iter().find(|part| part.name == "replica" && part.is_held_back()) {
        let share = Cpus::from_millis(part.share);
        let periods = rules::percent(part.throttled);
        return Some(format!("The {share} CPU of a replica ran out in {periods} of its periods."));
    }
    let used = rules::cpu_used(record)?;
    if used >= SHORT {
        return Some(format!("{} of the CPU limit was used.", rules::percent(used)));
    }
    // A load that changes needs more at times than as a whole.
    let most = Some((used * peak(record)).min(1.0)).filter(|most| *most >= SHORT)?;
    Some(format!("About {} of the CPU limit was used at the highest load.", rules::percent(most)))
}

/// The whole shared out by what each part used where the window was busiest, which is `peak` times the mean, and what those lack that
/// are held back; nothing where none is, or where none has more than it needs. With it, how many times as much the one is given that gains most.
fn shared_out(case: &Case, parts: &[Group], peak: f64) -> Option<(f64, Proposal)> {
    let sum = |of: &dyn Fn(&Group) -> f64| parts.iter().map(|part| f64::from(part.count) * of(part)).sum::<f64>();
    if !parts.iter().any(Group::is_held_back) || parts.iter().all(Group::is_held_back) {
        return None;
    }
    let whole = sum(&|part| f64::from(part.share));
    let wanted = sum(&|part| part.wants(peak));
    let of = |part: &Group| ((part.wants(peak) * whole / wanted / GRAIN).floor() * GRAIN).max(GRAIN) as u32;
    let moved: Vec<(&Group, u32)> = parts.iter().map(|part| (part, of(part))).collect();
    let differs = |(part, share): &&(&Group, u32)| {
        (f64::from(*share) - f64::from(part.share)).abs() >= NEARLY * f64::from(part.share)
    };
    if !moved.iter().any(|one| differs(&one)) {
        return None;
    }
    let mut topology = case.topology.clone();
    for (part, share) in &moved {
        set_share(&mut topology, &part.name, Cpus::from_millis(*share));
    }
    let names: Vec<String> = moved
        .iter()
        .filter(differs)
        .map(|(part, share)| {
            format!("{} {} -> {} CPU", part.name, Cpus::from_millis(part.share), Cpus::from_millis(*share))
        })
        .collect();
    let told: Vec<String> = parts
        .iter()
        .map(|part| {
            let used = rules::percent(part.used / f64::from(part.share));
            let ran_out = if part.is_held_back() {
                format!(", which ran out in {} of its periods", rules::percent(part.throttled))
            } else {
                String::new()
            };
            format!("{} used {used} of its {} CPU{ran_out}", part.name, Cpus::from_millis(part.share))
        })
        .collect();
    let growth = moved.iter().map(|(part, share)| f64::from(*share) / f64::from(part.share)).fold(0.0, f64::max);
    let proposal = Proposal {
        change: Move::Topology(topology),
        name: names.join(", "),
        reason: format!("CPU shares do not match use: {}.", told.join("; ")),
    };
    Some((growth, proposal))
}

fn set_share(topology: &mut Topology, part: &str, cpus: Cpus) {
    let shares = match part {
        "replica" => topology.replica_share.iter_mut().collect::<Vec<_>>(),
        "balancer" => topology.balancer.iter_mut().filter_map(|balancer| balancer.share.as_mut()).collect(),
        service => {
            let own = topology.services.iter_mut().filter(|own| own.kind.id() == service);
            own.filter_map(|own| own.share.as_mut()).collect()
        }
    };
    shares.into_iter().for_each(|share| share.cpus = cpus);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use stampede_core::{
        Balance, Balancer, BalancerKind, Bytes, Limits, LoadSecond, PartRecord, PhpReadBack, ResourceUse, Service,
        ServiceKind, Tuning,
    };

    use super::*;
    use crate::samples;

    const ALONE: Room<'_> = Room { model: ProcessModel::ProcessPerRequest, tunables: &[], others: &[] };

    fn pool_of(size: &str) -> Tuning {
        let kind = TunableKind::Count { min: 1, max: 1_000 };
        let mut tuning = Tuning::new();
        tuning.give("workers", size);
        tuning.with_roles(&[Tunable { name: "workers", role: Role::PoolSize, kind, summary: "", manual: "" }])
    }

    /// Two replicas behind a balancer with a database, and what each used of its share in 50 periods.
    fn case_with(uses: [(u32, u32, u64); 3]) -> (Study, Case, Trial) {
        let mut study = samples::study(&["php"]);
        let case = &mut study.cases[0];
        let share = |millis| Some(Limits { cpus: Cpus::from_millis(millis), memory: Bytes::from_mib(64) });
        case.limits.cpus = Cpus::from_millis(1500);
        case.topology.replicas = 2;
        let [replica, balancer, postgres] = uses;
        case.topology.replica_share = share(replica.0);
        case.topology.balancer = Some(Balancer {
            kind: BalancerKind::Nginx,
            balance: Balance::RoundRobin,
            upstream_keepalive: 32,
            tls: false,
            share: share(balancer.0),
        });
        case.topology.services = vec![Service {
            kind: ServiceKind::Postgres,
            settings: BTreeMap::new(),
            share: share(postgres.0),
            image: None,
        }];
        let case = case.clone();
        let mut trial = samples::measured("php", 1, 100.0);
        let part = |name: &str, (share_millis, used, throttled_periods): (u32, u32, u64)| PartRecord {
            part: name.to_owned(),
            units: Vec::new(),
            share: share(share_millis),
            enforced: None,
            resources: Some(ResourceUse {
                between: Duration::from_secs(5),
                cpu: Duration::from_millis(u64::from(used) * 5),
                periods: 50,
                throttled_periods,
                ..ResourceUse::default()
            }),
            requests: None,
            restarts: Vec::new(),
            settings: BTreeMap::new(),
        };
        trial.parts = vec![
            part("postgres", postgres),
            part("replica-1", replica),
            part("replica-2", replica),
            part("balancer", balancer),
        ];
        (study, case, trial)
    }

    fn names(study: &Study, case: &Case, trial: &Trial, room: Room<'_>) -> Vec<String> {
        let all = proposals(study, std::slice::from_ref(trial), case, room);
        assert!(all.iter().all(|one| !one.reason.is_empty()));
        all.into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn what_is_done_in_vain_comes_before_shares_and_those_before_turns_that_are_taken() {
        let (study, mut case, mut trial) = case_with([(300, 300, 50), (300, 60, 0), (600, 240, 0)]);
        let others = [
            (RuntimeId::new("other-fpm"), ProcessModel::ProcessPerRequest),
            (RuntimeId::new("kept"), ProcessModel::EventLoop),
        ];
        let room = Room { others: &others, ..ALONE };
        trial.php = Some(PhpReadBack { version: "8.2.29".to_owned(), ..PhpReadBack::default() });
        // 1500 shared out as 289 for the 240 that were used, twice 1.5 x 300, and 84 for 60.
        let shares = "postgres 0.6 -> 0.34 CPU, replica 0.3 -> 0.53 CPU, balancer 0.3 -> 0.09 CPU";
        assert_eq!(names(&study, &case, &trial, room), ["opcode cache off -> on", "php -> kept", shares]);
        trial.php = Some(PhpReadBack { opcache: true, ..PhpReadBack::default() });
        case.tuning = pool_of("8");
        let kept = Room { model: ProcessModel::LongLivedWorkers, ..room };
        assert_eq!(names(&study, &case, &trial, kept), [shares, "workers 8 -> 1", "JIT off -> on"]);
        let mode = |name, role| Tunable {
            name,
            role,
            kind: TunableKind::Choice(&["process", "base"]),
            summary: "who holds connections",
            manual: "",
        };
        let tunables = [mode("mode", Role::Mode), mode("events", Role::Mode), mode("hooks", Role::Concurrency)];
        case.tuning.give("mode", "process");
        // A mode that the runtime is not given has nothing to change.
        let modes = names(&study, &case, &trial, Room { tunables: &tunables, ..kept });
        assert_eq!(modes, [shares, "workers 8 -> 1", "mode process -> base", "JIT off -> on"]);
    }

    #[test]
    fn shares_follow_use_and_what_is_held_back_and_keep_their_sum() {
        let moved = |uses| {
            let (study, case, trial) = case_with(uses);
            let mut all = proposals(&study, &[trial], &case, ALONE);
            all.retain(|one| matches!(one.change, Move::Topology(_)));
            let Some(Proposal { change: Move::Topology(topology), reason, .. }) = all.pop() else { return None };
            assert!(topology.shared_out().0 <= case.topology.shared_out().0, "{topology}");
            Some((topology.to_string(), reason))
        };
        // Nobody is held back; everybody is; nobody has anything to give.
        assert_eq!(moved([(300, 200, 0), (300, 60, 0), (600, 240, 0)]), None);
        assert_eq!(moved([(300, 300, 50), (300, 300, 50), (600, 600, 50)]), None);
        assert_eq!(moved([(300, 300, 50), (60, 58, 0), (240, 235, 0)]).map(|_| ()), Some(()));
        let (topology, reason) = moved([(360, 200, 5), (300, 300, 45), (450, 240, 0)]).unwrap();
        // 1470 shared out as 289 for the 240 that were used, twice 245 for 200, and 1.5 x 300.
        assert_eq!(
            topology,
            "2 replicas (0.29 CPUs, 64Mi each) behind nginx (round-robin, 32 kept connections, 0.53 CPUs, 64Mi), postgres \
             (0.34 CPUs, 64Mi)"
        );
        assert_eq!(
            reason,
            "CPU shares do not match use: postgres used 53 % of its 0.45 CPU; replica used 56 % of its 0.36 CPU; balancer used \
             100 % of its 0.3 CPU, which ran out in 90 % of its periods."
        );
    }

    #[test]
    fn a_load_that_grows_is_shared_out_by_its_busiest_part() {
        let (study, case, mut trial) = case_with([(330, 230, 20), (200, 32, 0), (580, 140, 0)]);
        let names = |trial: &Trial| names(&study, &case, trial, ALONE).join("; ");
        let even = names(&trial);
        // 1440 by 1.5 x 330 twice, 50 for 32 and 177 for 140.
        assert_eq!(even, "postgres 0.58 -> 0.2 CPU, replica 0.33 -> 0.58 CPU, balancer 0.2 -> 0.05 CPU");
        let second = |second: u64| LoadSecond {
            second,
            sent: 10 * (second + 1),
            ok: 0,
            failed: 0,
            response_p50_us: None,
            response_p99_us: None,
        };
        trial.measurement.as_mut().unwrap().load_seconds = (0..10).map(second).collect();
        // The last two seconds had 95 of 55.
        let grown = "postgres 0.58 -> 0.3 CPU, replica 0.33 -> 0.52 CPU, balancer 0.2 -> 0.08 CPU";
        assert_eq!(names(&trial), grown);
    }

    #[test]
    fn a_step_is_kept_where_it_gains_more_than_trials_differ() {
        let reached = |figure: f64, p99_us, cpu| Reached { score: figure.ln(), p99_us, cpu_us: Some(cpu) };
        let best = reached(100.0, Some(50e3), 1e3);
        let kept = |figure, p99, cpu| reached(figure, p99, cpu).is_beyond(&best);
        assert!(kept(103.0, Some(90e3), 2e3) && kept(103.0, None, 1e3));
        assert!(!kept(101.0, Some(50e3), 1e3) && !kept(97.0, Some(10e3), 500.0));
        // As many, sooner, whatever that costs.
        assert!(kept(100.0, Some(39e3), 1e3) && kept(99.0, Some(39e3), 1.3e3));
        assert!(!kept(100.0, Some(45e3), 1e3) && !kept(100.0, None, 900.0));
        // As many, for less.
        assert!(kept(100.0, Some(60e3), 900.0) && !kept(100.0, Some(70e3), 900.0) && !kept(100.0, Some(60e3), 970.0));
        let unanswered = reached(100.0, None, 1e3);
        assert!(reached(100.0, Some(9e6), 1e3).is_beyond(&unanswered) && !unanswered.is_beyond(&unanswered));
    }
}
