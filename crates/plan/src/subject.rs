//! What a comparison is of: a workload, a plan file, or an application's folder.

use std::path::Path;

use stampede_core::Workload;

use crate::application::{Served, in_folder, in_plan};
use crate::catalogue::Catalogue;
use crate::document::Text;
use crate::mistake::Mistakes;
use crate::plan_file::{PLAN_FILE, PlanFile, PlanSections};
use crate::suggestion::suggest_or;
use crate::workload::{self, WORKLOAD_FILE};

/// What is compared on, and the plan file that says more, where there is one.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) served: Result<Served, Mistakes>,
    pub(crate) file: Option<PlanFile>,
}

impl Subject {
    /// Finds what was meant. A name is that of a built-in workload or else a path, and a folder's plan comes before its
    /// workload, and that before what else it may hold.
    pub(crate) fn read(typed: Option<&str>, catalogue: &dyn Catalogue) -> Self {
        let typed = match typed {
            Some(typed) => typed,
            None if Path::new(PLAN_FILE).is_file() => {
                return Self::of_file(Path::new(PLAN_FILE), catalogue);
            }
            None => {
                let workloads = catalogue.workloads().join(", ");
                return Self::mistaken(Mistakes::one(
                    PLAN_FILE,
                    "is not in this folder, and nothing else was named",
                    format!("name a folder or a workload ({workloads}), or run stampede init"),
                ));
            }
        };
        let path = Path::new(typed);
        let is_built_in = catalogue.workloads().iter().any(|name| name == typed);
        let plan = path.join(PLAN_FILE);
        match path {
            _ if is_built_in => Self::of_workload(typed, catalogue),
            path if path.is_file() => Self::of_file(path, catalogue),
            _ if plan.is_file() => Self::of_file(&plan, catalogue),
            path if path.is_dir() && !path.join(WORKLOAD_FILE).is_file() => Self::of_application(path),
            _ => Self::of_workload(typed, catalogue),
        }
    }

    /// The application in a folder, whatever plan lies there.
    pub(crate) fn of_application(folder: &Path) -> Self {
        Self { served: in_folder(folder), file: None }
    }

    fn of_workload(typed: &str, catalogue: &dyn Catalogue) -> Self {
        let place = format!("workload {typed}");
        Self { served: read_workload(typed, Path::new(typed), &place, catalogue).map(Served::complete), file: None }
    }

    fn of_file(path: &Path, catalogue: &dyn Catalogue) -> Self {
        match PlanFile::read(path) {
            Ok(file) => Self { served: served_by(&file, catalogue), file: Some(file) },
            Err(mistakes) => Self::mistaken(mistakes),
        }
    }

    fn mistaken(mistakes: Mistakes) -> Self {
        Self { served: Err(mistakes), file: None }
    }
}

fn served_by(file: &PlanFile, catalogue: &dyn Catalogue) -> Result<Served, Mistakes> {
    let PlanSections { workload, app, .. } = &file.sections;
    match (workload, app) {
        (Some(workload), None) => {
            let (Text(typed), place) = (workload, file.place("workload").to_string());
            read_workload(typed, &file.folder.join(typed), &place, catalogue).map(Served::complete)
        }
        (None, Some(app)) => in_plan(file, app),
        (Some(_), Some(_)) => Err(Mistakes::one(file.place("app"), "stands beside a workload", "keep one of the two")),
        (None, None) => Err(Mistakes::one(
            file.document.file(),
            "does not say what is served",
            "add workload: markdown, or app: {dir: .}",
        )),
    }
}

/// A workload by its name or, where it is none, its folder.
pub(crate) fn read_workload(
    typed: &str,
    folder: &Path,
    place: &str,
    catalogue: &dyn Catalogue,
) -> Result<Workload, Mistakes> {
    let known = catalogue.workloads();
    if known.iter().any(|name| name == typed) {
        let folder = catalogue.workload_folder(typed).map_err(|problem| {
            Mistakes::one(
                place,
                format!("cannot be unpacked: {problem}"),
                "make that folder writable or set XDG_CACHE_HOME",
            )
        })?;
        return workload::read(&folder);
    }
    if folder.is_dir() {
        return workload::read(folder);
    }
    let any = || format!("use {} or a folder", known.join(", "));
    let fix = suggest_or(typed, known.iter().map(String::as_str), any);
    Err(Mistakes::one(place, "is not known", fix))
}
