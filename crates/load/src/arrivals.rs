//! When the requests of an open load are due, as one of its threads sees them.
//!
//! All threads go through one sequence of arrivals, numbered from 0, and thread `k` of `T` takes those with `n mod T = k`:
//! the due times do not depend on the number of threads. A uniform sequence is a closed form of `n`. A Poisson sequence is
//! the same schedule read at the points of a Poisson process of rate one (Cinlar 1975, time change by the expected count);
//! each thread draws all of its points from one seed and leaves out those of the others, which costs some nanoseconds an
//! arrival and thread. The arrivals of a random stage are as many as its rate says, independent and uniform: each thread
//! draws their order statistics one after the other (Bentley and Saxe 1980). In all cases a backlog of any length is two
//! numbers: nothing is stored for a request that waits.

use std::mem;
use std::time::{Duration, Instant};

use stampede_core::{self as core, Position, Random, Schedule};

/// A request that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Its number in the whole load, from 0.
    pub(crate) number: u64,
    pub(crate) due: Instant,
}

/// What is due when, for all threads.
#[derive(Clone, Debug)]
pub(crate) struct ArrivalPlan {
    warm_up: Leg,
    window: Leg,
    process: Process,
}

/// The warm-up or the window.
#[derive(Clone, Debug)]
struct Leg {
    schedule: Schedule,
    length: Duration,
    /// No more arrivals than these; exactly these where arrivals are uniform.
    most: u64,
}

#[derive(Clone, Debug)]
enum Process {
    Uniform,
    /// Uniform but for random stages. `left` is the share of the present one that lies after its last arrival.
    Scattered {
        random: Random,
        left: f64,
    },
    Poisson {
        random: Random,
        position: Position,
    },
}

impl ArrivalPlan {
    /// The warm-up stays at the schedule's first rate. The schedule begins with the window.
    pub(crate) fn new(
        schedule: Schedule,
        arrivals: core::Arrivals,
        warm_up: Duration,
        duration: Duration,
        requests: Option<u64>,
        seed: u64,
    ) -> Self {
        let process = match arrivals {
            core::Arrivals::Uniform if schedule.stages().iter().any(|stage| stage.random) => {
                Process::Scattered { random: Random(seed), left: 1.0 }
            }
            core::Arrivals::Uniform => Process::Uniform,
            core::Arrivals::Poisson => Process::Poisson { random: Random(seed), position: 0 },
        };
        let before = match Schedule::constant(schedule.first_rate()) {
            Ok(constant) => Leg { schedule: constant, length: warm_up, most: u64::MAX },
            // A schedule that begins with rate 0 has no requests before it.
            Err(_) => Leg { schedule: schedule.clone(), length: warm_up, most: 0 },
        };
        let mut plan = Self {
            warm_up: before,
            window: Leg { schedule, length: duration, most: requests.unwrap_or(u64::MAX) },
            process,
        };
        if matches!(plan.process, Process::Uniform) {
            for leg in [&mut plan.warm_up, &mut plan.window] {
                leg.most = leg.most.min(leg.schedule.count_before(leg.length));
            }
        }
        plan
    }

    /// The arrivals of thread `thread` of `threads`, of a load that starts at this instant.
    pub(crate) fn of_thread(&self, thread: u64, threads: u64, starts_at: Instant) -> Arrivals {
        let Self { warm_up, window, process } = self.clone();
        let window_begins = starts_at + warm_up.length;
        let mut arrivals = Arrivals {
            leg: warm_up,
            begins: starts_at,
            other: window,
            window_begins: Some(window_begins),
            process,
            in_leg: 0,
            fresh: true,
            number: 0,
            threads,
            next: None,
        };
        arrivals.next = arrivals.advance(thread + 1);
        arrivals
    }
}

/// One thread's arrivals, in order.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// The leg that the next arrival belongs to, and when it begins.
    leg: Leg,
    begins: Instant,
    /// The leg to come, then the one that is over: to drop it would give memory back while load is driven.
    other: Leg,
    /// When the leg to come begins; gone once it has.
    window_begins: Option<Instant>,
    process: Process,
    /// Arrivals of the leg before the one that was made last.
    in_leg: u64,
    /// No arrival of this leg has been made.
    fresh: bool,
    /// Arrivals of all threads that have been made.
    number: u64,
    threads: u64,
    next: Option<Arrival>,
}

impl Arrivals {
    /// The next one, `None` when there is no more.
    pub(crate) fn next(&self) -> Option<Arrival> {
        self.next
    }

    /// Takes the next one if it is due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Arrival> {
        let arrival = self.next.filter(|arrival| arrival.due <= now)?;
        self.next = self.advance(self.threads);
        Some(arrival)
    }

    /// The arrival that comes this many after the last one.
    fn advance(&mut self, by: u64) -> Option<Arrival> {
        let due = match self.process {
            Process::Uniform => self.advance_uniform(by)?,
            Process::Scattered { .. } => {
                let mut due = Duration::ZERO;
                for _ in 0..by {
                    due = self.advance_scattered()?;
                }
                due
            }
            Process::Poisson { .. } => {
                let mut due = Duration::ZERO;
                for _ in 0..by {
                    due = self.advance_random()?;
                }
                due
            }
        };
        self.number += by;
        Some(Arrival { number: self.number - 1, due: self.begins.checked_add(due)? })
    }

    fn advance_uniform(&mut self, by: u64) -> Option<Duration> {
        let mut n = if self.fresh { by - 1 } else { self.in_leg + by };
        loop {
            if n < self.leg.most {
                break;
            }
            n -= self.leg.most;
            self.enter_window()?;
        }
        (self.in_leg, self.fresh) = (n, false);
        self.leg.schedule.due(n)
    }

    fn advance_scattered(&mut self) -> Option<Duration> {
        loop {
            let Process::Scattered { random, left } = &mut self.process else { return None };
            let n = if self.fresh { 0 } else { self.in_leg + 1 };
            let schedule = &self.leg.schedule;
            let due = match schedule.random_stage(n) {
                None => schedule.due(n),
                Some((numbers, positions)) => {
                    if n == numbers.start {
                        *left = 1.0;
                    }
                    // The least of m uniform numbers leaves the share V^(1/m) above it.
                    *left *= random.uniform().powf(1.0 / (numbers.end - n) as f64);
                    let width = positions.end - positions.start;
                    let within = ((1.0 - *left) * width as f64) as Position;
                    schedule.due_at(positions.start + within.min(width - 1))
                }
            };
            if let Some(due) = due.filter(|due| n < self.leg.most && *due < self.leg.length) {
                (self.in_leg, self.fresh) = (n, false);
                return Some(due);
            }
            self.enter_window()?;
        }
    }

    fn advance_random(&mut self) -> Option<Duration> {
        loop {
            let Process::Poisson { random, position } = &mut self.process else { return None };
            *position += (random.exponential() * Schedule::ARRIVAL as f64) as Position;
            let due = self.leg.schedule.due_at(*position).filter(|due| *due < self.leg.length);
            let n = if self.fresh { 0 } else { self.in_leg + 1 };
            if let Some(due) = due
                && n < self.leg.most
            {
                (self.in_leg, self.fresh) = (n, false);
                return Some(due);
            }
            self.enter_window()?;
        }
    }

    fn enter_window(&mut self) -> Option<()> {
        self.begins = self.window_begins.take()?;
        mem::swap(&mut self.leg, &mut self.other);
        (self.in_leg, self.fresh) = (0, true);
        if let Process::Poisson { position, .. } = &mut self.process {
            *position = 0;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plan(load: &str, warm_up: f64, duration: f64, requests: Option<u64>) -> ArrivalPlan {
        let core::Load::Open { schedule, arrivals, .. } = load.parse().unwrap() else { panic!("{load}") };
        let secs = Duration::from_secs_f64;
        ArrivalPlan::new(schedule, arrivals, secs(warm_up), secs(duration), requests, 7)
    }

    /// All arrivals of one thread of several, with seconds from the start.
    fn all(plan: &ArrivalPlan, thread: u64, threads: u64) -> Vec<(u64, f64)> {
        let start = Instant::now();
        let mut arrivals = plan.of_thread(thread, threads, start);
        let mut seen = Vec::new();
        while let Some(Arrival { number, due }) = arrivals.next() {
            assert_eq!(arrivals.take_due(due - Duration::from_nanos(1)), None);
            assert_eq!(arrivals.take_due(due), Some(Arrival { number, due }));
            seen.push((number, (due - start).as_secs_f64()));
        }
        seen
    }

    #[test]
    fn threads_share_one_sequence() {
        for load in [
            "open:500",
            "open:5..100/2s,7.5",
            "open:poisson:500",
            "open:poisson:0..90/3s",
            "open:3/1s,random:50/2s,7.5",
            "open:random:5..100/2s,random:9/30s",
        ] {
            for requests in [None, Some(33)] {
                let plan = plan(load, 0.35, 4.0, requests);
                let alone = all(&plan, 0, 1);
                assert!(alone.iter().map(|(number, _)| *number).eq(0..alone.len() as u64), "{load}");
                assert!(alone.is_sorted_by(|a, b| a.1 <= b.1), "{load}");
                assert!(alone.iter().all(|(_, due)| *due < 4.35), "{load}");
                for threads in [2, 3, 7] {
                    let mut shared: Vec<_> = (0..threads).flat_map(|thread| all(&plan, thread, threads)).collect();
                    shared.sort_by_key(|(number, _)| *number);
                    assert_eq!(shared, alone, "{load} on {threads}");
                }
            }
        }
    }

    #[test]
    fn the_window_begins_the_schedule_and_holds_its_exact_count() {
        for (load, warm_up, duration, requests, before, within) in [
            ("open:6..600/180s", 0.0, 180.0, None, 0, 54_540),
            ("open:6..600/180s", 1.25, 180.0, None, 8, 54_540),
            ("open:0..100/10s", 1.0, 10.0, None, 0, 500),
            ("open:500", 1.0, 10.0, None, 500, 5_000),
            ("open:500", 1.0, 10.0, Some(77), 500, 77),
            ("open:10/1s,0/1s,10", 0.0, 3.0, None, 0, 20),
            ("open:2/10s,random:5/15s,6..600/180s", 0.0, 205.0, None, 0, 54_635),
            ("open:2/25s,6..100/180s", 0.0, 205.0, None, 0, 9_590),
            ("open:2/25s,6..40/180s", 0.0, 205.0, None, 0, 4_190),
            ("open:2/10s,random:5/15s,0", 1.0, 60.0, None, 2, 95),
            ("open:2/10s,random:5/15s,0", 1.0, 60.0, Some(33), 2, 33),
        ] {
            let arrivals = all(&plan(load, warm_up, duration, requests), 0, 1);
            let count_before = arrivals.iter().filter(|(_, due)| *due < warm_up).count();
            assert_eq!((count_before, arrivals.len() - count_before), (before, within), "{load} {warm_up}");
            let first = arrivals[before].1;
            let expected = if load.starts_with("open:0") { 0.0 } else { warm_up };
            assert!((first - expected).abs() < 1e-6 || load.starts_with("open:0"), "{load}: {first}");
        }
    }

    #[test]
    fn a_random_stage_has_its_count_at_instants_that_are_uniform_in_it() {
        for (text, from, to, count, power) in [
            ("open:2/10s,random:5/15s,7", 10.0, 25.0, 75, 1.0),
            ("open:random:20000/1s,0", 0.0, 1.0, 20_000, 1.0),
            // A ramp from nothing has its arrivals where the rate is.
            ("open:random:0..40000/1s,0", 0.0, 1.0, 20_000, 2.0),
        ] {
            let due: Vec<_> = all(&plan(text, 0.0, 60.0, None), 0, 1).into_iter().map(|(_, due)| due).collect();
            let inside: Vec<_> = due.into_iter().filter(|due| (from..to).contains(due)).collect();
            assert_eq!(inside.len(), count, "{text}");
            // The statistic of Kolmogorov and Smirnov exceeds 1.95 with a probability of 0.001.
            let distance = inside.iter().enumerate().map(|(n, due)| {
                let expected = f64::powf((due - from) / (to - from), power);
                (expected - n as f64 / count as f64).abs().max((expected - (n + 1) as f64 / count as f64).abs())
            });
            let statistic = distance.fold(0.0, f64::max) * (count as f64).sqrt();
            assert!(statistic < 1.95, "{text}: {statistic}");
            // Pauses between them are those of independent instants: their squares have twice the mean's square.
            if text.contains("20000") {
                let squares: f64 = inside.windows(2).map(|pair| ((pair[1] - pair[0]) * 20_000.0).powi(2)).sum();
                assert!((squares / 20_000.0 - 2.0).abs() < 0.16, "{squares}");
            }
        }
    }

    proptest! {
        #[test]
        fn random_stages_keep_their_counts_and_ends(
            stages in prop::collection::vec((0..40_u32, 0..40_u32, 1..3000_u32, any::<bool>()), 1..5),
            seed in any::<u64>(),
        ) {
            let text: Vec<_> = stages.iter().map(|(from, to, ms, random)| {
                format!("{}{from}..{to}/{ms}ms", if *random { "random:" } else { "" })
            }).collect();
            let Ok(schedule) = format!("{},0", text.join(",")).parse::<Schedule>() else { return Ok(()) };
            let (length, uniform) = (schedule.length(), core::Arrivals::Uniform);
            let plan = ArrivalPlan::new(schedule.clone(), uniform, Duration::ZERO, length, None, seed);
            let start = Instant::now();
            let mut arrivals = plan.of_thread(0, 1, start);
            let mut due = Vec::new();
            while let Some(arrival) = arrivals.next() {
                due.push(arrival.due - start);
                arrivals.take_due(arrival.due);
            }
            prop_assert!(due.is_sorted());
            let mut end = Duration::ZERO;
            for (.., ms, _) in stages {
                end += Duration::from_millis(ms.into());
                let before = due.iter().filter(|due| **due < end).count() as u64;
                prop_assert_eq!(before, schedule.count_before(end));
            }
        }
    }

    #[test]
    fn random_arrivals_follow_the_schedule_and_their_pauses_are_exponential() {
        let arrivals = all(&plan("open:poisson:1000", 0.0, 100.0, None), 0, 1);
        let count = arrivals.len() as f64;
        // 100,000 expected with a standard deviation of 316: five of them.
        assert!((count - 100_000.0).abs() < 1_580.0, "{count}");
        let pauses: Vec<_> = arrivals.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
        let mean = pauses.iter().sum::<f64>() / pauses.len() as f64;
        let variance = pauses.iter().map(|pause| (pause - mean).powi(2)).sum::<f64>() / pauses.len() as f64;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{mean} {variance}");
        let long = pauses.iter().filter(|pause| **pause > 0.002).count() as f64 / count;
        assert!((long - (-2.0_f64).exp()).abs() < 0.005, "{long}");

        let ramp = all(&plan("open:poisson:0..1000/100s", 0.0, 100.0, None), 0, 1);
        let early = ramp.iter().filter(|(_, due)| *due < 50.0).count() as f64 / ramp.len() as f64;
        assert!((early - 0.25).abs() < 0.01, "{early}");
    }

    #[test]
    fn the_same_seed_gives_the_same_arrivals() {
        let one = plan("open:poisson:100", 0.5, 5.0, None);
        let mut other = one.clone();
        assert_eq!(all(&one, 0, 1), all(&other, 0, 1));
        other.process = Process::Poisson { random: Random(8), position: 0 };
        assert_ne!(all(&one, 0, 1), all(&other, 0, 1));
    }
}
