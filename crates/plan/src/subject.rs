//! What a comparison is of: a workload, a plan file, or an application's folder.

use std::path::Path;

use stampede_core::Workload;

use crate::application::{Served, in_folder, in_images, in_plan};
use crate::catalogue::Catalogue;
use crate::document::Text;
use crate::flags::{SiteFlags, SubjectFlag};
use crate::image::{ImageFlags, folder_name};
use crate::mistake::Mistakes;
use crate::plan_file::{PLAN_FILE, PlanFile, PlanSections};
use crate::platform;
use crate::suggestion::suggest_or;
use crate::workload::{self, WORKLOAD_FILE};

/// Before the name of a workload, where a folder has that name too.
pub(crate) const BUILT_IN: &str = "workload:";

/// What is compared on, and the plan file that says more, where there is one.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) served: Result<Served, Mistakes>,
    pub(crate) file: Option<PlanFile>,
}

impl Subject {
    /// Finds what was meant. A name is that of a built-in workload or a path; one that is both is a mistake, where the folder holds
    /// something to serve. A folder's plan comes before its workload, and that before what else it may hold. Images need nothing else
    /// to be compared on. `platform` is the one that was typed.
    pub(crate) fn read(
        flags: &SubjectFlag,
        images: &ImageFlags,
        platform: Option<&str>,
        catalogue: &dyn Catalogue,
    ) -> Self {
        let SubjectFlag { subject, site } = flags;
        let packages = platform::packages(platform);
        let typed = match subject.as_deref() {
            Some(typed) => typed,
            None if Path::new(PLAN_FILE).is_file() => {
                return Self::of_file(Path::new(PLAN_FILE), site, platform, catalogue);
            }
            None if let Some(name) = images.subject() => return Self { served: in_images(&name), file: None },
            None => {
                let workloads = catalogue.workloads().join(", ");
                return Self::mistaken(Mistakes::one(
                    "this folder",
                    format!("has no {PLAN_FILE}, and no application was named"),
                    format!(
                        "name a folder such as . (this one) or a workload ({workloads}), or write a plan with stampede init"
                    ),
                ));
            }
        };
        if let Some(name) = typed.strip_prefix(BUILT_IN) {
            return Self::of_workload(name, site, catalogue);
        }
        let path = Path::new(typed);
        let is_built_in = catalogue.workloads().iter().any(|name| name == typed);
        let plan = path.join(PLAN_FILE);
        match path {
            _ if is_built_in
                && (plan.is_file()
                    || path.join(WORKLOAD_FILE).is_file()
                    || in_folder(path, site.index.index.as_deref(), packages).is_ok()) =>
            {
                let fix = format!("write ./{typed} for the folder, or {BUILT_IN}{typed}");
                Self::mistaken(Mistakes::one(typed, "is a built-in workload, and a folder here", fix))
            }
            _ if is_built_in => Self::of_workload(typed, site, catalogue),
            path if path.is_file() => Self::of_file(path, site, platform, catalogue),
            _ if plan.is_file() => Self::of_file(&plan, site, platform, catalogue),
            path if path.is_dir() && !path.join(WORKLOAD_FILE).is_file() => Self::of_application(path, site, platform),
            _ => Self::of_workload(typed, site, catalogue),
        }
    }

    /// The application in a folder, whatever plan lies there.
    pub(crate) fn of_application(folder: &Path, site: &SiteFlags, platform: Option<&str>) -> Self {
        Self { served: in_folder(folder, site.index.index.as_deref(), platform::packages(platform)), file: None }
    }

    fn of_workload(typed: &str, site: &SiteFlags, catalogue: &dyn Catalogue) -> Self {
        let place = format!("workload {typed}");
        let workload = read_workload(typed, Path::new(typed), &place, catalogue);
        let served = workload.and_then(|workload| needless(site, &place).map(|()| Served::complete(workload)));
        Self { served, file: None }
    }

    fn of_file(path: &Path, site: &SiteFlags, platform: Option<&str>, catalogue: &dyn Catalogue) -> Self {
        match PlanFile::read(path) {
            Ok(file) => Self { served: served_by(&file, site, platform, catalogue), file: Some(file) },
            Err(mistakes) => Self::mistaken(mistakes),
        }
    }

    fn mistaken(mistakes: Mistakes) -> Self {
        Self { served: Err(mistakes), file: None }
    }
}

/// Sees that no front controller is chosen for what says itself what it is.
fn needless(site: &SiteFlags, place: &str) -> Result<(), Mistakes> {
    let Some(index) = &site.index.index else { return Ok(()) };
    let problem = format!("is for {place}, which says itself what is served");
    Err(Mistakes::one(format!("--index {}", index.display()), problem, "leave it out, or name an application's folder"))
}

fn served_by(
    file: &PlanFile,
    site: &SiteFlags,
    platform: Option<&str>,
    catalogue: &dyn Catalogue,
) -> Result<Served, Mistakes> {
    let packages =
        || platform::packages(platform.or(file.sections.platform.as_ref().map(|Text(named)| named.as_str())));
    let PlanSections { workload, app, .. } = &file.sections;
    match (workload, app) {
        (Some(Text(typed)), None) => {
            let place = file.place("workload").to_string();
            let workload = read_workload(typed, &file.folder.join(typed), &place, catalogue)?;
            needless(site, &place).map(|()| Served::complete(workload))
        }
        (None, Some(app)) => in_plan(file, app, site.index.index.as_deref(), packages()),
        (Some(_), Some(_)) => Err(Mistakes::one(file.place("app"), "stands beside a workload", "keep one of the two")),
        (None, None) if file.has_images() => in_images(&folder_name(&file.folder)),
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
    if catalogue.runtimes().iter().any(|runtime| runtime.id().as_str() == typed) {
        let fix = format!(
            "name the application first, and the runtime with --runtimes: stampede compare . --runtimes {typed}"
        );
        return Err(Mistakes::one(typed, "is a runtime, and no application", fix));
    }
    if typed.contains('/') {
        return Err(Mistakes::one(format!("folder {typed}"), "does not exist", "name the folder of an application"));
    }
    let any = || "name a folder, or a built-in workload (stampede list workloads)".to_owned();
    let fix = suggest_or(typed, known.iter().map(String::as_str), any);
    Err(Mistakes::one(place, "is neither a folder here nor a built-in workload", fix))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use stampede_core::Runtime;

    use super::*;

    /// Has a workload of this name, and none of its files.
    struct One(String);

    impl Catalogue for One {
        fn runtimes(&self) -> &[&'static dyn Runtime] {
            &[]
        }

        fn workloads(&self) -> Vec<String> {
            vec![self.0.clone()]
        }

        fn workload_folder(&self, _name: &str) -> Result<PathBuf, String> {
            Err("nowhere".to_owned())
        }

        fn generated(&self, _workload: &Path, _command: &[String]) -> Result<PathBuf, String> {
            Err("nowhere".to_owned())
        }
    }

    #[test]
    fn a_workload_and_an_application_of_one_name_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().display().to_string();
        let mistakes = |typed: &str| {
            let flags = SubjectFlag { subject: Some(typed.to_owned()), ..SubjectFlag::default() };
            let subject = Subject::read(&flags, &ImageFlags::default(), None, &One(name.clone()));
            subject.served.unwrap_err().to_string()
        };
        // A folder without anything to serve is not meant.
        assert!(mistakes(&name).contains("cannot be unpacked: nowhere"));
        fs::write(folder.path().join("index.php"), "<?php echo 1;").unwrap();
        let told = mistakes(&name);
        assert!(told.contains("is a built-in workload, and a folder here; write ./"), "{told}");
        assert!(mistakes(&format!("workload:{name}")).contains("cannot be unpacked: nowhere"));
    }
}
