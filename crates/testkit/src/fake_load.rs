//! A load on a deployment that is made up: what it would have measured follows from the deployment's lifetime.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use stampede_core::{Censored, Counts, Endpoint, Fut, GeneratorUse, Latencies, LinkUse, Load};
use stampede_seam::{
    AnswerFacts, LittlesLaw, LoadError, LoadHandle, LoadOrder, LoadOutcome, LoadProgress, LoadResult, LoadStatus,
    Measures, Moment, RequestFailure, RoughLatencies, Slice, StepResult, TurnSpan,
};
use tokio::time::Instant;

use crate::fake_deployment::FakeDeployment;

const SECOND: Duration = Duration::from_secs(1);

/// So many latencies stand for all: enough for a 99th percentile, and quantiles of what is all alike do not need more.
const MOST_LATENCIES: u64 = 6_000;
/// The same of a second.
const MOST_OF_A_SECOND: u64 = 200;

pub(crate) struct FakeLoad {
    clock: Instant,
    order: LoadOrder,
    deployment: Arc<FakeDeployment>,
    began: Moment,
    /// When clients send, and what of it counts; one for each turn.
    turns: Vec<(Range<Moment>, Range<Moment>)>,
    window: Range<Moment>,
    cut: Option<Moment>,
    /// Seconds of the window that were told.
    told: u64,
}

impl FakeLoad {
    pub(crate) fn start(clock: Instant, now: Moment, order: LoadOrder, deployment: Arc<FakeDeployment>) -> Self {
        let began = order.begins.unwrap_or(now);
        let window = order.window(now);
        let turn = |TurnSpan { wakes, opens, closes, rests }: &TurnSpan| {
            (began + *wakes..began + *rests, began + *opens..began + *closes)
        };
        let turns: Vec<_> = match order.turns.as_slice() {
            [] => vec![(began..window.end, window.clone())],
            turns => turns.iter().map(turn).collect(),
        };
        let mut loaded = deployment.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.extend(turns.iter().map(|(active, _)| active.clone()));
        drop(loaded);
        Self { clock, order, deployment, began, turns, window, cut: None, told: 0 }
    }

    /// How much of the window, or of all turns' windows, there was until then.
    fn windowed(&self, until: Moment) -> Duration {
        self.turns.iter().map(|(_, window)| until.min(window.end).since(window.start)).sum()
    }

    /// How long clients have sent until then.
    fn active(&self, until: Moment) -> Duration {
        self.turns.iter().map(|(active, _)| until.min(active.end).since(active.start)).sum()
    }

    fn now(&self) -> Moment {
        Moment::new(self.clock.elapsed())
    }

    /// Requests that are due a second, in the mean over the window; of a closed load as many as are answered.
    fn demand(&self) -> f64 {
        match &self.order.spec.load {
            Load::Open { schedule, .. } => {
                schedule.count_before(self.order.spec.duration) as f64 / self.order.spec.duration.as_secs_f64()
            }
            Load::Closed { .. } | Load::Ramped { .. } => self.deployment.lifetime.rate,
        }
    }

    /// Answers a second.
    fn rate(&self) -> f64 {
        self.demand().min(self.deployment.lifetime.rate)
    }

    /// How many requests are due for each that can be answered, 1 at the least.
    fn overload(&self) -> f64 {
        if self.rate() > 0.0 { self.demand() / self.rate() } else { 1.0 }
    }

    /// When the last answer is there.
    fn drained(&self) -> Moment {
        self.window.end + self.deployment.lifetime.drain
    }

    fn answers_in(&self, time: Duration) -> u64 {
        (self.rate() * time.as_secs_f64()).round() as u64
    }

    /// This latency, so many times.
    fn times(mut latencies: Latencies, latency: Duration, count: u64) -> Latencies {
        let ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        latencies.record_ns_times(ns, count);
        latencies
    }

    /// The seconds of the window that are over and were not told.
    fn slices(&mut self, now: Moment) -> Vec<Slice> {
        let whole = self.windowed(now).as_secs();
        let slices = (self.told..whole).map(|second| {
            let ok = self.answers_in(SECOND);
            // Who is answered in the middle of it was due as much earlier as the queue had grown since the load began.
            let loaded = (self.window.start + SECOND * second as u32 + SECOND / 2).since(self.began);
            let response = self.deployment.lifetime.latency + loaded.mul_f64(1.0 - 1.0 / self.overload());
            let response = Self::times(Latencies::coarse(), response, ok.min(MOST_OF_A_SECOND));
            Slice { sent: ok, ok, response, ..Slice::new(second) }
        });
        let slices = slices.collect();
        self.told = self.told.max(whole);
        slices
    }

    /// The response times of requests that were due from the opening of the window until its `end`, those that never had their turn
    /// at their age, and how many of each there are. A queue without chance: who is due when the load is so old is answered when
    /// it is [`overload`](Self::overload) times as old.
    fn responses(&self, end: Moment) -> (Latencies, Censored, u64, u64) {
        let (mut latencies, mut censored) = (Latencies::new(), Censored::default());
        let opens = self.window.start.since(self.began);
        let ends = opens + self.windowed(end);
        let due = (self.demand() * self.windowed(end).as_secs_f64()).round() as u64;
        // Each stands for as many.
        let told = due.min(MOST_LATENCIES);
        if self.overload() <= 1.0 {
            return (Self::times(latencies, self.deployment.lifetime.latency, told), censored, due, 0);
        }
        let mut answered = 0;
        for number in 0..told {
            let at = opens + (ends - opens).mul_f64((number as f64 + 0.5) / told as f64);
            let turn = at.mul_f64(self.overload());
            let response = if turn <= ends { self.deployment.lifetime.latency + (turn - at) } else { ends - at };
            if turn <= ends {
                answered += 1;
            } else {
                censored.add(response);
            }
            latencies = Self::times(latencies, response, 1);
        }
        let ok = if told > 0 { (due as f64 * f64::from(answered) / told as f64).round() as u64 } else { 0 };
        (latencies, censored, ok, due - ok)
    }

    /// So many requests, as they are dealt out to the targets.
    fn by_target(&self, sent: u64) -> Vec<u64> {
        let targets = self.order.spec.targets.len() as u64;
        (0..targets).map(|target| sent / targets + u64::from(target < sent % targets)).collect()
    }

    fn result(mut self) -> LoadResult {
        let end = self.cut.unwrap_or(self.window.end).min(self.window.end);
        let window = self.windowed(end);
        let lifetime = &self.deployment.lifetime;
        let (response, censored, ok, unsent) = self.responses(end);
        let failed = lifetime.errors.iter().map(|(_, count)| count).sum();
        let requests = Counts { sent: ok + failed + lifetime.unfinished, ok, failed, unfinished: lifetime.unfinished };
        let before = self.answers_in(self.active(end) - window);
        let of_turn = |(_, window): &(_, Range<Moment>)| {
            let ok = self.answers_in(window.end.since(window.start));
            Counts { sent: ok, ok, ..Counts::default() }
        };
        let turns = if self.order.turns.is_empty() { Vec::new() } else { self.turns.iter().map(of_turn).collect() };
        let measures = Measures {
            requests,
            warm_up: Counts { sent: before, ok: before, ..Counts::default() },
            unsent,
            service: Self::times(Latencies::new(), lifetime.latency, ok.min(MOST_LATENCIES)),
            response,
            censored,
            first_byte: Latencies::coarse(),
            connect: Latencies::coarse(),
            tls: Latencies::coarse(),
            lateness: Latencies::coarse(),
            warm_up_status: BTreeMap::from([(200, before)]),
            status: BTreeMap::from([(200, ok)]),
            errors: lifetime.errors.iter().copied().collect(),
            events: None,
        };
        let first_failure = lifetime.errors.first().map(|(class, _)| RequestFailure {
            class: *class,
            step: 0,
            detail: format!("{class:?}"),
        });
        let steps = self.order.spec.exchanges.iter().map(|exchange| StepResult {
            name: format!("{} {}", exchange.request.method, exchange.request.path),
            measures: measures.clone(),
        });
        let (steps, saturation, backend) = (steps.collect(), lifetime.saturation, self.order.spec.backend);
        let exhausted_feeders = lifetime.exhausted_feeders.clone();
        let slices = self.slices(end);
        LoadResult {
            window,
            turns,
            by_target: self.by_target(requests.sent),
            total: measures,
            steps,
            flows: Vec::new(),
            unmatched_captures: Vec::new(),
            exhausted_feeders,
            slices,
            backend,
            reconnects: 0,
            bytes_sent: 100 * ok,
            bytes_received: 200 * ok,
            generator: GeneratorUse { threads: 1, cpu: window / 10 },
            spin: Duration::ZERO,
            begun_late: None,
            littles_law: LittlesLaw::default(),
            saturation,
            facts: AnswerFacts::default(),
            wrong_answers: Vec::new(),
            first_failure,
        }
    }
}

impl LoadHandle for FakeLoad {
    fn window(&self) -> Range<Moment> {
        self.window.clone()
    }

    fn look(&mut self) -> LoadStatus {
        let now = self.now();
        LoadStatus {
            progress: LoadProgress { ok: self.answers_in(self.active(now)), failed: 0 },
            latencies: RoughLatencies::new(),
            slices: self.slices(now),
            is_finished: now >= self.drained(),
        }
    }

    fn set_targets(&mut self, _targets: &[Endpoint]) {}

    fn cut(&mut self) {
        self.cut = Some(self.now());
    }

    fn finish(self: Box<Self>) -> Fut<'static, Result<LoadOutcome, LoadError>> {
        Box::pin(async move {
            let link = self.order.link.map(|_| LinkUse::default());
            if self.cut.is_none() {
                tokio::time::sleep_until(self.clock + self.drained().since_start()).await;
            }
            Ok(LoadOutcome { result: self.result(), link, held_up: None, generators: Vec::new() })
        })
    }
}
