//! Whether a measurement means what it should, and what is said of one that failed.

use std::time::Duration;

use stampede_core::{Case, ErrorClass, Failures, Measurement, Outcome, with_causes};
use stampede_seam::{LaunchError, Running};

use crate::measure::Measured;
use crate::{complaint, htaccess, write_denied};

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
    let Measured {
        measurement,
        saturation,
        generator_faults,
        failure_example,
        edges_late,
        parts: _,
        answers: _,
        exhausted,
        by_target: _,
        link: _,
    } = measured;
    faults.extend(generator_faults.iter().cloned());
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
    let count = |class: ErrorClass| measurement.errors.get(&class).copied().unwrap_or(0);
    let unwritable = count(ErrorClass::Unwritable);
    // Of requests that never left nobody can answer one.
    if requests.ok == 0 && (unwritable == 0 || unwritable < requests.sent) {
        return Err(answered_none(measurement, &example));
    }
    let wrong: u64 = measurement.errors.iter().filter(|(class, _)| class.is_wrong()).map(|(_, count)| count).sum();
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
    if unwritable > 0 {
        faults.push(format!("the generator could not write {unwritable} of {} requests{example}", requests.sent));
    }
    let broken = requests.failed.saturating_sub(wrong + exhausted + unwritable);
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

/// What is said of a deployment that answered no request of the window as it should; `example` begins with what parts it from that.
pub(crate) fn answered_none(measurement: &Measurement, example: &str) -> String {
    let (sent, before) = (measurement.requests.sent, measurement.warm_up.unfinished);
    if sent == 0 && before > 0 {
        return format!(
            "answered nothing: all clients waited for answers to {before} requests of the warm-up{example}"
        );
    }
    if sent == 0 {
        return format!("answered nothing: no request was sent{example}");
    }
    format!("answered none of {sent} requests rightly{example}")
}

/// A launch that failed, with what mends it, where that is known.
pub(crate) fn unlaunched(case: &Case, error: &LaunchError) -> String {
    let problem = with_causes(error);
    told(&problem, &complaint::fixes(case, &problem, problem.lines()))
}

/// A failure with what mends it, where that is known, and what the kernel and the units' logs say of it.
pub(crate) async fn explain(running: &dyn Running, case: &Case, problem: &str) -> String {
    let mut text = told(&with_fixes(running, case, problem), &htaccess::fixes(running).await);
    let read = running.vantage().counters(&[&running.meters()]).groups;
    if let Some(Ok(Some(counters))) = read.into_iter().next()
        && counters.oom_kills > 0
    {
        text.push_str(&format!(
            "\nthe kernel killed {} {} of {}",
            processes(counters.oom_kills),
            Outcome::MEMORY_LIMIT,
            case.limits.memory
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

/// A problem with what mends it, where that is known.
pub(crate) fn with_fixes(running: &dyn Running, case: &Case, problem: &str) -> String {
    let logs: Vec<_> = running.units().iter().map(|unit| running.logs(unit)).collect();
    let lines = logs.iter().flat_map(|log| log.lines.iter().map(String::as_str));
    told(problem, &complaint::fixes(case, problem, lines))
}

fn told(problem: &str, fixes: &[String]) -> String {
    fixes.iter().fold(problem.to_owned(), |text, fix| format!("{text}\n{fix}"))
}

fn processes(count: u64) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stampede_core::{Counts, GeneratorUse, Latencies, Measurement};
    use stampede_testkit::samples;

    use super::*;

    /// So many requests with these failures.
    fn measured(sent: u64, errors: &[(ErrorClass, u64)]) -> Measured {
        let failed = errors.iter().map(|(_, count)| count).sum();
        let measurement = Measurement {
            window: Duration::from_secs(5),
            requests: Counts { sent, ok: sent - failed, failed, unfinished: 0 },
            warm_up: Counts::default(),
            reconnects: 0,
            service: Latencies::new(),
            response: Latencies::new(),
            status: BTreeMap::new(),
            errors: errors.iter().copied().collect(),
            bytes_sent: 0,
            bytes_received: 0,
            resources: None,
            generator: GeneratorUse::default(),
            sending: None,
            sampling: None,
            steps: Vec::new(),
            seconds: Vec::new(),
            turns: Vec::new(),
            load_seconds: Vec::new(),
        };
        Measured {
            measurement,
            saturation: None,
            generator_faults: Vec::new(),
            failure_example: Some("an example".to_owned()),
            parts: Vec::new(),
            by_target: Vec::new(),
            edges_late: Duration::ZERO,
            answers: Vec::new(),
            exhausted: Vec::new(),
            link: None,
        }
    }

    fn outcome(measured: &Measured, failures: Failures) -> Outcome {
        judge(measured, &samples::case("a"), Duration::from_secs(1), failures, Vec::new()).unwrap()
    }

    #[test]
    fn clients_that_wait_for_answers_of_the_warm_up_are_told_as_such() {
        let mut stuck = measured(0, &[]);
        let judged = |stuck: &Measured| {
            judge(stuck, &samples::case("a"), Duration::from_secs(1), Failures::Faults, Vec::new()).unwrap_err()
        };
        assert_eq!(judged(&stuck), "answered nothing: no request was sent; the first: an example");
        stuck.measurement.warm_up.unfinished = 4;
        stuck.failure_example = None;
        assert_eq!(judged(&stuck), "answered nothing: all clients waited for answers to 4 requests of the warm-up");
    }

    #[test]
    fn one_wrong_answer_of_any_kind_is_too_many_and_a_few_that_broke_off_are_not() {
        for class in ErrorClass::ALL {
            let outcome = outcome(&measured(100_000, &[(class, 1)]), Failures::Faults);
            let expected = match class {
                ErrorClass::WrongStatus | ErrorClass::WrongHeader | ErrorClass::WrongBody | ErrorClass::Malformed => {
                    Outcome::Invalid("1 of 100000 answers under load were wrong; the first: an example".to_owned())
                }
                ErrorClass::Unwritable => Outcome::Invalid(
                    "the generator could not write 1 of 100000 requests; the first: an example".to_owned(),
                ),
                ErrorClass::Exhausted => Outcome::Invalid(
                    "the generator ran out of ports or files 1 times; the first: an example".to_owned(),
                ),
                _ => Outcome::Measured,
            };
            assert_eq!(outcome, expected, "{class:?}");
        }
    }

    #[test]
    fn what_could_not_be_written_is_never_the_servers_fault() {
        // More than may break off, and where failures are what is measured.
        let many = measured(1000, &[(ErrorClass::Unwritable, 500)]);
        for failures in [Failures::Faults, Failures::Figures] {
            assert_eq!(
                outcome(&many, failures),
                Outcome::Invalid(
                    "the generator could not write 500 of 1000 requests; the first: an example".to_owned()
                )
            );
        }
        let none_left = measured(10, &[(ErrorClass::Unwritable, 10)]);
        assert!(matches!(outcome(&none_left, Failures::Faults), Outcome::Invalid(_)));
        let one_left = measured(10, &[(ErrorClass::Unwritable, 9), (ErrorClass::WrongBody, 1)]);
        let judged = judge(&one_left, &samples::case("a"), Duration::from_secs(1), Failures::Faults, Vec::new());
        assert!(judged.is_err());
    }
}
