//! Which settings are best for a runtime: races between settings, and the best of them against the defaults.

use std::path::PathBuf;
use std::time::Duration;

use stampede_analysis::{
    Bottleneck, Point, RaceScores, SESSION_LOCK, Search, Space, Tried, analyse, best, objective_metric, took,
};
use stampede_core::{
    Case, CaseId, CpuLayout, DatabaseConnections, DefaultsContext, Documented, Failures, Rounds, Study, StudyKind,
    Tuning,
};
use stampede_harness::{Copies, Stop};
use stampede_plan::{ComparePlan, TunePlan};
use stampede_store::{Store, StoredStudy};

use crate::exit::{Exit, Failure};
use crate::host::{Bench, Ended, attend};
use crate::sequence::Sequence;
use crate::site::Site;

/// The cases of the verdicts.
const TUNED: &str = "tuned";
const DEFAULT: &str = "default";
const DOCUMENTED: &str = "documented";

/// The settings that are searched.
///
/// # Errors
///
/// When all that matters was given.
pub fn space(plan: &TunePlan) -> Result<Space, Failure> {
    let Some(candidate) = plan.plan.candidates.first() else { return Err(Failure::usage("nothing is to be tuned")) };
    let load = plan.plan.load.joined_by(&plan.plan.beside);
    let space = Space::of(candidate.runtime.tunables(), &candidate.tuning, &plan.given, &load);
    if space.knobs.is_empty() {
        return Err(Failure::usage(format!(
            "nothing is left to search: {} has no other settings that its speed depends on\n  leave some --set out",
            candidate.runtime.id()
        )));
    }
    Ok(space)
}

fn race_name(number: usize) -> String {
    format!("race{number:02}")
}

/// A search while it is made. Each race, and each comparison of its winner, is a study of its own.
pub struct Tune<'a> {
    plan: TunePlan,
    space: Space,
    sequence: Sequence<'a>,
    tried: Vec<Tried>,
    held: Vec<(f64, StoredStudy)>,
}

impl<'a> Tune<'a> {
    /// Begins a search in the store at this path, or resumes one: of this name, or the newest.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or has no such search.
    pub fn begin(
        bench: Bench<'a>,
        plan: TunePlan,
        space: Space,
        store: PathBuf,
        resume: Option<&Option<String>>,
    ) -> Result<Self, Failure> {
        bench.host.settle();
        let (id, seed) = Sequence::begin(&store, resume, (StudyKind::Tune, &race_name(1)), plan.plan.seed, bench)?;
        let metric = objective_metric(plan.objective).to_owned();
        let copies = Copies::default();
        Ok(Self {
            plan: TunePlan { plan: ComparePlan { seed: Some(seed), ..plan.plan.clone() }, ..plan },
            space,
            sequence: Sequence { bench, id, metric, failures: Failures::Faults, store, copies, is_told: false },
            tried: Vec::new(),
            held: Vec::new(),
        })
    }

    /// Makes the search, and does what is to be done with what it found, which signals end as well: how that ended.
    ///
    /// # Errors
    ///
    /// When it could not begin.
    pub fn carry_out(
        &mut self,
        finish: impl AsyncFnOnce(&Self) -> Result<(), Failure>,
    ) -> Result<Result<Ended, Failure>, Failure> {
        let (bench, stop) = (self.sequence.bench, Stop::default());
        let cores = self.plan.plan.limits.cpus.whole_cores();
        attend(bench, cores, &stop, async |pinning| {
            self.measure(pinning, &stop).await?;
            if stop.is_obeyed() { Ok(()) } else { finish(self).await }
        })
    }

    /// The name of it all.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.sequence.id
    }

    /// What is searched, with the seed that was drawn where none was given.
    #[must_use]
    pub fn plan(&self) -> &TunePlan {
        &self.plan
    }

    /// The settings that are searched.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// What was tried.
    #[must_use]
    pub fn tried(&self) -> &[Tried] {
        &self.tried
    }

    /// The winner compared with what else there is, at each share of the load.
    #[must_use]
    pub fn held(&self) -> &[(f64, StoredStudy)] {
        &self.held
    }

    /// The plan of the winner alone, with the study and the case that measured it last; nothing where nothing could be measured.
    ///
    /// # Errors
    ///
    /// When its study cannot be read.
    pub fn winner(&self) -> Result<Option<(ComparePlan, Study, Case)>, Failure> {
        let Some(winner) = best(&self.tried).map(|best| &best.point) else { return Ok(None) };
        let (study, case) = self.measured(winner)?;
        Ok(Some((self.tuned(TUNED, &self.settings(winner))?, study, case)))
    }

    async fn measure(&mut self, pinning: CpuLayout, stop: &Stop) -> Result<(), Failure> {
        let plan = self.plan.plan.clone();
        let site = self.sequence.site("tune", &plan, pinning, stop).await?;
        self.introduce();
        self.race(&site).await?;
        if stop.is_obeyed() {
            return Ok(());
        }
        let Some(winner) = best(&self.tried).map(|best| best.point.clone()) else {
            return Err(Failure {
                exit: Exit::TrialFailed,
                message: "no setting could be measured, not even the defaults; stampede show latest shows why"
                    .to_owned(),
            });
        };
        self.hold(&site, &winner).await
    }

    /// Races until the search has found what it can, or its budget is used up.
    async fn race(&mut self, site: &Site<'_>) -> Result<(), Failure> {
        // What the records of the first race suggest of the defaults.
        let mut suspected = None;
        let mut most_workers = self.connections_each();
        if let Some(most) = most_workers.filter(|_| self.space.workers(&self.space.default).is_some()) {
            self.sequence.note(&format!("at most {most} workers are tried: the database allows no more connections"));
        }
        let mut locked = false;
        let (mut spent, mut longest, mut first) = (Duration::ZERO, Duration::ZERO, None);
        for number in 1.. {
            if number > 1 && spent + longest > self.plan.budget.search {
                self.sequence.note("the time budget is used up");
                return Ok(());
            }
            let seed = self.plan.plan.seed.unwrap_or_default();
            let search = Search::new(&self.space, seed, self.plan.budget.points).suspecting(suspected);
            let allowed = |point: &Point| {
                self.space.workers(point).zip(most_workers).is_none_or(|(workers, most)| workers <= most)
                    && self.tuned("", &self.settings(point)).is_ok()
            };
            let next = search.next(&self.tried, &allowed);
            if next.is_empty() {
                return Ok(());
            }
            let names: Vec<String> = next.iter().map(|point| self.space.name(point)).collect();
            self.sequence.note(&format!("race {number}: {}", names.join("; ")));
            let plans = next
                .iter()
                .zip(&names)
                .map(|(point, name)| self.tuned(name, &self.settings(point)))
                .collect::<Result<Vec<_>, _>>()?;
            let race =
                self.sequence.study(site, self.sequence.name(&race_name(number)), StudyKind::Tune, &plans).await?;
            let Some(race) = race else { return Ok(()) };
            self.sequence.is_told = true;
            let StoredStudy { study, finished_at, trials, .. } = race;
            let took = took(&study, &trials, finished_at);
            (spent, longest) = (spent + took, longest.max(took));
            if number == 1 {
                let analysis = analyse(&study, &trials);
                let default = analysis.case(&CaseId::new(self.space.name(&self.space.default)));
                let bottleneck = default.and_then(|summary| summary.bottleneck.as_ref());
                suspected = bottleneck.and_then(Bottleneck::role);
                if bottleneck.is_some_and(|bottleneck| bottleneck.finding == SESSION_LOCK) {
                    most_workers = self.space.workers(&self.space.default);
                    locked = most_workers.is_some();
                }
            }
            let known = |tried: &Tried| CaseId::new(self.space.name(&tried.point));
            let scored: Vec<CaseId> = self.tried.iter().filter(|tried| tried.score.is_some()).map(known).collect();
            let RaceScores { reference, beside, alone } = RaceScores::of(&study, &trials, &scored);
            let first = *first.get_or_insert(alone);
            let base = match self.tried.iter().find(|tried| Some(known(tried)) == reference) {
                Some(known) => known.score,
                // Where nothing ties it to the races before, it is compared with the first one as if nothing had drifted.
                None => alone.zip(first).map(|(alone, first)| alone - first),
            };
            for (point, name) in next.into_iter().zip(names) {
                if self.tried.iter().all(|tried| tried.point != point) {
                    let beside = beside.get(&CaseId::new(name)).copied().flatten();
                    let is_too_many = locked && self.space.workers(&point) > most_workers;
                    let score = beside.zip(base).map(|(score, base)| score + base).filter(|_| !is_too_many);
                    self.tried.push(Tried { score, point });
                }
            }
            if number == 1 && locked {
                self.sequence.note(
                    "requests of one session wait for each other (session-lock): more workers than the default would only \
                     wait as well, and are not taken",
                );
            }
        }
        Ok(())
    }

    /// How many workers of each replica have a connection, where there is a database that takes a number of them.
    fn connections_each(&self) -> Option<u64> {
        let topology = &self.plan.plan.topology;
        DatabaseConnections::of(topology).map(|database| database.most / u64::from(topology.replicas.max(1)))
    }

    /// Holds the winner against the default and what is documented, in blocks that had no part in choosing it.
    async fn hold(&mut self, site: &Site<'_>, winner: &Point) -> Result<(), Failure> {
        let mut plans =
            vec![self.tuned(TUNED, &self.settings(winner))?, self.tuned(DEFAULT, &self.settings(&self.space.default))?];
        if *winner == self.space.default {
            plans.remove(0);
        }
        let loads = self.plan.other_loads.clone();
        for (share, load) in std::iter::once((1.0, self.plan.plan.load.clone())).chain(loads) {
            let mut of_load: Vec<ComparePlan> =
                plans.iter().map(|plan| ComparePlan { load: load.clone(), ..plan.clone() }).collect();
            if share == 1.0 {
                let documented =
                    self.documented().and_then(|documented| self.tuned(DOCUMENTED, &documented.settings).ok());
                of_load.extend(documented);
                let rounds = Rounds::Fixed(self.plan.budget.blocks);
                of_load.iter_mut().for_each(|plan| plan.rounds = rounds);
            }
            // The defaults alone have only the SLO to be checked against.
            if of_load.len() < 2 && (share != 1.0 || self.plan.plan.slo.is_none()) {
                continue;
            }
            // Judged by figures, and by the SLO beside them.
            of_load.iter_mut().for_each(|plan| plan.slo = None);
            self.sequence.note(&format!("the winner, {}, at load {load}", self.space.name(winner)));
            let id = self.sequence.name(&format!("load{:03.0}", share * 100.0));
            let held = self.sequence.study(site, id, StudyKind::Compare, &of_load).await?;
            let Some(held) = held else { return Ok(()) };
            self.held.push((share, held));
        }
        Ok(())
    }

    /// The case that measured the winner, and its study: that of the last comparisons, or where defaults that won were compared with
    /// nothing, the first race.
    fn measured(&self, winner: &Point) -> Result<(Study, Case), Failure> {
        let (study, id) = match self.held.first() {
            Some((_, held)) if *winner == self.space.default => (held.study.clone(), DEFAULT.to_owned()),
            Some((_, held)) => (held.study.clone(), TUNED.to_owned()),
            None => {
                let store = Store::open(&self.sequence.store).map_err(Failure::missing)?;
                (
                    store.load(&self.sequence.name(&race_name(1))).map_err(Failure::missing)?.study,
                    self.space.name(winner),
                )
            }
        };
        let case = study.cases.iter().find(|case| case.id.as_str() == id).cloned();
        let case = case.ok_or_else(|| Failure::missing(format!("study {} has no case {id}", study.id)))?;
        Ok((study, case))
    }

    /// What the runtime's own documentation has, where nothing of it was given otherwise.
    #[must_use]
    pub fn documented(&self) -> Option<Documented> {
        let plan = &self.plan.plan;
        let candidate = plan.candidates.first()?;
        let limits = plan.topology.replica_limits(&plan.limits);
        let given = &self.plan.given;
        let mut documented = candidate.runtime.documented(&DefaultsContext {
            app: &candidate.app,
            limits: &limits,
            load: &plan.load.joined_by(&plan.beside),
            given,
        })?;
        documented.settings = documented.settings.overlaid_with(given);
        Some(documented)
    }

    /// What was given, and the settings of a point.
    fn settings(&self, point: &Point) -> Tuning {
        self.space.settings(point).overlaid_with(&self.plan.given)
    }

    fn tuned(&self, id: &str, settings: &Tuning) -> Result<ComparePlan, Failure> {
        self.plan
            .plan
            .tuned(id, settings)
            .map_err(|problem| Failure::usage(format!("{}: {}; {}", problem.tunable, problem.problem, problem.fix)))
    }

    fn introduce(&self) {
        let knobs: Vec<String> =
            self.space.knobs.iter().map(|knob| format!("{} ({})", knob.name, knob.levels.join(", "))).collect();
        self.sequence.note(&format!(
            "{}: at most {} of {} settings for {}: {}",
            self.sequence.id,
            self.plan.budget.points.min(self.space.size()),
            self.space.size(),
            self.plan.objective.name(),
            knobs.join("; ")
        ));
    }
}
