//! The sink that keeps results: each finished trial is in the store before the next one begins.

use stampede_core::{Fut, Study, Trial};
use stampede_harness::{Event, Sink, SinkError};
use stampede_store::Store;

/// Keeps trials in the store, and in memory for the report at the end.
pub(crate) struct Record {
    store: Store,
    study: Option<Study>,
    trials: Vec<Trial>,
}

impl Record {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, study: None, trials: Vec::new() }
    }

    /// The study, once it has begun.
    pub(crate) fn study(&self) -> Option<&Study> {
        self.study.as_ref()
    }

    pub(crate) fn trials(&self) -> &[Trial] {
        &self.trials
    }

    pub(crate) fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    fn keep(&mut self, event: &Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::StudyStarted(study) => {
                self.study = Some((*study).clone());
                self.store.begin_study(study).map_err(|error| SinkError(Box::new(error)))?;
            }
            Event::TrialEnded(trial) => {
                // Kept in memory first: a store that is full still lets the report be printed.
                self.trials.push((*trial).clone());
                if let Some(study) = &self.study {
                    self.store.add_trial(&study.id, trial).map_err(|error| SinkError(Box::new(error)))?;
                }
            }
            Event::TrialStarted { .. } | Event::PhaseStarted(_) | Event::Progress { .. } => {}
        }
        Ok(())
    }
}

impl Sink for Record {
    fn take<'a>(&'a mut self, event: &'a Event<'a>) -> Fut<'a, Result<(), SinkError>> {
        Box::pin(async move { self.keep(event) })
    }
}
