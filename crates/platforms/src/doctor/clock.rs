//! What the clock costs, and how late timers wake.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use stampede_core::Finding;

use super::{fine, text, warning, with};

/// The generator reads the clock a few times for each request: more than this for each is seen in its rate.
const SLOW_NS: f64 = 500.0;

/// Requests that are due at a time are begun this late, unless the generator spins.
const LATE: Duration = Duration::from_millis(1);

const READS: u32 = 20_000;
const SLEEPS: u32 = 100;
const SLEEP: Duration = Duration::from_millis(1);

pub(super) struct Clock {
    source: Option<String>,
    read_ns: f64,
    slack_ns: Option<u64>,
    /// By how much sleeps of 1 ms were longer, sorted.
    late: Vec<Duration>,
}

pub(super) fn read() -> Clock {
    let began = Instant::now();
    for _ in 0..READS {
        black_box(Instant::now());
    }
    let read_ns = began.elapsed().as_nanos() as f64 / f64::from(READS);
    let sleep = |_| {
        let began = Instant::now();
        thread::sleep(SLEEP);
        began.elapsed().saturating_sub(SLEEP)
    };
    let mut late: Vec<Duration> = (0..SLEEPS).map(sleep).collect();
    late.sort_unstable();
    Clock {
        source: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        read_ns,
        slack_ns: text("/proc/self/timerslack_ns").and_then(|text| text.parse().ok()),
        late,
    }
}

pub(super) fn judge(clock: &Clock) -> [Finding; 2] {
    let Clock { source, read_ns, slack_ns, late } = clock;
    let source = source.as_deref().unwrap_or("unknown");
    let text = format!("clock source {source}, {read_ns:.0} ns to read");
    let clock = if *read_ns > SLOW_NS {
        warning(
            "clock",
            text,
            "have the kernel use the processor's own clock (available_clocksource lists them; boot with tsc=reliable where \
             the machine's maker says that it is)",
        )
    } else {
        fine("clock", text)
    };
    let percentile = |of: usize| late.get(late.len() * of / 100).copied().unwrap_or_default();
    let (p50, p95) = (percentile(50), percentile(95));
    let slack = slack_ns.map(|ns| format!(", timer slack {} us", ns / 1_000)).unwrap_or_default();
    let micros = |time: Duration| time.as_nanos() as f64 / 1e3;
    let text = format!("timers of 1 ms fire {:.0} us late (p50), {:.0} us (p95){slack}", micros(p50), micros(p95));
    let timers = if p95 > LATE {
        warning(
            "timers",
            text,
            "end other programs; under --load open:... requests may be sent late, which the report shows",
        )
    } else {
        fine("timers", text)
    };
    [with(clock, "read_ns", *read_ns), with(timers, "late_p95_us", micros(p95))]
}

#[cfg(test)]
mod tests {
    use stampede_core::Severity;

    use super::*;

    #[test]
    fn a_slow_clock_and_late_timers_are_told() {
        let clock = |read_ns, late_us| Clock {
            source: Some("tsc".to_owned()),
            read_ns,
            slack_ns: Some(50_000),
            late: vec![Duration::from_micros(late_us); 100],
        };
        for (clock, expected) in
            [(clock(25.0, 60), [Severity::Info; 2]), (clock(1_200.0, 4_000), [Severity::Warning; 2])]
        {
            assert_eq!(judge(&clock).map(|finding| finding.severity), expected);
        }
        assert_eq!(judge(&clock(25.0, 60))[0].text, "clock source tsc, 25 ns to read");
    }
}
