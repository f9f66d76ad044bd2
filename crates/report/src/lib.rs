//! A study, stored and analysed, as text: for the terminal, as JSON, Markdown, CSV and HTML; and what a gate says.
//!
//! Nothing is measured or decided here. The tables of all come from the one table of metrics in the `analysis`
//! crate. Each question is a view, of which its JSON is a wire struct and its text a page of blocks; a terminal and Markdown write
//! that page and differ in layout alone.

mod activity;
mod answer;
mod audits;
pub mod capacity;
mod case_rows;
mod columns;
mod conclusion;
pub mod csv;
mod digest;
pub mod doctor;
mod dots;
pub mod forecast;
mod format;
pub mod gate;
pub mod html;
mod inside;
pub mod json;
pub mod ladder;
mod layout;
pub mod list;
pub mod live;
pub mod load;
pub mod markdown;
mod markdown_text;
mod open_part;
mod page;
mod places;
mod quantity;
mod recommendation;
pub mod replication;
pub mod runtime;
mod sampling_json;
pub mod scale;
mod scale_figures;
mod schema;
pub mod size;
mod steps;
mod study_page;
pub mod tally;
pub mod terminal;
mod topology;
mod trust;
mod trust_json;
pub mod tune;
mod turns_json;
mod versus;
mod why;
mod why_json;

use jiff::Timestamp;
use stampede_analysis::{Analysis, OpenPartAnalysis};
use stampede_core::{StoredStudy, Study, Trial, YardStickReading};

pub use answer::ReportAnswer;
pub use format::{FORMATS, Format};
pub use inside::{ProcessesView, SampledPhp};
pub use layout::wrap;
pub use page::{Medium, Page};
pub use schema::schema;
pub use trust::pilot;

/// What a report is made from.
#[derive(Clone, Copy, Debug)]
pub struct StudyView<'a> {
    /// The study as it was planned.
    pub study: &'a Study,
    /// When it came to its end; absent for one that was interrupted.
    pub finished_at: Option<Timestamp>,
    /// Its trials in the order in which they were run.
    pub trials: &'a [Trial],
    /// Readings of its reference server, in the order in which they were taken.
    pub yard_stick: &'a [YardStickReading],
    /// What they say.
    pub analysis: &'a Analysis,
    /// What follows it at a share of its throughput.
    pub open_part: Option<&'a OpenPartAnalysis>,
}

impl<'a> StudyView<'a> {
    /// Of a stored study, and what its trials say.
    #[must_use]
    pub fn of(stored: &'a StoredStudy, analysis: &'a Analysis) -> Self {
        let StoredStudy { study, finished_at, trials, yard_stick } = stored;
        Self { study, finished_at: *finished_at, trials, yard_stick, analysis, open_part: None }
    }

    /// The study, and those of its open part.
    #[must_use]
    pub fn with_parts(self) -> Vec<Self> {
        let part = self.open_part.map(|open| {
            let own = open.part.own.as_ref().zip(open.own.as_ref());
            let own = own.map(|(stored, analysis)| Self::of(stored, analysis));
            std::iter::once(Self::of(&open.part.shared, &open.shared)).chain(own)
        });
        std::iter::once(self).chain(part.into_iter().flatten()).collect()
    }
}
