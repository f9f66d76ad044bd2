//! A Go program that is its own web server: the point of reference outside PHP.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use stampede_core::{
    App, AppKind, BuildStep, CaseRole, DefaultsContext, Deployment, GracefulStop, Install, Makes, PlanError,
    ProcessModel, Program, Programs, Ready, Recipe, RenderContext, Requirement, Role, RunFile, Runtime, RuntimeId,
    StopSignal, Tunable, TunableKind, Tuning, TuningProblem, Unit, UnitId, VersionProbe,
};

use crate::lookup::Lookup;
use crate::{front, label, recipe};

const ID: &str = "go";
pub(crate) const GO: &str = "go";
pub(crate) const GOMAXPROCS: &str = "GOMAXPROCS";
const PROGRAM: &str = "go/program";

pub(crate) const TUNABLES: [Tunable; 1] = [Tunable {
    name: GOMAXPROCS,
    role: Role::Processors,
    kind: TunableKind::Count { min: 1, max: 1024 },
    summary: "threads that run Go code at once",
    manual: "https://pkg.go.dev/runtime#hdr-Environment_Variables",
}];

/// A Go program.
pub(crate) struct Go;

impl Runtime for Go {
    fn id(&self) -> RuntimeId {
        RuntimeId::new(ID)
    }

    fn title(&self) -> &'static str {
        "a Go program, for reference"
    }

    fn process_model(&self) -> ProcessModel {
        ProcessModel::EventLoop
    }

    fn role(&self) -> CaseRole {
        CaseRole::Reference
    }

    fn recipe(&self) -> Option<&'static Recipe> {
        Some(&recipe::DISTRIBUTION)
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

    fn tunables(&self) -> &'static [Tunable] {
        &TUNABLES
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        defaults(cx)
    }

    fn validate(&self, _tuning: &Tuning) -> Vec<TuningProblem> {
        Vec::new()
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        if !self.serves(&cx.app.kind) {
            return Err(PlanError::AppKind(self.id()));
        }
        let lookup = Lookup::new(ID, cx);
        let mut env = cx.app.env.clone();
        env.insert("LISTEN".to_owned(), "@{front}".to_owned());
        env.insert(GOMAXPROCS.to_owned(), lookup.count(GOMAXPROCS)?.to_string());
        Ok(Deployment {
            addresses: vec![front::address()],
            front: front::id(),
            app: cx.app.source.clone(),
            container: None,
            image: None,
            preparation: None,
            probe: None,
            units: vec![Unit {
                id: UnitId::new(GO),
                build: Some(build(&lookup, PROGRAM, Vec::new())?),
                files: Vec::new(),
                folders: Vec::new(),
                check: None,
                program: Program { path: format!("@{{run}}/{PROGRAM}"), args: Vec::new(), env },
                logs: Vec::new(),
                statuses: Vec::new(),
                ready: Ready::Request,
                // Programs of this kind end on SIGTERM when the requests in flight are answered.
                stop: GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(5) },
            }],
        })
    }
}

/// Go's own toolchain.
pub(crate) fn requirement() -> Requirement {
    Requirement::Builder {
        key: GO,
        name: "go",
        version: VersionProbe { args: &["version"], prefix: "go version go" },
        install: Install { package: Some("golang-go".to_owned()), page: "https://go.dev/dl/".to_owned() },
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
    let mut args = vec!["build", "-trimpath", "-buildvcs=false", "-o", "@{output}"];
    if !files.is_empty() {
        // What the program around it needs is found and noted in its own go.mod.
        args.push("-mod=mod");
    }
    args.push(".");
    Ok(BuildStep {
        program: Program {
            path: lookup.path(GO)?,
            // The copy of the application is no repository of its own, so no version control is asked.
            args: args.into_iter().map(str::to_owned).collect(),
            env: BTreeMap::from([
                // No C compiler is needed, and the toolchain is the one whose version is recorded.
                ("CGO_ENABLED".to_owned(), "0".to_owned()),
                ("GOTOOLCHAIN".to_owned(), "local".to_owned()),
            ]),
        },
        files,
        output: PathBuf::from(output),
        makes: Makes::Program,
        toolchain: lookup.program(GO)?.version.clone(),
    })
}
