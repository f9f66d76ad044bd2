//! Load without a pause from warm-up through window to drain, with the deployment's counters read at the window's edges
//! and its memory sampled beside it.

use std::time::{Duration, Instant};

use stampede_core::{
    Counters, Cpus, Limit, Measurement, ResourceUse, Running, Sampling, Sending, StepRecord, with_causes,
};
use stampede_load::{LoadResult, LoadSpec, Measures, RoughLatencies, RunningLoad, Saturation, StepResult};
use stampede_observe::{MemoryPeak, Meter, Sampler};

use crate::audit::StepAnswers;
use crate::event::{Event, Phase, Sink, SinkError};
use crate::parts::PartWatch;
use crate::sampling;
use crate::seconds::Seconds;
use crate::verify::shown;
use crate::watch::Watch;

/// How often memory is sampled and progress is told: 10 Hz costs the generator's core well under 0.1 %.
const TICK: Duration = Duration::from_millis(100);
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
    pub(crate) failure_example: Option<String>,
    /// What each part used, in the order of the terms.
    pub(crate) parts: Vec<Option<ResourceUse>>,
    /// How much later than the window's edges their counters were read, at the most.
    pub(crate) edges_late: Duration,
    /// What each step was answered.
    pub(crate) answers: Vec<StepAnswers>,
    /// Feeders that had too few rows.
    pub(crate) exhausted: Vec<String>,
}

/// Drives the load to its end, or until whoever watches it has seen enough. Where the deployment is sampled meanwhile,
/// it is told how much that may use.
pub(crate) async fn measure(
    running: &dyn Running,
    spec: LoadSpec,
    meter: Option<&Meter>,
    sampled: Option<Limit<Cpus>>,
    mut watched: Option<&mut Watch<'_>>,
    sink: &mut dyn Sink,
) -> Result<Measured, MeasureError> {
    let window = spec.duration;
    let load = stampede_load::start(spec).map_err(|error| MeasureError::Failed(with_causes(&error)))?;
    let sampler = sampled.map(|cpus| sampling::start(running, cpus, &load)).transpose();
    let sampler = sampler.map_err(|error| MeasureError::Failed(format!("start to sample: {error}")))?;
    let mut clock = Clock::new(&load);
    let mut parts = PartWatch::new(running);
    let mut load_seconds = Seconds::default();
    let mut phase = Phase::WarmUp;
    sink.take(&Event::PhaseStarted(phase)).await?;
    while phase != Phase::Drain || !load.is_finished() {
        tokio::select! {
            exit = running.exited() => {
                let problem = format!("{} ended with {} while it was measured", exit.unit, exit.how);
                return Err(MeasureError::Failed(problem));
            }
            () = tokio::time::sleep_until(clock.next_wake(phase).into()) => {}
        }
        let counters = read(meter)?;
        let now = Instant::now();
        clock.sample(now, counters);
        parts.sample(now, load.opens_at(), load.closes_at());
        let slices = load.slices();
        load_seconds.add(&slices);
        if watched.as_deref_mut().is_some_and(|watched| watched.see(&load, &slices, now)) {
            load.abort();
            clock.cut(now, counters);
            break;
        }
        let next = clock.phase_at(now);
        if next != phase {
            phase = next;
            sink.take(&Event::PhaseStarted(phase)).await?;
        }
        if let Some(progress) = clock.progress(&load, sampler.as_ref().and_then(Sampler::queue), now) {
            sink.take(&progress).await?;
        }
    }
    let last = read(meter)?;
    let result = load.finish();
    let seconds = watched.map_or_else(Vec::new, |watched| watched.finish(result.window, &result.slices));
    load_seconds.add(&result.slices);
    let (failure_example, saturation) = (example(&result), result.saturation);
    let (answers, exhausted) = (StepAnswers::of(&result), result.exhausted_feeders.clone());
    let (resources, edges_late) = (clock.resources(last), clock.late());
    let window = if clock.is_cut { result.window } else { window };
    let sampling = sampler.map(if clock.is_cut { Sampler::cut } else { Sampler::finish });
    Ok(Measured {
        measurement: Measurement {
            seconds,
            load_seconds: load_seconds.within(window),
            ..assemble(window, result, resources, sampling)
        },
        saturation,
        failure_example,
        parts: parts.used(),
        edges_late,
        answers,
        exhausted,
    })
}

fn read(meter: Option<&Meter>) -> Result<Option<Counters>, MeasureError> {
    meter.map(Meter::read).transpose().map_err(|error| MeasureError::Failed(with_causes(&error)))
}

/// The first failure in words, with what came instead of the right body.
pub(crate) fn example(result: &LoadResult) -> Option<String> {
    let failure = result.first_failure.as_ref()?;
    let came = result.wrong_answers.first().map(|wrong| {
        format!(" (status {}, from byte {} of the body: {})", wrong.status, wrong.offset, shown(&wrong.bytes))
    });
    Some(format!("{}{}", failure.detail, came.unwrap_or_default()))
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
    opens: Instant,
    closes: Instant,
    /// When the counters were read for the first time in the window, and after it.
    opened: Option<Edge>,
    closed: Option<Edge>,
    peak: MemoryPeak,
    /// The counters as they were read last.
    latest: Option<Counters>,
    ticks: u32,
    told: Told,
    is_cut: bool,
}

/// How far the load was when it was last told of.
struct Told {
    at: Instant,
    ok: u64,
    latencies: RoughLatencies,
    counters: Option<Counters>,
}

#[derive(Clone, Copy)]
struct Edge {
    at: Instant,
    counters: Option<Counters>,
}

impl Clock {
    pub(crate) fn new(load: &RunningLoad) -> Self {
        Self {
            opens: load.opens_at(),
            closes: load.closes_at(),
            opened: None,
            closed: None,
            peak: MemoryPeak::default(),
            latest: None,
            ticks: 0,
            told: Told { at: Instant::now(), ok: 0, latencies: RoughLatencies::new(), counters: None },
            is_cut: false,
        }
    }

    /// Takes counters in; the first after an edge are that edge's.
    pub(crate) fn sample(&mut self, at: Instant, counters: Option<Counters>) {
        if let Some(counters) = counters {
            self.peak.add(&counters.memory);
            self.latest = Some(counters);
            self.told.counters.get_or_insert(counters);
        }
        let edge = Edge { at, counters };
        if at >= self.opens {
            self.opened.get_or_insert(edge);
        }
        if at >= self.closes {
            self.closed.get_or_insert(edge);
        }
    }

    /// Ends the window now.
    fn cut(&mut self, at: Instant, counters: Option<Counters>) {
        (self.closes, self.is_cut) = (at, true);
        self.sample(at, counters);
    }

    /// How much later than the edges their counters were read, at the most.
    pub(crate) fn late(&self) -> Duration {
        let late = |edge: Option<Edge>, due: Instant| edge.map(|edge| edge.at.saturating_duration_since(due));
        late(self.opened, self.opens).max(late(self.closed, self.closes)).unwrap_or_default()
    }

    pub(crate) fn phase_at(&self, now: Instant) -> Phase {
        if now >= self.closes {
            Phase::Drain
        } else if now >= self.opens {
            Phase::Measure
        } else {
            Phase::WarmUp
        }
    }

    /// The next tick, or the next edge where that comes before it.
    pub(crate) fn next_wake(&self, phase: Phase) -> Instant {
        let now = Instant::now();
        match phase {
            Phase::WarmUp => self.opens.min(now + TICK),
            Phase::Measure => self.closes.min(now + TICK),
            _ => now + DRAIN_TICK,
        }
    }

    /// What there is to be told now, if anything is due.
    pub(crate) fn progress(&mut self, load: &RunningLoad, queue: Option<u64>, now: Instant) -> Option<Event<'static>> {
        self.ticks += 1;
        if !self.ticks.is_multiple_of(PROGRESS_EVERY) || now >= self.closes {
            return None;
        }
        let progress = load.progress();
        let next = Told { at: now, ok: progress.ok, latencies: load.rough_latencies(), counters: self.latest };
        let before = std::mem::replace(&mut self.told, next);
        let seconds = now.saturating_duration_since(before.at).as_secs_f64().max(f64::MIN_POSITIVE);
        let used = self.latest.zip(before.counters).map(|(now, before)| now.cpu.saturating_sub(before.cpu));
        Some(Event::Progress {
            rate: progress.ok.saturating_sub(before.ok) as f64 / seconds,
            failed: progress.failed,
            p99: self.told.latencies.since(&before.latencies).quantile(0.99),
            cpus: used.map(|used| used.as_secs_f64() / seconds),
            queue,
            left: self.closes.saturating_duration_since(now),
        })
    }

    pub(crate) fn resources(&self, last: Option<Counters>) -> Option<ResourceUse> {
        let (opened, closed, last) = (self.opened?, self.closed?, last?);
        let (from, to) = (opened.counters?, closed.counters?);
        let mut peak = self.peak;
        peak.add(&last.memory);
        Some(ResourceUse {
            between: closed.at.saturating_duration_since(opened.at),
            cpu: to.cpu.saturating_sub(from.cpu),
            periods: to.periods.saturating_sub(from.periods),
            throttled_periods: to.throttled_periods.saturating_sub(from.throttled_periods),
            throttled: to.throttled.saturating_sub(from.throttled),
            memory_peak: peak.needed,
            cache_peak: peak.cache,
            oom_kills: last.oom_kills,
        })
    }
}
