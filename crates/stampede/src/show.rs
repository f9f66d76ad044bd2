//! `stampede show`: a stored study again; and where a study's reports go.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use stampede_core::{Study, StudyKind, Trial, YardStickReading};
use stampede_report::StudyView;
use stampede_report::capacity::{self, CapacityView};
use stampede_store::{Store, StoreError, StoredStudy};

use crate::args::{OutputArgs, ShowArgs, Shown};
use crate::exit::{Exit, Failure};
use crate::{Outcome, folders, screen, show_runtime};

pub(crate) fn run(args: &ShowArgs) -> Outcome {
    let ShowArgs { other, study, output, store } = args;
    match other {
        Some(Shown::Runtime(args)) => return show_runtime::run(args),
        Some(Shown::Schema) => {
            screen::print(&stampede_plan::schema())?;
            return Ok(Exit::Done);
        }
        None => {}
    }
    let report = Report::new(output.clone())?;
    let store = Store::open_existing(&folders::store(store)?).map_err(Failure::missing)?;
    let StoredStudy { study, finished_at, trials, yard_stick } = store.load(study).map_err(|error| match error {
        StoreError::Unknown { .. } | StoreError::Ambiguous { .. } => Failure::usage(error),
        _ => Failure::missing(error),
    })?;
    report.write(&study, finished_at, &trials, &yard_stick)?;
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

/// Where a study's reports go. The table goes to stdout unless another report does.
pub(crate) struct Report {
    json: Option<PathBuf>,
    markdown: Option<PathBuf>,
}

impl Report {
    /// Sees that every file can be written before anything is measured.
    pub(crate) fn new(output: OutputArgs) -> Result<Self, Failure> {
        let OutputArgs { json, markdown } = output;
        let report = Self { json, markdown };
        if [&report.json, &report.markdown].into_iter().flatten().filter(|path| is_stdout(path)).count() > 1 {
            return Err(Failure::usage("--json - and --markdown - both go to stdout; give one of them a file"));
        }
        for (flag, path) in [("--json", &report.json), ("--markdown", &report.markdown)] {
            if let Some(path) = path.as_deref().filter(|path| !is_stdout(path)) {
                writable(path)
                    .map_err(|error| Failure::usage(format!("{flag} {} cannot be written: {error}", path.display())))?;
            }
        }
        Ok(report)
    }

    /// Whether the table goes to stdout.
    pub(crate) fn on_terminal(&self) -> bool {
        ![&self.json, &self.markdown].into_iter().flatten().any(|path| is_stdout(path))
    }

    pub(crate) fn write(
        &self,
        study: &Study,
        finished_at: Option<Timestamp>,
        trials: &[Trial],
        yard_stick: &[YardStickReading],
    ) -> Result<(), Failure> {
        let analysis = stampede_analysis::analyse(study, trials);
        let view = StudyView { study, finished_at, trials, yard_stick, analysis: &analysis };
        if study.kind == StudyKind::Capacity {
            let view = CapacityView { study: view, capacity: &stampede_analysis::capacity(study, trials) };
            return self.put_all(
                || capacity::json(&view),
                || capacity::markdown(&view),
                |width, _| capacity::terminal(&view, width),
            );
        }
        self.put_all(
            || stampede_report::json::render(&view),
            || stampede_report::markdown::render(&view),
            |width, colour| stampede_report::terminal::render(&view, width, colour),
        )
    }

    /// Puts each kind of report where it belongs.
    pub(crate) fn put_all(
        &self,
        json: impl FnOnce() -> String,
        markdown: impl FnOnce() -> String,
        terminal: impl FnOnce(usize, bool) -> String,
    ) -> Result<(), Failure> {
        if let Some(path) = &self.json {
            put(path, &json())?;
        }
        if let Some(path) = &self.markdown {
            put(path, &markdown())?;
        }
        if self.on_terminal() {
            put(Path::new("-"), &terminal(screen::width(), screen::colour_on(&io::stdout())))?;
        }
        Ok(())
    }
}

/// Whether a file can be written, without making it or changing it.
pub(crate) fn writable(path: &Path) -> io::Result<()> {
    match fs::OpenOptions::new().append(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Ok(rustix::fs::access(folder, rustix::fs::Access::WRITE_OK)?)
        }
        opened => opened.map(drop),
    }
}

pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

pub(crate) fn put(path: &Path, text: &str) -> Result<(), Failure> {
    if is_stdout(path) {
        return screen::print(&format!("{}\n", text.trim_end()));
    }
    fs::write(path, text).map_err(|error| Failure::missing(format!("cannot write {}: {error}", path.display())))
}
