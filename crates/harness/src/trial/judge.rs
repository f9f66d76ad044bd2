//! Whether a measurement means what it should, and what is said of one that failed.

use std::time::Duration;

use stampede_core::{Case, ErrorClass, Failures, Limits, Outcome};
use stampede_seam::Running;

use crate::measure::Measured;
use crate::write_denied;

/// Requests may fail to connect or be cut off in this share of all before the trial counts as invalid; a wrong answer
/// never may.
const MOST_BROKEN: f64 = 0.001;

/// Counters may be read later than an edge by this share of the window.
pub(crate) const MOST_LATE: f64 = 0.02;

/// Whether a measurement means what it should.
pub(crate) fn judge(
    measured: &Measured,
    case: &Case,
    drain: Duration,
    failures: Failures,
    mut faults: Vec<String>,
) -> Result<Outcome, String> {
    let Measured { measurement, saturation, failure_example, edges_late, parts: _, answers: _, exhausted, link: _ } =
        measured;
    let requests = measurement.requests;
    let example = failure_example.as_ref().map(|example| format!("; the first: {example}")).unwrap_or_default();
    let oom_kills = measurement.resources.map_or(0, |resources| resources.oom_kills);
    if oom_kills > 0 {
        return Err(format!(
            "lost {}, and {} of {} requests failed{example}",
            processes(oom_kills),
            requests.failed,
            requests.sent
        ));
    }
    if requests.ok == 0 {
        return Err(format!("answered none of {} requests rightly{example}", requests.sent));
    }
    let count = |class: ErrorClass| measurement.errors.get(&class).copied().unwrap_or(0);
    let wrong = count(ErrorClass::WrongStatus) + count(ErrorClass::WrongBody) + count(ErrorClass::Malformed);
    let are_faults = failures == Failures::Faults;
    if wrong > 0 && are_faults {
        faults.push(format!("{wrong} of {} answers under load were wrong{example}", requests.sent));
    }
    for feeder in exhausted {
        faults.push(format!("the feeder {feeder} had no row left for users who wanted one: give it more rows"));
    }
    let exhausted = count(ErrorClass::Exhausted);
    if exhausted > 0 {
        faults.push(format!("the generator ran out of ports or files {exhausted} times{example}"));
    }
    let broken = requests.failed.saturating_sub(wrong + exhausted);
    if broken as f64 > MOST_BROKEN * requests.sent as f64 && are_faults {
        faults.push(format!("{broken} of {} requests broke off{example}", requests.sent));
    }
    let unsent = measurement.sending.as_ref().map_or(0, |sending| sending.unsent);
    let unfinished = measurement.warm_up.unfinished + requests.unfinished + unsent;
    if unfinished > 0 && are_faults {
        faults.push(format!(
            "{unfinished} requests had no answer {drain:?} after the window, so the load was smaller than {}",
            case.whole_load()
        ));
    }
    if let Some(saturation) = saturation {
        faults.push(saturation.to_string());
    }
    if edges_late.as_secs_f64() > MOST_LATE * measurement.window.as_secs_f64() {
        faults.push(format!("counters were read {edges_late:?} after an edge of the window: this program was held up"));
    }
    Ok(if faults.is_empty() { Outcome::Measured } else { Outcome::Invalid(faults.join("; ")) })
}

/// A failure with what the kernel and the units' logs say of it.
pub(crate) fn explain(running: &dyn Running, limits: &Limits, problem: &str) -> String {
    let mut text = problem.to_owned();
    let read = running.vantage().counters(&[&running.meters()]).groups;
    if let Some(Ok(Some(counters))) = read.into_iter().next()
        && counters.oom_kills > 0
    {
        text.push_str(&format!(
            "\nthe kernel killed {} {} of {}",
            processes(counters.oom_kills),
            Outcome::MEMORY_LIMIT,
            limits.memory
        ));
    }
    for unit in running.units() {
        let log = running.logs(&unit);
        if !log.lines.is_empty() {
            text.push_str(&format!("\nlog of {unit}:\n  {}", log.lines.join("\n  ")));
        }
        text.extend(write_denied::hint(&log.lines).map(|hint| format!("\n{hint}")));
    }
    text
}

fn processes(count: u64) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}
