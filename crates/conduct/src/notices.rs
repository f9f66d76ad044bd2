//! What a person is told while studies are conducted. Whoever implements it decides where that goes and how it is laid out.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use stampede_core::{CaseId, Study, StudyId, Trial};
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
    /// Tells what distorts or limits a case of which a trial has ended, as far as it was not told before.
    fn findings(&mut self, study: &Study, trials: &[Trial], case: &CaseId, told: &ToldFindings);
}

/// Which findings a person was told of while studies were measured at one site.
#[derive(Debug, Default)]
pub struct ToldFindings(Mutex<BTreeSet<(String, CaseId, String)>>);

impl ToldFindings {
    /// Whether a case's finding of this id is told for the first time, as it is from now on. Studies whose names are another's with a
    /// dot and more are parts of it: what holds a case back under a closed load is not told again at each rate, nor at each size.
    pub fn is_new(&self, study: &StudyId, case: &CaseId, finding: &str) -> bool {
        let whole = study.as_str().split('.').next().unwrap_or_default().to_owned();
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert((whole, case.clone(), finding.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_told_once_in_a_study_and_its_parts() {
        let told = ToldFindings::default();
        for (study, case, finding, is_new) in [
            ("20260301-120000-0a1b", "nginx-fpm", "pool-full", true),
            ("20260301-120000-0a1b", "nginx-fpm", "pool-full", false),
            ("20260301-120000-0a1b.at70", "nginx-fpm", "pool-full", false),
            ("20260301-120000-0a1b.own70", "nginx-fpm", "queue-grows", true),
            ("20260301-120000-0a1b.size002", "nginx-fpm", "queue-grows", false),
            ("20260301-120000-0a1b.at70", "apache-fpm", "pool-full", true),
            ("20260301-120100-0a1c", "nginx-fpm", "pool-full", true),
        ] {
            assert_eq!(
                told.is_new(&StudyId::new(study), &CaseId::new(case), finding),
                is_new,
                "{study} {case} {finding}"
            );
        }
    }
}
