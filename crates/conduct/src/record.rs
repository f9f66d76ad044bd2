//! The sink that keeps results: each finished trial is in the store before the next one begins.

use std::time::Duration;

use stampede_core::{Fut, Study, Trial, YardStickReading};
use stampede_harness::{Event, Sink, SinkError};
use stampede_store::{Store, StoredStudy};

use crate::notices::{Progress, ToldFindings};
use crate::site::Site;

/// Keeps trials in the store, and in memory for the report at the end.
pub struct StudyRecord {
    store: Store,
    study: Option<Study>,
    trials: Vec<Trial>,
    yard_stick: Vec<YardStickReading>,
    earlier: Option<StoredStudy>,
}

impl StudyRecord {
    /// An empty one.
    pub fn new(store: Store) -> Self {
        Self { store, study: None, trials: Vec::new(), yard_stick: Vec::new(), earlier: None }
    }

    /// A study with all that is stored of it.
    pub fn stored(store: Store, stored: StoredStudy) -> Self {
        let StoredStudy { study, finished_at: _, trials, yard_stick } = stored;
        Self { store, study: Some(study), trials, yard_stick, earlier: None }
    }

    /// Takes in what a study has that was interrupted and is resumed.
    pub(crate) fn go_on_with(&mut self, earlier: StoredStudy) {
        (self.trials, self.yard_stick) = (earlier.trials.clone(), earlier.yard_stick.clone());
        self.earlier = Some(earlier);
    }

    /// The study that is to be resumed.
    pub(crate) fn earlier(&self) -> Option<&StoredStudy> {
        self.earlier.as_ref()
    }

    /// The study, once it has begun.
    pub fn study(&self) -> Option<&Study> {
        self.study.as_ref()
    }

    /// The trials that ended.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// What the reference server gave.
    pub fn yard_stick(&self) -> &[YardStickReading] {
        &self.yard_stick
    }

    /// The store that keeps it.
    pub fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    fn keep(&mut self, event: &Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::StudyStarted(study) => {
                self.study = Some((*study).clone());
                self.store.begin_study(study).map_err(|error| SinkError(Box::new(error)))?;
            }
            Event::StudyResumed(study) => {
                self.study = Some((*study).clone());
                if let Some(resumed_at) = study.resumed_at.last() {
                    self.store.resume_study(&study.id, *resumed_at).map_err(|error| SinkError(Box::new(error)))?;
                }
            }
            Event::CaseAdded(case) => {
                if let Some(study) = &mut self.study {
                    study.cases.push((*case).clone());
                    self.store.add_case(&study.id, case).map_err(|error| SinkError(Box::new(error)))?;
                }
            }
            Event::TimeOver(at) => {
                if let Some(study) = &mut self.study {
                    study.time_over_at = Some(*at);
                    self.store.end_time(&study.id, *at).map_err(|error| SinkError(Box::new(error)))?;
                }
            }
            Event::TurnsEnded(windows_from) => {
                if let Some(study) = &mut self.study {
                    study.windows_from = Some((*windows_from).clone());
                    self.store.end_turns(&study.id, windows_from).map_err(|error| SinkError(Box::new(error)))?;
                }
            }
            Event::YardStickEnded(reading) => {
                self.yard_stick.push((*reading).clone());
                if let Some(study) = &self.study {
                    self.store.add_reading(&study.id, reading).map_err(|error| SinkError(Box::new(error)))?;
                }
            }
            Event::TrialEnded(trial) => {
                // Kept in memory first: a store that is full still lets the report be printed.
                self.trials.push((*trial).clone());
                if let Some(study) = &self.study {
                    self.store.add_trial(&study.id, trial).map_err(|error| SinkError(Box::new(error)))?;
                }
            }
            Event::PilotStarted(_)
            | Event::PilotEnded(..)
            | Event::YardStickStarted { .. }
            | Event::TrialStarted { .. }
            | Event::TurnStarted { .. }
            | Event::PhaseStarted(_)
            | Event::Searching { .. }
            | Event::Progress { .. }
            | Event::Warned(_) => {}
        }
        Ok(())
    }
}

impl Sink for StudyRecord {
    fn take<'a>(&'a mut self, event: &'a Event<'a>) -> Fut<'a, Result<(), SinkError>> {
        Box::pin(async move { self.keep(event) })
    }
}

/// Everything that listens to a study.
pub(crate) struct Sinks<'a> {
    pub(crate) record: &'a mut StudyRecord,
    progress: Box<dyn Progress + 'a>,
    told: &'a ToldFindings,
}

impl<'a> Sinks<'a> {
    /// `earlier` is how long the study was measured already, where it is resumed.
    pub(crate) fn new(record: &'a mut StudyRecord, site: &'a Site<'_>, earlier: Duration) -> Self {
        let bench = site.bench();
        Self { record, progress: bench.host.notices().progress(bench.quiet, site.stop, earlier), told: &site.told }
    }
}

impl Sink for Sinks<'_> {
    fn take<'a>(&'a mut self, event: &'a Event<'a>) -> Fut<'a, Result<(), SinkError>> {
        Box::pin(async move {
            self.record.take(event).await?;
            self.progress.take(event).await?;
            if let (Event::TrialEnded(trial), Some(study)) = (event, self.record.study()) {
                self.progress.findings(study, self.record.trials(), &trial.case, self.told);
            }
            Ok(())
        })
    }
}
