//! `stampede list`: runtimes, workloads, services, stored studies.

pub(crate) mod args;

use std::path::{Path, PathBuf};

use stampede_core::{
    App, AppKind, Availability, Balance, Balancer, BalancerKind, CaseId, Composer, Requirement, Rounds, Runtime,
    ServiceKind, StudyKind, Topology, printable,
};
use stampede_plan::Catalogue;
use stampede_platforms::DetectedNeeds;
use stampede_runtimes::{Topologies, service_requires, service_title};
use stampede_store::{Store, StudyRow};

use crate::exit::{Exit, Failure};
use crate::list::args::{ListArgs, Listed};
use crate::{Outcome, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: &ListArgs) -> Outcome {
    let ListArgs { what, store } = args;
    let lines = match what {
        Listed::Runtimes => runtimes()?,
        Listed::Workloads => workloads()?,
        Listed::Services => services()?,
        Listed::Studies => studies(&store.file()?)?,
    };
    // Names may come from elsewhere: a study that was imported, a workload.
    let lines = lines.iter().map(|line| format!("{}\n", printable(line.trim_end())));
    screen::print(&lines.collect::<String>())?;
    Ok(Exit::Done)
}

fn runtimes() -> Result<Vec<String>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let mut lines = Vec::new();
    for listed in BuiltIn.runtimes() {
        let DetectedNeeds { programs, missing, .. } = runtime.block_on(look(*listed));
        let state = if missing.is_empty() { listed.version(&programs) } else { "not installed".to_owned() };
        lines.push(format!("{:<24} {state}", listed.id()));
        lines.push(format!("{:<24} {}", "", listed.title()));
        lines.extend(missing.iter().map(|line| format!("{:<24} {line}", "")));
    }
    Ok(lines)
}

/// The runtimes that are installed, by name.
pub(crate) fn installed() -> Result<Vec<String>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let installed = |listed: &&&dyn Runtime| {
        let DetectedNeeds { programs, missing, .. } = runtime.block_on(look(**listed));
        missing.is_empty() && !programs.is_empty()
    };
    Ok(BuiltIn.runtimes().iter().filter(installed).map(|listed| listed.id().to_string()).collect())
}

/// What a runtime needs whatever it serves.
async fn look(runtime: &dyn Runtime) -> DetectedNeeds {
    let kinds = [
        AppKind::FrontController { index: PathBuf::from("index.php") },
        AppKind::Psr15Handler { handler: PathBuf::from("handler.php") },
        AppKind::PhpFunction { script: PathBuf::from("function.php"), function: "hello".to_owned() },
        AppKind::GoProgram,
        AppKind::GoFunction { module: "hello".to_owned(), package: "hello".to_owned(), function: "Hello".to_owned() },
    ];
    // Of several kinds one is enough.
    let Some(kind) = kinds.into_iter().find(|kind| runtime.serves(kind)) else { return DetectedNeeds::default() };
    let mut needs = runtime.requires(&App::new("", kind));
    // Packages belong to an application, and there is none here.
    needs.retain(|need| !matches!(need, Requirement::PhpPackage { .. }));
    DetectedNeeds::here(&needs).await
}

/// Balancers and services: a line with the versions found, or what is missing.
fn services() -> Result<Vec<String>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let balancers = BalancerKind::ALL.into_iter().map(|kind| {
        let balancer = Balancer { kind, balance: Balance::RoundRobin, upstream_keepalive: 0, tls: false, share: None };
        let topology = Topology { balancer: Some(balancer), ..Topology::default() };
        (kind.id(), "balancer in front of replicas", Topologies.requires(&topology))
    });
    let services = ServiceKind::ALL.into_iter().map(|kind| (kind.id(), service_title(kind), service_requires(kind)));
    let mut lines = Vec::new();
    for (name, title, needs) in balancers.chain(services) {
        let mut version = None;
        let mut missing = Vec::new();
        for need in needs {
            match runtime.block_on(stampede_platforms::detect(&need)) {
                Availability::Found(found) => version = version.or(Some(found.version)),
                Availability::Missing { what, install } => missing.push(format!("needs {what}: {install}")),
            }
        }
        let state = version.filter(|_| missing.is_empty()).unwrap_or_else(|| "not installed".to_owned());
        lines.push(format!("{name:<24} {state}"));
        lines.push(format!("{:<24} {title}", ""));
        lines.extend(missing.iter().map(|line| format!("{:<24} {line}", "")));
    }
    Ok(lines)
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
