//! `stampede tune --steps`: a deployment that is made better one change at a time, each by what the records before it say.

use std::collections::{BTreeMap, BTreeSet};

use stampede_analysis::{Metric, Move, Proposal, Reached, Room, analyse, metric, objective_metric, proposals};
use stampede_core::{CpuLayout, Failures, Objective, ProcessModel, RuntimeId, Study, StudyKind, Topology};
use stampede_harness::{Copies, Stop};
use stampede_plan::{ComparePlan, LadderFlags, LadderPlan, MachineSize, ReproduceFlags, Rung, read_row};
use stampede_report::StudyView;
use stampede_report::ladder::{self as page, FIRST, LAST, LadderStep, LadderView};
use stampede_store::StoredStudy;

use crate::args::{OutputArgs, StoreArgs};
use crate::catalogue::BuiltIn;
use crate::compare::{self, Site};
use crate::exit::{Exit, Failure};
use crate::host::{self, Ended, Host};
use crate::sequence::Sequence;
use crate::show::{Renderers, Report};
use crate::{Outcome, figure, folders, reproduce};

/// Blocks in which the last deployment is held against the first: the least for a verdict.
const BLOCKS: u32 = 3;

/// What decides between deployments that answer as much, by its key.
const P99: &str = "response_p99_us";

/// What is not of the plan.
pub(crate) struct Climb {
    pub(crate) metric: Option<String>,
    pub(crate) against: Option<String>,
    pub(crate) resume: Option<Option<String>>,
    pub(crate) no_wait: bool,
    pub(crate) quiet: bool,
    pub(crate) output: OutputArgs,
    pub(crate) store: StoreArgs,
}

pub(crate) fn run(flags: &LadderFlags, host: &dyn Host, climb: Climb) -> Outcome {
    let Climb { metric: key, against, resume, no_wait, quiet, output, store } = climb;
    let plan = LadderPlan::read(flags, host.size(), &BuiltIn);
    let (plan, report) = Failure::both(plan.map_err(Failure::usage), Report::new(output))?;
    let key = figure::read(key)?.unwrap_or_else(|| objective_metric(Objective::Throughput).to_owned());
    let Some(metric) = metric(&key) else { return Err(Failure::usage(format!("--metric {key} is not known"))) };
    let beside = against.map(|against| beside(&against, &plan, host.size())).transpose()?;
    host.settle();
    let path = folders::store(&store)?;
    let (id, seed) = Sequence::begin(&path, resume.as_ref(), &step_name(1), plan.plan.seed, host)?;
    let cores = plan.plan.limits.cpus.whole_cores();
    let mut ladder = Ladder {
        plan: LadderPlan { plan: ComparePlan { seed: Some(seed), ..plan.plan.clone() }, ..plan },
        metric,
        sequence: Sequence {
            id,
            metric: key,
            // What a deployment cannot take is what its steps are to change.
            failures: Failures::Figures,
            store: path,
            no_wait,
            quiet,
            copies: Copies::default(),
        },
        steps: Vec::new(),
        measured: Vec::new(),
        tried: Vec::new(),
        best: None,
        beside,
        held: None,
    };
    let stop = Stop::default();
    let ended = host::attend(host, cores, quiet, &stop, |pinning| ladder.measure(host, pinning, &stop))?;
    ladder.conclude(ended, &report)
}

fn step_name(number: usize) -> String {
    format!("step{number:02}")
}

/// A deployment that had no part in the steps.
struct Beside {
    /// As it was asked for.
    name: String,
    rung: Rung,
}

/// A row of an experiment: `rinha/task-workers`.
fn beside(asked: &str, plan: &LadderPlan, machine: MachineSize) -> Result<Beside, Failure> {
    let Some((experiment, row)) = asked.rsplit_once('/') else {
        return Err(Failure::usage(format!("--against {asked} names no row: --against rinha/task-workers")));
    };
    let (name, known) = reproduce::experiments(experiment.to_owned())?;
    let flags = ReproduceFlags { name, ..ReproduceFlags::default() };
    let row = read_row(&flags, row, &known, machine, &BuiltIn);
    let rung = row.and_then(|row| plan.of_plan(asked, &row)).map_err(Failure::usage)?;
    Ok(Beside { name: asked.to_owned(), rung })
}

/// A deployment with all its settings, whether they were given or are its runtime's defaults.
#[derive(PartialEq)]
struct Deployed {
    runtime: RuntimeId,
    settings: BTreeMap<String, String>,
    ini: BTreeMap<String, String>,
    topology: Topology,
}

impl Deployed {
    /// What a plan of one case deploys.
    fn of(plan: &ComparePlan) -> Option<Self> {
        let candidate = plan.candidates.first()?;
        let settings = candidate.tuning.iter().map(|(name, setting)| (name.to_owned(), setting.value.clone()));
        Some(Self {
            runtime: candidate.runtime.id(),
            settings: settings.collect(),
            ini: candidate.app.ini.clone(),
            topology: plan.topology.clone(),
        })
    }
}

/// The best deployment so far.
struct Best {
    rung: Rung,
    reached: Reached,
    /// Its place among the steps.
    step: usize,
}

/// Steps while they are made. Each is a study of its own.
struct Ladder {
    plan: LadderPlan,
    metric: &'static Metric,
    sequence: Sequence,
    steps: Vec<LadderStep>,
    /// The study of each step.
    measured: Vec<StoredStudy>,
    /// What was tried: a step that leads back to it tells nothing.
    tried: Vec<Deployed>,
    best: Option<Best>,
    /// What the end is held against beside the first.
    beside: Option<Beside>,
    /// The last deployment against the first.
    held: Option<StoredStudy>,
}

impl Ladder {
    async fn measure(&mut self, host: &dyn Host, pinning: CpuLayout, stop: &Stop) -> Result<(), Failure> {
        let Some(first) = self.plan.first() else { return Err(Failure::usage("nothing is to be tuned")) };
        let plan = self.rung_plan(FIRST, &first, 1)?;
        let site = self.sequence.site(host, &plan, pinning, stop).await?;
        self.sequence.note(&format!(
            "{}: at most {} steps for {}, from {}",
            self.sequence.id, self.plan.steps, self.metric.title, first.runtime
        ));
        if !self.step(&site, first.clone(), None).await? {
            return Ok(());
        }
        if self.best.is_none() {
            return Err(Failure {
                exit: Exit::TrialFailed,
                message: "what was given could not be measured; stampede show latest says why".to_owned(),
            });
        }
        // What gained nothing is not tried again.
        let mut undone = BTreeSet::new();
        while self.steps.len() < self.plan.steps as usize {
            let Some((proposal, rung)) = self.next(&undone) else {
                self.sequence.note("nothing is left that the records point to");
                break;
            };
            undone.insert(proposal.name.clone());
            self.sequence.note(&format!("step {}: {}: {}", self.steps.len() + 1, proposal.name, proposal.reason));
            if !self.step(&site, rung, Some(proposal)).await? {
                return Ok(());
            }
        }
        self.hold(&site, &first).await
    }

    /// The first change that was not tried yet and can be made.
    fn next(&mut self, undone: &BTreeSet<String>) -> Option<(Proposal, Rung)> {
        let best = self.best.as_ref()?;
        let StoredStudy { study, trials, .. } = self.measured.get(best.step)?;
        let others: Vec<(RuntimeId, ProcessModel)> = self
            .plan
            .plan
            .candidates
            .iter()
            .map(|candidate| (candidate.runtime.id(), candidate.runtime.process_model()))
            .collect();
        let runtime = self.plan.candidate(&best.rung.runtime)?.runtime;
        let room = Room { model: runtime.process_model(), tunables: runtime.tunables(), others: &others };
        let proposed = proposals(study, trials, study.cases.first()?, room);
        proposed.into_iter().filter(|proposal| !undone.contains(&proposal.name)).find_map(|proposal| {
            let rung = self.after(&best.rung, &proposal.change)?;
            let deployed = Deployed::of(&self.plan.at(&proposal.name, &rung, 1).ok()?)?;
            (!self.tried.contains(&deployed)).then_some((proposal, rung))
        })
    }

    /// The deployment with a change.
    fn after(&self, rung: &Rung, change: &Move) -> Option<Rung> {
        let mut next = rung.clone();
        match change {
            Move::Ini(settings) => {
                next.ini.extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
            }
            Move::Settings(settings) => settings.iter().for_each(|(name, value)| next.given.give(name, value)),
            Move::Topology(topology) => next.topology = topology.clone(),
            Move::Runtime(runtime) => {
                next = Rung { ini: next.ini, ..self.plan.of_runtime(runtime, &next.topology)? };
            }
        }
        Some(next)
    }

    /// Measures a deployment, and keeps it where it is better. False where it was asked to end before that.
    async fn step(&mut self, site: &Site<'_>, rung: Rung, proposal: Option<Proposal>) -> Result<bool, Failure> {
        let (change, reason) = proposal.map_or_else(Default::default, |one| (Some(one.name), one.reason));
        let plan = self.rung_plan(change.as_deref().unwrap_or(FIRST), &rung, 1)?;
        self.tried.extend(Deployed::of(&plan));
        let id = self.sequence.name(&step_name(self.steps.len() + 1));
        let stored = match self.sequence.study(site, id, StudyKind::Tune, &[plan]).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return Ok(false),
            // A runtime that is not here cannot take the place of another, and is no step.
            Err(failure) if failure.exit == Exit::Missing && change.is_some() => {
                self.sequence.note(&failure.message);
                return Ok(true);
            }
            Err(failure) => return Err(failure),
        };
        let StoredStudy { study, trials, .. } = &stored;
        let trial = trials.first();
        let reached = trial.and_then(|trial| Reached::of(study, trial));
        let kept =
            reached.is_some_and(|reached| self.best.as_ref().is_none_or(|best| reached.is_beyond(&best.reached)));
        let step = LadderStep {
            study: study.id.to_string(),
            change,
            reason,
            figure: trial.and_then(|trial| (self.metric.reader)(trial)).filter(|_| reached.is_some()),
            p99_us: reached.and_then(|reached| reached.p99_us),
            kept,
        };
        if let Some(reached) = reached.filter(|_| kept) {
            self.best = Some(Best { rung, reached, step: self.steps.len() });
        }
        self.steps.push(step);
        self.measured.push(stored);
        Ok(true)
    }

    /// Holds the last deployment against the first, in blocks that had no part in choosing it.
    async fn hold(&mut self, site: &Site<'_>, first: &Rung) -> Result<(), Failure> {
        let Some(best) = self.best.as_ref().filter(|best| best.step > 0) else { return Ok(()) };
        let mut plans = vec![self.rung_plan(LAST, &best.rung.clone(), BLOCKS)?, self.rung_plan(FIRST, first, BLOCKS)?];
        if let Some(Beside { name, rung }) = &self.beside {
            plans.push(self.rung_plan(name, rung, BLOCKS)?);
        }
        self.sequence.note("the last beside the first");
        let id = self.sequence.name("held");
        self.held = self.sequence.study(site, id, StudyKind::Compare, &plans).await?;
        Ok(())
    }

    fn rung_plan(&self, id: &str, rung: &Rung, rounds: u32) -> Result<ComparePlan, Failure> {
        let plan = self.plan.at(id, rung, rounds);
        plan.map_err(|problem| Failure::usage(format!("{}: {}; {}", problem.tunable, problem.problem, problem.fix)))
    }

    fn conclude(&self, ended: Result<Ended, Failure>, report: &Report) -> Outcome {
        if let Ok(Ended::Interrupted) = ended {
            self.sequence.was_interrupted();
            return Ok(Exit::Interrupted);
        }
        ended?;
        let Some(best) = &self.best else { return Ok(Exit::TrialFailed) };
        let state = state(&best.rung);
        let analyses: Vec<_> =
            self.measured.iter().chain(&self.held).map(|stored| analyse(&stored.study, &stored.trials)).collect();
        let views: Vec<StudyView<'_>> = self
            .measured
            .iter()
            .chain(&self.held)
            .zip(&analyses)
            .map(|(StoredStudy { study, finished_at, trials, yard_stick }, analysis)| StudyView {
                study,
                finished_at: *finished_at,
                trials,
                yard_stick,
                analysis,
            })
            .collect();
        let held_by_p99 = self.held.as_ref().map(|StoredStudy { study, trials, .. }| {
            analyse(&Study { metric: Some(P99.to_owned()), ..study.clone() }, trials)
        });
        let Some(last) = views.last() else { return Ok(Exit::TrialFailed) };
        let load = views.first().and_then(|view| Some(view.study.cases.first()?.whole_load())).unwrap_or_default();
        let view = LadderView {
            id: &self.sequence.id,
            workload: self.plan.plan.workload.id.as_str(),
            load: &load,
            limits: &self.plan.plan.limits,
            metric: self.metric,
            steps: &self.steps,
            state: &state,
            beside: self.beside.as_ref().map(|beside| beside.name.as_str()),
            held: self.held.as_ref().map(|_| *last),
            held_by_p99: held_by_p99.as_ref(),
        };
        report.put_all(&Renderers {
            json: &|| page::json(&view),
            markdown: &|| page::markdown(&view),
            html: &|| stampede_report::html::study(last),
            csv: &|| stampede_report::csv::render(&views),
            terminal: &|width, colour| page::terminal(&view, width, colour),
        })?;
        let exit = self.held.as_ref().map(|held| compare::exit_of(Some(&held.study), &held.trials));
        Ok(exit.filter(|exit| [Exit::TrialFailed, Exit::Invalid].contains(exit)).unwrap_or(Exit::Done))
    }
}

/// What a deployment has, a line each.
fn state(rung: &Rung) -> Vec<String> {
    let Rung { runtime, given, ini, topology } = rung;
    let settings: Vec<String> =
        given.iter().map(|(name, setting)| format!("--set {runtime}.{name}={}", setting.value)).collect();
    let ini: Vec<String> = ini.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut lines = vec![runtime.to_string()];
    lines.extend((!settings.is_empty()).then(|| settings.join(" ")));
    lines.extend((!ini.is_empty()).then(|| format!("php.ini: {}", ini.join(", "))));
    lines.extend((!topology.is_default()).then(|| topology.to_string()));
    lines
}
