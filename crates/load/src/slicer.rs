//! What happens in each second of the window, told while load runs.
//!
//! A load thread fills one slice after the other and hands each over by a channel. Slices go round: all of them are made
//! before the start, and one that has been read comes back empty. Where nobody reads, a slice goes on for longer than its
//! second, and nothing is lost.

use std::collections::BTreeMap;
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use stampede_seam::Slice;

use crate::timeline::Timeline;

/// Slices that a thread has; reading may lag behind by as many seconds.
const SLICES: usize = 8;

const SECOND: Duration = Duration::from_secs(1);

/// Makes the two ends for one thread.
pub(crate) fn channel() -> (Slicer, Slices) {
    let (full, read) = sync_channel(SLICES);
    let (back, empty) = sync_channel(SLICES);
    for _ in 1..SLICES {
        // There is room for all of them.
        let _ = back.try_send(Box::new(Slice::new(0)));
    }
    (Slicer { current: Box::new(Slice::new(0)), clock: None, full, empty }, Slices { read, back })
}

/// A load thread's end.
#[derive(Debug)]
pub(crate) struct Slicer {
    pub(crate) current: Box<Slice>,
    /// When the window begins, and the present slice ends, once that is known.
    clock: Option<(Instant, Instant)>,
    full: SyncSender<Box<Slice>>,
    empty: Receiver<Box<Slice>>,
}

impl Slicer {
    pub(crate) fn start(&mut self, timeline: &Timeline) {
        self.clock = Some((timeline.opens_at, timeline.opens_at + SECOND));
    }

    /// When the present slice is to be handed over.
    pub(crate) fn ends_at(&self) -> Option<Instant> {
        self.clock.map(|(_, ends_at)| ends_at)
    }

    /// Hands the present slice over when its second has passed.
    pub(crate) fn turn(&mut self, now: Instant) {
        let Some((opens_at, _)) = self.clock.filter(|(_, ends_at)| *ends_at <= now) else { return };
        let second = now.saturating_duration_since(opens_at).as_secs();
        self.clock = Some((opens_at, opens_at + Duration::from_secs(second + 1)));
        if let Ok(mut next) = self.empty.try_recv() {
            next.begin(second);
            // There are no more slices than there is room for.
            let _ = self.full.try_send(mem::replace(&mut self.current, next));
        }
    }
}

/// The reader's end.
#[derive(Debug)]
pub(crate) struct Slices {
    read: Receiver<Box<Slice>>,
    back: SyncSender<Box<Slice>>,
}

/// Puts the slices of all threads together.
#[derive(Debug)]
pub(crate) struct Gathering {
    threads: Vec<Slices>,
    /// Slices that have not been told, with the number of threads that they are from.
    waiting: BTreeMap<u64, (Slice, usize)>,
}

impl Gathering {
    pub(crate) fn new(threads: Vec<Slices>) -> Self {
        Self { threads, waiting: BTreeMap::new() }
    }

    /// The slices that all threads have handed over, in order.
    pub(crate) fn take(&mut self) -> Vec<Slice> {
        for Slices { read, back } in &self.threads {
            while let Ok(slice) = read.try_recv() {
                add(&mut self.waiting, &slice);
                let _ = back.try_send(slice);
            }
        }
        let mut taken = Vec::new();
        while let Some(entry) = self.waiting.first_entry().filter(|entry| entry.get().1 >= self.threads.len()) {
            taken.push(entry.remove().0);
        }
        taken
    }

    /// All that is left, with what the threads had not handed over. A window of whole seconds ends with an empty one, which
    /// is left out.
    pub(crate) fn finish(mut self, last: impl IntoIterator<Item = Box<Slice>>) -> Vec<Slice> {
        let mut taken = self.take();
        for slice in last {
            add(&mut self.waiting, &slice);
        }
        taken.extend(self.waiting.into_values().map(|(slice, _)| slice));
        taken.pop_if(|last| last.sent + last.ok + last.failed == 0 && last.response.count() == 0);
        taken
    }
}

fn add(waiting: &mut BTreeMap<u64, (Slice, usize)>, slice: &Slice) {
    let (sum, threads) = waiting.entry(slice.second).or_insert_with(|| (Slice::new(slice.second), 0));
    sum.merge(slice);
    *threads += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_of_all_threads_become_one_and_none_is_lost() {
        let start = Instant::now();
        let timeline = Timeline::new(start, Duration::ZERO, 60 * SECOND, SECOND);
        let (mut slicers, slices): (Vec<_>, Vec<_>) = (0..2).map(|_| channel()).unzip();
        let mut gathering = Gathering::new(slices);
        slicers.iter_mut().for_each(|slicer| slicer.start(&timeline));
        let mut told = Vec::new();
        for second in 0..30 {
            for (thread, slicer) in slicers.iter_mut().enumerate() {
                slicer.turn(start + second * SECOND + SECOND / 2);
                slicer.current.ok += 1 + thread as u64;
                slicer.current.service.record_ns(1_000_000);
            }
            // Nobody reads in the middle.
            if !(5..20).contains(&second) {
                told.extend(gathering.take());
            }
        }
        told.extend(gathering.finish(slicers.into_iter().map(|slicer| slicer.current)));
        assert_eq!(told.iter().map(|slice| slice.ok).sum::<u64>(), 90);
        assert_eq!(told.iter().map(|slice| slice.service.count()).sum::<u64>(), 60);
        assert!(told.is_sorted_by(|a, b| a.second < b.second));
        assert_eq!((told[0].second, told[0].ok, told.last().unwrap().second), (0, 3, 29));
    }
}
