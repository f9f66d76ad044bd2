//! A deployment that is made better one change at a time, each by what the records before it say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use stampede_analysis::{FIRST, LAST, LadderStep, Metric, Move, Proposal, Reached, Room, proposals};
use stampede_core::{CpuLayout, Failures, ProcessModel, RuntimeId, StudyKind, Topology};
use stampede_harness::{Copies, Stop};
use stampede_plan::{ComparePlan, LadderPlan, Rung};
use stampede_store::StoredStudy;

use crate::exit::{Exit, Failure};
use crate::host::{Bench, Ended, attend};
use crate::sequence::Sequence;
use crate::site::Site;

/// Blocks in which the last deployment is compared with the first: the least for a verdict.
const BLOCKS: u32 = 3;

fn step_name(number: usize) -> String {
    format!("step{number:02}")
}

/// A deployment that had no part in the steps.
#[derive(Clone, Debug)]
pub struct Beside {
    /// As it was asked for.
    pub name: String,
    /// The deployment.
    pub rung: Rung,
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
pub struct Ladder<'a> {
    plan: LadderPlan,
    metric: &'static Metric,
    sequence: Sequence<'a>,
    steps: Vec<LadderStep>,
    measured: Vec<StoredStudy>,
    /// What was tried: a step that leads back to it tells nothing.
    tried: Vec<Deployed>,
    best: Option<Best>,
    beside: Option<Beside>,
    held: Option<StoredStudy>,
}

impl<'a> Ladder<'a> {
    /// Begins steps in the store at this path, or resumes some: of this name, or the newest. Their end is compared with the first,
    /// and with another deployment where one is given.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or has no such steps.
    pub fn begin(
        bench: Bench<'a>,
        plan: LadderPlan,
        metric: &'static Metric,
        beside: Option<Beside>,
        store: PathBuf,
        resume: Option<&Option<String>>,
    ) -> Result<Self, Failure> {
        bench.host.settle();
        let (id, seed) = Sequence::begin(&store, resume, (StudyKind::Tune, &step_name(1)), plan.plan.seed, bench)?;
        // What a deployment cannot take is what its steps are to change.
        let failures = Failures::Figures;
        let (metric_key, copies) = (metric.key.to_owned(), Copies::default());
        Ok(Self {
            plan: LadderPlan { plan: ComparePlan { seed: Some(seed), ..plan.plan.clone() }, ..plan },
            metric,
            sequence: Sequence { bench, id, metric: metric_key, failures, store, copies, is_told: false },
            steps: Vec::new(),
            measured: Vec::new(),
            tried: Vec::new(),
            best: None,
            beside,
            held: None,
        })
    }

    /// Makes the steps: how that ended.
    ///
    /// # Errors
    ///
    /// When they could not begin.
    pub fn carry_out(&mut self) -> Result<Result<Ended, Failure>, Failure> {
        let (bench, stop) = (self.sequence.bench, Stop::default());
        let cores = self.plan.plan.limits.cpus.whole_cores();
        attend(bench, cores, &stop, |pinning| self.measure(pinning, &stop))
    }

    /// The name of it all.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.sequence.id
    }

    /// What is made better, with the seed that was drawn where none was given.
    #[must_use]
    pub fn plan(&self) -> &LadderPlan {
        &self.plan
    }

    /// What was tried.
    #[must_use]
    pub fn steps(&self) -> &[LadderStep] {
        &self.steps
    }

    /// The study of each step.
    #[must_use]
    pub fn measured(&self) -> &[StoredStudy] {
        &self.measured
    }

    /// The best deployment; nothing where none could be measured.
    #[must_use]
    pub fn best(&self) -> Option<&Rung> {
        self.best.as_ref().map(|best| &best.rung)
    }

    /// What the end is compared with beside the first.
    #[must_use]
    pub fn beside(&self) -> Option<&Beside> {
        self.beside.as_ref()
    }

    /// The comparison at the end, where there was one.
    #[must_use]
    pub fn held(&self) -> Option<&StoredStudy> {
        self.held.as_ref()
    }

    async fn measure(&mut self, pinning: CpuLayout, stop: &Stop) -> Result<(), Failure> {
        let Some(first) = self.plan.first() else { return Err(Failure::usage("nothing is to be tuned")) };
        let plan = self.rung_plan(FIRST, &first, 1)?;
        let site = self.sequence.site("tune", &plan, pinning, stop).await?;
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
                message: "the given configuration could not be measured; stampede show latest shows why".to_owned(),
            });
        }
        // What gained nothing is not tried again.
        let mut undone = BTreeSet::new();
        while self.steps.len() < self.plan.steps as usize {
            let Some((proposal, rung)) = self.next(&undone) else {
                self.sequence.note("the findings suggest nothing else");
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
        plans.iter_mut().for_each(|plan| plan.slo = None);
        self.sequence.note("the last beside the first");
        let id = self.sequence.name("held");
        self.held = self.sequence.study(site, id, StudyKind::Compare, &plans).await?;
        Ok(())
    }

    fn rung_plan(&self, id: &str, rung: &Rung, rounds: u32) -> Result<ComparePlan, Failure> {
        let plan = self.plan.at(id, rung, rounds);
        plan.map_err(|problem| Failure::usage(format!("{}: {}; {}", problem.tunable, problem.problem, problem.fix)))
    }
}
