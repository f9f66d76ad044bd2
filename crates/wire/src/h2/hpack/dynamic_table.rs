//! The decoder's dynamic table (RFC 7541, section 2.3.2).

use std::collections::VecDeque;

use super::{ENTRY_OVERHEAD, TABLE_SIZE};
use crate::h2::field::Meaning;

/// Fields that a peer has told us to keep.
#[derive(Debug)]
pub(super) struct DynamicTable {
    /// The oldest first.
    entries: VecDeque<Entry>,
    /// Names and values of the entries, each right after the one before. What lies before the oldest is cleared away when
    /// there is as much of it as a table can hold, so that an entry is moved but rarely.
    text: Vec<u8>,
    /// As RFC 7541, section 4.1, counts.
    pub(super) size: usize,
    max_size: usize,
}

#[derive(Debug)]
struct Entry {
    start: usize,
    name_len: usize,
    len: usize,
    meaning: Meaning,
}

impl DynamicTable {
    pub(super) fn new() -> Self {
        Self { entries: VecDeque::new(), text: Vec::new(), size: 0, max_size: TABLE_SIZE }
    }

    /// Name, value and meaning of the entry that came `age` entries before the newest.
    #[inline]
    pub(super) fn get(&self, age: usize) -> Option<(&[u8], &[u8], Meaning)> {
        let place = self.entries.len().checked_sub(age + 1)?;
        let entry = self.entries.get(place)?;
        let (name, value) = self.text[entry.start..entry.start + entry.len].split_at(entry.name_len);
        Some((name, value, entry.meaning))
    }

    /// Adds a field: its name and, after `name_len` bytes, its value. One that is larger than the table empties it
    /// (RFC 7541, section 4.4).
    pub(super) fn insert(&mut self, field: &[u8], name_len: usize, meaning: Meaning) {
        let size = field.len() + ENTRY_OVERHEAD;
        self.evict_to(self.max_size.saturating_sub(size));
        if size > self.max_size {
            return;
        }
        if self.text.len() + field.len() > 2 * TABLE_SIZE {
            let oldest = self.entries.front().map_or(self.text.len(), |entry| entry.start);
            self.text.drain(..oldest);
            for entry in &mut self.entries {
                entry.start -= oldest;
            }
        }
        self.entries.push_back(Entry { start: self.text.len(), name_len, len: field.len(), meaning });
        self.text.extend_from_slice(field);
        self.size += size;
    }

    /// Sets the size, which must not exceed [`TABLE_SIZE`].
    pub(super) fn resize(&mut self, max_size: usize) {
        self.max_size = max_size;
        self.evict_to(max_size);
    }

    fn evict_to(&mut self, size: usize) {
        while self.size > size
            && let Some(oldest) = self.entries.pop_front()
        {
            self.size -= oldest.len + ENTRY_OVERHEAD;
        }
    }
}
