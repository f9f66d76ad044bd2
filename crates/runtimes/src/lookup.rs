//! What a runtime takes out of its context, with errors that name the runtime.

use std::path::Path;

use stampede_core::{
    App, AppKind, Found, Install, PhpBuild, PlanError, RenderContext, Requirement, RuntimeId, VersionProbe,
};

use crate::label;

/// A program by the first of its names.
pub(crate) fn program(names: &'static [&'static str], version: VersionProbe, install: Install) -> Requirement {
    Requirement::Program { key: names.first().copied().unwrap_or_default(), names, version, install }
}

/// A context as one runtime reads it.
pub(crate) struct Lookup<'a> {
    runtime: &'static str,
    cx: &'a RenderContext<'a>,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(runtime: &'static str, cx: &'a RenderContext<'a>) -> Self {
        Self { runtime, cx }
    }

    /// What was found for a requirement.
    pub(crate) fn program(&self, key: &'static str) -> Result<&'a Found, PlanError> {
        self.cx
            .programs
            .get(key)
            .ok_or_else(|| PlanError::Program { runtime: RuntimeId::new(self.runtime), program: key })
    }

    /// The path of what was found, as text.
    pub(crate) fn path(&self, key: &'static str) -> Result<String, PlanError> {
        Ok(self.program(key)?.path.display().to_string())
    }

    /// The build of PHP that was found.
    pub(crate) fn php(&self, key: &'static str) -> Result<&'a PhpBuild, PlanError> {
        self.program(key)?
            .php
            .as_ref()
            .ok_or_else(|| PlanError::Program { runtime: RuntimeId::new(self.runtime), program: key })
    }

    /// The value of a setting.
    pub(crate) fn setting(&self, tunable: &'static str) -> Result<&'a str, PlanError> {
        self.cx.tuning.get(tunable).ok_or_else(|| self.lacks(tunable))
    }

    /// The value of a setting that is a whole number.
    pub(crate) fn count(&self, tunable: &'static str) -> Result<u64, PlanError> {
        self.cx.tuning.count(tunable).ok_or_else(|| self.lacks(tunable))
    }

    /// The script that answers every request, relative to the application.
    pub(crate) fn index(&self) -> Result<&'a Path, PlanError> {
        self.kind().index().ok_or_else(|| self.other_kind())
    }

    /// The application.
    pub(crate) fn app(&self) -> &'a App {
        self.cx.app
    }

    /// What kind of program the application is.
    pub(crate) fn kind(&self) -> &'a AppKind {
        &self.cx.app.kind
    }

    /// The error of an application of another kind than the runtime serves.
    pub(crate) fn other_kind(&self) -> PlanError {
        PlanError::AppKind(RuntimeId::new(self.runtime))
    }

    /// That what was found is not older than a version. What tells none, as builds of one's own may, is taken as it is.
    pub(crate) fn at_least(
        &self,
        key: &'static str,
        oldest: [u32; 2],
        why: &str,
        install: Install,
    ) -> Result<(), PlanError> {
        let found = &self.program(key)?.version;
        let numbers = label::numbers(found);
        if numbers.is_empty() || numbers >= oldest.to_vec() {
            return Ok(());
        }
        let [major, minor] = oldest;
        Err(self.unsuitable(format!("{key} {major}.{minor} or newer, {why}; found {found}"), install))
    }

    /// The error of something that was found and does not fit.
    pub(crate) fn unsuitable(&self, what: String, install: Install) -> PlanError {
        PlanError::Unsuitable { runtime: RuntimeId::new(self.runtime), what, install }
    }

    fn lacks(&self, tunable: &'static str) -> PlanError {
        PlanError::Tunable { runtime: RuntimeId::new(self.runtime), tunable }
    }
}
