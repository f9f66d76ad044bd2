//! The tables of an experiment from studies that are stored, with nothing measured.

use std::path::Path;

use stampede_core::CaseId;
use stampede_plan::{PlannedTable, ReproducePlan};
use stampede_store::{Store, StoredStudy};

use super::ExperimentTable;
use crate::exit::Failure;
use crate::record::StudyRecord;

/// Each study, by its name, as the next table whose rows are its cases; tables without one are not shown.
pub(super) fn tables<'a>(
    plan: &'a ReproducePlan,
    names: &str,
    store: &Path,
) -> Result<Vec<ExperimentTable<'a>>, Failure> {
    let mut tables: Vec<ExperimentTable<'a>> = Vec::new();
    for name in names.split(',').map(str::trim) {
        let opened = Store::open_existing(store).map_err(Failure::missing)?;
        let stored = opened.load(name).map_err(Failure::unknown_or_missing)?;
        let is_free = |planned: &&PlannedTable| !tables.iter().any(|table| table.planned.table.id == planned.table.id);
        let planned = plan.tables.iter().filter(is_free).find(|planned| is_of(planned, &stored));
        let planned = planned.ok_or_else(|| {
            let id = &stored.study.id;
            Failure::usage(format!(
                "study {id} is of no table of {}, or all of its tables have studies already\n  give studies that stampede reproduce {} \
                 stored, with the --scale, --rate-scale and --tables of then",
                plan.publication.name, plan.publication.name
            ))
        })?;
        let StoredStudy { study, finished_at, .. } = &stored;
        let missing =
            planned.rows.iter().map(|row| &row.case).filter(|row| study.cases.iter().all(|case| case.id != **row));
        let left_out: Vec<(CaseId, String)> = missing.map(|row| (row.clone(), "it was not run".to_owned())).collect();
        let finished_at = *finished_at;
        tables.push(ExperimentTable {
            planned,
            prepared: Vec::new(),
            left_out,
            record: Some(StudyRecord::stored(opened, stored)),
            finished_at,
        });
    }
    tables.sort_by_key(|table| plan.tables.iter().position(|planned| planned.table.id == table.planned.table.id));
    Ok(tables)
}

/// Whether a study is of a table, as it is asked for now: its cases are rows, under their load and for as long.
pub(super) fn is_of(planned: &PlannedTable, StoredStudy { study, .. }: &StoredStudy) -> bool {
    !study.cases.is_empty()
        && study.cases.iter().all(|case| {
            let plan = planned.rows.iter().find(|row| row.case == case.id).map(|row| row.plan.as_ref());
            // A row that cannot run here can have been run elsewhere.
            plan.is_some_and(|plan| {
                plan.is_ok_and(|plan| (plan.duration, &plan.load) == (study.duration, &case.load)) || plan.is_err()
            })
        })
}
