//! A Go function as a cloud platform's buildpack serves it: a program of its own around the functions framework.
//! <https://github.com/GoogleCloudPlatform/functions-framework-go>

use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    App, AppKind, CaseRole, DefaultsContext, Deployment, GracefulStop, PlanError, ProcessModel, Program, Programs,
    Ready, Recipe, RenderContext, Requirement, RunFile, Runtime, RuntimeId, StopSignal, Tunable, Tuning, TuningProblem,
    Unit, UnitId,
};

use crate::lookup::Lookup;
use crate::template::Template;
use crate::{front, go, label, recipe};

const ID: &str = "functions-framework-go";
const PROGRAM: &str = "function/program";

/// The framework's version where the function's own module asks for none that is newer.
const FRAMEWORK: &str = "v1.9.2";

const MAIN: Template = Template {
    name: "functions-framework-go/main.go.j2",
    source: include_str!("../templates/functions-framework-go/main.go.j2"),
};
const MODULE: Template = Template {
    name: "functions-framework-go/go.mod.j2",
    source: include_str!("../templates/functions-framework-go/go.mod.j2"),
};

/// A Go function behind the functions framework.
pub(crate) struct FunctionsFrameworkGo;

impl Runtime for FunctionsFrameworkGo {
    fn id(&self) -> RuntimeId {
        RuntimeId::new(ID)
    }

    fn title(&self) -> &'static str {
        "a Go function behind the functions framework, for reference"
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
        matches!(kind, AppKind::GoFunction { .. })
    }

    fn requires(&self, _app: &App) -> Vec<Requirement> {
        vec![go::requirement()]
    }

    fn version(&self, programs: &Programs) -> String {
        format!("functions-framework-go {FRAMEWORK} or newer, {}", label::program(programs, go::GO, "Go"))
    }

    fn tunables(&self) -> &'static [Tunable] {
        &go::TUNABLES
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        go::defaults(cx)
    }

    fn validate(&self, _tuning: &Tuning) -> Vec<TuningProblem> {
        Vec::new()
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let AppKind::GoFunction { module, package, function } = &cx.app.kind else {
            return Err(PlanError::AppKind(self.id()));
        };
        let lookup = Lookup::new(ID, cx);
        let file = |name: &str, text| RunFile { path: PathBuf::from(name), text };
        let files = vec![
            file("main.go", MAIN.fill(context! { package, function })?),
            file("go.mod", MODULE.fill(context! { module, framework => FRAMEWORK })?),
        ];
        let mut env = cx.app.env.clone();
        env.insert("HOST".to_owned(), "@{front.host}".to_owned());
        env.insert("PORT".to_owned(), "@{front.port}".to_owned());
        env.insert(go::GOMAXPROCS.to_owned(), lookup.count(go::GOMAXPROCS)?.to_string());
        Ok(Deployment {
            addresses: vec![front::address()],
            front: front::id(),
            app: cx.app.source.clone(),
            container: None,
            image: None,
            preparation: None,
            probe: None,
            units: vec![Unit {
                id: UnitId::new("function"),
                build: Some(go::build(&lookup, PROGRAM, files)?),
                files: Vec::new(),
                folders: Vec::new(),
                check: None,
                program: Program { path: format!("@{{run}}/{PROGRAM}"), args: Vec::new(), env },
                logs: Vec::new(),
                statuses: Vec::new(),
                ready: Ready::Request,
                // The framework has no graceful stop: SIGTERM ends the program at once.
                stop: GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(2) },
            }],
        })
    }
}
