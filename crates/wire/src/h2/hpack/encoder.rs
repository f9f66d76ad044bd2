//! Fields to header blocks.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{ENTRY_OVERHEAD, TABLE_SIZE, huffman, integer, static_table};

/// A field that is ready to be encoded, on any connection.
#[derive(Clone, Debug)]
pub(in crate::h2) struct Field {
    /// Index in the static table of name and value.
    whole: Option<u8>,
    /// Index in the static table of the name.
    name_index: Option<u8>,
    text: Arc<Text>,
    /// What follows the first byte or bytes of a literal: the name, where that has no index, and the value.
    literal: Vec<u8>,
    /// Whether it is always sent in full: for values that will hardly come again.
    varies: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Text {
    name: String,
    value: String,
}

impl Text {
    /// What it counts in a table (RFC 7541, section 4.1).
    fn size(&self) -> usize {
        self.name.len() + self.value.len() + ENTRY_OVERHEAD
    }
}

impl Field {
    pub(in crate::h2) fn new(name: &str, value: &str) -> Self {
        let name_index = static_table::index_of_name(name);
        let mut field = Self {
            whole: static_table::index_of(name, value),
            name_index,
            text: Arc::new(Text { name: name.to_owned(), value: value.to_owned() }),
            literal: Vec::new(),
            varies: false,
        };
        field.write_literal(value);
        field
    }

    pub(in crate::h2) fn name(&self) -> &str {
        &self.text.name
    }

    /// Gives it another value, which goes into no table. Allocates nothing once there is room for the longest.
    pub(in crate::h2) fn vary(&mut self, value: &str) {
        self.whole = None;
        self.varies = true;
        self.write_literal(value);
    }

    fn write_literal(&mut self, value: &str) {
        self.literal.clear();
        if self.name_index.is_none() {
            string(self.text.name.as_bytes(), &mut self.literal);
        }
        string(value.as_bytes(), &mut self.literal);
    }
}

/// Writes header blocks for one peer.
#[derive(Debug)]
pub(in crate::h2) struct Encoder {
    /// The dynamic table, the oldest first.
    entries: VecDeque<Arc<Text>>,
    /// As RFC 7541, section 4.1, counts.
    pub(super) size: usize,
    max_size: usize,
    /// The smallest size that was set since the last block, which the next block must say first (RFC 7541, section 4.2).
    resized: Option<usize>,
}

impl Encoder {
    pub(in crate::h2) fn new() -> Self {
        Self { entries: VecDeque::new(), size: 0, max_size: TABLE_SIZE, resized: None }
    }

    /// Keeps to the table size that the peer allows.
    pub(in crate::h2) fn allow_size(&mut self, allowed: usize) {
        let size = allowed.min(TABLE_SIZE);
        if size != self.max_size {
            self.max_size = size;
            self.resized = Some(self.resized.map_or(size, |smallest| smallest.min(size)));
            self.evict_to(size);
        }
    }

    /// Appends what a block must begin with.
    pub(in crate::h2) fn begin_block(&mut self, out: &mut Vec<u8>) {
        if let Some(smallest) = self.resized.take() {
            integer::encode(smallest, 5, 0x20, out);
            if smallest < self.max_size {
                integer::encode(self.max_size, 5, 0x20, out);
            }
        }
    }

    /// Appends a field: one or two bytes when it is in a table already.
    #[inline]
    pub(in crate::h2) fn encode(&mut self, field: &Field, out: &mut Vec<u8>) {
        if let Some(index) = field.whole {
            return out.push(0x80 | index);
        }
        let name_index = field.name_index.map_or(0, usize::from);
        let size = field.text.size();
        // A field that takes most of the table would drive out all others.
        if field.varies || size > self.max_size * 3 / 4 {
            integer::encode(name_index, 4, 0x00, out);
            out.extend_from_slice(&field.literal);
            return;
        }
        if let Some(age) = self.age(&field.text) {
            return integer::encode(static_table::ENTRIES.len() + 1 + age, 7, 0x80, out);
        }
        integer::encode(name_index, 6, 0x40, out);
        out.extend_from_slice(&field.literal);
        self.evict_to(self.max_size - size);
        self.size += size;
        self.entries.push_back(Arc::clone(&field.text));
    }

    /// How many entries came after the one with this text. It is nearly always the very same text.
    fn age(&self, text: &Arc<Text>) -> Option<usize> {
        let mut newest_first = self.entries.iter().rev();
        newest_first
            .clone()
            .position(|entry| Arc::ptr_eq(entry, text))
            .or_else(|| newest_first.position(|entry| entry == text))
    }

    fn evict_to(&mut self, size: usize) {
        while self.size > size
            && let Some(oldest) = self.entries.pop_front()
        {
            self.size -= oldest.size();
        }
    }
}

/// Appends `content-length`, which goes into no table.
pub(in crate::h2) fn encode_content_length(len: usize, out: &mut Vec<u8>) {
    integer::encode(static_table::CONTENT_LENGTH, 4, 0x00, out);
    let digits = len.checked_ilog10().unwrap_or(0) + 1;
    integer::encode(digits as usize, 7, 0x00, out);
    out.extend((0..digits).rev().map(|place| b'0' + (len / 10_usize.pow(place) % 10) as u8));
}

/// Appends a string, Huffman coded where that is shorter (RFC 7541, section 5.2).
fn string(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::coded_len(text);
    if coded < text.len() {
        integer::encode(coded, 7, 0x80, out);
        huffman::encode(text, out);
    } else {
        integer::encode(text.len(), 7, 0x00, out);
        out.extend_from_slice(text);
    }
}
