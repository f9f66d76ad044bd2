//! Load without a pause from warm-up through window to drain, with the deployment's counters read at the window's edges
//! and its memory sampled beside it.

use std::ops::Range;
use std::time::Duration;
use std::{iter, mem};

use stampede_core::{
    Counters, Cpus, Limit, LinkUse, Measurement, MeterSource, ResourceUse, Sampling, Sending, StepRecord, UnitExit,
    named_status,
};
use stampede_seam::{
    InsideTargets, LoadHandle, LoadOrder, LoadOutcome, LoadResult, LoadStatus, Measures, Moment, Reading,
    RoughLatencies, Running, SampleTargets, Saturation, StepResult, Vantage,
};

use crate::audit::StepAnswers;
use crate::early_stop::Watch;
use crate::event::{Event, Phase, Sink, SinkError};
use crate::seconds::Seconds;
use crate::usage::Usage;
use crate::verify::shown;

/// How often memory is sampled and progress is told: 10 Hz costs the generator's core well under 0.1 %.
const TICK: Duration = Duration::from_millis(100);
/// The folder of a run, as deployments name it.
const RUN: &str = "@{run}";
/// How often the end of the drain is looked for.
const DRAIN_TICK: Duration = Duration::from_millis(5);
/// Progress is told on each n-th tick.
const PROGRESS_EVERY: u32 = 5;

/// Why nothing was measured.
#[derive(Debug)]
pub(crate) enum MeasureError {
    /// The trial failed: what happened, as a sentence.
    Failed(String),
    /// An event was not taken.
    Sink(SinkError),
}

impl From<SinkError> for MeasureError {
    fn from(error: SinkError) -> Self {
        Self::Sink(error)
    }
}

/// A measurement with an example of what went wrong, if anything did.
pub(crate) struct Measured {
    pub(crate) measurement: Measurement,
    /// What the generator itself added to the measurement, when that was too much.
    pub(crate) saturation: Option<Saturation>,
    /// Why generators did not drive their parts of the load as they should.
    pub(crate) generator_faults: Vec<String>,
    pub(crate) failure_example: Option<String>,
    /// What each part used, in the order of the terms.
    pub(crate) parts: Vec<Option<ResourceUse>>,
    /// Requests of the window by the target that they were sent to; none where targets changed.
    pub(crate) by_target: Vec<u64>,
    /// How much later than the window's edges their counters were read, at the most.
    pub(crate) edges_late: Duration,
    /// What each step was answered.
    pub(crate) answers: Vec<StepAnswers>,
    /// Feeders that had too few rows.
    pub(crate) exhausted: Vec<String>,
    /// What the way between clients and front cost, where there was one.
    pub(crate) link: Option<LinkUse>,
}

/// Drives the load to its end, or until whoever watches it has seen enough. What is sampled meanwhile is
/// said by an order.
pub(crate) async fn measure(
    running: &dyn Running,
    order: LoadOrder,
    sampled: Option<SampleOrder>,
    mut watched: Option<&mut Watch<'_>>,
    sink: &mut dyn Sink,
) -> Result<Measured, MeasureError> {
    let duration = order.spec.duration;
    let mut load = running.vantage().load(order).map_err(|error| MeasureError::Failed(error.to_string()))?;
    let mut load_seconds = Seconds::default();
    let part = Part { window: load.window(), is_last: true };
    let beside = follow(running, load.as_mut(), &mut load_seconds, part, sampled, watched.as_deref_mut(), sink).await?;
    let outcome = load.finish().await.map_err(|error| MeasureError::Failed(error.to_string()))?;
    let seconds =
        watched.map_or_else(Vec::new, |watched| watched.finish(outcome.result.window, &outcome.result.slices));
    let window = if beside.is_cut { outcome.result.window } else { duration };
    let mut measured = concluded(window, outcome, load_seconds, beside);
    measured.measurement.seconds = seconds;
    Ok(measured)
}

/// What is to be sampled beside a load.
#[derive(Clone, Copy)]
pub(crate) struct SampleOrder {
    /// What the deployment may use.
    pub(crate) cpus: Limit<Cpus>,
    /// How the stacks of its PHP are sampled, where they are.
    pub(crate) inside: Option<InsideTargets>,
}

/// A part of a load's time in which its deployment is seen.
pub(crate) struct Part {
    /// The window, or a turn's.
    pub(crate) window: Range<Moment>,
    /// Whether the load's end is waited for, too.
    pub(crate) is_last: bool,
}

/// What was seen of a deployment beside its load.
pub(crate) struct Beside {
    pub(crate) resources: Option<ResourceUse>,
    /// What each part used, in the order of the terms.
    pub(crate) parts: Vec<Option<ResourceUse>>,
    /// How much later than the window's edges their counters were read, at the most.
    pub(crate) edges_late: Duration,
    pub(crate) sampling: Option<Sampling>,
    /// Whether whoever watched it had seen enough.
    pub(crate) is_cut: bool,
}

/// Sees a deployment through a window of a load that runs, with the load's seconds.
pub(crate) async fn follow(
    running: &dyn Running,
    load: &mut dyn LoadHandle,
    load_seconds: &mut Seconds,
    part: Part,
    sampled: Option<SampleOrder>,
    mut watched: Option<&mut Watch<'_>>,
    sink: &mut dyn Sink,
) -> Result<Beside, MeasureError> {
    let failed = MeasureError::Failed;
    let vantage = running.vantage().as_ref();
    let sampler = sampled.map(|order| vantage.sample(targets(running, order), part.window.clone())).transpose();
    let sampler = sampler.map_err(|error| failed(error.to_string()))?;
    let mut clock = Clock::new(vantage, part.window);
    let mut groups = Groups::new(running);
    let mut phase = Phase::WarmUp;
    let mut is_finished = !part.is_last;
    sink.take(&Event::PhaseStarted(phase)).await?;
    while phase != Phase::Drain || !is_finished {
        tokio::select! {
            exit = running.exited() => {
                return Err(failed(ended(&exit)));
            }
            () = vantage.sleep_until(clock.next_wake(vantage.now(), phase)) => {}
        }
        let (now, counters) = groups.read(vantage, &clock.window).map_err(failed)?;
        clock.sample(now, counters);
        let view = load.look();
        is_finished |= view.is_finished;
        load_seconds.add(&view.slices);
        if watched.as_deref_mut().is_some_and(|watched| watched.see(&view, &clock.window, now)) {
            load.cut();
            clock.cut(now);
            groups.cut(now, &clock.window);
            break;
        }
        let next = clock.phase_at(now);
        if next != phase {
            phase = next;
            sink.take(&Event::PhaseStarted(phase)).await?;
        }
        if let Some(progress) = clock.progress(&view, sampler.as_ref().and_then(|sampler| sampler.queue()), now) {
            sink.take(&progress).await?;
        }
    }
    groups.read(vantage, &clock.window).map_err(failed)?;
    let mut sampling = match sampler {
        Some(sampler) if clock.is_cut => Some(sampler.cut().await),
        Some(sampler) => Some(sampler.finish().await),
        None => None,
    };
    if let Some(inside) = sampling.as_mut().and_then(|sampling| sampling.inside.as_mut())
        && let Ok(folder) = running.resolve(RUN)
    {
        inside.rename_folder(&folder, RUN);
    }
    Ok(Beside {
        resources: groups.total.used(),
        parts: groups.parts.iter().map(Usage::used).collect(),
        edges_late: clock.late(),
        sampling,
        is_cut: clock.is_cut,
    })
}

/// What is said of a deployment that ended beside its load.
pub(crate) fn ended(UnitExit { unit, how }: &UnitExit) -> String {
    format!("{unit} ended with {how} while it was measured")
}

/// What a load has measured in a window of this length, with what was seen beside it.
pub(crate) fn concluded(
    window: Duration,
    LoadOutcome { mut result, link, held_up: _, generators }: LoadOutcome,
    mut load_seconds: Seconds,
    Beside { resources, parts, edges_late, sampling, is_cut: _ }: Beside,
) -> Measured {
    load_seconds.add(&result.slices);
    let (failure_example, saturation) = (example(&result), result.saturation);
    let by_target = mem::take(&mut result.by_target);
    let (answers, exhausted) = (StepAnswers::of(&result), result.exhausted_feeders.clone());
    Measured {
        measurement: Measurement {
            load_seconds: load_seconds.within(window),
            ..assemble(window, result, resources, sampling)
        },
        saturation,
        generator_faults: generators.into_iter().flat_map(|generator| generator.faults).collect(),
        failure_example,
        parts,
        by_target,
        edges_late,
        answers,
        exhausted,
        link,
    }
}

fn targets(running: &dyn Running, SampleOrder { cpus, inside }: SampleOrder) -> SampleTargets {
    SampleTargets {
        cpus,
        meters: running.meters(),
        listeners: running.listeners().to_vec(),
        statuses: running.statuses().to_vec(),
        inside,
    }
}

/// What a deployment and each of its parts use.
struct Groups {
    /// Where that is read: of the whole first, then of the parts in the order of the terms.
    sources: Vec<Vec<MeterSource>>,
    total: Usage,
    parts: Vec<Usage>,
}

impl Groups {
    fn new(running: &dyn Running) -> Self {
        let parts: Vec<_> = running.part_meters().into_iter().map(|part| part.meters).collect();
        let usages = parts.iter().map(|_| Usage::default()).collect();
        Self { sources: iter::once(running.meters()).chain(parts).collect(), total: Usage::default(), parts: usages }
    }

    /// Reads them all at one instant: when that was, and the counters of the whole. What a part does not tell is left out.
    fn read(&mut self, vantage: &dyn Vantage, window: &Range<Moment>) -> Result<(Moment, Option<Counters>), String> {
        let sources: Vec<_> = self.sources.iter().map(Vec::as_slice).collect();
        let Reading { at, groups } = vantage.counters(&sources);
        let mut groups = groups.into_iter();
        let total = groups.next().transpose()?.flatten();
        if let Some(counters) = total {
            self.total.see(at, counters, window);
        }
        for (part, read) in self.parts.iter_mut().zip(groups) {
            if let Ok(Some(counters)) = read {
                part.see(at, counters, window);
            }
        }
        Ok((at, total))
    }

    /// The window has ended now: what was read last is what was used until its end.
    fn cut(&mut self, at: Moment, window: &Range<Moment>) {
        for usage in iter::once(&mut self.total).chain(&mut self.parts) {
            if let Some(counters) = usage.last() {
                usage.see(at, counters, window);
            }
        }
    }
}

/// The first failure in words, with what came instead of the right body.
pub(crate) fn example(result: &LoadResult) -> Option<String> {
    let failure = result.first_failure.as_ref()?;
    let came = result.wrong_answers.first().map(|wrong| {
        let status = named_status(wrong.status);
        let is_told = failure.detail.contains(&status);
        let status = if is_told { String::new() } else { format!("status {status}, ") };
        match (wrong.bytes.is_empty(), wrong.offset) {
            (true, 0) if is_told => " (with an empty body)".to_owned(),
            // What only its end tells, such as a text that is missing, need not have kept its bytes.
            (true, 0) => format!(" ({})", status.trim_end_matches(", ")),
            (true, offset) => format!(" ({status}the body ended after {offset} bytes)"),
            (false, offset) => format!(" ({status}from byte {offset} of the body: {})", in_one_line(&wrong.bytes)),
        }
    });
    Some(format!("{}{}", failure.detail, came.unwrap_or_default()))
}

/// Of a reason its first line is told where there is no room for all of it.
fn in_one_line(body: &[u8]) -> String {
    shown(body).replace("\r\n", "\n").replace('\n', "\\n")
}

/// What a load has measured of a deployment that used so much.
pub(crate) fn assemble(
    window: Duration,
    result: LoadResult,
    resources: Option<ResourceUse>,
    sampling: Option<Sampling>,
) -> Measurement {
    let LoadResult { total, steps, reconnects, bytes_sent, bytes_received, generator, backend, .. } = result;
    let Measures { requests, warm_up, unsent, service, response, censored, lateness, status, errors, .. } = total;
    Measurement {
        window,
        requests,
        warm_up,
        reconnects,
        service: service.into_kept(),
        response: response.into_kept(),
        status,
        errors,
        bytes_sent,
        bytes_received,
        resources,
        generator,
        sending: Some(Sending { backend: backend.to_string(), unsent, censored, lateness: lateness.into_kept() }),
        sampling,
        // Of one step alone the whole says it all.
        steps: if steps.len() > 1 { steps.into_iter().map(record).collect() } else { Vec::new() },
        seconds: Vec::new(),
        turns: Vec::new(),
        load_seconds: Vec::new(),
    }
}

fn record(StepResult { name, measures }: StepResult) -> StepRecord {
    let Measures { requests, unsent, service, response, censored, status, errors, .. } = measures;
    let (service, response) = (service.into_kept(), response.into_kept());
    StepRecord { name, requests, unsent, service, response, censored, status, errors }
}

/// Keeps the time while load is driven.
pub(crate) struct Clock {
    pub(crate) window: Range<Moment>,
    /// When counters were read for the first time in the window, and after it.
    opened: Option<Moment>,
    closed: Option<Moment>,
    /// The counters as they were read last.
    latest: Option<Counters>,
    ticks: u32,
    told: Told,
    is_cut: bool,
}

/// How far the load was when it was last told of.
struct Told {
    at: Moment,
    ok: u64,
    latencies: RoughLatencies,
    counters: Option<Counters>,
}

impl Clock {
    pub(crate) fn new(vantage: &dyn Vantage, window: Range<Moment>) -> Self {
        Self {
            window,
            opened: None,
            closed: None,
            latest: None,
            ticks: 0,
            told: Told { at: vantage.now(), ok: 0, latencies: RoughLatencies::new(), counters: None },
            is_cut: false,
        }
    }

    /// Takes counters in; the first after an edge are that edge's.
    pub(crate) fn sample(&mut self, at: Moment, counters: Option<Counters>) {
        if let Some(counters) = counters {
            self.latest = Some(counters);
            self.told.counters.get_or_insert(counters);
        }
        if at >= self.window.start {
            self.opened.get_or_insert(at);
        }
        if at >= self.window.end {
            self.closed.get_or_insert(at);
        }
    }

    /// Ends the window now.
    fn cut(&mut self, at: Moment) {
        (self.window.end, self.is_cut) = (at, true);
        self.sample(at, None);
    }

    /// How much later than the edges their counters were read, at the most.
    pub(crate) fn late(&self) -> Duration {
        let late = |edge: Option<Moment>, due: Moment| edge.map(|edge| edge.since(due));
        late(self.opened, self.window.start).max(late(self.closed, self.window.end)).unwrap_or_default()
    }

    pub(crate) fn phase_at(&self, now: Moment) -> Phase {
        if now >= self.window.end {
            Phase::Drain
        } else if now >= self.window.start {
            Phase::Measure
        } else {
            Phase::WarmUp
        }
    }

    /// The next tick, or the next edge where that comes before it.
    pub(crate) fn next_wake(&self, now: Moment, phase: Phase) -> Moment {
        match phase {
            Phase::WarmUp => self.window.start.min(now + TICK),
            Phase::Measure => self.window.end.min(now + TICK),
            _ => now + DRAIN_TICK,
        }
    }

    /// What there is to be told now, if anything is due.
    pub(crate) fn progress(&mut self, view: &LoadStatus, queue: Option<u64>, now: Moment) -> Option<Event<'static>> {
        self.ticks += 1;
        if !self.ticks.is_multiple_of(PROGRESS_EVERY) || now >= self.window.end {
            return None;
        }
        let LoadStatus { progress, latencies, .. } = view;
        let next = Told { at: now, ok: progress.ok, latencies: latencies.clone(), counters: self.latest };
        let before = mem::replace(&mut self.told, next);
        let seconds = now.since(before.at).as_secs_f64().max(f64::MIN_POSITIVE);
        let used = self.latest.zip(before.counters).map(|(now, before)| now.cpu.saturating_sub(before.cpu));
        Some(Event::Progress {
            rate: progress.ok.saturating_sub(before.ok) as f64 / seconds,
            failed: progress.failed,
            p99: self.told.latencies.since(&before.latencies).quantile(0.99),
            cpus: used.map(|used| used.as_secs_f64() / seconds),
            queue,
            left: self.window.end.since(now),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_of_a_body_stays_in_its_line() {
        assert_eq!(in_one_line(b"<html>\r\n<head><title>502</title>\n"), "<html>\\n<head><title>502</title>");
    }
}
