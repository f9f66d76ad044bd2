//! `stampede show`: a stored study again; and where a study's reports go.

pub(crate) mod args;

use std::io;

use stampede_core::{OpenPart, Study, StudyKind};
use stampede_store::{Store, StoredStudy};

use crate::exit::{Exit, Failure};
use crate::flags::StoreArgs;
use crate::show::args::{SchemaOf, ShowArgs, Shown};
use crate::study_place::Report;
use crate::{Outcome, kubernetes, screen, show_runtime};

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
    let report = Report::new(output.0.clone())?;
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
    let store = Store::open_existing(&store.file()?).map_err(Failure::missing)?;
    store.load(name).map_err(Failure::unknown_or_missing)
}

/// The same with its open part.
pub(crate) fn load_with_open_part(store: &StoreArgs, name: &str) -> Result<(StoredStudy, Option<OpenPart>), Failure> {
    let store = Store::open_existing(&store.file()?).map_err(Failure::missing)?;
    let stored = store.load(name).map_err(Failure::unknown_or_missing)?;
    let open_part = store.open_part(&stored.study.id).map_err(Failure::missing)?;
    Ok((stored, open_part))
}
