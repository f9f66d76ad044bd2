//! `stampede tune`: which settings are best for this runtime under these limits?

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use stampede_analysis::{Point, RaceScores, Search, Space, Tried, analyse, best, metric, objective_metric, took};
use stampede_core::{
    Case, CaseId, CpuLayout, DefaultsContext, Documented, Machine, Rounds, Study, StudyId, StudyKind, Tuning,
};
use stampede_harness::{Copies, Stop};
use stampede_plan::{CompareFlags, ComparePlan, SubjectFlag, TuneFlags, TunePlan};
use stampede_platforms::scope;
use stampede_report::StudyView;
use stampede_report::terminal::paragraph;
use stampede_report::tune::{self as page, Held, TuneView};
use stampede_store::{Store, StoreError, StoredStudy};

use crate::args::TuneArgs;
use crate::backend::BackendChoice;
use crate::catalogue::BuiltIn;
use crate::compare::{self, Ended, LAST_WAIT, Order, Site, topology_flags};
use crate::exit::{Exit, Failure};
use crate::record::Record;
use crate::show::{Renderers, Report};
use crate::{Outcome, export, folders, ground, screen, signals};

/// The flag that names the folder of the winner's files.
const OUT: &str = "--out";
/// The cases of the verdicts.
const TUNED: &str = "tuned";
const DEFAULT: &str = "default";
const DOCUMENTED: &str = "documented";

pub(crate) fn run(args: TuneArgs) -> Outcome {
    let TuneArgs {
        runtime,
        subject,
        app,
        set,
        cpus,
        memory,
        load,
        duration,
        objective,
        slo,
        budget,
        seed,
        out,
        resume,
        no_wait,
        topology,
        output,
        store,
        quiet,
    } = args;
    let compare = CompareFlags {
        subject: subject.map_or(SubjectFlag::Nothing, SubjectFlag::Named),
        app,
        set,
        cpus,
        memory,
        load,
        duration,
        slo,
        seed,
        no_yard_stick: true,
        topology: topology_flags(topology),
        ..CompareFlags::default()
    };
    let machine = stampede_platforms::machine();
    let plan = TunePlan::read(&TuneFlags { runtime, compare, objective, budget }, ground::size(&machine), &BuiltIn);
    let (plan, report) = Failure::both(plan.map_err(Failure::usage), Report::new(output))?;
    let space = space(&plan)?;
    if let Some(out) = &out {
        export::check(OUT, out, &plan.plan)?;
    }
    let path = folders::store(&store)?;
    let earlier = match &resume {
        Some(name) => Some(interrupted(&Store::open(&path).map_err(Failure::missing)?, name.as_deref())?),
        None => None,
    };
    let (id, seed) = match earlier {
        Some((id, seed)) => (id, seed),
        None => {
            let seed = plan.plan.seed.unwrap_or_else(|| u64::from(compare::random() as u32));
            (compare::name(Timestamp::now()).to_string(), seed)
        }
    };
    if let Err(error) = scope::enter(Path::new("/")) {
        screen::warning(&Failure::missing(error).message);
    }
    let pinning = CpuLayout::divide(&stampede_platforms::available_cpus(), plan.plan.limits.cpus.whole_cores());
    stampede_platforms::pin_to(&pinning.generator).map_err(Failure::missing)?;
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let mut tune = Tune {
        plan: TunePlan { plan: ComparePlan { seed: Some(seed), ..plan.plan.clone() }, ..plan.clone() },
        space,
        id,
        store: path,
        out,
        no_wait,
        quiet,
        copies: Copies::default(),
        tried: Vec::new(),
        held: Vec::new(),
    };
    let stop = Stop::default();
    let ended = executor.block_on(signals::heed(&stop, quiet, tune.measure(machine, pinning, &stop)));
    executor.shutdown_timeout(LAST_WAIT);
    tune.conclude(ended, &report)
}

/// The settings that are searched.
fn space(plan: &TunePlan) -> Result<Space, Failure> {
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

/// The search that was begun under this name, or the newest: its name and its seed.
fn interrupted(store: &Store, name: Option<&str>) -> Result<(String, u64), Failure> {
    let rows = store.studies().map_err(Failure::missing)?;
    let of_search = |id: &StudyId| id.as_str().split_once('.').map(|(search, _)| search.to_owned());
    let ours = rows.iter().filter(|row| row.kind == StudyKind::Tune && row.imported_at.is_none());
    let mut searches = ours.filter_map(|row| of_search(&row.id));
    let found = match name {
        Some(name) => searches.find(|search| search.starts_with(name)),
        None => searches.next(),
    };
    let Some(search) = found else {
        return Err(Failure::usage("--resume finds no search that was begun; leave it out to begin one"));
    };
    let StoredStudy { study, .. } = store.load(&race_id(&search, 1)).map_err(Failure::missing)?;
    Ok((search, study.seed))
}

fn race_id(search: &str, number: usize) -> String {
    format!("{search}.race{number:02}")
}

/// A search while it is made. Each race, and each comparison of its winner, is a study of its own.
struct Tune {
    plan: TunePlan,
    space: Space,
    id: String,
    store: PathBuf,
    out: Option<PathBuf>,
    no_wait: bool,
    quiet: bool,
    copies: Copies,
    tried: Vec<Tried>,
    /// The winner against what else there is, at each load.
    held: Vec<(f64, StoredStudy)>,
}

impl Tune {
    async fn measure(&mut self, machine: Machine, pinning: CpuLayout, stop: &Stop) -> Result<(), Failure> {
        let plan = self.plan.plan.clone();
        let order = self.order(&plan, &[], StudyKind::Tune, String::new());
        let site = Site::take(&order, machine, pinning, stop).await?;
        self.introduce();
        self.race(&site).await?;
        if stop.is_obeyed() {
            return Ok(());
        }
        let Some(winner) = best(&self.tried).map(|best| best.point.clone()) else {
            return Err(Failure {
                exit: Exit::TrialFailed,
                message: "no setting could be measured, the defaults neither; stampede show latest says why".to_owned(),
            });
        };
        self.hold(&site, &winner).await?;
        if let Some(out) = self.out.clone().filter(|_| !stop.is_obeyed()) {
            let tuned = self.tuned(TUNED, &self.settings(&winner))?;
            let (study, case) = self.measured(&winner)?;
            let next = export::config(OUT, &out, &tuned, study, case).await?;
            self.note(next.trim_end());
        }
        Ok(())
    }

    /// Races until the search has found what it can, or its budget is used up.
    async fn race(&mut self, site: &Site<'_>) -> Result<(), Failure> {
        // What the records of the first race suggest of the defaults.
        let mut suspected = None;
        let (mut spent, mut longest, mut first) = (Duration::ZERO, Duration::ZERO, None);
        for number in 1.. {
            if number > 1 && spent + longest > self.plan.budget.search {
                self.note("the time of the search is used up");
                return Ok(());
            }
            let seed = self.plan.plan.seed.unwrap_or_default();
            let search = Search::new(&self.space, seed, self.plan.budget.points).suspecting(suspected);
            let allowed = |point: &Point| self.tuned("", &self.settings(point)).is_ok();
            let next = search.next(&self.tried, &allowed);
            if next.is_empty() {
                return Ok(());
            }
            let names: Vec<String> = next.iter().map(|point| self.space.name(point)).collect();
            self.note(&format!("race {number}: {}", names.join("; ")));
            let plans = next
                .iter()
                .zip(&names)
                .map(|(point, name)| self.tuned(name, &self.settings(point)))
                .collect::<Result<Vec<_>, _>>()?;
            let race = self.study(site, race_id(&self.id, number), StudyKind::Tune, &plans).await?;
            let Some(race) = race else { return Ok(()) };
            let StoredStudy { study, finished_at, trials, .. } = race;
            let took = took(&study, &trials, finished_at);
            (spent, longest) = (spent + took, longest.max(took));
            if number == 1 {
                let analysis = analyse(&study, &trials);
                let default = analysis.case(&CaseId::new(self.space.name(&self.space.default)));
                suspected = default.and_then(|summary| summary.bottleneck.as_ref()?.role());
            }
            let known = |tried: &Tried| CaseId::new(self.space.name(&tried.point));
            let scored: Vec<CaseId> = self.tried.iter().filter(|tried| tried.score.is_some()).map(known).collect();
            let RaceScores { reference, beside, alone } = RaceScores::of(&study, &trials, &scored);
            let first = *first.get_or_insert(alone);
            let base = match self.tried.iter().find(|tried| Some(known(tried)) == reference) {
                Some(known) => known.score,
                // Where nothing ties it to the races before, it is held against the first one as if nothing had drifted.
                None => alone.zip(first).map(|(alone, first)| alone - first),
            };
            for (point, name) in next.into_iter().zip(names) {
                if self.tried.iter().all(|tried| tried.point != point) {
                    let beside = beside.get(&CaseId::new(name)).copied().flatten();
                    self.tried.push(Tried { score: beside.zip(base).map(|(score, base)| score + base), point });
                }
            }
        }
        Ok(())
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
            // The defaults alone have only the SLO to be held against.
            if of_load.len() < 2 && (share != 1.0 || self.plan.plan.slo.is_none()) {
                continue;
            }
            self.note(&format!("the winner, {}, at load {load}", self.space.name(winner)));
            let id = format!("{}.load{:03.0}", self.id, share * 100.0);
            let held = self.study(site, id, StudyKind::Compare, &of_load).await?;
            let Some(held) = held else { return Ok(()) };
            self.held.push((share, held));
        }
        Ok(())
    }

    /// The case that measured the winner, and its study: that of the last comparisons, or where defaults that won were held against
    /// nothing, the first race.
    fn measured(&self, winner: &Point) -> Result<(Study, Case), Failure> {
        let (study, id) = match self.held.first() {
            Some((_, held)) if *winner == self.space.default => (held.study.clone(), DEFAULT.to_owned()),
            Some((_, held)) => (held.study.clone(), TUNED.to_owned()),
            None => {
                let store = Store::open(&self.store).map_err(Failure::missing)?;
                (store.load(&race_id(&self.id, 1)).map_err(Failure::missing)?.study, self.space.name(winner))
            }
        };
        let case = study.cases.iter().find(|case| case.id.as_str() == id).cloned();
        let case = case.ok_or_else(|| Failure::missing(format!("study {} has no case {id}", study.id)))?;
        Ok((study, case))
    }

    /// What the runtime's own documentation has, where nothing of it was given otherwise.
    fn documented(&self) -> Option<Documented> {
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

    /// A study of these plans: measured now, gone on with, or as it was measured before the search was interrupted. None where it
    /// was asked to end before it was complete.
    async fn study(
        &mut self,
        site: &Site<'_>,
        id: String,
        kind: StudyKind,
        plans: &[ComparePlan],
    ) -> Result<Option<StoredStudy>, Failure> {
        if site.stop.obey() {
            return Ok(None);
        }
        let store = Store::open(&self.store).map_err(Failure::missing)?;
        let earlier = match store.load(&id) {
            Ok(earlier) => Some(earlier),
            Err(StoreError::Unknown { .. }) => None,
            Err(error) => return Err(Failure::missing(error)),
        };
        let mut record = Record::new(store);
        if let Some(earlier) = &earlier {
            record.go_on_with(earlier.clone());
        }
        let [first, beside @ ..] = plans else { return Err(Failure::usage("nothing is to be measured")) };
        let order = self.order(first, beside, kind, id);
        let mut copies = std::mem::take(&mut self.copies);
        let conducted = compare::conduct(&order, site, &mut copies, &mut record).await;
        self.copies = copies;
        conducted?;
        if let Some(finished) = earlier.filter(|earlier| earlier.finished_at.is_some()) {
            return Ok(Some(finished));
        }
        if site.stop.is_obeyed() {
            return Ok(None);
        }
        let study = record.study().cloned().ok_or_else(|| Failure::missing("the study was not begun"))?;
        let finished_at = Timestamp::now();
        record.store().finish_study(&study.id, finished_at).map_err(Failure::missing)?;
        let (trials, yard_stick) = (record.trials().to_vec(), record.yard_stick().to_vec());
        Ok(Some(StoredStudy { study, finished_at: Some(finished_at), trials, yard_stick }))
    }

    fn order<'a>(&self, plan: &'a ComparePlan, beside: &'a [ComparePlan], kind: StudyKind, id: String) -> Order<'a> {
        Order {
            plan,
            beside,
            id: Some(StudyId::new(id)),
            kind,
            metric: Some(objective_metric(self.plan.objective).to_owned()),
            resume: None,
            backend: BackendChoice::default(),
            no_wait: self.no_wait,
            quiet: self.quiet,
        }
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
        self.note(&format!(
            "{}: at most {} of {} settings for {}: {}",
            self.id,
            self.plan.budget.points.min(self.space.size()),
            self.space.size(),
            self.plan.objective.name(),
            knobs.join("; ")
        ));
    }

    fn note(&self, text: &str) {
        if !self.quiet {
            screen::note(&paragraph(text, 2, screen::width()));
        }
    }

    fn conclude(&self, ended: Result<Ended, Failure>, report: &Report) -> Outcome {
        if let Ok(Ended::Interrupted) = ended {
            screen::warning(&format!(
                "interrupted; what was measured is kept, and the same command with --resume {} goes on",
                self.id
            ));
            return Ok(Exit::Interrupted);
        }
        ended?;
        let Some(winner) = best(&self.tried) else { return Ok(Exit::TrialFailed) };
        let analyses: Vec<_> = self.held.iter().map(|(_, held)| analyse(&held.study, &held.trials)).collect();
        let held: Vec<Held<'_>> = self
            .held
            .iter()
            .zip(&analyses)
            .map(|((share, stored), analysis)| {
                let StoredStudy { study, finished_at, trials, yard_stick } = stored;
                Held {
                    share: *share,
                    view: StudyView { study, finished_at: *finished_at, trials, yard_stick, analysis },
                }
            })
            .collect();
        let views: Vec<StudyView<'_>> = held.iter().map(|held| held.view).collect();
        let key = objective_metric(self.plan.objective);
        let Some(metric) = metric(key) else { return Ok(Exit::Done) };
        let documented = self.documented();
        let view = TuneView {
            id: &self.id,
            limits: &self.plan.plan.limits,
            runtime: self.plan.plan.candidates.first().map(|candidate| candidate.runtime.id()),
            workload: self.plan.plan.workload.id.as_str(),
            load: &self.plan.plan.load,
            objective: self.plan.objective,
            slo: self.plan.plan.slo.as_ref(),
            metric,
            space: &self.space,
            tried: &self.tried,
            winner,
            documented: documented.as_ref().map(|documented| documented.source),
            held: &held,
            out: self.out.as_deref(),
        };
        report.put_all(&Renderers {
            json: &|| page::json(&view),
            markdown: &|| page::markdown(&view),
            html: &|| stampede_report::html::tune(&view),
            csv: &|| stampede_report::csv::render(&views),
            terminal: &|width, colour| page::terminal(&view, width, colour),
        })?;
        Ok(self.exit(&held))
    }

    /// A winner that misses the SLO is no success.
    fn exit(&self, held: &[Held<'_>]) -> Exit {
        if !page::missed(held, self.plan.plan.slo.as_ref()).is_empty() {
            return Exit::GateFailed;
        }
        let exits = self.held.iter().map(|(_, held)| compare::exit_of(Some(&held.study), &held.trials));
        let exits: Vec<Exit> = exits.collect();
        [Exit::TrialFailed, Exit::Invalid].into_iter().find(|exit| exits.contains(exit)).unwrap_or(Exit::Done)
    }
}
