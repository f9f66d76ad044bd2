//! `stampede show`: a stored study again; and where a study's reports go.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use stampede_core::{Study, Trial};
use stampede_report::StudyView;
use stampede_store::{Store, StoredStudy};

use crate::args::{OutputArgs, ShowArgs};
use crate::exit::{Exit, Failure};
use crate::{Outcome, folders, screen};

pub(crate) fn run(args: &ShowArgs) -> Outcome {
    let ShowArgs { study, output, store } = args;
    let report = Report::new(output.clone())?;
    let store = Store::open_existing(&folders::store(store)).map_err(Failure::missing)?;
    let StoredStudy { study, finished_at, trials } = store.load(study).map_err(Failure::usage)?;
    if report.on_terminal() {
        let colour = screen::colour_on(&io::stdout());
        put(Path::new("-"), &stampede_report::terminal::settings(&study, screen::width(), colour))?;
    }
    report.write(&study, finished_at, &trials)?;
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
                fs::OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(path)
                    .map_err(|error| Failure::usage(format!("{flag} {} cannot be written: {error}", path.display())))?;
            }
        }
        Ok(report)
    }

    /// Whether the table goes to stdout.
    pub(crate) fn on_terminal(&self) -> bool {
        ![&self.json, &self.markdown].into_iter().flatten().any(|path| is_stdout(path))
    }

    pub(crate) fn write(&self, study: &Study, finished_at: Option<Timestamp>, trials: &[Trial]) -> Result<(), Failure> {
        let analysis = stampede_analysis::analyse(study, trials);
        let view = StudyView { study, finished_at, trials, analysis: &analysis };
        if let Some(path) = &self.json {
            put(path, &stampede_report::json::render(&view))?;
        }
        if let Some(path) = &self.markdown {
            put(path, &stampede_report::markdown::render(&view))?;
        }
        if self.on_terminal() {
            let table = stampede_report::terminal::render(&view, screen::width(), screen::colour_on(&io::stdout()));
            put(Path::new("-"), &table)?;
        }
        Ok(())
    }
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    let written = if is_stdout(path) {
        let mut stdout = io::stdout().lock();
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.write_all(newline.as_bytes()))
            .and_then(|()| stdout.flush())
    } else {
        fs::write(path, text)
    };
    match written {
        // Whoever read our output has had enough of it.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Failure::missing(format!("cannot write {}: {error}", path.display()))),
    }
}
