//! What a person is told while studies are conducted. Whoever implements it decides where that goes and how it is laid out.

use std::time::Duration;

use stampede_core::{CaseId, Study, Trial};
use stampede_harness::{Sink, Stop};

/// Tells a person.
pub trait Notices: Sync {
    /// Lines that are laid out as they are.
    fn note(&self, text: &str);

    /// A line that may be long, whose further lines are set in by so many columns.
    fn paragraph(&self, text: &str, hang: usize);

    /// What may spoil a measurement, and what to do about it.
    fn warning(&self, text: &str);

    /// Which settings each case of a study has, and why.
    fn settings(&self, study: &Study);

    /// That the first Ctrl-C was heard: the round is completed.
    fn stopping(&self, quiet: bool);

    /// Whether a person sees one line that is drawn over and over.
    fn has_line(&self, quiet: bool) -> bool;

    /// Draws it; an empty one takes it away.
    fn line(&self, text: &str);

    /// The progress of a study. `earlier` is how long it was measured already, where it is resumed.
    fn progress<'a>(&self, quiet: bool, stop: &'a Stop, earlier: Duration) -> Box<dyn Progress + 'a>;
}

/// Tells how far a study is.
pub trait Progress: Sink {
    /// Tells what distorts or limits a case of which a trial has ended.
    fn findings(&mut self, study: &Study, trials: &[Trial], case: &CaseId);
}
