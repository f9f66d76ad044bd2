//! What loads have made: as JSON, and in sentences.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::percentile;
use stampede_core::{AuditRecord, AuditTold, CaseId, Latencies, Trial};

use crate::StudyView;
use crate::quantity::count;
use crate::steps::milliseconds;

/// The heading over [`lines`].
pub(crate) const MADE: &str = "What the load has produced";

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireAudit<'a> {
    name: &'a str,
    answered: u64,
    unknown: u64,
    told: Vec<WireTold<'a>>,
    agrees: bool,
}

#[derive(Serialize, JsonSchema)]
struct WireTold<'a> {
    by: &'a str,
    before: u64,
    after: u64,
}

impl<'a> WireAudit<'a> {
    pub(crate) fn of(record: &'a AuditRecord) -> Self {
        let AuditRecord { name, answered, unknown, told } = record;
        Self {
            name,
            answered: *answered,
            unknown: *unknown,
            told: told
                .iter()
                .map(|AuditTold { by, before, after }| WireTold { by, before: *before, after: *after })
                .collect(),
            agrees: record.problems().is_empty(),
        }
    }
}

/// A line for each case and number, and one that says what the number does not.
pub(crate) fn lines(view: &StudyView<'_>) -> Vec<String> {
    let of_case = |case: &CaseId| -> Vec<&Trial> {
        view.trials.iter().filter(|trial| trial.case == *case && !trial.audits.is_empty()).collect()
    };
    let cases: Vec<(&CaseId, Vec<&Trial>)> = view
        .analysis
        .cases
        .iter()
        .map(|summary| (&summary.case, of_case(&summary.case)))
        .filter(|(_, trials)| !trials.is_empty())
        .collect();
    let mut lines: Vec<String> = cases.iter().flat_map(|(case, trials)| of_trials(case, trials)).collect();
    lines.extend(ceiling(&cases));
    lines
}

fn of_trials(case: &CaseId, trials: &[&Trial]) -> Vec<String> {
    let mut lines: Vec<(String, Vec<u32>)> = Vec::new();
    for trial in trials {
        for record in &trial.audits {
            let line = sentence(record);
            match lines.iter_mut().find(|(known, _)| *known == line) {
                Some((_, blocks)) => blocks.push(trial.block),
                None => lines.push((line, vec![trial.block])),
            }
        }
    }
    let several = lines.len() > 1;
    let told = |(line, blocks): (String, Vec<u32>)| {
        let blocks: Vec<String> = blocks.iter().map(u32::to_string).collect();
        let of = if blocks.len() == 1 { "round" } else { "rounds" };
        let of = if several { format!(" ({of} {})", blocks.join(", ")) } else { String::new() };
        format!("{case}: {line}{of}")
    };
    lines.into_iter().map(told).collect()
}

/// `46,576 people were answered, and replica-1, replica-2 and postgres have as many`.
fn sentence(record: &AuditRecord) -> String {
    let AuditRecord { name, answered, unknown, told } = record;
    let problems = record.problems();
    if !problems.is_empty() {
        return problems.join("; ");
    }
    let by: Vec<&str> = told.iter().map(|told| told.by.as_str()).collect();
    let by = match &by[..] {
        [] => return format!("{} {name} were answered; no other count could be read", count(*answered)),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    };
    let have = if told.len() == 1 { "has" } else { "have" };
    let exactly = told.iter().all(|told| told.after.checked_sub(told.before) == Some(*answered));
    if exactly {
        format!("{} {name} were answered, and {by} {have} as many", count(*answered))
    } else {
        let made = told.iter().map(|told| count(told.after.saturating_sub(told.before))).collect::<Vec<_>>().join(", ");
        format!(
            "{} {name} were answered; {by} {have} {made}, which is possible, since {} requests were not answered to their end",
            count(*answered),
            count(*unknown)
        )
    }
}

/// Where no request failed, a number is what the load can make at the most, and as good as any other case's that kept up.
fn ceiling(cases: &[(&CaseId, Vec<&Trial>)]) -> Option<String> {
    let kept_up = |trial: &Trial| {
        let agrees = trial.audits.iter().all(|audit| audit.problems().is_empty());
        agrees
            && trial.measurement.as_ref().is_some_and(|measured| {
                let unsent = measured.sending.as_ref().map_or(0, |sending| sending.unsent);
                measured.requests.failed + measured.requests.unfinished + unsent == 0
            })
    };
    let full: Vec<&(&CaseId, Vec<&Trial>)> =
        cases.iter().filter(|(_, trials)| trials.iter().all(|trial| kept_up(trial))).collect();
    if full.is_empty() {
        return None;
    }
    let times = full.iter().map(|(case, trials)| {
        let mut response = Latencies::new();
        trials.iter().filter_map(|trial| trial.measurement.as_ref()).for_each(|all| response.merge(&all.response));
        match percentile(&response, 0.99) {
            Some(p99) => format!("{case} {} ms", milliseconds(p99)),
            None => format!("{case} n/a (at most {} ms)", milliseconds(response.max())),
        }
    });
    let times = times.collect::<Vec<_>>().join(", ");
    Some(match full.len() {
        1 => format!(
            "No request failed, so this number is the most that the load can produce. Compare by p99 response time: {times}."
        ),
        several => format!(
            "No request of {several} cases failed, so each produced the most that the load can: this number cannot separate them. Compare by p99 response time: {times}."
        ),
    })
}
