//! Which cases are compared: runtimes by flag, or runtimes or cases by the plan file.

use std::collections::{BTreeMap, BTreeSet};

use stampede_core::{App, CaseId, CaseRole, ImageApp, Runtime, Topology, Tuning};

use crate::case_name::{MOST_LETTERS, is_id};
use crate::catalogue::Catalogue;
use crate::choice::RuntimeChoice;
use crate::choice::setting;
use crate::choice::{RuntimesAsked, check, find, read_runtimes, read_settings};
use crate::document::Text;
use crate::image::{self, AskedImage};
use crate::mistake::Gathered;
use crate::plan_file::{CaseSection, PlanFile, RoleEntry};

/// A case as it was asked for.
pub(crate) struct Asked {
    pub(crate) id: CaseId,
    pub(crate) runtime: &'static dyn Runtime,
    pub(crate) role: CaseRole,
    /// The image that it is, which is then what is served.
    pub(crate) image: Option<ImageApp>,
    /// Settings that were asked for.
    pub(crate) given: Tuning,
    /// What mistakes call it.
    pub(crate) place: String,
    /// Where settings of the plan file stand; none where the case is not the plan file's.
    spots: Option<BTreeMap<String, String>>,
}

impl Asked {
    fn new(runtime: &'static dyn Runtime, place: String) -> Self {
        let id = CaseId::new(runtime.id().as_str());
        Self { id, runtime, role: runtime.role(), image: None, given: Tuning::new(), place, spots: None }
    }

    /// What mistakes call one of its settings. One that only follows from the plan file's is told at its case.
    pub(crate) fn setting(&self, tunable: &str, tuning: &Tuning) -> String {
        match &self.spots {
            Some(spots) if self.given.get(tunable).is_none() || spots.contains_key(tunable) => {
                spots.get(tunable).unwrap_or(&self.place).clone()
            }
            _ => setting(self.runtime, tunable, tuning),
        }
    }
}

/// Reads which cases are compared. A flag takes the place of what the file says of runtimes and cases, and a setting by
/// flag the place of the same setting in the file.
pub(crate) fn read_cases(
    runtimes: RuntimesAsked<'_>,
    images: Vec<AskedImage>,
    set: &[String],
    file: Option<&PlanFile>,
    apps: &[App],
    catalogue: &dyn Catalogue,
    mistakes: &mut Gathered,
) -> (Vec<Asked>, RuntimeChoice) {
    let by_file = file.filter(|_| matches!(runtimes, RuntimesAsked::Listed(None)) && images.is_empty());
    let named = by_file.and_then(|file| Some((file, file.sections.runtimes.as_ref()?)));
    let with_settings = by_file.and_then(|file| Some((file, file.sections.cases.as_ref()?)));
    let (mut cases, choice) = match (named, with_settings) {
        (Some((file, _)), Some(_)) => {
            mistakes.add(file.place("runtimes"), "stands beside cases", "keep one of the two");
            (Vec::new(), RuntimeChoice::Named)
        }
        (None, Some((file, cases))) => (read_file_cases(file, cases, apps, catalogue, mistakes), RuntimeChoice::Named),
        (Some((file, runtimes)), None) => {
            (read_file_runtimes(file, runtimes, catalogue, mistakes), RuntimeChoice::Named)
        }
        // Images alone, unless runtimes are named beside them.
        (None, None) if !images.is_empty() && matches!(runtimes, RuntimesAsked::Listed(None)) => {
            (Vec::new(), RuntimeChoice::Named)
        }
        (None, None) => {
            let (chosen, choice) = read_runtimes(runtimes, catalogue, mistakes);
            let asked = |runtime: &'static dyn Runtime| Asked::new(runtime, runtimes.place(runtime.id().as_str()));
            (chosen.into_iter().map(asked).collect(), choice)
        }
    };
    if !images.is_empty() {
        // It was named for them.
        cases.retain(|case| !case.runtime.serves_images());
        if let Some(runtime) = image::runtime(catalogue.runtimes()) {
            cases.extend(images.into_iter().map(|AskedImage { id, image, place }| Asked {
                id: CaseId::new(id),
                image: Some(image),
                ..Asked::new(runtime, place)
            }));
        }
    }
    if choice == RuntimeChoice::All {
        cases.retain(|case| !case.runtime.serves_images());
    }
    for case in cases.iter().filter(|case| case.runtime.serves_images() && case.image.is_none()) {
        let fix = "add --image my/app:1 or, to a case of the plan, image: {name: 'my/app:1'}";
        mistakes.add(&case.place, "is any image, and none is named", fix);
    }
    let chosen: Vec<_> = cases.iter().map(|case| case.runtime).collect();
    let flags = read_settings(set, runtimes, &chosen, apps, catalogue, mistakes);
    for case in &mut cases {
        if let Some(flags) = flags.get(&case.runtime.id()) {
            if let Some(spots) = &mut case.spots {
                spots.retain(|tunable, _| flags.get(tunable).is_none());
            }
            case.given = std::mem::take(&mut case.given).overlaid_with(flags);
        }
    }
    (cases, choice)
}

fn read_file_runtimes(
    file: &PlanFile,
    runtimes: &[Text],
    catalogue: &dyn Catalogue,
    mistakes: &mut Gathered,
) -> Vec<Asked> {
    let mut cases: Vec<Asked> = Vec::new();
    for (index, Text(name)) in runtimes.iter().enumerate() {
        let place = file.place("runtimes").item(index);
        match find(name, catalogue.runtimes()) {
            Ok(runtime) if cases.iter().any(|case| case.runtime.id() == runtime.id()) => {
                mistakes.add(place, "is named twice", "name each once, or use cases with an id each");
            }
            Ok(runtime) => cases.push(Asked::new(runtime, place.to_string())),
            Err(fix) => mistakes.add(place, "is not a runtime", fix),
        }
    }
    if runtimes.is_empty() {
        let fix = "name some, or leave it out to compare all that are installed";
        mistakes.add(file.place("runtimes"), "names none", fix);
    }
    cases
}

fn read_file_cases(
    file: &PlanFile,
    sections: &[CaseSection],
    apps: &[App],
    catalogue: &dyn Catalogue,
    mistakes: &mut Gathered,
) -> Vec<Asked> {
    let mut cases = Vec::new();
    let mut ids = BTreeSet::new();
    for (index, CaseSection { id, runtime: Text(name), role, image, set }) in sections.iter().enumerate() {
        let section = file.place("cases").item(index);
        let place = section.key("runtime");
        let spelled = id.as_ref().map_or(name, |Text(id)| id);
        let id_place = section.get("id").unwrap_or_else(|| place.clone());
        if !is_id(spelled) {
            let problem = format!("is not a name of at most {MOST_LETTERS} letters, digits, and . _ - @");
            mistakes.add(&id_place, problem, "for example id: static-8");
        } else if !ids.insert(spelled.clone()) {
            mistakes.add(&id_place, "is the name of two cases", "give each an id of its own");
        }
        let runtime = match find(name, catalogue.runtimes()) {
            Ok(runtime) => runtime,
            Err(fix) => {
                mistakes.add(place, "is not a runtime", fix);
                continue;
            }
        };
        let image = match image {
            Some(_) if !runtime.serves_images() => {
                mistakes.add(section.key("image"), "is not for this runtime", "remove it, or write runtime: image");
                None
            }
            // One that is mistaken is told already.
            Some(entry) => match entry.read(&file.folder, &section.key("image"), mistakes) {
                Some(image) => Some(image),
                None => continue,
            },
            None => None,
        };
        let role = role.map_or_else(|| runtime.role(), RoleEntry::role);
        let mut asked = Asked { id: CaseId::new(spelled), role, image, ..Asked::new(runtime, place.to_string()) };
        let mut spots = BTreeMap::new();
        for (tunable, Text(value)) in set {
            let spot = section.key("set").key(tunable).to_string();
            match check(runtime, apps, tunable, value) {
                Ok(()) => asked.given.give(tunable, value),
                Err((problem, fix)) => mistakes.add(&spot, problem, fix),
            }
            spots.insert(tunable.clone(), spot);
        }
        asked.spots = Some(spots);
        cases.push(asked);
    }
    if sections.is_empty() {
        let fix = "name some, or leave it out to compare all runtimes that are installed";
        mistakes.add(file.place("cases"), "names none", fix);
    }
    cases
}

/// Sees that nothing is put around an image: that would be programs of its container.
pub(crate) fn check_alone(cases: &[Asked], topology: &Topology, mistakes: &mut Gathered) {
    for case in cases.iter().filter(|case| case.image.is_some() && !topology.is_single()) {
        let problem = "runs alone: replicas, balancers, services and restarts are not put around an image";
        mistakes.add(&case.place, problem, "leave them out");
    }
}
