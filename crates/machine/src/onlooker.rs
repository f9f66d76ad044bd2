//! Who is told while something is made that takes long.

use stampede_conduct::Notices;
use stampede_platforms::CleanReport;

/// Who is told what goes on.
#[derive(Clone, Copy)]
pub struct Onlooker<'a> {
    /// A person.
    pub notices: &'a dyn Notices,
    /// The same person, as whoever is told from another thread.
    pub tell: fn(&str),
    /// The same of what may go wrong.
    pub warn: fn(&str),
    /// Whether only warnings are told.
    pub quiet: bool,
}

impl Onlooker<'_> {
    /// Tells what was cleaned up, and what could not be.
    pub fn cleaned(&self, report: &CleanReport) {
        report.done.iter().for_each(|done| self.notices.note(done));
        report.problems.iter().for_each(|problem| self.notices.warning(problem));
    }
}
