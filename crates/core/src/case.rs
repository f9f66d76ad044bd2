//! One line of a comparison.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    App, Autoloader, CaseId, CaseRole, CpuLayout, Limits, Load, MakersImage, PhpBuild, PhpChoice, Requirement,
    Revision, Runtime, RuntimeId, Site, Topology, Tuning,
};

/// A case as it was planned, before what it needs was looked for on the machine.
#[derive(Clone)]
pub struct Candidate {
    /// Its name, unique within the study.
    pub id: CaseId,
    /// What serves it.
    pub runtime: &'static dyn Runtime,
    /// What it is compared for.
    pub role: CaseRole,
    /// The application in the form that this runtime serves.
    pub app: App,
    /// Which build of PHP it is to run on, where one was chosen.
    pub php: Option<PhpChoice>,
    /// All settings, defaults included.
    pub tuning: Tuning,
}

impl Candidate {
    /// The image of its runtime's makers, for the chosen build of PHP.
    pub fn image(&self) -> Option<MakersImage> {
        self.runtime.recipe().map(|recipe| MakersImage::new(recipe, self.php.as_ref()))
    }

    /// What it takes to serve its application, or a copy of that which is made ready: for the runtime, for these settings, and for
    /// the application, of the chosen build of PHP.
    pub fn needs(&self, app: &App) -> Vec<Requirement> {
        let Self { id: _, runtime, role: _, app: _, php, tuning } = self;
        let needs = [runtime.requires(app), runtime.requires_for(app, tuning), app.needs.clone()].concat();
        let of_build = |need: Requirement| match php {
            Some(php) => need.of_build(php),
            None => need,
        };
        needs.into_iter().map(of_build).collect()
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, runtime, role, app, php, tuning } = self;
        f.debug_struct("Candidate")
            .field("id", id)
            .field("runtime", &runtime.id())
            .field("role", role)
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
    /// What it is compared for.
    #[serde(default)]
    pub role: CaseRole,
    /// Programs and versions: `nginx 1.22.1, PHP 8.2.29 NTS`.
    pub runtime_version: String,
    /// The name of the application among those of its workload.
    pub app: String,
    /// What the web server shows of the application; none where it has no public folder, or of before this was kept.
    #[serde(default)]
    pub site: Option<Site>,
    /// Which state of the application was measured, where its folder is kept in git.
    #[serde(default)]
    pub revision: Option<Revision>,
    /// What Composer's autoloader is in the copies that are served; none where there is none, or of before this was kept.
    #[serde(default)]
    pub autoloader: Option<Autoloader>,
    /// The build of PHP, where it serves PHP.
    pub php: Option<PhpBuild>,
    /// All settings, defaults included.
    pub tuning: Tuning,
    /// What the whole deployment may use.
    pub limits: Limits,
    /// What stands around the runtime.
    pub topology: Topology,
    /// Where it runs: `local`, `docker`.
    pub platform: String,
    /// The image of its container, where it runs in one: that in which packages were installed; or its makers', with its digest or
    /// id behind it, `php:8.4-fpm-bookworm@sha256:...`; or, of the runtime `image`, its own with its id behind it.
    #[serde(default)]
    pub base_image: Option<String>,
    /// Which cores serve and which generate load.
    pub pinning: CpuLayout,
    /// What load is driven at it.
    pub load: Load,
    /// The loads of a scenario's other user classes, beside `load`.
    #[serde(default)]
    pub beside: Vec<Load>,
}

impl Case {
    /// All that is driven at it, as it is written: `open:2..100/60s + open:5`.
    pub fn whole_load(&self) -> String {
        [&self.load].into_iter().chain(&self.beside).map(Load::to_string).collect::<Vec<_>>().join(" + ")
    }

    /// The settings that were asked for, as `--set` takes them: `nginx-fpm.pm=static`.
    pub fn flags(&self) -> Vec<String> {
        let asked = self.tuning.asked();
        asked.iter().map(|(name, setting)| format!("{}.{name}={}", self.runtime, setting.value)).collect()
    }
}
