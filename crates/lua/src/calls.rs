//! What one state is called for, as a watcher on another thread sees it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::trouble::Entry;

/// The calls of one state. Its thread notes them, without a lock or a clock.
#[derive(Debug)]
pub(crate) struct Calls {
    /// The thread, from 1; `None` for the state of the command.
    pub(crate) thread: Option<usize>,
    /// How often calls have begun and ended: odd while one is under way.
    edges: AtomicU64,
    entry: AtomicUsize,
    /// Calls of the present entry.
    number: [AtomicU64; Entry::ALL.len()],
    /// File and line of each entry's function, where they are known.
    places: Mutex<[Option<String>; Entry::ALL.len()]>,
}

/// A call that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Present {
    pub(crate) edges: u64,
    pub(crate) entry: Entry,
    pub(crate) call: Option<u64>,
}

impl Calls {
    pub(crate) fn new(thread: Option<usize>, file: &str) -> Self {
        let places = Entry::ALL.map(|entry| (entry == Entry::File).then(|| format!("{file}:1")));
        Self {
            thread,
            edges: AtomicU64::new(0),
            entry: AtomicUsize::new(0),
            number: Entry::ALL.map(|_| AtomicU64::new(0)),
            places: Mutex::new(places),
        }
    }

    /// Does something for an entry.
    pub(crate) fn during<T>(&self, entry: Entry, act: impl FnOnce() -> T) -> T {
        let index = entry as usize;
        self.entry.store(index, Ordering::Relaxed);
        // One thread at a time writes these.
        if let Some(number) = self.number.get(index) {
            number.store(number.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        let edges = self.edges.load(Ordering::Relaxed);
        self.edges.store(edges + 1, Ordering::Release);
        let done = act();
        self.edges.store(edges + 2, Ordering::Release);
        done
    }

    /// The number of the present or last call of an entry, where there are many.
    pub(crate) fn number(&self, entry: Entry) -> Option<u64> {
        let number = self.number.get(entry as usize).map(|number| number.load(Ordering::Relaxed));
        number.filter(|_| matches!(entry, Entry::Request | Entry::Response | Entry::Delay))
    }

    /// The call that is under way, if one is.
    pub(crate) fn present(&self) -> Option<Present> {
        let edges = self.edges.load(Ordering::Acquire);
        if edges.is_multiple_of(2) {
            return None;
        }
        let entry = *Entry::ALL.get(self.entry.load(Ordering::Relaxed))?;
        Some(Present { edges, entry, call: self.number(entry) })
    }

    /// Notes where an entry's function is.
    pub(crate) fn set_place(&self, entry: Entry, place: String) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = places.get_mut(entry as usize) {
            *known = Some(place);
        }
    }

    /// Where an entry's function is, or the file.
    pub(crate) fn place(&self, entry: Entry) -> String {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |entry: Entry| places.get(entry as usize).cloned().flatten();
        of(entry).or_else(|| of(Entry::File)).unwrap_or_default()
    }
}
