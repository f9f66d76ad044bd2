//! Processor time that the hypervisor gave to others while this virtual machine wanted it.

use std::fs;
use std::num::NonZero;
use std::thread;
use std::time::{Duration, Instant};

use rustix::param::clock_ticks_per_second;

use crate::progress::tell;

/// The steal time of one processor since the machine started, in whole ticks: field 8 of its line in `/proc/stat`
/// (proc_stat(5)). `None` where the kernel does not tell it.
pub(crate) fn of_processor(cpu: usize) -> Option<Duration> {
    let ticks = ticks(&fs::read_to_string("/proc/stat").ok()?, cpu)?;
    Some(Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second() as f64))
}

fn ticks(stat: &str, cpu: usize) -> Option<u64> {
    let name = format!("cpu{cpu}");
    let line = stat.lines().find(|line| line.split_whitespace().next() == Some(&name))?;
    line.split_whitespace().nth(8)?.parse().ok()
}

/// More than this share of the processors is seen in percentiles.
pub(crate) const TOO_MUCH: f64 = 0.05;
/// Others come in waves of minutes.
const PATIENCE: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_secs(15);

/// Times of all processors since the machine began, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AllProcessors {
    all: u64,
    stolen: u64,
}

impl AllProcessors {
    /// As the kernel counts them now; nothing of what it does not tell.
    pub(crate) fn now() -> Self {
        Self::read(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// The first line: user, nice, system, idle, iowait, irq, softirq and steal (proc_stat(5)).
    fn read(text: &str) -> Self {
        let words = text.lines().next().unwrap_or_default().split_whitespace();
        let ticks: Vec<u64> = words.skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
        Self { all: ticks.iter().sum(), stolen: ticks.get(7).copied().unwrap_or_default() }
    }

    /// The share of all processors that others took since then.
    pub(crate) fn share_since(&self) -> f64 {
        self.share_until(Self::now())
    }

    fn share_until(self, later: Self) -> f64 {
        later.stolen.saturating_sub(self.stolen) as f64 / later.all.saturating_sub(self.all).max(1) as f64
    }

    /// Waits until others take no more than this share, or for long enough. What is stolen shows only where something wants to run, so all
    /// processors work while it looks.
    pub(crate) fn wait_for_quiet(quiet: f64) {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let share = share_while_busy();
            if share <= quiet {
                return;
            }
            tell(&format!("other guests of the host take {:.0} % of the processors: waiting", share * 100.0));
            thread::sleep(PAUSE);
        }
    }
}

fn share_while_busy() -> f64 {
    let before = AllProcessors::now();
    let end = Instant::now() + LOOK;
    let work = || {
        while Instant::now() < end {
            std::hint::spin_loop();
        }
    };
    thread::scope(|scope| {
        (0..thread::available_parallelism().map_or(1, NonZero::get)).for_each(|_| {
            scope.spawn(work);
        });
    });
    before.share_since()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_read_from_its_own_line() {
        let stat = "cpu  1 2 3 4 5 6 7 99 0 0\ncpu1 1 2 3 4 5 6 7 42 0 0\ncpu11 1 2 3 4 5 6 7 43 0 0\nintr 5\n";
        for (cpu, expected) in [(1, Some(42)), (11, Some(43)), (0, None)] {
            assert_eq!(ticks(stat, cpu), expected, "processor {cpu}");
        }
        assert!(of_processor(0).is_some(), "this kernel's own");
    }

    #[test]
    fn what_others_took_is_a_share_of_all_processors() {
        let before = AllProcessors::read("cpu  100 0 50 800 10 0 0 40 7 0\ncpu0 1 2 3\n");
        let after = AllProcessors::read("cpu  150 0 60 870 10 0 0 110 9 0\n");
        assert_eq!(before, AllProcessors { all: 1000, stolen: 40 });
        assert!((before.share_until(after) - 0.35).abs() < 1e-9);
        assert!(AllProcessors::read("").share_until(AllProcessors::read("")) == 0.0);
    }
}
