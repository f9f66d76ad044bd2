//! A runtime as it would be run here: what is found of it, and its deployment.

use std::collections::BTreeMap;

use stampede_conduct::Failure;
use stampede_core::{Bytes, Candidate, ComposeContext, Composer as _, Deployment};
use stampede_plan::{MachineSize, RuntimePlan};
use stampede_platforms::DetectedNeeds;
use stampede_runtimes::Topologies;

/// How much of this machine there is for what opens no connection.
#[must_use]
pub fn size_at_rest() -> MachineSize {
    MachineSize {
        cpus: stampede_platforms::machine().cpus,
        memory: Bytes::new(stampede_platforms::memory().unwrap_or(u64::MAX)),
        connections: u32::MAX,
    }
}

/// The versions of what a runtime needs, or what is missing of it; and the deployment that it would be run as, where nothing is.
pub async fn rendered(plan: &RuntimePlan) -> (String, Result<Deployment, Failure>) {
    let RuntimePlan { candidate, limits, topology, load } = plan;
    let Candidate { runtime, app, tuning, .. } = candidate;
    let needs = [runtime.requires(app), runtime.requires_for(app, tuning)].concat();
    let DetectedNeeds { programs, missing, .. } = DetectedNeeds::here(&needs).await;
    let DetectedNeeds { programs: beside, missing: also, .. } =
        DetectedNeeds::here(&Topologies.requires(topology)).await;
    let missing = [missing, also].concat();
    if !missing.is_empty() {
        let why = format!("cannot render {}: {}", candidate.id, missing.join("\n  "));
        return (missing.join("\n"), Err(Failure::missing(why)));
    }
    let deployment = || {
        let certificate =
            topology.has_tls().then(stampede_platforms::self_made).transpose().map_err(Failure::missing)?;
        let certificate = certificate.as_ref();
        // What services hold is the workload's and no file of a runtime.
        let init = BTreeMap::new();
        let context = ComposeContext { topology, limits, load, programs: &beside, certificate, init: &init };
        Topologies.deployment(candidate, &programs, &context).map_err(Failure::missing)
    };
    (runtime.version(&programs), deployment())
}
