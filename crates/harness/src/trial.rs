//! One lifetime of a deployment: launch, ready, verify, warm up, measure, drain, stop.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{
    AuditRecord, Case, ClientLink, Endpoint, ErrorClass, Failures, Limits, Outcome, Platform, Protocol, ReadyBy,
    Running, Trial, with_causes,
};
use stampede_load::{LoadSpec, Pause, Scenario, TlsSpec, Trust};
use stampede_observe::Meter;

use crate::event::{Event, Phase, Sink, SinkError};
use crate::link::Link;
use crate::measure::{MeasureError, Measured, measure};
use crate::prepare::Prepared;
use crate::ready::{Front, SERVER_NAME};
use crate::study::Surroundings;
use crate::watch::Watch;
use crate::{audit, parts, php, ready, refusal, verify};

/// Where a trial stands in its study.
pub(crate) struct Place {
    pub(crate) block: u32,
    pub(crate) position: u32,
}

/// How long load goes on, and what its randomness follows from.
pub(crate) struct Timing {
    pub(crate) warm_up: Duration,
    pub(crate) duration: Duration,
    /// The study's seed: in each block all cases meet the same random arrivals.
    pub(crate) seed: u64,
}

/// Requests may fail to connect or be cut off in this share of all before the trial counts as invalid; a wrong answer
/// never may.
const MOST_BROKEN: f64 = 0.001;

/// Counters may be read later than an edge by this share of the window.
pub(crate) const MOST_LATE: f64 = 0.02;

/// A trial that begins now, of which nothing is known yet.
pub(crate) fn begun(case: &Case, Place { block, position }: Place) -> Trial {
    Trial {
        case: case.id.clone(),
        block,
        position,
        started_at: Timestamp::now(),
        outcome: Outcome::Measured,
        enforced: None,
        ready: None,
        php: None,
        answers: Vec::new(),
        measurement: None,
        stops: Vec::new(),
        parts: Vec::new(),
        link: None,
        audits: Vec::new(),
        scale: None,
    }
}

/// Runs one trial; one that is watched ends when there is nothing more to see. Whatever goes wrong with the deployment is in the trial's outcome.
///
/// # Errors
///
/// Only when a sink does not take an event.
pub(crate) async fn run(
    platform: &dyn Platform,
    surroundings: &Surroundings<'_>,
    prepared: &Prepared,
    place: Place,
    timing: &Timing,
    watch: Option<&mut Watch<'_>>,
    sink: &mut dyn Sink,
) -> Result<Trial, SinkError> {
    let Prepared { case, deployment, terms, .. } = prepared;
    let mut trial = begun(case, place);
    sink.take(&Event::PhaseStarted(Phase::Launch)).await?;
    let running = match platform.launch(deployment, terms).await {
        Ok(running) => running,
        Err(error) => {
            trial.outcome = Outcome::Failed(with_causes(&error));
            return Ok(trial);
        }
    };
    trial.outcome = match live(running.as_ref(), surroundings, prepared, timing, watch, &mut trial, sink).await {
        Ok(outcome) => outcome,
        Err(MeasureError::Failed(problem)) => Outcome::Failed(explain(running.as_ref(), &case.limits, &problem)),
        Err(MeasureError::Sink(error)) => return Err(error),
    };
    for restart in running.restarts() {
        if let Some(part) = trial.parts.iter_mut().find(|part| part.units.contains(&restart.unit)) {
            part.restarts.push(restart);
        }
    }
    sink.take(&Event::PhaseStarted(Phase::Stop)).await?;
    match running.stop().await {
        Ok(report) => trial.stops = report.units,
        Err(error) => trial.outcome = Outcome::Failed(error.to_string()),
    }
    Ok(trial)
}

/// From the launched deployment to the end of the drain.
async fn live(
    running: &dyn Running,
    surroundings: &Surroundings<'_>,
    prepared: &Prepared,
    timing: &Timing,
    watch: Option<&mut Watch<'_>>,
    trial: &mut Trial,
    sink: &mut dyn Sink,
) -> Result<Outcome, MeasureError> {
    let Surroundings {
        workload,
        scenario,
        ready_timeout,
        drain,
        timeout,
        failures,
        backend,
        sampled,
        yard_stick: _,
        stop: _,
    } = surroundings;
    let Prepared { case, deployment, terms, replicas, trust, audits, scaling: _ } = prepared;
    let failed = MeasureError::Failed;
    let enforced = running.enforced().map_err(|error| failed(error.to_string()))?;
    trial.enforced = Some(enforced);
    trial.parts = parts::records(running, terms).map_err(failed)?;
    let meter = Meter::new(running.meters());
    let front = Front::of(running, trust.as_deref()).map_err(failed)?;

    sink.take(&Event::PhaseStarted(Phase::Ready)).await?;
    let first = workload.first_request();
    let first = first.ok_or_else(|| failed("the workload has no request".to_owned()))?;
    trial.ready = Some(match case.topology.ready {
        ReadyBy::Port => ready::wait_for_port(running, &front, *ready_timeout).await.map_err(failed)?,
        ReadyBy::Request => {
            for endpoint in replicas.iter().filter_map(|id| running.endpoint(id)) {
                let replica = Front { endpoint: endpoint.clone(), security: None };
                ready::wait(running, &replica, first, *ready_timeout).await.map_err(failed)?;
            }
            ready::wait(running, &front, first, *ready_timeout).await.map_err(failed)?
        }
    });
    parts::read_settings(running, terms, &mut trial.parts).await.map_err(failed)?;

    sink.take(&Event::PhaseStarted(Phase::Verify)).await?;
    let verified = verify::verify(running, &front, &workload.exchanges, *ready_timeout, timing.seed);
    let verified = verified.await.map_err(failed)?;
    trial.answers = verified.answers;

    let mut faults = Vec::new();
    if let Some(probe) = &deployment.probe {
        let read_back = php::read_back(running, &front, probe).await;
        let read_back =
            read_back.map_err(|problem| failed(format!("PHP cannot be asked for its settings: {problem}")))?;
        faults.extend(read_back.problems(&probe.asked));
        trial.php = Some(read_back);
    }

    let link = case.topology.link.map(|link| open_link(&front.endpoint, link)).transpose().map_err(failed)?;
    let target = link.as_ref().map_or_else(|| front.endpoint.clone(), |link| Endpoint::Tcp(link.address()));
    let spec = LoadSpec {
        targets: vec![target],
        protocol: Protocol::Http11,
        tls: trust.clone().map(|pem| TlsSpec { server_name: SERVER_NAME.to_owned(), trust: Trust::Pem(pem) }),
        host: running.front().to_string(),
        exchanges: verified.load,
        load: case.load.clone(),
        think: Pause::default(),
        scenario: scenario.map(|scenario| with_loads_of(case, scenario)),
        warm_up: timing.warm_up,
        duration: timing.duration,
        requests: None,
        drain: *drain,
        timeout: *timeout,
        keep_alive: case.topology.keep_alive,
        seed: timing.seed.wrapping_add(u64::from(trial.block)),
        slices: true,
        cpus: case.pinning.generator.clone(),
        backend: *backend,
    };
    let before = audit::read(running, &front, replicas, audits).await.map_err(failed)?;
    let is_probe = matches!(watch, Some(Watch::Probe(_)));
    let mut measured = measure(running, spec, meter.as_ref(), sampled.then_some(enforced.cpus), watch, sink).await?;
    if scenario.is_none() {
        for (step, exchange) in measured.measurement.steps.iter_mut().zip(workload.load_mix()) {
            step.name.clone_from(&exchange.name);
        }
    }
    for (part, used) in trial.parts.iter_mut().zip(&measured.parts) {
        part.resources = *used;
    }
    if !enforced.fulfil(&case.limits) {
        faults.push("the limits were not enforced".to_owned());
    }
    let unheld = parts::unheld(&trial.parts, terms);
    if !unheld.is_empty() {
        faults.push(format!("the limits of {} were not enforced", unheld.join(", ")));
    }
    // Of a probe an objective says how many may fail.
    let failures = if is_probe { Failures::Figures } else { *failures };
    let outcome = async {
        let after = audit::read(running, &front, replicas, audits).await.map_err(failed)?;
        let resent = measured.measurement.reconnects;
        trial.audits = audit::records(audits, before, after, &measured.answers, resent);
        faults.extend(trial.audits.iter().flat_map(AuditRecord::problems));
        if let Some(link) = link {
            let used = link.close().map_err(|error| failed(format!("lost the link to the client: {error}")))?;
            trial.link = Some(used);
        }
        judge(&measured, case, *drain, failures, faults)
    };
    // What was measured is kept, whatever is found of it afterwards.
    let outcome = outcome.await;
    trial.measurement = Some(measured.measurement);
    outcome
}

/// The scenario under the loads of a case: the cases of a study may differ in them.
fn with_loads_of(case: &Case, scenario: &Arc<Scenario>) -> Arc<Scenario> {
    let loads = || [&case.load].into_iter().chain(&case.beside);
    let mut scenario = Arc::clone(scenario);
    if !scenario.crowds.iter().map(|crowd| &crowd.load).eq(loads()) {
        for (crowd, load) in Arc::make_mut(&mut scenario).crowds.iter_mut().zip(loads()) {
            crowd.load.clone_from(load);
        }
    }
    scenario
}

pub(crate) fn open_link(front: &Endpoint, link: ClientLink) -> Result<Link, String> {
    match front {
        Endpoint::Tcp(address) => {
            Link::open(*address, link).map_err(|error| format!("could not open the link to the client: {error}"))
        }
        Endpoint::Unix(path) => Err(format!("has a front that no client is away from: {}", path.display())),
    }
}

/// Whether a measurement means what it should.
fn judge(
    measured: &Measured,
    case: &Case,
    drain: Duration,
    failures: Failures,
    mut faults: Vec<String>,
) -> Result<Outcome, MeasureError> {
    let Measured { measurement, saturation, failure_example, edges_late, parts: _, answers: _, exhausted } = measured;
    let requests = measurement.requests;
    let example = failure_example.as_ref().map(|example| format!("; the first: {example}")).unwrap_or_default();
    let oom_kills = measurement.resources.map_or(0, |resources| resources.oom_kills);
    if oom_kills > 0 {
        return Err(MeasureError::Failed(format!(
            "lost {}, and {} of {} requests failed{example}",
            processes(oom_kills),
            requests.failed,
            requests.sent
        )));
    }
    let count = |class: ErrorClass| measurement.errors.get(&class).copied().unwrap_or(0);
    let unwritable = count(ErrorClass::Unwritable);
    // Of requests that never left nobody can answer one.
    if requests.ok == 0 && (unwritable == 0 || unwritable < requests.sent) {
        return Err(MeasureError::Failed(format!("answered none of {} requests rightly{example}", requests.sent)));
    }
    let wrong: u64 = measurement.errors.iter().filter(|(class, _)| class.is_wrong()).map(|(_, count)| count).sum();
    let are_faults = failures == Failures::Faults;
    if wrong > 0 && are_faults {
        faults.push(format!("{wrong} of {} answers under load were wrong{example}", requests.sent));
    }
    for feeder in exhausted {
        faults.push(format!("the feeder {feeder} had no row left for users who wanted one: give it more rows"));
    }
    let exhausted = count(ErrorClass::Exhausted);
    if exhausted > 0 {
        faults.push(format!("the generator ran out of ports or files {exhausted} times{example}"));
    }
    if unwritable > 0 {
        faults.push(format!("the generator could not write {unwritable} of {} requests{example}", requests.sent));
    }
    let broken = requests.failed.saturating_sub(wrong + exhausted + unwritable);
    if broken as f64 > MOST_BROKEN * requests.sent as f64 && are_faults {
        faults.push(format!("{broken} of {} requests broke off{example}", requests.sent));
    }
    let unsent = measurement.sending.as_ref().map_or(0, |sending| sending.unsent);
    let unfinished = measurement.warm_up.unfinished + requests.unfinished + unsent;
    if unfinished > 0 && are_faults {
        faults.push(format!(
            "{unfinished} requests had no answer {drain:?} after the window, so the load was smaller than {}",
            case.whole_load()
        ));
    }
    if let Some(saturation) = saturation {
        faults.push(saturation.to_string());
    }
    if edges_late.as_secs_f64() > MOST_LATE * measurement.window.as_secs_f64() {
        faults.push(format!("counters were read {edges_late:?} after an edge of the window: this program was held up"));
    }
    Ok(if faults.is_empty() { Outcome::Measured } else { Outcome::Invalid(faults.join("; ")) })
}

/// A failure with what the kernel and the units' logs say of it.
pub(crate) fn explain(running: &dyn Running, limits: &Limits, problem: &str) -> String {
    let mut text = problem.to_owned();
    if let Some(Ok(counters)) = Meter::new(running.meters()).map(|meter| meter.read())
        && counters.oom_kills > 0
    {
        text.push_str(&format!(
            "\nthe kernel killed {} {} of {}",
            processes(counters.oom_kills),
            Outcome::MEMORY_LIMIT,
            limits.memory
        ));
    }
    for unit in running.units() {
        let log = running.logs(&unit);
        if !log.lines.is_empty() {
            text.push_str(&format!("\nlog of {unit}:\n  {}", log.lines.join("\n  ")));
        }
        text.extend(refusal::of_a_write(&log.lines).map(|hint| format!("\n{hint}")));
    }
    text
}

fn processes(count: u64) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

#[cfg(test)]
mod tests;
