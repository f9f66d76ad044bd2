//! Who looks at a load while it runs, and may end it.

use std::ops::Range;
use std::time::Duration;

use stampede_analysis::{PilotWatch, ProbeWatch};
use stampede_core::SloSecond;
use stampede_seam::{LoadStatus, Moment, Slice};

/// What a load is watched for.
pub(crate) enum Watch<'a> {
    /// When it comes to rest.
    Pilot(&'a mut PilotWatch),
    /// Whether an objective can still be met.
    Probe(&'a mut ProbeWatch),
}

impl Watch<'_> {
    /// Takes a look at the load in; whether there is nothing more to see.
    pub(crate) fn see(&mut self, view: &LoadStatus, window: &Range<Moment>, now: Moment) -> bool {
        match self {
            Self::Pilot(watch) => see(watch, view, now.since(window.start)),
            Self::Probe(watch) => {
                view.slices.iter().for_each(|slice| take(watch, slice));
                now >= window.start && watch.is_hopeless()
            }
        }
    }

    /// Takes the last seconds of a window of this length in; the seconds of it all.
    pub(crate) fn finish(&mut self, window: Duration, slices: &[Slice]) -> Vec<SloSecond> {
        match self {
            Self::Pilot(_) => Vec::new(),
            Self::Probe(watch) => {
                slices.iter().for_each(|slice| take(watch, slice));
                // Answers of the drain are no second's of the window.
                watch.seconds(window + Duration::from_millis(1))
            }
        }
    }
}

/// Takes a look at a pilot's load in, so long after its window opened; whether there is nothing more to see.
fn see(watch: &mut PilotWatch, view: &LoadStatus, at: Duration) -> bool {
    match watch {
        PilotWatch::Rate { counts } => counts.push((at, view.progress.ok)),
        PilotWatch::Response { seconds } => {
            if view.slices.is_empty() {
                return false;
            }
            seconds.extend(view.slices.iter().map(|slice| slice.response.clone()));
        }
    }
    watch.is_over()
}

fn take(watch: &mut ProbeWatch, slice: &Slice) {
    let Slice { second, ok, failed, response, .. } = slice;
    watch.take(*second, ok + failed, *failed, response);
}
