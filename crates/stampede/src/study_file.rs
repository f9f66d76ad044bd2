//! `stampede export-study`, `import-study`: a study as one file.

pub(crate) mod args;

use std::fs::File;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use stampede_core::StudyId;
use stampede_store::{Import, Store, StoreError, StudyFileError, read_study_file};

use self::args::{ExportStudyArgs, ImportStudyArgs};
use crate::destination::{self, is_stdout};
use crate::exit::{Exit, Failure};
use crate::{Outcome, screen};

pub(crate) fn export(args: &ExportStudyArgs) -> Outcome {
    let ExportStudyArgs { study, file, store } = args;
    destination::check(&[("FILE", Some(file))])?;
    let store = Store::open_existing(&store.file()?).map_err(Failure::missing)?;
    let (study, bytes) = store.export(study).map_err(Failure::unknown_or_missing)?;
    destination::put_bytes(file, &bytes)?;
    if !is_stdout(file) {
        screen::print(&format!("{} contains study {study} ({} KiB)\n", file.display(), bytes.len().div_ceil(1024)))?;
    }
    Ok(Exit::Done)
}

pub(crate) fn import(args: &ImportStudyArgs) -> Outcome {
    let ImportStudyArgs { file, store } = args;
    let stored = if file == Path::new("-") {
        read_study_file(io::stdin().lock())
    } else {
        File::open(file).map_err(StudyFileError::Read).and_then(read_study_file)
    };
    let named = |failure: Failure| Failure { message: format!("{}: {}", file.display(), failure.message), ..failure };
    let stored = stored.map_err(|error| match error {
        StudyFileError::Read(cause) if cause.kind() == io::ErrorKind::NotFound => Failure {
            exit: Exit::Usage,
            message: format!("file {} does not exist; `stampede export-study` writes one", file.display()),
        },
        error => named(Failure::usage(error)),
    })?;
    let mut store = Store::open(&store.file()?).map_err(Failure::missing)?;
    let imported = store.import(&stored, Timestamp::now()).map_err(|error| match error {
        StoreError::Different(_) => Failure::usage(error),
        _ => Failure::missing(error),
    })?;
    screen::print(&said(imported, &stored.study.id))?;
    Ok(Exit::Done)
}

fn said(imported: Import, study: &StudyId) -> String {
    match imported {
        Import::Stored => format!("study {study} is stored; see it with: stampede show {study}\n"),
        Import::WasThere => format!("study {study} is stored already, with the same content; nothing was changed\n"),
    }
}
