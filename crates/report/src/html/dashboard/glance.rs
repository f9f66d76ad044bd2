//! A study at a glance: what it comes to, a picture of it, and where it was measured.

use serde::Serialize;
use stampede_core::StudyKind;

use super::WORDS;
use crate::StudyView;
use crate::html::answer;
use crate::html::picture::Picture;
use crate::html::study::StudyPage;

/// What a list shows of a study beside its name.
#[derive(Clone, Debug, Serialize)]
pub struct Glance {
    /// The first line of its report: of a comparison, what to ship.
    pub lead: String,
    /// `2 CPUs, Intel Xeon`.
    pub machine: String,
    pub(super) picture: Option<Picture>,
}

impl Glance {
    /// Of a study and what its trials say.
    #[must_use]
    pub fn of(view: &StudyView<'_>) -> Self {
        let machine = &view.study.machine;
        let asked = if view.trials.is_empty() { None } else { answer(view) };
        let picture = match view.study.kind {
            StudyKind::Capacity => Picture::of_capacity(&stampede_analysis::capacity(view.study, view.trials)),
            _ => Picture::of(view),
        };
        Self {
            lead: match (view.finished_at, asked) {
                // What shows up on the way is often chance.
                (None, _) => WORDS.of("unfinished_lead"),
                (Some(_), Some((lead, _))) => lead,
                (Some(_), None) => StudyPage::lead_of(view, &WORDS),
            },
            machine: format!("{} CPUs, {}", machine.cpus, machine.cpu_model),
            picture,
        }
    }
}
