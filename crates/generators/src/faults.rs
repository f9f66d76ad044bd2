//! Whether a generator drove its part of a load as it should.

use std::time::Duration;

use stampede_agent::ClockCheck;
use stampede_seam::{HeldUp, LoadResult, StartSkew};

/// How far two quartz clocks may drift apart in a second: 50 millionths each.
const DRIFT: f64 = 100e-6;

/// A generator may begin this much later than all were to, beside what is not known of its clock: a busy machine takes its time to
/// run a thread.
const LATEST_BEGIN: Duration = Duration::from_millis(50);

/// The longest pause of a process that is not taken for one that was stopped, and as a share of the window.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
const MOST_PAUSED: f64 = 0.05;

/// A quota may hold a generator up for this share of the window.
const MOST_THROTTLED: f64 = 0.01;

/// Load threads may wait for a processor for this share of the window.
const MOST_WAITED: f64 = 0.1;

/// What was seen of a generator.
pub(crate) struct Seen<'a> {
    pub(crate) name: &'a str,
    pub(crate) result: &'a LoadResult,
    pub(crate) held_up: Option<HeldUp>,
    pub(crate) start: Option<StartSkew>,
    pub(crate) clock: ClockCheck,
    /// What is between the two looks at its clock.
    pub(crate) elapsed: Duration,
}

/// Why its part was not what it should be.
pub(crate) fn faults(seen: &Seen<'_>) -> Vec<String> {
    let Seen { name, result, held_up, start, clock, elapsed } = seen;
    let mut faults = Vec::new();
    let mut add = |fault: String| faults.push(format!("generator {name} {fault}"));
    let may_drift = clock.first.bound + clock.last.bound + elapsed.mul_f64(DRIFT);
    if clock.drift() > may_drift {
        add(format!(
            "has a clock that moved by {} against this machine's, and {} are not certain; look whether its machine was suspended or moved",
            millis(clock.drift()),
            millis(may_drift)
        ));
    }
    match start {
        None => add("sent nothing; look whether it reaches the target".to_owned()),
        Some(StartSkew { ns, bound }) => {
            let off = Duration::from_nanos(ns.unsigned_abs()).saturating_sub(*bound);
            if off > LATEST_BEGIN {
                let direction = if *ns < 0 { "before" } else { "after" };
                add(format!("began {} {direction} the moment for all; leave it a processor of its own", millis(off)));
            }
        }
    }
    if let Some(saturation) = result.saturation {
        add(format!("was too slow: {saturation}; leave it a processor of its own, or add generators"));
    }
    let window = result.window.as_secs_f64();
    if let Some(HeldUp { waited, throttled, paused }) = held_up {
        if *paused > LONGEST_PAUSE.max(result.window.mul_f64(MOST_PAUSED)) {
            add(format!("stood still for {}; look whether it was stopped, or its machine was", millis(*paused)));
        }
        if throttled.as_secs_f64() > MOST_THROTTLED * window {
            add(format!(
                "was throttled for {} of {window:.1} s; raise the CPU quota that it runs under",
                millis(*throttled)
            ));
        }
        let share = waited.as_secs_f64() / (window * f64::from(result.generator.threads.max(1))).max(f64::MIN_POSITIVE);
        if share > MOST_WAITED {
            add(format!("waited for a processor {:.0} % of the time; leave it one of its own", share * 100.0));
        }
    }
    faults
}

fn millis(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use stampede_agent::ClockOffset;
    use stampede_seam::Saturation;
    use stampede_testkit::samples;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    struct Row {
        result: LoadResult,
        held_up: HeldUp,
        start: Option<StartSkew>,
        moved_ms: i64,
        bound: Duration,
    }

    fn fine() -> Row {
        let mut result = samples::load_result();
        (result.window, result.generator.threads, result.saturation) = (MS * 4000, 2, None);
        let start = Some(StartSkew { ns: 100_000, bound: MS });
        Row { result, held_up: HeldUp::default(), start, moved_ms: 0, bound: MS }
    }

    fn told(row: &Row) -> Vec<String> {
        let offset = |ms: i64| ClockOffset { ns: ms * 1_000_000, bound: row.bound };
        faults(&Seen {
            name: "ssh:a",
            result: &row.result,
            held_up: Some(row.held_up),
            start: row.start,
            clock: ClockCheck { first: offset(7), last: offset(7 + row.moved_ms) },
            elapsed: MS * 10_000,
        })
    }

    #[test]
    fn each_fault_is_told_with_the_generators_name() {
        let late = Saturation::Late { percentile: 99, lateness: MS * 5, response: MS * 6 };
        let with = |change: &dyn Fn(&mut Row)| {
            let mut row = fine();
            change(&mut row);
            row
        };
        for (name, row, words) in [
            ("a clock that drifts within its bound", with(&|row| row.moved_ms = 2), None),
            ("a clock that is known to 50 ms", with(&|row| (row.moved_ms, row.bound) = (-90, MS * 50)), None),
            ("a clock that jumps", with(&|row| row.moved_ms = 500), Some("has a clock that moved by 500.0 ms")),
            (
                "a clock that jumps back",
                with(&|row| row.moved_ms = -4),
                Some("moved by 4.0 ms against this machine's, and 3.0 ms"),
            ),
            ("nothing sent", with(&|row| row.start = None), Some("sent nothing")),
            (
                "a late begin",
                with(&|row| row.start = Some(StartSkew { ns: 300_000_000, bound: MS })),
                Some("began 299.0 ms after"),
            ),
            (
                "an early begin",
                with(&|row| row.start = Some(StartSkew { ns: -300_000_000, bound: MS })),
                Some("began 299.0 ms before"),
            ),
            (
                "a late begin that is not certain",
                with(&|row| row.start = Some(StartSkew { ns: 300_000_000, bound: MS * 260 })),
                None,
            ),
            (
                "late requests",
                with(&|row| row.result.saturation = Some(late)),
                Some("was too slow: the generator began requests late"),
            ),
            ("a short pause", with(&|row| row.held_up.paused = MS * 200), None),
            ("a stop", with(&|row| row.held_up.paused = MS * 950), Some("stood still for 950.0 ms")),
            ("a quota", with(&|row| row.held_up.throttled = MS * 1500), Some("was throttled for 1500.0 ms of 4.0 s")),
            ("a quota that hardly matters", with(&|row| row.held_up.throttled = MS * 30), None),
            (
                "taken processors",
                with(&|row| row.held_up.waited = MS * 4000),
                Some("waited for a processor 50 % of the time"),
            ),
            ("shared processors", with(&|row| row.held_up.waited = MS * 700), None),
        ] {
            let told = told(&row);
            match words {
                None => assert_eq!(told, Vec::<String>::new(), "{name}"),
                Some(words) => {
                    assert_eq!(told.len(), 1, "{name}: {told:?}");
                    assert!(
                        told[0].starts_with(&format!("generator ssh:a {words}")) || told[0].contains(words),
                        "{told:?}"
                    );
                }
            }
        }
    }
}
