//! Services that are only computed: a pool of workers, each request of which waits for something else and then works on processors
//! that all of them share under a quota.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use stampede_core::Random;

/// One runtime's part in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    /// Mean CPU time of a request, in seconds.
    pub(super) work: f64,
    /// Mean time of a request without CPU, in seconds.
    pub(super) wait: f64,
    /// How many of ten requests take eight times as long as the others; none have exponential times.
    pub(super) slow: u32,
    /// Memory before the first worker, and of each, in MiB.
    pub(super) memory: (f64, f64),
}

/// Under what it is served.
#[derive(Clone, Copy, Debug)]
pub(super) struct Under {
    pub(super) cores: f64,
    pub(super) workers: u32,
    pub(super) rate: f64,
}

/// What a window showed.
pub(super) struct Window {
    /// Response times, in seconds, in no order; those without an answer at their age.
    pub(super) responses: Vec<f64>,
    /// Requests without an answer when it was drained.
    pub(super) unanswered: u64,
    /// CPU time of a request.
    pub(super) work: f64,
}

/// How long answers are waited for after a window.
const DRAIN: f64 = 5.0;

impl Served {
    /// MiB that so many workers need.
    pub(super) fn needs(&self, workers: u32) -> f64 {
        self.memory.0 + self.memory.1 * f64::from(workers)
    }

    /// A request's CPU time, as a share of the mean.
    fn share(&self, random: &mut Random) -> f64 {
        if self.slow == 0 {
            return random.exponential();
        }
        let slow = f64::from(self.slow) / 10.0;
        let quick = 1.0 / (1.0 - slow + 8.0 * slow);
        if random.uniform() <= slow { 8.0 * quick } else { quick }
    }

    /// A window of so many seconds after a warm-up of so many, at a rate of random arrivals.
    pub(super) fn window(&self, under: Under, [warm_up, window]: [f64; 2], random: &mut Random) -> Window {
        let Under { cores, workers, rate } = under;
        let closes = warm_up + window;
        // Times and shares of work are positive, so that their bits are in their order.
        let key = |number: f64| Reverse(number.to_bits());
        let (mut now, mut each) = (0.0_f64, 0.0_f64);
        let mut next = random.exponential() / rate;
        let mut queue: VecDeque<f64> = VecDeque::new();
        let mut waiting: BinaryHeap<(Reverse<u64>, u64)> = BinaryHeap::new();
        let mut working: BinaryHeap<(Reverse<u64>, u64)> = BinaryHeap::new();
        let (mut responses, mut works, mut done) = (Vec::new(), 0.0, 0_u32);
        loop {
            let speed = if working.is_empty() { 0.0 } else { (cores / working.len() as f64).min(1.0) };
            let worked = working.peek().map(|(Reverse(at), _)| now + (f64::from_bits(*at) - each).max(0.0) / speed);
            let waited = waiting.peek().map(|(Reverse(at), _)| f64::from_bits(*at));
            let arrives = (next < closes).then_some(next);
            let Some(at) = [worked, waited, arrives].into_iter().flatten().reduce(f64::min) else { break };
            if at > closes + DRAIN {
                break;
            }
            each += speed * (at - now);
            now = at;
            if arrives == Some(at) {
                queue.push_back(at);
                next += random.exponential() / rate;
            } else if waited == Some(at) {
                let Some((_, arrived)) = waiting.pop() else { break };
                let work = self.work * self.share(random);
                (works, done) = (works + work, done + 1);
                working.push((key(each + work), arrived));
            } else if let Some((_, arrived)) = working.pop() {
                let arrived = f64::from_bits(arrived);
                if arrived >= warm_up {
                    responses.push(now - arrived);
                }
            }
            while waiting.len() + working.len() < workers as usize {
                let Some(arrived) = queue.pop_front() else { break };
                waiting.push((key(now + self.wait * random.exponential()), arrived.to_bits()));
            }
        }
        let left = waiting.into_iter().chain(working).map(|(_, arrived)| f64::from_bits(arrived)).chain(queue);
        let left: Vec<f64> = left.filter(|arrived| *arrived >= warm_up).map(|arrived| closes - arrived).collect();
        let unanswered = left.len() as u64;
        responses.extend(left);
        Window { responses, unanswered, work: works / f64::from(done.max(1)) }
    }
}

impl Window {
    /// The response time that this share of all is beyond. It puts them in another order.
    pub(super) fn beyond(&mut self, share: f64) -> f64 {
        let rank = ((1.0 - share) * self.responses.len() as f64).ceil() as usize;
        let place = rank.saturating_sub(1);
        if place >= self.responses.len() {
            return f64::INFINITY;
        }
        *self.responses.select_nth_unstable_by(place, f64::total_cmp).1
    }

    /// The mean response time.
    pub(super) fn mean(&self) -> f64 {
        self.responses.iter().sum::<f64>() / (self.responses.len() as f64).max(1.0)
    }

    /// How many response times are no shorter than this.
    pub(super) fn over(&self, limit: f64) -> usize {
        self.responses.iter().filter(|response| **response >= limit).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M/M/1 with processor sharing has exponential response times of the mean 1 / (mu - lambda) no more than first come first served
    /// has, but the same mean (Kleinrock, "Queueing Systems" volume 2, section 4.4); of one worker it is that queue itself, whose
    /// 99th percentile is ln 100 times the mean.
    #[test]
    fn one_worker_is_a_queue_whose_percentiles_are_known() {
        let served = Served { work: 0.01, wait: 0.0, slow: 0, memory: (10.0, 5.0) };
        for (workers, cores, rate, expected) in
            [(1, 1.0, 60.0, 1.0 / 40.0), (64, 1.0, 60.0, 1.0 / 40.0), (1, 0.5, 30.0, 0.05)]
        {
            let under = Under { cores, workers, rate };
            let mut window = served.window(under, [10.0, 4_000.0], &mut Random(7));
            let seen = window.mean();
            // With half a core all work takes twice as long.
            assert!((seen / expected - 1.0).abs() < 0.05, "{workers} workers: {seen}");
            if workers == 1 {
                let p99 = window.beyond(0.01);
                assert!((p99 / (expected * 100.0_f64.ln()) - 1.0).abs() < 0.08, "{p99}");
            }
        }
        assert_eq!(served.needs(4), 30.0);
    }

    #[test]
    fn slow_requests_leave_the_mean_as_it_is() {
        let served = Served { work: 0.004, wait: 0.01, slow: 1, memory: (10.0, 5.0) };
        let window = served.window(Under { cores: 2.0, workers: 16, rate: 100.0 }, [1.0, 1_000.0], &mut Random(3));
        assert!((window.work / 0.004 - 1.0).abs() < 0.03, "{}", window.work);
        assert_eq!(window.unanswered, 0);
        // Too few workers for what requests take: a queue without end.
        let mut window = served.window(Under { cores: 2.0, workers: 1, rate: 100.0 }, [1.0, 60.0], &mut Random(3));
        assert!(window.unanswered > 0 && window.beyond(0.01) > 10.0);
    }
}
