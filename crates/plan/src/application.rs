//! An application of one's own as a workload: what it is, by its folder or by the plan, and what it is asked.

use std::path::Path;

use stampede_core::{App, Play, Workload, WorkloadId};

use crate::autoloader;
use crate::document::{Place, Text};
use crate::look::{Look, Packages, Unfit, logs, look};
use crate::mistake::{Gathered, Mistakes};
use crate::php_base::{ExtensionsEntry, IniEntry};
use crate::plan_file::PlanFile;
use crate::site::SiteEntry;
use crate::workload::{AppSection, RequestSection, Rules, id};

/// What is to be served.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) workload: Workload,
    /// Names of the exchanges whose answers are still to be recorded.
    pub(crate) unrecorded: Vec<String>,
    /// What a look at its folder found, where nobody said what it is.
    pub(crate) look: Option<Look>,
}

impl Served {
    /// A workload with all its answers.
    pub(crate) fn complete(workload: Workload) -> Self {
        Self { workload, unrecorded: Vec::new(), look: None }
    }
}

/// The application in a folder, asked for `/`. `index` chooses its front controller among several.
///
/// # Errors
///
/// That the folder holds none that is known.
pub(crate) fn in_folder(folder: &Path, index: Option<&Path>, packages: Packages) -> Result<Served, Mistakes> {
    let place = format!("folder {}", folder.display());
    let look = look(folder, index, packages).map_err(|Unfit { problem, fix, .. }| {
        let fix = fix.unwrap_or_else(|| "name the application's folder, or describe it in a stampede.yaml".to_owned());
        Mistakes::one(&place, problem, fix)
    })?;
    let section = AppSection { dir: Text(".".to_owned()), ..AppSection::default() };
    serve(section, Some(look), folder, &Place::of(&place))
}

/// The application of a plan. `index` takes the place of the plan's own.
pub(crate) fn in_plan(
    file: &PlanFile,
    section: &AppSection,
    index: Option<&Path>,
    packages: Packages,
) -> Result<Served, Mistakes> {
    let place = file.place("app");
    let mut section = section.clone();
    section.index = index.map(Path::to_owned).or(section.index);
    let folder = file.folder.join(&section.dir.0);
    let look = (section.kind.is_none() && folder.is_dir())
        .then(|| look(&folder, section.index.as_deref(), packages))
        .transpose()
        // Images bring applications of their own.
        .or_else(|unfit| if file.has_images() { Ok(None) } else { Err(unfit) })
        .map_err(|Unfit { problem, fix, .. }| {
            let fix = fix.unwrap_or_else(|| "correct it, or say what it is with kind".to_owned());
            Mistakes::one(place.key("dir"), problem, fix)
        })?;
    serve(section, look, &file.folder, &place)
}

/// Images that are asked for `/`: what they hold is not looked at.
pub(crate) fn in_images(name: &str) -> Result<Served, Mistakes> {
    let place = format!("image {name}");
    serve(AppSection { dir: Text(".".to_owned()), ..AppSection::default() }, None, Path::new("."), &Place::of(&place))
        .map(|served| Served { workload: Workload { id: WorkloadId::new(name), ..served.workload }, ..served })
}

fn serve(section: AppSection, look: Option<Look>, folder: &Path, place: &Place<'_>) -> Result<Served, Mistakes> {
    let mut mistakes = Gathered::default();
    let source = folder.join(&section.dir.0);
    // Composer may be asked to make another one in the copies.
    let runs_composer = section.prepare.iter().flatten().any(|command| command.iter().any(|word| word.0 == "composer"));
    let look = look.map(|mut look| {
        look.remarks.extend(autoloader::remark(&source).filter(|_| !runs_composer));
        look
    });
    let mut section = match &look {
        Some(look) => over(section, look),
        None => section,
    };
    let mut requests = std::mem::take(&mut section.requests);
    if requests.is_empty() {
        requests.push(RequestSection { path: Text("/".to_owned()), ..RequestSection::default() });
    }
    let (cookies, scenario) = (section.cookies, section.scenario.take());
    let app = section.read(folder, place, &mut mistakes);
    let logs = || look.as_ref().map_or_else(|| logs(&source), |look| look.logs.clone());
    let app = app.map(|app| App { logs: logs(), ..app });
    let rules = Rules { folder, has_scenario: scenario.is_some(), needs_body: false };
    let (exchanges, unrecorded) = rules.read(requests, &place.key("requests"), &mut mistakes);
    let workload = Workload {
        id: id(&source, "app"),
        title: look.as_ref().map_or("an application", |look| look.title).to_owned(),
        apps: app.into_iter().collect(),
        exchanges,
        cookies,
        services: Vec::new(),
        play: scenario.map(|scenario| Play { folder: folder.to_owned(), scenario, generate: Vec::new() }),
        audits: Vec::new(),
    };
    mistakes.finish(Ok(Served { workload, unrecorded, look }))
}

/// Puts what is said over what was found.
fn over(section: AppSection, look: &Look) -> AppSection {
    let Look {
        entry,
        index,
        command,
        site: SiteEntry { host: _, scheme: _, root, files, fallback, deny },
        extensions,
        ini,
        env,
        prepare,
        install,
        ..
    } = look;
    // Commands that run Composer themselves know how.
    let runs_composer = section.prepare.iter().flatten().flatten().any(|word| word.0 == "composer");
    let install = install.iter().filter(|_| !runs_composer);
    let install = install.map(|command| command.iter().cloned().map(Text).collect());
    let prepare = || prepare.iter().map(|command| command.iter().cloned().map(Text).collect()).collect();
    let env = env.iter().map(|(name, value)| (name.clone(), Text(value.clone())));
    let ini = ini.iter().map(|(name, value)| (name.clone(), value.clone()));
    let said = section.ini;
    let ini = IniEntry { settings: ini.chain(said.settings).collect(), ..said };
    let ExtensionsEntry { origin, names } = section.extensions.unwrap_or_default();
    AppSection {
        kind: section.kind.or(Some(*entry)),
        // The look knows what was asked for.
        index: index.clone(),
        command: section.command.or_else(|| command.clone()),
        root: section.root.or_else(|| root.clone()),
        files: section.files.or(*files),
        fallback: section.fallback.or(*fallback),
        deny: section.deny.or_else(|| Some(deny.clone())),
        extensions: Some(ExtensionsEntry { origin, names: names.or_else(|| Some(extensions.clone())) }),
        ini,
        env: env.chain(section.env).collect(),
        prepare: Some(install.chain(section.prepare.unwrap_or_else(prepare)).collect()),
        ..section
    }
}
