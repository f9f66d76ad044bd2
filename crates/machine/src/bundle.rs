//! A bundle made on this machine: files that deploy a case, with its application and the programs that are built for it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use stampede_conduct::{Exit, Failure, preparing};
use stampede_core::{
    App, AppKind, BuildStep, Candidate, Deployment, Makes, RenderContext, Requirement, Role, with_causes,
};
use stampede_export::{BundleOrder, BundleOrigin, Measured, Target, label, next};
use stampede_plan::{ComparePlan, PlatformChoice};
use stampede_platforms::{BundleFolder, BundleFolderError, DetectedNeeds, LocalPlatform};
use stampede_seam::{Platform, PreparedApp};
use stampede_vantage::Here;

use crate::folders::cache_folder;
use crate::onlooker::Onlooker;
use crate::platform::{containers as containers_of, local_config, software_source};

/// The flag that has `--force` beside it.
pub const OUTPUT: &str = "--output";

/// The port that it listens on, unless another one is given: what Cloud Run and most images have.
const PORT: u16 = 8080;

/// Ports below belong to root. <https://man7.org/linux/man-pages/man7/ip.7.html>
const FIRST_PORT: u16 = 1024;

/// The only candidate of a plan, or the one of this name where there are several.
///
/// # Errors
///
/// When there is no such candidate, or it is not said which one.
pub fn candidate<'a>(plan: &'a ComparePlan, name: Option<&str>) -> Result<&'a Candidate, Failure> {
    let is_meant = |candidate: &&Candidate| name.is_none_or(|name| candidate.id.as_str() == name);
    match &plan.candidates.iter().filter(is_meant).collect::<Vec<_>>()[..] {
        [candidate] => Ok(candidate),
        _ => {
            let names: Vec<&str> = plan.candidates.iter().map(|candidate| candidate.id.as_str()).collect();
            Err(Failure::usage(format!(
                "only one case can be exported\n  name one of {} with --case, or one runtime",
                names.join(", ")
            )))
        }
    }
}

/// The folder that a flag names for a candidate's files, once it is seen that it can be written; what is in it is replaced by `force`.
///
/// # Errors
///
/// When it cannot be written, or the candidate cannot be exported.
pub fn bundle_folder(
    (flag, path): (&str, &Path),
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
pub struct BundleRequest<'a> {
    /// For what.
    pub target: Target,
    /// Where it listens; its port is above those of root.
    pub listen: SocketAddr,
    /// What its image is called, where that is said.
    pub image: Option<String>,
    /// The plan.
    pub plan: &'a ComparePlan,
    /// The candidate of the plan.
    pub candidate: &'a Candidate,
    /// The case that measured it.
    pub measured: Option<&'a Measured>,
}

impl<'a> BundleRequest<'a> {
    /// The configuration of a plan's only candidate, with the case that measured it.
    #[must_use]
    pub fn of_configuration(plan: &'a ComparePlan, candidate: &'a Candidate, measured: &'a Measured) -> Self {
        let target = Target::Config;
        Self { target, listen: listen(target), image: None, plan, candidate, measured: Some(measured) }
    }

    /// Sees that the address is one on which servers may listen.
    ///
    /// # Errors
    ///
    /// When its port is root's.
    pub fn check(&self) -> Result<(), Failure> {
        let Self { listen, .. } = self;
        if listen.port() < FIRST_PORT {
            return Err(Failure::usage(format!(
                "--listen {listen}: servers do not run as root, and ports below {FIRST_PORT} need root\n  use 8080, behind a proxy that listens on the other port"
            )));
        }
        Ok(())
    }
}

/// Where files of a target listen by default.
#[must_use]
pub fn listen(target: Target) -> SocketAddr {
    SocketAddr::new(target.address(), PORT)
}

/// Prepares the application, finds and builds what it needs, and fills the folder. Returns what is there, and what to do with it.
///
/// # Errors
///
/// When something that it needs is missing here, or it cannot be prepared, built, rendered or written.
pub async fn make_bundle(
    request: &BundleRequest<'_>,
    folder: &BundleFolder,
    onlooker: Onlooker<'_>,
) -> Result<String, Failure> {
    let BundleRequest { target, listen, image, plan, candidate, measured } = request;
    let Candidate { runtime, app, tuning, .. } = candidate;
    let cpus = stampede_platforms::available_cpus();
    // What was measured in containers is made of their image.
    let containers = match &plan.platform {
        PlatformChoice::Local => None,
        PlatformChoice::Docker { software } => {
            let software = software_source(software);
            Some(containers_of(software, plan, &[], cpus.clone(), onlooker).await?)
        }
        PlatformChoice::Kubernetes(_) => {
            return Err(Failure::usage(
                "files can only be made for this machine or its containers; use --platform docker",
            ));
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
                local = LocalPlatform::new(local_config(plan, cpus)?, Here::new()).map_err(Failure::missing)?;
                &local
            }
        };
        for command in &app.prepare {
            onlooker.notices.note(&preparing(command));
        }
        let prepared = platform.prepare(app).await;
        let failed = |error| Failure { exit: Exit::TrialFailed, message: with_causes(&error) };
        let PreparedApp { folder: source, autoloader: _, remarks } = prepared.map_err(failed)?;
        remarks.iter().for_each(|remark| onlooker.notices.note(remark));
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
        onlooker.notices.warning(&format!(
            "study {} measured {}, and {version} is installed now: that one is exported, and was not measured",
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
    let order = BundleOrder {
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
        let result = stampede_platforms::build(step, &app.source, &cache_folder()?).await;
        built.push((step, result.map_err(Failure::missing)?));
    }
    Ok(built)
}
