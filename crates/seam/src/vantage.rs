//! The place from which a deployment is seen.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use stampede_core::{Answer, Counters, Endpoint, Fut, MeterSource};

use crate::exchange::{Call, NoAnswer};
use crate::load_handle::{LoadError, LoadHandle, LoadOrder};
use crate::moment::Moment;
use crate::sampling::{SampleTargets, SamplerHandle, SamplingError};

/// The place from which a deployment is seen, with a clock of its own. Addresses and meters are those that the deployment's
/// [`Running`](crate::Running) gives, as they are reached from here.
pub trait Vantage: fmt::Debug + Send + Sync {
    /// The time now. It never goes back.
    fn now(&self) -> Moment;

    /// The date and time now, for records.
    fn timestamp(&self) -> Timestamp;

    /// Waits until a moment; not at all for one that has passed.
    fn sleep_until(&self, until: Moment) -> Fut<'_, ()>;

    /// Opens a connection and closes it, within `timeout`.
    ///
    /// # Errors
    ///
    /// Why there was none.
    fn connect<'a>(&'a self, endpoint: &'a Endpoint, timeout: Duration) -> Fut<'a, Result<(), NoAnswer>>;

    /// Sends one request, and waits for its answer.
    ///
    /// # Errors
    ///
    /// Why there is none.
    fn exchange<'a>(&'a self, call: &'a Call) -> Fut<'a, Result<Answer, NoAnswer>>;

    /// Reads the counters of several groups at one instant. The sources of a group are added up. From afar they are those that came
    /// last: groups that are new come with the next [`sleep_until`](Self::sleep_until), and from then on those of the
    /// moment that it waits for.
    fn counters(&self, groups: &[&[MeterSource]]) -> Reading;

    /// Starts a load.
    ///
    /// # Errors
    ///
    /// Why it could not be started. Nothing runs then. From afar [`LoadHandle::finish`] may be the first to know.
    fn load(&self, order: LoadOrder) -> Result<Box<dyn LoadHandle>, LoadError>;

    /// Samples a deployment within a window.
    ///
    /// # Errors
    ///
    /// Why it could not be started.
    fn sample(&self, targets: SampleTargets, window: Range<Moment>) -> Result<Box<dyn SamplerHandle>, SamplingError>;

    /// Whether loads are not driven by io_uring here, whatever they ask for.
    fn refuses_io_uring(&self) -> bool {
        false
    }

    /// Why nothing is seen, or no load is driven, from here any more: an agent that it needs is lost.
    fn why_lost(&self) -> Option<String> {
        None
    }
}

/// Counters at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// When they were read: now, or a moment ago where they come from afar.
    pub at: Moment,
    /// Those of each group, in the order in which they were asked for; none of a group without sources, or of which nothing
    /// has come from afar; or why it could not be read.
    pub groups: Vec<Result<Option<Counters>, String>>,
}
