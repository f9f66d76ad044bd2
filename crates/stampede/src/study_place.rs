//! Where a study that is measured goes: its store and its reports, and how it ends.

use std::iter;
use std::path::PathBuf;

use jiff::Timestamp;
use stampede_conduct::{Bench, Ended, Exit, Failure, StudyRecord, exit_of};
use stampede_core::{OpenPart, Study, StudyKind, Trial, YardStickReading};
use stampede_report::{FORMATS, Format, ReportAnswer};

use crate::destination::Outputs;
use crate::{Outcome, screen};

/// What a command that measures was told beside its plan.
pub(crate) struct StudyPlace<'a> {
    /// A study to resume: of this name, or the newest.
    pub(crate) resume: Option<Option<String>>,
    pub(crate) report: Report,
    /// The store's file.
    pub(crate) store: PathBuf,
    pub(crate) bench: Bench<'a>,
}

impl StudyPlace<'_> {
    /// Prints what was measured, and says how it ended. What is printed does not depend on the store, which may be full.
    pub(crate) fn conclude(&self, ended: Result<Ended, Failure>, record: &mut StudyRecord) -> Outcome {
        let finished_at = matches!(ended, Ok(Ended::Complete)).then(|| self.bench.host.now());
        let mut open_part = None;
        if let Some(study) = record.study().cloned() {
            let stored = match finished_at {
                Some(finished_at) => record.store().finish_study(&study.id, finished_at),
                None => Ok(()),
            };
            open_part = record.store().open_part(&study.id).ok().flatten();
            self.report.write(&study, finished_at, record.trials(), record.yard_stick(), open_part.clone())?;
            if self.report.on_terminal() && stored.is_ok() {
                screen::print(&format!("\nStored in {}\n", self.store.display()))?;
            }
            if self.report.on_terminal() && study.kind == StudyKind::Compare {
                screen::print("Next: stampede report (a page of it), stampede why (what holds it back)\n")?;
            }
            stored.map_err(Failure::missing)?;
        }
        let parts = open_part.iter().flat_map(|part| iter::once(&part.shared).chain(&part.own));
        let trials: Vec<Trial> = parts.flat_map(|part| &part.trials).chain(record.trials()).cloned().collect();
        match ended? {
            Ended::Complete => Ok(exit_of(record.study(), &trials)),
            Ended::Interrupted => {
                let advice = if trials.is_empty() { "" } else { "; the same command with --resume continues" };
                screen::warning(&format!("interrupted; {} finished trials are kept{advice}", trials.len()));
                Ok(Exit::Interrupted)
            }
        }
    }
}

/// Where the reports on an answer go.
pub(crate) struct Report(Outputs);

impl Report {
    /// Sees that every file can be written before anything is measured.
    pub(crate) fn new(files: Vec<(&'static Format, PathBuf)>) -> Result<Self, Failure> {
        Outputs::new(files.into_iter().map(|(format, path)| (format.flag, Some(path)))).map(Self)
    }

    /// Whether the table goes to stdout.
    pub(crate) fn on_terminal(&self) -> bool {
        self.0.on_stdout().is_none()
    }

    pub(crate) fn write(
        &self,
        study: &Study,
        finished_at: Option<Timestamp>,
        trials: &[Trial],
        yard_stick: &[YardStickReading],
        open_part: Option<OpenPart>,
    ) -> Result<(), Failure> {
        stampede_answers::study(study, finished_at, trials, yard_stick, open_part, |view| {
            self.put(&ReportAnswer::Study(view))
        })
    }

    /// Puts each kind of report where it belongs.
    pub(crate) fn put(&self, answer: &ReportAnswer<'_>) -> Result<(), Failure> {
        let format = |flag: &str| FORMATS.iter().find(|format| format.flag == flag);
        self.0.put(&|flag| format(flag).map(|format| (format.write)(answer)).unwrap_or_default(), &|width, colour| {
            answer.terminal(width, colour)
        })
    }
}
