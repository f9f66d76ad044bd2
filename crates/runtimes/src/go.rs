//! A Go program that is its own web server: the point of reference outside PHP.

use std::path::PathBuf;
use std::time::Duration;

use stampede_core::{
    About, App, AppKind, BuildStep, CaseRole, DefaultsContext, Deployment, GracefulStop, Install, Makes, PlanError,
    ProcessModel, Program, Programs, RenderContext, Requirement, Role, RunFile, Runtime, StopSignal, Tunable, Tuning,
    Unit, VersionProbe,
};

use crate::lookup::Lookup;
use crate::{front, label, recipe};

const ID: &str = "go";
pub(crate) const GO: &str = "go";
pub(crate) const GOMAXPROCS: &str = "GOMAXPROCS";
const PROGRAM: &str = "go/program";

pub(crate) const TUNABLES: [Tunable; 1] = [Tunable::count(GOMAXPROCS, Role::Processors, 1, 1024)
    .does("threads that run Go code at once")
    .manual("https://pkg.go.dev/runtime#hdr-Environment_Variables")];

/// A Go program.
pub(crate) struct Go;

impl Runtime for Go {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "a Go program, for reference",
            process_model: ProcessModel::EventLoop,
            recipe: Some(&recipe::DISTRIBUTION),
            status: &[],
            tunables: &TUNABLES,
        }
    }

    fn role(&self) -> CaseRole {
        CaseRole::Reference
    }

    fn serves(&self, kind: &AppKind) -> bool {
        matches!(kind, AppKind::GoProgram)
    }

    fn requires(&self, _app: &App) -> Vec<Requirement> {
        vec![requirement()]
    }

    fn version(&self, programs: &Programs) -> String {
        label::program(programs, GO, "Go")
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        defaults(cx)
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        if !self.serves(&cx.app.kind) {
            return Err(PlanError::AppKind(self.id()));
        }
        let lookup = Lookup::new(ID, cx);
        let mut env = cx.app.env.clone();
        env.insert("LISTEN".to_owned(), "@{front}".to_owned());
        env.insert(GOMAXPROCS.to_owned(), lookup.count(GOMAXPROCS)?.to_string());
        let program = Program::new(format!("@{{run}}/{PROGRAM}"), &[], env);
        // Programs of this kind end on SIGTERM when the requests in flight are answered.
        let stop = GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(5) };
        let unit = Unit { build: Some(build(&lookup, PROGRAM, Vec::new())?), ..Unit::new(GO, program, stop) };
        Ok(front::deployment(&cx.app.source, vec![unit]))
    }
}

/// Go's own toolchain.
pub(crate) fn requirement() -> Requirement {
    Requirement::Builder {
        key: GO,
        name: "go",
        version: VersionProbe { args: &["version"], prefix: "go version go" },
        install: Install::package("golang-go", "https://go.dev/dl/"),
    }
}

/// Defaults for [`TUNABLES`].
pub(crate) fn defaults(cx: &DefaultsContext<'_>) -> Tuning {
    let reason = format!(
        "one per CPU of the limit ({}, rounded up); before version 1.25 Go counts those of the machine",
        cx.limits.cpus
    );
    Tuning::new().with_default(GOMAXPROCS, cx.limits.cpus.whole_cores(), reason).overlaid_with(cx.given)
}

/// Compiles the application, or a program of these files around it.
pub(crate) fn build(lookup: &Lookup<'_>, output: &str, files: Vec<RunFile>) -> Result<BuildStep, PlanError> {
    // The copy of the application is no repository of its own, so no version control is asked.
    let mut args = vec!["build", "-trimpath", "-buildvcs=false", "-o", "@{output}"];
    if !files.is_empty() {
        // What the program around it needs is found and noted in its own go.mod.
        args.push("-mod=mod");
    }
    args.push(".");
    // No C compiler is needed, and the toolchain is the one whose version is recorded.
    let env = [("CGO_ENABLED", "0"), ("GOTOOLCHAIN", "local")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(BuildStep {
        program: Program::new(lookup.path(GO)?, &args, env.into()),
        files,
        output: PathBuf::from(output),
        makes: Makes::Program,
        toolchain: lookup.program(GO)?.version.clone(),
    })
}
