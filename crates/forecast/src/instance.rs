//! A simulated instance: workers that share its CPU, and requests that wait for a worker.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use stampede_core::Cpus;

use crate::Wake;
use crate::quota::{Account, Quota};

/// How long a process keeps its processor while others want it: `base_slice_ns`, 0.7 ms on one processor and as much more with each
/// doubling of their number, here two (kernel/sched/fair.c, `sysctl_sched_base_slice` and `get_update_sysctl_factor`;
/// docs.kernel.org/scheduler/sched-eevdf.html). Who is woken later than that in a turn ends it; among those that wait already it goes
/// on until the next tick.
pub(crate) const SLICE: u64 = 1_400_000;

/// A turn is no less than this part of the mean request: with turns of half of it, requests share nearly as with shorter ones, which
/// each would be an event.
const PART_OF_MEAN: u32 = 2;

/// A turn is no less than this part of what a request has had, so that one of seconds is not cut into thousands of turns.
const LEAST_PART: f64 = 1.0 / 64.0;

/// What is left of a request when its worker gives way to the process in front, in nanoseconds: nginx took 0.07 ms to pass on what
/// PHP-FPM answers.
const ANSWER: f64 = 70_000.0;

/// What all instances of a service are.
#[derive(Clone, Debug)]
pub struct InstanceModel {
    quota: Quota,
    processors: usize,
    /// Of `n` requests that are worked on: on how many processors, and by how much each that is on one gets on while all together
    /// use a nanosecond of CPU.
    speeds: Vec<(f64, f64)>,
    /// How long processes have a processor while others want it, where that is given.
    slice: Option<Duration>,
    /// The same in nanoseconds of a request's work.
    turn: f64,
    workers: u32,
    /// What is left of a request when its worker has answered.
    answer: f64,
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
        let processors = cpus.whole_cores();
        let speed = |n: u32| {
            let on = f64::from(n.max(1)).min(processors as f64);
            let most = if n < workers { 1.0 } else { f64::INFINITY };
            (on, efficiency(n.max(1)).min(most) / on)
        };
        Self {
            quota: Quota::of(cpus),
            processors,
            slice: None,
            turn: SLICE as f64,
            speeds: (0..=workers).map(speed).collect(),
            workers,
            answer: 0.0,
            wake: Wake::default(),
            start_cpu: start.cpu,
            start_wait: start.wait,
        }
    }

    /// The same where processes have a processor for so long while others want it; the shorter that is, the more they share it.
    #[must_use]
    pub fn with_slice(self, slice: Duration) -> Self {
        Self { slice: Some(slice), turn: slice.as_nanos() as f64, ..self }
    }

    /// The same for requests that take so much CPU time in the mean.
    pub(crate) fn for_requests_of(self, mean: Duration) -> Self {
        let turn = self.slice.unwrap_or_else(|| Duration::from_nanos(SLICE).max(mean / PART_OF_MEAN));
        Self { turn: turn.as_nanos() as f64, ..self }
    }

    /// The same with a process in front of its workers that passes on what they answer. Where instances share processors, another one
    /// may come in between.
    #[must_use]
    pub fn with_front(self) -> Self {
        Self { answer: ANSWER, ..self }
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

/// A request on a processor.
#[derive(Clone, Copy, Debug)]
struct Turn<R> {
    /// What is left when its work is done.
    answer: f64,
    /// What of its work was done before, and what is done now before others have their turn.
    had: f64,
    length: f64,
    /// Marks: when it began, when others have their turn, and when the request is over.
    began: f64,
    until: f64,
    end: f64,
    request: R,
}

impl<R> Turn<R> {
    /// Others wait from now on: alone it went on beyond its turn, and they have theirs at the end of one more.
    fn make_way(&mut self, got: f64) {
        let turns = ((got - self.began) / self.length).ceil().max(1.0);
        self.until = self.began + turns * self.length;
    }

    /// When it leaves its processor.
    fn leaves(&self, others_wait: bool) -> f64 {
        if others_wait { self.until.min(self.end) } else { self.end }
    }
}

/// A request that waits for a processor.
#[derive(Clone, Copy, Debug)]
struct Waiting<R> {
    /// What is left when its work is done.
    answer: f64,
    /// What of its work was done, and what is left.
    had: f64,
    left: f64,
    request: R,
}

/// Requests take turns on the processors, first come, first served (round robin; L. Kleinrock, Queueing Systems II, 4.4): short ones are
/// done in their first turn, long ones share. Marks are in virtual time: all that are on a processor get on alike, so each leaves it
/// when what every one of them got since the beginning reaches a mark. While nobody waits, nothing happens at the end of a turn.
#[derive(Debug)]
pub(crate) struct Instance<R> {
    now: u64,
    account: Account,
    /// CPU work that each request on a processor has got since the instance was there.
    got: f64,
    /// As many as there are processors at most.
    on: Vec<Turn<R>>,
    waiting: VecDeque<Waiting<R>>,
    /// Off the CPU, until a time.
    away: BinaryHeap<Reverse<Due<Job<R>>>>,
    backlog: VecDeque<Job<R>>,
    /// Since when there is no request, where there is none.
    idle_since: Option<u64>,
    /// The part of its processors that it gets, where all instances share a machine.
    share: Option<f64>,
}

/// What became of a request when something happened to an instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Event<R> {
    /// It is worked on, or waits.
    Nothing,
    /// Its worker is done with it and gave way to the process in front, which passes the answer on.
    HandedOver,
    /// It is over.
    Over(R),
}

impl<R: Copy> Instance<R> {
    pub(crate) fn new(now: u64, model: &InstanceModel) -> Self {
        Self {
            now,
            account: model.quota.open(now),
            got: 0.0,
            on: Vec::new(),
            waiting: VecDeque::new(),
            away: BinaryHeap::new(),
            backlog: VecDeque::new(),
            idle_since: Some(now),
            share: None,
        }
    }

    /// Whether it has nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle_since.is_some()
    }

    /// Takes a request in, on a processor that did something for any instance until `worked_until`. Returns the CPU time that was used
    /// since the last call.
    pub(crate) fn add(&mut self, now: u64, mut job: Job<R>, worked_until: u64, model: &InstanceModel) -> f64 {
        let used = self.advance(now, model);
        if let Some(since) = self.idle_since.take() {
            let (cpu, wait) = model.wake.after(now.saturating_sub(since.max(worked_until)));
            job.cpu += cpu;
            job.wait += wait as u64;
        }
        if self.worked_on() + self.away.len() < model.workers as usize {
            self.begin(job, model);
        } else {
            self.backlog.push_back(job);
        }
        used
    }

    /// When something happens next: a request is over or back on the CPU, or, where others wait for its processors, its quota is
    /// used up or there again.
    pub(crate) fn next(&self, model: &InstanceModel) -> Option<u64> {
        let done = self.first().and_then(|(_, until)| {
            let (cores, gain) = self.speed(model);
            // Others have the processors: it goes on when it is told that it has some.
            if cores == 0.0 {
                return None;
            }
            let cpu = ((until - self.got) / gain).max(0.0);
            let done = self.now + model.quota.time_for(&self.account, self.now, cpu, cores).ceil() as u64;
            let turn = self.share.map(|_| model.quota.turn(&self.account, self.now, cores));
            Some(turn.map_or(done, |turn| turn.min(done)))
        });
        let back = self.away.peek().map(|Reverse(first)| first.at as u64);
        match (done, back) {
            (Some(done), Some(back)) => Some(done.min(back)),
            (done, back) => done.or(back),
        }
    }

    /// How many processors it would use now if they were all its own.
    pub(crate) fn demand(&self, model: &InstanceModel) -> f64 {
        if self.on.is_empty() || model.quota.is_used_up(&self.account) { 0.0 } else { model.speeds[self.worked_on()].0 }
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

    /// Does what [`Instance::next`] announced for now. Returns the CPU time that was used since the last call, and what
    /// became of the request.
    pub(crate) fn happen(&mut self, now: u64, model: &InstanceModel) -> (f64, Event<R>) {
        let used = self.advance(now, model);
        if self.away.peek().is_some_and(|Reverse(first)| first.at as u64 <= now) {
            if let Some(Reverse(Due { request: job, .. })) = self.away.pop() {
                self.run(job, model);
            }
            return (used, Event::Nothing);
        }
        // What is left of it is rounding, or its quota was used up or is there again.
        let Some((place, until)) = self.first().filter(|(_, until)| until - self.got <= ROUNDING_NS) else {
            return (used, Event::Nothing);
        };
        let Turn { had, began, end, request, answer, .. } = self.on.swap_remove(place);
        // Rounding to nanoseconds leaves a trifle; nobody after it may lose or gain by that.
        self.got = until;
        let event = match end - until <= ROUNDING_NS {
            true if answer > 0.0 => Event::HandedOver,
            true => Event::Over(request),
            false => Event::Nothing,
        };
        let had = had + until - began;
        match event {
            Event::HandedOver => self.waiting.push_front(Waiting { answer: 0.0, had, left: answer, request }),
            Event::Nothing => self.waiting.push_back(Waiting { answer, had, left: end - until, request }),
            Event::Over(_) => {}
        }
        if let Some(next) = self.waiting.pop_front() {
            self.take_turn(next, model);
        }
        if !matches!(event, Event::Over(_)) {
            return (used, event);
        }
        if let Some(job) = self.backlog.pop_front() {
            self.begin(job, model);
        } else if self.on.is_empty() && self.away.is_empty() {
            self.idle_since = Some(now);
        }
        (used, event)
    }

    /// How many are on the CPU, or wait for it.
    fn worked_on(&self) -> usize {
        self.on.len() + self.waiting.len()
    }

    /// Who leaves its processor first, and at which mark.
    fn first(&self) -> Option<(usize, f64)> {
        let others_wait = !self.waiting.is_empty();
        let marks = self.on.iter().map(|turn| turn.leaves(others_wait)).enumerate();
        marks.min_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    fn begin(&mut self, job: Job<R>, model: &InstanceModel) {
        if job.wait > 0 {
            self.away.push(Reverse(Due { at: (self.now + job.wait) as f64, request: job }));
        } else {
            self.run(job, model);
        }
    }

    fn run(&mut self, Job { cpu, request, .. }: Job<R>, model: &InstanceModel) {
        if self.on.is_empty() {
            // Marks stay small, so that sums keep their digits however long the instance lives.
            self.got = 0.0;
        }
        // Elsewhere nobody can come in between.
        let answer = if self.share.is_some() { model.answer.min(cpu / 2.0) } else { 0.0 };
        let fresh = Waiting { answer, had: 0.0, left: cpu - answer, request };
        if self.on.len() < model.processors {
            self.take_turn(fresh, model);
        } else {
            if self.waiting.is_empty() {
                self.on.iter_mut().for_each(|turn| turn.make_way(self.got));
            }
            self.waiting.push_back(fresh);
        }
    }

    fn take_turn(&mut self, Waiting { answer, had, left, request }: Waiting<R>, model: &InstanceModel) {
        let length = model.turn.max(had * LEAST_PART);
        let began = self.got;
        self.on.push(Turn { answer, had, length, began, until: began + length, end: began + left, request });
    }

    /// On how many processors, and by how much each request on one gets on in a nanosecond of CPU.
    fn speed(&self, model: &InstanceModel) -> (f64, f64) {
        let n = self.worked_on();
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
                    instance.add(at, Job { cpu, wait, request: index }, 0, model);
                    index += 1;
                }
                (_, Some(next)) => {
                    if let (_, Event::Over(request)) = instance.happen(next, model) {
                        ends.push((request, next));
                    }
                }
                (_, None) => return ends,
            }
        }
    }

    #[test]
    fn requests_share_the_cpu_as_by_hand() {
        // Turns of a nanosecond are as good as none.
        let new = |cpus, workers, efficiency: fn(u32) -> f64| {
            InstanceModel::new(Cpus::from_millis(cpus), workers, START, efficiency).with_slice(Duration::from_nanos(1))
        };
        let one = |workers| new(1000, workers, |_| 1.0);
        // Two of 10 and 4 that come together: 4 is over at 8, 10 at 14.
        assert_eq!(run(&one(8), &[(0, 10.0, 0), (0, 4.0, 0)]), [(1, 8), (0, 14)]);
        // One worker: first come, first served.
        assert_eq!(run(&one(1), &[(0, 10.0, 0), (0, 4.0, 0)]), [(0, 10), (1, 14)]);
        // 6 alone, then 4 left and 2 by turns, which the one that came has first, then 3 left: 12.
        assert_eq!(run(&one(8), &[(0, 10.0, 0), (6, 2.0, 0)]), [(1, 9), (0, 12)]);
        // Off the CPU for 20 while the other has it alone.
        assert_eq!(run(&one(8), &[(0, 5.0, 20), (0, 4.0, 0)]), [(1, 4), (0, 25)]);
        // Two processors and three requests: each gets two thirds.
        let two = new(2000, 8, |_| 1.0);
        assert_eq!(run(&two, &[(0, 6.0, 0), (0, 6.0, 0), (0, 6.0, 0)]).last(), Some(&(2, 9)));
        // Work that gets half as much done while two share: 19 of it, and the last turn alone.
        let slow = new(1000, 8, |n| if n > 1 { 0.5 } else { 1.0 });
        assert_eq!(run(&slow, &[(0, 10.0, 0), (0, 10.0, 0)]).last().map(|(_, at)| *at), Some(39));
        // Work that gets twice as much done while all workers have some, to a hundredth: the last turn is alone.
        let batch = |workers| {
            let ends = run(&new(1000, workers, |n| f64::from(n.min(2))), &[(0, 1e6, 0), (0, 1e6, 0)]);
            ends.last().map(|(_, at)| *at / 10_000)
        };
        assert_eq!((batch(2), batch(3)), (Some(100), Some(200)));
        // A quota of half a processor: 50 ms of work, a stall of as much, and 10 ms more.
        let half = new(500, 8, |_| 1.0);
        assert_eq!(run(&half, &[(0, 6e7, 0)]), [(0, 110_000_000)]);
    }

    #[test]
    fn requests_take_turns_as_by_hand() {
        let model = InstanceModel::new(Cpus::from_millis(1000), 8, START, |_| 1.0).with_slice(Duration::from_nanos(4));
        // A short one that comes while another has its turn waits for the end of that, and is done in its own.
        assert_eq!(run(&model, &[(0, 10.0, 0), (1, 2.0, 0)]), [(1, 6), (0, 12)]);
        // 7 alone are a turn and a part of the next, whose end is at 8.
        assert_eq!(run(&model, &[(0, 10.0, 0), (7, 2.0, 0)]), [(1, 10), (0, 12)]);
        // Two that are short are served in the order in which they come.
        assert_eq!(run(&model, &[(0, 3.0, 0), (1, 3.0, 0), (2, 1.0, 0)]), [(0, 3), (1, 6), (2, 7)]);
        // Three on two processors: two have a turn of 4, then the third one, beside whom both end; its last 2 are over at 10.
        let two = InstanceModel::new(Cpus::from_millis(2000), 8, START, |_| 1.0).with_slice(Duration::from_nanos(4));
        assert_eq!(run(&two, &[(0, 6.0, 0), (0, 6.0, 0), (0, 6.0, 0)]).last(), Some(&(2, 10)));
        // Of two that take long, turns are longer the more each has had: some hundreds, and not 500,000.
        let mut instance = Instance::new(0, &model);
        for request in [0, 1] {
            instance.add(0, Job { cpu: 1e6, wait: 0, request }, 0, &model);
        }
        let (mut events, mut done) = (0, 0);
        while let Some(next) = instance.next(&model) {
            events += 1;
            done += u32::from(matches!(instance.happen(next, &model).1, Event::Over(_)));
        }
        assert!(done == 2 && events < 2_000, "{events}");
    }

    #[test]
    fn an_answer_is_passed_on_after_the_work_where_others_share_the_processors() {
        let model = InstanceModel::new(Cpus::from_millis(1000), 1, START, |_| 1.0).with_front();
        let mut instance = Instance::new(0, &model);
        assert_eq!(instance.share(0, 1.0, &model), Some(0.0));
        instance.add(0, Job { cpu: 1e6, wait: 0, request: 7 }, 0, &model);
        assert_eq!(instance.next(&model), Some(930_000));
        assert_eq!(instance.happen(930_000, &model).1, Event::HandedOver);
        // Somebody else has the processor for a while.
        instance.share(930_000, 0.0, &model);
        assert_eq!((instance.next(&model), instance.demand(&model)), (None, 1.0));
        instance.share(1_930_000, 1.0, &model);
        assert_eq!(instance.next(&model), Some(2_000_000));
        assert_eq!(instance.happen(2_000_000, &model).1, Event::Over(7));
    }

    #[test]
    fn a_start_takes_longer_on_less_cpu() {
        let model = InstanceModel::new(Cpus::from_millis(500), 1, START, |_| 1.0);
        for (cpus, ms) in [(2000, 250), (1000, 250), (500, 400)] {
            assert_eq!(model.start_time(Cpus::from_millis(cpus)).as_millis(), ms, "{cpus}");
        }
    }
}
