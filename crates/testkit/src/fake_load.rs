//! A load on a deployment that is made up: what it would have measured follows from the deployment's lifetime.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use stampede_core::{Censored, Counts, Fut, GeneratorUse, Latencies, LinkUse, Load};
use stampede_seam::{
    Failure, LittlesLaw, LoadError, LoadHandle, LoadOrder, LoadOutcome, LoadResult, LoadView, Measures, Moment,
    Progress, RoughLatencies, Slice, StepResult,
};
use tokio::time::Instant;

use crate::fake_vantage::FakeDeployment;

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
    window: Range<Moment>,
    cut: Option<Moment>,
    /// Seconds of the window that were told.
    told: u64,
}

impl FakeLoad {
    pub(crate) fn start(clock: Instant, now: Moment, order: LoadOrder, deployment: Arc<FakeDeployment>) -> Self {
        let opens = now + order.spec.warm_up;
        let window = opens..opens + order.spec.duration;
        deployment.loaded.lock().unwrap_or_else(PoisonError::into_inner).push(now..window.end);
        Self { clock, order, deployment, began: now, window, cut: None, told: 0 }
    }

    fn now(&self) -> Moment {
        Moment::new(self.clock.elapsed())
    }

    /// Right answers a second, so long after the window opened.
    fn rate(&self) -> f64 {
        let most = self.deployment.lifetime.rate;
        match &self.order.spec.load {
            Load::Open { schedule, .. } => {
                most.min(schedule.count_before(self.order.spec.duration) as f64 / self.seconds())
            }
            Load::Closed { .. } | Load::Ramped { .. } => most,
        }
    }

    /// When the last answer is there.
    fn drained(&self) -> Moment {
        self.window.end + self.deployment.lifetime.drain
    }

    fn seconds(&self) -> f64 {
        self.order.spec.duration.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn answers_between(&self, from: Moment, to: Moment) -> u64 {
        if self.deployment.frozen().is_some() {
            return 0;
        }
        (self.rate() * to.since(from).as_secs_f64()).round() as u64
    }

    fn latencies(&self, mut latencies: Latencies, count: u64) -> Latencies {
        let ns = u64::try_from(self.deployment.lifetime.latency.as_nanos()).unwrap_or(u64::MAX);
        (0..count).for_each(|_| latencies.record_ns(ns));
        latencies
    }

    /// The seconds of the window that are over and were not told.
    fn slices(&mut self, now: Moment) -> Vec<Slice> {
        let whole = now.min(self.window.end).since(self.window.start).as_secs();
        let slices = (self.told..whole).map(|second| {
            let ok = self.answers_between(Moment::START, Moment::new(SECOND));
            Slice {
                sent: ok,
                ok,
                response: self.latencies(Latencies::coarse(), ok.min(MOST_OF_A_SECOND)),
                ..Slice::new(second)
            }
        });
        let slices = slices.collect();
        self.told = self.told.max(whole);
        slices
    }

    fn result(mut self) -> LoadResult {
        let end = self.cut.unwrap_or(self.window.end).min(self.window.end);
        let window = end.since(self.window.start);
        let lifetime = &self.deployment.lifetime;
        let ok = self.answers_between(self.window.start, end);
        let failed = lifetime.errors.iter().map(|(_, count)| count).sum();
        let requests = Counts { sent: ok + failed + lifetime.unfinished, ok, failed, unfinished: lifetime.unfinished };
        let before = self.answers_between(self.began, self.window.start);
        let measures = Measures {
            requests,
            warm_up: Counts { sent: before, ok: before, ..Counts::default() },
            unsent: 0,
            service: self.latencies(Latencies::new(), ok.min(MOST_LATENCIES)),
            response: self.latencies(Latencies::new(), ok.min(MOST_LATENCIES)),
            censored: Censored::default(),
            first_byte: Latencies::coarse(),
            connect: Latencies::coarse(),
            tls: Latencies::coarse(),
            lateness: Latencies::coarse(),
            warm_up_status: BTreeMap::from([(200, before)]),
            status: BTreeMap::from([(200, ok)]),
            errors: lifetime.errors.iter().copied().collect(),
        };
        let first_failure =
            lifetime.errors.first().map(|(class, _)| Failure { class: *class, step: 0, detail: format!("{class:?}") });
        let steps = self.order.spec.exchanges.iter().map(|exchange| StepResult {
            name: format!("{} {}", exchange.request.method, exchange.request.path),
            measures: measures.clone(),
        });
        let (steps, saturation, backend) = (steps.collect(), lifetime.saturation, self.order.spec.backend);
        let slices = self.slices(end);
        LoadResult {
            window,
            total: measures,
            steps,
            flows: Vec::new(),
            unmatched_captures: Vec::new(),
            exhausted_feeders: Vec::new(),
            slices,
            backend,
            reconnects: 0,
            bytes_sent: 100 * ok,
            bytes_received: 200 * ok,
            generator: GeneratorUse { threads: 1, cpu: window / 10 },
            spin: Duration::ZERO,
            littles_law: LittlesLaw::default(),
            saturation,
            wrong_answers: Vec::new(),
            first_failure,
        }
    }
}

impl LoadHandle for FakeLoad {
    fn window(&self) -> Range<Moment> {
        self.window.clone()
    }

    fn look(&mut self) -> LoadView {
        let now = self.now();
        LoadView {
            progress: Progress { ok: self.answers_between(self.began, now.min(self.window.end)), failed: 0 },
            latencies: RoughLatencies::new(),
            slices: self.slices(now),
            is_finished: now >= self.drained(),
        }
    }

    fn cut(&mut self) {
        self.cut = Some(self.now());
    }

    fn finish(self: Box<Self>) -> Fut<'static, Result<LoadOutcome, LoadError>> {
        Box::pin(async move {
            let link = self.order.link.map(|_| LinkUse::default());
            if self.cut.is_none() {
                tokio::time::sleep_until(self.clock + self.drained().since_start()).await;
            }
            Ok(LoadOutcome { result: self.result(), link })
        })
    }
}
