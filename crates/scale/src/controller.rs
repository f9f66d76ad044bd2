//! The platform's control: requests, instances and time go in, what is to be done comes out.
//!
//! It starts nothing and reads no clock: whoever drives it, with real instances or simulated ones, does what it says and tells
//! it what became of it.

use std::time::Duration;

use stampede_core::Limit;

use crate::average::Average;
use crate::fleet::{Balancing, Fleet};
use crate::knative::Observed;
use crate::queue::Queue;
use crate::{
    CloudRun, CloudRunParameters, CpuAllocation, Hpa, HpaParameters, InstanceId, Knative, KnativeParameters,
    QueueLimits, Rejection, ServiceProblem, ServiceSettings, Time, Usage,
};

/// Which autoscaler, with what is set of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// Knative's.
    Knative(KnativeParameters),
    /// Cloud Run's.
    CloudRun(CloudRunParameters),
    /// Kubernetes' own, on CPU.
    Hpa(HpaParameters),
}

impl Policy {
    /// The names of those that there are; the first is the default.
    pub const NAMES: [&str; 3] = ["cloud-run", "knative", "hpa"];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "cloud-run" => Some(Self::CloudRun(CloudRunParameters::default())),
            "knative" => Some(Self::Knative(KnativeParameters::default())),
            "hpa" => Some(Self::Hpa(HpaParameters::default())),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        let [cloud_run, knative, hpa] = Self::NAMES;
        match self {
            Self::CloudRun(_) => cloud_run,
            Self::Knative(_) => knative,
            Self::Hpa(_) => hpa,
        }
    }

    /// The fewest instances that it can keep: Kubernetes' own has one to read the use of CPU from.
    pub fn fewest(&self) -> u32 {
        u32::from(matches!(self, Self::Hpa(_)))
    }

    /// When instances may use their CPU, and how they are paid for, by default: pods are there all the time.
    pub fn allocation(&self) -> CpuAllocation {
        match self {
            Self::CloudRun(_) | Self::Knative(_) => CpuAllocation::DuringRequests,
            Self::Hpa(_) => CpuAllocation::Always,
        }
    }

    /// The most requests that an instance is given at once: what was asked for, unless the platform allows but one.
    pub fn concurrency(&self, service: &ServiceSettings) -> u32 {
        match self {
            Self::CloudRun(p) if service.cpus.millis() < p.single_below_millis => 1,
            _ => service.concurrency,
        }
    }

    /// All that cannot be so of a service on this platform.
    pub fn problems(&self, service: &ServiceSettings) -> Vec<ServiceProblem> {
        let mut problems = service.problems();
        if let Self::CloudRun(p) = self
            && problems.is_empty()
        {
            problems = p.problems(service);
        }
        if service.min_instances < self.fewest() {
            problems.push(ServiceProblem::NoPod);
        }
        problems
    }

    /// How many requests may wait, and for how long, where an instance takes `start` to be ready. With Knative they wait as
    /// long as a request may take; with Kubernetes' own, too, where a pod's listening socket keeps them.
    pub fn queue(&self, service: &ServiceSettings, start: Duration) -> QueueLimits {
        match self {
            Self::Knative(p) => QueueLimits { length: Limit::AtMost(p.queue_length), wait: service.request_timeout },
            Self::CloudRun(p) => QueueLimits { length: Limit::Unlimited, wait: p.queue_wait(start) },
            Self::Hpa(_) => QueueLimits { length: Limit::Unlimited, wait: service.request_timeout },
        }
    }

    /// The status of a request that was turned away: Cloud Run says 429 (cloud.google.com/run/docs/about-instance-autoscaling),
    /// Knative 503 when its queue is full and 504 when time is up (`pkg/activator/handler/handler.go`). Nobody turns requests away
    /// before pods of a Service: 504 stands for a client that gave up.
    pub fn status(&self, why: Rejection) -> u16 {
        match (self, why) {
            (Self::CloudRun(_), _) => 429,
            (Self::Knative(_) | Self::Hpa(_), Rejection::QueueFull) => 503,
            (Self::Knative(_) | Self::Hpa(_), Rejection::WaitedTooLong) => 504,
        }
    }

    fn balancing(&self, concurrency: u32) -> Balancing {
        match self {
            Self::Knative(p) if concurrency <= p.first_available_up_to => Balancing::FirstAvailable,
            _ => Balancing::RoundRobin,
        }
    }

    /// How long the beginning of a load has a say in how many instances there are: for as long as what came is averaged, or as what was
    /// wanted is kept.
    #[must_use]
    pub fn settling_time(&self) -> Duration {
        match self {
            Self::Knative(p) => p.stable_window.max(p.panic_window),
            Self::CloudRun(p) => p.window,
            Self::Hpa(p) => p.stabilization,
        }
    }

    /// In whole seconds.
    fn longest_window(&self) -> usize {
        let window = match self {
            Self::Knative(p) => p.stable_window.max(p.panic_window),
            Self::CloudRun(p) => p.window,
            Self::Hpa(p) => p.tick,
        };
        window.as_secs() as usize
    }

    fn tick(&self) -> Duration {
        match self {
            Self::Knative(p) => p.tick,
            Self::CloudRun(p) => p.tick,
            Self::Hpa(p) => p.tick,
        }
    }
}

#[derive(Clone, Debug)]
enum Autoscaler {
    Knative(Box<Knative>),
    CloudRun(CloudRun),
    Hpa(Hpa),
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<R> {
    /// Start an instance, and tell when it is [ready](Controller::ready).
    Start(InstanceId),
    /// Give a request to an instance, and tell when it is [over](Controller::finish).
    Send {
        /// The request.
        request: R,
        /// The instance.
        to: InstanceId,
    },
    /// Answer a request without any instance.
    Reject {
        /// The request.
        request: R,
        /// Why.
        why: Rejection,
    },
    /// End an instance that has no request.
    Stop(InstanceId),
}

/// A service's control.
#[derive(Clone, Debug)]
pub struct Controller<R> {
    service: ServiceSettings,
    policy: Policy,
    autoscaler: Autoscaler,
    fleet: Fleet,
    queue: Queue<R>,
    concurrency: u32,
    /// Requests under way and waiting.
    load: Average,
    next_tick: Time,
    stopped: Vec<InstanceId>,
}

impl<R> Controller<R> {
    /// Without any instance yet; [`Controller::begin`] asks for the fewest. Bills are rounded up to the granularity.
    pub fn new(service: ServiceSettings, policy: Policy, queue: QueueLimits, granularity: Duration) -> Self {
        let concurrency = policy.concurrency(&service);
        let autoscaler = match policy {
            Policy::Knative(p) => Autoscaler::Knative(Box::new(Knative::new(p, concurrency, service.min_instances))),
            Policy::CloudRun(p) => Autoscaler::CloudRun(CloudRun::new(p, concurrency, service.cpus.cores())),
            Policy::Hpa(p) => Autoscaler::Hpa(Hpa::new(p, service.cpus.cores())),
        };
        let balancing = policy.balancing(concurrency);
        Self {
            service,
            policy,
            autoscaler,
            fleet: Fleet::new(concurrency, balancing, granularity, service.min_instances, service.max_instances),
            queue: Queue::new(queue),
            concurrency,
            load: Average::new(policy.longest_window()),
            next_tick: Time::START.after(policy.tick()),
            stopped: Vec::new(),
        }
    }

    /// Starts the fewest instances.
    pub fn begin(&mut self, now: Time, out: &mut Vec<Action<R>>) {
        self.start(now, self.service.min_instances, out);
    }

    /// A request has come.
    pub fn arrive(&mut self, now: Time, request: R, out: &mut Vec<Action<R>>) {
        if self.queue.len() == 0
            && let Some(to) = self.fleet.place(now)
        {
            self.load.set(now, self.load.value() + 1);
            out.push(Action::Send { request, to });
            return;
        }
        if let Err(request) = self.queue.push(now, request) {
            out.push(Action::Reject { request, why: Rejection::QueueFull });
            return;
        }
        self.load.set(now, self.load.value() + 1);
        self.start_for_waiting(now, out);
    }

    /// An instance is ready.
    pub fn ready(&mut self, now: Time, instance: InstanceId, out: &mut Vec<Action<R>>) {
        self.fleet.ready(now, instance);
        self.send_waiting(now, out);
    }

    /// An instance is done with a request.
    pub fn finish(&mut self, now: Time, instance: InstanceId, out: &mut Vec<Action<R>>) {
        self.load.set(now, self.load.value().saturating_sub(1));
        if self.fleet.release(now, instance) {
            out.push(Action::Stop(instance));
        }
        self.send_waiting(now, out);
    }

    /// An instance has gone by itself, or will never be ready. The requests that it has end one by one, and with the last of
    /// them comes its [`Action::Stop`]; for those that wait others are started at once, for the fewest with the next decision.
    pub fn lose(&mut self, now: Time, instance: InstanceId, out: &mut Vec<Action<R>>) {
        self.fleet.lose(now, instance, &mut self.stopped);
        out.extend(self.stopped.drain(..).map(Action::Stop));
        if self.queue.len() > 0 {
            self.start_for_waiting(now, out);
        }
    }

    /// How many requests wait.
    pub fn waiting(&self) -> u32 {
        self.queue.len()
    }

    /// When [`Controller::pass`] has to be called next, at the latest.
    pub fn next_due(&self) -> Time {
        self.next_tick.min(self.queue.deadline())
    }

    /// Time has passed. `cpu` is the CPU time in seconds that all instances have used since the platform came up.
    pub fn pass(&mut self, now: Time, cpu: f64, out: &mut Vec<Action<R>>) {
        while let Some(request) = self.queue.pop_expired(now) {
            self.load.set(now, self.load.value().saturating_sub(1));
            out.push(Action::Reject { request, why: Rejection::WaitedTooLong });
        }
        if now >= self.next_tick {
            self.next_tick = now.after(self.policy.tick());
            self.scale(now, cpu, out);
        }
    }

    /// What is to be billed until now.
    pub fn usage(&self, now: Time) -> Usage {
        self.fleet.usage(now)
    }

    fn scale(&mut self, now: Time, cpu: f64, out: &mut Vec<Action<R>>) {
        let ServiceSettings { min_instances: min, max_instances: max, .. } = self.service;
        let whole = |window: Duration| window.as_secs() as usize;
        match &mut self.autoscaler {
            Autoscaler::Knative(autoscaler) => {
                let p = *autoscaler.parameters();
                let windows = [p.stable_window, p.panic_window].map(|window| self.load.over(now, whole(window)));
                let [Some(stable), Some(panic)] = windows else { return };
                let observed = Observed { stable, panic, ready: self.fleet.serving };
                let wanted = autoscaler.scale(now, observed, min, max);
                // One that was started for a request that waits is not given up before the averages tell of it.
                if wanted >= self.fleet.alive() || self.queue.len() > 0 {
                    self.start(now, wanted.saturating_sub(self.fleet.alive()), out);
                } else {
                    self.fleet.shrink_to(now, wanted, &mut self.stopped);
                }
            }
            Autoscaler::CloudRun(autoscaler) => {
                let p = *autoscaler.parameters();
                let average = self.load.over(now, whole(p.window)).unwrap_or_default();
                let wanted = autoscaler.decide(now, average, cpu).max(min).min(max);
                let starts = self.fleet.want(wanted);
                self.fleet.stop_idle(now, p.idle, &mut self.stopped);
                self.start(now, starts, out);
            }
            Autoscaler::Hpa(autoscaler) => {
                let wanted = autoscaler.decide(now, self.fleet.serving, self.fleet.alive(), cpu).max(min).min(max);
                self.fleet.shrink_to(now, wanted, &mut self.stopped);
                self.start(now, wanted.saturating_sub(self.fleet.alive()), out);
            }
        }
        out.extend(self.stopped.drain(..).map(Action::Stop));
        self.send_waiting(now, out);
    }

    /// Starts what those that wait ask for at once.
    fn start_for_waiting(&mut self, now: Time, out: &mut Vec<Action<R>>) {
        let starts = match self.autoscaler {
            // The activator tells the autoscaler at once when nobody is there (`Poke` in `pkg/autoscaler/scaling/multiscaler.go`).
            Autoscaler::Knative(_) => u32::from(self.fleet.alive() == 0),
            // Whoever waits, and finds no room in an instance that starts, has one started.
            Autoscaler::CloudRun(_) => self.queue.len().div_ceil(self.concurrency).saturating_sub(self.fleet.starting),
            // It looks at CPU alone.
            Autoscaler::Hpa(_) => 0,
        };
        self.start(now, starts, out);
    }

    fn start(&mut self, now: Time, count: u32, out: &mut Vec<Action<R>>) {
        out.extend((0..count).map_while(|_| self.fleet.start(now)).map(Action::Start));
    }

    /// Gives requests that wait to instances that have room.
    fn send_waiting(&mut self, now: Time, out: &mut Vec<Action<R>>) {
        while self.queue.len() > 0
            && let Some(to) = self.fleet.place(now)
            && let Some(request) = self.queue.pop()
        {
            out.push(Action::Send { request, to });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use stampede_core::{Bytes, Cpus};

    use super::*;
    use crate::CpuAllocation;

    const SERVICE: ServiceSettings = ServiceSettings {
        cpus: Cpus::from_millis(1000),
        memory: Bytes::from_mib(512),
        concurrency: 2,
        min_instances: 0,
        max_instances: 3,
        cpu_allocation: CpuAllocation::DuringRequests,
        start_up_boost: false,
        request_timeout: ServiceSettings::REQUEST_TIMEOUT,
    };
    const START: Duration = Duration::from_secs(1);

    fn at(seconds: f64) -> Time {
        Time::from_nanos((seconds * 1e9) as u64)
    }

    fn controller(service: ServiceSettings, policy: Policy) -> Controller<u32> {
        Controller::new(service, policy, policy.queue(&service, START), Duration::from_millis(100))
    }

    fn cloud_run() -> Policy {
        Policy::CloudRun(CloudRunParameters::default())
    }

    fn knative() -> Policy {
        Policy::Knative(KnativeParameters::default())
    }

    /// Calls it at each time at which it wants to be called, up to then; tells what it wanted done, and when.
    fn pass(controller: &mut Controller<u32>, until: f64) -> Vec<(f64, Action<u32>)> {
        let (mut all, mut out) = (Vec::new(), Vec::new());
        while controller.next_due() <= at(until) {
            let now = controller.next_due();
            controller.pass(now, 0.0, &mut out);
            all.extend(out.drain(..).map(|action| (now.seconds(), action)));
        }
        all
    }

    #[test]
    fn requests_that_wait_have_instances_started_and_are_turned_away_in_time() {
        let mut controller = controller(SERVICE, cloud_run());
        let mut out = Vec::new();
        (0..8).for_each(|request| controller.arrive(at(0.5), request, &mut out));
        // Two requests an instance, three instances at most.
        assert_eq!(out, [0, 1, 2].map(|id| Action::Start(InstanceId(id))));
        out.clear();
        controller.ready(at(1.5), InstanceId(1), &mut out);
        assert_eq!(out, [0, 1].map(|request| Action::Send { request, to: InstanceId(1) }));
        out.clear();
        controller.finish(at(2.0), InstanceId(1), &mut out);
        assert_eq!(out, [Action::Send { request: 2, to: InstanceId(1) }]);
        // The other five have waited for 10 s at 10.5 s.
        let done = pass(&mut controller, 11.0);
        let rejected: Vec<_> =
            (3..8).map(|request| (10.5, Action::Reject { request, why: Rejection::WaitedTooLong })).collect();
        assert_eq!(done, rejected);
        assert_eq!(controller.policy.status(Rejection::WaitedTooLong), 429);
    }

    #[test]
    fn an_idle_instance_goes_after_a_quarter_of_an_hour_and_the_fewest_stay() {
        for (min, expected) in [(0, Some(905.0)), (1, None)] {
            let mut controller = controller(ServiceSettings { min_instances: min, ..SERVICE }, cloud_run());
            let mut out = Vec::new();
            controller.begin(Time::START, &mut out);
            controller.arrive(Time::START, 1, &mut out);
            let started = out.iter().filter(|action| matches!(action, Action::Start(_))).count();
            assert_eq!(started, 1);
            controller.ready(at(1.0), InstanceId(0), &mut out);
            controller.finish(at(1.5), InstanceId(0), &mut out);
            let stopped =
                pass(&mut controller, 2000.0).into_iter().find(|(_, action)| matches!(action, Action::Stop(_)));
            assert_eq!(stopped.map(|(when, _)| when), expected, "min {min}");
        }
    }

    #[test]
    fn knative_starts_from_zero_at_once_scales_with_load_and_goes_back_to_zero() {
        let service = ServiceSettings { concurrency: 10, max_instances: 20, ..SERVICE };
        let mut controller = controller(service, knative());
        let mut out = Vec::new();
        (0..40).for_each(|request| controller.arrive(at(10.2), request, &mut out));
        assert_eq!(out, [Action::Start(InstanceId(0))]);
        out.clear();
        controller.ready(at(11.2), InstanceId(0), &mut out);
        assert_eq!(out.len(), 10);
        // 40 requests at a target of 7 an instance: 6 instances once the panic window tells of all of them.
        let mut started = 1;
        for (when, action) in pass(&mut controller, 18.0) {
            if let Action::Start(id) = action {
                started += 1;
                controller.ready(at(when), id, &mut out);
            }
        }
        assert_eq!(started, 6);
        let sent = std::mem::take(&mut out);
        assert_eq!(sent.len(), 40);
        for action in sent {
            let Action::Send { to, .. } = action else { panic!("{action:?}") };
            controller.finish(at(18.5), to, &mut out);
        }
        let stops = pass(&mut controller, 300.0).into_iter().filter(|(_, action)| matches!(action, Action::Stop(_)));
        assert_eq!(stops.count(), 6);
        assert_eq!(controller.fleet.alive(), 0);
    }

    #[test]
    fn a_full_queue_turns_away() {
        let parameters = KnativeParameters { queue_length: 2, ..KnativeParameters::default() };
        let mut controller = controller(SERVICE, Policy::Knative(parameters));
        let mut out = Vec::new();
        (0..3).for_each(|request| controller.arrive(at(0.1), request, &mut out));
        assert_eq!(out, [Action::Start(InstanceId(0)), Action::Reject { request: 2, why: Rejection::QueueFull }]);
    }

    #[test]
    fn an_instance_that_is_lost_is_replaced_for_those_that_wait() {
        let mut controller = controller(ServiceSettings { max_instances: 1, ..SERVICE }, cloud_run());
        let mut out = Vec::new();
        (0..3).for_each(|request| controller.arrive(at(0.5), request, &mut out));
        type Act<'a> = &'a dyn Fn(&mut Controller<u32>, &mut Vec<Action<u32>>);
        let mut step = |expected: &[Action<u32>], act: Act<'_>| {
            out.clear();
            act(&mut controller, &mut out);
            assert_eq!(out, expected);
        };
        let it = InstanceId(0);
        // It never comes up.
        step(&[Action::Stop(it), Action::Start(it)], &|controller, out| controller.lose(at(1.0), it, out));
        let sent = [0, 1].map(|request| Action::Send { request, to: it });
        step(&sent, &|controller, out| controller.ready(at(2.0), it, out));
        // It dies with two requests; the third waits for another, which takes a number of its own.
        step(&[Action::Start(InstanceId(1))], &|controller, out| controller.lose(at(3.0), it, out));
        step(&[], &|controller, out| controller.lose(at(3.0), it, out));
        step(&[], &|controller, out| controller.finish(at(3.1), it, out));
        step(&[Action::Stop(it)], &|controller, out| controller.finish(at(3.1), it, out));
        let sent = [Action::Send { request: 2, to: InstanceId(1) }];
        step(&sent, &|controller, out| controller.ready(at(4.0), InstanceId(1), out));
    }

    #[test]
    fn below_one_cpu_cloud_run_gives_one_request_at_a_time() {
        let small = ServiceSettings { cpus: Cpus::from_millis(999), concurrency: 80, ..SERVICE };
        assert_eq!((cloud_run().concurrency(&small), knative().concurrency(&small)), (1, 80));
        assert_eq!(cloud_run().concurrency(&ServiceSettings { concurrency: 80, ..SERVICE }), 80);
    }

    #[test]
    fn what_is_billed_is_what_happened() {
        let mut controller = controller(ServiceSettings { min_instances: 1, ..SERVICE }, cloud_run());
        let mut out = Vec::new();
        controller.begin(Time::START, &mut out);
        controller.ready(Time::START, InstanceId(0), &mut out);
        // Two requests that overlap from 1 s to 1.45 s, and one of 10 ms.
        controller.arrive(at(1.0), 0, &mut out);
        controller.arrive(at(1.2), 1, &mut out);
        controller.finish(at(1.3), InstanceId(0), &mut out);
        controller.finish(at(1.45), InstanceId(0), &mut out);
        controller.arrive(at(3.0), 2, &mut out);
        controller.finish(at(3.01), InstanceId(0), &mut out);
        let usage = controller.usage(at(10.0));
        for (name, value, expected) in [
            ("busy", usage.busy_seconds, 0.5 + 0.1),
            ("kept idle", usage.kept_idle_seconds, 10.0 - 0.45 - 0.01),
            ("lived", usage.lived_seconds, 10.0),
            ("requests", usage.requests, 3.0),
        ] {
            assert!((value - expected).abs() < 1e-9, "{name}: {value}");
        }
    }

    proptest::proptest! {
        /// Whatever happens, no instance has more than its limit, none works before it is ready or after it has gone, and each
        /// request is sent or turned away once.
        #[test]
        fn limits_hold_and_no_request_is_lost(
            knative_rules in proptest::bool::ANY,
            concurrency in 1..4_u32,
            min in 0..3_u32,
            steps in proptest::collection::vec((0..6_u32, 0..3_000_u64), 1..300),
        ) {
            let service = ServiceSettings { concurrency, min_instances: min, max_instances: 4, ..SERVICE };
            let policy = if knative_rules { knative() } else { cloud_run() };
            let mut controller = controller(service, policy);
            let (mut out, mut now, mut next, mut lost) = (Vec::new(), 0, 0, false);
            let mut starting = BTreeSet::new();
            let mut working: BTreeMap<InstanceId, u32> = BTreeMap::new();
            let mut told = BTreeSet::new();
            controller.begin(Time::START, &mut out);
            for (what, ms) in steps {
                now += ms * 1_000_000;
                while controller.next_due() <= Time::from_nanos(now) {
                    let due = controller.next_due();
                    controller.pass(due, due.seconds() * 0.5, &mut out);
                }
                let time = Time::from_nanos(now);
                let act = |out: &mut Vec<Action<u32>>, starting: &mut BTreeSet<InstanceId>,
                           working: &mut BTreeMap<InstanceId, u32>, told: &mut BTreeSet<u32>| {
                    for action in out.drain(..) {
                        match action {
                            Action::Start(id) => { starting.insert(id); working.insert(id, 0); }
                            Action::Send { request, to } => {
                                assert!(!starting.contains(&to) && told.insert(request));
                                let count = working.get_mut(&to).expect("an instance that lives");
                                *count += 1;
                                assert!(*count <= concurrency);
                            }
                            Action::Reject { request, .. } => assert!(told.insert(request)),
                            Action::Stop(id) => { starting.remove(&id); assert_eq!(working.remove(&id), Some(0)); }
                        }
                    }
                };
                act(&mut out, &mut starting, &mut working, &mut told);
                match what {
                    0 | 1 => { controller.arrive(time, next, &mut out); next += 1; }
                    2 => if let Some(id) = starting.pop_first() { controller.ready(time, id, &mut out); },
                    5 => if let Some(id) = working.keys().next_back().copied() {
                        starting.remove(&id);
                        lost = true;
                        controller.lose(time, id, &mut out);
                    },
                    _ => {
                        let busy = working.iter().find(|(_, count)| **count > 0).map(|(id, _)| *id);
                        if let Some(id) = busy {
                            *working.get_mut(&id).expect("it is there") -= 1;
                            controller.finish(time, id, &mut out);
                        }
                    }
                }
                act(&mut out, &mut starting, &mut working, &mut told);
                proptest::prop_assert_eq!(told.len() as u32 + controller.queue.len(), next);
                let live = controller.fleet.starting + controller.fleet.serving + controller.fleet.spare;
                proptest::prop_assert!(live <= 4 && (live >= min || knative_rules || lost));
            }
        }
    }
}
