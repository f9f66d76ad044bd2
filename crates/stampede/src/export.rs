//! `stampede export`: files that deploy a runtime with the settings that were measured.

pub(crate) mod args;
mod folder;
mod image;
mod subject;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use stampede_core::{
    App, BuildStep, Candidate, Case, Deployment, Exchange, Makes, RenderContext, Requirement, Role, ScaledService,
    Study,
};
use stampede_export::{Order, Scaling, Target, label};
use stampede_plan::{ComparePlan, PlatformChoice};
use stampede_platforms::LocalPlatform;
use stampede_seam::{Platform, PreparedApp};

use self::args::ExportArgs;
use self::folder::{Folder, OUTPUT};
use self::subject::{Measured, Subject};
use stampede_vantage::Here;

use crate::exit::{Exit, Failure};
use crate::found;
use crate::{Outcome, folders, screen};
use stampede_conduct::Host;

/// The port that it listens on, unless another one is given: what Cloud Run and most images have.
const PORT: u16 = 8080;

/// Ports below belong to root. <https://man7.org/linux/man-pages/man7/ip.7.html>
const FIRST_PORT: u16 = 1024;

pub(crate) fn run(args: ExportArgs, host: &dyn Host) -> Outcome {
    let subject = subject::read(&args, host.size())?;
    let ExportArgs { target, case, listen, image, output, force, .. } = args;
    let listen = listen.unwrap_or(SocketAddr::new(target.address(), PORT));
    if listen.port() < FIRST_PORT {
        return Err(Failure::usage(format!(
            "--listen {listen}: servers have no rights of root, and ports below {FIRST_PORT} are root's\n  take 8080, and \
             let what is in front of it have the other port"
        )));
    }
    let Subject { plan, measured } = &subject;
    let candidate = subject.candidate(case.as_deref())?;
    let folder = folder(OUTPUT, &output, force, plan, candidate)?;
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let export = Export { target, listen, image, plan, candidate, measured: measured.as_ref() };
    screen::print(&executor.block_on(write(&export, &folder))?)?;
    Ok(Exit::Done)
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
) -> Result<Folder, Failure> {
    if !plan.topology.is_single() {
        return Err(Failure::usage(format!(
            "a runtime is exported alone, and this is {}\n  balancers, databases and other copies are to be had where it is \
             deployed",
            plan.topology
        )));
    }
    let folder = Folder::new(flag, path, force)?;
    folder.apart_from(&candidate.app.source)?;
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
async fn write(export: &Export<'_>, folder: &Folder) -> Result<String, Failure> {
    let Export { target, listen, image, plan, candidate, measured } = export;
    let Candidate { runtime, app, tuning, .. } = candidate;
    let cpus = stampede_platforms::available_cpus();
    // What was measured in containers is made of their image.
    let containers = match &plan.platform {
        PlatformChoice::Local => None,
        PlatformChoice::Docker { base_image } => {
            Some(crate::platform::containers(base_image, plan, &[], cpus.clone(), false).await?)
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
            screen::note(&format!("preparing the application: {}", command.join(" ")));
        }
        let prepared = platform.prepare(app).await;
        let failed = |error| Failure { exit: Exit::TrialFailed, message: stampede_core::with_causes(&error) };
        let PreparedApp { folder: source, autoloader: _, remarks } = prepared.map_err(failed)?;
        remarks.iter().for_each(|remark| screen::note(remark));
        App { source, ..app.clone() }
    };
    let needs = candidate.needs(&app);
    let found = match &containers {
        None => found::look_for(&needs).await,
        Some(containers) => found::look_by(&needs, async |need: &Requirement| containers.detect(need).await).await,
    };
    if !found.missing.is_empty() {
        return Err(Failure::missing(format!("{} {}", candidate.id, found.missing.join("\n  "))));
    }
    let version = runtime.version(&found.programs);
    let load = &plan.load.joined_by(&plan.beside);
    let context = RenderContext { app: &app, limits: &plan.limits, load, tuning, programs: &found.programs };
    let deployment = runtime.deployment(&context).map_err(Failure::missing)?;
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
        Some(image::of(image, &app, &deployment, &found, &needs, containers.as_ref()).await?)
    } else {
        None
    };
    let built = build(&deployment, &app).await?;
    let pool = runtime.tunables().iter().filter(|tunable| tunable.role == Role::PoolSize);
    let path = folder.path().to_str().ok_or_else(|| Failure::usage("--output is not UTF-8"))?;
    let order = Order {
        name: &name,
        origin: &origin(export, &version),
        deployment: &deployment,
        limits: &plan.limits,
        health: health(plan),
        ready: plan.ready_timeout,
        listen: *listen,
        folder: path,
        concurrency: pool.filter_map(|tunable| tuning.count(tunable.name)).max(),
        scaling: measured.and_then(|measured| measured.service.as_ref()).map(|service| Scaling {
            concurrency: service.concurrency,
            min_instances: service.min_instances,
            max_instances: service.max_instances,
        }),
        image: image.as_ref(),
    };
    let bundle = stampede_export::export(*target, &order).map_err(Failure::usage)?;
    folder.fill(&bundle, &app.source, &built)?;
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

/// The request that shows that it is well. It is sent again and again, so it is one that changes nothing; one that is answered
/// with success, and one of the load, come first.
fn health(plan: &ComparePlan) -> Option<&Exchange> {
    let changes_nothing = |exchange: &&Exchange| exchange.request.method == "GET" && !exchange.once;
    let known = |exchange: &&Exchange| !plan.unrecorded.contains(&exchange.name);
    let all = plan.workload.load_mix().chain(&plan.workload.exchanges);
    // Of equals the first is taken.
    all.filter(changes_nothing).filter(known).min_by_key(|exchange| !(200..400).contains(&exchange.expect.status))
}

/// Where it comes from, for those who read the files.
fn origin(export: &Export<'_>, version: &str) -> Vec<String> {
    let Export { target, plan, candidate, measured, .. } = export;
    let by = format!("Made by stampede export {} (stampede {})", target.id(), env!("CARGO_PKG_VERSION"));
    let of = match measured {
        Some(Measured { study, case, .. }) => format!(
            "from case {} of study {}, which measured {} on {}",
            case.id,
            study.id,
            case.runtime_version,
            study.started_at.strftime("%Y-%m-%d")
        ),
        None => format!("from {} serving {}, which was not measured", candidate.runtime.id(), plan.workload.id),
    };
    let mut lines = vec![
        by,
        format!("{of}."),
        format!("Settings for {version}, {} CPUs, {} and {}.", plan.limits.cpus, plan.limits.memory, plan.load),
    ];
    if let Some(ScaledService { policy, concurrency, min_instances, max_instances, .. }) =
        measured.and_then(|measured| measured.service.as_ref())
    {
        lines.push(format!(
            "This is one of {min_instances} to {max_instances} instances by the rules of {policy}, given {concurrency} \
             requests at once at the most."
        ));
    }
    lines
}

/// What is there, and what to do with it.
fn next(target: Target, order: &Order<'_>) -> String {
    let Order { folder, name, image, .. } = order;
    let image = image.map_or("", |image| image.name.as_str());
    let build = format!("docker build -t {image} {folder}");
    let steps = match target {
        Target::Dockerfile => {
            let (cpus, memory, port) = (order.limits.cpus, order.limits.memory.get(), order.listen.port());
            vec![
                build,
                format!(
                    "docker run --rm --cpus {cpus} --memory {memory} --memory-swap {memory} -p {port}:{port} {image}"
                ),
            ]
        }
        Target::Compose => vec![format!("docker compose -f {folder}/compose.yaml up --build")],
        Target::Kubernetes => {
            vec![build, format!("docker push {image}"), format!("kubectl apply -f {folder}/kubernetes.yaml")]
        }
        Target::Knative => {
            vec![build, format!("docker push {image}"), format!("kubectl apply -f {folder}/service.yaml")]
        }
        Target::CloudRun => {
            vec![build, format!("docker push {image}"), format!("gcloud run services replace {folder}/service.yaml")]
        }
        Target::Systemd => vec![
            format!("cp -r {folder}/etc {folder}/srv /"),
            format!("systemd-tmpfiles --create {name}.conf && systemctl daemon-reload"),
            format!("systemctl enable --now {name}.target"),
        ],
        Target::Config => {
            let prepares = order.deployment.preparation.as_ref().is_some_and(|made| !made.programs.is_empty());
            prepares.then(|| format!("{folder}/prepare")).into_iter().chain([format!("{folder}/start")]).collect()
        }
    };
    format!("wrote {folder}; next:\n{}", steps.iter().map(|step| format!("  {step}\n")).collect::<String>())
}
