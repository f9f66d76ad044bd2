//! What a question came to, in whichever way it is written.

use stampede_core::{StudyKind, are_autoscaled};

use crate::capacity::{self, CapacityView};
use crate::ladder::{self, LadderView};
use crate::replication::{self, ReplicationView};
use crate::size::service::{self as service_size, ServiceSizeView};
use crate::size::{self, SizeView};
use crate::tune::{self, TuneView};
use crate::{StudyView, html, json, markdown, scale, terminal};

/// What a question came to.
#[derive(Clone, Copy, Debug)]
pub enum ReportAnswer<'a> {
    /// A study alone.
    Study(StudyView<'a>),
    /// A search for settings.
    Tune(&'a TuneView<'a>),
    /// A search for a size.
    Size(&'a SizeView<'a>),
    /// A search for an autoscaled service.
    ServiceSize(&'a ServiceSizeView<'a>),
    /// Steps, with all studies that were measured for them.
    Ladder(&'a LadderView<'a>, &'a [StudyView<'a>]),
    /// A published experiment, with the studies of its tables.
    Replication(&'a ReplicationView<'a>, &'a [StudyView<'a>]),
}

impl<'a> ReportAnswer<'a> {
    /// All studies that were measured for it.
    #[must_use]
    pub fn studies(&self) -> Vec<StudyView<'a>> {
        match self {
            Self::Study(view) => view.with_parts(),
            Self::Tune(view) => view.held.iter().map(|held| held.view).collect(),
            Self::Size(view) => view.studies.to_vec(),
            Self::ServiceSize(view) => view.studies.to_vec(),
            Self::Ladder(_, studies) | Self::Replication(_, studies) => studies.to_vec(),
        }
    }

    /// As JSON.
    #[must_use]
    pub fn json(&self) -> String {
        match self {
            Self::Study(view) => of_capacity(view, capacity::json).unwrap_or_else(|| json::render(view)),
            Self::Tune(view) => tune::json(view),
            Self::Size(view) => size::json(view),
            Self::ServiceSize(view) => service_size::json(view),
            Self::Ladder(view, _) => ladder::json(view),
            Self::Replication(view, _) => replication::json(view),
        }
    }

    /// As Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        match self {
            Self::Study(view) => of_capacity(view, capacity::markdown).unwrap_or_else(|| match is_scale(view) {
                true => scale::markdown(view),
                false => markdown::render(view),
            }),
            Self::Tune(view) => tune::markdown(view),
            Self::Size(view) => size::markdown(view),
            Self::ServiceSize(view) => service_size::markdown(view),
            Self::Ladder(view, _) => ladder::markdown(view),
            Self::Replication(view, _) => replication::markdown(view),
        }
    }

    /// As a page for a browser.
    #[must_use]
    pub fn html(&self) -> String {
        match self {
            Self::Study(view) => html::study(view),
            Self::Tune(view) => html::tune(view),
            Self::Size(view) => html::size(view),
            Self::ServiceSize(view) => html::service_size(view),
            Self::Ladder(_, studies) => studies.last().map(html::study).unwrap_or_default(),
            Self::Replication(view, studies) => html::replication(view, studies),
        }
    }

    /// For a terminal of so many columns, with colour or without.
    #[must_use]
    pub fn terminal(&self, width: usize, colour: bool) -> String {
        match self {
            Self::Study(view) => {
                let capacity = of_capacity(view, |view| capacity::terminal(view, width, colour));
                capacity.unwrap_or_else(|| match is_scale(view) {
                    true => scale::terminal(view, width, colour),
                    false => terminal::render(view, width, colour),
                })
            }
            Self::Tune(view) => tune::terminal(view, width, colour),
            Self::Size(view) => size::terminal(view, width, colour),
            Self::ServiceSize(view) => service_size::terminal(view, width, colour),
            Self::Ladder(view, _) => ladder::terminal(view, width, colour),
            Self::Replication(view, _) => replication::terminal(view, width, colour),
        }
    }
}

/// What is written of a search for the highest rate; nothing of another study.
fn of_capacity(view: &StudyView<'_>, write: impl Fn(&CapacityView<'_>) -> String) -> Option<String> {
    let StudyView { study, trials, .. } = *view;
    let capacity = (study.kind == StudyKind::Capacity).then(|| stampede_analysis::capacity(study, trials))?;
    Some(write(&CapacityView { study: *view, capacity: &capacity }))
}

fn is_scale(view: &StudyView<'_>) -> bool {
    view.study.kind == StudyKind::Scale || are_autoscaled(view.trials)
}
