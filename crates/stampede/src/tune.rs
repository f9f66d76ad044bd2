//! `stampede tune`: which settings are best for this runtime under these limits?

use std::path::PathBuf;
use std::time::Duration;

use stampede_analysis::{Point, RaceScores, Search, Space, Tried, analyse, best, metric, objective_metric, took};
use stampede_core::{Case, CaseId, CpuLayout, DefaultsContext, Documented, Failures, Rounds, Study, StudyKind, Tuning};
use stampede_harness::{Copies, Stop};
use stampede_plan::{CompareFlags, ComparePlan, LadderFlags, SubjectFlag, TuneFlags, TunePlan};
use stampede_report::StudyView;
use stampede_report::tune::{self as page, Held, TuneView};
use stampede_store::{Store, StoredStudy};

use crate::args::TuneArgs;
use crate::catalogue::BuiltIn;
use crate::compare::{self, Site, topology_flags};
use crate::exit::{Exit, Failure};
use crate::host::{self, Ended, Host};
use crate::ladder::Climb;
use crate::sequence::Sequence;
use crate::show::{Renderers, Report};
use crate::{Outcome, export, folders, ladder};

/// The flag that names the folder of the winner's files.
const OUT: &str = "--out";
/// The cases of the verdicts.
const TUNED: &str = "tuned";
const DEFAULT: &str = "default";
const DOCUMENTED: &str = "documented";

pub(crate) fn run(args: TuneArgs, host: &dyn Host) -> Outcome {
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
        steps,
        others,
        against,
        ini,
        metric: figure,
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
    if let Some(steps) = steps {
        let flags = LadderFlags { runtime, others, ini, steps, compare };
        return ladder::run(&flags, host, Climb { metric: figure, against, resume, no_wait, quiet, output, store });
    }
    let plan = TunePlan::read(&TuneFlags { runtime, compare, objective, budget }, host.size(), &BuiltIn);
    let (plan, report) = Failure::both(plan.map_err(Failure::usage), Report::new(output))?;
    let space = space(&plan)?;
    if let Some(out) = &out {
        export::check(OUT, out, &plan.plan)?;
    }
    host.settle();
    let path = folders::store(&store)?;
    let (id, seed) = Sequence::begin(&path, resume.as_ref(), &race_name(1), plan.plan.seed, host)?;
    let cores = plan.plan.limits.cpus.whole_cores();
    let mut tune = Tune {
        plan: TunePlan { plan: ComparePlan { seed: Some(seed), ..plan.plan.clone() }, ..plan.clone() },
        space,
        sequence: Sequence {
            id,
            metric: objective_metric(plan.objective).to_owned(),
            failures: Failures::Faults,
            store: path,
            no_wait,
            quiet,
            copies: Copies::default(),
        },
        out,
        tried: Vec::new(),
        held: Vec::new(),
    };
    let stop = Stop::default();
    let ended = host::attend(host, cores, quiet, &stop, |pinning| tune.measure(host, pinning, &stop))?;
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

fn race_name(number: usize) -> String {
    format!("race{number:02}")
}

/// A search while it is made. Each race, and each comparison of its winner, is a study of its own.
struct Tune {
    plan: TunePlan,
    space: Space,
    sequence: Sequence,
    out: Option<PathBuf>,
    tried: Vec<Tried>,
    /// The winner against what else there is, at each load.
    held: Vec<(f64, StoredStudy)>,
}

impl Tune {
    async fn measure(&mut self, host: &dyn Host, pinning: CpuLayout, stop: &Stop) -> Result<(), Failure> {
        let plan = self.plan.plan.clone();
        let site = self.sequence.site(host, &plan, pinning, stop).await?;
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
            self.sequence.note(next.trim_end());
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
                self.sequence.note("the time of the search is used up");
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
            self.sequence.note(&format!("race {number}: {}", names.join("; ")));
            let plans = next
                .iter()
                .zip(&names)
                .map(|(point, name)| self.tuned(name, &self.settings(point)))
                .collect::<Result<Vec<_>, _>>()?;
            let race =
                self.sequence.study(site, self.sequence.name(&race_name(number)), StudyKind::Tune, &plans).await?;
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
            self.sequence.note(&format!("the winner, {}, at load {load}", self.space.name(winner)));
            let id = self.sequence.name(&format!("load{:03.0}", share * 100.0));
            let held = self.sequence.study(site, id, StudyKind::Compare, &of_load).await?;
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

    fn conclude(&self, ended: Result<Ended, Failure>, report: &Report) -> Outcome {
        if let Ok(Ended::Interrupted) = ended {
            self.sequence.was_interrupted();
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
            id: &self.sequence.id,
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
