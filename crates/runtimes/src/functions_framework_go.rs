//! A Go function as a cloud platform's buildpack serves it: a program of its own around the functions framework.
//! <https://github.com/GoogleCloudPlatform/functions-framework-go>

use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    About, App, AppKind, CaseRole, DefaultsContext, Deployment, GracefulStop, PlanError, ProcessModel, Program,
    Programs, RenderContext, Requirement, RunFile, Runtime, StopSignal, Tuning, Unit,
};

use crate::lookup::Lookup;
use crate::template::{Template, template};
use crate::{front, go, label, recipe};

const ID: &str = "functions-framework-go";
const PROGRAM: &str = "function/program";

/// The framework's version where the function's own module asks for none that is newer.
const FRAMEWORK: &str = "v1.9.2";

const MAIN: Template = template!("functions-framework-go/main.go.j2");
const MODULE: Template = template!("functions-framework-go/go.mod.j2");

/// A Go function behind the functions framework.
pub(crate) struct FunctionsFrameworkGo;

impl Runtime for FunctionsFrameworkGo {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "a Go function behind the functions framework, for reference",
            process_model: ProcessModel::EventLoop,
            recipe: Some(&recipe::DISTRIBUTION),
            status: &[],
            tunables: &go::TUNABLES,
        }
    }

    fn role(&self) -> CaseRole {
        CaseRole::Reference
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

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        go::defaults(cx)
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
        let program = Program::new(format!("@{{run}}/{PROGRAM}"), &[], env);
        // The framework has no graceful stop: SIGTERM ends the program at once.
        let stop = GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(2) };
        let build = Some(go::build(&lookup, PROGRAM, files)?);
        let unit = Unit { build, ..Unit::new("function", program, stop) };
        Ok(front::deployment(&cx.app.source, vec![unit]))
    }
}
