//! Samples the stacks of a deployment's PHP beside a load.
//!
//! It takes samples in half of the window's seconds where it is told to rest, so that the others show what it costs. It looks at no more
//! threads in an instant than a small share of the deployment's CPU limit pays for; the others have their turns.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use stampede_core::{AddressId, Endpoint, InsideEffort, InsideRecord, Limit, MeterSource, ServiceKind};
use stampede_inside::{JitteredInstants, NativeSampler, SampleCounts, StackProfile, StackSampler, recorded};
use stampede_priority::{Precedence, ThreadRole};
use stampede_seam::{InsideTargets, SampleTargets};

/// The same instants in each window do no harm: they are in step with nothing.
const SEED: u64 = 1;
/// Of whole seconds.
const SECOND: Duration = Duration::from_secs(1);
/// What samples may take, as a share of the deployment's CPU limit.
const MOST_COST: f64 = 0.01;
/// What a look at a thread takes, until it is known: 7 us where it did not run since the last one, and up to 50 us on a busy machine.
const LOOK: Duration = Duration::from_micros(40);
/// How many looks that guess is worth.
const GUESSED_LOOKS: u64 = 50;

/// Samples until its window closes. Dropped before, it ends by itself with the next sample.
pub(crate) struct InsideWatch {
    thread: JoinHandle<InsideRecord>,
    /// Its end ends the thread.
    running: Sender<()>,
}

impl InsideWatch {
    /// Starts to sample, where that is asked for.
    pub(crate) fn start(targets: &SampleTargets, window: Range<Instant>) -> io::Result<Option<Self>> {
        let Some(inside) = targets.inside else { return Ok(None) };
        let groups = targets.meters.iter().map(group).collect();
        let (own, services) = told_apart(&targets.listeners);
        let cpus = match targets.cpus {
            Limit::AtMost(cpus) => cpus.cores(),
            Limit::Unlimited => 1.0,
        };
        let (running, stopped) = channel();
        let precedence = Precedence::here();
        let watched = Watched { groups, own, services, inside, budget: MOST_COST * cpus, window };
        let thread = Builder::new().name("sample-inside".to_owned()).spawn(move || {
            precedence.adopt(ThreadRole::Watch);
            watched.sample(&stopped)
        })?;
        Ok(Some(Self { thread, running }))
    }

    /// What was seen until now.
    pub(crate) fn cut(self) -> InsideRecord {
        let Self { thread, running } = self;
        drop(running);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// What was seen, at the end of the window.
    pub(crate) fn finish(self) -> InsideRecord {
        let Self { thread, running } = self;
        let record = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        drop(running);
        record
    }
}

/// The addresses of a deployment's own servers, and those of its services.
fn told_apart(listeners: &[(AddressId, Endpoint)]) -> (Vec<String>, Vec<(ServiceKind, String)>) {
    let (mut own, mut services) = (Vec::new(), Vec::new());
    for (id, endpoint) in listeners {
        match ServiceKind::ALL.into_iter().find(|kind| kind.id() == id.as_str()) {
            Some(kind) => services.push((kind, endpoint.to_string())),
            None => own.push(endpoint.to_string()),
        }
    }
    (own, services)
}

/// The folder of a control group in which its processes are listed.
fn group(meter: &MeterSource) -> PathBuf {
    match meter {
        MeterSource::CgroupV1 { cpu, .. } => cpu.clone(),
        MeterSource::CgroupV2 { dir } => dir.clone(),
    }
}

/// What is sampled, and when.
struct Watched {
    groups: Vec<PathBuf>,
    /// Addresses of the deployment's own servers.
    own: Vec<String>,
    /// Those of its services.
    services: Vec<(ServiceKind, String)>,
    inside: InsideTargets,
    /// CPU time that samples may take, as a share of a processor.
    budget: f64,
    window: Range<Instant>,
}

/// How many threads may be looked at in each of so many instants a second, told what looks have taken.
fn affordable(budget: f64, per_second: u32, looks: u64, cpu: Duration) -> usize {
    let each = (cpu + LOOK * GUESSED_LOOKS as u32).div_f64((looks + GUESSED_LOOKS) as f64);
    ((budget / f64::from(per_second.max(1)) / each.as_secs_f64()) as usize).max(1)
}

impl Watched {
    fn sample(self, stopped: &Receiver<()>) -> InsideRecord {
        let Self { groups, own, services, inside: InsideTargets { per_second, rests }, budget, window } = self;
        // Programs are read before the window opens, and their files stay open through it.
        let mut sampler = StackSampler::of_groups(groups);
        let mut native = NativeSampler::new(per_second);
        let length = window.end.saturating_duration_since(window.start);
        let mut profile = StackProfile::default();
        let is_over = |until: Instant| {
            let wait = stopped.recv_timeout(until.saturating_duration_since(Instant::now()));
            !matches!(wait, Err(RecvTimeoutError::Timeout))
        };
        let mut is_cut = is_over(window.start);
        let ran_before = thread_time();
        sampler.renew(Duration::ZERO);
        native.follow(sampler.threads());
        sampler.take_turns(affordable(budget, per_second, 0, Duration::ZERO));
        for instant in JitteredInstants::new(SEED, per_second).take_while(|instant| *instant < length) {
            if rests && !InsideTargets::is_sampled(instant.as_secs()) {
                native.set(false);
                continue;
            }
            if is_cut || is_over(window.start + instant) {
                is_cut = true;
                break;
            }
            native.set(true);
            let now = window.start.elapsed();
            if JitteredInstants::is_missed(instant, now, per_second) {
                sampler.miss();
                continue;
            }
            if sampler.is_due(now) {
                sampler.count(now);
                sampler.renew(now);
                native.follow(sampler.threads());
                let SampleCounts { taken, torn, moved, .. } = sampler.counts();
                let cpu = thread_time().saturating_sub(ran_before);
                sampler.take_turns(affordable(budget, per_second, taken + torn + moved, cpu));
            }
            sampler.sample(now).iter().for_each(|sample| profile.add(sample));
        }
        // The last seconds may have no samples, but their time counts.
        let _ = !is_cut && is_over(window.end);
        native.set(false);
        let ended = window.start.elapsed().min(length);
        sampler.count(window.start.elapsed());
        let cpu = thread_time().saturating_sub(ran_before);
        profile.weigh(sampler.time_spent());
        let mut record = recorded(&profile, Some(&sampler), &own);
        services.iter().for_each(|(service, address)| record.name_peer(address, *service));
        record.effort = InsideEffort { cpu, ..record.effort };
        record.sampled = parts(ended, rests);
        record.native = native.finish();
        if record.effort.taken == 0 && record.problems.is_empty() {
            record.problems.push(match sampler.processes().is_empty() {
                true => "no PHP runs in it".to_owned(),
                false => "the machine was too busy for samples: each came after its time".to_owned(),
            });
        }
        record
    }
}

/// The parts of a window in which samples are taken.
fn parts(length: Duration, rests: bool) -> Vec<Range<Duration>> {
    if !rests {
        return vec![Duration::ZERO..length];
    }
    let mut parts: Vec<Range<Duration>> = Vec::new();
    for second in (0..length.as_secs_f64().ceil() as u64).filter(|second| InsideTargets::is_sampled(*second)) {
        let (from, to) = (SECOND * second as u32, (SECOND * (second as u32 + 1)).min(length));
        match parts.last_mut() {
            Some(part) if part.end == from => part.end = to,
            _ => parts.push(from..to),
        }
    }
    parts
}

/// The time that the calling thread has run.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_cost_no_more_than_their_share() {
        let of = |cpus: f64, looks, ms| affordable(MOST_COST * cpus, 99, looks, Duration::from_millis(ms));
        // 1 % of a processor is 101 us in each of 99 instants.
        for (cpus, looks, ms, most) in [
            (0.5, 0, 0, 1),
            (1.0, 0, 0, 2),
            (0.5, 10_000, 500, 1),
            (0.5, 10_000, 70, 7),
            (0.1, 10_000, 1_000, 1),
            (8.0, 10_000, 70, 112),
        ] {
            assert_eq!(of(cpus, looks, ms), most, "{cpus} CPUs, {looks} looks in {ms} ms");
        }
    }

    #[test]
    fn a_service_is_no_server_of_its_own_requests() {
        let at = |id: &str, port: u16| (AddressId::new(id), Endpoint::Tcp(([127, 0, 0, 1], port).into()));
        let listeners = [at("front", 80), at("postgres", 5432), at("fpm-2", 9000), at("redis", 6379)];
        let (own, services) = told_apart(&listeners);
        assert_eq!(own, ["127.0.0.1:80", "127.0.0.1:9000"]);
        let expected = [(ServiceKind::Postgres, "127.0.0.1:5432"), (ServiceKind::Redis, "127.0.0.1:6379")];
        assert_eq!(services, expected.map(|(kind, address)| (kind, address.to_owned())));
    }

    #[test]
    fn half_of_the_seconds_have_samples() {
        let shown = |seconds: f64, rests| {
            let parts = parts(Duration::from_secs_f64(seconds), rests);
            parts.iter().map(|part| (part.start.as_secs_f64(), part.end.as_secs_f64())).collect::<Vec<_>>()
        };
        assert_eq!(shown(8.0, true), [(0.0, 1.0), (3.0, 5.0), (7.0, 8.0)]);
        assert_eq!(shown(3.5, true), [(0.0, 1.0), (3.0, 3.5)]);
        assert_eq!(shown(0.5, true), [(0.0, 0.5)]);
        assert_eq!(shown(1.5, false), [(0.0, 1.5)]);
    }
}
