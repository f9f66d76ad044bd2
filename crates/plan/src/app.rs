//! Which of a workload's applications are served: `--app symfony,laravel`.

use stampede_core::{
    App, AppKind, CaseId, Runtime, ServiceKind, ServiceNeed, Topology, Tuning, TuningProblem, Workload,
};

use crate::case::Asked;
use crate::choice::RuntimeChoice;
use crate::listed::Listed;
use crate::look::Look;
use crate::mistake::Gathered;
use crate::suggestion::suggest;

/// The names that were chosen; `None` leaves it to each runtime, which then serves the first that it can.
pub(crate) fn read_apps(
    asked: Option<&[Listed]>,
    workload: Option<&Workload>,
    mistakes: &mut Gathered,
) -> Vec<Option<String>> {
    let (Some(asked), Some(workload)) = (asked, workload) else {
        return vec![None];
    };
    let mut known: Vec<&str> = workload.apps.iter().map(|app| app.name.as_str()).collect();
    known.dedup();
    let mut chosen = Vec::new();
    for Listed { value: name, place } in asked {
        if chosen.contains(&Some(name.clone())) {
            mistakes.add(place, "is named twice", "name each app once");
        } else if known.contains(&name.as_str()) {
            chosen.push(Some(name.clone()));
        } else {
            mistakes.add(
                place,
                format!("is not an app of workload {}", workload.id),
                suggest(name, known.iter().copied()),
            );
        }
    }
    chosen
}

/// The applications of a workload that have a name.
pub(crate) fn named<'a>(workload: &'a Workload, name: Option<&str>) -> Vec<&'a App> {
    workload.apps.iter().filter(|app| name.is_none_or(|name| app.name == name)).collect()
}

/// The first of these applications that the runtime serves under these settings, none if it serves none of them
/// under any, or which setting stands in the way.
pub(crate) fn app_for<'a>(
    runtime: &dyn Runtime,
    apps: &[&'a App],
    given: &Tuning,
) -> Result<Option<&'a App>, TuningProblem> {
    let mut problem = None;
    for app in apps.iter().filter(|app| runtime.serves(&app.kind)) {
        match runtime.suits(&app.kind, given) {
            Ok(()) => return Ok(Some(app)),
            Err(found) => problem = problem.or(Some(found)),
        }
    }
    problem.map_or(Ok(None), Err)
}

/// The name of a case, with the application's where several are compared.
pub(crate) fn case_id(id: &CaseId, app: &App, several: bool) -> CaseId {
    if several { CaseId::new(format!("{id}/{}", app.name)) } else { id.clone() }
}

/// Gives PHP applications the extensions by which they reach their services, and points one that was looked at to them.
pub(crate) fn reach_services(
    workload: &mut Workload,
    look: Option<&mut Look>,
    services: &[ServiceNeed],
    topology: &Topology,
) {
    if let Some(look) = look {
        reach_databases(workload, look, services, topology);
    }
    let is_php = |app: &&mut App| {
        !matches!(app.kind, AppKind::GoProgram | AppKind::GoFunction { .. } | AppKind::Command(_) | AppKind::Image(_))
    };
    for app in workload.apps.iter_mut().filter(is_php) {
        for extension in services.iter().flat_map(|service| &service.extensions) {
            if !app.extensions.contains(extension) {
                app.extensions.push(extension.clone());
            }
        }
    }
}

/// Points an application that was looked at to the databases and the Redis beside it: gives it what reaches them and, where a file of its own beats
/// the environment, the command that changes it in the copies. What no dump fills is filled by the application's own commands.
fn reach_databases(workload: &mut Workload, look: &mut Look, services: &[ServiceNeed], topology: &Topology) {
    let is_there = |wanted: ServiceKind| topology.services.iter().any(|service| service.kind == wanted);
    let reached = [(ServiceKind::Mariadb, ["pdo_mysql", "mysqli"]), (ServiceKind::Postgres, ["pdo_pgsql", "pgsql"])];
    let lacking = |own: &[String]| -> Vec<String> {
        let unreached =
            reached.iter().filter(|(kind, any)| is_there(*kind) && !own.iter().any(|own| any.contains(&own.as_str())));
        unreached.map(|(_, [first, _])| (*first).to_owned()).collect()
    };
    let command = look.database.take().filter(|_| is_there(ServiceKind::Mariadb));
    let has_database = reached.iter().any(|(kind, _)| is_there(*kind));
    let is_filled = services.iter().any(|need| need.init.is_some());
    let migrations = std::mem::take(&mut look.migrations).into_iter().filter(|_| has_database && !is_filled);
    let addresses = std::mem::take(&mut look.redis).into_iter().filter(|_| is_there(ServiceKind::Redis));
    let addresses: Vec<(String, String)> = addresses.collect();
    let commands: Vec<Vec<String>> = command.into_iter().chain(migrations).collect();
    for app in &mut workload.apps {
        app.extensions.extend(lacking(&app.extensions));
        app.prepare.extend(commands.clone());
        for (name, value) in &addresses {
            app.env.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    look.env.extend(addresses);
    look.extensions.extend(lacking(&look.extensions));
    look.prepare.extend(commands);
}

/// Sees that one of the runtimes that were named serves one of the applications that were chosen, and that each of these is served.
pub(crate) fn check_service(
    workload: &Workload,
    chosen: &[Option<String>],
    cases: &[Asked],
    choice: RuntimeChoice,
    mistakes: &mut Gathered,
) {
    let serves = |case: &Asked, name: &Option<String>| {
        !matches!(app_for(case.runtime, &named(workload, name.as_deref()), &case.given), Ok(None))
    };
    let names: Vec<&str> = chosen.iter().flatten().map(String::as_str).collect();
    let apps = match &names[..] {
        [] => String::new(),
        [name] => format!("'s app {name}"),
        names => format!("'s apps {}", names.join(", ")),
    };
    let is_idle = |case: &Asked| case.image.is_none() && !chosen.iter().any(|name| serves(case, name));
    // Beside one that serves, another one is only left out.
    if choice != RuntimeChoice::All && cases.iter().all(is_idle) {
        for case in cases {
            mistakes.add(&case.place, format!("cannot serve {}{apps}", workload.id), "name one that can");
        }
    }
    let is_unserved = |name: &&Option<String>| names.len() > 1 && !cases.iter().any(|case| serves(case, name));
    for name in chosen.iter().filter(is_unserved).flatten() {
        let fix = "add a runtime that serves it, or leave it out";
        mistakes.add(format!("--app {name}"), "is served by none of these runtimes", fix);
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::{AppKind, WorkloadId};

    use super::*;

    fn app(name: &str) -> App {
        App::new(name, AppKind::GoProgram)
    }

    #[test]
    fn apps_are_chosen_by_name() {
        let apps = ["plain", "plain", "symfony"].map(app).into();
        let workload = Workload {
            id: WorkloadId::new("hello"),
            title: String::new(),
            apps,
            exchanges: Vec::new(),
            cookies: false,
            services: Vec::new(),
            play: None,
            audits: Vec::new(),
        };
        for (typed, chosen, mistakes) in [
            (None, vec![None], 0),
            (Some("symfony"), vec![Some("symfony")], 0),
            (Some("plain, symfony"), vec![Some("plain"), Some("symfony")], 0),
            (Some("symfnoy"), vec![], 1),
            (Some("plain,plain"), vec![Some("plain")], 1),
        ] {
            let mut gathered = Gathered::default();
            let asked = typed.map(|typed| Listed::typed("--app", typed));
            let read = read_apps(asked.as_deref(), Some(&workload), &mut gathered);
            assert_eq!(read.iter().map(Option::as_deref).collect::<Vec<_>>(), chosen, "{typed:?}");
            let found = gathered.finish(Ok(())).err().map_or(0, |found| found.0.len());
            assert_eq!(found, mistakes, "{typed:?}");
        }
        assert_eq!(named(&workload, None).len(), 3);
        assert_eq!(named(&workload, Some("plain")).len(), 2);
    }
}
