//! `stampede export`: files that deploy a runtime with the settings that were measured.

pub(crate) mod args;

use std::path::Path;

use stampede_analysis::deployable;
use stampede_conduct::Host;
use stampede_core::{Case, ChosenByFlags, Outcome as TrialOutcome, Study};
use stampede_export::Measured;
use stampede_machine::bundle::{BundleRequest, OUTPUT, bundle_folder, candidate, listen, make_bundle};
use stampede_plan::{
    CompareFlags, ComparePlan, MachineSize, RetrialFlags, RetrialPlan, RuntimesFlag, SiteFlags, SubjectFlag,
};
use stampede_store::StoredStudy;

use self::args::ExportArgs;
use crate::exit::{Exit, Failure};
use crate::notices::ONLOOKER;
use crate::{Outcome, screen, show};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: ExportArgs, host: &dyn Host) -> Outcome {
    let (plan, measured) = read(&args, host.size())?;
    let ExportArgs { target, case, listen: address, image, output, force, .. } = args;
    // A study's case has been chosen already.
    let candidate = candidate(&plan, case.as_deref().filter(|_| measured.is_none()))?;
    let listen = address.unwrap_or(listen(target));
    let request = BundleRequest { target, listen, image, plan: &plan, candidate, measured: measured.as_ref() };
    request.check()?;
    let folder = bundle_folder((OUTPUT, &output), force, &plan, candidate)?;
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    screen::print(&executor.block_on(make_bundle(&request, &folder, ONLOOKER))?)?;
    Ok(Exit::Done)
}

/// A plan, and the case that it repeats.
fn read(args: &ExportArgs, machine: MachineSize) -> Result<(ComparePlan, Option<Measured>), Failure> {
    let ExportArgs { runtime, subject, index, study, case, app, php, deployment, load, store, .. } = args;
    let site = SiteFlags { index: index.clone(), ..SiteFlags::default() };
    let Some(name) = study else {
        let Some(runtime) = runtime else {
            return Err(Failure::usage(
                "nothing to export was named\n  name a runtime and an application, or a study with --study",
            ));
        };
        let flags = CompareFlags {
            subject: SubjectFlag { subject: subject.clone(), site },
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
    let flags = RetrialFlags { from: subject.clone(), site, ..RetrialFlags::default() };
    // What its load and its database were is no part of a bundle, and may be gone.
    let study = Study { chosen: ChosenByFlags::default(), ..study };
    let RetrialPlan { base, .. } =
        RetrialPlan::read(&flags, (&study, &case), &[], machine, &BuiltIn).map_err(Failure::usage)?;
    let measured = trials.iter().rev().find(|trial| trial.case == case.id && trial.outcome == TrialOutcome::Measured);
    let service = measured.and_then(|trial| Some(trial.scale.as_ref()?.service.clone()));
    Ok((base, Some(Measured { study, case, service })))
}

/// Sees that the folder can be written, before anything is measured for it.
pub(crate) fn check(flag: &'static str, path: &Path, plan: &ComparePlan) -> Result<(), Failure> {
    let [candidate] = plan.candidates.as_slice() else { return Ok(()) };
    bundle_folder((flag, path), false, plan, candidate).map(drop)
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
    let folder = bundle_folder((flag, path), false, plan, candidate)?;
    let measured = Measured { study, case, service: None };
    make_bundle(&BundleRequest::of_configuration(plan, candidate, &measured), &folder, ONLOOKER).await
}
