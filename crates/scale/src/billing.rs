//! What instances are billed for, and what that comes to.

use std::time::Duration;

use stampede_core::{Bytes, Cpus};

use crate::Time;

/// What a bill counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Requests, and the time in which an instance works on at least one, starts included.
    Requests,
    /// The time that instances live.
    Instances,
}

/// What is free in each month, before anything is paid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreeTier {
    /// vCPU-seconds.
    pub vcpu_seconds: f64,
    /// GiB-seconds.
    pub gib_seconds: f64,
    /// Requests.
    pub requests: f64,
}

/// A row of the [table of prices](crate::PRICES).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// What the command line calls it.
    pub id: &'static str,
    /// Whose price it is.
    pub provider: &'static str,
    /// Where it holds.
    pub regions: &'static str,
    /// ISO 4217.
    pub currency: &'static str,
    /// What is counted.
    pub basis: Basis,
    /// Of a vCPU for a second.
    pub vcpu_second: f64,
    /// Of a GiB for a second.
    pub gib_second: f64,
    /// Of a vCPU for a second in an instance that is kept, ready and idle.
    pub idle_vcpu_second: f64,
    /// Of a GiB for a second in such an instance.
    pub idle_gib_second: f64,
    /// Of a million requests.
    pub million_requests: f64,
    /// What is free.
    pub free: FreeTier,
    /// Times are rounded up to whole multiples of it.
    pub granularity: Duration,
    /// When it was read.
    pub read: &'static str,
    /// Where it was read.
    pub source: &'static str,
}

/// What is counted of one instance: the union of the spans in which it is busy, each rounded up.
///
/// A span that begins before the previous one's rounding is over does not pay that part twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpanMeter {
    billed_until: Time,
    busy_from: Time,
}

impl SpanMeter {
    /// It becomes busy.
    pub(crate) fn begin(&mut self, now: Time) {
        self.busy_from = now.max(self.billed_until);
    }

    /// It is busy no more. The time to be billed for the span.
    pub(crate) fn end(&mut self, now: Time, granularity: Duration) -> Duration {
        if now <= self.busy_from {
            return Duration::ZERO;
        }
        let billed = rounded_up(now.since(self.busy_from), granularity);
        self.billed_until = self.busy_from.after(billed);
        billed
    }
}

/// The next whole multiple.
pub(crate) fn rounded_up(time: Duration, granularity: Duration) -> Duration {
    let (ns, unit) = (time.as_nanos() as u64, (granularity.as_nanos() as u64).max(1));
    Duration::from_nanos(ns.div_ceil(unit).saturating_mul(unit))
}

/// What all instances of a service were counted for over some time. Seconds are those of instances, not yet multiplied with
/// their size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// In which an instance worked or started, each span rounded up.
    pub busy_seconds: f64,
    /// In which an instance of the fewest was kept idle.
    pub kept_idle_seconds: f64,
    /// In which an instance lived, each life rounded up.
    pub lived_seconds: f64,
    /// Requests that an instance was given.
    pub requests: f64,
}

impl Usage {
    /// What came after an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            busy_seconds: self.busy_seconds - earlier.busy_seconds,
            kept_idle_seconds: self.kept_idle_seconds - earlier.kept_idle_seconds,
            lived_seconds: self.lived_seconds - earlier.lived_seconds,
            requests: self.requests - earlier.requests,
        }
    }

    /// The same for a time so many times as long.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            busy_seconds: self.busy_seconds * factor,
            kept_idle_seconds: self.kept_idle_seconds * factor,
            lived_seconds: self.lived_seconds * factor,
            requests: self.requests * factor,
        }
    }
}

/// What a month costs, in the price's currency.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bill {
    /// CPU.
    pub cpu: f64,
    /// Memory.
    pub memory: f64,
    /// Requests.
    pub requests: f64,
}

impl Bill {
    /// All together.
    pub fn total(&self) -> f64 {
        self.cpu + self.memory + self.requests
    }
}

impl Price {
    /// What a month's usage costs in instances of this size: the whole with the free tier off, or as if there was none.
    pub fn bill(&self, month: &Usage, cpus: Cpus, memory: Bytes, free_tier: bool) -> Bill {
        let free = if free_tier { self.free } else { FreeTier { vcpu_seconds: 0.0, gib_seconds: 0.0, requests: 0.0 } };
        let (vcpus, gib) = (cpus.cores(), memory.get() as f64 / (1_u64 << 30) as f64);
        let (seconds, idle) = match self.basis {
            Basis::Requests => (month.busy_seconds, month.kept_idle_seconds),
            Basis::Instances => (month.lived_seconds, 0.0),
        };
        // The free tier is a discount at the full rate (cloud.google.com/run/pricing).
        let cost = |seconds: f64, rate: f64, idle: f64, idle_rate: f64, free: f64| {
            (seconds * rate + idle * idle_rate - free * rate).max(0.0)
        };
        Bill {
            cpu: cost(seconds * vcpus, self.vcpu_second, idle * vcpus, self.idle_vcpu_second, free.vcpu_seconds),
            memory: cost(seconds * gib, self.gib_second, idle * gib, self.idle_gib_second, free.gib_seconds),
            requests: (month.requests - free.requests).max(0.0) / 1e6 * self.million_requests,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PRICES, price};

    #[test]
    fn spans_are_rounded_up_and_not_paid_twice() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let unit = Duration::from_millis(100);
        let mut meter = SpanMeter::default();
        // Begin, end, billed: the second span lies within what the first was rounded up to.
        for (name, begin, end, billed) in [
            ("one millisecond", 1_000, 1_001, 100),
            ("within the rounding", 1_050, 1_080, 0),
            ("beyond the rounding", 1_090, 1_130, 100),
            ("exactly a unit", 2_000, 2_100, 100),
            ("a unit and a bit", 3_000, 3_101, 200),
            ("nothing", 4_000, 4_000, 0),
        ] {
            meter.begin(at(begin));
            assert_eq!(meter.end(at(end), unit).as_millis(), billed, "{name}");
        }
    }

    #[test]
    fn a_month_costs_what_the_provider_s_example_comes_to() {
        // 10 million requests of 400 ms, one at a time, on 1 vCPU and 512 MiB: by hand from the published prices,
        // (4,000,000 - 180,000) x 0.000024 + (2,000,000 - 360,000) x 0.0000025 + 8 x 0.40.
        let month = Usage { busy_seconds: 4e6, requests: 1e7, ..Usage::default() };
        let price = price("cloud-run-requests").unwrap();
        let bill = price.bill(&month, Cpus::from_millis(1000), Bytes::from_mib(512), true);
        assert!((bill.cpu - 91.68).abs() < 1e-9 && (bill.memory - 4.1).abs() < 1e-9, "{bill:?}");
        assert!((bill.total() - 98.98).abs() < 1e-9, "{bill:?}");
        // One instance that lives all month, 30 days: (2,592,000 - 240,000) x 0.000018 + (1,296,000 - 450,000) x 0.000002.
        let month = Usage { lived_seconds: 2_592_000.0, requests: 1e9, ..Usage::default() };
        let bill = crate::price("cloud-run-instances").unwrap().bill(
            &month,
            Cpus::from_millis(1000),
            Bytes::from_mib(512),
            true,
        );
        assert!((bill.total() - (42.336 + 1.692)).abs() < 1e-9, "{bill:?}");
        // Less than what is free costs nothing.
        let little = Usage { busy_seconds: 100.0, requests: 1000.0, ..Usage::default() };
        assert!(
            PRICES.iter().filter(|price| price.basis == Basis::Requests).all(|price| {
                price.bill(&little, Cpus::from_millis(1000), Bytes::from_mib(512), true).total() == 0.0
            })
        );
    }
}
