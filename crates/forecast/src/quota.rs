//! A CPU quota as the kernel holds it: a budget for each period, and a stall when it is used up.
//!
//! Completely fair scheduler bandwidth control (docs.kernel.org/scheduler/sched-bwc.html). Of the slices in which processors fetch
//! the budget one thing is felt where it is small: what a processor that falls idle keeps of its slice is still there in the next
//! period.

use std::time::Duration;

use stampede_core::Cpus;

/// The kernel's default period, and that of container platforms.
const PERIOD: Duration = Duration::from_millis(100);

/// What a processor keeps of its slice when it falls idle: `min_cfs_rq_runtime`, "typically at most 1ms per cpu"
/// (docs.kernel.org/scheduler/sched-bwc.html).
const KEPT: Duration = Duration::from_millis(1);

/// Period and budget, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota {
    period: u64,
    budget: f64,
    kept: f64,
}

/// What is left in the period that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    period_end: u64,
    left: f64,
}

impl Quota {
    pub(crate) fn of(cpus: Cpus) -> Self {
        Self {
            period: PERIOD.as_nanos() as u64,
            budget: cpus.quota(PERIOD).as_nanos() as f64,
            kept: KEPT.as_nanos() as f64,
        }
    }

    /// An account whose first period begins now.
    pub(crate) fn open(&self, now: u64) -> Account {
        Account { period_end: now + self.period, left: self.budget }
    }

    /// Whether nothing can be had any more in this period.
    pub(crate) fn is_used_up(&self, account: &Account) -> bool {
        account.left <= 0.0
    }

    /// The CPU time that `cores` processors that never rest get from one time to another.
    pub(crate) fn use_up(&self, account: &mut Account, from: u64, to: u64, cores: f64) -> f64 {
        let (mut from, mut sum) = (from, 0.0);
        while to >= account.period_end {
            let used = self.take(account, account.period_end - from, cores);
            sum += used;
            from = account.period_end;
            self.refill(account);
            // From here on one period is as the other: all is used up in each, or nothing.
            let whole = (to - from) / self.period;
            let uses_all = self.has_kept_nothing(account) && self.budget <= cores * self.period as f64;
            if whole > 0 && (uses_all || cores == 0.0) {
                sum += whole as f64 * self.in_a_period(cores);
                from += whole * self.period;
                account.period_end += whole * self.period;
                if cores == 0.0 {
                    account.left = self.budget + self.kept;
                }
            }
        }
        sum + self.take(account, to - from, cores)
    }

    /// How long `cores` processors take for so much CPU time from now on.
    pub(crate) fn time_for(&self, account: &Account, now: u64, cpu: f64, cores: f64) -> f64 {
        let (mut account, mut span) = (*account, account.period_end.saturating_sub(now));
        let (mut cpu, mut time) = (cpu, 0.0);
        loop {
            let most = account.left.min(cores * span as f64);
            if cpu <= most {
                return time + cpu / cores;
            }
            cpu -= self.take(&mut account, span, cores);
            time += span as f64;
            self.refill(&mut account);
            span = self.period;
            if self.has_kept_nothing(&account) {
                let each = self.in_a_period(cores);
                let periods = ((cpu / each).ceil() - 1.0).max(0.0);
                return time + periods * self.period as f64 + (cpu - periods * each) / cores;
            }
        }
    }

    /// When it will be used up at the earliest, or the next period begins, with so many processors from now on.
    pub(crate) fn turn(&self, account: &Account, now: u64, cores: f64) -> u64 {
        if self.is_used_up(account) {
            return account.period_end;
        }
        let out = now + (account.left / cores).ceil() as u64;
        out.min(account.period_end)
    }

    /// Uses what can be had in a span of the period that runs.
    fn take(&self, account: &mut Account, span: u64, cores: f64) -> f64 {
        let used = account.left.min(cores * span as f64);
        account.left -= used;
        used
    }

    /// Begins the next period.
    fn refill(&self, account: &mut Account) {
        account.left = self.budget + account.left.min(self.kept);
        account.period_end += self.period;
    }

    /// Whether a period has begun with no more than its budget, as each does after one in which everything was used up.
    fn has_kept_nothing(&self, account: &Account) -> bool {
        account.left <= self.budget
    }

    fn in_a_period(&self, cores: f64) -> f64 {
        self.budget.min(cores * self.period as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn work_takes_as_long_as_by_hand() {
        // CPUs, cores, CPU ms, begins ms into the first period, takes ms.
        for (cpus, cores, cpu, begins, takes) in [
            (1000, 1.0, 250, 30, 250.0),
            (500, 1.0, 50, 0, 50.0),
            (500, 1.0, 52, 0, 102.0),
            (500, 1.0, 60, 0, 110.0),
            (500, 1.0, 120, 0, 220.0),
            (500, 1.0, 100, 0, 150.0),
            // Of what was not used in 80 ms, 20 ms can still be had, and 1 ms in the next period.
            (500, 1.0, 60, 80, 60.0),
            (500, 1.0, 71, 80, 71.0),
            (500, 1.0, 74, 80, 123.0),
            // 167 CPU thousandths: 16.7 ms of each period.
            (167, 1.0, 40, 0, 206.6),
            (2000, 2.0, 400, 0, 200.0),
            (500, 2.0, 60, 0, 105.0),
        ] {
            let quota = Quota::of(Cpus::from_millis(cpus));
            let mut account = quota.open(0);
            quota.use_up(&mut account, 0, begins * MS, 0.0);
            let took = quota.time_for(&account, begins * MS, (cpu * MS) as f64, cores) / MS as f64;
            assert!((took - takes).abs() < 1e-6, "{cpu} ms of {cpus} on {cores}: {took}");
        }
    }

    proptest::proptest! {
        /// In the time that work takes it is done, however that time is cut.
        #[test]
        fn time_and_work_agree(
            cpus in 80..3000_u32,
            cores in 1..4_u32,
            cpu in 1.0..5e8_f64,
            begins in 0..300_000_000_u64,
            cut in 0.0..1.0_f64,
        ) {
            let quota = Quota::of(Cpus::from_millis(cpus));
            let mut account = quota.open(0);
            quota.use_up(&mut account, 0, begins, 0.7);
            let cores = f64::from(cores);
            let end = begins + quota.time_for(&account, begins, cpu, cores).ceil() as u64;
            let middle = begins + ((end - begins) as f64 * cut) as u64;
            let used = quota.use_up(&mut account, begins, middle, cores) + quota.use_up(&mut account, middle, end, cores);
            proptest::prop_assert!((used - cpu).abs() <= cores + 1e-3, "{used} of {cpu}");
        }
    }
}
