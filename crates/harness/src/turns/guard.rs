//! What a rest must leave as it was: otherwise turns measure something that a window does not.
//!
//! Connections need no look: a load keeps its own through all turns, and opens one only to a server that has closed it.

use std::collections::BTreeSet;

use stampede_seam::Running;

/// From so many pages on that one turn reads from a disk, turns are given up. A page takes a tenth of a millisecond of one worker
/// on a solid-state disk and ten on a turning one, of a turn of some 400 ms of all workers; what a rest had taken away comes back
/// by hundreds.
const FEW_PAGES: u64 = 4;

/// A deployment before its turns, and after each rest.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The workers that it had when its last turn was over; none before the first.
    workers: Option<BTreeSet<u32>>,
    /// Pages that had been read from a disk when its last turn was over: in its first one it may read what it never needed
    /// before, as in a window. None before the first, and where nobody counts them.
    major_faults: Option<u64>,
}

impl Guard {
    /// Of a deployment that is warm and has had no turn.
    pub(crate) fn new() -> Self {
        Self { workers: None, major_faults: None }
    }

    /// Looks at a deployment whose turn is over.
    ///
    /// # Errors
    ///
    /// What turns have changed.
    pub(crate) fn rests(&mut self, running: &dyn Running) -> Result<(), String> {
        self.workers = Some(running.forks());
        let now = major_faults(running);
        let before = std::mem::replace(&mut self.major_faults, now);
        match before.zip(now).map_or(0, |(before, now)| now.saturating_sub(before)) {
            ..FEW_PAGES => Ok(()),
            pages => Err(format!("{pages} pages of its memory had to be read from a disk")),
        }
    }

    /// Looks at a deployment that has rested.
    ///
    /// # Errors
    ///
    /// What the rest has changed.
    pub(crate) fn wakes(&self, running: &dyn Running) -> Result<(), String> {
        let Some(before) = &self.workers else { return Ok(()) };
        let now = running.forks();
        let (ended, begun) = (before.difference(&now).count(), now.difference(before).count());
        match (ended, begun) {
            (0, 0) => Ok(()),
            (0, begun) => Err(format!("{} began while it was at rest", workers(begun))),
            (ended, _) => Err(format!("{} of its {} ended while it was at rest", ended, workers(before.len()))),
        }
    }
}

fn workers(count: usize) -> String {
    if count == 1 { "1 worker".to_owned() } else { format!("{count} workers") }
}

fn major_faults(running: &dyn Running) -> Option<u64> {
    let meters = running.meters();
    let read = running.vantage().counters(&[&meters]);
    let counters = read.groups.into_iter().next()?.ok().flatten()?;
    Some(counters.major_faults)
}
