//! Header blocks to fields.

use super::dynamic_table::DynamicTable;
use super::{HpackError, TABLE_SIZE, huffman, integer, static_table};
use crate::h2::field::Meaning;

/// Reads the header blocks of one peer.
#[derive(Debug)]
pub(in crate::h2) struct Decoder {
    pub(super) table: DynamicTable,
    /// Name and value of the present field, where it does not stand in a table.
    field: Vec<u8>,
}

/// Name and value; what they mean is known of entries of the dynamic table.
type Entry<'a> = (&'a [u8], &'a [u8], Option<Meaning>);

impl Decoder {
    pub(in crate::h2) fn new() -> Self {
        Self { table: DynamicTable::new(), field: Vec::new() }
    }

    /// Reads a whole block and gives each field to `emit`.
    ///
    /// # Errors
    ///
    /// When the block cannot be read; then neither can any later one.
    pub(in crate::h2) fn decode(
        &mut self,
        block: &[u8],
        mut emit: impl FnMut(&[u8], &[u8], Meaning),
    ) -> Result<(), HpackError> {
        let mut rest = block;
        let mut size_may_change = true;
        while let Some(&first) = rest.first() {
            // RFC 7541, section 6: the leading bits say what follows.
            match first {
                0x80.. => {
                    let index = integer::decode(&mut rest, 7)?;
                    let (name, value, meaning) = self.entry(index)?;
                    emit(name, value, meaning.unwrap_or_else(|| Meaning::of(name, value)));
                }
                0x40.. => self.literal(&mut rest, 6, true, &mut emit)?,
                0x20.. => {
                    let size = integer::decode(&mut rest, 5)?;
                    if !size_may_change || size > TABLE_SIZE {
                        return Err(HpackError::TableSize);
                    }
                    self.table.resize(size);
                    continue;
                }
                // Never indexed or not indexed: for somebody who does not pass fields on, it is the same.
                _ => self.literal(&mut rest, 4, false, &mut emit)?,
            }
            size_may_change = false;
        }
        Ok(())
    }

    fn literal(
        &mut self,
        rest: &mut &[u8],
        index_bits: u32,
        keep: bool,
        emit: &mut impl FnMut(&[u8], &[u8], Meaning),
    ) -> Result<(), HpackError> {
        let index = integer::decode(rest, index_bits)?;
        let mut field = std::mem::take(&mut self.field);
        field.clear();
        if index == 0 {
            string(rest, &mut field)?;
        } else {
            field.extend_from_slice(self.entry(index)?.0);
        }
        let name_len = field.len();
        string(rest, &mut field)?;
        let (name, value) = field.split_at(name_len);
        let meaning = Meaning::of(name, value);
        emit(name, value, meaning);
        if keep {
            self.table.insert(&field, name_len, meaning);
        }
        self.field = field;
        Ok(())
    }

    /// The entry with this index in the static or the dynamic table.
    fn entry(&self, index: usize) -> Result<Entry<'_>, HpackError> {
        let place = index.checked_sub(1).ok_or(HpackError::Index)?;
        if let Some((name, value)) = static_table::ENTRIES.get(place) {
            return Ok((name.as_bytes(), value.as_bytes(), None));
        }
        let (name, value, meaning) = self.table.get(place - static_table::ENTRIES.len()).ok_or(HpackError::Index)?;
        Ok((name, value, Some(meaning)))
    }
}

/// Takes a string (RFC 7541, section 5.2) and appends it.
fn string(rest: &mut &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    let is_coded = rest.first().is_some_and(|byte| byte & 0x80 != 0);
    let len = integer::decode(rest, 7)?;
    let (text, after) = rest.split_at_checked(len).ok_or(HpackError::Truncated)?;
    *rest = after;
    if is_coded {
        huffman::decode(text, out)
    } else {
        out.extend_from_slice(text);
        Ok(())
    }
}
