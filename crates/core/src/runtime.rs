//! The seam to what serves PHP.

use thiserror::Error;

use crate::{
    App, AppKind, CaseRole, Deployment, Install, Limits, Load, Programs, Recipe, Requirement, RuntimeId, ServiceKind,
    Tunable, Tuning, TuningProblem,
};

/// What happens to a process between two requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessModel {
    /// The application starts afresh for each request.
    ProcessPerRequest,
    /// The application is started once and answers many requests, one at a time a worker.
    LongLivedWorkers,
    /// The application is started once and answers many requests at the same time.
    EventLoop,
}

/// What defaults are chosen from.
#[derive(Clone, Copy, Debug)]
pub struct DefaultsContext<'a> {
    /// What is served.
    pub app: &'a App,
    /// What the whole deployment may use.
    pub limits: &'a Limits,
    /// What load it must take.
    pub load: &'a Load,
    /// Settings that were asked for; they decide which others are in force.
    pub given: &'a Tuning,
}

/// What a deployment is rendered from.
#[derive(Clone, Copy, Debug)]
pub struct RenderContext<'a> {
    /// What is served.
    pub app: &'a App,
    /// What the whole deployment may use.
    pub limits: &'a Limits,
    /// What load it must take.
    pub load: &'a Load,
    /// All settings.
    pub tuning: &'a Tuning,
    /// What was found for [`Runtime::requires`].
    pub programs: &'a Programs,
}

/// Settings that somebody else advises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Documented {
    /// The settings that differ from the defaults.
    pub settings: Tuning,
    /// Where they stand.
    pub source: &'static str,
}

/// What a runtime is, whatever it serves.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name.
    pub id: &'static str,
    /// One line: what it is.
    pub title: &'static str,
    /// What happens to a process between two requests.
    pub process_model: ProcessModel,
    /// The image of its makers, in which it is served in containers; none of one that runs images, or comes with an application.
    pub recipe: Option<&'static Recipe>,
    /// What its units tell of themselves while they run, and by what: a line each. Nothing where they tell nothing.
    pub status: &'static [&'static str],
    /// Its settings.
    pub tunables: &'static [Tunable],
}

/// What serves an application. Pure: it renders, starts nothing and picks no port.
pub trait Runtime: Sync {
    /// What it is.
    fn about(&self) -> About;

    /// Its name.
    fn id(&self) -> RuntimeId {
        RuntimeId::new(self.about().id)
    }

    /// See [`About::title`].
    fn title(&self) -> &'static str {
        self.about().title
    }

    /// See [`About::process_model`].
    fn process_model(&self) -> ProcessModel {
        self.about().process_model
    }

    /// See [`About::recipe`].
    fn recipe(&self) -> Option<&'static Recipe> {
        self.about().recipe
    }

    /// See [`About::status`].
    fn status(&self) -> &'static [&'static str] {
        self.about().status
    }

    /// See [`About::tunables`].
    fn tunables(&self) -> &'static [Tunable] {
        self.about().tunables
    }

    /// What it is compared for, unless a plan says otherwise of a case.
    fn role(&self) -> CaseRole {
        CaseRole::Candidate
    }

    /// Whether what it serves are images, which bring application and server: every environment variable is then a setting of it.
    fn serves_images(&self) -> bool {
        false
    }

    /// Whether it can serve an application of this kind, whatever its settings.
    fn serves(&self, kind: &AppKind) -> bool;

    /// Whether it can serve an application of this kind under the settings that were asked for.
    ///
    /// # Errors
    ///
    /// Which setting stands in the way. Of a kind that it never serves nothing is said.
    fn suits(&self, _kind: &AppKind, _given: &Tuning) -> Result<(), TuningProblem> {
        Ok(())
    }

    /// What must be present to serve this application.
    fn requires(&self, app: &App) -> Vec<Requirement>;

    /// What must be present beside that under these settings.
    fn requires_for(&self, _app: &App, _tuning: &Tuning) -> Vec<Requirement> {
        Vec::new()
    }

    /// Programs and versions in one line, from what was found.
    fn version(&self, programs: &Programs) -> String;

    /// A value for each setting that is in force under the given ones: the given ones as they are, even where they
    /// contradict each other (see [`Runtime::validate`]), the others with their reason.
    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning;

    /// The settings that its own documentation advises, or that it comes with, where they can be told from what is served; and
    /// where that stands.
    fn documented(&self, _cx: &DefaultsContext<'_>) -> Option<Documented> {
        None
    }

    /// What is wrong with a tuning beyond single values (see [`Tunable::check`]): settings that contradict each other or
    /// that the chosen mode does not have.
    fn validate(&self, _tuning: &Tuning) -> Vec<TuningProblem> {
        Vec::new()
    }

    /// The units to run.
    ///
    /// # Errors
    ///
    /// When the context lacks what the runtime required or defaulted.
    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError>;
}

/// Why a deployment could not be rendered.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The runtime serves applications of other kinds.
    #[error("serve this application with {0}: it is of a kind that this runtime cannot serve")]
    AppKind(RuntimeId),
    /// A required program is not in the context.
    #[error("render {runtime}: {program} was not looked up")]
    Program {
        /// The runtime.
        runtime: RuntimeId,
        /// The missing program's key.
        program: &'static str,
    },
    /// What was found does not fit together.
    #[error("serve this application with {runtime}: it needs {what}: {install}")]
    Unsuitable {
        /// The runtime.
        runtime: RuntimeId,
        /// What is needed, and what was found instead.
        what: String,
        /// How to get it.
        install: Install,
    },
    /// What stands around runtimes is made of programs of one container, and an image has a container of its own.
    #[error("serve the image {0}: it runs alone, without replicas, a balancer, services or restarts")]
    Alone(String),
    /// A service holds no rows, and is asked for some.
    #[error("ask {} in SQL: it knows none", .0.id())]
    NoSql(ServiceKind),
    /// A setting is missing.
    #[error("render {runtime}: no value for {tunable}")]
    Tunable {
        /// The runtime.
        runtime: RuntimeId,
        /// The missing setting.
        tunable: &'static str,
    },
    /// A template could not be filled.
    #[error("render {template}: {problem}")]
    Template {
        /// The template.
        template: String,
        /// The template engine's words.
        problem: String,
    },
}
