//! Sessions: those that begin with every request, and requests that wait for the lock of one.

use std::collections::BTreeSet;

use stampede_core::{Finding, Gauge, Load, NewSession, Role, Series, SeriesSource, Severity};

use super::{finding, inside, percent, sampled};
use crate::metric::ratio;
use crate::record::Record;

/// From this share of the time of requests, or of the requests that are worked on, a lock is worth a change.
const LOCKED: f64 = 0.2;

/// The name of the evidence for that share.
const WAITING_SHARE: &str = "waiting_share";

/// The id of the finding that requests wait for the lock of a session.
pub const SESSION_LOCK: &str = "session-lock";

/// Requests of one session wait for its lock: told by the kernel, or by PHP's stacks.
pub(super) fn lock(record: &Record<'_>) -> Option<Finding> {
    let inside = inside::session_lock_share(record);
    let waits = waits(record);
    let of_workers = waits.and_then(|waits| Some((waits, ratio(waits, worked_on(record)?)?)));
    let (text, evidence) = match (
        of_workers.filter(|(_, share)| *share >= LOCKED),
        inside.filter(|share| *share >= LOCKED),
    ) {
        (Some((waits, share)), inside) => {
            let confirmed = inside.map_or_else(String::new, |inside| {
                format!(" PHP's stacks confirm it: {} of the time of requests is such a wait.", percent(inside))
            });
            let text = format!(
                "Requests of one session wait for each other: on average {waits:.1} wait for the lock of its file, {} of \
                 those that have a worker.{confirmed}",
                percent(share.min(1.0))
            );
            (text, vec![("lock_waits", waits), (WAITING_SHARE, inside.unwrap_or(share.min(1.0)))])
        }
        (None, Some(share)) => {
            let text = format!("Requests spend {} of their time waiting for the lock of a session.", percent(share));
            (text, vec![(WAITING_SHARE, share)])
        }
        (None, None) => return None,
    };
    Some(finding(
        SESSION_LOCK,
        Severity::Warning,
        text,
        evidence,
        "Call session_write_close() as soon as the session is read, or session_start(['read_and_close' => true]) where \
         nothing is written. More workers only wait as well. If real visitors have a session each, give the load \
         several: cookies: true, without the header Cookie.",
    ))
}

/// How many requests waited for the lock of a session, on average.
fn waits(record: &Record<'_>) -> Option<f64> {
    let groups = sampled(record).filter(|series| series.source == SeriesSource::Group);
    let (mut sum, mut count) = (0.0, 0.0);
    for value in groups.flat_map(|series: &Series| series.values(Gauge::SessionLockWaits)) {
        sum += value as f64;
        count += 1.0;
    }
    ratio(sum, count)
}

/// How many requests workers have at once, at most: those of the load, and no more than there are workers.
fn worked_on(record: &Record<'_>) -> Option<f64> {
    let pools = record.case.tuning.of_role(Role::PoolSize).filter_map(|(_, value)| value.parse::<f64>().ok());
    let workers = pools.max_by(f64::total_cmp).map(|pool| pool * f64::from(record.case.topology.replicas.max(1)));
    let (mut time, mut window) = (0.0, 0.0);
    for measured in record.measurements() {
        // Little's law.
        time += measured.service.mean_ns() * 1e-9 * (measured.requests.ok + measured.requests.failed) as f64;
        window += measured.window.as_secs_f64();
    }
    let under_way = match record.case.load {
        Load::Closed { connections } => f64::from(connections),
        _ => ratio(time, window)?,
    };
    Some(workers.filter(|workers| *workers > 0.0).map_or(under_way, |workers| workers.min(under_way)))
}

/// Every answer begins a session, since every request is a new visitor's.
pub(super) fn begun(record: &Record<'_>) -> Option<Finding> {
    let (mut sessions, mut answered, mut window) = (0, 0, 0.0);
    let (mut cookies, mut file_bytes) = (BTreeSet::new(), None);
    for trial in &record.trials {
        let Some(measured) = &trial.measurement else { continue };
        let new = |name: &str| {
            trial.answers.iter().find(|answer| answer.exchange == name).and_then(|answer| answer.new_session.as_ref())
        };
        let mut count = |session: Option<&NewSession>, ok: u64| {
            answered += ok;
            let Some(NewSession { cookies: names, file_bytes: bytes }) = session else { return };
            sessions += ok;
            cookies.extend(names.iter().cloned());
            file_bytes = file_bytes.or(*bytes);
        };
        match &measured.steps[..] {
            // One kind of request is the whole load.
            [] => {
                let mut kinds = trial.answers.iter().filter(|answer| answer.new_session.is_some());
                let only = kinds.next().filter(|_| trial.answers.len() == 1);
                count(only.and_then(|answer| answer.new_session.as_ref()), measured.requests.ok);
            }
            steps => steps.iter().for_each(|step| count(new(&step.name), step.requests.ok)),
        }
        window += measured.window.as_secs_f64();
    }
    let share = ratio(sessions as f64, answered as f64).filter(|_| sessions > 0)?;
    let who = if sessions == answered {
        "Every request is".to_owned()
    } else {
        format!("{} of requests are", percent(share))
    };
    let visitors = if sessions == answered { "a new visitor" } else { "new visitors" };
    let names = cookies.into_iter().collect::<Vec<_>>().join(", ");
    // An empty session takes no block of the disk, only a file.
    let size = file_bytes.filter(|bytes| *bytes > 0).map_or_else(String::new, |bytes| {
        format!(
            ", each a file of {:.1} KiB on disk, some {:.1} MiB in all",
            bytes as f64 / 1024.0,
            bytes as f64 * sessions as f64 / f64::from(1 << 20)
        )
    });
    let mut evidence = vec![("sessions", sessions as f64), ("sessions_per_second", sessions as f64 / window.max(1e-9))];
    evidence.extend(file_bytes.map(|bytes| ("session_file_bytes", bytes as f64)));
    Some(finding(
        "new-sessions",
        Severity::Warning,
        format!("{who} {visitors}: about {sessions} sessions began in the windows (cookie {names}){size}."),
        evidence,
        "Visitors who come back keep their session: add cookies: true to the plan, or --cookies, and each connection is \
         one visitor. Leave it if your pages are mostly seen by newcomers, or do not start a session for them.",
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Sampling, ServedAnswer};

    use super::*;
    use crate::rules::tests::found;

    #[test]
    fn sessions_that_begin_with_each_answer_are_counted() {
        let of = |new: bool, file_bytes: Option<u64>| {
            found(begun, |trial| {
                let session = NewSession { cookies: BTreeSet::from(["PHPSESSID".to_owned()]), file_bytes };
                trial.answers = vec![ServedAnswer {
                    exchange: "home".to_owned(),
                    status: 200,
                    body_bytes: 1,
                    new_session: new.then_some(session),
                }];
            })
        };
        assert_eq!(of(false, None), None);
        // Three trials of 5 s at 1000 a second.
        let text = "Every request is a new visitor: about 15000 sessions began in the windows (cookie PHPSESSID)";
        assert_eq!(of(true, None).unwrap().text, format!("{text}."));
        assert_eq!(of(true, Some(0)).unwrap().text, format!("{text}."));
        let with_size = of(true, Some(4096)).unwrap();
        assert_eq!(with_size.text, format!("{text}, each a file of 4.0 KiB on disk, some 58.6 MiB in all."));
        assert_eq!(with_size.evidence["sessions"], 15_000.0);
    }

    #[test]
    fn requests_that_wait_for_a_session_are_told_from_a_slow_server() {
        let of = |waits: &[u64]| {
            found(lock, |trial| {
                let mut series = Series::new(SeriesSource::Group);
                for (tick, waits) in (0..).zip(waits) {
                    series.push(Duration::from_millis(100 * tick), &[(Gauge::SessionLockWaits, *waits)]);
                }
                trial.measurement.as_mut().unwrap().sampling =
                    Some(Sampling { series: vec![series], ..Sampling::default() });
            })
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[0, 0, 1, 0]), None);
        let finding = of(&[15, 15, 14, 15]).unwrap();
        let text = "Requests of one session wait for each other: on average 14.8 wait for the lock of its file, 92 % of those \
                    that have a worker.";
        assert_eq!(finding.text, text);
        assert!(finding.evidence[WAITING_SHARE] > 0.9);
    }
}
