//! What cases came to in the studies of a workload, for a metric over time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use stampede_core::{Case, Estimate, Revision, Study, StudyId, StudyKind};
use stampede_store::{Store, StoreError, StoredStudy, StudyRow};

/// A case of a study, summed up.
#[derive(Debug)]
pub(crate) struct PastCase {
    pub(crate) runtime: String,
    pub(crate) version: String,
    pub(crate) revision: Option<Revision>,
    /// Under which conditions, so that equal ones can be told.
    pub(crate) conditions: String,
    pub(crate) summary: BTreeMap<&'static str, Estimate>,
}

/// Summaries of finished studies, which do not change: made once, and kept while the dashboard runs.
#[derive(Debug, Default)]
pub(crate) struct Past {
    known: Mutex<BTreeMap<StudyId, Arc<Vec<PastCase>>>>,
}

impl Past {
    /// Whether a study's cases are ones to be followed: those of the other kinds have loads and limits that vary by design.
    pub(crate) fn has(row: &StudyRow) -> bool {
        row.finished_at.is_some() && matches!(row.kind, StudyKind::Compare | StudyKind::Calibrate | StudyKind::Gate)
    }

    pub(crate) fn of(&self, store: &Store, study: &StudyId) -> Result<Arc<Vec<PastCase>>, StoreError> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cases) = known().get(study) {
            return Ok(Arc::clone(cases));
        }
        let StoredStudy { study, trials, .. } = store.load(study.as_str())?;
        let analysis = stampede_analysis::analyse(&study, &trials);
        let cases = study.cases.iter().filter_map(|case| {
            let summary = analysis.case(&case.id)?.summary.clone();
            Some(PastCase {
                runtime: case.runtime.to_string(),
                version: case.runtime_version.clone(),
                revision: case.revision.clone(),
                conditions: conditions(&study, case),
                summary,
            })
        });
        let cases = Arc::new(cases.collect());
        known().insert(study.id.clone(), Arc::clone(&cases));
        Ok(cases)
    }
}

fn conditions(study: &Study, case: &Case) -> String {
    let Case { id, app, site, limits, topology, platform, .. } = case;
    let around = if topology.is_default() { String::new() } else { format!(", {topology}") };
    let shown = site.as_ref().map(|site| format!(" ({site})")).unwrap_or_default();
    format!(
        "{id}: {app}{shown}, {} CPU, {}, {}{around}, {platform}, {}",
        limits.cpus,
        limits.memory,
        case.whole_load(),
        study.machine.cpu_model
    )
}
