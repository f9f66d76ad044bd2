//! Turns put together to the window that they are parts of.

use std::time::Duration;

use stampede_core::{Counts, GeneratorUse, LinkUse, Measurement, ResourceUse, Sending, StepRecord};

use crate::audit;
use crate::measure::Measured;

/// Continues with a later turn of the same deployment.
pub(crate) fn join(all: &mut Measured, turn: Measured) {
    let Measured { measurement, saturation, failure_example, parts, edges_late, answers, exhausted, link } = turn;
    join_measurements(&mut all.measurement, measurement);
    all.saturation = all.saturation.take().or(saturation);
    all.failure_example = all.failure_example.take().or(failure_example);
    for (part, later) in all.parts.iter_mut().zip(parts) {
        *part = part.zip(later).map(|(part, later)| joined(part, later));
    }
    // What was read late at each of them is part of what the whole tells.
    all.edges_late += edges_late;
    audit::add(&mut all.answers, &answers);
    for feeder in exhausted {
        if !all.exhausted.contains(&feeder) {
            all.exhausted.push(feeder);
        }
    }
    all.link = all.link.zip(link).map(|(link, later)| LinkUse {
        cpu: link.cpu + later.cpu,
        late_p50: link.late_p50.max(later.late_p50),
        late_p99: link.late_p99.max(later.late_p99),
        bytes: link.bytes + later.bytes,
    });
}

fn join_measurements(all: &mut Measurement, turn: Measurement) {
    let Measurement {
        window,
        requests,
        warm_up,
        reconnects,
        service,
        response,
        status,
        errors,
        bytes_sent,
        bytes_received,
        resources,
        generator: GeneratorUse { threads, cpu },
        sending,
        sampling,
        steps,
        seconds: _,
        turns,
        load_seconds,
    } = turn;
    let seconds = all.load_seconds.last().map_or(0, |last| last.second + 1);
    all.load_seconds.extend(load_seconds.into_iter().map(|mut later| {
        later.second += seconds;
        later
    }));
    match (&mut all.sampling, sampling) {
        (Some(sampling), Some(later)) => sampling.go_on(&later, all.window),
        (sampling, _) => *sampling = None,
    }
    all.window += window;
    add(&mut all.requests, requests);
    add(&mut all.warm_up, warm_up);
    all.reconnects += reconnects;
    all.service.merge(&service);
    all.response.merge(&response);
    status.into_iter().for_each(|(status, count)| *all.status.entry(status).or_default() += count);
    errors.into_iter().for_each(|(class, count)| *all.errors.entry(class).or_default() += count);
    all.bytes_sent += bytes_sent;
    all.bytes_received += bytes_received;
    all.resources = all.resources.zip(resources).map(|(used, later)| joined(used, later));
    all.generator = GeneratorUse { threads: all.generator.threads.max(threads), cpu: all.generator.cpu + cpu };
    if let (Some(all), Some(Sending { backend: _, unsent, censored, lateness })) = (&mut all.sending, sending) {
        all.unsent += unsent;
        all.censored.merge(censored);
        all.lateness.merge(&lateness);
    }
    for (step, later) in all.steps.iter_mut().zip(steps) {
        join_steps(step, later);
    }
    all.turns.extend(turns);
}

fn join_steps(all: &mut StepRecord, turn: StepRecord) {
    let StepRecord { name: _, requests, unsent, service, response, censored, status, errors } = turn;
    add(&mut all.requests, requests);
    all.unsent += unsent;
    all.service.merge(&service);
    all.response.merge(&response);
    all.censored.merge(censored);
    status.into_iter().for_each(|(status, count)| *all.status.entry(status).or_default() += count);
    errors.into_iter().for_each(|(class, count)| *all.errors.entry(class).or_default() += count);
}

fn add(all: &mut Counts, turn: Counts) {
    let Counts { sent, ok, failed, unfinished } = turn;
    all.sent += sent;
    all.ok += ok;
    all.failed += failed;
    all.unfinished += unfinished;
}

/// What was used in both turns; memory at its peak. Processes that were killed for memory are counted since the launch.
fn joined(used: ResourceUse, later: ResourceUse) -> ResourceUse {
    ResourceUse {
        between: used.between + later.between,
        cpu: used.cpu + later.cpu,
        periods: used.periods + later.periods,
        throttled_periods: used.throttled_periods + later.throttled_periods,
        throttled: used.throttled + later.throttled,
        memory_peak: used.memory_peak.max(later.memory_peak),
        cache_peak: used.cache_peak.max(later.cache_peak),
        oom_kills: used.oom_kills.max(later.oom_kills),
    }
}

/// The histograms of joined turns in no more memory than they have to say.
pub(crate) fn kept(measurement: Measurement) -> Measurement {
    let Measurement { service, response, sending, steps, .. } = measurement;
    let sending = sending.map(|sending| Sending { lateness: sending.lateness.into_kept(), ..sending });
    let step = |step: StepRecord| StepRecord {
        service: step.service.into_kept(),
        response: step.response.into_kept(),
        ..step
    };
    Measurement {
        service: service.into_kept(),
        response: response.into_kept(),
        sending,
        steps: steps.into_iter().map(step).collect(),
        ..measurement
    }
}

/// For how long a deployment is loaded before a turn counts: two quota periods where it is held to a quota, so that what was saved
/// up at rest is spent, and three requests of each client, so that they are at work and out of step as in the middle of a load.
pub(crate) fn entry(quota_period: Option<Duration>, cycle: Duration) -> Duration {
    (quota_period.unwrap_or_default() * 2).max(cycle * 3)
}
