//! webman: a framework on Workerman. The handler stands behind the framework's router and its request and answer.

use std::path::{Path, PathBuf};

use minijinja::context;
use stampede_core::{
    About, App, AppKind, DefaultsContext, Deployment, PlanError, ProcessModel, Programs, RenderContext, Requirement,
    RunFile, Runtime, Tuning,
};

use crate::bridge::Kept;
use crate::lookup::Lookup;
use crate::template::{Template, template};
use crate::{bridge, recipe, workerman};

const ID: &str = "webman";
const PACKAGE: &str = "workerman/webman-framework";

/// Workerman's, and one that the framework asks whether it runs from an archive.
const EXTENSIONS: [&str; 4] = ["pcntl", "posix", "ctype", "phar"];

const SERVER: Template = template!("webman/server.php.j2");
const ROUTE: Template = template!("webman/route.php.j2");

/// webman.
pub(crate) struct Webman;

impl Runtime for Webman {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "webman, a framework on Workerman",
            process_model: ProcessModel::LongLivedWorkers,
            recipe: Some(&recipe::CLI),
            status: &[],
            tunables: &workerman::TUNABLES,
        }
    }

    fn serves(&self, kind: &AppKind) -> bool {
        bridge::is_handler(kind)
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        vec![bridge::php_with(app, &EXTENSIONS, &workerman::FASTER), bridge::package(PACKAGE, PACKAGE, app)]
    }

    fn version(&self, programs: &Programs) -> String {
        workerman::version("webman", PACKAGE, programs)
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        workerman::defaults(cx)
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let lookup = Lookup::new(ID, cx);
        let config =
            |name: &str, text: &str| RunFile { path: Path::new("bridge/config").join(name), text: text.to_owned() };
        let application = Kept::new(&lookup, lookup.php(bridge::PHP)?)?.script;
        let route = ROUTE.fill(context! { application, https => cx.app.site.https })?;
        let beside = vec![
            config("app.php", include_str!("../templates/webman/app.php")),
            config("container.php", include_str!("../templates/webman/container.php")),
            config("route.php", &route),
        ];
        let mut deployment = workerman::deployment(cx, &lookup, &SERVER, &EXTENSIONS, beside)?;
        for unit in &mut deployment.units {
            unit.folders.push(PathBuf::from("bridge/config"));
        }
        Ok(deployment)
    }
}
