//! A simulated instance: workers that share its CPU, and requests that wait for a worker.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use stampede_core::Cpus;

use crate::Wake;
use crate::quota::{Account, Quota};

/// What all instances of a service are.
#[derive(Clone, Debug)]
pub struct InstanceModel {
    quota: Quota,
    /// Of `n` requests that are worked on: on how many processors, and by how much each of them gets on while all together use
    /// a nanosecond of CPU.
    speeds: Vec<(f64, f64)>,
    workers: u32,
    wake: Wake,
    start_cpu: Duration,
    start_wait: Duration,
}

/// How an instance starts: CPU time on one processor, and time that passes whatever its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// CPU time.
    pub cpu: Duration,
    /// Other time.
    pub wait: Duration,
}

impl InstanceModel {
    /// An instance with so much CPU, on as many processors as that fills, and `workers` that each work on one request.
    ///
    /// `efficiency` tells how much work gets done in a second of CPU while so many requests are worked on, as a share of
    /// what is done while there is one: the measured speed is `mu(n) = min(n, processors) x efficiency(n)`. What is more than one
    /// comes of workers that find their next request there and never sleep, and is theirs only while all of them work.
    pub fn new(cpus: Cpus, workers: u32, start: Start, efficiency: impl Fn(u32) -> f64) -> Self {
        let processors = cpus.whole_cores() as f64;
        let speed = |n: u32| {
            let n_f = f64::from(n.max(1));
            let most = if n < workers { 1.0 } else { f64::INFINITY };
            (n_f.min(processors), efficiency(n.max(1)).min(most) / n_f)
        };
        Self {
            quota: Quota::of(cpus),
            speeds: (0..=workers).map(speed).collect(),
            workers,
            wake: Wake::default(),
            start_cpu: start.cpu,
            start_wait: start.wait,
        }
    }

    /// The same, where what it costs that an instance was idle is known.
    #[must_use]
    pub fn with_wake(self, wake: Wake) -> Self {
        Self { wake, ..self }
    }

    /// How long an instance takes to be ready with so much CPU meanwhile.
    pub fn start_time(&self, cpus: Cpus) -> Duration {
        let quota = Quota::of(cpus);
        let ns = quota.time_for(&quota.open(0), 0, self.start_cpu.as_nanos() as f64, 1.0);
        self.start_wait + Duration::from_nanos(ns.ceil() as u64)
    }
}

/// What a request asks for: nanoseconds of CPU while it is alone, and nanoseconds off the CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<R> {
    pub(crate) cpu: f64,
    pub(crate) wait: u64,
    pub(crate) request: R,
}

/// Times are whole nanoseconds: work of less than that may be left when it is over.
const ROUNDING_NS: f64 = 1e-3;

/// Something that comes up at a point on some scale; the lowest first.
#[derive(Clone, Copy, Debug)]
struct Due<R> {
    at: f64,
    request: R,
}

impl<R> PartialEq for Due<R> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl<R> Eq for Due<R> {}
impl<R> PartialOrd for Due<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<R> Ord for Due<R> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at)
    }
}

/// Processor sharing in virtual time: all requests that are worked on get on alike, so each is over when what every one of them
/// got since the beginning reaches a mark that is known when it comes. An arrival or an end then costs the logarithm of
/// their number, not their number.
#[derive(Debug)]
pub(crate) struct Instance<R> {
    now: u64,
    account: Account,
    /// CPU work that each request which is worked on has got since the instance was there.
    got: f64,
    running: BinaryHeap<Reverse<Due<R>>>,
    /// Off the CPU, until a time.
    away: BinaryHeap<Reverse<Due<Job<R>>>>,
    backlog: VecDeque<Job<R>>,
    /// Since when there is no request, where there is none.
    idle_since: Option<u64>,
    /// The part of its processors that it gets, where all instances share a machine.
    share: Option<f64>,
}

impl<R: Copy> Instance<R> {
    pub(crate) fn new(now: u64, model: &InstanceModel) -> Self {
        Self {
            now,
            account: model.quota.open(now),
            got: 0.0,
            running: BinaryHeap::new(),
            away: BinaryHeap::new(),
            backlog: VecDeque::new(),
            idle_since: Some(now),
            share: None,
        }
    }

    /// Takes a request in. Returns the CPU time that was used since the last call.
    pub(crate) fn add(&mut self, now: u64, mut job: Job<R>, model: &InstanceModel) -> f64 {
        let used = self.advance(now, model);
        if let Some(since) = self.idle_since.take() {
            let (cpu, wait) = model.wake.after(now.saturating_sub(since));
            job.cpu += cpu;
            job.wait += wait as u64;
        }
        if self.running.len() + self.away.len() < model.workers as usize {
            self.begin(job);
        } else {
            self.backlog.push_back(job);
        }
        used
    }

    /// When something happens next: a request is over or back on the CPU, or, where others wait for its processors, its quota is
    /// used up or there again.
    pub(crate) fn next(&self, model: &InstanceModel) -> Option<u64> {
        let done = self.running.peek().map(|Reverse(first)| {
            let (cores, gain) = self.speed(model);
            let cpu = ((first.at - self.got) / gain).max(0.0);
            let done = self.now + model.quota.time_for(&self.account, self.now, cpu, cores).ceil() as u64;
            let turn = self.share.map(|_| model.quota.turn(&self.account, self.now, cores));
            turn.map_or(done, |turn| turn.min(done))
        });
        let back = self.away.peek().map(|Reverse(first)| first.at as u64);
        match (done, back) {
            (Some(done), Some(back)) => Some(done.min(back)),
            (done, back) => done.or(back),
        }
    }

    /// How many processors it would use now if they were all its own.
    pub(crate) fn demand(&self, model: &InstanceModel) -> f64 {
        if self.running.is_empty() || model.quota.is_used_up(&self.account) {
            0.0
        } else {
            model.speeds[self.running.len()].0
        }
    }

    /// From now on it gets this part of them. Returns the CPU time that was used since the last call, where that is another part.
    pub(crate) fn share(&mut self, now: u64, part: f64, model: &InstanceModel) -> Option<f64> {
        if self.share == Some(part) {
            return None;
        }
        let used = self.advance(now, model);
        self.share = Some(part);
        Some(used)
    }

    /// Does what [`Instance::next`] announced for now. Returns the CPU time that was used since the last call, and the request
    /// that is over, if one is.
    pub(crate) fn happen(&mut self, now: u64, model: &InstanceModel) -> (f64, Option<R>) {
        let used = self.advance(now, model);
        if self.away.peek().is_some_and(|Reverse(first)| first.at as u64 <= now) {
            if let Some(Reverse(Due { request: job, .. })) = self.away.pop() {
                self.run(job);
            }
            return (used, None);
        }
        // What is left of it is rounding, or its quota was used up or is there again.
        if self.running.peek().is_none_or(|Reverse(first)| first.at - self.got > ROUNDING_NS) {
            return (used, None);
        }
        let Some(Reverse(Due { at, request })) = self.running.pop() else { return (used, None) };
        // Rounding to nanoseconds leaves a trifle; nobody after it may lose or gain by that.
        self.got = at;
        if let Some(job) = self.backlog.pop_front() {
            self.begin(job);
        } else if self.running.is_empty() && self.away.is_empty() {
            self.idle_since = Some(now);
        }
        (used, Some(request))
    }

    fn begin(&mut self, job: Job<R>) {
        if job.wait > 0 {
            self.away.push(Reverse(Due { at: (self.now + job.wait) as f64, request: job }));
        } else {
            self.run(job);
        }
    }

    fn run(&mut self, Job { cpu, request, .. }: Job<R>) {
        if self.running.is_empty() {
            // Marks stay small, so that sums keep their digits however long the instance lives.
            self.got = 0.0;
        }
        self.running.push(Reverse(Due { at: self.got + cpu, request }));
    }

    /// On how many processors, and by how much each request gets on in a nanosecond of CPU.
    fn speed(&self, model: &InstanceModel) -> (f64, f64) {
        let n = self.running.len();
        if n == 0 {
            return (0.0, 0.0);
        }
        let (cores, gain) = model.speeds[n];
        (cores * self.share.unwrap_or(1.0), gain)
    }

    fn advance(&mut self, now: u64, model: &InstanceModel) -> f64 {
        let (cores, gain) = self.speed(model);
        let used = model.quota.use_up(&mut self.account, self.now, now, cores);
        self.got += used * gain;
        self.now = now;
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Start = Start { cpu: Duration::from_millis(200), wait: Duration::from_millis(50) };

    fn run(model: &InstanceModel, jobs: &[(u64, f64, u64)]) -> Vec<(usize, u64)> {
        let mut instance = Instance::new(0, model);
        let (mut ends, mut index) = (Vec::new(), 0);
        loop {
            let arrival = jobs.get(index).map(|(at, ..)| *at);
            match (arrival, instance.next(model)) {
                (Some(at), next) if next.is_none_or(|next| at < next) => {
                    let (_, cpu, wait) = jobs[index];
                    instance.add(at, Job { cpu, wait, request: index }, model);
                    index += 1;
                }
                (_, Some(next)) => ends.extend(instance.happen(next, model).1.map(|request| (request, next))),
                (_, None) => return ends,
            }
        }
    }

    #[test]
    fn requests_share_the_cpu_as_by_hand() {
        let one = |workers| InstanceModel::new(Cpus::from_millis(1000), workers, START, |_| 1.0);
        // Two of 10 and 4 that come together: 4 is over at 8, 10 at 14.
        assert_eq!(run(&one(8), &[(0, 10.0, 0), (0, 4.0, 0)]), [(1, 8), (0, 14)]);
        // One worker: first come, first served.
        assert_eq!(run(&one(1), &[(0, 10.0, 0), (0, 4.0, 0)]), [(0, 10), (1, 14)]);
        // 6 alone, then 4 left beside 2 until that is over at 10, then 2 left: 12.
        assert_eq!(run(&one(8), &[(0, 10.0, 0), (6, 2.0, 0)]), [(1, 10), (0, 12)]);
        // Off the CPU for 20 while the other has it alone.
        assert_eq!(run(&one(8), &[(0, 5.0, 20), (0, 4.0, 0)]), [(1, 4), (0, 25)]);
        // Two processors and three requests: each gets two thirds.
        let two = InstanceModel::new(Cpus::from_millis(2000), 8, START, |_| 1.0);
        assert_eq!(run(&two, &[(0, 6.0, 0), (0, 6.0, 0), (0, 6.0, 0)]).last(), Some(&(2, 9)));
        // Work that gets half as much done while two share.
        let slow = InstanceModel::new(Cpus::from_millis(1000), 8, START, |n| if n > 1 { 0.5 } else { 1.0 });
        assert_eq!(run(&slow, &[(0, 10.0, 0), (0, 10.0, 0)]).last().map(|(_, at)| *at), Some(40));
        // Work that gets twice as much done while all workers have some.
        let batch = |workers| InstanceModel::new(Cpus::from_millis(1000), workers, START, |n| f64::from(n.min(2)));
        assert_eq!(run(&batch(2), &[(0, 10.0, 0), (0, 10.0, 0)]).last().map(|(_, at)| *at), Some(10));
        assert_eq!(run(&batch(3), &[(0, 10.0, 0), (0, 10.0, 0)]).last().map(|(_, at)| *at), Some(20));
        // A quota of half a processor: 52 ms of work, a stall of 48 ms, and 8 ms more.
        let half = InstanceModel::new(Cpus::from_millis(500), 8, START, |_| 1.0);
        assert_eq!(run(&half, &[(0, 6e7, 0)]), [(0, 108_000_000)]);
    }

    #[test]
    fn a_start_takes_longer_on_less_cpu() {
        let model = InstanceModel::new(Cpus::from_millis(500), 1, START, |_| 1.0);
        for (cpus, ms) in [(2000, 250), (1000, 250), (500, 398)] {
            assert_eq!(model.start_time(Cpus::from_millis(cpus)).as_millis(), ms, "{cpus}");
        }
    }
}
