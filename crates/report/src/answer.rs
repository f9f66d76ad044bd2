//! What a question came to, in whichever way it is written.

use stampede_core::{StudyKind, are_autoscaled};

use crate::capacity::{self, CapacityView};
use crate::ladder::{self, LadderView};
use crate::page::{Medium, Page};
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
        self.page(Medium::Markdown).markdown()
    }

    /// For a terminal of so many columns, with colour or without.
    #[must_use]
    pub fn terminal(&self, width: usize, colour: bool) -> String {
        self.page(Medium::Terminal).terminal(width, colour)
    }

    fn page(&self, medium: Medium) -> Page {
        match self {
            Self::Study(view) => of_capacity(view, capacity::page).unwrap_or_else(|| match medium {
                _ if view.study.kind == StudyKind::Scale || are_autoscaled(view.trials) => scale::page(view),
                Medium::Terminal => terminal::page(view),
                Medium::Markdown | Medium::Html => markdown::page(view),
            }),
            Self::Tune(view) => tune::page(view, medium),
            Self::Size(view) => size::page(view),
            Self::ServiceSize(view) => service_size::page(view),
            Self::Ladder(view, _) => ladder::page(view),
            Self::Replication(view, _) => replication::page(view, medium),
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
}

/// What is written of a search for the highest rate; nothing of another study.
fn of_capacity<T>(view: &StudyView<'_>, write: fn(&CapacityView<'_>) -> T) -> Option<T> {
    let StudyView { study, trials, .. } = *view;
    let capacity = (study.kind == StudyKind::Capacity).then(|| stampede_analysis::capacity(study, trials))?;
    Some(write(&CapacityView { study: *view, capacity: &capacity }))
}
