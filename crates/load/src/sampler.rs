//! Keeps every request of a load for whoever writes them down while it runs.
//!
//! As with the seconds of a load ([`crate::slicer`]), batches go round: all of them are made, and their memory is touched, before the
//! start. A load thread fills one and hands it over; whoever has read it gives it back. Where none has come back in time a request is
//! not kept, and counted as lost. The reader looks again and again instead of being woken: to wake it the load thread would take a lock.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use stampede_core::ErrorClass;
use stampede_seam::{RequestSample, SampleEnd};

use crate::answered::nanoseconds;

/// Requests of a batch.
const BATCH: usize = 1024;

/// Batches that a thread has: 27 MiB, which hold 200,000 requests.
const BATCHES: usize = 200;

/// A batch that is not full is handed over after this time.
const PATIENCE: Duration = Duration::from_millis(500);

/// Makes the two ends for one thread.
pub(crate) fn channel() -> (Sampler, ThreadSamples) {
    let (full, read) = sync_channel(BATCHES);
    let (back, empty) = sync_channel(BATCHES);
    let now = Instant::now();
    let blank = EndedRequest {
        due: now,
        begun: now,
        connecting: now,
        sent: None,
        written: now,
        first_byte: now,
        at: now,
        bytes: u64::MAX,
        step: usize::MAX,
        status: None,
        end: SampleEnd::Failed(ErrorClass::Io),
    };
    let make = || {
        let mut requests = vec![blank; BATCH];
        requests.clear();
        Batch { begins: now, requests }
    };
    for _ in 1..BATCHES {
        // There is room for all of them.
        let _ = back.try_send(make());
    }
    let lost = Arc::new(AtomicU64::new(0));
    let sampler = Sampler { current: make(), handed_at: now, full, empty, lost: Arc::clone(&lost) };
    (sampler, ThreadSamples { read, back, lost, is_over: false, samples: Vec::with_capacity(BATCH) })
}

/// Requests as the load thread keeps them: whoever reads them computes their times.
#[derive(Debug)]
struct Batch {
    /// Moments count from this instant on.
    begins: Instant,
    requests: Vec<EndedRequest>,
}

/// A load thread's end. What it holds when it is dropped is handed over.
#[derive(Debug)]
pub(crate) struct Sampler {
    current: Batch,
    handed_at: Instant,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
    lost: Arc<AtomicU64>,
}

/// A request that has ended, with the instants of its life.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedRequest {
    pub(crate) due: Instant,
    pub(crate) begun: Instant,
    /// When its connection was asked for last.
    pub(crate) connecting: Instant,
    pub(crate) sent: Option<Instant>,
    pub(crate) written: Instant,
    pub(crate) first_byte: Instant,
    pub(crate) at: Instant,
    pub(crate) bytes: u64,
    pub(crate) step: usize,
    pub(crate) status: Option<u16>,
    pub(crate) end: SampleEnd,
}

impl Sampler {
    /// Moments count from this instant on.
    pub(crate) fn begin(&mut self, at: Instant) {
        self.current.begins = at;
        self.handed_at = at;
    }

    /// Keeps a request, or counts it as lost.
    pub(crate) fn keep(&mut self, request: &EndedRequest) {
        if self.current.requests.len() == BATCH {
            self.hand_over(request.at);
        }
        if self.current.requests.len() == BATCH {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.current.requests.push(*request);
    }

    /// Hands over what has been there for a while.
    pub(crate) fn turn(&mut self, now: Instant) {
        if !self.current.requests.is_empty() && now.saturating_duration_since(self.handed_at) >= PATIENCE {
            self.hand_over(now);
        }
    }

    fn hand_over(&mut self, now: Instant) {
        if let Ok(next) = self.empty.try_recv() {
            let next = Batch { begins: self.current.begins, ..next };
            self.handed_at = now;
            // There are no more batches than there is room for.
            let _ = self.full.try_send(mem::replace(&mut self.current, next));
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // As above; a reader that has gone reads nothing.
        let last = Batch { begins: self.current.begins, requests: mem::take(&mut self.current.requests) };
        let _ = self.full.try_send(last);
    }
}

/// The reader's end of one thread.
#[derive(Debug)]
pub(crate) struct ThreadSamples {
    read: Receiver<Batch>,
    back: SyncSender<Batch>,
    lost: Arc<AtomicU64>,
    is_over: bool,
    /// The samples of the batch that is read.
    samples: Vec<RequestSample>,
}

impl EndedRequest {
    /// Its times, as moments from `begins` on.
    fn sample(self, begins: Instant) -> RequestSample {
        let Self { due, begun, connecting, sent, written, first_byte, at, bytes, step, status, end } = self;
        let between = |from: Instant, to: Instant| nanoseconds(to.saturating_duration_since(from));
        let connected = if connecting >= begun { between(connecting, sent.unwrap_or(at)) } else { 0 };
        RequestSample {
            due_ns: between(begins, due),
            sent_ns: sent.map(|sent| between(begins, sent)),
            connect_ns: connected,
            written_ns: sent.map_or(0, |sent| between(sent, written)),
            first_byte_ns: sent
                .filter(|sent| first_byte > *sent || status.is_some())
                .map(|sent| between(sent, first_byte)),
            total_ns: between(due, at),
            bytes,
            step: u32::try_from(step).unwrap_or(u32::MAX),
            status,
            end,
        }
    }
}

/// The requests of a load, as they end.
#[derive(Debug)]
pub struct SampleReader {
    threads: Vec<ThreadSamples>,
}

impl SampleReader {
    pub(crate) fn new(threads: Vec<ThreadSamples>) -> Self {
        Self { threads }
    }

    /// Gives all requests that were handed over since the last call, those of a thread in the order of their ends; `false` once no
    /// more will come. To be called a few times in each second: a load keeps the last 200,000 of each of its threads.
    pub fn read(&mut self, mut take: impl FnMut(&[RequestSample])) -> bool {
        for ThreadSamples { read, back, is_over, samples, .. } in &mut self.threads {
            loop {
                match read.try_recv() {
                    Ok(mut batch) => {
                        samples.clear();
                        samples.extend(batch.requests.iter().map(|request| request.sample(batch.begins)));
                        take(samples);
                        batch.requests.clear();
                        // Nobody needs it once the load is over.
                        let _ = back.try_send(batch);
                    }
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        *is_over = true;
                        break;
                    }
                }
            }
        }
        self.threads.iter().any(|thread| !thread.is_over)
    }

    /// Requests that could not be kept since they were not read fast enough.
    pub fn lost(&self) -> u64 {
        self.threads.iter().map(|thread| thread.lost.load(Ordering::Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(start: Instant, number: u32) -> EndedRequest {
        let ms = Duration::from_millis(1);
        let due = start + ms * number;
        EndedRequest {
            due,
            begun: due,
            connecting: start,
            sent: Some(due + ms),
            written: due + 2 * ms,
            first_byte: due + 3 * ms,
            at: due + 4 * ms,
            bytes: 7,
            step: 1,
            status: Some(200),
            end: SampleEnd::Ok,
        }
    }

    #[test]
    fn every_request_is_read_once_and_in_order() {
        let start = Instant::now();
        let (mut sampler, samples) = channel();
        sampler.begin(start);
        let mut reader = SampleReader::new(vec![samples]);
        let mut seen = Vec::new();
        let count = 3 * BATCH as u32 + 5;
        for number in 0..count {
            sampler.keep(&request(start, number));
            assert!(reader.read(|batch| seen.extend_from_slice(batch)));
        }
        drop(sampler);
        assert!(!reader.read(|batch| seen.extend_from_slice(batch)));
        let due: Vec<_> = seen.iter().map(|sample| sample.due_ns).collect();
        assert_eq!(due, (0..count).map(|number| u64::from(number) * 1_000_000).collect::<Vec<_>>());
        let first = RequestSample {
            due_ns: 0,
            sent_ns: Some(1_000_000),
            // Its connection was asked for when it was begun.
            connect_ns: 1_000_000,
            written_ns: 1_000_000,
            first_byte_ns: Some(2_000_000),
            total_ns: 4_000_000,
            bytes: 7,
            step: 1,
            status: Some(200),
            end: SampleEnd::Ok,
        };
        assert_eq!((seen[0], seen[1].connect_ns, reader.lost()), (first, 0, 0));
    }

    #[test]
    fn what_is_not_read_in_time_is_counted_and_what_comes_later_is_kept_again() {
        let start = Instant::now();
        let (mut sampler, samples) = channel();
        sampler.begin(start);
        let mut reader = SampleReader::new(vec![samples]);
        let room = (BATCH * BATCHES) as u32;
        for number in 0..room + 9 {
            sampler.keep(&request(start, number));
        }
        let mut seen = 0;
        reader.read(|batch| seen += batch.len());
        assert_eq!((seen, reader.lost()), (BATCH * (BATCHES - 1), 9));
        sampler.keep(&request(start, 0));
        drop(sampler);
        reader.read(|batch| seen += batch.len());
        assert_eq!((seen, reader.lost()), (BATCH * BATCHES + 1, 9));
    }

    #[test]
    fn a_batch_that_is_not_full_is_handed_over_after_a_while() {
        let start = Instant::now();
        let (mut sampler, samples) = channel();
        sampler.begin(start);
        let mut reader = SampleReader::new(vec![samples]);
        sampler.keep(&request(start, 0));
        let mut seen = 0;
        for (after, expected) in [(Duration::ZERO, 0), (PATIENCE - Duration::from_millis(1), 0), (PATIENCE, 1)] {
            sampler.turn(start + after);
            reader.read(|batch| seen += batch.len());
            assert_eq!(seen, expected, "{after:?}");
        }
    }
}
