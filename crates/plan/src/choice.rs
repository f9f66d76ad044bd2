//! Runtimes by name, and their settings.

use std::collections::BTreeMap;
use std::path::Path;

use stampede_core::{App, AppKind, DefaultsContext, Limits, Load, Runtime, RuntimeId, Tuning, TuningProblem};

use crate::catalogue::Catalogue;
use crate::image::is_variable;
use crate::mistake::Gathered;
use crate::suggestion::suggest;

/// How the runtimes were chosen, and what becomes of one that cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeChoice {
    /// Each was named: one that is missing is left out, and every report says so.
    Named,
    /// All that can serve the workload: one that is missing is left out with a note.
    All,
    /// The question needs every one of them: one that is missing is an error.
    Settled,
}

/// Which runtimes a command line names.
#[derive(Clone, Copy)]
pub(crate) enum RuntimesAsked<'a> {
    /// Those of `--runtimes`, where it is given.
    Listed(Option<&'a str>),
    /// The one that is an argument of its own.
    One(&'a str),
}

impl RuntimesAsked<'_> {
    /// What mistakes call one of them.
    pub(crate) fn place(self, name: &str) -> String {
        match self {
            Self::Listed(_) => format!("--runtimes {name}"),
            Self::One(_) => name.to_owned(),
        }
    }

    /// What is wrong with a setting for a runtime that is none of them, and what to do.
    fn of_another(self, runtime: &RuntimeId) -> (&'static str, String) {
        match self {
            Self::Listed(_) => {
                ("is for a runtime that is not compared", format!("add {runtime} to --runtimes or remove the setting"))
            }
            Self::One(_) => ("is for another runtime", "leave it out, or name that runtime".to_owned()),
        }
    }
}

pub(crate) fn read_runtimes(
    asked: RuntimesAsked<'_>,
    catalogue: &dyn Catalogue,
    mistakes: &mut Gathered,
) -> (Vec<&'static dyn Runtime>, RuntimeChoice) {
    let all = catalogue.runtimes();
    let names: Vec<&str> = match asked {
        RuntimesAsked::Listed(None | Some("all")) => return (all.to_vec(), RuntimeChoice::All),
        RuntimesAsked::Listed(Some(typed)) => typed.split(',').map(str::trim).collect(),
        RuntimesAsked::One(name) => vec![name],
    };
    let mut chosen: Vec<&'static dyn Runtime> = Vec::new();
    for name in names {
        let place = asked.place(name);
        match find(name, all) {
            Ok(runtime) if chosen.iter().any(|other| other.id() == runtime.id()) => {
                mistakes.add(place, "is named twice", "name each runtime once");
            }
            Ok(runtime) => chosen.push(runtime),
            Err(fix) => mistakes.add(place, "is not a runtime", fix),
        }
    }
    (chosen, RuntimeChoice::Named)
}

/// A runtime by name, or what to type instead.
pub(crate) fn find(name: &str, all: &[&'static dyn Runtime]) -> Result<&'static dyn Runtime, String> {
    if let Some(runtime) = all.iter().find(|runtime| runtime.id().as_str() == name) {
        return Ok(*runtime);
    }
    if Path::new(name).is_dir() {
        return Err(format!("it is a folder, and the runtime comes before it: nginx-fpm {name}"));
    }
    let ids = all.iter().map(|runtime| runtime.id().to_string()).collect::<Vec<_>>();
    Err(suggest(name, ids.iter().map(String::as_str)))
}

pub(crate) fn read_settings(
    typed: &[String],
    asked: RuntimesAsked<'_>,
    chosen: &[&'static dyn Runtime],
    apps: &[App],
    catalogue: &dyn Catalogue,
    mistakes: &mut Gathered,
) -> BTreeMap<RuntimeId, Tuning> {
    let mut settings: BTreeMap<RuntimeId, Tuning> = BTreeMap::new();
    for set in typed {
        let place = format!("--set {set}");
        let parts = set.split_once('=').and_then(|(name, value)| Some((name.split_once('.')?, value)));
        let Some(((runtime, tunable), value)) = parts else {
            mistakes.add(place, "is not RUNTIME.SETTING=VALUE", "for example --set nginx-fpm.pm=static");
            continue;
        };
        let runtime = match find(runtime, catalogue.runtimes()) {
            Ok(runtime) => runtime,
            Err(fix) => {
                // The name of a setting without its runtime, which may hold a dot itself.
                let bare = set.split_once('=').map(|(name, _)| name).unwrap_or_default();
                let has = |one: &&&'static dyn Runtime| one.tunables().iter().any(|tunable| tunable.name == bare);
                match chosen.iter().find(has).or_else(|| catalogue.runtimes().iter().find(has)) {
                    Some(owner) => {
                        let fix = format!("write --set {}.{set}", owner.id());
                        mistakes.add(place, "does not name the runtime that has this setting", fix);
                    }
                    None => mistakes.add(place, format!("names {runtime}, which is not a runtime"), fix),
                }
                continue;
            }
        };
        if !chosen.is_empty() && !chosen.iter().any(|other| other.id() == runtime.id()) {
            let (problem, fix) = asked.of_another(&runtime.id());
            mistakes.add(place, problem, fix);
            continue;
        }
        match check(runtime, apps, tunable, value) {
            Ok(()) => settings.entry(runtime.id()).or_default().give(tunable, value),
            Err((problem, fix)) => mistakes.add(place, problem, fix),
        }
    }
    settings
}

/// Checks one setting of a runtime, or of the command that it runs; gives the problem and what to do.
pub(crate) fn check(runtime: &dyn Runtime, apps: &[App], tunable: &str, value: &str) -> Result<(), (String, String)> {
    let own = apps.iter().filter(|app| runtime.serves(&app.kind)).find_map(|app| match &app.kind {
        AppKind::Command(command) => Some(command.tunables.as_slice()),
        _ => None,
    });
    let own = own.unwrap_or_default();
    if let Some(known) = runtime.tunables().iter().find(|known| known.name == tunable) {
        return known.check(value).map_err(|problem| (problem, format!("see {}", known.manual)));
    }
    if let Some(known) = own.iter().find(|known| known.name == tunable) {
        return known.values.check(value).map_err(|problem| (problem, "see the workload's tunables".to_owned()));
    }
    if runtime.serves_images() {
        let fix = "an image's settings are environment variables, for example image.WORKERS=4";
        return match is_variable(tunable) {
            true => Ok(()),
            false => Err((format!("names {tunable}, which is no environment variable"), fix.to_owned())),
        };
    }
    let names: Vec<&str> =
        runtime.tunables().iter().map(|known| known.name).chain(own.iter().map(|known| known.name.as_str())).collect();
    let fix = match names.is_empty() {
        true => "leave it out; what it serves has no tunables".to_owned(),
        false => suggest(tunable, names.iter().copied()),
    };
    Err((format!("names {tunable}, which {} does not have", runtime.id()), fix))
}

/// A setting as it is typed.
pub(crate) fn setting(runtime: &dyn Runtime, tunable: &str, tuning: &Tuning) -> String {
    format!("--set {}.{tunable}={}", runtime.id(), tuning.get(tunable).unwrap_or_default())
}

/// What a runtime is set to where these settings are given.
pub(crate) fn tune(
    runtime: &'static dyn Runtime,
    app: &App,
    limits: &Limits,
    load: &Load,
    given: &Tuning,
    place: impl Fn(&str, &Tuning) -> String,
    mistakes: &mut Gathered,
) -> Tuning {
    let tuning = runtime.defaults(&DefaultsContext { app, limits, load, given });
    for TuningProblem { tunable, problem, fix } in runtime.validate(&tuning) {
        mistakes.add(place(&tunable, &tuning), problem, fix);
    }
    tuning
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_name_the_flag_only_where_there_is_one() {
        let go = RuntimeId::new("go");
        for (asked, place, problem, fix) in [
            (
                RuntimesAsked::Listed(None),
                "--runtimes go",
                "is for a runtime that is not compared",
                "add go to --runtimes",
            ),
            (RuntimesAsked::One("caddy-fpm"), "go", "is for another runtime", "leave it out"),
        ] {
            let told = asked.of_another(&go);
            assert_eq!((asked.place("go").as_str(), told.0), (place, problem));
            assert!(told.1.starts_with(fix), "{}", told.1);
        }
    }
}
