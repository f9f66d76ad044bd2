//! `stampede list`: runtimes, workloads, services, stored studies.

pub(crate) mod args;

use std::path::Path;

use stampede_core::{CaseId, Rounds, StudyKind, printable};
use stampede_machine::Installable;
use stampede_plan::Catalogue;
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

/// What can be installed: a line with the version found, or what is missing.
fn installable(look: impl Future<Output = Vec<Installable>>) -> Result<Vec<String>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let lines = runtime.block_on(look).into_iter().flat_map(|Installable { name, title, version, missing }| {
        let state = version.unwrap_or_else(|| "not installed".to_owned());
        let below = std::iter::once(title).chain(missing).map(|line| format!("{:<24} {line}", ""));
        std::iter::once(format!("{name:<24} {state}")).chain(below).collect::<Vec<_>>()
    });
    Ok(lines.collect())
}

/// The runtimes that are installed, by name.
pub(crate) fn installed() -> Result<Vec<String>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    Ok(runtime.block_on(stampede_machine::installed_runtimes()))
}

/// What is installed where this runs, for a Stampede outside of the container that this runs in.
pub(crate) fn answer(questions: &str) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    screen::print(&runtime.block_on(stampede_platforms::docker::answer(questions)).map_err(Failure::usage)?)?;
    Ok(Exit::Done)
}

fn workloads() -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    for name in BuiltIn.workloads() {
        let folder = BuiltIn.workload_folder(&name).map_err(Failure::missing)?;
        let workload = stampede_plan::read_workload(&folder).map_err(Failure::missing)?;
        lines.push(format!("{name:<16} {}", workload.title));
    }
    Ok(lines)
}

fn studies(path: &Path) -> Result<Vec<String>, Failure> {
    let rows = Store::open_existing(path).and_then(|store| store.studies()).map_err(Failure::missing)?;
    if rows.is_empty() {
        screen::note("no studies yet; run stampede compare markdown");
        return Ok(Vec::new());
    }
    let width = rows.iter().map(|row| row.id.as_str().len()).max().unwrap_or(0);
    let mut lines =
        vec![format!("{:<width$}  {:<22} {:>9}  {:<18}  cases", "study", "question", "trials", "finished (UTC)")];
    for StudyRow { id, kind, workload, started_at: _, finished_at, rounds, cases, revisions, trials, imported_at } in
        rows
    {
        let question = format!("{kind} {workload}");
        let trials = match rounds {
            // Settings that are shown to be worse leave a race.
            Rounds::Fixed(rounds) if kind != StudyKind::Tune => format!("{trials}/{}", rounds * cases.len() as u32),
            _ => trials.to_string(),
        };
        let of = revisions.iter().map(|revision| format!(" {revision}")).collect::<String>();
        let imported = if imported_at.is_some() { " (imported)" } else { "" };
        let finished = finished_at.map_or_else(|| "no".to_owned(), |at| at.strftime("%Y-%m-%d %H:%M").to_string());
        let cases = cases.iter().map(CaseId::as_str).collect::<Vec<_>>().join(", ");
        lines.push(format!("{id:<width$}  {question:<22} {trials:>9}  {finished:<18}  {cases}{of}{imported}"));
    }
    Ok(lines)
}
