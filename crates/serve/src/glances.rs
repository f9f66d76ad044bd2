//! What a list shows of studies: each is read and analysed once, and again only when it has more trials.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use stampede_analysis::{OpenPartAnalysis, analyse_parts};
use stampede_core::StudyId;
use stampede_report::StudyView;
use stampede_report::html::dashboard::Glance;
use stampede_store::{Store, StoreError, StudyRow};

/// How many trials a study had, and whether it was finished, when it was looked at.
type State = (u32, bool);

/// The studies that were listed, while the dashboard runs.
#[derive(Debug, Default)]
pub(crate) struct Glances {
    known: Mutex<BTreeMap<StudyId, (State, Arc<Glance>)>>,
}

impl Glances {
    /// A study at a glance.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub(crate) fn of(&self, store: &Store, row: &StudyRow) -> Result<Arc<Glance>, StoreError> {
        let state = (row.trials, row.finished_at.is_some());
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, glance)) = known().get(&row.id).filter(|(known, _)| *known == state) {
            return Ok(Arc::clone(glance));
        }
        let stored = store.load(row.id.as_str())?;
        let open_part = store.open_part(&stored.study.id)?;
        let analysis = analyse_parts(&stored.study, &stored.trials, open_part.as_ref());
        let open_part = open_part.and_then(|part| OpenPartAnalysis::of(&stored.study, &stored.trials, part));
        let view = StudyView { open_part: open_part.as_ref(), ..StudyView::of(&stored, &analysis) };
        let glance = Arc::new(Glance::of(&view));
        known().insert(row.id.clone(), (state, Arc::clone(&glance)));
        Ok(glance)
    }
}
