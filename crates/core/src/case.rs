//! One line of a comparison.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    App, CaseId, CpuLayout, Limits, Load, PhpBuild, PhpChoice, Revision, Runtime, RuntimeId, Topology, Tuning,
};

/// A case as it was planned, before what it needs was looked for on the machine.
#[derive(Clone)]
pub struct Candidate {
    /// Its name, unique within the study.
    pub id: CaseId,
    /// What serves it.
    pub runtime: &'static dyn Runtime,
    /// The application in the form that this runtime serves.
    pub app: App,
    /// Which build of PHP it is to run on, where one was chosen.
    pub php: Option<PhpChoice>,
    /// All settings, defaults included.
    pub tuning: Tuning,
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, runtime, app, php, tuning } = self;
        f.debug_struct("Candidate")
            .field("id", id)
            .field("runtime", &runtime.id())
            .field("app", app)
            .field("php", php)
            .field("tuning", tuning)
            .finish()
    }
}

/// Workload x runtime x PHP build x tuning x limits x topology x platform x load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Its name, unique within the study.
    pub id: CaseId,
    /// What serves it.
    pub runtime: RuntimeId,
    /// Programs and versions: `nginx 1.22.1, PHP 8.2.29 NTS`.
    pub runtime_version: String,
    /// The name of the application among those of its workload.
    pub app: String,
    /// Which state of the application was measured, where its folder is kept in git.
    #[serde(default)]
    pub revision: Option<Revision>,
    /// The build of PHP, where it serves PHP.
    pub php: Option<PhpBuild>,
    /// All settings, defaults included.
    pub tuning: Tuning,
    /// What the whole deployment may use.
    pub limits: Limits,
    /// What stands around the runtime.
    pub topology: Topology,
    /// Where it runs: `local`.
    pub platform: String,
    /// Which cores serve and which generate load.
    pub pinning: CpuLayout,
    /// What load is driven at it.
    pub load: Load,
    /// The loads of a scenario's other crowds, beside `load`.
    #[serde(default)]
    pub beside: Vec<Load>,
}

impl Case {
    /// All that is driven at it, as it is written: `open:2..100/60s + open:5`.
    pub fn whole_load(&self) -> String {
        [&self.load].into_iter().chain(&self.beside).map(Load::to_string).collect::<Vec<_>>().join(" + ")
    }
}
