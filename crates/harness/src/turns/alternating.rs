//! The load of one deployment through all its turns, and what is seen beside each.

use std::time::Duration;

use stampede_core::{Counts, Gauge, ResourceUse, Sampling, SeriesSource, Turn};
use stampede_seam::{LoadError, LoadHandle, LoadOrder, LoadOutcome, Moment, Running, TurnSpan};

use crate::event::Sink;
use crate::measure::{self, Beside, MeasureError, Measured, Part, SampleOrder};
use crate::seconds::Seconds;
use crate::turns::guard::Guard;

/// How often the end of the last answers is looked for.
const END_TICK: Duration = Duration::from_millis(5);

/// A load that rests between its turns. Dropping it ends it.
pub(crate) struct Alternating {
    load: Box<dyn LoadHandle>,
    /// When the first turn of the block could begin.
    began: Moment,
    spans: Vec<TurnSpan>,
    /// What was seen in the turns that are over.
    seen: Vec<Beside>,
    seconds: Seconds,
    guard: Guard,
}

/// How a turn went.
pub(crate) enum TurnEnd {
    /// As it should.
    Held,
    /// Turns have changed the deployment: what, in words.
    Changed(String),
}

impl Alternating {
    /// Starts the load, which sends nothing before its first turn. Its turns are counted from `began`.
    pub(crate) fn start(running: &dyn Running, began: Moment, order: LoadOrder) -> Result<Self, LoadError> {
        let spans = order.turns.clone();
        let load = running.vantage().load(LoadOrder { begins: Some(began), ..order })?;
        Ok(Self { load, began, spans, seen: Vec::new(), seconds: Seconds::default(), guard: Guard::new() })
    }

    /// Sees the deployment through its next turn, until it is at rest again.
    pub(crate) async fn turn(
        &mut self,
        running: &dyn Running,
        sampled: Option<SampleOrder>,
        sink: &mut dyn Sink,
    ) -> Result<TurnEnd, MeasureError> {
        let Some(span) = self.spans.get(self.seen.len()) else { return Ok(TurnEnd::Held) };
        let ended = tokio::select! {
            biased;
            exit = running.exited() => Some(exit),
            () = std::future::ready(()) => None,
        };
        if let Some(exit) = ended {
            return Err(MeasureError::Failed(measure::ended(&exit)));
        }
        if let Err(change) = self.guard.wakes(running) {
            return Ok(TurnEnd::Changed(change));
        }
        let rests = self.began + span.rests;
        let part = Part { window: self.began + span.opens..self.began + span.closes, is_last: false };
        let (load, seconds) = (self.load.as_mut(), &mut self.seconds);
        self.seen.push(measure::follow(running, load, seconds, part, sampled, None, sink).await?);
        running.vantage().sleep_until(rests).await;
        Ok(self.guard.rests(running).map_or_else(TurnEnd::Changed, |()| TurnEnd::Held))
    }

    /// Waits for the last answers: all turns as one window.
    pub(crate) async fn finish(mut self, running: &dyn Running) -> Result<Measured, MeasureError> {
        let vantage = running.vantage();
        loop {
            let view = self.load.look();
            self.seconds.add(&view.slices);
            if view.is_finished {
                break;
            }
            vantage.sleep_until(vantage.now() + END_TICK).await;
        }
        let outcome = self.load.finish().await.map_err(|error| MeasureError::Failed(error.to_string()))?;
        let turns = turns(&self.spans, &outcome, &self.seen);
        let window = turns.iter().map(|turn| turn.window).sum();
        let mut measured = measure::concluded(window, outcome, self.seconds, joined(&self.spans, self.seen));
        measured.measurement.turns = turns;
        Ok(measured)
    }
}

/// The turns in which this was measured.
fn turns(spans: &[TurnSpan], outcome: &LoadOutcome, seen: &[Beside]) -> Vec<Turn> {
    let turn = |((span, counts), beside): ((&TurnSpan, &Counts), &Beside)| {
        let series = beside.sampling.as_ref().map(|all| &all.series);
        let machine = series.and_then(|all| all.iter().find(|series| series.source == SeriesSource::Machine));
        Turn {
            at: span.opens,
            window: span.closes.saturating_sub(span.opens),
            ok: counts.ok,
            cpu: beside.resources.map(|used| used.cpu),
            periods: beside.resources.map_or(0, |used| used.periods),
            stolen: machine.and_then(|machine| machine.growth(Gauge::StolenUs)).map(Duration::from_micros),
        }
    };
    spans.iter().zip(&outcome.result.turns).zip(seen).map(turn).collect()
}

/// What was seen in all turns, put together. What was read late at each of them is part of what the whole reports.
fn joined(spans: &[TurnSpan], seen: Vec<Beside>) -> Beside {
    let mut turns = spans.iter().map(|span| span.closes.saturating_sub(span.opens)).zip(seen);
    let mut before = Duration::ZERO;
    let nothing =
        Beside { resources: None, parts: Vec::new(), edges_late: Duration::ZERO, sampling: None, is_cut: false };
    let Some((first, mut all)) = turns.next() else { return nothing };
    before += first;
    for (window, later) in turns {
        let Beside { resources, parts, edges_late, sampling, is_cut } = later;
        all.resources = all.resources.zip(resources).map(|(used, later)| added(used, later));
        for (part, later) in all.parts.iter_mut().zip(parts) {
            *part = part.zip(later).map(|(part, later)| added(part, later));
        }
        all.edges_late += edges_late;
        all.sampling = all.sampling.zip(sampling).map(|(mut all, later): (Sampling, Sampling)| {
            all.go_on(&later, before);
            all
        });
        all.is_cut |= is_cut;
        before += window;
    }
    all
}

/// What was used in both turns; memory at its peak. Processes that were killed for memory are counted since the launch.
fn added(used: ResourceUse, later: ResourceUse) -> ResourceUse {
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
