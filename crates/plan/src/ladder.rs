//! The plan of a deployment that is made better step by step.

use std::collections::BTreeMap;

use clap::Args;
use stampede_core::{App, Candidate, Rounds, RuntimeId, Topology, Tuning, TuningProblem};

use crate::catalogue::Catalogue;
use crate::choice::RuntimeChoice;
use crate::choice::find;
use crate::compare::{CompareFlags, ComparePlan, Given};
use crate::flags::RuntimesFlag;
use crate::machine_size::MachineSize;
use crate::mistake::{Gathered, Mistakes};
use crate::topology::check_sum;
use crate::tune::TuneFlags;

/// The flags of `stampede tune --steps`, unread.
#[derive(Args, Clone, Debug, Default)]
pub struct LadderFlags {
    /// Improve step by step, at most N times, instead of searching: each step changes what the findings of the last measurement
    /// suggest (PHP's settings, the runtime, shares of the limits) and is undone if it does not help
    #[arg(long, value_name = "N", conflicts_with_all = ["budget", "objective", "out"], help_heading = "Steps")]
    pub steps: Option<String>,
    /// Runtimes that a step may switch to [default: all that are installed and serve the same application]
    #[arg(long = "or", value_name = "A,B", requires = "steps", help_heading = "Steps")]
    pub others: Option<String>,
    /// Also compare the result with a row of a published experiment, measured under the same limits and load:
    /// rinha/task-workers, or FILE.yaml/ROW of your own (`stampede reproduce` lists experiments)
    #[arg(long, value_name = "EXPERIMENT/ROW", requires = "steps", help_heading = "Steps")]
    pub against: Option<String>,
    /// Initial setting of php.ini: opcache.enable=0 (may be repeated)
    #[arg(long, value_name = "NAME=VALUE", requires = "steps", help_heading = "Steps")]
    pub ini: Vec<String>,
}

/// Steps without mistakes.
#[derive(Clone, Debug)]
pub struct LadderPlan {
    /// Every runtime under its defaults and what was given; the first is the one to begin with.
    pub plan: ComparePlan,
    /// Settings of `php.ini` to begin with.
    pub ini: BTreeMap<String, String>,
    /// How many deployments may be tried, the first among them.
    pub steps: u32,
}

/// A deployment on the way: what it differs in from the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Rung {
    /// What serves.
    pub runtime: RuntimeId,
    /// Settings beside its defaults.
    pub given: Tuning,
    /// Settings of `php.ini` over the application's own.
    pub ini: BTreeMap<String, String>,
    /// What stands around it.
    pub topology: Topology,
}

impl Rung {
    /// What it has, a line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let Rung { runtime, given, ini, topology } = self;
        let settings: Vec<String> =
            given.iter().map(|(name, setting)| format!("--set {runtime}.{name}={}", setting.value)).collect();
        let ini: Vec<String> = ini.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut lines = vec![runtime.to_string()];
        lines.extend((!settings.is_empty()).then(|| settings.join(" ")));
        lines.extend((!ini.is_empty()).then(|| format!("php.ini: {}", ini.join(", "))));
        lines.extend((!topology.is_default()).then(|| topology.to_string()));
        lines
    }
}

impl LadderPlan {
    /// Reads flags and the plan file that they name.
    ///
    /// # Errors
    ///
    /// All mistakes of the command line and of the files that it names.
    pub fn read(
        tune: &TuneFlags,
        flags: &LadderFlags,
        machine: MachineSize,
        catalogue: &dyn Catalogue,
    ) -> Result<Self, Mistakes> {
        let TuneFlags { runtime, .. } = tune;
        let LadderFlags { steps, others, against: _, ini } = flags;
        let steps = steps.as_deref().unwrap_or_default();
        let mut mistakes = Gathered::default();
        let place = format!("runtime {runtime}");
        if let Err(fix) = find(runtime, catalogue.runtimes()) {
            return Err(Mistakes::one(runtime, "is not a runtime", fix));
        }
        let read = |typed: &str| typed.parse().ok().filter(|steps| (2..=100).contains(steps));
        let problem = "is not a number from 2 to 100";
        let steps = mistakes.value(("--steps", Some(steps)), 2, read, problem, "for example --steps 10");
        let ini = read_ini(ini, &mut mistakes);
        let runtimes = match others.as_deref() {
            Some(others) => format!("{runtime},{others}"),
            None => "all".to_owned(),
        };
        let compare = CompareFlags { runtimes: RuntimesFlag { runtimes: Some(runtimes) }, ..tune.compare() };
        let given = Given { rounds: Some(1), ..Given::default() };
        let mut plan = mistakes.finish(ComparePlan::read_given(&compare, given, machine, catalogue))?;
        // The same application as the first one has: another one could do other work, and one in another language is no setting.
        let Some(first) = plan.candidates.iter().find(|candidate| candidate.runtime.id().as_str() == runtime).cloned()
        else {
            return Err(Mistakes::one(place, format!("cannot serve {}", plan.workload.id), "name another one"));
        };
        let mut candidates = vec![first.clone()];
        for other in plan.candidates {
            let is_new = candidates.iter().all(|taken| taken.runtime.id() != other.runtime.id());
            if is_new && is_same_app(&other.app, &first.app) {
                candidates.push(other);
            }
        }
        plan.candidates = candidates;
        Ok(Self { plan, ini, steps })
    }

    /// Where the steps begin.
    pub fn first(&self) -> Option<Rung> {
        let Candidate { runtime, .. } = self.plan.candidates.first()?;
        Some(Rung { ini: self.ini.clone(), ..self.of_runtime(&runtime.id(), &self.plan.topology)? })
    }

    /// A runtime under its defaults and what was given for it.
    pub fn of_runtime(&self, runtime: &RuntimeId, topology: &Topology) -> Option<Rung> {
        let candidate = self.candidate(runtime)?;
        let given = candidate.tuning.asked();
        Some(Rung { runtime: runtime.clone(), given, ini: BTreeMap::new(), topology: topology.clone() })
    }

    /// The deployment that another plan has, to be held against those of these steps: under their limits and their load.
    ///
    /// # Errors
    ///
    /// That it serves another workload or another application, that its runtime is none of those that a step may take, and that its
    /// shares are more than the limits.
    pub fn of_plan(&self, name: &str, other: &ComparePlan) -> Result<Rung, Mistakes> {
        let place = format!("--against {name}");
        let (own, others) = (&self.plan.workload.id, &other.workload.id);
        if own != others {
            return Err(Mistakes::one(
                place,
                format!("serves {others}, and this is {own}"),
                format!("name a row of {own}"),
            ));
        }
        let served = other.candidates.first().and_then(|theirs| {
            let ours = self.candidate(&theirs.runtime.id())?;
            Some((theirs, ours, self.of_runtime(&theirs.runtime.id(), &other.topology)?))
        });
        let Some((theirs, ours, rung)) = served else {
            return Err(Mistakes::one(place, "is served by none of these runtimes", "name its runtime in --or"));
        };
        if !is_same_app(&theirs.app, &ours.app) {
            let [own, others] = [&ours.app, &theirs.app].map(|app| match ours.app.name == theirs.app.name {
                true => app.source.display().to_string(),
                false => app.name.clone(),
            });
            let problem = format!("serves the application {others}, and this is {own}");
            return Err(Mistakes::one(place, problem, format!("name a row of {own}")));
        }
        let mut mistakes = Gathered::default();
        check_sum(&other.topology, &self.plan.limits, &place, &mut mistakes);
        mistakes.finish(Ok(Rung { given: theirs.tuning.asked(), ini: theirs.app.ini.clone(), ..rung }))
    }

    /// The plan of a rung, under a name.
    ///
    /// # Errors
    ///
    /// What contradicts itself among its settings.
    pub fn at(&self, id: &str, rung: &Rung, rounds: u32) -> Result<ComparePlan, TuningProblem> {
        let candidates = self.candidate(&rung.runtime).map(|candidate| {
            let mut app: App = candidate.app.clone();
            app.ini.extend(rung.ini.clone());
            Candidate { app, ..candidate.clone() }
        });
        let plan = ComparePlan {
            candidates: candidates.into_iter().collect(),
            choice: RuntimeChoice::Settled,
            unable: Vec::new(),
            topology: rung.topology.clone(),
            rounds: Rounds::Fixed(rounds),
            ..self.plan.clone()
        };
        plan.tuned(id, &rung.given)
    }

    /// A runtime with the application that it serves.
    pub fn candidate(&self, runtime: &RuntimeId) -> Option<&Candidate> {
        self.plan.candidates.iter().find(|candidate| candidate.runtime.id() == *runtime)
    }
}

/// Whether two forms of an application run the same files.
fn is_same_app(one: &App, other: &App) -> bool {
    one.name == other.name && one.source == other.source
}

fn read_ini(typed: &[String], mistakes: &mut Gathered) -> BTreeMap<String, String> {
    let mut ini = BTreeMap::new();
    for setting in typed {
        match setting.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                ini.insert(name.trim().to_owned(), value.trim().to_owned());
            }
            _ => mistakes.add(format!("--ini {setting}"), "is not NAME=VALUE", "for example --ini opcache.enable=0"),
        }
    }
    ini
}
