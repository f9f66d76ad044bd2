//! `stampede export`: files that deploy a runtime with the settings that were measured.

pub(crate) mod args;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use stampede_analysis::deployable;
use stampede_conduct::{Host, preparing};
use stampede_core::{
    App, AppKind, BuildStep, Candidate, Case, Deployment, Makes, Outcome as TrialOutcome, RenderContext, Requirement,
    Role, Study, with_causes,
};
use stampede_export::{BundleOrigin, Measured, Order, Target, label, next};
use stampede_plan::{CompareFlags, ComparePlan, MachineSize, PlatformChoice, RetrialFlags, RetrialPlan, RuntimesFlag};
use stampede_platforms::{BundleFolder, BundleFolderError, DetectedNeeds, LocalPlatform};
use stampede_seam::{Platform, PreparedApp};
use stampede_store::StoredStudy;
use stampede_vantage::Here;

use self::args::ExportArgs;
use crate::exit::{Exit, Failure};
use crate::{Outcome, folders, screen, show};
use stampede_catalogue::BuiltIn;

/// The flag that has `--force` beside it.
const OUTPUT: &str = "--output";

/// The port that it listens on, unless another one is given: what Cloud Run and most images have.
const PORT: u16 = 8080;

/// Ports below belong to root. <https://man7.org/linux/man-pages/man7/ip.7.html>
const FIRST_PORT: u16 = 1024;

pub(crate) fn run(args: ExportArgs, host: &dyn Host) -> Outcome {
    let (plan, measured) = read(&args, host.size())?;
    let ExportArgs { target, case, listen, image, output, force, .. } = args;
    let listen = listen.unwrap_or(SocketAddr::new(target.address(), PORT));
    if listen.port() < FIRST_PORT {
        return Err(Failure::usage(format!(
            "--listen {listen}: servers have no rights of root, and ports below {FIRST_PORT} are root's\n  take 8080, and \
             let what is in front of it have the other port"
        )));
    }
    // A study's case has been chosen already.
    let candidate = candidate(&plan, case.as_deref().filter(|_| measured.is_none()))?;
    let folder = folder(OUTPUT, &output, force, &plan, candidate)?;
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let export = Export { target, listen, image, plan: &plan, candidate, measured: measured.as_ref() };
    screen::print(&executor.block_on(write(&export, &folder))?)?;
    Ok(Exit::Done)
}

/// A plan, and the case that it repeats.
fn read(args: &ExportArgs, machine: MachineSize) -> Result<(ComparePlan, Option<Measured>), Failure> {
    let ExportArgs { runtime, subject, study, case, app, php, deployment, load, store, .. } = args;
    let Some(name) = study else {
        let Some(runtime) = runtime else {
            return Err(Failure::usage(
                "it is not said what is exported\n  name a runtime and what it serves, or a study with --study",
            ));
        };
        let flags = CompareFlags {
            subject: subject.clone(),
            app: app.clone(),
            php: php.clone(),
            runtimes: RuntimesFlag { runtimes: Some(runtime.clone()) },
            deployment: deployment.clone(),
            load: load.clone(),
            ..CompareFlags::default()
        };
        return Ok((ComparePlan::read(&flags, machine, &BuiltIn).map_err(Failure::usage)?, None));
    };
    let StoredStudy { study, trials, .. } = show::load(store, name)?;
    let case = deployable(&study, &trials, case.as_deref(), runtime.as_deref()).map_err(Failure::usage)?.clone();
    let flags = RetrialFlags { from: subject.subject.clone(), index: subject.index.clone(), ..RetrialFlags::default() };
    let RetrialPlan { base, .. } =
        RetrialPlan::read(&flags, (&study, &case), &[], machine, &BuiltIn).map_err(Failure::usage)?;
    let measured = trials.iter().rev().find(|trial| trial.case == case.id && trial.outcome == TrialOutcome::Measured);
    let service = measured.and_then(|trial| Some(trial.scale.as_ref()?.service.clone()));
    Ok((base, Some(Measured { study, case, service })))
}

/// The only candidate, or the one of this name where there are several.
fn candidate<'a>(plan: &'a ComparePlan, name: Option<&str>) -> Result<&'a Candidate, Failure> {
    let is_meant = |candidate: &&Candidate| name.is_none_or(|name| candidate.id.as_str() == name);
    match &plan.candidates.iter().filter(is_meant).collect::<Vec<_>>()[..] {
        [candidate] => Ok(candidate),
        _ => {
            let names: Vec<&str> = plan.candidates.iter().map(|candidate| candidate.id.as_str()).collect();
            Err(Failure::usage(format!(
                "one case is exported\n  name one of {} with --case, or one runtime",
                names.join(", ")
            )))
        }
    }
}

/// Sees that the folder can be written, before anything is measured for it.
pub(crate) fn check(flag: &'static str, path: &Path, plan: &ComparePlan) -> Result<(), Failure> {
    let [candidate] = plan.candidates.as_slice() else { return Ok(()) };
    folder(flag, path, false, plan, candidate).map(drop)
}

/// Writes the configuration of a plan's only candidate, with the case that measured it. What is there, and what to do with it.
pub(crate) async fn config(
    flag: &'static str,
    path: &Path,
    plan: &ComparePlan,
    study: Study,
    case: Case,
) -> Result<String, Failure> {
    let [candidate] = plan.candidates.as_slice() else { return Err(Failure::missing("there is nothing to export")) };
    let folder = folder(flag, path, false, plan, candidate)?;
    let target = Target::Config;
    let listen = SocketAddr::new(target.address(), PORT);
    let measured = Measured { study, case, service: None };
    write(&Export { target, listen, image: None, plan, candidate, measured: Some(&measured) }, &folder).await
}

fn folder(
    flag: &'static str,
    path: &Path,
    force: bool,
    plan: &ComparePlan,
    candidate: &Candidate,
) -> Result<BundleFolder, Failure> {
    if !plan.topology.is_single() {
        return Err(Failure::usage(format!(
            "a runtime is exported alone, and this is {}\n  balancers, databases and other copies are to be had where it is \
             deployed",
            plan.topology
        )));
    }
    if let AppKind::Image(image) = &candidate.app.kind {
        return Err(Failure::usage(format!(
            "{} is an image, which is deployed as it is: nothing is exported\n  give it the limits that were measured, as in \
             docker run --cpus {} --memory {}m",
            image.source,
            plan.limits.cpus,
            plan.limits.memory.get() >> 20
        )));
    }
    let failed = |error: BundleFolderError| {
        let or =
            if flag == OUTPUT && matches!(error, BundleFolderError::NotEmpty(_)) { ", or give --force" } else { "" };
        Failure::usage(format!("{flag} {}{or}", with_causes(&error)))
    };
    let folder = BundleFolder::new(path, force).map_err(failed)?;
    folder.apart_from(&candidate.app.source).map_err(failed)?;
    Ok(folder)
}

/// What is exported, for what.
struct Export<'a> {
    target: Target,
    listen: SocketAddr,
    image: Option<String>,
    plan: &'a ComparePlan,
    candidate: &'a Candidate,
    measured: Option<&'a Measured>,
}

/// Writes it. What is there, and what to do with it.
async fn write(export: &Export<'_>, folder: &BundleFolder) -> Result<String, Failure> {
    let Export { target, listen, image, plan, candidate, measured } = export;
    let Candidate { runtime, app, tuning, .. } = candidate;
    let cpus = stampede_platforms::available_cpus();
    // What was measured in containers is made of their image.
    let containers = match &plan.platform {
        PlatformChoice::Local => None,
        PlatformChoice::Docker { software } => {
            let software = crate::platform::source(software);
            Some(crate::platform::containers(software, plan, &[], cpus.clone(), false).await?)
        }
    };
    // Kept for the copy in which an application is prepared.
    let local;
    let app = if app.prepare.is_empty() {
        app.clone()
    } else {
        let platform: &dyn Platform = match &containers {
            Some(containers) => containers,
            None => {
                local =
                    LocalPlatform::new(crate::platform::config(plan, cpus)?, Here::new()).map_err(Failure::missing)?;
                &local
            }
        };
        for command in &app.prepare {
            screen::note(&preparing(command));
        }
        let prepared = platform.prepare(app).await;
        let failed = |error| Failure { exit: Exit::TrialFailed, message: with_causes(&error) };
        let PreparedApp { folder: source, autoloader: _, remarks } = prepared.map_err(failed)?;
        remarks.iter().for_each(|remark| screen::note(remark));
        App { source, ..app.clone() }
    };
    let needs = candidate.needs(&app);
    let makers = candidate.image();
    let found = match &containers {
        None => DetectedNeeds::here(&needs).await,
        Some(containers) => {
            DetectedNeeds::by(&needs, async |need: &Requirement| containers.detect(need, makers.as_ref()).await).await
        }
    };
    if !found.missing.is_empty() {
        return Err(Failure::missing(format!("{} {}", candidate.id, found.missing.join("\n  "))));
    }
    let version = runtime.version(&found.programs);
    let load = &plan.load.joined_by(&plan.beside);
    let context = RenderContext { app: &app, limits: &plan.limits, load, tuning, programs: &found.programs };
    let deployment = Deployment { image: makers, ..runtime.deployment(&context).map_err(Failure::missing)? };
    if let Some(Measured { study, case, .. }) = measured
        && case.runtime_version != version
    {
        screen::warning(&format!(
            "study {} measured {}, and what is here is {version}; that is exported, and was not measured",
            study.id, case.runtime_version
        ));
    }
    let name = label(&format!("{}-{}", plan.workload.id, runtime.id()));
    let image = if target.has_image() {
        let tag = measured.map_or("local", |measured| measured.study.id.as_str());
        let image = image.clone().unwrap_or_else(|| format!("{name}:{tag}"));
        let made = stampede_platforms::image(image, &app, &deployment, &found, &needs, containers.as_ref());
        Some(made.await.map_err(Failure::missing)?)
    } else {
        None
    };
    let built = build(&deployment, &app).await?;
    let pool = runtime.tunables().iter().filter(|tunable| tunable.role == Role::PoolSize);
    let path = folder.path().to_str().ok_or_else(|| Failure::usage("--output is not UTF-8"))?;
    let origin = BundleOrigin {
        target: *target,
        candidate,
        version: &version,
        workload: &plan.workload.id,
        limits: &plan.limits,
        load: &plan.load,
        measured: *measured,
    };
    let order = Order {
        name: &name,
        origin: &origin.lines(),
        deployment: &deployment,
        limits: &plan.limits,
        health: plan.health(),
        ready: plan.ready_timeout,
        listen: *listen,
        folder: path,
        concurrency: pool.filter_map(|tunable| tuning.count(tunable.name)).max(),
        scaling: measured.and_then(|measured| measured.service.as_ref()),
        image: image.as_ref(),
    };
    let bundle = stampede_export::export(*target, &order).map_err(Failure::usage)?;
    folder.fill(&bundle, &app.source, &built).map_err(Failure::missing)?;
    Ok(next(*target, &order))
}

/// Builds what units are built from, as it is built before a trial.
async fn build<'a>(deployment: &'a Deployment, app: &App) -> Result<Vec<(&'a BuildStep, PathBuf)>, Failure> {
    let mut built = Vec::new();
    let steps = deployment.units.iter().filter_map(|unit| unit.build.as_ref());
    for step in steps.filter(|step| step.makes == Makes::Program) {
        let result = stampede_platforms::build(step, &app.source, &folders::cache()?).await;
        built.push((step, result.map_err(Failure::missing)?));
    }
    Ok(built)
}
