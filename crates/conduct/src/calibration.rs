//! Calibrations: one case compared with itself, and what the stored ones say of a new study.

use stampede_core::{CaseId, Machine, NoiseFloor, Study, StudyKind};
use stampede_harness::Prepared;
use stampede_store::{Store, StoreError, StoredStudy, StudyRow};

/// The first case, under two names.
pub(crate) fn twice(prepared: Vec<Prepared>) -> Vec<Prepared> {
    let copies = prepared.into_iter().next().into_iter().flat_map(|first| [(first.clone(), "a"), (first, "b")]);
    let named = copies.map(|(mut copy, name)| {
        copy.case.id = CaseId::new(format!("{}-{name}", copy.case.id));
        copy
    });
    named.collect()
}

/// The floor of the newest calibration that fits a study.
pub(crate) fn floor_for(store: &Store, study: &Study) -> Result<Option<NoiseFloor>, StoreError> {
    let mut all = calibrations(store)?;
    Ok(all.find_map(|stored| {
        let (calibration, floor) = stored.ok()?;
        stampede_analysis::calibrates(&calibration, study).then_some(floor)
    }))
}

/// The calibrations of a machine, newest first, each with the noise floor that it found.
///
/// # Errors
///
/// When the store cannot be read.
pub fn of_machine(store: &Store, machine: &Machine) -> Result<Vec<(Study, NoiseFloor)>, StoreError> {
    let all = calibrations(store)?;
    all.filter(|stored| stored.as_ref().map_or(true, |(calibration, _)| calibration.machine == *machine)).collect()
}

/// All that tell a floor, newest first. Those that came from elsewhere tell that of another machine, which may look the same.
fn calibrations(store: &Store) -> Result<impl Iterator<Item = Result<(Study, NoiseFloor), StoreError>>, StoreError> {
    let ours = |row: &StudyRow| row.kind == StudyKind::Calibrate && row.imported_at.is_none();
    let rows = store.studies()?.into_iter().filter(ours);
    Ok(rows.filter_map(|row| match store.load(row.id.as_str()) {
        Ok(StoredStudy { study, trials, .. }) => {
            let floor = stampede_analysis::noise_floor(&study, &trials)?;
            Some(Ok((study, floor)))
        }
        Err(error) => Some(Err(error)),
    }))
}
