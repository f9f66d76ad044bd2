//! An autoscaled service under load: instances start and stop as requests come, behind the gateway.
//!
//! First one instance is started alone: its answers are verified, and its start says how long requests may wait for one. Then the
//! platform comes up with the fewest instances, and the load begins without a pause. What clients are told because no instance
//! was free is no fault of the trial but what is asked for.
//!
//! A cluster has an autoscaler of its own, and a service in place of the gateway ([`autoscaled`]).

mod autoscaled;
mod fleet;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use stampede_core::{
    Endpoint, GatewayUse, InstanceLife, InstanceUsage, Measurement, Outcome, Passage, ReadinessRecord, ReadyBy,
    ScaleRecord, ScaledService, Trial, with_causes,
};
use stampede_gateway::{Account, BODY_PAUSE, Gateway, Instance, InstanceOrder, Life, Setup};
use stampede_scale::{Policy, QueueLimits, Rejection, Scaling, Time};
use stampede_seam::Platform;
use stampede_seam::{LoadExchange, LoadOrder, LoadOutcome, LoadSpec, Moment};
use tokio::sync::mpsc::UnboundedReceiver;

use self::fleet::{Course, Fleet, Meters, Mould, come_up};
use crate::context::{Place, Timing, TrialContext};
use crate::event::{Event, Phase, Sink, SinkError};
use crate::measure::{Clock, MeasureError, assemble, example};
use crate::prepare::Prepared;
use crate::ready::Front;
use crate::seconds::Seconds;
use crate::trial::{MOST_LATE, answered_none, explain};
use crate::usage::Usage;
use crate::verify::Verification;
use crate::{php, ready, sessions};

/// Runs a trial of an autoscaled service.
///
/// # Errors
///
/// Only when the sink does not take an event.
pub(crate) async fn run(
    platform: &dyn Platform,
    context: &TrialContext<'_>,
    prepared: &Prepared,
    scaling: &Scaling,
    place: Place,
    timing: &Timing,
    sink: &mut dyn Sink,
) -> Result<Trial, SinkError> {
    let started_at = platform.vantage().timestamp();
    let mut trial = Trial::begun(prepared.case.id.clone(), place.block, place.position, started_at);
    let act = Act { platform, prepared, scaling, context, timing };
    trial.outcome = match act.run(&mut trial, sink).await {
        Ok(outcome) => outcome,
        Err(MeasureError::Failed(problem)) => Outcome::Failed(problem),
        Err(MeasureError::Sink(error)) => return Err(error),
    };
    Ok(trial)
}

/// A trial.
struct Act<'a> {
    platform: &'a dyn Platform,
    prepared: &'a Prepared,
    scaling: &'a Scaling,
    context: &'a TrialContext<'a>,
    timing: &'a Timing,
}

/// What one instance alone has shown.
struct Rehearsed {
    exchanges: Vec<LoadExchange>,
    /// From its order until it counted as ready.
    start: Duration,
    faults: Vec<String>,
}

impl Act<'_> {
    async fn run(&self, trial: &mut Trial, sink: &mut dyn Sink) -> Result<Outcome, MeasureError> {
        let first = self.context.workload.first_request();
        let first = first.ok_or_else(|| MeasureError::Failed("the workload has no request".to_owned()))?;
        let mould = Mould {
            platform: self.platform,
            prepared: self.prepared,
            first,
            ready_timeout: self.context.ready_timeout,
        };
        let Rehearsed { exchanges, start, mut faults } = self.rehearse(mould, trial, sink).await?;
        let driven = if self.platform.has_autoscaler() {
            self.in_cluster(exchanges, start, trial, sink).await?
        } else {
            self.behind_gateway(mould, exchanges, start, trial, sink).await?
        };
        faults.extend(driven.faults);
        let Some(measured) = trial.measurement.as_ref() else {
            return Err(MeasureError::Failed("nothing was measured".to_owned()));
        };
        if measured.requests.ok == 0 {
            let example = driven.example.map(|example| format!("; the first: {example}")).unwrap_or_default();
            return Err(MeasureError::Failed(answered_none(measured, &example)));
        }
        if driven.late.as_secs_f64() > MOST_LATE * measured.window.as_secs_f64() {
            let late = driven.late;
            faults.push(format!("counters were read {late:?} after an edge of the window: this program was held up"));
        }
        Ok(if faults.is_empty() { Outcome::Measured } else { Outcome::Invalid(faults.join("; ")) })
    }

    /// Brings the platform up that is acted out, drives the load, and sees what became of it.
    async fn behind_gateway(
        &self,
        mould: Mould<'_>,
        exchanges: Vec<LoadExchange>,
        start: Duration,
        trial: &mut Trial,
        sink: &mut dyn Sink,
    ) -> Result<Driven, MeasureError> {
        let Scaling { service, policy, price, .. } = *self.scaling;
        let queue = self.scaling.queue(start);
        if start > queue.wait && service.min_instances == 0 {
            let warning = format!(
                "an instance takes {start:.1?} to start and a request waits for {:.1?} at most: those that find no instance are \
                 all turned away; raise --queue-limit, --cpus or --min-instances",
                queue.wait
            );
            sink.take(&Event::Warned(&warning)).await?;
        }
        sink.take(&Event::PhaseStarted(Phase::Launch)).await?;
        let meters = Arc::new(Meters::new(Arc::clone(self.platform.vantage())));
        let of_gateway = Arc::clone(&meters);
        let setup = Setup {
            service,
            policy,
            queue,
            granularity: price.granularity,
            body_pause: BODY_PAUSE,
            cpu_seconds: Box::new(move || of_gateway.read().cpu.as_secs_f64()),
        };
        let opened = Gateway::open(setup).map_err(|error| MeasureError::Failed(with_causes(&error)))?;
        let (gateway, mut orders) = opened;
        let mut fleet = Fleet::new(mould, &gateway, &meters);
        let driven = self.drive(&mut fleet, &gateway, &mut orders, &meters, queue, exchanges, trial, sink).await;
        sink.take(&Event::PhaseStarted(Phase::Stop)).await?;
        let courses = fleet.end().await;
        let account = gateway.close().ok_or_else(|| MeasureError::Failed("the gateway failed".to_owned()))?;
        let mut driven = driven?;
        driven.faults.extend(courses.values().filter_map(|course| course.fault.clone()).take(1));
        let service = self.scaling.given(start);
        let status = trial.measurement.as_ref().map(|measured| &measured.status);
        let rejected = status.map_or(0, |status| rejected(&policy, status, &account));
        trial.scale = Some(record(service, account, courses, rejected));
        Ok(driven)
    }

    /// Starts one instance alone, checks its answers, reads its settings, and stops it.
    async fn rehearse(
        &self,
        mould: Mould<'_>,
        trial: &mut Trial,
        sink: &mut dyn Sink,
    ) -> Result<Rehearsed, MeasureError> {
        let failed = MeasureError::Failed;
        sink.take(&Event::PhaseStarted(Phase::Launch)).await?;
        let (meters, mut course) = (Meters::new(Arc::clone(self.platform.vantage())), Course::default());
        let running = come_up(mould, &meters, Instance(0), &mut course).await.map_err(failed)?;
        let start = course.process.unwrap_or_default() + course.ready.unwrap_or_default();
        trial.ready = Some(ReadinessRecord { took: start, attempts: 1 });
        trial.enforced = running.enforced().ok();
        sink.take(&Event::PhaseStarted(Phase::Verify)).await?;
        let front = Front::of(running.as_ref(), &self.prepared.case, None);
        let case = &self.prepared.case;
        if self.prepared.case.topology.ready == ReadyBy::Port {
            // What it answers is looked at once it does.
            let waited = ready::wait(running.as_ref(), &front, mould.first, mould.ready_timeout).await;
            if let Err(problem) = waited {
                return Err(failed(explain(running.as_ref(), case, &problem).await));
            }
        }
        let verification = Verification {
            platform: self.platform,
            prepared: self.prepared,
            workload: self.context.workload,
            timeout: mould.ready_timeout,
            seed: self.timing.seed,
            lifetime: trial.block,
        };
        let verified = verification.of(running.as_ref(), &front, sink).await?;
        let verified = match verified {
            Ok(verified) => verified,
            Err(problem) => return Err(failed(explain(running.as_ref(), case, &problem).await)),
        };
        trial.answers = verified.answers;
        let mut faults: Vec<String> = course.fault.into_iter().collect();
        if let Some(probe) = &self.prepared.deployment.probe {
            match php::read_back(running.as_ref(), probe).await {
                Ok(read_back) => {
                    faults.extend(read_back.problems(&probe.asked));
                    trial.php = Some(read_back);
                }
                Err(problem) => {
                    let problem = format!("PHP cannot be asked for its settings: {problem}");
                    return Err(failed(explain(running.as_ref(), case, &problem).await));
                }
            }
        }
        let stopped = running.stop().await.map_err(|error| failed(error.to_string()))?;
        trial.stops = stopped.units;
        Ok(Rehearsed { exchanges: verified.load, start, faults })
    }

    /// Waits for the fewest instances, then drives the load to its end.
    #[expect(clippy::too_many_arguments, reason = "each is a thing of its own that lives for the trial")]
    async fn drive(
        &self,
        fleet: &mut Fleet<'_>,
        gateway: &Gateway,
        orders: &mut UnboundedReceiver<InstanceOrder>,
        meters: &Meters,
        queue: QueueLimits,
        exchanges: Vec<LoadExchange>,
        trial: &mut Trial,
        sink: &mut dyn Sink,
    ) -> Result<Driven, MeasureError> {
        let failed = MeasureError::Failed;
        sink.take(&Event::PhaseStarted(Phase::Ready)).await?;
        let (mut came_up, fewest) = (fleet.came_up(), self.scaling.service.min_instances);
        while *came_up.borrow_and_update() < fewest {
            tokio::select! {
                Some(order) = orders.recv() => fleet.obey(order),
                ended = fleet.next_end() => ended.map_err(failed)?,
                _ = came_up.changed() => {}
            }
        }
        // Whoever waits at the end is answered or turned away in that time.
        let order = self.order(&Endpoint::Tcp(gateway.address()), exchanges, trial.block, queue.wait);
        let vantage = self.platform.vantage().as_ref();
        let from_now = |window: Range<Moment>| {
            let now = vantage.now();
            window.start.since(now)..window.end.since(now)
        };
        let load = gateway.count(|| vantage.load(order), |load| from_now(load.window()));
        let mut load = load.map_err(|error| failed(error.to_string()))?;
        let mut clock = Clock::new(vantage, load.window());
        let (mut usage, mut load_seconds) = (Usage::default(), Seconds::default());
        let (mut phase, mut is_finished) = (Phase::WarmUp, false);
        sink.take(&Event::PhaseStarted(phase)).await?;
        while phase != Phase::Drain || !is_finished {
            tokio::select! {
                Some(order) = orders.recv() => {
                    fleet.obey(order);
                    continue;
                }
                ended = fleet.next_end() => {
                    ended.map_err(failed)?;
                    continue;
                }
                () = vantage.sleep_until(clock.next_wake(vantage.now(), phase)) => {}
            }
            let (now, counters) = (vantage.now(), meters.read());
            clock.sample(now, Some(counters));
            usage.see(now, counters, &clock.window);
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
        gateway.desert();
        let outcome = load.finish().await.map_err(|error| failed(error.to_string()))?;
        usage.see(vantage.now(), meters.read(), &clock.window);
        Ok(Driven { late: clock.late(), ..self.take(outcome, load_seconds, &usage, trial) })
    }

    /// The load of all clients on an address, of which it is waited so much longer than usual for the last answers.
    fn order(&self, address: &Endpoint, exchanges: Vec<LoadExchange>, block: u32, longer: Duration) -> LoadOrder {
        let case = &self.prepared.case;
        let front = Front::plain(address, case);
        let completed =
            |exchange: LoadExchange| LoadExchange { request: front.completed(&exchange.request), ..exchange };
        let exchanges: Vec<_> = exchanges.into_iter().map(completed).collect();
        let scenario = sessions::visits(self.context.workload, &exchanges, case);
        let drain = longer + self.context.drain;
        let spec = LoadSpec { scenario, drain, ..self.context.load(self.timing, case, block, &front, exchanges) };
        LoadOrder { spec, link: case.topology.link, begins: None, turns: Vec::new() }
    }

    /// Keeps what a load has measured with its trial.
    fn take(&self, outcome: LoadOutcome, mut seconds: Seconds, usage: &Usage, trial: &mut Trial) -> Driven {
        let LoadOutcome { result, link, held_up: _, generators } = outcome;
        let window = self.timing.duration;
        let of_generators = generators.iter().flat_map(|generator| &generator.faults).cloned();
        let faults = result.saturation.iter().map(ToString::to_string).chain(of_generators).collect();
        let example = example(&result);
        seconds.add(&result.slices);
        let load_seconds = seconds.within(window);
        trial.measurement = Some(Measurement { load_seconds, ..assemble(window, result, usage.used(), None) });
        trial.link = link;
        Driven { faults, example, late: Duration::ZERO }
    }
}

/// What was found out under load, beside the measurement.
struct Driven {
    faults: Vec<String>,
    /// The first failure in words.
    example: Option<String>,
    /// How much later than the window's edges counters were read, at the most.
    late: Duration,
}

/// Requests that clients were told to have been turned away: those with such a status that came from no instance, and were not
/// given up because they took too long.
fn rejected(policy: &Policy, status: &BTreeMap<u16, u64>, account: &Account) -> u64 {
    let mut told = [Rejection::QueueFull, Rejection::WaitedTooLong].map(|why| policy.status(why)).to_vec();
    told.dedup();
    let count = |of: &BTreeMap<u16, u64>| told.iter().filter_map(|told| of.get(told)).sum::<u64>();
    let late = if told.contains(&504) { account.late } else { 0 };
    count(status).saturating_sub(count(&account.passed) + late)
}

fn record(
    service: ScaledService,
    account: Account,
    mut courses: BTreeMap<Instance, Course>,
    rejected: u64,
) -> ScaleRecord {
    let Account { lives, window, arrived, waits, most_waiting, usage, cpu, broken, passage, .. } = account;
    let at = |time: Time| time.since(Time::START);
    let lives = (0..).zip(lives).map(|(number, life)| {
        let Life { ordered, ready: _, first_request: (_, first_request), ended } = life;
        let course = courses.remove(&Instance(number)).unwrap_or_default();
        InstanceLife {
            ordered: at(ordered),
            process: course.process,
            set_up: course.set_up,
            ready: course.ready,
            first_request,
            ended: ended.map(at),
            lost: course.lost,
            placed: None,
            cpu_millis: None,
        }
    });
    ScaleRecord {
        service,
        opens: at(window.start),
        closes: at(window.end),
        lives: lives.collect(),
        waits,
        most_waiting,
        rejected,
        usage: InstanceUsage {
            busy_seconds: usage.busy_seconds,
            kept_idle_seconds: usage.kept_idle_seconds,
            lived_seconds: usage.lived_seconds,
            requests: usage.requests,
        },
        gateway: GatewayUse { cpu, requests: arrived, broken, passage: Passage::of(&passage) },
        decisions: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::Latencies;
    use stampede_scale::{CloudRunParameters, KnativeParameters, Usage};

    use super::*;

    #[test]
    fn only_what_no_instance_answered_was_turned_away() {
        let account = |passed: &[(u16, u64)], late| Account {
            lives: Vec::new(),
            window: Time::START..Time::NEVER,
            arrived: 0,
            waits: Latencies::new(),
            most_waiting: 0,
            rejected: 0,
            passed: passed.iter().copied().collect(),
            broken: 0,
            late,
            abandoned: 0,
            passage: Latencies::new(),
            usage: Usage::default(),
            cpu: Duration::ZERO,
        };
        let (cloud_run, knative) =
            (Policy::CloudRun(CloudRunParameters::default()), Policy::Knative(KnativeParameters::default()));
        let told = BTreeMap::from([(200, 50), (429, 7), (502, 2), (503, 5), (504, 4)]);
        for (name, policy, passed, late, expected) in [
            ("Cloud Run", &cloud_run, &[][..], 4, 7),
            ("an application's own 429", &cloud_run, &[(429, 3)], 0, 4),
            ("Knative", &knative, &[], 0, 9),
            ("an overloaded server's own 503, and an answer that took too long", &knative, &[(503, 5)], 1, 3),
        ] {
            assert_eq!(rejected(policy, &told, &account(passed, late)), expected, "{name}");
        }
    }
}
