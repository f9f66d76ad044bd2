//! Who waits and who is where: the controller with what a gateway has to know beside it. No I/O; time is passed in.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use stampede_scale::{Action, Controller, InstanceId, Policy, QueueLimits, ServiceSettings, Time};

use crate::ledger::{Account, End, Ledger};

/// An instance, by a number that no other ever has: the first that is asked for is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instance(pub u64);

/// A request with when it came.
#[derive(Clone, Copy, Debug)]
struct Arrival<R> {
    at: Time,
    request: R,
}

/// A request that an instance was given; it has to be told when it ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) instance: Instance,
    id: InstanceId,
    arrived: Time,
    sent: Time,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Deed<R> {
    /// Start an instance.
    Start(Instance),
    /// Give a request to an instance.
    Send { request: R, visit: Visit },
    /// Answer a request with this status.
    Reject { request: R, status: u16 },
    /// End an instance that has no request, or is gone already.
    Stop(Instance),
}

pub(crate) struct Admission<R> {
    controller: Controller<Arrival<R>>,
    policy: Policy,
    /// The controller gives the numbers of instances that have gone to later ones.
    present: BTreeMap<InstanceId, Instance>,
    started: u64,
    ledger: Ledger,
    actions: Vec<Action<Arrival<R>>>,
}

impl<R> Admission<R> {
    pub(crate) fn new(service: ServiceSettings, policy: Policy, queue: QueueLimits, granularity: Duration) -> Self {
        Self {
            controller: Controller::new(service, policy, queue, granularity),
            policy,
            present: BTreeMap::new(),
            started: 0,
            ledger: Ledger::new(),
            actions: Vec::new(),
        }
    }

    /// Asks for the fewest instances.
    pub(crate) fn begin(&mut self, now: Time) -> Vec<Deed<R>> {
        self.controller.begin(now, &mut self.actions);
        self.deeds(now)
    }

    /// A request has come. `own` is the CPU time of the gateway, asked for at an edge of the window that is due before it.
    pub(crate) fn arrive(&mut self, now: Time, request: R, own: impl Fn() -> Duration) -> Vec<Deed<R>> {
        while self.ledger.next_edge() <= now {
            self.ledger.edge(self.controller.usage(now), own());
        }
        self.ledger.arrived(now);
        self.controller.arrive(now, Arrival { at: now, request }, &mut self.actions);
        self.ledger.waiting(now, self.controller.waiting());
        self.deeds(now)
    }

    /// An instance has come up; nothing where it was given up meanwhile.
    pub(crate) fn ready(&mut self, now: Time, instance: Instance) -> Vec<Deed<R>> {
        if let Some(id) = self.id(instance) {
            if let Some(life) = self.ledger.life(instance.0) {
                life.ready = Some(now);
            }
            self.controller.ready(now, id, &mut self.actions);
        }
        self.deeds(now)
    }

    /// An instance has gone by itself, or will never come up.
    pub(crate) fn lose(&mut self, now: Time, instance: Instance) -> Vec<Deed<R>> {
        if let Some(id) = self.id(instance) {
            self.end(now, instance);
            self.controller.lose(now, id, &mut self.actions);
        }
        self.deeds(now)
    }

    /// A request is over that an instance was given.
    pub(crate) fn leave(&mut self, now: Time, visit: &Visit, end: End) -> Vec<Deed<R>> {
        let Visit { instance, id, arrived, sent } = *visit;
        self.ledger.ended(arrived, now, end);
        if let Some(life) = self.ledger.life(instance.0)
            && life.first_request == (Some(sent), None)
            && matches!(end, End::Answered(_))
        {
            life.first_request.1 = Some(now.since(sent));
        }
        self.controller.finish(now, id, &mut self.actions);
        self.deeds(now)
    }

    /// When [`Admission::pass`] has to be called next, at the latest.
    pub(crate) fn next_due(&self) -> Time {
        self.controller.next_due().min(self.ledger.next_edge())
    }

    /// Time has passed. `cpu` are the CPU-seconds of all instances, `own` is the CPU time of the gateway.
    pub(crate) fn pass(&mut self, now: Time, cpu: f64, own: Duration) -> Vec<Deed<R>> {
        while self.ledger.next_edge() <= now {
            self.ledger.edge(self.controller.usage(now), own);
        }
        if self.controller.next_due() <= now {
            self.controller.pass(now, cpu, &mut self.actions);
        }
        self.deeds(now)
    }

    /// Counts requests that come in this window alone.
    pub(crate) fn count(&mut self, window: Range<Time>) {
        self.ledger.count(window);
    }

    /// All clients have gone: requests that are still here count as abandoned.
    pub(crate) fn desert(&mut self) {
        self.ledger.desert();
    }

    /// What was counted until now.
    pub(crate) fn account(&self, now: Time, own: Duration) -> Account {
        self.ledger.account(self.controller.usage(now), own)
    }

    fn id(&self, instance: Instance) -> Option<InstanceId> {
        self.present.iter().find(|(_, present)| **present == instance).map(|(id, _)| *id)
    }

    fn end(&mut self, now: Time, instance: Instance) {
        if let Some(life) = self.ledger.life(instance.0) {
            life.ended.get_or_insert(now);
        }
    }

    fn deeds(&mut self, now: Time) -> Vec<Deed<R>> {
        let mut actions = std::mem::take(&mut self.actions);
        let deeds = actions.drain(..).filter_map(|action| self.deed(now, action)).collect();
        self.actions = actions;
        deeds
    }

    fn deed(&mut self, now: Time, action: Action<Arrival<R>>) -> Option<Deed<R>> {
        match action {
            Action::Start(id) => {
                let instance = Instance(self.started);
                self.started += 1;
                self.present.insert(id, instance);
                self.ledger.ordered(now);
                Some(Deed::Start(instance))
            }
            Action::Send { request: Arrival { at, request }, to } => {
                self.ledger.waited(at, now);
                let instance = *self.present.get(&to)?;
                if let Some(life) = self.ledger.life(instance.0) {
                    life.first_request.0.get_or_insert(now);
                }
                Some(Deed::Send { request, visit: Visit { instance, id: to, arrived: at, sent: now } })
            }
            Action::Reject { request: Arrival { at, request }, why } => {
                self.ledger.waited(at, now);
                self.ledger.rejected(at, now);
                Some(Deed::Reject { request, status: self.policy.status(why) })
            }
            Action::Stop(id) => {
                let instance = self.present.remove(&id)?;
                self.end(now, instance);
                Some(Deed::Stop(instance))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::{Bytes, Cpus};
    use stampede_scale::{CloudRunParameters, CpuAllocation};

    use super::*;

    fn no_cpu() -> Duration {
        Duration::ZERO
    }

    fn at(seconds: f64) -> Time {
        Time::from_nanos((seconds * 1e9) as u64)
    }

    /// One instance, one request at a time, on Cloud Run.
    fn admission() -> Admission<u32> {
        let service = ServiceSettings {
            cpus: Cpus::from_millis(1000),
            memory: Bytes::from_mib(512),
            concurrency: 1,
            min_instances: 0,
            max_instances: 1,
            cpu_allocation: CpuAllocation::DuringRequests,
            start_up_boost: false,
            request_timeout: ServiceSettings::REQUEST_TIMEOUT,
        };
        let policy = Policy::CloudRun(CloudRunParameters::default());
        Admission::new(service, policy, policy.queue(&service, Duration::from_secs(1)), Duration::from_millis(100))
    }

    /// The only request that is sent.
    fn sent(deeds: Vec<Deed<u32>>) -> (u32, Visit) {
        let [Deed::Send { request, visit }] = <[_; 1]>::try_from(deeds).unwrap() else { panic!("nothing is sent") };
        (request, visit)
    }

    #[test]
    fn requests_are_served_in_their_order_and_accounted_for() {
        let mut admission = admission();
        admission.count(at(1.0)..at(20.0));
        assert_eq!(admission.arrive(at(0.5), 0, no_cpu), [Deed::Start(Instance(0))]);
        for request in 1..4 {
            assert_eq!(admission.arrive(at(f64::from(request)), request, no_cpu), []);
        }
        let (request, visit) = sent(admission.ready(at(4.0), Instance(0)));
        assert_eq!(request, 0);
        let (request, visit) = sent(admission.leave(at(4.5), &visit, End::Answered(200)));
        assert_eq!(request, 1);
        let (request, visit) = sent(admission.leave(at(5.0), &visit, End::Answered(200)));
        assert_eq!(request, 2);
        let (request, visit) = sent(admission.leave(at(6.0), &visit, End::Broken));
        assert_eq!(request, 3);
        assert_eq!(admission.leave(at(7.0), &visit, End::Abandoned), []);
        let Account { lives, arrived, waits, most_waiting, rejected, passed, broken, abandoned, passage, .. } =
            admission.account(at(8.0), Duration::ZERO);
        // The first came before the window.
        assert_eq!((arrived, most_waiting, rejected, broken, abandoned), (3, 4, 0, 1, 1));
        assert_eq!(passed.into_iter().collect::<Vec<_>>(), [(200, 1)]);
        assert_eq!((waits.count(), waits.max().as_millis()), (3, 3500));
        // Of two that came at 1 and at 2 s, the one was answered at 5 s and the other broken off at 6 s.
        assert_eq!((passage.count(), passage.max().as_millis() / 10), (2, 400));
        assert_eq!(lives.len(), 1);
        assert_eq!((lives[0].ordered, lives[0].ready), (at(0.5), Some(at(4.0))));
        assert_eq!(lives[0].first_request.1, Some(Duration::from_millis(500)));
    }

    #[test]
    fn what_ends_after_the_clients_have_gone_was_abandoned() {
        let mut admission = admission();
        admission.arrive(at(0.0), 0, no_cpu);
        let (_, visit) = sent(admission.ready(at(1.0), Instance(0)));
        admission.desert();
        admission.leave(at(9.0), &visit, End::Broken);
        let Account { broken, abandoned, passage, .. } = admission.account(at(9.0), Duration::ZERO);
        assert_eq!((broken, abandoned, passage.count()), (0, 1, 0));
    }

    #[test]
    fn who_waits_too_long_is_turned_away_with_429() {
        let mut admission = admission();
        admission.arrive(at(0.0), 7, no_cpu);
        let mut deeds = Vec::new();
        while admission.next_due() <= at(10.0) {
            let due = admission.next_due();
            deeds.extend(admission.pass(due, 0.0, Duration::ZERO));
        }
        assert_eq!(deeds, [Deed::Reject { request: 7, status: 429 }]);
        assert_eq!(admission.account(at(10.0), Duration::ZERO).rejected, 1);
    }

    #[test]
    fn an_instance_that_was_lost_is_another_from_the_one_that_takes_its_place() {
        let mut admission = admission();
        admission.arrive(at(0.0), 0, no_cpu);
        let deeds = admission.lose(at(1.0), Instance(0));
        assert_eq!(deeds, [Deed::Stop(Instance(0)), Deed::Start(Instance(1))]);
        // What is said of the first is no news of the second.
        assert_eq!(admission.ready(at(1.5), Instance(0)), []);
        assert_eq!(admission.lose(at(1.5), Instance(0)), []);
        let (_, visit) = sent(admission.ready(at(2.0), Instance(1)));
        // It breaks while it works: it is gone once that request is over.
        assert_eq!(admission.lose(at(3.0), Instance(1)), []);
        assert_eq!(admission.leave(at(3.0), &visit, End::Broken), [Deed::Stop(Instance(1))]);
        let lives = admission.account(at(4.0), Duration::ZERO).lives;
        assert_eq!(lives.iter().map(|life| life.ended).collect::<Vec<_>>(), [Some(at(1.0)), Some(at(3.0))]);
    }

    #[test]
    fn what_is_billed_and_used_is_that_of_the_window() {
        let mut admission = admission();
        admission.arrive(at(0.0), 0, no_cpu);
        let (_, visit) = sent(admission.ready(at(1.0), Instance(0)));
        admission.count(at(2.0)..at(4.0));
        admission.leave(at(3.0), &visit, End::Answered(200));
        for (time, own) in [(2.0, 10), (4.0, 25), (5.0, 90)] {
            admission.pass(at(time), 0.0, Duration::from_millis(own));
        }
        let account = admission.account(at(5.0), Duration::from_millis(100));
        assert_eq!(account.cpu, Duration::from_millis(15));
        // The span that began before it ended in it; the clock was told late of the opening, when the request was over.
        assert!(account.usage.lived_seconds > 1.9, "{:?}", account.usage);
    }
}
