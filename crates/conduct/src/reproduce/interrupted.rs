//! A run of an experiment that was interrupted: which of its tables were measured, and by which studies.

use std::collections::BTreeMap;

use stampede_core::StudyKind;
use stampede_plan::{PlannedTable, ReproducePlan};
use stampede_store::{Store, StoredStudy, StudyRow};

use super::stored::is_of;
use crate::exit::Failure;

/// The studies of the newest run of an experiment, by the places of their tables.
///
/// A run measures its tables one after the other, so that its last table is that of the newest study, and of each table before that it
/// has the newest study that began earlier.
///
/// # Errors
///
/// When the store has no study of it, or the last of its tables was measured whole.
pub(super) fn studies(plan: &ReproducePlan, store: &Store) -> Result<BTreeMap<usize, StoredStudy>, Failure> {
    // The newest come first.
    let rows = store.studies().map_err(Failure::missing)?;
    let mut found: BTreeMap<usize, StoredStudy> = BTreeMap::new();
    let mut later = plan.tables.len();
    for row in rows.iter().filter(|row| row.kind == StudyKind::Compare && row.imported_at.is_none()) {
        let before = plan.tables[..later].iter().enumerate().rev();
        let may_be: Vec<_> = before.filter(|(_, planned)| is_named_as(planned, row)).collect();
        if may_be.is_empty() {
            continue;
        }
        let stored = store.load(row.id.as_str()).map_err(Failure::missing)?;
        if let Some((number, _)) = may_be.into_iter().find(|(_, planned)| is_of(planned, &stored)) {
            found.insert(number, stored);
            later = number;
        }
    }
    let is_whole =
        |(number, stored): (&usize, &StoredStudy)| stored.finished_at.is_some() && number + 1 == plan.tables.len();
    if found.last_key_value().is_none_or(is_whole) {
        return Err(Failure::usage(format!(
            "--resume finds no run of {} that was interrupted, with these --scale, --rate-scale and --tables; leave out --resume to start one",
            plan.publication.name
        )));
    }
    Ok(found)
}

/// Whether a study can be of a table by what the list of studies says of it.
fn is_named_as(planned: &PlannedTable, row: &StudyRow) -> bool {
    !row.cases.is_empty() && row.cases.iter().all(|case| planned.rows.iter().any(|row| row.case == *case))
}
