//! A service, simulated: requests come, the platform's own control code places them, instances work.

use std::time::Duration;

use stampede_core::{Latencies, Random};
use stampede_scale::{Action, Controller, InstanceId, Policy, QueueLimits, ServiceSettings, Time, Usage};

use crate::agenda::Agenda;
use crate::host::{Change, Host};
use crate::instance::{Event, Instance, Job};
use crate::traffic::{Request, Source};
use crate::{InstanceModel, Shape, Traffic, Work};

/// What is simulated.
#[derive(Clone, Debug)]
pub struct SimulationSetup {
    /// The service.
    pub service: ServiceSettings,
    /// Its autoscaler.
    pub policy: Policy,
    /// Its queue.
    pub queue: QueueLimits,
    /// What times on the bill are rounded up to.
    pub granularity: Duration,
    /// Its instances.
    pub instance: InstanceModel,
    /// How many processors all instances share, as on a laptop; otherwise each has its own. Starts are not among what is shared.
    pub host_cpus: Option<u32>,
    /// What the median request asks for.
    pub work: Work,
    /// When requests come.
    pub traffic: Traffic,
    /// Of what happens before, nothing is counted.
    pub warm_up: Duration,
    /// How long it is counted.
    pub duration: Duration,
}

/// What came of it. Counts are those of requests that came within the time that is counted.
#[derive(Clone, Debug)]
pub struct Run {
    /// How long was counted.
    pub duration: Duration,
    /// From a request's arrival to the end of its answer, without any network; of those that were answered or given up.
    pub response: Latencies,
    /// The mean of these, in seconds.
    pub mean_response: f64,
    /// Requests that were answered in time.
    pub answered: u64,
    /// Requests that were turned away.
    pub rejected: u64,
    /// Requests that took longer than the time-out, which their latency then is.
    pub timed_out: u64,
    /// Instances that were there, starting ones included.
    pub instances: InstanceCounts,
    /// Instances that were started for a request, or by the autoscaler.
    pub cold_starts: u64,
    /// How long each of them took.
    pub start_time: Duration,
    /// CPU-seconds that instances used.
    pub cpu_seconds: f64,
    /// What is billed.
    pub usage: Usage,
    /// All requests that were simulated, counted or not.
    pub simulated: u64,
}

/// How many there were, over the time that is counted.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceCounts {
    /// The fewest.
    pub min: u32,
    /// On average.
    pub mean: f64,
    /// The most.
    pub max: u32,
    /// How many at the ends of equal parts of that time.
    pub course: Vec<u32>,
}

/// In how many parts a course is told.
const PARTS: u64 = 60;

/// Simulates a scenario. The same seed gives the same run.
pub fn simulate(scenario: &SimulationSetup, shape: &impl Shape, seed: u64) -> Run {
    let mut simulation = Simulation::new(scenario, shape, seed);
    simulation.run();
    simulation.result()
}

struct Simulation<'a, S> {
    scenario: &'a SimulationSetup,
    /// What each instance is for requests of this work.
    model: InstanceModel,
    shape: &'a S,
    controller: Controller<Request>,
    actions: Vec<Action<Request>>,
    source: Source<'a>,
    agenda: Agenda,
    /// By number; one that starts is there, and has nothing to do.
    instances: Vec<Instance<Request>>,
    /// Whether what an instance's entry in the agenda announces is that it is ready.
    starting: Vec<bool>,
    /// The processors that all instances share, where they do.
    host: Option<Host>,
    random: Random,
    start_ns: u64,
    begin: u64,
    end: u64,
    /// Requests that came in the time that is counted and have no end yet.
    open: u64,
    cpu_ns: f64,
    alive: u32,
    count: Count,
    run: Run,
}

/// What is needed to count instances.
struct Count {
    changed: u64,
    instance_ns: f64,
    next_part: u64,
    at_begin: Option<(Usage, f64)>,
}

impl<'a, S: Shape> Simulation<'a, S> {
    fn new(scenario: &'a SimulationSetup, shape: &'a S, seed: u64) -> Self {
        let SimulationSetup { service, policy, queue, granularity, instance, traffic, warm_up, duration, .. } =
            scenario;
        let mut random = Random(seed);
        let source = Source::new(traffic, Random(random.draw()));
        let start_time = instance.start_time(service.start_cpus());
        let begin = warm_up.as_nanos() as u64;
        Self {
            scenario,
            model: instance.clone().for_requests_of(scenario.work.cpu.mul_f64(shape.mean())),
            shape,
            controller: Controller::new(*service, *policy, *queue, *granularity),
            actions: Vec::new(),
            source,
            agenda: Agenda::default(),
            instances: Vec::new(),
            starting: Vec::new(),
            host: scenario.host_cpus.map(Host::new),
            random,
            start_ns: start_time.as_nanos() as u64,
            begin,
            end: begin + duration.as_nanos() as u64,
            open: 0,
            cpu_ns: 0.0,
            alive: 0,
            count: Count { changed: begin, instance_ns: 0.0, next_part: begin, at_begin: None },
            run: Run {
                duration: *duration,
                response: Latencies::new(),
                mean_response: 0.0,
                answered: 0,
                rejected: 0,
                timed_out: 0,
                instances: InstanceCounts { min: u32::MAX, mean: 0.0, max: 0, course: Vec::new() },
                cold_starts: 0,
                start_time,
                cpu_seconds: 0.0,
                usage: Usage::default(),
                simulated: 0,
            },
        }
    }

    fn run(&mut self) {
        // The fewest were there before.
        self.controller.begin(Time::START, &mut self.actions);
        let warm = std::mem::take(&mut self.actions);
        for action in warm {
            if let Action::Start(id) = action {
                self.start(0, id, 0);
            }
        }
        // What has no end when a request may take no longer never gets one.
        let last = self.end + (self.scenario.service.request_timeout + self.scenario.queue.wait).as_nanos() as u64;
        loop {
            let arrival = self.source.due();
            let due = self.controller.next_due().nanos();
            let event = self.agenda.first();
            let first = event.map_or(u64::MAX, |(at, _)| at);
            let turn = self.host.as_ref().map_or(u64::MAX, Host::due);
            let now = first.min(due).min(arrival).min(turn);
            if now > self.count.next_part {
                self.count_parts(now);
            }
            if now > last || (now > self.end && self.open == 0) {
                return;
            }
            match event {
                Some((at, number)) if at == now => self.instance_event(now, number),
                _ if turn == now => self.host_changes(now, Change::Over),
                _ if due == now => {
                    self.controller.pass(Time::from_nanos(now), self.cpu_ns / 1e9, &mut self.actions);
                }
                _ => {
                    let Some(request) = self.source.take() else { return };
                    self.run.simulated += 1;
                    self.open += u64::from(self.counts(request));
                    self.controller.arrive(Time::from_nanos(now), request, &mut self.actions);
                }
            }
            self.act(now);
        }
    }

    fn instance_event(&mut self, now: u64, number: u32) {
        let time = Time::from_nanos(now);
        let index = number as usize;
        if self.starting[index] {
            self.starting[index] = false;
            self.agenda.set(number, None);
            self.controller.ready(time, InstanceId(number), &mut self.actions);
            return;
        }
        let model = &self.model;
        let (used, event) = self.instances[index].happen(now, model);
        self.cpu_ns += used;
        if let (Some(host), true) = (&mut self.host, matches!(event, Event::Over(_)) && self.instances[index].is_idle())
        {
            host.rest(now);
        }
        self.agenda.set(number, self.instances[index].next(model));
        self.host_changes(now, Change::Asks(number));
        if matches!(event, Event::HandedOver) {
            self.host_changes(now, Change::HandsOver(number));
        }
        if let Event::Over(request) = event {
            let timeout = self.scenario.service.request_timeout.as_nanos() as u64;
            let took = now - request.arrived;
            if self.counts(request) {
                self.open -= 1;
                self.run.response.record_ns(took.min(timeout));
                self.run.mean_response += took.min(timeout) as f64;
                if took > timeout {
                    self.run.timed_out += 1;
                } else {
                    self.run.answered += 1;
                }
            }
            self.source.answered(request, now);
            self.controller.finish(time, InstanceId(number), &mut self.actions);
        }
    }

    fn act(&mut self, now: u64) {
        // What is done here asks for nothing more at once.
        let mut actions = std::mem::take(&mut self.actions);
        for action in actions.drain(..) {
            match action {
                Action::Send { request, to } => self.send(now, request, to.0),
                Action::Start(id) => {
                    self.run.cold_starts += u64::from((self.begin..=self.end).contains(&now));
                    self.start(now, id, self.start_ns);
                }
                Action::Stop(InstanceId(number)) => {
                    self.starting[number as usize] = false;
                    self.agenda.set(number, None);
                    self.alive_becomes(now, self.alive - 1);
                }
                Action::Reject { request, .. } => {
                    if self.counts(request) {
                        self.open -= 1;
                        self.run.rejected += 1;
                    }
                    self.source.answered(request, now);
                }
            }
        }
        self.actions = actions;
    }

    fn send(&mut self, now: u64, request: Request, number: u32) {
        let Work { cpu, wait } = self.scenario.work;
        let factor = self.shape.draw(&mut self.random);
        let job = Job { cpu: cpu.as_nanos() as f64 * factor, wait: (wait.as_nanos() as f64 * factor) as u64, request };
        let model = &self.model;
        let instance = &mut self.instances[number as usize];
        let host = self.host.as_mut().filter(|_| instance.is_idle());
        let worked_until = host.map_or(0, |host| host.wake(now));
        self.cpu_ns += instance.add(now, job, worked_until, model);
        self.agenda.set(number, instance.next(model));
        self.host_changes(now, Change::Asks(number));
    }

    /// Something changes who has the processors of a machine that all share, and with it what its instances do next.
    fn host_changes(&mut self, now: u64, change: Change) {
        let (model, instances) = (&self.model, &mut self.instances);
        let Some(host) = &mut self.host else { return };
        host.change(now, change, |number| instances[number as usize].demand(model));
        for seat in host.seats() {
            let instance = &mut instances[seat.number as usize];
            if let Some(used) = instance.share(now, seat.part, model) {
                self.cpu_ns += used;
                self.agenda.set(seat.number, instance.next(model));
            }
        }
    }

    fn start(&mut self, now: u64, InstanceId(number): InstanceId, takes: u64) {
        let index = number as usize;
        let fresh = Instance::new(now + takes, &self.model);
        if index < self.instances.len() {
            self.instances[index] = fresh;
        } else {
            self.instances.push(fresh);
            self.starting.push(false);
        }
        self.alive_becomes(now, self.alive + 1);
        self.starting[index] = true;
        self.agenda.set(number, Some(now + takes));
    }

    fn counts(&self, request: Request) -> bool {
        (self.begin..self.end).contains(&request.arrived)
    }

    fn alive_becomes(&mut self, now: u64, alive: u32) {
        self.count_alive(now);
        self.alive = alive;
    }

    fn count_alive(&mut self, now: u64) {
        let now = now.min(self.end);
        if now > self.count.changed {
            self.count.instance_ns += f64::from(self.alive) * (now - self.count.changed) as f64;
            self.count.changed = now;
            let instances = &mut self.run.instances;
            (instances.min, instances.max) = (instances.min.min(self.alive), instances.max.max(self.alive));
        }
    }

    /// Notes what is there at the beginning, at the end of each part and at the end, where these have come.
    fn count_parts(&mut self, now: u64) {
        while self.count.next_part < now && self.count.next_part <= self.end {
            let at = self.count.next_part;
            self.count_alive(at);
            let cpu = self.cpu_ns / 1e9;
            if at == self.begin {
                self.count.at_begin = Some((self.controller.usage(Time::from_nanos(at)), cpu));
            } else {
                self.run.instances.course.push(self.alive);
            }
            if at == self.end {
                let (usage, before) = self.count.at_begin.unwrap_or_default();
                self.run.usage = self.controller.usage(Time::from_nanos(at)).since(usage);
                self.run.cpu_seconds = cpu - before;
                self.count.next_part = u64::MAX;
                return;
            }
            let part = (at - self.begin) * PARTS / (self.end - self.begin).max(1) + 1;
            let next =
                self.begin + ((self.end - self.begin) as u128 * u128::from(part)).div_ceil(u128::from(PARTS)) as u64;
            self.count.next_part = next.min(self.end);
        }
    }

    fn result(mut self) -> Run {
        self.count_parts(u64::MAX);
        // Who is still at it has not been answered in time.
        let timeout = self.scenario.service.request_timeout.as_nanos() as u64;
        for _ in 0..self.open {
            self.run.response.record_ns(timeout);
            self.run.mean_response += timeout as f64;
        }
        self.run.timed_out += self.open;
        let ended = self.run.answered + self.run.timed_out;
        self.run.mean_response /= 1e9 * ended.max(1) as f64;
        self.run.instances.mean = self.count.instance_ns / ((self.end - self.begin).max(1) as f64);
        self.run
    }
}
