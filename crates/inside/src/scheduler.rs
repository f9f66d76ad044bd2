//! What the scheduler has counted of a thread: `schedstat` and `sched` of `/proc/PID/task/TID`.

use std::fs;
use std::time::Duration;

/// Times of a thread since it began (<https://docs.kernel.org/scheduler/sched-stats.html>, `/proc/<pid>/schedstat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerTimes {
    /// On a processor. While it runs it is counted at the timer's next tick.
    pub ran: Duration,
    /// Ready and not on a processor: another ran there, or the quota of its control group was used up.
    pub ready: Duration,
    /// How often it was given a processor.
    pub turns: u64,
}

impl SchedulerTimes {
    /// Reads `ran ready turns`, in nanoseconds.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_ascii_whitespace().map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self { ran: Duration::from_nanos(next()?), ready: Duration::from_nanos(next()?), turns: next()? })
    }
}

/// How often a thread left its processor, and when the scheduler last counted its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Switches {
    pub(crate) count: u64,
    /// Of these, those in which it began to wait.
    pub(crate) waits: u64,
    /// In milliseconds of its processor's clock (`se.exec_start` of `sched`); none where only `status` may be read.
    counted_at: Option<f64>,
}

impl Switches {
    /// Reads `sched` (kernel/sched/debug.c, `proc_sched_show_task`), or else `status` (proc_pid_status(5)).
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let line =
                text.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', ':'])))?;
            line.rsplit_once(':').map(|(_, value)| value.trim())
        };
        let number = |name| value(name)?.parse::<u64>().ok();
        let waits = number("nr_voluntary_switches").or_else(|| number("voluntary_ctxt_switches"))?;
        let from_status = || Some(waits + number("nonvoluntary_ctxt_switches")?);
        let count = number("nr_switches").or_else(from_status)?;
        Some(Self { count, waits, counted_at: value("se.exec_start").and_then(|at| at.parse().ok()) })
    }

    /// Those of the thread that calls it.
    pub(crate) fn own() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/thread-self/sched").ok()?)
    }

    /// Whether a thread that does not wait has a processor.
    ///
    /// It has been given one more often than it left one. And it had one, were it not for the sampler: what the sampler took
    /// the processor from was last counted at the moment from which the sampler is.
    pub(crate) fn is_running(self, times: SchedulerTimes, sampler: Option<Self>) -> bool {
        let made_way = match (self.counted_at, sampler.and_then(|sampler| sampler.counted_at)) {
            (Some(its), Some(ours)) => (0.0..SWITCH).contains(&(ours - its).abs()),
            _ => false,
        };
        times.turns > self.count || made_way
    }
}

/// As much may pass, in milliseconds, between the count of the thread that makes way and of the one that comes.
const SWITCH: f64 = 0.01;

/// Where the time of PHP's threads went between their first reading and their last, added up over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpent {
    /// On a processor.
    pub running: Duration,
    /// Ready and not run: throttled, or behind others.
    pub ready: Duration,
    /// Waiting for something.
    pub waiting: Duration,
}

impl TimeSpent {
    /// That of one thread.
    pub(crate) fn between(first: SchedulerTimes, last: SchedulerTimes, elapsed: Duration) -> Self {
        let running = last.ran.saturating_sub(first.ran);
        let ready = last.ready.saturating_sub(first.ready);
        Self { running, ready, waiting: elapsed.saturating_sub(running + ready) }
    }

    /// All of it.
    pub fn total(self) -> Duration {
        self.running + self.ready + self.waiting
    }
}

impl std::ops::AddAssign for TimeSpent {
    fn add_assign(&mut self, other: Self) {
        self.running += other.running;
        self.ready += other.ready;
        self.waiting += other.waiting;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_what_is_left_is_waiting() {
        let first = SchedulerTimes::parse("1000 200 3\n").unwrap();
        let last = SchedulerTimes::parse("5000 1200 9\n").unwrap();
        assert_eq!(
            first,
            SchedulerTimes { ran: Duration::from_nanos(1000), ready: Duration::from_nanos(200), turns: 3 }
        );
        let spent = TimeSpent::between(first, last, Duration::from_nanos(10_000));
        assert_eq!([spent.running, spent.ready, spent.waiting].map(|time| time.as_nanos()), [4000, 1000, 5000]);
        assert_eq!(spent.total(), Duration::from_nanos(10_000));
        for text in ["", "1 2", "a b c"] {
            assert_eq!(SchedulerTimes::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_thread_runs_that_came_more_often_than_it_left() {
        const SCHED: &str = "php (7, #threads: 1)
-----------------------------------
se.exec_start                                :      53788823.937482
se.sum_exec_runtime                          :             1.5
nr_switches                                  :                   41
nr_voluntary_switches                        :                   40
nr_involuntary_switches                      :                    1
";
        const STATUS: &str = "Name:\tphp\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t1\n";
        let times = |turns| SchedulerTimes { turns, ..SchedulerTimes::default() };
        for text in [SCHED, STATUS] {
            let switches = Switches::parse(text).unwrap();
            assert_eq!((switches.count, switches.waits), (41, 40));
            assert!(switches.is_running(times(42), None));
            assert!(!switches.is_running(times(41), None));
        }
        let sched = Switches::parse(SCHED).unwrap();
        let sampler = |counted_at| Some(Switches { count: 9, waits: 9, counted_at: Some(counted_at) });
        assert!(sched.is_running(times(41), sampler(53_788_823.937_482)), "it made way for the sampler");
        assert!(!sched.is_running(times(41), sampler(53_788_824.937_482)), "it made way before");
        assert!(!Switches::parse(STATUS).unwrap().is_running(times(41), sampler(0.0)));
        assert_eq!(Switches::parse("nothing"), None);
    }
}
