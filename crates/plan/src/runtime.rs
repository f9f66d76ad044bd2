//! The plan of looking at one runtime: which settings would it have under these limits, and why?

use std::path::Path;

use clap::Args;
use stampede_core::{Candidate, CaseId, Limits, Load, Runtime, Topology};

use crate::app::{app_for, named, read_apps};
use crate::catalogue::Catalogue;
use crate::choice::setting;
use crate::choice::tune;
use crate::choice::{RuntimesAsked, find, read_settings};
use crate::flags::{AppFlag, DeploymentFlags, LoadFlag, TopologyFlags};
use crate::kind::kinds_served;
use crate::listed::Listed;
use crate::machine_size::MachineSize;
use crate::mistake::{Gathered, Mistakes};
use crate::quantity::{read_cpus, read_load, read_memory};
use crate::subject::read_workload;
use crate::topology::{self, Around};

/// The flags of `stampede show runtime` that say what is shown, unread.
#[derive(Args, Clone, Debug, Default)]
#[expect(missing_docs, reason = "each group says what it is")]
pub struct RuntimeFlags {
    /// A runtime (see `stampede list runtimes`)
    pub runtime: String,
    /// What it serves: a built-in workload or a folder with a workload.yaml
    #[arg(long, value_name = "WORKLOAD", default_value = "markdown")]
    pub workload: String,
    #[command(flatten)]
    pub app: AppFlag,
    #[command(flatten)]
    pub deployment: DeploymentFlags,
    #[command(flatten)]
    pub load: LoadFlag,
    #[command(flatten)]
    pub topology: TopologyFlags,
}

/// One runtime without mistakes.
#[derive(Clone, Debug)]
pub struct RuntimePlan {
    /// The runtime with its settings for the workload's application.
    pub candidate: Candidate,
    /// What the whole deployment may use.
    pub limits: Limits,
    /// What stands around it.
    pub topology: Topology,
    /// What load it is set for.
    pub load: Load,
}

impl RuntimePlan {
    /// Reads flags.
    ///
    /// # Errors
    ///
    /// All mistakes of the command line and of the workload that it names; a runtime that cannot serve the workload.
    pub fn read(flags: &RuntimeFlags, machine: MachineSize, catalogue: &dyn Catalogue) -> Result<Self, Mistakes> {
        let RuntimeFlags { runtime, workload, app: AppFlag { app }, deployment, load: LoadFlag { load }, topology } =
            flags;
        let DeploymentFlags { set, cpus, memory } = deployment;
        let mut mistakes = Gathered::default();
        let workload = read_workload(workload, Path::new(workload), &format!("workload {workload}"), catalogue);
        let limits = Limits {
            cpus: read_cpus(cpus.as_deref(), machine, &mut mistakes),
            memory: read_memory(memory.as_deref(), machine, &mut mistakes),
        };
        let needs = workload.as_ref().map_or(&[][..], |workload| &workload.services);
        let Around { topology, set, .. } = topology::read(topology, set, None, (&limits, false), needs, &mut mistakes);
        let load = read_load(load.as_deref(), machine, &mut mistakes);
        let place = format!("runtime {runtime}");
        let found = find(runtime, catalogue.runtimes());
        let chosen: Vec<&'static dyn Runtime> = found.iter().copied().collect();
        if let Err(fix) = &found {
            mistakes.add(runtime, "is not a runtime", fix);
        }
        let apps = workload.as_ref().map_or(&[][..], |workload| &workload.apps);
        let mut given = read_settings(&set, RuntimesAsked::One(runtime), &chosen, apps, catalogue, &mut mistakes);
        let asked = app.as_deref().map(|typed| Listed::typed("--app", typed));
        let chosen_apps = read_apps(asked.as_deref(), workload.as_ref().ok(), &mut mistakes);
        if let (Some(typed), 2..) = (app, chosen_apps.len()) {
            mistakes.add(format!("--app {typed}"), "names several apps", "name one");
        }
        let mut candidate = None;
        if let (Ok(workload), Ok(runtime), [name]) = (&workload, found, chosen_apps.as_slice()) {
            let id = runtime.id();
            let given = given.remove(&id).unwrap_or_default();
            match app_for(runtime, &named(workload, name.as_deref()), &given) {
                Ok(Some(app)) => {
                    let tuning = tune(
                        runtime,
                        app,
                        &topology.replica_limits(&limits),
                        &load,
                        &given,
                        |name, tuning| setting(runtime, name, tuning),
                        &mut mistakes,
                    );
                    candidate = Some(Candidate {
                        id: CaseId::new(id.as_str()),
                        runtime,
                        role: runtime.role(),
                        app: app.clone(),
                        php: None,
                        tuning,
                    });
                }
                Ok(None) if runtime.serves_images() => mistakes.add(
                    &place,
                    "brings what it serves",
                    "its settings are the environment variables of its image",
                ),
                Ok(None) => mistakes.add(
                    &place,
                    format!(
                        "cannot serve {}: it serves apps of kind {}",
                        workload.id,
                        kinds_served(runtime).join(" or ")
                    ),
                    "name a workload that has one with --workload",
                ),
                Err(problem) => {
                    mistakes.add(setting(runtime, &problem.tunable, &given), problem.problem, problem.fix);
                }
            }
        }
        mistakes.finish(workload.map(|_| ()))?;
        candidate
            .map(|candidate| Self { candidate, limits, topology, load })
            .ok_or_else(|| Mistakes::one(place, "is not a runtime", "name another"))
    }
}
