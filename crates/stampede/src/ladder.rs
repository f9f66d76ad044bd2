//! `stampede tune --steps`: a deployment that is made better one change at a time, each by what the records before it say.

use std::collections::BTreeSet;

use stampede_analysis::{Metric, Move, Proposal, Room, analyse, is_kept, metric, objective_metric, proposals, score};
use stampede_core::{CpuLayout, Failures, Machine, Objective, ProcessModel, RuntimeId, StudyKind};
use stampede_harness::{Copies, Stop};
use stampede_plan::{ComparePlan, LadderFlags, LadderPlan, Rung};
use stampede_report::StudyView;
use stampede_report::ladder::{self as page, FIRST, LAST, LadderStep, LadderView};
use stampede_store::StoredStudy;

use crate::args::{OutputArgs, StoreArgs};
use crate::catalogue::BuiltIn;
use crate::compare::{self, Ended, Site};
use crate::exit::{Exit, Failure};
use crate::sequence::Sequence;
use crate::show::{Renderers, Report};
use crate::{Outcome, figure, folders, ground};

/// Blocks in which the last deployment is held against the first: the least for a verdict.
const BLOCKS: u32 = 3;

/// What is not of the plan.
pub(crate) struct Climb {
    pub(crate) metric: Option<String>,
    pub(crate) resume: Option<Option<String>>,
    pub(crate) no_wait: bool,
    pub(crate) quiet: bool,
    pub(crate) output: OutputArgs,
    pub(crate) store: StoreArgs,
}

pub(crate) fn run(flags: &LadderFlags, machine: Machine, climb: Climb) -> Outcome {
    let Climb { metric: key, resume, no_wait, quiet, output, store } = climb;
    let plan = LadderPlan::read(flags, ground::size(&machine), &BuiltIn);
    let (plan, report) = Failure::both(plan.map_err(Failure::usage), Report::new(output))?;
    let key = figure::read(key)?.unwrap_or_else(|| objective_metric(Objective::Throughput).to_owned());
    let Some(metric) = metric(&key) else { return Err(Failure::usage(format!("--metric {key} is not known"))) };
    let path = folders::store(&store)?;
    let (id, seed) = Sequence::begin(&path, resume.as_ref(), &step_name(1), plan.plan.seed)?;
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
        best: None,
        held: None,
    };
    let stop = Stop::default();
    let ended = Sequence::attend(cores, quiet, &stop, async |pinning| ladder.measure(machine, pinning, &stop).await)?;
    ladder.conclude(ended, &report)
}

fn step_name(number: usize) -> String {
    format!("step{number:02}")
}

/// The best deployment so far.
struct Best {
    rung: Rung,
    score: f64,
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
    best: Option<Best>,
    /// The last deployment against the first.
    held: Option<StoredStudy>,
}

impl Ladder {
    async fn measure(&mut self, machine: Machine, pinning: CpuLayout, stop: &Stop) -> Result<(), Failure> {
        let Some(first) = self.plan.first() else { return Err(Failure::usage("nothing is to be tuned")) };
        let plan = self.rung_plan(FIRST, &first, 1)?;
        let site = self.sequence.site(&plan, machine, pinning, stop).await?;
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
        let model = others.iter().find(|(id, _)| *id == best.rung.runtime).map(|(_, model)| *model)?;
        let proposed = proposals(study, trials, study.cases.first()?, Room { model, others: &others });
        proposed.into_iter().filter(|proposal| !undone.contains(&proposal.name)).find_map(|proposal| {
            let rung = self.after(&best.rung, &proposal.change)?;
            self.plan.at(&proposal.name, &rung, 1).ok()?;
            Some((proposal, rung))
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
        let scored = trial.and_then(|trial| score(study, trial));
        let kept = is_kept(self.best.as_ref().map(|best| best.score), scored);
        let step = LadderStep {
            study: study.id.to_string(),
            change,
            reason,
            figure: trial.and_then(|trial| (self.metric.reader)(trial)).filter(|_| scored.is_some()),
            p99_us: metric("response_p99_us").zip(trial).and_then(|(metric, trial)| (metric.reader)(trial)),
            kept,
        };
        if let Some(score) = scored.filter(|_| kept) {
            self.best = Some(Best { rung, score, step: self.steps.len() });
        }
        self.steps.push(step);
        self.measured.push(stored);
        Ok(true)
    }

    /// Holds the last deployment against the first, in blocks that had no part in choosing it.
    async fn hold(&mut self, site: &Site<'_>, first: &Rung) -> Result<(), Failure> {
        let Some(best) = self.best.as_ref().filter(|best| best.step > 0) else { return Ok(()) };
        let plans = [self.rung_plan(LAST, &best.rung.clone(), BLOCKS)?, self.rung_plan(FIRST, first, BLOCKS)?];
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
            held: self.held.as_ref().map(|_| *last),
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
