//! `stampede list`: runtimes, workloads, stored studies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stampede_core::{App, AppKind, Availability, CaseId, Platform, Programs, Requirement, Runtime, StudyKind};
use stampede_plan::Catalogue;
use stampede_platforms::{LocalConfig, LocalPlatform};
use stampede_store::{Store, StudyRow};

use crate::args::{ListArgs, Listed};
use crate::catalogue::BuiltIn;
use crate::exit::{Exit, Failure};
use crate::{Outcome, folders, screen};

pub(crate) fn run(args: &ListArgs) -> Outcome {
    let ListArgs { what, store } = args;
    match what {
        Listed::Runtimes => runtimes()?,
        Listed::Workloads => workloads()?,
        Listed::Studies => studies(&folders::store(store))?,
    }
    Ok(Exit::Done)
}

fn runtimes() -> Result<(), Failure> {
    let platform = LocalPlatform::new(LocalConfig {
        warden: Vec::new(),
        state_dir: folders::state(),
        cache_dir: folders::cache(),
        server_cpus: stampede_platforms::available_cpus(),
    })
    .map_err(Failure::missing)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    for listed in BuiltIn.runtimes() {
        let (programs, missing) = runtime.block_on(look(&platform, *listed));
        let state = if missing.is_empty() { listed.version(&programs) } else { "not installed".to_owned() };
        println!("{:<16} {state}", listed.id());
        println!("{:<16} {}", "", listed.title());
        for line in missing {
            println!("{:<16} {line}", "");
        }
    }
    Ok(())
}

/// What a runtime needs whatever it serves: what was found, and a line for each thing that is missing.
async fn look(platform: &dyn Platform, runtime: &dyn Runtime) -> (Programs, Vec<String>) {
    let kinds = [AppKind::FrontController { index: PathBuf::from("index.php") }, AppKind::GoProgram];
    let mut programs = Programs::new();
    let mut missing = Vec::new();
    for kind in kinds.into_iter().filter(|kind| runtime.serves(kind)) {
        let app = App { kind, source: PathBuf::new(), extensions: Vec::new(), env: BTreeMap::new(), needs: Vec::new() };
        for need in runtime.requires(&app) {
            match platform.detect(&need).await {
                Availability::Found(found) => {
                    if let Requirement::Program { key, .. } | Requirement::Php { key, .. } = need {
                        programs.insert(key.to_owned(), found);
                    }
                }
                Availability::Missing { what, install } => {
                    let package = install.package.map(|package| format!("apt-get install {package}, or "));
                    missing.push(format!("needs {what}: {}{}", package.unwrap_or_default(), install.page));
                }
            }
        }
    }
    (programs, missing)
}

fn workloads() -> Result<(), Failure> {
    for name in BuiltIn.workloads() {
        let folder = BuiltIn.workload_folder(&name).map_err(Failure::missing)?;
        let workload = stampede_plan::read_workload(&folder).map_err(Failure::missing)?;
        println!("{name:<16} {}", workload.title);
    }
    Ok(())
}

fn studies(path: &Path) -> Result<(), Failure> {
    let rows = Store::open_existing(path).and_then(|store| store.studies()).map_err(Failure::missing)?;
    if rows.is_empty() {
        screen::note("no studies yet; run stampede compare markdown");
        return Ok(());
    }
    println!("{:<20}  {:<22} {:>9}  {:<18}  cases", "study", "question", "trials", "finished (UTC)");
    for StudyRow { id, kind, workload, started_at: _, finished_at, rounds, cases, trials } in rows {
        let question = match kind {
            StudyKind::Compare => format!("compare {workload}"),
        };
        let trials = format!("{trials}/{}", rounds * cases.len() as u32);
        let finished = finished_at.map_or_else(|| "no".to_owned(), |at| at.strftime("%Y-%m-%d %H:%M").to_string());
        let cases = cases.iter().map(CaseId::as_str).collect::<Vec<_>>().join(", ");
        println!("{id:<20}  {question:<22} {trials:>9}  {finished:<18}  {cases}");
    }
    Ok(())
}
