//! The plan of a search: which settings are best for this runtime under these limits?

use std::time::Duration;

use clap::Args;
use stampede_core::{Load, Objective, Tuning, short_time};

use crate::catalogue::Catalogue;
use crate::choice::find;
use crate::compare::{CompareFlags, ComparePlan, Given};
use crate::flags::{
    AppFlag, BudgetFlag, DeploymentFlags, DurationFlag, LoadFlag, SeedFlag, SloFlag, SubjectFlag, TopologyFlags,
};
use crate::machine_size::MachineSize;
use crate::mistake::{Gathered, Mistakes};
use crate::quantity::read_time;
use crate::rounds::DEFAULT_MAX_TIME;
use crate::suggestion::suggest;

/// What a trial takes beside its load: start, readiness, verification, drain and stop.
const BESIDE: Duration = Duration::from_secs(4);

/// Blocks of a race, and of each verdict at another load.
const BLOCKS: u32 = 3;

/// Trials of a setting in a race: three, fewer where it is dropped, and the best one is in each race.
const TRIALS_A_POINT: f64 = 2.6;

/// The winner, the default and what is documented, in the least blocks of a verdict; and the first two at two other loads.
const VERDICT_TRIALS: u32 = 3 * BLOCKS + 2 * 2 * BLOCKS;

/// The default and two others.
const LEAST_POINTS: u32 = 3;

/// More blocks say little more of a verdict.
const MOST_BLOCKS: u32 = 10;

/// A window in which one race is measured; verdicts come from several.
const DURATION: &str = "4s";
const WARM_UP: &str = "1s";

/// The flags of `stampede tune` that say what is measured, unread.
#[derive(Args, Clone, Debug, Default)]
#[expect(missing_docs, reason = "each group says what it is")]
pub struct TuneFlags {
    /// The runtime (see `stampede list runtimes`)
    pub runtime: String,
    #[command(flatten)]
    pub subject: SubjectFlag,
    #[command(flatten)]
    pub app: AppFlag,
    #[command(flatten)]
    pub deployment: DeploymentFlags,
    /// What to optimise: throughput, memory (least) or cost (least CPU time per request) [default: throughput]
    #[arg(long, value_name = "WHAT", help_heading = "What")]
    pub objective: Option<String>,
    #[command(flatten)]
    pub slo: SloFlag,
    #[command(flatten)]
    pub load: LoadFlag,
    #[command(flatten)]
    pub duration: DurationFlag,
    #[command(flatten)]
    pub budget: BudgetFlag,
    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub topology: TopologyFlags,
}

impl TuneFlags {
    /// What each setting is measured by.
    pub(crate) fn compare(&self) -> CompareFlags {
        CompareFlags {
            subject: self.subject.clone(),
            app: self.app.clone(),
            deployment: self.deployment.clone(),
            slo: self.slo.clone(),
            load: self.load.clone(),
            duration: self.duration.clone(),
            seed: self.seed.clone(),
            topology: self.topology.clone(),
            no_yard_stick: true,
            ..CompareFlags::default()
        }
    }
}

/// What the time of a search has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchBudget {
    /// Settings that are tried, the default among them.
    pub points: usize,
    /// Blocks in which the winner is held against the default.
    pub blocks: u32,
    /// Time for the search alone, without the verdicts on its winner.
    pub search: Duration,
}

/// A search without mistakes.
#[derive(Clone, Debug)]
pub struct TunePlan {
    /// The runtime under its defaults and what was given.
    pub plan: ComparePlan,
    /// What was given, and is not searched.
    pub given: Tuning,
    /// What for.
    pub objective: Objective,
    /// How much.
    pub budget: SearchBudget,
    /// The winner is held against the default at these loads too, each with what it is of the first.
    pub other_loads: Vec<(f64, Load)>,
}

impl TunePlan {
    /// Reads flags and the plan file that they name.
    ///
    /// # Errors
    ///
    /// All mistakes of the command line and of the files that it names; a runtime without settings, a budget that has no room
    /// for three blocks, and an objective that says nothing under the load.
    pub fn read(flags: &TuneFlags, machine: MachineSize, catalogue: &dyn Catalogue) -> Result<Self, Mistakes> {
        let TuneFlags { runtime, objective, budget, .. } = flags;
        let mut mistakes = Gathered::default();
        let objective = read_objective(objective.as_deref(), &mut mistakes);
        let time =
            read_time("--budget", budget.budget.as_deref(), DEFAULT_MAX_TIME, Duration::from_secs(1), &mut mistakes);
        let place = format!("runtime {runtime}");
        if find(runtime, catalogue.runtimes()).is_ok_and(|found| found.tunables().is_empty()) {
            mistakes.add(&place, "has no settings to search", "see stampede show runtime");
        }
        let mut compare = flags.compare();
        compare.duration.duration.get_or_insert_with(|| DURATION.to_owned());
        // Pilots would take longer than a race.
        compare.warm_up.warm_up = Some(WARM_UP.to_owned());
        let given = Given { runtime: Some(runtime), rounds: Some(BLOCKS), ..Given::default() };
        let read = ComparePlan::read_given(&compare, given, machine, catalogue);
        let plan = mistakes.finish(read)?;
        let mut mistakes = Gathered::default();
        let candidate = match &plan.candidates[..] {
            [one] => one,
            [] => return Err(Mistakes::one(place, format!("cannot serve {}", plan.workload.id), "name another one")),
            several => {
                let problem = format!("is searched for one application and build at a time, not for {}", several.len());
                return Err(Mistakes::one(
                    place,
                    problem,
                    "name one with --app, and one build under php in the plan file",
                ));
            }
        };
        match (objective, &plan.load) {
            (Objective::Throughput, Load::Open { .. }) => mistakes.add(
                format!("--load {}", plan.load),
                "says how many requests there are, so that no setting makes them more",
                "use a closed load such as closed:16, or --objective cost or memory",
            ),
            (Objective::Memory, _) if plan.slo.is_none() => mistakes.add(
                "--objective memory",
                "is best where nothing is served well",
                "say what must hold, for example --slo 'p99<100ms,errors<0.1%'",
            ),
            _ => {}
        }
        let warm_up = plan.warm_up.min(plan.duration);
        let budget = room(time, warm_up + plan.duration, &mut mistakes);
        let given = candidate.tuning.asked();
        // What one share of several crowds at once would be is said by none of them.
        let shares = [0.5, 1.2].into_iter().filter(|_| plan.beside.is_empty());
        let other_loads = shares.filter_map(|share| Some((share, times(&plan.load, share)?))).collect();
        mistakes.finish(Ok(()))?;
        Ok(Self { given, objective, budget, other_loads, plan: ComparePlan { warm_up, ..plan } })
    }
}

fn read_objective(typed: Option<&str>, mistakes: &mut Gathered) -> Objective {
    let Some(typed) = typed else { return Objective::Throughput };
    let names = Objective::ALL.map(Objective::name);
    if let Some(objective) = Objective::ALL.into_iter().find(|objective| objective.name() == typed) {
        return objective;
    }
    mistakes.add(format!("--objective {typed}"), "is not known", suggest(typed, names));
    Objective::Throughput
}

/// What a time has room for when the load of each trial takes so long.
fn room(time: Duration, load: Duration, mistakes: &mut Gathered) -> SearchBudget {
    let each = load + BESIDE;
    let trials = (time.as_secs_f64() / each.as_secs_f64()) as u32;
    let least = VERDICT_TRIALS + LEAST_POINTS * BLOCKS;
    if trials < least {
        let written = |time: Duration| short_time(Duration::from_secs(time.as_secs()));
        mistakes.add(
            format!("--budget {}", written(time)),
            format!(
                "is too small: {least} trials, three blocks of {LEAST_POINTS} settings and of the verdicts on the winner, \
                 take {}",
                written(each * least)
            ),
            format!("use --budget {} or more, or a shorter --duration", written(each * (least + 1))),
        );
    }
    let search = trials.saturating_sub(VERDICT_TRIALS);
    // A sixth of them makes the verdict surer, as long as it does: a block of it is three trials.
    let more_blocks = (search / 6 / 3).min(MOST_BLOCKS - BLOCKS);
    let points = (f64::from(search - more_blocks * 3) / TRIALS_A_POINT) as usize;
    SearchBudget {
        points: points.max(LEAST_POINTS as usize),
        blocks: BLOCKS + more_blocks,
        search: time.saturating_sub(each * (VERDICT_TRIALS + more_blocks * 3)),
    }
}

/// So many times a load; nothing where that is the load itself.
fn times(load: &Load, share: f64) -> Option<Load> {
    let scaled = match load {
        Load::Closed { connections } => {
            Load::Closed { connections: (f64::from(*connections) * share).round().max(1.0) as u32 }
        }
        Load::Ramped { .. } => return None,
        Load::Open { .. } => load.scaled(1.0, share).ok()?,
    };
    (scaled != *load).then_some(scaled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_room_for_settings_and_verdicts() {
        let seconds = Duration::from_secs;
        for (name, time, load, points, blocks, search, told) in [
            ("ten minutes", 600, 5, 15, 5, 357, false),
            ("an hour", 3600, 5, 137, 10, 3222, false),
            ("just enough", 270, 5, 3, 3, 81, false),
            ("too little", 60, 5, 3, 3, 0, true),
            ("long windows", 600, 30, 3, 3, 0, true),
        ] {
            let mut mistakes = Gathered::default();
            let room = room(seconds(time), seconds(load), &mut mistakes);
            assert_eq!((room.points, room.blocks, !mistakes.is_empty()), (points, blocks, told), "{name}");
            assert_eq!(room.search, seconds(search), "{name}");
        }
    }

    #[test]
    fn other_loads_are_shares_of_the_first() {
        for (load, share, other) in [
            ("closed:16", 0.5, Some("closed:8")),
            ("closed:16", 1.2, Some("closed:19")),
            ("closed:1", 0.5, None),
            ("open:100", 1.2, Some("open:120")),
            ("closed:1..8/10s", 0.5, None),
        ] {
            let scaled = times(&load.parse().unwrap(), share).map(|load| load.to_string());
            assert_eq!(scaled.as_deref(), other, "{load} {share}");
        }
    }

    #[test]
    fn an_objective_is_one_of_three() {
        let mut mistakes = Gathered::default();
        assert_eq!(read_objective(Some("cost"), &mut mistakes), Objective::Cost);
        assert_eq!(read_objective(None, &mut mistakes), Objective::Throughput);
        assert!(mistakes.is_empty());
        read_objective(Some("troughput"), &mut mistakes);
        let Mistakes(told) = mistakes.finish(Ok(())).unwrap_err();
        assert_eq!(told[0].fix, "did you mean throughput?");
    }
}
