//! `stampede show`: a stored study again; and where a study's reports go.

use std::io;

use jiff::Timestamp;
use stampede_analysis::OpenPartAnalysis;
use stampede_core::{OpenPart, Study, StudyKind, Trial, YardStickReading};
use stampede_report::{FORMATS, ReportAnswer, StudyView};
use stampede_store::{Store, StoredStudy};

use crate::args::{OutputArgs, SchemaOf, ShowArgs, Shown, StoreArgs};
use crate::destination::Outputs;
use crate::exit::{Exit, Failure};
use crate::{Outcome, folders, kubernetes, screen, show_runtime};

pub(crate) fn run(args: &ShowArgs) -> Outcome {
    let ShowArgs { other, study, output, store } = args;
    match other {
        Some(Shown::Runtime(args)) => return show_runtime::run(args),
        Some(Shown::KubernetesRole(args)) => return kubernetes::show_role(args),
        Some(Shown::Schema { of }) => {
            screen::print(&match of {
                SchemaOf::Plan => stampede_plan::schema(),
                SchemaOf::Workload => stampede_plan::workload_schema(),
            })?;
            return Ok(Exit::Done);
        }
        None => {}
    }
    let report = Report::new(output.clone())?;
    let (StoredStudy { study, finished_at, trials, yard_stick }, open_part) = load_with_open_part(store, study)?;
    report.write(&study, finished_at, &trials, &yard_stick, open_part)?;
    if report.on_terminal() {
        let colour = screen::colour_on(&io::stdout());
        let study = match study.kind {
            // Its cases are one deployment under many loads.
            StudyKind::Capacity => Study { cases: study.cases.into_iter().take(1).collect(), ..study },
            _ => study,
        };
        screen::print(&stampede_report::terminal::settings(&study, screen::width(), colour))?;
    }
    Ok(Exit::Done)
}

/// A stored study by its name.
pub(crate) fn load(store: &StoreArgs, name: &str) -> Result<StoredStudy, Failure> {
    let store = Store::open_existing(&folders::store(store)?).map_err(Failure::missing)?;
    store.load(name).map_err(Failure::unknown_or_missing)
}

/// The same with its open part.
pub(crate) fn load_with_open_part(store: &StoreArgs, name: &str) -> Result<(StoredStudy, Option<OpenPart>), Failure> {
    let store = Store::open_existing(&folders::store(store)?).map_err(Failure::missing)?;
    let stored = store.load(name).map_err(Failure::unknown_or_missing)?;
    let open_part = store.open_part(&stored.study.id).map_err(Failure::missing)?;
    Ok((stored, open_part))
}

/// Where the reports on an answer go.
pub(crate) struct Report(Outputs);

impl Report {
    /// Sees that every file can be written before anything is measured.
    pub(crate) fn new(output: OutputArgs) -> Result<Self, Failure> {
        Outputs::new(output.0.into_iter().map(|(format, path)| (format.flag, Some(path)))).map(Self)
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
        let analysis = stampede_analysis::analyse_parts(study, trials, open_part.as_ref());
        let open_part = open_part.and_then(|part| OpenPartAnalysis::of(study, trials, part));
        let open_part = open_part.as_ref();
        self.put(&ReportAnswer::Study(StudyView {
            study,
            finished_at,
            trials,
            yard_stick,
            analysis: &analysis,
            open_part,
        }))
    }

    /// Puts each kind of report where it belongs.
    pub(crate) fn put(&self, answer: &ReportAnswer<'_>) -> Result<(), Failure> {
        let format = |flag: &str| FORMATS.iter().find(|format| format.flag == flag);
        self.0.put(&|flag| format(flag).map(|format| (format.write)(answer)).unwrap_or_default(), &|width, colour| {
            answer.terminal(width, colour)
        })
    }
}
