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
    (Slicer { current: Box::new(Slice::new(0)), clock: None, rests_at: None, full, empty }, Slices { read, back })
}

/// A load thread's end.
#[derive(Debug)]
pub(crate) struct Slicer {
    pub(crate) current: Box<Slice>,
    /// When the window begins, and the present slice ends, once that is known.
    clock: Option<(Instant, Instant)>,
    /// When the load rests, with which its seconds stand still.
    rests_at: Option<Instant>,
    full: SyncSender<Box<Slice>>,
    empty: Receiver<Box<Slice>>,
}

impl Slicer {
    /// Continues in a turn whose window opens after so much of windows: seconds are those of all windows, put together. Where one
    /// more turn comes, they stand still when this one's window closes.
    pub(crate) fn resume(&mut self, timeline: &Timeline, after: Duration, is_last: bool) {
        self.rests_at = (!is_last).then_some(timeline.closes_at);
        let ends_after = SECOND * u32::try_from(after.as_secs() + 1).unwrap_or(u32::MAX) - after;
        self.clock = timeline.opens_at.checked_sub(after).map(|began| (began, timeline.opens_at + ends_after));
    }

    /// When the present slice is to be handed over.
    pub(crate) fn ends_at(&self) -> Option<Instant> {
        let (_, ends_at) = self.clock?;
        self.rests_at.is_none_or(|rests_at| ends_at <= rests_at).then_some(ends_at)
    }

    /// Hands the present slice over when its second has passed.
    pub(crate) fn turn(&mut self, now: Instant) {
        let now = self.rests_at.map_or(now, |rests_at| now.min(rests_at));
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
    use stampede_seam::TurnSpan;

    use super::*;

    #[test]
    fn seconds_stand_still_between_turns() {
        let start = Instant::now();
        let tenth = SECOND / 10;
        let span = |number: u32| {
            let wakes = 5 * SECOND * number;
            TurnSpan { wakes, opens: wakes + tenth, closes: wakes + 7 * tenth, rests: wakes + 8 * tenth }
        };
        let spans: Vec<_> = (0..5).map(span).collect();
        let timelines = Timeline::of_turns(start, &spans, SECOND);
        let (mut slicer, slices) = channel();
        let gathering = Gathering::new(vec![slices]);
        for (number, timeline) in (0..).zip(&timelines) {
            slicer.resume(timeline, 6 * tenth * number, number == 4);
            // Two answers in the middle of each tenth of the window, and one after it.
            for tick in 0..6 {
                slicer.turn(timeline.opens_at + tenth * tick + tenth / 2);
                slicer.current.ok += 2;
            }
            if number < 4 {
                slicer.turn(timeline.closes_at);
                slicer.turn(timeline.closes_at + 2 * SECOND);
                slicer.current.ok += 1;
                assert!(slicer.ends_at().is_none_or(|ends_at| ends_at <= timeline.closes_at));
            }
        }
        let told: Vec<_> = gathering.finish([slicer.current]).iter().map(|slice| (slice.second, slice.ok)).collect();
        // 0.6 s a turn; what comes after a window is of the second that continues with the next one.
        assert_eq!(told, [(0, 21), (1, 22), (2, 21)]);
    }

    #[test]
    fn slices_of_all_threads_become_one_and_none_is_lost() {
        let start = Instant::now();
        let timeline = Timeline::new(start, Duration::ZERO, 60 * SECOND, SECOND);
        let (mut slicers, slices): (Vec<_>, Vec<_>) = (0..2).map(|_| channel()).unzip();
        let mut gathering = Gathering::new(slices);
        slicers.iter_mut().for_each(|slicer| slicer.resume(&timeline, Duration::ZERO, true));
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
