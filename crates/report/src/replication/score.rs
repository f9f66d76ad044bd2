//! What the load of a table made, row by row: of an experiment that counts what was created, this is its score.

use stampede_analysis::{Analysis, percentile};
use stampede_core::{CaseId, Latencies, Load, PublishedTable, Study, Trial};

use super::ReplicatedTable;
use super::digest::title;
use crate::page::Block;
use crate::quantity::number;
use crate::steps::{KINDS, by_kind, kinds};
use crate::{StudyView, audits};

/// The rule that says which part's own share of CPU time ran out.
const LIMITING: &str = "part-throttled";

/// The end of the names of its figures.
const THROTTLED: &str = "_throttled_share";

/// From this lateness on a generator did not keep its schedule, in milliseconds.
const LATE: f64 = 10.0;

/// The kinds of request, what was created, what was the limit, and how well the generator kept its schedule.
pub(super) fn blocks(of: &ReplicatedTable<'_>, blocks: &mut Vec<Block>) {
    let run = &of.run;
    let (Some(study), Some(analysis)) = (run.study, run.analysis) else { return };
    let (table, trials) = (run.table, run.trials);
    let view = StudyView { study, finished_at: None, trials, yard_stick: &[], analysis, open_part: None };
    let mut kinds = kinds(&view);
    let place = |case: &CaseId| table.rows.iter().position(|row| row.case == *case);
    kinds.sort_by_key(|of_case| place(&of_case.case));
    if !kinds.is_empty() {
        blocks.push(Block::Heading { text: KINDS.to_owned(), level: 3 });
        blocks.push(Block::Table(by_kind("row, request", &kinds, |case| title(table, case))));
    }
    let made = audits::lines(&view);
    if !made.is_empty() {
        blocks.push(Block::Heading { text: audits::MADE.to_owned(), level: 3 });
        blocks.extend(made.into_iter().map(Block::Item));
    }
    blocks.extend(limits(table, analysis).map(Block::Paragraph));
    blocks.extend(schedule(table, study, trials).map(Block::Paragraph));
}

/// The parts of a row whose own share of CPU time ran out in most of its periods, each with the share of these.
pub(super) fn limiting<'a>(analysis: &'a Analysis, case: &CaseId) -> impl Iterator<Item = (&'a str, f64)> {
    let findings = analysis.case(case).map_or(&[][..], |summary| &summary.findings);
    let evidence = findings.iter().filter(|finding| finding.id == LIMITING).flat_map(|finding| &finding.evidence);
    evidence.filter_map(|(name, share)| Some((name.strip_suffix(THROTTLED)?, *share)))
}

fn limits(table: &PublishedTable, analysis: &Analysis) -> Option<String> {
    let rows = table.rows.iter().filter_map(|row| {
        let parts = limiting(analysis, &row.case).map(|(part, share)| format!("{part} ({} %)", number(share * 100.0)));
        let parts: Vec<String> = parts.collect();
        (!parts.is_empty()).then(|| format!("{}: {}", row.title, parts.join(", ")))
    });
    let rows: Vec<String> = rows.collect();
    (!rows.is_empty()).then(|| {
        format!("The limit was the part whose own share of CPU time ran out in most periods. {}.", rows.join("; "))
    })
}

/// The p99 of how late the generator began a row's requests, all trials together; none of a closed load, which has no schedule.
pub(super) fn lateness(study: &Study, trials: &[Trial], case: &CaseId) -> Option<f64> {
    let case = study.cases.iter().find(|known| known.id == *case)?;
    if !matches!(case.load, Load::Open { .. }) {
        return None;
    }
    let of_case = trials.iter().filter(|trial| trial.case == case.id);
    let mut lateness = Latencies::new();
    for sending in of_case.filter_map(|trial| trial.measurement.as_ref()?.sending.as_ref()) {
        lateness.merge(&sending.lateness);
    }
    Some(percentile(&lateness, 0.99)?.as_secs_f64() * 1e3)
}

fn schedule(table: &PublishedTable, study: &Study, trials: &[Trial]) -> Option<String> {
    let rows = table.rows.iter().filter_map(|row| Some((&row.title, lateness(study, trials, &row.case)?)));
    let (kept, late): (Vec<_>, Vec<_>) = rows.partition(|(_, late)| *late < LATE);
    let told = |begin: String, rows: Vec<(&String, f64)>| {
        let rows: Vec<String> = rows.iter().map(|(title, late)| format!("{title} {} ms", number(*late))).collect();
        (!rows.is_empty()).then(|| format!("{begin}: {}.", rows.join(", ")))
    };
    let kept = told(format!("The generator kept its schedule (p99 of lateness under {LATE} ms)"), kept);
    let late = told("It sent requests later than that, which is part of the figures".to_owned(), late);
    let told: Vec<String> = [kept, late].into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(" "))
}
