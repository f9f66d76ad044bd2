//! `stampede list`: runtimes, workloads, services, stored studies.

pub(crate) mod args;

use std::path::Path;

use stampede_core::{Candidate, CaseId, Rounds, StudyKind, printable};
use stampede_machine::Installable;
use stampede_plan::Catalogue;
use stampede_report::list::{self, StudyEntry};
use stampede_store::{Store, StudyRow};

use crate::exit::{Exit, Failure};
use crate::list::args::{ListArgs, Listed};
use crate::{Outcome, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: &ListArgs) -> Outcome {
    let ListArgs { what, store } = args;
    let lines = match what {
        Listed::Runtimes => installable(stampede_machine::runtimes())?,
        Listed::Workloads => workloads()?,
        Listed::Services => installable(stampede_machine::services())?,
        Listed::Studies => studies(&store.file()?)?,
    };
    // Names may come from elsewhere: a study that was imported, a workload.
    let lines = lines.iter().map(|line| format!("{}\n", printable(line.trim_end())));
    screen::print(&lines.collect::<String>())?;
    Ok(Exit::Done)
}

/// What can be installed: the version found, what it is, and what is missing.
fn installable(look: impl Future<Output = Vec<Installable>>) -> Result<Vec<String>, Failure> {
    let rows = waited(look)?.into_iter().map(|Installable { name, title, version, missing }| {
        let state = version.unwrap_or_else(|| "not installed".to_owned());
        (name, [vec![state, title], missing].concat())
    });
    Ok(list::named(rows, screen::width()))
}

/// The runtimes that are installed, by name.
pub(crate) fn installed() -> Result<Vec<String>, Failure> {
    waited(stampede_machine::installed_runtimes())
}

/// Which of these cannot run here, and what they lack.
pub(crate) fn lacking(candidates: &[Candidate]) -> Result<Vec<(CaseId, String)>, Failure> {
    waited(stampede_machine::lacking(candidates))
}

/// What is installed where this runs, for a Stampede outside of the container that this runs in.
pub(crate) fn answer(questions: &str) -> Outcome {
    screen::print(&waited(stampede_platforms::docker::answer(questions))?.map_err(Failure::usage)?)?;
    Ok(Exit::Done)
}

/// What comes of looking around.
fn waited<T>(look: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    Ok(runtime.block_on(look))
}

fn workloads() -> Result<Vec<String>, Failure> {
    let mut rows = Vec::new();
    for name in BuiltIn.workloads() {
        let folder = BuiltIn.workload_folder(&name).map_err(Failure::missing)?;
        let workload = stampede_plan::read_workload(&folder).map_err(Failure::missing)?;
        rows.push((name, vec![workload.title]));
    }
    Ok(list::named(rows, screen::width()))
}

fn studies(path: &Path) -> Result<Vec<String>, Failure> {
    let rows = Store::open_existing(path).and_then(|store| store.studies()).map_err(Failure::missing)?;
    if rows.is_empty() {
        screen::note("no studies yet; run stampede compare markdown");
        return Ok(Vec::new());
    }
    let entry = |row: StudyRow| {
        let StudyRow { id, kind, workload, finished_at, rounds, cases, revisions, trials, imported_at, .. } = row;
        let trials = match rounds {
            // Settings that are shown to be worse leave a race.
            Rounds::Fixed(rounds) if kind != StudyKind::Tune => format!("{trials}/{}", rounds * cases.len() as u32),
            _ => trials.to_string(),
        };
        let of = revisions.iter().map(|revision| format!(" {revision}")).collect::<String>();
        let imported = if imported_at.is_some() { " (imported)" } else { "" };
        let cases = cases.iter().map(CaseId::as_str).collect::<Vec<_>>().join(", ");
        let question = format!("{kind} {workload}: {cases}{of}{imported}");
        StudyEntry { id: id.to_string(), finished_at, trials, question }
    };
    Ok(list::studies(&rows.into_iter().map(entry).collect::<Vec<_>>(), screen::width()))
}
