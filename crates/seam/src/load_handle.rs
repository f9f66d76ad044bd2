//! A load that runs.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use stampede_core::{ClientLink, Endpoint, Fut, LinkUse};
use thiserror::Error;

use crate::generator_record::{GeneratorRecord, HeldUp};
use crate::load_result::LoadResult;
use crate::load_spec::LoadSpec;
use crate::moment::Moment;
use crate::rough_latencies::RoughLatencies;
use crate::slice::Slice;
use crate::turn_span::TurnSpan;

/// A load, the way that it takes, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadOrder {
    /// The load.
    pub spec: LoadSpec,
    /// How far the clients are away from the targets; not at all by default. Its one target must be a TCP address then.
    pub link: Option<ClientLink>,
    /// When it begins; at once by default. Where that has passed, its beginning is missed and nothing is shifted.
    pub begins: Option<Moment>,
    /// Its turns, between which it rests; none by default. They take the place of [`LoadSpec::warm_up`] and
    /// [`LoadSpec::duration`]. The load is closed then, by a steady number of clients without a scenario or a number of requests.
    pub turns: Vec<TurnSpan>,
}

impl LoadOrder {
    /// When its window opens and closes, where it is started now; of a load in turns, the first window's begin and the last one's end.
    pub fn window(&self, now: Moment) -> Range<Moment> {
        let begins = self.begins.unwrap_or(now);
        match (self.turns.first(), self.turns.last()) {
            (Some(first), Some(last)) => begins + first.opens..begins + last.closes,
            _ => {
                let opens = begins + self.spec.warm_up;
                opens..opens + self.spec.duration
            }
        }
    }
}

/// What has become of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadOutcome {
    /// What was measured.
    pub result: LoadResult,
    /// What the way between clients and targets cost, where there was one.
    pub link: Option<LinkUse>,
    /// What held up the process that drove it, where it is a [`Shard`](crate::Shard).
    pub held_up: Option<HeldUp>,
    /// The generators that drove it, where there were several.
    pub generators: Vec<GeneratorRecord>,
}

/// How far a load is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadStatus {
    /// Requests that have come to an end.
    pub progress: LoadProgress,
    /// How long requests have taken so far.
    pub latencies: RoughLatencies,
    /// The seconds of the window that have passed since the last look, where they were asked for.
    pub slices: Vec<Slice>,
    /// Whether all answers are there or the drain's time is over, so that [`LoadHandle::finish`] does not wait.
    pub is_finished: bool,
}

/// How many requests have come to an end so far, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadProgress {
    /// Right answers.
    pub ok: u64,
    /// Failed requests.
    pub failed: u64,
}

/// A load that runs until its drain ends, whatever is done with this meanwhile. Dropping it ends it at once.
pub trait LoadHandle: Send {
    /// When the window opens and the warm-up ends, and when the window closes and the drain begins, at the latest; of a load in
    /// turns, the first window's begin and the last one's end. From afar it is an expectation until the load has begun there.
    fn window(&self) -> Range<Moment>;

    /// How far it is.
    fn look(&mut self) -> LoadStatus;

    /// Has requests go to these targets from now on, each with its share of the connections, and to no other. Does not wait. Where there is
    /// none, or one has no address, it goes on as before.
    fn set_targets(&mut self, targets: &[Endpoint]);

    /// Ends it now: what has no answer yet is unfinished, and the window ends here. Does not wait; [`LoadHandle::finish`] does.
    fn cut(&mut self);

    /// Waits until all answers are there or the drain's time is over, and gives what was measured.
    fn finish(self: Box<Self>) -> Fut<'static, Result<LoadOutcome, LoadError>>;
}

/// A load could not be started, or was lost.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{0}")]
pub struct LoadError(pub String);
