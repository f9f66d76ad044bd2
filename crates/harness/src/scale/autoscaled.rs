//! A service that a cluster's own autoscaler scales, loaded through the cluster's own service.

use std::time::Duration;

use stampede_core::{
    GatewayUse, InstanceLife, InstanceUsage, Latencies, ReadyBy, ScaleDecision, ScaleRecord, ScaledService, Trial,
    with_causes,
};
use stampede_scale::Policy;
use stampede_seam::{Autoscaled, AutoscalerLog, AutoscalerOrder, LoadExchange, Moment, SeenInstance};

use super::{Act, Driven};
use crate::event::{Event, Phase, Sink};
use crate::measure::{Clock, MeasureError};
use crate::prepare::Prepared;
use crate::seconds::Seconds;
use crate::usage::Usage;

impl Act<'_> {
    /// Has the cluster start the service, drives the load, and sees what became of it. `start` is what an instance alone took.
    pub(super) async fn in_cluster(
        &self,
        exchanges: Vec<LoadExchange>,
        start: Duration,
        trial: &mut Trial,
        sink: &mut dyn Sink,
    ) -> Result<Driven, MeasureError> {
        let Prepared { case, deployment, terms, .. } = self.prepared;
        let failed = MeasureError::Failed;
        let Policy::Hpa(parameters) = self.scaling.policy else {
            return Err(failed(format!("a cluster does not scale as {} does", self.scaling.policy.name())));
        };
        let first = self.context.workload.first_request();
        let order = AutoscalerOrder {
            least: self.scaling.service.min_instances,
            most: self.scaling.service.max_instances,
            cpu_target: parameters.cpu_target,
            ready_path: first.filter(|_| case.topology.ready == ReadyBy::Request).map(|first| first.path.clone()),
        };
        sink.take(&Event::PhaseStarted(Phase::Launch)).await?;
        let begun = self.platform.vantage().now();
        let service = self.platform.autoscale(deployment, terms, &order).await;
        let service = service.map_err(|error| failed(with_causes(&error)))?;
        let driven = self.load_through(service.as_ref(), exchanges, trial, sink).await;
        sink.take(&Event::PhaseStarted(Phase::Stop)).await?;
        let log = service.log();
        service.stop().await.map_err(|error| failed(error.to_string()))?;
        let (mut driven, window) = driven?;
        driven.faults.extend(log.undecided.iter().map(|why| format!("the autoscaler could not decide: {why}")));
        let given = self.scaling.given(start);
        let requests = trial.measurement.as_ref().map_or(0, |measured| measured.requests.sent);
        let granularity = self.scaling.price.granularity;
        trial.scale = Some(record(given, &log, begun, window, granularity, requests));
        Ok(driven)
    }

    async fn load_through(
        &self,
        service: &dyn Autoscaled,
        exchanges: Vec<LoadExchange>,
        trial: &mut Trial,
        sink: &mut dyn Sink,
    ) -> Result<(Driven, (Moment, Moment)), MeasureError> {
        let failed = MeasureError::Failed;
        let order = self.order(service.front(), exchanges, trial.block, Duration::ZERO);
        let vantage = service.vantage().as_ref();
        let mut load = vantage.load(order).map_err(|error| failed(error.to_string()))?;
        let window = load.window();
        let mut clock = Clock::new(vantage, window.clone());
        let mut load_seconds = Seconds::default();
        let (mut phase, mut is_finished) = (Phase::WarmUp, false);
        sink.take(&Event::PhaseStarted(phase)).await?;
        while phase != Phase::Drain || !is_finished {
            vantage.sleep_until(clock.next_wake(vantage.now(), phase)).await;
            let now = vantage.now();
            clock.sample(now, None);
            let view = load.look();
            is_finished = view.is_finished;
            load_seconds.add(&view.slices);
            let next = clock.phase_at(now);
            if next != phase {
                phase = next;
                sink.take(&Event::PhaseStarted(phase)).await?;
            }
            if let Some(progress) = clock.progress(&view, None, now) {
                sink.take(&progress).await?;
            }
        }
        let outcome = load.finish().await.map_err(|error| failed(error.to_string()))?;
        // No counters are read, so that none are late.
        Ok((self.take(outcome, load_seconds, &Usage::default(), trial), (window.start, window.end)))
    }
}

/// What became of the service, with times from when it was asked for.
fn record(
    service: ScaledService,
    log: &AutoscalerLog,
    begun: Moment,
    (opens, closes): (Moment, Moment),
    granularity: Duration,
    requests: u64,
) -> ScaleRecord {
    let life = |seen: &SeenInstance| {
        let since = |moment: Option<Moment>| moment.map(|moment| moment.since(seen.ordered));
        let started = since(seen.started);
        InstanceLife {
            ordered: seen.ordered.since(begun),
            process: started,
            set_up: started,
            placed: since(seen.placed),
            ready: seen.ready.zip(seen.started).map(|(ready, started)| ready.since(started)),
            first_request: None,
            ended: seen.ended.map(|ended| ended.since(begun)),
            lost: seen.lost.clone(),
            cpu_millis: used(seen, opens, closes),
        }
    };
    let lived: f64 = log.instances.iter().map(|seen| rounded(billed(seen, opens, closes), granularity)).sum();
    let decisions = log.decisions.iter().map(|decision| ScaleDecision {
        at: decision.at.since(begun),
        wanted: decision.wanted,
        used: decision.used,
    });
    ScaleRecord {
        service,
        opens: opens.since(begun),
        closes: closes.since(begun),
        lives: log.instances.iter().map(life).collect(),
        waits: Latencies::new(),
        most_waiting: 0,
        rejected: 0,
        // A pod is there and paid for whether it works or not.
        usage: InstanceUsage {
            busy_seconds: lived,
            kept_idle_seconds: 0.0,
            lived_seconds: lived,
            requests: requests as f64,
        },
        gateway: GatewayUse::default(),
        decisions: decisions.collect(),
    }
}

/// Thousandths of a CPU that it used in the mean, as far as the window and its being ready tell.
fn used(seen: &SeenInstance, opens: Moment, closes: Moment) -> Option<u32> {
    let from = opens.max(seen.ready?);
    let told = seen.uses.iter().filter(|(at, _)| (from..closes).contains(at)).map(|(_, cpus)| *cpus);
    let (sum, count) = told.fold((0.0, 0_u32), |(sum, count), cpus| (sum + cpus, count + 1));
    (count > 0).then(|| (sum / f64::from(count) * 1e3).round() as u32)
}

/// How much of the window it is paid for.
fn billed(seen: &SeenInstance, opens: Moment, closes: Moment) -> Duration {
    seen.ended.unwrap_or(closes).min(closes).since(opens.max(seen.ordered))
}

/// Rounded up to whole steps.
fn rounded(time: Duration, step: Duration) -> f64 {
    let step = step.as_secs_f64();
    if step > 0.0 { (time.as_secs_f64() / step).ceil() * step } else { time.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_billed_and_counted_within_the_window() {
        let at = |seconds: f64| Moment::new(Duration::from_secs_f64(seconds));
        let (opens, closes) = (at(10.0), at(40.0));
        let seen = SeenInstance {
            ordered: at(12.0),
            ready: Some(at(15.0)),
            uses: vec![(at(11.0), 9.0), (at(14.0), 9.0), (at(20.0), 0.2), (at(30.0), 0.301), (at(45.0), 9.0)],
            ..SeenInstance::default()
        };
        assert_eq!(used(&seen, opens, closes), Some(251));
        assert_eq!(used(&SeenInstance::default(), opens, closes), None);
        for (ordered, ended, seconds) in
            [(12.0, None, 28.0), (2.0, Some(20.5), 10.5), (2.0, Some(5.0), 0.0), (12.0, Some(60.0), 28.0)]
        {
            let seen = SeenInstance { ordered: at(ordered), ended: ended.map(at), ..SeenInstance::default() };
            assert_eq!(billed(&seen, opens, closes), Duration::from_secs_f64(seconds), "{ordered} {ended:?}");
        }
        assert!((rounded(Duration::from_millis(10_500), Duration::from_secs(1)) - 11.0).abs() < 1e-9);
    }
}
