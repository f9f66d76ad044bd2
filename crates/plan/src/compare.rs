//! The plan of a comparison: which runtime is fastest under these limits?

use std::path::Path;
use std::time::Duration;

use stampede_core::{
    App, Bytes, Candidate, CaseId, DefaultsContext, Limits, Load, Runtime, Topology, Tuning, TuningProblem, Workload,
};

use crate::catalogue::{Catalogue, nearest};
use crate::choice::{read_runtimes, read_settings};
use crate::mistake::{Gathered, Mistakes};
use crate::quantity::{
    read_cpus, read_duration, read_load, read_memory, read_ready_timeout, read_rounds, read_seed, read_warm_up,
};
use crate::topology::{self, TopologyFlags};
use crate::workload;

/// What was typed, unread, so that all mistakes can be told at once. `None` takes the default.
#[derive(Clone, Debug, Default)]
pub struct CompareFlags {
    /// A built-in workload's name, or a folder with a `workload.yaml`.
    pub workload: String,
    /// `a,b`, or `all`.
    pub runtimes: Option<String>,
    /// `--cpus`.
    pub cpus: Option<String>,
    /// `--memory`.
    pub memory: Option<String>,
    /// `--load`.
    pub load: Option<String>,
    /// `--duration`.
    pub duration: Option<String>,
    /// `--warm-up`.
    pub warm_up: Option<String>,
    /// `--rounds`.
    pub rounds: Option<String>,
    /// `--seed`.
    pub seed: Option<String>,
    /// `--ready-timeout`.
    pub ready_timeout: Option<String>,
    /// `--platform`.
    pub platform: Option<String>,
    /// Each `--set RUNTIME.TUNABLE=VALUE` and `--set SERVICE.SETTING=VALUE`.
    pub set: Vec<String>,
    /// What stands around each runtime.
    pub topology: TopologyFlags,
}

/// How large this machine is.
#[derive(Clone, Copy, Debug)]
pub struct MachineSize {
    /// Processors that may be used.
    pub cpus: u32,
    /// Memory.
    pub memory: Bytes,
    /// Connections that the generator may open: each takes a file descriptor.
    pub connections: u32,
}

/// Whether the runtimes were named, or all that are there are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeChoice {
    /// Each was asked for: one that is missing is an error.
    Named,
    /// All that can serve the workload: one that is missing is left out and said so.
    All,
}

/// A comparison without mistakes.
#[derive(Clone, Debug)]
pub struct ComparePlan {
    /// What is served.
    pub workload: Workload,
    /// What is compared.
    pub candidates: Vec<Candidate>,
    /// Whether a missing runtime is an error.
    pub choice: RuntimeChoice,
    /// What each deployment may use.
    pub limits: Limits,
    /// What stands around each runtime.
    pub topology: Topology,
    /// What load is driven.
    pub load: Load,
    /// Length of the measuring window.
    pub duration: Duration,
    /// Load before the window.
    pub warm_up: Duration,
    /// How many blocks.
    pub rounds: u32,
    /// Seed of the order; `None` lets the caller choose one.
    pub seed: Option<u64>,
    /// How long a runtime may take to answer its first request.
    pub ready_timeout: Duration,
}

impl ComparePlan {
    /// Reads flags.
    ///
    /// # Errors
    ///
    /// All mistakes of the command line and of the workload that it names.
    pub fn read(flags: &CompareFlags, machine: MachineSize, catalogue: &dyn Catalogue) -> Result<Self, Mistakes> {
        let CompareFlags {
            workload,
            runtimes,
            cpus,
            memory,
            load,
            duration,
            warm_up,
            rounds,
            seed,
            ready_timeout,
            platform,
            set,
            topology,
        } = flags;
        let mut mistakes = Gathered::default();
        let workload = read_workload(workload, catalogue);
        let limits = Limits {
            cpus: read_cpus(cpus.as_deref(), machine, &mut mistakes),
            memory: read_memory(memory.as_deref(), machine, &mut mistakes),
        };
        let mut topology = topology::read(topology, &limits, &mut mistakes);
        let set = &topology::take_settings(set, &mut topology, &mut mistakes);
        let load = read_load(load.as_deref(), machine, &mut mistakes);
        let duration = read_duration(duration.as_deref(), [&load], &mut mistakes);
        let warm_up = read_warm_up(warm_up.as_deref(), &mut mistakes);
        let ready_timeout = read_ready_timeout(ready_timeout.as_deref(), &mut mistakes);
        let rounds = read_rounds(rounds.as_deref(), &mut mistakes);
        let seed = read_seed(seed.as_deref(), &mut mistakes);
        if let Some(platform) = platform.as_deref().filter(|platform| *platform != "local") {
            mistakes.add(format!("--platform {platform}"), "is not known", "use local");
        }
        let (chosen, choice) = read_runtimes(runtimes.as_deref(), catalogue, &mut mistakes);
        let apps = workload.as_ref().map_or(&[][..], |workload| &workload.apps);
        let given = read_settings(set, &chosen, apps, catalogue, &mut mistakes);
        let mut candidates = Vec::new();
        if let Ok(workload) = &workload {
            for runtime in chosen {
                let id = runtime.id();
                let given = given.get(&id).cloned().unwrap_or_default();
                let app = match app_for(runtime, workload, &given) {
                    Ok(Some(app)) => app,
                    Ok(None) => {
                        if choice == RuntimeChoice::Named {
                            let problem = format!("cannot serve {}", workload.id);
                            mistakes.add(format!("--runtimes {id}"), problem, "leave it out");
                        }
                        continue;
                    }
                    Err(TuningProblem { tunable, problem, fix }) => {
                        mistakes.add(setting(runtime, &tunable, &given), problem, fix);
                        continue;
                    }
                };
                let tuning = tune(runtime, app, &topology.replica_limits(&limits), &load, &given, &mut mistakes);
                candidates.push(Candidate { id: CaseId::new(id.as_str()), runtime, app: app.clone(), tuning });
            }
        }
        let workload = mistakes.finish(workload)?;
        Ok(Self {
            workload,
            candidates,
            choice,
            limits,
            topology,
            load,
            duration,
            warm_up,
            rounds,
            seed,
            ready_timeout,
        })
    }
}

pub(crate) fn read_workload(typed: &str, catalogue: &dyn Catalogue) -> Result<Workload, Mistakes> {
    let place = format!("workload {typed}");
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
    if Path::new(typed).is_dir() {
        return workload::read(Path::new(typed));
    }
    let fix = match nearest(typed, known.iter().map(String::as_str)) {
        Some(name) => format!("did you mean {name}?"),
        None => format!("use {} or a folder that holds a workload.yaml", known.join(", ")),
    };
    Err(Mistakes::one(place, "is not known", fix))
}

/// The first of a workload's applications that the runtime serves under these settings, none if it serves none of them
/// under any, or which setting stands in the way.
pub(crate) fn app_for<'a>(
    runtime: &dyn Runtime,
    workload: &'a Workload,
    given: &Tuning,
) -> Result<Option<&'a App>, TuningProblem> {
    let mut problem = None;
    for app in workload.apps.iter().filter(|app| runtime.serves(&app.kind)) {
        match runtime.suits(&app.kind, given) {
            Ok(()) => return Ok(Some(app)),
            Err(found) => problem = problem.or(Some(found)),
        }
    }
    problem.map_or(Ok(None), Err)
}

/// A setting as it is typed.
pub(crate) fn setting(runtime: &dyn Runtime, tunable: &str, tuning: &Tuning) -> String {
    format!("--set {}.{tunable}={}", runtime.id(), tuning.get(tunable).unwrap_or_default())
}

pub(crate) fn tune(
    runtime: &'static dyn Runtime,
    app: &App,
    limits: &Limits,
    load: &Load,
    given: &Tuning,
    mistakes: &mut Gathered,
) -> Tuning {
    let tuning = runtime.defaults(&DefaultsContext { app, limits, load, given });
    for problem in runtime.validate(&tuning) {
        mistakes.add(setting(runtime, &problem.tunable, &tuning), problem.problem, problem.fix);
    }
    tuning
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    struct Empty;

    impl Catalogue for Empty {
        fn runtimes(&self) -> &[&'static dyn Runtime] {
            &[]
        }

        fn workloads(&self) -> Vec<String> {
            vec!["markdown".to_owned()]
        }

        fn workload_folder(&self, _name: &str) -> Result<PathBuf, String> {
            Err("read-only file system".to_owned())
        }
    }

    const MACHINE: MachineSize = MachineSize { cpus: 2, memory: Bytes::from_mib(1024), connections: 900 };

    #[test]
    fn all_mistakes_of_one_command_line_are_told_at_once() {
        let typed = |text: &str| Some(text.to_owned());
        let flags = CompareFlags {
            workload: "markdwon".to_owned(),
            runtimes: typed("zzz,zzz"),
            cpus: typed("64"),
            memory: typed("1Mi"),
            load: typed("closed:none"),
            duration: typed("0"),
            warm_up: typed("soon"),
            rounds: typed("0"),
            seed: typed("-1"),
            ready_timeout: typed("9999d"),
            platform: typed("moon"),
            set: vec!["pm=static".to_owned(), "zzz.a=b".to_owned()],
            topology: TopologyFlags::default(),
        };
        let Mistakes(mistakes) = ComparePlan::read(&flags, MACHINE, &Empty).unwrap_err();
        let places = mistakes.iter().map(|mistake| mistake.place.as_str()).collect::<Vec<_>>();
        assert_eq!(
            places,
            [
                "workload markdwon",
                "--cpus 64",
                "--memory 1Mi",
                "--load closed:none",
                "--duration 0",
                "--warm-up soon",
                "--ready-timeout 9999d",
                "--rounds 0",
                "--seed -1",
                "--platform moon",
                "--runtimes zzz",
                "--runtimes zzz",
                "--set pm=static",
                "--set zzz.a=b",
            ]
        );
        assert_eq!(mistakes[0].fix, "did you mean markdown?");
    }
}
