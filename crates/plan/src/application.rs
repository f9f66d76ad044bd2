//! An application of one's own as a workload: what it is, by its folder or by the plan, and what it is asked.

use std::path::Path;

use stampede_core::Workload;

use crate::document::{Place, Text};
use crate::look::{Look, look};
use crate::mistake::{Gathered, Mistakes};
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

/// The application in a folder, asked for `/`.
///
/// # Errors
///
/// That the folder holds none that is known.
pub(crate) fn in_folder(folder: &Path) -> Result<Served, Mistakes> {
    let place = format!("folder {}", folder.display());
    let look = look(folder).map_err(|problem| {
        Mistakes::one(&place, problem, "name the folder that holds all of it, or say in a stampede.yaml what it is")
    })?;
    let section = AppSection { dir: Text(".".to_owned()), ..AppSection::default() };
    serve(section, Some(look), folder, &Place::of(&place))
}

/// The application of a plan.
pub(crate) fn in_plan(file: &PlanFile, section: &AppSection) -> Result<Served, Mistakes> {
    let place = file.place("app");
    let folder = file.folder.join(&section.dir.0);
    let look = (section.kind.is_none() && folder.is_dir())
        .then(|| look(&folder))
        .transpose()
        .map_err(|problem| Mistakes::one(place.key("dir"), problem, "correct it, or say what it is with kind"))?;
    serve(section.clone(), look, &file.folder, &place)
}

fn serve(section: AppSection, look: Option<Look>, folder: &Path, place: &Place<'_>) -> Result<Served, Mistakes> {
    let mut mistakes = Gathered::default();
    let source = folder.join(&section.dir.0);
    let mut section = match &look {
        Some(look) => over(section, look),
        None => section,
    };
    let mut requests = std::mem::take(&mut section.requests);
    if requests.is_empty() {
        requests.push(RequestSection { path: Text("/".to_owned()), ..RequestSection::default() });
    }
    let app = section.read(folder, place, &mut mistakes);
    let rules = Rules { folder, has_scenario: false, needs_body: false };
    let (exchanges, unrecorded) = rules.read(requests, &place.key("requests"), &mut mistakes);
    let workload = Workload {
        id: id(&source, "app"),
        title: look.as_ref().map_or("an application", |look| look.title).to_owned(),
        apps: app.into_iter().collect(),
        exchanges,
        services: Vec::new(),
        play: None,
        audits: Vec::new(),
    };
    mistakes.finish(Ok(Served { workload, unrecorded, look }))
}

/// Puts what is said over what was found.
fn over(section: AppSection, look: &Look) -> AppSection {
    let Look { entry, index, site: SiteEntry { root, files, fallback, deny }, extensions, env, prepare, .. } = look;
    let prepare = || prepare.iter().map(|command| command.iter().cloned().map(Text).collect()).collect();
    let env = env.iter().map(|(name, value)| (name.clone(), Text(value.clone())));
    AppSection {
        kind: section.kind.or(Some(*entry)),
        index: section.index.or_else(|| index.clone()),
        root: section.root.or_else(|| root.clone()),
        files: section.files.or(*files),
        fallback: section.fallback.or(*fallback),
        deny: section.deny.or_else(|| Some(deny.clone())),
        extensions: section.extensions.or_else(|| Some(extensions.clone())),
        env: env.chain(section.env).collect(),
        prepare: section.prepare.or_else(|| Some(prepare())),
        ..section
    }
}
