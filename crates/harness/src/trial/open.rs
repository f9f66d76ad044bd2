//! A deployment that is up, from its launch until it is stopped.

use std::sync::Arc;
use std::time::Duration;

use stampede_core::{AuditRecord, Case, EnforcedLimits, Failures, Limit, Outcome, ReadyBy, Trial};
use stampede_seam::{
    InsideTargets, LaunchError, LoadExchange, LoadOrder, LoadSpec, Moment, Platform, Running, Scenario, Template,
    TurnSpan,
};

use super::judge::{explain, judge, unlaunched, with_fixes};
use crate::audit::StepAnswers;
use crate::context::{Place, Timing, TrialContext};
use crate::early_stop::Watch;
use crate::event::{Event, Phase, Sink, SinkError};
use crate::measure::{MeasureError, Measured, SampleOrder, measure};
use crate::prepare::Prepared;
use crate::ready::Front;
use crate::turns::{Alternating, Pace, TurnEnd};
use crate::verify::Verification;
use crate::{audit, parts, php, ready, sessions};

/// A deployment that is up and answers rightly. Dropping it ends it.
pub(crate) struct OpenTrial<'a> {
    context: &'a TrialContext<'a>,
    prepared: &'a Prepared,
    running: Box<dyn Running>,
    answering: Answering,
    /// The last window, and who looked at it.
    measured: Option<(Measured, Failures)>,
    /// What the load of all windows was answered.
    answers: Vec<StepAnswers>,
    /// Requests that were sent again.
    resent: u64,
    /// How long a client's request took in the warm-up before turns.
    cycle: Duration,
    /// The load of its turns, while they last.
    turns: Option<Alternating>,
    /// Why there is nothing more to be measured.
    failure: Option<String>,
    trial: Trial,
}

/// What is known of a deployment that answers rightly.
struct Answering {
    front: Front,
    enforced: EnforcedLimits,
    /// The load's requests, with the very answers that were found right.
    exchanges: Vec<LoadExchange>,
    /// What is sent in place of them, under the loads of the case.
    scenario: Option<Arc<Scenario>>,
    faults: Vec<String>,
    /// The numbers of the audits before any load.
    before: audit::Reading,
}

impl<'a> OpenTrial<'a> {
    /// Launches a deployment, waits until it is ready, and verifies its answers. One that fails is stopped, and its trial is over.
    ///
    /// # Errors
    ///
    /// Only when a sink does not take an event.
    pub(crate) async fn open(
        platform: &dyn Platform,
        context: &'a TrialContext<'a>,
        prepared: &'a Prepared,
        place: Place,
        seed: u64,
        sink: &mut dyn Sink,
    ) -> Result<Result<Self, Box<Trial>>, SinkError> {
        let Prepared { case, deployment, terms, .. } = prepared;
        let mut trial = Trial::begun(case.id.clone(), place.block, place.position, platform.vantage().timestamp());
        sink.take(&Event::PhaseStarted(Phase::Launch)).await?;
        let running = match platform.launch(deployment, terms).await {
            Ok(running) => running,
            Err(error) => {
                trial.outcome = match error {
                    LaunchError::Lost(why) => Outcome::Invalid(why),
                    error => Outcome::Failed(unlaunched(case, &error)),
                };
                return Ok(Err(Box::new(trial)));
            }
        };
        match answering(platform, running.as_ref(), context, prepared, seed, &mut trial, sink).await {
            Ok(answering) => Ok(Ok(Self {
                context,
                prepared,
                running,
                answering,
                measured: None,
                answers: Vec::new(),
                resent: 0,
                cycle: Duration::ZERO,
                turns: None,
                failure: None,
                trial,
            })),
            Err(MeasureError::Failed(problem)) => {
                trial.outcome = match running.disturbed().await {
                    Some(what) => Outcome::Invalid(taken(what, &problem)),
                    None => Outcome::Failed(explain(running.as_ref(), case, &problem).await),
                };
                Ok(Err(Box::new(end(running, trial, sink).await?)))
            }
            Err(MeasureError::Sink(error)) => Err(error),
        }
    }

    /// Drives load for a window, unless the deployment has failed in an earlier one. The trial keeps the last window.
    ///
    /// # Errors
    ///
    /// Only when a sink does not take an event.
    pub(crate) async fn measure(
        &mut self,
        timing: &Timing,
        watch: Option<&mut Watch<'_>>,
        sink: &mut dyn Sink,
    ) -> Result<(), SinkError> {
        // Of a probe an objective says how many may fail.
        let is_probe = matches!(watch, Some(Watch::Probe(_)));
        let failures = if is_probe { Failures::Figures } else { self.context.failures };
        if let Some(measured) = self.window(timing, watch, sink).await? {
            self.measured = Some((measured, failures));
        }
        Ok(())
    }

    /// Drives load that counts nothing, and learns from its end how long a request takes.
    ///
    /// # Errors
    ///
    /// Only when a sink does not take an event.
    pub(crate) async fn warm_up(&mut self, timing: &Timing, sink: &mut dyn Sink) -> Result<(), SinkError> {
        if let Some(Measured { measurement, .. }) = self.window(timing, None, sink).await? {
            let clients = self.prepared.case.load.connections();
            self.cycle =
                measurement.window * clients / u32::try_from(measurement.requests.ok.max(1)).unwrap_or(u32::MAX);
        }
        Ok(())
    }

    /// What turns are planned by.
    pub(crate) fn pace(&self) -> Pace {
        let EnforcedLimits { cpus, period, .. } = self.answering.enforced;
        Pace { cycle: self.cycle, quota_period: matches!(cpus, Limit::AtMost(_)).then_some(period) }
    }

    /// Starts the load of all turns, unless the deployment has failed before. They are counted from `begins`.
    pub(crate) fn begin_turns(&mut self, seed: u64, begins: Moment, turns: Vec<TurnSpan>) {
        if self.failure.is_some() {
            return;
        }
        let order = self.order(&Timing { warm_up: Duration::ZERO, duration: Duration::ZERO, seed });
        let order = LoadOrder { turns, ..order };
        match Alternating::start(self.running.as_ref(), begins, order) {
            Ok(turns) => self.turns = Some(turns),
            Err(error) => self.failure = Some(error.to_string()),
        }
    }

    /// Sees the deployment through its next turn, which is one of so many, unless it has failed before.
    ///
    /// # Errors
    ///
    /// Only when a sink does not take an event.
    pub(crate) async fn turn(&mut self, (turn, of): (u32, u32), sink: &mut dyn Sink) -> Result<TurnEnd, SinkError> {
        let Some(turns) = &mut self.turns else { return Ok(TurnEnd::Held) };
        let per_second = self.context.inside.filter(|_| InsideTargets::is_sampled(u64::from(turn) - 1));
        let inside = per_second.map(|per_second| InsideTargets { per_second, rests: false });
        let cpus = self.answering.enforced.cpus;
        let sampled = self.context.sampled.then_some(SampleOrder { cpus, inside });
        match turns.turn(self.running.as_ref(), sampled, sink).await {
            Ok(end) => Ok(end),
            Err(MeasureError::Failed(problem)) => {
                self.failure = Some(format!("{problem}, in turn {turn} of {of}"));
                self.turns = None;
                Ok(TurnEnd::Held)
            }
            Err(MeasureError::Sink(error)) => Err(error),
        }
    }

    /// Waits for the last answers, and closes the trial.
    ///
    /// # Errors
    ///
    /// Only when a sink does not take an event.
    pub(crate) async fn end_turns(mut self, sink: &mut dyn Sink) -> Result<Trial, SinkError> {
        if let Some(turns) = self.turns.take() {
            match turns.finish(self.running.as_ref()).await {
                Ok(measured) => {
                    self.note(&measured);
                    self.measured = Some((measured, self.context.failures));
                }
                Err(MeasureError::Failed(problem)) => self.failure = Some(problem),
                Err(MeasureError::Sink(error)) => return Err(error),
            }
        }
        self.close(sink).await
    }

    /// Notes what load was answered.
    fn note(&mut self, measured: &Measured) {
        audit::add(&mut self.answers, &measured.answers);
        self.resent += measured.measurement.reconnects;
    }

    /// Drives load for a window; nothing where the deployment fails, or has failed in an earlier one.
    async fn window(
        &mut self,
        timing: &Timing,
        watch: Option<&mut Watch<'_>>,
        sink: &mut dyn Sink,
    ) -> Result<Option<Measured>, SinkError> {
        if self.failure.is_some() {
            return Ok(None);
        }
        let inside = self.context.inside.map(|per_second| InsideTargets { per_second, rests: true });
        let sampled = self.context.sampled.then_some(SampleOrder { cpus: self.answering.enforced.cpus, inside });
        match measure(self.running.as_ref(), self.order(timing), sampled, watch, sink).await {
            Ok(measured) => {
                self.note(&measured);
                Ok(Some(measured))
            }
            Err(MeasureError::Failed(problem)) => {
                self.failure = Some(problem);
                Ok(None)
            }
            Err(MeasureError::Sink(error)) => Err(error),
        }
    }

    /// The load of this trial.
    fn order(&self, timing: &Timing) -> LoadOrder {
        let Answering { front, exchanges, scenario, .. } = &self.answering;
        let (case, block) = (&self.prepared.case, self.trial.block);
        let spec = self.context.load(timing, case, block, front, exchanges.clone());
        let spec = LoadSpec { targets: self.running.targets(), scenario: scenario.clone(), ..spec };
        LoadOrder { spec, link: case.topology.link, begins: None, turns: Vec::new() }
    }

    /// Reads what the load has made, stops the deployment, and says what the measurement means.
    ///
    /// # Errors
    ///
    /// Only when a sink does not take an event.
    pub(crate) async fn close(mut self, sink: &mut dyn Sink) -> Result<Trial, SinkError> {
        let judged = self.judged().await.map(|outcome| self.mended(outcome));
        if let Some((measured, _)) = self.measured {
            self.trial.measurement = Some(measured.measurement);
        }
        let disturbed = self.running.disturbed().await;
        self.trial.outcome = match (disturbed, judged) {
            (Some(what), Ok(Outcome::Measured)) => Outcome::Invalid(what),
            (Some(what), Ok(Outcome::Invalid(reason) | Outcome::Failed(reason)) | Err(reason)) => {
                Outcome::Invalid(taken(what, &reason))
            }
            (None, Ok(outcome)) => outcome,
            (None, Err(problem)) => {
                Outcome::Failed(explain(self.running.as_ref(), &self.prepared.case, &problem).await)
            }
        };
        end(self.running, self.trial, sink).await
    }

    /// Stops the deployment, whose trial counts for nothing.
    ///
    /// # Errors
    ///
    /// Only when a sink does not take an event.
    pub(crate) async fn abandon(self, sink: &mut dyn Sink) -> Result<(), SinkError> {
        drop(self.turns);
        end(self.running, self.trial, sink).await.map(drop)
    }

    /// An outcome with what mends it, where requests failed.
    fn mended(&self, outcome: Outcome) -> Outcome {
        let failed = self.measured.as_ref().is_some_and(|(measured, _)| measured.measurement.requests.failed > 0);
        match outcome {
            Outcome::Invalid(reason) if failed => {
                Outcome::Invalid(with_fixes(self.running.as_ref(), &self.prepared.case, &reason))
            }
            outcome => outcome,
        }
    }

    /// What the measurement means. What was measured is kept, whatever is found of it afterwards.
    async fn judged(&mut self) -> Result<Outcome, String> {
        let Self { context, prepared, running, answering, measured, answers, resent, failure, trial, .. } = self;
        let Prepared { case, terms, replicas, audits, .. } = prepared;
        if let Some(problem) = failure.take() {
            return Err(problem);
        }
        let Some((measured, failures)) = measured else {
            return Err("was not measured".to_owned());
        };
        if context.scenario.is_none() {
            for (step, exchange) in measured.measurement.steps.iter_mut().zip(context.workload.load_mix()) {
                step.name.clone_from(&exchange.name);
            }
        }
        for (part, used) in trial.parts.iter_mut().zip(&measured.parts) {
            part.resources = *used;
        }
        parts::share_out(&mut trial.parts, &measured.by_target);
        trial.link = measured.link;
        let Answering { front, enforced, faults, before, .. } = answering;
        let mut faults = std::mem::take(faults);
        if !enforced.fulfil(&case.limits) {
            faults.push("the limits were not enforced".to_owned());
        }
        let unheld = parts::unheld(&trial.parts, terms);
        if !unheld.is_empty() {
            faults.push(format!("the limits of {} were not enforced", unheld.join(", ")));
        }
        let after = audit::read(running.as_ref(), front, replicas, audits).await?;
        trial.audits = audit::records(audits, before, &after, answers, *resent);
        faults.extend(trial.audits.iter().flat_map(AuditRecord::problems));
        judge(measured, case, context.drain, *failures, faults)
    }
}

/// What befell a deployment, with what was found of it where that says more.
fn taken(what: String, found: &str) -> String {
    if found.contains(&what) { what } else { format!("{what}; {found}") }
}

/// From the launched deployment to its right answers.
async fn answering(
    platform: &dyn Platform,
    running: &dyn Running,
    context: &TrialContext<'_>,
    prepared: &Prepared,
    seed: u64,
    trial: &mut Trial,
    sink: &mut dyn Sink,
) -> Result<Answering, MeasureError> {
    let TrialContext { workload, scenario, ready_timeout, .. } = context;
    let Prepared { case, deployment, terms, replicas, trust, audits, scaling: _ } = prepared;
    let failed = MeasureError::Failed;
    let enforced = running.enforced().map_err(|error| failed(error.to_string()))?;
    trial.enforced = Some(enforced);
    trial.parts = parts::records(running, terms).map_err(failed)?;
    let front = Front::of(running, case, trust.as_deref());

    sink.take(&Event::PhaseStarted(Phase::Ready)).await?;
    let first = workload.first_request();
    let first = first.ok_or_else(|| failed("the workload has no request".to_owned()))?;
    trial.ready = Some(match case.topology.ready {
        ReadyBy::Port => ready::wait_for_port(running, &front, *ready_timeout).await.map_err(failed)?,
        ReadyBy::Request => {
            for endpoint in replicas.iter().filter_map(|id| running.endpoint(id)) {
                ready::wait(running, &front.at(endpoint), first, *ready_timeout).await.map_err(failed)?;
            }
            ready::wait(running, &front, first, *ready_timeout).await.map_err(failed)?
        }
    });
    parts::read_settings(running, terms, &mut trial.parts).await.map_err(failed)?;

    sink.take(&Event::PhaseStarted(Phase::Verify)).await?;
    let lifetime = trial.block;
    let verification = Verification { platform, prepared, workload, timeout: *ready_timeout, seed, lifetime };
    let verified = verification.of(running, &front, sink).await?.map_err(failed)?;
    trial.answers = verified.answers;

    let mut faults = Vec::new();
    if let Some(probe) = &deployment.probe {
        let read_back = php::read_back(running, probe).await;
        let read_back =
            read_back.map_err(|problem| failed(format!("PHP cannot be asked for its settings: {problem}")))?;
        faults.extend(read_back.problems(&probe.asked));
        trial.php = Some(read_back);
    }
    let before = audit::read(running, &front, replicas, audits).await.map_err(failed)?;
    let completed = |exchange: LoadExchange| LoadExchange { request: front.completed(&exchange.request), ..exchange };
    let exchanges: Vec<_> = verified.load.into_iter().map(completed).collect();
    let scenario = match scenario {
        Some(scenario) => Some(as_sent(scenario, case, &front)),
        None => sessions::visits(workload, &exchanges, case),
    };
    Ok(Answering { front, enforced, exchanges, scenario, faults, before })
}

/// Stops a deployment whose trial is otherwise complete.
async fn end(running: Box<dyn Running>, mut trial: Trial, sink: &mut dyn Sink) -> Result<Trial, SinkError> {
    for restart in running.restarts() {
        if let Some(part) = trial.parts.iter_mut().find(|part| part.units.contains(&restart.unit)) {
            part.restarts.push(restart);
        }
    }
    sink.take(&Event::PhaseStarted(Phase::Stop)).await?;
    match running.stop().await {
        Ok(report) => trial.stops = report.units,
        // What does not count for another reason has not failed for this one.
        Err(error) => {
            trial.outcome = match trial.outcome {
                Outcome::Invalid(reason) => Outcome::Invalid(taken(reason, &error.to_string())),
                Outcome::Measured | Outcome::Failed(_) => Outcome::Failed(error.to_string()),
            }
        }
    }
    Ok(trial)
}

/// The scenario under the loads of a case, in which the cases of a study may differ, with the headers of a proxy at this front.
fn as_sent(scenario: &Arc<Scenario>, case: &Case, front: &Front) -> Arc<Scenario> {
    let mut scenario = Scenario::clone(scenario);
    for (crowd, load) in scenario.crowds.iter_mut().zip([&case.load].into_iter().chain(&case.beside)) {
        crowd.load.clone_from(load);
        for step in crowd.flows.iter_mut().flat_map(|flow| &mut flow.steps) {
            for (name, value) in front.forwarded() {
                if !step.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) {
                    step.headers.push((name.to_owned(), Template::fixed(value)));
                }
            }
        }
    }
    Arc::new(scenario)
}
