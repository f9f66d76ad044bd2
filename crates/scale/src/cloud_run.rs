//! Cloud Run's autoscaler, as far as its provider describes it.
//!
//! Its pages disagree with each other and leave out much, so each constant is a parameter that says where it was read. What
//! they do not say at all: how instances are chosen (here by turns among those that are wanted), and which go first.

use std::collections::VecDeque;
use std::time::Duration;

use stampede_core::{Bytes, Cpus};

use crate::{CpuAllocation, ServiceProblem, ServiceSettings, Time};

/// From how many thousandths of a CPU on an instance can have what memory, in MiB: the table of "configuring/services/cpu".
const MEMORY: [(u32, u64, u64); 7] = [
    (0, 128, 512),
    (500, 128, 1024),
    (1000, 128, 4096),
    (2000, 128, 8192),
    (4000, 2048, 16_384),
    (6000, 4096, 24_576),
    (8000, 4096, 32_768),
];

/// What can be set of it. Where a page is named by its last word, it is one of cloud.google.com/run/docs, read in 2026-11.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CloudRunParameters {
    /// How often it decides: 5 s in older texts of "about-instance-autoscaling"; newer ones say "periodically".
    pub tick: Duration,
    /// Over what CPU and concurrency are averaged: one minute ("about-instance-autoscaling").
    pub window: Duration,
    /// The share of their CPU that instances should use: 60 % ("about-instance-autoscaling").
    pub cpu_target: f64,
    /// The share of the hard limit that an instance should have: 60 % in newer texts of "about-instance-autoscaling"; older
    /// ones only compare with the limit.
    pub concurrency_target: f64,
    /// How long an instance may be idle before it goes: "up to 15 minutes" ("about-instance-autoscaling").
    pub idle: Duration,
    /// A request waits for so many times the mean start time: 3.5 ("about-instance-autoscaling", newer texts; older ones say
    /// "at least the mean start time").
    pub queue_starts: f64,
    /// And at least for so long: 10 s (same page).
    pub queue_least: Duration,
    /// Below so much CPU an instance is given one request at a time, in thousandths of a CPU: 1 CPU ("configuring/services/cpu").
    pub single_below_millis: u32,
}

impl Default for CloudRunParameters {
    fn default() -> Self {
        Self {
            tick: Duration::from_secs(5),
            window: Duration::from_secs(60),
            cpu_target: 0.6,
            concurrency_target: 0.6,
            idle: Duration::from_secs(15 * 60),
            queue_starts: 3.5,
            queue_least: Duration::from_secs(10),
            single_below_millis: 1000,
        }
    }
}

/// The smallest instance that is no smaller and takes several requests at once: of 1 CPU or more.
pub(crate) fn instance_for(cpus: Cpus, memory: Bytes) -> Option<(Cpus, Bytes)> {
    let whole = MEMORY.iter().filter(|(millis, ..)| *millis >= 1000 && *millis >= cpus.millis());
    let mut fitting = whole.filter(|(.., most)| Bytes::from_mib(*most) >= memory);
    let (millis, least, _) = fitting.next()?;
    Some((Cpus::from_millis(*millis), memory.max(Bytes::from_mib(*least))))
}

impl CloudRunParameters {
    /// All that the provider does not offer.
    pub fn problems(&self, service: &ServiceSettings) -> Vec<ServiceProblem> {
        let ServiceSettings { cpus, memory, cpu_allocation, .. } = *service;
        let mut problems = Vec::new();
        if cpus.millis() > 1000 && !MEMORY.iter().any(|(from, ..)| *from == cpus.millis()) {
            problems.push(ServiceProblem::Size(cpus));
        }
        if let Some((_, least, most)) = MEMORY.iter().rev().find(|(from, ..)| cpus.millis() >= *from) {
            let (least, most) = (Bytes::from_mib(*least), Bytes::from_mib(*most));
            if !(least..=most).contains(&memory) {
                problems.push(ServiceProblem::Memory { cpus, memory, least, most });
            }
        }
        if cpu_allocation == CpuAllocation::Always && cpus.millis() < self.single_below_millis {
            problems.push(ServiceProblem::AlwaysBelowOne(cpus));
        }
        problems
    }

    /// For how long a request waits for an instance that takes `start` to be ready: `max(3.5 x start, 10 s)`.
    pub fn queue_wait(&self, start: Duration) -> Duration {
        start.mul_f64(self.queue_starts).max(self.queue_least)
    }
}

/// The autoscaler's state.
#[derive(Clone, Debug)]
pub struct CloudRun {
    parameters: CloudRunParameters,
    /// The most requests that an instance has at once.
    concurrency: f64,
    cpus: f64,
    /// CPU-seconds that all instances had used by then.
    history: VecDeque<(Time, f64)>,
}

impl CloudRun {
    /// For instances with so much CPU that take at most `concurrency` requests at once.
    pub fn new(parameters: CloudRunParameters, concurrency: u32, cpus: f64) -> Self {
        let history = VecDeque::from([(Time::START, 0.0)]);
        Self { parameters, concurrency: f64::from(concurrency), cpus, history }
    }

    /// What can be set of it.
    pub fn parameters(&self) -> &CloudRunParameters {
        &self.parameters
    }

    /// How many instances it wants now, before the bounds of the service.
    ///
    /// `average` is that of requests under way and waiting over the window, `cpu` the CPU-seconds that all instances have
    /// used since the platform came up.
    pub fn decide(&mut self, now: Time, average: f64, cpu: f64) -> u32 {
        let p = &self.parameters;
        // What is kept begins at, or just before, the beginning of the window.
        while self.history.get(1).is_some_and(|(at, _)| now.since(*at) >= p.window) {
            self.history.pop_front();
        }
        let (since, before) = self.history.front().copied().unwrap_or((now, cpu));
        self.history.push_back((now, cpu));
        let seconds = now.since(since).as_secs_f64();
        let busy_cpus = if seconds > 0.0 { (cpu - before) / seconds } else { 0.0 };
        let by_cpu = busy_cpus / (self.cpus * p.cpu_target);
        let by_concurrency = average / (self.concurrency * p.concurrency_target);
        // A hair's breadth of rounding asks for no instance.
        (by_cpu.max(by_concurrency) - 1e-9).ceil().max(0.0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn what_is_scarcer_decides() {
        // Name, concurrency limit, average concurrency, CPU-seconds used in a minute, wanted: by hand from the two targets.
        for (name, limit, average, cpu, wanted) in [
            ("nothing", 80, 0.0, 0.0, 0),
            ("a trace of load", 80, 0.01, 0.0, 1),
            ("exactly one by concurrency", 80, 48.0, 0.0, 1),
            ("just over one", 80, 48.5, 0.0, 2),
            ("one at a time", 1, 6.0, 0.0, 10),
            ("CPU at its target", 80, 1.0, 36.0, 1),
            ("CPU beyond it", 80, 1.0, 300.0, 9),
            ("both", 10, 60.0, 300.0, 10),
        ] {
            let mut policy = CloudRun::new(CloudRunParameters::default(), limit, 1.0);
            assert_eq!(policy.decide(at(60), average, cpu), wanted, "{name}");
        }
    }

    #[test]
    fn cpu_is_averaged_over_the_last_minute() {
        let mut policy = CloudRun::new(CloudRunParameters::default(), 80, 1.0);
        // 6 CPUs for a minute, then none: what is wanted falls from 10 to 0 over the next.
        let wanted: Vec<u32> = (1..=24_u32)
            .map(|tick| {
                let used = (f64::from(tick) * 5.0).min(60.0) * 6.0;
                policy.decide(at(u64::from(tick) * 5), 0.0, used)
            })
            .collect();
        assert!(wanted[..12].iter().all(|wanted| *wanted == 10), "{wanted:?}");
        assert!(wanted[12..].windows(2).all(|pair| pair[0] >= pair[1]), "{wanted:?}");
        assert_eq!((wanted[17], wanted[23]), (5, 0), "{wanted:?}");
    }

    #[test]
    fn what_is_not_offered_is_told() {
        use stampede_core::Cpus;
        for (cpus, mib, always, problems) in [
            (167, 256, false, 0),
            (167, 1024, false, 1),
            (500, 1024, false, 0),
            (1000, 512, true, 0),
            (999, 512, true, 1),
            (1500, 512, false, 1),
            (4000, 1024, false, 1),
            (8000, 32_768, false, 0),
            (3000, 65_536, false, 2),
        ] {
            let service = ServiceSettings {
                cpus: Cpus::from_millis(cpus),
                memory: Bytes::from_mib(mib),
                concurrency: 1,
                min_instances: 0,
                max_instances: 1,
                cpu_allocation: if always { CpuAllocation::Always } else { CpuAllocation::DuringRequests },
                start_up_boost: false,
                request_timeout: ServiceSettings::REQUEST_TIMEOUT,
            };
            let found = CloudRunParameters::default().problems(&service);
            assert_eq!(found.len(), problems, "{cpus} {mib} {always}: {found:?}");
        }
    }

    #[test]
    fn a_request_waits_for_a_slow_start() {
        let p = CloudRunParameters::default();
        for (start, wait) in [(0, 10_000), (2_857, 10_000), (4_000, 14_000)] {
            assert_eq!(p.queue_wait(Duration::from_millis(start)).as_millis(), wait, "{start} ms");
        }
    }
}
