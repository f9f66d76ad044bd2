//! The scenario that a workload is loaded with.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stampede_core::{Load, Play, Workload};
use stampede_scenario::Scenario;

use crate::catalogue::Catalogue;
use crate::machine_size::MachineSize;
use crate::mistake::{Gathered, Mistakes};
use crate::scenario;
use crate::suggestion::suggest;

/// What load is driven.
#[derive(Debug)]
pub(crate) struct Played {
    /// The load, or that of the scenario's first crowd.
    pub(crate) load: Load,
    /// The loads of its other user classes.
    pub(crate) beside: Vec<Load>,
    /// What its users do, in place of the workload's exchanges.
    pub(crate) scenario: Option<Arc<Scenario>>,
}

/// A load that was asked for, or the default, and what mistakes call the one that was.
pub(crate) struct AskedLoad {
    pub(crate) load: Load,
    pub(crate) place: Option<String>,
    /// Whether it is the only one, so that a scenario with several does not go with it.
    pub(crate) is_one: bool,
}

/// Reads what load is driven at a workload: its scenario where it has one, whose only crowd may get another load.
pub(crate) fn read(
    workload: Option<&Workload>,
    asked: AskedLoad,
    feeders: &BTreeMap<String, PathBuf>,
    machine: MachineSize,
    catalogue: &dyn Catalogue,
    mistakes: &mut Gathered,
) -> Played {
    let AskedLoad { load, place, is_one } = asked;
    let Some((workload, play)) = workload.and_then(|workload| Some((workload, workload.play.as_ref()?))) else {
        for (name, file) in feeders.iter().filter(|_| workload.is_some()) {
            let place = format!("--feeder {name}={}", file.display());
            mistakes.add(place, "feeds a scenario, and this has none", "leave it out");
        }
        return Played { load, beside: Vec::new(), scenario: None };
    };
    let mut scenario = match read_scenario(play, feeders, machine, catalogue) {
        Ok(scenario) => scenario,
        Err(found) => {
            mistakes.extend(found);
            return Played { load, beside: Vec::new(), scenario: None };
        }
    };
    if is_one && scenario.crowds.len() > 1 {
        let problem = "plays a scenario, whose crowds have loads of their own";
        mistakes.add("the workload", problem, "name one without a scenario");
    } else if let Some(place) = place {
        match &mut scenario.crowds[..] {
            [only] => only.load = load,
            crowds => {
                let problem = format!("is one load, and the scenario of {} has {} crowds", workload.id, crowds.len());
                mistakes.add(
                    place,
                    problem,
                    "leave it out: each crowd has a load of its own; --duration cuts them all",
                );
            }
        }
    }
    let mut loads = scenario.crowds.iter().map(|crowd| crowd.load.clone());
    let load = loads.next().unwrap_or(load_of_nobody());
    let beside: Vec<_> = loads.collect();
    let is_open = |load: &Load| matches!(load, Load::Open { .. });
    if beside.iter().any(|other| is_open(other) != is_open(&load)) {
        let place = play.folder.join(&play.scenario).display().to_string();
        let problem = "has open and closed crowds: what is compared would be the answers to two questions at once";
        mistakes.add(place, problem, "make all of one model, or play it with stampede load");
    }
    check_audits(workload, &scenario, mistakes);
    Played { load, beside, scenario: Some(Arc::new(scenario)) }
}

/// A scenario without user classes is a mistake that was told.
fn load_of_nobody() -> Load {
    Load::Closed { connections: 1 }
}

fn read_scenario(
    play: &Play,
    feeders: &BTreeMap<String, PathBuf>,
    machine: MachineSize,
    catalogue: &dyn Catalogue,
) -> Result<Scenario, Mistakes> {
    let Play { folder, scenario, generate } = play;
    let file = folder.join(scenario);
    let place = file.display().to_string();
    let text = fs::read_to_string(&file).map_err(|error| {
        Mistakes::one(&place, format!("cannot be read: {error}"), "correct scenario in workload.yaml")
    })?;
    let beside = file.parent().unwrap_or(folder);
    let generated = OnceCell::new();
    // The generator runs only where something is asked for that is not there.
    let read = |path: &Path| match fs::read(beside.join(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !generate.is_empty() => {
            let made = generated.get_or_init(|| catalogue.generated(folder, generate));
            let made = made.as_ref().map_err(|problem| io::Error::other(problem.clone()))?;
            fs::read(made.join(path))
        }
        read => read,
    };
    scenario::parse(&text, &place, machine, feeders, &read)
}

/// Sees that audits count answers of steps that there are.
fn check_audits(workload: &Workload, scenario: &Scenario, mistakes: &mut Gathered) {
    let flows = || scenario.crowds.iter().flat_map(|crowd| &crowd.flows);
    let steps: Vec<String> = flows().flat_map(|flow| flow.steps.iter().map(|step| flow.step_name(step))).collect();
    for audit in workload.audits.iter().filter(|audit| !steps.contains(&audit.step)) {
        let fix = suggest(&audit.step, steps.iter().map(String::as_str));
        let place = format!("{}, {} under after", workload.id, audit.name);
        mistakes.add(place, format!("counts answers of {}, which is no step of the scenario", audit.step), fix);
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::{Audit, Bytes, Runtime, WorkloadId};

    use super::*;

    /// Generates one file, or cannot.
    struct Generating(Result<PathBuf, String>);

    impl Catalogue for Generating {
        fn runtimes(&self) -> &[&'static dyn Runtime] {
            &[]
        }

        fn workloads(&self) -> Vec<String> {
            Vec::new()
        }

        fn workload_folder(&self, _name: &str) -> Result<PathBuf, String> {
            Err(String::new())
        }

        fn generated(&self, _workload: &Path, _command: &[String]) -> Result<PathBuf, String> {
            self.0.clone()
        }
    }

    const MACHINE: MachineSize = MachineSize { cpus: 2, memory: Bytes::from_mib(1024), connections: 900 };
    const FLOW: &str = "requests: [{name: add, path: '/?a=${rows.a}'}]";

    fn read_all(yaml: &str, asked: Option<&str>, generated: Result<PathBuf, String>) -> Result<Played, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("s.yaml"), format!("feeders: {{rows: {{file: rows.tsv}}}}\ncrowds: [{yaml}]"))
            .unwrap();
        let play =
            Play { folder: folder.path().to_owned(), scenario: "s.yaml".into(), generate: vec!["make".to_owned()] };
        let audit = Audit {
            name: "rows".to_owned(),
            step: "add".to_owned(),
            status: 201,
            path: Some("/".to_owned()),
            query: None,
        };
        let workload = Workload {
            id: WorkloadId::new("w"),
            title: String::new(),
            apps: Vec::new(),
            exchanges: Vec::new(),
            cookies: false,
            services: Vec::new(),
            play: Some(play),
            audits: vec![audit],
        };
        let load = asked.unwrap_or("closed:16").parse().unwrap();
        let asked = AskedLoad { load, place: asked.map(|asked| format!("--load {asked}")), is_one: false };
        let mut mistakes = Gathered::default();
        let feeders = BTreeMap::new();
        let played = read(Some(&workload), asked, &feeders, MACHINE, &Generating(generated), &mut mistakes);
        mistakes.finish(Ok(played)).map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn a_scenario_is_the_load_and_its_only_crowd_may_get_another() {
        let made = tempfile::tempdir().unwrap();
        fs::write(made.path().join("rows.tsv"), "a\n1\n").unwrap();
        let one = format!("{{load: closed:3, {FLOW}}}");
        let two = format!("{{load: open:3, {FLOW}}}, {{load: open:4, requests: [{{path: /}}]}}");
        for (yaml, asked, loads) in
            [(&one, None, &["closed:3"][..]), (&one, Some("open:7"), &["open:7"]), (&two, None, &["open:3", "open:4"])]
        {
            let played = read_all(yaml, asked, Ok(made.path().to_owned())).unwrap();
            let all: Vec<String> = [&played.load].into_iter().chain(&played.beside).map(Load::to_string).collect();
            assert_eq!(all, loads, "{yaml} {asked:?}");
            assert_eq!(played.scenario.unwrap().crowds.len(), loads.len());
        }
    }

    #[test]
    fn mistakes_about_a_scenario_are_told() {
        let made = tempfile::tempdir().unwrap();
        fs::write(made.path().join("rows.tsv"), "a\n1\n").unwrap();
        let made = || Ok(made.path().to_owned());
        let two = format!("{{load: open:3, {FLOW}}}, {{load: open:4, requests: [{{path: /}}]}}");
        let mixed = two.replace("open:4", "closed:4");
        let renamed = format!("{{load: closed:3, {}}}", FLOW.replace("add", "ad"));
        for (yaml, asked, generated, told) in [
            (&two, Some("open:7"), made(), "--load open:7 is one load, and the scenario of w has 2 crowds"),
            (&mixed, None, made(), "has open and closed crowds"),
            (&renamed, None, made(), "counts answers of add, which is no step of the scenario; did you mean ad?"),
            (&two, None, Err("make: not found".to_owned()), "make: not found"),
        ] {
            let problem = read_all(yaml, asked, generated).unwrap_err();
            assert!(problem.contains(told), "{told}: {problem}");
        }
    }
}
