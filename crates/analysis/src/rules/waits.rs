//! Requests that wait for something that is neither CPU nor a worker.

use stampede_core::{Finding, Load, Severity};

use super::pool::{self, IDLE, left};
use super::{finding, generator, neighbours, percent};
use crate::metric::ratio;
use crate::record::Record;

/// Below this wait for a request, in milliseconds, it may be the way between server and client, and turns of the scheduler.
const NOTICEABLE_MS: f64 = 2.0;
/// The same where others compute, or the generator is at its limit: some time slices of the scheduler (3 ms, and 4 ms between its ticks).
const NOTICEABLE_MS_ON_A_BUSY_MACHINE: f64 = 10.0;

/// Most of a request's time is a wait while CPU is left: for a database, another service, a lock or a disk.
pub(super) fn elsewhere(record: &Record<'_>) -> Option<Finding> {
    let Load::Closed { connections } = record.case.load else { return None };
    // What a client's way takes is the client's.
    if record.case.topology.link.is_some() {
        return None;
    }
    let idle = left(record).filter(|left| *left > 1.0 - IDLE)?;
    // Who waits for a worker waits for nothing else that is known.
    if pool::full(record).is_some() {
        return None;
    }
    let (mut cpu, mut window, mut answered) = (0.0, 0.0, 0.0);
    for measured in record.measurements() {
        cpu += measured.resources.as_ref()?.cpu.as_secs_f64();
        window += measured.window.as_secs_f64();
        answered += (measured.requests.ok + measured.requests.failed) as f64;
    }
    // Little's law: so many requests were under way all the time.
    let each_ms = ratio(1e3 * window * f64::from(connections), answered)?;
    let cpu_ms = ratio(1e3 * cpu, answered)?;
    let waits_ms = each_ms - cpu_ms;
    let is_disturbed = neighbours::noisy(record).is_some() || generator::busy(record).is_some();
    let least_ms = if is_disturbed { NOTICEABLE_MS_ON_A_BUSY_MACHINE } else { NOTICEABLE_MS };
    (waits_ms >= least_ms && waits_ms > cpu_ms).then(|| {
        finding(
            "slow-upstream",
            Severity::Warning,
            format!(
                "A request takes {each_ms:.1} ms, {cpu_ms:.1} ms of it CPU, while {} of the CPU was idle: it waits, for \
                 example for a database, another service, a lock or a disk.",
                percent(idle)
            ),
            [("response_mean_ms", each_ms), ("cpu_ms_per_request", cpu_ms), ("cpu_idle_share", idle)],
            "Find out what it waits for: stampede why, stampede compare --inside, or FPM's slow log. More workers help only if what it waits for can handle more requests at once.",
        )
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::rules::tests::found;

    #[test]
    fn time_that_is_neither_cpu_nor_a_worker_is_told() {
        // 16 connections for 5 s at 200 a second: 80 ms each. Half a CPU for 5 s is 2.5 s.
        for (name, rate, cpu_ms, text) in [
            ("waits", 200, 500, Some("A request takes 80.0 ms, 0.5 ms of it CPU, while 80 % of the CPU was idle")),
            ("the CPU is used", 200, 2_400, None),
            (
                "5 ms, on a machine with nothing else to do",
                3_200,
                1_500,
                Some("A request takes 5.0 ms, 0.1 ms of it CPU"),
            ),
            ("the generator is as slow", 10_000, 1_000, None),
        ] {
            let finding = found(elsewhere, |trial| {
                let measured = trial.measurement.as_mut().unwrap();
                measured.requests.ok = rate * 5;
                measured.resources.as_mut().unwrap().cpu = Duration::from_millis(cpu_ms);
            });
            assert_eq!(finding.is_some(), text.is_some(), "{name}: {finding:?}");
            assert!(finding.is_none_or(|finding| finding.text.starts_with(text.unwrap())), "{name}");
        }
    }

    #[test]
    fn short_waits_beside_a_busy_generator_are_not_told() {
        // 5 ms a request, as above, with a generator that has no time left.
        for (generator_ms, told) in [(1_000, true), (4_900, false)] {
            let finding = found(elsewhere, |trial| {
                let measured = trial.measurement.as_mut().unwrap();
                measured.requests.ok = 3_200 * 5;
                measured.resources.as_mut().unwrap().cpu = Duration::from_millis(1_500);
                measured.generator.cpu = Duration::from_millis(generator_ms);
            });
            assert_eq!(finding.is_some(), told, "{generator_ms}: {finding:?}");
        }
    }
}
